"""[queries] of a pipeline: which queries, and in which form; the same in every command, and no stale result."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from tests.extras import need

import trueval as tv
from trueval.collection import Collection
from trueval.errors import InputError
from trueval.golden.build.golden_plan import GoldenPlan
from trueval.retrieval.pipeline.denoise import denoise
from trueval.retrieval.pipeline.pipeline import Pipeline
from trueval.retrieval.pipeline.router_file import served_settings
from trueval.tradeoff.config.plan import SweepPlan
from trueval.tradeoff.config.sweep_inputs import read_inputs

need("bm25s", extra="retrieval")

DOCUMENTS = {
    "drag": "the drag of a wing at low speed",
    "heat": "heat transfer through a flat plate",
    "thanks": "thanks and greetings in letters, a quick question of style",
}
QUERIES = {"q1": "Hi! Quick question: what is the drag of a wing? Thanks", "q2": "heat of a plate", "q3": "letters"}
CHATTY = Collection("chatty", "chatty", DOCUMENTS, QUERIES)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The collection on disk, whose first two queries are judged."""
    rows = ({"_id": name, "text": text} for name, text in DOCUMENTS.items())
    (tmp_path / "corpus.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    asked = ({"_id": name, "text": text} for name, text in QUERIES.items())
    (tmp_path / "queries.jsonl").write_text("".join(json.dumps(row) + "\n" for row in asked))
    (tmp_path / "qrels.trec").write_text("q1 0 drag 1\nq2 0 heat 1\n")
    return tmp_path


def written(folder: Path, queries: str) -> Pipeline:
    path = folder / "pipeline.toml"
    path.write_text(f'[corpus]\npath = "."\n{queries}[sparse]\n')
    return Pipeline.read(path)


def test_a_form_of_queries_searches_as_queries_in_that_form_do_also_from_one_cache(tmp_path: Path) -> None:
    plain = Pipeline.of(index="bm25")
    denoised = replace(plain, settings={"queries": {"rewrite": "denoise"}, **plain.settings})
    given = replace(CHATTY, queries={query: denoise(text) for query, text in QUERIES.items()})
    assert given.queries["q1"] == "what is the drag of a wing?"
    fresh = [plain.retrieve(CHATTY).run, plain.retrieve(given).run]
    assert not fresh[0].documents.equals(fresh[1].documents)
    for _ in range(2):
        for pipeline, run in zip((plain, denoised), fresh, strict=True):
            found = pipeline.retrieve(CHATTY, cache=tmp_path).run
            assert found.documents.equals(run.documents)
            assert found.query_ids.equals(run.query_ids)


def test_other_commands_search_that_form_too() -> None:
    plain = Pipeline.of(index="bm25")
    denoised = replace(plain, settings={"queries": {"rewrite": "denoise"}, **plain.settings})
    given = replace(CHATTY, queries={query: denoise(text) for query, text in QUERIES.items()})
    twice = DOCUMENTS | {"again": DOCUMENTS["drag"]}  # a tie at the cut, where the greeting does not lead elsewhere
    ends = [
        tv.cuts(replace(collection, documents=twice), 1, pipeline=pipeline).to_dict()["summary"]
        for collection, pipeline in ((CHATTY, denoised), (given, plain), (CHATTY, plain))
    ]
    assert ends[0] == ends[1] != ends[2]
    judged = replace(CHATTY, judgments=tv.Judgments.from_dict({"q1": {"drag": 1}, "q2": {"heat": 1}}))
    audits = [
        tv.audit_pipeline(collection, pipeline, "RR").to_dict()["ladder"]
        for collection, pipeline in ((judged, denoised), (replace(judged, queries=given.queries), plain))
    ]
    assert audits[0] == audits[1]


def test_files_of_queries_and_texts_are_found_from_the_file_of_the_pipeline(folder: Path) -> None:
    (folder / "asked.jsonl").write_text('{"_id": "q1", "text": "drag"}\n{"_id": "q2", "text": "plate"}\n')
    pipeline = written(folder, '[queries]\npath = "asked.jsonl"\n')
    assert dict(pipeline.read_collection().queries) == {"q1": "drag", "q2": "plate"}
    everything = written(folder, '[queries]\nrewrite = "asked.jsonl"\n')
    with pytest.raises(InputError, match="1 of 3 queries have no text there, such as 'q3'"):
        everything.retrieve(everything.read_collection())
    near = written(folder, '[queries]\nrewrite = "denoize"\n')
    with pytest.raises(InputError, match=r"denoize: no such file, and no form of queries: .* Did you mean denoise"):
        near.retrieve(near.read_collection())
    both = written(folder, '[queries]\npath = "queries.jsonl"\nrewrite = "asked.jsonl"\nsample = 2\n')
    run = both.retrieve(both.read_collection()).run
    expected = Pipeline.of(index="bm25").retrieve(pipeline.read_collection()).run
    assert run.documents.equals(expected.documents)


def test_a_sample_is_of_judged_queries_and_by_its_seed(folder: Path) -> None:
    pipeline = written(folder, "[queries]\nsample = 2\n")
    assert list(pipeline.read_collection().queries) == ["q1", "q2"]
    drawn = {
        tuple(written(folder, f"[queries]\nsample = 1\nseed = {seed}\n").read_collection().queries) for seed in range(9)
    }
    assert drawn == {("q1",), ("q2",)}
    one = written(folder, "[queries]\nsample = 1\n").read_collection()
    assert one.graded.query_ids.to_list() == list(one.queries)  # the others are not missing from its run
    assert "[queries] draws 1 of 2 queries: evaluate their run with --missing skip" in one.notes[-1]
    (folder / "qrels.trec").unlink()
    unjudged = written(folder, "[queries]\nsample = 2\n").read_collection()
    assert unjudged.judgments is None
    assert len(unjudged.queries) == 2


def test_a_form_of_a_model_needs_a_model_with_the_line(folder: Path) -> None:
    with pytest.raises(InputError, match=r"pipeline\.toml:4: 'model' is written by a language model. Name it as judge"):
        written(folder, '[queries]\nrewrite = "model"\n')
    with pytest.raises(InputError, match=r"pipeline\.toml:4: no form here is written by a model. Remove judge"):
        written(folder, '[queries]\njudge = "gpt-5-mini"\n')


def test_sweeps_and_golden_sets_know_the_same_forms(folder: Path) -> None:
    (folder / "sweep.toml").write_text(
        '[corpus]\npath = "."\n[queries]\nrewrite = ["as is", "denoise"]\n[sparse]\n[measure]\nnames = "RR@3"\n'
        "[generate]\ncontexts = 2\n"
    )
    found = read_inputs(SweepPlan.read(folder / "sweep.toml"))
    assert found.collections["denoise"].queries["q1"] == "what is the drag of a wing?"
    assert found.collections["as is"].queries["q1"] == QUERIES["q1"]
    (folder / "golden.toml").write_text(
        '[corpus]\npath = "."\n[queries]\nrewrite = "denoise"\nsample = 1\nseed = 4\n[sparse]\n'
        '[judge]\nmodel = "labels:qrels.trec"\ngrades = "1:5"\nunknown = 1\n'
    )
    plan = GoldenPlan.read(folder / "golden.toml")
    assert (plan.rewrite, plan.sample, plan.sample_seed) == ("denoise", 1, 4)
    both = (folder / "golden.toml").read_text().replace('"denoise"', '"as is + denoise"')
    (folder / "golden.toml").write_text(both)
    assert GoldenPlan.read(folder / "golden.toml").settings["queries"]["rewrite"] == "as is + denoise"
    (folder / "golden.toml").write_text(both.replace("as is + denoise", "denoise + denoise"))
    with pytest.raises(InputError, match=r"golden\.toml:4: denoise \+ denoise names a form twice"):
        GoldenPlan.read(folder / "golden.toml")


def test_a_router_belongs_to_the_form_of_queries_that_it_was_certified_on() -> None:
    settings = {"sparse": {"index": "bm25", "depth": 100}, "rerank": {"model": "m"}}
    asked = [served_settings({**settings, "queries": {"rewrite": form}}) for form in ("as is", "denoise")]
    assert asked[0] == served_settings(settings)
    assert asked[1] == {"queries.rewrite": "denoise", **asked[0]}


def test_a_form_that_loses_what_a_query_is_about_is_told_by_retrieve_and_sweep(folder: Path) -> None:
    asked = {"q1": "drag at mach 2, not at mach 3", "q2": "heat of a plate", "q3": "letters"}
    (folder / "queries.jsonl").write_text("".join(f'{{"_id": "{q}", "text": "{text}"}}\n' for q, text in asked.items()))
    short = asked | {"q1": "drag at mach 2"}
    (folder / "short.jsonl").write_text("".join(f'{{"_id": "{q}", "text": "{text}"}}\n' for q, text in short.items()))
    pipeline = written(folder, '[queries]\nrewrite = "short.jsonl"\n')
    told = "1 of 1 rewritten queries lose a number, code, name or negation: 'q1' not, 3."
    for _ in range(2):  # also from the cache
        found = pipeline.retrieve(pipeline.read_collection(), cache=folder / "cache")
        assert told in found.stages[0].notes
    (folder / "sweep.toml").write_text(
        '[corpus]\npath = "."\n[queries]\nrewrite = ["as is", "short.jsonl"]\n[sparse]\n[measure]\nnames = "RR@3"\n'
        "[generate]\ncontexts = 2\n"
    )
    notes = read_inputs(SweepPlan.read(folder / "sweep.toml")).notes
    assert f"short.jsonl: {told}" in notes
