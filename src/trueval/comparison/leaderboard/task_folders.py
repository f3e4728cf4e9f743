"""Folders of tasks: each holds the judgments and the runs of one task.

    tasks/scifact/qrels.tsv     tasks/scifact/bm25.trec    tasks/scifact/dense.trec
    tasks/nfcorpus/qrels.tsv    tasks/nfcorpus/runs.parquet

Judgments are the file called qrels or judgments, whatever its suffix, or one that ends in .qrels; other files are runs
or tables of runs. A folder `runs` in a task holds its runs alone. A system is called by its file, or by its name in
a table, and the same name in several tasks is one system.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Final, NamedTuple

from trueval.errors import InputError, nearest
from trueval.files.source.source_bytes import stem
from trueval.files.tabular.run_tables import find_runs

JUDGMENTS: Final = ("qrels", "qrel", "judgments")
TEXTS: Final = ("corpus", "queries")  # of BEIR, beside judgments


class TaskFiles(NamedTuple):
    """The files of a task: paths of its judgments and of its runs, a run of a table as `path::run`."""

    judgments: str
    runs: tuple[str, ...]


def find_tasks(folder: Path, wanted: Sequence[str] = ()) -> dict[str, TaskFiles]:
    """Task → its files, by names of folders in their order.

    Args:
        folder: a folder of tasks, or the folder of one task.
        wanted: names of tasks; all if empty.

    Raises:
        InputError: a task has no judgments, several, or no run; two runs have one name; or a task is not there.
    """
    parts = sorted(each for each in folder.iterdir() if not each.name.startswith("."))
    if any(_is_judgments(each) for each in parts):
        parts = [folder]
    found = {each.name: each for each in parts if each.is_dir()}
    if not found:
        raise InputError(
            f"{folder}: no task and no results of mteb. Give a folder for each task, with its qrels and its runs; "
            "or results/MODEL/REVISION/TASK.json; or the files, QRELS RUN RUN."
        )
    for name in wanted:
        if name not in found:
            raise InputError(f"{folder}: no task {name!r}. Tasks are {', '.join(found)}.{nearest(name, found)}")
    return {name: _find_files(each) for name, each in found.items() if not wanted or name in wanted}


def _is_judgments(path: Path) -> bool:
    named = stem(path.name).lower() in JUDGMENTS or path.name.lower().endswith((".qrels", ".qrel"))
    return path.is_file() and named


def _find_files(folder: Path) -> TaskFiles:
    files = sorted(each for each in folder.iterdir() if each.is_file() and not each.name.startswith("."))
    judgments = [each for each in files if _is_judgments(each)]
    if len(judgments) != 1:
        got = ", ".join(each.name for each in judgments) or "none"
        raise InputError(
            f"{folder}: a task needs one file of judgments, called qrels with any suffix. Got {got}. "
            + ("Leave out what is no task." if not judgments else "Keep one.")
        )
    inside = folder / "runs"
    given = (
        sorted(each for each in inside.iterdir() if each.is_file() and not each.name.startswith("."))
        if inside.is_dir()
        else [each for each in files if each not in judgments and stem(each.name).lower() not in TEXTS]
    )
    if not given:
        raise InputError(f"{folder}: a task needs runs beside its judgments, or in a folder called runs. Add them.")
    names = Counter(stem(each.name) for each in given)
    name, times = names.most_common(1)[0]
    if times > 1:
        same = ", ".join(each.name for each in given if stem(each.name) == name)
        raise InputError(f"{folder}: {times} runs are called {name!r}: {same}. A name is a system. Rename one of them.")
    return TaskFiles(str(judgments[0]), tuple(text for each in given for text in find_runs(str(each))))
