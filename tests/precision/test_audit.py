"""The audit against evaluate, and on the stored logits whose numbers are known."""

import pickle
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import trueval as tv
from trueval.collection import Candidates, Collection, candidate_lists
from trueval.errors import InputError, PolicyError
from trueval.numerics import round_to, storage_dtype
from trueval.precision.audit import audit, audit_blocks, audit_passes
from trueval.precision.audit_result import ModelFlip, ResolvedTies
from trueval.precision.logits import read_logits
from trueval.precision.model_passes import Passes
from trueval.precision.regimes import Regime, plan, score_regimes
from trueval.precision.views.kind import PRECISION
from trueval.retrieval import exhaustive
from trueval.retrieval.tiles.numpy_tiles import ArrayProducts
from trueval.scoring import maxsim, product, sigmoid, softmax

STORED = Path(__file__).resolve().parents[3] / "shared" / "data" / "logits" / "epqa-reranker.npz"
PAPER = {"tie_order": "input", "empty": "skip"}  # as P-A has it


def small(queries: int = 12, documents: int = 9, seed: int = 0) -> tuple[Candidates, tv.Judgments, Any]:
    """Ragged candidates of a few queries, their grades, and bfloat16 logits that tie after softmax."""
    rng = np.random.default_rng(seed)
    lists = tuple(np.sort(rng.choice(documents, rng.integers(3, documents + 1), replace=False)) for _ in range(queries))
    doc_ids = tuple(f"d{i}" for i in range(documents))
    query_ids = tuple(f"q{i}" for i in range(queries))
    grades = {
        q: {doc_ids[d]: int(rng.integers(0, 3)) for d in chosen} for q, chosen in zip(query_ids, lists, strict=True)
    }
    logits = round_to(rng.normal(0, 3, (sum(map(len, lists)), 2)), "bfloat16").astype(storage_dtype("bfloat16"))
    return Candidates("judged", query_ids, doc_ids, lists), tv.Judgments.from_dict(grades), {"pairs": logits}


def test_a_regime_is_three_formats() -> None:
    found = plan("m", "product", "bfloat16", ["model", "float32"], ["model", "float8_e4m3fn"])
    assert [(each.model_dtype, each.scoring_format, each.index_dtype) for each in found] == [
        ("bfloat16", "bfloat16", "bfloat16"),
        ("bfloat16", "float32", "bfloat16"),
        ("bfloat16", "bfloat16", "float8_e4m3fn"),
        ("bfloat16", "float32", "float8_e4m3fn"),
    ]
    assert found[3].label == "bfloat16_float32_index-float8_e4m3fn"
    assert [each.index_dtype for each in plan("m", "softmax", "float32")] == [None]
    assert plan("m", "product", "float32")[0].is_reference
    assert not plan("m", "product", "float32", index_dtypes=["float16"])[0].is_reference
    with pytest.raises(PolicyError, match="float31"):
        plan("m", "softmax", "bfloat16", ["float31"])


@pytest.mark.parametrize("rows", [1, 20, 10**6])
def test_blocks_change_nothing(rows: int) -> None:
    candidates, judgments, arrays = small()
    outputs = [(regime, arrays) for regime in plan("m", "softmax", "bfloat16", ["bfloat16", "float32", "float8_e5m2"])]
    found = audit_blocks(score_regimes(candidates, outputs, rows), judgments, "nDCG@5 AP", cutoffs=[1, 5], **PAPER)
    (runs,) = score_regimes(candidates, outputs)
    whole = audit(runs, judgments, "nDCG@5 AP", cutoffs=[1, 5], **PAPER)
    for part, all_at_once in zip(found.results, whole.results, strict=True):
        assert part.scores.query_ids == all_at_once.scores.query_ids
        for measure, mean in part.scores.means().items():
            assert tuple(mean) == pytest.approx(tuple(all_at_once.scores.mean(measure)))
        assert part.group_sizes == all_at_once.group_sizes


def test_values_are_those_of_evaluate() -> None:
    candidates, judgments, arrays = small()
    regimes = plan("m", "softmax", "bfloat16")
    (runs,) = score_regimes(candidates, [(regime, arrays) for regime in regimes])
    found = audit(runs, judgments, ["nDCG@5", "RR"], cutoffs=[1, 3, 100]).to_dict()
    for entry, regime in zip(found["regimes"], regimes, strict=True):
        scores = softmax(arrays["pairs"], regime.scoring_format)
        names = [
            (q, candidates.doc_ids[d]) for q, ds in zip(candidates.query_ids, candidates.lists, strict=True) for d in ds
        ]
        frame = pl.DataFrame(names, schema=["query_id", "doc_id"], orient="row").with_columns(score=pl.Series(scores))
        direct = tv.evaluate(tv.Run.from_frame(frame), judgments, ["nDCG@5", "RR", "nDCG@1", "nDCG@3"])
        for measure in ("nDCG@5", "RR"):
            value, mean = entry["measures"][measure], direct.mean(measure)
            for name in ("expected", "lowest", "highest", "tie_broken", "range", "bias", "sd", "queries"):
                assert value[name] == pytest.approx(getattr(mean, name))
        curve = entry["curves"]["nDCG@5"]
        assert curve["k"] == [1, 3, 5]
        assert curve["highest"][1] == pytest.approx(direct.mean("nDCG@3").highest)
        assert "RR" not in entry["curves"]
        groups = frame.group_by("query_id", "score").len()["len"].value_counts().rows()
        assert {row["size"]: row["groups"] for row in entry["ties"]["group_sizes"]} == dict(groups)


@pytest.mark.parametrize("scoring", ["softmax", "sigmoid", "product", "maxsim"])
@pytest.mark.parametrize("corpus", [False, True])
def test_scores_are_those_of_phi(scoring: str, corpus: bool) -> None:
    candidates, _, _ = small()
    rng = np.random.default_rng(1)
    if corpus:
        everything = np.arange(len(candidates.doc_ids))
        candidates = Candidates("corpus", candidates.query_ids, candidates.doc_ids, (everything,) * 12)

    def vectors(count: int, tokens: int | None) -> Any:
        made = round_to(rng.normal(size=(count, tokens or 1, 8)), "bfloat16").astype(storage_dtype("bfloat16"))
        return list(made) if tokens else made[:, 0]

    pairs = round_to(rng.normal(0, 3, (candidates.pairs, 1 + (scoring == "softmax"))), "bfloat16")
    tokens = 4 if scoring == "maxsim" else None
    arrays: dict[str, Any] = {
        "pairs": pairs.astype(storage_dtype("bfloat16")),
        "queries": vectors(12, tokens),
        "documents": vectors(len(candidates.doc_ids), tokens),
    }
    regime = Regime("m", scoring, "bfloat16", "bfloat16", "float8_e5m2" if tokens or scoring == "product" else None)
    (runs,) = score_regimes(candidates, [(regime, arrays)])
    given = np.split(runs[regime].frame["score"].to_numpy(), runs[regime].offsets[1:-1])
    start = 0
    for index, chosen in enumerate(candidates.lists):
        docs = [round_to(arrays["documents"][d], "float8_e5m2").astype(np.float32) for d in chosen]
        rows = arrays["pairs"][start : start + len(chosen)]
        start += len(chosen)
        query = arrays["queries"][index]
        expected = {
            "softmax": lambda rows=rows: softmax(rows, "bfloat16"),
            "sigmoid": lambda rows=rows: sigmoid(rows, "bfloat16"),
            "product": lambda query=query, docs=docs: product(query, np.stack(docs), "bfloat16"),
            "maxsim": lambda query=query, docs=docs: maxsim(query, docs, "bfloat16"),
        }[scoring]()
        assert np.allclose(given[index], expected, rtol=2**-7, atol=1e-6)  # a midpoint may fall either way
        assert (round_to(given[index], "bfloat16") == given[index]).all()


def test_models_whose_order_ties_decide() -> None:
    """Model a ties everything; b is surely right half of the time. Input order flatters a."""
    low = {name: Regime(name, "softmax", "bfloat16", "bfloat16") for name in "ab"}
    grades = tv.Judgments.from_arrays([[1, 0, 0], [1, 0, 0]])
    runs = {
        low["a"]: tv.Run.from_arrays([[0.5, 0.5, 0.5], [0.5, 0.5, 0.5]]),
        low["b"]: tv.Run.from_arrays([[0.9, 0.5, 0.1], [0.5, 0.9, 0.1]]),
    }
    found = audit(runs, grades, "RR", **PAPER)
    assert found.flips() == (
        ModelFlip("flips", "RR", "bfloat16_bfloat16", "b", "a"),
        ModelFlip("undecidable", "RR", "bfloat16_bfloat16", "b", "a"),
    )
    other = {low["a"]: runs[low["a"]], low["b"]._replace(scoring_format="float32"): runs[low["b"]]}
    assert audit(other, grades, "RR", **PAPER).flips() == ()


def test_agreement_compares_with_float32() -> None:
    reference = Regime("m", "softmax", "float32", "float32")
    low, high = plan("m", "softmax", "bfloat16")
    scores = {reference: [[3.0, 2.0, 1.0]], low: [[1.0, 1.0, 0.5]], high: [[1.0, 1.1, 0.5]]}
    runs = {regime: tv.Run.from_arrays(values) for regime, values in scores.items()}
    found = {
        result.regime: result.agreement for result in audit(runs, tv.Judgments.from_arrays([[1, 0, 0]]), "RR").results
    }
    assert found[reference] is None
    assert found[low] is not None
    assert found[low].ties is None
    assert found[high] is not None
    assert found[high].tau_b == pytest.approx(1 / 3)
    assert found[high].ties == ResolvedTies(
        "bfloat16_bfloat16", pairs=1, same=0, opposite=1, tied=0, all_pairs=1, all_tied=0
    )


def test_nothing_to_audit() -> None:
    with pytest.raises(InputError, match="nothing to audit"):
        audit({}, tv.Judgments.from_arrays([[1]]), "RR")
    run = {Regime("m", "softmax", "float32", "float32"): tv.Run.from_dict({"x": {"a": 1.0}})}
    with pytest.raises(InputError, match="no query of the candidates is judged"):
        audit(run, tv.Judgments.from_arrays([[1]]), "RR")


@pytest.fixture(scope="module")
def stored() -> Mapping[str, Any]:
    """The audit of the stored logits of the ePQA reranker."""
    if not STORED.is_file():
        pytest.skip("real data is absent: ../shared/data/logits/epqa-reranker.npz")
    logits = read_logits(STORED)
    frame = pl.DataFrame({"query_id": logits.query_ids, "doc_id": logits.doc_ids, "grade": logits.grades})
    judgments = tv.Judgments.from_frame(frame)
    texts = [dict.fromkeys(names, "") for names in (logits.doc_ids, logits.query_ids)]
    candidates = candidate_lists(Collection("epqa", "epqa", *texts, judgments))
    outputs = [(r, {"pairs": z}) for dtype, z in logits.logits.items() for r in plan("epqa", logits.scoring, dtype)]
    (runs,) = score_regimes(candidates, outputs)
    return {each["label"]: each for each in audit(runs, judgments, "RR(rel=2)@10", **PAPER).to_dict()["regimes"]}


@pytest.mark.parametrize(
    ("label", "expected", "span", "bias"),
    [
        ("bfloat16_bfloat16", 80.52, 1.12, 0.41),
        ("bfloat16_float32", 80.18, 0.17, 0.08),
        ("float32_float32", 80.14, 0.0, 0.0),
    ],
)
def test_table_1_of_the_stored_logits(
    stored: Mapping[str, Any], label: str, expected: float, span: float, bias: float
) -> None:
    value = stored[label]["measures"]["RR(rel=2)@10"]
    found = [round(100 * value[name], 2) for name in ("expected", "range", "bias")]
    assert found == [expected, span, bias]


def test_float32_scores_put_spurious_ties_in_the_order_of_the_float32_model(stored: Mapping[str, Any]) -> None:
    """The review's question; a coin would be right half of the time."""
    ties = stored["bfloat16_float32"]["agreement"]["ties"]
    assert ties["same"] > 0.85 * (ties["same"] + ties["opposite"])
    assert stored["bfloat16_float32"]["agreement"]["rbo"] > stored["bfloat16_bfloat16"]["agreement"]["rbo"]


def corpus_passes(scoring: str = "product", documents: int = 30) -> Passes:
    """Embeddings of a small corpus in two formats, whose products are whole numbers: the same in any kernel."""
    rng = np.random.default_rng(3)
    texts = {f"d{i * 7 % (documents + 1)}": "text" for i in range(documents)}
    candidates = Candidates("corpus", tuple(f"q{i}" for i in range(6)), tuple(texts), (np.arange(documents),) * 6)
    grades = {q: {d: int(rng.integers(0, 3)) for d in rng.choice(list(texts), 5)} for q in candidates.query_ids}
    judgments = tv.Judgments.from_dict(grades | {"not a candidate": {"d0": 1}})
    collection = Collection("c", "c", texts, dict.fromkeys(candidates.query_ids, "text"), judgments)

    def vectors(count: int) -> Any:
        drawn = rng.integers(-4, 5, (count, 3, 8)).astype(np.float32)
        return drawn[:, 0] if scoring == "product" else list(drawn)

    wide = {"queries": vectors(6), "documents": vectors(documents)}
    outputs = [
        (regime, wide)
        for dtype in ("bfloat16", "float32")
        for regime in plan("m", scoring, dtype, ["model", "float32"], ["float8_e5m2"])
    ]
    return Passes(collection, candidates, outputs, ({"model": "m"},))


@pytest.mark.parametrize("scoring", ["product", "maxsim"])
@pytest.mark.parametrize("choices", [{}, PAPER, {"tie_precision": 4.0, "depth": 9}])
def test_a_corpus_is_audited_without_lists(
    scoring: str, choices: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every number is that of runs that list all documents; what only lists have is there while the corpus is small."""
    passes = corpus_passes(scoring)
    found = audit_passes(passes, "nDCG@5 AP", **choices)
    runs = score_regimes(passes.candidates, passes.outputs)
    listed = audit_blocks(runs, passes.collection.graded, "nDCG@5 AP", cutoffs=[1, 2, 3, 5, 10, 20], **choices)
    assert found.to_dict() == replace(listed, about=found.about).to_dict()
    monkeypatch.setattr("trueval.precision.audit.LISTED", 29)
    monkeypatch.setattr("trueval.precision.audit.score_regimes", None)
    unlisted = audit_passes(passes, "nDCG@5 AP", **choices).to_dict()
    assert "c: no lists of 30 documents are made" in unlisted["notes"][-1]
    for mine, theirs in zip(unlisted["regimes"], found.to_dict()["regimes"], strict=True):
        assert (mine["measures"], mine["curves"]) == (theirs["measures"], theirs["curves"])
        assert mine["ties"] == {"tied_fraction": None, "largest_group": None, "group_sizes": []}
        assert mine["agreement"] is None
    assert " – " in PRECISION.write(unlisted, "markdown")


def test_standings_of_a_corpus_are_counted_by_an_executor(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exhaustive, "TILES", 1)
    monkeypatch.setattr(ArrayProducts, "width", 32)
    passes, sent = corpus_passes(documents=96), list[str]()

    class Elsewhere:
        def map(self, work: Callable[[Any], Any], items: Iterable[Any], /) -> list[Any]:
            shards = [pickle.loads(pickle.dumps(item)) for item in items]
            sent.extend(map(str, shards))
            return [work(shard) for shard in shards]

    here, there = (audit_passes(passes, "nDCG@5 AP", executor=each) for each in (None, Elsewhere()))
    assert there.to_dict() == here.to_dict()
    assert sent[:3] == [f"{passes.outputs[0][0].name}, shard {number} of 3" for number in (1, 2, 3)]
    assert len(sent) == 3 * len(passes.outputs)


def test_what_is_about_lists_is_audited_by_lists() -> None:
    passes = corpus_passes()
    found = audit_passes(passes, "RR", judged_only=True)
    assert found.results[0].scores.ties.documents < 6 * 30


@pytest.mark.parametrize("kind", ["corpus", "judged"])
def test_documents_are_stored_as_codes(kind: str) -> None:
    """int8 by FAISS's own codes; signs score by the number of those that differ, which ties."""
    pytest.importorskip("faiss")
    rng = np.random.default_rng(5)
    queries = rng.normal(size=(6, 16)).astype(storage_dtype("bfloat16"))
    documents = rng.normal(size=(40, 16)).astype(storage_dtype("bfloat16"))
    doc_ids, query_ids = tuple(f"d{at}" for at in range(40)), tuple(f"q{at}" for at in range(6))
    judgments = tv.Judgments.from_dict({query: {"d3": 1, "d7": 1, "d9": 0} for query in query_ids})
    every = np.arange(40)
    lists = (every,) * 6 if kind == "corpus" else tuple(np.array([3, 7, 9, at]) for at in range(10, 16))
    candidates = Candidates(kind, query_ids, doc_ids, lists)
    collection = Collection("c", "c", dict.fromkeys(doc_ids, "x"), dict.fromkeys(query_ids, "x"), judgments)
    regimes = plan("m", "product", "bfloat16", ["float32"], ["model", "int8", "binary"])
    arrays = {"queries": queries, "documents": documents}
    (runs,) = score_regimes(candidates, [(regime, arrays) for regime in regimes])
    wide = queries.astype(np.float32), documents.astype(np.float32)
    least, width = wide[1].min(0), np.ptp(wide[1], axis=0)
    codes = np.floor(255 * ((wide[1] - least) / width))
    signs = np.where(wide[0] > 0, 1, -1), np.where(wide[1] > 0, 1, -1)
    wanted = [wide[0] @ wide[1].T, wide[0] @ (least + (codes + 0.5) / 255 * width).T, signs[0] @ signs[1].T]
    for (regime, run), table in zip(runs.items(), wanted, strict=True):
        scores = np.concatenate([row[chosen] for row, chosen in zip(table, lists, strict=True)])
        assert run.documents["score"].to_numpy() == pytest.approx(scores, abs=2e-4), regime
    found = audit_passes(Passes(collection, candidates, [(each, arrays) for each in regimes], []), "nDCG@10")
    for result, table in zip(found.results, wanted, strict=True):
        rows = {
            q: dict(zip((doc_ids[d] for d in chosen), row[chosen].tolist(), strict=True))
            for q, row, chosen in zip(query_ids, table, lists, strict=True)
        }
        direct = tv.evaluate(rows, judgments, "nDCG@10").mean("nDCG@10")
        mean = result.scores.mean("nDCG@10")
        assert (mean.expected, mean.range) == pytest.approx((direct.expected, direct.range), abs=1e-9)
    assert [max(each.group_sizes) > 1 for each in found.results] == [False, False, True]
    assert found.results[1].regime.label == "bfloat16_float32_index-int8"


def test_tokens_are_stored_as_codes() -> None:
    pytest.importorskip("faiss")
    rng = np.random.default_rng(6)
    queries = [rng.normal(size=(count, 8)).astype(np.float32) for count in (2, 3)]
    documents = [rng.normal(size=(count, 8)).astype(np.float32) for count in (4, 1, 3)]
    candidates = Candidates("judged", ("q0", "q1"), ("d0", "d1", "d2"), (np.arange(3), np.arange(3)))
    (regime,) = plan("m", "maxsim", "float32", ["float32"], ["binary"])
    (runs,) = score_regimes(candidates, [(regime, {"queries": queries, "documents": documents})])
    signs = [[np.where(each > 0, 1, -1) for each in texts] for texts in (queries, documents)]
    wanted = [int((q @ d.T).max(1).sum()) for q in signs[0] for d in signs[1]]
    assert runs[regime].documents["score"].to_list() == wanted


def test_unknown_storages_are_refused() -> None:
    with pytest.raises(PolicyError, match=r"Vectors are stored in one of float64, .*, int4, binary.*Did you mean int8"):
        plan("m", "product", "float32", ["float32"], ["int9"])
    with pytest.raises(PolicyError, match=r"those of signs are whole numbers"):
        plan("m", "softmax(20)", "float32", ["float32"], ["binary"])
