"""Grades near both ends of what a number can hold: right values, or an error that names the grade."""

from __future__ import annotations

from decimal import Context, Decimal, localcontext
from itertools import permutations

import numpy as np
import pytest

from trueval.errors import MeasureError
from trueval.evaluation.evaluate import evaluate_arrays

GRADES = [0, 5e-324, 1e-300, 1e-200, 1e-160, 1e-10, 1, 1024, 1100, 1e100, 1e200, 1e308]
LISTS = [[grade, 0, 0] for grade in GRADES[1:]] + [[grade, grade / 2, 0, 0] for grade in GRADES[2:]]
LISTS += [[1100, 1099, 1], [1e308, 1e308, 1e308, 0], [1e-200, 1, 0], [1e200, 1e199, 1e-300], [1025, 1024, 0, 1024]]


def gain(grade: float, kind: str) -> Decimal:
    return Decimal(grade) if kind == "linear" else Decimal(2) ** Decimal(grade) - 1


@pytest.mark.parametrize("kind", ["linear", "exp"])
@pytest.mark.parametrize("grades", LISTS, ids=str)
def test_ndcg_of_one_group_is_the_mean_over_all_orders(grades: list[float], kind: str) -> None:
    if kind == "exp" and max(grades) > 2000:
        grades = [min(grade, 2000) for grade in grades]
    # Any 2^g - 1 that is not 0 shows among this many digits.
    with localcontext(Context(prec=1100, Emin=-10_000, Emax=10_000)):
        weights = [Decimal(1 / np.log2(rank + 1)) for rank in range(1, len(grades) + 1)]
        ideal = sum(w * gain(g, kind) for w, g in zip(weights, sorted(grades, reverse=True), strict=True))
        gains = [gain(grade, kind) for grade in grades]
        orders = [sum(w * g for w, g in zip(weights, order, strict=True)) / ideal for order in permutations(gains)]
        mean = sum(orders) / len(orders)
        variance = sum((value - mean) ** 2 for value in orders) / len(orders)
        sd = float(variance.sqrt(Context(prec=30, Emin=-10_000, Emax=10_000)))
    measure = "nDCG" if kind == "linear" else "nDCG(gain='exp')"
    found = evaluate_arrays([[1.0] * len(grades)], [grades], measure)
    assert found.expected[0, 0] == pytest.approx(float(mean), rel=1e-12, abs=0)
    assert found.lowest[0, 0] == pytest.approx(float(min(orders)), rel=1e-12, abs=0)
    assert found.highest[0, 0] == pytest.approx(1, rel=1e-15, abs=0)
    assert found.sd[0, 0] == pytest.approx(sd, rel=1e-12, abs=0)


def test_a_gain_whose_square_is_out_of_range_keeps_its_deviation() -> None:
    found = evaluate_arrays([[1.0, 1.0, 1.0]], [[1e-300, 0, 0]], "RBP(scale=1)")
    assert found.sd[0, 0] == pytest.approx(1e-300 * np.std([0.2, 0.16, 0.128]), rel=1e-12, abs=0)


@pytest.mark.parametrize(("measure", "grades"), [("DCG(gain='exp')", [1100.0, 0.0]), ("DCG", [1e308] * 4)])
def test_a_value_that_no_number_holds_is_refused(measure: str, grades: list[float]) -> None:
    with pytest.raises(MeasureError, match=r"DCG.*Got grade 1(100|e\+308)\. Map the grades"):
        evaluate_arrays([[1.0] * len(grades)], [grades], measure)


def test_means_and_deviations_over_queries_stay_in_range() -> None:
    found = evaluate_arrays([[1.0, 1.0]] * 3, [[1e308, 0.0]] * 3, "DCG").mean("DCG")
    assert found.highest == pytest.approx(1e308)
    assert found.sd == pytest.approx(1e308 * (1 - 1 / np.log2(3)) / 2 / np.sqrt(3))


ERR_LISTS = [
    ([1, 0, 0], 64),
    ([1e-200, 0, 0], 4),
    ([1e-200, 1e-250, 0, 0], 4),
    ([1e-280, 1e-280, 0], 64),
    ([1e-10, 3, 0.5, 0], 4),
    ([64, 1, 0, 0], 64),
    ([4, 1e-20, 0], 4),
    ([2, 1, 1, 0, 0], 40),
]


@pytest.mark.parametrize("above", [0, 1_000_000])
@pytest.mark.parametrize("cut", [None, 2])
@pytest.mark.parametrize(("grades", "largest"), ERR_LISTS, ids=str)
def test_err_of_one_group_is_the_mean_over_all_orders(
    grades: list[float], largest: int, cut: int | None, above: int
) -> None:
    """Chances to stop far below those that a difference from 1 can hold, at the head of the list and deep down."""
    with localcontext(Context(prec=400, Emin=-10_000, Emax=10_000)):
        chance = [(Decimal(2) ** Decimal(grade) - 1) / Decimal(2) ** largest for grade in grades]
        orders = []
        for order in permutations(chance):
            left, value = Decimal(1), Decimal(0)
            for rank, stop in enumerate(order[:cut], above + 1):
                value, left = value + left * stop / rank, left * (1 - stop)
            orders.append(value)
        mean = sum(orders) / len(orders)
        sd = float((sum((value - mean) ** 2 for value in orders) / len(orders)).sqrt())
    scores = np.concatenate((np.arange(above, 0, -1.0), np.zeros(len(grades))))
    judged = np.concatenate((np.full(above, np.nan), grades))
    measure = f"ERR(gmax={largest})" + (f"@{above + cut}" if cut else "")
    found = evaluate_arrays([scores], [judged], measure)
    assert found.expected[0, 0] == pytest.approx(float(mean), rel=1e-13, abs=0)
    assert found.lowest[0, 0] == pytest.approx(float(min(orders)), rel=1e-14, abs=0)
    assert found.highest[0, 0] == pytest.approx(float(max(orders)), rel=1e-14, abs=0)
    assert found.sd[0, 0] == pytest.approx(sd, rel=1e-10 if above else 1e-12, abs=0)
