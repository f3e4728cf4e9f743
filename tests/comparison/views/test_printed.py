"""Comparisons as Python shows them."""

import re

import pytest

from trueval import Judgments, Run, compare
from trueval.comparison.comparison import Comparison

QUERIES = [f"q{n}" for n in range(12)]
JUDGMENTS = Judgments.from_dict({query: {"a": 1} for query in QUERIES})


def comparison(name: str = "good", **choices: str) -> Comparison:
    good = Run.from_dict({query: {"a": 2.0, "b": 1.0} for query in QUERIES}, name=name)
    bad = Run.from_dict({query: {"a": 1.0, "b": 2.0} for query in QUERIES}, name="bad")
    return compare([bad, good], JUDGMENTS, ["RR", "P@1"], resamples=200, **choices)


def test_print_is_the_table_of_the_command() -> None:
    shown = str(comparison())
    assert repr(comparison()) == shown
    assert shown.index("good") < shown.index("bad")
    assert "RR: higher is better, 12 queries" in shown
    assert "1.0000" in shown
    assert "\x1b" not in shown
    assert max(map(len, shown.splitlines())) <= 100


def test_notebooks_get_html_that_is_escaped() -> None:
    shown = comparison("<b>")._repr_html_()
    assert "&lt;b&gt;" in shown
    assert re.findall("<b>.{29}", shown) == ["<b>&lt;b&gt; is better than bad "]  # the answer is bold
    assert len(re.findall("<table", shown)) == 6
    assert "+0.5000" in shown


def test_many_runs_show_neighbors_only() -> None:
    runs = {f"run{n}": {q: ["b"] * (at < n) + ["a"] for at, q in enumerate(QUERIES)} for n in range(7)}
    found = compare(runs, JUDGMENTS, "RR", resamples=100)
    shown = found._repr_html_()
    table = re.findall(
        r"RR: differences, neighbors in the ranking \(--pairs all shows all 21 pairs\).*?</table>", shown
    )[0]
    rows = [re.findall("<td.*?>(.*?)</td>", row)[:2] for row in re.findall("<tr>.*?</tr>", table)[1:]]
    assert rows == [[f"run{at}", f"run{at + 1}"] for at in range(6)]
    assert len(found.to_polars()) == 21


def test_against_a_baseline_too() -> None:
    assert "baseline" in str(comparison(baseline="bad"))
    assert "good is better than bad in RR" in str(comparison(baseline="bad"))


def test_pandas_has_a_row_for_each_difference() -> None:
    pytest.importorskip("pandas")
    frame = comparison().to_pandas()
    assert frame["measure"].tolist() == ["RR", "P@1"]
    assert frame["expected"].tolist() == [-0.5, -1.0]
