"""Whose turn an item is, against a twin that looks at everything each time."""

from __future__ import annotations

import random
from typing import Any

import pytest

from trueval.golden.audit.store.assignment_queue import AssignmentQueue
from trueval.golden.audit.store.audit_manifest import Item

HOLD = 10.0
PEOPLE = ("ann", "bob", "cy")


def twin(
    items: dict[str, Item], said: dict[tuple[str, str], Any], held: dict[tuple[str, str], float], raters: int,
    rater: str, most: int, task: str | None, now: float,
) -> list[str]:  # fmt: skip
    """By the rules alone: what the rater holds, then what needs a label and nobody else is about to give it."""
    mine = [
        item
        for item, each in items.items()
        if task in (None, each.task) and (rater, item) not in said
    ]  # fmt: skip
    holding = [item for item in mine if held.get((rater, item), now) > now]
    wanted = []
    for item in mine:
        grades = sum(said.get((who, item)) is not None for who in PEOPLE)
        waiting = sum(
            held.get((who, item), now) > now for who in PEOPLE if who != rater and (who, item) not in said
        )  # fmt: skip
        if item not in holding and grades + waiting < raters:
            wanted.append(item)
    return (holding + wanted)[:most]


def test_turns_are_those_of_the_rules() -> None:
    for seed in range(8):
        rng = random.Random(seed)
        raters = rng.choice((1, 2, 3))
        items = {
            f"i{at}": Item(f"i{at}", rng.choice(("grade", "order")), "q", ("d",), "s", ("h", "h"), 1, 5)
            for at in range(6)
        }
        turns, now = AssignmentQueue(items, raters), 0.0
        said: dict[tuple[str, str], int | None] = {}
        held: dict[tuple[str, str], float] = {}
        numbers: dict[tuple[str, str], int] = {}
        for number in range(60):
            now += rng.choice((0.5, 4.0))
            rater, most, task = rng.choice(PEOPLE), rng.choice((1, 3)), rng.choice((None, "grade"))
            found = turns.next_items(rater, most, task, now)
            assert found == twin(items, said, held, raters, rater, most, task, now)
            for item in found:
                held[rater, item] = now + HOLD
                turns.show(rater, item, now + HOLD)
            mine = [item for who, item in said if who == rater]
            row = {"rater": rater, "note": "", "seconds": None, "time": "", "number": number, "undone": None}
            if mine and rng.random() < 0.3:
                item = rng.choice(mine)
                del said[rater, item]
                turns.take({**row, "kind": "undo", "item": item, "grade": None, "undone": numbers[rater, item]})
            elif found:
                grade = rng.choice((None, 1, 5))
                said[rater, found[0]], numbers[rater, found[0]] = grade, number
                kind = "skip" if grade is None else "grade"
                turns.take({**row, "kind": kind, "item": found[0], "grade": grade})
        done = [turns.progress(task).labels for task in ("grade", "order")]
        assert sum(done) == sum(grade is not None for grade in said.values())


@pytest.mark.parametrize("raters", [1, 2])
def test_what_was_answered_is_not_walked_again(raters: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Forty answers of one rater look at as many items after 20 answers as after 400."""
    looks = 0
    for name in ("_is_open", "_is_wanted"):
        plain = getattr(AssignmentQueue, name)

        def counted(*given: Any, plain: Any = plain) -> Any:
            nonlocal looks
            looks += 1
            return plain(*given)

        monkeypatch.setattr(AssignmentQueue, name, counted)
    items = {f"i{at}": Item(f"i{at}", "grade", "q", ("d",), "s", ("h", "h"), 1, 5) for at in range(500)}
    turns, found = AssignmentQueue(items, raters), []
    for number in range(440):
        if number in (20, 60, 400):
            found.append(looks)
        (item,) = turns.next_items("ann", 1, "grade", number)
        turns.show("ann", item, number + HOLD)
        row = {"rater": "ann", "note": "", "seconds": None, "time": "", "number": number, "undone": None}
        turns.take({**row, "kind": "grade", "item": item, "grade": 1})
    assert found[1] - found[0] == looks - found[2] < 200
