"""The chart of the frontier: which points it has, which are marked, and where numbers would hide each other."""

import html
import json
import math
import re
from typing import Any

import pytest
from tests.tradeoff.frontiers import made_frontier
from tests.tradeoff.sweeps import large_sweep, made_sweep

from trueval.report.inline_svg import inline
from trueval.report.number_texts import format_value
from trueval.tradeoff.frontier.frontier_result import FrontierResult
from trueval.tradeoff.runner.sweep_result import SweepResult
from trueval.tradeoff.views import points as drawn
from trueval.tradeoff.views.frontier import chart_figure
from trueval.tradeoff.views.frontier_chart import HEIGHT, MARGIN, WIDTH, ChartAxis, _kind, frontier_chart
from trueval.tradeoff.views.points import ConfigurationPoint


def points_of_sweep(sweep: dict[str, Any]) -> list[ConfigurationPoint]:
    return drawn.points_of_sweep(SweepResult.from_dict(sweep))


def points_of_frontier(frontier: dict[str, Any]) -> list[ConfigurationPoint]:
    return drawn.points_of_frontier(FrontierResult.from_dict(frontier))


def chart_of(points: list[ConfigurationPoint]) -> dict[str, Any]:
    chart = frontier_chart(points, "p50", "USD")
    assert chart is not None
    return dict(chart)


def rows_of(points: list[ConfigurationPoint]) -> list[dict[str, Any]]:
    return list(chart_of(points)["datasets"]["points"])


def test_every_configuration_is_a_point_with_its_file() -> None:
    sweep = made_sweep()
    rows = {row["name"]: row for row in rows_of(points_of_sweep(sweep))}
    assert rows.keys() == {each["name"] for each in sweep["configurations"]}
    for each in sweep["configurations"]:
        row, system = rows[each["name"]], sweep["systems"][each["system"]]
        assert row["file"] == system["file"]
        assert row["quality"] == pytest.approx(each["measures"][each["quality"]]["expected"], abs=1e-5)
        assert row["ms"] == pytest.approx(1000 * system["latency"]["p50"]["value"], abs=1e-5)
        assert row["cost"] == pytest.approx(each["cost"]["total"], abs=1e-5)


@pytest.mark.parametrize(
    ("on", "chance", "rank"),
    [
        (True, 0.95, "sure"),
        (False, 0.95, "sure"),
        (True, 0.05, "possible"),
        (False, 0.3, "possible"),
        (False, 0.05, "not"),
        (True, None, "sure"),
        (False, None, "not"),
    ],
)
def test_a_point_is_drawn_by_its_chance(on: bool, chance: float | None, rank: str) -> None:
    point = points_of_sweep(made_sweep())[0]
    assert point._replace(on=on, chance=chance).rank == rank


def test_points_of_a_frontier_are_those_of_its_sweep() -> None:
    sweep = made_sweep()
    frontier = made_frontier(sweep)
    mine, others = points_of_sweep(sweep), points_of_frontier(frontier)
    same = ("name", "quality", "interval", "ties", "latency", "cost", "k", "method", "measure")
    assert [[getattr(each, name) for name in same] for each in mine] == [
        [getattr(each, name) for name in same] for each in others
    ]
    for points in (mine, others):
        numbers = [each.number for each in points if each.on]
        assert numbers == list(range(1, len(numbers) + 1))
        assert len(numbers) > 1
    assert {each.name for each in others if each.on} == {
        each["name"] for each in frontier["points"] if each["on_frontier"]
    }


def test_what_is_not_known_is_left_out_of_its_panel_alone() -> None:
    sweep = large_sweep()
    rows = rows_of(points_of_sweep(sweep))
    assert 0 < sum("ms" not in row for row in rows) < len(rows)
    assert 0 < sum("cost" not in row for row in rows) < len(rows)
    priced = made_sweep(latency=False)
    (panel,) = [chart_of(points_of_sweep(priced))]
    assert "concat" not in panel
    assert len(panel["layer"]) > 3
    bare = points_of_sweep(made_sweep(latency=False, priced=False))
    assert chart_figure(bare, "RA-nWG@K", "p50", "") is None
    assert chart_figure(points_of_sweep(made_sweep())[:1], "RA-nWG@K", "p50", "USD") is None


def test_numbers_do_not_hide_each_other() -> None:
    """Where all are on the frontier, those shown are apart in both panels by the size of their digits."""
    points = [each._replace(on=True, number=at) for at, each in enumerate(points_of_sweep(made_sweep()), start=1)]
    rows = rows_of(points)
    for field in ("ms", "cost"):
        values = [row[field] for row in rows]
        kind = _kind(ChartAxis(field, "", tuple(values), False))
        scale = {"log": math.log, "linear": float, "sqrt": math.sqrt}[kind]
        across = (scale(max(values)) - scale(min(values))) / WIDTH
        up = (rows[0]["quality"] - rows[-1]["quality"]) / HEIGHT
        shown = [(scale(row[field]) / across, row["quality"] / up) for row in rows if f"number_{field}" in row]
        assert 3 < len(shown) < len(rows)
        assert rows[0][f"number_{field}"] == "1"
        for at, (x, y) in enumerate(shown):
            assert all(abs(x - a) > 15 or abs(y - b) > 12 for a, b in shown[:at])


@pytest.mark.parametrize(
    ("values", "kind"),
    [((1.0, 2.0, 3.0), "linear"), ((1.0, 2.0, 30.0), "log"), ((0.0, 0.1, 30.0), "sqrt"), ((0.0, 20.0, 30.0), "linear")],
)
def test_an_axis_spreads_what_would_be_in_a_corner(values: tuple[float, ...], kind: str) -> None:
    assert _kind(ChartAxis("cost", "", values, False)) == kind


def test_both_panels_share_one_brush() -> None:
    chart = chart_of(points_of_sweep(made_sweep()))
    (brush,) = [each for each in chart["params"] if each["name"] == "brush"]
    names = [layer["name"] for panel in chart["concat"] for layer in panel["layer"] if "name" in layer]
    assert brush["views"] == names
    assert len(names) == 2


def test_the_static_plot_has_a_mark_for_each_point_with_what_it_says() -> None:
    sweep = made_sweep(methods=("dense",))
    points = points_of_frontier(made_frontier(sweep))
    svg = inline(chart_of(points))
    told = [html.unescape(text) for text in re.findall("<title>(.*?)</title>", svg)]
    for point in points:
        mine = [
            text for text in told if text.startswith(f"{point.name}: {point.measure} {format_value(point.quality)}, ")
        ]
        assert len(mine) == 2, point.name
    assert "clip" not in svg


def test_two_plots_are_under_one_another_on_a_phone() -> None:
    points = points_of_sweep(made_sweep())
    wide, narrow = (frontier_chart(points, "p50", "USD", width=width) for width in (920, 350))
    assert (wide["columns"], narrow["columns"]) == (2, 1)
    for chart, width in ((wide, 920), (narrow, 350)):
        assert chart["columns"] * (chart["concat"][0]["width"] + MARGIN) <= width


def test_a_paper_has_no_brush() -> None:
    points = points_of_sweep(made_sweep())
    still = frontier_chart(points, "p50", "USD", live=False)
    assert "brush" in json.dumps(chart_of(points))
    assert "brush" not in json.dumps(still)
