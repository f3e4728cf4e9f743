"""`tv.next_labels`: batches in the files of an audit, from the plan to the decision."""

from __future__ import annotations

import json
import shutil
import time
import warnings
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.extras import need
from tests.golden import small
from tests.golden.chat import Trouble, chat_server

import trueval as tv
from trueval.comparison.labels.audit_sample import AuditSample
from trueval.comparison.labels.label_decision import LabelDecision
from trueval.errors import InputError, PolicyError, TruevalWarning
from trueval.golden.audit.sampling.batch_drawing import expected_size
from trueval.golden.audit.sampling.decision_audit import DecisionAudit, DecisionChoices, DecisionKeywords
from trueval.golden.audit.sampling.next_labels import next_labels
from trueval.golden.audit.sampling.next_labels_result import NextLabels
from trueval.golden.audit.sampling.sample_drawing import SampleChoices, open_audit
from trueval.golden.audit.server.session import SessionTasks, audit
from trueval.golden.audit.store.audit_manifest import read_sample
from trueval.golden.build.build import build
from trueval.golden.build.golden_plan import GoldenPlan

QUERIES, DOCUMENTS = 40, 25
RUNS = ("a.trec", "b.trec", "c.trec")


def write_world(folder: Path, queries: int = QUERIES, documents: int = DOCUMENTS, seed: int = 1) -> Path:
    """Judgments of a judge that errs and of people, three runs with ties, and texts; the first run is better."""
    rng = np.random.default_rng(seed)
    people = rng.choice(4, p=[0.55, 0.2, 0.15, 0.1], size=(queries, documents))
    judge = np.where(rng.random(people.shape) < 0.3, rng.integers(0, 4, people.shape), people)
    judged = rng.random(people.shape) < 0.95
    folder.mkdir(exist_ok=True)
    every = [(q, d) for q in range(queries) for d in range(documents)]
    texts = {
        "corpus.jsonl": [json.dumps({"_id": f"d{d}", "text": f"text {d}"}) for d in range(documents)],
        "queries.jsonl": [json.dumps({"_id": f"q{q}", "text": f"query {q}"}) for q in range(queries)],
        "people.trec": [f"q{q} 0 d{d} {people[q, d]}" for q, d in every],
        "qrels.trec": [f"q{q} 0 d{d} {judge[q, d]}" for q, d in every if judged[q, d]],
    }
    for name, quality in zip(RUNS, (1.0, 0.3, 0.3), strict=True):
        scores = (people * quality + rng.normal(size=people.shape)).round(1)
        texts[name] = [f"q{q} Q0 d{d} 1 {scores[q, d]} {name[0]}" for q, d in every]
    for name, lines in texts.items():
        (folder / name).write_text("\n".join(lines) + "\n")
    return folder


@pytest.fixture
def place(tmp_path: Path) -> Path:
    return write_world(tmp_path / "world")


def call(place: Path, runs: tuple[str, ...] = RUNS[:2], *, people: bool = False, **choices: Any) -> NextLabels:
    return next_labels(
        place / "qrels.trec",
        [str(place / run) for run in runs],
        out=place / str(choices.pop("out", "audit")),
        collection=str(place),
        people=place / "people.trec" if people else None,
        **choices,
    )


def answer(place: Path, until: int | None = None) -> None:
    """Grade the exported items as people do."""
    grades = {(q, d): g for q, d, g in tv.Judgments.read(place / "people.trec").frame.iter_rows()}
    ids = {row["item"]: (row["query"], row["document"]) for row in rows(place / "audit" / "items.jsonl")}
    none = SampleChoices()
    audit(place / "qrels.trec", place / "audit", none, SessionTasks(give=place / "sheet.jsonl"))
    sheet = rows(place / "sheet.jsonl")
    assert not any({"chance", "batch", "stratum", "document"} & set(row) for row in sheet)  # raters see texts alone
    for row in sheet[:until]:
        row["grade"] = int(grades[ids[row["item"]]])
    (place / "ann.jsonl").write_text("".join(json.dumps(row) + "\n" for row in sheet))
    audit(place / "qrels.trec", place / "audit", none, SessionTasks(take=(place / "ann.jsonl", "ann")))


def rows(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_keywords_are_the_choices() -> None:
    assert list(DecisionKeywords.__annotations__) == [each.name for each in fields(DecisionChoices)]


def test_batches_are_drawn_one_by_one_until_the_decision_holds(place: Path) -> None:
    first = call(place, measure="DCG@5", budget=300)
    assert (first.state, first.labels, first.pairs[0].verdict) == ("waiting", 0, "open")
    items = rows(place / "audit" / "items.jsonl")
    assert first.open == len(items) > 0
    assert {row["batch"] for row in items} == {1}
    assert all(0 < row["chance"] <= 1 for row in items)
    population = rows(place / "audit" / "population.jsonl")
    assert len(population) == first.reachable > 300
    judged = set(tv.Judgments.read(place / "qrels.trec").frame.select("query_id", "doc_id").rows())
    assert first.unjudged == sum((row["query"], row["document"]) not in judged for row in population) > 0

    answer(place, 5)
    part = call(place)
    assert (part.state, part.open, part.labels) == ("waiting", first.open - 5, 0)
    answer(place)
    second = call(place)
    assert second.labels == first.open
    again = rows(place / "audit" / "items.jsonl")
    assert again[: len(items)] == items
    assert {row["batch"] for row in again[len(items) :]} == {2}
    assert call(place).to_dict() == second.to_dict()  # nothing is drawn twice

    state = second
    while state.state == "waiting":
        answer(place)
        state = call(place)
    (pair,) = state.pairs
    assert (state.state, pair.verdict, (pair.first, pair.second)) == ("decided", "first", ("a", "b"))
    assert pair.corrected is not None
    assert pair.corrected.low > 0
    assert state.labels < 300


def test_the_corrected_values_of_every_run_come_from_the_same_labels(place: Path) -> None:
    found = call(place, RUNS, people=True, decide="ranking", measure="DCG@5", budget=400)
    assert found.state in ("decided", "spent")
    assert found.pairs[0].first == "a"
    sample = AuditSample.read(place / "audit")
    judge = tv.Judgments.read(place / "qrels.trec")
    corrected = tv.correct([str(place / run) for run in RUNS], judge, sample, "DCG@5 P@5")
    last = max(found.pairs, key=lambda pair: pair.batch)
    same = corrected.difference(*sorted((last.first, last.second)), "DCG@5")
    assert last.corrected is not None
    assert abs(same.corrected.estimate) == pytest.approx(abs(last.corrected.estimate), rel=1e-9)
    people = tv.Judgments.read(place / "people.trec")
    for run in RUNS:
        truth = tv.evaluate(str(place / run), people, "DCG@5")["DCG@5"].expected
        value = corrected.of(run[0], "DCG@5").corrected
        assert abs(value.estimate - truth) < 4 * value.se


def test_a_gate_and_these_queries(place: Path) -> None:
    found = call(
        place,
        people=True,
        decide="gate",
        baseline="b",
        max_drop=0.5,
        measure="DCG@5",
        budget=300,
        target="these",
        batch=20,
        seed=3,
    )
    assert (found.pairs[0].verdict, found.pairs[0].limit, found.target) == ("first", -0.5, "these queries")
    assert len(found.batches) == 15


@pytest.mark.parametrize(
    ("choices", "message"),
    [
        ({}, "A budget of 50 labels or more must be fixed before the first label. Got None"),
        ({"budget": 20}, "A budget of 50 labels or more"),
        ({"budget": 90, "measure": "nDCG@10"}, r"nDCG@10: its norm depends on people's grades.*correct DCG"),
        ({"budget": 90, "measure": "P@5 DCG@5"}, r"A decision is by one measure\. Got P@5, DCG@5"),
        ({"budget": 90, "decide": "a>z"}, "'z' is not one of the runs a, b"),
        ({"budget": 90, "target": "old"}, "target must be one of these, new"),
        ({"budget": 90, "level": 0.4}, "level must be between 0.5 and 1"),
        ({"budget": 90, "batch": 0}, "batch must be 1 passage or more"),
        ({"budget": 90, "scale": (0, 1)}, "a judge's grade is .*, outside the scale from 0 to 1"),
    ],
)
def test_choices_that_cannot_be_are_refused_before_anything_is_written(
    place: Path, choices: dict[str, Any], message: str
) -> None:
    with pytest.raises((PolicyError, InputError), match=message):
        call(place, **choices)
    assert not (place / "audit").exists()


@pytest.mark.parametrize(
    ("choices", "named"),
    [
        ({"budget": 400}, r"budget \(300\)"),
        ({"measure": "DCG@10"}, r"measure \(DCG@5\)"),
        ({"decide": "b>a"}, r"decide \(a>b\)"),
        ({"level": 0.9, "seed": 4}, r"level \(0\.95\), seed \(0\)"),
        ({"max_drop": 0.1}, r"max-drop \(None\)"),
        ({"runs": RUNS}, r"runs \(others\)"),
    ],
)
def test_what_was_fixed_before_the_first_label_stays(place: Path, choices: dict[str, Any], named: str) -> None:
    call(place, measure="DCG@5", budget=300)
    with pytest.raises(PolicyError, match=f"planned before the first label with other choices: {named}"):
        call(place, choices.pop("runs", RUNS[:2]), **choices)


def test_audits_of_other_designs_and_of_other_judgments_are_told_apart(place: Path) -> None:
    call(place, measure="DCG@5", budget=300)
    (place / "qrels.trec").write_text((place / "people.trec").read_text())
    with pytest.raises(InputError, match="drawn from other judgments"):
        call(place)
    open_audit(place / "qrels.trec", place / "other", SampleChoices(size=20, collection=str(place)))
    with pytest.raises(InputError, match="an audit of the design documents is there"):
        next_labels(
            place / "qrels.trec", [str(place / run) for run in RUNS], out=place / "other", collection=str(place)
        )
    with pytest.raises(PolicyError, match="have no folder for an audit"):
        next_labels(place / "qrels.trec", [str(place / run) for run in RUNS])


def test_the_sample_does_not_grow_by_golden_audit(place: Path) -> None:
    call(place, measure="DCG@5", budget=300)
    with pytest.raises(PolicyError, match="drawn for a decision, it grows by its own batches"):
        open_audit(place / "qrels.trec", place / "audit", SampleChoices(size=500))


def test_grades_of_people_must_be_on_the_scale_and_those_that_lack_are_skips(place: Path) -> None:
    lines = (place / "people.trec").read_text().splitlines()
    (place / "people.trec").write_text("\n".join([*lines[: len(lines) // 2], "q0 0 other 9"]) + "\n")
    found = call(place, people=True, measure="DCG@5", budget=300)
    sample = AuditSample.read(place / "audit")
    assert found.labels == len(sample.labels)
    assert sample.skipped
    (place / "people.trec").write_text("\n".join(f"{line.rsplit(' ', 1)[0]} 7" for line in lines) + "\n")
    with pytest.raises(InputError, match=r"people\.trec: document .* has the grade 7\. It must be a whole number from"):
        next_labels(
            place / "qrels.trec",
            [str(place / run) for run in RUNS[:2]],
            out=place / "second",
            collection=str(place),
            people=place / "people.trec",
            measure="DCG@5",
            budget=300,
        )


def test_a_golden_set_has_its_own_folder_scale_and_measure(tmp_path: Path) -> None:
    need("bm25s", extra="retrieval")
    plan = small.written(tmp_path, f"{small.LABELS}\nnoise = 0.5")
    build(GoldenPlan.read(plan), tmp_path / "golden", cache=tmp_path / "cache")
    judged = tv.Judgments.read(tmp_path / "golden").frame
    ranked = [f"{q} Q0 {d} 1 {at} other" for at, (q, d) in enumerate(judged.select("query_id", "doc_id").rows())]
    (tmp_path / "other.trec").write_text("\n".join([*ranked, "q0 Q0 nothing-judged 1 -1 other"]) + "\n")
    runs = [str(tmp_path / "golden" / "top.trec"), str(tmp_path / "other.trec")]
    found = next_labels(tmp_path / "golden", runs, measure="P4+@3", budget=50, collection=str(tmp_path / "c"))
    assert (found.measure, found.folder, found.state) == ("P4+@3", "next", "waiting")
    assert json.loads((tmp_path / "golden" / "next" / "sample.json").read_text())["scale"] == [1, 5]
    again = next_labels(tmp_path / "golden", runs, collection=str(tmp_path / "c"))
    assert again.to_dict() == found.to_dict()


def test_runs_that_no_labels_tell_apart_need_none(place: Path) -> None:
    (place / "copy.trec").write_text((place / "a.trec").read_text())
    with pytest.raises(InputError, match=r"a, copy: no labels make a difference between these runs in DCG@5"):
        call(place, ("a.trec", "copy.trec"), measure="DCG@5", budget=300)


def test_the_same_seed_draws_the_same_batch_and_another_one_others(place: Path) -> None:
    drawn = []
    for at, seed in enumerate((0, 0, 1)):
        next_labels(
            place / "qrels.trec",
            [str(place / run) for run in RUNS[:2]],
            out=place / str(at),
            collection=str(place),
            measure="DCG@5",
            budget=300,
            seed=seed,
        )
        drawn.append([(row["query"], row["document"]) for row in rows(place / str(at) / "items.jsonl")])
    assert drawn[0] == drawn[1] != drawn[2]


@pytest.mark.slow
def test_a_batch_over_a_hundred_thousand_passages_takes_about_a_second(tmp_path: Path) -> None:
    place = write_world(tmp_path / "large", 1_000, 105)
    call(place, RUNS[1:], measure="DCG@105", budget=5_000)
    answer(place)
    begun = time.process_time()
    found = call(place, RUNS[1:])
    assert found.reachable > 100_000
    assert found.open > 300
    assert time.process_time() - begun < 4  # 1.2 s on an idle machine


def test_a_batch_after_the_budget_was_spent_still_draws_every_passage_with_a_chance(place: Path) -> None:
    """Batches of two passages that happen to hold three or four spend a budget of 50 before the last batch."""
    call(place, measure="DCG@5", budget=50, batch=2)
    sample = read_sample(place / "audit")
    assert expected_size(sample) == pytest.approx((50 - len(sample.items)) / 24)
    assert expected_size(replace(sample, items=sample.items[:1] * 60)) == 1


def test_batches_of_few_passages_leave_none_without_a_chance(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen = []

    def chances(self, contrasts, known, left, expected):
        found = own(self, contrasts, known, left, expected)
        seen.append(float(found[left].min()))
        return found

    own = LabelDecision.chances
    monkeypatch.setattr(LabelDecision, "chances", chances)
    found = call(place, people=True, measure="DCG@5", budget=50, batch=2, level=0.9999)
    assert (found.state, len(seen)) == ("spent", 25)
    assert min(seen) > 0


MAP, BACK = "0:1,1:3,2:4,3:5", "1:0,2:0,3:1,4:2,5:3"


def judge_file(place: Path, text: str) -> Path:
    (place / "judge.toml").write_text(f"[judge]\n{text}\n")
    return place / "judge.toml"


def test_a_judge_decides_as_all_its_labels_would(place: Path) -> None:
    """Labels of a file, given by people or by a judge that answers from it, lead to the same decision."""
    by_people = call(place, people=True, measure="DCG@5", budget=300)
    shutil.rmtree(place / "audit")
    judge = judge_file(place, f'model = "labels:people.trec"\ngrades = "{MAP}"')
    found = call(place, judge=judge, judge_scale=BACK, measure="DCG@5", budget=300)
    assert found.labelers == ("labels:people.trec",)
    assert by_people.labelers == ("people",)
    assert found.pairs == by_people.pairs
    assert (found.state, found.labels) == (by_people.state, by_people.labels)
    with pytest.raises(InputError, match=r"the judge grades from 1 to 5, and the audit from 0 to 3.*--judge-scale"):
        call(place, judge=judge, measure="DCG@5", budget=300, out="other")
    with pytest.raises(PolicyError, match="graded by people or by a judge"):
        call(place, people=True, judge=judge)


def test_a_model_is_asked_once_and_stops_at_its_limit(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    need("openai", extra="judge")
    monkeypatch.setenv("TEST_JUDGE_KEY", "k")
    people = {(q, d): int(g) for q, d, g in tv.Judgments.read(place / "people.trec").frame.iter_rows()}

    def stars(query: str, text: str) -> int:
        return (1, 3, 4, 5)[people[f"q{query.split()[1]}", f"d{text.split()[1]}"]]

    choices: dict[str, Any] = {"judge_scale": BACK, "measure": "DCG@5", "budget": 300}
    with chat_server(stars) as server, warnings.catch_warnings():
        warnings.simplefilter("ignore", TruevalWarning)
        judge = judge_file(place, small.served(server.url) + '\nmode = "single"\nrounds = 1')
        with pytest.raises(InputError, match="max_cost"):
            call(place, judge=judge, max_cost=0.002, **choices)
        paid = len(server.billed)
        server.trouble = lambda number: Trouble(401, body="{}") if number > paid + 20 else Trouble()
        with pytest.raises(InputError):
            call(place, judge=judge, **choices)
        assert len(server.billed) > paid
        server.trouble = lambda number: Trouble()
        found = call(place, judge=judge, **choices)
        assert len(server.billed) == found.labels  # one passage a call, none asked twice
        again = call(place, judge=judge, **choices)
        assert len(server.billed) == found.labels
    assert again.to_dict() == found.to_dict()
    assert found.labelers == ("served",)
    shutil.rmtree(place / "audit")
    assert call(place, people=True, measure="DCG@5", budget=300).pairs == found.pairs


@pytest.mark.evidence
def test_batches_of_a_hundred_thousand_passages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """How long a batch takes; printed, and held by nothing."""
    place = write_world(tmp_path / "world", queries=1000, documents=100)
    taken: dict[str, list[float]] = {"draw": [], "result": []}

    def timed(name: str) -> None:
        made = getattr(DecisionAudit, name)

        def call(*given: Any) -> Any:
            begun = time.process_time()
            found = made(*given)
            taken[name].append(time.process_time() - begun)
            return found

        monkeypatch.setattr(DecisionAudit, name, call)

    timed("draw")
    timed("result")
    found = call(place, RUNS[1:], people=True, measure="DCG@100", budget=5000)
    assert found.reachable == 100_000
    assert len(taken["draw"]) == 10
    draw, read = (f"{min(each):.2f} to {max(each):.2f}" for each in taken.values())
    print(
        f"{found.reachable:,} passages, {found.labels:,} labels: {draw} s of the processor to draw a batch, {read} to "
        "read its labels"
    )
