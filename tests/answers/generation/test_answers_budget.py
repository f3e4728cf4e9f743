"""The budget of answers: parts by hand, what one order of ties adds, labels of each answer, and bad inputs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.answers.generation.planted_corpus import write_corpus

from trueval.answers.generation.answers_budget import budget_answers
from trueval.answers.generation.generate_answers import generate_answers
from trueval.comparison.budget.interval_plan import UnitPrices
from trueval.errors import InputError, MeasureError

RIGHT, WRONG = "Ada", "Bob"


def write_folder(folder: Path, **contexts: Any) -> Path:
    """A folder of answers: context → [variant] (order, sample, values by question); a question has `count` orders."""
    for context, variants in contexts.items():
        for at, (order, sample, values, count) in enumerate(variants, start=1):
            name = context if at == 1 else f"variants/{context}-{at}"
            rows = [
                {
                    "query_id": f"q{query}",
                    "question": "Who?",
                    "answer": RIGHT if value else WRONG,
                    "reference": RIGHT,
                    "contexts": [{"id": f"d{order}", "text": "x"}],
                    "sample": sample,
                    "chance": 1 / count,
                }
                for query, value in enumerate(values)
                if value is not None
            ]
            path = folder / f"{name}.jsonl"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return folder


def test_parts_are_those_of_questions_and_samples_by_hand(tmp_path: Path) -> None:
    """Values (1, 1), (1, 0), (0, 0), (0, 0): means of questions 1, .5, 0, 0, of samples .5 and .25, of all 3/8.

    MS_Q = 2 (.390625 + .015625 + .140625 + .140625) / 3 = .458333. Inside questions the sum of squares is .5, of which
    samples as such have 4 (.125^2 + .125^2) = .125, so MS_QR = (.5 - .125) / 3 = .125. Parts: QR = .125, and
    Q = (.458333 - .125) / 2.
    """
    system = [(0, 0, [1, 1, 0, 0], 1), (0, 1, [1, 0, 0, 0], 1)]
    folder = write_folder(tmp_path / "one", system=system, gold=[(0, 0, [1, 1, 1, 0], 1)])
    found = budget_answers([folder], ["exact-match"])
    mean = next(each for each in found.measures[0].means if each.run == "system")
    assert mean.value == 3 / 8
    parts = {each.source: each.variance for each in mean.sources}
    assert parts["repeats"] == pytest.approx(0.125 / 8)
    assert parts["questions"] == pytest.approx((0.458333333 - 0.125) / 2 / 4)
    # No effect that all questions share: the variance of the mean is that of question means.
    assert mean.se**2 == pytest.approx(np.var([1, 0.5, 0, 0], ddof=1) / 4)
    assert {each.effect for each in mean.effects} >= {"Q", "QR"}
    assert found.baseline == "system"
    assert any("gold answered each question once" in note for note in found.notes)


def test_what_one_order_of_ties_adds_has_no_part_of_samples(tmp_path: Path) -> None:
    """Both orders of 12 questions, two samples of each: (1, 1) and (0, 0) differ by orders, (1, 0) twice by samples.

    Between: s^2 of (1, 0) is .5 and w is 0; s^2 of (.5, .5) is 0 and w = .5, of which w / 2 is taken off. Six of each:
    mean (.5 - .25) / 2 = .125, halved since both orders are all, over 12 questions.
    """
    by_order, by_sample = [1] * 6, [1] * 6
    system = [
        (0, 0, [*by_order, *by_sample], 2),
        (0, 1, [*by_order, *([0] * 6)], 2),
        (1, 0, [*([0] * 6), *by_sample], 2),
        (1, 1, [0] * 12, 2),
    ]
    gold = [(0, 0, [1, 0] * 6, 1), (0, 1, [1, 1, 0] * 4, 1)]
    found = budget_answers([write_folder(tmp_path, system=system, gold=gold)], ["exact-match"])
    mean = next(each for each in found.measures[0].means if each.run == "system")
    ties = mean.source("ties")
    assert ties is not None
    assert ties.variance == pytest.approx((0.5 * 6 + (0 - 0.25) * 6) / 12 / 2 / 12)
    gold_mean = next(each for each in found.measures[0].means if each.run == "gold")
    assert gold_mean.source("ties").variance == 0  # type: ignore[union-attr]


def test_orders_that_were_answered_once_are_said_to_hold_samples(tmp_path: Path) -> None:
    system = [(0, 0, [1, 1, 0, 1], 2), (1, 0, [0, 1, 0, 0], 2)]
    folder = write_folder(tmp_path, system=system, gold=[(0, 0, [1, 1, 1, 0], 1)])
    found = budget_answers([folder], ["exact-match"])
    assert any("each order of ties was answered once" in note for note in found.notes)


def test_answers_that_are_not_known_are_left_out_of_means_alone(tmp_path: Path) -> None:
    """A sample that broke off is not 0: the question's other sample counts."""
    system = [(0, 0, [1, 1, 0, 0], 1), (0, 1, [None, 1, 0, 0], 1)]
    folder = write_folder(tmp_path, system=system, gold=[(0, 0, [1, 1, 1, 0], 1), (0, 1, [1, 1, 1, 0], 1)])
    found = budget_answers([folder], ["exact-match"])
    assert next(each for each in found.measures[0].means if each.run == "system").value == 0.5


def test_labels_are_those_of_every_answer_and_round(tmp_path: Path) -> None:
    """Two logs of one-claim answers with a table of two rounds: one cell against the reference and back, none else."""
    logs, tables = [], []
    for name, labels in (("old", "ssnn"), ("new", "ssss")):
        rows = [{"query_id": f"q{at}", "question": "Who?", "answer": "Ada.", "reference": "Ada."} for at in range(4)]
        table = [
            {
                "query": f"q{at}",
                "of": of,
                "claim": 1,
                "against": against,
                "label": "supported" if label == "s" or (at == 3 and sample) else "not",
                "sample": sample,
            }
            for sample in (0, 1)
            for at, label in enumerate(labels)
            for of, against in (("answer", "reference"), ("reference", "answer"))
        ]
        for kind, lines in (("log", rows), ("table", table)):
            (tmp_path / f"{name}-{kind}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in lines))
        logs.append(tmp_path / f"{name}-log.jsonl")
        tables.append(tmp_path / f"{name}-table.jsonl")
    prices = UnitPrices(question=1.0, label=0.01)
    found = budget_answers(logs, judged=tables, prices=prices, half_width=0.3)
    assert found.choices["labels_per_question"] == 2
    assert found.judges == ("round 1", "round 2")
    pair = found.measures[0].differences[0]
    assert (pair.run, pair.minus, pair.value) == ("new-log", "old-log", 0.375)
    assert pair.shorter is not None
    one = pair.shorter.questions
    assert one is not None
    assert one.labels == 2 * 2 * 2 * one.questions  # cells x systems x rounds
    assert one.answers == 2 * one.questions
    assert pair.source("labels") is not None


def test_folders_are_compared_by_the_answers_of_their_systems(tmp_path: Path) -> None:
    for seed in (0, 1):
        config = write_corpus(tmp_path / f"corpus{seed}", ties=6, seed=seed, generate={"samples": 2})
        generate_answers(config, tmp_path / f"system{seed}")
    found = budget_answers([tmp_path / "system0", tmp_path / "system1"])
    assert found.runs == ("system0", "system1")
    assert [each.measure for each in found.measures] == ["token-F1"]
    assert len(found.measures[0].differences) == 1


def test_bad_inputs_are_refused(tmp_path: Path) -> None:
    folder = write_folder(tmp_path / "one", system=[(0, 0, [1, 0, 1], 1)])
    log = folder / "system.jsonl"
    with pytest.raises(InputError, match=r"at least two systems or contexts\. Got system"):
        budget_answers([folder])
    with pytest.raises(InputError, match=r"it has no system\.jsonl"):
        budget_answers([tmp_path])
    with pytest.raises(InputError, match=r"once for each of 1 logs\. Got 2"):
        budget_answers([log], judged=[log, log])
    with pytest.raises(InputError, match="Two systems are called 'system'"):
        budget_answers([log, log])
    other = write_folder(tmp_path / "two", system=[(0, 0, [1, 1, 1], 1)])
    with pytest.raises(MeasureError, match="needs a judged table"):
        budget_answers([folder, other], ["correctness"])
    with pytest.raises(InputError, match="The baseline must be one of the runs one, two"):
        budget_answers([folder, other], baseline="three")


@pytest.mark.evidence
@pytest.mark.slow
def test_intervals_of_differences_hold_the_truth_and_parts_are_found(tmp_path: Path) -> None:
    """1,000 worlds of 60 questions, 3 samples a question: 95 % intervals of a difference hold it in 93 to 97 %.

    System s answers question q right with the chance p_sq, uniform on [a_s, b_s] and drawn once for each question; the
    part of samples is the mean of p (1 - p), that of questions the variance of p.
    """
    rng, worlds, held, parts = np.random.default_rng(0), 1_000, 0, []
    ends = ((0.2, 0.8), (0.3, 1.0))
    truth = np.mean(ends[1]) - np.mean(ends[0])
    for world in range(worlds):
        chance = [rng.uniform(low, high, 60) for low, high in ends]
        values = [rng.random((3, 60)) < each for each in chance]
        contexts = {
            name: [(0, at, row.astype(int).tolist(), 1) for at, row in enumerate(each)]
            for name, each in zip(("system", "gold"), values, strict=True)
        }
        found = budget_answers([write_folder(tmp_path / str(world % 2), **contexts)], ["exact-match"])
        pair = found.measures[0].differences[0]
        held += pair.low <= truth <= pair.high
        mean = next(each for each in found.measures[0].means if each.run == "system")
        parts.append([next(e.untruncated for e in mean.effects if e.effect == effect) for effect in ("Q", "QR")])
    low, high = ends[0]
    variance = (high - low) ** 2 / 12
    print(f"held {held / worlds}, parts of questions and samples {np.mean(parts, axis=0).round(4).tolist()}")
    assert 0.93 <= held / worlds <= 0.97
    samples = np.mean([low, high]) - (variance + np.mean([low, high]) ** 2)
    assert np.mean(parts, axis=0) == pytest.approx([variance, samples], abs=0.004)
