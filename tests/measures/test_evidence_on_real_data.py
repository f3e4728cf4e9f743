"""Measures of evidence on real collections: order and set of two retrievers, ties made by rounding, mapped grades."""

from __future__ import annotations

import json
import re
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from trueval import Judgments, Run, evaluate
from trueval.rag.sensitivity import sensitivity
from trueval.rag.unjudged_passages import grade_unjudged

SHARED = Path(__file__).resolve().parents[3] / "shared" / "data"
MEASURES = "RA-nWG@10 nWG@10 N-Recall4+@10 N-Recall5@10 P4+@10 Harm@10 Judged@10 AllGold(rel=4)@10"
DL_HARD = {0: 1, 1: 3, 2: 4, 3: 5}


def folder(name: str) -> Path:
    path = SHARED / name
    if not path.is_dir():
        pytest.skip(f"real data is absent: ../shared/data/{name}")
    return path


def texts(path: Path) -> dict[str, str]:
    with path.open(encoding="utf-8") as lines:
        rows = [json.loads(line) for line in lines]
    return {row["_id"]: f"{row.get('title', '')} {row['text']}" for row in rows}


@cache
def vectors() -> tuple[list[str], list[str], np.ndarray, np.ndarray]:
    """Counts of words in the documents and queries of Cranfield."""
    corpus, queries = (texts(folder("collections/cranfield") / f"{name}.jsonl") for name in ("corpus", "queries"))
    words = {w: i for i, w in enumerate(sorted({w for text in corpus.values() for w in split(text)}))}

    def count(rows: dict[str, str]) -> np.ndarray:
        found = np.zeros((len(rows), len(words)), dtype=np.float32)
        for row, text in enumerate(rows.values()):
            np.add.at(found[row], [words[w] for w in split(text) if w in words], 1)
        return found

    return list(corpus), list(queries), count(corpus), count(queries)


def split(text: str) -> list[str]:
    return re.findall(r"[a-z]{3,}", text.lower())


@cache
def lexical() -> Run:
    """BM25 with k1 = 1.2, b = .75."""
    documents, queries, counts, asked = vectors()
    length = counts.sum(axis=1, keepdims=True)
    seen = (counts > 0).sum(axis=0)
    rarity = np.log1p((len(documents) - seen + 0.5) / (seen + 0.5))
    weights = rarity * counts * 2.2 / (counts + 1.2 * (0.25 + 0.75 * length / length.mean()))
    return top("lexical", documents, queries, asked @ weights.T)


@cache
def dense() -> Run:
    """Log counts times rarity, projected on 256 random directions and normalized."""
    documents, queries, counts, asked = vectors()
    rarity = np.log(len(documents) / np.maximum((counts > 0).sum(axis=0), 1)).astype(np.float32)
    directions = np.random.default_rng(0).normal(size=(counts.shape[1], 256)).astype(np.float32)
    embedded = [np.log1p(rows) * rarity @ directions for rows in (counts, asked)]
    docs, asks = (rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-9) for rows in embedded)
    return top("dense", documents, queries, asks @ docs.T)


def top(name: str, documents: list[str], queries: list[str], scores: np.ndarray) -> Run:
    best = np.argsort(-scores, axis=1, kind="stable")[:, :100]
    lists = {q: {documents[d]: float(scores[row, d]) for d in best[row]} for row, q in enumerate(queries)}
    return Run.from_dict(lists, name=name)


def cranfield() -> Judgments:
    return Judgments.read(folder("collections/cranfield") / "qrels.trec")


@pytest.mark.parametrize("system", [lexical, dense])
def test_cranfield_has_the_grades_of_the_rubric_and_ordered_values(system: object) -> None:
    run, judgments = system(), cranfield()  # type: ignore[operator]
    inside = "(RA-nWG, pool=50)@10"
    scores = evaluate(
        run, judgments, f"{MEASURES} RA-nWG(unjudged='upper')@10 PROC{inside} pPROC{inside} PROC(RA-nWG)@10"
    )
    mean = {str(m): scores.mean(m) for m in scores.measures}
    actual, upper = mean["RA-nWG@10"], mean["RA-nWG(unjudged='upper')@10"]
    assert 0.2 < actual.expected < mean[f"PROC{inside}"].expected < mean["PROC(RA-nWG)@10"].expected <= 1
    assert actual.expected < upper.expected <= 1
    assert actual.queries >= mean["N-Recall4+@10"].queries
    assert mean["N-Recall5@10"].queries < actual.queries < 225 + 1, "queries without the grade are left out and counted"
    ratio = scores.details[[str(m) for m in scores.measures].index(f"pPROC{inside}")]["ratio_of_means"]
    assert ratio == pytest.approx(actual.expected / mean[f"PROC{inside}"].expected)
    assert mean["Judged@10"].expected < 0.6, "assessors passed over the rest"


def test_better_retrieval_has_more_evidence_and_less_harm_on_cranfield() -> None:
    judgments = cranfield()
    by_measure = [evaluate(run, grade_unjudged(judgments, run, 1), MEASURES).means() for run in (lexical(), dense())]
    for name in ("RA-nWG@10", "nWG@10", "N-Recall4+@10", "P4+@10"):
        assert by_measure[0][name].expected > by_measure[1][name].expected, name
    assert by_measure[0]["Harm@10"].expected < by_measure[1]["Harm@10"].expected
    assert all(means["Judged@10"].expected == 1 for means in by_measure)


def test_treating_the_unjudged_as_grade_1_moves_no_weight_on_cranfield() -> None:
    run, judgments = lexical(), cranfield()
    filled = grade_unjudged(judgments, run, 1)
    for measures in ("RA-nWG@10 nWG@10 N-Recall4+@10 N-Recall5@10 P4+@10",):
        np.testing.assert_array_equal(
            evaluate(run, judgments, measures).expected, evaluate(run, filled, measures).expected
        )
    listed, judged = (evaluate(run, j, "Harm@10").mean("Harm@10").expected for j in (judgments, filled))
    share = evaluate(run, judgments, "Judged@10").mean("Judged@10").expected
    assert judged == pytest.approx(listed + 1 - share)


def test_rounding_to_bfloat16_leaves_the_set_itself_undecided_on_cranfield() -> None:
    run, judgments = dense(), cranfield()
    measures = "RA-nWG@10 PROC(RA-nWG, pool=50)@10 pPROC(RA-nWG, pool=50)@10 ordering_headroom(RA-nWG, pool=50)@10"
    sharp = evaluate(run, judgments, measures)
    rounded = evaluate(run, judgments, measures, tie_precision="bfloat16")
    assert rounded.mean("RA-nWG@10").range > 10 * max(sharp.mean("RA-nWG@10").range, 1e-6)
    for column in range(4):
        known = ~np.isnan(rounded.expected[:, column])
        assert (rounded.lowest[:, column] <= rounded.expected[:, column])[known].all()
        assert (rounded.expected[:, column] <= rounded.highest[:, column])[known].all()
    both = ~np.isnan(sharp.expected[:, 0]) & ~np.isnan(rounded.expected[:, 0])
    total = rounded.expected[both][:, [0, 3]].sum(axis=1)
    np.testing.assert_allclose(total, rounded.expected[both, 1], rtol=1e-12, atol=1e-12)


def test_single_labels_make_the_measure_fall_on_cranfield_and_the_queries_are_named() -> None:
    found = sensitivity([lexical(), dense()], cranfield(), "RA-nWG@10")
    names = {flip.query for flip in found.flips[0].falls_when_raised}
    assert names
    worst = found.flips[0].falls_when_raised[0]
    changed = cranfield().frame.to_dicts()
    grades: dict[str, dict[str, float]] = {}
    for row in changed:
        grades.setdefault(row["query_id"], {})[row["doc_id"]] = row["grade"]
    grades[worst.query][worst.document] = float(worst.new)
    after = evaluate(lexical(), Judgments.from_dict(grades), "RA-nWG@10")
    assert after.expected[after.query_ids.index(worst.query), 0] == pytest.approx(worst.after, abs=1e-12)
    assert worst.after < worst.before
    assert worst.new > worst.old


def test_dl_hard_with_mapped_grades() -> None:
    data = folder("runs/dl-hard-passage")
    judgments = Judgments.read(next(data.glob("*qrels*"))).map_grades(DL_HARD)
    for path in sorted(data.glob("*.run.gz"))[:3]:
        run = Run.read(path)
        scores = evaluate(run, judgments, f"{MEASURES} R(rel=4)@1000 PROC(N-Recall4+)@1000")
        recall = scores.expected[:, scores.index("R(rel=4)@1000")]
        ceiling = scores.expected[:, scores.index("PROC(N-Recall4+)@1000")]
        np.testing.assert_allclose(recall[~np.isnan(ceiling)], ceiling[~np.isnan(ceiling)], rtol=1e-12)
        assert 0 < scores.mean("RA-nWG@10").expected < 1
        assert (
            scores.mean("N-Recall5@10").queries
            <= scores.mean("N-Recall4+@10").queries
            <= scores.mean("RA-nWG@10").queries
        )


def test_csfcube_with_mapped_grades_is_ordered_as_its_grades() -> None:
    """Candidates are fully judged: ranking by the grades themselves reaches every ceiling; the reverse does harm."""
    judgments = Judgments.read(folder("collections/csfcube") / "qrels.trec").map_grades(DL_HARD)
    frame = judgments.frame.with_columns(score=judgments.frame["grade"])
    ideal = Run.from_frame(frame.select("query_id", "doc_id", "score"))
    worst = Run.from_frame(frame.select("query_id", "doc_id", score=-frame["score"]))
    best, bad = (evaluate(run, judgments, "nWG@10 N-Recall4+@10 N-Recall5@10 Harm@10") for run in (ideal, worst))
    for column in range(3):
        known = ~np.isnan(best.expected[:, column])
        np.testing.assert_allclose(best.expected[known, column], 1, rtol=1e-12)
        assert best.mean(best.measures[column]).range == pytest.approx(0, abs=1e-12)
    assert bad.mean("Harm@10").expected > best.mean("Harm@10").expected
