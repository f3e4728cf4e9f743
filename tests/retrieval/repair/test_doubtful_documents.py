"""Doubtful documents are those that can decide the first K, and no others need another score."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import trueval as tv
from trueval.errors import InputError, PolicyError
from trueval.numerics import round_to
from trueval.retrieval.repair.doubtful_documents import is_top, repair
from trueval.score_width import ScoreWidth


def first_sets(scores: np.ndarray, moves: np.ndarray, k: int) -> set[frozenset[int]]:
    """Every set of the first K that scores within the margins allow: no outsider is surely above an insider."""
    found = set()
    for chosen in itertools.combinations(range(len(scores)), k):
        others = [each for each in range(len(scores)) if each not in chosen]
        if all(scores[o] - moves[o] <= scores[c] + moves[c] for o in others for c in chosen):
            found.add(frozenset(chosen))
    return found


def test_what_is_kept_and_scored_again_is_what_every_possible_set_says() -> None:
    rng = np.random.default_rng(2)
    for _ in range(300):
        count = int(rng.integers(1, 8))
        scores, moves = rng.integers(0, 8, count) / 8, rng.integers(0, 3, count) / 8
        k = int(rng.integers(1, count + 1))
        found, sets = repair(scores, k, moves), first_sets(scores, moves, k)
        assert set(found.keep.tolist()) == set.intersection(*map(set, sets))
        assert set(found.rescore.tolist()) == set.union(*map(set, sets)) - set(found.keep.tolist())


@pytest.mark.parametrize("name", ["bfloat16", "float16", "float8_e4m3fn"])
def test_it_restores_the_exact_first_documents_of_rounded_scores(name: str) -> None:
    rng = np.random.default_rng(4)
    exact = rng.random((200, 100)).astype(np.float32).astype(float)
    width = ScoreWidth.parse(name)
    again = 0
    for scores in exact:
        low = round_to(scores, name)
        found = repair(low, 10, width.factor * width.units(low))
        best = found.rescore[np.argsort(-scores[found.rescore], kind="stable")]
        assert is_top(scores, np.concatenate([found.keep, best])[:10])
        again += len(found.rescore)
    assert again < exact.size / 4


def test_plain_lists_and_margin_zero() -> None:
    found = tv.repair([0.5, 0.25, 0.25, 0.75], 2)
    assert (found.keep.tolist(), found.rescore.tolist()) == ([3, 0], [])
    found = tv.repair([0.5, 0.25, 0.25, 0.75], 3)
    assert (found.keep.tolist(), found.rescore.tolist()) == ([3, 0], [1, 2])
    assert tv.repair([], 3).keep.tolist() == []


@pytest.mark.parametrize(
    ("scores", "k", "margin", "error", "message"),
    [
        ([[1.0]], 1, 0, InputError, "one list"),
        ([float("nan")], 1, 0, InputError, "without NaN"),
        ([1.0, 2.0], 1, [0.1], InputError, "for each of the 2 scores"),
        ([1.0, 2.0], 1, -0.1, InputError, "at least 0"),
        ([1.0], 0, 0, PolicyError, "k of a repair"),
    ],
)
def test_bad_input_is_refused(scores: object, k: int, margin: object, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        tv.repair(scores, k, margin)  # type: ignore[arg-type]
