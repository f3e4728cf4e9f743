"""Logs of contexts: what a RAG system retrieved for each query, one JSON object a line, or a list of them.

    {"query": "q1", "ids": ["d7", "d2"], "gold": ["d2"], "correct": true}
    {"query": "q2", "ids": [{"id": "d3", "score": 0.9, "source": "report.pdf"}], "gold": {"d3": 5, "d4": 3}}

log_keys.py says what other tools call these. The order of a list comes first, since a model read the documents in it.
Documents without scores are a strict order: the score is minus the place. So are those whose scores do not descend with
the lists; scores that do are kept, and where they are equal the documents are tied.
"""

from __future__ import annotations

import json
import re
import reprlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import polars as pl

from trueval.errors import Place
from trueval.files.frame import Kind, RowTable, empty_note, value_column
from trueval.files.json.extra_scores import with_extra_scores, without_contrary_scores
from trueval.files.json.jsonl_pairs import QUERY_KEYS, as_id, first_value, objects
from trueval.files.json.jsonl_rows import Literal, RepeatedKeyError, object_of_pairs
from trueval.files.json.key_lines import find_repeated_key, item_lines
from trueval.files.json.log_keys import (
    GOLD_KEYS,
    LIST_KEYS,
    NAMES,
    TEXT_LISTS,
    LogEntry,
    LogLine,
    find_filled_key,
    keys_of,
    looks_like_row,
    read_entry,
    text_id,
)
from trueval.files.row_checks import check_rows
from trueval.files.source.encoding import check_text, find_decoding_error
from trueval.files.source.memory_estimate import PARSED, check_cost
from trueval.files.source.source_bytes import SourceBytes
from trueval.files.tabular.delimited_text import canonical_table

FIRST_LINE = re.compile(rb"\s*(\{[^\n]*)")
OPENS_A_LIST = re.compile(rb"\s*\[\s*\{")
LISTS = re.compile(rb'"(?:%s)"\s*:\s*[\[{]' % b"|".join(key.encode() for key in (*LIST_KEYS, *GOLD_KEYS)))
HEAD = 1 << 20  # bytes of a list of objects that are searched for a list of documents before decoding all of it


class UnreadLine(NamedTuple):
    """An undecoded object of a log.

    Attributes:
        place: place of its line, or of the item in memory.
        number: line number, or position from 1.
        values: keys and values; numbers as written.
    """

    place: Place
    number: int
    values: Any


class Log(NamedTuple):
    """A context log with checked lines, from which run and judgments are built.

    Attributes:
        lines: lines of the log, at least one.
        source: the path, "<stdin>", or a description of the origin.
        name: name of the file without suffixes; empty without a file.
        has_lines: whether positions are lines rather than items.
        sources: document → source, where the log has it.
        in_reading_order: whether each list is in the order in which a model read it.
    """

    lines: tuple[LogLine, ...]
    source: str
    name: str
    has_lines: bool
    sources: Mapping[str, str]
    notes: tuple[str, ...]
    in_reading_order: bool = False

    def run(self) -> RowTable:
        """What was retrieved.

        Raises:
            InputError: nothing was, or a number is none.
        """
        rows = [
            (line.number, line.query, entry.doc_id, str(-place) if entry.score is None else entry.score)
            for line in self.lines
            for place, entry in enumerate(line.entries, 1)
        ]
        if not rows:
            raise Place(self.source).error(f"no query retrieved a document. {NAMES}")
        return self._table(rows, "run")

    def judgments(self) -> RowTable | None:
        """The gold documents as judgments; None if no line names any.

        Raises:
            InputError: a grade is no number.
        """
        rows = [(line.number, line.query, doc, grade) for line in self.lines for doc, grade in line.gold.items()]
        return self._table(rows, "judgments") if rows else None

    def table(self, kind: Kind) -> RowTable:
        """One of both; the other is checked as well, as a log is one file.

        Raises:
            InputError: the log has none, or a row of either is bad.
        """
        judgments = self.judgments()
        if kind == "run" and judgments is not None:
            check_rows(judgments, "judgments")
        elif kind == "judgments" and any(line.entries for line in self.lines):
            check_rows(self.run(), "run")
        found = self.run() if kind == "run" else judgments
        if found is None:
            raise Place(self.source).error(
                "no line names gold documents. Give them under gold, relevant_ids or reference_context_ids, or give a "
                "file of judgments."
            )
        return found

    def _table(self, rows: Sequence[tuple[int, str, str, str]], kind: Kind) -> RowTable:
        """Rows of line, query, document and number."""
        columns = ("line", "query_id", "doc_id", value_column(kind))
        frame = pl.DataFrame(rows, schema=dict.fromkeys(columns, pl.String) | {"line": pl.Int64}, orient="row")
        numbers = frame.drop_in_place("line").to_list()
        # One line of a log yields many rows; an error about a row names the line. Row -1 means the log as a whole.
        line = (lambda row: numbers[max(row, 0)]) if self.has_lines else None
        table = canonical_table(frame, kind, self.source, line=line)
        notes = self.notes + table.notes if kind == "run" else table.notes
        empty = tuple(_empty(self.lines)) if kind == "run" else ()
        of_log = RowTable(table.frame, table.source, table.line, notes, sources=self.sources, empty=empty)
        return of_log._replace(in_reading_order=kind == "run" and self.in_reading_order)


def holds_contexts(content: SourceBytes) -> bool:
    """Tell whether bytes contain a context log: the first line, or first item of a JSON list, looks like one of its
    rows.
    """
    first = FIRST_LINE.match(content.data)
    if first is not None:
        if LISTS.search(first[1]) is None:
            return False
        text = first[1]
    elif OPENS_A_LIST.match(content.data) and LISTS.search(content.data[:HEAD]):
        text = content.data
    else:
        return False
    check_cost(PARSED, text, content.source)
    try:
        row = json.loads(text.decode(errors="replace"))
    except (RecursionError, ValueError):  # ValueError: no JSON, or an integer of thousands of digits
        return False
    return looks_like_row(row[0] if isinstance(row, list) else row)


def read_log(content: SourceBytes, duplicates: str = "first") -> Log:
    """Read a log of contexts.

    Args:
        content: content of a file.
        duplicates: "first": a document retrieved twice for a query counts once, at its first position, and later
            documents move up; "refuse": it is an error.

    Raises:
        InputError: a line is bad, a query is there twice, or a document has two sources; with file and line.
    """
    return log_of(unread_lines(content), content.source, content.name, duplicates=duplicates)


def unread_lines(content: SourceBytes) -> Iterator[UnreadLine]:
    """The objects of JSON lines, or of a list, with the lines on which they begin.

    Raises:
        InputError: a line is no object, or has a key twice; with file and line.
    """
    content = check_text(content, is_json=True)
    yield from _items(content) if OPENS_A_LIST.match(content.data) else _objects(content)


def log_of(
    rows: Iterable[UnreadLine],
    source: str,
    name: str,
    *,
    duplicates: str = "first",
    has_lines: bool = True,
    in_reading_order: bool = True,
) -> Log:
    """Build a log from decoded rows.

    Args:
        rows: rows in order.
        source: the path, or a description of the origin.
        name: name of the file; empty without one.
        has_lines: whether positions are lines.
        in_reading_order: as in `log_of_lines`.

    Raises:
        InputError: as `read_log`.
    """
    found: dict[str, LogLine] = {}
    for row in rows:
        line = _line(row, duplicates)
        if line.query in found:
            raise row.place.error(f"query {line.query!r} is there twice. Write one line for each query.")
        found[line.query] = line
    return log_of_lines(tuple(found.values()), source, name, has_lines=has_lines, in_reading_order=in_reading_order)


def log_of_lines(
    lines: tuple[LogLine, ...], source: str, name: str, *, has_lines: bool, in_reading_order: bool = False
) -> Log:
    """Build a log from checked lines, of different queries.

    Args:
        lines: lines in order.
        source: the path, or a description of the origin.
        name: name of the file; empty without one.
        has_lines: whether positions are lines.
        in_reading_order: whether each list is in the order in which a model read it; scores that contradict this order
            are then not used.

    Raises:
        InputError: some lines name documents by ids and some by texts, or a document has two sources.
    """
    _check_alike(lines)
    lines, notes = _match_document_names(lines, source)
    lines, scored = with_extra_scores(lines, source)
    if in_reading_order:
        lines, ranked = without_contrary_scores(lines, source)
        scored = (*scored, *ranked)
    found = (*_notes(source, lines), *scored, *notes)
    return Log(lines, source, name, has_lines, _sources(lines), found, in_reading_order)


def _objects(content: SourceBytes) -> Iterator[UnreadLine]:
    for number, values in objects(content):
        yield UnreadLine(Place(content.source, number), number, values)


def _items(content: SourceBytes) -> Iterator[UnreadLine]:
    """The items of a JSON list, with the lines on which they begin."""
    if (undecodable := find_decoding_error(content)) is not None:
        raise undecodable
    text = content.data.decode()
    try:
        items = json.loads(
            text, object_pairs_hook=object_of_pairs, parse_float=Literal, parse_int=Literal, parse_constant=Literal
        )
    except RepeatedKeyError as error:
        raise Place(content.source, find_repeated_key(text)).error(
            f"the key {error.args[0]!r} is twice in one object. Each must be there once. Keep one."
        ) from None
    except json.JSONDecodeError as error:
        raise Place(content.source, error.lineno).error(f"not JSON: {error.msg}. Correct the file.") from error
    except RecursionError:
        raise Place(content.source).error("nested too deep. It must be a list of objects of plain values.") from None
    for line, values in zip(item_lines(text), items, strict=True):
        yield UnreadLine(Place(content.source, line), line, values)


def _line(row: UnreadLine, duplicates: str) -> LogLine:
    values, place = row.values, row.place
    query = as_id(first_value(values, QUERY_KEYS)) if isinstance(values, Mapping) else None
    key, gold_key = (find_filled_key(values, keys) if query is not None else None for keys in (LIST_KEYS, GOLD_KEYS))
    if query is None or (key is None and gold_key is None) or (key and not isinstance(values[key], list)):
        raise place.error(
            "a line must be an object with query and a list of ids; the query is a string or an integer. "
            f"Got {_describe_row(values, query, key)}. {NAMES}"
        )
    entries = [_entry(item, key, place) for item in values[key]] if key else []
    first = first_entries(entries, place)
    if len(first) < len(entries) and duplicates == "refuse":
        twice = Counter(entry.doc_id for entry in entries).most_common(1)[0][0]
        raise place.error(f"document {twice!r} is in query {query!r} twice. Drop it, or use duplicates='first'.")
    gold = _gold(values.get(gold_key), gold_key, place) if gold_key else {}
    retrieved = entries if key else None
    is_text = gold_key in TEXT_LISTS and bool(gold)
    return LogLine(place, row.number, query, retrieved, first, gold, is_text, values.get("correct"))


def first_entries(entries: Sequence[LogEntry], place: Place) -> list[LogEntry]:
    """Each document of a list once, at its first position.

    Raises:
        InputError: some have scores or ids, and some do not.
    """
    for what, are in (("scores", [e.score is not None for e in entries]), ("ids", [not e.is_text for e in entries])):
        # Scores cannot be mixed with positions: a score of 0.9 is above every position, which counts as -1 and below.
        if len(set(are)) > 1:
            raise place.error(f"some documents have {what} and some do not. Give all of them {what}, or none.")
    first: dict[str, LogEntry] = {}
    for entry in entries:
        first.setdefault(entry.doc_id, entry)
    return list(first.values())


def _describe_row(values: object, query: str | None, key: str | None) -> str:
    """What a row is instead."""
    if not isinstance(values, Mapping) or (query is not None and key is None):
        return keys_of(values)
    name = key if query is not None else next((each for each in QUERY_KEYS if values.get(each) is not None), None)
    return keys_of(values) if name is None else f"{reprlib.repr(values[name])} under {name!r}"


def _entry(item: object, key: str, place: Place) -> LogEntry:
    entry = read_entry(item, key)
    if entry is None:
        got = f"{keys_of(item)} in {reprlib.repr(item)}" if isinstance(item, Mapping) else reprlib.repr(item)
        raise place.error(
            "a retrieved document must be an id, [id, score], or an object with id (its own, or in its metadata) and "
            f"perhaps score and source; ids and sources are strings or integers, scores numbers. Got {got} under "
            f"{key!r}."
        )
    return entry


def _gold(value: object, key: str, place: Place) -> dict[str, str]:
    """Grades of the gold documents: 1 each for a list, their own for an object."""
    if isinstance(value, list) and key in TEXT_LISTS:
        if not all(isinstance(text, str) and not isinstance(text, Literal) and text.strip() for text in value):
            raise place.error(f"{key} must be a list of texts. Got {reprlib.repr(value)}. Correct it.")
        return dict.fromkeys(map(text_id, value), "1")
    graded = dict.fromkeys(value, Literal("1")) if isinstance(value, list) and _are_ids(value) else value
    if not isinstance(graded, dict) or not _are_ids(graded) or not all(isinstance(g, Literal) for g in graded.values()):
        raise place.error(
            f"{key} must be a list of ids, or an object of grades by id; ids are strings or integers. Got "
            f"{reprlib.repr(value)}. Correct it."
        )
    return {str(doc): str(grade) for doc, grade in graded.items()}


def _are_ids(values: Any) -> bool:
    return all(as_id(value) is not None for value in values)


def _check_alike(lines: Sequence[LogLine]) -> None:
    """Refuse a log of which some lines say what was retrieved and some do not, or some by ids and some by texts."""
    silent = next((line for line in lines if line.listed is None), None)
    if silent is not None and any(line.listed is not None for line in lines):
        raise silent.place.error(
            "a line must be an object with query and a list of ids, as the other lines have it; an empty list says "
            f"that nothing was retrieved. {NAMES}"
        )
    for what, named in (
        ("retrieved documents", [(line.entries[0].is_text, line.place) for line in lines if line.entries]),
        ("gold documents", [(line.gold_is_text, line.place) for line in lines if line.gold]),
    ):
        other = next((place for is_text, place in named if is_text != named[0][0]), None)
        if other is not None:
            one, two = ("texts", "ids") if named[0][0] else ("ids", "texts")
            raise other.error(
                f"the {what} are {two}, and those of {named[0][1]} are {one}. Give ids everywhere, or texts everywhere."
            )


def _match_document_names(lines: tuple[LogLine, ...], source: str) -> tuple[tuple[LogLine, ...], tuple[str, ...]]:
    """See to it that retrieved and gold documents are named in the same way: both by ids, or both by texts."""
    texts = next((line for line in lines if line.entries and line.entries[0].is_text), None)
    has_ids = any(line.entries for line in lines) and texts is None
    gold = next((line for line in lines if line.gold), None)
    if texts is not None and (gold is None or not gold.gold_is_text):
        against = "nothing that they could be held against" if gold is None else "ids as gold documents"
        raise texts.place.error(
            f"the retrieved documents are texts without ids, and the log has {against}. Give their ids, as ids, "
            "retrieved_context_ids, or id (or metadata.id) in each document; or give texts as gold documents, under "
            "reference_contexts."
        )
    if has_ids and gold is not None and gold.gold_is_text:
        note = (
            f"{source}: reference_contexts are texts and the retrieved documents have ids, so the texts are not used. "
            "Give reference_context_ids."
        )
        return tuple(line._replace(gold={}, gold_is_text=False) for line in lines), (note,)
    if gold is not None and gold.gold_is_text:
        note = (
            f"{source}: documents have no ids and are known by their texts. A retrieved text is a gold document where "
            "it is the same, white space aside; a part of it, or other words, is another document."
        )
        return lines, (note,)
    return lines, ()


def _notes(source: str, lines: Sequence[LogLine]) -> Iterator[str]:
    if repeated := [more for line in lines if (more := len(line.listed or ()) - len(line.entries))]:
        yield (
            f"{source}: {sum(repeated)} repeated documents in {len(repeated)} queries are counted once, at their first "
            "place."
        )
    yield from empty_note(source, _empty(lines))
    found = Counter(entry.found for line in lines for entry in line.entries if entry.found)
    for name, count in found.items():
        yield f"{source}: the ids of {count} retrieved documents are those under {name}, as they have no other."
    rising = [line.query for line in lines if _rises(line.entries)]
    if rising and len(rising) == len([line for line in lines if len({entry.score for entry in line.entries}) > 1]):
        yield (
            f"{source}: scores rise down every list, as distances do; the highest score counts as the best. If these "
            "are distances, write them with a minus."
        )


def _empty(lines: Sequence[LogLine]) -> list[str]:
    """The queries that retrieved nothing."""
    return [line.query for line in lines if line.listed is not None and not line.entries]


def _rises(entries: Sequence[LogEntry]) -> bool:
    """Whether every score is at least the one before it, and the last is above the first."""
    scores = [float(entry.score) for entry in entries if entry.score is not None]
    return len(scores) > 1 and scores[0] < scores[-1] and all(a <= b for a, b in pairwise(scores))


def _sources(lines: Sequence[LogLine]) -> dict[str, str]:
    found: dict[str, str] = {}
    for line in lines:
        for entry in line.listed or ():  # a repeated document may have its source only in a later position
            if entry.source is not None and found.setdefault(entry.doc_id, entry.source) != entry.source:
                raise line.place.error(
                    f"document {entry.doc_id!r} must have one source. Got {found[entry.doc_id]!r} and {entry.source!r}."
                )
    return found
