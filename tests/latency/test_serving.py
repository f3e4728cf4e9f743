"""Serving: single queries get what the pipeline gives, and each stage is its own work alone."""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.extras import need
from tests.models.hosted.loopback import Loopback, serving
from tests.retrieval import models
from tests.retrieval.pipeline.test_pipeline import ALL, WORDS, Model

from trueval.collection import Collection
from trueval.errors import InputError
from trueval.latency.latency import Protocol, TimedTask, measure
from trueval.latency.load_test import closed_loop
from trueval.latency.percentiles import times_of
from trueval.latency.serving import ServedPipeline, ServedStage, _call_search, _library_call
from trueval.models.hosted.account import Account
from trueval.retrieval.indexes.dense import Dense
from trueval.retrieval.indexes.index import make_index
from trueval.retrieval.pipeline.config import settings_of_tables
from trueval.retrieval.pipeline.pipeline import Pipeline
from trueval.retrieval.pipeline.stage_resources import nobody, open_resources
from trueval.retrieval.pipeline.stage_runner import StageRunner

need("faiss", "bm25s", extra="retrieval")
need("safetensors", extra="models")

SHARED = Path(__file__).resolve().parents[3] / "shared"
EMBED = {"model": "embedder"}
SYSTEMS: dict[str, dict[str, Any]] = {
    "flat": {"embed": EMBED, "index": {"depth": 30}},
    "cut": {"embed": {**EMBED, "dimension": 5}, "index": {"depth": 30}},
    "rescored": {"embed": EMBED, "index": {"depth": 30, "scoring": "float32"}},
    "hnsw": {"embed": EMBED, "index": {"spec": "hnsw(M=4)", "depth": 30}},
    "bm25": {"sparse": {"index": "bm25(language=None)", "depth": 20}},
    "hybrid": {name: ALL[name] for name in ("embed", "sparse", "index", "fuse")},
    "weighted": {**{name: ALL[name] for name in ("embed", "sparse", "index")}, "fuse": {"method": "weighted"}},
    "phrases": {**{name: ALL[name] for name in ("embed", "sparse", "index")}, "fuse": {"phrases": 0.5}},
    "all": dict(ALL),
    "bm25 reranked": {"sparse": {"index": "bm25(language=None)"}, "rerank": {"model": "reranker", "depth": 7}},
    "reranked by vectors": {"sparse": {"index": "bm25(language=None)"}, "rerank": {"model": "embedder", "depth": 7}},
}
SYSTEMS |= {
    "repaired": {**SYSTEMS["flat"], "repair": {"within": "0.01", "k": 3}},
    "cut and repaired": {**SYSTEMS["cut"], "repair": {"within": "0.01", "k": 3}},
    "reranked and repaired": {**SYSTEMS["bm25 reranked"], "repair": {"within": "0.1", "k": 3, "order": True}},
    "by vectors, repaired": {**SYSTEMS["reranked by vectors"], "repair": {"within": "0.01", "k": 3}},
}


@pytest.fixture
def log(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, int]]:
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
    return Collection("made", "made", documents, {**queries, "nothing": "xyzzy"})


@contextmanager
def served(
    collection: Collection, *systems: dict[str, Any], account: Account | None = None
) -> Iterator[list[ServedPipeline]]:
    with open_resources(None, account or Account(), kept=False) as shared:
        settings = [settings_of_tables(tables, "test") for tables in systems]
        yield [ServedPipeline(StageRunner(collection, each, shared, nobody)) for each in settings]


@pytest.mark.parametrize("name", SYSTEMS)
def test_a_query_alone_gets_what_the_pipeline_gives(name: str, collection: Collection, log: list[Any]) -> None:
    tables = SYSTEMS[name]
    batch = Pipeline(settings_of_tables(tables, "test")).retrieve(collection).run.frame
    with served(collection, tables) as (one,):
        for number, query in enumerate(one.query_ids):
            answer, expected = one.answer(number).frame, batch.filter(query_id=query)
            assert answer["doc_id"].to_list() == expected["doc_id"].to_list()
            assert answer["score"].to_list() == pytest.approx(expected["score"].to_list(), abs=1e-6)
            assert expected.height or (query == "nothing" and "embed" not in tables)


def test_a_source_that_has_enough_is_left_out_of_a_query_alone(
    collection: Collection, log: list[Any], tmp_path: Path
) -> None:
    file = tmp_path / "sources.tsv"
    file.write_text("".join(f"d{place} paper{place % 7}\n" for place in range(30)), encoding="utf-8")
    tables = {**SYSTEMS["bm25"], "deduplicate": {"duplicates": False, "per_source": 1, "sources": str(file)}}
    batch = Pipeline(settings_of_tables(tables, "test")).retrieve(collection).run.frame
    with served(collection, tables) as (one,):
        file.unlink()  # it was read before, so that no query waits for it
        for number, query in enumerate(one.query_ids):
            expected = batch.filter(query_id=query)
            assert one.answer(number).frame["doc_id"].to_list() == expected["doc_id"].to_list()


def test_equal_work_of_two_systems_has_one_name_and_other_work_another(collection: Collection, log: list[Any]) -> None:
    deeper = {**SYSTEMS["hybrid"], "fuse": {"depth": 24}}
    wider = {"embed": EMBED, "index": {"spec": "hnsw(M=4, efSearch=500)", "depth": 30}}
    names = ["flat", "cut", "hnsw", "hybrid", "all"]
    with served(collection, *[SYSTEMS[name] for name in names], deeper, wider) as systems:
        stages = {
            name: {stage.name: stage.task.name for stage in each.stages}
            for name, each in zip([*names, "deeper", "wider"], systems, strict=True)
        }
    assert list(stages["all"]) == ["embed", "retrieve", "sparse", "fuse", "deduplicate", "rerank"]
    assert list(stages["flat"]) == ["embed", "retrieve"]
    assert len({each["embed"] for each in stages.values()}) == 1
    assert stages["flat"]["retrieve"] == stages["hybrid"]["retrieve"] == stages["all"]["retrieve"]
    assert stages["hybrid"]["sparse"] == stages["deeper"]["sparse"]
    different = [stages[name]["retrieve"] for name in ("flat", "cut", "hnsw", "wider")]
    assert len(set(different)) == 4
    assert stages["hybrid"]["fuse"] == stages["all"]["fuse"] != stages["deeper"]["fuse"]


def test_what_a_stage_is_timed_for_is_its_own_work(collection: Collection, log: list[Any]) -> None:
    with served(collection, SYSTEMS["all"]) as (one,):
        tasks = {stage.name: stage.task for stage in one.stages}
        log.clear()
        given = {name: task.prepare(2) for name, task in tasks.items()}
        assert log == []  # no model is asked for what others need
        for name, expected in [
            ("embed", [("embed", 1)]),
            ("retrieve", []),
            ("sparse", []),
            ("fuse", []),
            ("deduplicate", []),
            ("rerank", [("pairs", 10)]),
        ]:
            log.clear()
            tasks[name].run(given[name])
            assert log == expected, name


def test_a_repair_is_timed_for_the_doubtful_pairs(collection: Collection, log: list[Any]) -> None:
    tables = {**SYSTEMS["bm25 reranked"], "repair": {"within": "0.01", "k": 3}}
    told = Pipeline(settings_of_tables(tables, "test")).retrieve(collection).stages[-1].repair
    assert told is not None
    with served(collection, tables) as (one,):
        (task,) = [stage.task for stage in one.stages if stage.name == "repair"]
        again = {query: len(told.documents.get(query, ())) for query in one.query_ids}
        assert set(again.values()) > {0}
        for number, query in enumerate(one.query_ids):
            given = task.prepare(number)
            log.clear()
            task.run(given)
            assert log == ([("pairs", again[query])] if again[query] else [])


def test_the_search_that_is_timed_is_that_of_the_library(
    collection: Collection, log: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    with served(collection, SYSTEMS["flat"], SYSTEMS["hnsw"]) as systems:
        for one in systems:
            task, expected = one.stages[1].task, one.candidates(0).documents["score"].to_list()
            with monkeypatch.context() as patch:
                for ours in ("search", "search_faiss"):
                    patch.setattr(Dense, ours, lambda *_: pytest.fail("our own work is in the window"))
                scores, _ = task.run(task.prepare(0))  # type: ignore[misc]
            assert sorted(scores[0].tolist(), reverse=True) == expected


def test_scores_that_the_index_does_not_give_are_part_of_the_search(collection: Collection, log: list[Any]) -> None:
    with served(collection, SYSTEMS["rescored"]) as (one,):
        task = one.stages[1].task
        hits: Any = task.run(task.prepare(0))
        assert hits.scores.tolist() == one.candidates(0).documents["score"].to_list()


def test_stages_are_measured_and_summed_up(collection: Collection, log: list[Any]) -> None:
    with served(collection, SYSTEMS["all"], SYSTEMS["bm25 reranked"]) as systems:
        tasks = {task.name: task for each in systems for task in each.tasks}
        found = measure(list(tasks.values()), systems[0].query_ids, Protocol(queries=4, repeats=2, warmup=1))
        assert found.failed == {}
        for each in systems:
            total = times_of(found.samples, [stage.task.name for stage in each.stages])
            parts = [times_of(found.samples, [stage.task.name]).seconds.sum() for stage in each.stages]
            assert len(total) == 8
            assert total.seconds.sum() == pytest.approx(sum(parts))
            assert len(closed_loop(each.answer, [0, 1, 2, 3] * 4, workers=4).seconds) == 16


@pytest.fixture
def service(monkeypatch: pytest.MonkeyPatch) -> Iterator[Loopback]:
    for library in ("httpx2", "openai"):
        pytest.importorskip(library, reason='needs the extra "hosted"')
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
    with serving() as found:
        yield found


def hosted(service: Loopback) -> dict[str, Any]:
    embed = {"model": "openai:m", "base_url": f"{service.url}/v1", "price_per_million_tokens": 1e5}
    price = {"price_per_thousand_searches": 1000}
    rerank = {"model": "cohere:r", "base_url": f"{service.url}/v2", "depth": 10, **price}
    return {"embed": embed, "index": {"depth": 20}, "rerank": rerank}


@contextmanager
def timed(collection: Collection, service: Loopback, max_cost: float | None) -> Iterator[ServedPipeline]:
    """A hosted system whose vectors are there; what is sent from then on is timing."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with served(collection, hosted(service)) as (one,):
            account = one.work.shared.account
            account.max_cost = None if max_cost is None else account.spent + max_cost
            service.seen.clear()
            yield one


def test_hosted_models_are_asked_as_often_as_was_said_and_without_a_word(
    collection: Collection, service: Loopback
) -> None:
    protocol = Protocol(queries=3, repeats=2, warmup=1, rates=(1e4,))
    with timed(collection, service, None) as one:
        said, before = one.hosted_calls(protocol), one.work.shared.account.spent
        one.check_cost(protocol)
        assert service.seen == []
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            found = measure(one.tasks, one.query_ids, protocol)
            for query in [0] + [0, 1, 2] * 2:
                one.answer(query)
        assert found.failed == {}
        paths = [seen.path for seen in service.seen]
        assert [each.calls for each in said] == [paths.count("/v1/embeddings"), paths.count("/v2/rerank")] == [14, 14]
        assert {seen.texts[0] for seen in service.seen if seen.path == "/v1/embeddings"} == set(one.texts[:3])
        assert said[1].cost == pytest.approx(14.0)
        # Tokens are estimated, and of short texts rather high.
        billed = one.work.shared.account.spent - before
        assert billed <= sum(each.cost or 0 for each in said) <= 2 * billed


def test_hosted_models_that_would_cost_too_much_are_not_asked(collection: Collection, service: Loopback) -> None:
    protocol = Protocol(queries=3, repeats=2, warmup=0)
    with timed(collection, service, 5.0) as one:
        with pytest.raises(InputError, match=r"Timing 6 calls of cohere:r would cost about 6 .* Nothing of this was"):
            one.check_cost(protocol)
        assert service.seen == []
        one.work.shared.account.max_cost = one.work.shared.account.spent + 2.0
        found = measure([one.stages[2].task], one.query_ids, protocol)  # who does not ask before is stopped on the way
        assert (len(found.samples), len(service.seen)) == (2, 2)
        assert "stopped before the max_cost of" in str(*found.failed.values())


@pytest.mark.evidence
@pytest.mark.parametrize("name", ["bm25", "flat", "hnsw", "hybrid", "rerank"])
def test_real_models_give_a_query_alone_what_they_give_all(name: str) -> None:
    """Cranfield, MiniLM and the reranker in float32: the last bits of what a model gives depend on the batch."""
    folder = SHARED / "data" / "collections" / "cranfield"
    if not folder.is_dir():
        pytest.skip("real data is absent: ../shared/data/collections/cranfield")
    embed = {"model": "all-MiniLM-L6-v2", "dtype": "float32"}
    reranker = {"model": str(SHARED / "models" / "epqa-reranker"), "dtype": "float32", "max_length": 128, "depth": 20}
    tables: dict[str, dict[str, Any]] = {
        "bm25": {"sparse": {}},
        "flat": {"embed": embed},
        "hnsw": {"embed": embed, "index": {"spec": "hnsw"}},
        "hybrid": {"embed": embed, "sparse": {}},
        "rerank": {"sparse": {}, "rerank": reranker},
    }
    whole = Collection.read(str(folder))
    documents = dict(list(whole.documents.items())[:300])
    collection = replace(whole, documents=documents, queries=dict(list(whole.queries.items())[:10]))
    batch = Pipeline(settings_of_tables(tables[name], "test")).retrieve(collection).run.frame
    same = 0
    with served(collection, tables[name]) as (one,):
        for number, query in enumerate(one.query_ids):
            answer, expected = one.answer(number).frame, batch.filter(query_id=query)
            same += answer["doc_id"].to_list() == expected["doc_id"].to_list()
            assert answer["score"].to_list() == pytest.approx(expected["score"].to_list(), abs=2e-6)
            both = answer.join(expected, on="doc_id", suffix="_batch")
            assert both["score"].to_list() == pytest.approx(both["score_batch"].to_list(), abs=2e-3)
            assert both.height >= answer.height - 2
    print(name, "same order for", same, "of", len(one.query_ids))
    assert same == 10 if name == "bm25" else same >= 7


class Inside:
    """Counts the seconds inside of one function, while it is in the place of another."""

    def __init__(self, function: Any) -> None:
        self.function, self.seconds = function, 0.0

    def __call__(self, *given: Any, **named: Any) -> Any:
        began = time.perf_counter()
        try:
            return self.function(*given, **named)
        finally:
            self.seconds += time.perf_counter() - began


def own_share(stage: ServedStage, place: Any, name: str, queries: int) -> tuple[float, float]:
    """The median share of a timed stage that is not in the library, and the median seconds of the stage."""
    inside = Inside(getattr(place, name))
    setattr(place, name, inside)
    shares, seconds = [], []
    for call in range(3 * queries):
        given = stage.task.prepare(call % queries)
        inside.seconds = 0.0
        began = time.perf_counter()
        stage.task.run(given)
        seconds.append(time.perf_counter() - began)
        shares.append(1 - inside.seconds / seconds[-1])
    setattr(place, name, inside.function)
    return float(np.median(shares)), float(np.median(seconds))


@pytest.mark.evidence
def test_our_own_time_inside_of_a_stage_is_small() -> None:
    """The share of each timed stage that its library, or model, does not use."""
    folder = SHARED / "data" / "collections" / "cranfield"
    if not folder.is_dir():
        pytest.skip("real data is absent: ../shared/data/collections/cranfield")
    whole = Collection.read(str(folder))
    collection = replace(whole, queries=dict(list(whole.queries.items())[:10]))
    few = replace(collection, documents=dict(list(whole.documents.items())[:60]))
    rng = np.random.default_rng(0)
    vectors = rng.standard_normal((len(whole.documents) + len(collection.queries), 384)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    documents, queries = vectors[:-10], vectors[-10:]
    embed = {"model": "all-MiniLM-L6-v2", "dtype": "float32"}
    reranker = {"model": str(SHARED / "models" / "epqa-reranker"), "dtype": "float32", "max_length": 128, "depth": 50}
    shares = {}
    with served(few, {"embed": embed}, {"sparse": {}, "rerank": reranker}) as (dense, reranked):
        shares["embed"] = own_share(dense.stages[0], dense.models["embed"], "forward_queries", 5)
        shares["rerank"] = own_share(reranked.stages[1], reranked.models["rerank"], "forward", 3)
    for spec in ("flat", "hnsw"):
        index = make_index(spec)
        index.build(documents)
        task = TimedTask(
            spec, _call_search, lambda query, index=index: _library_call(index, queries[query : query + 1], 100)
        )
        library: Any = index
        shares[spec] = own_share(ServedStage("retrieve", task), library.faiss, "search", 10)
        whole_search = TimedTask(spec, lambda query, index=index: index.search(queries[query : query + 1], 100))
        shares[f"{spec} with our order of ties"] = own_share(
            ServedStage("retrieve", whole_search), library.faiss, "search", 10
        )
    with served(collection, {"sparse": {}}) as (words,):
        index = words.work.opened["sparse"].index
        shares["bm25"] = own_share(words.stages[0], index.scorer, "get_scores_from_ids", 10)
    for name, (share, seconds) in shares.items():
        print(f"{name}: {100 * share:.2f} % of {1000 * seconds:.3f} ms")
    # Measured without other work: embed 2.2 %, rerank .06 %, flat 2.3 %, hnsw 1.6 %.
    assert shares["embed"][0] < 0.03
    assert shares["rerank"][0] < 0.02
    # Of a tenth of a ms a reading of the clock is a part too.
    assert shares["flat"][0] < 0.05
    assert shares["hnsw"][0] < 0.05
