"""Which measures of lists predict answers: held-out shares against a naive twin, planted worlds, and whole sweeps."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from tests.extras import need
from tests.tradeoff.runner.test_sweep_answers import run, write_sweep

from trueval.standings.standings import Floats, Ints
from trueval.tradeoff.diagnosis.answer_prediction import FOLDS, REPEATS, STREAM, compare_predictors
from trueval.tradeoff.frontier.frontier import frontier

need("bm25s", extra="retrieval")


def world(rng: np.random.Generator, questions: int, configurations: int = 4) -> tuple[Floats, Floats, Ints]:
    """Answers that are right with a chance that grows with a measure; one measure is it, one noisy, one nothing."""
    hard = rng.normal(size=(questions, 1))
    grade = rng.integers(0, 6, size=(questions, configurations)) / 5
    chance = 1 / (1 + np.exp(-(2.5 * (grade - 0.5) + hard)))
    noisy = np.clip(np.round((grade + rng.normal(0, 0.4, size=grade.shape)) * 5) / 5, 0, 1)
    x = np.stack([each.ravel() for each in (grade, noisy, rng.integers(0, 6, size=grade.shape) / 5)])
    y = (rng.random(grade.shape) < chance).astype(np.float64).ravel()
    return x, y, np.repeat(np.arange(questions), configurations)


def pooled(x: list[float], y: list[float]) -> dict[float, float]:
    """The nearest growing curve, by its own formula: max over begins of min over ends of means."""
    places = sorted(set(x))
    means = [[each for at, each in zip(x, y, strict=True) if at == place] for place in places]

    def mean(begin: int, end: int) -> float:
        some = [value for each in means[begin : end + 1] for value in each]
        return sum(some) / len(some)

    size = len(places)
    return {
        place: max(min(mean(begin, end) for end in range(at, size)) for begin in range(at + 1))
        for at, place in enumerate(places)
    }


def test_shares_are_those_of_a_naive_twin() -> None:
    x, y, question = world(np.random.default_rng(3), 24, 3)
    found = {each.measure: each for each in compare_predictors("abc", x, y, question, level=0.95, resamples=50, seed=5)}
    key = np.array([5, STREAM], dtype=np.uint64)
    rng = np.random.Generator(np.random.Philox(key=key, counter=np.zeros(4, dtype=np.uint64)))
    folds = [rng.permutation(24) % FOLDS for _ in range(REPEATS)]
    for name, values in zip("abc", x, strict=True):
        loss = base = 0.0
        for fold in folds:
            for number in range(FOLDS):
                inside = [at for at in range(len(y)) if fold[question[at]] != number]
                curve = pooled([float(values[at]) for at in inside], [float(y[at]) for at in inside])
                mean = float(np.mean([y[at] for at in inside]))
                for at in (at for at in range(len(y)) if fold[question[at]] == number):
                    places = sorted(curve)
                    loss += (y[at] - np.interp(values[at], places, [curve[each] for each in places])) ** 2
                    base += (y[at] - mean) ** 2
        assert found[name].explained.value == pytest.approx(1 - loss / base)
        pairs = agree = 0.0
        for one in range(len(y)):
            for other in range(one):
                if question[one] == question[other] and y[one] != y[other]:
                    pairs += 1
                    gap = (values[one] - values[other]) * (y[one] - y[other])
                    agree += 1.0 if gap > 0 else 0.5 if gap == 0 else 0.0
        assert found[name].agreement is not None
        assert found[name].agreement.value == pytest.approx(agree / pairs)


def test_a_growing_function_of_a_measure_explains_the_same() -> None:
    """At values that were fitted; between them straight lines differ."""
    x, y, question = world(np.random.default_rng(4), 40)
    found = compare_predictors("ab", np.stack([x[0], np.exp(3 * x[0])]), y, question, level=0.95, resamples=50, seed=0)
    assert found[0].explained.value == pytest.approx(found[1].explained.value)
    assert found[1].behind is not None
    assert found[1].behind.low == found[1].behind.high == pytest.approx(0.0)


def test_a_frontier_says_what_predicts_its_answers(tmp_path: Path) -> None:
    """Spans are read without fault, so recall at K is the value of each answer, and the rank alone is not."""
    path = write_sweep(tmp_path, 'model = ["extractive:spans", "planted"]\nplanted = { misreads = 1.0 }')
    path.write_text(path.read_text().replace('names = ["nDCG@K"]', 'names = ["RR@10", "R@K"]'))
    run(path)
    found = frontier(tmp_path / "out").result.predictions
    assert found is not None
    (only,) = found  # the other generator's answers are all wrong, and nothing predicts what does not differ
    assert (only.generator, only.questions, only.pairs) == ("extractive:spans", 12, 24)
    assert [each.measure for each in only.measures] == ["R@K", "RR@10"]
    assert only.measures[0].explained.value == 1.0
    assert only.best == "R@K"


@pytest.mark.evidence
@pytest.mark.parametrize("questions", [40, 150])
def test_intervals_hold_and_nothing_is_not_said_to_predict(questions: int) -> None:
    """The true share is the mean over worlds of the same size; of a measure that says nothing it is about 0."""
    worlds, rng = 1000, np.random.default_rng(questions)
    ends, sure = np.empty((worlds, 3, 3)), np.zeros(3)
    for at in range(worlds):
        x, y, question = world(rng, questions)
        found = compare_predictors("abc", x, y, question, level=0.95, resamples=1000, seed=at)
        for each in found:
            part = each.explained
            ends[at, "abc".index(each.measure)] = part.value, part.low, part.high
            sure["abc".index(each.measure)] += (part.low or 0) > 0
    truth = ends[:, :, 0].mean(axis=0)
    held = ((ends[:, :, 1] <= truth) & (truth <= ends[:, :, 2])).mean(axis=0)
    print(f"\n{questions} questions: explains {truth.round(3)}, held {held.round(3)}, sure {sure / worlds}")
    assert (held[:2] >= 0.91).all()
    assert sure[2] / worlds <= 0.025
