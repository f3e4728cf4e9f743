"""golden.json: what a golden set is, how it was made, and what its labels are.

`golden_set.py` writes it, with the manifest of each stage as it is on disk; a result holds what it shows of these.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

from trueval.golden.refine.heterogeneity import Heterogeneity
from trueval.report.json_fields import OMITTED, json_key
from trueval.report.result import Result


@dataclass(frozen=True)
class JudgedCollection:
    """The collection of a golden set, with the hashes of its texts with their ids."""

    name: str
    source: str
    documents: int
    queries: int
    sha256: Mapping[str, str]


@dataclass(frozen=True)
class GoldenJudge:
    """The judge and the settings of grading (grade.py)."""

    name: str
    mode: str
    batch: int
    rounds: int
    aggregate: str
    seed: int
    first: int


@dataclass(frozen=True)
class RepeatedQuestions:
    """Questions that were asked twice, verbatim.

    Attributes:
        calls: number of them.
        labels: labels given twice.
        labels_differ: share of them that differ; None without labels.
        orders: orders given twice.
        orders_differ: share of them that differ; None without orders.
        pairs_differ: share of their pairs that differ.
    """

    calls: int
    labels: int
    labels_differ: float | None
    orders: int
    orders_differ: float | None
    pairs_differ: float | None


@dataclass(frozen=True)
class GoldenStage:
    """What a golden set shows of the manifest of a stage (stage_files.py); None where a stage has no such number.

    Attributes:
        stage: name of the stage.
        seconds: of its last run.
        written: date.
        parameters: JSON values that determine it.
        problems: problem of an answer → number of calls.
        models: model that answered → number of calls.
        cost: of all its calls.
        notes: remarks, one line each.
    """

    stage: str
    seconds: float
    written: str
    queries: int | None = None
    passages: int | None = None
    calls: int | None = None
    invalid: int | None = None
    tokens_in: int | None = None
    tokens_out: int | None = None
    cost: float | None = None
    repeated: RepeatedQuestions | None = None
    parameters: Mapping[str, Any] = field(default_factory=dict)
    problems: Mapping[str, int] = field(default_factory=dict)
    models: Mapping[str, int] = field(default_factory=dict)
    judge_seconds: float | None = None
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class RoundAgreement:
    """Labels of two rounds on the same passages (steadiness.py).

    Attributes:
        first: index of a round.
        second: index of a later one.
        passages: labelled in both.
        same: share with the same label.
        within_one: share with labels at most one grade apart.
        difference: mean of the second less the first.
        kappa: quadratic κ; None where it is not defined.
        table: [grade of the first][grade of the second] number of passages.
    """

    first: int
    second: int
    passages: int
    same: float
    within_one: float
    difference: float
    kappa: float | None
    table: tuple[tuple[int, ...], ...]


@dataclass(frozen=True)
class SlotMean:
    """Mean label of a slot of a call, with its standard error; None for a single passage."""

    slot: int
    passages: int
    mean: float
    error: float | None


@dataclass(frozen=True)
class GoldenPassage:
    """A passage of a query."""

    query: str
    document: str


@dataclass(frozen=True)
class SourceCeiling:
    """What the best ten documents of a search are worth by the judgments: PROC(RA-nWG)@10 with its tie range."""

    expected: float | None
    low: float | None = field(metadata=json_key("lowest"))
    high: float | None = field(metadata=json_key("highest"))


@dataclass(frozen=True)
class PoolSource:
    """What a search gave to the pools (pool_sources.py).

    Attributes:
        name: of the search; "pool" for all together.
        passages: that it found.
        alone: that no other search found.
        useful: of its passages.
        useful_alone: of those that it found alone.
        ceiling: None where no query is judged.
    """

    name: str
    passages: int
    alone: int
    useful: int
    useful_alone: int
    ceiling: SourceCeiling | None


@dataclass(frozen=True)
class AuditedDifference:
    """The least difference that corrected values separate, with the errors that people found in the labels.

    Attributes:
        measure: of the difference: the design of the audit says which can be corrected.
        labels: number of people's labels.
        difference: corrected mean of the first search less that of the second; None without an interval.
        least: least difference that the corrected values separate; None where they have no interval.
        unusable: why they have none; None where they have one.
    """

    measure: str
    labels: int
    difference: float | None
    least: float | None
    unusable: str | None = field(default=None, metadata=OMITTED)


@dataclass(frozen=True)
class DecidableDifference:
    """The least difference that the queries of a golden set separate, of runs that differ as two of its searches do.

    Attributes:
        measure: of the difference.
        first: name of a search.
        second: name of another one.
        queries: number of queries with a value of both.
        difference: mean of the first less that of the second.
        sd: standard deviation of the difference between queries.
        least: least difference that a paired t test finds; None where the searches do not differ.
        level: level of the test.
        power: chance with which it finds that difference.
        audited: with the errors of the labels; None where people graded nothing.
    """

    measure: str
    first: str
    second: str
    queries: int
    difference: float
    sd: float
    least: float | None
    level: float
    power: float
    audited: AuditedDifference | None = field(default=None, metadata=OMITTED)


@dataclass(frozen=True)
class RefinedQuery:
    """How the refinement of a query ended.

    Attributes:
        query: id of the query.
        method: of refinement.
        passages: that were refined.
        top: number of passages returned in order.
        calls: of the judge.
        stopped: why it stopped.
        overlap: expected overlap with the judge's own best; None where it is not claimed.
        gross: share of grades taken to be grossly wrong.
        unchecked: passages that no order has.
        bands: bands of ties among the best.
        disagreement: share of pairs that differ between orders.
        cycles: of preferences.
        inversions: pairs whose order contradicts their grades.
    """

    query: str
    method: str
    passages: int
    top: int
    calls: int
    stopped: str
    overlap: float | None
    gross: float | None
    unchecked: int
    bands: int
    disagreement: float | None
    cycles: int | None
    inversions: int


@dataclass(frozen=True)
class RefinementRecord:
    """The refinement of all queries, and what its claims do not cover, as sentences."""

    cannot_know: tuple[str, ...] = ()
    queries: tuple[RefinedQuery, ...] = ()


@dataclass(frozen=True)
class JudgeCost:
    """Totals over stages; None where unknown."""

    calls: int | None
    invalid: int | None
    tokens_in: int | None
    tokens_out: int | None
    cost: float | None
    judge_seconds: float | None


@dataclass(frozen=True, repr=False, kw_only=True)
class GoldenResult(Result):
    """A golden set in numbers.

    Attributes:
        name: of the golden set.
        collection: that it was built from.
        seed: of all random choices.
        judge: with the settings of grading.
        stages: in the order of the build.
        passages: in the pools; None, as all that follows, before they are graded.
        judged: passages with a label.
        unjudged: passages without a valid label.
        labels: valid labels, several per passage.
        grades: grade → number of passages.
        heterogeneity: how much queries differ.
        rounds: agreement of each two rounds.
        slots: mean labels by slot.
        speaks_to_judge: passages that seem to speak to a judge.
        sources: what each search gave.
        decides: what differences its queries separate; None where fewer than two searches or queries tell it.
        refinement: of the best in order; None without one.
        cost: of all stages.
    """

    KIND: ClassVar = "golden"
    FORMAT: ClassVar = 1

    name: str
    collection: JudgedCollection
    seed: int
    judge: GoldenJudge
    stages: tuple[GoldenStage, ...]
    passages: int | None = field(default=None, metadata=OMITTED)
    judged: int | None = field(default=None, metadata=OMITTED)
    unjudged: int | None = field(default=None, metadata=OMITTED)
    labels: int | None = field(default=None, metadata=OMITTED)
    grades: Mapping[str, int] | None = field(default=None, metadata=OMITTED)
    heterogeneity: Heterogeneity | None = field(default=None, metadata=OMITTED)
    rounds: tuple[RoundAgreement, ...] | None = field(default=None, metadata=OMITTED)
    slots: tuple[SlotMean, ...] | None = field(default=None, metadata=OMITTED)
    speaks_to_judge: tuple[GoldenPassage, ...] | None = field(default=None, metadata=OMITTED)
    sources: tuple[PoolSource, ...] | None = field(default=None, metadata=OMITTED)
    decides: DecidableDifference | None = field(default=None, metadata=OMITTED)
    refinement: RefinementRecord | None = field(default=None, metadata=OMITTED)
    cost: JudgeCost
