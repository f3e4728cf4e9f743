"""A plugin of pytest that records which test runs which line, and how long each test takes.

    COVERING=FILE python -m pytest -p mutants.covering ...

writes FILE.sqlite (lines by test, the data file of coverage) and FILE.json (seconds by test that passed).
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
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


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    """Says which test the lines belong to that run now."""
    _watched.switch_context(item.nodeid)
    try:
        return (yield)
    finally:
        _watched.switch_context("")


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Adds up what a test took; one that does not pass says nothing about mutants."""
    _seconds[report.nodeid] = _seconds.get(report.nodeid, 0.0) + report.duration
    if report.outcome != "passed":
        _failed.add(report.nodeid)


def pytest_sessionfinish() -> None:
    """Writes both files."""
    _watched.stop()
    _watched.save()
    times = {name: round(seconds, 3) for name, seconds in _seconds.items() if name not in _failed}
    _file.with_suffix(".json").write_text(json.dumps(times, indent=0), encoding="utf-8")
