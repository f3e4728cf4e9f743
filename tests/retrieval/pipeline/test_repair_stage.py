"""[repair]: a stage that scores again in float32 only the documents that decide the first k."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.extras import need
from tests.retrieval import models
from tests.retrieval.pipeline.test_pipeline import WORDS

from trueval.collection import Collection
from trueval.errors import InputError, PolicyError
from trueval.models import output_part
from trueval.numerics import storage_dtype
from trueval.retrieval.pipeline import stage_keys
from trueval.retrieval.pipeline.config import read_settings, set_route, settings_of_tables
from trueval.retrieval.pipeline.pipeline import Pipeline
from trueval.retrieval.pipeline.retrieve_result import Retrieval
from trueval.retrieval.repair.doubtful_documents import is_top
from trueval.run import Run

need("faiss", "bm25s", extra="retrieval")
need("safetensors", extra="models")

LOW = "bfloat16"


class Drifting:
    """A model whose outputs in low precision are its own of float32, rounded; it remembers what it was given."""

    batch_size, name = 4, "drifting"

    def __init__(self, scoring: str, dtype: str, log: list[tuple[str, str, int]]) -> None:
        self.scoring, self.dtype, self.log = scoring, dtype, log
        if scoring == "sigmoid":
            self.pair_logits = self.logits_of_pairs

    def settings(self) -> dict[str, Any]:
        return {"model": self.name, "path": "nowhere", "dtype": self.dtype, "scoring": self.scoring}

    def _rows(self, texts: Sequence[str]) -> Any:
        self.log.append(("texts", self.dtype, len(texts)))
        counts = np.array(
            [[1 + text.split().count(word) + len(text) / 500 for word in WORDS] for text in texts], dtype=np.float32
        )
        return (counts / np.linalg.norm(counts, axis=1, keepdims=True)).astype(storage_dtype(self.dtype))

    def embed_documents(self, texts: Sequence[str], names: Sequence[str]) -> Any:
        return self._rows(texts)

    embed_queries = embed_documents

    def logits_of_pairs(self, pairs: Sequence[tuple[str, str]], names: Sequence[str]) -> Any:
        self.log.append(("pairs", self.dtype, len(pairs)))
        shared = [[len(set(query.split()) & set(text.split())) + len(text) / 700] for query, text in pairs]
        return np.array(shared, dtype=np.float32).astype(storage_dtype(self.dtype))


@pytest.fixture
def log(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, str, int]]:
    done: list[tuple[str, str, int]] = []
    scoring = {"embedder": "product", "reranker": "sigmoid"}
    models.use(monkeypatch, lambda name: None)
    monkeypatch.setattr(stage_keys, "load_model", lambda name, dtype, **_: Drifting(scoring[name], dtype, done))
    return done


@pytest.fixture(scope="module")
def collection() -> Collection:
    rng = np.random.default_rng(7)
    documents = {f"d{place}": " ".join(rng.choice(WORDS, rng.integers(2, 9))) for place in range(60)}
    queries = {f"q{place}": " ".join(rng.choice(WORDS, 2, replace=False)) for place in range(8)}
    return Collection("made", "made", documents, queries)


DENSE: dict[str, Any] = {"embed": {"model": "embedder"}, "index": {"depth": 40, "scoring": "model"}}
RERANKED: dict[str, Any] = {
    "sparse": {"index": "bm25(language=None)"},
    "rerank": {"model": "reranker", "depth": 30, "scoring": "model"},
}
VECTORS: dict[str, Any] = {**RERANKED, "rerank": {"model": "embedder", "depth": 30, "scoring": "model"}}
SYSTEMS = {
    "dense": DENSE,
    "cut": {**DENSE, "embed": {"model": "embedder", "dimension": 5}},
    "stored": {"embed": {"model": "embedder", "dtype": "float32"}, "index": {"spec": "flat(storage='int8')"}},
    "reranked": RERANKED,
    "reranked by vectors": VECTORS,
}


def pipeline(tables: dict[str, Any], **repair: Any) -> Pipeline:
    return Pipeline(settings_of_tables({**tables, **({"repair": repair} if repair else {})}, "test"), "mine")


def scores_of(run: Run, query: str) -> dict[str, float]:
    return dict(run.frame.filter(query_id=query).select("doc_id", "score").rows())


@pytest.mark.parametrize("name", SYSTEMS)
def test_the_first_are_those_of_scoring_everything_in_float32(
    name: str, collection: Collection, log: list[Any]
) -> None:
    tables = SYSTEMS[name]
    low = pipeline(tables).retrieve(collection).run
    exact = pipeline(tables, within="1000000", k=3, order=True).retrieve(collection).run  # all are doubtful
    width = max(
        abs(scores_of(low, query)[doc] - value)
        for query in collection.queries
        for doc, value in scores_of(exact, query).items()
    )
    found = pipeline(tables, within=f"{width * 1.01:.9f}", k=3).retrieve(collection)
    assert [stage.name for stage in found.stages][-1] == "repair"
    told = found.stages[-1].repair
    assert told is not None
    assert told.pairs == low.documents.height == found.run.documents.height
    assert 0 < told.rescored < told.pairs
    assert not told.beyond
    for query in collection.queries:
        whole, repaired = scores_of(exact, query), scores_of(found.run, query)
        assert is_top(np.array(list(whole.values())), np.array([list(whole).index(doc) for doc in list(repaired)[:3]]))
        again = told.documents.get(query, ())
        assert all(repaired[doc] == pytest.approx(whole[doc], abs=1e-7) for doc in again)
        assert all(value == scores_of(low, query)[doc] for doc, value in repaired.items() if doc not in again)


def test_only_doubtful_pairs_go_through_the_model_and_are_kept(
    collection: Collection, log: list[Any], tmp_path: Path
) -> None:
    first = pipeline(RERANKED, within="bfloat16", k=3).retrieve(collection, cache=tmp_path)
    told = first.stages[-1].repair
    assert told is not None
    assert sum(count for what, dtype, count in log if (what, dtype) == ("pairs", "float32")) == told.rescored
    log.clear()
    again = pipeline(RERANKED, within="bfloat16", k=3).retrieve(collection, cache=tmp_path)
    assert (log, again.stages[-1].cached, again.stages[-1].repair) == ([], True, told)
    assert again.run.frame.equals(first.run.frame)
    # A wider repair scores the new pairs alone.
    wider = pipeline(RERANKED, within="0.2", k=3).retrieve(collection, cache=tmp_path).stages[-1].repair
    assert wider is not None
    before = {(query, doc) for query, docs in told.documents.items() for doc in docs}
    after = {(query, doc) for query, docs in wider.documents.items() for doc in docs}
    assert before <= after
    assert sum(count for _, _, count in log) == len(after - before) > 0


def test_an_interrupted_repair_goes_on(
    collection: Collection, log: list[Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pairs = Drifting.logits_of_pairs
    calls = 0

    def stop(self: Drifting, given: Sequence[tuple[str, str]], names: Sequence[str]) -> Any:
        nonlocal calls
        calls += self.dtype == "float32"
        if calls > 2:
            raise KeyboardInterrupt
        return pairs(self, given, names)

    monkeypatch.setattr(Drifting, "logits_of_pairs", stop)
    monkeypatch.setattr(output_part, "BATCHES", 1)
    made = pipeline(RERANKED, within="0.2", k=3)
    with pytest.raises(KeyboardInterrupt):
        made.retrieve(collection, cache=tmp_path)
    monkeypatch.setattr(Drifting, "logits_of_pairs", pairs)
    log.clear()
    found = made.retrieve(collection, cache=tmp_path)
    told = found.stages[-1].repair
    assert told is not None
    # The low pass is kept, and of the float32 pass two shards.
    assert {dtype for _, dtype, _ in log} == {"float32"}
    assert sum(count for _, _, count in log) == told.rescored - 2 * Drifting.batch_size
    assert found.run.frame.equals(made.retrieve(collection).run.frame)


def test_the_report_has_the_list_the_share_and_the_time(collection: Collection, log: list[Any]) -> None:
    found = pipeline(DENSE, within="0.001", k=5).retrieve(collection)
    result = found.result()
    (told,) = [stage for stage in result.to_dict()["stages"] if stage["name"] == "repair"]
    assert told["repair"]["k"] == 5
    assert told["repair"]["within"] == "0.001"
    assert sum(map(len, told["repair"]["documents"].values())) > 0
    assert told["seconds"] > 0
    assert "were scored again in float32" in told["notes"][0]
    assert Retrieval.from_dict(result.to_dict()).to_dict() == result.to_dict()
    assert "repair" not in result.to_dict()["stages"][0]


def test_a_dry_run_counts_what_is_still_to_do(collection: Collection, log: list[Any], tmp_path: Path) -> None:
    made = pipeline(RERANKED, within="bfloat16", k=3)
    (most,) = [work for work in made.missing_work(collection, cache=tmp_path) if work.stage == "repair"]
    assert (most.items, most.exact) == (8 * 30, False)
    pipeline(RERANKED).retrieve(collection, cache=tmp_path)
    (known,) = made.missing_work(collection, cache=tmp_path)
    told = made.retrieve(collection, cache=tmp_path).stages[-1].repair
    assert told is not None
    assert (known.stage, known.items, known.exact) == ("repair", told.rescored, True)
    assert made.missing_work(collection, cache=tmp_path) == []


@pytest.mark.parametrize(
    ("tables", "message"),
    [
        ({"sparse": {}, "repair": {}}, r"\[repair\].*the last scores here are those of a search of words"),
        ({"sparse": {}, "embed": {"model": "m"}, "repair": {}}, "those of a fusion"),
        ({"sparse": {}, "rerank": {"model": "voyage:rerank-2.5"}, "repair": {}}, "is hosted"),
        ({"embed": {"model": "m"}, "index": {"spec": "flat(storage='binary')"}, "repair": {}}, "gives other scores"),
        ({**DENSE, "repair": {"within": "some"}}, 'within of .repair. must be a text such as "0.002"'),
        ({**DENSE, "repair": {"within": 0.002}}, 'such as "0.002".*Got 0.002'),
        ({**DENSE, "repair": {"within": "codes(int8)"}}, "within of .repair. must be"),
        ({**DENSE, "repair": {"k": 0}}, "k of .repair. must be an integer >= 1"),
    ],
)
def test_what_is_refused(tables: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        settings_of_tables(tables, "test")


def test_errors_have_the_line_of_the_table(tmp_path: Path) -> None:
    file = tmp_path / "pipeline.toml"
    file.write_text('[sparse]\nindex = "bm25"\n\n[repair]\nk = 5\n', encoding="utf-8")
    with pytest.raises(InputError, match=r"pipeline\.toml:4.*\[repair\]"):
        read_settings(file)


def test_a_router_and_a_repair_do_not_go_together(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from trueval.retrieval.pipeline import config

    monkeypatch.setattr(config.Router, "load", lambda path: None)
    monkeypatch.setattr(config, "read_router_file", lambda path: None)
    monkeypatch.setattr(config, "check_pipeline", lambda *given: None)
    with pytest.raises(PolicyError, match=r"certified without \[repair\]"):
        set_route(pipeline(RERANKED, k=3).settings, tmp_path / "router.toml")
