"""Draws of true values: the inverses that share one decomposition, against those of whole matrices."""

from __future__ import annotations

import math

import numpy as np
import pytest

from trueval.tradeoff.shrinkage import _Inverse, _Prior, _Spectrum


def test_configurations_with_like_features_are_alike_and_none_without_features() -> None:
    """The covariance of the surface, by hand: exp(-distance² / 2), and the product for what is linear."""
    deviations = np.ones(3)
    surface = _Prior.of(np.array([[0.0, 1.0], [0.0, 1.0], [2.0, 0.0]]), 0.3, deviations).surface
    apart = math.exp(-5 / 2)
    assert surface == pytest.approx(np.array([[2, 2, apart], [2, 2, apart], [apart, apart, 5]]), rel=1e-15)
    assert not _Prior.of(np.zeros((3, 0)), 0.3, deviations).surface.any()


@pytest.mark.parametrize("count", [0, 1, 3])
def test_one_decomposition_serves_every_sd(count: int) -> None:
    """Solutions and log densities are those of the whole covariance, for every sd of the surface and of its own."""
    rng = np.random.default_rng(count)
    size = 30
    half = rng.normal(size=(size, 2 * size))
    covariance = half @ half.T / size * 1e-2
    deviations = np.sqrt(np.diag(covariance))
    prior = _Prior.of(rng.normal(size=(size, count)), 0.3, deviations)
    assert prior.thin.shape[1] <= size
    assert prior.thin @ prior.thin.T == pytest.approx(prior.surface, abs=1e-10)
    alike = 0.999 * covariance / np.outer(deviations, deviations) + 0.001 * np.eye(size)
    spectrum = _Spectrum.of(prior.free @ prior.free.T + covariance, np.linalg.cholesky(alike))
    right, measured, surfaces = rng.normal(size=(size, 4)), rng.normal(size=size), np.array([0.0, 0.05, 0.4])
    logs, wanted = [], []
    for own in (0.02, 0.3):
        inverse = _Inverse.of(spectrum, spectrum.vectors.T @ prior.thin, own)
        for surface in surfaces:
            whole = prior.covariance(surface) + covariance + own**2 * alike
            assert inverse.solve(surface, right) == pytest.approx(np.linalg.solve(whole, right), rel=1e-6, abs=1e-6)
            wanted.append(-0.5 * (measured @ np.linalg.solve(whole, measured) + np.linalg.slogdet(whole)[1]))
        logs += inverse.log_density(surfaces, measured).tolist()
    # A constant apart: that of the root of `alike`.
    assert np.array(logs) - logs[0] == pytest.approx(np.array(wanted) - wanted[0], rel=1e-8, abs=1e-6)
