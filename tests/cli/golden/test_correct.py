"""`trueval golden correct`: values, differences, what a width takes, and where labels are worth most."""

import csv
import io
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.cli.conftest import Outcome, trueval  # noqa: F401  the fixture
from tests.golden.audited_world import World, written
from tests.report.results import places_of

from trueval.comparison.labels.correction import Corrected
from trueval.comparison.views.kind import CORRECTION
from trueval.errors import InputError
from trueval.report.kinds import read_directory
from trueval.report.page_content import Part
from trueval.report.result_directory import Directory

Command = Callable[..., Outcome]
MEASURES = ("-m", "P(rel=4)@3 DCG@5 nDCG@5")


@pytest.fixture(scope="module")
def worlds(tmp_path_factory: pytest.TempPathFactory) -> dict[str, World]:
    """By design; nobody writes there."""
    return {
        design: written(tmp_path_factory.mktemp(design), design=design, sampled=sampled)
        for design, sampled in (("queries", 30), ("documents", 80))
    }


def found(command: Command, world: World, *options: object) -> dict[str, Any]:
    outcome = command("golden", "correct", world.golden, *world.runs, *MEASURES, *options, "--format", "json")
    assert outcome.status == 0, outcome.err
    told: dict[str, Any] = json.loads(outcome.out)
    return told


def entries(told: dict[str, Any]) -> list[dict[str, Any]]:
    return [*(entry for run in told["runs"] for entry in run["corrected"]), *told["differences"]]


@pytest.mark.parametrize("design", ["queries", "documents"])
def test_it_says_the_same_as_evaluate(trueval: Command, worlds: dict[str, World], design: str) -> None:  # noqa: F811
    world = worlds[design]
    told = found(trueval, world)
    beside = json.loads(trueval("evaluate", world.golden, *world.runs, *MEASURES, "--format", "json").out)
    for run, other in zip(told["runs"], beside["runs"], strict=True):
        plain = [{name: value for name, value in entry.items() if name != "plan"} for entry in run["corrected"]]
        assert plain == other["corrected"]
    assert told["audit"] == beside["audit"]
    assert (told["kind"], told["width"]) == ("corrected", None)


@pytest.mark.parametrize("design", ["queries", "documents"])
def test_a_width_takes_labels(trueval: Command, worlds: dict[str, World], design: str) -> None:  # noqa: F811
    """More of them for a narrower one, none for one that is there, and a dash below what everything graded gives."""
    told = {width: entries(found(trueval, worlds[design], "--width", width)) for width in (0.12, 0.15, 5)}
    for narrow, wide, there in zip(*told.values(), strict=True):
        if "refused" in narrow:
            assert "plan" not in narrow
            continue
        plans = [each["plan"] for each in (narrow, wide, there)]
        assert [plan["target_width"] for plan in plans] == [0.12, 0.15, 5]
        for plan in plans:
            assert (plan["more_units"] is None) == (plan["least_width"] > plan["target_width"])
            assert plan["width_now"] == pytest.approx(narrow["corrected"]["high"] - narrow["corrected"]["low"])
        assert plans[2]["more_units"] == 0
        if plans[0]["more_units"] is not None:
            assert plans[0]["more_units"] >= plans[1]["more_units"]
        widths = [point["width"] for point in narrow["plan"]["curve"]]
        assert widths == sorted(widths, reverse=True)
        assert widths[0] == pytest.approx(plans[0]["width_now"], rel=1e-6)


def test_without_a_width_it_is_halfway_to_the_least(trueval: Command, worlds: dict[str, World]) -> None:  # noqa: F811
    for entry in entries(found(trueval, worlds["queries"])):
        plan = entry["plan"]
        assert plan["target_width"] == pytest.approx((plan["width_now"] + plan["least_width"]) / 2)
        assert plan["more_units"] > 0


def test_these_queries_are_known_better_than_new_ones(trueval: Command, worlds: dict[str, World]) -> None:  # noqa: F811
    new, these = (entries(found(trueval, worlds["queries"], "--target", target)) for target in ("new", "these"))
    for one, other in zip(new, these, strict=True):
        assert (one["target"], other["target"]) == ("new queries", "these queries")
        assert one["corrected"]["estimate"] == other["corrected"]["estimate"]
        assert one["corrected"]["se"] > other["corrected"]["se"]
        assert other["plan"]["least_width"] == pytest.approx(0, abs=1e-12)


def test_a_baseline_has_fewer_differences(trueval: Command, worlds: dict[str, World]) -> None:  # noqa: F811
    told = found(trueval, worlds["queries"], "--baseline", "weak")
    assert {entry["second"] for entry in told["differences"]} == {"weak"}
    assert len(told["differences"]) == 6


@pytest.mark.parametrize("design", ["queries", "documents"])
def test_every_format_says_it(trueval: Command, worlds: dict[str, World], design: str) -> None:  # noqa: F811
    world, told = worlds[design], found(trueval, worlds[design], "--width", 0.2)
    entry = next(entry for entry in told["runs"][1]["corrected"] if entry["measure"] == "P(rel=4)@3")
    value, plan = entry["corrected"]["estimate"], entry["plan"]
    asked = ("golden", "correct", world.golden, *world.runs, *MEASURES, "--width", 0.2)
    for form in ("table", "markdown", "latex"):
        text = " ".join(trueval(*asked, "--format", form, columns=130).out.split())
        assert f"{value:.4f}" in text
        assert f"{plan['width_now']:.4f}" in text
        assert "0.2000" in text
        assert ("worth most in these strata" in text) == (design == "documents")
        assert ("not corrected" in text) == (design == "documents")
    rows = list(csv.DictReader(io.StringIO(trueval(*asked, "--format", "csv").out)))
    row = next(row for row in rows if (row["run"], row["second"], row["measure"]) == ("flattered", "", "P(rel=4)@3"))
    assert (float(row["corrected"]), float(row["width_now"])) == (value, plan["width_now"])
    assert row["more_units"] == ("" if plan["more_units"] is None else str(plan["more_units"]))
    assert len(rows) == 18


def test_a_width_is_explained_where_it_stands(trueval: Command, worlds: dict[str, World]) -> None:  # noqa: F811
    """The sentence says what is wide, from where to where, what more labels make of it and how to ask otherwise."""
    world = worlds["queries"]
    told = found(trueval, world)
    plan = next(each for each in told["runs"][0]["corrected"] if each["measure"] == "nDCG@5")["plan"]
    assert plan["unit"] == "queries"
    asked = ("golden", "correct", world.golden, *world.runs, "-m", "nDCG@5")
    words = " ".join(trueval(*asked, columns=200).out.split())
    assert (
        f"The interval of honest is {plan['width_now']:.4f} wide, from end to end; about {plan['more_labels']} more "
        f"labels ({plan['more_units']} queries) would make it {plan['target_width']:.4f}, halfway to the "
        f"{plan['least_width']:.4f} with everything graded; --width W names another target."
    ) in words
    assert f"--size {30 + plan['more_units']}" in words
    found_by_name = {
        run["name"]: entry["corrected"]["estimate"]
        for run in told["runs"]
        for entry in run["corrected"]
        if entry["measure"] == "nDCG@5"
    }
    first, second, _ = sorted(found_by_name, key=lambda name: -found_by_name[name])
    (between,) = [
        abs(each["corrected"]["estimate"])
        for each in told["differences"]
        if each["measure"] == "nDCG@5" and {each["first"], each["second"]} == {first, second}
    ]
    assert f"These labels separate {first} from {second}, the next by them: the difference is +{between:.4f} [" in words
    assert "halfway" not in trueval(*asked, "--width", 0.05).out


def test_runs_that_are_equal_are_said_to_be(trueval: Command, worlds: dict[str, World]) -> None:  # noqa: F811
    """Every list has the same eight passages, so that the precision of ten is one number."""
    world = worlds["documents"]
    words = " ".join(trueval("golden", "correct", world.golden, *world.runs, "-m", "P@10", columns=200).out.split())
    assert words.startswith("honest, flattered and weak are equal in P@10: 0.8000 [")
    assert "stays first" not in words
    assert "separate" not in words.partition("People graded")[0]


def test_a_value_without_an_interval_says_so(trueval: Command, worlds: dict[str, World]) -> None:  # noqa: F811
    """The first document of every list is relevant at grade 1, so that graded queries are all alike."""
    world = worlds["queries"]
    words = " ".join(trueval("golden", "correct", world.golden, world.runs[0], "-m", "RR", columns=200).out.split())
    assert words.startswith("RR of honest is 1.0000 (no interval yet) corrected by people's labels; 1.0000 by the")


def test_passages_alone_say_how_measures_of_contexts_are_corrected(
    trueval: Command,  # noqa: F811
    worlds: dict[str, World],
    tmp_path: Path,
) -> None:
    """The audit that the sentence names draws whole queries; where a measure was refused, that says it already."""
    world = worlds["documents"]
    asked = ("golden", "correct", world.golden, *world.runs)
    words = " ".join(trueval(*asked, columns=200).out.split())
    assert "RA-nWG, N-Recall4+, R and nDCG, which divide by what people find in a whole query, need" in words
    assert "--design queries --out AUDIT, then this command with --audit AUDIT" in words
    assert "--design queries --out" not in trueval(*asked, *MEASURES, columns=200).out
    assert "--design queries --out" not in trueval("golden", "correct", worlds["queries"].golden, *world.runs).out


def test_the_page_has_what_more_labels_buy(
    trueval: Command,  # noqa: F811
    worlds: dict[str, World],
    tmp_path: Path,
) -> None:
    world = worlds["documents"]
    asked = ("golden", "correct", world.golden, *world.runs, *MEASURES, "--out", tmp_path / "out")
    assert trueval(*asked).status == 0
    directory = read_directory(tmp_path / "out")
    part = page_of(directory)
    assert (part.title, part.answer.question[:4]) == ("Corrected values", "What")
    words = "".join(getattr(each, "text", each) for each in part.answer.sentence)
    assert words.startswith("honest is first in P(rel=4)@3 by people's labels, with ")
    assert words.endswith(" corrected; by the judge's labels flattered is first.")
    assert "People graded 160 of 480 passages" in str(part.answer.sure)
    assert [block.id for block in part.blocks] == ["corrected-block", "differences-corrected-block", "plan"]
    assert [table.id for table in part.blocks[2].tables][:2] == ["plan-table", "plan-strata"]
    assert "worth most in these strata: low" in str(part.answer.change)
    assert re.fullmatch(r"trueval golden audit DIR --size \d+", part.answer.next)
    assert len(part.lead) == 1
    assert {table.id for block in part.closing for table in block.tables} == {"policy"}


def test_every_number_of_the_page_is_where_it_says(trueval: Command, worlds: dict[str, World], tmp_path: Path) -> None:  # noqa: F811
    """Values, intervals, labels and widths, of runs and of differences."""
    world = worlds["queries"]
    assert trueval("golden", "correct", world.golden, *world.runs, *MEASURES, "--out", tmp_path / "out").status == 0
    directory = read_directory(tmp_path / "out")
    data, part = directory.files[0].data, page_of(directory)
    shown = 0
    for table in (table for block in part.blocks for table in block.tables):
        for row, places in zip(table.rows, places_of(table), strict=True):
            for cell, place in zip(row.cells, places, strict=True):
                if place:
                    assert read_pointer(data, place) == cell.value
                    shown += 1
    assert shown > 6 * 9 * 2


def test_a_result_is_read_back_as_it_was_written(trueval: Command, worlds: dict[str, World]) -> None:  # noqa: F811
    """A refused measure, one without an interval and plans among them; a wrong value is named by its place."""
    told = found(trueval, worlds["documents"], "--width", 0.2)
    assert json.dumps(Corrected.from_dict(told).to_dict()) == json.dumps(told)
    told["runs"][1]["corrected"][0]["people"]["low"] = "low"
    with pytest.raises(InputError, match=r"#/runs/1/corrected/0/people/low: .* must be a number here"):
        Corrected.from_dict(told)


def page_of(directory: Directory) -> Part:
    assert CORRECTION.page is not None
    return CORRECTION.page(directory.files[0], directory)


def read_pointer(data: object, place: str) -> object:
    found: Any = data
    for key in place.split("/")[1:]:
        found = found[int(key)] if isinstance(found, list) else found[key]
    return found


def test_what_is_wrong_is_said_in_one_line(trueval: Command, worlds: dict[str, World], tmp_path: Path) -> None:  # noqa: F811
    world = worlds["queries"]
    alone = tmp_path / "alone.trec"
    alone.write_text((world.golden / "qrels.trec").read_text())
    bare = trueval("golden", "correct", alone, world.runs[0])
    assert (bare.status, "there is no audit of it" in bare.err, bare.err.count("\n")) == (1, True, 1)
    width = trueval("golden", "correct", world.golden, world.runs[0], "--width", 0)
    assert width.status == 2
    unknown = trueval("golden", "correct", world.golden, world.runs[0], "--baseline", tmp_path / "no.trec")
    assert (unknown.status, "no such file" in unknown.err) == (1, True)
