"""How many calls a second the client sends, against threads that do nothing but post the same bodies."""

from __future__ import annotations

import http.client
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import pytest

from trueval.golden.judge.concurrent_questions import ask_all
from trueval.golden.judge.judge import Question
from trueval.golden.judge.ledger import open_ledger
from trueval.golden.judge.model_judge import JudgeSettings, ModelJudge
from trueval.golden.judge.prompt import messages, prompts_for

SECONDS = 0.1  # that an answer takes
# Another process: a server in ours would wait for the same interpreter as the client.
SERVER = f"""
import sys
from tests.golden.chat import chat_server
with chat_server(lambda query, text: 3) as server:
    server.seconds = {SECONDS}
    print(server.url, flush=True)
    sys.stdin.readline()
    print(server.peak, len(server.seen), flush=True)
    sys.stdin.read()
"""


class Seen(NamedTuple):
    most: int  # calls under way at once
    calls: int


@contextmanager
def served() -> Iterator[tuple[str, Callable[[], Seen]]]:
    """The URL of a server, and what asks it once what it saw."""
    root = Path(__file__).parents[2]
    command = [sys.executable, "-c", SERVER]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen(command, cwd=root, env={**os.environ, "PYTHONPATH": "src:."}, text=True, **pipes) as process:
        said, told = process.stdout, process.stdin
        assert said is not None
        assert told is not None

        def seen() -> Seen:
            told.write("\n")
            told.flush()
            return Seen(*map(int, said.readline().split()))

        yield said.readline().strip(), seen
        process.communicate()


@pytest.mark.evidence
@pytest.mark.parametrize("at_once", [1, 8, 32])
def test_the_client_keeps_the_server_busy(at_once: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("K", "k")
    pytest.importorskip("openai")
    calls = 40 + 20 * at_once
    questions = [Question("grade", "query", tuple(f"passage {n} {m} " * 40 for m in range(8))) for n in range(calls)]
    with served() as (url, seen), open_ledger(tmp_path / "l.sqlite") as ledger:
        use = JudgeSettings(model="m", base_url=url, api_key_env="K", concurrency=at_once)
        judge = ModelJudge(use, prompts_for("grade-1-5"))
        judge.ask(questions[0])
        judge.throttle.limit = float(at_once)  # what it would learn in the first calls
        began, worked = time.perf_counter(), time.process_time()
        ask_all(ledger, judge, questions, at_once=at_once)
        ours, work = calls / (time.perf_counter() - began), (time.process_time() - worked) / calls
        there = seen()
        bare = _bare(url, {"model": "m", "messages": messages(judge.prompts["grade"], questions[0])}, calls, at_once)
    print(
        f"\n{at_once} at once: {ours:.1f} calls/s, bare threads {bare:.1f}, {at_once / SECONDS:.0f} if nothing else "
        f"took time; {1000 * work:.1f} ms of processor a call"
    )
    assert there.calls == calls + 1
    assert there.most <= at_once
    assert work < 0.02
    # Where others work on this machine, our processor time is many times as long by the clock.
    assert ours > 0.1 * bare


def _bare(url: str, body: dict[str, Any], calls: int, at_once: int) -> float:
    """The rate of threads that post a body again and again."""
    data, place = json.dumps(body).encode(), urlsplit(url)

    def post(count: int) -> None:
        connection = http.client.HTTPConnection(place.hostname or "", place.port)
        for _ in range(count):
            connection.request("POST", "/v1/chat/completions", data, {"content-type": "application/json"})
            connection.getresponse().read()
        connection.close()

    began = time.perf_counter()
    with ThreadPoolExecutor(at_once) as pool:
        list(pool.map(post, [calls // at_once] * at_once))
    return calls // at_once * at_once / (time.perf_counter() - began)
