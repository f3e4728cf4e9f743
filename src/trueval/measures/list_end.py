"""List ends: measures of whole lists where the depth cuts a group of tied documents.

A list ends at the depth. Which documents of a group across it are in the list depends on their order, so the ideal and
the number of relevant documents of the list (base='list') are random. The first T of m tied documents are a random
subset, so it is enough to know how many of each kind are among them, and given that, the list ends with a group of T::

    E = sum over outcomes of P(outcome) E[value | outcome],   least and greatest value over all outcomes

Each outcome is one more copy of the query, evaluated as any other list.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import lru_cache, wraps
from typing import NamedTuple, TypeAlias

import numpy as np

from trueval.errors import PolicyError
from trueval.measures.measure import Measure, Values
from trueval.measures.orders.group_draws import draw
from trueval.standings.standings import Bools, Floats, Ints, Standings

Compute: TypeAlias = Callable[[Standings, Measure], Values]

# Rows of copies evaluated at once: about 200 MB including temporary arrays of measures.
ROWS = 1 << 20
# Maximum copies of one query times its rows; more would take over a few seconds.
MOST_ROWS = 1 << 23


def ends_at_depth(kind: Callable[[Floats, Measure], Bools | Floats]) -> Callable[[Compute], Compute]:
    """Turn a measure of whole lists into one of lists that end at the depth.

    Args:
        kind: function from grades and the measure to what the measure distinguishes; 0 for documents it ignores.
    """

    def decorate(compute: Compute) -> Compute:
        @wraps(compute)
        def of_ended(standings: Standings, measure: Measure) -> Values:
            values = compute(standings, measure)
            if standings.depth is None or not sees_end(measure):
                return values
            cut = _TiedEnd.find(standings, np.asarray(kind(standings.grade, measure), dtype=np.float64))
            return (
                values
                if not len(cut.queries)
                else _average_over_outcomes(standings, cut, values, lambda s: compute(s, measure))
            )

        return of_ended

    return decorate


def sees_end(measure: Measure) -> bool:
    """Whether the measure depends on which documents are in the list, even past its cutoff, beyond their ranks.

    With one threshold for each distinct score, all documents of the last group enter with those that are in the list.
    """
    parameters = measure.definition.parameters
    return any(
        name in parameters and measure[name] == value for name, value in (("base", "list"), ("norm", "threshold"))
    )


class _TiedEnd(NamedTuple):
    """The groups that the depth cuts.

    Attributes:
        row: [row] whether it is in such a group.
        kind: [row] kind that the measure distinguishes.
        queries: queries whose group has a document that the measure does not ignore, ascending.
    """

    row: Bools
    kind: Floats
    queries: Ints

    @staticmethod
    def find(standings: Standings, kind: Floats) -> _TiedEnd:
        row = standings.is_cut
        return _TiedEnd(row, kind, np.unique(standings.query[row & (kind != 0)]))


class _Copies(NamedTuple):
    """Copies of one query, one per outcome and one more under the tie order.

    Attributes:
        query: index of the query.
        kept: [copy, row of the query] whether the list holds the document.
        chance: [outcome] probability, for all copies but the last.
    """

    query: int
    kept: Bools
    chance: Floats


def _average_over_outcomes(
    standings: Standings, cut: _TiedEnd, values: Values, compute: Callable[[Standings], Values]
) -> Values:
    """The values of a measure, averaged over all outcomes for queries whose lists end inside a group."""
    names = ("expected", "lowest", "highest", "tie_broken", "sd")
    out = {name: getattr(values, name).copy() for name in names}
    ones, undefined = {name: column.copy() for name, column in out.items()}, values.undefined.copy()
    in_part, exact = np.zeros(standings.queries, dtype=bool), values.exact
    chances: dict[int, list[Floats]] = {}
    columns: dict[int, list[Floats]] = {}
    for copies in _chunks(standings, cut):
        found = compute(_standings_of(standings, copies))
        exact &= found.exact
        rows = np.array([*(getattr(found, name) for name in names), found.undefined])
        end = 0
        for query, kept, chance in copies:
            begin, end = end, end + len(kept)
            chances.setdefault(query, []).append(chance)
            columns.setdefault(query, []).append(rows[:, begin:end])
    for query, parts in columns.items():
        # Each part of the outcomes of a query ends with the copy of the tie order.
        all_copies = np.concatenate([*(part[:, :-1] for part in parts), parts[0][:, -1:]], axis=1)
        empty = all_copies[-1] > 0
        undefined[query] = empty[:-1].all()
        in_part[query] = empty[:-1].any() and not undefined[query]
        for target, nothing in ((out, 0.0), (ones, 1.0)):
            told = np.where(empty, np.array([[nothing]] * 4 + [[0.0]]), all_copies[:-1])
            for name, value in zip(names, _mixture(told, np.concatenate(chances[query])), strict=True):
                target[name][query] = value
    result = values._replace(**out, undefined=undefined, exact=exact)
    if not in_part.any():
        return result
    return result._replace(partly_empty=values._replace(**ones, undefined=in_part, exact=exact))


def _mixture(copies: Floats, chance: Floats) -> tuple[float, float, float, float, float]:
    """The five statistics over outcomes, from those of the copies; the last copy is under the tie order."""
    expected, lowest, highest, tie_broken, sd = copies
    low, high = float(lowest[:-1].min()), float(highest[:-1].max())
    mean = min(max(float(expected[:-1] @ chance), low), high)
    variance = float((sd[:-1] ** 2 + (expected[:-1] - mean) ** 2) @ chance)
    return mean, low, high, float(tie_broken[-1]), float(np.sqrt(variance)) if high > low else 0.0


def _chunks(standings: Standings, cut: _TiedEnd) -> Iterator[list[_Copies]]:
    """The copies of the queries whose lists end inside a group, in chunks that fit in memory."""
    copies: list[_Copies] = []
    total = 0
    for query in cut.queries.tolist():
        for part in _parts(_copies(standings, cut, query)):
            if copies and total + part.kept.size > ROWS:
                yield copies
                copies, total = [], 0
            copies.append(part)
            total += part.kept.size
    yield copies


def _parts(copies: _Copies) -> Iterator[_Copies]:
    """The outcomes of a query in parts that fit in memory, each ending with the copy under the tie order."""
    outcomes, rows = len(copies.chance), copies.kept.shape[1]
    step = max(1, ROWS // max(1, rows))
    for begin in range(0, outcomes, step):
        own = slice(begin, min(begin + step, outcomes))
        yield _Copies(copies.query, np.concatenate((copies.kept[own], copies.kept[-1:])), copies.chance[own])


def _copies(standings: Standings, cut: _TiedEnd, query: int) -> _Copies:
    rows = np.arange(*np.searchsorted(standings.query, [query, query + 1]))
    inside, kind = cut.row[rows], cut.kind[rows]
    first = rows[inside][0]
    size, tied = standings.cut_size(int(first)), int(standings.tied[first])
    seen = np.unique(kind[inside & (kind != 0)])
    counts = tuple(int((inside & (kind == each)).sum()) for each in seen.tolist())
    if np.prod([min(count, size) + 1.0 for count in counts]) * len(rows) > MOST_ROWS:
        raise PolicyError(
            f"depth {standings.depth} cuts a group of {tied} equal scores that hold {sum(counts)} documents of "
            f"{len(counts)} kinds; which of them the list holds can turn out in too many ways to count. Choose "
            "base='judgments', or cut the lists in the file."
        )
    outcomes = _drawn(counts, tied, size)
    kept = np.repeat(~inside[None, :], len(outcomes.chance) + 1, axis=0)
    for column, each in enumerate(seen.tolist()):
        own = np.flatnonzero(inside & (kind == each))
        # Documents of one kind are interchangeable, so the first ones are used.
        kept[:-1, own] = np.arange(len(own)) < outcomes.counts[:, [column]]
    ahead, visible = standings.ahead[rows], inside & (kind != 0)
    # Under the tie order, the position of each counted document among the counted ones of its group.
    place = np.argsort(np.argsort(np.where(visible, ahead, tied), kind="stable"), kind="stable")
    # Where the order is unknown, all have nothing ahead, too many for the list; their value is not used.
    kept[-1] |= visible & (ahead < size) & (place < size)
    return _Copies(query, kept, outcomes.chance)


# Many queries have lists that end alike: 1,000 that end inside a pair with one relevant document share their draws.
_drawn = lru_cache(maxsize=256)(draw)


def _standings_of(standings: Standings, copies: list[_Copies]) -> Standings:
    """The copies of some queries as standings."""
    number = [len(each.kept) for each in copies]
    whole, last = standings.take(np.repeat([each.query for each in copies], number)), standings.limit(None)
    kept, inside = np.concatenate([each.kept.ravel() for each in copies]), whole.is_cut
    retrieved = kept & (whole.above < last)
    # It does not matter which documents of a kind a copy keeps, nor their order: they count from 0, except in the last
    # copy of a query, which has the tie order.
    counted = np.cumsum(retrieved & inside)
    before = np.append(0, counted)[whole.query.searchsorted(np.arange(whole.queries))]
    by_ties = np.isin(whole.query, np.cumsum(number) - 1)
    places = np.where(inside & (whole.ahead >= 0) & ~by_ties, counted - 1 - before[whole.query], whole.ahead)
    # The list holds a judged document of the cut group in the copies that keep it.
    most = int(max(whole.item.max(initial=0), whole.pool_item.max(initial=0))) + 1
    key, wanted = whole.query * most + whole.item, whole.pool_query * most + whole.pool_item
    order = np.argsort(key)
    row = order[np.minimum(np.searchsorted(key, wanted, sorter=order), len(key) - 1)]
    listed = np.where((key[row] == wanted) & inside[row], kept[row], whole.pool_listed)
    return whole.select(
        np.flatnonzero(retrieved),
        np.arange(len(wanted)),
        np.arange(whole.queries),
        query=whole.query[retrieved],
        tied=np.where(inside, last - whole.above % last, whole.tied)[retrieved],
        ahead=places[retrieved],
        pool_listed=listed,
    )
