"""Kinds are found by their entry points, ours like anyone's."""

import json
import sys
from importlib.metadata import EntryPoint, EntryPoints

import pytest
from rich.console import Console
from tests.report.gold_page import FOLDER
from tests.tradeoff.frontiers import made_frontier
from tests.tradeoff.sweeps import large_sweep

from trueval.errors import InputError
from trueval.report import kinds
from trueval.report.kinds import GROUP, ROUNDED, Kind, find, names, read_directory
from trueval.report.number_texts import POINTS
from trueval.report.page_content import Figure

# Kind → its newest format.
OURS = {"evaluate": 2, "evaluate-details": 3, "compare": 2, "precision": 2, "explain": 2, "power": 1, "published": 1}
OURS |= {
    "leaderboard": 1,
    "golden": 1,
    "golden-agree": 1,
    "golden-stress": 1,
    "golden-gullibility": 1,
    "golden-questions": 1,
    "golden-flattery": 1,
    "next-labels": 1,
}


def declare(monkeypatch: pytest.MonkeyPatch, *pairs: tuple[str, str]) -> None:
    declared = EntryPoints(EntryPoint(name, value, GROUP) for name, value in pairs)
    monkeypatch.setattr(kinds, "_load_entry_points", lambda: declared)


@pytest.mark.parametrize("name", sorted(OURS))
def test_our_rooms_are_declared_and_what_they_name_exists(name: str) -> None:
    assert set(names()) >= set(OURS)
    kind = find(name)
    assert isinstance(kind, Kind)
    assert kind.format == OURS[name]
    assert set(kind.files.values()) <= set(kind.text)
    late = [each for each in (*kind.text.values(), kind.page, kind.figures) if each and each.__name__ == "call"]
    for function in late:
        with pytest.raises(TypeError):
            function()  # imported, and called without what it needs


def test_an_unknown_kind_is_none() -> None:
    assert find("no-such-kind") is None


@pytest.mark.parametrize(
    ("pairs", "message"),
    [
        ([("a", "math:pi")], r"math:pi, .* of kind a, must be a Kind of that name\. Got 3\.14"),
        ([("a", "trueval.report.kinds:Kind")], r"must be a Kind of that name"),
        ([("a", "no.such.module:KIND")], r"no\.such\.module:KIND, .* cannot be imported: No module named 'no'"),
        ([("a", "math:tau_b")], "cannot be imported"),
        ([("a", "math:pi"), ("a", "math:e")], r"The kind a is declared twice, by math:pi and math:e\."),
    ],
)
def test_what_is_declared_wrongly_is_named(
    monkeypatch: pytest.MonkeyPatch, pairs: list[tuple[str, str]], message: str
) -> None:
    declare(monkeypatch, *pairs)
    with pytest.raises(InputError, match=message):
        find("a")


def test_without_metadata_the_cause_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    declare(monkeypatch)
    with pytest.raises(InputError, match=r"none is declared: trueval runs from a folder without installation"):
        read_directory(FOLDER)


def text_of(kind: Kind, result: dict, form: str, **scale: object) -> str:
    written = kind.write(result, form, **scale)
    if isinstance(written, str):
        return written
    console = Console(width=200, color_system=None, highlight=False)
    with console.capture() as captured:
        console.print(written)
    return captured.get()


@pytest.mark.parametrize(("name", "file"), [("evaluate", "results.json"), ("compare", "comparison.json")])
def test_points_reach_the_forms_that_round_and_no_other(name: str, file: str) -> None:
    """RR@10 of the run tied is 0.875."""
    kind, result = find(name), json.loads((FOLDER / file).read_text(encoding="utf-8"))
    assert kind
    for form in kind.text:
        plain, points = text_of(kind, result, form), text_of(kind, result, form, scale=POINTS)
        assert "87.50" not in plain
        assert ("87.50" in points, "Values in points" in points) == (form in ROUNDED, form in ROUNDED)
        assert (points == plain) == (form not in ROUNDED)


def results_of_views() -> dict[str, dict[str, object]]:
    kept = {name: json.loads((FOLDER / name).read_text("utf-8")) for name in ("results.json", "comparison.json")}
    sweep = large_sweep()
    return {**kept, "sweep": sweep, "frontier": made_frontier(sweep)}


@pytest.mark.parametrize("name", ["results.json", "comparison.json", "sweep", "frontier"])
@pytest.mark.parametrize("form", ["table", "csv", "markdown", "latex", "answer"])
def test_texts_need_nothing_that_draws(name: str, form: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """An installation without the extra "report" has no Altair, and one with it should not wait for it."""
    for module in ("altair", "vl_convert", "jinja2"):
        monkeypatch.setitem(sys.modules, module, None)
    result = results_of_views()[name]
    kind = find(str(result["kind"]))
    assert kind is not None
    assert kind.write(result, form)


def test_a_figure_is_not_drawn_before_a_page_is_made() -> None:
    with pytest.raises(TypeError, match="function that draws it"):
        Figure("a", "A", "about", {"mark": "bar"})
