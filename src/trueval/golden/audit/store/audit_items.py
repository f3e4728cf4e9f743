"""The nouns of an audit: items that raters see, their labels, and progress."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple


class AuditItem(NamedTuple):
    """An item as a rater sees it: texts and the values to choose from, without the judge's labels.

    Attributes:
        task: "grade": question and passage; "order": question and two passages, 1 if the first is better, 0 if they are
            equal, -1 if the second is; "answer": question and answer.
        texts: texts shown below the question.
        low: lowest value.
        high: highest value.
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
        grade: value; None if skipped.
        note: the rater's note.
        seconds: time taken; None if not measured.
        date: date in UTC.
    """

    rater: str
    grade: int | None
    note: str
    seconds: float | None
    date: str


class Progress(NamedTuple):
    """Progress of one task of an audit.

    Attributes:
        items: number of items in the sample.
        answered: items with at least one grade.
        complete: items with as many grades as wanted.
        skipped: items without a grade that at least one rater skipped.
        labels: number of grades by all raters.
        raters: rater → number of items graded or skipped.
        wanted: number of grades wanted: items times raters per item.
        given: number of grades so far, without those beyond what an item needs.
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
