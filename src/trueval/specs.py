"""Specs: a name with parameters, the text form of measures and indexes, such as `hnsw(storage='int8', M=32)`.

arguments = argument { "," argument }
argument  = parameter "=" value | anything else, which the reader of the spec understands
value     = number | 'text' | True | False | None | "{" number ":" number { "," number ":" number } "}"

Faults are reported by the error class of the reader: a MeasureError for measures, a PolicyError for indexes.
"""

from __future__ import annotations

import ast
import math
import re
from collections.abc import Callable, Mapping
from typing import NamedTuple, TypeAlias

from trueval.errors import TruevalError, nearest

GainMap: TypeAlias = tuple[tuple[float, float], ...]
Value: TypeAlias = bool | int | float | str | GainMap | Mapping[float, float] | None
Refusal: TypeAlias = type[TruevalError]

_PARAMETER = re.compile(r"(?P<name>[A-Za-z]\w*)\s*=\s*(?P<value>.+)", re.DOTALL)
_OPEN, _CLOSE = "({[", ")}]"


class Parameter(NamedTuple):
    """A named parameter of a measure or an index.

    Attributes:
        default: value if the text form does not name it.
        accepts: description of accepted values, for help and errors.
        check: returns the value in canonical form, or raises ValueError.
        about: what it controls.
        searched: for indexes, whether it affects search only, so that a built index serves any value.
    """

    default: Value
    accepts: str
    check: Callable[[Value], Value]
    about: str
    searched: bool = False


def choice(default: str, *others: str | None, about: str) -> Parameter:
    """A parameter that is one of some words, or None where None is among the choices."""
    words = (default, *others)
    accepts = " or ".join(repr(word) for word in words)

    def check(value: Value) -> Value:
        if value not in words:
            raise ValueError(value)
        return value

    return Parameter(default, accepts, check, about)


def number_in_range(
    default: float | None, low: float, high: float, about: str, *, below: bool = False, above: bool = False
) -> Parameter:
    """A parameter that is a finite number in [low, high], with open ends where it must stay below or above."""
    most = f"{'below ' * below}{high:g}"
    least = f"a number above {low:g}" if above else f"a number of at least {low:g}"
    accepts = f"a number from {low:g} to {most}" if high < math.inf else least

    def check(value: Value) -> Value:
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not low <= value <= high:
            raise ValueError(value)
        if math.isinf(value) or (below and value == high) or (above and value == low):
            raise ValueError(value)
        return value

    return Parameter(default, accepts, check, about)


def whole(default: int | None, low: int, about: str, *, searched: bool = False) -> Parameter:
    """A parameter that is an integer of at least `low`; None is accepted as the default only.

    >>> whole(32, 2, "links").check(16)
    16
    """

    def check(value: Value) -> Value:
        if isinstance(value, bool) or not isinstance(value, int) or value < low:
            raise ValueError(value)
        return value

    return Parameter(default, f"an integer >= {low}", check, about, searched)


def text(default: str | None, about: str) -> Parameter:
    """A parameter that is a nonempty text."""

    def check(value: Value) -> Value:
        if not isinstance(value, str) or not value:
            raise ValueError(value)
        return value

    return Parameter(default, "a text", check, about)


def flag(default: bool, about: str) -> Parameter:
    """A parameter that is True or False."""

    def check(value: Value) -> Value:
        if not isinstance(value, bool):
            raise ValueError(value)
        return value

    return Parameter(default, "True or False", check, about)


def check_value(owner: str, declared: Mapping[str, Parameter], name: str, value: Value, refusal: Refusal) -> Value:
    """Return the value of a parameter in canonical form.

    Args:
        owner: name of the owner of the parameter, for errors.
        name: name of the parameter.
        value: value as given.
        refusal: error class.

    Raises:
        TruevalError: of the class `refusal`: there is no such parameter, or the value is none that it accepts.
    """
    if name not in declared:
        known = ", ".join(declared) or "none"
        raise refusal(f"{owner} has no parameter {name!r}. It has: {known}.{nearest(name, declared)}")
    try:
        return declared[name].check(value)
    except (TypeError, ValueError):
        accepts = declared[name].accepts
        raise refusal(f"{name} of {owner} must be {accepts}. Got {value!r}.") from None


class Arguments(NamedTuple):
    """The arguments in the brackets of a spec.

    Attributes:
        plain: positional arguments.
        named: values by parameter name.
    """

    plain: tuple[str, ...]
    named: Mapping[str, Value]


def read_arguments(text: str, whole: str, refusal: Refusal) -> Arguments:
    """Read the arguments in the brackets of a spec; positional arguments come first.

    Args:
        text: the arguments, without brackets.
        whole: the whole spec, for errors.
        refusal: error class.

    Raises:
        TruevalError: of the class `refusal`: the text is not of this form.

    >>> from trueval.errors import PolicyError
    >>> read_arguments("RA-nWG, pool=50", "PROC(RA-nWG, pool=50)", PolicyError)
    Arguments(plain=('RA-nWG',), named={'pool': 50})
    """
    plain: list[str] = []
    named: dict[str, Value] = {}
    for part in split(text, ",", refusal):
        match = _PARAMETER.fullmatch(part.strip())
        if match is None and named:
            raise refusal(f"Parameters are written name=value. Got {part.strip()!r} in {whole!r}.")
        if match is None:
            plain.append(part.strip())
        elif match["name"] in named:
            raise refusal(f"Parameter {match['name']} appears twice in {whole!r}.")
        else:
            named[match["name"]] = read_value(match["value"].strip(), whole, refusal)
    return Arguments(tuple(plain), named)


def split(text: str, separators: str, refusal: Refusal) -> list[str]:
    """Split at separators outside brackets and quotes; empty parts are dropped.

    Raises:
        TruevalError: of the class `refusal`: brackets or quotes do not match.

    >>> from trueval.errors import PolicyError
    >>> split("flat hnsw(M=16, efSearch=64)", " ", PolicyError)
    ['flat', 'hnsw(M=16, efSearch=64)']
    """
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
        raise refusal(f"Unbalanced {'quotes' if quote else 'brackets'} in {text!r}.")
    return [part for part in (*parts, text[begin:]) if part.strip()]


def read_value(text: str, whole: str, refusal: Refusal) -> Value:
    """Read one value.

    Args:
        text: text of the value.
        whole: the whole spec, for errors.
        refusal: error class.

    Raises:
        TruevalError: of the class `refusal`: it is none of the values of the grammar.
    """
    try:
        value = ast.literal_eval(text)
    except (ValueError, SyntaxError):
        raise refusal(f"Cannot read {text!r} in {whole!r}. Write a number, 'text' or {{grade: gain}}.") from None
    if isinstance(value, dict):
        return tuple(value.items())
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    raise refusal(f"Cannot use {text!r} in {whole!r}. Write a number, 'text' or {{grade: gain}}.")


def format_spec(name: str, named: Mapping[str, Value], *plain: object) -> str:
    """The text form of a name with its arguments.

    >>> format_spec("hnsw", {"storage": "int8", "M": 16}), format_spec("flat", {})
    ("hnsw(storage='int8', M=16)", 'flat')
    """
    arguments = [*map(str, plain), *(f"{parameter}={_text(value)}" for parameter, value in named.items())]
    return f"{name}({', '.join(arguments)})" if arguments else name


def _text(value: Value) -> str:
    if isinstance(value, tuple):
        return "{" + ",".join(f"{grade:g}:{gain!r}" for grade, gain in value) + "}"
    return repr(value)
