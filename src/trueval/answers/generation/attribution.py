"""What limits answers: their values under several contexts, and where losses come from, paired by question.

    retrieval's loss    gold - system        what better lists could gain
    reading's loss      1 - gold             what is wrong with the answer in front of it; labels and references too
    distraction         gold - gold+distractors
    order               system, its first order - reordered, of the same documents
    closed book         none                 what it knew anyway

so that 1 - system = retrieval's loss + reading's loss, for each question and for the means. A value that is not known
(an answer that broke off, a missing label, a question without a reference) is an interval from the least to the
greatest that it may be, up to [0, 1]; so is every difference, and so is every mean.

An interval of a mean is over questions, as in `evaluate_answers`: from its lower end for the lowest values to its upper
end for the highest. Reading's loss is from 0 to 1. Other
differences d are from -1 to 1: their interval is that of (d + 1) / 2, mapped back.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

import numpy as np

from trueval.answers.answer import Passage
from trueval.answers.claim_measures import Bounds
from trueval.answers.evaluate_answers import mean_interval
from trueval.answers.generation.answer_requests import UNKNOWN, Answered, QuestionValue
from trueval.answers.generation.generation_result import BoundedMean
from trueval.answers.generation.question_contexts import GOLD, NOISY, REORDERED, SYSTEM
from trueval.standings.standings import Bools, Floats, Ints

RETRIEVAL: Final = "retrieval"
READING: Final = "reading"
DISTRACTION: Final = "distraction"
ORDER: Final = "order"
FIRST_ORDER: Final = "system, first order"  # the context that `reordered` has in another order
# Differences of two contexts, in the order of the page; None stands for 1, an answer without fault.
LOSSES: Final[Mapping[str, tuple[str | None, str]]] = {
    RETRIEVAL: (GOLD, SYSTEM),
    READING: (None, GOLD),
    DISTRACTION: (GOLD, NOISY),
    ORDER: (FIRST_ORDER, REORDERED),
}


class ContextValues(NamedTuple):
    """The values of one context per question.

    Attributes:
        bounds: [question] mean over its contexts and repetitions.
        there: [question] whether the question has this context at all.
        known: [question] whether all its answers have a value.
        least: [question] the least of its contexts' values, each the mean over repetitions.
        most: [question] the greatest.
    """

    bounds: Bounds
    there: Bools
    known: Bools
    least: Floats
    most: Floats


def context_values(
    answered: Sequence[Answered], values: Mapping[str, Mapping[str, QuestionValue]], questions: Sequence[str]
) -> ContextValues:
    """The values of one context.

    A question's value is the mean over its contexts, which are all equally likely, of the mean over repetitions.

    Args:
        answered: answers from this context.
        values: log → question → value.
        questions: ids.
    """
    place = {query: at for at, query in enumerate(questions)}
    by_context: list[dict[tuple[str, ...], list[QuestionValue]]] = [{} for _ in questions]
    for one in answered:
        request = one.request
        value = UNKNOWN if one.generation.problem else values[request.log].get(request.query, UNKNOWN)
        by_context[place[request.query]].setdefault(tuple(each.id for each in request.passages), []).append(value)
    low, high, least, most = (np.full(len(questions), math.nan) for _ in range(4))
    there = np.array([bool(each) for each in by_context], dtype=bool)
    known = there.copy()
    for at, contexts in enumerate(by_context):
        if not contexts:
            continue
        lows = [float(np.mean([each.low for each in samples])) for samples in contexts.values()]
        highs = [float(np.mean([each.high for each in samples])) for samples in contexts.values()]
        low[at], high[at], least[at], most[at] = np.mean(lows), np.mean(highs), min(lows), max(highs)
        known[at] = all(each.known for samples in contexts.values() for each in samples)
    return ContextValues(Bounds(low, high), there, known, least, most)


def first_order(answered: Sequence[Answered]) -> list[Answered]:
    """The answers from the first context of each question, whatever the number of orders that its ties leave open."""
    first: dict[str, tuple[Passage, ...]] = {}
    return [
        one for one in answered if first.setdefault(one.request.query, one.request.passages) == one.request.passages
    ]


def difference(one: Bounds | None, other: Bounds) -> Bounds:
    """Bounds of a difference; None stands for 1.

    >>> found = difference(None, Bounds(np.array([0.25]), np.array([0.75])))
    >>> found.lowest.tolist(), found.highest.tolist()
    ([0.25], [0.75])
    """
    first = Bounds(np.ones_like(other.lowest), np.ones_like(other.highest)) if one is None else one
    return Bounds(first.lowest - other.highest, first.highest - other.lowest)


def bounded_mean(name: str, bounds: Bounds, kept: Bools, codes: Ints, level: float, *, signed: bool) -> BoundedMean:
    """The mean of bounded values over some questions, with its interval.

    Args:
        name: of the mean.
        bounds: [question] values.
        kept: [question] whether it counts.
        codes: [question] number of its cluster.
        signed: whether values are from -1 to 1, and not from 0 to 1.
    """
    if not kept.any():
        return BoundedMean(name, None, None, None, None, None, 0)
    shift, size = (1.0, 2.0) if signed else (0.0, 1.0)
    ends = [mean_interval(np.clip((each[kept] + shift) / size, 0.0, 1.0), codes[kept], level) for each in bounds]
    numbers = (ends[0].estimate, ends[1].estimate, ends[0].low, ends[1].high)
    lowest, highest, low, high = (size * number - shift for number in numbers)
    return BoundedMean(
        name,
        (lowest + highest) / 2,
        None if math.isnan(low) else low,
        None if math.isnan(high) else high,
        lowest,
        highest,
        int(kept.sum()),
    )


def has_all_contexts(contexts: Mapping[str, ContextValues], names: Sequence[str | None]) -> Bools:
    """[question] whether it has all of some contexts."""
    found = np.stack([contexts[name].there for name in names if name is not None])
    return np.asarray(found.all(axis=0), dtype=bool)


def losses(contexts: Mapping[str, ContextValues], codes: Ints, level: float) -> tuple[BoundedMean, ...]:
    """The losses that the contexts allow, each over the questions that have both of its contexts.

    The loss of retrieval and that of reading are over the same questions, so that they add up to 1 - system. Reading's
    loss is from 0 to 1, so its interval is that of the gold context, mirrored.

    Args:
        contexts: name → values; FIRST_ORDER has those of the system's first context alone.
        codes: [question] number of its cluster.
        level: of the intervals.
    """
    found = []
    main = has_all_contexts(contexts, [GOLD, SYSTEM]) if {GOLD, SYSTEM} <= {*contexts} else None
    for name, (one, other) in LOSSES.items():
        if other not in contexts or (one is not None and one not in contexts):
            continue
        first = None if one is None else contexts[one].bounds
        kept = main if name in (RETRIEVAL, READING) and main is not None else has_all_contexts(contexts, [one, other])
        bounds = difference(first, contexts[other].bounds)
        found.append(bounded_mean(name, bounds, kept, codes, level, signed=one is not None))
    return tuple(found)


def gap(contexts: Mapping[str, ContextValues], codes: Ints, level: float) -> BoundedMean | None:
    """Retrieval's loss minus reading's, halved: ((gold - system) - (1 - gold)) / 2; None without both contexts."""
    if not {GOLD, SYSTEM} <= {*contexts}:
        return None
    gold, system = contexts[GOLD].bounds, contexts[SYSTEM].bounds
    # Monotone in each of the two values: increasing in gold, decreasing in system.
    bounds = Bounds(gold.lowest - (system.highest + 1) / 2, gold.highest - (system.lowest + 1) / 2)
    return bounded_mean("gap", bounds, has_all_contexts(contexts, [GOLD, SYSTEM]), codes, level, signed=True)
