"""Power analysis: the difference that `compare` can separate, and the queries that a difference of a given size needs.

sample_size.py gives the least difference of a t test; separation.py simulates how much larger the least difference is
under the rule of `compare`, at a given number of clusters and with all pairs of the measure decided together. For
values under one tie order, the variance over tie orders of both runs is added to sd^2; expected values have none.

Clusters of unequal size count as fewer: as C = n^2 / sum of n_c^2 of one size (Kish 1965), and sd / sqrt(C) is the
jackknife's standard error of the mean over queries, which leaves out one of the c clusters at a time:

    sd^2 / C = (c - 1) / c * sum over clusters of (S_c - mean n_c)^2 / (n - n_c)^2

with the sum S_c of the differences of a cluster of n_c queries. Clusters of equal size give their number, and the
standard deviation of their means. With c - 1 degrees of freedom and without the jackknife, a t test of clusters of very
unequal size was wrong in up to 13 % of simulated worlds instead of 5 % (docs/power.md).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations, takewhile
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from trueval.comparison.budget.shared_doubt import SharedDoubt, read_budget, shared_doubt
from trueval.comparison.power.power_result import (
    CurveSizes,
    Detection,
    LeastDifferences,
    MeasurePower,
    NoiseSource,
    PairPower,
    Power,
    RankedRun,
    SharedNoise,
)
from trueval.comparison.power.sample_size import check_chances, least_difference, queries_needed
from trueval.comparison.power.separation import SeparationRise, UnitPopulation
from trueval.comparison.resampling.alignment import AlignedScores, align
from trueval.comparison.resampling.clusters import Clusters
from trueval.errors import InputError, PolicyError
from trueval.evaluation.defaults import fill_defaults
from trueval.evaluation.evaluate import Measures, evaluate
from trueval.judgments import Judgments
from trueval.run import Run
from trueval.standings.standings import Floats, Ints

if TYPE_CHECKING:
    from os import PathLike
    from typing import Unpack

    from trueval.comparison.budget.budget_result import Budget
    from trueval.evaluation.scores import Scores
    from trueval.files import Source
    from trueval.judgments import JudgmentsLike
    from trueval.policy.policy import Policy
    from trueval.policy.policy_choices import PolicyChoices
    from trueval.run import RunsLike

__all__ = ["Power", "power", "power_of_scores"]

# Differences closer together than this are equal: 2/3 - 1/3 is 1/3.
NOTHING = 1e-12

# Number of clusters at which a curve begins.
FEWEST = 5

# Number of cluster counts at which the rule is simulated, in addition to the measured one, and the maximum count.
SIMULATED = (6, 8, 12, 20, 50, 200)
MOST_SIMULATED = 2_000

# Number of worlds at the measured number of clusters, and at others.
WORLDS, OTHER_WORLDS = 600, 200


def power(
    runs: RunsLike,
    judgments: JudgmentsLike,
    measures: Measures | None = None,
    *,
    baseline: str | None = None,
    clusters: Clusters | Mapping[str, str] | Source | None = None,
    policy: Policy | None = None,
    level: float = 0.95,
    power: float = 0.8,
    difference: float | None = None,
    budget: Budget | str | PathLike[str] | None = None,
    **choices: Unpack[PolicyChoices],
) -> Power:
    """Compute the least difference between runs that these queries detect, and the queries that a difference needs.

    Args:
        runs: two or more: a list, or a dict by name, of Runs or what `Run.of` takes (paths, dicts, frames, ...).
        judgments: as in evaluate.
        measures: as in evaluate.
        baseline: name of the run to compare the others with; None for all pairs.
        clusters: which queries belong together, {query: cluster} or a file; None where each query is its own cluster.
        policy: as in evaluate.
        level: level of the test and of intervals.
        power: probability of detecting a difference.
        difference: difference for which needed queries are computed; None for the measured one of each pair.
        budget: result of `trueval.budget`: what is found with other repeats and judges too.
        choices: attributes of Policy, as in evaluate.

    Raises:
        InputError: a run is bad, there is only one, or the queries do not fit the policy.
        PolicyError: a choice is unknown or out of range.

    >>> judgments = {"q1": {"a": 1}, "q2": {"b": 1}, "q3": {"a": 1}}
    >>> one, tied = ({query: {"a": score, "b": 1.0} for query in judgments} for score in (2.0, 1.0))
    >>> pair = power({"one": one, "tied": tied}, judgments, "P@1").pair("P@1", "one", "tied")
    >>> round(pair.expected.sd ** 2, 6), round(pair.tie_broken.sd ** 2, 6), round(pair.ties.share, 6)
    (0.333333, 0.583333, 0.428571)
    """
    runs, judgments = Run.of_several(runs), Judgments.of(judgments)
    _check_runs(len(runs))
    asked = _PowerSettings(level, power, difference).validate()  # refused before any run is evaluated
    as_read = all(run.in_reading_order for run in runs)
    parsed, chosen = fill_defaults(judgments, measures, policy, choices, in_reading_order=as_read)
    scores = [evaluate(run, judgments, parsed, policy=chosen) for run in runs]
    return power_of_scores(scores, baseline=baseline, clusters=clusters, budget=budget, **asked._asdict())


def power_of_scores(
    scores: Sequence[Scores],
    *,
    baseline: str | None = None,
    clusters: Clusters | Mapping[str, str] | Source | None = None,
    level: float = 0.95,
    power: float = 0.8,
    difference: float | None = None,
    budget: Budget | str | PathLike[str] | None = None,
) -> Power:
    """Compute power from evaluated runs, as `power` does.

    Args:
        scores: scores of two or more runs on the same measures.

    Raises:
        InputError: names are equal, the baseline is unknown, the queries do not fit the policy, or the budget is of
            other measures.
        MeasureError: the measures differ.
        PolicyError: a choice is out of range.
    """
    _check_runs(len(scores))
    asked, told = _PowerSettings(level, power, difference).validate(), Clusters.of(clusters)
    aligned = align(scores)
    if baseline is not None and baseline not in aligned.names:
        raise InputError(f"The baseline must be one of the runs {', '.join(aligned.names)}. Got {baseline!r}.")
    known = None if told is None else told.codes(aligned.query_ids)
    doubt = None if budget is None else read_budget(budget, scores[0].policy.to_dict())
    measures = tuple(_of_measure(aligned, at, baseline, known, asked, doubt) for at in range(len(aligned.measures)))
    notes = [note for each in scores for note in each.notes] + [*aligned.notes]
    notes += [line for each in measures for line in _remarks(each)]
    choices = {
        **asked._asdict(),
        "worlds": WORLDS,
        "clusters": None if told is None or known is None else {"source": told.source, "count": len(np.unique(known))},
        "policy": scores[0].policy.to_dict(),
    }
    return Power(aligned.names, baseline, choices, measures, tuple(dict.fromkeys(notes)))


class _PowerSettings(NamedTuple):
    """Level, power and difference of the analysis."""

    level: float
    power: float
    difference: float | None

    def validate(self) -> _PowerSettings:
        """These settings, checked to be in range."""
        check_chances(self.level, self.power)
        if self.difference is not None and not 0 < self.difference < math.inf:
            raise PolicyError(f"difference must be a number > 0, such as 0.02. Got {self.difference!r}.")
        return self

    def half_width(self, sd: float, effective: float) -> float:
        """Half width of the interval of a mean difference."""
        return least_difference(sd, effective, level=self.level, power=0.5)

    def least(self, sd: float, effective: float, rise: float = 1.0) -> float:
        """The least detectable difference; NaN where nothing varied, which says nothing about other queries."""
        least = least_difference(sd, effective, level=self.level, power=self.power) * rise if sd > 0 else math.nan
        return least if math.isfinite(least) else math.nan

    def shared_noise(
        self, shared: SharedDoubt, found: Detection, wanted: float, sizes: _Sizes, rise: SeparationRise
    ) -> SharedNoise:
        """What repeats and judges add to what queries detect: squares of half widths add up, and of least differences.

        Args:
            shared: what more queries leave.
            found: what the queries detect without it.
            wanted: target difference.
            sizes: number of queries per cluster.
            rise: as in `detection`.
        """
        half = shared.half_width(self.level)
        added = half + shared.half_width(2 * self.power - 1)
        needed = None
        if abs(wanted) > added:
            left = math.sqrt(wanted**2 - added**2)
            needed = self.detection(found.difference, found.sd, left, sizes, rise).queries_needed
        return SharedNoise(
            shared.variance,
            shared.degrees if math.isfinite(shared.degrees) else math.nan,
            (shared.first, shared.second),
            math.hypot(found.half_width, half),
            math.hypot(found.least_difference, added),
            needed,
        )

    def detection(self, measured: float, sd: float, wanted: float, sizes: _Sizes, rise: SeparationRise) -> Detection:
        """What queries in clusters of these sizes detect."""
        needed = None
        if sd > 0:
            each = sizes.clusters / sizes.effective
            needed = queries_needed(
                wanted, sd, level=self.level, power=self.power, rise=lambda effective: rise.at(effective * each)
            )
        return Detection(
            measured,
            sd,
            self.half_width(sd, sizes.effective),
            self.least(sd, sizes.effective, rise.at(sizes.clusters)),
            None if needed is None else math.ceil(needed * sizes.queries / sizes.effective),
            None if needed is None or not sizes.told else math.ceil(needed * sizes.clusters / sizes.effective),
        )


class _Sizes:
    """Number of queries per cluster.

    Args:
        codes: [query] index of its cluster; None where each query is its own cluster.
    """

    def __init__(self, queries: int, codes: Ints | None) -> None:
        self.queries, self.told = queries, codes is not None
        self.codes: Ints = np.arange(queries) if codes is None else np.unique(codes, return_inverse=True)[1]
        self.counts: Ints = np.bincount(self.codes)
        self.clusters = len(self.counts)
        self.effective = float(queries**2 / (self.counts**2).sum()) if queries else 0.0

    def sd(self, differences: Floats) -> float:
        """Standard deviation of differences between effective clusters, by the jackknife; NaN below two clusters.

        Args:
            differences: [query] differences.
        """
        if self.clusters < 2:
            return math.nan
        if np.ptp(differences) <= NOTHING:
            return 0.0
        apart = np.bincount(self.codes, differences - differences.mean())
        squares = float(((apart / (self.queries - self.counts)) ** 2).sum())
        return math.sqrt(squares * (self.clusters - 1) / self.clusters * self.effective)

    def tie_variance(self, variances: Floats) -> float:
        """What tie orders add to the square of that deviation; tie orders of different queries are independent.

        Args:
            variances: [query] variance of the difference over tie orders; NaN if unknown.
        """
        return float(variances.sum()) / self.queries**2 * self.effective if self.queries else math.nan

    def points(self) -> tuple[int, ...]:
        """Numbers of clusters on a curve: steps of 1, 2, 5 up to ten times the current number, at least to 1,000."""
        steps = (lead * 10**power for power in range(12) for lead in (1, 2, 5))
        last = max(1000, 10 * self.clusters)
        chosen = {*takewhile(lambda step: step <= last, steps), self.clusters}
        return tuple(sorted(each for each in chosen if each >= FEWEST and self.at(each) >= 2))

    def at(self, clusters: int) -> float:
        """The effective number of equal-sized clusters for a number of clusters of these sizes."""
        return clusters * self.effective / max(self.clusters, 1)


def _of_measure(
    aligned: AlignedScores,
    at: int,
    baseline: str | None,
    codes: Ints | None,
    asked: _PowerSettings,
    doubt: Budget | None,
) -> MeasurePower:
    measure, kept = aligned.measures[at], aligned.kept[:, at]
    sizes = _Sizes(int(kept.sum()), None if codes is None else codes[kept])
    means = aligned.expected[:, kept, at].mean(axis=1) if sizes.queries else np.full(len(aligned.names), math.nan)
    order = np.argsort(-means if measure.better == "higher" else means, kind="stable").tolist()
    pairs = list(combinations(order, 2))
    if baseline is not None:
        second = aligned.names.index(baseline)
        pairs = [(first, second) for first in order if first != second]
    points, rises = sizes.points(), _rises(aligned, at, pairs, sizes, asked)
    return MeasurePower(
        str(measure),
        measure.better,
        sizes.queries,
        aligned.excluded_queries(at),
        sizes.clusters if sizes.told else None,
        sizes.effective,
        tuple(RankedRun(aligned.names[run], float(means[run])) for run in order),
        CurveSizes(
            tuple(round(point * sizes.queries / sizes.clusters) for point in points),
            points if sizes.told else None,
        ),
        tuple(_of_pair(aligned, at, *pair, sizes, asked, rise, doubt) for pair, rise in zip(pairs, rises, strict=True)),
    )


def _rises(
    aligned: AlignedScores, at: int, pairs: Sequence[tuple[int, int]], sizes: _Sizes, asked: _PowerSettings
) -> Sequence[SeparationRise]:
    """How much larger a difference `compare`, which decides all pairs together, needs than a t test of each pair."""
    if sizes.clusters < 2:
        return [SeparationRise((), ())] * len(pairs)
    kept = aligned.kept[:, at]
    values, variances = aligned.expected[:, kept, at].T, aligned.sd[:, kept, at].T ** 2
    deviations = np.array([sizes.sd(values[:, first] - values[:, second]) for first, second in pairs])
    if not deviations.any():  # only ties differ: normal approximation
        from scipy.special import ndtri

        scores = ndtri((np.arange(sizes.queries) + 0.5) / sizes.queries)
        values, variances, pairs = np.stack([scores, 0 * scores], axis=1), np.zeros((sizes.queries, 2)), [(0, 1)]
        deviations = np.full(len(deviations), sizes.sd(scores))
    population = UnitPopulation.of(values, variances, sizes.codes, np.array(pairs, dtype=np.int64))
    own = min(sizes.clusters, MOST_SIMULATED)
    numbers = sorted(number for number in {own, *SIMULATED} if sizes.at(number) >= 2)
    ratio = np.empty((len(numbers), len(deviations)))
    for row, number in enumerate(numbers):
        worlds = WORLDS if number == own else OTHER_WORLDS
        found = population.least_differences(number, level=asked.level, power=asked.power, worlds=worlds)
        usual = least_difference(1.0, sizes.at(number), level=asked.level, power=asked.power)
        ratio[row] = np.divide(found, deviations * usual, out=np.full(len(deviations), np.nan), where=deviations > 0)
        ratio[row, deviations == 0] = np.nanmedian(ratio[row])
    return [SeparationRise(tuple(numbers), tuple(column)) for column in ratio.T.tolist()]


def _of_pair(
    aligned: AlignedScores,
    at: int,
    first: int,
    second: int,
    sizes: _Sizes,
    asked: _PowerSettings,
    rise: SeparationRise,
    doubt: Budget | None,
) -> PairPower:
    kept = aligned.kept[:, at]
    expected, tie_broken = (
        values[first, kept, at] - values[second, kept, at] for values in (aligned.expected, aligned.tie_broken)
    )
    # Orders of two runs are independent, so their variances add.
    added = sizes.tie_variance(aligned.sd[first, kept, at] ** 2 + aligned.sd[second, kept, at] ** 2)
    between = sizes.sd(expected)
    sd, ties = math.sqrt(between**2 + added), math.sqrt(added)
    measured = float(expected.mean()) if sizes.queries else math.nan
    broken = float(tie_broken.mean()) if sizes.queries else math.nan
    wanted = abs(measured) if asked.difference is None else asked.difference
    reach = [(sizes.at(point), rise.at(point)) for point in sizes.points()]
    sampling, tied = (
        NoiseSource(asked.half_width(each, sizes.effective), each**2 / sd**2 if sd else math.nan)
        for each in (between, ties)
    )
    found = asked.detection(measured, between, wanted, sizes, rise)
    names = aligned.names[first], aligned.names[second]
    shared = None if doubt is None else shared_doubt(doubt, str(aligned.measures[at]), *names)
    return PairPower(
        *names,
        wanted,
        found,
        asked.detection(broken, sd, wanted, sizes, rise),
        sampling,
        tied,
        LeastDifferences(
            tuple(asked.least(between, *each) for each in reach), tuple(asked.least(sd, *each) for each in reach)
        ),
        None if shared is None else asked.shared_noise(shared, found, wanted, sizes, rise),
    )


def _check_runs(count: int) -> None:
    """Refuse a single run, which has no difference."""
    if count < 2:
        raise InputError(
            f"Power is about the difference of runs and needs at least 2. Got {count}. For a published value without "
            "its run, ask trueval.published (trueval power --value X --queries N)."
        )


def _remarks(found: MeasurePower) -> Iterator[str]:
    """Why pairs of a measure have no power."""
    if found.effective_clusters < 2:
        counted = f"{found.queries} queries" if found.clusters is None else f"{found.clusters} clusters"
        yield f"{found.measure}: {counted} are too few to see how much differences vary; it takes 2."
        return
    if all(math.isnan(pair.expected.least_difference) and pair.expected.sd > 0 for pair in found.pairs):
        units = f"{found.queries} queries" if found.clusters is None else f"{found.clusters} clusters"
        yield f"{found.measure}: {units} separate no pair, however large a difference is."
    constant = [pair for pair in found.pairs if pair.expected.sd == 0]
    unknown = [pair for pair in found.pairs if math.isnan(pair.tie_broken.sd)]
    for pairs, reason in (
        (constant, "the same difference on every query, which says nothing of other queries"),
        (unknown, "no standard deviation over tie orders is known, so nothing of tie-broken values"),
    ):
        if pairs:
            named = ", ".join(f"{pair.first} and {pair.second}" for pair in pairs[:3])
            more = f", and {len(pairs) - 3} more pairs" if len(pairs) > 3 else ""
            yield f"{found.measure}: {reason}: {named}{more}."
