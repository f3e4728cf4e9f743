"""Sweeps: nothing is done twice, what fails stops nothing else, and what was done is kept."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from tests.tradeoff import made
from tests.tradeoff.made import FILE

import trueval as tv
from trueval.errors import InputError
from trueval.retrieval.pipeline import Pipeline
from trueval.tradeoff.inputs import read_inputs
from trueval.tradeoff.plan import Plan
from trueval.tradeoff.sweep import sweep

pytest.importorskip("faiss", reason='needs the extra "retrieval"')
pytest.importorskip("bm25s", reason='needs the extra "retrieval"')
pytest.importorskip("safetensors", reason='needs the extra "models"')


@pytest.fixture
def seen(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """What went through a model, in order."""
    found: list[Any] = []
    made.use(monkeypatch, found)
    return found


def test_each_text_and_pair_goes_through_a_model_once(tmp_path: Path, seen: list[Any]):
    out = tmp_path / "out"
    found = sweep(made.written(tmp_path), out=out)
    assert not found.failed
    assert len(found.systems) == 25
    assert max(Counter(seen).values()) == 1
    pairs = {each for each in seen if isinstance(each, tuple)}
    assert len(seen) - len(pairs) == made.DOCUMENTS + made.QUERIES
    # Every pair that the first ten of some pool hold, and no other.
    texts = read_inputs(found.plan).collections["as is"]
    wanted = set()
    for system in found.systems:
        if system.system.method in ("dense", "hybrid"):
            run = tv.Run.read(out / "runs" / f"{system.key}.parquet")
            for query, documents in run.frame.group_by("query_id"):
                best = documents.sort("score", descending=True, maintain_order=True)["doc_id"].head(10)
                wanted |= {(texts.queries[str(query[0])], texts.documents[each]) for each in best.to_list()}
    assert pairs == wanted


def test_a_system_gives_the_run_of_its_pipeline(tmp_path: Path, seen: list[Any]):
    found = sweep(made.written(tmp_path), out=tmp_path / "out")
    texts = read_inputs(found.plan).collections["as is"]
    for system in found.systems:
        alone = Pipeline(system.system.settings).retrieve(texts).run
        kept = tv.Run.read(tmp_path / "out" / "runs" / f"{system.key}.parquet")
        assert kept.frame.equals(alone.frame), system.system.name


def test_a_second_run_does_nothing_and_gives_the_same(tmp_path: Path, seen: list[Any]):
    file, out = made.written(tmp_path), tmp_path / "out"
    first = sweep(file, out=out).to_dict()
    texts, written = (out / "sweep.json").read_text(), {each: each.stat().st_mtime_ns for each in out.glob("*/*.*")}
    assert json.loads(texts) == first
    seen.clear()
    again = sweep(file, out=out).to_dict()
    assert not seen
    assert all(each["cached"] for each in again["systems"])
    assert written == {each: each.stat().st_mtime_ns for each in written}
    assert without_times(again) == without_times(first)
    # Another directory with the same cache makes the systems again, and no model sees anything.
    elsewhere = sweep(file, out=tmp_path / "other", cache=out / "cache").to_dict()
    assert not seen
    assert without_times(elsewhere) == without_times(first)


def without_times(result: Any) -> Any:
    """A result without what depends on the moment."""
    if isinstance(result, dict):
        return {name: without_times(each) for name, each in result.items() if name not in TIMES}
    return [without_times(each) for each in result] if isinstance(result, list) else result


TIMES = ("seconds", "made_seconds", "build_seconds", "cached", "machine")


def test_more_systems_ask_for_what_is_new_alone(tmp_path: Path, seen: list[Any]):
    out = tmp_path / "out"
    sweep(made.written(tmp_path, FILE.replace("[5, 10]", "5")), out=out)
    before = set(seen)
    seen.clear()
    found = sweep(made.written(tmp_path), out=out)
    assert len(found.systems) == 25
    assert seen
    assert not before & set(seen)
    assert max(Counter(seen).values()) == 1


def test_what_fails_stops_nothing_else_and_is_tried_again(tmp_path: Path, seen: list[Any]):
    text = FILE.replace('spec = ["flat", "hnsw(M=4)"]', 'spec = ["flat", "pq(m=16)"]').replace(
        'model = "pairs"', 'model = ["pairs", "gone"]'
    )
    found = sweep(made.written(tmp_path, text), out=tmp_path / "out").to_dict()
    reasons = {each["name"]: each["reason"] for each in found["failed"]}
    assert len(reasons) + len(found["systems"]) == 41
    assert "dense 24d pq(m=16)" in reasons  # 24 numbers are not cut into 16 parts
    assert "hybrid+rerank 24d pq(m=16) pairs top5" in reasons
    assert "gone: there is no such model." in reasons["dense+rerank 16d flat gone top5"]
    assert all("\n" not in each for each in reasons.values())
    assert {each["name"] for each in found["systems"]} >= {
        "dense 24d flat",
        "sparse",
        "dense+rerank 24d flat pairs top5",
    }
    mended = made.written(tmp_path, text.replace('"gone"]', "]"))
    again = sweep(mended, out=tmp_path / "out").to_dict()
    assert {each["name"].split(" ")[-1] for each in again["failed"]} <= {"pq(m=16)", "top5", "top10"}


def test_a_pair_that_breaks_the_reranker_fails_the_systems_that_ask_for_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    file = made.written(tmp_path)
    texts = read_inputs(Plan.read(file)).collections["as is"].documents
    clean = sweep(file, out=tmp_path / "clean") if made.use(monkeypatch, []) is None else None
    assert clean is not None
    pools = {
        each.system.name: set(tv.Run.read(tmp_path / "clean" / "runs" / f"{each.key}.parquet").frame["doc_id"])
        for each in clean.systems
        if each.system.reranks
    }
    counts = Counter(doc for each in pools.values() for doc in each)
    spoilt = next(doc for doc, count in counts.most_common()[::-1] if 0 < count < len(pools))
    made.use(monkeypatch, [], texts[spoilt])
    found = sweep(file, out=tmp_path / "out")
    assert {each.name for each in found.failed} == {name for name, docs in pools.items() if spoilt in docs}
    assert {each.reason for each in found.failed} == {"a logit is not finite."}


def test_queries_that_are_written_otherwise_are_other_systems(tmp_path: Path, seen: list[Any]):
    text = FILE.replace(
        "[pipeline]", '[queries]\nrewrite = ["as is", "normalised", "asked.jsonl"]\n[pipeline]'
    ).replace(
        'methods = ["dense", "sparse", "hybrid", "dense+rerank", "hybrid+rerank"]', 'methods = ["sparse", "dense"]'
    )
    file = made.written(tmp_path, text)
    rows = [json.loads(line) for line in (tmp_path / "made" / "queries.jsonl").read_text().splitlines()]
    lines = [json.dumps({"_id": row["_id"], "text": row["text"].split(" ")[0]}) for row in rows]
    (tmp_path / "asked.jsonl").write_text("\n".join(lines))
    found = sweep(file, out=tmp_path / "out")
    assert {each.system.name for each in found.systems} == {
        f"{name}{way}"
        for name in ("sparse", "dense 24d flat", "dense 24d hnsw(M=4)", "dense 16d flat", "dense 16d hnsw(M=4)")
        for way in ("", " asked.jsonl")
    }
    # No query of the collection has anything to normalise.
    same = [each for each in found.left_out if "normalised" in each.name]
    assert len(same) == 5
    assert "it finds the same as sparse: what differs decides nothing here." in {each.reason for each in same}
    runs = {each.system.name: tv.Run.read(tmp_path / "out" / "runs" / f"{each.key}.parquet") for each in found.systems}
    assert not runs["sparse"].frame.equals(runs["sparse asked.jsonl"].frame)
    (tmp_path / "asked.jsonl").write_text(lines[0])
    with pytest.raises(InputError, match=r"asked\.jsonl: 7 of 8 queries have no text there"):
        sweep(file)


def test_exact_search_finds_itself_and_others_find_less(tmp_path: Path, seen: list[Any]):
    text = FILE.replace('"hnsw(M=4)"', '"pq(m=4, bits=4)"').replace("depth = [5, 10]", "depth = 5")
    found = sweep(made.written(tmp_path, text), out=tmp_path / "out")
    recall = {each.system.name: each.recall for each in found.systems}
    assert recall["sparse"] is None
    assert recall["dense 24d flat"] == {"of": "flat", "depth": 20, "value": 1.0, "low": 1.0, "high": 1.0}
    runs = {each.system.name: tv.Run.read(tmp_path / "out" / "runs" / f"{each.key}.parquet") for each in found.systems}
    for dimension in ("24d", "16d"):
        exact, other = runs[f"dense {dimension} flat"].frame, runs[f"dense {dimension} pq(m=4,bits=4)"].frame
        shares = [
            len(set(documents["doc_id"]) & set(other.filter(query_id=query[0])["doc_id"])) / 20
            for query, documents in exact.group_by("query_id")
        ]
        value = recall[f"dense {dimension} pq(m=4,bits=4)"]
        assert value is not None
        assert value["value"] == pytest.approx(np.mean(shares), abs=1e-15)
        assert value["low"] <= value["value"] <= value["high"] < 1
        assert recall[f"hybrid+rerank {dimension} pq(m=4,bits=4)"] == value


def test_the_sample_is_of_judged_queries_and_of_the_seed(tmp_path: Path, seen: list[Any]):
    text = LEAST.replace("[sparse]", "[queries]\nsample = 4\n[sparse]")
    file = made.written(tmp_path, text)
    qrels = tmp_path / "made" / "qrels.trec"
    qrels.write_text("".join(line for line in qrels.open() if not line.startswith("q0 ")) + "gone 0 d1 5\n")
    found = sweep(file)
    assert found.about["queries"] == 4
    drawn = read_inputs(found.plan).query_ids
    assert "q0" not in drawn
    assert drawn == sorted(drawn)
    assert set(found.queries["query_id"]) == set(drawn)
    others = [
        read_inputs(Plan.read(made.written(tmp_path, text + f"[measure]\nseed = {seed}\n"))).query_ids
        for seed in range(5)
    ]
    assert others[0] == drawn
    assert len({tuple(each) for each in others}) > 1
    notes = " ".join(found.notes)
    assert "1 of 8 queries are not judged and are left out." in notes
    assert "1 judged queries have no text in the collection and are left out." in notes


LEAST = '[corpus]\npath = "made"\n[sparse]\nindex = "bm25(language=None)"\n[generate]\ncontexts = 5\n'


def test_without_judgments_nothing_is_begun(tmp_path: Path, seen: list[Any]):
    file = made.written(tmp_path)
    (tmp_path / "made" / "qrels.trec").rename(tmp_path / "moved.trec")
    with pytest.raises(InputError, match="there are no judgments, and a sweep measures the quality"):
        sweep(file, out=tmp_path / "out")
    assert not seen
    assert not (tmp_path / "out").exists()
    moved = made.written(tmp_path, LEAST + '[measure]\njudgments = "moved.trec"\n')
    assert len(sweep(moved).systems) == 1


def test_grades_that_do_not_fit_are_told_before_any_work(tmp_path: Path, seen: list[Any]):
    file = made.written(tmp_path)
    qrels = tmp_path / "made" / "qrels.trec"
    qrels.write_text(qrels.read_text().replace(" 5\n", " 7\n"))
    with pytest.raises(InputError, match="RA-nWG"):
        sweep(file, out=tmp_path / "out")
    assert not seen
    mapped = made.written(tmp_path, FILE.replace("resamples", 'grades = "1:1,2:2,3:3,4:4,7:5"\nresamples'))
    assert not sweep(mapped, out=tmp_path / "out").failed


def test_a_pool_of_fewer_documents_than_its_depth_is_cut(tmp_path: Path, seen: list[Any]):
    file = made.written(tmp_path, LEAST.replace("contexts = 5", "contexts = [50, 70]"))
    found = sweep(file)
    (system,) = found.systems
    assert system.pool == made.DOCUMENTS
    assert [each.k for each in system.qualities.at] == [50]
    assert "its last stage gives 60 documents, and K is 70" in found.left_out[0].reason


def test_the_json_and_the_table_of_queries_say_the_same(tmp_path: Path, seen: list[Any]):
    out = tmp_path / "out"
    result = sweep(made.written(tmp_path), out=out).to_dict()
    assert (result["kind"], result["format"], result["quality"]) == ("sweep", 1, "RA-nWG@K")
    rows = pl.read_parquet(out / "queries.parquet")
    assert rows.columns == ["configuration", "query_id", "measure", "expected", "lowest", "highest", "sd"]
    assert set(rows["configuration"]) == {each["name"] for each in result["configurations"]}
    for each in result["configurations"]:
        own = rows.filter(configuration=each["name"])
        for name, value in each["measures"].items():
            assert own.filter(measure=name)["expected"].mean() == pytest.approx(value["expected"], abs=1e-12)
        proc = own.filter(pl.col("measure").str.starts_with("PROC("))["expected"]
        assert proc.mean() == pytest.approx(each["ceiling"]["PROC"], abs=1e-12)
        system = result["systems"][each["system"]]
        assert each["name"] == f"{system['name']} K={each['K']}"
        kept = json.loads((out / system["file"]).read_text())
        assert (kept["key"], kept["settings"]) == (system["key"], system["settings"])
    assert [each["name"] for each in result["systems"]] == [
        each.name for each in Plan.read(tmp_path / "sweep.toml").systems
    ]


def test_a_damaged_system_is_told_and_the_others_are_there(tmp_path: Path, seen: list[Any]):
    file, out = made.written(tmp_path), tmp_path / "out"
    first = sweep(file, out=out)
    (out / first.systems[0].file).write_text("{")
    found = sweep(file, out=out)
    assert [each.name for each in found.failed] == [first.systems[0].system.name]
    assert "damaged system" in found.failed[0].reason
    assert "Remove the file, and it is made again." in found.failed[0].reason


def test_who_watches_hears_of_each_system(tmp_path: Path, seen: list[Any]):
    told: list[tuple[str, str, int, int]] = []
    sweep(made.written(tmp_path), begin=lambda name: lambda part, done, of: told.append((name, part, done, of)))
    assert [each[2:] for each in told if each[0] == "systems"] == [(done, 25) for done in range(1, 26)]
    assert ("dense 24d flat: dense", "documents", 60, 60) in told
    assert ("16 systems: rerank", "pairs") in {each[:2] for each in told}
