"""Dose and response: how the value of answers falls with the number of distractors, paired by question.

    slope       sum over doses of w(d) v(d),   w(d) = (d - mean) / sum of (d - mean)^2     least squares
    drop        v(0) - v(d)
    difference  slope of one generator - slope of another, of the same question
    place       v(first) - v(place), the mean over doses above 0

for each question, and then the mean over questions with an interval. A slope, per distractor, is the best line through
the doses that were given, whatever the shape. Values that are not known are intervals, and so is what is made of them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from trueval.answers.claim_measures import Bounds
from trueval.answers.generation.attribution import bounded_mean, difference
from trueval.answers.generation.generation_result import BoundedMean
from trueval.standings.standings import Bools, Floats, Ints


class DoseValues(NamedTuple):
    """Values by dose.

    Attributes:
        doses: [dose] numbers of distractors.
        lowest: [dose, question] least value; NaN where the question has no such prompt.
        highest: [dose, question] greatest value.
    """

    doses: Floats
    lowest: Floats
    highest: Floats

    @property
    def whole(self) -> Bools:
        """[question] whether it has every dose."""
        return np.asarray(~np.isnan(self.lowest).any(axis=0), dtype=bool)

    def at(self, place: int) -> Bounds:
        """[question] bounds of the value at a dose, by its place among the doses."""
        return Bounds(self.lowest[place], self.highest[place])


def mean_of(values: Sequence[DoseValues]) -> DoseValues:
    """The mean over several places of the gold documents; NaN where one of them lacks the prompt."""
    return DoseValues(
        values[0].doses,
        np.mean([each.lowest for each in values], axis=0),
        np.mean([each.highest for each in values], axis=0),
    )


def slopes(values: DoseValues) -> Bounds:
    """[question] bounds of the least-squares slope per distractor; NaN where the question lacks a dose.

    >>> found = slopes(DoseValues(np.array([0.0, 1.0, 2.0]), *[np.array([[1.0], [0.5], [0.0]])] * 2))
    >>> found.lowest.tolist(), found.highest.tolist()
    ([-0.5], [-0.5])
    """
    weights = _weights(values.doses)[:, None]
    up, down = np.maximum(weights, 0.0), np.minimum(weights, 0.0)
    return Bounds(
        (up * values.lowest + down * values.highest).sum(axis=0),
        (up * values.highest + down * values.lowest).sum(axis=0),
    )


def known_slopes(values: DoseValues) -> Floats:
    """[question] least-squares slope of the middle values over the doses that it has; NaN with fewer than two.

    >>> nan = float("nan")
    >>> values = np.array([[1.0, 1.0], [0.5, nan], [nan, nan]])
    >>> known_slopes(DoseValues(np.array([0.0, 1.0, 8.0]), values, values)).tolist()
    [-0.5, nan]
    """
    middle = (values.lowest + values.highest) / 2
    found = np.full(middle.shape[1], np.nan)
    for at, each in enumerate(middle.T):
        known = ~np.isnan(each)
        if known.sum() > 1:
            found[at] = _weights(values.doses[known]) @ each[known]
    return found


def _weights(doses: Floats) -> Floats:
    centered = doses - doses.mean()
    weights: Floats = centered / float(centered @ centered)
    return weights


def steepest(doses: Floats) -> float:
    """The greatest slope that values from 0 to 1 can have."""
    return float(np.maximum(_weights(doses), 0.0).sum())


def mean_slope(name: str, bounds: Bounds, kept: Bools, doses: Floats, codes: Ints, level: float) -> BoundedMean:
    """The mean of slopes, or of halved differences of slopes, with its interval: as a share of the steepest."""
    most = steepest(doses)
    return times(bounded_mean(name, Bounds(*(each / most for each in bounds)), kept, codes, level, signed=True), most)


def slope_difference(name: str, one: DoseValues, other: DoseValues, codes: Ints, level: float) -> BoundedMean:
    """Slope of one generator minus that of another, over the questions that both have in whole."""
    found = difference(slopes(one), slopes(other))
    half = Bounds(found.lowest / 2, found.highest / 2)
    return times(mean_slope(name, half, one.whole & other.whole, one.doses, codes, level), 2.0)


def drop(name: str, values: DoseValues, place: int, codes: Ints, level: float) -> BoundedMean:
    """Value without distractors minus that at a dose."""
    start = int(np.argmin(values.doses))
    found = difference(values.at(start), values.at(place))
    return bounded_mean(name, found, ~np.isnan(found.lowest), codes, level, signed=True)


def place_effect(name: str, first: DoseValues, other: DoseValues, codes: Ints, level: float) -> BoundedMean:
    """Value with the gold documents first minus that with them elsewhere, the mean over doses above 0."""
    given = first.doses > 0
    one, two = (Bounds(each.lowest[given].mean(axis=0), each.highest[given].mean(axis=0)) for each in (first, other))
    found = difference(one, two)
    return bounded_mean(name, found, ~np.isnan(found.lowest), codes, level, signed=True)


def times(found: BoundedMean, factor: float) -> BoundedMean:
    """A mean in other units, with its interval."""
    value, low, high, lowest, highest = (
        None if end is None else factor * end
        for end in (found.value, found.low, found.high, found.lowest, found.highest)
    )
    return BoundedMean(found.name, value, low, high, lowest, highest, found.questions)


def first_harm(drops: Mapping[int, BoundedMean]) -> int | None:
    """The least dose whose drop is surely above 0; None if none is. The intervals must hold for all doses at once."""
    return min((dose for dose, each in drops.items() if each.low is not None and each.low > 0), default=None)
