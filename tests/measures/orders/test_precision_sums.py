"""Means and variances of sums of precisions."""

import numpy as np
import pytest

from trueval.measures.orders import precision_sums
from trueval.measures.orders.precision_sums import RelevantGroups, moments


def test_groups_with_one_relevant_document_need_no_more_than_two_sums() -> None:
    rng = np.random.default_rng(0)
    tied = rng.integers(1, 40, 500)
    relevant, within = np.minimum(rng.integers(1, 4, 500), tied), np.minimum(tied, rng.integers(0, 40, 500))
    groups = RelevantGroups(
        np.arange(500) // 5, rng.integers(0, 900, 500), tied, relevant, rng.integers(0, 5, 500), within
    )
    assert set(relevant.tolist()) == {1, 2, 3}
    whole = precision_sums._block_moments(groups, 40)
    for found, expected in zip(moments(groups), whole, strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-12)


@pytest.mark.parametrize("size", [1, 7])
def test_pieces_of_ranks_give_what_all_ranks_at_once_give(size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Cutoffs fall inside, at the ends of and between pieces; sums behind a piece are carried over to it."""
    rng = np.random.default_rng(size)
    tied = rng.integers(2, 200, 300)
    within = np.minimum(tied, np.arange(300) % 200 + 1)
    relevant = np.minimum(rng.integers(2, 9, 300), tied)
    above = rng.integers(0, 10**6, 300)
    groups = RelevantGroups(np.arange(300), above, tied, relevant, rng.integers(0, 5, 300), within)
    whole = precision_sums._block_moments(groups, 200)
    monkeypatch.setattr(precision_sums, "PIECE", size)
    monkeypatch.setattr(precision_sums, "LEAST_RANKS", size)
    for found, expected in zip(precision_sums._block_moments(groups, 200), whole, strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-13, atol=0)
