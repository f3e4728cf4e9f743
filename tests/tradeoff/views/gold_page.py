"""The gold page of a sweep and its frontier: how it is made.

Make it anew, after looking at the difference, with: PYTHONPATH=src python -m tests.tradeoff.views.gold_page
"""

import json
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from tests.report.gold_page import scrubbed
from tests.tradeoff.frontiers import made_frontier
from tests.tradeoff.sweeps import made_sweep

from trueval.report.kinds import read_directory
from trueval.report.page import page

FILE = Path(__file__).with_name("gold") / "page.html"
EVIL = '<script>alert("x")</script> & $a_1$'


@cache
def gold_files() -> dict[str, Any]:
    """The results: eight configurations, one of them with a name that is a script."""
    sweep = made_sweep(dimensions=(384,), cutoffs=(10, 50))
    sweep["systems"][1]["name"] = EVIL
    for configuration in sweep["configurations"]:
        if configuration["system"] == 1:
            configuration["name"] = f"{EVIL} K={configuration['K']}"
    return {"sweep.json": sweep, "frontier.json": made_frontier(sweep)}


def gold_page() -> str:
    """The page of these, without the library of plots."""
    with TemporaryDirectory() as parent:
        folder = Path(parent) / "gold"
        folder.mkdir()
        for name, result in gold_files().items():
            (folder / name).write_text(json.dumps(result), encoding="utf-8")
        return page(read_directory(folder), live=False)


if __name__ == "__main__":
    FILE.parent.mkdir(exist_ok=True)
    FILE.write_text(scrubbed(gold_page()), encoding="utf-8", newline="\n")
