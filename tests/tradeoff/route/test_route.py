"""Dynamic K: thresholds know nothing of the query that they route, and prices are what routing costs."""

import json

import numpy as np
import pytest

from trueval.errors import InputError, PolicyError
from trueval.tradeoff.quality.changes import Bootstrap
from trueval.tradeoff.route.route import RoutingResult, escalation_shares, learn_routing, partitions
from trueval.tradeoff.route.routing_policy import AnySignalRule, RoutingLimit, Signal, rules_for

FAST = Bootstrap(resamples=250, threads=1)


def planted(rng: np.random.Generator, queries: int, sharp: float) -> tuple[np.ndarray, np.ndarray, list[Signal]]:
    """Three in ten queries are hard: they gain by depth, others lose a little; margin and entropy tell, noisily."""
    hard = rng.random(queries) < 0.3
    fewer = rng.uniform(0.3, 0.7, queries)
    more = fewer + np.where(hard, 0.2, -0.04) + rng.normal(0, 0.05, queries)
    margin = np.where(hard, 0.1, 0.1 + 0.1 * sharp) + rng.normal(0, 0.05, queries)
    entropy = np.where(hard, 0.6, 0.6 - 0.1 * sharp) + rng.normal(0, 0.05, queries)
    return fewer, more, [Signal("margin", margin, low_is_hard=True), Signal("entropy", entropy)]


def learned(queries: int = 100, sharp: float = 3.0, seed: int = 0, **choices: object) -> RoutingResult:
    rng = np.random.default_rng(seed)
    fewer, more, signals = planted(rng, queries, sharp)
    given = {"repeats": 1, "folds": 5, "curve": (), "bootstrap": FAST, **choices}
    return learn_routing(fewer, more, signals, rng=rng, **given)  # type: ignore[arg-type]


def test_where_signals_tell_routing_beats_both_constants_and_a_random_router():
    found = learned(budget=0.4)
    router = found["either"]
    assert router.quality.value > max(found["fewer"].quality.value, found["more"].quality.value)
    assert all(router.over[other].low > 0 for other in ("fewer", "more", "random"))
    assert router.beats_random == "yes"
    assert found["fewer"].cost == 50 < router.cost == 50 + 50 * router.share < found["more"].cost == 100
    assert found["oracle"].quality.value >= found["oracle within the budget"].quality.value > router.quality.value


def test_where_signals_are_noise_nothing_is_claimed():
    found = [learned(50, sharp=0.0, seed=seed)["either"].beats_random for seed in range(4)]
    assert found.count("cannot tell") >= 3


def test_a_query_is_not_routed_by_its_own_gain():
    rng = np.random.default_rng(4)
    fewer, more, signals = planted(rng, 24, 1.0)
    needs, gains = np.stack([each.need for each in signals], axis=1), more - fewer
    parts = partitions(24, 6, 2, rng)
    for rule in rules_for(signals):
        shares = escalation_shares(rule, needs, gains, RoutingLimit.of(0.3, None, 1), parts)
        moved = 0
        for query in range(0, 24, 4):
            other = gains.copy()
            other[query] = 100.0 if shares[query] < 0.5 else -100.0
            again = escalation_shares(rule, needs, other, RoutingLimit.of(0.3, None, 1), parts)
            assert again[query] == shares[query]
            moved += (again != shares).sum()
        assert moved  # others are routed by it


def test_shares_are_those_of_every_fold_by_hand():
    rng = np.random.default_rng(5)
    fewer, more, signals = planted(rng, 12, 1.0)
    needs, gains, limit = np.stack([each.need for each in signals], axis=1), more - fewer, RoutingLimit.of(0.5, None, 1)
    parts = partitions(12, 4, 3, rng)
    expected = [0.0] * 12
    for folds in parts:
        assert sorted(np.concatenate(folds).tolist()) == list(range(12))
        for fold in folds:
            rest = [query for query in range(12) if query not in fold]
            fitted = AnySignalRule().fit(needs[rest], gains[rest], limit)
            for query in fold:
                expected[query] += bool(fitted.escalate(needs[query : query + 1])[0]) / 3
    assert escalation_shares(AnySignalRule(), needs, gains, limit, parts) == pytest.approx(expected)


def test_the_random_router_is_the_mean_of_its_draws():
    found, rng = learned(budget=0.5), np.random.default_rng(0)
    fewer, more, _ = planted(np.random.default_rng(0), 100, 3.0)
    router = found["margin"]
    draws = [np.where(rng.random(100) < router.share, more, fewer).mean() for _ in range(4000)]
    random = router.quality.value - router.over["random"].value
    assert random == pytest.approx(np.mean(draws), abs=4 * np.std(draws) / np.sqrt(4000))


def test_differences_are_those_of_the_means():
    found = learned()
    for router in (*found.constants, *found.rules, *found.oracles):
        for constant in ("fewer", "more"):
            difference = router.quality.value - found[constant].quality.value
            assert router.over[constant].value == pytest.approx(difference, abs=1e-12)
        assert router.over["random"].value == pytest.approx(
            router.over["fewer"].value - router.share * found["more"].over["fewer"].value, abs=1e-12
        )


def test_a_price_escalates_where_the_gain_is_worth_it():
    gains = np.array([0.4, 0.4, 0.01, 0.01] * 5)
    signal = Signal("entropy", gains)
    given = {"rng": np.random.default_rng(0), "budget": None, "repeats": 1, "curve": (), "bootstrap": FAST}
    cheap, fair, dear = (
        learn_routing(np.zeros(20), gains, [signal], price=price, **given)["either"].share  # type: ignore[arg-type]
        for price in (0.0, 0.001, 0.01)
    )
    assert (cheap, fair, dear) == (1.0, 0.5, 0.0)


def test_what_is_not_available_is_left_out():
    rng = np.random.default_rng(0)
    fewer, more, signals = planted(rng, 40, 3.0)
    holes = fewer.copy()
    holes[:3] = np.nan
    found = learn_routing(holes, more, signals, rng=np.random.default_rng(1), repeats=1, curve=(), bootstrap=FAST)
    assert (found.queries, found.left_out) == (37, 3)
    kept = [Signal(each.name, each.values[3:], each.low_is_hard) for each in signals]
    alone = learn_routing(fewer[3:], more[3:], kept, rng=np.random.default_rng(1), repeats=1, curve=(), bootstrap=FAST)
    assert {**alone.to_dict(), "left_out": 3} == found.to_dict()


def test_the_json_has_no_number_that_json_lacks():
    found = learned(queries=20, budget=0.0, curve=(0.1, 1.0)).to_dict()
    told = json.loads(json.dumps(found, allow_nan=False))
    assert told["rules"][0]["thresholds"] == {"margin": None, "entropy": None}
    assert told["rules"][0]["over"]["random"]["better"] == "cannot tell"
    assert [point["budget"] for point in told["curve"]] == [0.1, 1.0]
    assert told["rule"] == told["rules"][0]["name"]


def test_the_same_seed_gives_the_same():
    assert learned(20, seed=3).to_dict() == learned(20, seed=3).to_dict()


@pytest.mark.parametrize(
    ("fewer", "signals", "said"),
    [
        ([0.0] * 5, [], "one or more signals"),
        ([0.0] * 5, [Signal("a", np.zeros(5)), Signal("a", np.zeros(5))], "different names"),
        ([0.0] * 5, [Signal("a", np.zeros(4))], "same queries. Got fewer 5, more 5, a 4"),
        ([0.0] * 5, [Signal("a", np.array([1.0, 2.0, np.inf, 0.0, 0.0]))], "Signal a is not finite"),
        ([0.0] * 3, [Signal("a", np.zeros(3))], "needs 4 queries"),
    ],
)
def test_bad_input(fewer: list[float], signals: list[Signal], said: str):
    values = np.array(fewer)
    with pytest.raises(InputError, match=said):
        learn_routing(values, values, signals, rng=np.random.default_rng(0))


def test_bad_folds():
    with pytest.raises(PolicyError, match="folds must be"):
        partitions(10, 1, 1, np.random.default_rng(0))


@pytest.mark.evidence
def test_how_often_noise_seems_to_tell():
    """Of 200 worlds of noise 4 % seem to beat the random router, and 9 % to be worse (docs/tradeoff.md)."""
    found = [learned(sharp=0.0, seed=seed, folds=10)["either"].beats_random for seed in range(200)]
    assert found.count("yes") <= 16
    assert found.count("no") <= 32
