"""Contexts: what a RAG system put into its prompts, as its logs carry it.

One JSON object on each line::

    {"query": "q1", "ids": ["d7", "d2"], "gold": ["d2"], "correct": true}
    {"query": "q2", "ids": [{"id": "d3", "score": 0.9, "source": "report.pdf"}], "gold": {"d3": 5, "d4": 3}}

Ids without scores are a strict order, so nothing ties: the score is minus the position. Gold documents (grade 1, or a
grade each), sources and correctness are optional.
"""

from __future__ import annotations

import dataclasses
import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl

from trueval.answers import correctness
from trueval.errors import InputError, PolicyError
from trueval.files import Source
from trueval.files.content import read_content
from trueval.judgments import Judgments
from trueval.run import Run

__all__ = ["Contexts", "looks_like_contexts", "read_contexts"]

QUERY_KEYS = ("query", "query_id", "qid", "question_id")
LIST_KEYS = ("ids", "doc_ids", "retrieved_ids", "retrieved", "contexts", "documents")
ID_KEYS = ("id", "doc_id", "document_id", "chunk_id")
DUPLICATES = ("first", "refuse")


@dataclass(frozen=True, eq=False)
class Contexts:
    """What a log of contexts holds.

    Attributes:
        run: the retrieved documents of each query.
        judgments: the gold documents, None if no line names any; with sources where the log has them.
        correct: correctness of the answer, by query, where the log has it.
        sources: source of each document, where the log has it.
        notes: one-line remarks made while reading.
    """

    run: Run
    judgments: Judgments | None
    correct: Mapping[str, float]
    sources: Mapping[str, str]
    notes: tuple[str, ...] = ()


class Entry(NamedTuple):
    """One retrieved document; score None where only its place is known."""

    doc_id: str
    score: float | None
    source: str | None


class Line(NamedTuple):
    """One line of a log."""

    query: str
    entries: list[Entry]
    gold: dict[str, float]
    correct: float | None
    repeated: int


def looks_like_contexts(path: str) -> bool:
    """Whether a file of JSON lines holds contexts: its first object has a list of retrieved documents."""
    if path == "-" or not {".jsonl", ".ndjson"} & set(Path(path).suffixes):
        return False
    first = next(iter(read_content(path).data.decode(errors="replace").lstrip().splitlines()), "")
    try:
        row = json.loads(first)
    except json.JSONDecodeError:
        return False
    return isinstance(row, dict) and any(isinstance(row.get(key), list) for key in LIST_KEYS)


def read_contexts(source: Source, *, duplicates: str = "first", name: str | None = None) -> Contexts:
    """Read a log of contexts.

    Args:
        source: a path, "-" for standard input, or an open file.
        duplicates: a document that a query retrieved twice counts once, at its first place ("first": the list closes
            up behind it), or is an error ("refuse").
        name: what tables call the run; the file name without suffixes if None.

    Raises:
        InputError: a line is bad, a query is there twice, or a document has two sources; with file and line.
        PolicyError: duplicates is unknown.
    """
    if duplicates not in DUPLICATES:
        raise PolicyError(f"duplicates must be one of {', '.join(DUPLICATES)}. Got {duplicates!r}.")
    content = read_content(source)
    lines = _lines(content.data.decode(), content.source, duplicates)
    rows = [
        (line.query, entry.doc_id, -float(place) if entry.score is None else entry.score)
        for line in lines
        for place, entry in enumerate(line.entries, 1)
    ]
    if not rows:
        raise InputError(f"{content.source}: no query retrieved a document. Name them under {LIST_KEYS[0]!r}.")
    frame = pl.DataFrame(rows, schema=["query_id", "doc_id", "score"], orient="row")
    notes = _notes(content.source, lines)
    run = dataclasses.replace(Run.from_frame(frame, name=name or content.name), source=content.source, notes=notes)
    sources = {entry.doc_id: entry.source for line in lines for entry in line.entries if entry.source is not None}
    gold = {line.query: line.gold for line in lines if line.gold}
    judgments = dataclasses.replace(Judgments.from_dict(gold), source=content.source) if gold else None
    if judgments is not None and sources:
        judgments = judgments.with_sources(sources)
    correct = {line.query: line.correct for line in lines if line.correct is not None}
    return Contexts(run, judgments, correct, sources, notes)


def _notes(source: str, lines: Sequence[Line]) -> tuple[str, ...]:
    notes = []
    repeated = sum(line.repeated for line in lines)
    if repeated:
        among = sum(line.repeated > 0 for line in lines)
        notes.append(
            f"{source}: {repeated} repeated documents in {among} queries are counted once, at their first place."
        )
    empty = [line.query for line in lines if not line.entries]
    if empty:
        notes.append(f"{source}: {len(empty)} queries retrieved nothing, the first {empty[0]!r}.")
    return tuple(notes)


def _lines(text: str, source: str, duplicates: str) -> list[Line]:
    found: dict[str, Line] = {}
    origin: dict[str, str] = {}
    for number, row in enumerate(text.splitlines(), 1):
        if not row.strip():
            continue
        place = f"{source}:{number}"
        line = _line(row, place, duplicates)
        if line.query in found:
            raise InputError(f"{place}: query {line.query!r} is there twice. Write one line for each query.")
        for entry in line.entries:
            if entry.source is not None and origin.setdefault(entry.doc_id, entry.source) != entry.source:
                raise InputError(
                    f"{place}: document {entry.doc_id!r} must have one source. "
                    f"Got {origin[entry.doc_id]!r} and {entry.source!r}."
                )
        found[line.query] = line
    return list(found.values())


def _line(row: str, place: str, duplicates: str) -> Line:
    try:
        value = json.loads(row)
    except json.JSONDecodeError as error:
        raise InputError(f"{place}: not JSON ({error.msg}). Write one object on each line.") from None
    query = next((value[key] for key in QUERY_KEYS if key in value), None) if isinstance(value, dict) else None
    listed = next((value[key] for key in LIST_KEYS if key in value), None) if isinstance(value, dict) else None
    if not isinstance(query, (str, int)) or isinstance(query, bool) or not isinstance(listed, list):
        raise InputError(
            f"{place}: a line must be an object with query and a list of ids. Got {row.strip()[:80]}"
            f" Name the query {' or '.join(QUERY_KEYS[:2])}, and the list one of {', '.join(LIST_KEYS)}."
        )
    entries = list(_entries(listed, place))
    if len({entry.score is None for entry in entries}) > 1:
        raise InputError(f"{place}: some documents have scores and some do not. Give all of them scores, or none.")
    first = _first_places(entries)
    repeated = len(entries) - len(first)
    if repeated and duplicates == "refuse":
        twice = Counter(entry.doc_id for entry in entries).most_common(1)[0][0]
        raise InputError(
            f"{place}: document {twice!r} is in query {query!r} twice. Drop it, or use duplicates='first'."
        )
    correct = value.get("correct")
    known = None if correct is None else correctness(correct, place)
    return Line(str(query), first, _gold(value.get("gold"), place), known, repeated)


def _first_places(entries: Sequence[Entry]) -> list[Entry]:
    """Each document once, where it stands first."""
    found: dict[str, Entry] = {}
    for entry in entries:
        found.setdefault(entry.doc_id, entry)
    return list(found.values())


def _entries(listed: list[Any], place: str) -> Iterator[Entry]:
    for item in listed:
        doc, score, source = item, None, None
        if isinstance(item, dict):
            doc = next((item[key] for key in ID_KEYS if key in item), None)
            score, source = item.get("score"), item.get("source")
        elif isinstance(item, list) and len(item) == 2:
            doc, score = item
        bad_score = score is not None and (
            isinstance(score, bool) or not isinstance(score, (int, float)) or score != score
        )
        if isinstance(doc, bool) or not isinstance(doc, (str, int)) or doc == "" or bad_score:
            raise InputError(
                f"{place}: a retrieved document must be an id, [id, score], or an object with id and perhaps score and "
                f"source. Got {json.dumps(item)[:80]}"
            )
        yield Entry(str(doc), None if score is None else float(score), None if source is None else str(source))


def _gold(value: Any, place: str) -> dict[str, float]:
    """Grades of the gold documents: 1 each for a list, their own for an object."""
    if value is None:
        return {}
    graded = dict.fromkeys(map(str, value), 1.0) if isinstance(value, list) else value
    if not isinstance(graded, dict) or any(
        isinstance(grade, bool) or not isinstance(grade, (int, float)) for grade in graded.values()
    ):
        raise InputError(
            f"{place}: gold must be a list of ids, or an object of grades by id. Got {json.dumps(value)[:80]}"
        )
    return {str(doc): float(grade) for doc, grade in graded.items()}
