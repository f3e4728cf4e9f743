"""A judge of claims that is moved in a known way is found out in that way and in no other; nothing is paid twice."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.answers.small import write_lines
from tests.answers.test_judge_answers import KEY, plan
from tests.answers.validation.planted_judges import (
    ANSWERS,
    JUDGES,
    Grades,
    by_text,
    honest,
    plant,
    say,
    write_log,
)
from tests.extras import need
from tests.golden.chat import Trouble, chat_server

from trueval.answers.answer_logs import read_answers
from trueval.answers.answer_measures import find_measures
from trueval.answers.claim_table import LABELS, cells_of, texts_of
from trueval.answers.judge_answers import judge_answers
from trueval.answers.validation.answer_shifts import ABOUT, find_shifts
from trueval.answers.validation.answer_stress import DEFAULT_MEASURES, estimate_stress, stress_answers
from trueval.answers.validation.answer_stress_result import OWN, AnswerEdit, AnswerStress
from trueval.answers.validation.stressed_answers import draw_answers
from trueval.answers.views.kind import STRESS
from trueval.errors import InputError, PolicyError
from trueval.golden.build.golden_plan import read_judge
from trueval.report.formats import to_json

need("openai", extra="judge")
pytestmark = pytest.mark.filterwarnings("ignore::trueval.errors.TruevalWarning")  # notices before calls
MEASURES = find_measures(DEFAULT_MEASURES, judged=True)


def stressed(grades: Grades, *logs: str, answers: int = 40, **choices: Any) -> dict[str, AnswerEdit]:
    """What edits do to a planted judge, without a server."""
    pool = draw_answers(logs, read_judge("planted", {"rounds": 1}), answers=answers, **choices)
    found = find_shifts(pool, [say(grades, each) for each in pool.questions], MEASURES, 0.95)
    return {each.kind: each for each in found}


@pytest.mark.parametrize("name", JUDGES)
def test_what_moves_a_judge_is_found_and_nothing_else(tmp_path: Path, name: str) -> None:
    grades, moved = JUDGES[name]
    found = stressed(grades, write_log(tmp_path))
    assert {kind for kind, each in found.items() if each.moved} == moved
    assert list(found) == [kind for kind in ABOUT if kind != OWN]
    for each in found.values():
        assert (each.answers, each.missing) == (ANSWERS, 0)
        for shift in each.shifts:
            change = shift.change
            assert None not in (change.low, change.value, change.high, shift.edited.value, shift.clean.value)
            assert change.value == pytest.approx(shift.edited.value - shift.clean.value)
            assert (shift.lifted, shift.lowered) == (0, 0) or each.kind in moved or "position" in moved


def test_a_change_is_the_mean_of_paired_differences(tmp_path: Path) -> None:
    """Certainty is support: each claim is right then. Half of the answers are exchanged, and have no right claim."""
    found = stressed(JUDGES["likes certainty"][0], write_log(tmp_path))["confident"]
    by_name = {each.measure: each for each in found.shifts}
    correct, recall = by_name["correctness"], by_name["nugget-recall"]
    assert (correct.clean.value, correct.edited.value, correct.change.value) == (0.25, 1.0, 0.75)
    assert (correct.lifted, correct.lowered, correct.change.questions) == (ANSWERS, 0, ANSWERS)
    assert correct.p == 2 * 0.5**ANSWERS
    assert correct.p_holm == pytest.approx(correct.p * 3)  # of the other measures two differ; the rest cannot decide
    assert recall.change.value == 0.0  # the claims of references are not edited


def test_a_call_with_one_text_has_no_position(tmp_path: Path) -> None:
    log, judge = write_log(tmp_path), read_judge("planted", {"rounds": 1, "batch": 1})
    pool = draw_answers([log], judge, answers=4)
    found = find_shifts(pool, [say(by_text(honest), each) for each in pool.questions], MEASURES, 0.95)
    assert "position" not in {each.kind for each in found}


def two_models(folder: Path, kind_to: str) -> tuple[list[str], list[str], Grades]:
    """Logs of two models, whose answers open in their own way; people's labels; a judge that is kind to one of both."""
    logs = [write_log(folder, name, name, style) for name, style in (("served-1", "Well: "), ("other-2", "Now: "))]
    people = []
    for at, path in enumerate(logs):
        log = read_answers(path)
        rows = [
            {**cell._asdict(), "label": LABELS[honest(*texts_of(answer, cell))]}
            for answer in log.answers
            for cell in cells_of(answer)
        ]
        people.append(write_lines(folder / f"people-{at}.jsonl", *rows))
    return logs, people, by_text(lambda claim, text: 3 if kind_to and kind_to in claim else honest(claim, text))


@pytest.mark.parametrize(("kind_to", "sign"), [("Well", 1), ("Now", -1), ("", 0), ("Box", 0)])
def test_a_preference_for_the_own_model_is_seen_against_people(tmp_path: Path, kind_to: str, sign: int) -> None:
    """Correctness is 1/2 by people; 1 by a judge that is kind: +1/2 on its own, or on others, or on both alike."""
    logs, people, grades = two_models(tmp_path, kind_to)
    found = stressed(grades, *logs, people=people, own="served", answers=2)[OWN]
    shift = next(each for each in found.shifts if each.measure == "correctness")
    assert found.answers == 2 * ANSWERS
    assert shift.change.value == pytest.approx(0.5 * sign)
    assert shift.moved == (sign != 0)
    assert shift.change.questions == ANSWERS
    assert (shift.clean.value, shift.edited.value) == (
        (0.5, 0.5) if kind_to == "Box" else (0.5 * (sign < 0), 0.5 * (sign > 0))
    )


def test_without_people_a_preference_for_the_own_model_is_not_known(tmp_path: Path) -> None:
    logs, people, _ = two_models(tmp_path, "")
    judge = read_judge("served", {})
    assert "answers are of 2 models" in draw_answers(logs, judge, answers=2).notes[0]
    notes = draw_answers(logs, judge, people=people, own="gpt", answers=2).notes
    assert "begins with 'gpt'" in notes[0]
    assert "other-2, served-1" in notes[0]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["honest", "obeys passages"])
def test_a_served_judge_is_asked_once(tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a dry run says is what is asked; again it costs nothing; the calls of `answers judge` are not made again."""
    monkeypatch.setenv("ANSWERS_KEY", KEY)
    log = write_log(tmp_path)
    grades, moved = JUDGES[name]
    with chat_server(honest) as server:
        server.key = KEY
        plant(server, grades)
        chosen = plan(server, api_key_env="ANSWERS_KEY", concurrency=8)
        foretold = estimate_stress([log], tmp_path / "out", chosen).to_dict()
        assert not server.seen
        assert not (tmp_path / "out").exists()
        found = stress_answers([log], tmp_path / "out", chosen)
        assert len(server.seen) == found.usage.calls == foretold["calls"]
        assert stress_answers([log], tmp_path / "out", chosen) == found
        assert len(server.seen) == found.usage.calls
        judge_answers(log, tmp_path / "judged", chosen)
        shared = estimate_stress([log], tmp_path / "b", chosen, ledger=tmp_path / "judged" / "ledger.sqlite").to_dict()
    assert {each.kind for each in found.edits if each.moved} == moved
    assert found.usage.cost is not None
    assert shared["calls"] < foretold["calls"]
    for path in (each for each in (tmp_path / "out").rglob("*") if each.is_file()):
        assert KEY.encode() not in path.read_bytes(), path.name
    assert (STRESS.name, STRESS.format) == (AnswerStress.KIND, AnswerStress.FORMAT)
    assert AnswerStress.from_dict(json.loads(to_json(found.to_dict()))) == found


def test_labels_that_a_judge_refuses_are_bounds(tmp_path: Path) -> None:
    """No label, no change that is known: nothing is moved, and the change may be anything."""
    log = write_log(tmp_path, answers=4)
    with chat_server(honest) as server:
        server.trouble = lambda number: Trouble(content="", message={"refusal": "I cannot."})
        found = stress_answers([log], tmp_path / "out", plan(server), measures=["correctness"])
    for each in found.edits:
        assert each.missing > 0
        assert not each.moved
        if each.kind != "order":
            assert (each.shifts[0].change.lowest, each.shifts[0].change.highest) == (-1.0, 1.0)


def test_the_budget_stops_and_what_was_paid_is_kept(tmp_path: Path) -> None:
    log = write_log(tmp_path, answers=4)
    with chat_server(honest) as server:
        with pytest.raises(InputError, match="max_cost"):
            stress_answers([log], tmp_path / "out", plan(server, max_tokens=200), max_cost=0.005)
        paid = len(server.seen)
        found = stress_answers([log], tmp_path / "out", plan(server, max_tokens=200), max_cost=10.0)
        assert 0 < paid < found.usage.calls == len(server.seen)


@pytest.mark.parametrize(
    ("given", "error", "words"),
    [
        ({"judge": "labels:x.jsonl"}, InputError, "knows no edited answers"),
        ({"answers": 0}, PolicyError, "answers must be an integer >= 1"),
        ({"level": 0.2}, PolicyError, "level must be between"),
        ({"measures": ["token-F1"]}, PolicyError, "needs no judge"),
        ({"measures": ["answer-relevance"]}, PolicyError, "answer-relevance is not stressed"),
        ({"people": ["a", "b"]}, InputError, "once for each of 1 logs. Got 2"),
    ],
)
def test_bad_choices_are_refused(tmp_path: Path, given: dict[str, Any], error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        stress_answers([write_log(tmp_path)], tmp_path / "out", **{"judge": "gpt-5-mini", **given})


def test_a_log_without_claims_is_refused(tmp_path: Path) -> None:
    log = write_lines(tmp_path / "log.jsonl", {"query_id": "q", "question": "Who?", "answer": ""})
    with pytest.raises(InputError, match="no answer has claims"):
        stress_answers([log], tmp_path / "out", "gpt-5-mini")


@pytest.mark.evidence
def test_a_noisy_but_fair_judge_is_accused_no_more_often_than_the_level_says(tmp_path: Path) -> None:
    """Each label of each call is wrong with the chance 0.2, whatever is shown: at most 5 % of worlds accuse any edit.

    A judge that takes certainty for support in two of five calls is found in most worlds.
    """
    log = read_answers(write_log(tmp_path, answers=ANSWERS))
    pool = draw_answers([log], read_judge("planted", {"rounds": 1}), answers=ANSWERS)
    worlds, accused, found = 400, 0, 0
    held = dict.fromkeys(DEFAULT_MEASURES, 0)
    for world in range(worlds):
        rng = np.random.default_rng(world)
        said = {each: say(by_chance(rng), each) for each in dict.fromkeys(pool.questions)}
        edits = find_shifts(pool, [said[each] for each in pool.questions], MEASURES, 0.95)
        accused += any(each.moved for each in edits)
        for shift in edits[0].shifts:
            assert shift.change.low is not None
            assert shift.change.high is not None
            held[shift.measure] += shift.change.low <= 0.0 <= shift.change.high
        fond = {
            each: say(lambda claim, texts: [3] * len(texts), each)
            if "certain" in each.query and rng.random() < 0.4
            else answer
            for each, answer in said.items()
        }
        edits = find_shifts(pool, [fond[each] for each in pool.questions], MEASURES, 0.95)
        found += any(each.moved for each in edits if each.kind == "confident")
    shares = {name: each / worlds for name, each in held.items()}
    print(f"accused {accused / worlds:.4f}, found {found / worlds:.4f}, intervals that hold 0: {shares}")
    assert accused / worlds <= 0.05
    assert found / worlds >= 0.5
    assert all(each >= 0.93 for each in shares.values())


def by_chance(rng: np.random.Generator) -> Grades:
    """An honest judge, each of whose labels is wrong with the chance 0.2."""

    def grades(claim: str, texts: tuple[str, ...]) -> list[int]:
        wrong = rng.random(len(texts)) < 0.2
        return [honest(claim, text) ^ (2 if no else 0) for text, no in zip(texts, wrong, strict=True)]

    return grades
