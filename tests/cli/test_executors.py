"""--on: where models run."""

from __future__ import annotations

import sys

import pytest
import typer

from trueval.cli.executors import executor_on
from trueval.errors import MissingExtraError
from trueval.threads import Processes


def test_threads_are_this_process() -> None:
    for where in (None, "threads", "processes:1"):
        with executor_on(where) as executor:
            assert executor is None


def test_processes_are_as_many_as_named() -> None:
    with executor_on("processes:2") as executor:
        assert isinstance(executor, Processes)
        assert list(executor.map(abs, [-1, 2])) == [1, 2]


@pytest.mark.parametrize("where", ["processes", "processes:0", "processes:x", "threads:2", "rays", "cluster"])
def test_what_is_accepted_is_said(where: str) -> None:
    with (
        pytest.raises(typer.BadParameter, match=r"threads, processes:N, ray or ray:HOST:PORT\. Got"),
        executor_on(where),
    ):
        pytest.fail("it was accepted")


def test_without_the_extra_the_command_that_installs_it_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(MissingExtraError, match=r'pip install "trueval\[scale\]"'), executor_on("ray"):
        pytest.fail("it was accepted")
