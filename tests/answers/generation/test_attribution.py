"""Losses: they add up, hold for every way to fill what is not known, and are paired by question."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from trueval.answers.answer import Passage
from trueval.answers.claim_measures import Bounds
from trueval.answers.evaluate_answers import mean_interval
from trueval.answers.generation.answer_requests import Answered, AnswerRequest, QuestionValue
from trueval.answers.generation.attribution import FIRST_ORDER, ContextValues, bounded_mean, context_values, gap, losses
from trueval.models.generator import Generation


def values(low: list[float], high: list[float] | None = None) -> ContextValues:
    first, last = np.array(low), np.array(low if high is None else high)
    there = ~np.isnan(first)
    return ContextValues(Bounds(first, last), there, there, first, last)


CODES = np.arange(4)


def test_losses_by_hand_add_up() -> None:
    contexts = {
        "none": values([0.0, 0.0, 1.0, 0.0]),
        "system": values([0.0, 0.5, 1.0, 0.0]),
        "gold": values([1.0, 0.5, 1.0, 0.5]),
        "gold+distractors": values([1.0, 0.0, 1.0, 0.0]),
        FIRST_ORDER: values([0.0, 0.5, 1.0, 0.0]),
        "reordered": values([0.0, 1.0, 1.0, 0.0]),
    }
    found = {each.name: each for each in losses(contexts, CODES, 0.95)}
    assert {name: each.value for name, each in found.items()} == {
        "retrieval": 1.5 / 4,
        "reading": 1 / 4,
        "distraction": 1 / 4,
        "order": -0.5 / 4,
    }
    assert found["retrieval"].value + found["reading"].value == 1 - 1.5 / 4
    assert gap(contexts, CODES, 0.95).value == (1.5 / 4 - 1 / 4) / 2


def test_bounds_are_reached_by_some_way_to_fill_what_is_not_known() -> None:
    """Against all corners of the values that are open."""
    rng = np.random.default_rng(5)
    low = {name: rng.choice([0.0, 0.5, 1.0], 4) for name in ("system", "gold")}
    high = {name: np.maximum(each, rng.choice([0.0, 0.5, 1.0], 4)) for name, each in low.items()}
    contexts = {name: values(low[name].tolist(), high[name].tolist()) for name in low}
    found = {each.name: each for each in losses(contexts, CODES, 0.95)}
    between = gap(contexts, CODES, 0.95)
    seen = {"retrieval": [], "reading": [], "gap": []}
    for which in product([False, True], repeat=8):
        system = np.where(which[:4], high["system"], low["system"])
        gold = np.where(which[4:], high["gold"], low["gold"])
        seen["retrieval"].append((gold - system).mean())
        seen["reading"].append((1 - gold).mean())
        seen["gap"].append(((gold - system) - (1 - gold)).mean() / 2)
    for name, each in {**found, "gap": between}.items():
        assert (each.lowest, each.highest) == pytest.approx((min(seen[name]), max(seen[name])))
        assert each.low <= each.lowest <= each.value <= each.highest <= each.high


def test_retrieval_and_reading_are_over_the_same_questions() -> None:
    """A question without gold documents is in neither; bounds over all questions tell of it."""
    contexts = {"system": values([0.0, 1.0, 0.0, 1.0]), "gold": values([1.0, 1.0, np.nan, 0.0])}
    found = {each.name: each for each in losses(contexts, CODES, 0.95)}
    assert found["retrieval"].questions == found["reading"].questions == 3
    assert found["retrieval"].value + found["reading"].value == pytest.approx(1 - 2 / 3)


def test_an_interval_of_differences_is_that_of_its_fraction() -> None:
    differences = np.array([-0.5, 0.0, 1.0, 0.5])
    found = bounded_mean("d", Bounds(differences, differences), np.ones(4, dtype=bool), CODES, 0.9, signed=True)
    plain = mean_interval((differences + 1) / 2, CODES, 0.9)
    assert (found.low, found.high) == pytest.approx((2 * plain.low - 1, 2 * plain.high - 1))
    equal = bounded_mean("d", Bounds(np.zeros(4), np.zeros(4)), np.ones(4, dtype=bool), CODES, 0.9, signed=True)
    assert equal.low < 0 < equal.high, "equal differences are no proof that all are equal"


def test_the_interval_of_reading_is_that_of_gold_mirrored() -> None:
    """A loss of reading is never below 0, nor is its interval."""
    every = np.ones(4, dtype=bool)
    for low in ([1.0, 0.5, 1.0, 0.25], [1.0] * 4):
        gold = values(low)
        found = losses({"gold": gold}, CODES, 0.95)[0]
        plain = bounded_mean("gold", gold.bounds, every, CODES, 0.95, signed=False)
        assert (found.low, found.high) == pytest.approx((1 - plain.high, 1 - plain.low))
        assert found.low >= 0.0


def answered(query: str, log: str, documents: str, problem: str = "") -> Answered:
    request = AnswerRequest(query, log, tuple(Passage(id, id) for id in documents))
    return Answered(request, Generation("text", problem), abstained=False)


def test_a_question_is_worth_the_mean_over_contexts_of_the_mean_over_repetitions() -> None:
    """Contexts ab (twice) and ba (twice, one of them broken off): low (1 + 0) / 2 and 0 / 2; high 1 more half."""
    asked = [
        answered("q", "system", "ab"),
        answered("q", "system 2", "ab"),
        answered("q", "system 3", "ba"),
        answered("q", "system 4", "ba", "the stream stopped"),
    ]
    whole = QuestionValue(1.0, 1.0, known=True), QuestionValue(0.0, 0.0, known=True)
    worth = {"system": {"q": whole[0]}, "system 2": {"q": whole[1]}, "system 3": {"q": whole[1]}, "system 4": {}}
    found = context_values(asked, worth, ["q", "p"])
    assert (found.bounds.lowest[0], found.bounds.highest[0]) == ((0.5 + 0.0) / 2, (0.5 + 0.5) / 2)
    assert (found.least[0], found.most[0]) == (0.0, 0.5)
    assert found.there.tolist() == [True, False]
    assert not found.known[0]
