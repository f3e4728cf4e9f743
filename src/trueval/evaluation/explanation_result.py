"""The result of `trueval explain`, in the form of its JSON."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

from trueval.report.json_fields import OMITTED, json_key
from trueval.report.result import Result

Choice = bool | float | str | None


@dataclass(frozen=True)
class Switch:
    """One choice in which a convention differs from ours.

    Attributes:
        option: name of the choice, an attribute of Policy.
        ours: our value of it; "average" for the tie order, as our number is the mean over all orders.
        theirs: the convention's value.
        topic: topic of the choice: tie, normalizer, base, gain, label, missing query, ...
        words: the topic and what the convention does.
    """

    option: str
    ours: Choice
    theirs: Choice
    topic: str
    words: str


@dataclass(frozen=True)
class DifferenceCause(Switch):
    """A choice that causes a difference.

    Attributes:
        alone: change of the value when only this choice is made; NaN if that is refused.
    """

    alone: float


@dataclass(frozen=True)
class OurMean:
    """Our mean of the measure, over all orders of tied documents.

    Attributes:
        expected: mean over all tie orders.
        lowest: mean of the lowest values per query.
        highest: mean of the highest values per query.
        tie_broken: mean under the tie order of the policy; NaN where the order is not known.
        queries: number of queries in the mean.
    """

    expected: float
    lowest: float
    highest: float
    tie_broken: float
    queries: int


@dataclass(frozen=True)
class ConventionRow:
    """The value of the measure under one convention.

    Attributes:
        convention: name of the convention.
        version: version of the tool.
        value: the tool's own number, the tie-broken mean; NaN if there is none, for the reason in `why`.
        difference: value - ours, of the expectation where the value is not known; NaN where neither is.
        causes: the smallest set of choices that causes the difference, usually one, largest effect first.
        others: other sets of that size that also cause it.
        why: why there is no value; empty if there is one.
        expected: mean over all tie orders under the convention; None where the tool has no such measure or refuses the
            input, as for the fields below.
        lowest: mean of the lowest values per query.
        highest: mean of the highest values per query.
        tie_broken: the same as `value`; None where the order is not known.
        queries: number of queries in the mean.
    """

    convention: str
    version: str
    value: float
    difference: float
    causes: tuple[DifferenceCause, ...]
    others: tuple[tuple[Switch, ...], ...] = field(metadata=json_key("other_causes"))
    why: str
    expected: float | None = field(default=None, metadata=OMITTED)
    lowest: float | None = field(default=None, metadata=OMITTED)
    highest: float | None = field(default=None, metadata=OMITTED)
    tie_broken: float | None = field(default=None, metadata=OMITTED)
    queries: int | None = field(default=None, metadata=OMITTED)


@dataclass(frozen=True)
class Move:
    """A query whose value differs under some convention.

    Attributes:
        query: the query's id.
        convention: the convention under which it differs most.
        ours: our expected value; NaN if we leave the query out.
        theirs: the convention's value; NaN if it leaves the query out.
        difference: theirs - ours; for a query left out, the effect of replacing it by the mean of the others.
        causes: the smallest set of choices that causes the difference.
    """

    query: str
    convention: str
    ours: float
    theirs: float
    difference: float
    causes: tuple[DifferenceCause, ...]


@dataclass(frozen=True, repr=False)
class Explanation(Result):
    """A measure under every convention, with the causes of the differences.

    Attributes:
        run: name of the run.
        measure: text form of the measure.
        ours: our mean, with expectation and range.
        rows: one per convention.
        moves: the queries with the largest differences, largest first.
        notes: warnings from reading and evaluation.
    """

    KIND: ClassVar = "explain"
    # 1: first version. 2: every file names its kind.
    FORMAT: ClassVar = 2

    run: str
    measure: str
    ours: OurMean
    rows: tuple[ConventionRow, ...] = field(metadata=json_key("conventions"))
    moves: tuple[Move, ...] = field(metadata=json_key("queries"))
    notes: tuple[str, ...]

    def row(self, convention: str) -> ConventionRow:
        """The row of a convention."""
        return next(row for row in self.rows if row.convention == convention)
