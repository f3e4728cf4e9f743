"""The page of the gold directory: a run of it is called <script>, and every number of it is exact in binary."""

import base64
import gzip
import hashlib
import json
import re
import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import unquote

import pytest
from tests.report.gold_page import FILE, FOLDER, gold_page

from trueval.errors import MissingExtraError
from trueval.report.figures import LIGHT, RUN_TONES
from trueval.report.kinds import read_directory
from trueval.report.number_texts import NOT_AVAILABLE, format_difference, format_value, percent
from trueval.report.page import TEMPLATES, page

LEVELS = ("none", "some", "much")
EVIL = '<script>alert("x")</script> & $a_1$'


class Page(HTMLParser):
    """Elements in order, each with its attributes and the text directly or indirectly in it."""

    VOID = frozenset({"meta", "link", "br", "input"})

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str], list[str]]] = []
        self._open: list[int] = []
        self.feed(text)
        self.close()
        assert not self._open, [self.elements[index] for index in self._open]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, {name: value or "" for name, value in attrs}, []))
        if tag not in self.VOID:
            self._open.append(len(self.elements) - 1)

    def handle_endtag(self, tag: str) -> None:
        assert self.elements[self._open.pop()][0] == tag

    def handle_data(self, data: str) -> None:
        for index in self._open:
            self.elements[index][2].append(data)

    def all(self, tag: str) -> list[tuple[dict[str, str], str]]:
        return [(attributes, "".join(text)) for name, attributes, text in self.elements if name == tag]


@pytest.fixture(scope="module")
def html() -> str:
    return page(read_directory(FOLDER), live=False)


@pytest.fixture(scope="module")
def parsed(html: str) -> Page:
    return Page(html)


def test_the_page_is_the_gold_page() -> None:
    made = gold_page()
    kept = FILE.read_text(encoding="utf-8")
    assert made == kept, "The page changed. Look at the difference, then run: python -m tests.report.gold_page"


def test_only_our_own_scripts_run(html: str, parsed: Page) -> None:
    scripts = parsed.all("script")
    running = [text for attributes, text in scripts if attributes.get("type") != "application/json"]
    assert running == [(TEMPLATES / "page.js").read_text(encoding="utf-8")]
    assert html.count("alert(") == html.count("alert(&#34;x") + html.count('alert(\\"x') + html.count('&gt;alert("x')
    policy = next(each["content"] for each, _ in parsed.all("meta") if "http-equiv" in each)
    assert "default-src 'none'" in policy
    assert re.search(r"script-src 'sha256-[\w+/]+='$", policy)


def test_a_run_called_script_is_shown_by_its_name(parsed: Page) -> None:
    assert EVIL in [text for _, text in parsed.all("td")]
    data = [json.loads(text) for each, text in parsed.all("script") if each.get("type") == "application/json"]
    assert any(EVIL in json.dumps(each, ensure_ascii=False).replace('\\"', '"') for each in data)
    assert not parsed.all("b")
    assert not parsed.all("i")


def test_the_page_names_nothing_to_load(parsed: Page) -> None:
    for name, attributes, _ in parsed.elements:
        for attribute in ("src", "href", "srcset", "action", "poster"):
            target = attributes.get(attribute, "#")
            assert target.startswith("#") or target == "data:,", (name, target)


def test_links_within_the_page_lead_somewhere(parsed: Page) -> None:
    ids = [attributes["id"] for _, attributes, _ in parsed.elements if "id" in attributes]
    assert len(ids) == len(set(ids))
    wanted = {attributes["href"][1:] for attributes, _ in parsed.all("a")}
    wanted |= {each["aria-labelledby"] for _, each, _ in parsed.elements if "aria-labelledby" in each}
    assert wanted <= set(ids)
    assert parsed.all("a")[0][1] == "Skip to the answer"


def test_both_color_schemes_and_paper_are_styled(parsed: Page) -> None:
    ((_, style),) = parsed.all("style")
    names = set(re.findall(r"(--[\w-]+):", style)) | set(re.findall(r"var\((--[\w-]+)\)", style))
    for media in (r"^:root \{", r"\(prefers-color-scheme: dark\) \{\s*:root\S* \{", r"@media print \{\s*:root\S* \{"):
        block = re.search(media + r"([^}]*)\}", style, flags=re.MULTILINE)
        assert block, media
        assert names <= set(re.findall(r"(--[\w-]+):", block[1])), media
    assert ":focus-visible" in style


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_is_readable_on_its_ground(parsed: Page, scheme: str) -> None:
    """Contrast of at least 4.5 for text and 3 for marks (WCAG 2.2, 1.4.3 and 1.4.11)."""
    ((_, style),) = parsed.all("style")
    blocks = re.findall(r":root\S* \{([^}]*)\}", style)
    colors = dict(re.findall(r"--([\w-]+): (#\w+)", blocks[0 if scheme == "light" else 1]))

    def luminance(color: str) -> float:
        digits = color[1:] if len(color) == 7 else "".join(2 * digit for digit in color[1:])
        parts = [int(digits[at : at + 2], 16) / 255 for at in (0, 2, 4)]
        linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    def contrast(one: str, other: str) -> float:
        low, high = sorted((luminance(colors[one]), luminance(colors[other])))
        return (high + 0.05) / (low + 0.05)

    assert all(contrast(name, ground) >= 4.5 for name in ("text", "quiet", "link") for ground in ("ground", "raised"))
    marks = ["expected", "warn", "alarm", "good", *RUN_TONES]
    assert {name: contrast(name, "ground") for name in marks if contrast(name, "ground") < 3} == {}


def test_tables_can_be_sorted_and_reached_by_keyboard(parsed: Page) -> None:
    assert len(parsed.all("th")) > 40
    assert all(each.get("aria-sort") == "none" and each.get("scope") == "col" for each, _ in parsed.all("th"))
    regions = [each for each, _ in parsed.all("div") if each.get("class") == "scroll"]
    assert len(regions) == len(parsed.all("table")) + sum("data-table" in each for each, _ in parsed.all("script"))
    assert all(each["tabindex"] == "0" and each["role"] == "region" for each in regions)
    numbers = [(each, text) for each, text in parsed.all("td") if "number" in each.get("class", "")]
    assert all("data-value" in each or text in (NOT_AVAILABLE, "not judged") for each, text in numbers)


def test_tables_and_plots_are_in_the_page_without_scripts(html: str, parsed: Page) -> None:
    cells = [text for _, text in parsed.all("td")]
    assert {"0.8750", "-0.1250", "0.4000", "undecidable under ties"} <= set(cells)
    plots = re.findall(r'<div class="plot".*?</div>', html, flags=re.DOTALL)
    assert len(plots) == 7
    assert all(re.search(r"<svg .*<(path|line) .*</svg>", plot, flags=re.DOTALL) for plot in plots)
    told = "".join(re.findall(r"<title>(.*?)</title>", "".join(plots)))
    assert "tied: expected 0.8750, ties [0.7500, 1.0000], tie-broken 0.7500" in told


def test_what_is_folded_says_where_it_is_without_scripts(html: str, parsed: Page) -> None:
    folded = packed_tables(html)
    assert {each["id"] for each in folded} == {"group-sizes", "per-query-table", "difference-table"}
    assert all(f"These rows need JavaScript. They are in {each['file']}." in html for each in folded)
    closed = re.findall(r"<details.*?</details>", html, flags=re.DOTALL)
    assert all("<noscript>" in each for each in closed if "<script" in each or "<template" in each)


def test_colors_of_figures_are_those_of_the_page(parsed: Page, html: str) -> None:
    ((_, style),) = parsed.all("style")
    light = dict(re.findall(r"--([\w-]+): (#\w+)", re.findall(r":root\S* \{([^}]*)\}", style)[0]))
    assert {name: light[name] for name in LIGHT} == LIGHT
    drawn = "".join(re.findall(r"<svg.*?</svg>", html, flags=re.DOTALL))
    assert set(re.findall(r"var\(--([\w-]+)\)", drawn)) <= set(LIGHT)
    assert not re.findall(r'(?:fill|stroke)="(?!none|var|transparent)[^"]*"', drawn)


# ---- every number has its source ----


def resolve(file: str, fragment: str) -> Any:
    value: Any = json.loads((FOLDER / file).read_text(encoding="utf-8"))
    keys = (part.replace("~1", "/").replace("~0", "~") for part in unquote(fragment).split("/")[1:])
    for key in keys:
        value = value[int(key)] if isinstance(value, list) else value[key]
    return value


def shown(value: float) -> set[str]:
    return {format_value(value), format_difference(value), percent(value), f"{value:g}", f"{value:,}", f"{value:.8g}"}


def test_numbers_in_sentences_stand_in_the_files(parsed: Page) -> None:
    numbers = parsed.all("data")
    assert len(numbers) > 15
    for attributes, text in numbers:
        value = float(attributes["value"])
        found = [value_at(*unquote(each).split("#")) for each in attributes["data-source"].split(" - ")]
        if isinstance(found[0], list):
            assert 0 <= value <= len(found[0])
        else:
            assert value == pytest.approx(found[0] if len(found) == 1 else found[0] - found[1], abs=0)
        assert text in shown(value) | {str(int(value))}


def test_the_summary_holds_no_number_without_a_source(html: str) -> None:
    for part in html.split('<section class="part"')[1:]:
        summary = part[: part.index("<details")]
        bare = re.sub("<data .*?</data>|<svg.*?</svg>", "", summary, flags=re.DOTALL)
        assert "<data" in summary
        assert not re.findall(r"\d+\.\d+", re.sub(r"float\d+", "", bare))


class Shown(NamedTuple):
    """A cell: the file, where its value is in it, what sorts it, and what a reader sees."""

    file: str
    at: str
    value: str
    text: str


def packed_tables(html: str) -> list[dict[str, Any]]:
    pattern = r'<script type="application/json" data-table="([^"]*)" data-file="([^"]*)">(.*?)</script>'
    found = re.findall(pattern, html, flags=re.DOTALL)
    return [{"id": name, "file": file, **json.loads(text)} for name, file, text in found]


def table_cells(html: str) -> list[Shown]:
    """Every cell that names its source, of tables in the page and of folded ones."""
    return [*_open_cells(html), *_folded_cells(html)]


def _open_cells(html: str) -> Iterator[Shown]:
    for file, table in re.findall(r'<table id="[^"]*".*?data-file="([^"]*)".*?>(.*?)</table>', html, flags=re.DOTALL):
        heads = [attributes for attributes, _ in Page(table).all("th")]
        for row in re.findall(r"<tr data-source=.*?</tr>", table, flags=re.DOTALL):
            read = Page(row)
            attributes = read.all("tr")[0][0]
            for head, (cell, text) in zip(heads, read.all("td"), strict=True):
                field = ("data-turned" in attributes and head.get("data-turned")) or head.get("data-field", "")
                at = cell.get("data-at") or (field and where(attributes["data-source"], field))
                if at:
                    yield Shown(file, at, cell.get("data-value", ""), text)


def _folded_cells(html: str) -> Iterator[Shown]:
    """As templates/page.js builds them; test_browser.py holds what it builds against this."""
    forms = {"fixed": format_value, "signed": format_difference, "plain": str}
    for table in packed_tables(html):
        for source, turned, *cells in table["rows"]:
            for column, cell in zip(table["columns"], cells, strict=True):
                field = (turned and column.get("turned")) or column.get("field")
                own = cell[3] if isinstance(cell, list) and len(cell) > 3 else ""
                if not field and not own:
                    continue
                if isinstance(cell, list):
                    value, text, *_ = cell
                else:
                    value = cell if "numeric" in column else None
                    text = NOT_AVAILABLE if cell is None else forms[column.get("form", "plain")](cell)
                yield Shown(table["file"], own or where(source, field), "" if value is None else str(value), text)


def where(source: str, field: str) -> str:
    """The field of a row as pointers: "-" before one whose sign is changed, " - " between two, or a number and one."""
    parts = (part if "/" not in part else re.sub("^(-?)", rf"\g<1>{source}", part) for part in field.split(" - "))
    return " - ".join(parts)


def value_at(file: str, at: str) -> Any:
    ends = []
    for part in at.split(" - "):
        found = float(part) if "/" not in part else resolve(file, part.removeprefix("-"))
        ends.append(-found if part.startswith("-") and found is not None else found)
    if len(ends) == 1:
        return ends[0]
    return None if None in ends else ends[0] - ends[1]


def test_numbers_in_tables_stand_in_the_files(html: str) -> None:
    cells = table_cells(html)
    assert len(cells) > 150
    for file, at, value, text in cells:
        found = value_at(file, at)
        if isinstance(found, list) and text != str(len(found)):
            assert at.endswith("/rank_interval")
            assert text == "–".join(map(str, found))
        elif isinstance(found, list):
            assert value in ("", str(len(found)))
        elif isinstance(found, str):
            assert text == found
        elif found is None:
            assert text in (NOT_AVAILABLE, "not judged")
        else:
            assert float(value) == found, at
        if value:
            assert text in shown(float(value)) | {str(int(float(value)))}, (at, text)


def test_of_many_groups_the_matrix_shows_the_first_and_their_number(tmp_path: Path) -> None:
    comparison = json.loads((FOLDER / "comparison.json").read_text(encoding="utf-8"))
    comparison["leaderboards"][0]["ranking"][0]["groups"] = "abcdefa1b1"
    (tmp_path / "comparison.json").write_text(json.dumps(comparison), encoding="utf-8")
    html = page(read_directory(tmp_path), live=False)
    cells = {each.at: each.text for each in _open_cells(html)}
    assert cells["/leaderboards/0/ranking/0/groups"] == "abc… 8 groups"
    assert cells["/leaderboards/0/ranking/1/groups"] == "a"


def test_the_first_screen_has_one_sentence_and_one_plot_and_details_are_folded(html: str, parsed: Page) -> None:
    answers = [text for each, text in parsed.all("p") if each.get("class") == "answer"]
    undecided = f"tied leads {EVIL} in RR@10 by +0.1250, which lies inside the range of ties [0.0000, +0.2500]: "
    assert f"{undecided}neither ties nor these queries decide which is better." in answers
    for part in html.split('<section class="part"')[1:]:
        assert len(re.findall(r'<div class="plot" id', part[: part.index("<details")])) <= 1
    assert all("open" not in each for each, _ in parsed.all("details"))


def test_a_pair_is_shown_with_the_better_run_first(tmp_path: Path) -> None:
    """The comparison holds it the other way round: signs, ends of intervals, wins and losses change places."""
    comparison = json.loads((FOLDER / "comparison.json").read_text(encoding="utf-8"))
    (each,) = (each for each in comparison["differences"] if each["measure"] == "RR@10")
    each["first"], each["second"] = each["second"], each["first"]
    each["expected"], each["simultaneous_interval"], each["wins"] = -0.125, [-0.75, 0.375], 2
    (tmp_path / "comparison.json").write_text(json.dumps(comparison), encoding="utf-8")
    html = page(read_directory(tmp_path), live=False)
    table = re.findall(r'<table id="close-table".*?</table>', html, re.DOTALL)[0]
    row = re.findall(r"<tr data-source=.*?</tr>", table, re.DOTALL)[0]
    assert "data-turned" in row
    cells = [text for _, text in Page(row).all("td")]
    assert cells[:6] == ["RR@10", "tied", EVIL, "+0.1250", "-0.3750", "+0.7500"]


# ---- what is not there ----


@pytest.mark.parametrize("library", ["jinja2", "altair", "vl_convert"])
def test_a_missing_library_names_the_extra(monkeypatch: pytest.MonkeyPatch, library: str) -> None:
    monkeypatch.setitem(sys.modules, library, None)
    with pytest.raises(MissingExtraError, match=r"Pages need the extra \"report\""):
        page(read_directory(FOLDER))


def test_results_alone_make_a_page(tmp_path: Path) -> None:
    (tmp_path / "results.json").write_bytes((FOLDER / "results.json").read_bytes())
    text = page(read_directory(tmp_path), live=False)
    assert 'id="values"' in text
    assert 'id="worst"' not in text


def test_a_bounded_interval_is_marked_on_the_page(tmp_path: Path) -> None:
    comparison = json.loads((FOLDER / "comparison.json").read_text(encoding="utf-8"))
    comparison["differences"][0]["realized_bounded"] = True
    (tmp_path / "comparison.json").write_text(json.dumps(comparison), encoding="utf-8")
    text = page(read_directory(tmp_path), live=False)
    (table,) = (each for each in packed_tables(text) if each["id"] == "difference-table")
    place = [column["title"] for column in table["columns"]].index("bounded")
    cells = [row[2 + place] for row in table["rows"]]
    assert [cell[1] if isinstance(cell, list) else cell for cell in cells] == ["°", ""]
    assert "° bounded:" in text
    assert "° bounded:" not in page(read_directory(FOLDER), live=False)


def test_a_comparison_alone_makes_a_page(tmp_path: Path) -> None:
    (tmp_path / "comparison.json").write_bytes((FOLDER / "comparison.json").read_bytes())
    text = page(read_directory(tmp_path), live=False)
    assert 'id="differences"' in text
    assert 'id="values"' not in text


def test_details_of_another_policy_are_said_to_be_so(tmp_path: Path) -> None:
    for name in ("results.json", "details.json"):
        (tmp_path / name).write_bytes((FOLDER / name).read_bytes())
    results = json.loads((tmp_path / "results.json").read_text(encoding="utf-8"))
    results["policy"]["rel"] = 2
    (tmp_path / "results.json").write_text(json.dumps(results), encoding="utf-8")
    assert "details of another evaluation" in page(read_directory(tmp_path), live=False)
    assert "details of another evaluation" not in page(read_directory(FOLDER), live=False)


def test_the_plot_library_is_embedded_once_and_allowed_by_its_hash() -> None:
    text = page(read_directory(FOLDER))
    (library,) = re.findall(r'<script type="text/plain" id="library">(.*?)</script>', text, flags=re.DOTALL)
    script = gzip.decompress(base64.b64decode(library))
    assert b"vegaEmbed" in script
    digest = base64.b64encode(hashlib.sha256(script).digest()).decode()
    assert f"sha256-{digest}" in text
    assert len(re.findall(r"sha256-[\w+/]+=", text)) == 2
    assert "unsafe-eval" not in text


def test_a_page_of_results_alone_needs_no_plot_library(tmp_path: Path) -> None:
    (tmp_path / "results.json").write_bytes((FOLDER / "results.json").read_bytes())
    assert 'id="library"' not in page(read_directory(tmp_path))


def test_two_results_of_a_kind_share_a_page(tmp_path: Path) -> None:
    """Every id is there once, so that a plot is drawn, and a table filtered, in its own place."""
    for name in ("results", "details", "comparison"):
        text = (FOLDER / f"{name}.json").read_text(encoding="utf-8")
        (tmp_path / f"{name}.json").write_text(text, encoding="utf-8")
        (tmp_path / f"{name}-again.json").write_text(text, encoding="utf-8")
    parsed = Page(page(read_directory(tmp_path), live=False))
    ids = [attributes["id"] for _, attributes, _ in parsed.elements if "id" in attributes]
    assert len([each for each in ids if each.startswith("means") and "caption" not in each]) == 2
    assert len(ids) == len(set(ids))
    named = {each["aria-labelledby"] for _, each, _ in parsed.elements if "aria-labelledby" in each}
    assert named <= set(ids)
