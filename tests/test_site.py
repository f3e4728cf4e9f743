"""The site: built without a warning, every link and anchor leads somewhere, and it loads nothing from elsewhere."""

from __future__ import annotations

import ast
import importlib
import inspect
import json
import math
import random
import re
import time
from collections.abc import Iterator
from functools import cache
from html.parser import HTMLParser
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit

import pytest
from docs import make_commands
from docs.site import commands, reference, tour

import trueval as tv
from trueval.errors import PolicyError

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

ROOT = Path(__file__).resolve().parents[1]
SETTINGS = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
SCRIPT = ROOT / "docs" / "site" / "check_number.js"
LOADED = {"script": "src", "img": "src", "iframe": "src", "source": "src", "link": "href"}
# A link that tells a reader's browser or a crawler where the site is, and loads nothing.
ADDRESSES = {"canonical", "alternate", "prev", "next", "edit"}


class Document(HTMLParser):
    """What a page links to, what it loads, and the anchors that it has."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.loads: list[str] = []
        self.anchors: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = {name: value or "" for name, value in attrs}
        self.anchors |= {found[name] for name in ("id", "name") if found.get(name)}
        if tag == "a" and "href" in found:
            self.links.append(found["href"])
        if tag in LOADED and found.get(LOADED[tag]) and not ADDRESSES & set(found.get("rel", "").split()):
            self.loads.append(found[LOADED[tag]])


@cache
def document(page: Path) -> Document:
    return Document(page.read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The built HTML."""
    for module in ("zensical", "mkdocstrings", "altair"):
        if find_spec(module) is None:
            pytest.skip(f"{module}, of the extra docs, is not installed")
    from docs import make_site

    folder = tmp_path_factory.mktemp("site")
    begun = time.monotonic()
    make_site.build(folder)  # a warning is an error
    print(f"built in {time.monotonic() - begun:.0f} s")
    return folder / "html"


def test_the_tour_prints_what_the_notebook_holds(monkeypatch: pytest.MonkeyPatch) -> None:
    """And Jupyter can open it: each cell has what version 4.5 of the format asks for."""
    monkeypatch.setenv("COLUMNS", "100")
    kept = tour.read()
    assert tour.executed(kept) == kept, "python docs/site/tour.py"
    assert (kept["nbformat"], kept["nbformat_minor"]) == (4, 5)
    code = [cell for cell in kept["cells"] if cell["cell_type"] == "code"]
    assert len(code) >= 6
    assert all({"id", "metadata", "source", "execution_count", "outputs"} <= cell.keys() for cell in code)
    assert len({cell["id"] for cell in kept["cells"]}) == len(kept["cells"])
    changed = {**kept, "cells": [{**code[0], "source": ["print(1)"]}]}
    assert tour.executed(changed)["cells"][0]["outputs"][0]["text"] == ["1\n"]


def test_what_a_measure_of_ones_own_is_made_of_is_in_the_reference() -> None:
    """All that the pages which write one import of us, each documented."""
    documented = [find(name) for name in reference.OWN]
    assert all(inspect.getdoc(value) for value in documented)
    for page in ("docs/python.md", "CONTRIBUTING.md"):
        text = (ROOT / page).read_text(encoding="utf-8")
        code = next(each for each in re.findall(r"```python\n(.*?)```", text, flags=re.DOTALL) if "register(" in each)
        imports = [node for node in ast.walk(ast.parse(code)) if isinstance(node, ast.ImportFrom)]
        names = [f"{node.module}.{each.name}" for node in imports for each in node.names]
        assert len(names) >= 6
        assert [name for name in names if not any(find(name) is value for value in documented)] == []


def find(name: str) -> object:
    module, _, last = name.rpartition(".")
    return getattr(importlib.import_module(module), last)


def broken(links: Iterator[tuple[Path, str]], site: Path) -> list[str]:
    """Links inside of the site that lead to no file, or to no anchor of their page."""
    found = []
    for page, link in links:
        parts = urlsplit(link)
        if parts.scheme or parts.netloc or link.startswith(("javascript:", "data:")):
            continue
        target = (page.parent / unquote(parts.path)).resolve() if parts.path else page
        target = target / "index.html" if target.is_dir() else target
        if not target.is_file() or not target.is_relative_to(site.resolve()):
            found.append(f"{page.relative_to(site)}: {link}")
        elif parts.fragment and target.suffix == ".html" and unquote(parts.fragment) not in document(target).anchors:
            found.append(f"{page.relative_to(site)}: {link}: no such anchor")
    return found


def pages_of(site: Path) -> list[Path]:
    return sorted(page for page in site.rglob("*.html") if page.name != "404.html")


@pytest.mark.slow
def test_every_link_and_anchor_of_the_site_leads_somewhere(site: Path) -> None:
    pages = pages_of(site)
    assert len(pages) > 100
    links = [(page, link) for page in pages for link in document(page).links + document(page).loads]
    assert len(links) > 3000
    assert broken(iter(links), site) == []
    assert broken(iter([(site / "index.html", "nowhere.html"), (site / "index.html", "power.html#nowhere")]), site)


@pytest.mark.slow
def test_every_command_is_shown_with_its_output(site: Path) -> None:
    """And its pages are in the gallery. A command that fails ends the build."""
    anchors = document(site / "outputs.html").anchors
    groups = {"", "answers", "golden", "precision", "probe", "route"}
    # A router is of a sweep with a reranker, codes are of an embedder's vectors, and the site is built without a model.
    names = set(make_commands.commands()) - groups - {"route check", "precision codes"}
    assert {f"trueval {name}".replace(" ", "-") for name in names} <= anchors
    linked = {link for link in document(site / "gallery.html").links if link.startswith("gallery/")}
    assert linked == {f"gallery/{name}.html" for name in commands.GALLERY}


@pytest.mark.slow
def test_the_site_loads_nothing_from_elsewhere(site: Path) -> None:
    away = {load for page in pages_of(site) for load in document(page).loads if urlsplit(load).netloc}
    assert away == set()


@pytest.mark.slow
def test_what_the_plugins_make_is_there(site: Path) -> None:
    """Zensical accepts a plugin that it does not know in silence, so that its name in mkdocs.yml proves nothing."""
    plugins = SETTINGS.partition("\nplugins:\n")[2].partition("\nmarkdown_extensions:")[0]
    assert re.findall(r"^  - (\w+)", plugins, flags=re.MULTILINE) == ["search", "mkdocstrings"]
    index = json.loads((site / "search.json").read_text(encoding="utf-8"))
    assert not [each for each in index["items"] if each["location"].startswith(("evidence/", "design/"))]
    assert "power.html" in json.dumps(index)
    offered = {f"trueval.{name}" for name in tv.__all__} - {"trueval.__version__", "trueval.errors"}
    documented = document(site / "api" / "functions.html").anchors | document(site / "api" / "classes.html").anchors
    assert offered <= documented
    assert "trueval.errors.InputError" in document(site / "errors.html").anchors
    assert set(reference.OWN) <= document(site / "api" / "own_measures.html").anchors
    assert "&gt;&gt;&gt; </span>" in (site / "api" / "functions.html").read_text(encoding="utf-8")  # doctests are code


def inputs(count: int) -> Iterator[tuple[float, int, float | None, float | None, float]]:
    """Value, queries, grain, baseline and level as people write them, some of which no values have."""
    rng = random.Random(36)
    for _ in range(count):
        queries = rng.choice([1, 2, 3, 10, 43, 50, 225, 1000, 6980, 100_000])
        grain = rng.choice([None, None, 1.0, 1.0, 0.1, 0.2, 0.5])
        digits = rng.choice([2, 3, 4, 12])
        value, baseline = (round(rng.choice([rng.random(), 0.0, 1.0, 0.5]), digits) for _ in range(2))
        if grain is not None and rng.random() < 0.8:  # most are means that such values have
            most = round(queries / grain)
            value, baseline = (round(rng.randint(0, most) * grain / queries, digits) for _ in range(2))
        value = rng.choice([value] * 30 + [1.2, -0.1, 1e-7])
        yield value, queries, grain, rng.choice([None, baseline, baseline]), rng.choice([0.95, 0.95, 0.9, 0.999, 0.4])


def by_python(
    value: float, queries: int, grain: float | None, baseline: float | None, level: float
) -> list[float] | None:
    """Interval, least p (NaN if nothing is claimed) and the difference; None where the numbers are refused."""
    try:
        difference = None
        if baseline is not None:
            tv.published(baseline, queries, grain)
            difference = value - baseline
            if grain is not None:
                difference = (round(value * queries / grain) - round(baseline * queries / grain)) * grain / queries
        found = tv.published(value, queries, grain, difference, level)
    except PolicyError:
        return None
    return [*found.interval, found.least_p, math.nan if difference is None else difference]


IN_BROWSER = """inputs => inputs.map(([value, queries, grain, baseline, level]) => {
  try {
    const gap = baseline === null ? null : CheckNumber.difference(value, baseline, queries, grain);
    const found = CheckNumber.published(value, queries, grain, gap, level);
    return [...found.interval, found.leastP, gap];
  } catch (error) {
    if (error instanceof CheckNumber.Refused) return null;
    throw error;
  }
})"""


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    opened = browser.new_page()
    yield opened
    opened.close()


def test_a_browser_checks_a_number_as_the_package_does(page: Page) -> None:
    """On 1,000 inputs: the same are refused, and intervals, differences and least p are equal to 1e-10."""
    page.add_script_tag(path=str(SCRIPT))
    given = list(inputs(1000))
    found = page.evaluate(IN_BROWSER, given)
    expected = [by_python(*each) for each in given]
    assert 400 < sum(each is not None for each in expected) < 950
    assert sum(each is not None and not math.isnan(each[2]) for each in expected) > 150
    for each, ours, theirs in zip(given, expected, found, strict=True):
        assert (ours is None) == (theirs is None), each
        if ours is not None:
            read = [math.nan if number is None else number for number in theirs]
            assert read == pytest.approx(ours, rel=1e-10, abs=1e-12, nan_ok=True), each


@pytest.mark.slow
def test_the_page_checks_a_number_while_it_is_typed(site: Path, page: Page) -> None:
    page.goto((site / "check.html").as_uri())
    answer = page.locator("#check-answer")
    assert "two means cannot show it" in answer.inner_text()
    page.fill("[name=grain]", "1")
    assert answer.inner_text().split("\n\n") == [
        "A mean of 0.8000 over 50 queries supports the 0.95 interval [0.6628, 0.8997].",
        "A difference of 0.0600 cannot be significant at 0.05: the least p that the paired randomization test can "
        "give, whatever the values are, is 0.2500.",
    ]
    page.fill("[name=value]", "0.807")
    assert answer.inner_text().startswith("No 50 values that are multiples of 1 have a mean of 0.807")
    page.fill("[name=queries]", "")
    assert answer.inner_text() == "Enter the mean and the number of queries."
