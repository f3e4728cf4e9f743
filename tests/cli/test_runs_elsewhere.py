"""Commands that evaluate runs elsewhere print and write what they do here."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from tests.cli.conftest import Command


class Sent:
    """Another process: what it gets and gives is sent."""

    def map(self, work: Callable[[Any], Any], items: Iterable[Any], /) -> Iterator[Any]:
        given = pickle.loads(pickle.dumps([work, [*items]]))
        yield from [pickle.loads(pickle.dumps(given[0](item))) for item in given[1]]


@contextmanager
def executor_on(where: str | None) -> Iterator[Any]:
    yield None if where is None else Sent()


@pytest.fixture
def files(tmp_path: Path) -> list[str]:
    """Judgments and six runs whose documents are tied in many ways."""
    rows = [(q, d) for q in range(4) for d in range(8)]
    (tmp_path / "qrels.trec").write_text("".join(f"q{q} 0 d{d} {(q + d) % 3}\n" for q, d in rows), encoding="utf-8")
    for number in range(6):
        lines = [f"q{q} Q0 d{d} 1 {(q + d * (number + 2)) % (number + 1)} x\n" for q, d in rows]
        (tmp_path / f"run{number}.trec").write_text("".join(lines), encoding="utf-8")
    return [str(tmp_path / "qrels.trec"), *(str(tmp_path / f"run{number}.trec") for number in range(6))]


@pytest.mark.parametrize("command", ["evaluate", "compare", pytest.param("leaderboard", marks=pytest.mark.slow)])
def test_runs_evaluated_elsewhere_give_the_same(
    command: str, files: list[str], trueval: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(import_module("trueval.cli.compare"), "MOST_IN_MEMORY", 2)
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "0")
    few = ("--resamples", "200") if command == "compare" else ()
    out, told, kept = tmp_path / "out", [], []
    for name in ("threads", "elsewhere"):  # in one folder: results hold the command as it was given
        on = executor_on(None if name == "threads" else name)
        monkeypatch.setattr(import_module(f"trueval.cli.{command}"), "executor_on", lambda _, on=on: on)
        told.append(trueval(command, *files, "-m", "RR", *few, "--format", "json", "--out", out))
        kept.append({file.name: file.read_bytes() for file in sorted(out.iterdir()) if file.is_file()})
        out.rename(tmp_path / name)
    assert told[0].status == 0, told[0].err
    assert told[0].out == told[1].out
    assert {name for name in kept[0] if kept[0][name] != kept[1][name]} == set()


@pytest.mark.slow
@pytest.mark.parametrize("command", ["evaluate", "compare"])
def test_processes_give_the_same(command: str, files: list[str], trueval: Command, tmp_path: Path) -> None:
    few = ("--resamples", "200") if command == "compare" else ()
    told = [trueval(command, *files, "-m", "RR", *few, "--format", "json", *on) for on in ((), ("--on", "processes:2"))]
    assert told[0].status == 0, told[0].err
    assert told[0].out == told[1].out
