"""Power: how large a difference must be for so many queries to find it, and how many queries find one of a given size.

Paired, with Student's t: with C clusters (a query is its own unless told) and a standard deviation sd between them, the
least difference that a test at a level finds with a power is

    (t_{C-1}((1 + level) / 2) + t_{C-1}(power)) sd / sqrt(C)

in which the second quantile is in place of a noncentral t: from 8 clusters on the power differs by less than .003 from
the exact one (docs/power.md). A power of 0.5 adds nothing to the first quantile, and so gives the half width of the
interval of a mean difference. For values under one tie order, the variance over the orders of both runs is added to
sd^2; what is expected over tie orders has none.

Clusters of unequal size count as fewer: as C = n^2 / sum of n_c^2 of one size (Kish 1965), and sd / sqrt(C) is the
jackknife's standard error of the mean over queries, which leaves out one of the c clusters at a time:

    sd^2 / C = (c - 1) / c * sum over clusters of (S_c - mean n_c)^2 / (n - n_c)^2

with the sum S_c of the differences of a cluster of n_c queries. Clusters of equal size give their number, and the
standard deviation of their means. With c - 1 degrees of freedom and without the jackknife, a t test of clusters of very
unequal size was wrong in up to 13 % of simulated worlds instead of 5 % (docs/power.md).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import combinations, takewhile
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from trueval.comparison.alignment import Aligned, align
from trueval.comparison.clusters import Clusters
from trueval.comparison.detection import Detection, MeasurePower, Noise, PairPower, Power
from trueval.errors import InputError, PolicyError
from trueval.evaluation.defaults import fill_defaults
from trueval.evaluation.evaluate import Measures, evaluate
from trueval.judgments import Judgments
from trueval.run import Run
from trueval.standings.standings import Floats, Ints

if TYPE_CHECKING:
    from trueval.evaluation.scores import Scores
    from trueval.files import Source
    from trueval.policy.policy import Policy

__all__ = ["Power", "least_difference", "power", "power_of_scores", "queries_needed"]

# Differences closer together than this are equal: 2/3 - 1/3 is 1/3.
NOTHING = 1e-12

# Clusters that a curve begins with.
FEWEST = 5

# More queries than this are as good as never: nobody judges them, and differences that need them are rounding.
MOST = 10**12

# What rounding may do to a least difference that is given back to ask for its queries.
ROUNDING = 1e-12


def least_difference(sd: float, queries: float, *, level: float, power: float) -> float:
    """The least difference that so many queries find with the power.

    Args:
        sd: standard deviation of paired differences between queries, or between clusters.
        queries: how many, or how many clusters; broken where it says how many of one size some clusters are as good as.
        level: of the test, 0.95.
        power: the chance to find it, 0.8; 0.5 gives the half width of an interval.

    Returns:
        The difference on the scale of the measure; NaN below two queries, and where sd is NaN.

    Raises:
        PolicyError: level or power is out of range.

    >>> round(least_difference(0.2, 50, level=0.95, power=0.8), 4)
    0.0809
    """
    check_chances(level, power)
    return sd * _factor(queries, level, power) if queries >= 2 else math.nan


def queries_needed(difference: float, sd: float, *, level: float, power: float) -> int | None:
    """The least number of queries whose least difference is no larger than a given one.

    How many queries would decide a check against a limit is the same with the distance to the limit as difference and
    a power of 0.5: their interval is then just narrow enough to end at the limit.

    Args:
        difference: that is to be found; its sign does not matter.
        sd: as in least_difference.
        level: of the test, 0.95.
        power: the chance to find it, 0.8; 0.5 for an interval whose half width is the difference.

    Returns:
        Two or more queries, or clusters where sd is between clusters; None where no number is enough: the difference
        is 0, would need more than 10^12, or one of the two is not known (NaN).

    Raises:
        PolicyError: level or power is out of range.

    >>> queries_needed(0.05, 0.2, level=0.95, power=0.8), queries_needed(0.05, 0.2, level=0.95, power=0.5)
    (128, 64)
    >>> queries_needed(0.0, 0.2, level=0.95, power=0.8) is None
    True
    """
    from scipy.special import ndtri

    check_chances(level, power)
    size = abs(difference)
    if math.isnan(size) or math.isnan(sd):
        return None
    wanted = size / sd * (1 + ROUNDING) if sd else math.inf * size
    if not wanted > 0:  # no difference, or none beside such an sd
        return None
    # Quantiles of the normal distribution are less than those of t, so no smaller number is enough.
    first = float(ndtri((1 + level) / 2) + ndtri(power)) / wanted
    if first > math.sqrt(MOST):
        return None
    low = high = max(2, int(first**2))
    step = 1
    while _factor(high, level, power) > wanted:
        low, high, step = high + 1, high + step, 2 * step
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if _factor(middle, level, power) <= wanted else (middle + 1, high)
    return high


def check_chances(level: float, power: float) -> None:
    """Refuse a level or a power that is out of range.

    Raises:
        PolicyError: the level is not between 0.5 and 1, or the power is not at least 0.5 and below 1.
    """
    if not 0.5 < level < 1:
        raise PolicyError(f"level must be between 0.5 and 1, such as 0.95. Got {level!r}.")
    if not 0.5 <= power < 1:
        raise PolicyError(f"power must be at least 0.5 and below 1, such as 0.8. Got {power!r}.")


@lru_cache(maxsize=4096)
def _factor(queries: float, level: float, power: float) -> float:
    """The least difference in units of sd; it falls as queries are added."""
    from scipy.special import stdtrit

    free = queries - 1
    return float(stdtrit(free, (1 + level) / 2) + stdtrit(free, power)) / math.sqrt(queries)


def power(
    runs: Any,
    judgments: Any,
    measures: Measures | None = None,
    *,
    baseline: str | None = None,
    clusters: Clusters | Mapping[str, str] | Source | None = None,
    policy: Policy | None = None,
    level: float = 0.95,
    power: float = 0.8,
    difference: float | None = None,
    **choices: Any,
) -> Power:
    """Say how large a difference between runs these queries can find, and how many queries a difference needs.

    Args:
        runs: two or more: a list, or a dict by name, of Runs or what `Run.of` takes (paths, dicts, frames, ...).
        judgments: as in evaluate.
        measures: as in evaluate.
        baseline: name of the run to hold the others against; None for all pairs.
        clusters: which queries belong together, {query: cluster} or a file; None where each is its own.
        policy: as in evaluate.
        level: of the test and of intervals.
        power: the chance to find a difference.
        difference: for which the queries needed are counted; None for the measured one of each pair.
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
    asked = _Asked(level, power, difference).checked()  # refused before any run is evaluated
    parsed, chosen = fill_defaults(judgments, measures, policy, choices)
    scores = [evaluate(run, judgments, parsed, policy=chosen) for run in runs]
    return power_of_scores(scores, baseline=baseline, clusters=clusters, **asked._asdict())


def power_of_scores(
    scores: Sequence[Scores],
    *,
    baseline: str | None = None,
    clusters: Clusters | Mapping[str, str] | Source | None = None,
    level: float = 0.95,
    power: float = 0.8,
    difference: float | None = None,
) -> Power:
    """The same from evaluated runs.

    Args:
        scores: of two or more runs, by the same measures.
        baseline: as in power.
        clusters: as in power.
        level: as in power.
        power: as in power.
        difference: as in power.

    Raises:
        InputError: names are equal, the baseline is unknown, or the queries do not fit the policy.
        MeasureError: the measures differ.
        PolicyError: a choice is out of range.
    """
    _check_runs(len(scores))
    asked, told = _Asked(level, power, difference).checked(), Clusters.of(clusters)
    aligned = align(scores)
    if baseline is not None and baseline not in aligned.names:
        raise InputError(f"The baseline must be one of the runs {', '.join(aligned.names)}. Got {baseline!r}.")
    known = None if told is None else told.codes(aligned.query_ids)
    measures = tuple(_of_measure(aligned, at, baseline, known, asked) for at in range(len(aligned.measures)))
    notes = [note for each in scores for note in each.notes] + [*aligned.notes]
    notes += [line for each in measures for line in _remarks(each)]
    choices = {
        **asked._asdict(),
        "clusters": None if told is None or known is None else {"source": told.source, "count": len(np.unique(known))},
        "policy": scores[0].policy.to_dict(),
    }
    return Power(aligned.names, baseline, measures, choices, tuple(dict.fromkeys(notes)))


class _Asked(NamedTuple):
    """With what a difference is to be found, and which one."""

    level: float
    power: float
    difference: float | None

    def checked(self) -> _Asked:
        """Itself, where all of it is in range."""
        check_chances(self.level, self.power)
        if self.difference is not None and not 0 < self.difference < math.inf:
            raise PolicyError(f"difference must be a number > 0, such as 0.02. Got {self.difference!r}.")
        return self

    def half_width(self, sd: float, effective: float) -> float:
        """Of the interval of a mean difference."""
        return least_difference(sd, effective, level=self.level, power=0.5)

    def least(self, sd: float, effective: float) -> float:
        """The least difference that is found; NaN where nothing varied, which says nothing of other queries."""
        return least_difference(sd, effective, level=self.level, power=self.power) if sd > 0 else math.nan

    def detection(self, measured: float, sd: float, wanted: float, sizes: _Sizes) -> Detection:
        """What queries in clusters of such sizes find."""
        needed = queries_needed(wanted, sd, level=self.level, power=self.power) if sd > 0 else None
        return Detection(
            measured,
            sd,
            self.half_width(sd, sizes.effective),
            self.least(sd, sizes.effective),
            None if needed is None else math.ceil(needed * sizes.queries / sizes.effective),
            None if needed is None or not sizes.told else math.ceil(needed * sizes.clusters / sizes.effective),
        )


class _Sizes:
    """How many queries are in each cluster.

    Args:
        queries: how many there are.
        codes: [query] number of its cluster; None where each is its own.
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
            differences: [query].
        """
        if self.clusters < 2:
            return math.nan
        if np.ptp(differences) <= NOTHING:
            return 0.0
        apart = np.bincount(self.codes, differences - differences.mean())
        squares = float(((apart / (self.queries - self.counts)) ** 2).sum())
        return math.sqrt(squares * (self.clusters - 1) / self.clusters * self.effective)

    def tie_variance(self, variances: Floats) -> float:
        """What the orders of ties add to the square of that deviation; the orders of queries are independent.

        Args:
            variances: [query] of the difference over tie orders; NaN where not known.
        """
        return float(variances.sum()) / self.queries**2 * self.effective if self.queries else math.nan

    def points(self) -> tuple[int, ...]:
        """Numbers of clusters to draw a curve at: steps of 1, 2, 5 to ten times as many and 1,000 at least."""
        steps = (lead * 10**power for power in range(12) for lead in (1, 2, 5))
        last = max(1000, 10 * self.clusters)
        chosen = {*takewhile(lambda step: step <= last, steps), self.clusters}
        return tuple(sorted(each for each in chosen if each >= FEWEST and self.at(each) >= 2))

    def at(self, clusters: int) -> float:
        """How many clusters of one size a number of clusters of such sizes is as good as."""
        return clusters * self.effective / max(self.clusters, 1)


def _of_measure(aligned: Aligned, at: int, baseline: str | None, codes: Ints | None, asked: _Asked) -> MeasurePower:
    measure, kept = aligned.measures[at], aligned.kept[:, at]
    sizes = _Sizes(int(kept.sum()), None if codes is None else codes[kept])
    means = aligned.expected[:, kept, at].mean(axis=1) if sizes.queries else np.full(len(aligned.names), math.nan)
    order = np.argsort(-means if measure.better == "higher" else means, kind="stable").tolist()
    pairs: Iterable[tuple[int, int]] = combinations(order, 2)
    if baseline is not None:
        second = aligned.names.index(baseline)
        pairs = ((first, second) for first in order if first != second)
    points = sizes.points()
    return MeasurePower(
        str(measure),
        measure.better,
        sizes.queries,
        aligned.left_out(at),
        sizes.clusters if sizes.told else None,
        sizes.effective,
        tuple((aligned.names[run], float(means[run])) for run in order),
        tuple(round(point * sizes.queries / sizes.clusters) for point in points),
        points if sizes.told else None,
        tuple(_of_pair(aligned, at, first, second, sizes, asked) for first, second in pairs),
    )


def _of_pair(aligned: Aligned, at: int, first: int, second: int, sizes: _Sizes, asked: _Asked) -> PairPower:
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
    reach = [sizes.at(point) for point in sizes.points()]
    sampling, tied = (
        Noise(asked.half_width(each, sizes.effective), each**2 / sd**2 if sd else math.nan) for each in (between, ties)
    )
    return PairPower(
        aligned.names[first],
        aligned.names[second],
        wanted,
        asked.detection(measured, between, wanted, sizes),
        asked.detection(broken, sd, wanted, sizes),
        sampling,
        tied,
        tuple(asked.least(between, each) for each in reach),
        tuple(asked.least(sd, each) for each in reach),
    )


def _check_runs(count: int) -> None:
    """Refuse one run alone, whose values say nothing of differences."""
    if count < 2:
        raise InputError(
            f"Power is about the difference of runs and needs at least 2. Got {count}. For a published value without "
            "its run, ask trueval.published (trueval power --value X --queries N)."
        )


def _remarks(found: MeasurePower) -> Iterator[str]:
    """Why pairs of a measure have no power."""
    if found.effective < 2:
        counted = f"{found.queries} queries" if found.clusters is None else f"{found.clusters} clusters"
        yield f"{found.measure}: {counted} are too few to see how much differences vary; it takes 2."
        return
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
