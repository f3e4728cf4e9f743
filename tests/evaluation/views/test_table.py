import io

import pytest
from rich.console import Console
from tests.report.results import results, value

from trueval.evaluation.views.kind import EVALUATE
from trueval.report.number_texts import FRACTIONS, POINTS, ValueUnit


def draw(content: dict, width: int = 80, scale: ValueUnit = FRACTIONS) -> list[str]:
    console = Console(width=width, file=io.StringIO(), color_system=None, highlight=False)
    console.print(EVALUATE.write(content, "table", scale=scale))
    return console.file.getvalue().splitlines()  # type: ignore[attr-defined]


def test_six_runs_and_five_measures_fit_in_eighty_columns() -> None:
    names = ["bm25", "bm25+rm3", "bm25+t5(zs)", "bm25+bert(zs)", "bm25+rm3+t5(zs)", "bm25+rm3+bert(zs)"]
    measures = ["nDCG@10", "RR@10", "AP@100", "R@100", "P@10"]
    lines = draw(results({name: dict.fromkeys(measures, value(0.2, 0.25, 0.4, 0.3)) for name in names}))
    assert max(map(len, lines)) <= 80
    rows = [line.split() for line in lines]
    for name in names:
        assert rows.count([name, "0.2500", "[0.2000,", "0.4000]", "0.2000", "0.3000", "+0.0500", "0.0100", "*"]) == 5


def test_one_run_has_a_row_for_each_measure() -> None:
    lines = draw(results({"a": {"RR": value(0.5, 0.5, 0.5, 0.5), "P@5": value(0.2, 0.2, 0.2, 0.2)}}))
    first = lines.index("Values and tie ranges")
    assert [line.split()[0] for line in lines[first + 1 : first + 5]] == ["measure", "a", "RR", "P@5"]
    assert "No order of ties changes any of these numbers." in lines


def test_what_is_not_available_is_a_dash_and_bounds_are_marked() -> None:
    bounds = value(0.2, 0.25, 0.4, None) | {"exact": False}
    lines = draw(results({"a": {"RR": bounds}}))
    assert ["RR", "0.2500", "[0.2000,", "0.4000]", "0.2000", "–", "–", "0.0100", "°"] in [
        line.split() for line in lines
    ]
    assert any(line.startswith("° not exact: lowest and highest are bounds") for line in lines)


def test_cut_queries_are_counted_and_explained() -> None:
    content = results({"a": {"RR": value(0.2, 0.25, 0.4, 0.3)}})
    content["runs"][0]["ties"] = {"tied_fraction": 0.5, "largest_group": 3, "cut_queries": ["4", "7"]}
    lines = draw(content)
    assert ["a", "50", "0.5000", "3", "2", "0", "0"] in [line.split() for line in lines]
    assert any("a (2)" in line for line in lines)


def test_queries_are_listed_where_the_results_hold_them() -> None:
    content = results({"a": {"RR": value(0.2, 0.25, 0.4, 0.3)}})
    assert not any("q7" in line for line in draw(content))
    row = {
        "query": "q7",
        "measure": "RR",
        "expected": 0.25,
        "lowest": 0.2,
        "highest": 0.4,
        "tie_broken": 0.3,
        "sd": 0.1,
    }
    content["runs"][0]["per_query"] = [row]
    wanted = ["q7", "RR", "0.2500", "[0.2000,", "0.4000]", "0.3000", "0.1000"]
    assert wanted in [line.split() for line in draw(content)]


def test_points_are_a_hundred_times_the_values_and_named() -> None:
    content = results({"a": {"RR": value(0.2, 0.25, 0.4, 0.3)}})
    lines = draw(content, scale=POINTS)
    assert ["RR", "25.00", "[20.00,", "40.00]", "20.00", "30.00", "+5.00", "1.00"] in [line.split() for line in lines]
    assert ["a", "50", "25.00", "7", "0", "0", "0"] in [line.split() for line in lines]
    assert "Values in points: 100 times those of the JSON." in lines
    assert not any("points" in line for line in draw(content))


def test_markup_in_names_is_text() -> None:
    lines = draw(results({"[bold]x": {"RR": value(0.2, 0.25, 0.4, 0.3)}}))
    assert any("[bold]x" in line for line in lines)


@pytest.mark.parametrize(
    ("policy", "shown"),
    [
        ({"tie_order": "docid-desc", "convention": None, "judged_only": False, "seed": 3}, "tie order docid-desc"),
        ({"tie_order": "random", "seed": 0, "judged_only": True}, "tie order random, seed 0, judged only True"),
        ({"rel": 0.0, "tie_precision": 0.25}, "rel 0, tie precision 0.25"),
    ],
)
def test_the_policy_is_named(policy: dict, shown: str) -> None:
    content = results({"a": {"RR": value(0.5, 0.5, 0.5, 0.5)}}) | {"policy": policy}
    assert draw(content)[-1] == f"policy: {shown}"
