"""Corrections of p for a family of tests: among many pairs, some differ by chance.

MaxT, the default, uses the sign patterns of the randomization test (paired_tests.py), because it needs all pairs under
one pattern. Holm and Benjamini-Hochberg need only the p of each pair, and so apply to every test.
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
    """Adjust the p of the pairs on several measures.

    Args:
        p: [measure][pair] unadjusted p.
        together: whether all measures form one family; otherwise each measure is one.
    """
    families = [np.concatenate(p)] if together else p
    holms, shares = [holm(each) for each in families], [benjamini_hochberg(each) for each in families]
    if together:
        return AdjustedPValues(np.split(holms[0], len(p)), np.split(shares[0], len(p)))
    return AdjustedPValues(holms, shares)


def holm(p: Floats) -> Floats:
    """Adjust p by Holm's step-down method (1979), which controls the probability of any false claim.

    Args:
        p: [test] unadjusted p; NaN stays NaN and does not count in the family.

    >>> holm(np.array([0.01, 0.04, 0.03])).tolist()
    [0.03, 0.06, 0.06]
    """
    return _adjust(p, lambda ordered: np.maximum.accumulate(ordered * np.arange(len(ordered), 0, -1)))


def benjamini_hochberg(p: Floats) -> Floats:
    """Adjust p by Benjamini & Hochberg's step-up method (1995), which controls the false discovery rate.

    Args:
        p: [test] unadjusted p; NaN stays NaN and does not count in the family.

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
