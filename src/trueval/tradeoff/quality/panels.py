"""Panels: sets of configurations that are compared with each other, either all or those of the same K.

A measure at another K is another measure: for the same list, P@5 is above P@20 and R@20 above R@5 regardless of
quality. So configurations with different K are compared only where the quality has a cutoff of its own, or is RA-nWG or
N-Recall, which P-B compares across K (section 3.3).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

import numpy as np

from trueval.standings.standings import Ints

ACROSS: Final = ("RA-nWG", "N-Recall4+", "N-Recall5")


class Panel(NamedTuple):
    """Configurations that are compared with each other.

    Attributes:
        k: common K; None if configurations of every K are compared.
    """

    k: int | None
    places: Ints


def panels(contexts: Sequence[int | None], qualities: Sequence[str]) -> tuple[Panel, ...]:
    """Divide configurations into panels, by increasing K.

    Args:
        contexts: [configuration] K.
        qualities: [configuration] text form of its quality measure.

    Example:
        >>> [each.k for each in panels([5, 20, 5], ["P@5", "P@20", "P@5"])]
        [5, 20]
        >>> [each.k for each in panels([5, 20], ["RA-nWG@5", "RA-nWG@20"])]
        [None]
    """
    several = sorted(set(contexts), key=lambda k: -1 if k is None else k)
    if len(several) < 2 or len(set(qualities)) < 2 or is_comparable_across_k(qualities):
        return (Panel(None, np.arange(len(contexts))),)
    return tuple(Panel(k, np.flatnonzero([each == k for each in contexts])) for k in several)


def is_comparable_across_k(qualities: Sequence[str]) -> bool:
    """Whether qualities at different K are comparable in the sense of P-B.

    Args:
        qualities: text forms.

    >>> is_comparable_across_k(["RA-nWG@5", "RA-nWG@20"]), is_comparable_across_k(["nDCG@10"])
    (True, False)
    """
    return {each.partition("@")[0].partition("(")[0] for each in qualities} <= set(ACROSS)
