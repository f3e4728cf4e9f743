"""Intervals of few queries: the studentized ends against their plain definition, and differences that hardly vary."""

import math

import numpy as np
import pytest

from trueval.comparison.resampling.bootstrap_intervals import FEW, LEAST_ERROR, Intervals, bootstrap_intervals, tail
from trueval.comparison.resampling.resampled_sums import CHUNK, NOISE, RESAMPLES, generator

ONE, OTHER = np.array([0]), np.array([1])
RESAMPLED = 2 * CHUNK


def intervals(differences: np.ndarray, variance: np.ndarray | None = None, threads: int = 1) -> Intervals:
    """Of systems that differ so from one that is always 0: [query] or [query, comparison]."""
    columns = differences.reshape(len(differences), -1)
    expected = np.hstack([columns, np.zeros((len(columns), 1))])
    spread = np.zeros_like(expected)
    if variance is not None:
        spread[:, :-1] = variance.reshape(columns.shape)
    first = np.arange(columns.shape[1])
    second = np.full_like(first, columns.shape[1])
    options = {"level": 0.9, "resamples": RESAMPLED, "seed": 4, "threads": threads}
    return bootstrap_intervals(expected, spread, first, second, **options)


def plain_ends(differences: np.ndarray, variance: np.ndarray) -> tuple[float, float]:
    """Percentile and studentized ends, one resample after the other."""
    n = len(differences)
    means, t = [], []
    error = math.sqrt((differences.var(ddof=1) + variance.mean()) / n)
    for chunk in range(RESAMPLED // CHUNK):
        noise = generator(4, NOISE, chunk).standard_normal(CHUNK)
        for drawn, normal in zip(generator(4, RESAMPLES, chunk).integers(0, n, (CHUNK, n)), noise, strict=True):
            own, ties = differences[drawn], variance[drawn]
            mean = own.mean() + normal * math.sqrt(ties.sum()) / n
            means.append(mean)
            own_error = math.sqrt((own.var(ddof=1) + ties.mean()) / n)
            t.append((mean - differences.mean()) / max(own_error, math.sqrt(LEAST_ERROR) * error))
    share = tail(n, 0.9)
    low, high = np.quantile(means, [share, 1 - share])
    right, left = np.quantile(t, [0.95, 0.05])
    return min(low, differences.mean() - error * right), max(high, differences.mean() - error * left)


@pytest.mark.parametrize("queries", [2, 5, 12, FEW - 1])
@pytest.mark.parametrize("tied", [False, True])
def test_ends_are_the_farther_ones_of_percentiles_and_studentized_ends(queries: int, tied: bool) -> None:
    rng = np.random.default_rng(queries)
    differences = rng.exponential(1, queries).round(1)
    variance = rng.random(queries) * tied
    found = intervals(differences, variance)
    assert found.realized[0] == pytest.approx(plain_ends(differences, variance), rel=1e-9)
    assert found.expected[0] == pytest.approx(plain_ends(differences, 0 * variance), rel=1e-9)


def cluster_ends(sums: np.ndarray, sizes: np.ndarray) -> tuple[float, float]:
    """Percentile and studentized ends of a mean over the queries of clusters, one resample after the other."""
    n = len(sums)

    def mean_and_error(own: np.ndarray, of: np.ndarray) -> tuple[float, float]:
        mean = own.sum() / of.sum()
        return mean, math.sqrt(((own - mean * of) ** 2).sum() * n / (n - 1)) / of.sum()

    middle, error = mean_and_error(sums, sizes)
    means, t = [], []
    for chunk in range(RESAMPLED // CHUNK):
        for drawn in generator(4, RESAMPLES, chunk).integers(0, n, (CHUNK, n)):
            mean, own_error = mean_and_error(sums[drawn], sizes[drawn])
            means.append(mean)
            t.append((mean - middle) / max(own_error, math.sqrt(LEAST_ERROR) * error))
    low, high = np.quantile(means, [tail(n, 0.9), 1 - tail(n, 0.9)])
    right, left = np.quantile(t, [0.95, 0.05])
    return min(low, middle - error * right), max(high, middle - error * left)


@pytest.mark.parametrize("clusters", [3, 8, FEW - 1])
def test_ends_of_clusters_of_unequal_sizes_are_those_of_ratios(clusters: int) -> None:
    rng = np.random.default_rng(clusters)
    sizes = rng.integers(1, 9, clusters).astype(float)
    sums = rng.exponential(1, clusters).round(1) * sizes
    expected = np.stack([sums, np.zeros(clusters)], axis=1)
    options = {"level": 0.9, "resamples": RESAMPLED, "seed": 4, "threads": 1, "sizes": sizes}
    found = bootstrap_intervals(expected, np.zeros_like(expected), ONE, OTHER, **options)
    assert found.expected[0] == pytest.approx(cluster_ends(sums, sizes), rel=1e-9)


def test_few_skewed_queries_reach_farther_than_percentiles_and_many_do_not(monkeypatch: pytest.MonkeyPatch) -> None:
    values = np.random.default_rng(1).exponential(1, FEW)
    few, many = (intervals(values[:count]).expected[0] for count in (FEW - 1, FEW))
    monkeypatch.setattr("trueval.comparison.resampling.bootstrap_intervals.FEW", 0)
    plain = intervals(values[:-1]).expected[0]
    assert few[1] > plain[1] + 0.05 * np.ptp(plain)
    assert few[0] <= plain[0]
    assert (many == intervals(values).expected[0]).all()


@pytest.mark.parametrize("value", [0.0, 0.1, -1 / 3, 1e-300, 1e100])
def test_equal_differences_leave_a_point(value: float) -> None:
    found = intervals(np.full(7, value))
    assert found.expected[0] == pytest.approx((value, value), rel=1e-14)
    assert (found.realized == found.expected).all()


@pytest.mark.parametrize("scale", [1e-200, 1e-120, 1e-15, 1.0, 1e150])
@pytest.mark.parametrize("tied", [0.0, 0.01])
def test_one_query_that_differs_leaves_a_finite_interval(scale: float, tied: float) -> None:
    """A third of the resamples do not draw it, and nothing varies in them."""
    differences = np.zeros(12)
    differences[3] = scale
    found = intervals(differences, np.full(12, tied))
    for low, high in (found.expected[0], found.realized[0]):
        assert -math.inf < low <= scale / 12 <= high < math.inf
    if not tied and scale > 1e-100:
        assert (found.expected[0] / scale) == pytest.approx(intervals(differences / scale).expected[0], rel=1e-12)


def test_an_interval_is_the_same_bits_on_any_threads_and_beside_any_others() -> None:
    rng = np.random.default_rng(3)
    differences = rng.exponential(1, (12, 150)).round(2)
    variance = rng.random((12, 150)) * (rng.random(150) < 0.5)
    one, two = (intervals(differences, variance, threads) for threads in (1, 2))
    assert [part.tobytes() for part in one] == [part.tobytes() for part in two]
    largest = int(differences.max(axis=0).argmax())  # its values decide on the grid of all
    alone = intervals(differences[:, [largest]], variance[:, [largest]])
    assert alone.expected.tobytes() == one.expected[[largest]].tobytes()
    assert alone.realized == pytest.approx(one.realized[[largest]], rel=1e-12)
