"""Win probabilities of the pairs of a comparison, each by the most exact method available."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple

import numpy as np

from trueval.comparison.choices import MOST_TIE_SAMPLES
from trueval.comparison.resampling.alignment import AlignedScores
from trueval.comparison.resampling.tie_order_values import Atoms, TieOrders
from trueval.comparison.resampling.win_probability import (
    EQUAL,
    UNKNOWN,
    TieMoments,
    WinProbability,
    certain,
    exact,
    normal,
    sample_win_probability,
)
from trueval.standings.standings import Floats, Ints

# Orders in the first batch of samples; each further batch is as large as all before it.
FIRST: Final = 500

# Distributions in memory: one for each run of a comparison of all pairs.
MOST_LISTS: Final = 256

# Probability of wrongly rejecting the closed form by random orders.
UNLIKELY: Final = 1e-9


class MeasureColumn(NamedTuple):
    """One run and measure on the queries of a comparison.

    Attributes:
        queries: [query] indices among all queries of the comparison.
        sign: 1 where higher is better, -1 where lower is.
        expected: [query] as in Scores.
        lowest: [query] as in Scores.
        highest: [query] as in Scores.
        tie_broken: [query] as in Scores.
        sd: [query] as in Scores.
    """

    queries: Ints
    sign: float
    expected: Floats
    lowest: Floats
    highest: Floats
    tie_broken: Floats
    sd: Floats

    @classmethod
    def of(cls, aligned: AlignedScores, run: int, measure: int) -> MeasureColumn:
        """The column of a run and measure."""
        kept = np.flatnonzero(aligned.kept[:, measure])
        sign = 1.0 if aligned.measures[measure].better == "higher" else -1.0
        statistics = (aligned.expected, aligned.lowest, aligned.highest, aligned.tie_broken, aligned.sd)
        return cls(kept, sign, *(statistic[run, kept, measure] for statistic in statistics))

    @property
    def tied_queries(self) -> Ints:
        """Indices in the column of the queries whose value depends on the tie order."""
        return np.flatnonzero(self.highest - self.lowest > 0)

    def spread(self) -> TieMoments:
        """Moments of the values over tie orders, for the normal approximation."""
        reach = np.maximum(self.highest - self.expected, self.expected - self.lowest)
        return TieMoments(self.sign * self.expected, self.sd**2, reach)


@dataclass(frozen=True, eq=False)
class PairWins:
    """Computes win probabilities; orders enumerated or drawn for a run and measure are shared by all its pairs.

    Attributes:
        aligned: scores on aligned queries.
        orders: [run] tie orders; None where only scores are known.
        tie_samples: minimum number of orders to draw where they cannot be enumerated.
        seed: seed of the orders.
        level: level of the verdict, which determines how many orders are drawn.
    """

    aligned: AlignedScores
    orders: Sequence[TieOrders] | None
    tie_samples: int
    seed: int
    level: float = 0.95
    _listed: dict[tuple[int, int], Atoms | None] = field(default_factory=dict, repr=False)
    _drawn: dict[tuple[int, int], list[Floats]] = field(default_factory=dict, repr=False)
    _columns: dict[tuple[int, int], MeasureColumn] = field(default_factory=dict, repr=False)

    def column(self, measure: int, run: int) -> MeasureColumn:
        """The column of a run and measure."""
        key = (measure, run)
        if key not in self._columns:
            self._columns[key] = MeasureColumn.of(self.aligned, run, measure)
        return self._columns[key]

    def probability(self, measure: int, first: int, second: int) -> WinProbability:
        """The probability that the first run is better than the second, over tie orders."""
        a, b = self.column(measure, first), self.column(measure, second)
        if not len(a.queries):
            return UNKNOWN
        ends = sorted(a.sign * end for end in ((a.lowest - b.highest).sum(), (a.highest - b.lowest).sum()))
        known = certain(*map(float, ends))
        if known is not None:
            return known
        one, other = self._distribution(measure, first, a), self._distribution(measure, second, b)
        if one is not None and other is not None:
            return exact(one, other)
        # Bounds of the normal approximation always hold. Where they decide, so would enough samples.
        found = normal(a.spread(), b.spread())
        if self.orders is None or not self.orders[first].are_of_documents:
            return found
        if found.is_settled(self.level) and not self.tie_samples:
            return found
        batches = zip(self._batches(measure, first, a), self._batches(measure, second, b), strict=False)
        return sample_win_probability(batches, found, self.level, self.tie_samples)

    def _distribution(self, measure: int, run: int, column: MeasureColumn) -> Atoms | None:
        """The distribution of the sum over queries, higher being better; None where it cannot be enumerated."""
        key = (measure, run)
        if key not in self._listed:
            # A distribution may have 2^14 atoms: those used last stay, the baseline's among them.
            if len(self._listed) == MOST_LISTS:
                del self._listed[next(iter(self._listed))]
            self._listed[key] = self._list(measure, run, column)
        self._listed[key] = found = self._listed.pop(key)
        return found

    def _list(self, measure: int, run: int, column: MeasureColumn) -> Atoms | None:
        tied, rest = column.tied_queries, self._rest(column)
        if not len(tied):
            return Atoms(np.array([column.sign * rest]), np.ones(1))
        if self.orders is None:
            return None
        atoms = self.orders[run].distribution(self.aligned.measures[measure], self._own(run, column, tied))
        if atoms is None:
            return None
        # A measure may depend on documents outside the enumerated orders; its closed form would then have another mean.
        apart = abs(atoms.values @ atoms.probabilities - column.expected[tied].sum())
        if apart > EQUAL * (1 + len(tied)):
            return None
        values = column.sign * (atoms.values + rest)
        order = np.argsort(values)
        return Atoms(values[order], atoms.probabilities[order])

    def _batches(self, measure: int, run: int, column: MeasureColumn) -> Iterator[Floats]:
        """[sample] sums under random orders, higher being better, until their mean contradicts the expected value."""
        drawn, total, batch = self._drawn.setdefault((measure, run), []), 0, 0
        while self.orders and total < MOST_TIE_SAMPLES:
            if batch == len(drawn):
                tied, count = self._own(run, column, column.tied_queries), max(total, FIRST)
                sums = self.orders[run].samples(self.aligned.measures[measure], tied, count, self.seed, batch)
                drawn.append(column.sign * (sums + self._rest(column)))
            batch += 1
            known = np.concatenate(drawn[:batch])
            if not _has_mean(known, column):
                return
            total = len(known)
            yield drawn[batch - 1]

    def _own(self, run: int, column: MeasureColumn, tied: Ints) -> Ints:
        """Indices of tied queries in the run's own scores."""
        own: Ints = self.aligned.place[run, column.queries[tied]]
        return own

    @staticmethod
    def _rest(column: MeasureColumn) -> float:
        """The sum over the queries that tie orders do not affect."""
        fixed = np.ones(len(column.expected), dtype=bool)
        fixed[column.tied_queries] = False
        return float(column.expected[fixed].sum())


def _has_mean(drawn: Floats, column: MeasureColumn) -> bool:
    """Whether the mean of sums under random orders is consistent with the expected value.

    It is farther off with a probability of 10^-9 (Hoeffding). The tie-broken value of a user's own measure may not be
    that of any tie order.
    """
    reach = float(np.square(column.highest - column.lowest).sum())
    expected = column.sign * float(column.expected.sum())
    within = math.sqrt(reach * math.log(2 / UNLIKELY) / 2 / len(drawn)) + EQUAL * (1 + abs(expected))
    return not abs(float(drawn.mean()) - expected) > within
