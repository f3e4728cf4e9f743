"""How the reshuffle of runs looks: neighbors of many runs, all of few, nothing where lists are not known."""

from dataclasses import replace

import pytest

import trueval as tv
from trueval.comparison.comparison import Comparison
from trueval.comparison.views.compare import view


def compared(runs: int) -> Comparison:
    lists = {f"run {at}": {query: {f"d{at + i}": 9.0 - i for i in range(9)} for query in "qr"} for at in range(runs)}
    return tv.compare(lists, {"q": {"d7": 1}, "r": {"d8": 1}}, "RR", resamples=1000)


@pytest.mark.parametrize(("runs", "rows"), [(3, 3), (7, 6)])
def test_many_runs_show_neighbors_and_the_page_all(runs: int, rows: int) -> None:
    (section,) = (each for each in view(compared(runs)).sections if each.id == "reshuffle")
    text, page = section.sheets
    assert text.title.startswith("lists: the first 10 results, 2 queries")
    assert (text.only, len(text.rows)) == ("text", rows)
    assert ("neighbors in the first ranking; JSON has all 21 pairs" in text.title) == (runs == 7)
    assert (page.only, len(page.rows)) == ("page", runs * (runs - 1) // 2)


def test_scores_without_lists_have_no_such_table() -> None:
    shown = view(replace(compared(2), reshuffle=None))
    assert "reshuffle" not in [each.id for each in shown.sections]
    assert not [line for line in shown.legend if line.startswith("overlap")]


def test_lists_of_one_document_are_noted_beside_their_rbo() -> None:
    """Extrapolated from one rank: 1 where the longer list begins with the document, 0 where it lacks it."""
    lists = {"q": {"a": 2.0, "b": 1.0}, "r": {"a": 2.0, "b": 1.0}}
    judgments = {"q": {"a": 1}, "r": {"b": 1}}
    for single, rbo in (("a", 1.0), ("x", 0.0)):
        found = tv.compare({"one": lists, "other": {**lists, "r": {single: 1.0}}}, judgments, "RR", resamples=1000)
        assert found.reshuffle is not None
        assert found.reshuffle.pairs[0].rbo == pytest.approx((1 + rbo) / 2)
        assert [line for line in view(found).legend if "For 1 query a run lists one document: RBO goes by one" in line]
    whole = tv.compare({"one": lists, "other": lists}, judgments, "RR", resamples=1000)
    assert not [line for line in view(whole).legend if "lists one document" in line]
