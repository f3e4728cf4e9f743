"""`trueval compare` with other judges: their labels, and bounds on the errors of one."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.cli.conftest import Outcome
from tests.golden.audited_world import World, written

Command = Callable[..., Outcome]
FEW = ("-m", "P(rel=4)@5 nDCG@5 RA-nWG@5", "--resamples", 200)


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> World:
    """Of whole queries; nobody writes there."""
    return written(tmp_path_factory.mktemp("queries"))


def other_judge(kept: World, path: Path) -> Path:
    """The same passages, the best grade given to the others."""
    turned = {"1": "5", "2": "4", "3": "3", "4": "2", "5": "1"}
    lines = [line.split() for line in (kept.golden / "qrels.trec").read_text(encoding="utf-8").splitlines()]
    text = "".join(f"{query} 0 {document} {turned.get(grade, grade)}\n" for query, _, document, grade in lines)
    path.write_text(text, encoding="utf-8")
    return path


def test_another_judge_that_turns_the_lead_is_named(trueval: Command, kept: World, tmp_path: Path) -> None:
    other = other_judge(kept, tmp_path / "other.qrels")
    options = (*FEW, "--judges", other)
    status, out, err = trueval("compare", kept.golden, *kept.runs, *options, "--format", "json")
    assert status == 0, err
    found = json.loads(out)["judges"]
    assert found["judges"] == [kept.golden.name, "other"] or found["judges"][1] == "other"
    assert found["error"] is None
    assert len(found["by_judge"]) == len(json.loads(out)["differences"])
    turned = [each for each in found["by_judge"] if each["turned_by"] == ["other"]]
    assert turned
    assert all(each["verdict"] == "turned by judge other" for each in turned)
    text = trueval("compare", kept.golden, *kept.runs, *options).out
    assert "Differences by judge" in text
    assert "turned by judge other" in text


def test_bounds_of_an_audit(trueval: Command, kept: World, tmp_path: Path) -> None:
    out = tmp_path / "out"
    status, text, err = trueval("compare", kept.golden, *kept.runs, *FEW, "--judge-error", "bounded", "--out", out)
    assert status == 0, err
    said = " ".join(text.split())
    assert "Whatever judge, inside the bounds of the audit: " in said
    assert "No bounds on judges: RA-nWG@5: its norm depends on the labels too" in said
    found = json.loads((out / "comparison.json").read_text(encoding="utf-8"))["judges"]
    assert (found["error"], len(found["judges"])) == ("bounded", 1)
    for each in found["bounded"]:
        assert each["low"] <= each["high"]
        assert each["verdict"] in ("robust", "depends on the judge", "not shown", "no difference")
    for form in ("markdown", "latex", "csv"):
        again = trueval("compare", kept.golden, *kept.runs, *FEW, "--judge-error", "by-system", "--format", form)
        assert again.status == 0


def test_without_them_the_json_is_as_before(trueval: Command, kept: World) -> None:
    found = json.loads(trueval("compare", kept.golden, *kept.runs, *FEW, "--format", "json").out)
    assert "judges" not in found


def test_what_does_not_go_is_one_sentence(trueval: Command, kept: World, tmp_path: Path) -> None:
    alone = tmp_path / "alone.qrels"
    alone.write_text((kept.golden / "qrels.trec").read_text(encoding="utf-8"), encoding="utf-8")
    found = trueval("compare", alone, *kept.runs, *FEW, "--judge-error", "bounded")
    assert found.status == 1
    assert "Bounds on a judge's errors need an audit, which says how often the judge errs" in found.err
    binary = tmp_path / "binary.qrels"
    lines = (line.split() for line in alone.read_text(encoding="utf-8").splitlines())
    binary.write_text("".join(f"{q} 0 {d} {int(int(float(g)) > 3)}\n" for q, _, d, g in lines), encoding="utf-8")
    found = trueval("compare", alone, *kept.runs, *FEW, "--judges", binary)
    assert found.status == 1
    assert "Judges must grade on one scale" in found.err
    found = trueval("compare", alone, *kept.runs, *FEW, "--judges", alone, columns=200)
    assert found.status == 2
    assert "is given twice" in found.err


def test_a_copy_of_the_judge_is_said_to_say_nothing(trueval: Command, kept: World, tmp_path: Path) -> None:
    for name in ("judge", "again"):
        (tmp_path / name).write_text((kept.golden / "qrels.trec").read_text(encoding="utf-8"), encoding="utf-8")
    for command in ("compare", "budget"):
        options = ("-m", "P(rel=4)@5", "--judges", tmp_path / "again")
        found = trueval(command, tmp_path / "judge", *kept.runs[:2], *options)
        assert found.status == 0
        said = "".join(found.err.split())
        assert "againhasthelabelsof" in said
        assert "judge:oneisacopyoftheother" in said


def test_a_golden_set_is_one_judge(trueval: Command, kept: World, tmp_path: Path) -> None:
    alone = tmp_path / "alone.qrels"
    alone.write_text((kept.golden / "qrels.trec").read_text(encoding="utf-8"), encoding="utf-8")
    options = ("-m", "P(rel=4)@5", "--resamples", 200, "--format", "json", "--judges", kept.golden)
    status, out, err = trueval("compare", alone, *kept.runs[:2], *options)
    assert status == 0, err
    assert json.loads(out)["judges"]["judges"] == ["alone", kept.golden.name]
