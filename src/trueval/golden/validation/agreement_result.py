"""The result of `trueval golden agree`, in the form of its JSON."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar

from trueval.golden.validation.agreement_intervals import ValueWithInterval
from trueval.report.json_fields import OMITTED, json_key
from trueval.report.result import Result

Coefficients = Mapping[str, ValueWithInterval]


@dataclass(frozen=True)
class OmittedLabels:
    """Numbers of labels of a file that were left out.

    Attributes:
        duplicates: number of labels of pairs that occur twice.
        outside: number of labels with a grade off the scale.
        unjudged: number of labels with a grade below 0, which means unjudged.
    """

    duplicates: int = 0
    outside: int = 0
    unjudged: int = 0


@dataclass(frozen=True)
class LabelOrigin:
    """A source of labels.

    Attributes:
        name: name of the judge, or "people".
        source: name of the file or folder.
        labels: number of labels.
        queries: number of queries; None for an audit.
        left_out: labels of a file that were left out; None for an audit.
        raters: names of the people of an audit; None for a file.
    """

    name: str
    source: str
    labels: int
    queries: int | None = field(default=None, metadata=OMITTED)
    left_out: OmittedLabels | None = field(default=None, metadata=OMITTED)
    raters: tuple[str, ...] | None = field(default=None, metadata=OMITTED)


@dataclass(frozen=True)
class StratumSample:
    """A stratum of the sample: its passages, and those that people graded."""

    name: str
    population: int
    answered: int


@dataclass(frozen=True)
class AuditDesign:
    """How the sample was drawn.

    Attributes:
        name: "queries" or "documents".
        population: number of queries or passages that the sample represents.
        answered: number of queries or passages that people graded.
        strata: strata of a sample of passages.
    """

    name: str
    population: int
    answered: int
    strata: tuple[StratumSample, ...]


@dataclass(frozen=True)
class SampleAgreement:
    """Agreement of two raters on the items of the sample.

    Attributes:
        table: [first, second] count of each pair of grades.
        coefficients: κ and α by name (coefficients.py).
    """

    table: tuple[tuple[float, ...], ...]
    coefficients: Coefficients


@dataclass(frozen=True)
class PopulationAgreement:
    """Agreement of two raters on all judged items, estimated from the sample.

    Attributes:
        covered: share of the items in strata with at least one answer.
        items: number of items that the sample represents.
    """

    covered: float
    items: float
    table: tuple[tuple[float, ...], ...]
    coefficients: Coefficients


@dataclass(frozen=True)
class GroupBias:
    """Mean grade of the second rater minus that of the first, in one group of items.

    Attributes:
        group: grade by a rater, or slot of the passage in its call.
        items: number of items.
        value: mean difference; None with a reason.
        low: lower end of its interval over queries.
        high: upper end of its interval.
        reason: why something is None.
    """

    group: float
    items: int
    value: float | None
    low: float | None
    high: float | None
    reason: str = field(default="", metadata=OMITTED)


@dataclass(frozen=True)
class LengthBias:
    """The bias for passages of similar length, from `shortest` to `longest` characters."""

    shortest: int = field(metadata=json_key("from"))
    longest: int = field(metadata=json_key("to"))
    items: int
    value: float | None
    low: float | None
    high: float | None
    reason: str = field(default="", metadata=OMITTED)


@dataclass(frozen=True)
class RaterBias:
    """How much higher the second rater grades than the first, in grades.

    Attributes:
        weighted: whether items are weighted up to the population.
        all: bias over all items.
        by_first: bias by the grade of the first rater.
        by_second: bias by the grade of the second rater.
        by_slot: bias by the slot of the passage in a call of the judge.
        by_length: bias by the length of the passage.
    """

    weighted: bool
    all: ValueWithInterval
    by_first: tuple[GroupBias, ...]
    by_second: tuple[GroupBias, ...]
    by_slot: tuple[GroupBias, ...]
    by_length: tuple[LengthBias, ...]


@dataclass(frozen=True)
class RaterPair:
    """The agreement of two raters.

    Attributes:
        first: name of the first rater.
        second: name of the second rater.
        between: "judge and people", "raters" or "judges".
        items: number of items that both graded.
        queries: number of their queries.
        only_first: number of items that only the first graded.
        only_second: number of items that only the second graded.
        same: share of the items with the same grade from both.
        within_one: share of the items whose grades differ by at most 1.
        grades: all grades of the scale that occur.
        sample: agreement on the items.
        population: agreement on all judged items; None if the sample has no design.
        bias: bias of the second rater against the first.
    """

    first: str
    second: str
    between: str
    items: int
    queries: int
    only_first: int
    only_second: int
    same: float | None
    within_one: float | None
    grades: tuple[float, ...]
    sample: SampleAgreement
    population: PopulationAgreement | None
    bias: RaterBias


@dataclass(frozen=True)
class RaterGroup:
    """The agreement of more than two raters.

    Attributes:
        between: "raters" or "judges".
        raters: names of the raters.
        items: number of items that at least two of them graded.
        coefficients: α by name.
        population: α on all judged items; None if the sample has no design.
    """

    between: str
    raters: tuple[str, ...]
    items: int
    coefficients: Coefficients
    population: Coefficients | None


@dataclass(frozen=True)
class NeighborOrder:
    """People's orders of neighbors in the ranked lists.

    Attributes:
        queries: number of queries.
        pairs: number of pairs of neighbors.
        agree: share of pairs that people order as the list does.
        equal: share of pairs that people call equal.
        disagree: share of pairs that people order the other way.
    """

    queries: int
    pairs: int
    agree: float | None
    equal: float | None
    disagree: float | None


@dataclass(frozen=True)
class AnswerRating:
    """People's mean rating of the answers of a system, with its interval over queries."""

    system: str
    answers: int
    value: float | None
    low: float | None
    high: float | None
    reason: str = field(default="", metadata=OMITTED)


@dataclass(frozen=True, repr=False)
class LabelAgreement(Result):
    """Agreement of labels.

    Attributes:
        scale: lowest and highest grade.
        resamples: number of bootstrap resamples.
        seed: seed of the bootstrap.
        level: confidence level of the intervals.
        people: source of people's labels.
        design: design of the audit's sample; None for labels of a file.
        judges: sources of the judges' labels.
        pairs: agreement of two raters each; those of people come first.
        together: agreement of more than two raters.
        order: people's orders of neighbors; None if the audit did not ask for them.
        answers: ratings of answers, highest mean first.
        notes: remarks on the labels.
    """

    KIND: ClassVar = "golden-agree"
    FORMAT: ClassVar = 1

    scale: tuple[float, float]
    resamples: int
    seed: int
    level: float
    people: LabelOrigin
    design: AuditDesign | None
    judges: tuple[LabelOrigin, ...]
    pairs: tuple[RaterPair, ...]
    together: tuple[RaterGroup, ...]
    order: NeighborOrder | None
    answers: tuple[AnswerRating, ...]
    notes: tuple[str, ...]
