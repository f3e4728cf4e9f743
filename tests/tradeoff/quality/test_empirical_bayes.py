"""Draws of true values: what is decomposed once, left out and written over, against whole matrices as formulas say."""

from __future__ import annotations

import math
import tracemalloc

import numpy as np
import pytest

from trueval.comparison.resampling.resampled_sums import RUN_NOISE, bootstrap_sums, normal_noise, to_grid
from trueval.standings.standings import Floats
from trueval.tradeoff.quality.empirical_bayes import (
    LEAST,
    LIMIT,
    _alike,
    _Inverse,
    _Prior,
    _Spectrum,
    _surface,
    shrink,
    shrink_covariance,
)
from trueval.tradeoff.quality.resamples import draw_qualities, resample_means


def test_configurations_with_like_features_are_alike_and_none_without_features() -> None:
    """The covariance of the surface, by hand: exp(-distance² / 2), and the product for what is linear."""
    features, apart = np.array([[0.0, 1.0], [0.0, 1.0], [2.0, 0.0]]), math.exp(-5 / 2)
    surface = np.array([[2, 2, apart], [2, 2, apart], [apart, apart, 5]])
    assert _surface(features) == pytest.approx(surface, rel=1e-15)
    thin = _Prior.of(features, 0.3, np.ones(3)).thin
    assert thin.shape == (3, 2)  # two of the three are alike
    assert thin @ thin.T == pytest.approx(surface, rel=1e-14)
    assert _Prior.of(np.zeros((3, 0)), 0.3, np.ones(3)).thin.shape == (3, 0)


@pytest.mark.parametrize("count", [0, 1, 3])
def test_one_decomposition_serves_every_sd(count: int) -> None:
    """Solutions and log densities are those of the whole covariance, for every sd of the surface and of its own."""
    rng = np.random.default_rng(count)
    size = 30
    half = rng.normal(size=(size, 2 * size))
    covariance = half @ half.T / size * 1e-2
    deviations = np.sqrt(np.diag(covariance))
    features = rng.normal(size=(size, count))
    prior = _Prior.of(features, 0.3, deviations)
    assert prior.thin @ prior.thin.T == pytest.approx(_surface(features) * (count > 0), abs=1e-10)
    alike = 0.999 * covariance / np.outer(deviations, deviations) + 0.001 * np.eye(size)
    spectrum = _Spectrum.of(prior.free @ prior.free.T + covariance, np.linalg.cholesky(alike))
    right, measured, surfaces = rng.normal(size=(size, 4)), rng.normal(size=size), np.array([0.0, 0.05, 0.4])
    logs, wanted = [], []
    for own in (0.02, 0.3):
        inverse = _Inverse.of(spectrum, spectrum.vectors.T @ prior.thin, own)
        for surface in surfaces:
            whole = _whole(prior, surface) + covariance + own**2 * alike
            assert inverse.solve(surface, right) == pytest.approx(np.linalg.solve(whole, right), rel=1e-6, abs=1e-6)
            wanted.append(-0.5 * (measured @ np.linalg.solve(whole, measured) + np.linalg.slogdet(whole)[1]))
        logs += inverse.log_density(surfaces, measured).tolist()
    # A constant apart: that of the root of `alike`.
    assert np.array(logs) - logs[0] == pytest.approx(np.array(wanted) - wanted[0], rel=1e-8, abs=1e-6)


def test_draws_are_what_the_formula_says(monkeypatch: pytest.MonkeyPatch) -> None:
    """t* = p + P (P + S)^-1 (m - p - e) with whole matrices, for the sds and the draws p that were made."""
    rng, size, count = np.random.default_rng(5), 40, 300
    features = rng.normal(size=(size, 2))
    residuals = rng.normal(0, 0.2, (25, size)) / 25
    covariance = shrink_covariance(residuals, np.full(size, 1e-5))
    measured = 0.5 + 0.05 * features[:, 0] + rng.normal(0, 0.03, size)
    errors = residuals.T @ rng.standard_normal((25, count))
    drawn: list[tuple[float, float, Floats]] = []
    made = _Prior.draw

    def draw(self: _Prior, surface: float, own: float, root: Floats, count: int, rng: np.random.Generator) -> Floats:
        drawn.append((surface, own, made(self, surface, own, root, count, rng)))
        return drawn[-1][-1]

    monkeypatch.setattr(_Prior, "draw", draw)
    given = covariance.copy(), errors.copy()
    found = shrink(measured, errors, covariance, features, rng)
    assert np.array_equal(covariance, given[0])
    assert np.array_equal(errors, given[1])
    deviations, center = np.sqrt(np.diag(covariance)), measured.mean()
    known = covariance + (LEAST * np.std(measured)) ** 2 * np.eye(size)
    free = _Prior.of(features, float(np.std(measured)), deviations)
    wanted, begin = [], 0
    for surface, own, values in drawn:
        prior = _whole(free, surface) + own**2 * _alike(covariance)
        apart = measured[:, None] - center - values - errors[:, begin : begin + values.shape[1]]
        wanted.append(center + values + prior @ np.linalg.solve(prior + known, apart))
        begin += values.shape[1]
    assert len(drawn) > 5
    plain = np.hstack(wanted)
    moved = np.abs(plain.mean(axis=1) - measured)
    share = np.minimum(LIMIT * deviations / moved, 1.0)[:, None]
    assert (share < 1).any()
    assert found.values == pytest.approx(share * plain + (1 - share) * (measured[:, None] - errors), abs=1e-9)


def test_columns_of_rounding_are_not_drawn() -> None:
    """Draws of the surface are those of the whole root and of the same normals, but for what rounding leaves of it."""
    rng, size = np.random.default_rng(3), 200
    features = rng.normal(size=(size, 2))
    prior, root = _Prior.of(features, 0.3, np.ones(size)), np.diag(rng.uniform(1, 2, size))
    assert prior.thin.shape[1] < size
    found = prior.draw(0.7, 0.4, root, 500, np.random.default_rng(9))
    normals = np.random.default_rng(9)
    free, own, surface = (normals.standard_normal((rows, 500)) for rows in (2, size, size))
    values, vectors = np.linalg.eigh(_surface(features))
    whole = vectors * np.sqrt(np.maximum(values, 0))
    assert found == pytest.approx(prior.free @ free + 0.4 * root @ own + 0.7 * whole @ surface, abs=1e-5)


@pytest.mark.parametrize("queries", [3, 30, 300])
def test_each_covariance_is_drawn_toward_one_correlation(queries: int) -> None:
    """What is worked out by blocks of rows, in place, is what the formulas say of whole matrices."""
    rng, size = np.random.default_rng(queries), 300  # more than one block
    residuals, spread = rng.normal(size=(queries, size)) * rng.uniform(1, 3, size), rng.uniform(0, 0.1, size)
    residuals[:, 1] = residuals[:, 0] + 0.1 * residuals[:, 1]
    covariance = residuals.T @ residuals
    scale = np.sqrt(np.outer(np.diag(covariance), np.diag(covariance)))
    apart = ~np.eye(size, dtype=bool)
    alike = (covariance / scale)[apart].mean()
    off = covariance - alike * scale
    unsure = (residuals**2).T @ residuals**2 - covariance**2 / queries
    values, vectors = np.linalg.eigh(np.where(apart, alike * scale + off**3 / (off**2 + unsure), covariance))
    wanted = vectors @ np.diag(np.maximum(values, 0)) @ vectors.T + np.diag(spread)
    found = shrink_covariance(residuals, spread)
    assert found == pytest.approx(wanted, abs=1e-12 * np.abs(wanted).max())
    assert np.array_equal(found, found.T)


def test_sums_that_are_known_are_not_drawn() -> None:
    """Errors are, to the bit, those with all sums drawn: of variances that are 0, and of whole columns."""
    rng = np.random.default_rng(2)
    values, variances = rng.uniform(size=(12, 5)), np.zeros((12, 5))
    values[3, 1] = values[4:9, 4] = np.nan
    variances[:, 2] = variances[:, 4] = rng.uniform(0, 0.1, 12)
    found = resample_means(values, variances, resamples=100, seed=7)
    known = ~np.isnan(values)
    values, variances = np.where(known, values, 0), np.where(known, variances, 0)
    sums = bootstrap_sums(to_grid(np.hstack([values, variances, known.astype(float)])), 100, 7, 1)
    total, spread, drawn = np.split(sums, 3)
    plain = total / drawn
    for place in (2, 4):
        plain[place] += np.sqrt(spread[place]) / drawn[place] * normal_noise(100, 7, RUN_NOISE + place)
    counts = known.sum(axis=0)
    widened = np.sqrt(counts / (counts - 1))
    assert np.array_equal(found.errors, (plain - found.values[:, None]) * widened[:, None])


@pytest.mark.slow
def test_matrices_are_written_over() -> None:
    """Arrays that are held at once, in matrices of [configuration, configuration], the work of LAPACK apart."""
    rng, size = np.random.default_rng(4), 600
    values, features = rng.normal(0.5, 0.1, (20, size)), rng.normal(size=(size, 2))
    draw_qualities(values, 0 * values, features, resamples=64, seed=0)  # what is imported and kept is not of the work
    tracemalloc.start()
    draw_qualities(values, 0 * values, features, resamples=size, seed=0)
    held = tracemalloc.get_traced_memory()[1] / (8 * size**2)
    tracemalloc.stop()
    assert held < 12  # of 17.4 before


def _whole(prior: _Prior, surface: float) -> Floats:
    """[configuration, configuration] covariance of the prior, that of configurations by themselves apart."""
    found: Floats = prior.free @ prior.free.T + surface**2 * prior.thin @ prior.thin.T
    return found
