"""Tables of rank weights that calls share."""

import numpy as np
import pytest

from trueval.measures.orders.weights import KEPT, WeightTable, discounts


def arrays(table: WeightTable) -> list[np.ndarray]:
    return [table.weights, table._padded_weights]


def test_short_tables_are_shared_and_cannot_be_changed() -> None:
    assert discounts(10, 20) is discounts(30, 10)
    for array in arrays(discounts(10, 20)):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 5.0


@pytest.mark.parametrize("ranks", [0, 1, 7, KEPT, KEPT + 1])
def test_shared_or_not_they_hold_the_same_weights(ranks: int) -> None:
    table, place = discounts(ranks, ranks + 5), np.arange(1, ranks + 3)
    weights = np.where(place <= ranks, 1 / np.log2(place + 1), 0.0)
    query = np.zeros_like(place)
    assert np.array_equal(table.at(place, query), weights)
    if not ranks:
        return
    whole = table.spans(np.zeros(1, dtype=np.int64), place[-1:], query[:1])
    assert whole.mean == pytest.approx(weights.mean(), rel=1e-14)
    assert whole.deviation == pytest.approx(weights.std() * np.sqrt(len(weights)), rel=1e-12)


def test_long_tables_are_not_kept() -> None:
    assert discounts(KEPT + 1, KEPT + 1) is not discounts(KEPT + 1, KEPT + 1)
