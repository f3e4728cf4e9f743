"""Thinned corpora: what is measured on each is what a pipeline over that corpus alone gives."""

from __future__ import annotations

import json
import random
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.extras import need
from tests.tradeoff import planted

from trueval import Judgments, evaluate, frontier
from trueval.collection import Collection
from trueval.errors import InputError, PolicyError
from trueval.report.formats import to_json
from trueval.retrieval.pipeline.config import settings_of_tables
from trueval.retrieval.pipeline.pipeline import Pipeline
from trueval.tradeoff.diagnosis.corpus_growth import FEWEST, SHARES, measure_growth, share_cut, thin_corpus
from trueval.tradeoff.runner.sweep import sweep

need("faiss", extra="retrieval")
need("bm25s", extra="retrieval")
need("safetensors", extra="models")

WORDS = [f"word{number}" for number in range(40)]
QUERIES, DOCUMENTS = 6, 400


def numbers(rng: random.Random) -> str:
    return " ".join(str(rng.randint(0, 3)) for _ in range(6))


def collection() -> Collection:
    """Texts of vectors and words; two judged documents a query, some documents equal, so that scores tie."""
    rng = random.Random(3)
    documents = {f"d{n}": f"{numbers(rng)}; {' '.join(rng.choices(WORDS, k=12))}" for n in range(DOCUMENTS)}
    documents |= {f"d{n}": documents[f"d{n - 1}"] for n in range(7, DOCUMENTS, 10)}
    queries = {f"q{n}": f"{numbers(rng)}; {' '.join(rng.choices(WORDS, k=4))}" for n in range(QUERIES)}
    for n, text in enumerate(queries.values()):  # what is judged is much like its query
        vector, words = text.split("; ")
        double = " ".join(str(2 * int(each)) for each in vector.split())
        documents |= {f"d{10 * n + step}": f"{double}; {words} {WORDS[n]}" for step in (0, 5)}
    grades = {query: {f"d{10 * n}": 1, f"d{10 * n + 5}": 2} for n, query in enumerate(queries)}
    return Collection("made", "made", documents, queries, Judgments.from_dict(grades))


TABLES: dict[str, dict[str, Any]] = {
    "dense": {"embed": {"model": "embedder"}, "index": {"spec": "hnsw(M=4,efSearch=8)", "depth": 20}},
    "sparse": {"sparse": {"index": "bm25(language=None)", "depth": 20}},
    "hybrid": {
        "embed": {"model": "embedder"},
        "index": {"spec": "flat", "depth": 20},
        "sparse": {"index": "bm25(language=None)", "depth": 20},
        "fuse": {"depth": 20},
    },
}


@pytest.mark.parametrize("method", TABLES)
def test_what_is_measured_is_what_a_pipeline_over_the_thinned_corpus_gives(
    monkeypatch: pytest.MonkeyPatch, method: str
) -> None:
    log = planted.use(monkeypatch)
    whole, settings = collection(), settings_of_tables(TABLES[method], "test")
    judgments = whole.judgments
    assert judgments is not None
    found = measure_growth(whole, settings, judgments, "nDCG@5", 5, replicates=2)
    assert [(each.share, each.replicate) for each in found] == [
        (share, draw) for share in SHARES for draw in range(2 if share < 1 else 1)
    ]
    assert sum(count for _, count in log) in (0, DOCUMENTS + QUERIES)  # no text is embedded twice
    ids = list(whole.documents)
    judged = np.array([ids.index(name) for name in dict.fromkeys(judgments.frame["doc_id"].to_list())])
    for corpus, each in zip(thin_corpus(len(ids), judged, replicates=2), found, strict=True):
        names = [ids[place] for place in corpus.places.tolist()]
        assert set(judgments.frame["doc_id"].to_list()) <= set(names)
        thinned = replace(whole, documents={name: whole.documents[name] for name in names})
        run = Pipeline(settings).retrieve(thinned).run
        assert each.documents == len(names)
        assert each.quality == pytest.approx(evaluate(run, judgments, "nDCG@5")["nDCG@5"].expected, abs=1e-12)
        assert each.cut == share_cut(run, 5)
        assert (each.recall is None) == (method != "dense")
        assert each.recall is None or 0 < each.recall <= 1
        assert each.bytes > 0
        assert each.seconds > 0


def test_a_corpus_that_is_judged_nearly_whole_cannot_be_thinned() -> None:
    with pytest.raises(InputError, match=f"{FEWEST - 1} of 70 documents are unjudged"):
        thin_corpus(70, np.arange(70 - FEWEST + 1))


def test_each_draw_has_every_judged_document_once_and_its_share_of_the_others() -> None:
    judged = np.arange(0, 640, 10)
    for each in thin_corpus(640, judged, replicates=3, seed=4):
        assert np.isin(judged, each.places).all()
        assert len(each.places) == len(set(each.places.tolist())) == 64 + round(each.share * 576)


def test_a_sweep_thins_the_corpus_and_its_frontier_forecasts_a_larger_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    planted.use(monkeypatch)
    made, folder = collection(), tmp_path / "made"
    folder.mkdir()
    for name, texts in (("corpus", made.documents), ("queries", made.queries)):
        lines = (json.dumps({"_id": key, "text": text}) for key, text in texts.items())
        (folder / f"{name}.jsonl").write_text("\n".join(lines) + "\n")
    assert made.judgments is not None
    rows = made.judgments.frame.select("query_id", "doc_id", "grade").rows()
    (folder / "qrels.trec").write_text("".join(f"{query} 0 {doc} {grade:g}\n" for query, doc, grade in rows))
    file = tmp_path / "sweep.toml"
    file.write_text(
        '[corpus]\npath = "made"\n[sparse]\nindex = "bm25(language=None)"\ndepth = [10, 20]\n[latency]\nqueries = 0\n'
        '[measure]\nnames = ["nDCG@K"]\nresamples = 100\n[generate]\ncontexts = [5]\n'
    )
    sweep(file, out=tmp_path / "plain")
    with pytest.raises(InputError, match=r"Add the table \[grow\] to the sweep file"):
        frontier(tmp_path / "plain", grow=10)
    file.write_text(f"{file.read_text()}[grow]\nreplicates = 2\n")
    out = tmp_path / "out"
    first = to_json(sweep(file, out=out).to_dict())
    assert json.loads(first)["growth"] == json.loads(to_json(sweep(file, out=out).to_dict()))["growth"]  # as stored
    result = frontier(out, grow=4).result
    assert result.growth is not None
    assert [each.name for each in result.growth] == [each["name"] for each in json.loads(first)["growth"]]
    quality = result.growth[0].of("quality")
    assert quality is not None
    assert (quality.documents, quality.low <= quality.value <= quality.high) == (4 * DOCUMENTS, True)
    with pytest.raises(PolicyError, match="--grow must be a number above 1"):
        frontier(out, grow=1)
