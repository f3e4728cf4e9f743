"""Ceilings: what the first P candidates of a run would allow if a reranker put the best of them first.

    PROC(M, pool=P)@K   M of the best K documents among the first P candidates, still over the norm of the judgments
    pPROC               M / PROC, the share of the ceiling that the order of the run realizes
    retrieval headroom  1 - PROC, what only better candidates can win;   ordering headroom  PROC - M

A tie group across P makes the candidates random, one across K the chosen documents; both are counted out exactly, also
where it is the same group. Source: P-B (Dallaire 2025, arXiv 2511.09545) §1, §5.1, tables 3-6.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from trueval.errors import MeasureError
from trueval.measures.draws import draw, moments
from trueval.measures.evidence import cut_counts, cutoff_of, set_values
from trueval.measures.linear import extreme_ranks
from trueval.measures.measure import Definition, Measure, Parameter, Value, Values, no_values, register
from trueval.measures.rarity import COLUMNS, best_gain
from trueval.measures.worth import Worth, worth_of
from trueval.standings import Bools, Floats, Standings


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
        raise MeasureError(f"The cutoff stands outside the brackets: {measure.name}({inner.name}, ...)@{inner.cutoff}.")
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
    oblivious = no_values(standings.queries)
    if standings.order_is_known:
        oblivious = _best_of(standings, worth, standings.oblivious_rank <= pool, size)
    expected, sd = highest.copy(), np.zeros(standings.queries)
    for query in np.flatnonzero(highest > lowest).tolist():
        surely, tied, population, drawn = cut_counts(standings, query, pool)
        outcomes = draw(tied.astype(int).tolist(), population, drawn)
        values = _best(worth, query, surely + outcomes.counts, size)
        expected[query], sd[query] = moments(values, outcomes.chance)
    return Values(np.clip(expected, lowest, highest), lowest, highest, oblivious, sd, worth.undefined)


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
    ceiling = _parts(standings, measure).ceiling
    return ceiling._replace(
        expected=1 - ceiling.expected,
        lowest=1 - ceiling.highest,
        highest=1 - ceiling.lowest,
        oblivious=1 - ceiling.oblivious,
    )


def _ordering_headroom(standings: Standings, measure: Measure) -> Values:
    """PROC - M."""
    return _joint(standings, _parts(standings, measure), lambda actual, ceiling: ceiling - actual)


def _share_of_ceiling(standings: Standings, measure: Measure) -> Values:
    """M / PROC; undefined as soon as some order leaves nothing of worth among the candidates."""
    parts = _parts(standings, measure)
    values = _joint(standings, parts, _ratio)
    nothing = (parts.ceiling.lowest == 0) & (standings.listed > 0)
    return values._replace(undefined=parts.worth.undefined | nothing)


def _ratio(actual: Floats, ceiling: Floats) -> Floats:
    return np.divide(actual, ceiling, out=np.zeros_like(actual + ceiling), where=ceiling > 0)


def _joint(standings: Standings, parts: Parts, of: Callable[[Floats, Floats], Floats]) -> Values:
    """A function of a measure and its ceiling in the same order of the run."""
    actual, ceiling = parts.actual, parts.ceiling
    oblivious = of(actual.oblivious, ceiling.oblivious)
    expected, lowest, highest = (of(actual.expected, ceiling.expected) for _ in range(3))
    sd = np.zeros(standings.queries)
    moving = (actual.highest > actual.lowest) | (ceiling.highest > ceiling.lowest)
    for query in np.flatnonzero(moving & ~parts.worth.undefined).tolist():
        outcomes = _outcomes(standings, parts, query)
        values = of(outcomes.actual, outcomes.ceiling)
        expected[query], sd[query] = moments(values, outcomes.chance)
        lowest[query], highest[query] = values.min(), values.max()
    return Values(expected, lowest, highest, oblivious, sd, parts.worth.undefined)


class Outcomes(NamedTuple):
    """[outcome] values of a measure and its ceiling for every way the two cuts can fall, with the chance of each."""

    actual: Floats
    ceiling: Floats
    chance: Floats


def _outcomes(standings: Standings, parts: Parts, query: int) -> Outcomes:
    """List the ways: first what is drawn into the candidates, then what of it into the first K."""
    surely, tied, population, drawn = cut_counts(standings, query, parts.pool)
    chosen, cut, group, places = cut_counts(standings, query, parts.cutoff)
    outer = draw(tied.astype(int).tolist(), population, drawn)
    ceiling = _best(parts.worth, query, surely + outer.counts, parts.cutoff)
    same = _cut_once(standings, query, parts)
    gains = parts.worth.weights[query] / parts.worth.norm[query]
    found = []
    for row, counts in enumerate(outer.counts):
        sizes = (counts if same else cut).astype(int).tolist()
        inner = draw(sizes, drawn if same else group, places)
        actual = (chosen + inner.counts) @ gains
        found.append(Outcomes(actual, np.full(len(actual), ceiling[row]), inner.chance * outer.chance[row]))
    return Outcomes(*(np.concatenate(column) for column in zip(*found, strict=True)))


def _cut_once(standings: Standings, query: int, parts: Parts) -> bool:
    """Whether one group with judged documents is cut by K and by P."""
    groups = standings.groups
    cut = (groups.above < parts.cutoff) & (groups.above + groups.tied > parts.pool)
    return bool((cut & (groups.query == query)).any())


def _shares(standings: Standings, measure: Measure) -> dict[str, float]:
    """The ratio of the macro means, as P-B's tables have it, beside the mean of the ratios."""
    parts = _parts(standings, measure)
    known = ~parts.worth.undefined
    ceiling = float(parts.ceiling.expected[known].sum())
    return {"ratio_of_means": float(parts.actual.expected[known].sum()) / ceiling} if ceiling else {}


PROC = register(
    Definition(
        "PROC",
        "Pool-restricted oracle ceiling: the value if the best K of the first P candidates came first.",
        "sum of the K largest w(d) with rank(d) <= P, over the norm of the inner measure",
        "P-B (Dallaire 2025) §1, §5.1",
        _proc,
        cutoff_use="required",
        parameters={"pool": POOL},
        empty="na",
        needs_zeros=True,
        takes_measure=True,
    )
)
pPROC = register(
    Definition(
        "pPROC",
        "Share of the ceiling that the order of the run realizes, %PROC; its mean is the mean of ratios.",
        "M@K / PROC(M, pool=P)@K",
        "P-B (Dallaire 2025) §1, table 4",
        _share_of_ceiling,
        cutoff_use="required",
        parameters={"pool": POOL},
        empty="na",
        needs_zeros=True,
        takes_measure=True,
        details=_shares,
    )
)
retrieval_headroom = register(
    Definition(
        "retrieval_headroom",
        "What only better candidates can win; lower is better.",
        "1 - PROC(M, pool=P)@K",
        "P-B (Dallaire 2025) §1; FORMULAS §5",
        _retrieval_headroom,
        cutoff_use="required",
        parameters={"pool": POOL},
        better="lower",
        worst=1.0,
        empty="na",
        needs_zeros=True,
        takes_measure=True,
    )
)
ordering_headroom = register(
    Definition(
        "ordering_headroom",
        "What a better order of the same candidates can win; lower is better.",
        "PROC(M, pool=P)@K - M@K",
        "P-B (Dallaire 2025) §1; FORMULAS §5",
        _ordering_headroom,
        cutoff_use="required",
        parameters={"pool": POOL},
        better="lower",
        worst=0.0,
        empty="na",
        needs_zeros=True,
        takes_measure=True,
    )
)
