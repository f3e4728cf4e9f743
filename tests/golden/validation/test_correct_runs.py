"""Correcting run files in one call: the same numbers as by hand, and what is missing is said with its cure."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.golden.audited_world import World, written

from trueval.comparison.labels.audit_sample import AuditSample
from trueval.comparison.labels.correct import correct
from trueval.errors import InputError, PolicyError
from trueval.golden.validation.correct_runs import correct_runs
from trueval.judgments import Judgments
from trueval.measures import parse
from trueval.policy.policy import OURS


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> World:
    return written(tmp_path_factory.mktemp("world"), design="queries", sampled=30)


def test_it_is_the_correction_of_the_same_files(world: World) -> None:
    measure = parse("nDCG@5")
    runs = [str(run) for run in world.runs[:2]]
    found = correct_runs(str(world.golden), runs, [measure], policy=OURS, target="these", width=0.1, baseline=runs[1])
    audited = AuditSample.read(world.golden / "audit")
    by_hand = correct(runs, Judgments.read(world.golden), audited, [measure], target="these queries")
    for told, run in zip(found.to_dict()["runs"], by_hand.runs, strict=True):
        (entry,) = told["corrected"]
        assert entry["corrected"]["estimate"] == by_hand.of(run, "nDCG@5").corrected.estimate
        assert (entry["target"], entry["plan"]["target_width"]) == ("these queries", 0.1)
    (difference,) = found.to_dict()["differences"]
    assert (difference["first"], difference["second"]) == by_hand.runs
    assert found.notes == ()


def test_measures_that_take_everything_for_relevant_are_said(world: World) -> None:
    """As evaluate says it: on a scale from 1 on, P and its correction are of every judged passage."""
    runs = [str(world.runs[0])]
    (note,) = correct_runs(str(world.golden), runs, [parse("P@3"), parse("P(rel=4)@3")], policy=OURS).notes
    assert note.startswith("judgments: P@3 takes every judged document for relevant")


def test_what_is_missing_is_said_with_its_cure(world: World, tmp_path: Path) -> None:
    runs, measures = [str(world.runs[0])], [parse("P(rel=4)@3")]
    alone = tmp_path / "alone.trec"
    alone.write_text((world.golden / "qrels.trec").read_text())
    with pytest.raises(InputError, match=r"alone\.trec: there is no audit of it\. Make one .*, or name --audit DIR\."):
        correct_runs(str(alone), runs, measures, policy=OURS)
    assert correct_runs(str(alone), runs, measures, policy=OURS, audit=world.golden / "audit").result.runs
    with pytest.raises(PolicyError, match="target must be one of these, new"):
        correct_runs(str(world.golden), runs, measures, policy=OURS, target="all")


@pytest.mark.parametrize("design", ["queries", "documents"])
def test_what_nobody_names_can_be_corrected(tmp_path: Path, design: str) -> None:
    made = written(tmp_path, design=design, sampled=80 if design == "documents" else 30)
    found = correct_runs(str(made.golden), [str(made.runs[0])], policy=OURS).to_dict()
    (run,) = found["runs"]
    assert len(run["corrected"]) >= 4
    assert not [entry for entry in run["corrected"] if "refused" in entry]


def test_measures_of_contexts_are_corrected_where_people_graded_whole_queries(tmp_path: Path) -> None:
    """By default, and with the values that they have where they are asked for."""
    made = written(tmp_path, design="queries", sampled=30)
    runs = [str(made.runs[0])]
    found = correct_runs(str(made.golden), runs, policy=OURS).to_dict()["runs"][0]["corrected"]
    default = {each["measure"]: each["corrected"] for each in found}
    asked = ["RA-nWG@10", "N-Recall4+@10", "P4+@10", "Harm@10"]
    assert list(default)[-4:] == asked
    named = correct_runs(str(made.golden), runs, list(map(parse, asked)), policy=OURS).to_dict()
    assert {each["measure"]: each["corrected"] for each in named["runs"][0]["corrected"]} == {
        each: default[each] for each in asked
    }
