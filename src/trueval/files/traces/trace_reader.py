"""Traces as a run: the documents of every question, from spans of retrievers and rerankers.

JSON lines, one JSON value or several, and parquet are read, as Phoenix, Langfuse, MLflow, LangSmith, and exporters of
OpenInference and OpenTelemetry write them. Where a question was asked several times, or searched and then reranked, the
span that ended last counts: it is what the reader of the documents got.
"""

from __future__ import annotations

import io
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from typing import Any, Final, NamedTuple

import numpy as np
import polars as pl

from trueval.errors import Place
from trueval.files.frame import Kind, RowTable, all_rise, empty_note
from trueval.files.json.context_logs import first_entries, log_of_lines
from trueval.files.json.log_keys import LogEntry, LogLine, keys_of
from trueval.files.json.quick_json import read_json
from trueval.files.source.encoding import check_text
from trueval.files.source.memory_estimate import PARSED, check_memory
from trueval.files.source.source_bytes import SourceBytes
from trueval.files.tabular import parquet_sizes
from trueval.files.tabular.delimited_text import canonical_table
from trueval.files.traces.retrieval_spans import KINDS, PlainEntries, RetrievalSpan, entry_of, plain_entries, read_span
from trueval.files.traces.span_values import spans_in

PARQUET: Final = b"PAR1"
HEAD: Final = 1 << 16  # bytes of a file that tell whether it holds traces
# What spans have and nothing else that we read.
SIGNS: Final = re.compile(
    rb'"(?:resourceSpans|openinference\.span\.kind|span_kind|mlflow\.span\w+|gen_ai\.[\w.]+|traceId|trace_id|run_type)"'
)
COLUMNS: Final = frozenset(("span_kind", "spans", "trace", "run_type"))  # or any that begins with "attributes."
LONG: Final = 1 << 20  # bytes of a line from which on its memory is estimated
KEYS: Final = (
    "retrieval.documents (OpenInference), gen_ai.retrieval.documents (OpenTelemetry), or the output of a span of type "
    "RETRIEVER (MLflow, Langfuse, LangSmith)"
)


class _Found(NamedTuple):
    """A span that searched, and where it is."""

    span: RetrievalSpan
    place: Place
    number: int


class _PlainLine(NamedTuple):
    """A span whose documents are ids and scores."""

    place: Place
    number: int
    query: str
    entries: PlainEntries


def holds_traces(content: SourceBytes) -> bool:
    """Tell whether bytes hold traces: JSON with a sign of spans in its beginning, or a table with their columns."""
    if content.data.startswith(PARQUET):
        parquet_sizes.check_sizes(content.data, content.source)  # before a library sees what the footer says
        try:
            names = pl.read_parquet_schema(io.BytesIO(content.data))
        except (OSError, pl.exceptions.PolarsError):  # the reader of parquet says what is wrong
            return False
        return not COLUMNS.isdisjoint(names) or any(name.startswith("attributes.") for name in names)
    return content.data[:256].lstrip()[:1] in (b"{", b"[") and SIGNS.search(content.data[:HEAD]) is not None


def read_traces(content: SourceBytes, kind: Kind, _facets: bool = False) -> RowTable:
    """Read the run that traces hold.

    Raises:
        InputError: judgments are wanted; the file is damaged; no span searched; one has no question, or a document has
            neither an id nor a text.
    """
    place = Place(content.source)
    if kind == "judgments":
        raise place.error("traces hold what was retrieved, and no judgments. Give a file of judgments, such as qrels.")
    last: dict[str, tuple[str, _PlainLine | LogLine]] = {}
    asked, named = 0, 0
    for found in _searches(content):
        query = found.span.query_id or found.span.question
        if not query:
            raise found.place.error(
                f"the span {found.span.name!r} has documents and no question. It must be in input.value "
                "(OpenInference), gen_ai.retrieval.query.text (OpenTelemetry, where content is captured), or the input "
                "of the span. Record it."
            )
        asked, named = asked + 1, named + bool(found.span.query_id)
        if query not in last or found.span.end >= last[query][0]:
            last[query] = found.span.end, _line(found, query)
    lines = tuple(line for _, line in last.values())
    table = _plain_table(lines, content.source)
    if table is None:
        log = tuple(_log_line(line) for line in lines)
        if not any(line.entries for line in log):
            raise place.error(f"no span of {asked} that searched names a document. It must have {KEYS}. Record them.")
        table = log_of_lines(log, content.source, content.name, has_lines=True).run()
    return table._replace(notes=(*table.notes, *_notes(content.source, asked, len(lines), named)))


def _notes(source: str, asked: int, queries: int, named: int) -> Iterator[str]:
    if asked > queries:
        yield (
            f"{source}: {asked} spans searched for {queries} questions; of each question the one that ended last "
            "counts."
        )
    if named < asked:
        yield (
            f"{source}: the ids of queries are their texts, as spans have no query_id in their metadata. Judgments "
            "must name queries by their texts too."
        )


def _line(found: _Found, query: str) -> _PlainLine | LogLine:
    if (plain := plain_entries(found.span.documents or ())) is not None:
        return _PlainLine(found.place, found.number, query, plain)
    entries = []
    for number, document in enumerate(found.span.documents or (), 1):
        entry = entry_of(document)
        if entry is None:
            raise found.place.error(
                f"document {number} of the span {found.span.name!r} has no id. It must be a string or an integer, in "
                f"id of the document or of its metadata, and a score a number. Got {keys_of(document)}. Record it."
            )
        entries.append(entry)
    return LogLine(found.place, found.number, query, entries, first_entries(entries, found.place), {}, False, None)


def _log_line(line: _PlainLine | LogLine) -> LogLine:
    if isinstance(line, LogLine):
        return line
    entries = [LogEntry(*pair) for pair in zip(line.entries.ids, map(repr, line.entries.scores), strict=True)]
    return LogLine(line.place, line.number, line.query, entries, entries, {}, False, None)


def _plain_table(lines: Sequence[_PlainLine | LogLine], source: str) -> RowTable | None:
    """The rows of lists of ids and scores, as the log of them has them; None where only a log can say it."""
    plain = [line for line in lines if isinstance(line, _PlainLine)]
    sizes = [len(line.entries.ids) for line in plain]
    if len(plain) < len(lines) or not sum(sizes):
        return None
    scores = np.fromiter(chain.from_iterable(line.entries.scores for line in plain), np.float64, sum(sizes))
    if all_rise(scores, np.cumsum([0, *sizes])):
        return None
    of_row = np.repeat(np.arange(len(plain)), sizes)
    frame = pl.DataFrame(
        {
            "query_id": pl.Series([line.query for line in plain], dtype=pl.String).gather(of_row),
            "doc_id": pl.Series([*chain.from_iterable(line.entries.ids for line in plain)], dtype=pl.String),
            "score": scores,
        }
    )
    empty = tuple(line.query for line, size in zip(plain, sizes, strict=True) if not size)
    numbers = [line.number for line in plain]
    table = canonical_table(frame, "run", source, line=lambda row: numbers[of_row[max(row, 0)]])
    return table._replace(notes=(*empty_note(source, empty), *table.notes), empty=empty)


def _searches(content: SourceBytes) -> Iterator[_Found]:
    """The spans that searched, in the order of the file.

    Raises:
        InputError: there is none.
    """
    count = searched = 0
    for number, value in _values(content):
        place = Place(content.source, number)
        for span in spans_in(value):
            count += 1
            if (read := read_span(span)) is not None:
                searched += 1
                yield _Found(read, place, number)
    if not searched:
        raise Place(content.source).error(
            f"{count} spans that may have searched, and none did. A span must be of the kind "
            f"{' or '.join(sorted(KINDS))}, or have {KEYS}. Trace the retriever too."
        )


def _values(content: SourceBytes) -> Iterator[tuple[int, Any]]:
    """The JSON values of a file that may hold a search, each with its line; the rows of a table."""
    if content.data.startswith(PARQUET):
        yield from enumerate(_rows(content), 1)
        return
    content = check_text(content, is_json=True, cost=None)
    lines = io.BytesIO(content.data)  # which cuts off one line at a time, without a copy of the others
    first = next((line for line in lines if line.strip()), b"")
    if not _is_json(first, Place(content.source)):
        yield from _whole_values(content)
        return
    lines.seek(0)
    for number, line in enumerate(lines, 1):
        if b"retriev" in line or b"RETRIEV" in line or b"rerank" in line:  # most spans did not search
            yield number, _load_line(line, Place(content.source, number))


def _is_json(line: bytes, place: Place) -> bool:
    check_memory(PARSED.of(line), place)
    try:
        json.loads(line)
    except (ValueError, RecursionError):
        return False
    return True


def _load_line(line: bytes, place: Place) -> Any:
    if len(line) > LONG:
        check_memory(PARSED.of(line), place)
    try:
        return read_json(line)
    except (ValueError, RecursionError) as error:
        raise place.error(f"not JSON: {error}. Correct it, or remove the line.") from None


def _whole_values(content: SourceBytes) -> Iterator[tuple[int, object]]:
    """One JSON value, or several one after another, as exporters to a console write them."""
    check_memory(PARSED.of(content.data), Place(content.source))
    text, at, line = content.data.decode(errors="replace"), 0, 1
    decoder = json.JSONDecoder()
    while at < len(text):
        if text[at].isspace():
            line, at = line + (text[at] == "\n"), at + 1
            continue
        try:
            value, end = decoder.raw_decode(text, at)
        except (ValueError, RecursionError) as error:
            raise Place(content.source, line).error(f"not JSON: {error}. Correct the file.") from None
        yield line, value
        line, at = line + text.count("\n", at, end), end


def _rows(content: SourceBytes) -> Iterator[Mapping[str, object]]:
    """The rows of a table that may be of a search."""
    parquet_sizes.check_sizes(content.data, content.source)
    try:
        frame = pl.read_parquet(io.BytesIO(content.data))
    except (OSError, pl.exceptions.PolarsError) as error:
        raise Place(content.source).error(f"damaged parquet: {error}. Write it again.") from None
    for name in ("span_kind", "attributes.openinference.span.kind", "run_type"):
        if name in frame.columns and frame[name].dtype == pl.String:
            frame = frame.filter(pl.col(name).str.to_uppercase().is_in([*KINDS]))
            break
    yield from frame.iter_rows(named=True)
