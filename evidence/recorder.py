"""A plugin of pytest that the runner loads: it keeps what tests print, and stops where the time of a part ends."""

from __future__ import annotations

import json
import os
import random
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

SETTINGS: dict[str, Any] = json.loads(os.environ.get("TRUEVAL_EVIDENCE", "{}"))
# Folders whose parts are larger than the time: their tests come in an order drawn by the seed.
SAMPLED = ("tests/truth/",)

began = time.monotonic()
figures: dict[str, str] = {}
outcomes: Counter[str] = Counter()
collected = [0]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Shuffle the tests of parts of which a sample is run."""
    if items and items[0].nodeid.startswith(SAMPLED):
        random.Random(SETTINGS["seed"]).shuffle(items)


def pytest_collection_finish(session: pytest.Session) -> None:
    """Note how many tests there are."""
    collected[0] = len(session.items)


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Keep what a test printed, and its outcome."""
    if report.when == "call" or report.outcome != "passed":
        outcomes["error" if report.failed and report.when != "call" else report.outcome] += 1
    if report.when == "call" and report.capstdout.strip():
        figures[report.nodeid.partition("::")[2]] = report.capstdout


def pytest_runtest_teardown(item: pytest.Item) -> None:
    """Begin no further test after the time."""
    if time.monotonic() - began > SETTINGS["seconds"]:
        item.session.shouldstop = "the time of the part has ended"


def pytest_sessionfinish() -> None:
    """Write what was kept."""
    words = ", ".join(f"{count} {outcome}" for outcome, count in sorted(outcomes.items(), key=lambda each: each[0]))
    run = sum(outcomes.values())
    outcome = words + (f", of {collected[0]}" if run < collected[0] else "")
    text = json.dumps({"outcome": outcome or "no tests", "figures": figures})
    Path(SETTINGS["report"]).write_text(text, encoding="utf-8")
