"""Events of an audit: what raters did, validated before anything else uses it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Final, NamedTuple

from trueval.errors import InputError
from trueval.files.source.encoding import is_unicode
from trueval.golden.audit.store.audit_manifest import Item

ANSWERS: Final = ("grade", "skip")  # event kinds that answer an item
KINDS: Final = (*ANSWERS, "note")
LONGEST_NAME: Final = 64  # characters of a rater's name
LONGEST_ID: Final = 100  # characters of an event id
LONGEST_NOTE: Final = 10_000
LONGEST_SECONDS: Final = 1e6  # seconds: eleven days


class RefusedError(InputError):
    """An event that an audit refuses.

    Args:
        message: why, and what to do.
        reason: "event", "rater", "item", "task", "scale" or "note": the invalid part; "answered": the rater has already
            answered the item; "shown": the item was never shown to the rater.
    """

    def __init__(self, message: str, reason: str) -> None:
        super().__init__(message)
        self.reason = reason


class Event(NamedTuple):
    """One action of a rater.

    Attributes:
        event: id from the browser; an id sent twice counts once.
        item: name of the item.
        kind: "grade", "skip", or "note", a remark on an item that the rater has answered.
        grade: value for the item as shown; None for other kinds.
        note: the rater's note.
        seconds: time that the rater looked at the item; None if not measured.
    """

    event: str
    rater: str
    item: str
    kind: str
    grade: int | None = None
    note: str = ""
    seconds: float | None = None


def check_event(event: Event, items: Mapping[str, Item]) -> Event:
    """Validate an event.

    Args:
        event: as received; its fields may have any type.
        items: items of the audit by name.

    Raises:
        RefusedError: something in it is wrong.

    >>> item = Item("g1", "grade", "q", ("d",), "all", (), 1, 5)
    >>> check_event(Event("e1", "ann", "g1", "grade", 6), {"g1": item})
    Traceback (most recent call last):
    ...
    trueval.golden.audit.store.events.RefusedError: a grade must be an integer from 1 to 5. Got 6.
    """
    check_id(event.event)
    check_rater(event.rater)
    item = _item(event.item, items)
    if item is None:
        raise RefusedError(
            f"there is no item {_quote_value(event.item)} in this audit. Take the item that was shown.", "item"
        )
    if event.kind not in KINDS:
        raise RefusedError(f"an event must be one of {', '.join(KINDS)}. Got {_quote_value(event.kind)}.", "event")
    _check_grade(event, item)
    if not _is_note(event.note):
        raise RefusedError(f"a note must be a text of at most {LONGEST_NOTE:,} characters. Make it shorter.", "note")
    return event._replace(seconds=_check_seconds(event.seconds))


def check_id(event: object) -> str:
    """Validate the id that a browser gives an event.

    Raises:
        RefusedError: it is not a text of 1 to 100 printable characters of ASCII.
    """
    if isinstance(event, str) and 0 < len(event) <= LONGEST_ID and event.isascii() and event.isprintable():
        return event
    raise RefusedError(
        f"the id of an event must be 1 to {LONGEST_ID} characters of ASCII. Got {_quote_value(event)}.", "event"
    )


def check_rater(rater: object) -> str:
    """Validate the name of a rater.

    Raises:
        RefusedError: it is not a text of 1 to 64 printable characters without spaces at its ends.
    """
    if isinstance(rater, str) and 0 < len(rater) <= LONGEST_NAME and rater.isprintable() and rater == rater.strip():
        return rater
    raise RefusedError(
        f"the name of a rater must be 1 to {LONGEST_NAME} printable characters, without spaces at its ends. Got "
        f"{_quote_value(rater)}.",
        "rater",
    )


def _check_grade(event: Event, item: Item) -> None:
    if event.kind != "grade":
        if event.grade is not None:
            raise RefusedError(f"a {event.kind} has no grade. Got {_quote_value(event.grade)}.", "scale")
    elif type(event.grade) is not int or not item.low <= event.grade <= item.high:
        raise RefusedError(
            f"a {'grade' if item.task == 'grade' else 'value'} must be an integer from {item.low} to {item.high}. Got "
            f"{_quote_value(event.grade)}.",
            "scale",
        )


def _check_seconds(seconds: object) -> float | None:
    if seconds is None:
        return None
    if isinstance(seconds, bool) or not isinstance(seconds, int | float) or not math.isfinite(seconds) or seconds < 0:
        raise RefusedError(f"seconds must be a number from 0 up. Got {_quote_value(seconds)}.", "event")
    return min(float(seconds), LONGEST_SECONDS)


# Received values may have any type, despite the annotations of Event.
def _item(name: object, items: Mapping[str, Item]) -> Item | None:
    return items.get(name) if isinstance(name, str) else None


def _is_note(note: object) -> bool:
    return isinstance(note, str) and len(note) <= LONGEST_NOTE and is_unicode(note)


def _quote_value(value: object) -> str:
    shown = repr(value)
    return shown if len(shown) <= LONGEST_ID else f"{shown[:LONGEST_ID]}..."


def out_of_turn(event: Event) -> RefusedError:
    """The error for answering an item twice, or for a note on an item that its rater has not answered."""
    if event.kind == "note":
        return RefusedError(f"{event.rater} has not answered item {event.item}. A note belongs to an answer.", "item")
    return RefusedError(
        f"{event.rater} has answered item {event.item} before. Undo that answer first, to give another.", "answered"
    )
