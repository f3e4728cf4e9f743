"""The page in a real browser: it draws, sorts, fits a phone, and asks for nothing."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.report.browser import Tab, browser, find_browser
from tests.report.gold_page import FOLDER

from trueval.report.kinds import read_directory
from trueval.report.page import page

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("page") / "report.html"
    path.write_text(page(read_directory(FOLDER)), encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def tab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Tab]:
    program = find_browser()
    if program is None:
        pytest.skip("no Chromium here; Debian has it as the package chromium")
    with browser(program, tmp_path_factory.mktemp("profile")) as opened:
        yield opened


@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_page_draws_without_complaint_and_without_the_network(
    tab: Tab, file: Path, width: int, scheme: str
) -> None:
    tab.open(file, width=width, scheme=scheme)
    assert [event["params"] for event in tab.complaints()] == []
    assert tab.requests() == [file.as_uri()]
    assert tab.value("document.querySelectorAll('.plot').length") == 6
    assert tab.value(
        "[...document.querySelectorAll('.plot')].every((each) => each.querySelector('svg .point, svg .bars'))"
    )
    assert tab.value("document.documentElement.scrollWidth <= window.innerWidth")
    dark = tab.value("getComputedStyle(document.body).backgroundColor") == "rgb(20, 23, 27)"
    assert dark == (scheme == "dark")
    drawn = tab.value("document.querySelector('.plot .xtick text').style.fill")
    assert drawn == tab.value("getComputedStyle(document.body).color")


def test_the_browser_would_tell_of_a_request(tab: Tab, tmp_path: Path) -> None:
    """The test above can fail: the same checks see a page that asks for a file and one that runs a foreign script."""
    text = '<!DOCTYPE html><html data-plots="0"><img src="absent.png"><script>console.log("x")</script></html>'
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


def test_the_first_tab_stop_skips_to_the_summary(tab: Tab, file: Path) -> None:
    tab.open(file, width=1280)
    tab.press("Tab", 9)
    assert tab.value("document.activeElement.textContent") == "Skip to the summary"
    assert tab.value("document.activeElement.getBoundingClientRect().left") >= 0
    assert tab.value("getComputedStyle(document.activeElement).outlineStyle") == "solid"


def test_the_plot_of_queries_follows_the_choice(tab: Tab, file: Path) -> None:
    tab.open(file, width=1280)
    values = "[...document.getElementById('per-query').data[1].y]"
    assert tab.value(values) == [1.0, 0.75]
    select = "document.querySelectorAll('#queries select')[1]"
    tab.value(f"{select}.value = '1'; {select}.dispatchEvent(new Event('change'))")
    assert tab.value(values) == [0.5, 0.5]


def test_a_run_called_script_is_text_in_plots(tab: Tab, file: Path) -> None:
    """Nor is the text between its dollars taken for TeX."""
    name = '<script>alert("x")</script> & $a_1$'
    tab.open(file, width=1280)
    texts = "[...document.querySelectorAll('#{} .ytick text')].map((each) => each.textContent)"
    assert tab.value(texts.format("differences-0")) == [f"tied − {name}"]
    first, second = tab.value(texts.format("range-0"))
    assert first == "tied"
    assert second.endswith("…")
    assert name.startswith(second[:-1])
    assert tab.value("[...document.querySelectorAll('.key li')].map((each) => each.textContent)").count(name) == 1
