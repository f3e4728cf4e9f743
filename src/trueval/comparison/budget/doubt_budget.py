"""The budget of doubt: what means and differences vary by, and what shortens their intervals for least.

Values are expected over tie orders and hold no noise of ties; what values under one tie order add is the mean variance
over tie orders divided by the number of queries, since one order by id is the same in every repeat and for every judge.

Source: docs/formulas.md, parts of a difference.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from trueval.comparison.budget.budget_result import TIES, Budget, Doubt, DoubtEffect, DoubtSource, MeasureBudget
from trueval.comparison.budget.interval_plan import IntervalPlan, UnitPrices, Workload
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
from trueval.comparison.labels.judge_scales import check_scales
from trueval.errors import InputError, MeasureError, PolicyError
from trueval.evaluation.defaults import fill_defaults
from trueval.evaluation.evaluate import Measures, evaluate
from trueval.judgments import Judgments
from trueval.measures import Measure
from trueval.report.number_texts import count_phrase
from trueval.run import Run
from trueval.standings.standings import Bools, Floats

if TYPE_CHECKING:
    from typing import Unpack

    from trueval.comparison.labels.audit_sample import AuditSample
    from trueval.comparison.labels.correction import CorrectedResults, Correction
    from trueval.evaluation.scores import Scores
    from trueval.judgments import JudgmentsLike
    from trueval.policy.policy import Policy
    from trueval.policy.policy_choices import PolicyChoices
    from trueval.run import RunsLike

__all__ = ["Budget", "UnitPrices", "budget", "budget_of_scores"]

# Fewer repeats or judges than this tell little of how repeats or judges vary.
FEW_LEVELS = 4

# Values closer together than this are equal.
NOTHING = 1e-12


class BudgetChoices(NamedTuple):
    """Choices of a budget.

    Attributes:
        baseline: name of the run to compare the others with; None for all pairs.
        level: coverage of the intervals.
        half_width: half width to reach; None for half of the present one of each mean and difference.
        shared_repeats: whether repeats of one number share their condition in all systems, such as a batch size.
        fixed_judges: whether only these judges matter: what judges as such differ by is then no doubt.
        prices: prices of more; None where purchases are not priced.
        seed: of the draws behind intervals of variances.
    """

    baseline: str | None = None
    level: float = 0.95
    half_width: float | None = None
    shared_repeats: bool = False
    fixed_judges: bool = False
    prices: UnitPrices | None = None
    seed: int = 0

    def check(self) -> None:
        """Refuse choices out of range.

        Raises:
            PolicyError: one is.
        """
        if not 0.5 < self.level < 1:
            raise PolicyError(f"level must be between 0.5 and 1, such as 0.95. Got {self.level!r}.")
        if self.half_width is not None and not 0 < self.half_width < math.inf:
            raise PolicyError(f"half_width must be a number > 0, such as 0.01. Got {self.half_width!r}.")
        if self.prices is not None:
            self.prices.check()


def budget(
    runs: RunsLike,
    judgments: JudgmentsLike | Sequence[Judgments],
    measures: Measures | None = None,
    *,
    repeats: Mapping[str, RunsLike] | None = None,
    audit: AuditSample | str | Path | None = None,
    baseline: str | None = None,
    level: float = 0.95,
    half_width: float | None = None,
    shared_repeats: bool = False,
    fixed_judges: bool = False,
    prices: UnitPrices | None = None,
    policy: Policy | None = None,
    **choices: Unpack[PolicyChoices],
) -> Budget:
    """Split the variance of means and differences into questions, repeats, labels and ties, and plan what to add.

    Args:
        runs: two or more: a list, or a dict by name, of Runs or what `Run.of` takes.
        judgments: as in evaluate; or a list of `Judgments`, one of each judge or round.
        measures: as in evaluate.
        repeats: name of a run → further runs of the same system: other batches, index builds, calls of an engine.
        audit: people's labels of a sample of the one judge's: an AuditSample, or the folder of an audit.
        baseline: name of the run to compare the others with; None for all pairs.
        level: level of intervals.
        half_width: half width to reach; None for half of the present one.
        shared_repeats: whether repeats of one number share their condition in all systems.
        fixed_judges: whether the verdict is about these judges only.
        prices: prices of questions, labels and answers; None for single purchases without prices.
        policy: as in evaluate.
        choices: attributes of Policy, as in evaluate.

    Raises:
        InputError: a run is bad, there is only one, repeats are of an unknown run, or judges are of different scales.
        MeasureError: a measure is no mean of queries.
        PolicyError: a choice is out of range, or an audit is given with several judges.

    >>> judges = [Judgments.from_dict({"q1": {"a": 1}, "q2": {"b": 1}, "q3": {"a": grade}}) for grade in (0, 1)]
    >>> one, other = ({query: {"a": score, "b": 1.0} for query in ("q1", "q2", "q3")} for score in (2.0, 0.5))
    >>> pair = budget({"one": one, "other": other}, judges, "P@1").pair("P@1", "one", "other")
    >>> round(pair.value, 6), [source.source for source in pair.sources]
    (0.166667, ['questions', 'labels', 'ties'])
    """
    several = Run.of_several(runs)
    named = {run.name: run for run in several}
    _check_names(several, named, repeats or {})
    judges = _judges(judgments)
    asked = BudgetChoices(baseline, level, half_width, shared_repeats, fixed_judges, prices)
    asked.check()
    parsed, chosen = fill_defaults(judges[0], measures, policy, choices)
    systems = {
        name: [run, *(Run.of_several(repeats[name]) if repeats and name in repeats else [])]
        for name, run in named.items()
    }
    scores = {
        name: [[evaluate(run, judge, parsed, policy=chosen) for judge in judges] for run in each]
        for name, each in systems.items()
    }
    corrected = None
    if audit is not None:
        from trueval.comparison.labels.correct import correct

        if len(judges) > 1:
            raise PolicyError("An audit is of one judge. Give the judgments that it was drawn from alone.")
        corrected = correct(named, judges[0], audit, parsed, level=level, baseline=baseline, policy=chosen)
    return budget_of_scores(scores, judges, asked, corrected=corrected)


def budget_of_scores(
    scores: Mapping[str, Sequence[Sequence[Scores]]],
    judges: Sequence[Judgments],
    choices: BudgetChoices,
    *,
    corrected: CorrectedResults | None = None,
    judge_names: Sequence[str] | None = None,
) -> Budget:
    """Compute the budget from evaluated runs.

    Args:
        scores: system → [repeat][judge] scores on the same measures.
        judges: [judge] their judgments.
        choices: choices of the budget.
        corrected: values corrected by an audit of the one judge.
        judge_names: [judge] names; None for their sources.

    Raises:
        InputError: there are fewer than two systems, the baseline is unknown, judges are of different scales, or
            repeats that should share conditions differ in number.
        MeasureError: a measure is no mean of queries.
        PolicyError: a choice is out of range.
    """
    choices.check()
    names = tuple(scores)
    if len(names) < 2:
        raise InputError(f"A budget needs at least 2 runs. Got {len(names)}.")
    if choices.baseline is not None and choices.baseline not in names:
        raise InputError(f"The baseline must be one of the runs {', '.join(names)}. Got {choices.baseline!r}.")
    titles = tuple(judge_names or (judge.source for judge in judges))
    notes = [*check_scales(titles, judges)]
    repeats = tuple(len(scores[name]) for name in names)
    if choices.shared_repeats and len(set(repeats)) > 1:
        raise InputError(
            "Repeats that share their conditions must be as many for each run. Got "
            f"{', '.join(f'{count} of {name}' for name, count in zip(names, repeats, strict=True))}. Give the same "
            "number of each, or leave shared repeats out."
        )
    first = scores[names[0]][0][0]
    measured = [
        _MeasureBudget(at, measure, scores, judges, choices, corrected) for at, measure in enumerate(first.measures)
    ]
    notes += [note for each in scores.values() for row in each for found in row for note in found.notes]
    found = tuple(each.budget() for each in measured)
    notes += [line for each in measured for line in each.remarks()]
    notes += _remarks(names, repeats, len(judges), corrected is not None)
    recorded = {
        **choices._asdict(),
        "prices": None if choices.prices is None else choices.prices._asdict(),
        "labels_per_question": measured[0].labels,
        "audit": None if corrected is None else corrected.design,
        "policy": first.policy.to_dict(),
    }
    return Budget(names, repeats, titles, choices.baseline, recorded, found, tuple(dict.fromkeys(notes)))


class _Values(NamedTuple):
    """Values of one system by one measure: [query, repeat, judge] expected values, and variances over tie orders."""

    expected: Floats
    ties: Floats


class _MeasureBudget:
    """The budget of one measure.

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
        self.labels = float(np.mean(graded))
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
        level, fixed = self.choices.level, self.choices.fixed_judges
        counted: Bools = np.array([not (fixed and each.effect == "J") for each in found.components])
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

    def _work(self, found: MeanVariance, is_pair: bool) -> Workload:
        has = {letter for each in found.components for letter in each.effect}
        per_query = self.corrected is not None and self.corrected.design == ALL_QUERIES
        return Workload(
            self.labels,
            2 if is_pair else 1,
            self.labels if per_query else 1.0,
            "R" in has,
            "J" in has and not self.choices.fixed_judges,
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


def _judges(given: JudgmentsLike | Sequence[Judgments]) -> list[Judgments]:
    if isinstance(given, list | tuple) and given and all(isinstance(each, Judgments) for each in given):
        return list(given)
    return [Judgments.of(given)]  # type: ignore[arg-type]


def _check_names(runs: Sequence[Run], named: Mapping[str, Run], repeats: Mapping[str, RunsLike]) -> None:
    """Refuse equal names, and repeats of an unknown run."""
    if len(named) < len(runs):
        names = [run.name for run in runs]
        name = next(name for name in names if names.count(name) > 1)
        raise InputError(f"The runs of a budget must have different names. Got {name!r} twice; rename one.")
    for name in repeats:
        if name not in named:
            raise InputError(f"Repeats must be of one of the runs {', '.join(named)}. Got {name!r}.")


def _remarks(names: Sequence[str], repeats: Sequence[int], judges: int, audited: bool) -> Iterator[str]:
    """Notes on what the data cannot tell."""
    alone = [name for name, count in zip(names, repeats, strict=True) if count == 1]
    if len(alone) == len(names):
        yield "Repeats: every system ran once, so what a second run of it would change is not in these intervals."
    elif alone:
        yield f"Repeats: {', '.join(alone)} ran once; what a second run of it would change is not in these intervals."
    if judges == 1 and not audited:
        yield "Labels: there is one judge and no audit, so what other labels would change is not in these intervals."
    few = [f"{max(repeats)} repeats"] * (1 < max(repeats) < FEW_LEVELS)
    few += [f"{judges} judges"] * (1 < judges < FEW_LEVELS)
    if few:
        yield f"With {' and '.join(few)}, what they vary by has a wide interval: four or more narrow it."
