"""The page of 228 configurations in a real browser: it fits, stays light, and its plots answer each other."""

import json
from pathlib import Path
from typing import Any

import pytest
from tests.report.browser import Tab
from tests.tradeoff.frontiers import made_frontier
from tests.tradeoff.sweeps import large_sweep

from trueval.report.kinds import read_directory
from trueval.report.page import page

pytestmark = pytest.mark.slow

MARKS = "[...document.querySelectorAll('#frontier-chart .mark-symbol.role-mark path')]"


@pytest.fixture(scope="module")
def sweep() -> dict[str, Any]:
    return large_sweep()


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory, sweep: dict[str, Any]) -> Path:
    folder = tmp_path_factory.mktemp("sweep")
    for name, result in {"sweep.json": sweep, "frontier.json": made_frontier(sweep)}.items():
        (folder / name).write_text(json.dumps(result), encoding="utf-8")
    path = folder / "report.html"
    path.write_text(page(read_directory(folder)), encoding="utf-8")
    return path


def live(tab: Tab) -> None:
    """Scrolls to the chart, and waits until scripts have drawn it."""
    tab.value(
        "new Promise((done) => { const chart = document.getElementById('frontier-chart'); "
        "chart.scrollIntoView(); const look = () => "
        "document.querySelector('figure[data-live]') ? done(true) : setTimeout(look, 50); look(); })"
    )


@pytest.mark.parametrize(("width", "beside"), [(1280, True), (390, False)])
def test_two_plots_are_beside_each_other_where_there_is_room(tab: Tab, file: Path, width: int, beside: bool) -> None:
    assert file.stat().st_size < 2_000_000
    tab.open(file, width=width, scheme="dark" if beside else "light")
    live(tab)
    assert [event["params"] for event in tab.complaints()] == []
    assert tab.requests() == [file.as_uri()]
    assert tab.value("document.documentElement.scrollWidth <= window.innerWidth")
    assert tab.value("document.querySelectorAll('*').length") < 8_000
    titles = (
        "[...document.querySelectorAll('#frontier-chart .role-axis-title text')]"
        ".filter((each) => each.textContent).map((each) => each.getBoundingClientRect())"
    )
    first, second = json.loads(tab.value(f"JSON.stringify({titles})"))
    assert (abs(first["top"] - second["top"]) < 5) == beside
    assert (abs(first["left"] + first["width"] / 2 - second["left"] - second["width"] / 2) < 40) != beside
    shown = json.loads(
        tab.value("JSON.stringify(document.querySelector('#frontier-chart svg').getBoundingClientRect())")
    )
    assert 0.85 * (width - 96 * beside - 32 * (not beside)) < shown["width"] <= width


def test_a_choice_of_k_leaves_the_points_of_that_k(tab: Tab, file: Path, sweep: dict[str, Any]) -> None:
    tab.open(file, width=1280)
    live(tab)
    every = [each for each in sweep["configurations"] if sweep["systems"][each["system"]]["latency"]]
    every += [each for each in sweep["configurations"] if each["cost"]["total"] is not None]
    assert tab.value(f"{MARKS}.length") == len(every)
    options = tab.value("[...document.querySelector('.controls select').options].map((each) => each.textContent)")
    assert options == ["all", "10", "20", "50"]
    tab.value(
        "new Promise((done) => { const select = document.querySelector('.controls select'); select.selectedIndex = 2; "
        "for (const kind of ['input', 'change']) select.dispatchEvent(new Event(kind, {bubbles: true})); "
        f"const began = Date.now(); const look = () => {MARKS}.length < {len(every)} || Date.now() - began > 20000 "
        "? setTimeout(() => done(true), 300) : setTimeout(look, 50); look(); })"
    )
    assert tab.value(f"{MARKS}.length") == sum(each["K"] == 20 for each in every)


def test_what_is_brushed_in_one_plot_is_near_in_both(tab: Tab, file: Path) -> None:
    tab.open(file, width=1280)
    live(tab)
    far = f"{MARKS}.filter((each) => Number(each.getAttribute('opacity')) <= 0.15).length"
    assert tab.value(far) == 0
    tab.value("document.getElementById('frontier-chart').scrollIntoView({block: 'center'})")
    grid = "document.querySelectorAll('#frontier-chart .brush_brush_bg')[0]"
    box = json.loads(tab.value(f"JSON.stringify({grid}.ownerSVGElement.getBoundingClientRect())"))
    start, end = (box["left"] + 42, box["top"] + 60), (box["left"] + 200, box["top"] + 220)
    # A busy machine draws late and may miss a first move: what must come is waited for, and asked again.
    for _ in range(4):
        for kind, (x, y), buttons in (("mousePressed", start, 1), ("mouseMoved", end, 1), ("mouseReleased", end, 0)):
            tab.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", buttons=buttons, clickCount=1)
        if tab.value(
            "new Promise((done) => { const began = Date.now(); const look = () => "
            f"{far} > 1 ? setTimeout(() => done(true), 300) : Date.now() - began > 5000 ? done(false) : "
            "setTimeout(look, 50); look(); })"
        ):
            break
    half = f"{box['left'] + box['width'] / 2}"
    for side in ("<", ">"):
        mine = f"{MARKS}.filter((each) => each.getBoundingClientRect().left {side} {half})"
        dimmed = tab.value(f"{mine}.filter((each) => Number(each.getAttribute('opacity')) <= 0.15).length")
        assert 0 < dimmed < tab.value(f"{mine}.length"), side
