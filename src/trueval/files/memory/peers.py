"""Results of other libraries in memory: dicts, hits, and result objects, read without importing those libraries."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from functools import partial
from itertools import chain
from numbers import Integral
from typing import Any, cast

import numpy as np
import polars as pl

from trueval.errors import Place
from trueval.files.columns import find_columns, has_large, refuse_equal_integers
from trueval.files.frame import Kind, RowTable, empty_note, value_column
from trueval.forks import need_polars

# Attributes of result objects with {query: {document: number}}: ranx has run and qrels, and to_dict() for both;
# InformationRetrievalEvaluator of sentence-transformers and the tasks of mteb keep judgments in relevant_docs.
ATTRIBUTES: dict[Kind, tuple[str, ...]] = {"run": ("run", "results"), "judgments": ("qrels", "relevant_docs")}
MOST_LEVELS = 4  # mteb's prediction files: subset, split, query, document


def read_dict(
    nested: object, kind: Kind, source: str | None = None, line: Callable[[pl.DataFrame, int], int] | None = None
) -> RowTable:
    """Read {query: {document: number}}, {query: hits}, {query: set of relevant documents}, or an object that holds one.

    Hits are dicts with corpus_id and score, as in sentence-transformers, or pairs; ids alone, best first, get minus
    their position as the score. Outer levels of a dict (mteb: subset, split) are unwrapped if each has one entry.

    Args:
        nested: the dict or object with the numbers.
        kind: kind of the numbers.
        source: name of the origin in errors; its type if None.
        line: function from a row of the table to its line; None without lines.

    Raises:
        InputError: an id is neither string nor integer, a value is not a number, two integers of a query are the same
            double, or the nesting is another.
    """
    need_polars()
    label = source or f"{type(nested).__module__.partition('.')[0]}.{type(nested).__name__}"
    per_query = _descend(_to_mapping(nested, kind, label), label)
    documents, values = _flatten(per_query, kind, label)
    queries = as_strings(list(per_query), "query id", label)
    if len(set(queries)) < len(queries):
        twice = next(query for index, query in enumerate(queries) if query in queries[:index])
        raise Place(label).error(f"the query {twice!r} is there twice, as string and as integer. Keep one.")
    name, listed = value_column(kind), list(chain.from_iterable(values))
    frame = pl.DataFrame(
        {
            "query_id": pl.Series(queries, dtype=pl.String).gather(
                pl.Series(np.repeat(np.arange(len(queries)), [len(d) for d in documents]), dtype=pl.UInt32)
            ),
            "doc_id": pl.Series(
                as_strings(list(chain.from_iterable(documents)), "document id", label), dtype=pl.String
            ),
            name: as_floats(listed, name, label),
        }
        if any(documents)
        else {"query_id": [], "doc_id": [], name: []},
        schema={"query_id": pl.String, "doc_id": pl.String, name: pl.Float64},
    )
    bare = tuple(query for query, found in zip(queries, documents, strict=True) if not found)
    notes, lines = empty_note(label, bare), None if line is None else partial(line, frame)
    if bare and kind == "judgments":
        notes = (f"{label}: left out {len(bare)} queries without any document, for instance {bare[0]!r}",)
    table = RowTable(frame, label, lines, notes, empty=bare if kind == "run" else ())
    if has_large(frame[name].to_numpy()):
        refuse_equal_integers(frame[name], as_text(listed, name), frame["query_id"], table)
    return table


def _to_mapping(nested: object, kind: Kind, label: str) -> Mapping[object, object]:
    if isinstance(nested, Mapping):
        return nested
    holders = (getattr(nested, "to_dict", None), *(getattr(nested, name, None) for name in ATTRIBUTES[kind]))
    for holder in holders:
        found: object = holder() if callable(holder) else holder
        if isinstance(found, Mapping):
            return found
    raise Place(label).error(
        f"cannot be read as {{query: {{document: {value_column(kind)}}}}}. "
        "Lists of hits need their queries: dict(zip(query_ids, hits)). For frames use from_frame, for "
        "arrays from_arrays."
    )


def _descend(outer: Mapping[object, object], label: str) -> Mapping[object, object]:
    nested: Any = outer
    for _ in range(MOST_LEVELS):
        # mteb writes its version and the model's next to the results.
        levels = {key: value for key, value in nested.items() if not str(key).startswith("mteb_")}
        first = next(iter(levels.values()), None)
        deeper = isinstance(first, Mapping) and isinstance(next(iter(first.values()), None), Mapping)
        if not deeper:
            return cast("Mapping[Any, Any]", nested)
        if len(levels) > 1:
            names = ", ".join(map(str, levels))
            raise Place(label).error(f"several results ({names[:200]}). It must be one. Give one of them.")
        nested = first
    raise Place(label).error("nested too deep. It must be {query: {document: number}}.")


def _flatten(
    per_query: Mapping[object, object], kind: Kind, label: str
) -> tuple[list[list[object]], list[Iterable[object]]]:
    documents: list[list[Any]] = []
    values: list[Iterable[Any]] = []
    for query, listed in per_query.items():
        if isinstance(listed, Mapping):
            documents.append(list(listed))
            values.append(listed.values())
        elif isinstance(listed, Set) and kind == "judgments":
            documents.append(sorted(listed, key=str))
            values.append([1.0] * len(listed))
        elif kind == "run" and isinstance(listed, (list, tuple)) and _are_ids(listed):
            documents.append(list(listed))  # a strict order, best first
            values.append([-1.0 - place for place in range(len(listed))])
        elif isinstance(listed, (list, tuple)):
            pairs = [_hit(hit, kind, label, query) for hit in listed]
            documents.append([document for document, _ in pairs])
            values.append([value for _, value in pairs])
        else:
            raise Place(label).error(
                f"query {query!r} has {type(listed).__name__}. It must be a dict {{document: {value_column(kind)}}}."
            )
    return documents, values


def _are_ids(listed: Sequence[object]) -> bool:
    return bool(listed) and all(isinstance(each, (str, int)) and not isinstance(each, bool) for each in listed)


def _hit(hit: object, kind: Kind, label: str, query: object) -> tuple[object, object]:
    if isinstance(hit, Mapping):
        found = find_columns([str(key) for key in hit], kind)
        value = found.get(value_column(kind))
        if "doc_id" in found and value is not None:
            return hit[found["doc_id"]], hit[value]
    elif isinstance(hit, (list, tuple)) and len(hit) == 2:
        return hit[0], hit[1]
    elif kind == "judgments" and isinstance(hit, (str, int)):  # a JSON file has no sets of relevant documents
        return hit, 1.0
    raise Place(label).error(
        f"query {query!r} lists {str(hit)[:80]}. It must be a pair (document, {value_column(kind)}) "
        f"or a dict with corpus_id and {value_column(kind)}."
    )


def as_strings(ids: list[Any], what: str, label: str) -> list[str]:
    """Turn ids into strings; integers are written in decimal.

    Raises:
        InputError: an id is neither string nor integer, or not Unicode.
    """
    kinds = set(map(type, ids))  # few objects, compared with millions of ids
    for kind in kinds:
        if not issubclass(kind, (str, int, np.integer)) or issubclass(kind, bool):
            wrong = next(i for i in ids if type(i) is kind)
            raise Place(label).error(
                f"the {what} {wrong!r} is a {kind.__name__}. Ids must be strings or integers. Convert it."
            )
    strings = ids if kinds <= {str} else [str(i) for i in ids]
    try:
        "".join(strings).encode()
    except UnicodeEncodeError:
        wrong = next(i for i in strings if any("\ud800" <= character <= "\udfff" for character in i))
        raise Place(label).error(
            f"the {what} {wrong!r} holds half a surrogate pair. It must be Unicode. Correct it."
        ) from None
    return strings


def as_floats(values: Sequence[object], name: str, label: str) -> pl.Series:
    """Turn numbers into Float64.

    Raises:
        InputError: a value is not a number.
    """
    for kind in set(map(type, values)):  # NumPy would read the string "1" as a number
        if not hasattr(kind, "__float__"):
            wrong = next(v for v in values if type(v) is kind)
            raise Place(label).error(f"the {name} {wrong!r} is a {kind.__name__}. It must be a number. Convert it.")
    try:
        return pl.Series(name, np.fromiter(values, np.float64, len(values)))
    except (OverflowError, TypeError, ValueError) as error:
        raise Place(label).error(f"a {name} cannot be a number: {error}. Convert it.") from error


def as_text(values: list[Any], name: str) -> pl.Series:
    """Write numbers accepted by as_floats as text, integers without rounding.

    >>> as_text([2**53 + 1, 0.5], "score").to_list()
    ['9007199254740993', '0.5']
    """
    return pl.Series(
        name, [str(int(v)) if isinstance(v, Integral) else repr(float(v)) for v in values], dtype=pl.String
    )
