"""Rules of escalation: the thresholds that are chosen are the best there are."""

from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from trueval.errors import PolicyError
from trueval.tradeoff.route.routing_policy import (
    AnySignalRule,
    Linear,
    RoutingLimit,
    Signal,
    SingleSignalRule,
    best_threshold,
    rules_for,
)


def worth(mask: np.ndarray, gains: list[Fraction], charge: Fraction) -> Fraction:
    return sum((gain - charge for gain, taken in zip(gains, mask, strict=True) if taken), Fraction(0))


@pytest.mark.parametrize("seed", range(30))
@pytest.mark.parametrize(("budget", "price"), [(0.0, None), (0.4, None), (1.0, None), (None, 0.0), (None, 0.0025)])
def test_a_threshold_is_the_best_of_all(seed: int, budget: float | None, price: float | None):
    rng = np.random.default_rng(seed)
    need = rng.integers(0, 5, 8).astype(float)  # with equal ones, which cannot be divided
    gains = [Fraction(int(each), 8) for each in rng.integers(-4, 5, 8)]
    limit = RoutingLimit.of(budget, price, 50)
    mask = need >= best_threshold(need, np.array(gains, dtype=float), limit)
    tried = [need >= least for least in [-np.inf, *need, np.inf]]
    allowed = [each for each in tried if budget is None or each.sum() <= Fraction(str(budget)) * 8]
    charge = Fraction(0) if price is None else Fraction(str(price)) * 50
    best = max(worth(each, gains, charge) for each in allowed)
    assert worth(mask, gains, charge) == best
    assert mask.sum() == min(each.sum() for each in allowed if worth(each, gains, charge) == best)


@pytest.mark.parametrize("seed", range(20))
def test_either_takes_the_best_pair_of_thresholds(seed: int):
    rng = np.random.default_rng(seed)
    needs, gains = rng.normal(size=(20, 2)), rng.integers(-4, 5, 20) / 8
    limit = RoutingLimit.of(0.3, None, 50)  # 6 queries at most: every count of each signal is tried
    mask = AnySignalRule().fit(needs, gains, limit).escalate(needs)
    sides = [[needs[:, place] >= least for least in [np.inf, *needs[:, place]]] for place in (0, 1)]
    sums = [gains[a | b].sum() for a, b in product(*sides) if (a | b).sum() <= 6]
    assert mask.sum() <= 6
    assert gains[mask].sum() == max(sums)


def test_a_rule_of_one_signal_sees_no_other():
    needs, gains = np.array([[1.0, 9.0], [2.0, 8.0], [3.0, 7.0], [4.0, 6.0]]), np.array([0.0, 0.0, 0.0, 1.0])
    fitted = SingleSignalRule("margin", 0).fit(needs, gains, RoutingLimit.of(0.5, None, 1))
    assert fitted.escalate(needs).tolist() == [False, False, False, True]
    signals = [Signal("margin", -needs[:, 0], low_is_hard=True), Signal("entropy", needs[:, 1])]
    assert fitted.thresholds(signals) == {"margin": -3.5, "entropy": None}
    assert [rule.name for rule in rules_for(signals)] == ["either", "margin", "entropy", "linear"]
    assert [rule.name for rule in rules_for(signals[:1])] == ["either", "linear"]


def test_linear_is_ridge_regression_on_standardized_signals():
    rng = np.random.default_rng(1)
    needs = rng.normal([5, -2], [3, 0.1], (40, 2))
    gains = 0.2 * needs[:, 0] + rng.normal(size=40)
    fitted = Linear().fit(needs, gains, RoutingLimit.of(1.0, None, 1))
    # The same by least squares over queries that are added: standardized signals of sqrt(10), no gain.
    z = (needs - needs.mean(axis=0)) / needs.std(axis=0)
    rows = np.vstack([z, np.sqrt(10) * np.eye(2)])
    weights = np.linalg.lstsq(rows, np.concatenate([gains - gains.mean(), np.zeros(2)]), rcond=None)[0]
    assert fitted.gains(needs) == pytest.approx(gains.mean() + z @ weights)
    signals = [Signal("margin", -needs[:, 0], low_is_hard=True), Signal("entropy", needs[:, 1])]
    told = fitted.thresholds(signals)
    assert told["margin"] == pytest.approx(-weights[0] / needs.std(axis=0)[0])


def test_a_signal_that_never_varies_says_nothing():
    needs, gains = np.ones((6, 1)), np.array([1.0, 1.0, 0.0, 0.0, 0.0, 0.0])
    for rule in rules_for([Signal("margin", needs[:, 0])]):
        assert not rule.fit(needs, gains, RoutingLimit.of(0.5, None, 1)).escalate(needs).any()
        assert rule.fit(needs, gains, RoutingLimit.of(1.0, None, 1)).escalate(needs).all()


def test_neighbors_among_floats_are_divided():
    need = np.array([np.nextafter(1.0, 2), 1.0])
    least = best_threshold(need, np.array([1.0, -1.0]), RoutingLimit.of(1.0, None, 1))
    assert (need >= least).tolist() == [True, False]


@pytest.mark.parametrize(
    ("budget", "price", "dearer", "said"),
    [
        (0.3, 0.1, 1, "a budget or a price"),
        (None, None, 1, "a budget or a price"),
        (1.5, None, 1, "from 0 to 1"),
        (None, -1.0, 1, "at least 0"),
        (0.3, None, -1, "must not cost less"),
    ],
)
def test_limits_that_are_none(budget: float | None, price: float | None, dearer: float, said: str):
    with pytest.raises(PolicyError, match=said):
        RoutingLimit.of(budget, price, dearer)
