"""Tables of the TOML files that people write, declared as models: errors, documentation and JSON Schema come of these.

A subclass of `Table` declares the keys of a table, each with type, default and description; a file is a table of
tables. Importing pydantic takes a tenth of a second, so only what reads such a file imports the modules of tables.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Annotated, Any, Final, NamedTuple, TypeAlias, TypeVar, Union

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationError,
    WrapValidator,
    create_model,
)
from pydantic_core import CoreSchema, core_schema

from trueval.errors import nearest
from trueval.files.toml import Where

T = TypeVar("T")
Keys: TypeAlias = tuple[str | int, ...]
Schema: TypeAlias = Mapping[str, Any]


class Table(BaseModel):
    """A table of a file. A default of None is what no file can write: the key is absent."""

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True, allow_inf_nan=False)


F = TypeVar("F", bound=Table)


def key(default: object, about: str | None = None, **limits: Any) -> Any:
    """A key of a table.

    Args:
        default: its value where a file does not name it; ... where a file must.
        about: one sentence, without the full stop; a table has its docstring.
        limits: what pydantic's Field takes, such as ge=1.
    """
    return Field(default, description=about, **limits)


@dataclass(frozen=True)
class OneOf:
    """Marks a text as one of some words that another module lists."""

    words: Sequence[str]

    def __get_pydantic_core_schema__(self, _source: object, _handler: object) -> CoreSchema:
        """The schema of these words."""
        return core_schema.literal_schema(list(self.words))


def _different(values: list[T]) -> list[T]:
    if len({*map(repr, values)}) < len(values):
        raise ValueError("a value is there twice")
    return values


def _as_tuple(value: object) -> tuple[object, ...]:
    return tuple(value) if isinstance(value, list) else (value,)


AS_GIVEN: Final = WrapValidator(lambda value, check: (check(value), value)[1])
Number = Annotated[float, AS_GIVEN]  # an integer stays one, for a hash tells 60 from 60.0
Count = Annotated[int, Field(ge=1)]
Text = Annotated[str, Field(min_length=1)]
# Around a list that is one value, which settings hold as a tuple.
AS_LIST: Final = BeforeValidator(lambda value: list(value) if isinstance(value, tuple) else value)
AS_TUPLE: Final = AfterValidator(tuple)
# What a sweep may write for one value. A list stays a list, so that it is told from a value that is a list itself.
DIFFERENT: Final = AfterValidator(_different)
OneOrMore = Union[T, Annotated[list[T], Field(min_length=1, json_schema_extra={"uniqueItems": True}), DIFFERENT]]  # noqa: UP007  generic
Several = Annotated[OneOrMore[T], AfterValidator(_as_tuple)]


def with_lists(table: type[F]) -> Any:
    """The same table where any key may have a list of values, and none is needed."""
    keys: dict[str, Any] = {
        name: (
            OneOrMore[field.rebuild_annotation()],  # type: ignore[misc]  # a type made here
            key(None if field.is_required() else field.get_default(call_default_factory=True), field.description),
        )
        for name, field in table.model_fields.items()
    }
    return create_model(table.__name__, __base__=Table, __doc__=table.__doc__, **keys)


def as_written(table: Table, given: Mapping[str, Any]) -> dict[str, Any]:
    """The checked values of a table without defaults, in the order of the file.

    Args:
        table: of `read_tables`.
        given: that it was made of.
    """

    def plain(value: Any, written: Any) -> Any:
        if isinstance(value, Table):
            return as_written(value, written)
        if isinstance(value, list):
            return [plain(*pair) for pair in zip(value, written, strict=True)]
        return value

    return {name: plain(getattr(table, name), value) for name, value in given.items()}


def read_tables(model: type[F], given: Mapping[str, object], place: Where) -> F:
    """Hold what a file says against the tables that it may have.

    Args:
        model: the file.
        given: as TOML has it.
        place: from a table and its keys to what an error calls these.

    Raises:
        InputError: a key is unknown or missing, or a value is none that the key takes; of several the first one.
    """
    try:
        return model.model_validate(given)
    except ValidationError as error:
        schema = json_schema(model)
        faults = [_fault(schema, each["loc"], each["type"], each["input"], each) for each in error.errors()]
    # Unknown keys come first, tables before: one that is missing may be one of them, misspelt. In a line, a fault of an
    # element says more than that of its list.
    first = min(
        faults, key=lambda at: (not at.unknown, at.unknown * len(at.keys), place(*at.keys).line or 0, -at.depth)
    )
    raise place(*first.keys).error(first.message)


@cache
def json_schema(model: type[Table]) -> dict[str, object]:
    """The JSON Schema of a file: each table where it stands, without what pydantic adds that says nothing.

    Args:
        model: the file.
    """
    found = model.model_json_schema()
    tables = found.pop("$defs", {})

    def plain(node: object) -> Any:
        if isinstance(node, list):
            return [plain(each) for each in node]
        if not isinstance(node, dict):
            return node
        if "$ref" in node:
            node = {**tables[node["$ref"].rpartition("/")[2]], **node}
        return {
            name: plain(each)
            for name, each in node.items()
            if name not in ("$ref", "title") and (name, each) != ("default", None)
        }

    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **plain(found)}


class _Fault(NamedTuple):
    """What is wrong in a file.

    Attributes:
        keys: the way to the table or key.
        message: what is wrong, and the cure.
        unknown: whether there is no such key.
        depth: how far inside the file.
    """

    keys: Keys
    message: str
    unknown: bool
    depth: int


def _fault(schema: Schema, loc: Keys, kind: str, value: Any, about: Mapping[str, Any]) -> _Fault:
    """What a fault that pydantic found is to a person."""
    ways = _ways(schema, loc)
    keys, node = ways[-1]
    if kind == "extra_forbidden":
        name = str(loc[-1])
        return _Fault((*keys, name), _say_unknown(schema, keys, node, name, value), unknown=True, depth=len(loc))
    if kind == "missing" and isinstance(loc[-1], str):
        (inside, _), name = ways[-2], f"[{keys[-1]}]" if "properties" in node else str(keys[-1])
        what = str(node["description"]).rstrip(".")
        message = f"{title(inside)} needs {name}: {what[0].lower()}{what[1:]}."
        return _Fault(inside, message, unknown=False, depth=len(loc))
    if kind == "value_error" and isinstance(value, dict):  # of several keys together
        return _Fault(keys, f"{title(keys)}: {about['ctx']['error']}", unknown=False, depth=len(loc))
    keys, node = next(way for way in reversed(ways) if not way[0] or isinstance(way[0][-1], str))
    owner = f" of {title(keys[:-1])}" if len(keys) > 1 else ""
    message = f"{keys[-1]}{owner} must be {describe_values(node)}. Got {value!r}."
    return _Fault(keys, message, unknown=False, depth=len(loc))


def _ways(schema: Schema, loc: Keys) -> list[tuple[Keys, Schema]]:
    """The file, and each table, key and element on the way to a fault; what else pydantic names there is left out."""
    found: list[tuple[Keys, Schema]] = [((), schema)]
    for part in loc:
        keys, node = found[-1]
        for each in node.get("anyOf", [node]):
            of_table = each.get("properties", {}).get(part) or each.get("additionalProperties")
            inside = of_table if isinstance(part, str) else each.get("items")
            if inside:
                found.append(((*keys, part), inside))
                break
    return found


def _say_unknown(schema: Schema, keys: Keys, node: Schema, name: str, value: object) -> str:
    known = list(node.get("properties", ()))
    inner = value[0] if isinstance(value, list) and value else value
    is_table = isinstance(inner, dict) and not (keys and isinstance(keys[-1], str))
    what = f"table [{name}]" if is_table else f"key {name!r}"
    told = f"{title(keys)} has no {what}. It has" if keys else f"there is no {what}. There are"
    told = f"{told}: {', '.join(known)}.{nearest(name, known)}"
    shared = (*keys[2:], name)
    if len(keys) > 1 and isinstance(keys[1], int) and _ways(schema, shared)[-1][0] == shared:
        told = f"{told} All configurations have the same {'.'.join(map(str, shared))}: write it once, for the file."
    return told


def title(keys: Keys) -> str:
    """A table as a file writes it.

    Args:
        keys: the way to it.

    >>> title(("configuration", 0)), title(("configuration", 0, "embed")), title(())
    ('[[configuration]]', '[configuration.embed]', 'the file')
    """
    names = ".".join(each for each in keys if isinstance(each, str))
    return f"[[{names}]]" if keys and isinstance(keys[-1], int) else f"[{names}]" if names else "the file"


_LIMITS: Final = {"minimum": ">=", "exclusiveMinimum": ">", "maximum": "<=", "exclusiveMaximum": "<"}
_NOUNS: Final = {
    "integer": "an integer",
    "number": "a number",
    "string": "a text",
    "boolean": "true or false",
    "object": "a table",
    "width": 'a text such as "0.002", "bfloat16" (rounding to it) or "2 ulp(bfloat16)"',
    "day": 'a day, 2025-11-12, or a month, "2025-11"',
}


def describe_values(node: Schema) -> str:
    """What a key takes, in words.

    Args:
        node: schema of the key.

    >>> describe_values({"type": "array", "items": {"type": "integer", "minimum": 1}, "minItems": 2, "maxItems": 2})
    'a list of 2, each an integer >= 1'
    """
    if "anyOf" in node:
        return f"{describe_values(node['anyOf'][0])}, or a list of different ones"
    if "enum" in node:
        return " or ".join(map(repr, node["enum"]))
    if node.get("type") == "array":
        count = f" of {node['maxItems']}" if "maxItems" in node else ""
        return f"a list{count}, each {describe_values(node['items'])}"
    limits = " and ".join(f"{sign} {node[name]:g}" for name, sign in _LIMITS.items() if name in node)
    return f"{_NOUNS.get(str(node.get('format', node.get('type'))), 'as in trueval evaluate')} {limits}".strip()
