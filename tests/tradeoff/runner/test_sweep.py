"""Sweeps: nothing is done twice, what fails stops nothing else, and what was done is kept."""

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
import polars as pl
import pytest
from tests.extras import need
from tests.tradeoff import made
from tests.tradeoff.made import FILE, SMALL

import trueval as tv
from trueval.errors import InputError, TruevalWarning
from trueval.report.result_directory import Directory, ResultFile
from trueval.report.terminal import render_text
from trueval.retrieval.pipeline.pipeline import Pipeline
from trueval.tradeoff.config.plan import SweepPlan
from trueval.tradeoff.config.sweep_inputs import read_inputs
from trueval.tradeoff.runner.measured_sweep import Sweep
from trueval.tradeoff.runner.sweep import sweep
from trueval.tradeoff.runner.sweep_estimate import estimate
from trueval.tradeoff.runner.sweep_result import SweepResult
from trueval.tradeoff.views.kind import SWEEP

need("faiss", "bm25s", extra="retrieval")
need("safetensors", extra="models")


@pytest.fixture
def seen(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """What went through a model, in order."""
    found: list[Any] = []
    made.use(monkeypatch, found)
    return found


class Whole(NamedTuple):
    """A sweep of 13 systems, and all that models saw and watchers heard meanwhile."""

    out: Path
    found: Sweep
    seen: list[Any]
    told: list[tuple[str, str, int, int]]


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Whole]:
    place, seen, told = tmp_path_factory.mktemp("whole"), list[Any](), list[tuple[str, str, int, int]]()
    with pytest.MonkeyPatch.context() as patch:
        made.use(patch, seen)
        file = made.written(place)
        begin: Any = lambda name: lambda part, done, of: told.append((name, part, done, of))  # noqa: E731  a watcher
        yield Whole(place / "out", sweep(file, out=place / "out", begin=begin), seen, told)


def test_each_text_and_pair_goes_through_a_model_once(whole: Whole):
    out, found, seen, _ = whole
    assert not found.failed
    assert len(found.systems) == 13
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


def test_a_system_gives_the_run_of_its_pipeline(whole: Whole, seen: list[Any]):
    texts = read_inputs(whole.found.plan).collections["as is"]
    for system in whole.found.systems:
        if system.system.method == "sparse" or "16d" in system.system.name:
            alone = Pipeline(system.system.settings).retrieve(texts).run
            kept = tv.Run.read(whole.out / "runs" / f"{system.key}.parquet")
            assert kept.frame.equals(alone.frame), system.system.name


def test_a_second_run_does_nothing_and_gives_the_same(tmp_path: Path, seen: list[Any]):
    file, out = made.written(tmp_path, SMALL), tmp_path / "out"
    first = sweep(file, out=out).to_dict()
    texts, written = (out / "sweep.json").read_text(), {each: each.stat().st_mtime_ns for each in out.glob("*/*.*")}
    assert json.loads(texts) == first
    seen.clear()
    again = sweep(file, out=out).to_dict()
    assert not seen
    assert all(each["cached"] for each in again["systems"])
    assert written == {each: each.stat().st_mtime_ns for each in written}
    assert without_times(again) == without_times(first)
    # Another directory has the same cache, the user's, and makes the systems again: no model sees anything.
    elsewhere = sweep(file, out=tmp_path / "other").to_dict()
    assert not seen
    assert without_times(elsewhere) == without_times(first)
    assert not (out / "cache").exists()


@pytest.mark.parametrize("end", ["out", "nowhere"])
def test_a_user_without_a_cache_has_one_beside_the_results(
    tmp_path: Path, seen: list[Any], own_cache: Path, end: str
) -> None:
    file, out = made.written(tmp_path, SMALL), tmp_path / "out" if end == "out" else None
    own_cache.write_text("a file where the folder belongs")
    with pytest.warns(TruevalWarning, match="the cache cannot be written"):
        sweep(file, out=out)
    if out is None:
        assert not (tmp_path / "cache").exists()
        return
    assert (out / "cache" / "outputs").is_dir()
    assert not estimate(file, out=tmp_path / "other", cache=out / "cache").work


def without_times(result: Any) -> Any:
    """A result without what depends on the moment."""
    if isinstance(result, dict):
        return {name: without_times(each) for name, each in result.items() if name not in TIMES}
    return [without_times(each) for each in result] if isinstance(result, list) else result


TIMES = ("seconds", "made_seconds", "build_seconds", "cached", "machine")


def test_more_systems_ask_for_what_is_new_alone(tmp_path: Path, seen: list[Any]):
    out = tmp_path / "out"
    sweep(made.written(tmp_path, SMALL.replace("[5, 10]", "5")), out=out)
    before = set(seen)
    seen.clear()
    found = sweep(made.written(tmp_path, SMALL), out=out)
    assert len(found.systems) == 6
    assert seen
    assert not before & set(seen)
    assert max(Counter(seen).values()) == 1


def test_what_fails_stops_nothing_else_and_is_tried_again(
    tmp_path: Path, seen: list[Any], monkeypatch: pytest.MonkeyPatch
):
    text = SMALL.replace('spec = "flat"', 'spec = ["flat", "pq(m=16)"]').replace('"pairs"', '["pairs", "gone"]')
    found = sweep(made.written(tmp_path, text), out=tmp_path / "out").to_dict()
    reasons = {each["name"]: each["reason"] for each in found["failed"]}
    # 24 numbers are not cut into 16 parts.
    assert {name for name in reasons if "gone" not in name} == {
        "dense pq(m=16)",
        *(f"{method} pq(m=16) pairs top{depth}" for method in ("dense+rerank", "hybrid+rerank") for depth in (5, 10)),
    }
    assert reasons["dense+rerank flat gone top5"] == "gone: there is no such model."
    assert all("\n" not in each for each in reasons.values())
    assert {each["name"] for each in found["systems"]} == {
        "dense flat",
        "sparse",
        *(f"{method} flat pairs top{depth}" for method in ("dense+rerank", "hybrid+rerank") for depth in (5, 10)),
    }
    # What was wrong is tried again, and what is mended is done.
    monkeypatch.setattr(made.Model, "known", ("counts", "pairs", "gone"))
    again = sweep(tmp_path / "sweep.toml", out=tmp_path / "out").to_dict()
    assert {each["name"] for each in again["failed"]} == {name for name in reasons if "pq" in name}


def test_a_pair_that_breaks_the_reranker_fails_the_systems_that_ask_for_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    file = made.written(tmp_path, SMALL)
    texts = read_inputs(SweepPlan.read(file)).collections["as is"].documents
    made.use(monkeypatch, [])
    pools = {
        each.system.name: set(tv.Run.read(tmp_path / "clean" / "runs" / f"{each.key}.parquet").frame["doc_id"])
        for each in sweep(file, out=tmp_path / "clean", cache=tmp_path / "other cache").systems
        if each.system.reranks
    }
    counts = Counter(doc for each in pools.values() for doc in each)
    spoilt = next(doc for doc, count in counts.most_common()[::-1] if 0 < count < len(pools))
    made.use(monkeypatch, [], texts[spoilt])
    found = sweep(file, out=tmp_path / "out")
    assert {each.name for each in found.failed} == {name for name, docs in pools.items() if spoilt in docs}
    assert {each.reason for each in found.failed} == {"a logit is not finite."}


def test_queries_that_are_written_otherwise_are_other_systems(tmp_path: Path, seen: list[Any]):
    text = SMALL.replace("[pipeline]", '[queries]\nrewrite = ["as is", "normalised", "asked.jsonl"]\n[pipeline]')
    text = text.replace('"dense+rerank", "hybrid+rerank"', "")
    file = made.written(tmp_path, text)
    rows = [json.loads(line) for line in (tmp_path / "made" / "queries.jsonl").read_text().splitlines()]
    lines = [json.dumps({"_id": row["_id"], "text": row["text"].split(" ")[0]}) for row in rows]
    (tmp_path / "asked.jsonl").write_text("\n".join(lines))
    found = sweep(file, out=tmp_path / "out")
    assert {each.system.name for each in found.systems} == {
        f"{name}{way}" for name in ("sparse", "dense") for way in ("", " asked.jsonl")
    }
    # No query of the collection has anything to normalise.
    same = [each for each in found.left_out if "normalised" in each.name]
    assert len(same) == 2
    assert "it finds the same as sparse: what differs decides nothing here." in {each.reason for each in same}
    runs = {each.system.name: tv.Run.read(tmp_path / "out" / "runs" / f"{each.key}.parquet") for each in found.systems}
    assert not runs["sparse"].frame.equals(runs["sparse asked.jsonl"].frame)
    (tmp_path / "asked.jsonl").write_text(lines[0])
    with pytest.raises(InputError, match=r"asked\.jsonl: 7 of 8 queries have no text there"):
        sweep(file)


@pytest.mark.slow
def test_several_forms_of_the_queries_are_systems_like_any_other(tmp_path: Path, seen: list[Any]):
    fused = "asked.jsonl + as is"
    text = SMALL.replace("[pipeline]", f'[queries]\nrewrite = ["as is", "{fused}"]\n[pipeline]')
    text = text.replace("depth = [5, 10]", "depth = 5").replace("queries = 0", "queries = 2\nrepeats = 1")
    file, out = made.written(tmp_path, text), tmp_path / "out"
    rows = [json.loads(line) for line in (tmp_path / "made" / "queries.jsonl").read_text().splitlines()]
    lines = [json.dumps({"_id": row["_id"], "text": f"{row['text'].split(' ')[0]} word3"}) for row in rows]
    (tmp_path / "asked.jsonl").write_text("\n".join(lines))
    said = estimate(file, out=out, probe=lambda *_: 0.001)
    found = sweep(file, out=out)
    written = {json.loads(line)["text"] for line in lines} | {row["text"] for row in rows}
    embedded = sum(each.items for each in said.work if each.stage in ("documents", "queries"))
    assert embedded == made.DOCUMENTS + len(written)
    texts = read_inputs(found.plan).collections
    names = {each.system.name for each in found.systems}
    assert {"dense", "dense asked.jsonl + as is", "sparse asked.jsonl + as is"} <= names
    assert not found.failed
    about = {each["name"]: each for each in found.to_dict()["systems"]}
    for system in found.systems:
        alone = Pipeline(system.system.settings).retrieve(texts["as is"]).run
        kept = tv.Run.read(out / "runs" / f"{system.key}.parquet")
        assert kept.frame.equals(alone.frame), system.system.name
        told = about[system.system.name]
        assert system.about["rewrite"] == system.system.rewrite
        assert str(tmp_path) not in json.dumps(told)
        timed = [stage["name"] for stage in told["stages"]]
        assert ("fuse" in timed) == (system.system.rewrite == fused or system.system.method.startswith("hybrid"))
        assert ("embed (as is)" in timed) == (fused in system.system.name and "sparse" not in system.system.name)
    assert {each.recall["value"] for each in found.systems if each.recall is not None} == {1.0}  # of exact search
    memory = {each.system.name: each.about["memory"]["measured"] for each in found.systems}
    assert memory["dense asked.jsonl + as is"] == memory["dense"]  # both forms search one index
    tokens = {each.system.name: each.about["tokens"]["query"] for each in found.systems}
    assert tokens["dense asked.jsonl + as is"] > tokens["dense"]  # a query is embedded in each of its forms
    seen.clear()
    sweep(file, out=out)
    assert not seen


def test_exact_search_finds_itself_and_others_find_less(tmp_path: Path, seen: list[Any]):
    text = FILE.replace('"flat"', '["flat", "pq(m=4, nbits=4)"]').replace("depth = [5, 10]", "depth = 5")
    text = text.replace('"hybrid", "dense+rerank", ', "")
    found = sweep(made.written(tmp_path, text), out=tmp_path / "out")
    recall = {each.system.name: each.recall for each in found.systems}
    assert recall["sparse"] is None
    assert recall["dense 24d flat"] == {"of": "flat", "depth": 20, "value": 1.0, "low": 1.0, "high": 1.0}
    runs = {each.system.name: tv.Run.read(tmp_path / "out" / "runs" / f"{each.key}.parquet") for each in found.systems}
    for dimension in ("24d", "16d"):
        exact, other = runs[f"dense {dimension} flat"].frame, runs[f"dense {dimension} pq(m=4,nbits=4)"].frame
        shares = [
            len(set(documents["doc_id"]) & set(other.filter(query_id=query[0])["doc_id"])) / 20
            for query, documents in exact.group_by("query_id")
        ]
        value = recall[f"dense {dimension} pq(m=4,nbits=4)"]
        assert value is not None
        assert value["value"] == pytest.approx(np.mean(shares), abs=1e-15)
        assert value["low"] <= value["value"] <= value["high"] < 1
        assert recall[f"hybrid+rerank {dimension} pq(m=4,nbits=4)"] == value


def test_the_sample_is_of_judged_queries_and_of_the_seed(tmp_path: Path, seen: list[Any]):
    text = LEAST.replace("[sparse]", "[queries]\nsample = 4\n[sparse]")
    file = made.written(tmp_path, text)
    qrels = tmp_path / "made" / "qrels.trec"
    lines = qrels.read_text().splitlines(keepends=True)
    qrels.write_text("".join(line for line in lines if not line.startswith("q0 ")) + "gone 0 d1 5\n")
    found = sweep(file)
    assert found.about["queries"] == 4
    drawn = read_inputs(found.plan).query_ids
    assert "q0" not in drawn
    assert drawn == sorted(drawn)
    assert set(found.queries["query_id"]) == set(drawn)
    others = [
        read_inputs(SweepPlan.read(made.written(tmp_path, text + f"[measure]\nseed = {seed}\n"))).query_ids
        for seed in range(5)
    ]
    assert others[0] == drawn
    assert len({tuple(each) for each in others}) > 1
    notes = " ".join(found.notes)
    assert "1 of 8 queries are not judged and are left out." in notes
    assert "1 judged queries have no text in the collection and are left out." in notes


def test_queries_may_be_those_of_another_file(tmp_path: Path, seen: list[Any]):
    file = made.written(tmp_path, LEAST.replace("[sparse]", '[queries]\npath = "asked.jsonl"\n[sparse]'))
    (tmp_path / "asked.jsonl").write_text('{"_id": "q3", "text": "word1 word2"}\n')
    assert read_inputs(SweepPlan.read(file)).texts == {"q3": "word1 word2"}


LEAST = (
    '[corpus]\npath = "made"\n[latency]\nqueries = 0\n[sparse]\nindex = "bm25(language=None)"\n'
    "[generate]\ncontexts = 5\n"
)


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
    mapped = LEAST + '[measure]\nnames = "RA-nWG@K"\n'
    with pytest.raises(InputError, match="RA-nWG"):
        sweep(made.written(tmp_path, mapped))
    assert len(sweep(made.written(tmp_path, mapped + 'grades = "1:1,2:2,3:3,4:4,7:5"\n')).systems) == 1


def test_a_pool_of_fewer_documents_than_its_depth_is_cut(tmp_path: Path, seen: list[Any]):
    file = made.written(tmp_path, LEAST.replace("contexts = 5", "contexts = [50, 70]"))
    found = sweep(file)
    (system,) = found.systems
    assert system.pool == made.DOCUMENTS
    assert [each.k for each in system.qualities.at] == [50]
    assert "its last stage gives 60 documents, and K is 70" in found.left_out[0].reason


def test_the_json_and_the_table_of_queries_say_the_same(whole: Whole):
    out, result = whole.out, whole.found.to_dict()
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
    assert [each["name"] for each in result["systems"]] == [each.name for each in whole.found.plan.systems]


def test_one_run_is_one_system_with_every_k_that_somebody_asks_for(tmp_path: Path, seen: list[Any]):
    text = LEAST.replace("[generate]\ncontexts = 5\n", "")
    text += "[[configuration]]\nname = 'a'\ngenerate.contexts = 3\n"
    text += "[[configuration]]\nname = 'b'\ngenerate.contexts = [3, 5]\n"
    found = sweep(made.written(tmp_path, text))
    assert [each["name"] for each in found.to_dict()["configurations"]] == ["a K=3", "a K=5"]
    assert found.left_out[0].reason.endswith("what differs decides nothing here. K=5 is looked at there.")


def test_a_reranker_that_gets_no_more_is_one_system(tmp_path: Path, seen: list[Any]):
    text = LEAST.replace("[generate]", "depth = 20\n[generate]")
    file = made.written(tmp_path, text + '[rerank]\nmodel = "pairs"\ndepth = [10, 20, 30, 500]\n')
    found = sweep(file)
    assert [each.system.settings["rerank"]["depth"] for each in found.systems] == [10, 20]
    assert [each.name.rpartition(" ")[2] for each in found.left_out] == ["top30", "top500"]
    assert estimate(file).about["left_out"] == [each._asdict() for each in found.left_out]


def test_one_index_that_is_written_in_two_ways_is_one_system(tmp_path: Path, seen: list[Any]):
    text = LEAST.replace(
        'index = "bm25(language=None)"', """index = ["bm25(language=None)", "bm25(language=None, k1=0.9)"]"""
    )
    found = sweep(made.written(tmp_path, text))
    assert len(found.systems) == 1
    assert "it finds the same as" in found.left_out[0].reason


@pytest.mark.parametrize("what", ["a run with other scores", "a file that lacks a part"])
def test_what_was_changed_afterwards_is_not_taken(what: str, tmp_path: Path, seen: list[Any]):
    file, out = made.written(tmp_path, LEAST), tmp_path / "out"
    key = sweep(file, out=out).systems[0].key
    if what == "a run with other scores":
        run = out / "runs" / f"{key}.parquet"
        pl.read_parquet(run).with_columns(-pl.col("score")).write_parquet(run)
    else:
        about = out / "systems" / f"{key}.json"
        about.write_text(about.read_text().replace('"memory"', '"mem"'))
    found = sweep(file, out=out)
    assert not found.systems
    assert "damaged system" in found.failed[0].reason


def test_fewer_queries_are_timed_by_their_own_samples(tmp_path: Path, seen: list[Any]):
    text = LEAST.replace("queries = 0", "queries = 4\nrepeats = 2")
    sweep(made.written(tmp_path, text), out=tmp_path / "out")
    found = sweep(made.written(tmp_path, text.replace("4\nrepeats = 2", "2\nrepeats = 1")), out=tmp_path / "out")
    assert (found.systems[0].timed.latency or {})["samples"] == 2


@pytest.mark.slow
@pytest.mark.parametrize(
    ("suffix", "text"), [("json", "{"), ("json", "[]"), ("json", "null"), ("parquet", "{"), ("parquet", None)]
)
def test_times_that_cannot_be_read_are_measured_again(suffix: str, text: str | None, tmp_path: Path, seen: list[Any]):
    file, out = made.written(tmp_path, LEAST.replace("queries = 0", "queries = 2\nrepeats = 2")), tmp_path / "out"
    key = sweep(file, out=out).systems[0].key
    damaged = out / "samples" / f"{key}.{suffix}"
    if text is None:
        damaged.unlink()
    else:
        damaged.write_text(text, encoding="utf-8")
    (system,) = sweep(file, out=out).systems
    assert (system.timed.latency or {})["samples"] == 4
    assert system.timed.notes == ()
    assert len(pl.read_parquet(out / "samples" / f"{key}.parquet")) > 0


def test_a_damaged_system_is_told_and_the_others_are_there(tmp_path: Path, seen: list[Any]):
    file, out = made.written(tmp_path, LEAST), tmp_path / "out"
    first = sweep(file, out=out)
    (out / first.systems[0].file).write_text("{")
    found = sweep(file, out=out)
    assert [each.name for each in found.failed] == [first.systems[0].system.name]
    assert "damaged system" in found.failed[0].reason
    assert "Remove the file, and it is made again." in found.failed[0].reason


def test_where_nobody_asked_for_a_price_nothing_is_said_of_money(whole: Whole):
    result = whole.found.to_dict()
    assert result["prices"] is None
    assert "USD" not in render_text(SWEEP.write(result, "table", legend=True))
    assert SWEEP.page is not None
    page = SWEEP.page(ResultFile("sweep.json", "sweep", result), Directory(whole.out, ()))
    assert "USD" not in repr(page)
    assert "price-block" not in [block.id for block in page.blocks]


@pytest.mark.slow
def test_systems_are_timed_once_and_priced(tmp_path: Path, seen: list[Any]):
    text = SMALL.replace("queries = 0", "queries = 2\nrepeats = 2\nconcurrency = 2")
    text += '[prices]\nrerank = "rerank-2.5"\ngenerator = "gpt-5"\ncandidate_tokens = 500\n'
    file, out = made.written(tmp_path, text), tmp_path / "out"
    result = sweep(file, out=out).to_dict()
    for system in result["systems"]:
        names = [stage["name"] for stage in system["stages"]]
        kinds = {
            "dense": ["embed", "retrieve"],
            "sparse": ["sparse"],
            "hybrid": ["embed", "retrieve", "sparse", "fuse"],
        }
        method = system["method"].removesuffix("+rerank")
        assert names == kinds[method] + (["rerank"] if system["method"] != method else [])
        assert {stage["samples"] for stage in system["stages"]} == {4}
        rows = pl.read_parquet(out / "samples" / f"{system['key']}.parquet")
        assert rows.columns == ["stage", "query_id", "repeat", "started", "seconds"]
        total = rows.group_by("query_id", "repeat").agg(pl.col("seconds").sum())["seconds"]
        assert system["latency"]["p50"]["value"] == pytest.approx(np.median(total.to_numpy()), rel=1e-12)
        assert system["latency"]["jitter"] is not None
        assert [load["workers"] for load in system["loads"]] == [2]
        assert system["memory"]["measured"] > 0
    costs = {each["name"]: each["cost"] for each in result["configurations"]}
    # 1,000 queries of 10 candidates and 10 contexts of 500 tokens, .05 and 1.25 a million.
    assert costs["dense+rerank top10 K=10"] == pytest.approx(
        {"rerank": 0.25, "embed": 0.0, "generator": 6.25, "total": 6.5}, rel=1e-12
    )
    assert result["prices"]["currency"] == "USD"
    seen.clear()
    times = {each: each.read_bytes() for each in (out / "samples").iterdir()}
    assert sweep(file, out=out).to_dict()["systems"][0]["latency"] == result["systems"][0]["latency"]
    assert not seen
    assert times == {each: each.read_bytes() for each in (out / "samples").iterdir()}


def test_ladders_graphs_and_routing_are_derived_once(tmp_path: Path, seen: list[Any], monkeypatch: pytest.MonkeyPatch):
    scored = SimpleNamespace(recipe=SimpleNamespace(scoring="sigmoid"))
    monkeypatch.setattr("trueval.tradeoff.diagnosis.query_performance_predictors.find_model", lambda name, _: scored)
    text = SMALL.replace('"flat"', '["flat", "hnsw(M=4, storage=\'int8\')"]').replace("[5, 10]", "5")
    text = text.replace("contexts = [3, 10]", "contexts = 3") + "[tune]\nwithin = 0.5\n[route]\ndepths = [5, 15]\n"
    file, out = made.written(tmp_path, text), tmp_path / "out"
    result = sweep(file, out=out).to_dict()
    assert result["notes"] == [
        f"{model} ran in bfloat16; to run it in another format, set dtype in [{table}]."
        for model, table in (("counts", "embed"), ("pairs", "rerank"))
    ]
    assert {each["name"]: [step["name"] for step in each["steps"]] for each in result["ladder"]} == {
        "dense+rerank flat": ["exact float32", "reranked"],
        "dense+rerank hnsw(M=4,storage=int8)": ["exact float32", "int8, exact", "hnsw", "reranked"],
    }
    quality = {each["name"]: each["measures"]["RA-nWG@3"]["expected"] for each in result["configurations"]}
    for ladder in result["ladder"]:
        assert ladder["steps"][-1]["quality"] == pytest.approx(quality[f"{ladder['name']} K=3"], abs=1e-12)
        found = next(each["recall"] for each in result["systems"] if each["name"] == ladder["name"])
        assert ladder["steps"][-2]["recall"]["value"] == pytest.approx(found["value"], abs=1e-12)
    assert [each["name"] for each in result["tuned"]] == ["dense+rerank hnsw(M=4,storage=int8)"]
    assert result["tuned"][0]["efSearch"] is not None
    assert result["route"]["depths"] == [5, 15]
    assert SweepResult.from_dict(result).to_dict() == result
    # The deeper pools of routing are in the pass of all others.
    assert max(Counter(each for each in seen if isinstance(each, tuple)).values()) == 1
    seen.clear()
    again = sweep(file, out=out).to_dict()
    assert not seen
    assert without_times(again) == without_times(result)
    kept = sorted((out / "derived").iterdir())
    monkeypatch.setattr("trueval.tradeoff.runner.analyses.__version__", "another")
    assert without_times(sweep(file, out=out).to_dict()) == without_times(result)
    assert len(list((out / "derived").iterdir())) == 2 * len(kept)  # a newer trueval takes none of them


def test_results_say_nothing_of_the_folders_of_the_machine(tmp_path: Path, seen: list[Any]):
    file = made.written(tmp_path, SMALL.replace('"pairs"', '"gone"'))
    with (tmp_path / "made" / "corpus.jsonl").open("a") as corpus:
        corpus.write('{"_id": "empty", "text": ""}\n')
    found = sweep(file, out=tmp_path / "out")
    assert found.notes[0] == "corpus.jsonl: 1 of 61 documents have no text, such as 'empty'."
    assert found.notes[1:] == ("counts ran in bfloat16; to run it in another format, set dtype in [embed].",)
    written = [each for each in (tmp_path / "out").rglob("*.json") if "cache" not in each.parts]
    assert len(written) > 3
    assert [each for each in written if str(tmp_path) in each.read_text()] == []


def test_what_cannot_be_derived_is_a_note_with_its_traceback_in_the_log(
    tmp_path: Path, seen: list[Any], monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
):
    def climb(**_: Any) -> None:
        raise ValueError("no step holds")

    monkeypatch.setattr("trueval.tradeoff.runner.analyses.decompose_loss", climb)
    found = sweep(made.written(tmp_path, SMALL), out=tmp_path / "out").to_dict()
    assert "ladder of dense+rerank top5: ValueError: no step holds" in found["notes"]
    assert found["systems"]
    assert found["ladder"] == []
    assert "in climb\n" in caplog.text


def test_where_everything_fails_the_result_says_why(tmp_path: Path, seen: list[Any], caplog: pytest.LogCaptureFixture):
    file = made.written(tmp_path, SMALL.replace('"counts"', '"gone"').replace('"sparse", ', ""))
    found = sweep(file, out=tmp_path / "out")
    assert not found.systems
    assert {each.reason for each in found.failed} == {"gone: there is no such model."}
    logged = [each for each in caplog.records if each.getMessage().endswith(" failed")]
    assert {each.getMessage() for each in logged} == {f"{each.name} failed" for each in found.failed}
    assert all(each.exc_info for each in logged)
    assert "in record_failures\n" in caplog.text
    assert json.loads((tmp_path / "out" / "sweep.json").read_text())["configurations"] == []
    assert pl.read_parquet(tmp_path / "out" / "queries.parquet").columns[:2] == ["configuration", "query_id"]


def test_who_watches_hears_of_each_system(whole: Whole):
    told = whole.told
    assert [each[2:] for each in told if each[0] == "systems"] == [(done, 13) for done in range(1, 14)]
    assert ("dense 24d: dense", "documents", 60, 60) in told
    assert ("8 systems: rerank", "pairs") in {each[:2] for each in told}
