"""Grades near both ends of what a number can hold: right values, or an error that names the grade."""

from __future__ import annotations

from decimal import Context, Decimal, localcontext
from itertools import permutations

import numpy as np
import pytest

from trueval.errors import InputError, MeasureError
from trueval.evaluation.arrays import evaluate_arrays

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


BINARY = ["alpha_nDCG", "NRBP", "IPrec", "IPrec11", "bpref", "gm(AP)", "AP", "AP(norm='hits')@2", "RR", "Success@2"]
BINARY += ["AllGold@2", "P@2", "R@2", "F1@2", "Rprec", "Hits@2", "Judged@2", "RBP", "RBP-residual"]


@pytest.mark.filterwarnings("ignore:.*every judged document for relevant")
@pytest.mark.parametrize("rel", [5e-324, 1e-200, 1, 1e200])
@pytest.mark.parametrize("grades", LISTS, ids=str)
def test_a_measure_of_relevant_documents_sees_no_more_than_a_threshold(grades: list[float], rel: float) -> None:
    plain = evaluate_arrays([[1.0] * len(grades)], [[float(grade >= rel) for grade in grades]], BINARY)
    found = evaluate_arrays([[1.0] * len(grades)], [grades], BINARY, rel=rel)
    for statistic in ("expected", "lowest", "highest", "sd"):
        np.testing.assert_array_equal(getattr(found, statistic), getattr(plain, statistic), err_msg=statistic)


RUBRIC = ["RA-nWG@2", "nWG@2", "N-Recall4+@2", "N-Recall5@2", "P4+@2", "Harm@2", "UDCG-proxy@2"]
RUBRIC += [
    "PROC(RA-nWG, pool=3)@2",
    "pPROC(nWG)@2",
    "retrieval_headroom(P4+)@2",
    "ordering_headroom(P4+)@2",
    "novelty(nWG)@2",
]


@pytest.mark.parametrize("grade", [grade for grade in GRADES if grade != 1] + [1.5, 4.999999999999999])
@pytest.mark.parametrize("measure", RUBRIC)
def test_a_grade_that_is_not_on_the_rubric_is_refused(measure: str, grade: float) -> None:
    with pytest.raises(InputError, match=f"rubric 1 to 5. Got grade {grade:g}".replace("+", r"\+")):
        evaluate_arrays([[1.0, 1.0, 1.0]], [[5, grade, 4]], measure)


def test_a_geometric_mean_has_the_values_of_what_it_is_of() -> None:
    grades = [[1e308, 1e-300, 0.0], [5e-324, 0.0, 0.0], [1e200, 1e100, 1.0]]
    found = evaluate_arrays([[1.0] * 3] * 3, grades, ["nDCG", "gm(nDCG)"])
    np.testing.assert_array_equal(found.expected[:, 0], found.expected[:, 1])
    assert found.mean("gm(nDCG)").expected == pytest.approx(np.exp(np.log(found.expected[:, 0]).mean()), rel=1e-14)
