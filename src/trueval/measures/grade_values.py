"""Grade values: the values of grades that evidence measures sum over the first K documents, and their norm."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import NamedTuple

import numpy as np

from trueval.errors import MeasureError
from trueval.measures.measure import Measure
from trueval.measures.rarity import BASE_GAINS, best_gain, check_rubric, grade_counts, rarity_weights
from trueval.standings.standings import Bools, Floats, Standings


class GradeValues(NamedTuple):
    """A set measure: the sum of its documents' values, over a norm.

    Attributes:
        weights: [query, grade 0..5] value of a document.
        norm: [query] Z.
        undefined: [query] whether the judgments have no relevant document.
    """

    weights: Floats
    norm: Floats
    undefined: Bools

    def of_rows(self, standings: Standings) -> Floats:
        """[row] value of each judged document that the run lists."""
        gains: Floats = self.weights[standings.query, standings.grade.astype(np.int64)]
        return gains


def weigh_grades(standings: Standings, measure: Measure, cutoff: int) -> GradeValues:
    """The weights and the norm of an evidence measure at a cutoff.

    Raises:
        InputError: a grade is not on the rubric.
        MeasureError: the measure is not one of a set.
    """
    if measure.name not in WORTHS:
        raise MeasureError(f"{measure} must be one of {', '.join(WORTHS)}. Name one of these inside the brackets.")
    check_rubric(standings, measure)
    return WORTHS[measure.name](grade_counts(standings), measure, cutoff)


def _normalize_weights(weights: Floats, counts: Floats, cutoff: int) -> GradeValues:
    ideal = best_gain(counts, weights, cutoff)
    return GradeValues(weights, ideal, ideal == 0)


def _rarity_aware(counts: Floats, measure: Measure, cutoff: int) -> GradeValues:
    weights = rarity_weights(counts, measure.number("alpha"), measure.number("cap4"), measure.number("cap3"))
    return _normalize_weights(weights, counts, cutoff)


def _base_gain_values(counts: Floats, measure: Measure, cutoff: int) -> GradeValues:
    return _normalize_weights(np.broadcast_to(BASE_GAINS, counts.shape), counts, cutoff)


def _recall_from(grade: int) -> Callable[[Floats, Measure, int], GradeValues]:
    """Coverage of grades at or above one: each document counts 1, over min(K, R)."""

    def compute(counts: Floats, measure: Measure, cutoff: int) -> GradeValues:
        return _normalize_weights(np.broadcast_to(np.arange(6) >= grade, counts.shape).astype(float), counts, cutoff)

    return compute


def _share(low: int, high: int) -> Callable[[Floats, Measure, int], GradeValues]:
    """Share of the K places with grades from low to high."""

    def compute(counts: Floats, measure: Measure, cutoff: int) -> GradeValues:
        inside = (np.arange(6) >= low) & (np.arange(6) <= high)
        weights = np.broadcast_to(inside, counts.shape).astype(float)
        return GradeValues(weights, np.full(len(counts), float(cutoff)), counts.sum(axis=1) == 0)

    return compute


WORTHS: Mapping[str, Callable[[Floats, Measure, int], GradeValues]] = MappingProxyType(
    {
        "RA-nWG": _rarity_aware,
        "nWG": _base_gain_values,
        "N-Recall4+": _recall_from(4),
        "N-Recall5": _recall_from(5),
        "P4+": _share(4, 5),
        "Harm": _share(1, 2),
    }
)
