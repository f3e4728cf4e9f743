"""Requests of the audit's page: JSON parsed strictly; unknown keys and wrong types are refused."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple, NoReturn

from trueval.files.json.jsonl_rows import RepeatedKeyError, object_of_pairs
from trueval.golden.audit.server.request_guard import Refusal

LONGEST_NAME: Final = 64  # characters
LONGEST_NOTE: Final = 2000  # characters; the page's own limit
LONGEST_SECONDS: Final = 86_400.0  # seconds: one day
MOST_ITEMS: Final = 16  # maximum items per request
_EVENT: Final = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")  # form of crypto.randomUUID in browsers
_ITEM: Final = re.compile(r"[0-9A-Za-z._-]{1,64}")
_HIDDEN: Final = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


class MalformedError(Exception):
    """A request whose content is refused."""

    def __init__(self, refusal: Refusal) -> None:
        super().__init__(refusal.words)
        self.refusal = refusal


class Field(NamedTuple):
    """A key of a request, with its type.

    Attributes:
        accepts: function that tells whether a value is valid.
        words: description of a valid value, for errors.
        needed: whether the key is required.
    """

    accepts: Callable[[Any], bool]
    words: str
    needed: bool = True


def _is_name(value: object) -> bool:
    return isinstance(value, str) and 0 < len(value) <= LONGEST_NAME and value.isprintable() and value == value.strip()


def _is_note(value: object) -> bool:
    return isinstance(value, str) and len(value) <= LONGEST_NOTE and not _HIDDEN.search(value)


def _is_seconds(value: Any) -> bool:
    return type(value) in (int, float) and math.isfinite(value) and 0 <= value <= LONGEST_SECONDS


def _is_like(pattern: re.Pattern[str]) -> Callable[[Any], bool]:
    return lambda value: isinstance(value, str) and pattern.fullmatch(value) is not None


_RATER: Final = Field(_is_name, f"1 to {LONGEST_NAME} printable characters, without spaces at its ends")
_ID: Final = Field(_is_like(_EVENT), "a UUID in small letters")
_SAID: Final[Mapping[str, Field]] = {
    "id": _ID,
    "rater": _RATER,
    "kind": Field(lambda value: value in ("grade", "skip", "undo"), "grade, skip or undo"),
}
_ANSWER: Final[Mapping[str, Field]] = {
    **_SAID,
    "item": Field(_is_like(_ITEM), "the name of an item that was shown"),
    "note": Field(_is_note, f"a text of at most {LONGEST_NOTE:,} characters", needed=False),
    "seconds": Field(_is_seconds, f"a number from 0 to {LONGEST_SECONDS:,.0f}", needed=False),
}
CALLS: Final[Mapping[str, Mapping[str, Field]]] = {
    "start": {"rater": _RATER},
    "items": {
        "rater": _RATER,
        "want": Field(
            lambda value: type(value) is int and 1 <= value <= MOST_ITEMS, f"an integer from 1 to {MOST_ITEMS}"
        ),
    },
    # In Python a bool is an int, and 4.0 equals 4: neither is a grade. The store checks the scale.
    "grade": {**_ANSWER, "value": Field(lambda value: type(value) is int, "an integer on the scale of the item")},
    "skip": _ANSWER,
    "undo": {**_SAID, "of": _ID},
}


def request_of(call: str, body: bytes) -> dict[str, object]:
    """Parse the body of a request.

    Args:
        call: "start", "items" or "events".
        body: body of at most `LONGEST_BODY` bytes.

    Raises:
        MalformedError: it is not JSON, or not what the call takes.

    >>> request_of("items", b'{"rater": "ann", "want": 3}')
    {'rater': 'ann', 'want': 3}
    >>> request_of("items", b'{"rater": "ann", "want": 3.0}')
    Traceback (most recent call last):
    ...
    trueval.golden.audit.server.requests.MalformedError: want must be an integer from 1 to 16.
    """
    try:
        value = json.loads(body.decode("utf-8"), object_pairs_hook=object_of_pairs, parse_constant=_refuse)
    except RepeatedKeyError:
        raise MalformedError(Refusal(400, "A key is there twice.")) from None
    # Python raises ValueError for integers with very many digits, and RecursionError for deep nesting.
    except (ValueError, RecursionError):
        raise MalformedError(Refusal(400, "The request is not JSON in UTF-8.")) from None
    if not isinstance(value, dict):
        raise MalformedError(Refusal(422, "The request must be a JSON object."))
    if call == "events":
        call = _kind(value)
    return _check_fields(value, CALLS[call])


def _kind(value: Mapping[str, object]) -> str:
    kind = value.get("kind")
    if not isinstance(kind, str) or not _SAID["kind"].accepts(kind):
        raise MalformedError(Refusal(422, f"kind must be {_SAID['kind'].words}."))
    return kind


def _check_fields(value: dict[str, object], fields: Mapping[str, Field]) -> dict[str, object]:
    for name, field in fields.items():
        fits = field.accepts(value[name]) if name in value else not field.needed
        if not fits:
            raise MalformedError(Refusal(422, f"{name} must be {field.words}."))
    if len(value) > sum(name in value for name in fields):
        raise MalformedError(Refusal(422, f"A request has these keys and no other: {', '.join(fields)}."))
    return value


def _refuse(word: str) -> NoReturn:
    raise ValueError(f"{word} is not JSON")
