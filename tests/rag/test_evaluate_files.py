"""Files in, results out, in Python."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from trueval import Judgments, Run, evaluate
from trueval.errors import InputError, MeasureError, PolicyError
from trueval.rag.context_inputs import InputRules
from trueval.rag.evaluate_files import evaluate_files

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """q: all gold but c retrieved; r: all gold retrieved, and its answer is wrong."""
    log = [
        {"query": "q", "ids": ["a", "b", "u"], "gold": {"a": 5, "b": 4, "c": 4}, "correct": True},
        {"query": "r", "ids": [{"id": "a", "source": "paper"}], "gold": {"a": 5}, "correct": False},
    ]
    (tmp_path / "log.jsonl").write_text("\n".join(map(json.dumps, log)), encoding="utf-8")
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "log.jsonl").write_text("q Q0 c 1 1.0 x\nr Q0 a 1 1.0 x\n", encoding="utf-8")
    return tmp_path


def test_one_call_gives_what_evaluate_gives_and_what_belongs_beside(folder: Path) -> None:
    log = str(folder / "log.jsonl")
    measures = ["RA-nWG@3", "AllGold(rel=4)@3"]
    seen: list[str] = []
    found = evaluate_files(log, [log], measures, with_sensitivity=True, begin=seen.append)
    assert seen == [log, log]
    run = Run.from_dict({"q": {"a": 3.0, "b": 2.0, "u": 1.0}, "r": {"a": 1.0}})
    wanted = evaluate(run, Judgments.from_dict({"q": {"a": 5, "b": 4, "c": 4}, "r": {"a": 5}}), measures)
    assert found.scores[0].means() == wanted.means()
    assert found.answers[0]["AllGold(rel=4)@3"].expected == 0
    assert [str(one.measure) for one in found.sensitivity] == ["RA-nWG@3"]
    entry = found.to_dict()
    assert entry["runs"][0]["answers"]["AllGold(rel=4)@3"]["hits"] == 1
    assert len(entry["sensitivity"]) == 1
    json.dumps(entry, allow_nan=False)


def test_inputs_map_grades_fill_what_is_unjudged_and_name_answers(folder: Path) -> None:
    paths = [str(folder / "log.jsonl"), str(folder / "other" / "log.jsonl")]
    inputs = InputRules(grades={4: 3, 5: 5}, unjudged=2, correct={"q": 1.0, "r": 1.0, "z": 0.0})
    found = evaluate_files(paths[0], paths, "Harm@3 AllGold(rel=5)@1", inputs=inputs, missing="skip")
    assert [scores.name for scores in found.scores] == ["log", "other/log"]  # the files have one name
    assert found.scores[0].mean("Harm@3").expected == pytest.approx((1 / 3 + 0) / 2)
    assert sorted(found.judgments.frame["grade"].unique()) == [3, 5]
    assert [answers["AllGold(rel=5)@1"].hits for answers in found.answers] == [2, 1]
    assert found.scores[0].policy.missing == "skip"
    (note,) = (note for note in found.notes if "answers" in note)
    assert "1 queries are not in the judgments and are ignored, the first 'z'" in note


def test_sources_of_a_log_reach_the_judgments(folder: Path) -> None:
    judgments = InputRules().read_judgments(str(folder / "log.jsonl"))
    (pair,) = InputRules().read_runs([str(folder / "log.jsonl")], judgments)
    assert pair.judgments.source_codes is not None
    assert dict(pair.correct) == {"q": 1.0, "r": 0.0}


def test_what_lacks_its_measure_or_cannot_be_read_is_refused(folder: Path) -> None:
    log = str(folder / "log.jsonl")
    with pytest.raises(MeasureError, match="needs AllGold at a cutoff"):
        evaluate_files(log, [log], "RR", inputs=InputRules(correct={"q": 1.0}))
    with pytest.raises(MeasureError, match="needs RA-nWG"):
        evaluate_files(log, [log], "RA-nWG(unjudged='upper')@3", with_sensitivity=True)
    with pytest.raises(PolicyError, match="Unknown choice"):
        evaluate_files(log, [log], "RR", tie_odrer="input")
    with pytest.raises(InputError, match="has no mapping"):
        evaluate_files(log, [log], "RR", inputs=InputRules(grades={5: 1}))
