"""The result of a precision audit: each regime, pairs of models that ties decide, and its JSON."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from itertools import combinations
from typing import TYPE_CHECKING, Any, Final

from trueval.evaluation.label_order import OrderCheck
from trueval.evaluation.scores import Scores
from trueval.measures import Measure
from trueval.numerics import or_null

if TYPE_CHECKING:
    from trueval.precision.regimes import Regime


KIND: Final = "precision"
# 1: first version. 2: unchanged, raised with the other kinds.
FORMAT_VERSION: Final = 2
POINTS: Final = ("tie_broken", "expected", "lowest", "highest")


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

    kind: str
    measure: str
    label: str
    first: str
    second: str


@dataclass(frozen=True, eq=False)
class RegimeResult:
    """The audit's results for one regime.

    Attributes:
        regime: model and formats.
        scores: scores of the measures, including those at the cutoffs of the curves.
        group_sizes: size → number of tie groups; empty for a corpus too large for lists.
        agreement: means over queries of τ-b, overlap and RBO with the float32 run of the same model, and how its ties
            are resolved; None without such a run, or if the corpus is too large for lists.
    """

    regime: Regime
    scores: Scores
    group_sizes: Mapping[int, int]
    agreement: Mapping[str, Any] | None

    @property
    def tied_fraction(self) -> float | None:
        """Share of documents in groups of two or more; None if unknown."""
        documents = sum(size * count for size, count in self.group_sizes.items())
        return 1 - self.group_sizes.get(1, 0) / documents if documents else None


@dataclass(frozen=True, eq=False)
class Audit:
    """The results of a precision audit.

    Attributes:
        measures: requested measures.
        results: one per regime.
        order: runs whose input order follows the labels.
        about: metadata on collection, candidates and passes.
    """

    measures: tuple[Measure, ...]
    results: tuple[RegimeResult, ...]
    order: tuple[OrderCheck, ...]
    notes: tuple[str, ...]
    about: Mapping[str, Any] = field(default_factory=dict)

    def flips(self) -> tuple[ModelFlip, ...]:
        """Return the pairs of models, in the same regime, whose order ties decide."""
        found: list[ModelFlip] = []
        for first, second in combinations(self.results, 2):
            if first.regime.label == second.regime.label and first.regime.model != second.regime.model:
                found += [flip for measure in self.measures for flip in _flips(first, second, measure)]
        return tuple(found)

    def to_dict(self, about: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """Return the JSON of `trueval precision`; values on the scale of the measures, null if not available.

        Args:
            about: metadata on collection, candidates and passes, instead of `self.about`.
        """
        from trueval.version import __version__

        return {
            "kind": KIND,
            "format": FORMAT_VERSION,
            "trueval": __version__,
            "policy": self.results[0].scores.policy.to_dict(),
            **(self.about if about is None else about),
            "measures": [str(measure) for measure in self.measures],
            "regimes": [_entry(result, self.measures) for result in self.results],
            "flips": [asdict(flip) for flip in self.flips()],
            "order": [{**check._asdict(), "follows": check.follows} for check in self.order],
            "notes": list(self.notes),
        }


def _flips(first: RegimeResult, second: RegimeResult, measure: Measure) -> list[ModelFlip]:
    a, b = first.scores.mean(measure), second.scores.mean(measure)
    kinds = []
    if (a.tie_broken - b.tie_broken) * (a.expected - b.expected) < 0:
        kinds.append("flips")
    if max(a.range, b.range) > 0 and a.lowest <= b.highest and b.lowest <= a.highest:
        kinds.append("undecidable")
    better = a.expected >= b.expected if measure.better == "higher" else a.expected <= b.expected
    models = [first.regime.model, second.regime.model]
    names = models if better else models[::-1]
    return [ModelFlip(kind, str(measure), first.regime.label, *names) for kind in kinds]


def _entry(result: RegimeResult, measures: Sequence[Measure]) -> dict[str, Any]:
    regime = result.regime
    return {
        **regime._asdict(),
        "label": regime.label,
        "queries": len(result.scores.query_ids),
        "ties": {
            "tied_fraction": result.tied_fraction,
            "largest_group": max(result.group_sizes, default=None),
            "group_sizes": [{"size": size, "groups": count} for size, count in result.group_sizes.items()],
        },
        "measures": {
            str(measure): result.scores.mean(measure).to_dict()
            | ({} if result.scores.exact[result.scores.index(measure)] else {"exact": False})
            for measure in measures
        },
        "curves": {str(m): _curve(result.scores, m) for m in measures if m.cutoff is not None},
        "agreement": result.agreement,
    }


def _curve(scores: Scores, measure: Measure) -> dict[str, list[Any]]:
    """Return the measure at every cutoff that was evaluated."""
    same = sorted(
        (each for each in scores.measures if each.cutoff is not None and each @ 1 == measure @ 1),
        key=lambda each: each.cutoff or 0,
    )
    means = [scores.mean(each) for each in same]
    values = {name: [or_null(getattr(mean, name)) for mean in means] for name in POINTS}
    return {"k": [each.cutoff for each in same], **values}
