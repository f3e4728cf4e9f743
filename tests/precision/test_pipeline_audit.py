"""The audit of a pipeline: every number against scores rounded and ranked by hand, and against `retrieve`."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from tests.extras import need
from tests.retrieval import models

from trueval.collection import Collection
from trueval.errors import PolicyError
from trueval.evaluation.evaluate import evaluate
from trueval.judgments import Judgments
from trueval.numerics import storage_dtype
from trueval.precision.audit_pipeline import audit_pipeline
from trueval.precision.stage_formats import reference_of, together_in
from trueval.precision.stages_result import PipelineAudit, StageMeasure, StageRow
from trueval.precision.views.kind import STAGES
from trueval.precision.views.stages import view
from trueval.retrieval.pipeline import stage_keys
from trueval.retrieval.pipeline.config import settings_of_tables
from trueval.retrieval.pipeline.pipeline import Pipeline

need("faiss", "bm25s", extra="retrieval")
need("safetensors", extra="models")

WORDS = ("wing", "flow", "shock", "layer", "heat", "drag")
DEPTH, RERANKED, K = 30, 12, 5
CASTS = {"bfloat16": ml_dtypes.bfloat16, "float16": np.float16, "float8_e5m2": ml_dtypes.float8_e5m2}
TABLES: dict[str, Any] = {
    "embed": {"model": "embedder"},
    "index": {"depth": DEPTH, "scoring": "model"},
    "sparse": {"index": "bm25(language=None)", "depth": DEPTH},
    "fuse": {"depth": DEPTH},
    "rerank": {"model": "reranker", "depth": RERANKED, "scoring": "model"},
}


def number(text: str, salt: int) -> int:
    return sum((salt + place) * ord(letter) for place, letter in enumerate(text)) * 2654435761 % 2**32


def vector(text: str) -> list[float]:
    """Multiples of 1/512 below 1: their products are exact in float32, and none of them is in bfloat16."""
    return [number(text, salt) % 512 / 512 for salt in range(1, 5)]


def logit(query: str, text: str) -> float:
    return number(query + text, 9) % 4096 / 2048 - 1


class Planted:
    """A model that gives `vector` or `logit`, rounded to its format; logits to that of its head."""

    batch_size = 4

    def __init__(
        self, name: str, dtype: str, log: list[tuple[str, int]], parts: Mapping[str, str] | None = None
    ) -> None:
        self.name, self.dtype, self.log, self.parts = name, dtype, log, parts or {}
        self.scoring = "product" if name == "embedder" else "sigmoid"
        if name == "reranker":
            self.pair_logits = self.of_pairs

    def settings(self) -> dict[str, Any]:
        about = {"model": self.name, "path": "nowhere", "dtype": self.dtype, "scoring": self.scoring}
        return about | ({"parts": dict(self.parts)} if self.parts else {})

    def embed_documents(self, texts: Sequence[str], names: Sequence[str]) -> Any:
        return np.array([vector(text) for text in texts], np.float32).astype(storage_dtype(self.dtype))

    embed_queries = embed_documents

    def of_pairs(self, pairs: Sequence[tuple[str, str]], names: Sequence[str]) -> Any:
        named = "".join(f", {name} {form}" for name, form in self.parts.items())
        self.log.append((self.dtype + named, len(pairs)))
        form = self.parts.get("head", self.dtype)
        return np.array([[logit(*pair)] for pair in pairs], np.float32).astype(storage_dtype(form))


@pytest.fixture
def log(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, int]]:
    done: list[tuple[str, int]] = []
    models.use(monkeypatch, lambda name: None)
    monkeypatch.setattr(
        stage_keys, "load_model", lambda name, dtype, parts=None, **_: Planted(name, dtype, done, parts)
    )
    return done


@pytest.fixture(scope="module")
def collection() -> Collection:
    rng = np.random.default_rng(5)
    documents = {f"d{place:02}": " ".join(rng.choice(WORDS, rng.integers(2, 9))) + f" {place}" for place in range(60)}
    queries = {f"q{place}": " ".join(rng.choice(WORDS, 2, replace=False)) + f" {place}" for place in range(6)}
    grades = {
        query: {doc: int(rng.integers(0, 4)) for doc in rng.choice(list(documents), 25, replace=False)}
        for query in queries
    }
    return Collection("made", "made", documents, queries, judgments=Judgments.from_dict(grades))


def pipeline(tables: Mapping[str, Any] = TABLES, name: str = "mine") -> Pipeline:
    return Pipeline(settings_of_tables(tables, "test"), name)


def naive(scores: Mapping[str, Mapping[str, float]], collection: Collection) -> StageMeasure:
    """nDCG@5 over all orders of equal scores: each place of a group has the mean gain of the group."""
    grades = {
        query: {doc: float(grade) for _, doc, grade in collection.graded.frame.filter(query_id=query).rows()}
        for query in collection.queries
    }
    totals = dict.fromkeys(("expected", "lowest", "highest", "tie_broken"), 0.0)
    for query in collection.queries:
        found, of = scores.get(query, {}), grades[query]

        def dcg(gains: Sequence[float]) -> float:
            return sum(gain / math.log2(place + 2) for place, gain in enumerate(gains[:K]))

        values = sorted(set(found.values()), reverse=True)
        groups = [[doc for doc in found if found[doc] == value] for value in values]
        orders: dict[str, list[float]] = {name: [] for name in totals}
        for group in groups:
            gains = [of.get(doc, 0.0) for doc in group]
            orders["expected"] += [sum(gains) / len(gains)] * len(gains)
            orders["lowest"] += sorted(gains)
            orders["highest"] += sorted(gains, reverse=True)
            orders["tie_broken"] += [of.get(doc, 0.0) for doc in sorted(group, reverse=True)]
        ideal = dcg(sorted(of.values(), reverse=True))
        for name, gains in orders.items():
            totals[name] += dcg(gains) / ideal / len(collection.queries)
    low, high, mean, broken = (totals[name] for name in ("lowest", "highest", "expected", "tie_broken"))
    return StageMeasure("nDCG@5", broken, mean, low, high, high - low, broken - mean, None, len(collection.queries))


def close(found: StageMeasure, wanted: StageMeasure) -> bool:
    names = ("tie_broken", "expected", "lowest", "highest", "range", "bias")
    return all(abs(getattr(found, name) - getattr(wanted, name)) < 1e-12 for name in names)


def cast(values: Any, form: str) -> Any:
    return np.asarray(values, np.float64).astype(CASTS[form]).astype(np.float64)


def top(scores: Mapping[str, float], depth: int) -> dict[str, float]:
    """The best of a list, equal ones in its order."""
    best = sorted(scores, key=lambda doc: -scores[doc])[:depth]
    return {doc: scores[doc] for doc in best}


def search(collection: Collection, model: str = "float32", scoring: str = "float32") -> dict[str, dict[str, float]]:
    def rounded(text: str) -> Any:
        return np.array(vector(text)) if model == "float32" else cast(vector(text), model)

    found = {}
    for query, asked in collection.queries.items():
        exact = {doc: float(rounded(asked) @ rounded(text)) for doc, text in collection.documents.items()}
        chosen = top(exact, DEPTH)  # the index is float32 in any case
        found[query] = chosen if scoring == "float32" else {doc: float(cast(s, scoring)) for doc, s in chosen.items()}
    return found


def ranked(collection: Collection, before: Any, model: str = "float32", scoring: str = "float32") -> Any:
    found = {}
    for query, scores in before.items():
        values = {}
        for doc in top(scores, RERANKED):
            raw = logit(collection.queries[query], collection.documents[doc])
            raw = raw if model == "float32" else float(cast(raw, model))
            value = np.float32(1 / (1 + np.exp(-np.float64(raw))))
            values[doc] = float(value) if scoring == "float32" else float(cast(value, scoring))
        found[query] = values
    return found


def audited(collection: Collection, tables: Mapping[str, Any] = TABLES, **options: Any) -> PipelineAudit:
    given = {"measures": "nDCG@5", "storages": ["bfloat16"], **options}
    return audit_pipeline(collection, pipeline(tables), **given)


def row_of(found: PipelineAudit, stage: str, axis: str, form: str) -> StageRow:
    (row,) = (row for row in found.rows if (row.stage, row.axis, row.format) == (stage, axis, form))
    return row


def of_run(run: Any) -> dict[str, dict[str, float]]:
    scores: dict[str, dict[str, float]] = {}
    for query, doc, score in run.frame.select("query_id", "doc_id", "score").rows():
        scores.setdefault(query, {})[doc] = score
    return scores


def test_each_stage_apart_is_what_rounding_by_hand_gives(collection: Collection, log: list[Any]) -> None:
    found = audited(collection, scoring=list(CASTS))
    base = replace(pipeline(), settings=reference_of(pipeline().settings)).retrieve(collection)
    words, fused = (
        of_run(next(stage.run for stage in base.stages if stage.name == name)) for name in ("sparse", "fuse")
    )
    for form in CASTS:
        assert close(
            row_of(found, "dense", "scores", form).measures[0], naive(search(collection, scoring=form), collection)
        )
        shares = {}
        for query, each in search(collection).items():
            total = sum(math.exp(20 * score) for score in each.values())
            shares[query] = {doc: float(cast(math.exp(20 * score) / total, form)) for doc, score in each.items()}
        assert close(row_of(found, "dense", "softmax of scores", form).measures[0], naive(shares, collection))
        for stage, scores in (("sparse", words), ("fuse", fused)):
            rounded = {q: {doc: float(cast(s, form)) for doc, s in each.items()} for q, each in scores.items()}
            assert close(row_of(found, stage, "scores", form).measures[0], naive(rounded, collection))
        row = row_of(found, "rerank", "scores", form)
        assert close(row.measures[0], naive(ranked(collection, fused, scoring=form), collection))
        assert row.end == row.measures
    form = "bfloat16"
    for axis, scoring in (("model", "float32"), ("model and scores", form)):
        lists = search(collection, form, scoring)
        assert close(row_of(found, "dense", axis, form).measures[0], naive(lists, collection))
        lists = ranked(collection, fused, form, scoring)
        assert close(row_of(found, "rerank", axis, form).measures[0], naive(lists, collection))
    stored = {
        query: top(
            {
                doc: float(np.array(vector(asked)) @ cast(vector(text), form))
                for doc, text in collection.documents.items()
            },
            DEPTH,
        )
        for query, asked in collection.queries.items()
    }
    assert close(row_of(found, "dense", "vectors", form).measures[0], naive(stored, collection))


def test_float32_the_file_and_all_together_are_those_of_retrieve_to_the_bit(
    collection: Collection, log: list[Any], tmp_path: Path
) -> None:
    found = audited(collection, cache=tmp_path / "audit")
    base = reference_of(pipeline().settings)
    systems = {
        "float32": base,
        "file": pipeline().settings,
        "low": together_in(base, "bfloat16", "bfloat16"),
        "high": together_in(base, "bfloat16", "float32"),
    }
    for regime, settings in systems.items():
        own = replace(pipeline(), settings=settings).retrieve(collection)
        for stage in own.stages:
            (step,) = (each for each in found.ladder if (each.regime, each.stage) == (regime, stage.name))
            mean = evaluate(stage.run, collection.graded, "nDCG@5").mean("nDCG@5")
            told = step.measures[0]
            assert (told.expected, told.lowest, told.highest) == (mean.expected, mean.lowest, mean.highest)
            assert (told.tie_broken, told.range, told.bias, told.sd) == (
                mean.tie_broken,
                mean.range,
                mean.bias,
                mean.sd,
            )
            assert step.tied == stage.ties.fraction


def test_parts_of_a_model_are_stages_of_their_own(collection: Collection, log: list[Any]) -> None:
    """The head alone in bfloat16, and alone in float32: logits rounded by hand; one pass over the pairs for each."""
    parts = ["head=bfloat16", "head=float32", "attention=float16"]
    found, whole = (audited(collection, scoring=["bfloat16"], parts=each) for each in (parts, ()))
    base = replace(pipeline(), settings=reference_of(pipeline().settings)).retrieve(collection)
    fused = of_run(next(stage.run for stage in base.stages if stage.name == "fuse"))
    for axis, model, scoring in (
        ("head of the model", "bfloat16", "float32"),
        ("model, head in float32", "float32", "float32"),
        ("model and scores, head in float32", "float32", "bfloat16"),
    ):
        row = row_of(found, "rerank", axis, "bfloat16")
        assert close(row.measures[0], naive(ranked(collection, fused, model, scoring), collection))
    assert row_of(found, "rerank", "attention of the model", "float16")
    assert row_of(found, "dense", "attention of the model", "float16")
    assert not [row for row in found.rows if row.stage == "dense" and "head" in row.axis]  # an embedder has none
    assert [row for row in found.rows if row in whole.rows] == list(whole.rows)
    passes = {each.dtype: each for each in found.pairs}
    assert set(passes) == {
        "float32",
        "bfloat16",
        "float32, head bfloat16",
        "bfloat16, head float32",
        "float32, attention float16",
    }
    for name, each in passes.items():
        if ", " in name:  # the others ran in `whole` too
            assert (each.needed, each.added) == (0, sum(count for dtype, count in log if dtype == name))


def test_equal_scores_go_on_in_the_order_of_the_corpus(collection: Collection, log: list[Any]) -> None:
    found = audited(collection, {"sparse": TABLES["sparse"], "rerank": TABLES["rerank"]}, scoring=["float8_e5m2"])
    words = replace(pipeline(), settings={"sparse": pipeline().settings["sparse"]}).retrieve(collection).run
    rounded = {
        query: {doc: float(cast(scores[doc], "float8_e5m2")) for doc in sorted(scores)}
        for query, scores in of_run(words).items()
    }
    row = row_of(found, "sparse", "scores", "float8_e5m2")
    assert close(row.measures[0], naive(rounded, collection))
    assert row.end is not None
    assert close(row.end[0], naive(ranked(collection, rounded), collection))
    assert row.end != _step_of(found, "float32", "rerank")  # other documents are reranked than in float32


def _step_of(found: PipelineAudit, regime: str, stage: str) -> tuple[StageMeasure, ...]:
    return next(each.measures for each in found.ladder if (each.regime, each.stage) == (regime, stage))


def test_a_stage_alone_with_formats_is_together_what_it_is_apart(collection: Collection, log: list[Any]) -> None:
    tables = {"sparse": TABLES["sparse"], "rerank": TABLES["rerank"]}
    found = audited(collection, tables)
    for axis, regime in (("model and scores", "low"), ("model", "high")):
        (step,) = (each for each in found.ladder if (each.regime, each.stage) == (regime, "rerank"))
        row = row_of(found, "rerank", axis, "bfloat16")
        assert (row.measures, row.end, row.tied) == (step.measures, step.measures, step.tied)


def test_models_score_a_pair_once_in_each_format(collection: Collection, log: list[Any]) -> None:
    found = audited(collection, storages=["bfloat16", "int8", "binary"])
    assert {each.dtype for each in found.pairs} == {"float32", "bfloat16"}
    for each in found.pairs:
        scored = sum(count for dtype, count in log if dtype == each.dtype)
        assert scored == each.needed + each.added
        assert each.needed >= 6 * RERANKED
    none = audited(collection, storages=["binary"], added=0.0)
    row = row_of(none, "dense", "vectors", "binary")
    assert row.end is None
    assert any("vectors in binary" in note and "no values of the end" in note for note in none.notes)
    assert row_of(none, "rerank", "scores", "bfloat16").end is not None


def test_what_has_no_format_is_named_and_left_out(collection: Collection, log: list[Any]) -> None:
    tables = {**TABLES, "deduplicate": {"threshold": 0.99}, "repair": {"within": "0.01"}}
    found = audited(collection, tables)
    assert found.stages == ("dense", "sparse", "fuse", "deduplicate", "rerank")
    assert {row.stage for row in found.rows} == {"dense", "sparse", "fuse", "rerank"}
    assert any("[deduplicate]" in note for note in found.notes)
    assert any("[repair]" in note for note in found.notes)
    words = audited(collection, {"sparse": TABLES["sparse"]})
    assert {row.axis for row in words.rows} == {"scores"}
    assert {step.regime for step in words.ladder} == {"float32", "file"}
    assert words.pairs == ()
    odd = audited(collection, storages=["pq"], limit=3)
    assert odd.queries == 3
    assert any("vectors in pq" in note for note in odd.notes) or row_of(odd, "dense", "vectors", "pq")


def test_the_file_keeps_its_own_index(collection: Collection, log: list[Any]) -> None:
    found = audited(collection, {**TABLES, "index": {"spec": "hnsw(storage='int8')", "depth": DEPTH}})
    assert found.settings["index"]["spec"] == "flat"
    assert row_of(found, "dense", "index", "hnsw")
    assert row_of(found, "dense", "vectors", "int8")


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"dtypes": ["float8_e5m2"]}, "The dtype of a model must be one of float32, bfloat16, float16"),
        ({"scoring": ["bfloat61"]}, "Did you mean 'bfloat16'"),
        ({"storages": ["int9"]}, "Did you mean int"),
        ({"parts": ["tail=float32"]}, "A part of a model must be PART=FORMAT"),
    ],
)
def test_unknown_formats_are_refused_before_any_work(
    options: dict[str, Any], told: str, collection: Collection, log: list[Any]
) -> None:
    with pytest.raises(PolicyError, match=told):
        audited(collection, **options)
    assert not log


def ranging(width: float) -> StageMeasure:
    return StageMeasure("nDCG@5", 0.5, 0.5, 0.5 - width / 2, 0.5 + width / 2, width, 0.0, 0.0, 6)


def replace_end(row: StageRow, width: float) -> StageRow:
    return replace(row, measures=(ranging(width),), end=(ranging(width),))


def test_the_answer_says_where_ties_arise_and_what_ends_them(collection: Collection, log: list[Any]) -> None:
    def told(found: PipelineAudit) -> str:
        return "".join(str(part) for part in view(found).answer.sentence)

    found = audited(collection, scoring=["bfloat16", "float8_e5m2"])
    assert type(found).from_dict(found.to_dict()).to_dict() == found.to_dict()
    assert "arise at dense, model and scores in bfloat16" in told(found)
    assert "ended by rerank: none is left" in told(found)
    deep = {**TABLES["rerank"], "depth": DEPTH}
    rounded = audited(collection, {"sparse": TABLES["sparse"], "rerank": deep}, measures="nDCG@20")
    assert "arise at rerank, model and scores in bfloat16" in told(rounded)
    assert "ended by scoring the same outputs in float32" in told(rounded)
    tables = {each: TABLES[each] for each in ("embed", "index", "sparse", "fuse")}
    fused = audited(collection, tables, dtypes=[])
    of_stage = {"dense": 0.0, "sparse": 0.02, "fuse": 0.05}
    ladder = [replace(step, measures=(ranging(of_stage[step.stage]),)) for step in fused.ladder]
    for left, words in ((0.01, "ended by min-max"), (0.04, "no other fusion halves it")):
        found = replace(
            fused, ladder=tuple(ladder), rows=(replace_end(row_of(fused, "fuse", "method", "min-max"), left),)
        )
        assert "arise at fuse, in float32 already" in told(found)
        assert words in told(found)
    assert row_of(fused, "fuse", "method", "RRF, ties share a rank").end is not None
    exact = audited(collection, {"embed": TABLES["embed"]}, dtypes=[], scoring=[], storages=[])
    assert "does not move nDCG@5 at any stage" in told(exact)


@pytest.mark.parametrize("form", ["console", "markdown"])
def test_every_form_has_each_stage(form: str, collection: Collection, log: list[Any]) -> None:
    found = audited(collection)
    text = repr(found) if form == "console" else STAGES.write(found.to_dict(), "markdown")
    for title in ("Stages together", "Dense search apart", "Search of words apart", "Fusion apart", "Reranking apart"):
        assert title in text
