"""Coefficients of agreement, from tables of pairs of grades.

    κ  = 1 − Σ d_ab T_ab / Σ d_ab r_a c_b,            r, c: the margins of T over its total (Cohen 1960, 1968)
    α  = 1 − (n − 1) Σ d_ab O_ab / Σ d_ab n_a n_b     O: coincidences, n_a = Σ_b O_ab (Krippendorff 2018, ch. 12)

T_ab counts items that the first graded a and the second b. O_ab counts pairs of labels of one item, each item by
1 / (its labels − 1). d is how far two grades are apart:

    nominal, plain   0 or 1
    linear           |a − b|
    quadratic        (a − b)², which α calls interval
    ordinal          (Σ_{g from a to b} n_g − (n_a + n_b) / 2)²

Tables may contain weights instead of counts: in a sample with known inclusion probabilities, each item is weighted by
the inverse of its own, and the tables are unbiased estimates for the population (Horvitz & Thompson 1952).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Final

import numpy as np

from trueval.standings.standings import Floats

Coefficient = Callable[[Floats, Floats], Floats]


def kappa(tables: Floats, distances: Floats) -> Floats:
    """Cohen's κ of tables under a matrix of distances.

    Args:
        tables: [..., first, second] count or weight of each pair of grades.
        distances: [first, second] distances, 0 on the diagonal.

    Returns:
        [...] κ; NaN where all labels are one grade, or there are none.

    >>> float(kappa(np.array([[20.0, 5.0], [10.0, 15.0]]), 1 - np.eye(2)))
    0.4
    """
    total = tables.sum(axis=(-2, -1))
    # Both sums are multiplied by the total, so that nothing is divided until the end.
    observed = total * (tables * distances).sum(axis=(-2, -1))
    rows, columns = tables.sum(axis=-1), tables.sum(axis=-2)
    expected = np.einsum("...a,ab,...b->...", rows, distances, columns)
    return _one_less(observed, expected)


def alpha(coincidences: Floats, distances: Floats) -> Floats:
    """Krippendorff's α of coincidence tables.

    Args:
        coincidences: [..., grade, grade] symmetric coincidences.
        distances: [..., grade, grade] distances, 0 on the diagonal.

    Returns:
        [...] α; NaN where all labels are one grade, or there are none.
    """
    counts = coincidences.sum(axis=-1)
    observed = (counts.sum(axis=-1) - 1) * (coincidences * distances).sum(axis=(-2, -1))
    expected = (counts[..., :, None] * counts[..., None, :] * distances).sum(axis=(-2, -1))
    return _one_less(observed, expected)


def _one_less(observed: Floats, expected: Floats) -> Floats:
    known = expected > 0
    share = np.divide(observed, expected, out=np.full(np.shape(expected), np.nan), where=known)
    found: Floats = 1 - share
    return found


def ordinal_distances(coincidences: Floats) -> Floats:
    """Squared number of labels between two grades; labels at the two grades themselves count half.

    Args:
        coincidences: [..., grade, grade] coincidences, grades ascending.

    >>> ordinal_distances(np.diag([2.0, 4.0, 2.0])).tolist()
    [[0.0, 9.0, 36.0], [9.0, 0.0, 9.0], [36.0, 9.0, 0.0]]
    """
    counts = coincidences.sum(axis=-1)
    middle = np.cumsum(counts, axis=-1) - counts / 2
    found: Floats = (middle[..., :, None] - middle[..., None, :]) ** 2
    return found


def _unlike(grades: Floats) -> Floats:
    found: Floats = (grades[:, None] != grades).astype(np.float64)
    return found


def _apart(grades: Floats) -> Floats:
    found: Floats = np.abs(grades[:, None] - grades)
    return found


KAPPAS: Final[Mapping[str, Coefficient]] = MappingProxyType(
    {
        "kappa": lambda tables, grades: kappa(tables, _unlike(grades)),
        "kappa_linear": lambda tables, grades: kappa(tables, _apart(grades)),
        "kappa_quadratic": lambda tables, grades: kappa(tables, _apart(grades) ** 2),
    }
)
ALPHAS: Final[Mapping[str, Coefficient]] = MappingProxyType(
    {
        "alpha_nominal": lambda found, grades: alpha(found, _unlike(grades)),
        "alpha_ordinal": lambda found, _: alpha(found, ordinal_distances(found)),
        "alpha_interval": lambda found, grades: alpha(found, _apart(grades) ** 2),
    }
)
NAMES: Final = (*KAPPAS, *ALPHAS)


def of_tables(tables: Floats, grades: Floats) -> dict[str, Floats]:
    """All coefficients of two raters.

    Args:
        tables: [..., first, second] counts or weights.
        grades: [grade] grades, ascending.

    Returns:
        Name → [...].
    """
    both = tables + np.swapaxes(tables, -1, -2)  # each item is one pair of labels, in both orders
    of_kappa = {name: found(tables, grades) for name, found in KAPPAS.items()}
    return of_kappa | of_coincidences(both, grades)


def of_coincidences(coincidences: Floats, grades: Floats) -> dict[str, Floats]:
    """All coefficients of any number of raters.

    Args:
        coincidences: [..., grade, grade] coincidences.
        grades: [grade] grades, ascending.

    Returns:
        Name → [...].
    """
    return {name: found(coincidences, grades) for name, found in ALPHAS.items()}
