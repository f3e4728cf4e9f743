"""A plugin of pytest that records which test runs which line, and how long each test takes.

What a fixture runs that several tests share counts for each of them.

    COVERING=FILE python -m pytest -p mutants.covering ...

writes FILE.sqlite (lines by test, the data file of coverage) and FILE.json (seconds by test that passed).
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import coverage
import pytest

_file = Path(os.environ["COVERING"])
# Started before trueval is imported, so that what runs at import is seen as well, under no test.
_watched = coverage.Coverage(
    data_file=str(_file.with_suffix(".sqlite")),
    config_file=False,
    include=["*/src/trueval/*", "src/trueval/*"],
    messages=False,
)
_watched.set_option("run:relative_files", value=True)
_watched.erase()
_watched.start()
_seconds: dict[str, float] = {}
_failed: set[str] = set()
_running = [""]
# Tests that use a fixture, by its name, of those that several tests may share.
_users: dict[str, list[str]] = {}


@contextmanager
def _under(context: str) -> Iterator[None]:
    """The lines that run meanwhile belong to a test, or to a fixture that several share."""
    _running.append(context)
    _watched.switch_context(context)
    try:
        yield
    finally:
        _running.pop()
        _watched.switch_context(_running[-1])


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    """Says which test the lines belong to that run now, and which fixtures it uses."""
    used = item._fixtureinfo.name2fixturedefs.values() if isinstance(item, pytest.Function) else ()
    for fixture in (each for fixtures in used for each in fixtures if each.scope != "function"):
        _users.setdefault(_name(fixture), []).append(item.nodeid)
    with _under(item.nodeid):
        return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_fixture_setup(fixturedef: pytest.FixtureDef[object]) -> Iterator[None]:
    """Says which fixture the lines belong to: they run once, in the first test of those that share it."""
    with _under(_running[-1] if fixturedef.scope == "function" else _name(fixturedef)):
        return (yield)


def _name(fixture: pytest.FixtureDef[object]) -> str:
    return f"{fixture.baseid}::{fixture.argname}"


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Adds up what a test took; one that does not pass says nothing about mutants."""
    _seconds[report.nodeid] = _seconds.get(report.nodeid, 0.0) + report.duration
    if report.outcome != "passed":
        _failed.add(report.nodeid)


def pytest_sessionfinish() -> None:
    """Writes both files."""
    _watched.stop()
    _watched.save()
    data = _watched.get_data()
    for fixture, tests in _users.items():
        data.set_query_context(fixture)
        lines = {file: data.lines(file) or () for file in data.measured_files()}
        for test in tests if any(lines.values()) else ():
            data.set_context(test)
            data.add_lines(lines)
    times = {name: round(seconds, 3) for name, seconds in _seconds.items() if name not in _failed}
    _file.with_suffix(".json").write_text(json.dumps(times, indent=0), encoding="utf-8")
