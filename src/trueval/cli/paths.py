"""Files named on the command line."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from glob import glob
from os.path import normpath
from pathlib import Path
from typing import Final

import typer

from trueval.errors import InputError

PATTERN: Final = frozenset("*?[")
# Suffixes of files that may hold several runs; others are looked into when they are read.
TABLES: Final = frozenset((".parquet", ".pq", ".arrow", ".feather", ".ipc", ".csv", ".tsv"))


def expand(runs: Sequence[str]) -> list[str]:
    """Put the files of a folder, those that match a pattern, and the runs of a table in its place, in their order.

    Hidden files are left out. A folder that --out wrote is not one of runs and stays, as what has a name (name=path).

    Raises:
        InputError: a folder holds no file, or a table of runs is damaged.

    Example:
        >>> expand(["a.trec", "new=b.trec"])
        ['a.trec', 'new=b.trec']
    """
    found: list[str] = []
    for text in runs:
        place, files = Path(text), [text]
        if place.is_dir() and not (place / "results.json").exists():
            files = sorted(str(each) for each in place.iterdir() if each.is_file() and not each.name.startswith("."))
            if not files:
                raise InputError(f"{text}: the folder holds no file, and so no run. Name one that holds runs.")
        elif PATTERN & set(text) and not place.exists():
            files = sorted(glob(text))  # noqa: PTH207  Path.glob takes no pattern of a whole path
        for each in files or [text]:
            found += _runs_of_table(each)
    return found


def _runs_of_table(text: str) -> list[str]:
    """The runs of a table of runs; the text alone for any other file."""
    if Path(text).suffix.lower() not in TABLES or not Path(text).is_file():
        return [text]
    from trueval.files.tabular.run_tables import find_runs

    return find_runs(text)


def with_baseline(runs: Sequence[str], baseline: str | None) -> list[str]:
    """The files to read: the runs, then the baseline if it is not one of them.

    Example:
        >>> with_baseline(["new.trec"], "old.trec")
        ['new.trec', 'old.trec']
    """
    return [*runs, *([baseline] if baseline is not None and baseline not in runs else [])]


def with_roles(paths: Iterable[str], named: Mapping[str, str | Path | None]) -> list[tuple[str, str]]:
    """Pairs of role and path for each file read.

    Args:
        paths: paths of files.
        named: role → file, or folder whose files have this role; None if there is none.

    Example:
        >>> with_roles(["c/corpus.jsonl", "ids.txt"], {"collection": "c/", "excluded": "ids.txt", "candidates": None})
        [('collection', 'c/corpus.jsonl'), ('excluded', 'ids.txt')]
    """
    roles = {Path(place): role for role, place in named.items() if place is not None}
    return [(next(roles[each] for each in (Path(path), *Path(path).parents) if each in roles), path) for path in paths]


def find_run(baseline: str, runs: Sequence[str]) -> str:
    """Find the run of a baseline: one of the runs by argument, path or name in tables, else a file.

    Args:
        baseline: path, name=path, or the name of one of the runs.
        runs: runs of the command line.

    Example:
        >>> find_run("a/run", ["a/run.trec", "b/run.trec"])
        'a/run.trec'
    """
    from trueval.files.display_names import name_files, path_of

    if baseline in runs:
        return baseline
    by_path = [text for text in runs if normpath(path_of(text)) == normpath(baseline)]
    by_name = [text for text, file in zip(runs, name_files(runs), strict=True) if file.name == baseline]
    # An existing file of that name takes precedence over a run with that name in tables.
    return next(iter([*by_path, *([] if Path(baseline).exists() else by_name)]), baseline)


def refuse_repeated(qrels: str, runs: Sequence[str]) -> None:
    """Refuse a repeated file or name; a log, or a name such as hf:NAME, may be both judgments and run.

    Raises:
        typer.BadParameter: a path or a name is repeated.
    """
    from trueval.files.display_names import name_files
    from trueval.files.libraries import library_name
    from trueval.files.source.source_bytes import can_be_read_once
    from trueval.rag.contexts import looks_like_contexts

    named = name_files(runs)
    paths = [normpath(file.path) for file in named]  # ./a.trec is a.trec
    qrels = normpath(qrels)
    both = qrels in paths and (library_name(qrels) is not None or looks_like_contexts(qrels))
    repeated = [path for path, times in Counter(paths if both else [qrels, *paths]).items() if times > 1]
    if repeated:
        cure = (
            "It can be read once only: save it to a file." if can_be_read_once(repeated[0]) else "Name each file once."
        )
        raise typer.BadParameter(f"{repeated[0]} is given twice. {cure}", param_hint="QRELS RUN...")
    names = [name for name, times in Counter(file.name for file in named).items() if times > 1]
    if names:
        raise typer.BadParameter(
            f"Two runs are called {names[0]!r}. Give one another name: name=path.", param_hint="RUN..."
        )


def judge_paths(qrels: str, judges: list[str] | None) -> list[str]:
    """The files of further judges.

    Args:
        qrels: file of the first judge.
        judges: as `--judges` names them.

    Raises:
        typer.BadParameter: a file is there twice.
    """
    from trueval.judgments import QRELS

    found: list[str] = []
    for path in (path for text in judges or [] for path in filter(None, text.split(","))):
        # A golden set, or a collection, is one judge, and its other files are none.
        is_one = any((Path(path) / name).is_file() for name in QRELS)
        found += [path] if is_one else expand([path])
    for at, path in enumerate(found):
        if any(is_same_file(path, other) for other in (qrels, *found[:at])):
            raise typer.BadParameter(f"{path} is given twice. Name each judge once.", param_hint="--judges")
    return found


def is_same_file(path: str, other: str) -> bool:
    """Whether two paths, or name=path, are of one file or folder.

    Example:
        >>> is_same_file("a.trec", "new=a.trec"), is_same_file("a.trec", "b.trec")
        (True, False)
    """
    from trueval.files.display_names import path_of

    first, second = Path(path_of(path)), Path(path_of(other))
    return first == second or (first.exists() and second.exists() and first.samefile(second))
