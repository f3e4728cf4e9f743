"""Parts of the variance of a mean, or of the difference of two: from mean squares, with intervals.

Parts are linear in independent mean squares, s_k^2 = sum over i of c_ki MS_i, so that each has a pivot

    s_k^2* = sum over i of c_ki f_i MS_i / X_i,   X_i chi-squared with f_i degrees of freedom

whose quantiles are its interval (generalized inference: Weerahandi 1993; Hannig, Iyer & Patterson 2006). f_i is at most
what fourth moments over queries say (mean_squares.py), as differences of queries have heavier tails than normal values.

Repeats of two systems that share no condition are nested in their systems: means over the repeats of each have the
effects of queries and judges, in which every mean square holds those of the repeats divided by their number; the
deviations inside each system have the effects of its repeats.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Final, NamedTuple

import numpy as np

from trueval.comparison.budget.mean_squares import FactorLevels, MeanSquares, mean_squares
from trueval.standings.standings import Floats

# Draws of every pivot.
DRAWS: Final = 4_000

# The effect of an audit: people graded some queries or passages, and the judge's labels stand for the others.
AUDIT: Final = "A"

# What the effects are shown as; all others belong to two sources at once.
SOURCES: Final = MappingProxyType(
    {"Q": "questions", "R": "repeats", "QR": "repeats", "J": "labels", "QJ": "labels", AUDIT: "labels"}
)
JOINT: Final = "repeats and labels together"
ORDER: Final = ("questions", "repeats", "labels", JOINT)


class Component(NamedTuple):
    """One effect.

    Attributes:
        effect: its factors, such as "QR".
        system: index of the system that its repeats are nested in; -1 for none.
        divisor: number by which its variance is divided in that of the mean.
        weights: [mean square] its variance as a sum of mean squares.
    """

    effect: str
    system: int
    divisor: float
    weights: Floats

    @property
    def source(self) -> str:
        """What it is shown as."""
        return SOURCES.get(self.effect, JOINT)


class FactorCounts(NamedTuple):
    """Numbers of queries, repeats and judges: those that are there, or arrays of planned ones.

    Attributes:
        queries: number of queries.
        repeats: [system] numbers of repeats; one number where systems share the conditions of their repeats.
        judges: number of judges.
        audited: number of queries, or passages, that people graded; None without an audit.
        drawn_from: number of those that they were drawn from, for each query.
    """

    queries: Floats
    repeats: tuple[Floats, ...]
    judges: Floats
    audited: Floats | None = None
    drawn_from: float = 1.0

    def arrays(self) -> list[Floats]:
        """All numbers of levels."""
        return [self.queries, *self.repeats, self.judges, *([] if self.audited is None else [self.audited])]

    def of(self, component: Component) -> list[Floats]:
        """The numbers of levels of the factors of an effect."""
        counts = {"Q": self.queries, "R": self.repeats[max(component.system, 0)], "J": self.judges}
        return [counts[letter] for letter in component.effect]

    def divisor(self, component: Component) -> Floats:
        """The number of levels of an effect; of an audit of n of N, n / (1 - n / N)."""
        if component.effect == AUDIT and self.audited is not None:
            left = np.maximum(self.queries * self.drawn_from - self.audited, 0.0)
            with np.errstate(divide="ignore"):  # nothing is left to an audit of all
                return np.asarray(self.audited * self.queries * self.drawn_from / left)
        return np.asarray(math.prod(self.of(component), start=np.array(1.0)))

    def degrees(self, component: Component) -> Floats:
        """Degrees of freedom of an effect: the product of its numbers of levels less one, at least 1 each.

        With an audit, what questions vary by is known from people's labels alone.
        """
        if self.audited is not None and component.effect in ("Q", AUDIT):
            return np.asarray(np.maximum(self.audited - 1, 1.0))
        free = [np.maximum(count - 1, 1.0) for count in self.of(component)]
        return np.asarray(math.prod(free, start=np.array(1.0)))


class MeanVariance(NamedTuple):
    """The variance of a mean, or of a difference of two.

    Attributes:
        value: the mean.
        counts: numbers of levels; means where values are missing.
        components: effects.
        squares: [mean square] mean squares.
        degrees: [mean square] degrees of freedom.
        steady: [mean square] degrees of freedom by fourth moments.
    """

    value: float
    counts: FactorCounts
    components: tuple[Component, ...]
    squares: Floats
    degrees: Floats
    steady: Floats

    @property
    def divisors(self) -> Floats:
        """[effect] numbers by which variances are divided in that of the mean."""
        return np.array([each.divisor for each in self.components])

    @property
    def variances(self) -> Floats:
        """[effect] variances; values below 0 are kept."""
        return np.array([float(each.weights @ self.squares) for each in self.components])

    def draw(self, rng: np.random.Generator) -> Floats:
        """[effect, draw] pivots of the variances."""
        shapes = self.steady[:, None] / 2
        chi = np.maximum(2 * rng.standard_gamma(shapes, size=(len(self.steady), DRAWS)), 1e-12)
        drawn = np.maximum(self.squares, 0.0)[:, None] * self.steady[:, None] / chi
        return np.asarray(np.array([each.weights for each in self.components]) @ drawn)


def variance_of_mean(values: Floats) -> MeanVariance:
    """Parts of the variance of a mean, or of a difference whose systems share the conditions of their repeats.

    Args:
        values: [query, repeat, judge] values, or differences; NaN where missing. At least two queries, each with a
            value.
    """
    found = mean_squares(values)
    effects = tuple(found.values)
    where = {effect: at for at, effect in enumerate(effects)}
    components = tuple(
        Component(effect, -1, found.divisors[effect], _weights(effect, where, found.levels, len(where)))
        for effect in effects
    )
    queries, repeats, judges, _ = map(np.array, found.levels)
    columns = [np.array(list(each.values())) for each in (found.values, found.degrees, found.steady)]
    return MeanVariance(_mean(values), FactorCounts(queries, (repeats,), judges), components, *columns)


def variance_of_nested(
    first: Floats, second: Floats, inside: Sequence[MeanSquares | None] | None = None
) -> MeanVariance:
    """Parts of the variance of a difference of two systems whose repeats share no condition.

    Args:
        first: [query, repeat, judge] values of one system; NaN where missing.
        second: [query, repeat, judge] values of the other, with its own repeats.
        inside: [system] mean squares of each, where they are known; None for a system without repeats.
    """
    sides = (first, second)
    if inside is None:
        inside = [mean_squares(side) if side.shape[1] > 1 else None for side in sides]
    apart = mean_over_repeats(first) - mean_over_repeats(second)
    over = mean_squares(apart)
    of_repeats = [
        (at, found, effect) for at, found in enumerate(inside) if found for effect in found.values if "R" in effect
    ]
    size = len(over.values) + len(of_repeats)
    places = [{effect: at for at, effect in enumerate(over.values)}, {}, {}]
    for at, (system, _, effect) in enumerate(of_repeats, len(over.values)):
        places[1 + system][effect] = at
    nested = {
        (system, effect): Component(
            effect, system, found.divisors[effect], _weights(effect, places[1 + system], found.levels, size)
        )
        for system, found, effect in of_repeats
    }
    crossed: list[Component] = []
    for effect in over.values:
        weights = _weights(effect, places[0], over.levels, size)
        for (system, other), component in nested.items():  # what repeats add to a mean over them
            if set(other) == {*effect, "R"}:
                weights = weights - component.weights / sides[system].shape[1]
        crossed.append(Component(effect, -1, over.divisors[effect], weights))
    columns = [
        [*getattr(over, name).values(), *(getattr(found, name)[effect] for _, found, effect in of_repeats)]
        for name in ("values", "degrees", "steady")
    ]
    counts = FactorCounts(
        np.array(over.levels.queries),
        tuple(np.array(float(side.shape[1])) for side in sides),
        np.array(over.levels.judges),
    )
    return MeanVariance(_mean(apart), counts, (*crossed, *nested.values()), *map(np.array, columns))


def satterthwaite(components: Sequence[Component], parts: Sequence[Floats], counts: FactorCounts) -> Floats:
    """Degrees of freedom of the variance of a mean, from its parts (Satterthwaite 1946).

    (sum of parts)^2 / sum of m_i^2 / f_i, where m_i, what a mean square adds, is the sum of the parts of all effects
    that hold those of i: with few repeats or judges, their degrees count.

    Args:
        components: effects.
        parts: [effect] parts of the variance of the mean, >= 0.
        counts: numbers of levels.
    """
    below = np.zeros(np.shape(parts[0]))
    for each in components:
        inside = [
            part
            for other, part in zip(components, parts, strict=True)
            if set(each.effect) <= set(other.effect) and each.system in (-1, other.system)
        ]
        below = below + sum(inside) ** 2 / counts.degrees(each)
    whole = np.asarray(sum(parts))
    known = below > 0
    return np.where(known, np.maximum(whole**2 / np.where(known, below, 1.0), 1.0), counts.queries - 1)


def mean_over_repeats(values: Floats) -> Floats:
    """[query, 1, judge] means over repeats; NaN where none has a value."""
    there = ~np.isnan(values)
    count = there.sum(axis=1, keepdims=True)
    return np.asarray(np.where(there, values, 0.0).sum(axis=1, keepdims=True) / np.where(count > 0, count, np.nan))


def _weights(effect: str, where: Mapping[str, int], levels: FactorLevels, size: int) -> Floats:
    """[mean square] the variance of an effect: mean squares of the effects that hold it, with changing signs."""
    weights = np.zeros(size)
    for other, at in where.items():
        if set(effect) <= set(other):
            weights[at] = (-1) ** (len(other) - len(effect)) / levels.outside(effect)
    return weights


def _mean(values: Floats) -> float:
    """The mean over queries of the means of their values."""
    there = ~np.isnan(values)
    return float((np.where(there, values, 0.0).sum(axis=(1, 2)) / there.sum(axis=(1, 2))).mean())
