"""Evaluation of answers: means, intervals, bounds, people, comparisons and gates."""

from __future__ import annotations

import math
import pickle
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.answers.small import draw_labels, draw_log, write_lines

from trueval.answers.answer import AnswerLog
from trueval.answers.answer_measures import FRACTIONS, MEASURES
from trueval.answers.answers_evaluation import AnswersEvaluation
from trueval.answers.claim_table import MISSING, SUPPORTED, JudgedCells, cells_of
from trueval.answers.evaluate_answers import answer_scores, compare_answers, evaluate_answers, mean_interval
from trueval.comparison.gate.gate import gate
from trueval.comparison.labels.design_estimate import interval
from trueval.comparison.limits import MaxDrop, Minimum
from trueval.errors import InputError, MeasureError, PolicyError
from trueval.measures import parse, registry

LOG = [
    {
        "query_id": "q1",
        "question": "When was it built?",
        "answer": "In 1889 [1]. By Ada [2].",
        "contexts": ["Built in 1889.", "It is high."],
        "reference": "In 1889. By Eiffel.",
    },
    {"query_id": "q2", "question": "How high?", "answer": "330 m.", "reference": "330 m."},
]
# q1: claim 1 is right and in passage 1; claim 2 is wrong and nowhere. The reference's second claim is in no passage.
TABLE = [
    {"query": "q1", "of": "answer", "claim": 1, "against": "reference", "label": "supported"},
    {"query": "q1", "of": "answer", "claim": 1, "against": 1, "label": "supported"},
    {"query": "q1", "of": "answer", "claim": 1, "against": 2, "label": "not"},
    {"query": "q1", "of": "answer", "claim": 2, "against": "reference", "label": "contradicted"},
    {"query": "q1", "of": "answer", "claim": 2, "against": 1, "label": "not"},
    {"query": "q1", "of": "answer", "claim": 2, "against": 2, "label": "not"},
    {"query": "q1", "of": "reference", "claim": 1, "against": "answer", "label": "supported"},
    {"query": "q1", "of": "reference", "claim": 1, "against": 1, "label": "supported"},
    {"query": "q1", "of": "reference", "claim": 1, "against": 2, "label": "not"},
    {"query": "q1", "of": "reference", "claim": 2, "against": "answer", "label": "not"},
    {"query": "q1", "of": "reference", "claim": 2, "against": 1, "label": "not"},
    {"query": "q1", "of": "reference", "claim": 2, "against": 2, "label": None},
    {"query": "q2", "of": "answer", "claim": 1, "against": "reference", "label": "supported"},
]


@pytest.fixture
def files(tmp_path: Path) -> tuple[str, str]:
    return write_lines(tmp_path / "log.jsonl", *LOG), write_lines(tmp_path / "table.jsonl", *TABLE)


def test_values_bounds_and_counts_by_hand(files: tuple[str, str]) -> None:
    """q2 has no context, and its reference's claim was not judged against the answer."""
    found = evaluate_answers(*files)
    correct, faithful, recall = (found[name] for name in ("correctness", "faithfulness", "nugget-recall"))
    assert (correct.value, correct.questions, correct.unknown) == (0.75, 2, 0)
    assert (faithful.value, faithful.questions, faithful.unknown) == (0.5, 1, 1)
    assert (faithful.all_lowest, faithful.all_highest) == (0.25, 0.75)  # q2 may be 0 or 1
    assert (recall.value, recall.lowest, recall.highest) == (0.5, 0.25, 0.75)
    assert found["hallucination"].value == 0.5
    # The second passage may support the reference's second claim.
    assert (found["claim-recall"].lowest, found["claim-recall"].highest) == (0.5, 1.0)
    assert (found["exact-match"].value, found["number-recall"].value) == (0.5, 1.0)
    assert found["abstention-right"].questions == 0
    assert (found.cells, found.missing) == (14, 2)
    assert found.losses is not None
    assert (found.losses.answered, found.losses.undecided) == (1, 1)
    assert (found.losses.reading, found.losses.retrieval, found.losses.gap.estimate) == (0, 0, 0.0)


def test_the_result_is_its_json(files: tuple[str, str]) -> None:
    found = evaluate_answers(*files)
    again = AnswersEvaluation.from_dict(found.to_dict())
    assert again == found
    assert again.listed[0].claims[1].texts[0].label == "contradicted"


def test_the_mean_of_clusters_has_their_variance() -> None:
    """Three clusters with sums of deviations -.5, .5 and 0 from the mean .5 of six values, by the formula."""
    values, codes = np.array([0.0, 0.5, 1.0, 0.5, 0.0, 1.0]), np.array([0, 0, 1, 1, 2, 2])
    variance = 3 / 2 * (0.25 + 0.25) / 36
    assert mean_interval(values, codes, 0.95) == interval(0.5, variance, 2, 0.95, FRACTIONS)
    alone = mean_interval(values, np.arange(6), 0.95)
    assert alone.se == pytest.approx(math.sqrt(values.var(ddof=1) / 6))
    # 7 of 7 equal: 1 - .025^(1/7) of others would have been seen with 97.5 %.
    none = mean_interval(np.zeros(7), np.arange(7), 0.95)
    assert (none.low, none.high) == (0.0, pytest.approx(1 - 0.025 ** (1 / 7)))
    assert math.isnan(mean_interval(values, np.zeros(6, dtype=np.int64), 0.95).low)


def test_missing_labels_widen_the_interval_and_the_bounds_hold_the_full_table() -> None:
    rng = np.random.default_rng(6)
    log = draw_log(rng, 60)
    judged = draw_labels(rng, log, relevance=True)
    gaps = JudgedCells(
        {cell: (codes if rng.random() > 0.1 else (MISSING,)) for cell, codes in judged.labels.items()}, ""
    )
    full, part = evaluate_answers(log, judged), evaluate_answers(log, gaps)
    for name in MEASURES:
        one, other = full[name], part[name]
        if one.questions != other.questions or one.value is None:
            continue
        assert other.lowest is not None
        assert other.highest is not None
        assert other.lowest <= one.value + 1e-12
        assert one.value <= other.highest + 1e-12
        assert other.low is not None
        assert one.low is not None
        assert other.high is not None
        assert one.high is not None
        assert other.high - other.low >= one.high - one.low - 0.02
    assert part.missing > 0 == full.missing


def _correctness(log: AnswerLog, judged: JudgedCells) -> list[float]:
    return answer_scores(log, judged, ["correctness"]).expected[:, 0].tolist()


def test_people_who_agree_change_nothing_and_one_who_does_not_corrects() -> None:
    """Whole questions by people: equal labels leave the value; where the judge calls all supported, theirs decide."""
    rng = np.random.default_rng(7)
    log = draw_log(rng, 80)
    truth = draw_labels(rng, log)
    kind = JudgedCells(dict.fromkeys(truth.labels, (SUPPORTED,)), "kind judge")
    drawn = set(rng.choice(list(log.query_ids), 40, replace=False).tolist())
    people = JudgedCells({cell: codes for cell, codes in truth.labels.items() if cell.query in drawn}, "people")
    same = evaluate_answers(log, truth, ["correctness"], people=people)["correctness"]
    assert same.corrected is not None
    assert same.corrected.estimate == pytest.approx(same.value)
    assert same.labeled == 40
    assert same.agreement is not None
    assert (same.agreement.questions, same.agreement.equal, same.agreement.difference.estimate) == (40, 1.0, 0.0)
    assert same.agreement.difference.low < 0 < same.agreement.difference.high, "40 equal questions are not all"
    assert same.agreement.correlation == pytest.approx(1)
    found = evaluate_answers(log, kind, ["correctness"], people=people)["correctness"]
    assert found.value == 1.0
    assert found.corrected is not None
    assert found.corrected.low <= (same.value or 0) <= found.corrected.high
    theirs = [each for each, query in zip(_correctness(log, truth), log.query_ids, strict=True) if query in drawn]
    assert found.agreement is not None
    assert found.agreement.difference.estimate == pytest.approx(1 - np.mean(theirs))
    assert found.agreement.equal == np.mean(np.array(theirs) == 1)
    assert found.agreement.correlation is None
    alone = evaluate_answers(log, truth, ["correctness"])
    assert alone["correctness"].agreement is None
    assert "agreement" not in alone.to_dict()["measures"][0]


def test_a_question_that_nobody_can_label_counts_as_it_is_and_is_not_drawn() -> None:
    """Half of the answers are empty, without a context: their recall is 0 under all labels, and no one labels them."""
    rng = np.random.default_rng(14)
    log = draw_log(rng, 40)
    empty = {"text": "", "claims": (), "passages": None}
    log = replace(log, answers=tuple(replace(a, **(empty if at % 2 else {})) for at, a in enumerate(log.answers)))
    full = JudgedCells({cell: (SUPPORTED,) for answer in log.answers for cell in cells_of(answer)}, "all supported")
    drawn = set(log.query_ids[:20])
    people = JudgedCells({cell: codes for cell, codes in full.labels.items() if cell.query in drawn}, "people")
    found = evaluate_answers(log, full, ["nugget-recall"], people=people)["nugget-recall"]
    assert (found.value, found.questions, found.labeled) == (0.5, 40, 10)
    assert found.corrected is not None
    assert found.corrected.estimate == pytest.approx(0.5)


def test_partly_labeled_questions_are_named_and_do_not_correct() -> None:
    rng = np.random.default_rng(8)
    log = draw_log(rng, 10)
    judged = draw_labels(rng, log)
    first = next(iter(cells_of(log.answers[0])))
    found = evaluate_answers(log, judged, people=JudgedCells({first: (SUPPORTED,)}, "people"))
    assert found["correctness"].corrected is None
    assert any("people labeled only some cells of 1 question, such as 'q0'" in note for note in found.notes)


def _two_systems() -> list[tuple[AnswerLog, JudgedCells]]:
    rng = np.random.default_rng(9)
    log = draw_log(rng, 120)
    good = draw_labels(rng, log)
    bad = {cell: (1,) if cell.against == "reference" else codes for cell, codes in good.labels.items()}
    other = AnswerLog("bad", "log", log.answers, {})
    return [(log, good), (other, JudgedCells(bad, "table"))]


def test_two_logs_are_compared_paired_by_question() -> None:
    found = compare_answers(_two_systems(), ["correctness", "hallucination"])
    correct, wrong = found.differences
    assert (correct.measure, correct.first, correct.second) == ("correctness", "system", "bad")
    assert correct.separated
    assert correct.expected > 0
    assert (wrong.better, wrong.separated) == ("lower", True)
    assert wrong.expected < 0


def test_a_comparison_of_answers_names_no_command_of_runs() -> None:
    """`trueval power QRELS RUN RUN -m correctness` knows no such measure."""
    (log, good), (other, _) = _two_systems()
    text = repr(compare_answers([(log, good), (other, good)], ["correctness"]))
    assert "More questions would narrow the interval." in " ".join(text.split())
    assert "trueval power" not in text


def test_gates_take_the_scores() -> None:
    (log, good), (other, bad) = _two_systems()
    one, two = answer_scores(log, good, ["correctness"]), answer_scores(other, bad, ["correctness"])
    checks = gate([two], [Minimum("correctness", 0.1), MaxDrop("correctness", 0.05)], baseline=one)
    assert [(check.name, check.passed) for check in checks if check.name in ("min", "max-drop")] == [
        ("min", False),
        ("max-drop", False),
    ]
    assert one["correctness"].queries == 120
    assert "correctness" not in registry(), "runs have no such measure"
    assert pickle.loads(pickle.dumps(MEASURES["correctness"].measure)) == parse("correctness")


def test_misuse_is_refused(files: tuple[str, str]) -> None:
    with pytest.raises(MeasureError, match=r"'corectness' is no measure of answers.*Did you mean correctness"):
        evaluate_answers(*files, ["corectness"])
    with pytest.raises(MeasureError, match="correctness needs a judged table"):
        evaluate_answers(files[0], None, ["correctness"])
    with pytest.raises(InputError, match="correct a judged table, and none is given"):
        evaluate_answers(files[0], people=files[1])
    with pytest.raises(PolicyError, match="level must be above 0 and below 1"):
        evaluate_answers(*files, level=1.0)
    with pytest.raises(InputError, match="no cluster for the query 'q2'"):
        evaluate_answers(*files, clusters={"q1": "c"})


def test_a_log_without_a_table_has_the_measures_without_a_judge(files: tuple[str, str]) -> None:
    found: Any = evaluate_answers(files[0])
    assert [each.name for each in found.measures] == [name for name, each in MEASURES.items() if not each.judged]
    assert found.losses is None
