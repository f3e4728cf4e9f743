"""Influence: the weight of a passage in the measures of runs, averaged over tie orders.

    influence(d) = sqrt( (1/R) sum over runs r of w_r(d)^2 )

w_r(d) is the mean weight of the ranks above + 1 .. above + tied that run r gives d: the factor of its gain in the
expected value of a linear measure (docs/formulas.md §2). The variance of a corrected measure is a sum of squared
influences, so their root mean square over runs serves the mean variance of all runs.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

import numpy as np

from trueval.measures.orders.weights import Top, Weights, discounts, geometric
from trueval.policy.policy import OURS
from trueval.standings.counting import count
from trueval.standings.standings import Floats

if TYPE_CHECKING:
    from trueval.judgments import Judgments
    from trueval.measures import Measure
    from trueval.run import Run
    from trueval.standings.standings import Standings

# Measures in which the first k ranks have equal weight. RBP has its own weights; any other measure is assumed to
# discount ranks as DCG does, which is exact for DCG and nDCG, and an approximation for AP and RR.
FLAT: Final = (
    *("P", "Hits", "R", "F1", "Success", "AllGold", "Judged", "novelty"),
    *("RA-nWG", "nWG", "N-Recall4+", "N-Recall5", "P4+", "Harm"),
)


def influence(judgments: Judgments, runs: Sequence[Run], measure: Measure) -> Floats:
    """Influence of each judged passage on the measures.

    Args:
        runs: at least one.
        measure: measure whose rank weights count, with its cutoff.

    Returns:
        [row of the judgments] 0 where no run lists the passage within the cutoff.

    >>> from trueval.judgments import Judgments
    >>> from trueval.measures import P
    >>> from trueval.run import Run
    >>> judgments = Judgments.from_dict({"q": {"a": 1, "b": 2, "c": 3}})
    >>> influence(judgments, [Run.from_dict({"q": {"a": 2, "b": 1, "c": 1}})], P @ 2).tolist()
    [1.0, 0.5, 0.5]
    """
    squares = np.zeros(judgments.frame.height)
    for run in runs:
        standings = count(run, judgments, OURS)
        squares[standings.item] += expected_weights(standings, measure) ** 2
    return np.asarray(np.sqrt(squares / len(runs)))


def expected_weights(standings: Standings, measure: Measure) -> Floats:
    """[row] mean weight of the ranks that each judged document of a list may take."""
    inner = measure.innermost
    last = standings.limit(measure.cutoff if inner.cutoff is None else inner.cutoff)
    weights = _weights(standings, inner, last)
    found = np.zeros(len(standings.query))
    some = np.flatnonzero(standings.above < last)
    if len(some):
        spans = weights.spans(standings.above[some], standings.tied[some], standings.query[some])
        found[some] = spans.mean
    return found


def _weights(standings: Standings, measure: Measure, last: int) -> Weights:
    if measure.name == "RBP":
        return geometric(measure.number("p"), last, standings.table_length)
    return Top(last) if measure.name in FLAT else discounts(last, standings.table_length)
