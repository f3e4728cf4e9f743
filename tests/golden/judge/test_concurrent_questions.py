"""Asking many questions: what is under way when it stops is kept."""

import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from trueval.errors import InputError
from trueval.golden.judge.concurrent_questions import ask_all
from trueval.golden.judge.judge import JudgeAnswer, JudgeLabel, Question, Task
from trueval.golden.judge.ledger import open_ledger


class Slow:
    """Answers its first questions once so many are asked at once."""

    name = "slow"

    def __init__(self, at_once: int, fails: int = -1, error: BaseException | None = None) -> None:
        self.gate, self.fails, self.error = threading.Barrier(at_once, timeout=10), fails, error
        self.at_once, self.lock, self.asked = at_once, threading.Lock(), 0

    def identity(self, task: Task) -> Mapping[str, Any]:
        return {}

    def ask(self, question: Question) -> JudgeAnswer:
        with self.lock:
            self.asked += 1
            first = self.asked <= self.at_once
        if first:
            self.gate.wait()
        if question.sample == self.fails:
            raise self.error or InputError("no money")
        return JudgeAnswer((JudgeLabel(3),))


def questions(count: int) -> list[Question]:
    return [Question("grade", "q", ("text",), sample) for sample in range(count)]


def test_answers_come_in_the_order_of_the_questions(tmp_path: Path) -> None:
    told = []
    with open_ledger(tmp_path / "l.sqlite") as ledger:
        twice = [*questions(6), *questions(6)]
        found = ask_all(ledger, Slow(3), twice, at_once=3, step=lambda *each: told.append(each))
        assert len(found) == 12
        assert ledger.totals().calls == 6
    assert told[-1] == ("questions", 6, 6)


@pytest.mark.parametrize("error", [InputError("no money"), KeyboardInterrupt()])
def test_what_is_under_way_is_kept(tmp_path: Path, error: BaseException) -> None:
    judge = Slow(4, fails=1, error=error)
    with open_ledger(tmp_path / "l.sqlite") as ledger:
        with pytest.raises(type(error)):
            ask_all(ledger, judge, questions(40), at_once=4)
        # Of those that were under way one failed; few more were sent until that was seen, and none after.
        assert judge.asked <= 20  # of 40; how many depends on when threads run
        assert ledger.totals().calls == judge.asked - 1
        found = ask_all(ledger, Slow(1), questions(40), at_once=1)
        assert len(found) == 40
