"""The nouns of an audit: items that raters see, their labels, and progress."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple


class AuditItem(NamedTuple):
    """An item as a rater sees it: texts and the values to choose from, without the judge's labels.

    Attributes:
        item: name of the item.
        task: "grade": question and passage; "order": question and two passages, 1 where the first is better, 0 where
            they are equal, -1 where the second is; "answer": question and answer.
        question: text of the question.
        texts: what is shown below it.
        low: least value.
        high: greatest.
    """

    item: str
    task: str
    question: str
    texts: tuple[str, ...]
    low: int
    high: int


class AuditLabel(NamedTuple):
    """A rater's answer, as given.

    Attributes:
        rater: name of the rater.
        grade: the value; None where it was skipped.
        note: what the rater wrote.
        seconds: how long it took; None where not measured.
        date: when, in UTC.
    """

    rater: str
    grade: int | None
    note: str
    seconds: float | None
    date: str


class Progress(NamedTuple):
    """Progress of one task of an audit.

    Attributes:
        task: name of the task.
        items: in the sample.
        answered: of these, with at least one grade.
        complete: of these, with as many as are wanted.
        skipped: without a grade, and skipped by at least one rater.
        labels: grades of all raters.
        raters: rater → items that the rater graded or skipped.
        wanted: grades that are asked for: of each item as many as there are to be raters.
        given: of these, grades that there are; what an item has beyond its own does not count.
    """

    task: str
    items: int
    answered: int
    complete: int
    skipped: int
    labels: int
    raters: Mapping[str, int]
    wanted: int
    given: int

    def sentence(self) -> str:
        """The progress in one line.

        >>> Progress("grade", 10, 3, 3, 1, 3, {"ann": 4}, 10, 3).sentence()
        'grade: 3 of 10 items are answered, 1 was skipped by all who saw it; raters: ann (4).'
        >>> Progress("grade", 10, 3, 1, 0, 4, {"ann": 3, "bob": 1}, 20, 4).sentence()
        'grade: 3 of 10 items are answered, 1 by as many raters as are wanted; raters: ann (3), bob (1).'
        """
        skipped = f", {self.skipped} {'was' if self.skipped == 1 else 'were'} skipped by all who saw it"
        several, whole = self.wanted > self.items, f", {self.complete:,} by as many raters as are wanted"
        raters = ", ".join(f"{rater} ({count:,})" for rater, count in self.raters.items())
        return (
            f"{self.task}: {self.answered:,} of {self.items:,} items are answered{whole if several else ''}"
            f"{skipped if self.skipped else ''}"
            f"{'; raters: ' if raters else ''}{raters}."
        )
