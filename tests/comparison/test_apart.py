"""What is said of a measure and a pair of runs is the same, bit for bit, whatever else is asked beside them."""

from functools import cache

import numpy as np
import pytest

from trueval.comparison.compare import compare
from trueval.comparison.comparison import Difference
from trueval.comparison.resampling.bootstrap_intervals import Extremes, bootstrap_intervals
from trueval.comparison.resampling.paired_tests import effect_sizes, randomization_test, t_test, wilcoxon_test
from trueval.comparison.resampling.resampled_sums import to_grid
from trueval.judgments import Judgments
from trueval.run import Run

# The gain of the one grade of 60 is 2^60 - 1 under DCG(gain='exp').
MEASURES = ("P@3", "nDCG@10", "AP", "RR@10", "RBP", "DCG(gain='exp')@3")
CHOICES = {"resamples": 500, "tie_samples": 200, "threads": 1}
QUERIES = [f"q{at:02}" for at in range(40)]


def graded() -> Judgments:
    """Forty queries, one of which has a document of grade 60."""
    rng = np.random.default_rng(3)
    grades = {q: {f"d{at:02}": int(rng.integers(0, 3)) for at in range(12)} for q in QUERIES}
    grades["q07"]["d01"] = 60
    return Judgments.from_dict(grades)


def tied(name: str, judgments: Judgments, noise: float, *, finds_it: bool = True) -> Run:
    """Lists of 30 documents of few scores, better with less noise; the grade of 60 is found or not."""
    rng = np.random.default_rng([ord(letter) for letter in name])
    rows: dict[str, dict[str, float]] = {
        q: {f"n{at:02}": float(rng.integers(0, 3)) for at in range(18)} for q in QUERIES
    }
    for q, doc, grade in judgments.frame.select("query_id", "doc_id", "grade").iter_rows():
        rows[q][doc] = float(np.rint(min(grade, 2) + noise * rng.normal()))
    rows["q07"]["d01"] = 9.0 if finds_it else -9.0
    return Run.from_dict(rows, name=name)


JUDGMENTS = graded()
GOOD, BAD = tied("good", JUDGMENTS, 0.5), tied("bad", JUDGMENTS, 2.0)


@cache
def differences(runs: tuple[Run, ...], measures: tuple[str, ...]) -> dict[tuple[str, str, str], Difference]:
    found = compare(list(runs), JUDGMENTS, list(measures), **CHOICES).differences
    return {(each.measure, each.first, each.second): each for each in found}


def test_the_case_draws_tie_orders_and_separates() -> None:
    found = differences((GOOD, BAD), MEASURES)
    # Beside a gain of 2^60 sums of gains below 100 have no digits, and bounds know better than samples.
    assert {key[0] for key, each in found.items() if each.win.method == "normal"} == {"DCG(gain='exp')@3"}
    assert {each.win.method for each in found.values()} == {"sampled", "normal"}
    assert found["P@3", "good", "bad"].separated


@pytest.mark.parametrize("measure", MEASURES)
def test_a_measure_alone_and_beside_others(measure: str) -> None:
    key = (measure, "good", "bad")
    alone = differences((GOOD, BAD), (measure,))[key]
    for others in (MEASURES, MEASURES[::-1], (measure, "DCG(gain='exp')@3")):
        assert repr(differences((GOOD, BAD), others)[key]) == repr(alone), others


@pytest.mark.parametrize("measure", ["P@3", "DCG(gain='exp')@3"])
def test_a_pair_alone_and_beside_another_run(measure: str) -> None:
    """But for the p adjusted for the family, to which every pair belongs; the third run alone finds the grade of 60."""
    pair = [tied("good", JUDGMENTS, 0.5, finds_it=False), tied("bad", JUDGMENTS, 2.0, finds_it=False)]
    key = (measure, "good", "bad")
    alone, beside = (differences((*pair, *more), (measure,))[key] for more in ([], [tied("third", JUDGMENTS, 1.0)]))
    for name in ("expected_interval", "realized_interval", "win", "cohen_d", "hedges_g", "sd"):
        assert repr(getattr(beside, name)) == repr(getattr(alone, name)), name
    assert [beside.tests.randomization, beside.tests.exact, beside.tests.t, beside.tests.wilcoxon] == [
        alone.tests.randomization,
        alone.tests.exact,
        alone.tests.t,
        alone.tests.wilcoxon,
    ]


def test_an_end_of_0_is_0_though_the_grids_differ() -> None:
    """Where two runs differ on the query of the larger value alone, their other values are rounded to other grids."""
    a = np.full(40, 1 / 3)
    b = a.copy()
    b[7] = 5.0
    assert len(set(to_grid(np.stack([a, b], axis=1)).step.tolist())) == 2
    columns = np.stack([a, b], axis=1)
    first, second = np.array([1]), np.array([0])
    options = {"resamples": 500, "seed": 0, "threads": 1}
    found = bootstrap_intervals(columns, np.zeros((40, 2)), first, second, level=0.95, **options)
    assert found.expected[0, 0] == 0.0 == found.realized[0, 0]
    assert randomization_test(columns, first, second, **options).p[0] == 1.0


def test_bounds_of_realized_differences_look_at_no_other_column() -> None:
    rng = np.random.default_rng(0)
    middle = rng.random((40, 4)) * np.array([1.0, 1.0, 3e17, 1e-9])
    pairs = np.array([[0, 1], [2, 3]])
    options = {"level": 0.95, "resamples": 500, "seed": 0, "threads": 1}

    def interval(columns: list[int], pair: np.ndarray) -> list[float]:
        values, unknown = middle[:, columns], np.full((40, len(columns)), np.nan)
        reach = Extremes(values * 0.9, values * 1.1)
        found = bootstrap_intervals(values, unknown, pair[:, 0], pair[:, 1], extremes=reach, **options)
        assert found.bounded.all()
        return [found.expected[0].tolist(), found.realized[0].tolist()]

    assert interval([0, 1, 2, 3], pairs) == interval([0, 1], pairs[:1])


@pytest.mark.parametrize("queries", [7, 16, 45, 400])
def test_no_test_looks_at_other_columns(queries: int) -> None:
    rng = np.random.default_rng(queries)
    values = rng.random((queries, 9)) * 10.0 ** rng.integers(-12, 12, 9)
    for test in (t_test, wilcoxon_test, lambda columns: np.stack(effect_sizes(columns)).T):
        together = test(values)
        apart = [test(values[:, [column]])[0] for column in range(9)]
        np.testing.assert_array_equal(together, apart)
