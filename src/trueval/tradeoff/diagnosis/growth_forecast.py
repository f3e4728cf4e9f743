"""Growth forecasts: what a larger corpus gives, from what thinned ones gave.

With x = ln(documents) and means y over the replicates of each size, a law is a line whose slope drifts:

    logarithm   y = a + b x         power law   ln y = a + b x
    slope       b(x) is a random walk: over a stretch of dx its variance grows by w dx
    error       a mean of R replicates of a share p has the variance v ((1 - p) / R + p), in which v is the mean of
                s^2 / (1 - p): replicates of one corpus share what is its own

The forecast is the best linear unbiased one (kriging with an integrated random walk), its interval has the fit, the
drift and v in it. w is estimated by the squared changes of the slope between sizes. Where a share of 1 is forecast, w
is at least b^2 / (2 ln 10), for the last slope b: from a few sizes a drift may look like none, and how many answers are
about to be lost cannot be seen before they are. The law is the one with the smaller squared errors when each size is
forecast from those below. A law is doubted where the largest size lies outside the interval that those below give, and
for corpora that are further above the whole one than the smallest is below it: judged documents are not thinned.

Sources: docs/formulas.md §6; Wahba 1978 (smoothing by integrated random walks); what was tried is in
docs/evidence/notes/tradeoff.md.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final, NamedTuple

import numpy as np

from trueval.errors import PolicyError
from trueval.standings.standings import Floats
from trueval.tradeoff.diagnosis.diagnosis_results import GrownSystem, GrowthForecast, GrowthMeasurement, SystemGrowth

QUANTITIES: Final = ("quality", "cut", "recall", "bytes", "seconds")
SHARES: Final = QUANTITIES[:3]  # between 0 and 1
LOGARITHM: Final = "logarithm"
POWER: Final = "power law"
FEWEST: Final = 4  # sizes, so that there are two changes of the slope
# The least variance of the slope of a share, in squares of the last slope, over a tenfold corpus.
LEAST_DRIFT: Final = 0.5
LAST: Final = 3  # sizes of the last slope
ENOUGH: Final = 30  # degrees of freedom of an interval whose drift is the least one


class GrowthCurve(NamedTuple):
    """A quantity by corpus size, in the scale of a law.

    Attributes:
        sizes: [size] logarithms of the numbers of documents.
        means: [size] means over replicates.
        errors: [size] variances of these about the law.
        single: variance of one corpus about the law.
        is_share: whether it lies between 0 and 1, so that its slope must end.
    """

    sizes: Floats
    means: Floats
    errors: Floats
    single: float
    is_share: bool

    def first(self, count: int) -> GrowthCurve:
        """The curve of the smallest sizes."""
        return self._replace(sizes=self.sizes[:count], means=self.means[:count], errors=self.errors[:count])


class _Forecast(NamedTuple):
    """A value with half the width of its interval, in the scale of a law."""

    value: float
    half: float

    @property
    def ends(self) -> tuple[float, float, float]:
        return self.value, self.value - self.half, self.value + self.half


def forecast_growth(
    measured: Sequence[GrowthMeasurement], quantity: str, documents: float, *, level: float = 0.95
) -> GrowthForecast | None:
    """Forecast a quantity of a larger corpus.

    Args:
        measured: of thinned corpora, of four sizes or more.
        quantity: an attribute of the measurements.
        documents: number of documents of the larger corpus.
        level: of the interval.

    Returns:
        None where the quantity was not measured.

    Raises:
        PolicyError: the corpus is not larger than the largest one measured, or there are too few sizes.
    """
    rows = [(each.documents, each.share, getattr(each, quantity)) for each in measured]
    if any(value is None for _, _, value in rows):
        return None
    largest = max(size for size, _, _ in rows)
    if not documents > largest:
        raise PolicyError(
            f"A forecast is for more documents than the {largest:,} that were searched. Got {documents:g}."
        )
    if len({size for size, _, _ in rows}) < FEWEST:
        raise PolicyError(f"A forecast needs {FEWEST} sizes of the corpus or more.")
    is_share = quantity in SHARES
    curves: dict[str, GrowthCurve] = {}
    if is_share:
        curves[LOGARITHM] = _curve([(n, p, float(value)) for n, p, value in rows], is_share=True)
    if quantity != "cut" and min(value for _, _, value in rows) > 0:  # ties at K may be next to none
        curves[POWER] = _curve([(n, p, math.log(value)) for n, p, value in rows], is_share=is_share)
    if not curves:
        return None
    now = float(np.mean([value for size, _, value in rows if size == largest]))
    law = min(curves, key=lambda name: _forward_errors(curves[name], name))
    curve = curves[law]
    value, low, high = (
        _within_range(_back(each, law), is_share=is_share) for each in _forecast(curve, math.log(documents), level).ends
    )
    thinned = largest / min(size for size, _, _ in rows)
    return GrowthForecast(
        quantity, now, law, round(documents), value, low, high, _doubt(curve, level, documents / largest, thinned)
    )


def _doubt(curve: GrowthCurve, level: float, factor: float, thinned: float) -> str | None:
    """Why a law is not to be believed beyond the whole corpus.

    Args:
        factor: documents of the larger corpus by those of the whole one.
        thinned: documents of the whole corpus by those of the smallest one.
    """
    if factor > thinned:
        return f"thinning made the corpus {thinned:.3g} times smaller, and that far up a law can be believed"
    below = _forecast(curve.first(len(curve.sizes) - 1), float(curve.sizes[-1]), level)
    if abs(below.value - curve.means[-1]) > below.half:
        return "what the smaller corpora forecast for the whole one is not what it gives"
    return None


def _curve(rows: Sequence[tuple[int, float, float]], *, is_share: bool) -> GrowthCurve:
    sizes = sorted({(size, share) for size, share, _ in rows})
    given = [np.array([value for n, _, value in rows if n == size]) for size, _ in sizes]
    shares = np.array([share for _, share in sizes])
    spreads = [
        float(each.var(ddof=1)) / (1 - share) for each, share in zip(given, shares, strict=True) if len(each) > 1
    ]
    single = float(np.mean(spreads)) if spreads else 0.0
    counts = np.array([len(each) for each in given])
    errors = single * ((1 - shares) / counts + shares)
    means = np.array([each.mean() for each in given])
    return GrowthCurve(np.log([size for size, _ in sizes]), means, errors, single, is_share)


def _forward_errors(curve: GrowthCurve, law: str) -> float:
    """Sum of squared errors, in the quantity's own scale, when each size is forecast from those below."""
    found = 0.0
    for count in range(2, len(curve.sizes)):
        told = _forecast(curve.first(count), float(curve.sizes[count]), 0.95).value
        found += (_back(told, law) - _back(float(curve.means[count]), law)) ** 2
    return found


def _back(value: float, law: str) -> float:
    return value if law == LOGARITHM else math.exp(min(value, 700.0))


def _within_range(value: float, *, is_share: bool) -> float:
    return min(max(value, 0.0), 1.0) if is_share else max(value, 0.0)


def _forecast(curve: GrowthCurve, x: float, level: float) -> _Forecast:
    """The forecast of one corpus of a size.

    Args:
        x: logarithm of its number of documents.
        level: of the interval.
    """
    from scipy.special import stdtrit

    drift, degrees = _drift(curve)
    sizes, last = curve.sizes, curve.sizes[-1]
    line = np.stack([np.ones(len(sizes)), sizes - last], axis=1)
    # A little of nothing, so that curves without noise and drift can be solved.
    noise = curve.errors + 1e-12 * (1e-6 + float(np.square(curve.means).max()))
    covariance = drift * _walk(sizes, sizes, sizes[0]) + np.diag(noise)
    towards = drift * _walk(sizes, np.array([x]), sizes[0])[:, 0]
    at = np.array([1.0, x - last])
    weighted = np.linalg.solve(covariance, line)
    inner = line.T @ weighted
    beta = np.linalg.solve(inner, weighted.T @ curve.means)
    pulled = np.linalg.solve(covariance, towards)
    value = float(at @ beta + pulled @ (curve.means - line @ beta))
    rest = at - line.T @ pulled
    ahead = float(drift * _walk(np.array([x]), np.array([x]), sizes[0])[0, 0] - towards @ pulled)
    variance = ahead + float(rest @ np.linalg.solve(inner, rest)) + curve.single
    return _Forecast(value, float(stdtrit(degrees, (1 + level) / 2)) * math.sqrt(max(variance, 0.0)))


def _drift(curve: GrowthCurve) -> tuple[float, int]:
    """The variance of the slope by length, and degrees of freedom."""
    lengths = np.diff(curve.sizes)
    slopes = np.diff(curve.means) / lengths
    changes = np.diff(slopes)
    errors, before, after = curve.errors, lengths[:-1], lengths[1:]
    noise = (errors[:-2] + errors[1:-1]) / before**2 + (errors[1:-1] + errors[2:]) / after**2
    noise += 2 * errors[1:-1] / (before * after)
    # The slope between two sizes is that of the walk, averaged: two neighbours differ by a third of their lengths.
    found = 0.0
    if len(changes):
        found = max(0.0, float((changes**2 - noise).sum() / ((before + after) / 3).sum()))
    if not curve.is_share:
        return found, max(len(changes), 1)
    slope = float(np.polyfit(curve.sizes[-LAST:], curve.means[-LAST:], 1)[0])
    least = LEAST_DRIFT * slope**2 / math.log(10)
    return (found, max(len(changes), 1)) if found > least else (least, ENOUGH)


def _walk(a: Floats, b: Floats, begin: float) -> Floats:
    """Covariance of an integrated random walk of unit variance at two sets of places, from where it begins."""
    left, right = a[:, None] - begin, b[None, :] - begin
    small, large = np.minimum(left, right), np.maximum(left, right)
    found: Floats = small**2 * (3 * large - small) / 6
    return found


def forecast_system(grown: GrownSystem, factor: float, *, level: float = 0.95) -> SystemGrowth:
    """Forecast every measured quantity of a corpus that is so many times as large.

    Args:
        grown: pipeline on thinned corpora and the whole one.
        factor: documents of the larger corpus by those of the whole one, above 1.
        level: of the intervals.

    Raises:
        PolicyError: the factor is not above 1, or there are too few sizes.
    """
    if not 1 < factor < math.inf:
        raise PolicyError(f"--grow must be a number above 1, such as 10. Got {factor:g}.")
    documents = factor * max(each.documents for each in grown.measured)
    found = (forecast_growth(grown.measured, name, documents, level=level) for name in QUANTITIES)
    known = tuple(each for each in found if each is not None)
    return SystemGrowth(grown.name, grown.measure, grown.k, factor, level, known, grown.measured)
