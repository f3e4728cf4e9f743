"""A query that was given with an empty list stays one in the runs that are made of its run: it is not missing."""

from types import SimpleNamespace

import numpy as np
import pytest

from trueval import Judgments, Run, evaluate
from trueval.collection import Collection
from trueval.retrieval.cuts.cut_audit import cut_runs
from trueval.retrieval.fusion.fuse import reciprocal_rank_fusion, weighted_fusion
from trueval.retrieval.pipeline.boost import lexical_boost
from trueval.retrieval.pipeline.rerank import rerank
from trueval.retrieval.pipeline.suppress import limit_sources, suppress_duplicates

JUDGMENTS = Judgments.from_dict({"q": {"a": 1, "b": 0}, "e": {"x": 1}})
ONE = Run.from_dict({"q": {"a": 3.0, "b": 2.0, "c": 2.0}, "e": {}}, name="one")
TWO = Run.from_dict({"q": {"a": 3.0, "b": 2.0, "c": 2.1}, "e": {}}, name="two")
FULL = Run.from_dict({"q": {"a": 3.0, "b": 2.0, "c": 2.1}, "e": {"y": 1.0}}, name="full")
TEXTS = {"a": "one", "b": "two", "c": "three"}
QUERIES = {"q": "one", "e": "two"}
COLLECTION = Collection("c", "c", TEXTS, QUERIES, JUDGMENTS)
MODEL = SimpleNamespace(name="pairs", dtype="float32", scoring="sigmoid")
LOGITS = SimpleNamespace(arrays={"pairs": np.float32([[3], [2], [1]])})  # of a, b and c
MADE = {
    "ranks": lambda: reciprocal_rank_fusion([ONE, TWO]).run,
    "scores": lambda: weighted_fusion([ONE, TWO]).run,
    "suppressed": lambda: suppress_duplicates(ONE, TEXTS).run,
    "limited": lambda: limit_sources(ONE, dict.fromkeys(TEXTS, "s"), most=3).run,
    "boosted": lambda: lexical_boost(ONE, QUERIES, TEXTS, {"terms": 1.0}).run,
    "reranked": lambda: rerank(ONE, COLLECTION, MODEL, forward=lambda *_, **__: LOGITS),
}


@pytest.mark.parametrize("made", MADE)
def test_runs_that_are_made_of_others_keep_empty_lists(made: str) -> None:
    run = MADE[made]()
    assert run.empty == ("e",)
    assert evaluate(run, JUDGMENTS, "P@2", missing="skip")["P@2"].expected == 0.25


def test_a_list_that_one_run_fills_is_not_empty() -> None:
    assert reciprocal_rank_fusion([ONE, FULL]).run.empty == ()


@pytest.mark.parametrize("runs", [[ONE], [ONE, TWO], [ONE, ONE], [ONE, FULL]])
@pytest.mark.parametrize("missing", ["skip", "error", "worst"])
def test_cuts_of_several_calls_count_empty_lists_as_one_call_does(runs: list[Run], missing: str) -> None:
    found = cut_runs(runs, 2, judgments=JUDGMENTS, measures=["P@2"], missing=missing)
    measured = found.to_dict()["measures"]["P@2"]
    assert (measured["expected"], measured["queries"]) == (0.25, 2)
    assert set(measured["calls"]) <= {0.25}


def test_an_id_that_is_given_twice_without_documents_is_one_query() -> None:
    assert Run.from_arrays([[1.0], [], []], [["d1"], [], []], ["b", "1", "1"]).empty == ("1",)
