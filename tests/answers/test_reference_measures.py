"""Measures without a judge: by hand, and scikit-learn's F1 of token counts."""

from __future__ import annotations

import math

import numpy as np
import pytest

from trueval.answers.answer import AnswerLog, LoggedAnswer
from trueval.answers.reference_measures import best_of_references, exact_match, number_recall, numbers_in, token_f1


@pytest.mark.parametrize(
    ("answer", "reference", "match", "f1"),
    [
        ("The Eiffel Tower [1].", "eiffel tower", 1.0, 1.0),
        ("in Paris, France", "Paris", 0.0, 2 / 4),
        ("a b b c", "b b d", 0.0, 2 * 2 / (3 + 3)),  # the article is left out
        ("", "Paris", 0.0, 0.0),
        ("The", "a", 1.0, 1.0),
        ("« Oui »", "oui", 1.0, 1.0),
    ],
)
def test_exact_match_and_token_f1_by_hand(answer: str, reference: str, match: float, f1: float) -> None:
    assert exact_match(answer, reference) == match
    assert token_f1(answer, reference) == pytest.approx(f1)


def test_token_f1_is_scikit_learns_on_sets_of_tokens() -> None:
    """Without repetitions it is the F1 of which words are there."""
    metrics = pytest.importorskip("sklearn.metrics")
    rng = np.random.default_rng(5)
    words = [f"w{at}" for at in range(12)]
    for _ in range(50):
        one, other = (rng.random(12) < 0.5 for _ in range(2))
        if not one.any() or not other.any():
            continue
        texts = [" ".join(word for word, kept in zip(words, each, strict=True) if kept) for each in (one, other)]
        assert token_f1(*texts) == pytest.approx(metrics.f1_score(other, one))


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("1,250 and 1.250 and 1 250", {1250.0}),
        ("3,5 % or 3.5", {3.5}),
        ("0.125", {0.125}),
        ("1,234.5 and 1.234,5", {1234.5}),
        ("1,234,567", {1234567.0}),
        ("-7 in B12, v2", {-7.0}),
        ("see [4]", set()),
        ("1999-2001", {1999.0, 2001.0}),
    ],
)
def test_numbers_of_a_text(text: str, numbers: set[float]) -> None:
    assert numbers_in(text) == numbers


def test_the_best_reference_counts_and_none_is_not_known() -> None:
    """A question without a reference is unknown; one whose reference has no number has nothing to measure."""
    answers = [
        LoggedAnswer(f"q{at}", "?", "In 1889", (), each) for at, each in enumerate([("1900", "1889"), (), ("never",)])
    ]
    found = best_of_references(AnswerLog("s", "log", tuple(answers), {}), number_recall)
    assert found.bounds.lowest[0] == 1.0
    assert all(math.isnan(each) for each in found.bounds.lowest[1:].tolist())
    assert found.unknown.tolist() == [False, True, False]
