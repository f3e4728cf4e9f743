"""Levels of repeated looks: against published bounds, and against simulated ones."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import ndtri

from trueval.comparison.labels.repeated_looks import alpha_share, look_levels


def bounds(variances: list[float], shares: list[float], alpha: float = 0.05) -> list[float]:
    return [-float(ndtri((1 - level) / 2)) for level in look_levels(variances, shares, alpha)]


def test_five_equal_steps_have_the_published_bounds() -> None:
    """Lan-DeMets with Pocock's spending function, two-sided 5 %: Reboussin et al. 2000, program ld98."""
    shares = [0.2, 0.4, 0.6, 0.8, 1.0]
    found = bounds([1 / each for each in shares], shares)
    assert found == pytest.approx([2.4380, 2.4268, 2.4101, 2.3966, 2.3859], abs=3e-4)


def test_one_look_has_the_whole_level() -> None:
    assert look_levels([3.0], [1.0], 0.02) == [pytest.approx(0.98, abs=1e-9)]


def test_looks_that_tell_the_same_cost_little() -> None:
    same, other = (
        bounds([1.0] * 5, [0.2, 0.4, 0.6, 0.8, 1.0]),
        bounds([5, 2.5, 5 / 3, 1.25, 1], [0.2, 0.4, 0.6, 0.8, 1]),
    )
    assert same[-1] < 2.0 < other[-1]


def test_the_chance_of_passing_any_bound_is_what_is_spent() -> None:
    variances, shares = np.array([4, 3, 1.5, 1.2, 1.0, 0.2]), [0.1, 0.2, 0.4, 0.6, 0.8, 1.0]
    steps = np.sqrt(np.diff(1 / variances, prepend=0.0))
    rng, draws = np.random.default_rng(0), 400_000
    values = np.cumsum(rng.standard_normal((draws, 6)) * steps, axis=1) * np.sqrt(variances)
    passed = np.maximum.accumulate(np.abs(values) >= bounds(variances.tolist(), shares), axis=1).mean(axis=0)
    expected = np.array([0.05 * alpha_share(each) for each in shares])
    assert (np.abs(passed - expected) < 4 * np.sqrt(expected / draws) + 5e-5).all()


def test_a_look_with_everything_labeled_is_the_last_word() -> None:
    found = look_levels([1.0, 0.0, 0.0], [0.3, 0.6, 1.0], 0.05)
    assert all(0.9 < level < 1 for level in found)
