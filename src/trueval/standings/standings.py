"""Standings: the position of every judged document in a run, with ties unbroken.

The one sufficient statistic of the library. For a judged document d that the run listed for its query with score s(d)::

    above(d) = #{x : s(x) > s(d)}
    tied(d)  = #{x : s(x) = s(d)}, d included
    ahead(d) = #{x tied with d that the tie order puts before d}

Source: McSherry & Najork 2008; P-A (Yang et al. 2026, arXiv 2508.03306) eq. 7-9: above is c_{n-1}, tied is |G_n|.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from trueval.errors import InputError
from trueval.standings.groups import ranges

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

NO_LIMIT = np.iinfo(np.int64).max

# Arrays of Standings with an entry per row, per judged document and per query.
PER_ROW: Final = ("query", "grade", "above", "tied", "ahead", "score", "item")
PER_POOLED: Final = ("pool_query", "pool_grade", "pool_item", "pool_listed")
PER_QUERY: Final = ("judged", "listed", "tied_documents", "largest_group", "last_above", "last_tied", "absent")


class Groups(NamedTuple):
    """The tie groups that hold at least one judged document, in order of query and rank.

    Attributes:
        query: [group] index of the query.
        above: [group] number of documents scored higher, c of docs/formulas.md §3.
        tied: [group] number of documents in the group, m.
        start: [group] its first row in the arrays of Standings.
        judged: [group] number of judged documents in it.
        of_row: [row] index of its group.
        place: [row] position of the row inside its group, best grade first, from 0.
    """

    query: Ints
    above: Ints
    tied: Ints
    start: Ints
    judged: Ints
    of_row: Ints
    place: Ints


class Facets(NamedTuple):
    """The facets (subtopics, intents) of its query for which each judged document was judged.

    Elsewhere a document counts once, with the best of its grades.

    Attributes:
        item: [entry] index of the document, as in Standings.item; ascending.
        facet: [entry] index of the facet among all facets in the order of their names.
        grade: [entry] grade of the document for the facet.
        place: [item] index of the document among all by descending id, as bytes; ndeval's ideal ranking breaks its ties
            this way. (In a run, the wheel pyndeval breaks ties by ascending id.)
    """

    item: Ints
    facet: Ints
    grade: Floats
    place: Ints


@dataclass(frozen=True, eq=False)
class Standings:
    """The positions of all judged documents of every query.

    A *row* is a judged document that the run listed; rows are sorted by query, above, then grade from best to worst. A
    list ends at the depth: documents past it in every order are not listed. Documents of a group that crosses it are
    rows, though the list holds only some of them. The *pool* is every judged document, listed or not, sorted by query
    and grade from best to worst. A grade below 0 or missing means unjudged: such a document is neither a row nor in the
    pool, but it takes up a rank like any other.

    Attributes:
        query: [row] index of the query, 0 .. queries - 1.
        grade: [row] grade as judged.
        above: [row] number of documents of the query scored higher.
        tied: [row] number of documents of the query with the same score, itself included.
        ahead: [row] number of tied documents that the tie order puts before it; -1 where the order is not known.
        score: [row] the score, rounded to the tie precision.
        pool_query: [pool] index of the query.
        pool_grade: [pool] grade.
        judged: [query] number of judged documents; more than the pool holds where grades of 0 were left out.
        listed: [query] number of documents the run lists; 0 where the list is empty or the run lacks the query.
        tied_documents: [query] number of listed documents in groups of two or more.
        largest_group: [query] documents in the largest group, also past the depth; 0 where nothing is listed.
        last_above: [query] documents above the last group of the run, whatever the depth.
        last_tied: [query] documents in that group.
        absent: [query] whether the run lacks the query; a list emptied by the policy is not absent.
        item: [row] index of the document in the judgments (or the flat grades), for facets and sources.
        pool_item: [pool] the same index for the pool.
        pool_listed: [pool] whether the run listed the document; true in a group that crosses the depth.
        depth: the last rank of the lists (trec_eval -M); None for no limit.
        sources: [item] code of the source of each document in the judgments; None where sources are not known.
        facets: facets of the judged documents; None where the judgments have none.
        merged: whether the counts were added over shards, so that the total of ties is not known.
    """

    query: Ints
    grade: Floats
    above: Ints
    tied: Ints
    ahead: Ints
    score: Floats
    pool_query: Ints
    pool_grade: Floats
    judged: Ints
    listed: Ints
    tied_documents: Ints
    largest_group: Ints
    last_above: Ints
    last_tied: Ints
    absent: Bools
    item: Ints
    pool_item: Ints
    pool_listed: Bools
    depth: int | None = None
    sources: Ints | None = None
    facets: Facets | None = None
    merged: bool = False

    def select(self, rows: Ints, pool: Ints, queries: Ints, **changed: Any) -> Standings:
        """Standings of the given rows, judged documents and queries, each possibly repeated.

        Args:
            rows: indices of rows, in the order of the result; `query` must be among the changes where query indices
                differ.
            pool: indices of judged documents.
            queries: indices of queries.
            changed: attributes of the result other than by selection.
        """
        kinds = (PER_ROW, rows), (PER_POOLED, pool), (PER_QUERY, queries)
        taken = {name: getattr(self, name)[at] for names, at in kinds for name in names if name not in changed}
        return replace(self, **taken, **changed)

    def take(self, queries: Ints) -> Standings:
        """Standings of the given queries, in their order, repetitions included.

        >>> one = Standings(*[np.zeros(1, dtype=np.int64)] * 18)
        >>> one.take(np.array([0, 0])).query.tolist()
        [0, 1]
        """
        (rows, query), (pool, pool_query) = _spread(self.query, queries), _spread(self.pool_query, queries)
        return self.select(rows, pool, queries, query=query, pool_query=pool_query)

    def repeat(self, queries: Ints, ahead: Sequence[Ints]) -> Standings:
        """Repeat some queries, each copy under another order of its ties.

        Args:
            queries: indices of queries.
            ahead: per query, [copy, row of the query] number of tied documents before each.
        """
        copies = self.take(np.repeat(queries, [len(each) for each in ahead]))
        return replace(copies, ahead=np.concatenate([each.ravel() for each in ahead]))

    def pack(self) -> Standings:
        """The same standings in the narrowest types that hold each value exactly, to keep many of them in memory.

        Only `unpack` takes them: sums of narrow integers overflow.
        """
        narrow: dict[str, Any] = {name: _narrow(getattr(self, name)) for name in PER_ROW + PER_POOLED + PER_QUERY}
        return replace(self, **narrow)

    def unpack(self) -> Standings:
        """What was packed, in the types that measures take.

        >>> one = Standings(*[np.array([3])] * 18)
        >>> one.pack().above.dtype.name, one.pack().unpack().above.dtype.name
        ('uint8', 'int64')
        """
        wide = {"i": np.int64, "u": np.int64, "f": np.float64, "b": np.bool_}
        kept: dict[str, Any] = {name: getattr(self, name) for name in PER_ROW + PER_POOLED + PER_QUERY}
        return replace(self, **{name: values.astype(wide[values.dtype.kind]) for name, values in kept.items()})

    def in_tie_order(self) -> Standings:
        """Standings of the lists as the tie order has them, without ties.

        A measure's value on them is its tie-broken value on these, and takes no work on orders that are not asked for.
        The order must be known, no list may end at a depth, and each row must be a document.
        """
        rows, length = self.by_tie_broken_rank, self.last_above + self.last_tied
        moved: dict[str, Any] = {name: getattr(self, name)[rows] for name in ("query", "grade", "score", "item")}
        return replace(
            self,
            **moved,
            above=self.tie_broken_rank[rows] - 1,
            tied=np.ones_like(self.tied),
            ahead=np.zeros_like(self.ahead),
            tied_documents=np.zeros_like(self.tied_documents),
            largest_group=np.minimum(self.largest_group, 1),
            last_above=np.maximum(length - 1, 0),
            last_tied=np.minimum(length, 1),
        )

    @staticmethod
    def merge(shards: Sequence[Standings]) -> Standings:
        """Merge standings over disjoint shards of the documents: above, tied and ahead add.

        Every shard must count all judged documents that any shard lists, by their scores, including those it does not
        hold itself, and break ties by ids alone. The total of ties and the last group cannot be computed from the
        shards: tied_documents, largest_group and last_tied are then 0, and `merged` is True.

        Args:
            shards: standings of the same queries and judgments, at least one.

        Raises:
            InputError: they are not, or a shard ends its lists at a depth.
        """
        first = shards[0]
        orders = [np.lexsort((each.item, each.query)) for each in shards]
        same = all(
            np.array_equal(getattr(first, name)[orders[0]], getattr(each, name)[order])
            for each, order in zip(shards, orders, strict=True)
            for name in ("query", "item", "grade", "score")
        ) and all(np.array_equal(first.pool_item, each.pool_item) for each in shards)
        if not same or any(each.depth is not None for each in shards):
            raise InputError(
                "Shards must count the same judged documents with the same scores, and no shard may end at a depth. "
                "Count every judged document in each shard, and cut after merging."
            )

        def total(name: str) -> Ints:
            values: Ints = sum(getattr(each, name)[order] for each, order in zip(shards, orders, strict=True))
            return values

        above, tied = total("above"), total("tied")
        unknown = np.any([each.ahead[order] < 0 for each, order in zip(shards, orders, strict=True)], axis=0)
        ahead = np.where(unknown, -1, total("ahead"))
        query, grade = first.query[orders[0]], first.grade[orders[0]]
        rows = np.lexsort((-grade, above, query))
        nothing = np.zeros(first.queries, dtype=np.int64)
        listed = np.any([each.pool_listed for each in shards], axis=0)
        return first.select(
            orders[0][rows],
            np.arange(len(first.pool_query)),
            np.arange(first.queries),
            above=above[rows],
            tied=tied[rows],
            ahead=ahead[rows],
            listed=np.sum([each.listed for each in shards], axis=0),
            pool_listed=listed,
            tied_documents=nothing,
            largest_group=nothing,
            last_above=nothing,
            last_tied=nothing,
            absent=np.all([each.absent for each in shards], axis=0),
            merged=True,
        )

    @property
    def matched(self) -> int:
        """Number of judged documents that the run lists; in arrays, those left out of the pool are listed too."""
        return len(self.query) + int(self.judged.sum()) - len(self.pool_query)

    @property
    def queries(self) -> int:
        """Number of queries."""
        return len(self.listed)

    @cached_property
    def groups(self) -> Groups:
        """The tie groups with a judged document in them."""
        new = np.ones(len(self.query), dtype=bool)
        new[1:] = (self.query[1:] != self.query[:-1]) | (self.above[1:] != self.above[:-1])
        start = new.nonzero()[0]
        of_row = new.cumsum() - 1
        place = np.arange(len(self.query)) - start[of_row]
        return Groups(self.query[start], self.above[start], self.tied[start], start, np.bincount(of_row), of_row, place)

    @cached_property
    def pool_place(self) -> Ints:
        """[pool] position of each judged document among its query's, best grade first, from 0."""
        return place_in_query(self.pool_query, self.queries)

    @cached_property
    def list_base(self) -> Bools:
        """[pool] whether base='list' counts the document: it is listed, or the run lacks the query.

        A query that the run lacks is not empty if the judgments have something to find: it falls under the policy for
        missing queries, not under that for empty ones.
        """
        return self.pool_listed | self.absent[self.pool_query]

    @cached_property
    def tie_broken_rank(self) -> Ints:
        """[row] rank under the tie order, from 1; past every cutoff (NO_LIMIT) where the order is not known."""
        return np.where(self.ahead >= 0, self.above + self.ahead + 1, NO_LIMIT)

    @cached_property
    def by_tie_broken_rank(self) -> Ints:
        """[row] the order that sorts rows by query, then rank under the tie order."""
        if not self.order_is_known or self.last_rank >= NO_LIMIT // (self.queries + 1):
            return np.lexsort((self.tie_broken_rank, self.query))
        # Rows are in order but for those that tie: a stable sort of one number each takes a twentieth of the time.
        return np.argsort(self.query * (self.last_rank + 1) + self.tie_broken_rank, kind="stable")

    @cached_property
    def order_is_known(self) -> bool:
        """Whether the tie order is known, so that tie-broken values exist."""
        return not bool((self.ahead < 0).any())

    @cached_property
    def order_unknown(self) -> Bools:
        """[query] whether the tie order is not known for some judged document of the query."""
        return self.sum_by_query(self.ahead < 0) > 0

    @cached_property
    def last_rank(self) -> int:
        """The largest rank that a judged document can take, at least 1."""
        return int((self.above + self.tied).max(initial=1))

    @cached_property
    def table_length(self) -> int:
        """Length of weight tables: covers every rank of a listed and every place of a pooled document."""
        return max(self.last_rank, int(self.pool_place.max(initial=0)) + 1)

    def limit(self, cutoff: int | None) -> int:
        """The last rank that counts at a cutoff: the minimum of cutoff and depth."""
        return min(NO_LIMIT if cutoff is None else cutoff, NO_LIMIT if self.depth is None else self.depth)

    @cached_property
    def is_cut(self) -> Bools:
        """[row] whether its group crosses the depth, so that the list holds the document in some orders only.

        A row past the depth belongs to a group that crosses it too: retrieved_only has moved it past the depth.
        """
        last = self.limit(None)
        return (self.above + self.tied > last) if self.depth else np.zeros(len(self.query), dtype=bool)

    def cut_size(self, row: int) -> int:
        """Number of documents in the list from the group that crosses the depth, given one of its rows."""
        last = self.limit(None)
        return last - int(self.above[row]) % last

    def sum_by_query(self, rows: NDArray[np.generic]) -> Floats:
        """Sum of a value per row over each query, in the order of rows."""
        return sum_by(self.query, rows, self.queries)

    def sum_pool(self, pool: NDArray[np.generic]) -> Floats:
        """Sum of a value per judged document over each query."""
        return sum_by(self.pool_query, pool, self.queries)

    @cached_property
    def possibly_cut(self) -> Bools:
        """[query] whether the list may have been cut inside its last tie group.

        True if that group holds at least two documents, the list is as long as the longest of the run, and a judged
        document with a grade above 0 is absent. It concerns a measure only if last_above < k.
        """
        found = self.sum_by_query(self.grade > 0)
        wanted = self.sum_pool(self.pool_grade > 0)
        length = self.last_above + self.last_tied
        full = length == length.max(initial=1)
        cut: Bools = (self.last_tied >= 2) & full & (found < wanted)
        return cut


def _narrow(values: NDArray[np.generic]) -> NDArray[np.generic]:
    """The values in the narrowest type that holds them: integers of their range, float32 where it loses nothing."""
    if not len(values) or values.dtype.kind == "b":
        return values
    if values.dtype.kind == "f":
        with np.errstate(over="ignore"):
            single = values.astype(np.float32)
        return single if np.array_equal(single.astype(np.float64), values, equal_nan=True) else values
    narrow = np.promote_types(np.min_scalar_type(values.min()), np.min_scalar_type(values.max()))
    return values.astype(narrow) if narrow.kind in "iu" else values  # -1 beside the largest integer has none


def _spread(owner: Ints, queries: Ints) -> tuple[Ints, Ints]:
    """The elements of some queries, query by query, each with the index of its query in the result.

    Args:
        owner: [element] index of its query, ascending.
        queries: wanted queries.
    """
    start, stop = np.searchsorted(owner, queries), np.searchsorted(owner, queries, side="right")
    return ranges(start, stop - start), np.repeat(np.arange(len(queries)), stop - start)


def sum_by(index: Ints, values: NDArray[np.generic], size: int) -> Floats:
    """Sum values by index, in their order.

    >>> sum_by(np.array([0, 2, 2]), np.array([1.0, 2.0, 3.0]), 3).tolist()
    [1.0, 0.0, 5.0]
    """
    # For empty input, bincount returns integers.
    return np.bincount(index, weights=values, minlength=size).astype(np.float64, copy=False)


def root_sum_squares(index: Ints, values: Floats, size: int) -> Floats:
    """Root of the sum of squares of nonnegative values by index, also where a square overflows.

    >>> [f"{root:.3g}" for root in root_sum_squares(np.array([0, 0]), np.array([3e200, 4e200]), 2)]
    ['5e+200', '0']
    """
    if len(values) and values.min() > 1e-150 and values.max() < 1e150:
        return np.asarray(np.sqrt(sum_by(index, values**2, size)))
    most = np.zeros(size)
    np.maximum.at(most, index, values)
    scale = np.frexp(most)[1]
    return np.ldexp(np.sqrt(sum_by(index, np.ldexp(values, -scale[index]) ** 2, size)), scale)


def place_in_query(query: Ints, queries: int) -> Ints:
    """Position of each element inside its query, from 0; elements of a query are adjacent and queries ascend.

    >>> place_in_query(np.array([0, 0, 2]), 3).tolist()
    [0, 1, 0]
    """
    counts = np.bincount(query, minlength=queries)
    return np.arange(len(query)) - (counts.cumsum() - counts)[query]
