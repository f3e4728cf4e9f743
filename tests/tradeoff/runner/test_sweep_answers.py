"""Answers of a sweep: quality, cost and latency of system, K, model and prompt, paid once, killed and gone on with."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from tests.answers.stream_server import StreamServer, Trouble, stream_server
from tests.extras import need
from tests.golden.chat import chat_server

from trueval.errors import InputError
from trueval.golden.judge.ledger import open_existing_ledger
from trueval.tradeoff.config.plan import SweepPlan
from trueval.tradeoff.frontier.frontier import frontier
from trueval.tradeoff.runner.measured_sweep import Sweep
from trueval.tradeoff.runner.sweep import sweep
from trueval.tradeoff.runner.sweep_estimate import estimate

need("bm25s", extra="retrieval")
need("openai", extra="judge")

ROOT = Path(__file__).parents[3]
QUESTIONS = 12
pytestmark = pytest.mark.filterwarnings("ignore::trueval.errors.TruevalWarning")  # notices before calls


ANSWERS = 'measure = ["exact-match", "token-F1"]\norders = 1'


def write_sweep(folder: Path, generate: str, *, answers: str = ANSWERS, latency: str = "queries = 0") -> Path:
    """A corpus whose gold document is the first of the list for even questions, and the third for odd ones."""
    folder.mkdir(parents=True, exist_ok=True)
    documents = {f"g{at}": f"box {at} is word{at}." for at in range(QUESTIONS)}
    for at in range(1, QUESTIONS, 2):
        documents |= {f"n{at}{part}": f"which color has box {at} {part * 3}" for part in ("a", "b")}
    _lines(folder / "corpus.jsonl", [{"_id": id, "text": text} for id, text in documents.items()])
    _lines(
        folder / "queries.jsonl", [{"_id": f"q{at}", "text": f"which color has box {at}"} for at in range(QUESTIONS)]
    )
    (folder / "qrels.trec").write_text("".join(f"q{at} 0 g{at} 1\n" for at in range(QUESTIONS)))
    _lines(folder / "references.jsonl", [{"query_id": f"q{at}", "reference": f"word{at}"} for at in range(QUESTIONS)])
    path = folder / "sweep.toml"
    path.write_text(
        '[corpus]\npath = "."\n[sparse]\nindex = "bm25(language=None)"\ndepth = 10\n'
        f"[generate]\ncontexts = [1, 3]\n{generate}\n"
        f'[answers]\nreferences = "references.jsonl"\n{answers}\n'
        f'[measure]\nnames = ["nDCG@K"]\nresamples = 100\n[latency]\n{latency}\n'
    )
    return path


def _lines(path: Path, rows: list[dict[str, Any]]) -> None:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))


def write(question: str, passages: tuple[str, ...]) -> str:
    """A model that reads without fault."""
    box = question.removeprefix("which color has box ")
    return f"word{box}" if any(f"box {box} is" in text for text in passages) else "I cannot answer."


def run(path: Path, name: str = "out", **given: Any) -> Sweep:
    return sweep(path, out=path.parent / name, cache=path.parent / "cache", **given)


def qualities(found: Sweep) -> dict[str, float | None]:
    return {each.name: each.measures[each.quality].expected for each in found.result.configurations}


def served(server: StreamServer, more: str = "") -> str:
    prices = "price_per_million_input = 10.0\nprice_per_million_output = 40.0"
    return f'base_url = "{server.url}"\napi_key_env = ""\nmax_tokens = 20\n{prices}\n{more}'


def test_quality_is_that_of_the_answers_of_each_model_and_k(tmp_path: Path) -> None:
    """Spans are read without fault, so the value is the share of questions whose gold document is in the first K."""
    model = 'model = ["extractive:spans", "planted"]\nplanted = { misreads = 1.0, abstains = 1.0 }'
    found = run(write_sweep(tmp_path, model))
    assert qualities(found) == {
        "sparse extractive:spans K=1": 0.5,
        "sparse extractive:spans K=3": 1.0,
        "sparse planted K=1": 0.0,
        "sparse planted K=3": 0.0,
    }
    assert (found.result.quality, found.result.measures) == ("exact-match", ("exact-match", "token-F1", "nDCG@K"))
    assert {axis.key: axis.values for axis in found.result.axes} == {
        "K": (1, 3),
        "generate.model": ("extractive:spans", "planted"),
    }
    second = found.result.systems[1]
    assert second.answers is not None
    assert second.answers.abstained == 0.0
    assert found.result.systems[2].answers is not None
    assert found.result.systems[2].answers.abstained == 1.0
    at_one = found.result.configurations[0]
    assert at_one.measures["nDCG@1"].expected == 0.5
    low, high = at_one.measures["exact-match"].low, at_one.measures["exact-match"].high
    assert low is not None
    assert high is not None
    assert 0 <= low < 0.5 < high <= 1
    chosen = frontier(tmp_path / "out")
    best = chosen.rules[-1].answer
    assert best is not None
    assert chosen.result.points[best].name == "sparse extractive:spans K=3"
    [gain] = [each for each in chosen.result.marginals if each.axis == "K" and each.quality and each.quality.value]
    assert gain.quality is not None
    assert gain.quality.value == 0.5


def test_cost_and_latency_are_end_to_end(tmp_path: Path) -> None:
    """Every question is answered once, those that are timed as often as [latency] says; tokens are paid."""
    with stream_server(write) as server:
        server.first, server.between = 0.02, 0.0
        path = write_sweep(tmp_path, served(server, 'model = "m"'), latency="queries = 4\nrepeats = 3")
        wanted = estimate(path, out=tmp_path / "out", cache=tmp_path / "cache")
        found = run(path)
        assert len(server.seen) == wanted.calls == 2 * (QUESTIONS + 4 * 2)
        again = run(path)
        assert len(server.seen) == wanted.calls
        assert estimate(path, out=tmp_path / "out", cache=tmp_path / "cache").calls == 0
        assert qualities(again) == qualities(found)
    for system, configuration in zip(found.result.systems, found.result.configurations, strict=True):
        about, cost = system.answers, configuration.cost
        assert about is not None
        assert about.tokens_in is not None
        assert cost is not None
        assert (about.questions, about.answers, about.unknown) == (QUESTIONS, QUESTIONS + 8, 0)
        # By hand: each question's mean tokens at 10 and 40 a million.
        lines = {
            each["query_id"]: each for each in map(json.loads, (tmp_path / "out" / about.file).read_text().splitlines())
        }
        prompts = {
            each.question: sum(len(said["content"].split()) for said in each.body["messages"])
            for each in server.seen
            if len(each.passages) == configuration.k
        }
        tokens = sum(10 * prompts[each["question"]] + 40 * len(each["answer"].split()) for each in lines.values())
        assert cost.generator == pytest.approx(1000 * tokens / QUESTIONS / 1e6)
        assert cost.total == cost.generator
        assert [stage.name for stage in system.stages] == ["sparse", "first token", "other tokens"]
        assert about.first is not None
        assert about.first.p50.value is not None
        assert system.latency is not None
        assert 0.02 <= about.first.p50.value <= (system.latency.p50.value or 0)
        samples = pl.read_parquet(tmp_path / "out" / "samples" / f"{system.key}.parquet")
        assert samples.group_by("stage").len()["len"].to_list() == [12, 12, 12]
        totals = samples.group_by("query_id", "repeat").agg(pl.col("seconds").sum())["seconds"]
        assert totals.median() == pytest.approx(system.latency.p50.value)
    slow = frontier(tmp_path / "out", max_latency_ms=10)
    assert slow.rules[0].answer is None  # no answer is whole before its first token


def test_prompts_are_an_axis(tmp_path: Path) -> None:
    (tmp_path / "brief.toml").write_text('task = "answer"\ntext = "Be brief."\n')
    with stream_server(write) as server:
        prompts = 'model = "m"\nprompt = ["answer", "brief.toml"]'
        found = run(write_sweep(tmp_path, served(server, prompts)))
        said = {each.body["messages"][0]["content"] for each in server.seen}
    assert len(said) == 2
    assert "Be brief." in said
    names = [each.name for each in found.result.configurations]
    assert names == [f"sparse prompt={prompt} K={k}" for prompt in ("answer", "brief") for k in (1, 3)]


def test_configurations_keep_their_names_where_they_search_alike(tmp_path: Path) -> None:
    """Two names, one system: each has its own answers, and keys of the call are in no name."""
    with stream_server(write) as server:
        path = write_sweep(tmp_path, "")
        generators = {
            "cheap": 'model = "extractive:spans", contexts = [3]',
            "served": f'model = "m", base_url = "{server.url}", api_key_env = "", price_per_million_input = 1.0',
            "twice": f'model = "m", base_url = "{server.url}", api_key_env = "", concurrency = 1',
        }
        with path.open("a") as file:
            for name, keys in generators.items():
                file.write(f'[[configuration]]\nname = "{name}"\ngenerate = {{ {keys} }}\n')
        plan = SweepPlan.read(path)
        found = run(path)
        assert len(server.seen) == 2 * QUESTIONS
    assert [each.name for each in found.result.configurations] == ["cheap K=3", "served K=1", "served K=3"]
    assert [each.name for each in found.result.left_out] == ["twice"]
    assert {each.key for each in plan.axes} == {"K", "generate.model"}


def test_a_judge_of_answers_measures_them(tmp_path: Path) -> None:
    def grade(claim: str, text: str) -> int:
        return 3 if set(claim.rstrip(".").split()) & set(text.rstrip(".").split()) else 1

    with chat_server(grade) as judge:
        answers = f'[answers.judge]\nmodel = "j"\nbase_url = "{judge.url}"\napi_key_env = ""\nrounds = 1'
        path = write_sweep(tmp_path, 'model = "extractive:spans"', answers=f"orders = 1\n{answers}")
        found = run(path)
        calls = len(judge.seen)
        assert run(path).result.configurations == found.result.configurations
        assert len(judge.seen) == calls > 0
    assert found.result.quality == "correctness"
    assert found.result.configurations[1].measures["correctness"].expected == 1.0
    about = found.result.systems[1].answers
    assert about is not None
    assert about.table is not None
    assert (tmp_path / "out" / about.table).is_file()


def test_ties_reach_the_quality(tmp_path: Path) -> None:
    """Both passages of an odd question tie before the gold one: at K = 1 the first, and either, is answered from."""
    found = run(write_sweep(tmp_path, 'model = "extractive"', answers='measure = "token-F1"\norders = 2'))
    about = found.result.systems[0].answers
    assert about is not None
    assert about.answers == QUESTIONS + QUESTIONS // 2
    rows = found.queries.filter(configuration="sparse K=1", measure="token-F1")
    assert rows["query_id"].n_unique() == QUESTIONS
    assert (rows["lowest"] <= rows["expected"]).all()
    assert (rows["expected"] <= rows["highest"]).all()


def test_answers_that_are_not_known_are_bounded(tmp_path: Path) -> None:
    with stream_server(write) as server:
        server.trouble = lambda number: Trouble(finish="length") if number <= 3 else Trouble()
        path = write_sweep(tmp_path, served(server, 'model = "m"\nconcurrency = 1').replace("[1, 3]", "3"))
        path.write_text(path.read_text().replace("contexts = [1, 3]", "contexts = 3"))
        found = run(path)
    mean, about = found.result.configurations[0].measures["exact-match"], found.result.systems[0].answers
    assert about is not None
    assert (about.answers, about.unknown) == (QUESTIONS, 3)
    assert mean.lowest == pytest.approx(9 / 12)
    assert mean.highest == 1.0
    assert mean.expected == pytest.approx(10.5 / 12)
    assert any("3 answers are not known of 12" in note for note in found.result.systems[0].notes)


def test_a_server_that_is_down_does_not_stop_the_others(tmp_path: Path) -> None:
    generate = 'model = "m"\nbase_url = ["http://127.0.0.1:9/v1", "URL"]\napi_key_env = ""'
    with stream_server(write) as server:
        found = run(write_sweep(tmp_path, generate.replace("URL", server.url)))
    assert [each.k for each in found.result.configurations] == [1, 3]
    assert len(found.result.failed) == 2
    assert "127.0.0.1:9" in found.result.failed[0].name


def test_the_limit_of_the_sweep_stops_and_the_same_command_goes_on(tmp_path: Path) -> None:
    with stream_server(write) as server:
        path = write_sweep(tmp_path, served(server, 'model = "m"\nconcurrency = 1'))
        with pytest.raises(InputError, match="stopped before the max_cost"):
            run(path, max_cost=0.05)
        with open_existing_ledger(tmp_path / "out" / "answers" / "ledger.sqlite") as book:
            assert book is not None
            kept = book.totals()
        assert 0 < kept.calls == len(server.seen)
        assert kept.cost <= 0.05
        assert estimate(path, out=tmp_path / "out", cache=tmp_path / "cache").calls == 2 * QUESTIONS - kept.calls
        run(path, max_cost=1.0)
        assert len(server.seen) == 2 * QUESTIONS


@pytest.mark.slow
def test_a_killed_sweep_repeats_no_answered_call(tmp_path: Path) -> None:
    code = "import sys; from pathlib import Path; from trueval.tradeoff.runner.sweep import sweep; "
    code += "sweep(sys.argv[1], out=Path(sys.argv[2]), cache=Path(sys.argv[3]))"
    out = tmp_path / "out"
    with stream_server(write) as server:
        server.first = 0.05
        path = write_sweep(tmp_path, served(server, 'model = "m"\nconcurrency = 2'))
        given = [str(path), str(out), str(tmp_path / "cache")]
        for wanted in (4, 12):
            process = subprocess.Popen([sys.executable, "-W", "ignore", "-c", code, *given], cwd=ROOT)
            deadline = time.monotonic() + 60
            while len(server.seen) < wanted and process.poll() is None and time.monotonic() < deadline:
                time.sleep(0.01)
            os.kill(process.pid, signal.SIGKILL)
            process.wait()
        with open_existing_ledger(out / "answers" / "ledger.sqlite") as book:
            assert book is not None
            kept = book.totals().calls
        before = len(server.seen)
        found = run(path)
        assert len(server.seen) - before == 2 * QUESTIONS - kept
        assert kept >= 4
    assert list(qualities(found).values()) == [0.5, 1.0]


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (("[answers]", "[answerz]"), "no table"),
        (
            ('[answers]\nreferences = "references.jsonl"\nmeasure = ["exact-match", "token-F1"]\norders = 1\n', ""),
            "references",
        ),
        (('model = "extractive"', ""), "nobody answers"),
        (('model = "extractive"', "temperature = 0.5"), "no model is named"),
        (('model = "extractive"', 'model = ["extractive", "extractive"]'), "different ones"),
        (('model = "extractive"', 'model = "extractive"\nconcurrency = [1, 2]'), "does not change answers"),
        (('"exact-match"', '"exact-matsch"'), "no measure of answers"),
        (('"exact-match"', '"correctness"'), r"Add \[answers.judge\]"),
        (('["exact-match", "token-F1"]', '"abstention-wrong"'), "higher is better"),
    ],
)
def test_bad_tables_are_refused_with_their_line(change: tuple[str, str], told: str, tmp_path: Path) -> None:
    path = write_sweep(tmp_path, 'model = "extractive"')
    path.write_text(path.read_text().replace(*change))
    with pytest.raises(InputError, match=told) as refused:
        SweepPlan.read(path)
    assert "sweep.toml" in str(refused.value)


def test_what_cannot_be_answered_is_refused_before_any_work(tmp_path: Path) -> None:
    path = write_sweep(tmp_path, 'model = "m"\nbase_url = "http://127.0.0.1:9/v1"\napi_key_env = ""')
    with pytest.raises(InputError, match="Add --out DIR"):
        sweep(path, cache=tmp_path / "cache")
    with pytest.raises(InputError, match="the prices are not known"):
        run(path, max_cost=1.0)
    (tmp_path / "references.jsonl").write_text('{"query_id": "other", "reference": "x"}\n')
    with pytest.raises(InputError, match="no question of the sweep has a reference"):
        run(path)


def test_questions_without_a_reference_are_left_out_and_named(tmp_path: Path) -> None:
    path = write_sweep(tmp_path, 'model = "extractive:spans"')
    lines = (tmp_path / "references.jsonl").read_text().splitlines(keepends=True)
    (tmp_path / "references.jsonl").write_text("".join(lines[1:]))
    found = run(path)
    assert found.result.configurations[0].measures["exact-match"].queries == QUESTIONS - 1
    assert any("1 question has no reference, such as 'q0'" in note for note in found.result.notes)
