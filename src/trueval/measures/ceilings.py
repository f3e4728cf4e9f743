"""Ceilings: the value that the first P candidates of a run allow if a reranker puts the best of them first.

    PROC(M, pool=P)@K   M of the best K documents among the first P candidates, still over the norm of the judgments
    pPROC               M / PROC, the share of the ceiling that the order of the run realizes
    retrieval headroom  1 - PROC, what only better candidates can win;   ordering headroom  PROC - M

A tie group across P makes the candidates random, one across K the chosen documents; both are counted out exactly, also
where it is the same group. Source: P-B (Dallaire 2025, arXiv 2511.09545) §1, §5.1, tables 3-6.
"""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from trueval.errors import MeasureError
from trueval.measures.evidence import cut_counts, cutoff_of, set_values
from trueval.measures.grade_values import GradeValues, weigh_grades
from trueval.measures.linear import extreme_ranks
from trueval.measures.measure import Definition, Measure, Values, no_values, register
from trueval.measures.orders.best_of_draws import (
    MOST_OUTCOMES,
    CandidatePool,
    RunTop,
    best_moments,
    lead_variance,
    share_moments,
)
from trueval.measures.orders.group_draws import three_kinds
from trueval.measures.rarity import COLUMNS, best_counts, best_gain
from trueval.measures.span import UNIT
from trueval.specs import Parameter, Value
from trueval.standings.standings import Bools, Floats, Standings


def _whole(value: Value) -> Value:
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise ValueError(value)
    return value


POOL = Parameter(None, "an integer >= 1", _whole, "candidates from the top of the run; all that it lists by default")


class CeilingParts(NamedTuple):
    """A measure and its ceiling.

    Attributes:
        worth: weights, norm and undefined queries of the inner measure.
        ceiling: its value for the best K of the candidates.
        cutoff: the last rank of the chosen documents that counts, K.
        pool: the last rank of the candidates that counts, P.
    """

    worth: GradeValues
    actual: Values
    ceiling: Values
    cutoff: int
    pool: int


def _parts(standings: Standings, measure: Measure) -> CeilingParts:
    inner, cutoff = _inner(measure), cutoff_of(measure)
    pool = standings.limit(None if measure["pool"] is None else int(measure.number("pool")))
    worth = weigh_grades(standings, inner, cutoff)
    actual = set_values(standings, inner @ cutoff, worth)
    last = standings.limit(cutoff)
    return CeilingParts(worth, actual, _ceiling(standings, worth, last, pool), last, pool)


def _inner(measure: Measure) -> Measure:
    """The measure inside the brackets, checked."""
    inner = measure.inner
    if inner is None:
        raise MeasureError(f"{measure.name} needs a measure inside, for example {measure.name}(RA-nWG, pool=50)@10.")
    if inner.cutoff is not None:
        raise MeasureError(
            f"The cutoff is written outside the brackets: {measure.name}({inner.name}, ...)@{inner.cutoff}."
        )
    if inner.better == "lower":
        raise MeasureError(f"{measure.name} needs a measure where higher is better. Got {inner}.")
    if "unjudged" in inner.definition.parameters and inner["unjudged"] != "nothing":
        raise MeasureError(
            f"{measure.name} needs unjudged='nothing' inside: an upper bound has no ceiling. Got {inner}."
        )
    if measure["pool"] is not None and measure.number("pool") < cutoff_of(measure):
        raise MeasureError(f"pool of {measure} must be at least the cutoff: K documents are chosen from the pool.")
    return inner


def _ceiling(standings: Standings, worth: GradeValues, size: int, pool: int) -> Values:
    """The value of the best `size` among the first `pool` candidates, over the norm."""
    ranks = extreme_ranks(standings, worth.of_rows(standings))
    highest = _best_of(standings, worth, ranks.highest <= pool, size)
    lowest = _best_of(standings, worth, ranks.lowest <= pool, size)
    tie_broken = no_values(standings.queries)
    if standings.order_is_known:
        tie_broken = _best_of(standings, worth, standings.tie_broken_rank <= pool, size)
    expected, sd = highest.copy(), np.zeros(standings.queries)
    # Only for these queries does it matter which documents of a tie group are in the pool.
    for query in np.flatnonzero(highest > lowest).tolist():
        mean, variance = best_moments(_pool(standings, worth, query, size, pool))
        expected[query], sd[query] = mean, np.sqrt(variance)
    return Values(np.clip(expected, lowest, highest), lowest, highest, tie_broken, sd, worth.undefined)


def _pool(standings: Standings, worth: GradeValues, query: int, size: int, pool: int) -> CandidatePool:
    """The first `pool` candidates of a query, with their values over the norm."""
    surely, tied, population, drawn = cut_counts(standings, query, pool)
    kinds = three_kinds(worth.weights[query] / worth.norm[query])
    return CandidatePool(kinds.values, kinds.documents(surely), kinds.documents(tied), population, drawn, size)


def _best_of(standings: Standings, worth: GradeValues, inside: Bools, size: int) -> Floats:
    """[query] value of the best `size` listed documents, over the norm."""
    place = (standings.query * COLUMNS + standings.grade.astype(np.int64))[inside]
    counts = np.bincount(place, minlength=standings.queries * COLUMNS).reshape(-1, COLUMNS).astype(float)
    total = best_gain(counts, worth.weights, size)
    return np.divide(total, worth.norm, out=np.zeros_like(total), where=worth.norm > 0)


def _proc(standings: Standings, measure: Measure) -> Values:
    return _parts(standings, measure).ceiling


def _retrieval_headroom(standings: Standings, measure: Measure) -> Values:
    """1 - PROC."""
    return _parts(standings, measure).ceiling.complement()


def _ordering_headroom(standings: Standings, measure: Measure) -> Values:
    """PROC - M, whose mean is the difference of the means."""
    parts = _parts(standings, measure)
    actual, ceiling = parts.actual, parts.ceiling
    lowest, highest = ceiling.lowest - actual.highest, ceiling.highest - actual.lowest
    sd = np.hypot(ceiling.sd, actual.sd)
    for query in np.flatnonzero(_cut_by_both(standings, parts) & (ceiling.highest > ceiling.lowest)).tolist():
        best, worst = _extremes(standings, parts, query)
        pool, chosen = _pool_and_top(standings, parts, query, both=True)
        lowest[query], highest[query] = best.ideal - best.chosen, worst.ideal - worst.chosen
        sd[query] = np.sqrt(lead_variance(pool, chosen))
    lowest = np.maximum(lowest, 0)
    highest = np.maximum(highest, lowest)
    expected = np.clip(ceiling.expected - actual.expected, lowest, highest)
    tie_broken = np.clip(ceiling.tie_broken - actual.tie_broken, lowest, highest)
    return Values(expected, lowest, highest, tie_broken, np.where(highest > lowest, sd, 0), parts.worth.undefined)


def _share_of_ceiling(standings: Standings, measure: Measure) -> Values:
    """M / PROC; undefined where some order leaves no candidate of value."""
    parts = _parts(standings, measure)
    actual, ceiling = parts.actual, parts.ceiling
    expected, sd = _over(actual.expected, ceiling.expected), _over(actual.sd, ceiling.expected)
    lowest, highest = _over(actual.lowest, ceiling.highest), _over(actual.highest, ceiling.lowest)
    undefined = parts.worth.undefined | ((ceiling.lowest == 0) & ~standings.absent)
    both, exact = _cut_by_both(standings, parts), True
    for query in np.flatnonzero((ceiling.highest > ceiling.lowest) & ~undefined).tolist():
        if both[query]:
            best, worst = _extremes(standings, parts, query)
            lowest[query], highest[query] = _over(worst.chosen, worst.ideal), _over(best.chosen, best.ideal)
        pool, chosen = _pool_and_top(standings, parts, query, both=bool(both[query]))
        if pool.outcomes() > MOST_OUTCOMES:
            exact, expected[query], sd[query] = False, (lowest[query] + highest[query]) / 2, np.nan
        else:
            expected[query], variance = share_moments(pool, chosen)
            sd[query] = np.sqrt(variance)
    expected, sd = np.clip(expected, lowest, highest), np.where(highest > lowest, sd, 0)
    tie_broken = np.clip(_over(actual.tie_broken, ceiling.tie_broken), lowest, highest)
    values = Values(expected, lowest, highest, tie_broken, sd, undefined, exact)
    return values if exact else values._replace(margin=np.where(np.isnan(sd), (highest - lowest) / 2, 0))


def _over(value: ArrayLike, ceiling: ArrayLike) -> Floats:
    """The ratio, or 0 where the denominator is 0."""
    ceiling = np.asarray(ceiling, dtype=np.float64)
    return np.asarray(np.divide(value, ceiling, out=np.zeros_like(ceiling), where=ceiling != 0))


def _cut_by_both(standings: Standings, parts: CeilingParts) -> Bools:
    """[query] whether K and P cut the same group: the first K are then drawn from the drawn candidates."""
    groups = standings.groups
    both = (groups.above < parts.cutoff) & (groups.above + groups.tied > parts.pool)
    return np.bincount(groups.query[both], minlength=standings.queries) > 0


def _pool_and_top(standings: Standings, parts: CeilingParts, query: int, *, both: bool) -> tuple[CandidatePool, RunTop]:
    """The candidates of a query and its top documents, which are dependent only where both cut the same group."""
    pool = _pool(standings, parts.worth, query, parts.cutoff, parts.pool)
    if not both:
        return pool, RunTop(float(parts.actual.expected[query]), float(parts.actual.sd[query]) ** 2, 0)
    _, _, _, places = cut_counts(standings, query, parts.cutoff)
    return pool, RunTop(float(np.dot(pool.surely, pool.values)), 0.0, places)


class Extreme(NamedTuple):
    """The values of one outcome, over the norm.

    Attributes:
        chosen: value of the first K documents.
        ideal: value of the best K candidates.
    """

    chosen: float
    ideal: float


def _extremes(standings: Standings, parts: CeilingParts, query: int) -> tuple[Extreme, Extreme]:
    """The orders with the first K closest to the ideal and farthest from it, where K and P cut the same group.

    Whatever else is drawn, worthier documents among the first K raise them by no less than the ideal, and worthier
    candidates after them raise the ideal alone. So the closest are the best of the group first, then its worst; the
    farthest are its worst first, then its best.
    """
    surely, tied, population, drawn = cut_counts(standings, query, parts.pool)
    _, _, _, places = cut_counts(standings, query, parts.cutoff)
    # Unjudged documents count as grade 0, which has value 0.
    group, weights = tied.copy(), parts.worth.weights[query]
    group[0] += population - tied.sum()
    found = []
    for sign in (1, -1):
        first = best_counts(group, sign * weights, places)
        after = best_counts(group, -sign * weights, drawn - places)
        ideal = best_counts(surely + first + after, weights, parts.cutoff)
        found.append(Extreme(*((counts @ weights) / parts.worth.norm[query] for counts in (surely + first, ideal))))
    return found[0], found[1]


def _shares(standings: Standings, measure: Measure, counted: Bools) -> dict[str, float]:
    """The ratio of the macro means, as in P-B's tables, in addition to the mean of the ratios."""
    parts = _parts(standings, measure)
    ceiling = float(parts.ceiling.expected[counted].sum())
    return {"ratio_of_means": float(parts.actual.expected[counted].sum()) / ceiling} if ceiling else {}


_ceiling_of = partial(
    Definition,
    cutoff_use="required",
    parameters={"pool": POOL},
    empty="na",
    needs_zeros=True,
    takes_measure=True,
    span=UNIT,
)
PROC = register(
    _ceiling_of(
        "PROC",
        "Pool-restricted oracle ceiling: the value if the best K of the first P candidates came first.",
        "sum of the K largest w(d) with rank(d) <= P, over the norm of the inner measure",
        "P-B (Dallaire 2025) §1, §5.1",
        _proc,
    )
)
pPROC = register(
    _ceiling_of(
        "pPROC",
        "Share of the ceiling that the order of the run realizes, %PROC; its mean is the mean of ratios.",
        "M@K / PROC(M, pool=P)@K",
        "P-B (Dallaire 2025) §1, table 4",
        _share_of_ceiling,
        details=_shares,
    )
)
retrieval_headroom = register(
    _ceiling_of(
        "retrieval_headroom",
        "What only better candidates can win; lower is better.",
        "1 - PROC(M, pool=P)@K",
        "P-B (Dallaire 2025) §1; docs/formulas.md §5",
        _retrieval_headroom,
        better="lower",
        worst=1.0,
    )
)
ordering_headroom = register(
    _ceiling_of(
        "ordering_headroom",
        "What a better order of the same candidates can win; lower is better.",
        "PROC(M, pool=P)@K - M@K",
        "P-B (Dallaire 2025) §1; docs/formulas.md §5",
        _ordering_headroom,
        better="lower",
    )
)
