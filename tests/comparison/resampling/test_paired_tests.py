import math
import sys

import numpy as np
import pytest
from scipy import stats

from trueval.comparison.resampling.multiplicity import benjamini_hochberg, holm
from trueval.comparison.resampling.paired_tests import (
    effect_sizes,
    joint_maxt,
    randomization_test,
    t_test,
    wilcoxon_test,
)

KINDS = ("plain", "ties", "zeros")


def differences(queries: int, kind: str, columns: int = 5) -> np.ndarray:
    values = np.random.default_rng(queries).normal(0.1, 1, (queries, columns))
    if kind == "ties":
        values = np.round(values * 3) / 3 + 1 / 7
    if kind == "zeros":
        values[: queries // 3] = 0
    return values


def randomization(values: np.ndarray, **options: int) -> np.ndarray:
    """Test each column against one of zeros."""
    padded = np.column_stack([values, np.zeros(len(values))])
    first, second = np.arange(values.shape[1]), np.full(values.shape[1], values.shape[1])
    return randomization_test(padded, first, second, **{"resamples": 10_000, "seed": 0, "threads": 1} | options).p


@pytest.mark.slow
@pytest.mark.parametrize("queries", [5, 12, 30, 60])
@pytest.mark.parametrize("kind", KINDS)
def test_t_and_wilcoxon_agree_with_scipy_column_by_column(queries: int, kind: str) -> None:
    values = differences(queries, kind)
    values[:, 3] = np.random.default_rng(9).normal(size=queries)  # one column of another kind must not change the rest
    ours_t, ours_w = t_test(values), wilcoxon_test(values)
    for column in range(values.shape[1]):
        assert ours_t[column] == pytest.approx(stats.ttest_1samp(values[:, column], 0).pvalue, rel=1e-9)
        theirs = stats.wilcoxon(np.round(values[:, column], 12)).pvalue
        assert ours_w[column] == pytest.approx(theirs, rel=1e-9)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("queries", [14, 51, 200])
def test_of_many_queries_scipy_stats_is_not_imported(monkeypatch: pytest.MonkeyPatch, queries: int, kind: str) -> None:
    """It takes half a second; the exact distribution up to 50 different sizes is the one thing needed of it."""
    values = differences(queries, kind)
    monkeypatch.setitem(sys.modules, "scipy.stats", None)
    assert np.isfinite(t_test(values)).all()
    if queries > 50 or kind == "zeros":
        assert np.isfinite(wilcoxon_test(values)).all()
    else:
        with pytest.raises(ImportError):
            wilcoxon_test(differences(queries, "plain"))


@pytest.mark.parametrize("queries", [4, 9, 12])
@pytest.mark.parametrize("kind", KINDS)
def test_exact_randomization_agrees_with_scipy(queries: int, kind: str) -> None:
    values = differences(queries, kind, 4)
    ours = randomization(values)
    for column in range(4):
        found = stats.permutation_test(
            (values[:, column],), np.mean, permutation_type="samples", n_resamples=np.inf, vectorized=True
        )
        assert ours[column] == pytest.approx(found.pvalue, rel=1e-9)


def test_drawn_randomization_agrees_with_scipy_within_monte_carlo_error() -> None:
    values = differences(40, "plain", 4) * 0.5
    ours = randomization(values, resamples=20_000)
    for column in range(4):
        found = stats.permutation_test(
            (values[:, column],),
            np.mean,
            permutation_type="samples",
            n_resamples=20_000,
            vectorized=True,
            random_state=np.random.default_rng(1),  # rng from SciPy 1.15 on
        )
        error = np.sqrt(2 * found.pvalue * (1 - found.pvalue) / 20_000)
        assert ours[column] == pytest.approx(found.pvalue, abs=5 * error + 1e-4)


def test_randomization_by_hand() -> None:
    # Signs of 1, 1, 1: |sum| reaches 3 in 2 of 8 patterns.
    assert randomization(np.ones((3, 1)))[0] == 0.25
    assert randomization(np.array([[1.0], [-1.0]]))[0] == 1.0
    assert randomization(np.zeros((30, 1)))[0] == 1.0


def test_randomization_is_the_same_on_any_number_of_threads() -> None:
    values = differences(50, "plain", 200)
    one, two = (randomization(values, threads=threads) for threads in (1, 2))
    assert one.tobytes() == two.tobytes()


def test_drawn_p_is_never_zero() -> None:
    assert randomization(np.full((50, 1), 0.3), resamples=999)[0] == 1 / 1000


def test_no_variance_at_all() -> None:
    values = np.column_stack([np.zeros(5), np.full(5, 0.1)])
    assert t_test(values).tolist() == [1.0, 0.0]
    assert wilcoxon_test(np.zeros((5, 1)))[0] == 1.0
    assert np.isnan(effect_sizes(values).cohen_d).all()
    assert np.isnan(t_test(np.ones((1, 1)))[0])


def test_corrections_agree_with_their_definitions() -> None:
    p = np.random.default_rng(4).random(40) ** 3
    assert benjamini_hochberg(p) == pytest.approx(stats.false_discovery_control(p, method="bh"))
    by_definition = [max(min(1, (len(p) - (p < other).sum()) * other) for other in p if other <= one) for one in p]
    assert holm(p) == pytest.approx(by_definition)


def test_corrections_leave_what_is_missing_out_of_the_family() -> None:
    p = np.array([0.01, np.nan, 0.03])
    assert holm(p)[[0, 2]].tolist() == [0.02, 0.03]
    assert np.isnan(holm(p)[1])
    assert np.isnan(benjamini_hochberg(p)[1])


def test_hedges_removes_the_bias_of_cohen() -> None:
    # E[d] = delta / J for normal differences, so E[g] = delta.
    values = np.random.default_rng(5).normal(0.5, 1, (8, 40_000))
    found = effect_sizes(values)
    error = found.hedges_g.std() / 200
    assert found.hedges_g.mean() == pytest.approx(0.5, abs=4 * error)
    assert found.cohen_d.mean() > 0.5 + 10 * error


@pytest.mark.parametrize(
    ("values", "d", "g"),
    [
        # J(2) = Gamma(1) / Gamma(1/2) = 1 / sqrt(pi); Hedges (1981), table 1: .5642.
        ([1.0, 2.0, 3.0], 2.0, 2 * 0.5641895835477563),
        # J(4) = Gamma(2) / (sqrt(2) Gamma(3/2)) = sqrt(2 / pi); table 1: .7979.
        ([1.0, 2.0, 3.0, 4.0, 5.0], 3 / math.sqrt(2.5), 3 / math.sqrt(2.5) * 0.7978845608028654),
        ([1.0, 3.0], math.sqrt(2), math.nan),  # J(1) is not there: Gamma(0)
        ([1.0], math.nan, math.nan),
        ([1.0, 1.0, 1.0], math.nan, math.nan),
    ],
)
def test_cohen_and_hedges_by_hand(values: list[float], d: float, g: float) -> None:
    found = effect_sizes(np.array(values)[:, None])
    assert found.cohen_d[0] == pytest.approx(d, rel=1e-14, nan_ok=True)
    assert found.hedges_g[0] == pytest.approx(g, rel=1e-14, nan_ok=True)


def test_groups_of_one_family_are_put_together_as_if_they_were_independent() -> None:
    """Two queries of 1 and 3, and three of 1: (1 + 3) / sqrt(10) and 3 / sqrt(3) are reached by 1 of 2 and 1 of 4.

    The first statistic, 1.265, is reached in the second group by the one pattern of 1.732: p = 1 - (1 - 1/2) (1 - 1/4).
    The second is reached in the first group by none: p = 1 - (1 - 0) (1 - 1/4).
    """
    one, other = np.array([0]), np.array([1])
    groups = [
        randomization_test(np.array([[x, 0.0] for x in values]), one, other, resamples=100, seed=0, threads=1)
        for values in ([1.0, 3.0], [1.0, 1.0, 1.0])
    ]
    assert [float(each[0]) for each in joint_maxt(groups)] == [pytest.approx(0.625), pytest.approx(0.25)]
