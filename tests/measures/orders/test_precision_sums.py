"""Means and variances of sums of precisions."""

import numpy as np

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
