"""Format detection: which reader a file needs, by its first bytes and first line rather than its name.

A package adds a format by an entry point of the group `trueval.readers`: its name is that of the format, its object a
callable `(content: Content, kind: Kind, facets: bool) -> Table`. It gets the unpacked bytes and returns the columns
that Table describes; `canonical_table` makes them from a frame with the usual column names, and errors raised as
`Place(content.source, line).error(...)` name file and line as ours do. Ids, numbers and duplicates are checked
afterwards, as in any other format. A format added by a package is used only where it is named, never detected:

    [project.entry-points."trueval.readers"]
    letor = "letor_reader:read_letor"
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from contextlib import suppress
from importlib.metadata import entry_points
from typing import TypeAlias

import polars as pl

from trueval.errors import InputError, Place, PolicyError
from trueval.files.columns import looks_like_header
from trueval.files.frame import Kind, RowTable, value_column
from trueval.files.json.context_logs import holds_contexts, read_log
from trueval.files.json.document import read_json
from trueval.files.json.jsonl_rows import decode_object, read_jsonl
from trueval.files.json.log_keys import refuse_unknown
from trueval.files.libraries import library_name, read_library
from trueval.files.source.encoding import check_text
from trueval.files.source.line_parts import LineParts, open_parts, parts_in_memory
from trueval.files.source.memory_estimate import PARSED, check_memory
from trueval.files.source.source_bytes import Source, SourceBytes, read_content
from trueval.files.tabular.delimited_text import read_delimited, sniff_delimiter
from trueval.files.tabular.run_tables import read_run_of_table
from trueval.files.tabular.typed_tables import read_arrow, read_parquet
from trueval.files.traces.trace_reader import holds_traces, read_traces
from trueval.files.trec.grammar_reader import read_trec
from trueval.files.trec.regular_reader import read_regular
from trueval.files.trec.row_forms import first_line
from trueval.forks import need_polars

FORMATS = ("trec", "msmarco", "beir", "tsv", "csv", "jsonl", "json", "contexts", "traces", "parquet", "arrow")
SIGNATURES = {"parquet": b"PAR1", "arrow": b"ARROW1"}
JSON_OPENING = re.compile(rb"\s*[\[{]")
Reader: TypeAlias = Callable[[SourceBytes, Kind, bool], RowTable]


def _read_contexts(content: SourceBytes, kind: Kind, _facets: bool = False) -> RowTable:
    return read_log(content).table(kind)  # which has no facets: measures of facets say so themselves


READERS: dict[str, Reader] = {
    "trec": read_trec,
    "msmarco": read_trec,
    "beir": read_delimited,
    "tsv": read_delimited,
    "csv": read_delimited,
    "jsonl": read_jsonl,
    "contexts": _read_contexts,
    "traces": read_traces,
    "parquet": read_parquet,
    "arrow": read_arrow,
}


def read_table(source: Source, kind: Kind, format: str | None = None, facets: bool = False) -> tuple[RowTable, str]:
    """Read a run or judgments in any format.

    Args:
        source: a path, "-" for standard input, an open file, or a name such as "ir_datasets:NAME" (libraries.py).
        kind: kind of table that the source must contain.
        format: one of FORMATS, or one that a package adds; None detects it from the content.
        facets: whether to keep the facets of diversity judgments.

    Returns:
        The table, and the name of the source without known suffixes.

    Raises:
        InputError: the source cannot be read as this kind.
        PolicyError: the format is unknown.
    """
    need_polars()
    if (name := library_name(source)) is not None:
        return read_library(name, kind, format, facets), name.name
    if kind == "run" and (of_table := read_run_of_table(source)) is not None:
        return of_table
    if format is not None and format not in FORMATS:
        reader, content = _load_plugin_reader(format), read_content(source)
        return _of_other_package(reader(content, kind, facets), kind, format), content.name
    # A large regular text is never held in memory as a whole. If it turns out not to be regular, which shows only at
    # its end and is rare, it is read again.
    with open_parts(source) as parts:
        table = None if parts is None else _read_regular(parts, kind, format, facets)
    if parts is not None and table is not None:
        return table, parts.head.name
    content = read_content(source)
    if (table := _read_regular(parts_in_memory(content), kind, format, facets)) is not None:
        return table, content.name
    if format is None and (signed := _sniff_signature(content.data)) is not None:
        format = "traces" if signed == "parquet" and holds_traces(content) else signed
    if format not in ("parquet", "arrow", "traces"):
        looks_like_json = format in ("json", "jsonl", "contexts") or (
            format is None and JSON_OPENING.match(content.data) is not None
        )
        content = check_text(content, is_json=looks_like_json, cost=None)
    chosen = format or _sniff_log(content) or _sniff_text(content)
    if chosen == "jsonl" and format is None:
        place = Place(content.source, content.data[: -len(content.data.lstrip())].count(b"\n") + 1)
        refuse_unknown(decode_object(first_line(content), place), kind, place)
    if chosen == "json":
        return read_json(content, kind), content.name
    return READERS[chosen](content, kind, facets), content.name


def _load_plugin_reader(format: str) -> Reader:
    """Look up the format in other packages; only on demand, since the lookup takes longer than reading a small file.

    Raises:
        PolicyError: no package adds it, or the one that does cannot be imported.
    """
    added = {point.name: point for point in entry_points(group="trueval.readers")}
    if format not in added:
        names = ", ".join((*FORMATS, *sorted(added.keys() - set(FORMATS))))
        raise PolicyError(f"format must be one of {names}. Got {format!r}.")
    try:
        reader: Reader = added[format].load()
    except (ImportError, AttributeError) as error:
        raise PolicyError(
            f"The reader of the format {format!r}, {added[format].value}, cannot be loaded: {error}."
        ) from error
    return reader


def _of_other_package(table: object, kind: Kind, format: str) -> RowTable:
    """Check that another package's reader returned what Table promises, such as Float64 columns.

    Raises:
        TypeError: it gave something else.
    """
    types = {"query_id": pl.String, "doc_id": pl.String, value_column(kind): pl.Float64}
    got = table.whole().schema if isinstance(table, RowTable) else {}
    if not isinstance(table, RowTable) or any(got.get(name) != dtype for name, dtype in types.items()):
        raise TypeError(f"The reader of the format {format!r} must give a Table with {types}. Got {got or table!r}.")
    return table


def _read_regular(text: LineParts, kind: Kind, format: str | None, facets: bool) -> RowTable | None:
    """Read a regular text without a header line; None for anything else, and where anything is wrong."""
    head = text.head
    if format is None:
        if _sniff_signature(head.data) is not None or JSON_OPENING.match(head.data) is not None:
            return None
        with suppress(InputError):  # every line is empty
            format = _sniff_text(head)
    return read_regular(text, kind, facets) if format in ("trec", "msmarco") else None


def _sniff_signature(data: bytes) -> str | None:
    return next((format for format, signature in SIGNATURES.items() if data.startswith(signature)), None)


def _sniff_log(content: SourceBytes) -> str | None:
    """Tell a log of contexts, and traces."""
    return "contexts" if holds_contexts(content) else "traces" if holds_traces(content) else None


def _sniff_text(content: SourceBytes) -> str:
    """Tell a header line by its names, and csv without any by a comma or semicolon in a line without spaces."""
    line = first_line(content)
    if line.startswith(("{", "[")):
        return "json" if line.startswith("[") else _sniff_json(line, Place(content.source))
    delimiter = sniff_delimiter(line)
    fields = re.split(r"[ \t]+", line.strip()) if delimiter == " " else line.strip().split(delimiter)
    is_csv = delimiter in ",;" and not re.search(r"[ \t]", line.strip())
    return "csv" if is_csv or looks_like_header([field.strip(' "') for field in fields]) else "trec"


def _sniff_json(line: str, place: Place) -> str:
    """Tell jsonl (the first line is an object with a plain value, such as a score) from one JSON value."""
    check_memory(PARSED.of(line.encode(errors="replace")), place)
    try:
        first = json.loads(line)
    except (RecursionError, ValueError):  # ValueError: not JSON, or an integer of thousands of digits
        return "json"
    values = [value for key, value in first.items() if not key.startswith("mteb_")]
    return "jsonl" if any(not isinstance(value, (dict, list)) for value in values) else "json"
