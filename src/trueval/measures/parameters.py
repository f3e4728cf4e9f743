"""Parameters shared by several measures, and their effect on grades."""

from __future__ import annotations

import math
from collections.abc import ItemsView, Mapping

import numpy as np

from trueval.measures.measure import Measure
from trueval.measures.rarity import BASE_GAINS, check_grades
from trueval.specs import Parameter, Value, choice, number_in_range
from trueval.standings.standings import Bools, Floats, Ints, Standings


def _gain(value: Value) -> Value:
    """The canonical gain: a word, or a map as pairs of floats sorted by grade."""
    if value in ("linear", "exp", "binary", "rubric"):
        return value
    pairs = value.items() if isinstance(value, Mapping) else value
    if not isinstance(pairs, (tuple, ItemsView)):
        raise ValueError(value)
    table = {float(grade): float(gain) for grade, gain in pairs}
    if not table or any(not math.isfinite(gain) or gain < 0 for gain in table.values()):
        raise ValueError(value)
    return tuple(sorted(table.items()))


REL = number_in_range(1, 0, math.inf, "a document is relevant if its grade is at least this")
GAIN = Parameter(
    "linear",
    "'linear', 'exp', 'binary', 'rubric' or a map {grade: gain} of gains >= 0",
    _gain,
    "gain of a grade: itself, 2^g - 1, 1 for any above 0, its worth on the rubric 1 to 5, or the map's",
)
BASE = choice("judgments", "list", about="whether the ideal and the number of relevant documents are the list's own")


def is_relevant(grades: Floats, measure: Measure) -> Bools:
    """Whether each grade reaches the threshold `rel` of the measure."""
    return np.asarray(grades >= measure.number("rel"))


def count_relevant(standings: Standings, measure: Measure) -> Floats:
    """[query] N+: number of relevant documents in the judgments, or in the list if the measure has base='list'."""
    relevant = is_relevant(standings.pool_grade, measure)
    if "base" in measure.definition.parameters and measure["base"] == "list":
        relevant &= standings.list_base
    return standings.sum_pool(relevant)


def gains_of(grades: Floats, measure: Measure) -> Floats:
    """The gain of each grade: linear g, exponential 2^g - 1, binary 1[g > 0], b_g of the rubric, or the measure's map.

    Source: Järvelin & Kekäläinen 2002 (linear); Burges et al. 2005 (exponential); P-B §2.4 (rubric: 1, .5, .1, 0 and 0
    of grades 5 to 1). Grades that a map does not name gain as trec_eval has it: their own value. An exponential gain
    that is out of range is infinite: the caller refuses it.

    Raises:
        InputError: a grade is not on the rubric, whose gains were chosen.
    """
    gain = measure["gain"]
    if gain == "exp":
        return exponential_gain(grades)
    if gain == "binary":
        return (grades > 0).astype(float)
    if gain == "rubric":
        check_grades(grades, measure)
        return BASE_GAINS[grades.astype(np.int64)]
    if not isinstance(gain, tuple):
        return grades
    known, table = np.array(gain).T
    place = np.minimum(np.searchsorted(known, grades), len(known) - 1)
    return np.where(known[place] == grades, table[place], grades)


def exponential_gain(grades: Floats) -> Floats:
    """2^g - 1; for small values without the subtraction, which would lose all digits."""
    with np.errstate(over="ignore"):
        return np.where(grades < 0.5, np.expm1(grades * np.log(2)), np.exp2(grades) - 1)


def cutoff_or_listed(standings: Standings, measure: Measure) -> Floats:
    """[query] k, or the number of listed documents for a measure without a cutoff."""
    if measure.cutoff is not None:
        return np.full(standings.queries, float(measure.cutoff))
    return np.minimum(standings.listed, standings.limit(None)).astype(float)


def relevant_by_group(standings: Standings, relevant: Bools) -> Ints:
    """[group] r, number of relevant documents in each tie group."""
    return np.add.reduceat(relevant, standings.groups.start, dtype=np.int64) if len(relevant) else np.zeros(0, np.int64)
