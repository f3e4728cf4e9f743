"""Dose and response: prompts, slopes and thresholds by hand, and planted generators whose slopes are known."""

from __future__ import annotations

import json
from collections.abc import Container, Sequence
from itertools import permutations, product
from pathlib import Path

import numpy as np
import pytest
from tests.answers.generation.planted_corpus import write_corpus
from tests.answers.stream_server import Trouble, stream_server
from tests.extras import need
from tests.golden.chat import chat_server

from trueval.answers.answer import Passage
from trueval.answers.answer_logs import read_answers
from trueval.answers.generation.asked_questions import AskedQuestion, RankedDocument
from trueval.answers.generation.brittle_answers import brittle_answers, estimate_brittle, largest_k
from trueval.answers.generation.brittle_result import BrittleAnswers
from trueval.answers.generation.distractors import bundle_texts, distractors_by_kind, expected_distractors, place_gold
from trueval.answers.generation.dose_response import (
    DoseValues,
    drop,
    mean_slope,
    place_effect,
    slope_difference,
    slopes,
    steepest,
)
from trueval.answers.generation.planted_generators import PlantedErrors, PlantedGenerator
from trueval.answers.views.brittle import view
from trueval.errors import InputError
from trueval.models.generator import Generation
from trueval.probes.query_noise import noisy
from trueval.report.terminal import render_text
from trueval.report.view_texts import in_terminal

need("openai", extra="judge")

pytestmark = pytest.mark.filterwarnings("ignore::trueval.errors.TruevalWarning")  # notices before calls
DOSES = np.array([0.0, 1.0, 2.0, 4.0, 8.0])
CODES = np.arange(3)


def question(ids: str, gold: str, scores: Sequence[float] | None = None) -> AskedQuestion:
    worth = [-float(at) for at in range(len(ids))] if scores is None else scores
    ranked = tuple(map(RankedDocument, ids, worth))
    return AskedQuestion("q", "Which?", ranked, tuple(gold), frozenset(gold), {})


def test_distractors_of_each_kind_are_nested_and_hold_no_gold() -> None:
    texts = {"g": "box one is red", "a": "steel is hard", "b": "box two is blue", "c": "box one is old"}
    asked = question("abgc", "g")
    found = distractors_by_kind(
        asked, texts, ("high-scoring", "same-topic", "contradicting"), {"q": ("Box one is blue.",)}, 2
    )
    assert [each.id for each in found["high-scoring"]] == ["a", "b"]
    assert [each.id for each in found["same-topic"]] == ["c", "b"]  # 3/5 and 2/6 of words shared, against 1/6
    assert found["contradicting"] == (Passage("contradicting 1", "Box one is blue."),)


@pytest.mark.parametrize("place", ["first", "middle", "last"])
@pytest.mark.parametrize("dose", [0, 1, 4, 8])
def test_gold_documents_stay_together_and_stand_where_they_should(place: str, dose: int) -> None:
    gold, noise = [Passage("g", ""), Passage("h", "")], [Passage(str(at), "") for at in range(dose)]
    ids = [each.id for each in place_gold(gold, noise, place)]
    at = ids.index("g")
    assert ids[at + 1] == "h"
    assert [each for each in ids if each.isdigit()] == [each.id for each in noise]
    assert at == {"first": 0, "middle": (dose + 1) // 2, "last": dose}[place]


@pytest.mark.parametrize("scores", [(3, 2, 1, 0), (2, 2, 2, 1), (1, 1, 1, 1), (3, 2, 2, 2)], ids=str)
def test_expected_distractors_are_the_mean_over_all_orders(scores: tuple[float, ...]) -> None:
    asked = question("abcd", "bd", scores)
    orders = [
        order
        for order in permutations(asked.ranked)
        if all(order[at].score >= order[at + 1].score for at in range(len(order) - 1))
    ]
    for k in range(1, 6):
        counts = [sum(each.id not in "bd" for each in order[:k]) for order in orders]
        assert expected_distractors(asked.ranked, asked.gold, k) == pytest.approx(np.mean(counts))


def test_the_largest_k_holds_fewer_than_so_many() -> None:
    """In the mean of both lists, distractors among the first K are .5, 1, 2 (2 and 2), 2.5 ..."""
    asked = [question("gabc", "g"), question("agbc", "g")]
    means = [np.mean([expected_distractors(each.ranked, each.gold, k) for each in asked]) for k in (1, 2, 3, 4)]
    assert means == [0.5, 1.0, 2.0, 3.0]
    assert [largest_k(asked, dose) for dose in (1, 2, 3, 9)] == [1, 2, 3, None]
    assert largest_k([question("abg", "g")], 1) is None


def dose_values(rows: Sequence[Sequence[float]], high: Sequence[Sequence[float]] | None = None) -> DoseValues:
    """Rows by dose, columns by question."""
    return DoseValues(DOSES, np.array(rows), np.array(rows if high is None else high))


def test_slopes_are_those_of_least_squares() -> None:
    rng = np.random.default_rng(3)
    rows = rng.random((5, 3))
    found = slopes(dose_values(rows))
    fitted = np.polyfit(DOSES, rows, 1)[0]
    assert found.lowest == pytest.approx(fitted)
    assert found.highest == pytest.approx(fitted)
    mean = mean_slope("s", found, np.ones(3, dtype=bool), DOSES, CODES, 0.95)
    assert mean.value == pytest.approx(fitted.mean())
    assert mean.low < mean.value < mean.high
    corners = [np.polyfit(DOSES, each, 1)[0] for each in product([0.0, 1.0], repeat=5)]
    assert steepest(DOSES) == pytest.approx(max(corners))


def test_bounds_of_slopes_are_those_of_all_ways_to_fill_what_is_not_known() -> None:
    low = np.array([[0.0], [1.0], [0.0], [0.0], [0.5]])
    high = np.array([[1.0], [1.0], [1.0], [0.0], [0.5]])
    found = slopes(dose_values(low, high))
    filled = [np.polyfit(DOSES, [one, 1.0, other, 0.0, 0.5], 1)[0] for one, other in product([0.0, 1.0], repeat=2)]
    assert (found.lowest[0], found.highest[0]) == (pytest.approx(min(filled)), pytest.approx(max(filled)))


def test_drops_places_and_differences_by_hand() -> None:
    one = dose_values([[1, 1, 1], [1, 1, 0], [1, 0, 0], [0, 0, 0], [0, 0, np.nan]])
    other = dose_values(np.ones((5, 3)))
    assert drop("4", one, 3, CODES, 0.95).value == 1.0
    assert drop("1", one, 1, CODES, 0.95).value == pytest.approx(1 / 3)
    assert (drop("8", one, 4, CODES, 0.95).questions, drop("8", one, 4, CODES, 0.95).value) == (2, 1.0)
    # Over doses above 0, the first two questions: means 1/2 and 1/4, against 1; the third lacks a dose.
    assert place_effect("last", one, other, CODES, 0.95).value == pytest.approx(-(1 / 2 + 3 / 4) / 2)
    wanted = np.polyfit(DOSES, one.lowest[:, :2], 1)[0].mean()
    assert slope_difference("d", one, other, CODES, 0.95).value == pytest.approx(wanted)


PLANTED = {"misreads": 0.1, "distracted": 0.1, "forgets": 0.5, "abstains": 0.5}


def config_of(folder: Path, questions: int, tables: str = "", **errors: float) -> Path:
    return write_corpus(
        folder, questions, generate={"planted": {**PLANTED, **errors}}, asked={"measure": "exact-match"}, tables=tables
    )


def expected_slope(errors: dict[str, float]) -> float:
    """Of the chances by the formula of PlantedErrors, the mean over first, middle and last."""

    def chance(dose: int, place: str) -> float:
        middle = place == "middle" and dose >= 2
        found = (1 - errors["misreads"]) * (1 - errors["distracted"]) ** dose * (1 - errors["forgets"] * middle)
        return float(found)

    rows = [np.mean([chance(int(dose), place) for place in ("first", "middle", "last")]) for dose in DOSES]
    return float(np.polyfit(DOSES, rows, 1)[0])


@pytest.mark.slow
def test_planted_slopes_and_differences_are_found(tmp_path: Path) -> None:
    config = config_of(tmp_path, 100, '[brittle]\nkinds = ["high-scoring"]\n')
    right = {f"Which color has box {at}?": f"word{at}" for at in range(100)}
    steady = {**PLANTED, "distracted": 0.0, "forgets": 0.0}
    generators = [
        PlantedGenerator(right, PlantedErrors(**each, seed=seed), name=name)
        for seed, (name, each) in enumerate((("led", PLANTED), ("steady", steady)))
    ]
    found = brittle_answers(config, tmp_path / "out", generators=generators)
    assert BrittleAnswers.from_dict(found.to_dict()) == found
    led, flat = found.slope("led", "high-scoring"), found.slope("steady", "high-scoring")
    assert led.low <= expected_slope(PLANTED) <= led.high
    assert led.high < 0
    assert flat.low <= 0 <= flat.high
    difference = next(each for each in found.differences if each.kind == "high-scoring").value
    assert difference.low <= expected_slope(PLANTED) - 0 <= difference.high
    assert difference.value == pytest.approx(led.value - flat.value)
    by_name = {each.name: {one.kind: one for one in each.thresholds} for each in found.generators}
    assert by_name["led"]["high-scoring"].dose in (1, 2, 4)
    assert by_name["steady"]["high-scoring"].dose is None
    # The planted generator forgets what stands in the middle of at least three passages.
    middle = next(each for each in found.generators[0].places if each.place == "middle" and each.kind == "high-scoring")
    assert middle.value.low > 0
    abstained = next(each for each in found.generators[0].slopes if each.place == "all").abstained
    assert abstained.low > 0


def test_the_dose_zero_is_asked_once(tmp_path: Path) -> None:
    """Of each question one prompt without distractors, and 2 kinds, 3 places and 4 doses of others, some the same."""
    with stream_server(lambda question, passages: "word1") as server:
        generate = {"model": ["m", "n"], "base_url": server.url, "api_key_env": "", "max_tokens": 9}
        config = write_corpus(tmp_path, 2, generate=generate, asked={"measure": "exact-match"})
        planned = estimate_brittle(config, tmp_path / "out").to_dict()
        found = brittle_answers(config, tmp_path / "out")
        calls = len(server.seen)
        again = brittle_answers(config, tmp_path / "out")
        assert len(server.seen) == calls == planned["calls"]
    assert again == found
    bare = [each for each in server.seen if len(each.passages) == 1]
    assert len(bare) == 2 * 2
    bodies = [json.dumps(each.body, sort_keys=True) for each in server.seen]
    assert len({*bodies}) == len(bodies) <= 2 * 2 * (1 + 2 * 3 * 4)
    assert [each.name for each in found.generators] == ["m", "n"]
    assert [each.passages for each in found.generators[0].times] == [1, 2, 3, 5, 9]
    assert "Times of n" in repr(found)
    assert {path.name for path in (tmp_path / "out").iterdir() if path.is_dir()} == {"m", "n"}


def test_contradicting_documents_and_those_without_enough_are_counted(tmp_path: Path) -> None:
    tables = (
        '[brittle]\nkinds = ["contradicting"]\nplaces = ["last"]\ndoses = [0, 1, 2]\ncontradicting = "against.jsonl"\n'
    )
    config = config_of(tmp_path, 6, tables)
    lines = [
        {"query_id": f"q{at}", "text": f"The color of box {at} is black, {each}."} for at in range(6) for each in "ab"
    ]
    (tmp_path / "against.jsonl").write_text("".join(json.dumps(each) + "\n" for each in lines[:-1]))
    found = brittle_answers(config, tmp_path / "out")
    points = {each.dose: each.value.questions for each in found.generators[0].points}
    assert points == {0: 6, 1: 6, 2: 5}
    assert found.slope("planted", "contradicting", "last").questions == 5
    assert any("fewer than 2 contradicting distractors, such as 'q5'" in note for note in found.notes)
    (tmp_path / "against.jsonl").write_text('{"query_id": "q1", "id": "nowhere"}\n')
    with pytest.raises(InputError, match=r"against.jsonl:1: a line must have"):
        brittle_answers(config, tmp_path / "out")


def test_answers_that_break_off_bound_the_slope(tmp_path: Path) -> None:
    """Every prompt of nine passages is filtered: slopes go from those of wrong answers to those of right ones."""
    with stream_server(lambda question, passages: "word" + question[len("Which color has box ") : -1]) as server:
        server.trouble = lambda number: Trouble(
            finish="content_filter" if len(server.seen[number - 1].passages) == 9 else "stop"
        )
        generate = {"model": "m", "base_url": server.url, "api_key_env": ""}
        tables = '[brittle]\nkinds = ["high-scoring"]\nplaces = ["first"]\n'
        config = write_corpus(tmp_path, 5, generate=generate, asked={"measure": "exact-match"}, tables=tables)
        found = brittle_answers(config, tmp_path / "out").slope("m", "high-scoring", "first")
    worst = np.polyfit(DOSES, [1, 1, 1, 1, 0], 1)[0]
    assert (found.lowest, found.highest) == (pytest.approx(worst), pytest.approx(0.0, abs=1e-12))


def test_all_generators_share_the_money_of_the_judge(tmp_path: Path) -> None:
    """One account and one ledger of the judge: its max_cost holds for all, and equal answers are judged once."""
    made = [
        PlantedGenerator({f"Which color has box {at}?": f"word{at}" for at in range(3)}, name=name) for name in "mn"
    ]
    with chat_server(lambda claim, text: 3) as judge:
        tables = (
            f'[judge]\nmodel = "j"\nbase_url = "{judge.url}"\napi_key_env = ""\nrounds = 1\n'
            '[brittle]\nkinds = ["high-scoring"]\nplaces = ["first"]\ndoses = [0, 1]\n'
        )
        config = write_corpus(tmp_path, 3, tables=tables)
        brittle_answers(config, tmp_path / "out", generators=made[:1])
        calls = len(judge.seen)
        brittle_answers(config, tmp_path / "out", generators=made)
        assert len(judge.seen) == calls
    assert [path.parent.name for path in (tmp_path / "out").rglob("calls.jsonl")] == ["judged"]


def test_two_generators_of_one_name_are_refused(tmp_path: Path) -> None:
    config = config_of(tmp_path, 3)
    with pytest.raises(InputError, match="Two generators have the same name"):
        brittle_answers(config, tmp_path / "out", generators=[PlantedGenerator({}), PlantedGenerator({})])
    names = [PlantedGenerator({}, name=name) for name in ("a b", "a-b")]
    with pytest.raises(InputError, match="Two generators have the same name, or the same folder"):
        brittle_answers(config, tmp_path / "out", generators=names)


def test_the_view_says_what_a_distractor_costs(tmp_path: Path) -> None:
    found = brittle_answers(config_of(tmp_path, 20, '[brittle]\nplaces = ["last"]\n', distracted=0.5), tmp_path / "out")
    text = " ".join(repr(found).split())
    assert "distractor changes exact-match by" in text
    assert "answers are surely worse" in text
    assert "up to K" in text
    bare = config_of(tmp_path / "bare", 3)
    (tmp_path / "bare" / "qrels.trec").write_text("q0 0 g0 0\n")
    assert "is not known" in repr(brittle_answers(bare, tmp_path / "bare" / "out"))


def test_k_is_where_lists_hold_fewer_than_the_dose_that_harms_without_a_dose_of_zero(tmp_path: Path) -> None:
    """Harm of 3 beside that of 1 says nothing against 2: K is the largest whose lists hold fewer than 3."""
    tables = '[brittle]\ndoses = [1, 3]\nkinds = ["high-scoring"]\nplaces = ["first"]\n'
    config = write_corpus(tmp_path, 40, tables=tables, generate={"planted": {"distracted": 0.5}}, hits=0.0)
    (harm,) = brittle_answers(config, tmp_path / "out").generators[0].thresholds
    assert (harm.dose, harm.k) == (3, 2)


class _Reader:
    """Copies what the passages say of the box, unless the question is `confusing` or a passage `misleading`."""

    name = "reader"

    def __init__(self, confusing: Container[str] = (), misleading: str = "nothing") -> None:
        self.confusing, self.misleading = confusing, misleading

    def identity(self) -> dict[str, object]:
        return {"name": self.name, "misleading": self.misleading}

    def generate(self, question: str, passages: Sequence[str], sample: int = 0) -> Generation:
        wrong = question in self.confusing or any(self.misleading in each for each in passages)
        said = next(each.rpartition(" ")[2].rstrip(".") for each in passages if "word" in each)
        return Generation("nothing" if wrong else said)


def test_levels_of_chatter_are_a_dose_of_the_question(tmp_path: Path) -> None:
    """Right up to level 2: least squares over levels 0 to 4 of (1, 1, 1, 0, 0) is -0.3; harm is sure from level 3."""
    config = write_corpus(tmp_path, 8, tables='[brittle]\nkinds = ["chatter"]\n')
    asked = [f"Which color has box {at}?" for at in range(8)]
    confusing = {noisy(each, level, "en", seed=0).text for each in asked for level in (3, 4)}
    found = brittle_answers(config, tmp_path / "out", generators=[_Reader(confusing)])
    assert found.slope("reader", "chatter").value == pytest.approx(-0.3)
    (threshold,) = found.generators[0].thresholds
    assert (threshold.dose, threshold.k) == (3, None)
    assert not found.generators[0].places
    assert [each.harms for each in found.generators[0].utilities] == [None] * 8
    logs = {path.name: read_answers(str(path)) for path in (tmp_path / "out" / "reader").glob("*.jsonl")}
    assert {*logs} == {"gold.jsonl", *(f"chatter-first-{level}.jsonl" for level in range(1, 5))}
    assert logs["gold.jsonl"].answers[0].question == asked[0]
    assert asked[0] in logs["chatter-first-1.jsonl"].answers[0].question
    assert {each.passages for each in logs["chatter-first-4.jsonl"].answers} == {
        each.passages for each in logs["gold.jsonl"].answers
    }
    text = " ".join(render_text(in_terminal(view(found))).split())
    assert "each level of chatter changes token-F1 by -0.3000" in text
    assert "from level 3 of chatter on answers are surely worse" in text


def test_chatter_beside_distractors_leaves_their_numbers_as_they_are(tmp_path: Path) -> None:
    kinds = '[brittle]\nkinds = ["high-scoring"{}]\n'
    results = []
    for name, more in (("one", ""), ("two", ', "chatter"')):
        config = write_corpus(tmp_path / name, 6, tables=kinds.format(more))
        results.append(brittle_answers(config, tmp_path / name / "out", generators=[_Reader(misleading="grey1.")]))
    one, two = (each.generators[0] for each in results)
    assert one.slopes == tuple(each for each in two.slopes if each.kind != "chatter")
    assert one.utilities == two.utilities
    assert [each.place for each in two.slopes if each.kind == "chatter"] == ["all"]
    assert results[1].slope("reader", "chatter").value == pytest.approx(0, abs=1e-12)


@pytest.mark.parametrize("model", ["planted", "extractive:spans"])
def test_generators_without_a_model_know_a_question_in_any_chatter(tmp_path: Path, model: str) -> None:
    """They look answers up by the question: chatter is not what they err by, unless told."""
    config = write_corpus(tmp_path, 8, tables='[brittle]\nkinds = ["chatter"]\n', generate={"model": model})
    found = brittle_answers(config, tmp_path / "out")
    slope = found.slope(found.generators[0].name, "chatter").value
    assert slope == pytest.approx(0, abs=1e-12)
    assert {point.value.value for point in found.generators[0].points} == {1.0}


def test_bundles_distract_without_being_of_the_corpus(tmp_path: Path) -> None:
    """Misled by the first of them: least squares over 0, 1, 2, 4, 8 of (1, 0, 0, 0, 0)."""
    config = write_corpus(tmp_path, 6, tables='[brittle]\nkinds = ["bundles"]\nplaces = ["first"]\n')
    found = brittle_answers(config, tmp_path / "out", generators=[_Reader(misleading="Author: ")])
    assert found.slope("reader", "bundles", "first").value == pytest.approx(np.polyfit(DOSES, [1, 0, 0, 0, 0], 1)[0])
    log = read_answers(str(tmp_path / "out" / "reader" / "bundles-first-8.jsonl"))
    drawn = [{each.text for each in answer.passages or ()} for answer in log.answers]
    assert all(len(each & {*bundle_texts("en")}) == 8 for each in drawn)
    assert len({frozenset(each) for each in drawn}) == 6
    assert not any("no judgment" in note for note in found.notes)
    french = write_corpus(tmp_path / "fr", 3, tables='[brittle]\nkinds = ["bundles"]\nlanguage = "fr"\n')
    brittle_answers(french, tmp_path / "fr" / "out", generators=[_Reader()])
    log = read_answers(str(tmp_path / "fr" / "out" / "reader" / "bundles-last-1.jsonl"))
    assert "Auteur : " in (log.answers[0].passages or ())[0].text


@pytest.mark.parametrize("written", ["levels = [0, 5]", "levels = [3]", 'language = "de"', "levels = [1, 1]"])
def test_levels_and_languages_that_are_none_are_refused(tmp_path: Path, written: str) -> None:
    config = write_corpus(tmp_path, 3, tables=f"[brittle]\n{written}\n")
    with pytest.raises(InputError, match=rf"answers\.toml:\d+: {written.split(maxsplit=1)[0]}"):
        estimate_brittle(config, tmp_path / "out")
