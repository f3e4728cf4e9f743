"""One sentence of advice: widen the pool or improve the order, by the headroom of each (P-B section 6).

    retrieval headroom = 1 - PROC,    ordering headroom = PROC - actual

PROC is the measure of the best order of the candidates (measures/ceilings.py). Documents that the retriever missed can
be gained only with a wider or better pool; documents ranked too low, only with a better order.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import numpy as np

from trueval.comparison.resampling.resampled_sums import bootstrap_sums, to_grid
from trueval.report.number_texts import FRACTIONS, ValueUnit, format_value
from trueval.standings.standings import Floats
from trueval.tradeoff.diagnosis.diagnosis_results import ImprovementAdvice
from trueval.tradeoff.diagnosis.marginals import interval
from trueval.tradeoff.quality.sweep_loader import SweepArrays

WIDEN: Final = "widen the pool"
MEND: Final = "mend the order"
EITHER: Final = "either"
NEITHER: Final = "neither"
UNKNOWN: Final = "unknown"


class Headrooms(NamedTuple):
    """Headroom of the pool and of the order, over queries where both are known.

    Attributes:
        retrieval: 1 - PROC.
        ordering: PROC - actual.
        share: actual / PROC, of the means; None where PROC is 0.
        queries: number of queries in the means.
        draws: [2, resample] resamples of both headrooms; None where only means are known.
        noise: half the width of the interval of the actual value: a smaller gain is not detectable with these queries.
    """

    retrieval: float
    ordering: float
    share: float | None
    queries: int
    draws: Floats | None
    noise: float | None


def headrooms(measured: SweepArrays, place: int, *, level: float, resamples: int, seed: int) -> Headrooms | None:
    """The headrooms of one configuration; None where its ceiling is unknown."""
    both = np.stack([measured.ceilings[:, place], measured.values[:, place]], axis=1)
    both = both[~np.isnan(both).any(axis=1)]
    if len(both) < 2:
        return _of_means(measured.configurations[place].get("ceiling"))
    grid = to_grid(both)
    drawn = bootstrap_sums(grid, resamples, seed, 1) / len(both)
    ceiling, actual = map(float, grid.values.sum(axis=0) / len(both))
    low, high = np.quantile(drawn[1], [(1 - level) / 2, (1 + level) / 2])
    draws = np.stack([1 - drawn[0], drawn[0] - drawn[1]])
    share = actual / ceiling if ceiling > 0 else None
    return Headrooms(1 - ceiling, ceiling - actual, share, len(both), draws, float(high - low) / 2)


def _of_means(ceiling: Any) -> Headrooms | None:
    """Headrooms from the means stored in a sweep, without intervals."""
    if not ceiling or ceiling.get("retrieval_headroom") is None or ceiling.get("ordering_headroom") is None:
        return None
    pool, order = ceiling["retrieval_headroom"], ceiling["ordering_headroom"]
    return Headrooms(pool, order, ceiling.get("share"), ceiling.get("queries") or 0, None, None)


def verdict(found: Headrooms, level: float) -> str:
    """The recommended next step.

    Neither where both headrooms are within the noise of the measured value; either where the interval of their
    difference contains 0; else the larger one. Without per-query values the verdict is unknown.

    Args:
        level: confidence level of the interval of the difference.
    """
    if found.draws is None or found.noise is None:
        return UNKNOWN
    if max(found.retrieval, found.ordering) <= found.noise:
        return NEITHER
    low, high = np.quantile(found.draws[0] - found.draws[1], [(1 - level) / 2, (1 + level) / 2])
    if low <= 0 <= high:
        return EITHER
    return WIDEN if low > 0 else MEND


def advise(
    measured: SweepArrays, place: int | None, *, level: float = 0.95, resamples: int = 2000, seed: int = 0
) -> ImprovementAdvice | None:
    """The advice for one configuration; None without a configuration or ceiling.

    Args:
        place: index of the configuration to improve.
    """
    found = None if place is None else headrooms(measured, place, level=level, resamples=resamples, seed=seed)
    if found is None or place is None:
        return None
    said = verdict(found, level)
    none = np.empty(0)
    pool, order = (none, none) if found.draws is None else found.draws
    return ImprovementAdvice(
        sentence=sentence(found, said, measured.configurations[place]["name"]),
        verdict=said,
        point=place,
        retrieval_headroom=interval(found.retrieval, pool, level),
        ordering_headroom=interval(found.ordering, order, level),
        difference=interval(found.retrieval - found.ordering, pool - order, level),
        noise=found.noise,
        share=found.share,
        queries=found.queries,
    )


def sentence(found: Headrooms, said: str, name: str, scale: ValueUnit = FRACTIONS) -> str:
    """The advice in one sentence.

    Args:
        found: the headrooms.
        said: verdict, as returned by `verdict`.

    Example:
        >>> print(sentence(Headrooms(0.3, 0.1, 0.86, 90, None, None), "widen the pool", "dense K=10"))
        Widen the pool of dense K=10: its candidates lack 0.3000 of what there is to find, and their order loses 0.1000.
    """
    pool, order = format_value(found.retrieval, scale), format_value(found.ordering, scale)
    left = f"its candidates lack {pool} of what there is to find, and their order loses {order}"
    if said == WIDEN:
        return f"Widen the pool of {name}: {left}."
    if said == MEND:
        return f"Mend the order of {name}: {left}."
    if said == NEITHER:
        return f"Neither pool nor order of {name} leaves a gain that {found.queries} queries can show: {left}."
    if said == EITHER:
        return f"Pool and order of {name} leave about as much to gain: {left}; the difference is inside the noise."
    larger = "the pool" if found.retrieval > found.ordering else "the order"
    return f"{name}: {left}; {larger} lacks more, but the values of queries that say how sure that is are missing."
