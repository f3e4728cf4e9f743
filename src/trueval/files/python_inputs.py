"""Python inputs: one place that tells paths, frames, dicts, objects and lists apart."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from os import PathLike
from typing import Any, NamedTuple

import polars as pl

from trueval.errors import Place
from trueval.files.columns import find_columns, has_large, refuse_equal_integers
from trueval.files.format_detection import read_table
from trueval.files.frame import Kind, RowTable, value_column
from trueval.files.json.document import records_frame
from trueval.files.json.log_keys import GOLD_KEYS, LIST_KEYS, refuse_unknown
from trueval.files.memory.logs import is_log, read_rows
from trueval.files.memory.peers import ATTRIBUTES, as_floats, as_strings, as_text, read_dict
from trueval.files.tabular.delimited_text import canonical_table
from trueval.files.tabular.typed_tables import read_frame
from trueval.forks import need_polars

MOST_COLUMNS = 64  # a larger dict is one of queries
# Fields of the tuples of ir_measures: ScoredDoc and Qrel.
VALUE_FIELDS = {"run": ("score",), "judgments": ("relevance", "grade")}


class NamedRows(NamedTuple):
    """Rows with their owner's name for them; empty if there is none."""

    table: RowTable
    name: str


def read_input(given: Any, kind: Kind, facets: bool = False) -> NamedRows:
    """Read a run or judgments from any supported object.

    Args:
        given: a path or an open file; a frame of polars, pandas or pyarrow; {query: {document: number}} and the like; a
            Run or Qrels of ranx; triples (query, document, number); records; or rows of a context log.
        kind: kind of data that it must contain.
        facets: whether to keep the facets of diversity judgments.

    Raises:
        InputError: it is none of these, or something in it is wrong.
    """
    need_polars()
    if isinstance(given, pl.DataFrame | pl.LazyFrame) or hasattr(given, "__arrow_c_stream__"):
        return NamedRows(_frame(given, kind, facets), "")
    if hasattr(given, "query_ids"):  # our class of the other kind: its read is not a file's method
        raise _unknown(given, kind)
    if isinstance(given, str | PathLike) or hasattr(given, "read"):
        return NamedRows(*read_table(given, kind, None, facets))
    if isinstance(given, Mapping) or any(hasattr(given, name) for name in ("to_dict", *ATTRIBUTES[kind])):
        name = getattr(given, "name", None)
        return NamedRows(_read_mapping(given, kind, facets), name if isinstance(name, str) else "")
    if not isinstance(given, Iterable) or isinstance(given, bytes) or hasattr(given, "ndim"):
        raise _unknown(given, kind)
    items = list(getattr(given, "samples", given))  # a dataset of Ragas keeps its rows there
    if is_log(items):
        return NamedRows(read_rows(items).table(kind), "")
    if items and isinstance(items[0], Mapping):
        refuse_unknown(items[0], kind, Place("rows", row=0))
        return NamedRows(canonical_table(records_frame(items, kind, "records"), kind, "records", facets), "")
    if not items or not isinstance(items[0], tuple | list):
        raise _unknown(given, kind)
    return NamedRows(_triples(items, kind), "")


def _frame(given: Any, kind: Kind, facets: bool) -> RowTable:
    """A frame of rows; or of a context log, whose columns contain lists, as from to_pandas of Ragas."""
    frame = given.collect() if isinstance(given, pl.LazyFrame) else given
    columns: Any = getattr(frame, "column_names", None) or getattr(frame, "columns", ())  # Arrow keeps names apart
    names = [str(name) for name in columns]
    if {*LIST_KEYS, *GOLD_KEYS}.isdisjoint(names) or "doc_id" in find_columns(names, kind):
        return read_frame(frame, kind, facets)
    return read_rows(pl.DataFrame(frame).to_dicts()).table(kind)


def _read_mapping(given: object, kind: Kind, facets: bool) -> RowTable:
    """Numbers by query and document; or columns, each with its name, as datasets give them."""
    nested = given if isinstance(given, Mapping) else given.to_dict() if hasattr(given, "to_dict") else given
    if isinstance(nested, Mapping) and _are_columns(nested, kind):
        return read_frame(pl.DataFrame(dict(nested)), kind, facets)
    return read_dict(nested, kind)


def _are_columns(nested: Mapping[Any, Any], kind: Kind) -> bool:
    """Whether names of all three columns are there, each with a list of the same length."""
    if len(nested) > MOST_COLUMNS or not all(isinstance(name, str) for name in nested):
        return False
    found = find_columns(list(nested), kind)
    lists = [nested[name] for name in found.values()]
    is_whole = {"query_id", "doc_id", value_column(kind)} <= found.keys()
    return is_whole and all(isinstance(each, list) for each in lists) and len({len(each) for each in lists}) == 1


def _triples(items: list[Any], kind: Kind) -> RowTable:
    """Query, document and number; of a named tuple the fields that are called so."""
    name, source = value_column(kind), f"{value_column(kind)}s"
    rows = []
    for at, item in enumerate(items):
        field = next((each for each in VALUE_FIELDS[kind] if hasattr(item, each)), None)
        if field is not None and hasattr(item, "query_id") and hasattr(item, "doc_id"):
            rows.append((item.query_id, item.doc_id, getattr(item, field)))
        elif isinstance(item, tuple | list) and len(item) == 3:
            rows.append(tuple(item))
        else:
            raise Place(source, row=at).error(
                f"{str(item)[:80]!r}. It must be a triple (query, document, {name}). Lists of numbers go to "
                "trueval.evaluate_arrays, or through Run.from_arrays and Judgments.from_arrays."
            )
    queries, documents, values = (list(column) for column in zip(*rows, strict=True))
    frame = pl.DataFrame(
        {
            "query_id": pl.Series(as_strings(queries, "query id", source), dtype=pl.String),
            "doc_id": pl.Series(as_strings(documents, "document id", source), dtype=pl.String),
            name: as_floats(values, name, source),
        }
    )
    table = RowTable(frame, source)
    if has_large(frame[name].to_numpy()):
        refuse_equal_integers(frame[name], as_text(values, name), frame["query_id"], table)
    return table


def _unknown(given: object, kind: Kind) -> Exception:
    noun = "Run" if kind == "run" else "Judgments"
    got = f"{type(given).__module__.partition('.')[0]}.{type(given).__name__}".removeprefix("builtins.")
    shown = f" {str(given)[:60]!r}" if isinstance(given, int | float | bytes | list | tuple) else ""
    arrays = " Arrays without ids go to trueval.evaluate_arrays." if hasattr(given, "ndim") else ""
    return Place(got).error(
        f"not {'a run' if kind == 'run' else 'judgments'}.{arrays} It must be a path, a dict "
        f"{{query: {{document: {value_column(kind)}}}}}, a frame, or triples (query, document, {value_column(kind)}); "
        f"or make it with {noun}.read, {noun}.from_dict, {noun}.from_frame or {noun}.from_arrays. Got {got}{shown}."
    )
