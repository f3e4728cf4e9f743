"""Spans of any export, and their attributes: flat, nested, in JSON texts, or as OTLP writes them.

{"attributes": {"retrieval.documents.0.document.id": "d7"}}                      an exporter of OpenTelemetry
{"attributes": {"retrieval": {"documents": [{"document": {"id": "d7"}}]}}}       Phoenix, as JSON
{"attributes.retrieval.documents": [{"document.id": "d7"}]}                      Phoenix, as a table
{"resourceSpans": [{"scopeSpans": [{"spans": [{"attributes": [{"key": "...", "value": {...}}]}]}]}]}      OTLP
{"info": {...}, "data": {"spans": [...]}}                                        MLflow
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

# Where exports hold their spans.
HOLDERS: Final = (
    "resourceSpans",
    "scopeSpans",
    "instrumentationLibrarySpans",
    "spans",
    "observations",
    "data",
    "trace",
)
CHILDREN: Final = ("child_runs", "children")
DEEPEST: Final = 64  # LangSmith nests the runs of a chain


def spans_in(value: object, depth: int = 0) -> Iterator[Mapping[str, object]]:
    """The spans in a value of an export.

    Args:
        value: decoded JSON, or a row of a table.
        depth: of the nesting; deeper than DEEPEST there are none.

    >>> [span["name"] for span in spans_in({"resourceSpans": [{"scopeSpans": [{"spans": [{"name": "a"}]}]}]})]
    ['a']
    """
    if depth > DEEPEST:
        return
    if isinstance(value, list | tuple):
        for each in value:
            yield from spans_in(each, depth + 1)
    elif isinstance(value, dict):
        for name in HOLDERS:
            if name in value and isinstance(inside := decode_text(value[name]), list | dict):
                yield from spans_in(inside, depth + 1)
                return
        yield value
        for name in CHILDREN:
            if isinstance(value.get(name), list):
                yield from spans_in(value[name], depth + 1)


def attributes_of(span: Mapping[str, object]) -> Mapping[str, object]:
    """The attributes of a span; for a row of a table the row itself, whose columns begin with "attributes."."""
    found = decode_text(span.get("attributes"))
    if isinstance(found, list):
        return _of_otlp(found)
    if isinstance(found, Mapping):
        return found
    metadata = decode_text(span.get("metadata"))
    inner = decode_text(metadata.get("attributes")) if isinstance(metadata, Mapping) else None  # Langfuse
    return inner if isinstance(inner, Mapping) else span


def look_up(attributes: Mapping[str, object], path: str) -> Any:
    """The value of a dotted name, flat, nested, or partly so; None where there is none.

    >>> look_up({"input.value": "q"}, "input.value"), look_up({"input": {"value": "q"}}, "input.value")
    ('q', 'q')
    >>> look_up({"attributes.input.value": "q"}, "input.value")
    'q'
    """
    if (found := attributes.get(path)) is not None:
        return found
    head, _, rest = path.partition(".")
    if head not in attributes:  # as of most names
        return attributes.get(f"attributes.{path}")
    value: Any = attributes
    while isinstance(value, dict) and head in value:
        value = decode_text(value[head]) if rest else value[head]
        if not rest or (isinstance(value, dict) and rest in value):
            return value[rest] if rest else value
        head, _, rest = rest.partition(".")
    return None


def decode_text(value: object) -> Any:
    """What a text of JSON holds, if it is one of an object or a list; anything else as it is."""
    if isinstance(value, str) and value[:1] in ("{", "["):
        try:
            return json.loads(value)
        except (ValueError, RecursionError):
            return value
    return value


def _of_otlp(given: Sequence[object]) -> dict[str, object]:
    """The attributes of OTLP, which are pairs of key and value."""
    pairs = ((each.get("key"), each.get("value")) for each in given if isinstance(each, Mapping))
    return {str(name): _otlp_value(value) for name, value in pairs}


def _otlp_value(value: object) -> Any:
    if not isinstance(value, dict) or len(value) != 1:
        return value
    ((kind, inner),) = value.items()
    if kind in ("arrayValue", "array_value"):
        return [_otlp_value(each) for each in inner.get("values", ())]
    if kind in ("kvlistValue", "kvlist_value"):
        return _of_otlp(inner.get("values", ()))
    return int(inner) if kind in ("intValue", "int_value") else inner
