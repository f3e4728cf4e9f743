"""Repair of a run: the documents to score again, and what that restores of a reference."""

from __future__ import annotations

import pytest

from trueval.errors import InputError
from trueval.precision.repair import repair_run


def test_a_run_with_its_reference() -> None:
    low = {"q": {"a": 0.5, "b": 0.5, "c": 0.25}, "r": {"a": 1.0, "b": 0.5, "c": 0.25}}
    exact = {"q": {"b": 0.501, "a": 0.499, "c": 0.25}, "r": {"c": 0.26, "b": 0.5, "a": 1.0}}
    found = repair_run(low, k=1, within="bfloat16", reference=exact)
    assert [(each.query, each.sure, each.documents) for each in found.queries] == [("q", 0, ("a", "b")), ("r", 1, ())]
    assert (found.pairs, found.rescored) == (6, 2)
    assert found.restored is not None
    # c of r moved by .01, and half a unit of bfloat16 at .25 is 1/2048: drift, in a place that does not matter.
    assert (found.restored.before, found.restored.after, found.restored.beyond) == (1, 2, 1)
    assert type(found).from_dict(found.to_dict()).to_dict() == found.to_dict()
    with pytest.raises(InputError, match="lacks 1 of 6 pairs"):
        repair_run(low, reference={**exact, "r": {"b": 0.5, "a": 1.0}})


def test_an_order_is_restored_with_more() -> None:
    low = {"q": {"a": 0.5, "b": 0.5, "c": 0.25, "d": 0.25}}
    exact = {"q": {"b": 0.501, "a": 0.499, "d": 0.2501, "c": 0.25}}
    first, order = (repair_run(low, k=3, within=0.002, order=each, reference=exact) for each in (False, True))
    assert [found.queries[0].documents for found in (first, order)] == [("c", "d"), ("a", "b", "c", "d")]
    assert [found.restored and found.restored.before for found in (first, order)] == [0, 0]
    assert [found.restored and found.restored.after for found in (first, order)] == [1, 1]
    assert order.order
    assert type(order).from_dict(order.to_dict()).to_dict() == order.to_dict()
