"""How probes of noise look: systems with and without embeddings side by side, and the guard where it does something."""

import io
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from rich.console import Console

from trueval.comparison.resampling.reshuffle import Reshuffle
from trueval.measures import parse_list
from trueval.policy.policy import Policy
from trueval.probes.noise import NoiseProbe
from trueval.probes.noise_settings import NoiseSettings
from trueval.probes.noise_summary import NoiseResult
from trueval.probes.views.noise import guard_is_idle, levels, short_name, table, to_csv, to_latex, to_markdown, to_text
from trueval.probes.views.noise_page import build
from trueval.report.result_directory import Directory, ResultFile

QUERIES = ("q1", "q2", "q3")


TWO_LEVELS = NoiseSettings("en", levels=(0, 2), templates=("known",), queries=3)


def probe(name: str, *, embeds: bool, guard: float, design: NoiseSettings = TWO_LEVELS) -> NoiseProbe:
    """Every level loses .1; the guard changes the overlap by so much."""
    conditions = tuple(design.conditions())
    rows = np.array([[each.level / 20 + at / 100 for at in range(3)] for each in conditions])
    shift = np.array([[guard * each.normalised] * 3 for each in conditions])
    lists = Reshuffle(1 - rows - shift, 1 - 2 * rows, 1 - rows)
    cosines = 1 - rows if embeds else None
    worth = {"R@10": 0.8 - rows}
    return NoiseProbe(
        name, design, "made", parse_list("R@10"), QUERIES, conditions, rows, cosines, lists, worth, Policy(), ()
    )


@pytest.fixture
def result() -> dict[str, Any]:
    probes = (probe("m", embeds=True, guard=0.05), probe("bm25", embeds=False, guard=0.0))
    return NoiseResult(probes, {"clean": {"queries": 9, "changed": 1}, "stripped": []}).to_dict()


def test_the_guard_is_shown_where_it_changes_something(result: dict[str, Any]) -> None:
    assert [guard_is_idle(model) for model in result["models"]] == [False, True]
    assert [len(levels(model)) for model in result["models"]] == [8, 4]
    assert "changes nothing for bm25; its rows are left out" in to_text(result)
    lines = to_csv(result).splitlines()
    assert lines[0].startswith("model,language,queries,level,templates,denoised,normalised,added,cosine_mean")
    assert len(lines) == 1 + 16
    assert to_latex(result).count("known templates, denoised by rules") == 3


def test_every_condition_has_a_row_of_its_own_in_a_narrow_terminal(result: dict[str, Any]) -> None:
    """Names were shortened in the middle: `level 2…emplates` was the known templates and those held out."""
    names = [short_name(level) for level in levels(result["models"][0])]
    assert len(set(names)) == 8
    console = Console(width=60, file=io.StringIO())
    console.print(table(result))
    assert [name for name in names if not re.search(rf"^{name} +\d", console.file.getvalue(), re.MULTILINE)] == []


def test_systems_without_embeddings_have_no_cosine(result: dict[str, Any]) -> None:
    markdown = to_markdown(result)
    assert markdown.count("### m, en, 3 queries") == 1
    part = build(ResultFile("probe-noise.json", "probe-noise", result), Directory(Path("made"), ()))
    cosines = next(block for block in part.blocks if block.id == "probe-noise-cosine")
    assert [figure.title for figure in cosines.figures] == ["m"]
    overlaps = next(block for block in part.blocks if block.id == "probe-noise-overlap")
    assert len(overlaps.figures) == 2
    assert "changes R@10 by " in str(part.verdict)


def test_conditions_can_be_told_apart_in_a_terminal(result: dict[str, Any]) -> None:
    for model in result["models"]:
        for level in model["levels"]:
            level["measures"] |= dict.fromkeys(("nDCG@10", "N-Recall4+@10"), level["measures"]["R@10"])
    lines = to_text(result).splitlines()
    assert max(map(len, lines)) <= 100
    shown = [line for line in lines if line.startswith(("clean", "2 known"))]
    assert len({(at // 8, line.split("  ")[0]) for at, line in enumerate(shown)}) == len(shown) == 12
    assert any(line.startswith("2 known rules guard ") for line in shown)


def test_a_measure_of_no_query_is_no_change(result: dict[str, Any]) -> None:
    for model in result["models"]:
        for level in model["levels"]:
            level["measures"]["R@10"] = dict.fromkeys(level["measures"]["R@10"])
    assert [guard_is_idle(model) for model in result["models"]] == [False, True]
    assert "changes nothing for bm25" in to_text(result)
    build(ResultFile("probe-noise.json", "probe-noise", result), Directory(Path("made"), ()))


def test_a_clean_query_that_keeps_less_than_all_is_explained(result: dict[str, Any]) -> None:
    for model in result["models"]:
        model["levels"][0]["overlap"]["mean"] = 1.0
    assert "means over the orders" not in " ".join(to_text(result).split())
    result["models"][1]["levels"][0]["overlap"]["mean"] = 0.95
    assert "means over the orders" in " ".join(to_text(result).split())


@pytest.mark.parametrize("normalised", [(True,), (False,), (False, True)])
@pytest.mark.parametrize("denoised", [("none",), ("rules",), ("none", "rules"), ("rules", "judge")])
@pytest.mark.parametrize("levels", [(0,), (0, 2)])
def test_a_page_is_made_of_every_choice_of_conditions(levels: Any, denoised: Any, normalised: Any) -> None:
    """The guard alone, --guard on, left the page without its first sentence, and so without a page."""
    design = NoiseSettings("en", levels, ("known", "held-out"), denoised, normalised, queries=3)
    made = probe("m", embeds=False, guard=0.05, design=design)
    result = NoiseResult((made,), {"clean": {"queries": 9, "changed": 1}, "stripped": []}).to_dict()
    part = build(ResultFile("probe-noise.json", "probe-noise", result), Directory(Path("made"), ()))
    assert str(part.verdict[0]).startswith(f"m (en): {'level 2, known' if 2 in levels else 'clean'}")
    if 2 in levels:
        assert ("normalised" in str(part.verdict[0])) == (normalised == (True,))
        assert ("with the rules" in str(part.verdict)) == ({"none", "rules"} <= set(denoised))
