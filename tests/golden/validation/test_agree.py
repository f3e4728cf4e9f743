"""What is said of labels is so: on 17 real judges against people, and on an audit that is known by hand."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.conftest import SHARED
from tests.golden import audits
from tests.golden.agreement import twins

from trueval.errors import InputError, PolicyError
from trueval.golden.validation.agree import agree
from trueval.golden.validation.label_files import LabelChoices
from trueval.golden.views.agree import view

LABELS = SHARED / "labels" / "llmjudge"
FAST: dict[str, Any] = {"resamples": 100}


@pytest.fixture(scope="module")
def judges() -> list[Path]:
    found = sorted((LABELS / "judges").glob("*.gz"))
    if not found:
        pytest.skip("real data is absent: ../shared/data/labels/llmjudge")
    return found


def test_of_17_real_judges_all_coefficients_are_those_of_peers(judges: list[Path]) -> None:
    cohen_kappa_score = pytest.importorskip("sklearn.metrics", reason="scikit-learn is absent").cohen_kappa_score
    krippendorff = pytest.importorskip("krippendorff", reason="krippendorff is absent")
    from trueval.judgments import Judgments

    found = agree(judges, LABELS / "human.qrels", choices=LabelChoices(outside="drop"), **FAST).to_dict()
    assert len(found["pairs"]) == 17
    people = Judgments.read(LABELS / "human.qrels").frame
    columns = []
    for path, pair in zip(judges, found["pairs"], strict=True):
        both = people.join(Judgments.read(path).frame, on=["query_id", "doc_id"], how="left", maintain_order="left")
        judge = both["grade_right"].to_numpy().copy()
        judge[judge > 3] = np.nan  # a grade of 10
        columns.append(judge)
        kept = np.isfinite(judge)
        one, other = both["grade"].to_numpy()[kept].astype(int), judge[kept].astype(int)
        told = {name: value["value"] for name, value in pair["sample"]["coefficients"].items()}
        assert pair["items"] == kept.sum()
        for name, weights in (("kappa", None), ("kappa_linear", "linear"), ("kappa_quadratic", "quadratic")):
            peer = cohen_kappa_score(one, other, weights=weights, labels=[0, 1, 2, 3])
            assert told[name] == pytest.approx(peer, abs=1e-9), (pair["second"], name)
        for name in ("nominal", "ordinal", "interval"):
            peer = krippendorff.alpha(np.array([one, other], dtype=float), level_of_measurement=name)
            assert told[f"alpha_{name}"] == pytest.approx(peer, abs=1e-9), (pair["second"], name)
    together = found["together"][0]["coefficients"]
    for name in ("nominal", "ordinal", "interval"):
        peer = krippendorff.alpha(np.array(columns), level_of_measurement=name)
        assert together[f"alpha_{name}"]["value"] == pytest.approx(peer, abs=1e-9)


def test_a_real_grade_of_10_is_refused_with_its_line(judges: list[Path]) -> None:
    wrong = LABELS / "judges" / "h2oloo-zeroshot2.qrels.gz"
    with pytest.raises(InputError, match=r"h2oloo-zeroshot2.qrels.gz:3187: the grade 10 of document 'p8028'"):
        agree([wrong], LABELS / "human.qrels", **FAST)
    found = agree([wrong], LABELS / "human.qrels", choices=LabelChoices(outside="drop"), **FAST).to_dict()
    assert found["notes"] == ["h2oloo-zeroshot2: 1 label left out, whose grade is not on the scale."]
    assert found["judges"][0]["left_out"] == {"duplicates": 0, "outside": 1, "unjudged": 0}


def test_the_scale_of_an_audit_is_the_one_it_was_drawn_with(tmp_path: Path) -> None:
    folder = audits.written(tmp_path / "g")
    low, high = agree([folder], **FAST).to_dict()["scale"]
    for judges, people in (([folder], None), ([folder / "qrels.trec"], folder / "audit")):
        with pytest.raises(PolicyError, match=f"drawn with, {low:g}-{high:g}. Leave --scale out"):
            agree(judges, people, choices=LabelChoices(scale=(low, high + 1)), **FAST)
        agree(judges, people, choices=LabelChoices(scale=(low, high)), **FAST)


def test_what_people_gave_to_answers_is_told(tmp_path: Path) -> None:
    """Nothing read these ratings."""
    folder = audits.written(tmp_path / "g")
    rated = [("b", "q0", 5), ("b", "q1", 4), ("a", "q0", 1), ("a", "q1", 2), ("a", "q2", None)]
    with (folder / "audit" / "people.jsonl").open("a") as file:
        for system, query, grade in rated:
            row = {"item": f"a{system}{query}", "task": "answer", "query": query, "system": system, "grade": grade}
            file.write(json.dumps({**row, "labels": []}) + "\n")
    found = agree([folder], **FAST)
    assert [(each.system, each.answers, each.value) for each in found.answers] == [("b", 2, 4.5), ("a", 2, 1.5)]
    lines = view(found).findings
    assert any(line.startswith("Answers that people rated from 1 to 5, means: b 4.50 [") for line in lines)
    assert agree([audits.written(tmp_path / "h")], **FAST).to_dict()["answers"] == []


def pairs_of(wanted: set[str] | None = None) -> list[tuple[int, int, str]]:
    """People's grade, the judge's and the stratum of what people graded."""
    return [
        (sorted(given.values())[(len(given) - 1) // 2], grade, stratum)
        for _, _, grade, given, stratum in audits.PASSAGES
        if given and (wanted is None or wanted <= set(given))
    ]


def test_an_audit_says_what_holds_for_the_sample_and_for_all_judged_passages(tmp_path: Path) -> None:
    found = agree([audits.written(tmp_path / "g")], **FAST).to_dict()
    judge, raters = found["pairs"]
    assert [judge["first"], judge["second"], raters["first"], raters["second"]] == [
        *("people", "gpt", "rater ann", "rater bob")
    ]
    rows = pairs_of()
    said = [(people, grade) for people, grade, _ in rows]
    # Three of four high passages are answered, four of eight low ones.
    weights = [Fraction(4, 3) if stratum == "high" else Fraction(8, 4) for _, _, stratum in rows]
    for part, of in (("sample", None), ("population", weights)):
        twin = twins.kappa(said, twins.squared, of)
        assert judge[part]["coefficients"]["kappa_quadratic"]["value"] == pytest.approx(float(twin or 0)), part
    assert judge["population"]["items"] == pytest.approx(12)
    assert judge["population"]["covered"] == 1.0
    bias = sum((grade - people) * w for (people, grade), w in zip(said, weights, strict=True)) / sum(weights)
    assert judge["bias"]["all"]["value"] == pytest.approx(float(bias))
    assert judge["items"] == len(said) == 7
    assert raters["items"] == 6  # one passage has a label of one rater alone
    assert found["design"]["answered"] == 7
    assert found["order"] == {"queries": 2, "pairs": 4, "agree": 0.5, "equal": 0.25, "disagree": 0.25}


def test_bias_by_slot_and_length_comes_from_the_calls_of_the_golden_set(tmp_path: Path) -> None:
    found = agree([audits.written(tmp_path / "g")], **FAST).to_dict()
    bias = found["pairs"][0]["bias"]
    weights = {"high": 4 / 3, "low": 8 / 4}
    of: dict[int, list[tuple[float, float]]] = {1: [], 2: []}
    for place, (_, _, grade, given, stratum) in enumerate(audits.PASSAGES):
        if given:
            people = sorted(given.values())[(len(given) - 1) // 2]
            of[1 + place % 2].append((grade - people, weights[stratum]))
            of[2 - place % 2].append((min(grade + 1, 5) - people, weights[stratum]))
    assert {each["group"]: each["value"] for each in bias["by_slot"]} == {
        slot: pytest.approx(sum(d * w for d, w in each) / sum(w for _, w in each)) for slot, each in of.items()
    }
    lengths = [10 + 7 * at for at, each in enumerate(audits.PASSAGES) if each[3]]
    assert bias["by_length"][0]["from"] == min(lengths)
    assert bias["by_length"][-1]["to"] == max(lengths)
    assert sum(each["items"] for each in bias["by_length"]) == 7
    none = agree([audits.written(tmp_path / "h", lengths=False)], **FAST).to_dict()
    assert none["pairs"][0]["bias"]["by_length"] == []


def test_of_whole_queries_every_item_weighs_the_same(tmp_path: Path) -> None:
    found = agree([audits.written(tmp_path / "g", design="queries")], **FAST).to_dict()
    pair = found["pairs"][0]
    assert pair["population"]["items"] == pytest.approx(7 * 9 / 3)
    values = [pair[part]["coefficients"]["kappa_quadratic"]["value"] for part in ("sample", "population")]
    assert values[0] == pytest.approx(values[1])


def test_other_judges_may_be_named_beside_a_golden_set(tmp_path: Path) -> None:
    folder = audits.written(tmp_path / "g")
    (tmp_path / "llama.qrels").write_text((folder / "qrels.trec").read_text().replace("q0 0 a 5", "q0 0 a 1"))
    found = agree([folder, tmp_path / "llama.qrels"], between_judges=True, **FAST).to_dict()
    assert [(pair["first"], pair["second"]) for pair in found["pairs"]] == [
        ("people", "gpt"), ("people", "llama"), ("rater ann", "rater bob"), ("gpt", "llama")
    ]  # fmt: skip
    assert found["pairs"][-1]["same"] == pytest.approx(6 / 7)


def test_an_audit_of_judgments_that_are_no_golden_set_weighs_the_same(tmp_path: Path) -> None:
    folder = audits.written(tmp_path / "g")
    whole = agree([folder], **FAST).to_dict()
    alone = agree([f"gpt={folder / 'qrels.trec'}"], folder / "audit", **FAST).to_dict()
    assert alone["pairs"][0]["population"] == whole["pairs"][0]["population"]
    assert alone["design"] == whole["design"]
    assert alone["pairs"][0]["bias"]["by_slot"] == []


def test_what_cannot_be_is_refused_in_one_line(tmp_path: Path) -> None:
    folder = audits.written(tmp_path / "g")
    with pytest.raises(InputError, match="not a golden set"):
        agree([tmp_path])
    with pytest.raises(PolicyError, match="resamples"):
        agree([folder], resamples=3)
    with pytest.raises(InputError, match=r"Two judges would be called 'people'"):
        agree([f"people={folder / 'qrels.trec'}"], folder / "qrels.trec")
    said = folder / "audit" / "people.jsonl"
    before = said.read_text()
    said.write_text(before.replace('"rater": "bob", "grade": 4', '"rater": "bob", "grade": 9', 1))
    with pytest.raises(InputError, match=r"people.jsonl: cannot be read \(a grade of bob is 9, outside 1 to 5\)"):
        agree([folder])
    said.unlink()
    with pytest.raises(InputError, match="nobody has graded a passage yet"):
        agree([folder])
    (folder / "audit" / "sample.json").unlink()
    with pytest.raises(InputError, match="there is no audit"):
        agree([folder])


def test_labels_that_share_nothing_give_null_with_a_reason_and_json_holds_it(tmp_path: Path) -> None:
    (tmp_path / "a.qrels").write_text("q 0 x 1\nq 0 y 0\n")
    (tmp_path / "b.qrels").write_text("q 0 z 1\n")
    found = agree([tmp_path / "b.qrels"], tmp_path / "a.qrels", **FAST).to_dict()
    pair = json.loads(json.dumps(found, allow_nan=False))["pairs"][0]
    assert pair["sample"]["coefficients"]["kappa"]["reason"] == "no item has labels of both"
    assert (pair["only_first"], pair["only_second"], pair["items"], pair["same"]) == (2, 1, 0, None)
    assert pair["bias"]["all"] == {"value": None, "low": None, "high": None, "reason": "no item"}
