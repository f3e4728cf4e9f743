"""`trueval retrieve --live`: a run of what a retriever answers, its page, and a job that was killed and goes on."""

import json
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from tests.extras import need
from tests.retrieval.live.engine import serving

import trueval as tv
from trueval.sample import sample_path

need("httpx2", extra="hosted")


@pytest.fixture
def collection(tmp_path: Path) -> Path:
    folder = tmp_path / "collection"
    folder.mkdir()
    rows = [json.dumps({"_id": f"q{place}", "text": f"a question {place}"}) for place in range(9)]
    (folder / "queries.jsonl").write_text("\n".join(rows) + "\n")
    judged = [f"q{place}\td{place:02}\t1" for place in range(9)]
    (folder / "qrels.tsv").write_text("\n".join(["query-id\tcorpus-id\tscore", *judged]) + "\n")
    return folder


def test_runs_results_and_page_are_written(trueval, collection: Path, tmp_path: Path):
    out = tmp_path / "out"
    with serving() as engine:
        engine.shuffles = True
        words = ["retrieve", collection, "--live", engine.url, "-k", 10, "--repeats", 2, "--out", out]
        found = trueval(*words, "-m", "R@10", "--cache", tmp_path / "cache", columns=120)
        assert found.status == 0, found.err
        assert len(engine.asked) == 18
        assert not [*(tmp_path / "cache").glob("*")], "the ledger is gone, as the results are written"
    assert "2 calls of 127.0.0.1" in found.out
    assert "listed different documents for 9 of 9 queries: only among equal scores in 9." in " ".join(found.out.split())
    assert re.search(r"R@10 +0\.\d{4} +0\.\d{4} +0\.\d{4} +0\.\d{4} +0\.\d{4}", found.out)
    first, second = (tv.Run.read(out / name) for name in ("run.trec", "run-2.trec"))
    assert not first.frame.equals(second.frame)
    result = json.loads((out / "live.json").read_text())
    calls = result["measures"]["R@10"]["calls"]
    for run, value in zip((first, second), calls, strict=True):
        assert tv.evaluate(run, collection / "qrels.tsv", "R@10")["R@10"].expected == pytest.approx(value)
    assert (out / "live.csv").read_text().splitlines()[
        0
    ] == "measure,expected,lowest,highest,calls_lowest,calls_highest"
    page = (out / "report.html").read_text()
    assert "Queries whose calls differ" in page
    assert "Live retrieval" in page


def test_a_job_that_is_killed_goes_on_where_it_was(trueval, collection: Path, tmp_path: Path):
    run, cache = tmp_path / "run.jsonl", tmp_path / "cache"
    with serving() as engine:
        engine.seconds = 0.02
        words = ["retrieve", collection, "--live", engine.url, "--at-once", "1", "--cache", cache, "--run", run]
        program = [sys.executable, "-c", "from trueval.__main__ import run; run()", *map(str, words)]
        process = subprocess.Popen(program, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        while process.poll() is None and len(engine.asked) < 5:
            time.sleep(0.005)
        process.send_signal(signal.SIGKILL)
        process.communicate()
        kept = len(next(cache.glob("live-*.jsonl")).read_bytes().splitlines()) - 1
        assert 3 <= kept < 9
        assert not run.exists()
        engine.asked.clear()
        found = trueval(*words)
        assert found.status == 0, found.err
        assert len(engine.asked) in (9 - kept, 10 - kept)  # the last line may be half
        assert "answers are of an interrupted job that began" in " ".join(found.err.split())
        again = trueval(*words)
    assert "interrupted" not in again.err
    assert len(tv.Run.read(run).query_ids) == 9


def test_a_command_is_asked_and_its_contexts_are_written(trueval, tmp_path: Path):
    script = tmp_path / "search.py"
    script.write_text("import json\nprint(json.dumps({'results': [{'id': 'p002', 'score': 1.5}, ['p005', 1.5]]}))\n")
    live = ["retrieve", sample_path(), "--live", f"{sys.executable} {script}", "-k", 2]
    (tmp_path / "asked.jsonl").write_text('{"_id": "q01", "text": "wings"}\n')
    log, run = tmp_path / "contexts.jsonl", tmp_path / "run.trec"
    found = trueval(*live, "--queries", tmp_path / "asked.jsonl", "--run", run, "--contexts", log, "--format", "json")
    assert found.status == 0, found.err
    result = json.loads(found.out)
    assert (result["retriever"], result["lists"]["documents"], result["lists"]["unknown"]) == ("search", 2, 0)
    assert all(name in log.read_text() for name in ("p002", "p005"))


REFUSED = {
    "a pipeline too": (["--live", "x {text}", "--index", "bm25"], "goes with a pipeline or an index"),
    "alone": (["--index", "bm25", "--repeats", "2"], "goes with --live"),
    "measures of nothing": (["--live", "x {text}", "-m", "RR"], "needs judgments: name them by --qrels"),
    "contexts of nothing": (["--live", "x {text}", "--contexts", "c.jsonl"], "needs the texts of a corpus"),
    "no file": (["--live", "none.toml"], "none.toml: cannot be read"),
}


@pytest.mark.parametrize(("words", "said"), REFUSED.values(), ids=REFUSED)
def test_what_does_not_go_together_is_refused(trueval, collection: Path, tmp_path: Path, words: list[str], said: str):
    (collection / "qrels.tsv").unlink()
    found = trueval("retrieve", collection, *words, "--run", tmp_path / "run.trec")
    assert found.status in (1, 2)
    assert said in " ".join(found.err.split()).replace("│ ", "")
