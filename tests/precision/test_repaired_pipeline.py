"""Repair of a pipeline: the pairs that go through its model in float32, and which cure is enough."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.retrieval.pipeline.test_repair_stage import DENSE, RERANKED, SYSTEMS, collection, log, pipeline

from trueval.collection import Collection
from trueval.errors import PolicyError
from trueval.precision.repair import repair_pipeline
from trueval.precision.views.repair import view

__all__ = ["collection", "log"]


@pytest.mark.parametrize("name", SYSTEMS)
@pytest.mark.parametrize("order", [False, True])
def test_a_width_that_covers_the_drift_restores_all(
    name: str, order: bool, collection: Collection, log: list[Any], tmp_path: Path
) -> None:
    wide = repair_pipeline(collection, pipeline(SYSTEMS[name]), k=3, within="0", check=True, cache=tmp_path)
    assert wide.restored is not None
    within = f"{wide.restored.most * 1.001:.9f}"
    found = repair_pipeline(
        collection, pipeline(SYSTEMS[name]), k=3, within=within, order=order, check=True, cache=tmp_path
    )
    assert found.restored is not None
    assert (found.restored.after, found.restored.beyond, found.order) == (8, 0, order)
    assert found.restored.before <= found.restored.after
    assert found.pipeline is not None
    assert (found.pipeline.beyond, found.pairs) == (0, 8 * {"dense": 40, "cut": 40, "stored": 60}.get(name, 30))
    assert type(found).from_dict(found.to_dict()).to_dict() == found.to_dict()


def test_without_a_cache_it_is_the_same(collection: Collection, log: list[Any], tmp_path: Path) -> None:
    first, again = (
        repair_pipeline(collection, pipeline(RERANKED), k=3, within="0.01", check=True, cache=cache).to_dict()
        for cache in (None, tmp_path)
    )
    for each in (first, again):
        each["pipeline"].pop("seconds")
        each.pop("created", None)
    assert first == again


def test_the_table_of_the_file_holds_where_nothing_else_is_said(collection: Collection, log: list[Any]) -> None:
    found = repair_pipeline(collection, pipeline(DENSE, within="0.004", k=4, order=True))
    assert (found.within, found.k, found.order, found.restored) == ("0.004", 4, True, None)
    found = repair_pipeline(collection, pipeline(DENSE, within="0.004", k=4), k=2)
    assert (found.within, found.k, found.order) == ("0.004", 2, False)


@pytest.mark.parametrize(
    ("sets", "told"),
    [
        ((8, 8, 8), "It needs no cure"),
        ((5, 8, 8), 'scoring = "float32"'),
        ((5, 7, 8), "the repair is"),
        ((5, 6, 7), "widen --within"),
    ],
)
def test_the_page_says_which_cure_is_enough(
    sets: tuple[int, int, int], told: str, collection: Collection, log: list[Any]
) -> None:
    found = repair_pipeline(collection, pipeline(RERANKED), k=3, within="0.01", check=True)
    assert found.restored is not None
    before, high, after = sets
    one = replace(found, restored=replace(found.restored, before=before, high=high, after=after))
    assert any(told in str(line) for line in view(one).findings)
    assert "--pipeline FILE" in view(one).answer.next


def test_what_is_refused(collection: Collection) -> None:
    with pytest.raises(PolicyError, match="a search of words"):
        repair_pipeline(collection, pipeline({"sparse": {}}))
    with pytest.raises(PolicyError, match="makes two runs"):
        repair_pipeline(collection, pipeline({**RERANKED, "pipeline": {"scoring": "both"}}))
    with pytest.raises(PolicyError, match="within of"):
        repair_pipeline(collection, pipeline(RERANKED), within="codes(int8)")
