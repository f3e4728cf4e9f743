"""Judgments whose grades begin at 1: a golden set says what they mean, and of others every command asks."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
from tests.cli.conftest import Outcome
from tests.golden.audited_world import World, written

Command = Callable[..., Outcome]

OF_RUBRIC = ["RA-nWG@10", "N-Recall4+@10", "nDCG(gain='rubric')@10", "P4+@10", "Harm@10"]
PLAIN = ["nDCG@10", "RR@10", "AP", "R@100", "P@10"]
ABOUT = '{"kind": "golden", "format": 1}'
NOTE = "every judged document for relevant"
MAP = "(--rel 4), or map the grades (--grades 1:0,2:0,3:0,4:1,5:2)."


@pytest.fixture
def world(tmp_path: Path) -> Path:
    """golden/, plain.trec with the same judgments, two runs of seven queries, logits; both are collections too."""
    golden = tmp_path / "golden"
    golden.mkdir()
    (golden / "golden.json").write_text(ABOUT, encoding="utf-8")
    chance = np.random.default_rng(5)
    grades = {f"q{query}": chance.permutation([1, 1, 2, 3, 4, 5]).tolist() for query in range(7)}
    qrels = "".join(f"{query} 0 d{at} {grade}\n" for query, row in grades.items() for at, grade in enumerate(row))
    for place in (golden / "qrels.trec", tmp_path / "plain.trec"):
        place.write_text(qrels, encoding="utf-8")
    for name in ("one", "two"):
        rows = {query: chance.permutation(6).tolist() for query in grades}
        run = "".join(f"{query} Q0 d{d} {at} {-at} x\n" for query, row in rows.items() for at, d in enumerate(row, 1))
        (tmp_path / f"{name}.trec").write_text(run, encoding="utf-8")
    documents = [{"_id": f"d{at}", "text": f"word{at} common"} for at in range(6)]
    for place in (golden, tmp_path):
        (place / "corpus.jsonl").write_text("\n".join(map(json.dumps, documents)), encoding="utf-8")
        asked = [{"_id": query, "text": "common word1"} for query in grades]
        (place / "queries.jsonl").write_text("\n".join(map(json.dumps, asked)), encoding="utf-8")
    (tmp_path / "qrels.trec").write_text(qrels, encoding="utf-8")
    np.savez(
        golden.parent / "logits.npz",
        query=[query for query in grades for _ in range(6)],
        doc=[f"d{at}" for _ in grades for at in range(6)],
        float32=chance.normal(size=(42, 1)).astype(np.float32),
    )
    return tmp_path


def arguments(world: Path, command: str, qrels: Path) -> list[object]:
    runs = [world / "one.trec", world / "two.trec"]
    if command == "cuts":
        return ["cuts", "--runs", runs[0], "--qrels", qrels, "-k", 3]
    if command == "precision":
        place = world / "golden" if "golden" in str(qrels) else world
        return ["precision", "audit", place, "--logits", world / "logits.npz"]
    return [command, qrels, *(runs[:1] if command == "explain" else runs)]


def measured(command: str, outcome: Outcome) -> list[str]:
    """The measures that JSON holds."""
    assert outcome.status == 0, outcome.err
    if command == "explain":
        decoder, at, found = json.JSONDecoder(), 0, []
        while at < len(outcome.out.rstrip()):
            entry, at = decoder.raw_decode(outcome.out, at)
            found.append(entry["measure"])
            at += len(outcome.out[at:]) - len(outcome.out[at:].lstrip())
        return found
    result = json.loads(outcome.out)
    if command == "evaluate":
        return list(result["runs"][0]["measures"])
    if command == "compare":
        return list(dict.fromkeys(each["measure"] for each in result["differences"]))
    if command == "power":
        return [each["measure"] for each in result["measures"]]
    return list(result["measures"])


COMMANDS = ("evaluate", "compare", "power", "explain", "cuts", "precision")


@pytest.mark.slow
@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("place", ["golden", "golden/qrels.trec"])
def test_every_command_knows_the_scale_of_a_golden_set(trueval: Command, world: Path, command: str, place: str) -> None:
    asked = arguments(world, command, world / place)
    at = 3 if command == "cuts" else 10
    found = trueval(*asked, "--format", "json")
    assert measured(command, found) == [name.replace("@10", f"@{at}") for name in OF_RUBRIC]
    assert NOTE not in found.err
    named = trueval(*asked, "-m", "RR@10 nDCG@10", "--format", "json")
    assert measured(command, named) == ["RR(rel=4)@10", "nDCG@10"]
    assert NOTE not in named.err


@pytest.mark.parametrize("command", [each for each in COMMANDS if each != "power"])
def test_numbers_of_a_golden_set_are_those_of_its_judgments_with_the_choices_named(
    trueval: Command, world: Path, command: str
) -> None:
    (world / "one.trec").write_text("".join(f"q{q} Q0 d{d} 1 {d // 2} x\n" for q in range(6) for d in range(6)))
    named = ["-m", " ".join(name.replace("@10", f"@{3 if command == 'cuts' else 10}") for name in OF_RUBRIC)]

    def numbers(found: Outcome) -> dict[str, float]:
        assert found.status == 0, found.err
        return {path: value for path, value in leaves(found.out) if isinstance(value, float) and "policy" not in path}

    golden = numbers(trueval(*arguments(world, command, world / "golden"), "--format", "json"))
    asked = arguments(world, command, world / "plain.trec")
    assert golden == numbers(trueval(*asked, *named, "--rel", 4, "--format", "json"))
    assert len(golden) > 10


def leaves(text: str) -> Iterator[tuple[str, object]]:
    """Every value of one or several JSON texts, with the path to it."""
    decoder, at = json.JSONDecoder(), 0
    stack: list[tuple[str, object]] = []
    while text[at:].strip():
        at += len(text[at:]) - len(text[at:].lstrip())
        value, at = decoder.raw_decode(text, at)
        stack.append((str(len(stack)), value))
    while stack:
        path, value = stack.pop()
        if isinstance(value, dict | list):
            inner = value.items() if isinstance(value, dict) else enumerate(value)
            stack += [(f"{path} {key}", each) for key, each in inner]
        else:
            yield path, value


@pytest.mark.slow
@pytest.mark.parametrize("command", COMMANDS)
def test_other_judgments_are_told_of_before_the_table(trueval: Command, world: Path, command: str) -> None:
    asked = arguments(world, command, world / "plain.trec")
    found = trueval(*asked, "--format", "json")
    if command != "cuts":
        assert measured(command, found) == PLAIN
    table = trueval(*asked)
    for outcome in (found, table):
        assert NOTE in " ".join(outcome.err.split())
        assert MAP in " ".join(outcome.err.split())
    assert NOTE not in table.out
    assert NOTE in found.out or command == "explain"
    if command != "explain":
        out = world / "out"
        assert trueval(*asked, "--out", out).status == 0
        trueval("report", out)
        assert "1:0,2:0,3:0,4:1,5:2" in (out / "report.html").read_text(encoding="utf-8")
    quiet = trueval(*asked, "--rel", 4)
    assert NOTE not in quiet.err + quiet.out


@pytest.mark.parametrize("choice", [("--rel", 1), ("--convention", "pytrec_eval"), ("--grades", "1:1,2:2,3:3,4:4,5:5")])
def test_what_is_chosen_is_chosen(trueval: Command, world: Path, choice: tuple[object, ...]) -> None:
    found = trueval("evaluate", world / "golden", world / "one.trec", "--format", "json", *choice)
    assert measured("evaluate", found) == PLAIN
    assert NOTE in found.err


def test_lines_of_trec_eval_are_of_its_measures(trueval: Command, world: Path) -> None:
    asked = ("evaluate", world / "golden", world / "one.trec", "--format", "trec")
    plain = trueval("evaluate", world / "plain.trec", world / "one.trec", "--format", "trec")
    assert trueval(*asked).out == plain.out


def test_limits_and_order_name_measures_as_people_do(trueval: Command, world: Path) -> None:
    runs = (world / "one.trec", world / "two.trec")
    asked = ("evaluate", world / "golden", *runs, "-m", "RR@10 P@3", "--sort", "P@3")
    found = trueval(*asked, "--min", "RR@10=0", "--max-drop", "RR@10=1", "--baseline", runs[1])
    assert found.status == 0, found.err
    assert "RR(rel=4)@10" in found.err
    old = world / "old"
    assert trueval("evaluate", world / "golden", runs[1], "-m", "RA-nWG@10", "--rel", 1, "--out", old).status == 0
    refused = trueval("evaluate", world / "golden", runs[0], "--baseline", old, "--max-drop", "RA-nWG@10=1")
    assert refused.status == 1
    assert "rel 4 and 1" in " ".join(refused.err.split())


@pytest.mark.parametrize(
    ("design", "wanted"), [("queries", OF_RUBRIC), ("documents", ["P4+@10", "Harm@10"])], ids=["queries", "documents"]
)
def test_correct_keeps_what_its_audit_can_correct(
    trueval: Command, tmp_path: Path, design: str, wanted: list[str]
) -> None:
    made: World = written(tmp_path, design=design, sampled=80 if design == "documents" else 30)
    asked = ("golden", "correct", made.golden, made.runs[0], "--format", "json")
    before = json.loads(trueval(*asked).out)
    assert [each["measure"] for each in before["runs"][0]["corrected"]] != wanted
    (made.golden / "golden.json").write_text(ABOUT, encoding="utf-8")
    found = trueval(*asked)
    assert found.status == 0, found.err
    corrected = json.loads(found.out)["runs"][0]["corrected"]
    assert [each["measure"] for each in corrected] == wanted
    assert not [each for each in corrected if "refused" in each]
    assert NOTE not in found.err
    named = json.loads(trueval(*asked, "-m", "P@5").out)
    assert [each["measure"] for each in named["runs"][0]["corrected"]] == ["P(rel=4)@5"]


def test_stress_takes_the_scale_of_a_judge_that_is_a_golden_set(trueval: Command, world: Path) -> None:
    runs = ("--runs", world / "one.trec", "--runs", world / "two.trec")
    asked = ("golden", "stress", world / "golden" / "qrels.trec", "--people", world / "plain.trec", *runs)
    few = ("--resamples", 100, "--format", "json")
    found = trueval(*asked, *few)
    assert found.status == 0, found.err
    assert [each["measure"] for each in json.loads(found.out)["measures"]] == OF_RUBRIC


SWEEP = """
[corpus]
path = "{corpus}"
[sparse]
depth = 5
[generate]
contexts = [2, 3]
{measure}
[latency]
queries = 0
"""


@pytest.mark.parametrize(
    ("corpus", "measure", "wanted"),
    [
        ("golden", "", [name.replace("@10", "@K") for name in OF_RUBRIC]),
        ("golden", '[measure]\nnames = ["R@K", "RR(rel=2)@K AP"]', ["R(rel=4)@K", "RR(rel=2)@K", "AP(rel=4)"]),
        ("golden", "[measure]\nrel = 2", ["nDCG@K", "R@K"]),
        (".", "", ["nDCG@K", "R@K"]),
        (".", '[measure]\njudgments = "golden"', [name.replace("@10", "@K") for name in OF_RUBRIC]),
    ],
)
def test_a_plan_of_a_sweep_knows_it(world: Path, corpus: str, measure: str, wanted: list[str]) -> None:
    from trueval.tradeoff.config.plan import SweepPlan

    path = world / "sweep.toml"
    path.write_text(SWEEP.format(corpus=corpus, measure=measure), encoding="utf-8")
    plan = SweepPlan.read(path)
    assert list(plan.measuring.names) == wanted
    assert plan.measuring.policy.rel == (2 if "rel = 2" in measure else 4 if wanted[0] != "nDCG@K" else 1)


def test_a_sweep_tells_of_a_scale_before_its_table(trueval: Command, world: Path) -> None:
    pytest.importorskip("bm25s")
    path = world / "sweep.toml"
    path.write_text(SWEEP.format(corpus=".", measure=""), encoding="utf-8")
    found = trueval("sweep", path, "--cache", world / "cache")
    assert found.status == 0, found.err
    told = " ".join(found.err.split())
    assert '(rel = 4 in [measure]), or map the grades (grades = "1:0,2:0,3:0,4:1,5:2" there).' in told
    assert "--" not in told[told.index(NOTE) :].split(" there)")[0]  # a sweep has no such options
    assert NOTE not in found.out
    for key in ("rel = 4", 'grades = "1:0,2:0,3:0,4:1,5:2"'):
        path.write_text(SWEEP.format(corpus=".", measure=f"[measure]\n{key}"), encoding="utf-8")
        assert NOTE not in trueval("sweep", path, "--cache", world / "cache").err
    path.write_text(SWEEP.format(corpus="golden", measure=""), encoding="utf-8")
    quiet = trueval("sweep", path, "--cache", world / "cache")
    assert NOTE not in quiet.err + quiet.out
