"""Exchange: people's answers as people.jsonl, items as a file for raters without the server, and its import.

A rater's file has one line per item: its name, the texts, the hash of texts and scale ("shown"), the meaning of each
value, and three empty fields: grade, skip and note. It contains no strata, grades, scores or ranks. The same file is
imported with the fields filled in. Texts may be removed from it, the hash may not: another audit can have the same
items.
"""

from __future__ import annotations

import json
import re
import secrets
import threading
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from statistics import median_high, median_low
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from trueval.errors import Place
from trueval.files.atomic_files import write_whole
from trueval.files.json.jsonl_pairs import objects
from trueval.files.json.jsonl_rows import INTEGER, Literal
from trueval.files.source.source_bytes import read_content
from trueval.golden.audit.store.audit_items import AuditItem, AuditLabel
from trueval.golden.audit.store.audit_manifest import Item
from trueval.golden.audit.store.events import Event, RefusedError, check_event, check_rater
from trueval.golden.audit.store.rubric import anchors_of
from trueval.golden.build.stage_files import lines_of

if TYPE_CHECKING:
    from trueval.golden.audit.store.audit_store import AuditStore

PEOPLE: Final = "people.jsonl"
EVERY: Final = 10.0  # seconds between checks for new answers
_ORDERS: Final = {1: "the first is better", 0: "they are equal", -1: "the second is better"}
# Characters that some programs treat as line ends, as JSON escapes.
_SEPARATORS: Final = {ord(mark): f"\\u{ord(mark):04x}" for mark in "\x85\u2028\u2029"}


def people_rows(store: AuditStore) -> list[dict[str, object]]:
    """The rows of people.jsonl: one per item that somebody graded or skipped.

    The grade is the median of the raters, the lower of two middle ones; null where all of them skipped the item. For
    neighbors, 1 means that the upper one is better, 0 that they are equal, -1 that the lower one is, regardless of the
    order shown.
    """
    return [_row(store.items[item], given) for item, given in store.labels().items()]


def _row(item: Item, given: tuple[AuditLabel, ...]) -> dict[str, object]:
    graded = [(each, each.grade * item.sign) for each in given if each.grade is not None]
    skipped = [each for each in given if each.grade is None]
    labels = [
        {"rater": each.rater, "grade": grade, "note": each.note, "seconds": each.seconds, "date": each.date}
        for each, grade in graded
    ]
    return {
        "item": item.item,
        "task": item.task,
        "query": item.query,
        **item.subject,
        "stratum": item.stratum,
        "grade": middle([grade for _, grade in graded], item.task) if graded else None,
        "labels": labels,
        "skipped": [each.rater for each in skipped],
        "notes": {each.rater: each.note for each in skipped if each.note},
    }


def middle(grades: Sequence[int], task: str = "grade") -> int:
    """The median of several raters' answers; the lower one of two in the middle.

    For neighbors the lower value would favor one direction: there the one nearer to equal is taken.

    Args:
        grades: values of the raters of an item, at least one.

    >>> middle([5, 1, 4]), middle([2, 4]), middle([1, -1], "order"), middle([-1, 0], "order")
    (4, 2, 0, 0)
    """
    low, high = median_low(grades), median_high(grades)
    if task == "order" and low != high:
        return 0 if low < 0 < high else min(low, high, key=abs)
    return int(low)


def write_people(store: AuditStore) -> int:
    """Write people.jsonl atomically.

    Returns:
        Number of lines.
    """
    rows = people_rows(store)
    write_whole(store.folder / PEOPLE, lines_of(rows))
    return len(rows)


@contextmanager
def sync_people(store: AuditStore, seconds: float = EVERY) -> Iterator[None]:
    """Keep people.jsonl current: written at once, every few seconds while answers come in, and at the end.

    A killed session leaves the labels in the store and a file that is some seconds old; the next session rewrites it.

    Args:
        store: store that stays open until the end.
        seconds: seconds between checks.
    """
    left = threading.Event()

    def keep() -> None:
        before = store.labels()
        while not left.wait(seconds):
            if (now := store.labels()) != before:
                write_people(store)
                before = now

    write_people(store)
    keeper = threading.Thread(target=keep, daemon=True)
    keeper.start()
    try:
        yield
    finally:
        left.set()
        keeper.join()
        write_people(store)


def export_items(store: AuditStore, path: Path) -> int:
    """Write the items for raters without the server, in serving order.

    Returns:
        Number of lines.
    """
    rows = [_blind(store, item) for item in store.items]
    text = "".join(json.dumps(row, ensure_ascii=False).translate(_SEPARATORS) + "\n" for row in rows)
    write_whole(path, lambda file: file.write_bytes(text.encode("utf-8", "replace")))
    return len(rows)


def _blind(store: AuditStore, item: str) -> dict[str, object]:
    """An item without the fields that its rater must not see."""
    shown = store.read_item(item)
    return {
        "item": shown.item,
        "task": shown.task,
        **_texts(shown),
        "shown": store.items[item].content_hash,
        "choices": _choices(shown, store.sample.shows),
        "grade": None,
        "skip": False,
        "note": "",
    }


def _choices(shown: AuditItem, shows: str) -> dict[str, str]:
    """Value → its meaning."""
    meanings = _ORDERS if shown.task == "order" else anchors_of(shown.task, (shown.low, shown.high), shows)
    return {str(value): meanings.get(value, "") for value in range(shown.low, shown.high + 1)}


def _texts(shown: AuditItem) -> dict[str, str]:
    """The texts of an item by their role."""
    names = {"order": ("first", "second"), "answer": ("answer",)}.get(shown.task, ("passage",))
    return {"question": shown.question, **dict(zip(names, shown.texts, strict=True))}


class ImportedAnswers(NamedTuple):
    """The result of importing a rater's file.

    Attributes:
        labels: number of new grades.
        repeated: number of answers identical to earlier ones.
        empty: number of lines without an answer.
        conflicts: one line per answer that differs from an earlier one of the same rater, which is kept.
        gaps: number of unanswered items before an answered one: picking items breaks the random sample.
    """

    labels: int
    skips: int
    repeated: int
    empty: int
    conflicts: tuple[str, ...]
    gaps: int = 0

    def sentence(self) -> str:
        """The import in one line.

        >>> ImportedAnswers(3, 1, 0, 2, ()).sentence()
        'took 3 grades and 1 skip; 2 items are still empty.'
        >>> ImportedAnswers(1, 0, 0, 2, (), gaps=1).sentence().split(". ")[1]
        '1 item before answered ones has no answer: what is answered is a random sample only in the order of the file'
        """
        parts = [f"took {_several(self.labels, 'grade')} and {_several(self.skips, 'skip')}"]
        if self.repeated:
            parts.append(f"{_several(self.repeated, 'answer')} came before")
        if self.conflicts:
            parts.append(f"{_several(len(self.conflicts), 'conflict')} with what was said before, which stays")
        if self.empty:
            parts.append(f"{_several(self.empty, 'item')} {'is' if self.empty == 1 else 'are'} still empty")
        return f"{'; '.join(parts)}.{self._gaps()}"

    def _gaps(self) -> str:
        if not self.gaps:
            return ""
        has = "has" if self.gaps == 1 else "have"
        return (
            f" {_several(self.gaps, 'item')} before answered ones {has} no answer: what is answered is a random sample "
            'only in the order of the file. Answer them, or say "skip": true.'
        )


def _several(count: int, what: str) -> str:
    return f"{count:,} {what}{'' if count == 1 else 's'}"


def import_answers(store: AuditStore, path: Path, rater: str) -> ImportedAnswers:
    """Import a rater's file: all its new answers, or nothing if a line is invalid.

    Args:
        rater: name of the rater who filled it in.

    Raises:
        InputError: a line is not an answer to an item of this audit, or to other texts than its own, is outside the
            scale, or answers an item another way than a line above it; with file and line.
    """
    check_rater(rater)
    found, empty = _read(path, rater, store)
    known = {item: {each.rater: each for each in given} for item, given in store.labels().items()}
    new: list[Event] = []
    conflicts: list[str] = []
    repeated = 0
    for place, event in found.values():
        before = known.get(event.item, {}).get(rater)
        if before is None:
            new.append(event)
        elif (before.grade, before.note) == (event.grade, event.note):
            repeated += 1
        else:
            was = "skipped it" if before.grade is None else f"graded it {before.grade}"
            conflicts.append(f"{place}: {rater} has {was} before, which stays.")
    # Each gets its own id, since the same answer may come again after an undo.
    store.record_all(each._replace(event=secrets.token_hex(16)) for each in new)
    skips = sum(each.kind == "skip" for each in new)
    return ImportedAnswers(len(new) - skips, skips, repeated, empty, tuple(conflicts), _gaps(store, found))


def _gaps(store: AuditStore, answered: Collection[str]) -> int:
    """Number of unanswered items that precede an answered one, in the order of the sample."""
    said, gaps = store.labels(), 0
    for task in store.sample.scales:
        own = [each.item for each in store.sample.items if each.task == task]
        last = max((place for place, item in enumerate(own) if item in answered), default=0)
        gaps += sum(item not in said for item in own[:last])
    return gaps


def _read(path: Path, rater: str, store: AuditStore) -> tuple[dict[str, tuple[Place, Event]], int]:
    """Item → its answer and line number; and the number of lines without an answer."""
    found: dict[str, tuple[Place, Event]] = {}
    empty = 0
    for number, row in objects(read_content(str(path))):
        place = Place(str(path), number)
        event = _event(row, rater, store.items, place)
        if event is None:
            empty += 1
            continue
        above, same = found.setdefault(event.item, (place, event))
        if same != event:
            raise place.error(f"item {event.item} has another answer in line {above.line}. Keep one of them.")
        _refuse_other_texts(row, store, event.item, place)
    return found, empty


def _refuse_other_texts(row: Mapping[str, object], store: AuditStore, item: str, place: Place) -> None:
    """Refuse an answer whose texts are not those of the item: from another audit, or edited.

    Raises:
        InputError: the hash is missing or another one, or a text is.
    """
    said = row.get("shown")
    if said is None:
        raise place.error(
            f'item {item} has no "shown", which says what texts were read. Lines must be those of its own --export.'
        )
    if said != store.items[item].content_hash:
        raise place.error(
            f"item {item} was answered of other texts than this audit shows, or on another scale. The file is of "
            "another audit, or of another version of its corpus: give it to that one."
        )
    if "choices" in row and row["choices"] != _choices(store.read_item(item), store.sample.shows):
        raise place.error(
            f"item {item}: its choices are not those of this audit. Answers are to the scale as exported."
        )
    for name, text in _texts(store.read_item(item)).items():
        if name in row and row[name] != text.encode("utf-8", "replace").decode():
            raise place.error(
                f"item {item}: its {name} is not the text of this audit. Answers are to the texts as exported."
            )


def _event(row: Mapping[str, Any], rater: str, items: Mapping[str, Item], place: Place) -> Event | None:
    """The event of a line; None where nothing is filled in."""
    grade: Any = row.get("grade")
    skip, note = row.get("skip", False), row.get("note") or ""
    if isinstance(grade, Literal):
        grade = int(grade) if re.fullmatch(INTEGER, grade) and len(grade) < 20 else float(grade)
    note = str(note) if isinstance(note, str) else note
    if not isinstance(skip, bool) or (skip and grade is not None):
        raise place.error('"skip" must be true or false, and a line that is skipped has no grade. Correct the line.')
    item = row.get("item")
    if not isinstance(item, str) or item not in items:
        raise place.error(f"there is no item {item!r} in this audit. Lines must be those of its own --export.")
    if grade is None and not skip:
        return None
    event = Event("file", rater, str(item), "skip" if skip else "grade", grade, note)
    try:
        return check_event(event, items)
    except RefusedError as error:
        raise place.error(str(error)) from None
