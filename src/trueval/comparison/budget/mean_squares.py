"""Mean squares of values by query, repeat and judge, and what they are expected to be.

    y[q, r, j] = m + Q + R + J + QR + QJ + RJ + QRJ
    E MS_i = sum over effects k that hold i of s_k^2 times the number of levels of every factor that k lacks

Only the factors that have two levels or more are there; the effect of all of them is the residual. Where values are
missing, parts come by REML, and mean squares are what these parts expect at the mean numbers of levels.

Sources: Searle, Casella & McCulloch 1992, §4; Cornfield & Tukey 1956.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from itertools import combinations
from typing import NamedTuple

import numpy as np

from trueval.comparison.budget.restricted_likelihood import cell_effects, restricted_likelihood_parts
from trueval.standings.standings import Bools, Floats

# A mean square of values that rounding alone tells apart.
NOTHING = 1e-24


class FactorLevels(NamedTuple):
    """Numbers of levels; means where values are missing.

    Attributes:
        queries: number of queries.
        repeats: repeats of a query.
        judges: judges of a query.
        complete: queries that have all values; those that tell repeats and judges apart.
    """

    queries: float
    repeats: float
    judges: float
    complete: float

    def outside(self, effect: str) -> float:
        """Values for each level of an effect: the product of the numbers of levels of the factors that it lacks."""
        counts = {"Q": self.complete, "R": self.repeats, "J": self.judges}
        return math.prod((count for letter, count in counts.items() if letter not in effect), start=1.0)


class MeanSquares(NamedTuple):
    """Mean squares of one set of values.

    Attributes:
        levels: mean numbers of levels.
        values: effect → mean square.
        degrees: effect → degrees of freedom.
        steady: effect → degrees of freedom as far as fourth moments over queries say; at most the others.
        divisors: effect → number by which its variance is divided in that of the mean.
    """

    levels: FactorLevels
    values: Mapping[str, float]
    degrees: Mapping[str, float]
    steady: Mapping[str, float]
    divisors: Mapping[str, float]


def effects_of(repeats: float, judges: float) -> tuple[str, ...]:
    """The effects of a design with these numbers of levels.

    >>> effects_of(3, 2), effects_of(1, 2), effects_of(1, 1)
    (('Q', 'R', 'J', 'QR', 'QJ', 'RJ', 'QRJ'), ('Q', 'J', 'QJ'), ('Q',))
    """
    letters = "Q" + "R" * (repeats > 1) + "J" * (judges > 1)
    return tuple("".join(each) for size in (1, 2, 3) for each in combinations(letters, size))


def mean_squares(values: Floats) -> MeanSquares:
    """Compute the mean squares of values.

    Args:
        values: [query, repeat, judge] values; NaN where missing. At least two queries, each with a value.

    >>> found = mean_squares(np.array([[[1.0, 2.0]], [[3.0, 4.0]], [[5.0, 9.0]]]))
    >>> {effect: round(value, 6) for effect, value in found.values.items()}
    {'Q': 15.5, 'J': 6.0, 'QJ': 1.5}
    """
    queries, repeats, judges = values.shape
    effects = effects_of(repeats, judges)
    there = ~np.isnan(values)
    levels, divisors = _levels(there, effects)
    degrees = _degrees(there, effects)
    apart = _deviations(values, effects)
    if there.all():
        found = {
            effect: float((apart[effect] ** 2).sum()) * levels.outside(effect) / degrees[effect] for effect in effects
        }
    else:
        cells = cell_effects(effects, repeats, judges)
        parts = restricted_likelihood_parts(values.reshape(queries, -1), cells)
        found = expected_mean_squares(dict(zip(effects, map(float, parts), strict=True)), levels)
    steady = {
        effect: _steady_degrees(apart[effect], degrees[effect]) if "Q" in effect else degrees[effect]
        for effect in effects
    }
    return MeanSquares(levels, found, degrees, steady, divisors)


def expected_mean_squares(parts: Mapping[str, float], levels: FactorLevels) -> dict[str, float]:
    """Effect → mean square that variances of the effects expect.

    Args:
        parts: effect → variance.
        levels: numbers of levels.
    """
    return {
        effect: float(sum(part * levels.outside(other) for other, part in parts.items() if set(effect) <= set(other)))
        for effect in parts
    }


def _levels(there: Bools, effects: tuple[str, ...]) -> tuple[FactorLevels, dict[str, float]]:
    """Mean numbers of levels and the divisor of each effect, where a query counts once, as the mean of its values."""
    weights = there / there.sum(axis=(1, 2), keepdims=True) / len(there)
    axes = {"Q": 0, "R": 1, "J": 2}
    divisors = {}
    for effect in effects:
        lacking = tuple(axes[letter] for letter in "QRJ" if letter not in effect)
        divisors[effect] = round(1.0 / float((weights.sum(axis=lacking) ** 2).sum()), 9)
    queries = float(len(there))
    repeats, judges = (divisors.get(f"Q{letter}", queries) / queries for letter in "RJ")
    complete = float(there.all(axis=(1, 2)).sum())
    return FactorLevels(queries, repeats, judges, max(complete, 1.0)), divisors


def _degrees(there: Bools, effects: tuple[str, ...]) -> dict[str, float]:
    """Degrees of freedom: levels that are there, less those of the effects inside and of the mean."""
    axes = {"Q": 0, "R": 1, "J": 2}
    degrees: dict[str, float] = {}
    for effect in effects:
        lacking = tuple(axes[letter] for letter in "QRJ" if letter not in effect)
        levels = int(there.any(axis=lacking).sum())
        smaller = sum(degrees[other] for other in degrees if set(other) < set(effect))
        degrees[effect] = max(levels - 1 - smaller, 1.0)
    return degrees


def _deviations(values: Floats, effects: tuple[str, ...]) -> dict[str, Floats]:
    """Effect → deviations of its levels, [query, other levels] where it holds the query; missing ones are 0."""
    axes = {"Q": 0, "R": 1, "J": 2}
    found: dict[str, Floats] = {}
    there, total = ~np.isnan(values), np.nanmean(values)
    for effect in effects:
        lacking = tuple(axes[letter] for letter in "QRJ" if letter not in effect)
        count = there.sum(axis=lacking, keepdims=True)
        means = np.where(there, values, 0.0).sum(axis=lacking, keepdims=True) / np.where(count > 0, count, np.nan)
        for other, apart in found.items():
            if set(other) < set(effect):
                means = means - apart
        found[effect] = means - total
    return {effect: np.nan_to_num(each).reshape(each.shape[0], -1) for effect, each in found.items()}


def _steady_degrees(deviations: Floats, degrees: float) -> float:
    """Degrees of freedom of a mean square by how its sums of squares vary between queries.

    2 m^2 / (v / n) of the sums s_q of squared deviations of each query, m their mean and v their variance: the degrees
    of a sum of independent values (Satterthwaite 1946). Values with heavy tails, or queries of which some vary more,
    have fewer than normal values have.

    Args:
        deviations: [query, level] deviations.
        degrees: those of normal values.
    """
    sums = (deviations**2).sum(axis=1)
    if not sums.mean() > NOTHING:
        return degrees
    of_sums = 2 * float(sums.mean()) ** 2 * len(sums) / float(sums.var(ddof=1)) if sums.var() > 0 else degrees
    return min(degrees, max(of_sums, 1.0))
