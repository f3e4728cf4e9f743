"""κ and α are those of their definitions, of scikit-learn and of the krippendorff package."""

from __future__ import annotations

import warnings
from fractions import Fraction

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.examples import examples
from tests.golden.agreement import twins

from trueval.golden.validation.agreement_intervals import Resampler
from trueval.golden.validation.coefficients import of_coincidences, of_tables
from trueval.golden.validation.ratings import Ratings

GRADES = st.integers(0, 3)
DISTANCES = {
    "kappa": twins.unlike,
    "kappa_linear": twins.apart,
    "kappa_quadratic": twins.squared,
    "alpha_nominal": twins.unlike,
    "alpha_ordinal": None,
    "alpha_interval": twins.squared,
}
QUICK = Resampler(resamples=100)


def ratings(matrix: list[list[int | None]], queries: list[str] | None = None) -> Ratings:
    """Raters in columns; items in rows."""
    asked = queries or [f"q{place}" for place in range(len(matrix))]
    rows = [(asked[place], str(place), row) for place, row in enumerate(matrix)]
    frames = {
        str(rater): pl.DataFrame(
            [(query, item, row[rater]) for query, item, row in rows if row[rater] is not None],
            schema={"query_id": pl.String, "doc_id": pl.String, "grade": pl.Float64},
            orient="row",
        )
        for rater in range(len(matrix[0]))
    }
    return Ratings.of(frames, (0, 3))


def values(found: Ratings, first: int = 0, second: int = 1) -> dict[str, float]:
    """Without intervals; NaN for what cannot be known."""
    table = found.table(first, second, found.both(first, second).astype(float)).sum(axis=0)
    return {name: float(each) for name, each in of_tables(table, found.grades).items()}


@examples(150)
@given(st.lists(st.tuples(GRADES, GRADES), min_size=2, max_size=9))
def test_of_two_raters_all_are_as_defined(pairs: list[tuple[int, int]]) -> None:
    found = values(ratings([list(pair) for pair in pairs]))
    for name, distance in DISTANCES.items():
        expected = (
            twins.kappa(pairs, distance)
            if name.startswith("kappa") and distance
            else twins.alpha([list(pair) for pair in pairs], distance)
        )
        if expected is None:
            assert np.isnan(found[name])
        else:
            assert found[name] == pytest.approx(float(expected), abs=1e-12), name


@examples(150)
@given(st.lists(st.lists(st.none() | GRADES, min_size=4, max_size=4), min_size=2, max_size=7))
def test_alpha_of_several_raters_with_gaps_is_as_defined(matrix: list[list[int | None]]) -> None:
    everybody: list[list[int | None]] = [*matrix, [0, None, None, None], [None, 1, None, None]]  # every rater is there
    found = ratings([*everybody, [None, None, 2, None], [None, None, None, 3]])
    told = of_coincidences(found.coincidences([0, 1, 2, 3], np.ones(found.items.height)).sum(axis=0), found.grades)
    units = [[grade for grade in row if grade is not None] for row in matrix]
    for name in ("alpha_nominal", "alpha_ordinal", "alpha_interval"):
        expected = twins.alpha(units, DISTANCES[name])
        if expected is None:
            assert np.isnan(told[name])
        else:
            assert float(told[name]) == pytest.approx(float(expected), abs=1e-12), name


def test_peers_say_the_same() -> None:
    cohen_kappa_score = pytest.importorskip("sklearn.metrics", reason="scikit-learn is absent").cohen_kappa_score
    krippendorff = pytest.importorskip("krippendorff", reason="krippendorff is absent")
    rng = np.random.default_rng(7)
    one = rng.integers(0, 4, 500)
    other = np.clip(one + rng.integers(-1, 3, 500), 0, 3)
    found = values(ratings(np.column_stack([one, other]).tolist()))
    for name, weights in (("kappa", None), ("kappa_linear", "linear"), ("kappa_quadratic", "quadratic")):
        assert found[name] == pytest.approx(cohen_kappa_score(one, other, weights=weights), abs=1e-12)
    for name in ("nominal", "ordinal", "interval"):
        peer = krippendorff.alpha(np.array([one, other], dtype=float), level_of_measurement=name)
        assert found[f"alpha_{name}"] == pytest.approx(peer, abs=1e-12)


def test_what_cannot_be_known_is_null_and_says_why() -> None:
    cases = {
        "all labels are one grade, so agreement by chance is certain": [[1, 1], [1, 1]],
        "one item only": [[1, 2]],
        "no item has labels of both": [[1, None], [None, 2]],
    }
    for reason, matrix in cases.items():
        found = ratings(matrix)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            told = found.coefficients(0, 1, found.both(0, 1).astype(float), QUICK)
        assert {each.value for each in told.values()} == {None}
        assert {each.reason for each in told.values()} == {reason}


def test_of_one_query_there_is_a_value_and_no_interval() -> None:
    found = ratings([[0, 0], [1, 2], [3, 3]], ["q", "q", "q"])
    told = found.coefficients(0, 1, np.ones(3), QUICK)["kappa"]
    assert (told.low, told.high, told.reason) == (None, None, "one query only: no interval")
    assert told.value == pytest.approx(float(twins.kappa([(0, 0), (1, 2), (3, 3)], twins.unlike) or 0))


def test_queries_without_a_shared_item_are_no_part_of_an_interval() -> None:
    found = ratings([[0, 0], [1, 2], [3, 3], [1, None], [None, 2]], ["q", "q", "q", "r", "s"])
    told = found.coefficients(0, 1, found.both(0, 1).astype(float), QUICK)["kappa"]
    assert told.reason == "one query only: no interval"


def test_intervals_are_over_queries_and_not_over_items() -> None:
    # Ten copies of each query's labels tell nothing new of other queries, so the interval stays.
    rng = np.random.default_rng(3)
    rows = [
        (f"q{query}", [int(a), int(np.clip(a + rng.integers(-1, 2), 0, 3))]) for query in range(12) for a in (0, 1, 3)
    ]
    once = ratings([row for _, row in rows], [query for query, _ in rows])
    often = ratings([row for _, row in rows for _ in range(10)], [query for query, _ in rows for _ in range(10)])
    one, other = (
        each.coefficients(0, 1, np.ones(each.items.height), Resampler(400))["kappa_quadratic"] for each in (once, often)
    )
    assert one == pytest.approx(other)
    assert one.low is not None
    assert one.high is not None
    assert one.low < (one.value or 0) < one.high


def test_the_twin_of_kappa_is_right_on_a_table_of_a_book() -> None:
    # Cohen's coefficient of 20, 5, 10, 15: observed .7, by chance .5.
    pairs = [(0, 0)] * 20 + [(0, 1)] * 5 + [(1, 0)] * 10 + [(1, 1)] * 15
    assert twins.kappa(pairs, twins.unlike) == Fraction(2, 5)
