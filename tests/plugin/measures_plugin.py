"""A measure of another package: precision whose weight falls by the same step from each rank to the next."""

from __future__ import annotations

import numpy as np

from trueval.measures import Definition, Measure, Values, linear
from trueval.measures.orders.weights import WeightTable
from trueval.measures.parameters import REL, count_relevant, is_relevant
from trueval.standings.standings import Standings


def _ladder(standings: Standings, measure: Measure) -> Values:
    relevant = is_relevant(standings.grade, measure).astype(float)
    weights = WeightTable(1 - np.arange(standings.limit(measure.cutoff)) / (measure.cutoff or 1))
    undefined = count_relevant(standings, measure) == 0
    return linear(standings, relevant, weights, np.ones(standings.queries), undefined)


LADDER = Definition(
    "Ladder",
    "Relevant documents, each worth less by 1 / k for every rank above it.",
    "sum of rel(d) (1 - (rank(d) - 1) / k)",
    "made up for tests",
    _ladder,
    cutoff_use="required",
    parameters={"rel": REL},
)
