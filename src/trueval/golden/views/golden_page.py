"""The page of a golden set: its view, and what the files beside golden.json say: an audit, and every label."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Final, TypedDict

from trueval.golden.build.golden_result import GoldenResult
from trueval.golden.build.golden_set import LABELS
from trueval.golden.views.audit_block import audit_block
from trueval.golden.views.golden import view
from trueval.report.number_texts import NOT_AVAILABLE
from trueval.report.page_content import Block, Part
from trueval.report.result_directory import Directory, ResultFile
from trueval.report.units import COUNT, NAME
from trueval.report.view import Column, Section, Sheet
from trueval.report.view_page import block_of, part_of

NUMBERS: Final = ("grade", "spread", "rank")
MOST: Final = 20_000  # labels on the page; all of them are in the file


class _Label(TypedDict):
    """A label in a line of labels.jsonl, as far as the page shows it."""

    grade: int | None
    reason: str
    call: str


@dataclass(frozen=True)
class _Passage:
    """A line of labels.jsonl."""

    query: str
    document: str
    grade: int | None
    spread: float | None
    rank: int | None
    labels: tuple[_Label, ...]


def build(file: ResultFile, directory: Directory) -> Part:
    """Build the page of one golden set.

    Args:
        file: the result.
        directory: with an audit and the labels beside it.
    """
    result = GoldenResult.from_dict(file.data, str(directory.path / file.name))
    part = part_of(view(result), file, result)
    if result.passages is None:
        return part
    audit = tuple(audit_block(directory, LABELS))
    answer = part.answer
    if audit and answer is not None:
        answer = answer._replace(next="trueval golden agree DIR")
    labels = tuple(_labels(result.passages, directory))
    return replace(part, answer=answer, blocks=(*audit, *part.blocks), closing=(*part.closing, *labels))


def _labels(passages: int, directory: Directory) -> Iterator[Block]:
    place = directory.path / LABELS
    rows = tuple(_passages(place)) if place.is_file() else ()
    if not rows:
        return
    cut = f"; the first {MOST:,} of {passages:,}" if passages > len(rows) else ""
    caption = f"Every passage with its labels and the reasons of the judge{cut}."
    notes = [f"The whole of it, with calls, slots and dates, is in {LABELS}; answers word for word are in the ledger."]
    sheet = Sheet("Every label", rows, COLUMNS, caption, notes, folded=True, id="golden-labels")
    section = Section("Every label", [sheet], closing=True, id="golden-every-label")
    yield block_of(section, ResultFile(LABELS, "golden", {}), rows)


def _passages(place: Path) -> Iterator[_Passage]:
    with place.open(encoding="utf-8") as lines:
        for line in islice(lines, MOST):
            entry = json.loads(line)
            labels = tuple(entry.pop("labels"))
            yield _Passage(**{name: entry.get(name) for name in ("query", "document", *NUMBERS)}, labels=labels)


def _grades(row: _Passage) -> str:
    return ", ".join(NOT_AVAILABLE if each["grade"] is None else str(each["grade"]) for each in row.labels)


def _reasons(row: _Passage) -> str:
    return " · ".join(dict.fromkeys(each["reason"] for each in row.labels if each["reason"]))


COLUMNS: Final[tuple[Column[_Passage], ...]] = (
    Column("query", lambda row: row.query, NAME),
    Column("document", lambda row: row.document, NAME),
    Column("grade", lambda row: row.grade, COUNT),
    Column("spread", lambda row: row.spread, COUNT),
    Column("rank in the pool", lambda row: row.rank, COUNT),
    Column("labels", _grades),
    Column("reasons", _reasons),
    Column("calls", lambda row: ", ".join(each["call"][:8] for each in row.labels)),
)
