import itertools
import math
from collections.abc import Mapping

import numpy as np
import pytest
from twin import Orders, all_orders, value

from trueval.comparison.compare import compare, compare_scores
from trueval.comparison.resampling.tie_order_values import Atoms, TieOrders, convolve
from trueval.comparison.resampling.win_probability import (
    UNKNOWN,
    TieMoments,
    certain,
    exact,
    normal,
    sample_win_probability,
)
from trueval.evaluation.evaluate import evaluate
from trueval.judgments import Judgments
from trueval.run import Run

GRADES = {
    "q1": {"a": 2, "b": 0, "c": 1, "e": 3},
    "q2": {"a": 1, "d": 1},
    "q3": {"b": 1},
}
ONE = {
    "q1": {"a": 1.0, "b": 1.0, "c": 1.0, "d": 0.5},
    "q2": {"a": 3.0, "b": 2.0, "c": 2.0, "d": 2.0},
    "q3": {"a": 1.0, "b": 1.0},
}
OTHER = {
    "q1": {"e": 2.0, "b": 2.0, "x": 2.0, "a": 1.0, "c": 1.0},
    "q2": {"d": 1.0, "y": 1.0, "a": 0.0},
    "q3": {"b": 2.0, "a": 1.0},
}
MEASURES = ["RR", "nDCG@2", "AP", "P@2", "R@3", "Success@1", "RBP", "DCG", "nDCG(gain='exp')", "Judged@2"]


def distribution(orders: Mapping[str, Orders], measure: str) -> dict[float, float]:
    """The mean of a measure over queries under every order, with its probability: by brute force."""
    total = {0.0: 1.0}
    for of_query in orders.values():
        count = sum(of_query.values())
        following: dict[float, float] = {}
        for (sum_so_far, chance), (ranking, times) in itertools.product(total.items(), of_query.items()):
            key = round(sum_so_far + float(value(ranking, measure)), 10)
            following[key] = following.get(key, 0.0) + chance * times / count
        total = following
    return total


def brute_force(one: dict, other: dict, measure: str) -> float:
    first, second = (distribution({q: all_orders(run[q], GRADES[q]) for q in GRADES}, measure) for run in (one, other))
    return sum(
        p * q * (1.0 if a > b + 1e-8 else 0.5 if abs(a - b) <= 1e-8 else 0.0)
        for (a, p), (b, q) in itertools.product(first.items(), second.items())
    )


def found(one: dict, other: dict, measure: str, **choices: int):
    judgments = Judgments.from_dict(GRADES)
    runs = Run.from_dict(one, name="one"), Run.from_dict(other, name="other")
    return compare(runs, judgments, measure, resamples=100, **choices).differences[0]


@pytest.mark.parametrize("measure", MEASURES)
@pytest.mark.parametrize("rivals", [(ONE, OTHER), (OTHER, ONE), (ONE, ONE)])
def test_exact_win_probability_is_that_of_brute_force(measure: str, rivals: tuple[dict, dict]) -> None:
    win = found(*rivals, measure).win
    assert win.method in ("exact", "certain")
    assert win.value == pytest.approx(brute_force(*rivals, measure), abs=1e-12)


def test_some_of_them_are_neither_certain_nor_even() -> None:
    values = [found(ONE, OTHER, measure).win for measure in MEASURES]
    assert sum(win.method == "exact" and win.value not in (0, 0.5, 1) for win in values) >= 5


@pytest.mark.parametrize("measure", ["RR", "nDCG@2", "AP"])
def test_sampled_and_normal_hold_the_exact_value(measure: str, monkeypatch: pytest.MonkeyPatch) -> None:
    true = found(ONE, OTHER, measure).win.value
    monkeypatch.setattr("trueval.comparison.resampling.tie_order_values.MOST_LISTED", 0)
    drawn = found(ONE, OTHER, measure, tie_samples=16_000).win
    assert drawn.method == "sampled"
    assert drawn.value == pytest.approx(true, abs=5 * math.sqrt(0.25 / 16_000))
    assert drawn.low <= true <= drawn.high
    judgments = Judgments.from_dict(GRADES)
    scores = [evaluate(Run.from_dict(run, name=name), judgments, measure) for name, run in (("a", ONE), ("b", OTHER))]
    smooth = compare_scores(scores, resamples=100).differences[0].win
    assert smooth.method == "normal"
    assert smooth.low <= true <= smooth.high


def test_samples_are_the_same_for_a_seed_and_independent_between_runs() -> None:
    judgments, run = Judgments.from_dict(GRADES), Run.from_dict(ONE)
    scores = evaluate(run, judgments, "RR")
    one, again, other = (TieOrders(run, judgments, scores.policy, stream) for stream in (0, 0, 1))
    draws = [orders.samples(scores.measures[0], np.arange(3), 5_000, 0) for orders in (one, again, other)]
    assert (draws[0] == draws[1]).all()
    assert abs(np.corrcoef(draws[0], draws[2])[0, 1]) < 0.07
    assert draws[0].mean() == pytest.approx(scores.expected.sum(), abs=4 * draws[0].std() / math.sqrt(5_000))
    assert draws[0].std() == pytest.approx(math.sqrt((scores.sd**2).sum()), rel=0.05)


@pytest.mark.parametrize("queries", [1, 3, 10, 40])
@pytest.mark.parametrize("shift", [0.0, 0.1, 0.5])
def test_bounds_of_the_normal_hold_the_exact_value(queries: int, shift: float) -> None:
    rng = np.random.default_rng(queries)
    low, high = rng.random((2, 2, queries)) + np.array([0, 1])[:, None, None]
    low[0], high[0] = low[0] + shift, high[0] + shift
    atoms = [
        convolve(Atoms(np.array([a, b]), np.array([0.5, 0.5])) for a, b in zip(low[run], high[run], strict=True))
        if queries <= 10
        else None
        for run in (0, 1)
    ]
    sides = [
        TieMoments((low[run] + high[run]) / 2, (high[run] - low[run]) ** 2 / 4, (high[run] - low[run]) / 2)
        for run in (0, 1)
    ]
    guess = normal(*sides)
    assert guess.low <= guess.value <= guess.high
    if atoms[0] is not None and atoms[1] is not None:
        assert guess.low <= exact(atoms[0], atoms[1]).value <= guess.high
    else:
        coins = rng.random((2, 40_000, queries)) < 0.5
        sums = [np.where(coins[run], low[run], high[run]).sum(axis=1) for run in (0, 1)]
        drawn = sample_win_probability([(sums[0], sums[1])], UNKNOWN, 0.95, 40_000)
        assert guess.value == pytest.approx(drawn.value, abs=0.01)
        assert guess.low <= drawn.high
        assert drawn.low <= guess.high


def test_certain_needs_no_distribution() -> None:
    assert certain(0.0, 0.1) is None
    assert certain(-0.1, 0.0) is None


def test_scores_alone_give_the_normal_distribution() -> None:
    judgments = Judgments.from_dict(GRADES)
    scores = [evaluate(Run.from_dict(run, name=name), judgments, "RR") for name, run in (("a", ONE), ("b", OTHER))]
    assert compare_scores(scores, resamples=100).differences[0].win.method == "normal"
