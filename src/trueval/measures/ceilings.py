"""Ceilings: what the first P candidates of a run would allow if a reranker put the best of them first.

    PROC(M, pool=P)@K   M of the best K documents among the first P candidates, still over the norm of the judgments
    pPROC               M / PROC, the share of the ceiling that the order of the run realizes
    retrieval headroom  1 - PROC, what only better candidates can win;   ordering headroom  PROC - M

A tie group across P makes the candidates random, one across K the chosen documents; both are counted out exactly, also
where it is the same group. Source: P-B (Dallaire 2025, arXiv 2511.09545) §1, §5.1, tables 3-6.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import numpy as np

from trueval.errors import MeasureError
from trueval.measures.evidence import cut_counts, cutoff_of, set_values
from trueval.measures.linear import extreme_ranks
from trueval.measures.measure import Definition, Measure, Values, no_values, register
from trueval.measures.orders.draws import draw, moments, sizes_by_value
from trueval.measures.rarity import COLUMNS, best_gain
from trueval.measures.worth import Worth, worth_of
from trueval.specs import Parameter, Value
from trueval.standings.standings import Bools, Floats, Standings


def _whole(value: Value) -> Value:
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise ValueError(value)
    return value


POOL = Parameter(None, "an integer >= 1", _whole, "candidates from the top of the run; all that it lists by default")


class Parts(NamedTuple):
    """A measure and its ceiling.

    Attributes:
        worth: weights, norm and undefined queries of the inner measure.
        actual: the inner measure.
        ceiling: its value for the best K of the candidates.
        cutoff: the last rank of the chosen documents that counts, K.
        pool: the last rank of the candidates that counts, P.
    """

    worth: Worth
    actual: Values
    ceiling: Values
    cutoff: int
    pool: int


def _parts(standings: Standings, measure: Measure) -> Parts:
    inner, cutoff = _inner(measure), cutoff_of(measure)
    pool = standings.limit(None if measure["pool"] is None else int(measure.number("pool")))
    worth = worth_of(standings, inner, cutoff)
    actual = set_values(standings, inner @ cutoff, worth)
    last = standings.limit(cutoff)
    return Parts(worth, actual, _ceiling(standings, worth, last, pool), last, pool)


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


def _ceiling(standings: Standings, worth: Worth, size: int, pool: int) -> Values:
    """The best `size` of the first `pool` candidates, over the norm."""
    ranks = extreme_ranks(standings, worth.of_rows(standings))
    highest = _best_of(standings, worth, ranks.highest <= pool, size)
    lowest = _best_of(standings, worth, ranks.lowest <= pool, size)
    tie_broken = no_values(standings.queries)
    if standings.order_is_known:
        tie_broken = _best_of(standings, worth, standings.tie_broken_rank <= pool, size)
    expected, sd = highest.copy(), np.zeros(standings.queries)
    # Only for these does it matter which documents of a tie group the pool takes in.
    for query in np.flatnonzero(highest > lowest).tolist():
        surely, tied, population, drawn = cut_counts(standings, query, pool)
        outcomes = draw(sizes_by_value(tied, worth.weights[query]), population, drawn)
        values = _best(worth, query, surely + outcomes.counts, size)
        expected[query], sd[query] = moments(values, outcomes.chance)
    return Values(np.clip(expected, lowest, highest), lowest, highest, tie_broken, sd, worth.undefined)


def _best_of(standings: Standings, worth: Worth, inside: Bools, size: int) -> Floats:
    """[query] the best `size` among some listed documents, over the norm."""
    place = (standings.query * COLUMNS + standings.grade.astype(np.int64))[inside]
    counts = np.bincount(place, minlength=standings.queries * COLUMNS).reshape(-1, COLUMNS).astype(float)
    total = best_gain(counts, worth.weights, size)
    return np.divide(total, worth.norm, out=np.zeros_like(total), where=worth.norm > 0)


def _best(worth: Worth, query: int, counts: Floats, size: int) -> Floats:
    """[outcome] the best `size` among documents of one query counted by grade, over the norm."""
    weights = np.broadcast_to(worth.weights[query], counts.shape)
    total: Floats = best_gain(counts, weights, size) / worth.norm[query]
    return total


def _proc(standings: Standings, measure: Measure) -> Values:
    return _parts(standings, measure).ceiling


def _retrieval_headroom(standings: Standings, measure: Measure) -> Values:
    """1 - PROC."""
    return _parts(standings, measure).ceiling.complement()


def _ordering_headroom(standings: Standings, measure: Measure) -> Values:
    """PROC - M."""
    return _joint(standings, _parts(standings, measure), lambda ways: ways)


def _share_of_ceiling(standings: Standings, measure: Measure) -> Values:
    """M / PROC; undefined as soon as some order leaves nothing of worth among the candidates."""
    parts = _parts(standings, measure)
    values = _joint(standings, parts, _as_share)
    nothing = (parts.ceiling.lowest == 0) & (standings.listed > 0)
    return values._replace(undefined=parts.worth.undefined | nothing)


class Ways(NamedTuple):
    """What the measure can be for each outcome of the cut that decides the candidates.

    Attributes:
        mean: [outcome] mean of the difference of ceiling and measure, or of their ratio.
        variance: [outcome] its variance.
        least: [outcome] its least value.
        most: [outcome] its greatest value.
        ceiling: [outcome] the ceiling.
        chance: [outcome] of the outcome.
    """

    mean: Floats
    variance: Floats
    least: Floats
    most: Floats
    ceiling: Floats
    chance: Floats


def _as_share(ways: Ways) -> Ways:
    """From ceiling - measure to measure / ceiling; 0 where the ceiling is."""
    scale = np.divide(1.0, ways.ceiling, out=np.zeros_like(ways.ceiling), where=ways.ceiling > 0)
    mean, most, least = ((ways.ceiling - each) * scale for each in (ways.mean, ways.least, ways.most))
    return ways._replace(mean=mean, variance=ways.variance * scale**2, least=least, most=most)


def _joint(standings: Standings, parts: Parts, of: Callable[[Ways], Ways]) -> Values:
    """The difference of the ceiling and the measure in the same order of the run, or what is made of it."""
    actual, ceiling = parts.actual, parts.ceiling
    nothing = np.zeros(standings.queries)
    # One way only, where no tie moves the measure or the ceiling.
    settled = Ways(ceiling.expected - actual.expected, nothing, nothing, nothing, ceiling.expected, nothing)
    expected = of(settled).mean
    lowest, highest, sd = expected.copy(), expected.copy(), nothing.copy()
    tie_broken = of(settled._replace(mean=ceiling.tie_broken - actual.tie_broken, ceiling=ceiling.tie_broken)).mean
    moving = (actual.highest > actual.lowest) | (ceiling.highest > ceiling.lowest)
    for query in np.flatnonzero(moving & ~parts.worth.undefined).tolist():
        ways = of(_ways(standings, parts, query))
        lowest[query], highest[query] = ways.least.min(), ways.most.max()
        mean = float(ways.mean @ ways.chance)
        variance = float((ways.variance + (ways.mean - mean) ** 2) @ ways.chance)
        expected[query] = np.clip(mean, lowest[query], highest[query])
        sd[query] = np.sqrt(variance) if highest[query] > lowest[query] else 0
    return Values(expected, lowest, highest, tie_broken, sd, parts.worth.undefined)


def _ways(standings: Standings, parts: Parts, query: int) -> Ways:
    """What the candidates can be, and for each the difference of ceiling and measure.

    Where K and P cut the same group, the first K draw from the candidates that were drawn: mean and variance of such a
    sum have closed forms, its extremes take the best and leave the best out. Otherwise the two cuts are independent.
    """
    surely, tied, population, drawn = cut_counts(standings, query, parts.pool)
    weights = parts.worth.weights[query]
    outcomes = draw(sizes_by_value(tied, weights), population, drawn)
    counts = outcomes.counts
    ceiling = _best(parts.worth, query, surely + counts, parts.cutoff)
    ones, actual = np.ones(len(counts)), parts.actual
    mean, variance = actual.expected[query] * ones, actual.sd[query] ** 2 * ones
    least, most = actual.lowest[query] * ones, actual.highest[query] * ones
    groups = standings.groups
    cut_by_both = (groups.above < parts.cutoff) & (groups.above + groups.tied > parts.pool)
    if (cut_by_both & (groups.query == query)).any():
        chosen, _, _, places = cut_counts(standings, query, parts.cutoff)
        sure, total = chosen @ weights / parts.worth.norm[query], counts @ weights / parts.worth.norm[query]
        squares = counts @ weights**2 / parts.worth.norm[query] ** 2
        mean = sure + total * places / drawn
        # Of a sum of `places` out of `drawn` documents, without replacement.
        spread = places * (drawn - places) / max(drawn - 1, 1)
        variance = np.maximum(spread * (squares / drawn - (total / drawn) ** 2), 0)
        # The best of the candidates come first; or last, so that the rest of them is chosen.
        most = sure + _best(parts.worth, query, counts, places)
        least = sure + total - _best(parts.worth, query, counts, drawn - places)
    return Ways(ceiling - mean, variance, ceiling - most, ceiling - least, ceiling, outcomes.chance)


def _shares(standings: Standings, measure: Measure, counted: Bools) -> dict[str, float]:
    """The ratio of the macro means, as P-B's tables have it, beside the mean of the ratios."""
    parts = _parts(standings, measure)
    ceiling = float(parts.ceiling.expected[counted].sum())
    return {"ratio_of_means": float(parts.actual.expected[counted].sum()) / ceiling} if ceiling else {}


_ceiling_of = partial(
    Definition, cutoff_use="required", parameters={"pool": POOL}, empty="na", needs_zeros=True, takes_measure=True
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
