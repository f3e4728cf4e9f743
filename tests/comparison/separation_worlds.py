"""Worlds in which one system is better by a known difference, decided by `compare`."""

from __future__ import annotations

import numpy as np
from tests.comparison.made_scores import made_scores

from trueval.comparison.compare import compare_scores
from trueval.measures import parse_list

TOGETHER = 100


def separated(values: np.ndarray, difference: float, *, resamples: int) -> float:
    """The share of worlds in which the first system, so much better, is separated from the second.

    Worlds are so many measures of a call, each a family of its own.

    Args:
        values: [query, system, world] of systems that are equally good.
        difference: added to the first.
        resamples: of `compare`.
    """
    values = values.copy()
    values[:, 0] += difference
    found = 0
    for begin in range(0, values.shape[2], TOGETHER):
        part = values[:, :, begin : begin + TOGETHER]
        measures = parse_list([f"P@{at + 1}" for at in range(part.shape[2])])
        scores = [made_scores(f"r{at}", part[:, at], measures=measures) for at in range(part.shape[1])]
        differences = compare_scores(scores, resamples=resamples, seed=begin).differences
        found += sum(
            each.separated and each.expected > 0 for each in differences if (each.first, each.second) == ("r0", "r1")
        )
    return found / values.shape[2]
