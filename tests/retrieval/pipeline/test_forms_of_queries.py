"""Several forms of the queries: each is searched by itself, and their lists are fused."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.extras import need
from tests.latency.test_serving import served
from tests.retrieval import models
from tests.retrieval.pipeline.test_pipeline import WORDS, Model

import trueval as tv
from trueval.collection import Collection
from trueval.errors import InputError
from trueval.judgments import Judgments
from trueval.latency.latency import Protocol
from trueval.models.hosted.account import Account
from trueval.retrieval.cuts.tie_propagation import cut_pipeline
from trueval.retrieval.fusion.fuse import reciprocal_rank_fusion
from trueval.retrieval.pipeline.config import settings_of_tables
from trueval.retrieval.pipeline.pipeline import Pipeline, stages_of
from trueval.retrieval.pipeline.pipeline_result import PipelineResult
from trueval.retrieval.pipeline.rewriting import place_forms
from trueval.retrieval.pipeline.stage_resources import nobody, open_resources
from trueval.retrieval.pipeline.stage_runner import StageRunner
from trueval.tradeoff.diagnosis.corpus_growth import measure_growth
from trueval.tradeoff.diagnosis.loss_decomposition import decompose_loss

need("faiss", "bm25s", extra="retrieval")
need("safetensors", extra="models")

EMBED: dict[str, Any] = {"embed": {"model": "embedder"}, "index": {"depth": 12}}
SPARSE: dict[str, Any] = {"sparse": {"index": "bm25(language=None)", "depth": 15}}
SYSTEMS: dict[str, dict[str, Any]] = {
    "dense": EMBED,
    "rescored": {**EMBED, "index": {"depth": 12, "scoring": "bfloat16"}},
    "sparse": SPARSE,
    "hybrid": {**EMBED, **SPARSE, "fuse": {"k": 10, "depth": 20}},
    "weighted": {**EMBED, **SPARSE, "fuse": {"weights": [2, 1], "depth": 20}},
    "all": {
        **EMBED,
        **SPARSE,
        "deduplicate": {"words": 2, "threshold": 1},
        "rerank": {"model": "reranker", "depth": 7},
    },
}


@pytest.fixture
def log(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, int]]:
    done: list[tuple[str, int]] = []
    scoring = {"embedder": "product", "reranker": "sigmoid"}
    models.use(monkeypatch, lambda name: Model(scoring[name], done))
    return done


@pytest.fixture(scope="module")
def collection() -> Collection:
    documents = {
        f"d{place}": " ".join(WORDS[(place * step) % len(WORDS)] for step in range(1, 3 + place % 5))
        for place in range(40)
    }
    queries = {f"q{place}": f"Hi! Quick question: {WORDS[place]} {WORDS[place + 3]}? Thanks" for place in range(5)}
    return Collection("made", "made", documents, queries)


@pytest.fixture
def other(tmp_path: Path, collection: Collection) -> Path:
    """A file with other words for each query."""
    rows = ({"_id": query, "text": f"{WORDS[at]} {WORDS[at + 1]}"} for at, query in enumerate(collection.queries))
    file = tmp_path / "other.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return file


def pipeline(tables: Mapping[str, Any], rewrite: str = "as is") -> Pipeline:
    return Pipeline(settings_of_tables({"queries": {"rewrite": rewrite}, **tables}, "test"), "mine")


def stages(found: PipelineResult) -> dict[str, tv.Run]:
    return {stage.name: stage.run for stage in found.stages}


@pytest.mark.parametrize("name", ["dense", "sparse", "hybrid", "weighted"])
def test_the_lists_of_each_form_are_fused(
    name: str, collection: Collection, other: Path, log: list[Any], tmp_path: Path
) -> None:
    tables, ways = SYSTEMS[name], ("as is", "denoise", str(other))
    alone = [stages(pipeline(tables, way).retrieve(collection)) for way in ways]
    found = pipeline(tables, " + ".join(ways)).retrieve(collection, cache=tmp_path / "cache")
    by_name = stages(found)
    kinds = [kind for kind in ("dense", "sparse") if kind in alone[0]]
    assert list(by_name) == [
        *(f"{kind}{form}" for kind in kinds for form in ("", " (denoise)", " (other.jsonl)")),
        "fuse",
    ]
    for kind in kinds:
        for form, own in zip(("", " (denoise)", " (other.jsonl)"), alone, strict=True):
            assert by_name[kind + form].frame.equals(own[kind].frame)
    fuse = found.settings["fuse"]
    weights = [weight for weight in fuse["weights"] or () for _ in ways] or None
    lists = [own[kind] for kind in kinds for own in alone]
    expected = reciprocal_rank_fusion(lists, k=fuse["k"], weights=weights, name="mine").run.frame
    for query in collection.queries:
        got = by_name["fuse"].frame.filter(query_id=query)
        assert got.rows() == expected.filter(query_id=query)[: fuse["depth"]].rows()
    again = pipeline(tables, " + ".join(ways)).retrieve(collection, cache=tmp_path / "cache")
    assert all(stage.cached for stage in again.stages)
    assert again.run.frame.equals(found.run.frame)
    single = pipeline(tables, "denoise").retrieve(collection, cache=tmp_path / "cache")  # from the same cache
    assert single.run.frame.equals(alone[1]["fuse" if "fuse" in alone[1] else kinds[0]].frame)


def test_the_reranker_sees_the_first_form(collection: Collection, other: Path, log: list[Any]) -> None:
    found = pipeline(SYSTEMS["all"], f"denoise + {other}").retrieve(collection)
    first = pipeline({**SYSTEMS["all"]}, "denoise").retrieve(collection)
    scores = {row[:2]: row[2] for row in first.run.frame.select("query_id", "doc_id", "score").rows()}
    shared = [row for row in found.run.frame.select("query_id", "doc_id", "score").rows() if row[:2] in scores]
    assert len(shared) > 10
    assert all(score == scores[query, doc] for query, doc, score in shared)


@pytest.mark.parametrize("name", ["dense", "sparse", "hybrid"])
def test_pipelines_that_share_their_work_search_their_own_form(
    name: str, collection: Collection, other: Path, log: list[Any]
) -> None:
    """As in a probe of several pipelines: none may get the vectors or the list of another one's queries."""
    made = [pipeline(SYSTEMS[name], way).settings for way in ("as is", str(other), f"{other} + as is", "denoise")]
    with open_resources(None, Account(), kept=False) as shared:
        together = [stages_of([StageRunner(collection, each, shared, nobody)])[0][-1].run for each in made]
    for settings, run in zip(made, together, strict=True):
        assert run.frame.equals(Pipeline(settings).retrieve(collection).run.frame)


def test_losses_are_those_of_the_form_that_is_searched(collection: Collection, other: Path, log: list[Any]) -> None:
    """An exact index loses nothing, in whatever form it is asked."""
    judged = Judgments.from_dict({query: {f"d{place}": 1} for place, query in enumerate(collection.queries)})
    for way in (str(other), f"{other} + as is"):
        settings = pipeline({**EMBED, "index": {"depth": 12, "spec": "hnsw(M=16, efSearch=400)"}}, way).settings
        steps = decompose_loss(collection, settings, judged, "R@12").steps
        assert [step.recall.value for step in steps[:2] if step.recall is not None] == [1.0, 1.0]
        more = {f"more{place}": text for place, text in enumerate(list(collection.documents.values()) * 2)}
        larger = replace(collection, documents={**collection.documents, **more})
        (whole,) = measure_growth(larger, settings, judged, "R@12", 5, replicates=1)[-1:]
        assert whole.share == 1
        assert whole.recall == 1.0


@pytest.mark.parametrize("name", SYSTEMS)
def test_a_query_alone_gets_what_the_pipeline_gives(
    name: str, collection: Collection, other: Path, log: list[Any]
) -> None:
    tables = {**SYSTEMS[name], "queries": {"rewrite": f"as is + {other}"}}
    batch = Pipeline(settings_of_tables(tables, "test")).retrieve(collection).run.frame
    with served(collection, tables) as (one,):
        for number, query in enumerate(one.query_ids):
            answer, expected = one.answer(number).frame, batch.filter(query_id=query)
            assert answer["doc_id"].to_list() == expected["doc_id"].to_list()
            assert answer["score"].to_list() == pytest.approx(expected["score"].to_list(), abs=1e-6)
        named = [stage.name for stage in one.stages]
        assert len({stage.task.name for stage in one.stages}) == len(named)
        for stage in one.stages:
            stage.task.run(0 if stage.task.prepare is None else stage.task.prepare(0))
    searches = {"dense": ["embed", "retrieve"], "sparse": ["sparse"]}
    kinds = [kind for kind, table in (("dense", "embed"), ("sparse", "sparse")) if table in SYSTEMS[name]]
    expected_names = [f"{stage}{form}" for kind in kinds for form in ("", " (other.jsonl)") for stage in searches[kind]]
    assert named[: len(expected_names)] == expected_names


def test_hosted_and_local_work_counts_every_form(collection: Collection, other: Path, log: list[Any]) -> None:
    made = pipeline(EMBED, f"as is + denoise + {other}")
    (documents, queries) = sorted(made.missing_work(collection), key=lambda work: work.stage)
    made.retrieve(collection)
    assert documents.items + queries.items == sum(items for part, items in log if part == "embed")
    assert queries.items == 3 * len(collection.queries)
    with served(collection, {**EMBED, "queries": {"rewrite": f"as is + {other}"}}) as (one,):
        assert not one.hosted_calls(Protocol(queries=2, repeats=1))  # nothing here is hosted


@pytest.mark.parametrize("name", ["sparse", "rescored", "hybrid"])
def test_ties_of_each_form_travel_to_the_cut(name: str, collection: Collection, other: Path, log: list[Any]) -> None:
    found = cut_pipeline(pipeline(SYSTEMS[name], f"as is + {other}"), collection, 5, draws=20, repeats=1)
    assert found.stages is not None
    told = [stage.name for stage in found.stages.stages]
    run = pipeline(SYSTEMS[name], f"as is + {other}").retrieve(collection).run
    contexts = {query: run.frame.filter(query_id=query)["doc_id"][:5].to_list() for query in collection.queries}
    assert {query: found.run.frame.filter(query_id=query)["doc_id"][:5].to_list() for query in contexts} == contexts
    kinds = ["dense", "sparse"] if name == "hybrid" else ["dense" if name == "rescored" else name]
    scored = ["scoring", "scoring (other.jsonl)"] if name == "rescored" else []
    assert told == [*(f"{kind}{form}" for kind in kinds for form in ("", " (other.jsonl)")), *scored, "fuse", "all"]


def test_one_form_of_one_index_is_asked_for_k_itself(collection: Collection) -> None:
    """As without [queries]: the table says nothing of a fusion."""
    assert cut_pipeline(pipeline(SPARSE, "denoise"), collection, 5).stages is None


@pytest.mark.parametrize(
    ("tables", "told"),
    [
        ({**SPARSE, "queries": {"rewrite": "as is + as is"}}, "names a form twice"),
        ({**SPARSE, "queries": {"rewrite": " + denoise"}}, "stands between two forms"),
        ({**SPARSE, "queries": {"rewrite": "as is + a/q.jsonl + b/q.jsonl"}}, "by the names of their files"),
        ({**SPARSE, "queries": {"rewrite": "as is + hyde"}}, "is written by a language model"),
        ({**SPARSE, "queries": {"rewrite": "as is"}, "fuse": {}}, r"\[fuse\] makes one run of several"),
        ({**SPARSE, "queries": {"rewrite": "as is + denoise"}, "fuse": {"weights": [1, 2]}}, "weights are those of"),
        ({**EMBED, "queries": {"rewrite": "as is + denoise"}, "repair": {}}, "scores here are those of a fusion"),
    ],
)
def test_what_forms_cannot_be_is_refused(tables: dict[str, Any], told: str) -> None:
    with pytest.raises(InputError, match=told):
        settings_of_tables(tables, "test")


def test_files_among_several_forms_are_found_from_the_file_of_the_pipeline(other: Path) -> None:
    path = other.parent / "pipeline.toml"
    path.write_text('[corpus]\npath = "."\n[queries]\nrewrite = "as is + other.jsonl"\n[sparse]\n')
    read = Pipeline.read(path)
    assert read.settings["queries"]["rewrite"] == f"as is + {other}"
    made = Collection("made", "made", {"d": "alpha"}, {f"q{at}": "alpha" for at in range(5)})
    assert read.retrieve(made).to_dict()["settings"]["queries"]["rewrite"] == "as is + other.jsonl"
    assert "5 of 5 queries find nothing, such as 'q0'." in read.retrieve(made).stages[1].notes
    weighted = pipeline({**SPARSE, "fuse": {"method": "weighted"}}, f"as is + {other}").retrieve(made)
    assert weighted.run.documents.height == 5
    with pytest.raises(InputError, match=r"a \+ b/other\.jsonl: its folder has ' \+ ' in its name"):
        place_forms("as is + other.jsonl", Path("a + b"))
    lacking = replace(made, queries={"q9": "alpha"})
    with pytest.raises(InputError, match=r"other\.jsonl: 1 of 1 queries have no text there"):
        read.retrieve(lacking)
