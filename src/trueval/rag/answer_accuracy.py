"""Answers: how often the generator is right when all the evidence was in its prompt, Acc|Hit.

    Acc|Hit@K = sum over queries of Hit * correct / sum of Hit,   Hit = AllGold@K

It isolates the generator from the retriever. Source: P-B (Dallaire 2025, arXiv 2511.09545) §2.3.1.
"""

from __future__ import annotations

import math
import re
import reprlib
from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from trueval.errors import MeasureError, Place
from trueval.files.json.jsonl_pairs import QUERY_KEYS, Columns, read_pairs
from trueval.measures import parse
from trueval.numerics import or_null

if TYPE_CHECKING:
    from trueval.evaluation.scores import Scores
    from trueval.files import Source
    from trueval.measures import Measure
    from trueval.measures.grammar import OtherMeasure
    from trueval.standings.standings import Floats


ANSWERS = Columns(QUERY_KEYS, ("correct", "correctness", "accuracy"), "a query and a number from 0 to 1")
NUMBER = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")


class AccuracyGivenHit(NamedTuple):
    """Accuracy of the answers to queries whose evidence is complete.

    Attributes:
        expected: sum of E[Hit] * correct / sum of E[Hit]: every query is weighted by the probability of its hit over
            tie orders.
        lowest: lowest ratio over the orders with a hit; NaN without any.
        highest: highest such ratio.
        tie_broken: ratio under the tie order; NaN without a hit, or if no order is known.
        hits: expected number of hits, the sum of E[Hit].
        queries: number of queries with gold and with an answer.
        unanswered: number of queries with gold but without an answer in the file, which are left out.
    """

    expected: float
    lowest: float
    highest: float
    tie_broken: float
    hits: float
    queries: int
    unanswered: int

    def to_dict(self) -> dict[str, float | None]:
        """The accuracy as a dict, as in the JSON of results; null if not available."""
        return {name: or_null(value) for name, value in self._asdict().items()}


def accuracy_given_hit(
    scores: Scores, measure: str | Measure | OtherMeasure, correct: Mapping[str, float]
) -> AccuracyGivenHit:
    """Accuracy on the queries whose gold documents are all among the first K.

    Args:
        scores: scores of a run, whose measures include AllGold at a cutoff.
        measure: that measure, for example "AllGold@10" or "AllGold(rel=4)@10".
        correct: query id → correctness from 0 to 1.

    Raises:
        MeasureError: the measure is not AllGold, or was not evaluated.
    """
    wanted = parse(measure)
    if wanted.name != "AllGold":
        raise MeasureError(f"Accuracy given a hit needs AllGold, for example AllGold@10. Got {wanted}.")
    column = scores.index(wanted)
    value = np.array([correct.get(query, math.nan) for query in scores.query_ids])
    gold = ~np.isnan(scores.expected[:, column])  # AllGold is not available where a query has no gold document
    known = gold & ~np.isnan(value)
    expected, low, high, tie_broken = (
        getattr(scores, name)[known, column] for name in ("expected", "lowest", "highest", "tie_broken")
    )
    answers = value[known]
    return AccuracyGivenHit(
        _ratio(expected, answers),
        _extreme(low, high, answers, 1),
        _extreme(low, high, answers, -1),
        _ratio(tie_broken, answers),
        float(expected.sum()),
        int(known.sum()),
        int((gold & ~known).sum()),
    )


def accuracies(scores: Scores, correct: Mapping[str, float]) -> dict[str, AccuracyGivenHit]:
    """Accuracy given each AllGold at a cutoff among the measures, by its text form.

    Args:
        correct: query id → correctness from 0 to 1.
    """
    hits = [measure for measure in scores.measures if measure.name == "AllGold" and measure.cutoff is not None]
    return {str(hit): accuracy_given_hit(scores, hit, correct) for hit in hits}


def _ratio(hit: Floats, correct: Floats) -> float:
    total = float(hit.sum())
    return float((hit * correct).sum()) / total if total else math.nan


def _extreme(low: Floats, high: Floats, correct: Floats, sign: int) -> float:
    """The lowest (sign 1) or highest (sign -1) ratio when each undecided query may hit or miss independently.

    Queries are independent, so the extreme takes all sure hits and the undecided ones of the worst (best) answers, as
    many as go on lowering (raising) the ratio.
    """
    sure, undecided = correct[low == 1], np.sort(sign * correct[(low == 0) & (high == 1)])
    sums = sign * float(sure.sum()) + np.concatenate(([0.0], np.cumsum(undecided)))
    counts = len(sure) + np.arange(len(undecided) + 1)
    ratios = sums[counts > 0] / counts[counts > 0]
    return sign * float(ratios.min()) + 0.0 if len(ratios) else math.nan  # no minus zero


def read_correctness(source: Source) -> dict[str, float]:
    """Read whether each answer was correct: a query and its correctness on each line.

    Args:
        source: a path, "-" for standard input, or an open file. JSON lines with query and correct, or two fields
            separated by a tab, a comma or spaces; a header line is skipped.

    Raises:
        InputError: a line is bad, a query is there twice, or a value is not within 0 and 1; with file and line.
    """
    found: dict[str, float] = {}
    for place, query, value in read_pairs(source, ANSWERS):
        if query in found:
            raise place.error(f"query {query!r} is there twice. Give one answer for each.")
        found[query] = correctness(value, place)
    return found


def correctness(value: object, place: Place) -> float:
    """Read one correctness.

    Args:
        value: true, false, or a number from 0 to 1, also as text.
        place: file and line, for the error.

    Raises:
        InputError: it is something else.

    >>> correctness("true", Place("answers.csv", 1)), correctness("0.25", Place("answers.csv", 2))
    (1.0, 0.25)
    """
    known = {"true": 1.0, "false": 0.0}.get(value.lower(), value) if isinstance(value, str) else value
    if isinstance(known, str) and NUMBER.fullmatch(known):
        known = float(known)
    if isinstance(known, (bool, int, float)) and 0 <= known <= 1:
        return float(known)
    raise place.error(f"correct must be true, false, or a number from 0 to 1. Got {reprlib.repr(value)}.")
