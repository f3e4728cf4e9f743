"""How the reshuffle of runs looks: neighbors of many runs, all of few, nothing where lists are not known."""

from typing import Any

import pytest

import trueval as tv
from trueval.comparison.views.reshuffle import block
from trueval.comparison.views.tables import to_markdown
from trueval.report.result_directory import ResultFile


def compared(runs: int) -> dict[str, Any]:
    lists = {f"run {at}": {query: {f"d{at + i}": 9.0 - i for i in range(9)} for query in "qr"} for at in range(runs)}
    return dict(tv.compare(lists, {"q": {"d7": 1}, "r": {"d8": 1}}, "RR", resamples=1000).to_dict())


@pytest.mark.parametrize(("runs", "rows"), [(3, 3), (7, 6)])
def test_many_runs_show_neighbors_and_the_page_all(runs: int, rows: int) -> None:
    comparison = compared(runs)
    text = to_markdown(comparison).partition("### lists: the first 10 results, 2 queries")[2]
    assert sum(line.startswith("| run") for line in text.splitlines()) == rows
    assert ("Neighbors in the first ranking" in text) == (runs == 7)
    (found,) = block(ResultFile("comparison.json", "compare", comparison))
    assert len(found.tables[0].rows) == runs * (runs - 1) // 2


def test_scores_without_lists_have_no_such_table() -> None:
    comparison = compared(2) | {"reshuffle": None}
    assert "lists:" not in to_markdown(comparison)
    assert block(ResultFile("comparison.json", "compare", comparison)) == ()
