"""What means and differences vary by, for one measure: variances by source, intervals, and what shortens them.

Values are expected over tie orders and hold no noise of ties; what values under one tie order add is the mean variance
over tie orders divided by the number of queries, since one order by id is the same in every repeat and for every judge.

Source: docs/formulas.md, parts of a difference.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from trueval.comparison.budget.budget_choices import BudgetChoices
from trueval.comparison.budget.budget_result import TIES, Doubt, DoubtEffect, DoubtSource, MeasureBudget
from trueval.comparison.budget.interval_plan import IntervalPlan, Workload
from trueval.comparison.budget.mean_squares import MeanSquares, mean_squares
from trueval.comparison.budget.variance_parts import (
    AUDIT,
    ORDER,
    Component,
    FactorCounts,
    MeanVariance,
    mean_over_repeats,
    satterthwaite,
    variance_of_mean,
    variance_of_nested,
)
from trueval.comparison.labels.audit_sample import ALL_QUERIES
from trueval.errors import InputError, MeasureError
from trueval.judgments import Judgments
from trueval.measures import Measure
from trueval.report.number_texts import count_phrase
from trueval.standings.standings import Bools, Floats

if TYPE_CHECKING:
    from trueval.comparison.labels.correction import CorrectedResults, Correction
    from trueval.evaluation.scores import Scores

# Values closer together than this are equal.
NOTHING = 1e-12


class _Values(NamedTuple):
    """Values of one system by one measure: [query, repeat, judge] expected values, and variances over tie orders."""

    expected: Floats
    ties: Floats


class MeasureDoubts:
    """What the mean of each run and each difference vary by, for one measure.

    Args:
        at: index of the measure.
        measure: the measure.
        scores: system → [repeat][judge] scores.
        judges: [judge] judgments.
        choices: choices of the budget.
        corrected: values corrected by an audit.
    """

    def __init__(
        self,
        at: int,
        measure: Measure,
        scores: Mapping[str, Sequence[Sequence[Scores]]],
        judges: Sequence[Judgments],
        choices: BudgetChoices,
        corrected: CorrectedResults | None,
    ) -> None:
        if measure.definition.mean != "arithmetic":
            raise MeasureError(
                f"{measure} is a {measure.definition.mean} mean over queries; a budget is about means of queries. Take "
                f"{measure.inner or measure} instead."
            )
        self.measure, self.choices, self.corrected = measure, choices, corrected
        ids = dict.fromkeys(query for each in scores.values() for row in each for one in row for query in one.query_ids)
        place = {query: at for at, query in enumerate(ids)}
        self.values = {name: _values(each, at, place) for name, each in scores.items()}
        graded = [float((judge.frame["grade"] >= 0).sum()) / max(len(judge.query_ids), 1) for judge in judges]
        self.labels = float(np.mean(graded)) if choices.answer_labels is None else choices.answer_labels
        self.inside: dict[str, MeanSquares | None] = {}
        self.refused: list[str] = []

    def budget(self) -> MeasureBudget:
        """Means of all runs, the best first, and differences of their pairs."""
        means = [self._doubt(name, None) for name in self.values]
        means.sort(key=lambda each: -each.value if self.measure.better == "higher" else each.value)
        order, baseline = [each.run for each in means], self.choices.baseline
        pairs = list(combinations(order, 2))
        if baseline is not None:
            pairs = [(name, baseline) for name in order if name != baseline]
        differences = tuple(self._doubt(*pair) for pair in pairs)
        return MeasureBudget(str(self.measure), self.measure.better, tuple(means), differences)

    def remarks(self) -> Iterator[str]:
        """Notes on the values of this measure."""
        yield from self.refused
        for name, values in self.values.items():
            repeats = values.expected.shape[1]
            if repeats > 1 and (np.ptp(np.nan_to_num(values.expected), axis=1) <= NOTHING).all():
                yield (
                    f"{self.measure}: the {repeats} repeats of {name} have the same value on every query: the system "
                    "repeats exactly, or the files are copies of one run."
                )

    def _doubt(self, run: str, minus: str | None) -> Doubt:
        """The budget of a mean or of a difference."""
        sides = [self.values[name] for name in (run, minus) if name is not None]
        kept: Bools = np.all([~np.isnan(side.expected).all(axis=(1, 2)) for side in sides], axis=0)
        if minus is not None:
            apart = mean_over_repeats(sides[0].expected[kept]) - mean_over_repeats(sides[1].expected[kept])
            kept[kept] = ~np.isnan(apart).all(axis=(1, 2))
        if kept.sum() < 2:
            raise InputError(
                f"{self.measure}: {count_phrase(int(kept.sum()), 'query has', 'queries have')} a value for "
                f"{run}{'' if minus is None else f' and {minus}'}, and a budget needs at least two. Give judgments of "
                "more queries, or choose empty='zero'."
            )
        alone = minus is None
        found = variance_of_mean(sides[0].expected[kept]) if alone else self._difference(run, str(minus), kept)
        spread = [mean_over_repeats(side.ties[kept]) if minus else side.ties[kept] for side in sides]
        later = [_later_repeats(side.expected[kept]) for side in sides]
        corrected = self._with_audit(found, run, minus, later[0] - sum(later[1:]))
        return self._describe(corrected, run, minus, np.asarray(sum(spread)))

    def _difference(self, run: str, minus: str, kept: Bools) -> MeanVariance:
        first, second = self.values[run].expected, self.values[minus].expected
        if self.choices.shared_repeats or first.shape[1] == second.shape[1] == 1:
            apart = (first - second)[kept]
            known = ~np.isnan(apart).all(axis=(1, 2))  # of a repeat of each
            return variance_of_mean(apart[known])
        if kept.all():
            return variance_of_nested(first, second, [self._inside(name) for name in (run, minus)])
        return variance_of_nested(first[kept], second[kept])

    def _inside(self, name: str) -> MeanSquares | None:
        """Mean squares of the repeats of one system."""
        if name not in self.inside:
            values = self.values[name].expected
            self.inside[name] = mean_squares(values) if values.shape[1] > 1 else None
        return self.inside[name]

    def _with_audit(self, found: MeanVariance, run: str, minus: str | None, later: float) -> MeanVariance:
        """The same mean, corrected by people's labels, which then decide what questions and labels add.

        The correction is of the first repeats. What the mean over repeats differs by from them is the judge's, whose
        errors are as likely in all repeats. The variance over questions is that of the first repeats, and holds what a
        repeat changes for a question: less would be known only of people's labels of all repeats.

        Args:
            found: the mean by the judge's labels.
            run: name of the run.
            minus: name of the second run of a pair; None for one run.
            later: what the mean over repeats is more than the first repeats alone.
        """
        if self.corrected is None:
            return found
        one = self._correction(self.corrected, run, minus)
        if one.refused is not None or not one.corrected.se >= 0:
            self.refused.append(
                f"{one.refused or f'{self.measure}: the audit gives no interval.'} Its labels are not used."
            )
            return found
        sign = 1.0 if one.run == run else -1.0
        repeats = [each for each in found.components if "R" in each.effect]
        drawn, units = (float(sum(getattr(each, name) for each in one.strata)) for name in ("audited", "population"))
        queries = float(found.counts.queries)
        counts = found.counts._replace(audited=np.array(drawn), drawn_from=units / queries)
        size = len(found.squares)
        labels = max(one.corrected.se**2 - one.fixed, 0.0) if drawn < units else 0.0
        repeats = [each._replace(weights=np.append(each.weights, [0.0, 0.0])) for each in repeats]
        components = [
            Component("Q", -1, queries, np.eye(1, size + 2, size)[0]),
            Component(AUDIT, -1, 1.0, np.eye(1, size + 2, size + 1)[0]),
            *repeats,
        ]
        free = max(one.corrected.degrees, 1.0)
        return MeanVariance(
            sign * one.corrected.estimate + later,
            counts,
            tuple(components),
            np.append(found.squares, [one.fixed * queries, labels]),
            np.append(found.degrees, [free, free]),
            np.append(found.steady, [free, free]),
        )

    def _correction(self, corrected: CorrectedResults, run: str, minus: str | None) -> Correction:
        if minus is None:
            return corrected.of(run, str(self.measure))
        try:
            return corrected.difference(run, minus, str(self.measure))
        except InputError:
            return corrected.difference(minus, run, str(self.measure))

    def _describe(self, found: MeanVariance, run: str, minus: str | None, ties: Floats) -> Doubt:
        """The numbers of a mean or a difference."""
        level = self.choices.level
        counted: Bools = np.array([self._counts(each.effect) for each in found.components])
        components = [each for each, counts in zip(found.components, counted, strict=True) if counts]
        variances, divisors = found.variances, found.divisors
        drawn = found.draw(np.random.default_rng(self.choices.seed))
        parts = np.where(counted, np.maximum(variances, 0.0) / divisors, 0.0)
        interval = _Interval.of(components, parts[counted], found.counts, level)
        steady: Bools = np.array(["R" not in each.effect for each in components])
        without = _Interval.of(
            [each for each, kept in zip(components, steady, strict=True) if kept],
            parts[counted][steady],
            found.counts,
            level,
        )
        spread = _tie_variance(ties, level)
        total = interval.variance + spread[0]
        sources = []
        for name in ORDER:
            chosen: Bools = counted & np.array([each.source == name for each in found.components])
            if chosen.any():
                low, high = _ends((drawn[chosen] / divisors[chosen, None]).sum(axis=0), level)
                part = float(parts[chosen].sum())
                sources.append(DoubtSource(name, part, low, high, part / total if total > 0 else math.nan))
        sources.append(DoubtSource(TIES, *spread, spread[0] / total if total > 0 else math.nan))
        shorter = None
        if interval.half_width > 0:
            plan = IntervalPlan(components, np.maximum(variances[counted], 0.0), found.counts, level)
            target = self.choices.half_width or interval.half_width / 2
            shorter = plan.shorter(target, self._work(found, minus is not None), self.choices.prices)
        return Doubt(
            run,
            minus,
            found.value,
            found.value - interval.half_width,
            found.value + interval.half_width,
            interval.half_width,
            math.sqrt(interval.variance),
            interval.degrees,
            interval.with_known(spread[0], level),
            without.half_width,
            int(found.counts.queries),
            tuple(sources),
            tuple(_effects(found, (run, minus), drawn, level)),
            shorter,
        )

    def _counts(self, effect: str) -> bool:
        """Whether an effect is a doubt."""
        if self.choices.answer_labels is not None and "Q" not in effect:
            return False
        return not (self.choices.fixed_judges and effect == "J")

    def _work(self, found: MeanVariance, is_pair: bool) -> Workload:
        has = {letter for each in found.components for letter in each.effect}
        per_query = self.corrected is not None and self.corrected.design == ALL_QUERIES
        return Workload(
            self.labels,
            2 if is_pair else 1,
            self.labels if per_query else 1.0,
            "R" in has,
            "J" in has and not self.choices.fixed_judges,
            self.choices.answer_labels is not None,
        )


class _Interval(NamedTuple):
    """The interval of a mean: its variance, degrees of freedom and half width."""

    variance: float
    degrees: float
    half_width: float

    @classmethod
    def of(cls, components: Sequence[Component], parts: Floats, counts: FactorCounts, level: float) -> _Interval:
        """The interval of a mean whose variance has these parts; a variance of rounding alone is 0."""
        from scipy.special import stdtrit

        variance = float(parts.sum())
        if not variance > NOTHING**2:
            return cls(0.0, float(counts.queries) - 1, 0.0)
        degrees = float(satterthwaite(components, list(parts), counts))
        return cls(variance, degrees, float(stdtrit(degrees, (1 + level) / 2)) * math.sqrt(variance))

    def with_known(self, variance: float, level: float) -> float:
        """Half width with a variance added that is known."""
        from scipy.special import stdtrit

        total = self.variance + variance
        degrees = self.degrees * (total / self.variance) ** 2 if self.variance > 0 else 1e9
        return float(stdtrit(min(degrees, 1e9), (1 + level) / 2)) * math.sqrt(total)


def _effects(found: MeanVariance, names: tuple[str, str | None], drawn: Floats, level: float) -> Iterator[DoubtEffect]:
    """The variances of the model, with intervals."""
    for each, value, pivots in zip(found.components, found.variances.tolist(), drawn, strict=True):
        system = names[each.system] if each.system >= 0 else None
        degrees = float(found.counts.degrees(each))
        ends = _ends(pivots, level)
        yield DoubtEffect(each.effect, system, each.source, max(value, 0.0), value, *ends, degrees, each.divisor)


def _ends(pivots: Floats, level: float) -> tuple[float, float]:
    """Ends of the interval of a variance, at least 0."""
    low, high = np.quantile(pivots, [(1 - level) / 2, (1 + level) / 2]).tolist()
    return max(low, 0.0), max(high, 0.0)


def _tie_variance(ties: Floats, level: float) -> tuple[float, float, float]:
    """What tie orders add to the variance of a mean under one tie order, with the interval for other queries.

    Args:
        ties: [query, repeat, judge] variances over tie orders; NaN where missing.
    """
    from scipy.special import stdtrit

    there = ~np.isnan(ties)
    each = np.where(there, ties, 0.0).sum(axis=(1, 2)) / np.maximum(there.sum(axis=(1, 2)), 1)
    mean, number = float(each.mean()), len(each)
    half = float(stdtrit(number - 1, (1 + level) / 2)) * float(each.std(ddof=1)) / math.sqrt(number)
    return mean / number, max(mean - half, 0.0) / number, (mean + half) / number


def _later_repeats(values: Floats) -> float:
    """What the mean over repeats of [query, repeat, judge] values is more than the first repeat alone."""
    apart = mean_over_repeats(values) - values[:, :1]
    there = ~np.isnan(apart)
    return float(apart[there].mean()) if there.any() else 0.0


def _values(scores: Sequence[Sequence[Scores]], at: int, place: Mapping[str, int]) -> _Values:
    """Values of a system by one measure, on all queries of all judges."""
    shape = (len(place), len(scores), len(scores[0]))
    expected, ties = np.full(shape, np.nan), np.full(shape, np.nan)
    for repeat, row in enumerate(scores):
        for judge, found in enumerate(row):
            rows = [place[query] for query in found.query_ids]
            expected[rows, repeat, judge] = found.expected[:, at]
            ties[rows, repeat, judge] = found.sd[:, at] ** 2
    return _Values(expected, ties)
