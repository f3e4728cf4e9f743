"""Findings: results of resampling and tests for every pair of systems on every measure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import numpy as np

from trueval.comparison.choices import ComparisonChoices
from trueval.comparison.resampling.alignment import AlignedScores
from trueval.comparison.resampling.betting import Bets
from trueval.comparison.resampling.bootstrap_intervals import (
    Extremes,
    Intervals,
    ResampledColumns,
    ResampleDraws,
    intervals_of,
)
from trueval.comparison.resampling.bounded_intervals import Differences, bets_of, intervals_by_bets, reach_of
from trueval.comparison.resampling.clusters import Clusters, QueryUnits
from trueval.comparison.resampling.multiplicity import adjust
from trueval.comparison.resampling.paired_tests import (
    RandomizationResult,
    effect_sizes,
    joint_maxt,
    randomization_test,
    t_test,
    wilcoxon_test,
)
from trueval.comparison.resampling.resampled_sums import blocks
from trueval.comparison.resampling.simultaneous import Deviations, Family, deviations, simultaneous_intervals
from trueval.standings.standings import Bools, Floats, Ints

# Resampled sums in memory at once: 64 MB, and a few arrays as large.
MOST_RESAMPLED: Final = 1 << 23


class Findings(NamedTuple):
    """Intervals, p values and effect sizes of the pairs on one measure: arrays over pairs.

    Attributes:
        expected: [pair, 2] interval of the expected difference.
        realized: [pair, 2] interval of a realized difference.
        bounded: [pair] whether the ends of the realized intervals are bounds.
        together: [pair, 2] interval of the expected difference, simultaneous for the family.
        realized_together: [pair, 2] interval of a realized difference, simultaneous for the family.
        randomization: [pair] p of the randomization test.
        t: [pair] p of the t test.
        wilcoxon: [pair] p of the Wilcoxon test.
        maxt: [pair] p of the randomization test, adjusted by MaxT.
        holm: [pair] p of the chosen test, adjusted by Holm.
        benjamini_hochberg: [pair] p of the chosen test, adjusted by Benjamini & Hochberg.
        cohen_d: [pair] Cohen's d.
        hedges_g: [pair] Hedges' g.
        units: number of queries, or of clusters of queries.
        exact: whether every sign pattern was enumerated.
        least_p: the least p that the randomization test alone can give.
    """

    expected: Floats
    realized: Floats
    bounded: Bools
    together: Floats
    realized_together: Floats
    randomization: Floats
    t: Floats
    wilcoxon: Floats
    maxt: Floats
    holm: Floats
    benjamini_hochberg: Floats
    cohen_d: Floats
    hedges_g: Floats
    units: int
    exact: bool
    least_p: float

    def adjusted_p(self, correction: str) -> Floats:
        """[pair] the p adjusted by a correction."""
        found: Floats = getattr(self, correction.replace("-", "_"))
        return found


def find(
    aligned: AlignedScores, pairs: Ints, clusters: Clusters | None, chosen: ComparisonChoices, threads: int
) -> tuple[Findings, ...]:
    """Resample and test every pair on every measure.

    Args:
        aligned: scores on aligned queries.
        pairs: [pair, 2] numbers of runs.
        clusters: which queries belong together; None where each query is its own cluster.
        chosen: choices of the comparison.

    Returns:
        [measure] findings.

    Raises:
        InputError: a query has no cluster.
        MeasureError: intervals are by bets, and a measure has values without end.
    """
    bets = bets_of(chosen, clusters, threads)
    reach = np.full(len(aligned.measures), np.inf) if bets is None else reach_of(aligned.measures)
    codes = np.arange(len(aligned.query_ids)) if clusters is None else clusters.codes(aligned.query_ids)
    # Measures that count the same queries share their resamples, so each pattern of queries is drawn once.
    patterns, pattern_of = np.unique(aligned.kept, axis=1, return_inverse=True)
    shared = [
        (np.flatnonzero(patterns[:, at]), part)
        for at in range(patterns.shape[1])
        for part in _parts(np.flatnonzero(pattern_of.ravel() == at), len(aligned.names), chosen)
    ]
    tests = len(pairs) * (len(aligned.measures) if chosen.family == "all" else 1)
    groups = (_Group.of(aligned, kept, measures, pairs, codes, reach) for kept, measures in shared)
    resampled = ((group, group.resample(chosen, threads, bets, tests)) for group in groups)
    if chosen.family == "all":
        several = list(resampled)
        joined = _join_families([parts for _, parts in several])
        resampled = ((group, parts) for (group, _), parts in zip(several, joined, strict=True))
    found = {
        measure: findings for group, parts in resampled for measure, findings in group.findings(parts, chosen, threads)
    }
    in_order = [found[measure] for measure in range(len(aligned.measures))]
    p = [getattr(each, chosen.test) for each in in_order]
    adjusted = adjust(p, together=chosen.family == "all")
    return tuple(
        each._replace(holm=holm, benjamini_hochberg=shares)
        for each, holm, shares in zip(in_order, *adjusted, strict=True)
    )


def _parts(measures: Ints, runs: int, chosen: ComparisonChoices) -> list[Ints]:
    """The measures whose resamples are in memory together: all of one family; else as many as fit, at least one."""
    together = len(measures) if chosen.family == "all" else max(1, MOST_RESAMPLED // (runs * chosen.resamples))
    return [measures[part] for part in blocks(len(measures), together)]


class _Parts(NamedTuple):
    """Resampled quantities of a group, before families are joined.

    Attributes:
        columns: the resampled columns; None below two units, and where intervals are by bets.
        alone: individual intervals of each comparison.
        together: simultaneous intervals of each comparison; where there are columns they are recomputed from these.
        largest: largest deviations of the families; None where there are no columns.
        flipped: result of the randomization test.
        maxt: [comparison] p adjusted by MaxT.
    """

    columns: ResampledColumns | None
    alone: Intervals
    together: Intervals
    largest: Deviations | None
    flipped: RandomizationResult
    maxt: Floats


@dataclass(frozen=True, eq=False)
class _Group:
    """Measures that count the same queries, and every pair on each: a comparison is two columns of one measure.

    Attributes:
        measures: [measure] indices among all measures.
        pairs: [pair, 2] numbers of runs.
        expected: [unit, column] sums over the queries of a unit; columns are run by run, measure by measure.
        variance: [unit, column] sums of variances over tie orders.
        extremes: [unit, column] sums of the extremes over tie orders.
        sizes: [unit] number of queries.
        reach: [measure] the largest possible difference of a query, where intervals are by bets.
    """

    measures: Ints
    pairs: Ints
    expected: Floats
    variance: Floats
    extremes: Extremes
    sizes: Floats
    reach: Floats

    @classmethod
    def of(cls, aligned: AlignedScores, kept: Ints, measures: Ints, pairs: Ints, codes: Ints, reach: Floats) -> _Group:
        """Build the group of the given queries and measures.

        Args:
            aligned: scores on aligned queries.
            kept: [query] whether the query counts.
            measures: indices of the measures.
            pairs: [pair, 2] numbers of runs.
            codes: [query] the unit of every query, whether it counts or not.
            reach: [measure] for all measures.
        """
        units, wide = QueryUnits.of(codes[kept]), len(aligned.names) * len(measures)

        def columns(statistic: Floats) -> Floats:
            values = statistic[:, kept][:, :, measures].transpose(1, 0, 2).reshape(len(kept), wide)
            return units.sums(values)

        extremes = Extremes(columns(aligned.lowest), columns(aligned.highest))
        return cls(
            measures,
            pairs,
            columns(aligned.expected),
            columns(aligned.sd**2),
            extremes,
            units.sizes,
            reach[measures],
        )

    def family(self, chosen: ComparisonChoices) -> Family:
        """The comparisons, and which of them form a family."""
        wide = len(self.measures)
        first, second = ((self.pairs[:, side][:, None] * wide + np.arange(wide)).ravel() for side in (0, 1))
        of_measure = np.tile(np.arange(wide), len(self.pairs))
        number = np.zeros_like(of_measure) if chosen.family == "all" else of_measure
        return Family(first, second, number, np.arange(self.expected.shape[1]) // wide)

    def resample(self, chosen: ComparisonChoices, threads: int, bets: Bets | None, tests: int) -> _Parts:
        """Resample or bet, and run the randomization test.

        Args:
            chosen: choices of the comparison.
            bets: how intervals are made by betting; None where by resampling.
            tests: number of comparisons in a family.
        """
        family, draws = self.family(chosen), _draws(chosen, threads)
        flipped = randomization_test(
            self.expected,
            family.first,
            family.second,
            resamples=chosen.patterns,
            seed=chosen.seed,
            threads=threads,
            family=family.number,
        )
        if bets is not None:
            apart = self.differences(family)
            alone = intervals_by_bets(apart, bets)
            together = alone if tests == 1 else intervals_by_bets(apart, bets._replace(alpha=bets.alpha / tests))
            return _Parts(None, alone, together, None, flipped, flipped.maxt())
        if len(self.expected) < 2:
            missing = np.full((len(family.first), 2), np.nan)
            alone = Intervals(missing, missing, np.zeros(len(missing), dtype=bool))
            return _Parts(None, alone, alone, None, flipped, flipped.maxt())
        columns = ResampledColumns.of(self.expected, self.variance, draws, self.sizes)
        alone = intervals_of(columns, family.first, family.second, draws, self.extremes)
        return _Parts(columns, alone, alone, deviations(columns, family, draws), flipped, flipped.maxt())

    def differences(self, family: Family) -> Differences:
        """The differences of the comparisons, for intervals by betting."""
        first, second = family.first, family.second
        tied = ~((self.variance[:, first] == 0) & (self.variance[:, second] == 0)).all(axis=0)
        return Differences(
            self.expected[:, first] - self.expected[:, second],
            self.extremes.lowest[:, first] - self.extremes.highest[:, second],
            self.extremes.highest[:, first] - self.extremes.lowest[:, second],
            tied,
            self.sizes,
            np.tile(self.reach, len(self.pairs)),
        )

    def findings(self, parts: _Parts, chosen: ComparisonChoices, threads: int) -> Iterator[tuple[int, Findings]]:
        """Each measure with the findings of its pairs."""
        family, together = self.family(chosen), parts.together[:2]
        if parts.columns is not None and parts.largest is not None:
            draws = _draws(chosen, threads)
            together = simultaneous_intervals(parts.columns, family, parts.largest, parts.alone, draws, self.extremes)
        # Tests without unit sizes use the mean of each unit.
        differences = (self.expected[:, family.first] - self.expected[:, family.second]) / self.sizes[:, None]
        effects, p = effect_sizes(differences), parts.flipped.p
        arrays = {
            **parts.alone._asdict(),
            "together": together[0],
            "realized_together": together[1],
            **dict.fromkeys(("randomization", "holm", "benjamini_hochberg"), p),
            "t": t_test(differences),
            "wilcoxon": wilcoxon_test(differences),
            "maxt": parts.maxt,
            **effects._asdict(),
        }
        wide, signs = len(self.measures), parts.flipped.signs
        for at, measure in enumerate(self.measures.tolist()):
            # Comparisons are ordered by pair, then by measure.
            mine: dict[str, Any] = {name: each[at::wide] for name, each in arrays.items()}
            yield measure, Findings(**mine, units=signs.units, exact=signs.enumerates_all, least_p=signs.least_p)


def _join_families(groups: Sequence[_Parts]) -> list[_Parts]:
    """Join all comparisons of the groups into one family."""
    maxt = joint_maxt([each.flipped for each in groups])
    several = [each.largest for each in groups if each.largest is not None]
    return [
        each._replace(maxt=adjusted, largest=None if each.largest is None else each.largest.join(several))
        for each, adjusted in zip(groups, maxt, strict=True)
    ]


def _draws(chosen: ComparisonChoices, threads: int) -> ResampleDraws:
    return ResampleDraws(chosen.resamples, chosen.seed, threads, chosen.level)
