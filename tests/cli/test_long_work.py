"""Long work in a pipe: a line a minute, and silence where somebody watches or the work is short."""

import re
import time
from collections.abc import Callable

import pytest

from trueval.cli.long_work import bars
from trueval.cli.progress import progress


@pytest.fixture
def said(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Callable[[], list[str]]:
    """What went to stderr, which is no terminal; a minute is a tenth of a second."""
    monkeypatch.setattr("trueval.cli.progress.EVERY", 0.1)

    def lines() -> list[str]:
        return capsys.readouterr().err.splitlines()

    return lines


def test_work_in_a_pipe_says_every_minute_how_far_it_is(said: Callable[[], list[str]]) -> None:
    with bars() as bar:
        step = bar("dense")
        step("documents", 0, 200)
        time.sleep(0.15)
        step("documents", 50, 200)
        time.sleep(0.3)
    lines = said()
    assert 3 <= len(lines) <= 5
    assert lines[0].startswith("dense: documents, 0 of 200, after ")
    speed, _, rest = lines[-1].removeprefix("dense: documents, 50 of 200 (25 %), ").partition(" a second, after ")
    assert 50 / 2 < float(speed) < 50 / 0.3  # in 0.45 s, or longer on a busy machine
    assert ", about " in rest


def test_what_an_earlier_command_did_is_no_speed_of_this_one(said: Callable[[], list[str]]) -> None:
    with bars() as bar:
        step = bar("dense")
        step("documents", 150, 200)
        time.sleep(0.15)
        step("documents", 160, 200)
        time.sleep(0.15)
    lines = said()
    assert " a second" not in lines[0]
    assert "left" not in lines[0]
    line = re.fullmatch(r"dense: documents, 160 of 200 \(80 %\), ([0-9.]+) a (second|minute), after .* left", lines[-1])
    assert line is not None
    assert float(line[1]) / {"second": 1, "minute": 60}[line[2]] < 10 / 0.15


def test_work_that_says_nothing_of_itself_is_said_to_go_on(said: Callable[[], list[str]]) -> None:
    with bars() as bar:
        bar("loading")
        time.sleep(0.25)
    assert said()[0].startswith("loading, after ")


def test_short_work_is_silent(said: Callable[[], list[str]]) -> None:
    with bars() as bar:
        bar("dense")("documents", 1, 2)
    with progress(2) as begin:
        begin("a")
    assert said() == []


def test_reading_in_a_pipe_says_every_minute_what_is_read(said: Callable[[], list[str]]) -> None:
    with progress(3) as begin:
        begin("qrels")
        begin("run")
        time.sleep(0.25)
    assert said()[0].startswith("reading run, 1 of 3 (33 %), after ")
