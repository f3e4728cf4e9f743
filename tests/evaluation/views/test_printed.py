"""Scores as Python shows them."""

import dataclasses

import pytest

from trueval import Judgments, Run, evaluate, explain
from trueval.errors import MeasureError
from trueval.evaluation.scores import Scores

JUDGMENTS = Judgments.from_dict({"q": {"a": 1}, "r": {"b": 1}})


def scores(name: str = "tied", measures: str = "RR P@1 gm(AP)") -> Scores:
    run = Run.from_dict({"q": {"a": 1.0, "b": 1.0}, "r": {"b": 2.0, "a": 1.0}}, name=name)
    return evaluate(run, JUDGMENTS, measures)


def test_print_is_a_table_of_one_line_a_measure() -> None:
    """q is 1 or 1/2 with equal chance, and r is 1: .875 on average, between .75 and 1, sd .25 / 2."""
    title, head, *lines = str(scores()).splitlines()
    assert title == "tied: 2 queries, 50.00% of documents tied, tie order docid-desc"
    assert head.split() == ["measure", "expected", "lowest,", "highest", "tie-broken", "sd", "queries"]
    assert lines[0].split() == ["RR", "0.8750", "[0.7500,", "1.0000]", "0.7500", "0.1250", "2"]
    assert [line.split()[0] for line in lines] == ["RR", "P@1", "gm(AP)"]
    assert repr(scores()) == str(scores())


def test_a_hundred_queries_print_no_more_lines_than_two() -> None:
    queries = [f"q{n}" for n in range(100)]
    run = Run.from_dict({query: {"a": 1.0, "b": 1.0} for query in queries})
    found = evaluate(run, Judgments.from_dict({query: {"a": 1} for query in queries}), "RR P@1")
    assert len(str(found).splitlines()) == 4


def test_the_table_says_that_there_are_notes() -> None:
    with pytest.warns(UserWarning, match="."):
        found = evaluate(Run.from_dict({"q": {"a": 1.0}}), JUDGMENTS, "RR")
    assert f"{len(found.notes)} note" in str(found).splitlines()[0]


def test_a_bound_has_its_mark() -> None:
    lines = str(dataclasses.replace(scores(), exact=(True, False, True))).splitlines()
    assert ["°" in line for line in lines] == [False, False, False, True, False]


def test_notebooks_get_html_that_is_escaped() -> None:
    shown = scores("<b>bold</b>")._repr_html_()
    assert "&lt;b&gt;bold&lt;/b&gt;: 2 queries" in shown
    assert "<b>" not in shown
    assert "0.8750" in shown


def test_scores_read_like_a_dict_of_measures() -> None:
    found = scores()
    assert found["RR"] == found.mean("RR")
    assert found[found.measures[1]].expected == 0.75
    assert list(found) == ["RR", "P@1", "gm(AP)"] == list(found.keys())
    assert len(found) == 3
    assert dict(found) == found.means() == dict(found.items())
    assert list(found.values()) == list(found.means().values())
    assert "RR" in found
    assert found.measures[0] in found
    assert found["p@1"] == found["P_1"] == found["P@1"]
    assert ("AP" in found, "no such" in found, 3 in found) == (False, False, False)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("P@10", r"P@10 was not evaluated. Evaluated: RR, P@1, gm\(AP\). Did you mean P@1\?"),
        ("P@", "P@ was not evaluated"),
        ("nonsense", r"nonsense was not evaluated. Evaluated: RR, P@1, gm\(AP\)\.$"),
    ],
)
def test_a_measure_that_was_not_evaluated_names_the_nearest(name: str, message: str) -> None:
    with pytest.raises(MeasureError, match=message):
        scores()[name]


def test_scores_are_never_false_and_hash_as_before() -> None:
    found = scores()
    assert found
    assert len({found, found, scores()}) == 2
    assert found != scores()


def test_pandas_has_a_row_for_each_query_and_measure() -> None:
    pytest.importorskip("pandas")
    frame = scores().to_pandas()
    assert frame.shape == (6, 7)
    assert frame["sd"].isna().sum() == scores().to_polars()["sd"].null_count()


def test_an_explanation_prints_the_tables_of_the_command() -> None:
    found = explain({"q": {"a": 1.0, "b": 1.0}}, {"q": {"a": 1}}, "RR", conventions=["trec_eval", "ranx"])
    assert "RR of run under each convention" in str(found)
    assert all(name in repr(found) for name in ("trec_eval", "ranx", "0.7500"))
    assert max(map(len, str(found).splitlines())) <= 100
