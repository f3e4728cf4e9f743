"""Judging on demand in a sweep: each unjudged document is labelled once, old labels stay, and no label is lost."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.extras import need
from tests.golden import chat
from tests.golden.test_bills import LONGEST, worst
from tests.tradeoff import made
from tests.tradeoff.made import SMALL

import trueval as tv
from trueval.errors import InputError, PolicyError, TruevalWarning
from trueval.models.hosted.account import round_up_amount
from trueval.models.missing_work import MissingWork
from trueval.tradeoff.config.plan import SweepPlan
from trueval.tradeoff.runner.sweep import sweep
from trueval.tradeoff.runner.sweep_estimate import estimate

need("faiss", "bm25s", extra="retrieval")
need("safetensors", extra="models")

JUDGE = '\n[judge]\nmodel = "labels:all.trec"\nrounds = 1\n'
SERVED = """
[judge]
model = "grader"
base_url = "{url}"
api_key_env = ""
rounds = 1
price_per_million_input = 1.0
price_per_million_output = 1.0
"""


@pytest.fixture
def seen(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    found: list[Any] = []
    made.use(monkeypatch, found)
    return found


def true_grade(query: str, document: str) -> int:
    """A text of other words than the query is worth 1."""
    return 1 + min(4, len(set(query.split()) & set(document.split())))


def written(place: Path, judge: str = JUDGE) -> Path:
    """A sweep file, and labels of every pair beside it."""
    few = SMALL.replace(', "hybrid+rerank"', "").replace("depth = [5, 10]", "depth = 5")
    file = made.written(place, few.replace("RA-nWG@K", "nDCG@K") + judge)
    texts = {
        name: {row["_id"]: row["text"] for row in map(json.loads, (place / "made" / name).read_text().splitlines())}
        for name in ("corpus.jsonl", "queries.jsonl")
    }
    rows = [
        f"{query} 0 {id} {true_grade(asked, text)}"
        for query, asked in texts["queries.jsonl"].items()
        for id, text in texts["corpus.jsonl"].items()
    ]
    (place / "all.trec").write_text("\n".join(rows) + "\n")
    return file


def rows_of(judgments: tv.Judgments) -> dict[tuple[str, str], float]:
    return {(query, document): grade for query, document, grade, *_ in judgments.frame.iter_rows()}


def test_what_nobody_judged_is_labelled_once_and_all_are_measured_by_it(tmp_path: Path, seen: list[Any]) -> None:
    file, out = written(tmp_path), tmp_path / "out"
    found = sweep(file, out=out).to_dict()
    assert not found["failed"]
    old, new, every = (
        rows_of(tv.Judgments.read(str(place)))
        for place in (tmp_path / "made" / "qrels.trec", out / "judged.trec", tmp_path / "all.trec")
    )
    assert {pair: new[pair] for pair in old} == old
    assert all(new[pair] == every[pair] for pair in new.keys() - old.keys())
    # All that some system has among its first ten, and nothing else.
    wanted = set()
    for system in found["systems"]:
        run = tv.Run.read(out / "runs" / f"{system['key']}.parquet")
        scores: dict[str, list[tuple[float, str]]] = {}
        for query, document, score, *_ in run.frame.select("query_id", "doc_id", "score").iter_rows():
            scores.setdefault(query, []).append((score, document))
        for query, listed in scores.items():
            tenth = sorted((score for score, _ in listed), reverse=True)[:10][-1]
            wanted |= {(query, document) for score, document in listed if score >= tenth}
    assert new.keys() == old.keys() | wanted
    assert (found["judge"]["unjudged"], found["judge"]["new"]) == (len(wanted - old.keys()),) * 2
    assert found["judge"]["retrieved"] == len(wanted)
    lines = [json.loads(line) for line in (out / "judged.labels.jsonl").read_text().splitlines()]
    assert Counter((each["query"], each["document"]) for each in lines) == Counter(wanted - old.keys())
    assert {each["judged"] for each in found["configurations"]} == {1.0}
    judgments = tv.Judgments.read(str(out / "judged.trec"))
    for each in found["configurations"]:
        run = tv.Run.read(out / "runs" / f"{found['systems'][each['system']]['key']}.parquet")
        value = tv.evaluate(run, judgments, [each["quality"]])[each["quality"]].expected
        assert each["measures"][each["quality"]]["expected"] == pytest.approx(value, abs=1e-12)
    assert any("a judge errs" in note for note in found["notes"])
    # The same command asks nothing, and finds the same.
    seen.clear()
    again = sweep(file, out=out).to_dict()
    assert not seen
    assert again["judge"] == found["judge"]
    assert again["configurations"] == found["configurations"]


def test_the_judge_sees_queries_as_people_wrote_them(tmp_path: Path, seen: list[Any]) -> None:
    (tmp_path / "short.jsonl").write_text(
        "".join(f'{{"_id": "q{n}", "text": "word{n}"}}\n' for n in range(made.QUERIES))
    )
    file = written(tmp_path)
    file.write_text('[queries]\nrewrite = "short.jsonl"\n' + file.read_text())
    found = sweep(file, out=tmp_path / "out")  # labels are found by the texts: a rewritten query would have none
    assert found.to_dict()["judge"]["new"] > 0
    assert not found.failed


def test_before_and_after_the_work_it_is_said_what_there_is_to_judge(tmp_path: Path, seen: list[Any]) -> None:
    file, out = written(tmp_path, f"{JUDGE}batch = 5\n"), tmp_path / "out"
    before = next(task for task in estimate(file, out=out, probe=lambda *_: 0.0).work if task.stage == "grade")
    systems = len(SweepPlan.read(file).systems)
    assert not before.exact
    assert before.items == made.QUERIES * min(10 * systems, made.DOCUMENTS)
    assert before.calls == before.items / 5  # a pool of 10 for each system fills its batches
    assert not out.exists()
    found = sweep(file.parent / "sweep.toml", out=out).to_dict()
    assert found["judge"]["new"] < before.items
    assert found["judge"]["calls"] <= before.calls
    assert not [task for task in estimate(file, out=out, probe=lambda *_: 0.0).work if task.stage == "grade"]
    (out / "judge.sqlite").unlink()
    after = next(task for task in estimate(file, out=out, probe=lambda *_: 0.0).work if task.stage == "grade")
    assert (after.exact, after.items, after.calls) == (True, found["judge"]["new"], found["judge"]["calls"])


def judging(file: Path, out: Path) -> MissingWork:
    return next(task for task in estimate(file, out=out, probe=lambda *_: 0.0).work if task.stage == "grade")


def test_what_is_in_the_cache_is_estimated_as_it_is_judged(tmp_path: Path, seen: list[Any]) -> None:
    with chat.chat_server(true_grade) as server:
        server.bills = chat.thirds
        file = written(tmp_path, SERVED.format(url=server.url) + "max_completion_tokens = 2000\n")
        first = judging(file, tmp_path / "out")
        with pytest.warns(TruevalWarning, match="passages"):
            paid = sweep(file, out=tmp_path / "out").to_dict()["judge"]
        assert first.at_most is not None
        assert paid["new"] <= first.items
        assert paid["cost"] <= first.at_most
        # Another directory: the runs of all systems are in the cache, and the ledger is not there.
        known = judging(file, tmp_path / "other")
        assert (known.exact, known.items, known.calls) == (True, paid["new"], paid["calls"])
        server.seen.clear()
        with pytest.warns(TruevalWarning, match="passages") as told:
            again = sweep(file, out=tmp_path / "other").to_dict()["judge"]
        assert (known.items, known.calls) == (again["new"], len(server.seen))
        assert again["cost"] <= known.at_most
        notice = next(str(each.message) for each in told if "grader" in str(each.message))
        assert f"for about {known.cost:.4g}, at most {round_up_amount(known.at_most)}" in notice


def test_documents_that_tie_at_the_last_place_are_in_what_it_costs_at_most(tmp_path: Path, seen: list[Any]) -> None:
    with chat.chat_server(true_grade) as server:
        server.bills = chat.thirds
        file = written(tmp_path, SERVED.format(url=server.url) + "max_completion_tokens = 2000\ndepth = 1\n")
        rows = [json.loads(line) for line in (tmp_path / "made" / "corpus.jsonl").read_text().splitlines()]
        text = next(row["text"] for row in rows if len(row["text"]) > 10)
        same = "".join(json.dumps({**row, "text": text}) + "\n" for row in rows)
        (tmp_path / "made" / "corpus.jsonl").write_text(same)
        queries = [json.loads(line) for line in (tmp_path / "made" / "queries.jsonl").read_text().splitlines()]
        (tmp_path / "made" / "queries.jsonl").write_text(
            "".join(json.dumps({**row, "text": text}) + "\n" for row in queries)
        )
        before = estimate(file, out=tmp_path / "out", probe=lambda *_: 0.0)
        (task,) = (each for each in before.work if each.stage == "grade")
        assert any("tie with the last" in note for note in before.notes)
        with pytest.warns(TruevalWarning, match="passages"):
            paid = sweep(file, out=tmp_path / "out").to_dict()["judge"]
        assert paid["unjudged"] > task.items, "everything ties"
        assert task.at_most is not None
        assert paid["cost"] <= task.at_most


def test_a_sweep_that_grows_is_estimated_with_the_batches_that_change(tmp_path: Path, seen: list[Any]) -> None:
    """A query that gains a document is asked about its others in other batches too: the ledger does not know these."""
    with chat.chat_server(true_grade) as server:
        server.bills = worst
        table = f"max_completion_tokens = {LONGEST}\ndepth = 20\nbatch = 4\n"
        file, out = written(tmp_path, SERVED.format(url=server.url) + table), tmp_path / "out"
        rows = (tmp_path / "made" / "qrels.trec").read_text().splitlines()
        (tmp_path / "made" / "qrels.trec").write_text("\n".join(rows[::25]) + "\n")
        whole = file.read_text().replace(', "dense+rerank"', "")
        file.write_text(whole.replace('methods = ["dense", "sparse"]', 'methods = ["sparse"]'))
        assert file.read_text() != whole
        with pytest.warns(TruevalWarning, match="passages"):
            sweep(file, out=out)
        file.write_text(whole)
        said = judging(file, out)
        server.billed.clear()
        with pytest.warns(TruevalWarning, match="passages"):
            sweep(file, out=out)
        assert said.at_most is not None
        assert 0 < len(server.billed) <= said.calls
        assert sum(map(sum, server.billed)) / 1e6 <= said.at_most


def test_the_budget_is_hard_and_what_was_paid_is_kept(tmp_path: Path, seen: list[Any]) -> None:
    with chat.chat_server(true_grade) as server:
        server.bills = chat.thirds
        text = SERVED.format(url=server.url)
        file, out = written(tmp_path, text), tmp_path / "out"
        told = next(task for task in estimate(file, out=out, probe=lambda *_: 0.0).work if task.model == "grader")
        assert told.cost is not None
        assert told.cost > 0
        with pytest.warns(TruevalWarning, match="passages"), pytest.raises(InputError, match="max_cost"):
            sweep(written(tmp_path, text + f"max_cost = {told.cost / 4}\n"), out=out)
        paid = len(server.seen)
        assert paid > 0
        assert not (out / "judged.trec").exists()
        assert not (out / "sweep.json").exists()
        seen.clear()
        with pytest.warns(TruevalWarning, match="passages"):
            found = sweep(written(tmp_path, text + f"max_cost = {told.cost * 2}\n"), out=out).to_dict()
        assert not seen  # every system was kept
        assert found["judge"]["new"] == found["judge"]["unjudged"]
        assert len(server.seen) == found["judge"]["calls"]  # none was asked twice
        assert found["judge"]["cost"] <= told.cost
        assert file.exists()


def test_what_the_sweep_may_cost_holds_for_its_judge_too(tmp_path: Path, seen: list[Any]) -> None:
    with chat.chat_server(true_grade) as server:
        server.bills = chat.thirds
        file, out = written(tmp_path, SERVED.format(url=server.url)), tmp_path / "out"
        told = next(task for task in estimate(file, out=out, probe=lambda *_: 0.0).work if task.model == "grader")
        assert told.cost is not None
        limit = told.cost / 4
        with pytest.warns(TruevalWarning, match="passages"), pytest.raises(InputError, match="max_cost"):
            sweep(file, out=out, max_cost=limit)
        assert sum(map(sum, server.billed)) / 1e6 <= limit
    (tmp_path / "labels").mkdir()
    assert sweep(written(tmp_path / "labels"), out=tmp_path / "free", max_cost=0.0).judge, "labels cost nothing"


def test_what_cannot_be_is_said_before_any_work(tmp_path: Path, seen: list[Any]) -> None:
    file = written(tmp_path)
    with pytest.raises(InputError, match="Add --out DIR"):
        sweep(file)
    binary = (tmp_path / "made" / "qrels.trec").read_text().splitlines()
    (tmp_path / "made" / "qrels.trec").write_text("".join(f"{line[:-1]}{int(line[-1]) // 4}\n" for line in binary))
    with pytest.raises(PolicyError, match=r"scale = .* in \[judge\]"):
        sweep(file, out=tmp_path / "out")
    with pytest.raises(PolicyError, match=r"in \[judge\]"):
        estimate(file, out=tmp_path / "out")
    scaled = written(tmp_path, JUDGE + 'scale = "1:0,2:0,3:0,4:1,5:1"\n')
    assert not seen
    found = sweep(scaled, out=tmp_path / "out")
    assert set(rows_of(tv.Judgments.read(str(tmp_path / "out" / "judged.trec"))).values()) == {0, 1}
    assert np.isfinite(found.to_dict()["configurations"][0]["measures"]["nDCG@3"]["expected"])


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        ("[judge]\nrounds = 2\n", r"\[judge\] needs model"),
        ("[judge]\nmodel = 'a'\nroundz = 3\n", "Did you mean rounds"),
        ("[judge]\nmodel = 'a'\nscale = '1;2'\n", "old:new pairs"),
        ("[judge]\nmodel = 'labels:x'\nprompt = 'y'\n", "has no prompt"),
        ("[judge]\nmodel = 'a'\n[measure]\nnames = ['alpha_nDCG@10']\n", "needs facets"),
    ],
)
def test_a_bad_table_is_told_with_its_line(tmp_path: Path, lines: str, said: str) -> None:
    file = tmp_path / "sweep.toml"
    file.write_text(f'[corpus]\npath = "made"\n[sparse]\nindex = "bm25"\n{lines}')
    with pytest.raises(InputError, match=said):
        SweepPlan.read(file)
