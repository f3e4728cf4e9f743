"""Values by query, repeat and judge with planted variances, from several laws."""

from collections.abc import Mapping

import numpy as np

# Standard deviations: queries vary most, repeats and judges as such little.
PLANTED: Mapping[str, float] = {"Q": 1.0, "R": 0.1, "J": 0.15, "QR": 0.4, "QJ": 0.5, "RJ": 0.05, "QRJ": 0.4}


def drawn(law: str, shape: tuple[int, ...], rng: np.random.Generator) -> np.ndarray:
    """Values of mean 0 and variance 1."""
    if law == "t with 5 degrees":
        return rng.standard_t(5, size=shape) / np.sqrt(5 / 3)
    if law == "t with 3 degrees":  # whose fourth moment is infinite
        return rng.standard_t(3, size=shape) / np.sqrt(3)
    if law == "mostly 0":
        return rng.normal(size=shape) * (rng.random(shape) < 0.3) / np.sqrt(0.3)
    return rng.normal(size=shape)


def planted(
    shape: tuple[int, int, int],
    rng: np.random.Generator,
    law: str = "normal",
    sds: Mapping[str, float] = PLANTED,
) -> np.ndarray:
    """[query, repeat, judge] values of mean 0.

    Args:
        law: of the effects that hold queries; "unequal queries" has normal ones, larger on some queries.
    """
    sizes = dict(zip("QRJ", shape, strict=True))
    unequal = np.sqrt(rng.gamma(1.0, 1.0, size=(shape[0], 1, 1))) if law == "unequal queries" else 1.0
    values = np.zeros(shape)
    for effect, sd in sds.items():
        size = tuple(sizes[letter] if letter in effect else 1 for letter in "QRJ")
        if any(sizes[letter] == 1 for letter in effect):
            continue
        if "Q" not in effect:
            values = values + sd * rng.normal(size=size)
        else:
            values = values + sd * (1.0 if effect == "Q" else unequal) * drawn(law, size, rng)
    return values


def true_variances(effects: list[str], sds: Mapping[str, float] = PLANTED) -> np.ndarray:
    """[effect] planted variances."""
    return np.array([sds[effect] ** 2 for effect in effects])
