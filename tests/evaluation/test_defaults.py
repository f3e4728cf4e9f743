"""A golden set knows its scale: what is measured, and from which grade, where nobody says it."""

import gzip
import json
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import trueval as tv
from trueval.collection import Collection
from trueval.comparison.limits import MaxDrop, Minimum, MinQueries
from trueval.errors import MeasureError, TruevalWarning
from trueval.retrieval.cuts.cut_audit import cut_runs

PLAIN = ["nDCG@10", "RR@10", "AP", "R@100", "P@10"]
OF_RUBRIC = ["RA-nWG@10", "N-Recall4+@10", "nDCG(gain='rubric')@10", "P4+@10", "Harm@10"]
GRADES = {"q1": {"a": 1, "b": 5, "c": 4, "d": 3}, "q2": {"a": 2, "b": 1, "c": 1, "d": 4}}
RUN = {query: {document: -float(at) for at, document in enumerate("abcd")} for query in GRADES}


@pytest.fixture
def golden(tmp_path: Path) -> Path:
    """A folder as `trueval golden build` leaves it, as far as evaluation looks; a, the first listed, is 1 or 2."""
    place = tmp_path / "golden"
    place.mkdir()
    (place / "golden.json").write_text(json.dumps({"kind": "golden", "format": 1}), encoding="utf-8")
    lines = [f"{query} 0 {doc} {grade}\n" for query, graded in GRADES.items() for doc, grade in graded.items()]
    (place / "qrels.trec").write_text("".join(lines), encoding="utf-8")
    return place


def evaluated(judgments: Any, *measures: Any, **choices: Any) -> tv.Scores:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", TruevalWarning)
        return tv.evaluate(RUN, judgments, *measures, **choices)


@pytest.mark.parametrize("form", ["folder", "file", "read"])
def test_a_golden_set_is_measured_on_its_rubric(golden: Path, form: str) -> None:
    """q1: 4 and 5 at ranks 3 and 2; q2: a 4 at rank 4. With rel 1 the reciprocal rank of both would be 1."""
    judgments: Any = {"folder": golden, "file": str(golden / "qrels.trec"), "read": tv.Judgments.read(golden)}[form]
    found = tv.evaluate(RUN, judgments)
    assert list(found) == OF_RUBRIC
    assert found.policy.rel == 4
    assert found.notes == ()
    assert found["P4+@10"].expected == pytest.approx((0.2 + 0.1) / 2)
    assert found["Harm@10"].expected == pytest.approx((0.1 + 0.3) / 2)
    named = tv.evaluate(RUN, judgments, "RR@10 AP(rel=2)")
    assert list(named) == ["RR(rel=4)@10", "AP(rel=2)"]
    assert named["RR@10"].expected == named["RR(rel=4)@10"].expected == (1 / 2 + 1 / 4) / 2


def test_a_gain_for_passages_that_a_golden_set_calls_not_relevant_is_noted_once(golden: Path) -> None:
    found = evaluated(golden, "nDCG@10 gm(nDCG@10) DCG nDCG(gain='exp')@5 RR")
    (note,) = [each for each in found.notes if "gain" in each]
    assert note == (
        "judgments: nDCG@10, DCG give passages of grades 1 and 2 a gain, and in a golden set these are not relevant. "
        "Name nDCG(gain='rubric')@10, DCG(gain='rubric'), whose gains are those of the rubric."
    )
    (curve,) = [each for each in evaluated(golden, "nDCG@10 nDCG@1 nDCG@2").notes if "gain" in each]
    assert curve.startswith("judgments: nDCG@10 and 2 more give passages")
    assert "Name nDCG(gain='rubric')@10, whose" in curve
    mapped = tv.Judgments.read(golden).map_grades({grade: grade for grade in range(1, 6)})
    for judgments, measure, choices in (
        (golden, "nDCG(gain='linear')@10", {}),
        (golden, "nDCG@10", {"gain": "rubric"}),
        (golden, "nDCG@10", {"gain": "binary"}),
        (mapped, "nDCG@10", {}),
    ):
        assert not [each for each in evaluated(judgments, measure, **choices).notes if "gain" in each]
    assert str(evaluated(golden, "nDCG@10 AP", rel=1).notes).count("gain") == 1  # the note on the threshold has it


def test_gains_of_the_rubric_are_the_worth_of_its_grades() -> None:
    """1, .5, .1, 0 and 0 of grades 5 to 1: the weights of nWG, discounted."""
    one = {"q": {"a": 3.0, "b": 2.0, "c": 1.0}}
    found = tv.evaluate(one, {"q": {"a": 2, "b": 4, "c": 5, "d": 3}}, "nDCG(gain='rubric')@3 DCG(gain='rubric')")
    dcg = 0.5 / np.log2(3) + 1 / 2
    assert found["DCG(gain='rubric')"].expected == pytest.approx(dcg)
    assert found["nDCG(gain='rubric')@3"].expected == pytest.approx(dcg / (1 + 0.5 / np.log2(3) + 0.1 / 2))
    with pytest.raises(tv.errors.InputError, match="nDCG reads grades on the rubric 1 to 5"):
        tv.evaluate(one, {"q": {"a": 0, "b": 1}}, "nDCG(gain='rubric')@3")


def test_what_is_named_stays_named(golden: Path) -> None:
    for choices in ({"rel": 1}, {"rel": 2}, {"convention": "pytrec_eval"}, {"policy": tv.Policy()}):
        found = evaluated(golden, **choices)
        assert list(found) == PLAIN
        assert found.policy.rel == choices.get("rel", 1)
    assert list(evaluated(golden, "RR@10", rel=1)) == ["RR@10"]
    mapped = tv.Judgments.read(golden).map_grades({grade: grade for grade in range(1, 6)})
    assert list(evaluated(mapped)) == PLAIN


def test_other_judgments_have_the_defaults_that_they_had(golden: Path) -> None:
    assert list(evaluated(GRADES)) == PLAIN
    (golden / "golden.json").write_text(json.dumps({"kind": "evaluate"}), encoding="utf-8")
    assert list(evaluated(golden)) == PLAIN
    (golden / "golden.json").unlink()
    assert list(evaluated(golden)) == PLAIN


@pytest.mark.slow
def test_every_call_that_takes_judgments_knows_it(golden: Path, tmp_path: Path) -> None:
    runs = {"one": RUN, "other": {query: {"d": 2.0, "a": 1.0} for query in GRADES}}
    compared = tv.compare(runs, golden)
    assert list(dict.fromkeys(each.measure for each in compared.differences)) == OF_RUBRIC
    assert compared.choices["policy"]["rel"] == 4  # type: ignore[index]
    assert [str(each.measure) for each in tv.power(runs, golden).measures] == OF_RUBRIC
    named = tv.power(runs, golden, "RR@10").measures
    assert [str(each.measure) for each in named] == ["RR(rel=4)@10"]
    explained = tv.explain(RUN, golden, "RR@10")
    assert str(explained.measure) == "RR(rel=4)@10"
    assert explained.row("trec_eval").value == (1 / 2 + 1 / 4) / 2
    cut = cut_runs([RUN], 2, judgments=golden)
    assert cut.scores is not None
    assert list(cut.scores) == [name.replace("@10", "@2") for name in OF_RUBRIC]


def test_a_collection_with_a_golden_set_keeps_what_it_knows(golden: Path) -> None:
    (golden / "corpus.jsonl").write_text(
        "".join(json.dumps({"_id": name, "text": name}) + "\n" for name in "abcd"), encoding="utf-8"
    )
    (golden / "queries.jsonl").write_text(
        "".join(json.dumps({"_id": name, "text": name}) + "\n" for name in GRADES), encoding="utf-8"
    )
    found = Collection.read(str(golden))
    assert found.graded.rubric
    assert found.restrict({"q1"}).graded.rubric


def test_limits_are_about_the_measures_that_they_name(golden: Path) -> None:
    from trueval.comparison.gate.gate import MaxDrop, Minimum

    grades = {f"q{at}": GRADES["q1"] for at in range(6)}
    lines = [f"{query} 0 {doc} {grade}\n" for query, graded in grades.items() for doc, grade in graded.items()]
    (golden / "qrels.trec").write_text("".join(lines), encoding="utf-8")
    run = dict.fromkeys(grades, RUN["q1"])
    scores = tv.evaluate(run, golden, "RR@10")
    (check,) = tv.gate(scores, [Minimum("RR@10", 0.6)])
    assert (check.measure, check.value, check.passed) == ("RR(rel=4)@10", 0.5, False)
    swapped = tv.evaluate({query: {"b": 2.0, "a": 1.0} for query in grades}, golden, "RR@10")
    assert tv.self_test(scores, [MaxDrop("RR@10", 0.9)], baseline=swapped, worlds=100).asked.limits == (
        "--max-drop RR(rel=4)@10=0.9",
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", TruevalWarning)
        old = tv.evaluate(run, golden, "RR@10 RR(rel=4)@10 RA-nWG@10", rel=1)
    with pytest.raises(MeasureError, match=r"was not evaluated by RR\(rel=4\)@10"):
        tv.gate(scores, [MaxDrop("RR@10", 0.1)], baseline=old.of(["RR@10"]))
    other = tv.evaluate({query: {**RUN["q1"], "x": -9.0} for query in grades}, golden)
    (refused,) = tv.gate(other, [MaxDrop("RA-nWG@10", 0.1)], baseline=old)
    assert (refused.name, refused.passed) == ("comparable", False)
    assert "rel 4 and 1" in refused.line


def test_a_scale_from_one_is_told_with_the_map_to_choose() -> None:
    """Elsewhere nobody knows what grade 1 means: what is measured stays, and the two cures are written out."""
    with pytest.warns(TruevalWarning, match="RR@10, AP, R@100, P@10 take every judged document for relevant"):
        (note,) = tv.evaluate(RUN, GRADES).notes
    assert "and nDCG@10 counts the lowest grade as a gain" in note
    assert "(--rel 4), or map the grades (--grades 1:0,2:0,3:0,4:1,5:2)." in note
    three = {"q1": {"a": 1, "b": 2, "c": 3}}
    note = evaluated(three).notes[-1]
    assert "(--rel 2), or map the grades (--grades 1:0,2:1,3:2)." in note
    assert "take every" not in " ".join(evaluated(three, rel=2).notes)
    assert "take every" not in " ".join(evaluated({"q1": {"a": 0, "b": 2, "c": 3}}).notes)
    mapped = tv.Judgments.from_dict(GRADES).map_grades({1: 0, 2: 0, 3: 0, 4: 1, 5: 2})
    assert evaluated(mapped, "RR@10")["RR@10"].expected == (1 / 2 + 1 / 4) / 2
    assert not evaluated(mapped).notes


def test_a_compressed_golden_set_is_one(golden: Path) -> None:
    """qrels.trec.gz beside golden.json, as the folder and as the file."""
    plain = golden / "qrels.trec"
    packed = golden / "qrels.trec.gz"
    packed.write_bytes(gzip.compress(plain.read_bytes()))
    plain.unlink()
    for judgments in (golden, packed):
        found = tv.evaluate(RUN, judgments)
        assert list(found) == OF_RUBRIC
        assert found.policy.rel == 4


@pytest.mark.parametrize(("evaluated_by", "named"), [("AP(rel=4)", "map"), ("map", "AP(rel=4)"), ("RR", "RR(rel=4.0)")])
def test_a_measure_is_named_by_what_it_means(golden: Path, evaluated_by: str, named: str) -> None:
    """4 and 4.0 are one threshold, and with rel=4 AP is AP(rel=4), whichever of the two was asked for."""
    found = tv.evaluate(RUN, golden, evaluated_by, rel=4.0)
    assert found[named].expected == found[evaluated_by].expected
    few = MinQueries(2)
    least = [each for each in tv.gate(found, [Minimum(named, 0.1), few]) if each.name == "min"]
    assert [(each.measure, each.passed) for each in least] == [(next(iter(found)), True)]
    with pytest.raises(MeasureError, match="was not evaluated"):
        found["AP(rel=3)"]
    other = tv.evaluate({query: {"b": 1.0} for query in RUN}, golden, named, rel=4)
    checks = tv.gate(found, [MaxDrop(named, 1), few], baseline=other)
    assert [each.measure for each in checks if each.name == "max-drop"] == list(found)
