"""The assignment queue of an audit, in memory: who answered what, who holds what, and what each rater gets next.

An item is served, in sample order, to as many raters as it needs labels, and to each at most once. A rater who is shown
an item holds it for a while; if no answer comes, the hold expires and another rater gets the item.
"""

from __future__ import annotations

from collections import Counter, OrderedDict
from collections.abc import Mapping
from itertools import islice
from typing import Any, Final

from trueval.golden.audit.store.audit_items import AuditLabel, Progress
from trueval.golden.audit.store.audit_manifest import Item


class AssignmentQueue:
    """The state of an audit's items as derived from its events; does not access the disk.

    Args:
        items: items by name, in sample order.
        raters: number of labels wanted per item.

    Attributes:
        answers: item → rater → answer.
        order: rater → numbers of the answers that are not undone.
        about: number of an answer → item.
        shown: item → rater → end of the hold.
    """

    def __init__(self, items: Mapping[str, Item], raters: int) -> None:
        self.items: Final = items
        self.raters: Final = raters
        self.answers: dict[str, dict[str, AuditLabel]] = {}
        self.order: dict[str, list[int]] = {}
        self.about: dict[int, str] = {}
        self.shown: dict[str, dict[str, float]] = {}
        # rater → item → end of the hold, without answered items, so that scans stay short.
        self._seen: dict[str, dict[str, float]] = {}
        self._places = {item: place for place, item in enumerate(items)}
        # Items with fewer grades than wanted, in sample order; finding the first key of a dict is slow once many
        # leading keys were deleted.
        self._short = OrderedDict.fromkeys(items)
        # (rater, task) → those of the task that the rater has not answered; computed on first use.
        self._open: dict[tuple[str, str | None], OrderedDict[str, None]] = {}

    def show(self, rater: str, item: str, until: float) -> None:
        """Record that a rater was shown an item.

        Args:
            until: end of the hold, in seconds of the clock.
        """
        self.shown.setdefault(item, {})[rater] = until
        if not self.has_answered(rater, item):
            self._seen.setdefault(rater, {})[item] = until

    def take(self, row: Mapping[str, Any]) -> None:
        """Apply one event."""
        rater, item = row["rater"], row["item"]
        if row["kind"] == "undo":
            self.order[rater].remove(row["undone"])
            del self.answers[item][rater]
            if rater in self.shown.get(item, ()):
                self._seen.setdefault(rater, {})[item] = self.shown[item][rater]
            self._open.clear()
        elif row["kind"] == "note":
            self.answers[item][rater] = self.answers[item][rater]._replace(note=row["note"])
        else:
            label = AuditLabel(rater, row["grade"], row["note"], row["seconds"], row["time"])
            self.answers.setdefault(item, {})[rater] = label
            self.order.setdefault(rater, []).append(row["number"])
            self.about[row["number"]] = item
            self._seen.get(rater, {}).pop(item, None)
        enough = self._grades(item) >= self.raters
        if enough:
            self._short.pop(item, None)
        elif item not in self._short:  # undone: it returns to its old place
            self._short = OrderedDict.fromkeys(sorted([*self._short, item], key=self._places.__getitem__))
        for (who, _), each in self._open.items():
            if enough or who == rater:
                each.pop(item, None)

    def next_items(self, rater: str, most: int, task: str | None, now: float) -> list[str]:
        """The next items for a rater: those the rater already holds, then the first that need a label.

        Args:
            most: maximum number of items.
            task: task of the items; None for any.
            now: current time in seconds of the clock.
        """
        seen = self._seen.get(rater, {})
        held = [item for item, until in seen.items() if until > now and self._is_open(item, rater, task)]
        held.sort(key=self._places.__getitem__)
        if (rater, task) not in self._open:
            some = (item for item in self._short if self._is_open(item, rater, task))
            self._open[rater, task] = OrderedDict.fromkeys(some)
        left = self._open[rater, task]
        free = (item for item in left if seen.get(item, now) <= now and self._is_wanted(item, rater, now))
        return [*held, *islice(free, max(most - len(held), 0))][:most]

    def has_answered(self, rater: str, item: str) -> bool:
        """Whether a rater has an answer to an item that was not undone."""
        return rater in self.answers.get(item, ())

    def _is_open(self, item: str, rater: str, task: str | None) -> bool:
        """Whether an item belongs to a task and a rater has not answered it."""
        return task in (None, self.items[item].task) and not self.has_answered(rater, item)

    def _is_wanted(self, item: str, rater: str, now: float) -> bool:
        """Whether an item needs more labels than it has and than the other raters who hold it may give."""
        answers = self.answers.get(item, {})
        held = self.shown.get(item, {})
        waiting = sum(until > now for who, until in held.items() if who != rater and who not in answers)
        return self._grades(item) + waiting < self.raters

    def _grades(self, item: str) -> int:
        """Number of raters who graded an item."""
        return sum(each.grade is not None for each in self.answers.get(item, {}).values())

    def labels(self) -> dict[str, tuple[AuditLabel, ...]]:
        """Item → answers of raters, skips included, by rater name; unanswered items are left out.

        Values are as given: those of `order` refer to the order in which the texts were shown.
        """
        given = self.answers
        return {
            item: tuple(given[item][rater] for rater in sorted(given[item])) for item in self.items if given.get(item)
        }

    def progress(self, task: str) -> Progress:
        """Progress of a task."""
        given = self.labels()
        items = [item for item, each in self.items.items() if each.task == task]
        grades = {item: self._grades(item) for item in items}
        return Progress(
            task,
            len(items),
            sum(count > 0 for count in grades.values()),
            sum(count >= self.raters for count in grades.values()),
            sum(not grades[item] and item in given for item in items),
            sum(grades.values()),
            dict(sorted(Counter(each.rater for item in items for each in given.get(item, ())).items())),
            len(items) * self.raters,
            sum(min(count, self.raters) for count in grades.values()),
        )
