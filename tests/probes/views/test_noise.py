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
from trueval.probes.noise_result import ChangedQueries, Denoising, NoiseSummary
from trueval.probes.noise_settings import NoiseSettings
from trueval.probes.noise_summary import NoiseResult
from trueval.probes.views.kind import NOISE
from trueval.probes.views.noise import guard_is_idle, short_name, shown_levels, view
from trueval.report.page_content import Number, Part
from trueval.report.result_directory import Directory, ResultFile

QUERIES = ("q1", "q2", "q3")


RULES = Denoising(ChangedQueries(9, 1), ())
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
    return NoiseResult(probes, RULES).to_dict()


def part_of(result: dict[str, Any]) -> Part:
    assert NOISE.page
    return NOISE.page(ResultFile("probe-noise.json", "probe-noise", result), Directory(Path("made"), ()))


def text(words: Any) -> str:
    return "".join(each.text if isinstance(each, Number) else each for each in words)


def legend(result: dict[str, Any]) -> str:
    return " ".join(view(NoiseSummary.from_dict(result)).legend)


def test_the_guard_is_shown_where_it_changes_something(result: dict[str, Any]) -> None:
    models = NoiseSummary.from_dict(result).models
    assert [guard_is_idle(model) for model in models] == [False, True]
    assert [len(shown_levels(model)) for model in models] == [8, 4]
    assert "changes nothing for bm25; its rows are left out" in legend(result)
    lines = NOISE.write(result, "csv").splitlines()
    begin = "model,language,queries,level,templates,denoised,normalised,added"
    assert lines[0] == f"{begin},statistic,value,value_low,value_high,clean,change,change_low,change_high,lost"
    assert len(lines) == 1 + 16 * 6
    assert NOISE.write(result, "latex").count("2 known rules") == 3


def test_every_condition_has_a_row_of_its_own_in_a_narrow_terminal(result: dict[str, Any]) -> None:
    """Names were shortened in the middle: `level 2…emplates` was the known templates and those held out."""
    names = [short_name(level) for level in shown_levels(NoiseSummary.from_dict(result).models[0])]
    assert len(set(names)) == 8
    console = Console(width=60, file=io.StringIO())
    console.print(NOISE.write(result, "table"))
    assert [name for name in names if not re.search(rf"^{name} +\d", console.file.getvalue(), re.MULTILINE)] == []


def test_the_answer_counts_the_queries_that_lose(result: dict[str, Any]) -> None:
    """Both lose .1, .11 and .12 of .8, .79 and .78; bm25 is made to lose less."""
    for level in result["models"][1]["levels"]:
        change = level["measures"]["R@10"]
        change |= {"change": change["change"] / 2, "lost": 2 * (level["level"] > 0)}
    part = part_of(result)
    assert text(part.answer.sentence) == (
        "Chatter around queries (level 2, known templates) is bad for m (en) and bm25 (en): m (en) loses most: 3 of 3 "
        "queries lose R@10, a mean change of -0.1000; bm25 (en) least: 2 of 3, -0.0500."
    )
    assert text(part.answer.change) == (
        "Have a language model rewrite queries before the search, and measure it with --denoise judge --judge MODEL: "
        "denoised by rules, the change is -0.1000 for templates that the rules know."
    )
    sources = [each.source for each in part.answer.sentence if isinstance(each, Number)]
    assert sources[0].startswith("probe-noise.json#/models/0/levels/")
    assert sources[0].endswith("/measures/R@10/change")
    kept = "of the first 10 documents it keeps 8.9; with the rules it changes by"
    assert [text(each) for each in part.said] == [
        f"m (en), level 2, known templates: 3 of 3 queries lose R@10, a mean change of -0.1000; {kept} -0.1000.",
        f"bm25 (en), level 2, known templates: 2 of 3 queries lose R@10, a mean change of -0.0500; {kept} -0.0500.",
    ]


def test_files_without_counts_are_read(result: dict[str, Any]) -> None:
    for level in (level for model in result["models"] for level in model["levels"]):
        for change in level["measures"].values():
            del change["queries"], change["lost"]
    assert text(part_of(result).answer.sentence) == (
        "Chatter around queries (level 2, known templates) is bad for m (en) and bm25 (en): m (en) loses most: R@10 "
        "changes by -0.1000; bm25 (en) least: -0.1000."
    )


def test_what_is_not_shown_is_not_claimed(result: dict[str, Any]) -> None:
    for level in (level for model in result["models"] for level in model["levels"]):
        level["measures"]["R@10"] |= {"high": 0.01}
    assert text(part_of(result).answer.sentence).startswith(
        "Chatter around queries (level 2, known templates) is not known to be bad or harmless for m (en) and bm25 (en)"
        ": m (en): 3 of 3 queries lose R@10, a mean change of -0.1000"
    )
    assert text(part_of(result).answer.change).startswith(
        "More judged queries than these 3 can decide it (--queries N)"
    )


def change_of(result: dict[str, Any], model: int, **ends: float) -> None:
    for level in result["models"][model]["levels"]:
        level["measures"]["R@10"] |= ends if level["level"] else {}


def test_the_answer_says_for_whom_chatter_is_bad_harmless_or_unknown(result: dict[str, Any]) -> None:
    """Harmless is where a loss of more than .02 is outside the interval."""
    change_of(result, 1, change=-0.005, low=-0.019, high=0.01)
    outcomes = " is bad for m (en) and harmless for bm25 (en): "
    assert outcomes in text(part_of(result).answer.sentence)
    change_of(result, 1, low=-0.021)
    assert " is bad for m (en) and not known to be bad or harmless for bm25 (en): " in text(
        part_of(result).answer.sentence
    )
    for model in (0, 1):
        change_of(result, model, change=-0.005, low=-0.01, high=0.01)
    found = part_of(result).answer
    assert " is harmless for m (en) and bm25 (en): " in text(found.sentence)
    assert "so that a loss of 0.02 is excluded" in text(found.sure)
    assert text(found.change) == "Nothing needs to be changed."


def test_rules_are_advised_where_they_recover_half_of_the_loss_for_others_too() -> None:
    design = NoiseSettings("en", (0, 2), ("known", "held-out"), ("none", "rules"), (False,), queries=3)
    result = NoiseResult((probe("m", embeds=False, guard=0.0, design=design),), RULES).to_dict()
    for known, others, advice in ((-0.01, -0.04, "Strip the chatter"), (-0.01, -0.06, "Have a language model")):
        for level in result["models"][0]["levels"]:
            if level["denoised"] == "rules" and level["level"]:
                level["measures"]["R@10"]["change"] = known if level["templates"] == "known" else others
        change = text(part_of(result).answer.change)
        assert change.startswith(advice)
        assert change.endswith(f"the change is {known:.4f} for templates that the rules know, {others:.4f} for others.")


def test_a_loss_of_what_should_be_low_is_a_rise(result: dict[str, Any]) -> None:
    """Of Harm, chatter that adds .1 is bad, and what takes it off is not."""
    for model in result["models"]:
        for level in model["levels"]:
            change = level["measures"].pop("R@10")
            ends = {"change": -change["change"], "low": 0.09 * (level["level"] > 0), "high": 0.12}
            level["measures"] = {"Harm@10": {**change, **ends}}
    assert " is bad for m (en) and bm25 (en): " in text(part_of(result).answer.sentence)


def test_a_table_of_many_measures_fits_a_terminal_and_files_have_all(result: dict[str, Any]) -> None:
    for model in result["models"]:
        for level in model["levels"]:
            level["measures"] |= dict.fromkeys(("RA-nWG@10", "N-Recall4+@10", "P4+@10"), level["measures"]["R@10"])
    wide = Console(width=400, file=io.StringIO())
    wide.print(NOISE.write(result, "table"))
    lines = wide.file.getvalue().splitlines()
    shown = [line for line in lines if line.startswith(("condition", "clean", "2 known"))]
    assert len(shown) > 8
    assert max(map(len, shown)) <= 80
    assert {"RA-nWG@10 change", "P4+@10 change"} <= set(re.split(r"\s*\|\s*", NOISE.write(result, "markdown")))
    assert NOISE.write(result, "csv").count("N-Recall4+@10") == 16


def test_systems_without_embeddings_have_no_cosine(result: dict[str, Any]) -> None:
    assert NOISE.write(result, "markdown").count("### m, en, 3 queries") == 1
    part = part_of(result)
    cosines = next(block for block in part.blocks if block.id == "probe-noise-cosine")
    assert [figure.title for figure in cosines.figures] == ["m: cosine by level of noise"]
    overlaps = next(block for block in part.blocks if block.id == "probe-noise-overlap")
    assert len(overlaps.figures) == 2


def test_conditions_can_be_told_apart_in_a_terminal(result: dict[str, Any]) -> None:
    for model in result["models"]:
        for level in model["levels"]:
            level["measures"] |= dict.fromkeys(("nDCG@10", "N-Recall4+@10"), level["measures"]["R@10"])
    lines = NOISE.in_console(result).splitlines()
    assert max(map(len, lines)) <= 100
    shown = [line for line in lines if line.startswith(("clean", "2 known"))]
    assert len({(at // 8, line.split("  ")[0]) for at, line in enumerate(shown)}) == len(shown) == 12
    assert any(line.startswith("2 known rules guard ") for line in shown)


def test_a_measure_of_no_query_is_no_change(result: dict[str, Any]) -> None:
    for model in result["models"]:
        for level in model["levels"]:
            level["measures"]["R@10"] = dict.fromkeys(level["measures"]["R@10"])
    assert [guard_is_idle(model) for model in NoiseSummary.from_dict(result).models] == [False, True]
    assert "changes nothing for bm25" in legend(result)
    assert text(part_of(result).answer.sentence) == "R@10 has no value under noise: see the notes."


def test_a_clean_query_that_keeps_less_than_all_is_explained(result: dict[str, Any]) -> None:
    for model in result["models"]:
        model["levels"][0]["overlap"]["mean"] = 1.0
    assert "means over the orders" not in legend(result)
    result["models"][1]["levels"][0]["overlap"]["mean"] = 0.95
    assert "means over the orders" in legend(result)


@pytest.mark.parametrize("normalised", [(True,), (False,), (False, True)])
@pytest.mark.parametrize("denoised", [("none",), ("rules",), ("none", "rules"), ("rules", "judge")])
@pytest.mark.parametrize("levels", [(0,), (0, 2)])
def test_a_page_is_made_of_every_choice_of_conditions(levels: Any, denoised: Any, normalised: Any) -> None:
    """The guard alone, --guard on, left the page without its first sentence, and so without a page."""
    design = NoiseSettings("en", levels, ("known", "held-out"), denoised, normalised, queries=3)
    made = probe("m", embeds=False, guard=0.05, design=design)
    part = part_of(NoiseResult((made,), RULES).to_dict())
    if 2 not in levels:
        assert text(part.answer.sentence) == "No noise was tried, only clean queries."
        return
    assert text(part.answer.sentence).startswith("Chatter around queries (level 2, known templates")
    assert ") is bad for m (en): 3 of 3 queries lose R@10" in text(part.answer.sentence)
    assert ("normalised" in text(part.answer.sentence)) == (normalised == (True,))
    others = ", -0.1000 for others." if {"none", "rules"} <= set(denoised) else ""
    assert text(part.answer.change).partition("that the rules know")[2] == others
    assert ("denoised already" in text(part.answer.change)) == ("none" not in denoised)
