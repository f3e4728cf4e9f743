"""The page in a real browser: it draws, sorts, fits a phone, and asks for nothing."""

import json
from pathlib import Path
from typing import Any

import pytest
from tests.report.browser import Tab
from tests.report.gold_page import FOLDER
from tests.report.many_runs import made_results
from tests.report.test_page import packed_tables

from trueval.report.kinds import read_directory
from trueval.report.number_texts import NOT_AVAILABLE, format_difference, format_value
from trueval.report.page import page
from trueval.report.plots import shorten_name

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("page") / "report.html"
    path.write_text(page(read_directory(FOLDER)), encoding="utf-8")
    return path


@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_page_shows_without_complaint_and_without_the_network(
    tab: Tab, file: Path, width: int, scheme: str
) -> None:
    tab.open(file, width=width, scheme=scheme)
    live(tab)
    assert [event["params"] for event in tab.complaints()] == []
    assert tab.requests() == [file.as_uri()]
    shown = "[...document.querySelectorAll('.plot svg')].filter((each) => each.getBoundingClientRect().width > 0)"
    drawn = "document.getElementById('lead').querySelector({!r}).getBoundingClientRect().width > 300"
    assert tab.value(f"{shown}.length") >= 1
    assert tab.value(drawn.format(".wide svg" if width > 768 else ".narrow svg"))
    assert not tab.value(drawn.format(".narrow svg" if width > 768 else ".wide svg"))
    assert tab.value("document.documentElement.scrollWidth <= window.innerWidth")
    dark = tab.value("getComputedStyle(document.body).backgroundColor") == "rgb(20, 23, 27)"
    assert dark == (scheme == "dark")
    drawn = tab.value("getComputedStyle(document.querySelector('.plot svg text')).fill")
    assert drawn == tab.value("getComputedStyle(document.body).color")
    assert drawn == tab.value("getComputedStyle(document.querySelector('.stage svg .role-axis-label text')).fill")


def live(tab: Tab) -> None:
    """Scrolls to the chart that scripts draw, and waits until they have."""
    tab.value(
        "new Promise((done) => { const block = document.getElementById('per-query'); "
        "block.closest('details').open = true; block.scrollIntoView(); const look = () => "
        "document.querySelector('figure[data-live]') ? done(true) : setTimeout(look, 50); look(); })"
    )


def test_the_plot_library_is_unpacked_only_for_who_comes_near(tab: Tab, file: Path) -> None:
    tab.open(file, width=390)
    assert tab.value("window.vegaEmbed === undefined && !document.querySelector('figure[data-live]')")
    live(tab)
    assert tab.value("typeof window.vegaEmbed") == "function"


def test_the_browser_would_tell_of_a_request(tab: Tab, tmp_path: Path) -> None:
    """The test above can fail: the same checks see a page that asks for a file and one that runs a foreign script."""
    text = '<!DOCTYPE html><html data-ready><img src="absent.png"><script>console.log("x")</script></html>'
    (tmp_path / "page.html").write_text(text, encoding="utf-8")
    tab.open(tmp_path / "page.html", width=800)
    assert (tmp_path / "absent.png").as_uri() in tab.requests()
    assert tab.complaints()


def test_the_policy_of_the_page_stops_a_foreign_script(tab: Tab, file: Path, tmp_path: Path) -> None:
    text = file.read_text(encoding="utf-8").replace("</main>", "<script>window.ran = true</script></main>")
    (tmp_path / "page.html").write_text(text, encoding="utf-8")
    tab.open(tmp_path / "page.html", width=800)
    assert tab.value("window.ran === undefined")
    assert "Content Security Policy" in str(tab.complaints())


FIRST_COLUMN = "[...document.querySelectorAll('#means tbody tr')].map((row) => row.cells[2].textContent)"


def test_tables_sort_by_keyboard(tab: Tab, file: Path) -> None:
    tab.open(file, width=1280)
    tab.value("location.hash = '#means'")  # a link opens what it leads into
    tab.value("new Promise((done) => setTimeout(done, 100))")
    assert tab.value("document.getElementById('means').closest('details').open")
    heading = "document.querySelectorAll('#means th')[2]"
    tab.value(f"{heading}.querySelector('button').focus()")
    tab.press("Enter", 13)
    assert tab.value(f"{heading}.getAttribute('aria-sort')") == "descending"
    assert tab.value(FIRST_COLUMN) == ["0.8750", "0.7500", "0.5000", "0.5000"]
    tab.press("Enter", 13)
    assert tab.value(f"{heading}.getAttribute('aria-sort')") == "ascending"
    assert tab.value(FIRST_COLUMN) == ["0.5000", "0.5000", "0.7500", "0.8750"]
    others = "[...document.querySelectorAll('#means th')].filter((each) => each.getAttribute('aria-sort') !== 'none')"
    assert tab.value(f"{others}.length") == 1


def test_the_first_tab_stop_skips_to_the_answer(tab: Tab, file: Path) -> None:
    tab.open(file, width=1280)
    tab.press("Tab", 9)
    assert tab.value("document.activeElement.textContent") == "Skip to the answer"
    assert tab.value("document.activeElement.getBoundingClientRect().left") >= 0
    assert tab.value("getComputedStyle(document.activeElement).outlineStyle") == "solid"


def bars(tab: Tab) -> list[float]:
    """What the live chart says of its bars, from left to right."""
    told = "[...document.querySelectorAll('.stage .mark-rect path')].map((each) => each.__data__.datum)"
    return tab.value(
        f"{told}.sort((a, b) => a.place - b.place).map((each) => [each.query, each.middle, each.low, each.high])"
    )


def choose(tab: Tab, place: int, value: int) -> None:
    select = f"document.querySelectorAll('.controls select')[{place}]"
    tab.value(f"{select}.selectedIndex = {value}; {select}.dispatchEvent(new Event('change', {{bubbles: true}}))")
    tab.value("new Promise((done) => setTimeout(done, 200))")


def test_any_two_runs_can_be_compared_query_by_query(tab: Tab, file: Path) -> None:
    """Gold: RR@10 of the tied run is 3/4 [1/2, 1] and 1, of the other 1 and 1/2."""
    tab.open(file, width=1280)
    live(tab)
    assert bars(tab) == [["q2", 0.5, 0.5, 0.5], ["q1", -0.25, -0.5, 0.0]]
    choose(tab, 1, 0)  # nothing: the run's own values
    assert bars(tab) == [["q2", 1.0, 1.0, 1.0], ["q1", 0.75, 0.5, 1.0]]
    choose(tab, 3, 1)  # by tie range
    assert [row[0] for row in bars(tab)] == ["q1", "q2"]
    choose(tab, 0, 1)
    choose(tab, 1, 1)  # the other run less the tied one
    assert [row[1:] for row in bars(tab)] == [[0.25, 0.0, 0.5], [-0.5, -0.5, -0.5]]


def test_folded_tables_are_built_when_they_open(tab: Tab, file: Path) -> None:
    """What the script writes is what Python writes, to the last digit and the last half of one."""
    tab.open(file, width=1280)
    before = tab.value("document.querySelectorAll('*').length")
    assert tab.value("document.getElementById('per-query-table')") is None
    tab.value("document.querySelectorAll('details.rows').forEach((each) => { each.open = true; })")
    tab.value("new Promise((done) => setTimeout(done, 200))")
    assert tab.value("document.querySelectorAll('*').length") > before + 100
    for table in packed_tables(file.read_text(encoding="utf-8")):
        rows = f"[...document.querySelectorAll('#{table['id']} tbody tr')]"
        cells = tab.value(f"{rows}.flatMap((row) => [...row.cells].map((cell) => cell.textContent))")
        assert cells == [
            shown_text(column, cell)
            for row in table["rows"]
            for column, cell in zip(table["columns"], row[2:], strict=True)
        ]
        sources = tab.value(f"{rows}.map((row) => row.dataset.source)")
        assert sources == [row[0] for row in table["rows"]]


def shown_text(column: dict[str, Any], cell: Any) -> str:
    if isinstance(cell, list):
        return str(cell[1])
    if "numeric" not in column:
        return str(cell)
    return (
        NOT_AVAILABLE
        if cell is None
        else {"fixed": format_value, "signed": format_difference, "plain": str}[column["form"]](cell)
    )


@pytest.mark.parametrize(
    "value", [0.03125, -0.03125, 0.09375, 0.5, 1.0, -0.0, 3e-7, -3e-7, 0.29213, 0.84375, 1 / 3, 12.5]
)
def test_the_script_rounds_as_python_does(tab: Tab, file: Path, tmp_path: Path, value: float) -> None:
    """0.03125 is a half of the fourth decimal to the last bit: Python writes 0.0312, toFixed 0.0313."""
    text = file.read_text(encoding="utf-8")
    begin = text.index('<script type="application/json" data-table="per-query-table"')
    body = text.index(">", begin) + 1
    data = {"columns": [{"title": "v", "numeric": 1, "form": form} for form in ("fixed", "signed")]}
    data["rows"] = [["/0", 0, value, value]]
    changed = text[:body] + json.dumps(data) + text[text.index("</script>", body) :]
    (tmp_path / "page.html").write_text(changed, encoding="utf-8")
    tab.open(tmp_path / "page.html", width=800)
    details = "document.querySelector('[data-table=per-query-table]').closest('details')"
    tab.value(f"new Promise((done) => {{ {details}.open = true; setTimeout(done, 100); }})")
    cells = tab.value("[...document.querySelectorAll('#per-query-table td')].map((each) => each.textContent)")
    assert cells == [format_value(value), format_difference(value)]


def test_what_is_behind_a_line_is_there_when_it_opens(tab: Tab, file: Path) -> None:
    tab.open(file, width=1280)
    case = "document.querySelector('details.case')"
    assert tab.value(f"{case}.querySelector('table')") is None
    tab.value(f"new Promise((done) => {{ {case}.open = true; setTimeout(done, 100); }})")
    assert tab.value(f"{case}.querySelectorAll('table tbody tr').length") > 0
    assert tab.value(f"{case}.querySelectorAll('th button').length") > 0


def test_paper_gets_what_is_short_and_the_page_stays_as_it_was(tab: Tab, file: Path) -> None:
    tab.open(file, width=1280)
    opened = "[...document.querySelectorAll('details')].filter((each) => each.open).length"
    assert tab.value(opened) == 0
    tab.value("window.dispatchEvent(new Event('beforeprint'))")
    assert tab.value(f"{opened} === document.querySelectorAll('details').length")
    assert tab.value("document.querySelectorAll('#per-query-table tbody tr').length") == 8
    tab.value("window.dispatchEvent(new Event('afterprint'))")
    assert tab.value(opened) == 0


def test_a_run_called_script_is_text_in_plots(tab: Tab, file: Path) -> None:
    name = '<script>alert("x")</script> & $a_1$'
    tab.open(file, width=1280)
    texts = "[...document.querySelectorAll('#{} svg text')].map((each) => each.textContent)"
    assert shorten_name(name) in tab.value(texts.format("range-1"))
    assert f"tied − {shorten_name(name, 24)}" in tab.value(texts.format("differences-0"))
    assert tab.value(
        "[...document.querySelectorAll('#lead svg title')].some((each) => each.textContent.startsWith('<script>alert'))"
    )
    live(tab)
    options = "[...document.querySelectorAll('.controls select')[0].options].map((each) => each.textContent)"
    assert tab.value(options) == ["tied", name]


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A page of 17 runs, 5 measures and 43 queries, with every pair compared."""
    folder = tmp_path_factory.mktemp("large")
    made_results(folder, runs=17, queries=43)
    path = folder / "report.html"
    path.write_text(page(read_directory(folder)), encoding="utf-8")
    return path


def test_a_page_of_many_runs_stays_light(tab: Tab, large: Path) -> None:
    assert len(packed_tables(large.read_text(encoding="utf-8"))[0]["rows"]) > 0
    assert large.stat().st_size < 2_000_000
    tab.open(large, width=1280)
    assert tab.value("document.querySelectorAll('*').length") < 8_000
    assert tab.value("document.documentElement.scrollWidth <= window.innerWidth")
    wide = "[...document.querySelectorAll('.scroll')].filter((each) => each.scrollWidth > each.clientWidth + 1).length"
    assert tab.value(wide) == 0
    live(tab)
    assert tab.complaints() == []


def test_a_page_of_two_runs_is_small(file: Path) -> None:
    assert file.stat().st_size < 1_300_000
