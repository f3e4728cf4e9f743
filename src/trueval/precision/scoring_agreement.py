"""Agreement of two scorings of the same documents, with every order of ties equally likely."""

from __future__ import annotations

import math
import warnings
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from trueval.comparison.resampling.reshuffle import (
    PERSISTENCE,
    TiedLists,
    find_shared_documents,
    overlaps,
    rank_biased_overlap,
)
from trueval.errors import InputError
from trueval.standings.groups import ranges

if TYPE_CHECKING:
    from numpy.typing import NDArray


DEPTH = 1000  # lists longer than this are compared over the reference's first documents


class ListAgreement(NamedTuple):
    """The agreement of one list with its reference.

    Attributes:
        tau_b: Kendall's τ-b; NaN if either list is a single tie group.
        overlap: expected share of common documents in the top k.
        rbo: rank-biased overlap.
    """

    tau_b: float
    overlap: float
    rbo: float


class TieResolution(NamedTuple):
    """How finer scores order the pairs of documents that tie in low precision.

    Attributes:
        pairs: number of pairs tied in low precision and not tied in the reference.
        same: number of these that the finer scores order as the reference does.
        opposite: number of these that they order the other way.
        tied: number of these that they leave tied.
        all_pairs: number of pairs tied in low precision, whether tied in the reference or not.
        all_tied: number of all pairs that the finer scores leave tied.
    """

    pairs: int
    same: int
    opposite: int
    tied: int
    all_pairs: int
    all_tied: int


def agreement(
    scores: NDArray[np.float64], reference: NDArray[np.float64], k: int = 10, p: float = PERSISTENCE
) -> ListAgreement:
    """Compare a list with its reference.

    Kendall 1945's τ-b; the expected overlap of the top k; and RBO in the form that averages over the orders of tied
    documents (RBO^a of Corsi & Urbano 2024; Webber, Moffat & Zobel 2010). Orders of the two lists are drawn
    independently, so a list with ties agrees with itself less than fully. Lists longer than 1,000 documents are
    compared over the 1,000 that the reference puts first.

    Args:
        scores: [document] scores.
        reference: [document] reference scores of the same documents.
        k: depth of the overlap.
        p: persistence of RBO.

    >>> agreement(np.array([3.0, 2.0, 1.0]), np.array([0.9, 0.5, 0.1]), k=2)
    ListAgreement(tau_b=1.0, overlap=1.0, rbo=1.0)
    """
    from scipy.stats import kendalltau

    if scores.shape != reference.shape or scores.ndim != 1:
        raise InputError(f"Two lists must score the same documents. Got shapes {scores.shape} and {reference.shape}.")
    if len(scores) > DEPTH:
        first = np.argsort(-reference, kind="stable")[:DEPTH]
        scores, reference = scores[first], reference[first]
    # A pair tied in one list is neither concordant nor discordant. τ-b divides by the geometric mean of the numbers of
    # pairs that each list separates, so ties cost a coarse list less than wrong orders.
    with warnings.catch_warnings(), np.errstate(invalid="ignore"):
        warnings.simplefilter("ignore")  # a list that is a single tie group has no τ-b: NaN, and counted as such
        tau = float(kendalltau(scores, reference, variant="b").statistic) if len(scores) > 1 else math.nan
    count, k = len(scores), min(k, len(scores))
    offsets, documents = np.array([0, count]), np.arange(count)
    one, other = (TiedLists.of(documents, each, offsets, count) for each in (scores, reference))
    common = overlaps(find_shared_documents(one, other), 1, count)
    rbo = rank_biased_overlap(common, np.full((2, 1), count), p)
    return ListAgreement(tau, float(common[0, k - 1]) / k, float(rbo[0]))


def resolution_of_ties(
    low: NDArray[np.float64], fine: NDArray[np.float64], reference: NDArray[np.float64]
) -> TieResolution:
    """Count how finer scores order the pairs that tie in low precision, against the reference.

    It answers whether the order that float32 scoring gives to spurious ties is that of the full-precision model: a coin
    would have as many opposite as same.

    Args:
        low: [document] scores in low precision.
        fine: [document] scores of the same model outputs in a finer format.
        reference: [document] scores of the full-precision model.

    >>> resolution_of_ties(np.array([1.0, 1.0, 1.0]), np.array([3.0, 2.0, 2.0]), np.array([3.0, 1.0, 2.0]))
    TieResolution(pairs=3, same=2, opposite=0, tied=1, all_pairs=3, all_tied=1)
    """
    order = np.argsort(-low, kind="stable")
    _, sizes = np.unique(-low, return_counts=True)
    start = np.cumsum(sizes) - sizes
    found = np.zeros(len(TieResolution._fields), dtype=np.int64)
    for begin, size in zip(start[sizes > 1].tolist(), sizes[sizes > 1].tolist(), strict=True):
        chosen = order[begin : begin + min(size, DEPTH)]  # a group larger than the depth is represented by a part of it
        # Every pair once: each document with all that follow it.
        count = np.arange(len(chosen))
        left = np.repeat(count, len(chosen) - 1 - count)
        right = ranges(count + 1, len(chosen) - 1 - count)
        wanted = np.sign(reference[chosen[left]] - reference[chosen[right]])
        own = np.sign(fine[chosen[left]] - fine[chosen[right]])
        known, given = wanted != 0, own * wanted
        of_known = [known.sum(), (given > 0).sum(), (given < 0).sum(), ((given == 0) & known).sum()]
        found += [*of_known, len(own), (own == 0).sum()]
    return TieResolution(*found.tolist())
