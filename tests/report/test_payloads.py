"""Pages and figures of hostile results, in a real browser: whatever names and texts are, no script of theirs runs.

Every text of every kind of result is replaced, where the page can still be made, by payloads that run a script or ask
for a file. The pages are opened as they are, and without their content security policy: escaping alone must hold too.
"""

import json
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from tests.report.browser import Tab
from tests.report.gold_page import FOLDER as GOLD
from tests.report.payloads import PAYLOADS

import trueval as tv
from trueval.comparison.gate.published_means import published
from trueval.comparison.power.power_analysis import power
from trueval.comparison.views.kind import POWER, PUBLISHED
from trueval.errors import TruevalError
from trueval.evaluation.explanation import explain
from trueval.evaluation.views.explanation import EXPLAIN
from trueval.precision.audit import audit
from trueval.precision.regimes import Regime
from trueval.precision.views.kind import PRECISION
from trueval.report.kinds import read_directory
from trueval.report.page import page, parts, with_own_ids, write_figures

pytestmark = [pytest.mark.evidence, pytest.mark.filterwarnings("ignore")]


def gold(folder: Path) -> None:
    """Results, details and a comparison; a second file of a kind, and one of no kind."""
    for file in GOLD.glob("*.json"):
        shutil.copy(file, folder)
    shutil.copy(GOLD / "results.json", folder / "second.json")
    (folder / "no-kind.json").write_text('{"kind": "nothing"}', encoding="utf-8")


def others(folder: Path) -> None:
    """Power, a published value, an explanation and a precision audit."""
    judgments = {f"q{query}": {"a": 1 + query % 2, "b": 0} for query in range(8)}
    runs = {
        name: {query: {"a": 1.0 + int(query[1:]) % step, "b": 1.5} for query in judgments}
        for name, step in (("one", 2), ("other", 3))
    }
    lists = {"bfloat16": [[0.5, 0.5], [2.0, 1.0]], "float32": [[0.499, 0.5], [2.0, 1.0]]}
    regimes = {Regime("m_1", "softmax", "bfloat16", form): tv.Run.from_arrays(each) for form, each in lists.items()}
    audited = audit(regimes, tv.Judgments.from_arrays([[0, 1], [1, 0]]), ["RR@10", "P@1"], tie_order="input")
    for kind, result in (
        (POWER, power(runs, judgments, ["RR", "nDCG@10"], difference=0.1).to_dict()),
        (PUBLISHED, published(0.8, 50, grain=1, difference=0.06).to_dict()),
        (EXPLAIN, explain(runs["one"], judgments, "RR").to_dict()),
        (PRECISION, audited.to_dict()),
    ):
        (folder / f"{kind.name}.json").write_text(kind.write(result, "json"), encoding="utf-8")


def texts_of(data: Any) -> Iterator[str]:
    """Every text; names of members are those of our own format, and of measures."""
    if isinstance(data, dict | list):
        for each in data.values() if isinstance(data, dict) else data:
            yield from texts_of(each)
    elif isinstance(data, str):
        yield data


def replaced(data: Any, by: dict[str, str]) -> Any:
    if isinstance(data, dict):
        return {name: replaced(each, by) for name, each in data.items()}
    if isinstance(data, list):
        return [replaced(each, by) for each in data]
    return by.get(data, data) if isinstance(data, str) else data


def write(folder: Path, files: dict[str, Any], by: dict[str, str]) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for name, data in files.items():
        (folder / name).write_text(json.dumps(replaced(data, by)), encoding="utf-8")


def replaceable(folder: Path, files: dict[str, Any]) -> list[str]:
    """The texts that a page can be made without, each one tried after those before it were replaced."""
    by: dict[str, str] = {}

    def works(tried: dict[str, str]) -> bool:
        write(folder, files, {**by, **tried})
        try:
            directory = read_directory(folder)
            with_own_ids(parts(directory))  # what is drawn of it then takes whatever it is given
        except (TruevalError, LookupError, TypeError, ValueError, AttributeError):
            return False
        return len(directory.files) == len([name for name in files if name != "no-kind.json"])

    def keep(candidates: list[str]) -> None:
        """All of them at once where that works, else by halves."""
        tried = {text: f"replaced {len(by) + at}" for at, text in enumerate(candidates)}
        if works(tried):
            by.update(tried)
        elif len(candidates) > 1:
            middle = len(candidates) // 2
            keep(candidates[:middle])
            keep(candidates[middle:])

    keep(sorted({text for data in files.values() for text in texts_of(data)}))
    return list(by)


def hostile(folder: Path, files: dict[str, Any], texts: list[str], shift: int) -> Path:
    """A folder in which each of the texts is another payload, the folder and a file named by one too."""
    by = {text: f"{PAYLOADS[(at + shift) % len(PAYLOADS)]} {at}" for at, text in enumerate(texts)}
    name = re.sub(r"[/\x00]", "_", PAYLOADS[shift % len(PAYLOADS)])[:80]
    write(folder / name, {**files, f"{name}.json": {"kind": name}}, by)
    return folder / name


# What a payload would leave in the page if it were not text.
FOREIGN = (
    "[...document.querySelectorAll('img, iframe, object, embed, base, form, video, math, foreignObject, animate, "
    "a[href^=javascript i], meta[http-equiv=refresh i], script[src], link:not([rel=icon]), b')].map((e) => e.outerHTML)"
    ".concat([...document.querySelectorAll('*')].filter((e) => [...e.attributes].some((a) => /^on/i.test(a.name)))"
    ".map((e) => e.outerHTML.slice(0, 300)))"
)
EVERYTHING = """
new Promise((done) => {
  document.querySelectorAll('details').forEach((each) => { each.open = true; });
  document.querySelectorAll('th button').forEach((each) => each.click());
  document.querySelectorAll('figure, .plot').forEach((each) => each.scrollIntoView());
  setTimeout(() => {
    document.querySelectorAll('select').forEach((each) => {
      for (let at = 0; at < Math.min(each.options.length, 3); at += 1) {
        each.selectedIndex = at;
        each.dispatchEvent(new Event('change', {bubbles: true}));
      }
    });
    document.querySelectorAll('*').forEach((each) => {
      ['mouseover', 'pointerenter', 'focus'].forEach((kind) => each.dispatchEvent(new Event(kind, {bubbles: true})));
    });
    window.dispatchEvent(new Event('beforeprint'));
    setTimeout(() => done(true), 300);
  }, 700);
})
"""


def check(tab: Tab, file: Path) -> None:
    """Opens a page, touches everything in it, and looks for what a payload would have done."""
    tab.open(file, width=1280)
    tab.value(EVERYTHING)
    assert tab.value("window.ran === undefined && !window.frames.length"), file
    assert tab.value(FOREIGN) == [], file
    assert tab.value("document.title !== 'ran'")
    assert tab.value("location.href") == file.as_uri()
    assert tab.requests() == [file.as_uri()]
    assert [event["params"] for event in tab.complaints()] == [], file


class Results(NamedTuple):
    """Files of results by name, and those of their texts that a page can be made without."""

    files: dict[str, Any]
    texts: list[str]


@pytest.fixture(scope="module", params=[gold, others])
def results(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Results:
    folder = tmp_path_factory.mktemp("results")
    request.param(folder)
    files = {path.name: json.loads(path.read_text(encoding="utf-8")) for path in folder.iterdir()}
    return Results(files, replaceable(folder / "tried", files))


def test_no_payload_runs_in_a_page(tab: Tab, tmp_path: Path, results: Results) -> None:
    files, texts = results
    assert len(texts) > 20
    for shift in range(0, len(PAYLOADS), 8):
        folder = hostile(tmp_path / str(shift), files, texts, shift)
        text = page(read_directory(folder))
        assert "ran.invalid" in text
        (tmp_path / "page.html").write_text(text, encoding="utf-8")
        check(tab, tmp_path / "page.html")
        unguarded, found = re.subn(r'<meta http-equiv="Content-Security-Policy"[^>]*>', "", text)
        assert found == 1
        (tmp_path / "unguarded.html").write_text(unguarded, encoding="utf-8")
        check(tab, tmp_path / "unguarded.html")


def test_no_payload_runs_in_a_figure_of_its_own(tab: Tab, tmp_path: Path, results: Results) -> None:
    """An SVG file has no policy: what it holds as an element runs."""
    files, texts = results
    for shift in range(0, len(PAYLOADS), 16):
        folder = hostile(tmp_path / str(shift), files, texts, shift)
        out = tmp_path / f"figures-{shift}"
        out.mkdir()
        for written in write_figures(read_directory(folder), out):
            if written.suffix != ".svg":
                continue
            tab.events.clear()
            tab.call("Page.navigate", url=written.as_uri())
            tab.value("new Promise((done) => setTimeout(done, 300))")
            assert tab.value("document.documentElement.tagName") == "svg"
            assert tab.value("window.ran === undefined")
            assert tab.value(FOREIGN) == []
            assert tab.requests() == [written.as_uri()]
            assert tab.complaints() == []


def test_a_payload_that_is_not_escaped_would_be_seen(tab: Tab, tmp_path: Path) -> None:
    """The checks above can fail: each of them, of the payloads as HTML."""
    seen = 0
    for payload in PAYLOADS:
        (tmp_path / "raw.html").write_text(f"<!DOCTYPE html><html data-ready><p>{payload}</p></html>", encoding="utf-8")
        try:
            check(tab, tmp_path / "raw.html")
        except (AssertionError, RuntimeError):  # the page may have gone elsewhere
            seen += 1
    assert seen > 35
