"""Values of a measure under single tie orders: all orders where they are few, otherwise a sample.

Measures are not implemented a second time here. A query of the standings is repeated once per order, each copy with its
own `ahead`, and the measure's tie-broken value of a copy is its value under that order. Where a measure lets tied
documents enter together (AP with norm='threshold'), the measure in which they enter one by one is used.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from trueval.comparison.resampling.resampled_sums import TIE_ORDERS, generator
from trueval.evaluation.evaluate import evaluate_measure
from trueval.measures import Measure
from trueval.measures.list_end import sees_end
from trueval.standings.counting import count
from trueval.standings.standings import Floats, Ints, Standings, sum_by

if TYPE_CHECKING:
    from trueval.judgments import Judgments
    from trueval.policy.conventions import Policy
    from trueval.run import Run

# Maximum orders of one query, and of all queries of a run and measure, that are enumerated.
MOST_ORDERS: Final = 5_040
MOST_LISTED: Final = 20_000

# Maximum orders of one query for which samples are drawn from the enumeration.
FEW_ORDERS: Final = 1_000

# Maximum number of distinct sums in a distribution over queries.
MOST_ATOMS: Final = 1 << 14

# Sums closer than this are merged into one atom.
DECIMALS: Final = 11

# Maximum copies of queries in memory while sampling, and documents in the copies of one query.
COPIES: Final = 20_000
MOST_DOCUMENTS: Final = 1 << 20

# Rows of copies evaluated together.
TOGETHER: Final = 1 << 16


class Atoms(NamedTuple):
    """A discrete distribution with finitely many values.

    Attributes:
        values: [atom] ascending, distinct.
        probabilities: [atom] probabilities; they sum to 1.
    """

    values: Floats
    probabilities: Floats


@dataclass(frozen=True, eq=False)
class TieOrders:
    """The tie orders of one run.

    Attributes:
        source: the run, or a function that reads it again: of many runs no more than a few are in memory at once.
        judgments: judgments of the evaluation.
        policy: policy of the evaluation.
        stream: separates its random orders from those of other runs with the same seed.
    """

    source: Run | Callable[[], Run]
    judgments: Judgments
    policy: Policy
    stream: int
    _counted: dict[Policy, Standings] = field(default_factory=dict, repr=False)
    _packed: dict[Policy, Standings] = field(default_factory=dict, repr=False)
    _ways: dict[Measure, dict[int, _ValueDistribution | list[_Group]]] = field(default_factory=dict, repr=False)

    @property
    def run(self) -> Run:
        """The run, read again where it is not in memory."""
        return self.source() if callable(self.source) else self.source

    def standings(self, measure: Measure) -> Standings:
        """The run's standings, as evaluate counts them for a measure."""
        policy = self.policy.of(measure.innermost.name).counting
        if policy in self._packed:
            return self._packed[policy].unpack()
        if policy not in self._counted:
            self._counted[policy] = count(self.run, self.judgments, policy)
        return self._counted[policy]

    def without_run(self, measures: Sequence[Measure], read: Callable[[], Run]) -> TieOrders:
        """The same orders without the run in memory: its standings for some measures stay.

        Args:
            measures: measures whose standings stay in memory.
            read: reads the run again, for what needs its lists.
        """
        for measure in measures:
            self.standings(measure)
        packed = {policy: standings.pack() for policy, standings in self._counted.items()}
        return replace(self, source=read, _counted={}, _packed=packed)

    @property
    def are_of_documents(self) -> bool:
        """Whether every row of the standings is a document; facets split one into several, which must move together."""
        return "facet" not in self.judgments.frame.columns

    def distribution(self, measure: Measure, queries: Ints) -> Atoms | None:
        """The distribution of the sum of a measure over some queries, every order equally likely.

        Args:
            queries: indices of queries with tied documents.

        Returns:
            The distribution up to DECIMALS, or None where there are too many orders to list, or rows that are not
            documents (facets).
        """
        whole, measure = self.standings(measure), self._in_order(measure)
        listed = [(query, _groups(whole, query, measure)) for query in queries.tolist()]
        counts = [_count_of(groups) for _, groups in listed]
        if not self.are_of_documents or max(counts, default=1) > MOST_ORDERS or sum(counts) > MOST_LISTED:
            return None
        return convolve(self._values(whole, measure, listed))

    def samples(self, measure: Measure, queries: Ints, count: int, seed: int, batch: int = 0) -> Floats:
        """Draw sums of a measure over some queries under random tie orders.

        Args:
            queries: indices of queries with tied documents.
            count: number of orders to draw.
            seed: seed of the orders.
            batch: index of the batch; orders of two batches are independent.

        Returns:
            [sample] sums; NaN where the measure has no value under a single order.
        """
        whole, measure = self.standings(measure), self._in_order(measure)
        self._find_ways(whole, measure, queries.tolist())
        largest = int(whole.tied.max(initial=1))
        step, out = max(1, min(COPIES // max(len(queries), 1), MOST_DOCUMENTS // largest)), np.zeros(count)
        for chunk, start in enumerate(range(0, count, step)):
            rng, size = generator(seed, TIE_ORDERS + self.stream, (batch << 32) + chunk), min(step, count - start)
            for values in self._draw_values(whole, measure, queries.tolist(), size, rng):
                out[start : start + size] += values
        return out

    def _find_ways(self, whole: Standings, measure: Measure, queries: Sequence[int]) -> None:
        """How orders of each query are drawn: from the enumerated ones where they are few, otherwise group by group."""
        ways = self._ways.setdefault(measure, {})
        groups = {query: _groups(whole, query, measure) for query in queries if query not in ways}
        few = [query for query, found in groups.items() if _count_of(found) <= FEW_ORDERS]
        ways.update((query, _groups(whole, query, None)) for query in groups.keys() - few)
        atoms = self._values(whole, measure, [(query, groups[query]) for query in few])
        ways.update(
            (query, _ValueDistribution(each.values, np.cumsum(each.probabilities)[:-1]))
            for query, each in zip(few, atoms, strict=True)
        )

    def _draw_values(
        self, whole: Standings, measure: Measure, queries: Sequence[int], size: int, rng: np.random.Generator
    ) -> list[Floats]:
        """[query][sample] values under random orders."""
        ways, found = self._ways[measure], dict.fromkeys(queries, np.empty(0))

        def draw_batches() -> Iterator[tuple[int, Ints]]:
            """Draw orders of the queries that have many; enumerate the values of the others."""
            for query in queries:
                way = ways[query]
                if isinstance(way, _ValueDistribution):
                    found[query] = way.values[np.searchsorted(way.until, rng.random(size), side="right")]
                    continue
                ahead = np.tile(_ahead(whole, query), (size, 1))
                for group in way:
                    order = np.argsort(rng.random((size, group.tied)), axis=1)
                    ahead[:, group.rows] = order[:, : len(group.rows)]
                yield query, ahead

        found.update(self._under(whole, measure, draw_batches()))
        return list(found.values())

    def _in_order(self, measure: Measure) -> Measure:
        """The measure resolved by the policy, whose tie-broken value is that of one order."""
        return measure.under(self.policy).one_by_one

    def _values(
        self, whole: Standings, measure: Measure, listed: Sequence[tuple[int, Sequence[_Group]]]
    ) -> Iterator[Atoms]:
        """[query] the values under every order of its groups.

        Args:
            whole: standings of the measure.
            measure: measure as `_in_order` returns it.
            listed: queries, each with its groups.
        """

        def orders() -> Iterator[tuple[int, Ints]]:
            for query, groups in listed:
                each = [list(itertools.permutations(range(group.tied), len(group.rows))) for group in groups]
                together = list(itertools.product(*each))
                ahead = np.tile(_ahead(whole, query), (len(together), 1))
                for place, group in enumerate(groups):
                    ahead[:, group.rows] = np.array([order[place] for order in together], dtype=np.int64)
                yield query, ahead

        for _, values in self._under(whole, measure, orders()):
            yield _merge(values, np.full(len(values), 1 / len(values)))

    def _under(
        self, whole: Standings, measure: Measure, orders: Iterable[tuple[int, Ints]]
    ) -> Iterator[tuple[int, Floats]]:
        """Queries, each with its values [order], evaluated together: a call costs more than most queries.

        Args:
            whole: standings of the measure.
            measure: measure as `_in_order` returns it.
            orders: queries, each with the tied documents before its rows, [order, row of the query].
        """
        waiting: dict[int, Ints] = {}
        for query, ahead in orders:
            if waiting and sum(each.size for each in waiting.values()) + ahead.size > TOGETHER:
                yield from self._evaluate_batch(whole, measure, waiting)
                waiting = {}
            waiting[query] = ahead
        yield from self._evaluate_batch(whole, measure, waiting)

    def _evaluate_batch(
        self, whole: Standings, measure: Measure, orders: dict[int, Ints]
    ) -> Iterator[tuple[int, Floats]]:
        """The result of `_under` for one batch of queries."""
        if not orders:
            return
        queries, counts = list(orders), [len(ahead) for ahead in orders.values()]
        copies = whole.repeat(np.array(queries), list(orders.values()))
        policy, nobody = self.policy.of(measure.innermost.name), np.zeros(sum(counts), dtype=bool)
        ids = np.repeat([str(self.judgments.query_ids[query]) for query in queries], counts).tolist()
        if self.are_of_documents and copies.depth is None and copies.order_is_known:
            copies = copies.in_tie_order()
        values = evaluate_measure(copies, measure, policy, nobody, ids).tie_broken
        yield from zip(queries, np.split(values, np.cumsum(counts)[:-1]), strict=True)


class _ValueDistribution(NamedTuple):
    """The distinct values of a query over all orders.

    Attributes:
        values: [value] ascending.
        until: [value] cumulative probability; without the last, which is 1.
    """

    values: Floats
    until: Floats


class _Group(NamedTuple):
    """Rows of a query, counted from its first, that form one tie group of a given size."""

    rows: Ints
    tied: int


def _ahead(whole: Standings, query: int) -> Ints:
    """[row of the query] positions of documents outside the groups of interest: any will do, so the first."""
    start, stop = np.searchsorted(whole.query, [query, query + 1])
    return np.zeros(int(stop - start), dtype=np.int64)


def _groups(whole: Standings, query: int, measure: Measure | None) -> list[_Group]:
    """The groups whose order can affect a measure; without a measure, every group of two or more."""
    start, stop = np.searchsorted(whole.query, [query, query + 1])
    # A measure of a measure, and one with base='list', may depend on documents past its cutoff.
    past = measure is None or measure.inner is not None or (whole.depth is not None and sees_end(measure))
    reach = whole.limit(None if past or measure is None else measure.cutoff)
    zeros = measure is None or measure.needs_zeros
    above, tied, grade = whole.above[start:stop], whole.tied[start:stop], whole.grade[start:stop]
    wanted = (tied > 1) & (above < reach) & (zeros | (grade > 0))
    found = []
    for first in np.unique(above[wanted]).tolist():
        rows = np.flatnonzero(wanted & (above == first))
        found.append(_Group(rows, int(tied[rows[0]])))
    return found


def _count_of(groups: Sequence[_Group]) -> int:
    """Number of orders of the rows of the given groups."""
    return math.prod(math.perm(group.tied, len(group.rows)) for group in groups)


def convolve(parts: Iterable[Atoms]) -> Atoms | None:
    """The distribution of a sum of independent values; None where it has more than MOST_ATOMS values.

    >>> coin = Atoms(np.array([0.0, 1.0]), np.array([0.5, 0.5]))
    >>> convolve(iter([coin, coin])).probabilities.tolist()
    [0.25, 0.5, 0.25]
    """
    total = Atoms(np.zeros(1), np.ones(1))
    for part in parts:
        if np.isnan(part.values).any() or len(total.values) * len(part.values) > 16 * MOST_ATOMS:
            return None
        total = _merge(
            np.add.outer(total.values, part.values).ravel(),
            np.multiply.outer(total.probabilities, part.probabilities).ravel(),
        )
        if len(total.values) > MOST_ATOMS:
            return None
    return total


def _merge(values: Floats, probabilities: Floats) -> Atoms:
    """Merge atoms whose values are equal up to DECIMALS."""
    different, which = np.unique(np.round(values, DECIMALS), return_inverse=True)
    return Atoms(different, sum_by(which.ravel(), probabilities, len(different)))
