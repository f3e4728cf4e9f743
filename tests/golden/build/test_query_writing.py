"""Forms of the queries that a model writes: asked for once, counted before, and the same in every command."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest
from tests.extras import need
from tests.golden import small
from tests.golden.chat import ChatServer, Trouble, chat_server

import trueval as tv
from trueval.errors import InputError
from trueval.golden.build.build import build, dry_run
from trueval.golden.build.golden_plan import GoldenPlan
from trueval.golden.build.pooling import searches_of, sources_of
from trueval.golden.build.query_writing import LEDGER
from trueval.models.hosted.account import Account
from trueval.models.output_part import silent
from trueval.probes.rewriter import open_rewriter
from trueval.retrieval.pipeline.pipeline import Pipeline
from trueval.retrieval.pipeline.pipeline_result import PipelineResult
from trueval.tradeoff.config.plan import SweepPlan
from trueval.tradeoff.diagnosis.corpus_growth import measure_growth
from trueval.tradeoff.runner.sweep import sweep
from trueval.tradeoff.runner.sweep_estimate import estimate
from trueval.tradeoff.runner.system_groups import _can_be_sent

need("bm25s", extra="retrieval")
need("openai", extra="judge")
pytestmark = pytest.mark.filterwarnings("ignore:.* It goes to 127.0.0.1")

ASKED = {"q1": "what holds a wing up", "q2": "why does a plate warm", "q3": "who says hello in letters"}
DOCUMENTS = {
    "lift": "lift acts on a wing in a flow",
    "heat": "heat goes through a flat plate",
    "style": "greetings in letters are a matter of style",
    "step": "a step back",
    "flow": "a flow is laminar or turbulent",
}
KNOWN = {ASKED["q1"]: "lift", ASKED["q2"]: "heat laminar", ASKED["q3"]: "greetings"}
PRICES = "price_per_million_input = 1.0\nprice_per_million_output = 2.0\n"


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[ChatServer]:
    monkeypatch.setenv("TEST_JUDGE_KEY", "k")
    with chat_server(lambda query, text: 3) as found:
        found.known = KNOWN
        yield found


def write_texts(file: Path, texts: Mapping[str, str]) -> None:
    file.write_text("".join(json.dumps({"_id": name, "text": text}) + "\n" for name, text in texts.items()))


@pytest.fixture
def folder(tmp_path: Path, server: ChatServer) -> Path:
    """A collection, a judge, and a sweep file."""
    write_texts(tmp_path / "corpus.jsonl", DOCUMENTS)
    write_texts(tmp_path / "queries.jsonl", ASKED)
    (tmp_path / "qrels.trec").write_text("q1 0 lift 1\nq2 0 heat 1\nq3 0 style 1\n")
    (tmp_path / "judge.toml").write_text(f"[judge]\n{small.served(server.url)}\n")
    return tmp_path


def pipeline(folder: Path, rewrite: str, more: str = "") -> Pipeline:
    path = folder / "pipeline.toml"
    path.write_text(
        f'[corpus]\npath = "."\n[queries]\nrewrite = "{rewrite}"\njudge = "judge.toml"\n[sparse]\ndepth = 4\n{more}'
    )
    return Pipeline.read(path)


def run(folder: Path, rewrite: str, cache: Path | None = None, account: Account | None = None) -> PipelineResult:
    made = pipeline(folder, rewrite)
    return made.retrieve(made.read_collection(), cache=cache, account=account)


def test_a_model_is_asked_once_for_each_form_of_a_query(folder: Path, server: ChatServer) -> None:
    made, cache = pipeline(folder, "as is + hyde"), folder / "cache"
    (missing, *_) = made.missing_work(made.read_collection(), cache=cache)
    assert (missing.stage, missing.calls, missing.exact) == ("rewrite", 3, True)
    assert missing.cost is not None
    assert missing.at_most is None or missing.at_most > missing.cost
    made.check(made.read_collection(), cache=cache)
    assert not server.seen  # nothing was asked to count it
    account = Account(None)
    found = run(folder, "as is + hyde", cache, account)
    assert [(seen.task, seen.query) for seen in server.seen].count(("hyde", ASKED["q1"])) == 1
    assert len(server.seen) == 3
    assert account.spent > 0
    assert [stage.name for stage in found.stages] == ["sparse", "sparse (hyde)", "fuse"]
    by_file = {query: f"{text} {KNOWN[text]}" for query, text in ASKED.items()}
    write_texts(folder / "written.jsonl", by_file)
    same = Pipeline.of(index="bm25", depth=4).retrieve(made.read_collection(queries=folder / "written.jsonl"))
    assert found.stages[1].run.frame.equals(same.run.frame)
    assert "hyde: served wrote 3 queries; one took" in " ".join(found.stages[1].notes)
    for way, calls in (("as is + hyde", 3), ("hyde", 3), ("hyde + step-back", 6), ("model", 9), ("step-back", 9)):
        run(folder, way, cache)
        assert len(server.seen) == calls, way
    assert not [each for each in made.missing_work(made.read_collection(), cache=cache) if each.calls]


def test_what_was_written_before_an_interruption_is_not_asked_again(folder: Path, server: ChatServer) -> None:
    server.trouble = lambda number: Trouble(401, body="{}") if number > 1 else Trouble()
    with pytest.raises(InputError):
        run(folder, "hyde", folder / "cache")
    answered = len(server.billed)
    assert 0 < answered < 3
    server.trouble = lambda number: Trouble()
    server.seen.clear()
    run(folder, "hyde", folder / "cache")
    assert len(server.seen) == 3 - answered
    assert (folder / "cache" / LEDGER).is_file()


def test_a_limit_and_a_judge_that_is_no_model_are_refused_before_anything_is_sent(
    folder: Path, server: ChatServer
) -> None:
    with pytest.raises(InputError, match="max_cost"):
        run(folder, "hyde", folder / "cache", Account(1e-9))
    assert not server.seen
    judge = folder / "judge.toml"
    written = judge.read_text()
    judge.write_text(f"{written}max_cost = 3\n")
    with pytest.raises(InputError, match=r"max_cost of \[judge\] limits golden sets; for queries, --max-cost does"):
        run(folder, "hyde")
    judge.write_text('[judge]\nmodel = "labels:qrels.trec"\n')
    with pytest.raises(InputError, match=r"writes no queries\. Name a language model"):
        run(folder, "hyde")
    assert not server.seen


def test_an_invalid_answer_leaves_the_query_as_it_is_and_says_so(folder: Path, server: ChatServer) -> None:
    server.trouble = lambda number: Trouble(content="I would rather not.")
    found = run(folder, "step-back", folder / "cache")
    assert (
        "step-back: 3 of 3 queries got no valid rewriting and are searched with as they are." in found.stages[0].notes
    )
    assert found.run.frame.equals(run(folder, "as is + step-back", folder / "cache").stages[0].run.frame)


def test_other_commands_and_sweeps_share_what_was_written(folder: Path, server: ChatServer) -> None:
    cache = folder / "cache"
    made = pipeline(folder, "as is + hyde")
    tv.cuts(made.read_collection(), 1, pipeline=made, cache=cache)
    assert len(server.seen) == 3
    (folder / "sweep.toml").write_text(
        '[corpus]\npath = "."\n[queries]\nrewrite = ["as is", "hyde", "as is + hyde", "step-back"]\n'
        'judge = "judge.toml"\n[sparse]\ndepth = 4\n[measure]\nnames = "RR@3"\n[generate]\ncontexts = 1\n'
        "[latency]\nqueries = 2\nrepeats = 2\n"
    )
    told = estimate(folder / "sweep.toml", out=folder / "out", cache=cache)
    (asked,) = [each for each in told.work if each.stage == "rewrite"]
    assert (asked.calls, asked.kept) == (3, 0)  # of step-back: hyde is in the ledger
    assert len(server.seen) == 3
    found = sweep(folder / "sweep.toml", out=folder / "out", cache=cache)
    assert not found.failed
    assert len(server.seen) == 6
    runs = {each.system.rewrite: tv.Run.read(folder / "out" / "runs" / f"{each.key}.parquet") for each in found.systems}
    assert set(runs) == {"as is", "hyde", "as is + hyde", "step-back"}
    assert runs["as is + hyde"].frame.equals(run(folder, "as is + hyde", cache).run.frame)
    assert len(server.seen) == 6
    systems = {each["name"]: each for each in found.to_dict()["systems"]}
    stages = {name: {stage["name"]: stage["p50"]["value"] for stage in of["stages"]} for name, of in systems.items()}
    assert list(stages["sparse as is + hyde"]) == ["rewrite (hyde)", "sparse", "sparse (hyde)", "fuse"]
    assert list(stages["sparse"]) == ["sparse"]
    of_hyde = systems["sparse hyde"]["latency"]["p50"]["value"]
    assert of_hyde >= stages["sparse hyde"]["rewrite (hyde)"] > stages["sparse hyde"]["sparse"]
    costs = {each["name"]: each["cost"] for each in found.to_dict()["configurations"]}
    (plain,) = [cost for name, cost in costs.items() if name.startswith("sparse K=") or name == "sparse"]
    (hyde,) = [cost for name, cost in costs.items() if name.startswith("sparse hyde")]
    bills = zip(server.seen, server.billed, strict=True)
    spent = sum(asked + 2 * given for seen, (asked, given) in bills if seen.task == "hyde") / 1e6
    assert plain["total"] == 0.0
    assert "rewrite" not in plain
    assert hyde["rewrite"] == hyde["total"] == pytest.approx(1000 * spent / 3, rel=1e-12)
    with ThreadPoolExecutor(1) as pool:  # as workers elsewhere, which have no ledger
        sweep(folder / "sweep.toml", out=folder / "again", cache=cache, executor=pool)
    assert len(server.seen) == 6


def test_no_command_asks_again_for_what_it_asked_itself(folder: Path, server: ChatServer) -> None:
    """Without a cache, and where later work sees queries that are written already."""
    made = pipeline(folder, "denoise + hyde")
    tv.cuts(made.read_collection(), 1, pipeline=made)
    assert len(server.seen) == 3
    more = {f"more{number}": f"text {number} of a flow" for number in range(70)}
    asked = replace(made.read_collection(), documents={**DOCUMENTS, **more})
    measure_growth(asked, made.settings, asked.graded, "RR@3", 1, replicates=2)
    assert len(server.seen) == 6


def test_probes_and_pipelines_share_what_was_written(folder: Path, server: ChatServer) -> None:
    run(folder, "model", folder / "cache")
    assert len(server.seen) == 3
    with open_rewriter(
        str(folder / "judge.toml"), pipeline(folder, "model").read_collection(), folder / "cache", None, silent
    ) as rewriter:
        assert rewriter.rewrite(list(ASKED.values())) == [text.upper() for text in ASKED.values()]
    assert len(server.seen) == 3


def test_systems_whose_queries_a_model_writes_stay_with_the_owner_of_the_ledger(
    folder: Path, server: ChatServer
) -> None:
    (folder / "sweep.toml").write_text(
        '[corpus]\npath = "."\n[queries]\nrewrite = ["as is", "denoise", "hyde"]\njudge = "judge.toml"\n'
        '[sparse]\ndepth = [3, 4]\n[measure]\nnames = "RR@3"\n[generate]\ncontexts = 1\n[latency]\nqueries = 0\n'
    )
    plan = SweepPlan.read(folder / "sweep.toml")
    sent = {system.rewrite for system in plan.systems if _can_be_sent(system)}
    assert sent == {"as is", "denoise"}


def test_a_golden_set_searches_the_form_that_its_judge_writes(folder: Path, server: ChatServer) -> None:
    path = small.written(folder / "golden", small.served(server.url), extra='[queries]\nrewrite = "step-back"\n')
    build(GoldenPlan.read(path), folder / "golden" / "out", until="pool")
    rows = [json.loads(line) for line in (folder / "golden" / "out" / "rewritten.jsonl").read_text().splitlines()]
    assert {row["text"] for row in rows} == {f"{row['asked']} step-back" for row in rows}


def test_a_golden_set_pools_what_several_forms_find(folder: Path, server: ChatServer) -> None:
    """Its pools are the fused lists of the pipeline that searches the same texts; each text is asked for once."""
    golden = folder / "golden"
    way = 'rewrite = "denoise + hyde + written.jsonl"'
    path = small.written(golden, small.served(server.url), extra=f"[queries]\n{way}\n")
    write_texts(golden / "written.jsonl", {f"q{place}": f"{topic} steel" for place, topic in enumerate(small.TOPICS)})
    plan = GoldenPlan.read(path)
    told = dry_run(plan, golden / "out", ledger=golden / "out" / "ledger.sqlite", until="pool")
    assert sum(each.calls for each in told.work if each.stage == "rewrite") == 3
    assert not server.seen
    for _ in range(2):
        build(plan, golden / "out", until="pool")
        assert [seen.task for seen in server.seen] == ["hyde"] * 3
    rows = [json.loads(line) for line in (golden / "out" / "rewritten.jsonl").read_text().splitlines()]
    assert [list(row["forms"]) for row in rows] == [["denoise", "hyde", "written.jsonl"]] * 3
    assert all(row["text"] == row["forms"]["denoise"] != row["forms"]["hyde"] for row in rows)
    pools = pl.read_parquet(golden / "out" / "pool.parquet")
    searches = ["sparse", "sparse (hyde)", "sparse (written.jsonl)"]
    assert searches_of(pools) == searches
    # The same texts, searched by a pipeline from files.
    for form in ("denoise", "hyde"):
        write_texts(golden / f"{form}.jsonl", {row["_id"]: row["forms"][form] for row in rows})
    tables = (
        '[sparse]\ndepth = 8\n[fuse]\ndepth = 48\n[queries]\nrewrite = "denoise.jsonl + hyde.jsonl + written.jsonl"\n'
    )
    (golden / "pipeline.toml").write_text('[corpus]\npath = "c"\n' + tables)
    other = Pipeline.read(golden / "pipeline.toml")
    expected = other.retrieve(other.read_collection()).run
    assert sources_of(pools)["pool"].frame.equals(expected.frame)
    assert pools.filter(pl.all_horizontal(pl.col(name).is_null() for name in searches)).is_empty()
    assert pools.height > pools["sparse"].count()  # another form found more
    # Another text of one form makes other pools, and asks nobody.
    write_texts(golden / "written.jsonl", {f"q{place}": "heat" for place in range(3)})
    build(plan, golden / "out", until="pool")
    assert not pl.read_parquet(golden / "out" / "pool.parquet").equals(pools)
    assert len(server.seen) == 3
    assert {each.name for each in build(plan, golden / "out").result.sources} == {*searches, "pool"}
    labels = [json.loads(line) for line in (golden / "out" / "labels.jsonl").read_text().splitlines()]
    assert all(any(row[name] is not None for name in searches) for row in labels)


def test_labels_write_no_form_among_several(folder: Path) -> None:
    path = small.written(folder / "golden", small.LABELS, extra='[queries]\nrewrite = "as is + hyde"\n')
    with pytest.raises(InputError, match="labels know no other words for a query"):
        GoldenPlan.read(path)
