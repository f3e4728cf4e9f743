"""The result of a precision audit: each regime, pairs of models that ties decide, and its JSON."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from trueval.numerics import or_null
from trueval.precision.tie_example import TieExample
from trueval.report.json_fields import OMITTED
from trueval.report.result import Result, ResultHolder

if TYPE_CHECKING:
    from trueval.evaluation.label_order import OrderCheck
    from trueval.evaluation.scores import Scores
    from trueval.measures import Measure
    from trueval.precision.regimes import Regime


@dataclass(frozen=True)
class ModelFlip:
    """Two models whose order depends on ties.

    Attributes:
        kind: "flips" (tie-broken and expected values disagree about which is higher) or "undecidable" (the ranges share
            a value).
        measure: the measure's text form.
        label: label of the regime of both models.
        first: the model with the higher expected value.
        second: the model with the lower expected value.
    """

    kind: Literal["flips", "undecidable"]
    measure: str
    label: str
    first: str
    second: str


@dataclass(frozen=True)
class AuditedCollection:
    """The collection: its name, where it was read from without its folders, and its number of documents."""

    name: str
    source: str
    documents: int


@dataclass(frozen=True)
class AuditedCandidates:
    """The documents that were scored.

    Attributes:
        kind: "judged", "corpus", or the name of a run.
        queries: number of queries.
        pairs: number of pairs of query and document.
        notes: of the collection and of the candidates.
    """

    kind: str
    queries: int
    pairs: int
    notes: tuple[str, ...]


@dataclass(frozen=True)
class GroupSize:
    """The number of tie groups of one size."""

    size: int
    groups: int


@dataclass(frozen=True)
class RegimeTies:
    """The ties of a regime in all lists; None and empty where the corpus is too large for lists.

    Attributes:
        tied_fraction: share of documents in groups of two or more.
        largest_group: number of documents in the largest group.
        group_sizes: from the smallest size.
    """

    tied_fraction: float | None
    largest_group: int | None
    group_sizes: tuple[GroupSize, ...]


@dataclass(frozen=True)
class RegimeMean:
    """A measure in a regime, as `trueval.evaluation.estimate.Estimate`; None where it is not available.

    Attributes:
        exact: whether lowest and highest are attained; False for bounds.
    """

    expected: float | None
    lowest: float | None
    highest: float | None
    range: float | None
    tie_broken: float | None
    bias: float | None
    sd: float | None
    queries: int
    exact: bool = field(default=True, metadata=OMITTED)


@dataclass(frozen=True)
class CutoffCurve:
    """[cutoff] a measure at every cutoff k that was evaluated; NaN where it is not available."""

    k: tuple[int, ...]
    tie_broken: tuple[float, ...]
    expected: tuple[float, ...]
    lowest: tuple[float, ...]
    highest: tuple[float, ...]


@dataclass(frozen=True)
class ResolvedTies:
    """The pairs that tie when scores have the model's own format, and what finer scores of the same outputs do to them.

    Attributes:
        of: label of the regime in which they tie.
        pairs: number of these that the float32 run orders.
        same: number of these that the finer scores order as the float32 run does.
        opposite: number of these that they order the other way.
        tied: number of these that they leave tied.
        all_pairs: number of tied pairs, whether the float32 run orders them or not.
        all_tied: number of all pairs that the finer scores leave tied.
    """

    of: str
    pairs: int
    same: int
    opposite: int
    tied: int
    all_pairs: int
    all_tied: int


@dataclass(frozen=True)
class RegimeAgreement:
    """The agreement of a regime's order with that of the model's float32 run, as means over queries.

    Attributes:
        reference: label of the float32 run.
        queries: number of queries.
        tau_b: Kendall's τ-b; None where each list is a single tie group.
        tau_b_queries: number of queries with a τ-b.
        overlap: expected overlap of the first documents.
        overlap_depth: number of these.
        rbo: rank-biased overlap.
        rbo_p: its persistence.
        ties: what the regime makes of ties in the model's own format; None for that regime itself.
    """

    reference: str
    queries: int
    tau_b: float | None
    tau_b_queries: int
    overlap: float
    overlap_depth: int
    rbo: float
    rbo_p: float
    ties: ResolvedTies | None = field(default=None, metadata=OMITTED)


@dataclass(frozen=True)
class RegimeEntry:
    """A regime in the JSON of an audit.

    Attributes:
        model, scoring, model_dtype, scoring_format, index_dtype: as in `trueval.precision.regimes.Regime`.
        label: of these formats.
        queries: number of queries.
        ties: ties in all lists.
        measures: text form of a measure → its mean.
        curves: the same measures at other cutoffs, for those with a cutoff.
        agreement: with the float32 run; None without one, and where the corpus is too large for lists.
        part: the part of the model that alone ran in another format; empty for none.
    """

    model: str
    scoring: str
    model_dtype: str
    scoring_format: str
    index_dtype: str | None
    label: str
    queries: int
    ties: RegimeTies
    measures: Mapping[str, RegimeMean]
    curves: Mapping[str, CutoffCurve]
    agreement: RegimeAgreement | None
    part: str = field(default="", metadata=OMITTED)


@dataclass(frozen=True)
class LabelOrder:
    """An order of documents against their labels, as `trueval.evaluation.label_order.OrderCheck`."""

    order: str
    share: float
    p: float
    pairs: int
    among: str
    follows: bool


@dataclass(frozen=True, repr=False, kw_only=True)
class PrecisionAudit(Result):
    """The JSON of `trueval precision`; values on the scale of the measures.

    Attributes:
        policy: every choice that changes a number.
        collection: collection that was scored; None for runs from elsewhere.
        candidates: documents that were scored; None for runs from elsewhere.
        passes: settings of each pass of a model; None for runs from elsewhere.
        measures: text forms of the requested measures.
        regimes: models and formats.
        flips: pairs of models in one regime whose order ties decide.
        order: orders that may follow the labels.
        notes: one line per thing a reader must know.
        example: the query that ties move most; None where they move none.
    """

    KIND: ClassVar = "precision"
    # 1: first version. 2: unchanged, raised with the other kinds.
    FORMAT: ClassVar = 2

    policy: Mapping[str, Any]
    collection: AuditedCollection | None = field(default=None, metadata=OMITTED)
    candidates: AuditedCandidates | None = field(default=None, metadata=OMITTED)
    passes: tuple[Mapping[str, Any], ...] | None = field(default=None, metadata=OMITTED)
    measures: tuple[str, ...]
    regimes: tuple[RegimeEntry, ...]
    flips: tuple[ModelFlip, ...]
    order: tuple[LabelOrder, ...]
    notes: tuple[str, ...]
    example: TieExample | None = field(default=None, metadata=OMITTED)


@dataclass(frozen=True, eq=False)
class RegimeResult:
    """The audit's results for one regime.

    Attributes:
        regime: model and formats.
        scores: scores of the measures, including those at the cutoffs of the curves.
        group_sizes: size → number of tie groups; empty for a corpus too large for lists.
        agreement: with the float32 run of the same model; None without such a run, or if the corpus is too large for
            lists.
    """

    regime: Regime
    scores: Scores
    group_sizes: Mapping[int, int]
    agreement: RegimeAgreement | None

    @property
    def tied_fraction(self) -> float | None:
        """Share of documents in groups of two or more; None if unknown."""
        documents = sum(size * count for size, count in self.group_sizes.items())
        return 1 - self.group_sizes.get(1, 0) / documents if documents else None

    def entry(self, measures: Sequence[Measure]) -> RegimeEntry:
        """The regime in the JSON of an audit.

        Args:
            measures: requested measures.
        """
        sizes = tuple(GroupSize(size, count) for size, count in self.group_sizes.items())
        return RegimeEntry(
            **self.regime._asdict(),
            label=self.regime.label,
            queries=len(self.scores.query_ids),
            ties=RegimeTies(self.tied_fraction, max(self.group_sizes, default=None), sizes),
            measures={str(measure): self._mean(measure) for measure in measures},
            curves={str(measure): self._curve(measure) for measure in measures if measure.cutoff is not None},
            agreement=self.agreement,
        )

    def _mean(self, measure: Measure) -> RegimeMean:
        exact = self.scores.exact[self.scores.index(measure)]
        mean = self.scores.mean(measure)
        return RegimeMean(
            expected=or_null(mean.expected),
            lowest=or_null(mean.lowest),
            highest=or_null(mean.highest),
            range=or_null(mean.range),
            tie_broken=or_null(mean.tie_broken),
            bias=or_null(mean.bias),
            sd=or_null(mean.sd),
            queries=mean.queries,
            exact=exact,
        )

    def _curve(self, measure: Measure) -> CutoffCurve:
        """The measure at every cutoff that was evaluated."""
        same = sorted(
            (each for each in self.scores.measures if each.cutoff is not None and each @ 1 == measure @ 1),
            key=lambda each: each.cutoff or 0,
        )
        means = [self.scores.mean(each) for each in same]
        return CutoffCurve(
            tuple(each.cutoff for each in same if each.cutoff is not None),
            tuple(mean.tie_broken for mean in means),
            tuple(mean.expected for mean in means),
            tuple(mean.lowest for mean in means),
            tuple(mean.highest for mean in means),
        )


@dataclass(frozen=True, eq=False, repr=False)
class Audit(ResultHolder):
    """The results of a precision audit, with the scores behind them.

    Attributes:
        measures: requested measures.
        results: one per regime.
        order: runs whose input order follows the labels.
        notes: one line per thing a reader must know.
        about: collection, candidates and passes of the result, by name.
        example: as in `PrecisionAudit`.
    """

    measures: tuple[Measure, ...]
    results: tuple[RegimeResult, ...]
    order: tuple[OrderCheck, ...]
    notes: tuple[str, ...]
    about: Mapping[str, Any] = field(default_factory=dict)
    example: TieExample | None = None

    def flips(self) -> tuple[ModelFlip, ...]:
        """Return the pairs of models, in the same regime, whose order ties decide."""
        found: list[ModelFlip] = []
        for first, second in combinations(self.results, 2):
            if first.regime.label == second.regime.label and first.regime.model != second.regime.model:
                found += [flip for measure in self.measures for flip in _flips(first, second, measure)]
        return tuple(found)

    def result(self) -> PrecisionAudit:
        """The audit as its JSON holds it."""
        return PrecisionAudit(
            policy=self.results[0].scores.policy.to_dict(),
            **self.about,
            measures=tuple(map(str, self.measures)),
            regimes=tuple(each.entry(self.measures) for each in self.results),
            flips=self.flips(),
            order=tuple(LabelOrder(**check._asdict(), follows=check.follows) for check in self.order),
            notes=self.notes,
            example=self.example,
        )


def _flips(first: RegimeResult, second: RegimeResult, measure: Measure) -> list[ModelFlip]:
    a, b = first.scores.mean(measure), second.scores.mean(measure)
    kinds: list[Literal["flips", "undecidable"]] = []
    if (a.tie_broken - b.tie_broken) * (a.expected - b.expected) < 0:
        kinds.append("flips")
    if max(a.range, b.range) > 0 and a.lowest <= b.highest and b.lowest <= a.highest:
        kinds.append("undecidable")
    better = a.expected >= b.expected if measure.better == "higher" else a.expected <= b.expected
    models = [first.regime.model, second.regime.model]
    names = models if better else models[::-1]
    return [ModelFlip(kind, str(measure), first.regime.label, *names) for kind in kinds]
