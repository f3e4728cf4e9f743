"""A process that was killed holds nobody up: what it asked for is asked again at once."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import pytest

from trueval.golden.judge.judge import JudgeAnswer, JudgeLabel, Question
from trueval.golden.judge.ledger import open_ledger
from trueval.models.hosted.call_owners import OWNER, is_alive


class Judge:
    name = "mine"

    def identity(self, task: str) -> dict[str, str]:
        return {"task": task}

    def ask(self, question: Question) -> JudgeAnswer:
        return JudgeAnswer((JudgeLabel(3),) * len(question.passages))


def test_processes_that_ended_and_that_run() -> None:
    host, mine, _ = OWNER.rsplit(":", 2)
    child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    try:
        assert is_alive(f"{host}:{child.pid}:x")
        child.kill()
        deadline = time.monotonic() + 5
        while is_alive(f"{host}:{child.pid}:x") and time.monotonic() < deadline:
            time.sleep(0.01)
        assert not is_alive(f"{host}:{child.pid}:x")  # a zombie: nobody has waited for it yet
    finally:
        child.communicate()
    assert not is_alive(f"{host}:{child.pid}:x")
    assert is_alive(f"elsewhere:{child.pid}:x")
    assert not is_alive(f"{host}:{mine}:x")


@pytest.mark.parametrize(("alive", "waits"), [(True, True), (False, False)])
def test_a_claim_is_waited_for_while_its_process_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, alive: bool, waits: bool
) -> None:
    question = Question("grade", "q", ("a",))
    waited: list[float] = []
    clock = iter(range(0, 10**6, 100))
    with open_ledger(tmp_path / "l.sqlite") as first, open_ledger(tmp_path / "l.sqlite") as second:
        from trueval.golden.judge.judge import key_of

        assert first._claim(key_of(Judge(), question), 0.0)
        monkeypatch.setattr("trueval.golden.judge.ledger.is_alive", lambda owner: alive)
        answer, new = second.ask(Judge(), question, now=lambda: float(next(clock)), wait=waited.append)
        assert (answer.labels, new) == ((JudgeLabel(3),), True)
    assert bool(waited) == waits


def test_a_claim_names_this_process() -> None:
    assert is_alive(OWNER)
