"""The text form of measures: `nDCG@10`, `R(rel=2)@100`, `PROC(RA-nWG, pool=50)@10`.

list     = measure { ( space | "," ) measure }
measure  = name [ "(" argument { "," argument } ")" ] [ "@" cutoff ]
argument = measure | parameter "=" value
value    = number | 'text' | True | False | None | "{" number ":" number { "," number ":" number } "}"
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable

from trueval.errors import MeasureError
from trueval.measures.measure import Measure, Value, find

_MEASURE = re.compile(r"(?P<name>[A-Za-z][\w+-]*)\s*(?:\((?P<arguments>.*)\))?\s*(?:@(?P<cutoff>.+))?", re.DOTALL)
_PARAMETER = re.compile(r"(?P<name>[A-Za-z]\w*)\s*=\s*(?P<value>.+)", re.DOTALL)
_OPEN, _CLOSE = "({[", ")}]"


def parse(text: str) -> Measure:
    """Read a measure from its text form.

    Raises:
        MeasureError: the text is not a measure; unknown names come with the nearest known one.

    >>> parse("R(rel=2)@100").cutoff
    100
    """
    match = _MEASURE.fullmatch(text.strip())
    if match is None:
        raise MeasureError(f"A measure looks like nDCG@10 or R(rel=2)@100. Got {text!r}.")
    inner, parameters = _arguments(match["arguments"] or "", text)
    measure = find(match["name"])
    if inner is not None or parameters:
        measure = measure(inner, **parameters)
    return measure if match["cutoff"] is None else measure @ _cutoff(match["cutoff"], measure.name)


def parse_list(measures: str | Measure | Iterable[str | Measure]) -> tuple[Measure, ...]:
    """Read measures from a text, where spaces or commas outside brackets separate them, or from texts and Measures.

    Returns:
        The measures in order, each once.

    >>> [str(m) for m in parse_list("nDCG@10, AP R(rel=2)@100")]
    ['nDCG@10', 'AP', 'R(rel=2)@100']
    """
    if isinstance(measures, Measure):
        return (measures,)
    if isinstance(measures, str):
        found = [parse(part) for part in _split(measures, " \t\n,")]
    else:
        found = [one for item in measures for one in parse_list(item)]
    if not found:
        raise MeasureError("No measure is named. Name at least one, for example nDCG@10.")
    return tuple(dict.fromkeys(found))


def _split(text: str, separators: str) -> list[str]:
    """Split at separators that are outside brackets and quotes; empty parts are dropped."""
    parts, depth, quote, begin = [], 0, "", 0
    for position, letter in enumerate(text):
        if quote:
            quote = "" if letter == quote else quote
        elif letter in "'\"":
            quote = letter
        elif letter in _OPEN:
            depth += 1
        elif letter in _CLOSE:
            depth -= 1
        elif letter in separators and depth == 0:
            parts.append(text[begin:position])
            begin = position + 1
    if depth or quote:
        raise MeasureError(f"Unbalanced {'quotes' if quote else 'brackets'} in {text!r}.")
    return [part for part in (*parts, text[begin:]) if part.strip()]


def _arguments(text: str, whole: str) -> tuple[Measure | None, dict[str, Value]]:
    inner: Measure | None = None
    parameters: dict[str, Value] = {}
    for part in _split(text, ","):
        match = _PARAMETER.fullmatch(part.strip())
        if match is None and (inner is not None or parameters):
            raise MeasureError(f"Parameters are written name=value. Got {part.strip()!r} in {whole!r}.")
        if match is None:
            inner = parse(part)
        elif match["name"] in parameters:
            raise MeasureError(f"Parameter {match['name']} appears twice in {whole!r}.")
        else:
            parameters[match["name"]] = _value(match["value"].strip(), whole)
    return inner, parameters


def _value(text: str, whole: str) -> Value:
    try:
        value = ast.literal_eval(text)
    except (ValueError, SyntaxError):
        raise MeasureError(f"Cannot read {text!r} in {whole!r}. Write a number, 'text' or {{grade: gain}}.") from None
    if isinstance(value, dict):
        return tuple(value.items())
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    raise MeasureError(f"Cannot use {text!r} in {whole!r}. Write a number, 'text' or {{grade: gain}}.")


def _cutoff(text: str, name: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise MeasureError(f"k of {name} must be an integer >= 1. Got {text!r}.") from None
