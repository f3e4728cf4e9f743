"""Dataclasses as JSON, by their fields: written, read with every type checked, and each part with its place.

Fields are texts, numbers, True and False, None, dataclasses of such fields, tuples and mappings of them by names. NaN
is null, which a field of type float reads as NaN and one of type float | None as None. Rows of type Iterable may be
too many to be held, and are passed on unread.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import MISSING, Field, fields, is_dataclass
from functools import cache
from types import NoneType, UnionType
from typing import Any, Final, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

from trueval.errors import InputError
from trueval.report.result_directory import pointer

T = TypeVar("T")

# Types of single values → how an error names them. An int is a number too, a bool is not.
PLAIN: Final[Mapping[type, tuple[tuple[type, ...], str]]] = {
    bool: ((bool,), "true or false"),
    int: ((int,), "an integer"),
    float: ((float, int), "a number"),
    str: ((str,), "a text"),
    NoneType: ((NoneType,), "null"),
}


# Metadata of a field that JSON leaves out where it holds its default.
OMITTED: Final[Mapping[str, object]] = {"omitted": True}


def json_key(key: str) -> Mapping[str, object]:
    """Metadata of a field whose JSON key is not a valid Python name, such as "from".

    Args:
        key: key in JSON.
    """
    return {"key": key}


def key_of(each: Field[Any]) -> str:
    """The JSON key of a field."""
    return str(each.metadata.get("key", each.name))


def encode(value: object) -> Any:
    """The JSON of a value of a result.

    Args:
        value: value of a type that fields of a `Result` may have.

    Example:
        >>> encode((1, float("nan"), {"a": (0.5,)}))
        [1, None, {'a': [0.5]}]
    """
    if isinstance(value, float):
        return None if value != value else value
    if is_dataclass(value):
        held = ((each, getattr(value, each.name)) for each in fields(value))
        return {
            key_of(each): encode(one)
            for each, one in held
            if not (each.metadata.get("omitted") and one == each.default)
        }
    if isinstance(value, Mapping):
        return {name: encode(each) for name, each in value.items()}
    return [encode(each) for each in value] if isinstance(value, list | tuple) else value


def find_pointers(result: object) -> dict[int, str]:
    """The places of the dataclasses and mappings of a result in its JSON.

    Args:
        result: result, which must outlive the pointers.

    Returns:
        id of each part → its JSON pointer, as fragments of URLs have it.
    """
    found: dict[int, str] = {}

    def visit(value: object, keys: tuple[str | int, ...]) -> None:
        if is_dataclass(value):
            found.setdefault(id(value), pointer(*keys))
            for each in fields(value):
                visit(getattr(value, each.name), (*keys, key_of(each)))
        elif isinstance(value, Mapping):
            found.setdefault(id(value), pointer(*keys))
            for name, each in value.items():
                visit(each, (*keys, name))
        elif isinstance(value, list | tuple):
            for place, each in enumerate(value):
                visit(each, (*keys, place))

    visit(result, ())
    return found


def decode(wanted: type[T], data: Mapping[str, object], kind: str, source: str = "") -> T:
    """Read a dataclass from JSON; unknown keys are ignored.

    Args:
        wanted: the dataclass.
        data: JSON from `encode`.
        kind: kind of the result, for errors.
        source: file of the result, for errors.

    Raises:
        InputError: a value is missing or of another type; it is named by file and JSON pointer.
    """
    found: T = _Reader(source, kind).read(wanted, data, ())
    return found


class _Reader:
    """Reads the values of one file according to the types of fields.

    Args:
        source: path of the file; "" for a result without a file.
        kind: kind of the result.
    """

    def __init__(self, source: str, kind: str) -> None:
        self.source, self.kind = source, kind

    def read(self, wanted: Any, value: Any, keys: tuple[str | int, ...]) -> Any:
        """Read a value of the wanted type; `keys` are its path from the top level."""
        origin, arguments = get_origin(wanted), get_args(wanted)
        if wanted in (Any, object) or origin is Iterable:
            return value
        if origin in (Union, UnionType):
            return self._one_of(arguments, value, keys)
        if origin is Literal:
            return self._check(value in arguments and isinstance(value, str), value, " or ".join(arguments), keys)
        if is_dataclass(wanted):
            self._check(isinstance(value, Mapping), value, "an object", keys)
            make: Any = wanted
            return make(**self._fields(wanted, value, keys))
        if origin in (tuple, Sequence):
            self._check(isinstance(value, list | tuple), value, "a list", keys)
            if origin is tuple and arguments[-1] is not Ellipsis:
                self._check(len(value) == len(arguments), value, f"a list of {len(arguments)}", keys)
            else:
                arguments = (arguments[0],) * len(value)
            both = zip(arguments, value, strict=True)
            return tuple(self.read(each, one, (*keys, at)) for at, (each, one) in enumerate(both))
        if isinstance(wanted, type) and issubclass(wanted, tuple):  # a named one, such as an interval
            types = _types_of(wanted)
            self._check(
                isinstance(value, list | tuple) and len(value) == len(types), value, f"a list of {len(types)}", keys
            )
            return wanted(
                *(
                    self.read(types[name], each, (*keys, at))
                    for at, (name, each) in enumerate(zip(types, value, strict=True))
                )
            )
        if origin in (dict, Mapping):
            self._check(isinstance(value, Mapping), value, "an object", keys)
            return {name: self.read(arguments[1], each, (*keys, name)) for name, each in value.items()}
        if wanted is float and value is None:
            return math.nan
        accepted, words = PLAIN[wanted]
        of_type = isinstance(value, accepted) and (wanted is bool or not isinstance(value, bool))
        return self._check(of_type, value, words, keys)

    def _fields(self, wanted: object, value: Mapping[str, object], keys: tuple[str | int, ...]) -> dict[str, Any]:
        found = {}
        for each, of_type in _typed_fields(wanted):
            key = key_of(each)
            if key in value:
                one = value[key]
                # Most values are of their very type: asked before what takes longer to ask.
                plain = type(one) is of_type and of_type in PLAIN
                found[each.name] = one if plain else self.read(of_type, one, (*keys, key))
            elif each.default is MISSING and each.default_factory is MISSING:
                self._check(False, None, "there", (*keys, key))
        return found

    def _one_of(self, types: Sequence[object], value: object, keys: tuple[str | int, ...]) -> Any:
        if value is None and NoneType in types:
            return None
        wanted = [each for each in types if each is not NoneType]
        for each in wanted[:-1]:
            try:
                return self.read(each, value, keys)
            except InputError:
                continue
        return self.read(wanted[-1], value, keys)

    def _check(self, accepted: bool, value: object, words: str, keys: tuple[str | int, ...]) -> Any:
        if accepted:
            return value
        shown = repr(value)
        got = f" Got {shown if len(shown) <= 60 else shown[:59] + '…'}."
        where = f"{self.source}#{pointer(*keys)}"
        wanted = f"must be {words} here.{got}" if words != "there" else "lacks this value."
        message = f"{where}: a result of kind {self.kind} {wanted} Write the file again with --out."
        raise InputError(message, source=self.source or None)


_types_of = cache(get_type_hints)


@cache
def _typed_fields(wanted: Any) -> tuple[tuple[Field[Any], Any], ...]:
    """The fields of a dataclass, each with its type."""
    types = _types_of(wanted)
    return tuple((each, types[each.name]) for each in fields(wanted))
