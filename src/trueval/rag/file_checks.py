"""File checks: what makes numbers of judgments and runs meaningless, found before any number is used."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import polars as pl

from trueval.errors import InputError
from trueval.evaluation.notes import NOTHING_RELEVANT, unknown_documents
from trueval.evaluation.scores import Scores
from trueval.files.display_names import name_files, split_table
from trueval.printable import first_ids
from trueval.rag.context_inputs import InputRules
from trueval.rag.evaluate_files import evaluate_files
from trueval.run import Run

if TYPE_CHECKING:
    from trueval.evaluation.evaluate import Measures
    from trueval.judgments import Judgments
    from trueval.policy.policy import Policy

JUDGMENTS = "judgments"


class FileFinding(NamedTuple):
    """What was found about a file.

    Attributes:
        serious: whether numbers of the file mean nothing, or something else; else it is a remark.
        line: one or two sentences, which begin with the file, or the run's name.
    """

    serious: bool
    line: str


def check_files(
    qrels: str,
    runs: Sequence[str],
    measures: Measures | None = None,
    *,
    inputs: InputRules | None = None,
    collection: Path | None = None,
    begin: Callable[[str], None] | None = None,
    policy: Policy | None = None,
) -> tuple[FileFinding, ...]:
    """Check judgments, runs and a corpus against each other, and go on after a run that cannot be read.

    Serious are: a file that cannot be read, as one with a document twice for a query; a run of which no query or no
    document is judged; a grade that a measure counts from and none reaches; runs with the same rows; ids of documents
    that are not in the corpus. Remarks are what `evaluate` notes.

    Args:
        qrels: path of the judgments.
        runs: paths of runs or logs, or name=path.
        measures: measures whose grades to look at.
        inputs: options for reading.
        collection: folder with a corpus; None for none.
        begin: called with each path before it is read.
    """
    inputs = inputs or InputRules()
    try:
        judgments = inputs.read_judgments(qrels)
    except InputError as error:  # nothing can be held against them
        return (FileFinding(True, str(error)),)
    found, scores, lists = list[FileFinding](), list[Scores](), list[Run]()
    for name, path in name_files(runs):
        seen: list[Run] = []
        try:
            (one,) = evaluate_files(
                judgments,
                [path if split_table(path) is not None else f"{name}={path}"],
                measures,
                inputs=inputs,
                content={},
                observe=lambda run, *_, seen=seen: seen.append(run),
                begin=begin,
                policy=policy,
            ).scores
        except InputError as error:
            found.append(FileFinding(True, str(error)))
            continue
        meaningless = unknown_documents(seen[0], judgments) if one.matched == 0 else None
        found += [FileFinding(note == meaningless or NOTHING_RELEVANT in note, note) for note in one.notes]
        scores.append(one)
        lists += seen
    found += _copies(scores)
    if collection is not None:
        try:
            found += _strangers(judgments, lists, collection)
        except InputError as error:
            found.append(FileFinding(True, str(error)))
    return tuple(dict.fromkeys(found))


def _copies(scores: Sequence[Scores]) -> Iterator[FileFinding]:
    """Runs that hold the rows of an earlier one."""
    first: dict[str, str] = {}
    for each in scores:
        rows = "" if each.content is None else each.content.all["run"]
        if first.setdefault(rows, each.name) != each.name:
            yield FileFinding(
                True, f"{each.name}: holds the same rows as {first[rows]}. Name another file, or one of them."
            )


def _strangers(judgments: Judgments, runs: Sequence[Run], collection: Path) -> Iterator[FileFinding]:
    """Documents of judgments and runs that a corpus lacks; texts are read line by line, and only ids are kept."""
    from trueval.files.texts.text_files import find_parts
    from trueval.files.texts.text_rows import read_rows

    files = find_parts(collection, "corpus")
    named = {
        JUDGMENTS: judgments.frame["doc_id"].unique(),
        **{run.name: run.documents["doc_id"].unique() for run in runs},
    }
    absent = set(pl.concat(named.values()).to_list())
    for row in read_rows(files.paths, ()):
        absent.discard(row.id)
    for name, ids in named.items():
        lacking = [each for each in ids.to_list() if each in absent]
        if lacking:
            known = f"{len(ids) - len(lacking):,}" if len(lacking) < len(ids) else "none"
            yield FileFinding(
                True,
                f"{name}: {known} of {len(ids):,} documents are in {files.display_name}, which lacks "
                f"{first_ids(sorted(lacking)[:3])}. Are they of another collection, or of another version of it?",
            )
