"""gm: the geometric mean over queries, which gives more weight to queries with low values.

    GMAP = exp((1/n) sum over queries of ln max(AP, 0.00001))

`gm(AP)` has the values of AP for each query; only their mean over queries is another. Its expected value is the
geometric mean of the expected values: that of all orders at once has no closed form, and so neither has its standard
deviation. Lowest and highest are exact, since the mean grows with every value.

Source: Robertson 2006; trec_eval gm_map.
"""

from __future__ import annotations

from collections.abc import Mapping

from trueval.errors import MeasureError
from trueval.measures.measure import Definition, Measure, Values, register
from trueval.measures.span import UNIT
from trueval.standings.standings import Bools, Standings


def _gm(standings: Standings, measure: Measure) -> Values:
    return _inner(measure).evaluate(standings)


def _details(standings: Standings, measure: Measure, counted: Bools) -> Mapping[str, float]:
    return _inner(measure).details(standings, counted)


def _inner(measure: Measure) -> Measure:
    """The measure inside the brackets, if its values are shares that no query leaves open."""
    inner = measure.inner
    if inner is None:
        raise MeasureError("gm needs a measure as first argument, for example gm(AP).")
    if inner.better != "higher" or inner.definition.worst != 0 or inner.definition.empty != "policy":
        raise MeasureError(f"gm needs a measure from 0 up that every query has, for example AP. Got {inner}.")
    return inner


gm = register(
    Definition(
        "gm",
        "Geometric mean over queries of the measure in brackets: gm(AP) is GMAP; cutoffs go inside, gm(nDCG@10).",
        "exp((1/n) sum over queries of ln max(M, 0.00001))",
        "Robertson 2006; trec_eval gm_map, gm_bpref",
        _gm,
        cutoff_use="none",
        takes_measure=True,
        details=_details,
        mean="geometric",
        span=UNIT,
    )
)
