"""Audit planning: how many more labels an interval of a given width needs.

    variance(n') = what lies between queries + sum over strata of N_h^2 s_h^2 (1 / n'_h - 1 / N_h)
    interval     of design_estimate.py, about the estimate of now, with n' - 1 degrees of freedom where queries are
    drawn,
                 else with those of now

in which every stratum grows by the same factor until all of it is graded, since items are served in one random order.
The least number is found by halving.

Source: docs/formulas.md §7, inverted.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from trueval.comparison.labels.design_estimate import interval
from trueval.errors import PolicyError
from trueval.evaluation.corrected_values import EstimateWithInterval
from trueval.numerics import or_null
from trueval.standings.standings import Floats

if TYPE_CHECKING:
    from trueval.comparison.labels.correction import Correction


class LabelsNeeded(NamedTuple):
    """The labels that an interval of a given width needs.

    Attributes:
        width: target width of the interval, from end to end.
        units: number of additional queries, or passages, to grade; None where no number is enough.
        labels: approximate number of labels.
        least: width of the interval with everything graded.
    """

    width: float
    units: int | None
    labels: int | None
    least: float

    def to_dict(self) -> dict[str, object]:
        """The plan as a dict for JSON; null if not available."""
        return {"width": self.width, "units": self.units, "labels": self.labels, "least": or_null(self.least)}


def labels_needed(correction: Correction, width: float) -> LabelsNeeded:
    """Compute how many more labels narrow the interval of a corrected value to a given width.

    Args:
        correction: result of `correct` that was not refused.
        width: width of the interval from end to end, on the scale of the measure.

    Raises:
        PolicyError: the width is not above 0, or the correction was refused or has no interval.
    """
    if not 0 < width < math.inf:
        raise PolicyError(f"width must be a number above 0, such as 0.05. Got {width!r}.")
    if correction.refused is not None:
        raise PolicyError(f"More labels give no interval of a value that cannot be corrected: {correction.refused}")
    if math.isnan(correction.corrected.se):
        raise PolicyError(
            f"{correction.measure} of {correction.run} has no interval yet, so nobody can say how many labels a "
            "narrower one takes. Grade more with trueval golden audit."
        )
    least = width_after(correction, _open(correction))
    more = fewest(correction, lambda after: after.width <= width)
    if more is None:
        return LabelsNeeded(width, None, None, least)
    each = correction.labels / correction.queries if correction.design == "queries" else 1.0
    return LabelsNeeded(width, more, math.ceil(more * each), least)


def fewest(correction: Correction, is_enough: Callable[[EstimateWithInterval], bool]) -> int | None:
    """The least number of additional units that makes an interval narrow enough; None where grading all does not.

    Args:
        correction: result of `correct`.
        is_enough: whether an expected interval is narrow enough; monotone: if true for an interval, true for every
            narrower one.
    """
    low, high = 0, _open(correction)
    if not is_enough(interval_after(correction, high)):
        return None
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if is_enough(interval_after(correction, middle)) else (middle + 1, high)
    return high


def _open(correction: Correction) -> int:
    """Number of ungraded units."""
    return sum(each.population - each.audited for each in correction.strata)


def width_after(correction: Correction, more: int) -> float:
    """The width of the expected interval after more units are graded; as `interval_after`."""
    return interval_after(correction, more).width


def interval_after(correction: Correction, more: int) -> EstimateWithInterval:
    """The expected interval after more units are graded, if the estimate stays the same.

    Args:
        correction: result of `correct`.
        more: number of additional queries, or passages, to grade.
    """
    population, audited, spread = (
        np.array([getattr(each, name) for each in correction.strata], dtype=np.float64)
        for name in ("population", "audited", "spread")
    )
    drawn = _grow(population, audited, more)
    variance = correction.fixed + float((population**2 * spread * (1 / drawn - 1 / population)).sum())
    degrees = drawn[0] - 1 if correction.design == "queries" else correction.corrected.degrees
    return interval(correction.corrected.estimate, variance, degrees, correction.level, correction.span)


def _grow(population: Floats, audited: Floats, more: int) -> Floats:
    """[stratum] number of units after adding more, each stratum grown by the same factor, at most to its population."""
    drawn, left = audited.copy(), float(more)
    while left > 1e-9 and (room := drawn < population).any():
        share = left * audited * room / (audited * room).sum()
        added = np.minimum(share, population - drawn)
        drawn, left = drawn + added, left - float(added.sum())
    return drawn
