"""Contexts: what a RAG system put into its prompts, as its logs carry it.

One JSON object on each line::

    {"query": "q1", "ids": ["d7", "d2"], "gold": ["d2"], "correct": true}
    {"query": "q2", "ids": [{"id": "d3", "score": 0.9, "source": "report.pdf"}], "gold": {"d3": 5, "d4": 3}}

Ids without scores are a strict order, so nothing ties: the score is minus the position. Gold documents (grade 1, or a
grade each), sources and correctness are optional.
"""

from __future__ import annotations

import io
import json
import re
import reprlib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import polars as pl

from trueval.errors import Place, PolicyError
from trueval.files import Kind, Source, check_rows, id_notes
from trueval.files.columns import find_columns
from trueval.files.frame import value_column
from trueval.files.json.lines import Literal
from trueval.files.json.pairs import DOC_KEYS, QUERY_KEYS, as_id, first_value, objects
from trueval.files.rows import Rows
from trueval.files.source.content import Content, read_content
from trueval.files.source.lines import open_parts
from trueval.files.source.packing import BOM
from trueval.files.tabular.delimited import canonical_table
from trueval.judgments import Judgments
from trueval.rag.answers import correctness
from trueval.run import Run

LIST_KEYS = ("ids", "doc_ids", "retrieved_ids", "retrieved", "contexts", "documents")
DUPLICATES = ("first", "refuse")
FIRST_LINE = re.compile(rb"\s*(\{[^\n]*)")
LISTS = re.compile(rb'"(?:%s)"' % b"|".join(key.encode() for key in LIST_KEYS))


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
    """One retrieved document; score as it is written, None where only its place is known."""

    doc_id: str
    score: str | None
    source: str | None


class Line(NamedTuple):
    """One line of a log: all that is listed, and each document once at its first place; grades as they are written."""

    number: int
    query: str
    listed: list[Entry]
    entries: list[Entry]
    gold: dict[str, str]
    correct: float | None


class _Again(io.BytesIO):
    """Bytes that were read and unpacked already, for a reader that takes a file."""

    def __init__(self, content: Content) -> None:
        again = BOM + content.data if content.data.startswith(BOM) else content.data  # only one mark may be left out
        super().__init__(again)
        self.name = content.source


def looks_like_contexts(path: str) -> bool:
    """Tell whether a file holds a log of contexts; not asked of standard input, which can be read once only.

    Raises:
        InputError: the file cannot be read.
    """
    return path != "-" and _holds_contexts(read_content(path))


def contexts_or_file(source: Source, *, name: str | None = None) -> Contexts | Source:
    """Read a log of contexts, or give any other source back as a file to read.

    A log is told by its content: its first line is an object with a list of documents, and names no single document.

    Args:
        source: a path, "-" for standard input, or an open file.
        name: what tables call the run; the file name without suffixes if None.

    Raises:
        InputError: the source cannot be read, or a line of the log is bad.
    """
    with open_parts(source) as parts:
        # A large file is judged by its head: what does not begin as an object is left to the fast readers, unread.
        if parts is not None and not parts.head.data.lstrip().startswith(b"{"):
            return source
    content = read_content(source)
    return _contexts(content, "first", name) if _holds_contexts(content) else _Again(content)


def read_run_or_contexts(source: Source, name: str | None = None) -> Run:
    """Read a run in any format, or the retrieved documents of a log of contexts.

    Raises:
        InputError: the source cannot be read, or holds a bad row, with its line.
    """
    found = contexts_or_file(source, name=name)
    return found.run if isinstance(found, Contexts) else Run.read(found, name=name)


def read_judgments_or_contexts(source: Source, *, facets: bool = False) -> Judgments:
    """Read judgments in any format, or the gold documents of a log of contexts.

    Raises:
        InputError: the source cannot be read, holds a bad row, or is a log that names no gold.
    """
    found = contexts_or_file(source)
    if not isinstance(found, Contexts):
        return Judgments.read(found, facets=facets)
    if found.judgments is None:
        raise Place(found.run.source).error(
            "no line names gold documents. Give them under gold, or give a file of judgments."
        )
    return found.judgments


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
    return _contexts(read_content(source), duplicates, name)


def _holds_contexts(content: Content) -> bool:
    first = FIRST_LINE.match(content.data)
    if first is None or LISTS.search(first[1]) is None:
        return False
    try:
        row = json.loads(first[1].decode(errors="replace"))
    except (RecursionError, ValueError):  # ValueError: no JSON, or an integer of thousands of digits
        return False
    # A line of a run may hold a list too, but it names its one document. Keys that begin with mteb_ describe a file.
    plain = [key for key in row if not isinstance(row[key], (dict, list)) and not key.startswith("mteb_")]
    lists = any(isinstance(row.get(key), list) for key in LIST_KEYS)
    return lists and bool(plain) and "doc_id" not in find_columns(plain, "run")


def _contexts(content: Content, duplicates: str, name: str | None) -> Contexts:
    lines = _lines(content, duplicates)
    sources = _sources(lines, content.source)
    listed = [
        (line.number, line.query, entry.doc_id, str(-place) if entry.score is None else entry.score)
        for line in lines
        for place, entry in enumerate(line.entries, 1)
    ]
    if not listed:
        raise Place(content.source).error(f"no query retrieved a document. Name them under {LIST_KEYS[0]!r}.")
    rows = _rows(listed, "run", content.source)
    notes = _notes(content.source, lines) + rows.table.notes + id_notes(rows.table, rows.query_ids)
    run = Run(rows.documents, rows.query_ids, rows.offsets, name or content.name, content.source, notes)
    correct = {line.query: line.correct for line in lines if line.correct is not None}
    return Contexts(run, _judgments(lines, sources, content.source), correct, sources, notes)


def _judgments(lines: Sequence[Line], sources: Mapping[str, str], source: str) -> Judgments | None:
    graded = [(line.number, line.query, doc, grade) for line in lines for doc, grade in line.gold.items()]
    if not graded:
        return None
    rows = _rows(graded, "judgments", source)
    notes = rows.table.notes + id_notes(rows.table, rows.query_ids)
    judgments = Judgments(rows.table.frame, rows.query_ids, rows.offsets, source, notes)
    return judgments.with_sources(sources) if sources else judgments


def _rows(rows: Sequence[tuple[int, str, str, str]], kind: Kind, source: str) -> Rows:
    """Rows of line, query, document and number, checked as those of any other file."""
    columns = ("line", "query_id", "doc_id", value_column(kind))
    frame = pl.DataFrame(rows, schema=dict.fromkeys(columns, pl.String) | {"line": pl.Int64}, orient="row")
    numbers = frame.drop_in_place("line").to_list()
    # One line of a log makes many rows; an error about a row names the line. Row -1 speaks of the file as a whole.
    return check_rows(canonical_table(frame, kind, source, line=lambda row: numbers[max(row, 0)]), kind)


def _notes(source: str, lines: Sequence[Line]) -> tuple[str, ...]:
    notes = []
    if repeated := [more for line in lines if (more := len(line.listed) - len(line.entries))]:
        notes.append(
            f"{source}: {sum(repeated)} repeated documents in {len(repeated)} queries are counted once, at their first "
            "place."
        )
    if empty := [line.query for line in lines if not line.entries]:
        notes.append(f"{source}: {len(empty)} queries retrieved nothing, the first {empty[0]!r}.")
    return tuple(notes)


def _sources(lines: Sequence[Line], source: str) -> dict[str, str]:
    found: dict[str, str] = {}
    for line in lines:
        for entry in line.listed:  # a repeated document may name its source in a later place only
            if entry.source is not None and found.setdefault(entry.doc_id, entry.source) != entry.source:
                raise Place(source, line.number).error(
                    f"document {entry.doc_id!r} must have one source. Got {found[entry.doc_id]!r} and {entry.source!r}."
                )
    return found


def _lines(content: Content, duplicates: str) -> list[Line]:
    found: dict[str, Line] = {}
    for number, row in objects(content):
        place = Place(content.source, number)
        line = _line(row, number, place, duplicates)
        if line.query in found:
            raise place.error(f"query {line.query!r} is there twice. Write one line for each query.")
        found[line.query] = line
    return list(found.values())


def _line(row: Mapping[str, Any], number: int, place: Place, duplicates: str) -> Line:
    query, listed = as_id(first_value(row, QUERY_KEYS)), first_value(row, LIST_KEYS)
    if query is None or not isinstance(listed, list):
        raise place.error(
            f"a line must be an object with query and a list of ids; the query is a string or an integer. "
            f"Got {reprlib.repr(dict(row))}. Name the query {' or '.join(QUERY_KEYS[:2])}, and the list one of "
            f"{', '.join(LIST_KEYS)}."
        )
    entries = list(_entries(listed, place))
    # Scores beside places would be compared with them: a score of 0.9 is above every place, -1 and below.
    if len({entry.score is None for entry in entries}) > 1:
        raise place.error("some documents have scores and some do not. Give all of them scores, or none.")
    first: dict[str, Entry] = {}
    for entry in entries:
        first.setdefault(entry.doc_id, entry)
    if len(first) < len(entries) and duplicates == "refuse":
        twice = Counter(entry.doc_id for entry in entries).most_common(1)[0][0]
        raise place.error(f"document {twice!r} is in query {query!r} twice. Drop it, or use duplicates='first'.")
    correct = row.get("correct")
    known = None if correct is None else correctness(correct, place)
    return Line(number, query, entries, list(first.values()), _gold(row.get("gold"), place), known)


def _entries(listed: Sequence[Any], place: Place) -> Iterator[Entry]:
    for item in listed:
        doc, score, source = item, None, None
        if isinstance(item, dict):
            doc, score, source = first_value(item, DOC_KEYS), item.get("score"), item.get("source")
        elif isinstance(item, list) and len(item) == 2:
            doc, score = item
        doc_id, named = as_id(doc), as_id(source)
        bad_score = score is not None and not isinstance(score, Literal)
        if doc_id is None or bad_score or (source is not None and named is None):
            raise place.error(
                f"a retrieved document must be an id, [id, score], or an object with id and perhaps score and "
                f"source; ids and sources are strings or integers, scores numbers. Got {reprlib.repr(item)}."
            )
        yield Entry(doc_id, None if score is None else str(score), named)


def _gold(value: Any, place: Place) -> dict[str, str]:
    """Grades of the gold documents: 1 each for a list, their own for an object."""
    if value is None:
        return {}
    graded = dict.fromkeys(value, Literal("1")) if isinstance(value, list) and _are_ids(value) else value
    if not isinstance(graded, dict) or not _are_ids(graded) or not all(isinstance(g, Literal) for g in graded.values()):
        raise place.error(
            f"gold must be a list of ids, or an object of grades by id; ids are strings or integers. Got "
            f"{reprlib.repr(value)}. Correct it."
        )
    return {str(doc): str(grade) for doc, grade in graded.items()}


def _are_ids(values: Any) -> bool:
    return all(as_id(value) is not None for value in values)
