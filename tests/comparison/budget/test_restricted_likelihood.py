"""REML of crossed effects against closed forms of balanced values, and against the likelihood with dense matrices."""

import numpy as np
import pytest
from scipy.optimize import minimize
from tests.comparison.doubt_worlds import planted

from trueval.comparison.budget.mean_squares import effects_of, expected_mean_squares, mean_squares
from trueval.comparison.budget.restricted_likelihood import cell_effects, restricted_likelihood_parts


def naive_mean_squares(values: np.ndarray) -> dict[str, float]:
    """Mean squares by the definition: sums of squares of means, less those of all effects inside."""
    _, repeats, judges = values.shape
    sums, degrees = {"": values.size * values.mean() ** 2}, {"": 1}
    for effect in effects_of(repeats, judges):
        axes = tuple(at for at, letter in enumerate("QRJ") if letter not in effect)
        means = values.mean(axis=axes)
        whole = values.size / means.size * float((means**2).sum())
        inner = [other for other in sums if set(other) < set(effect)]
        sums[effect] = whole - sum(sums[other] for other in inner)
        degrees[effect] = means.size - sum(degrees[other] for other in inner)
    return {effect: sums[effect] / degrees[effect] for effect in sums if effect}


@pytest.mark.parametrize("shape", [(12, 3, 2), (9, 1, 4), (7, 2, 1), (5, 1, 1)])
def test_mean_squares_are_those_of_the_definition(shape) -> None:
    values = planted(shape, np.random.default_rng(5)) + 3.0
    found = mean_squares(values)
    assert found.values == pytest.approx(naive_mean_squares(values), rel=1e-9)
    degrees = {"Q": shape[0] - 1, "R": shape[1] - 1, "J": shape[2] - 1}
    for effect, free in found.degrees.items():
        assert free == np.prod([degrees[letter] for letter in effect])


@pytest.mark.parametrize("seed", range(4))
def test_of_balanced_values_it_is_the_analysis_of_variance(seed) -> None:
    values = planted((20, 3, 2), np.random.default_rng(seed))
    found = mean_squares(values)
    effects = effects_of(3, 2)
    parts = restricted_likelihood_parts(values.reshape(20, -1), cell_effects(effects, 3, 2))
    again = expected_mean_squares(dict(zip(effects, parts.tolist(), strict=True)), found.levels)
    assert again == pytest.approx(found.values, rel=1e-6, abs=1e-6)


def dense_likelihood(parts: np.ndarray, values: np.ndarray, effects: tuple[str, ...]) -> float:
    """Minus twice the restricted likelihood, from the covariance matrix of all values (Harville 1977)."""
    places = np.argwhere(~np.isnan(values))
    y = values[~np.isnan(values)]
    covariance = np.zeros((len(y), len(y)))
    for part, effect in zip(parts, effects, strict=True):
        axes = ["QRJ".index(letter) for letter in effect]
        covariance += part * (places[:, None, axes] == places[None, :, axes]).all(axis=2)
    sign, log = np.linalg.slogdet(covariance)
    if sign <= 0:
        return np.inf
    inverse = np.linalg.inv(covariance)
    ones = np.ones(len(y))
    weight = ones @ inverse @ ones
    apart = y - ones @ inverse @ y / weight
    return float(log + np.log(weight) + apart @ inverse @ apart)


@pytest.mark.parametrize("shape", [(14, 1, 3), (12, 3, 2)])
def test_of_missing_values_it_is_the_maximum_of_the_dense_likelihood(shape) -> None:
    sds = {"Q": 1.0, "R": 0.8, "J": 0.8, "QR": 0.7, "QJ": 0.7, "RJ": 0.6, "QRJ": 0.5}
    values = planted(shape, np.random.default_rng(2), sds=sds)
    values[9:, :, 1] = np.nan
    effects = effects_of(*shape[1:])
    parts = restricted_likelihood_parts(values.reshape(shape[0], -1), cell_effects(effects, *shape[1:]))
    assert (parts > 0).all()  # or the maximum would not be inside
    best = minimize(
        lambda logs: dense_likelihood(np.exp(logs), values, effects),
        np.log(parts) + 0.4,
        method="Nelder-Mead",
        options={"maxfev": 4000, "xatol": 1e-7, "fatol": 1e-11},
    )
    here = dense_likelihood(parts, values, effects)
    assert here <= best.fun + 1e-6
    step = 1e-4
    for at in range(len(parts)):  # a maximum in every direction
        for sign in (-1, 1):
            moved = parts.copy()
            moved[at] *= 1 + sign * step
            assert dense_likelihood(moved, values, effects) >= here - 1e-9


def test_values_that_do_not_vary_have_no_parts() -> None:
    assert not restricted_likelihood_parts(np.full((5, 2), 0.3), cell_effects(effects_of(1, 2), 1, 2)).any()
