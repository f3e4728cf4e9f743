"""What shortens an interval, against trying every number."""

from itertools import product

import numpy as np
import pytest
from tests.comparison.doubt_worlds import planted

from trueval.comparison.budget.interval_plan import JUDGES, REPEATS, IntervalPlan, Purchases, UnitPrices, Workload
from trueval.comparison.budget.variance_parts import variance_of_mean, variance_of_nested
from trueval.errors import PolicyError

WORK = Workload(labels=20.0, systems=2, unit=20.0, repeats=True, judges=True)


def plan_of(found) -> IntervalPlan:
    return IntervalPlan(found.components, np.maximum(found.variances, 0.0), found.counts, 0.95)


def width(plan: IntervalPlan, questions: int, repeats: int = 0, judges: int = 0) -> float:
    more = (np.array([float(each)]) for each in (questions, repeats, judges, 0))
    return float(plan.half_widths(plan.more(Purchases(*more)))[0])


def test_questions_alone_are_the_fewest() -> None:
    """With queries alone, half of the interval takes three times as many, less what t gains."""
    plan = plan_of(variance_of_mean(np.random.default_rng(1).normal(size=(40, 1, 1))))
    target = width(plan, 0) / 2
    found = plan.shorter(target, WORK._replace(repeats=False, judges=False), None)
    assert found.repeats is found.judges is found.audited is found.cheapest is None
    assert 105 <= found.questions.questions <= 120
    assert width(plan, found.questions.questions) <= target < width(plan, found.questions.questions - 1)
    assert found.questions.half_width == pytest.approx(width(plan, found.questions.questions))
    assert (found.questions.labels, found.questions.answers) == (
        20 * found.questions.questions,
        2 * found.questions.questions,
    )


@pytest.mark.parametrize("nested", [False, True])
def test_the_cheapest_purchase_is_the_cheapest_of_all_that_are_enough(nested) -> None:
    rng = np.random.default_rng(3)
    sds = {"Q": 0.6, "R": 0.05, "J": 0.05, "QR": 0.9, "QJ": 0.9, "QRJ": 0.5}
    first, second = (planted((30, 3, 3), rng, sds=sds) for _ in range(2))
    found = variance_of_nested(first, second) if nested else variance_of_mean(first - second)
    plan = plan_of(found)
    prices = UnitPrices(question=1.0, label=0.05, answer=0.01)
    target = width(plan, 0) * 0.75
    best = plan.shorter(target, WORK, prices).cheapest
    costs = {}
    for repeats, judges in product(REPEATS, JUDGES):
        questions = next((each for each in range(400) if width(plan, each, repeats, judges) <= target), None)
        if questions is not None:
            queries, asked = 30 + questions, 3 + judges
            labels = 20 * (queries * asked - 30 * 3)
            answers = 2 * (queries * (3 + repeats) - 30 * 3)
            costs[questions, repeats, judges] = questions + 0.05 * labels + 0.01 * answers
    cheapest = min(costs, key=costs.__getitem__)
    assert (best.questions, best.repeats, best.judges) == cheapest
    assert best.cost == pytest.approx(costs[cheapest])
    assert best.repeats + best.judges > 0  # or nothing but questions was tried


def test_what_no_number_reaches_is_said() -> None:
    """Judges as such differ: no number of questions makes that less, and of repeats neither."""
    rng = np.random.default_rng(4)
    values = planted((50, 2, 4), rng, sds={"Q": 0.1, "J": 1.0, "QR": 0.1, "QRJ": 0.1})
    plan = plan_of(variance_of_mean(values))
    found = plan.shorter(width(plan, 0) / 2, WORK, None)
    assert found.questions is found.repeats is None
    assert found.judges is not None
    assert width(plan, 0, judges=found.judges.judges) <= found.target


def test_prices_are_checked() -> None:
    with pytest.raises(PolicyError, match="price of one label must be a number >= 0"):
        UnitPrices(label=-1.0).check()
    UnitPrices(label=0.03).check()
    with pytest.raises(PolicyError, match="Nothing has a price"):
        UnitPrices().check()
