"""Corrections of p for a family of tests: looking at many pairs finds differences where none are.

MaxT, the default, is made with the signs of the randomization test (paired_tests.py), because it looks at all pairs of
a pattern at once. Holm and Benjamini-Hochberg need nothing but the p of each pair, and so serve every test.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from trueval.standings.standings import Floats


class AdjustedPValues(NamedTuple):
    """[measure][pair] adjusted p."""

    holm: list[Floats]
    benjamini_hochberg: list[Floats]


def adjust(p: Sequence[Floats], *, together: bool) -> AdjustedPValues:
    """Adjust the p of the pairs of several measures.

    Args:
        p: [measure][pair].
        together: whether all measures are one family; else each is one.
    """
    families = [np.concatenate(p)] if together else p
    holms, shares = [holm(each) for each in families], [benjamini_hochberg(each) for each in families]
    if together:
        return AdjustedPValues(np.split(holms[0], len(p)), np.split(shares[0], len(p)))
    return AdjustedPValues(holms, shares)


def holm(p: Floats) -> Floats:
    """The p adjusted for a family of tests by Holm's step-down method (1979): the chance of any false claim.

    Args:
        p: [test]; NaN stays NaN and is not of the family.

    >>> holm(np.array([0.01, 0.04, 0.03])).tolist()
    [0.03, 0.06, 0.06]
    """
    return _adjust(p, lambda ordered: np.maximum.accumulate(ordered * np.arange(len(ordered), 0, -1)))


def benjamini_hochberg(p: Floats) -> Floats:
    """The p adjusted for a family of tests by Benjamini & Hochberg's step-up method (1995): the share of false claims.

    Args:
        p: [test]; NaN stays NaN and is not of the family.

    >>> benjamini_hochberg(np.array([0.01, 0.04, 0.03])).tolist()
    [0.03, 0.04, 0.04]
    """

    def step_up(ordered: Floats) -> Floats:
        scaled = ordered * len(ordered) / np.arange(1, len(ordered) + 1)
        return np.minimum.accumulate(scaled[::-1])[::-1]

    return _adjust(p, step_up)


def _adjust(p: Floats, step: Callable[[Floats], Floats]) -> Floats:
    out, known = np.full(len(p), np.nan), np.flatnonzero(~np.isnan(p))
    order = known[np.argsort(p[known], kind="stable")]
    out[order] = np.minimum(step(p[order]), 1.0)
    return out
