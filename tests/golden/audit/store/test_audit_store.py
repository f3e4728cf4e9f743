"""The store: no label lost, none counted twice, none outside the scale, and nobody shown an item twice."""

from __future__ import annotations

import dataclasses
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.golden.audit.small_audit import small_audit

from trueval.errors import InputError
from trueval.golden.audit.store.audit_items import AuditItem
from trueval.golden.audit.store.audit_manifest import ITEMS, TEXTS, read_sample
from trueval.golden.audit.store.audit_store import EVENTS, HOLD, AuditStore
from trueval.golden.audit.store.events import Event, RefusedError

RATERS = ("ann", "bob", "cem")


class Clock:
    """A clock that moves when it is told to."""

    def __init__(self) -> None:
        self.now = 1_800_000_000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def store(tmp_path: Path, clock: Clock) -> Iterator[AuditStore]:
    with AuditStore.open(small_audit(tmp_path / "audit"), now=clock) as opened:
        yield opened


def grade(store: AuditStore, rater: str, value: int = 3, event: str | None = None, **rest: Any) -> str:
    """Grade what a rater is shown; the item."""
    shown = store.next_item(rater, "grade")
    assert shown is not None
    assert store.record(Event(event or f"{rater} {shown.item}", rater, shown.item, "grade", value, **rest))
    return shown.item


class Twin:
    """The store without a file or an index: a list of what was accepted, looked through anew each time."""

    def __init__(self, items: list[str], raters: int) -> None:
        self.items, self.raters = items, raters
        self.log: list[tuple[str, str, str, int | None]] = []  # rater, item, kind, grade
        self.seen: dict[tuple[str, str], float] = {}

    def answers(self) -> dict[tuple[str, str], int | None]:
        found: dict[tuple[str, str], int | None] = {}
        for rater, item, kind, value in self.log:
            if kind == "undo":
                del found[rater, item]
            else:
                found[rater, item] = value
        return found

    def last(self, rater: str) -> str | None:
        standing: list[str] = []
        for who, item, kind, _ in self.log:
            if who == rater:
                standing.remove(item) if kind == "undo" else standing.append(item)
        return standing[-1] if standing else None

    def next_item(self, rater: str, now: float) -> str | None:
        answers = self.answers()
        mine = [item for item in self.items if (rater, item) not in answers]
        held = [item for item in mine if self.seen.get((rater, item), now) > now]
        free = [
            item
            for item in mine
            if sum(
                answers.get((who, item)) is not None
                or (who != rater and (who, item) not in answers and self.seen.get((who, item), now) > now)
                for who in RATERS
            )
            < self.raters
        ]
        return next(iter(held + free), None)


class Walk:
    """A store and its twin, and random events of three raters that both see."""

    def __init__(self, folder: Path, clock: Clock, seed: int) -> None:
        self.rng, self.clock, self.number = np.random.default_rng(seed), clock, 0
        raters = int(self.rng.integers(1, 4))
        self.folder = small_audit(folder, items=int(self.rng.integers(2, 8)), raters=raters)
        self.store = AuditStore.open(folder, now=clock)
        self.twin = Twin(list(self.store.items), raters)
        self.sent: list[Event] = []
        self.undone: list[tuple[str, str]] = []

    def step(self) -> None:
        self.number += 1
        moves = [self.answer, self.look, self.undo, self.repeat, self.forge, self.wait, self.reopen]
        chances = [0.4, 0.1, 0.2, 0.1, 0.1, 0.05, 0.05]
        moves[self.rng.choice(len(moves), p=chances)](str(self.rng.choice(RATERS)))

    def look(self, rater: str) -> AuditItem | None:
        shown, expected = self.store.next_item(rater), self.twin.next_item(rater, self.clock.now)
        assert (shown.item if shown else None) == expected
        if shown is not None:
            self.twin.seen[rater, shown.item] = self.clock.now + HOLD
        return shown

    def answer(self, rater: str) -> None:
        shown = self.look(rater)
        if shown is None:
            return
        value = None if self.rng.random() < 0.2 else int(self.rng.integers(shown.low, shown.high + 1))
        kind, note = "skip" if value is None else "grade", "n" * (self.number % 3)
        self.sent.append(Event(f"e{self.number}", rater, shown.item, kind, value, note))
        assert self.store.record(self.sent[-1])
        self.twin.log.append((rater, shown.item, kind, value))

    def undo(self, rater: str) -> None:
        expected, found = self.twin.last(rater), self.store.undo(rater, f"u{self.number}")
        assert (found.item if found else None) == expected
        if expected is not None:
            self.undone.append((rater, f"u{self.number}"))
            self.twin.log.append((rater, expected, "undo", None))
            self.twin.seen[rater, expected] = self.clock.now + HOLD

    def repeat(self, _: str) -> None:
        if self.sent:
            assert not self.store.record(self.sent[int(self.rng.integers(len(self.sent)))])
        if self.undone:
            self.store.undo(*self.undone[int(self.rng.integers(len(self.undone)))])

    def forge(self, rater: str) -> None:
        item, value = str(self.rng.choice(list(self.store.items))), int(self.rng.choice([-2, 6, 99]))
        with pytest.raises(RefusedError):
            self.store.record(Event(f"f{self.number}", rater, item, "grade", value))

    def wait(self, _: str) -> None:
        self.clock.now += float(self.rng.choice([1, HOLD / 2, 2 * HOLD]))

    def reopen(self, _: str) -> None:
        self.store.close()
        self.store = AuditStore.open(self.folder, now=self.clock)


@pytest.mark.parametrize(
    "seed", [*range(4), *(pytest.param(seed, marks=pytest.mark.evidence) for seed in range(4, 60))]
)
def test_the_store_does_as_a_list_of_what_was_accepted(tmp_path: Path, clock: Clock, seed: int) -> None:
    """150 random events: answers, skips, undos, repeats, forgeries, waits, and restarts."""
    walk = Walk(tmp_path / "audit", clock, seed)
    for _ in range(150):
        walk.step()
        said = {(each.rater, item): each.grade for item, given in walk.store.labels().items() for each in given}
        assert said == walk.twin.answers()
    for each in walk.store.progress():
        own = [item for item in walk.twin.items if walk.store.items[item].task == each.task]
        grades: dict[str, list[int]] = {item: [] for item in own}
        for (_, item), value in walk.twin.answers().items():
            if item in grades and value is not None:
                grades[item].append(value)
        assert (each.items, each.labels) == (len(own), sum(map(len, grades.values())))
        assert each.answered == sum(map(bool, grades.values()))
        assert each.complete == sum(len(given) >= walk.twin.raters for given in grades.values())
        assert (each.wanted, each.given) == (
            len(own) * walk.twin.raters,
            sum(min(len(given), walk.twin.raters) for given in grades.values()),
        )
        assert each.skipped == len({item for _, item in walk.twin.answers() if item in own and not grades[item]})
    walk.store.close()


def test_raters_get_texts_and_values_alone(store: AuditStore) -> None:
    shown = store.next_item("ann", "order")
    assert shown is not None
    assert shown._asdict() == {
        "item": "o1",
        "task": "order",
        "question": "what?",
        "texts": ("passage 5", "passage 6"),
        "low": -1,
        "high": 1,
    }


def test_an_item_waits_for_its_rater_and_then_for_nobody(store: AuditStore, clock: Clock) -> None:
    first, second = store.next_item("ann"), store.next_item("bob")
    assert first is not None
    assert second is not None
    assert first.item != second.item
    clock.now += HOLD + 1
    again = store.next_item("bob")
    assert again is not None
    assert again.item == first.item
    # The first rater comes back late: the label of a person is never thrown away.
    assert store.record(Event("late", "ann", first.item, "grade", 4))
    assert [each.rater for each in store.labels()[first.item]] == ["ann"]


def test_a_skip_leaves_the_item_to_others(store: AuditStore) -> None:
    shown = store.next_item("ann")
    assert shown is not None
    store.record(Event("s", "ann", shown.item, "skip", note="in Latin"))
    other, mine = store.next_item("bob"), store.next_item("ann")
    assert other is not None
    assert mine is not None
    assert other.item == shown.item != mine.item
    assert store.progress()[0].skipped == 1
    store.record(Event("g", "bob", shown.item, "grade", 2))
    assert store.progress()[0].skipped == 0


def test_undo_goes_back_step_by_step_and_over_a_restart(tmp_path: Path, clock: Clock) -> None:
    folder = small_audit(tmp_path / "audit")
    with AuditStore.open(folder, now=clock) as store:
        first, second = grade(store, "ann"), grade(store, "ann")
        grade(store, "bob")
    with AuditStore.open(folder, now=clock) as store:
        taken = [store.undo("ann", f"u{at}") for at in range(3)]
        assert [each.item if each else None for each in taken] == [second, first, None]
        again = store.undo("ann", "u0")
        assert again is not None
        assert again.item == second
        assert {each.rater for given in store.labels().values() for each in given} == {"bob"}
        # What was sent before comes once more, from a page that never heard the answer: it stays undone.
        assert not store.record(Event(f"ann {first}", "ann", first, "grade", 3))
        assert first not in store.labels()
        assert grade(store, "ann", 5, "another") == first


@pytest.mark.parametrize(
    ("event", "reason"),
    [
        (Event("e", "ann", "g0", "grade", 0), "scale"),
        (Event("e", "ann", "g0", "grade", 6), "scale"),
        (Event("e", "ann", "g0", "grade", None), "scale"),
        (Event("e", "ann", "g0", "grade", True), "scale"),
        (Event("e", "ann", "g0", "grade", 3.0), "scale"),  # type: ignore[arg-type]
        (Event("e", "ann", "g0", "grade", "3"), "scale"),  # type: ignore[arg-type]
        (Event("e", "ann", "g0", "grade", 10**30), "scale"),
        (Event("e", "ann", "o1", "grade", 2), "scale"),
        (Event("e", "ann", "g0", "skip", 3), "scale"),
        (Event("e", "ann", "g0", "undo"), "event"),
        (Event("e", "ann", "g9", "grade", 3), "item"),
        (Event("e", "ann", ["g0"], "grade", 3), "item"),  # type: ignore[arg-type]
        (Event("e", "ann", "g1", "grade", 3), "shown"),
        (Event("e", "ann", "g0", "note", note="before any answer"), "item"),
        (Event("", "ann", "g0", "grade", 3), "event"),
        (Event("e" * 101, "ann", "g0", "grade", 3), "event"),
        (Event("é", "ann", "g0", "grade", 3), "event"),
        (Event("e", "", "g0", "grade", 3), "rater"),
        (Event("e", " ann", "g0", "grade", 3), "rater"),
        (Event("e", "a\nn", "g0", "grade", 3), "rater"),
        (Event("e", None, "g0", "grade", 3), "rater"),  # type: ignore[arg-type]
        (Event("e", "ann", "g0", "grade", 3, "x" * 10_001), "note"),
        (Event("e", "ann", "g0", "grade", 3, "\ud800"), "note"),
        (Event("e", "ann", "g0", "grade", 3, None), "note"),  # type: ignore[arg-type]
        (Event("e", "ann", "g0", "grade", 3, "", -1.0), "event"),
        (Event("e", "ann", "g0", "grade", 3, "", float("nan")), "event"),
        (Event("e", "ann", "g0", "grade", 3, "", "2"), "event"),  # type: ignore[arg-type]
    ],
)
def test_what_is_wrong_never_enters(store: AuditStore, event: Event, reason: str) -> None:
    assert store.next_items("ann", 1)
    assert store.next_item("ann", "order")
    with pytest.raises(RefusedError) as caught:
        store.record(event)
    assert caught.value.reason == reason
    assert store.labels() == {}
    assert store.record(Event("e", "ann", "g0", "grade", 3))


def test_the_same_event_counts_once_and_another_cannot_take_its_name(store: AuditStore) -> None:
    item = grade(store, "ann", 3, "e")
    assert not store.record(Event("e", "ann", item, "grade", 3))
    for other in (Event("e", "ann", item, "grade", 4), Event("e", "bob", item, "grade", 3)):
        with pytest.raises(RefusedError, match="another event has the id e") as caught:
            store.record(other)
        assert caught.value.reason == "event"
    with pytest.raises(RefusedError, match="another event has the id e"):
        store.undo("ann", "e")
    with pytest.raises(RefusedError, match="answered item g0 before") as caught:
        store.record(Event("f", "ann", item, "grade", 4))
    assert caught.value.reason == "answered"
    assert [each.grade for each in store.labels()[item]] == [3]


def test_a_note_may_come_after_the_answer(store: AuditStore) -> None:
    item = grade(store, "ann", 4, seconds=2.5)
    assert store.record(Event("n", "ann", item, "note", note="see page 3"))
    (label,) = store.labels()[item]
    assert (label.grade, label.note, label.seconds) == (4, "see page 3", 2.5)


@pytest.mark.parametrize(
    "statement",
    [
        "INSERT INTO events VALUES (NULL, 'x', 'grade', 'ann', 'g0', 'grade', 1, 5, 6, '', NULL, '', NULL)",
        "INSERT INTO events VALUES (NULL, 'x', 'grade', 'ann', 'g0', 'grade', 1, 9, 6, '', NULL, '', NULL)",
        "INSERT INTO events VALUES (NULL, 'x', 'grade', 'ann', 'g0', 'order', -1, 1, 0, '', NULL, '', NULL)",
        "INSERT INTO events VALUES (NULL, 'x', 'grade', 'ann', 'g0', 'grade', 1, 5, 2.5, '', NULL, '', NULL)",
        "INSERT INTO events VALUES (NULL, 'x', 'grade', 'ann', 'g0', 'grade', 1, 5, 'three', '', NULL, '', NULL)",
        "INSERT INTO events VALUES (NULL, 'x', 'grade', 'ann', 'g0', 'grade', 1, 5, NULL, '', NULL, '', NULL)",
        "INSERT INTO events VALUES (NULL, 'x', 'skip', 'ann', 'g0', 'grade', 1, 5, 3, '', NULL, '', NULL)",
        "INSERT INTO events VALUES (NULL, 'x', 'grade', 'ann', 'g9', 'grade', 1, 5, 3, '', NULL, '', NULL)",
        "INSERT INTO events VALUES (NULL, 'x', 'undo', 'ann', 'g0', 'grade', 1, 5, NULL, '', NULL, '', 77)",
        "INSERT INTO events VALUES (NULL, 'first', 'grade', 'ann', 'g1', 'grade', 1, 5, 3, '', NULL, '', NULL)",
        "UPDATE events SET grade = 1",
        "DELETE FROM events",
    ],
)
def test_the_file_itself_takes_nothing_that_is_wrong(store: AuditStore, statement: str) -> None:
    grade(store, "ann", 3, "first")
    with pytest.raises(sqlite3.IntegrityError):
        store._base.execute(statement)


def test_a_store_is_open_once(store: AuditStore) -> None:
    """Also over processes: test_audit_kills.py."""
    with pytest.raises(InputError, match="Stop it first"):
        AuditStore.open(store.folder)
    grade(store, "ann")
    store.close()
    with AuditStore.open(store.folder) as again:
        assert len(again.labels()) == 1


def test_labels_of_another_sample_are_refused(tmp_path: Path) -> None:
    folder = small_audit(tmp_path / "audit")
    AuditStore.open(folder).close()
    small_audit(folder, items=4, raters=2)
    with pytest.raises(InputError, match="holds labels of another sample"):
        AuditStore.open(folder)
    small_audit(folder, order=False)
    with pytest.raises(InputError, match="such as o1, are not those"):
        AuditStore.open(folder)
    small_audit(folder)
    AuditStore.open(folder).close()


def test_a_sample_that_grew_keeps_its_labels(tmp_path: Path) -> None:
    folder = small_audit(tmp_path / "audit", items=4)
    with AuditStore.open(folder) as store:
        grade(store, "ann")
    texts = (folder / TEXTS).read_text()
    small_audit(folder, items=7)
    (folder / TEXTS).write_text((folder / TEXTS).read_text() + texts)
    with AuditStore.open(folder) as store:
        assert list(store.labels()) == ["g0"]
        assert len(store.items) == 8


@pytest.mark.parametrize("content", [b"not a database, whatever its name", b""])
def test_another_file_is_not_taken_for_a_store(tmp_path: Path, content: bytes) -> None:
    folder = small_audit(tmp_path / "audit")
    if content:
        (folder / EVENTS).write_bytes(content * 100)
    else:
        base = sqlite3.connect(folder / EVENTS)
        base.execute("CREATE TABLE mine (x)")
        base.close()
    with pytest.raises(InputError, match=r"not the labels of an audit|cannot be used"):
        AuditStore.open(folder)


def test_changed_texts_are_not_shown(tmp_path: Path) -> None:
    folder = small_audit(tmp_path / "audit")
    path = folder / TEXTS
    path.write_text(path.read_text().replace("passage 1", "passage one"))
    with pytest.raises(InputError, match="1 texts are missing or were changed"):
        AuditStore.open(folder)


def test_the_manifest_comes_back_as_it_was(tmp_path: Path) -> None:
    folder = small_audit(tmp_path / "audit")
    sample = read_sample(folder)
    assert [each.item for each in sample.items] == ["g0", "g1", "g2", "g3", "g4", "o1"]
    assert dataclasses.replace(sample, about={}) == dataclasses.replace(read_sample(folder), about={})
    lines = (folder / ITEMS).read_text()
    (folder / ITEMS).write_text(lines.replace('"grade 1, light"', "nothing"))
    with pytest.raises(InputError, match="cannot be read"):
        read_sample(folder)
