"""The twin itself, against arithmetic done by hand and values printed in the literature."""

from fractions import Fraction

import pytest
import twin

# CONVENTIONS "Definitions that differ without any tie": rel = 1011001001, eight relevant in all
LIST = {f"d{i}": float(10 - i) for i in range(10)}
GRADES = {f"d{i}": int(c) for i, c in enumerate("1011001001")} | {"m1": 1, "m2": 1, "m3": 1}


def one(scores: dict[str, float], grades: dict[str, float], measure: str) -> twin.Number:
    return twin.value(twin.ranking_of(twin.order_by(scores, "input"), grades), measure)


@pytest.mark.parametrize(
    ("measure", "by_hand"),
    [
        ("AP@5", (1 + Fraction(2, 3) + Fraction(3, 4)) / 8),  # .302
        ("AP(norm='min')@5", (1 + Fraction(2, 3) + Fraction(3, 4)) / 5),  # .483
        ("P@5", Fraction(3, 5)),
        ("P@20", Fraction(5, 20)),
        ("P", Fraction(5, 10)),
        ("R@5", Fraction(3, 8)),
        ("R(base='list')@5", Fraction(3, 5)),
        ("F1@5", Fraction(6, 13)),
        ("Hits@4", Fraction(3)),
        ("Success@1", Fraction(1)),
        ("Rprec", Fraction(4, 8)),
        ("RR", Fraction(1)),
        ("RBP(p=.5)@3", Fraction(1, 2) + Fraction(1, 8)),
        ("Judged@20", Fraction(1)),
    ],
)
def test_values_follow_by_arithmetic(measure: str, by_hand: Fraction) -> None:
    assert one(LIST, GRADES, measure) == by_hand


@pytest.mark.parametrize(("measure", "printed"), [("nDCG@5", 0.611), ("nDCG(base='list')@5", 0.916)])
def test_graded_ndcg_is_the_published_example(measure: str, printed: float) -> None:
    """Gains 3,0,1,2,0 of judged 3,3,2,2,1,1,0 (CONVENTIONS)."""
    grades = dict(zip("abcdefg", [3, 0, 1, 2, 3, 2, 1], strict=True))
    scores = {d: -float(i) for i, d in enumerate("abcdx")}
    assert one(scores, grades, measure) == pytest.approx(printed, abs=5e-4)


def test_unjudged_means_no_grade_or_a_grade_below_zero() -> None:
    assert one({"a": 3, "b": 2, "c": 1}, {"a": -1, "b": 0}, "Judged") == Fraction(1, 3)


def test_two_tied_documents_have_two_orders() -> None:
    truth = twin.over_all_orders({"a": 1.0, "b": 1.0}, {"a": 1}, "RR")
    assert truth == (Fraction(3, 4), Fraction(1, 2), Fraction(1), Fraction(1, 16))


def test_every_order_of_the_tied_documents_is_counted() -> None:
    orders = twin.all_orders({"a": 2, "b": 1, "c": 1, "d": 1, "e": 0, "f": 0}, {"b": 1, "c": 2, "d": 3, "f": 1})
    assert sum(orders.values()) == 6 * 2
    assert len(orders) == 6 * 2


def test_a_measure_without_definition_is_refused() -> None:
    with pytest.raises(twin.UnknownToTheTwinError, match="Foo"):
        one({"a": 1}, {}, "Foo@3")
    with pytest.raises(twin.UnknownToTheTwinError, match="depth"):
        one({"a": 1}, {}, "RR(depth=3)")


@pytest.mark.parametrize(
    ("score", "rounded"), [(1 + 1 / 256, 1.0), (1 + 3 / 256, 1 + 1 / 64), (28.6, 28.625), (-3, -3)]
)
def test_rounding_to_eight_bits_is_half_to_even(score: float, rounded: float) -> None:
    """1 + 1/256 lies half way between 1 and 1 + 1/128 and goes to the even 1; 1 + 3/256 goes up."""
    assert twin.round_to_bits(score, 8) == rounded
