"""`trueval answers`: commands print and save what the library finds; gates set the status."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.answers.small import draw_labels, draw_log, write_lines
from tests.cli.conftest import Outcome

from trueval.answers.answer import AnswerLog
from trueval.answers.claim_table import LABELS, JudgedCells
from trueval.answers.evaluate_answers import answer_scores, evaluate_answers
from trueval.comparison.power.power_analysis import power_of_scores

Command = Callable[..., Outcome]


@pytest.fixture
def few_worlds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("trueval.comparison.power.power_analysis.WORLDS", 200)
    monkeypatch.setattr("trueval.comparison.power.power_analysis.OTHER_WORLDS", 40)


def save_world(folder: Path, name: str, seed: int = 1, worse: bool = False) -> tuple[Path, Path]:
    """A log of 40 random questions and its table; the claims of a worse one are not supported by references."""
    import numpy as np

    rng = np.random.default_rng(seed)
    log = draw_log(rng, 40)
    judged = draw_labels(rng, log)
    rows = [
        {
            "query_id": each.query,
            "question": each.question,
            "answer": each.text,
            "claims": [claim.text for claim in each.claims],
            "reference": each.references[0],
            "nuggets": [{"text": nugget.text, "importance": nugget.importance} for nugget in each.reference_claims],
            "contexts": [{"id": passage.id, "text": passage.text} for passage in each.passages or ()],
        }
        for each in log.answers
    ]
    write_lines(folder / f"{name}.jsonl", *rows)
    write_lines(folder / f"{name}_table.jsonl", *_rows(log, judged, worse))
    return folder / f"{name}.jsonl", folder / f"{name}_table.jsonl"


def _rows(log: AnswerLog, judged: JudgedCells, worse: bool) -> list[dict[str, object]]:
    return [
        {
            "query": cell.query,
            "of": cell.of,
            "claim": cell.claim,
            "against": cell.against,
            "label": "not" if worse and cell.against == "reference" else LABELS[codes[0]],
        }
        for cell, codes in judged.labels.items()
    ]


def test_evaluate_prints_and_saves_what_the_library_finds(trueval: Command, tmp_path: Path) -> None:
    log, table = save_world(tmp_path, "log")
    out = tmp_path / "out"
    done = trueval("answers", "evaluate", log, "--judged", table, "--format", "json", "--out", out)
    expected = json.loads(json.dumps(evaluate_answers(str(log), str(table)).to_dict()))
    found = json.loads(done.out)
    assert done.status == 0
    assert {name: found[name] for name in expected if name != "judged"} == {
        name: value for name, value in expected.items() if name != "judged"
    }
    page = (out / "report.html").read_text(encoding="utf-8")
    assert "Every claim and what was said of it" in page
    assert "claims of the references" in page


@pytest.mark.parametrize(("limit", "status"), [("correctness=0.05", 0), ("correctness=0.95", 1)])
def test_a_minimum_decides_the_status(trueval: Command, tmp_path: Path, limit: str, status: int) -> None:
    log, table = save_world(tmp_path, "log")
    assert trueval("answers", "evaluate", log, "--judged", table, "--min", limit).status == status


def test_compare_pairs_logs_by_question_and_gates_them(trueval: Command, tmp_path: Path) -> None:
    (log, table), (other, worse) = save_world(tmp_path, "good"), save_world(tmp_path, "bad", worse=True)
    given = ("answers", "compare", log, other, "--judged", table, "--judged", worse, "-m", "correctness")
    done = trueval(*given, "--format", "json")
    (difference,) = json.loads(done.out)["differences"]
    assert (difference["first"], difference["second"], difference["separated"]) == ("good", "bad", True)
    assert done.status == 0
    gated = trueval(*given, "--baseline", log, "--max-drop", 0.05)
    assert gated.status == 1
    assert "bad: correctness lost" in gated.err


@pytest.mark.usefixtures("few_worlds")
def test_power_says_what_the_questions_find_and_compare_is_the_next_command(trueval: Command, tmp_path: Path) -> None:
    """The numbers are those of power_of_scores; the default measure is correctness, without tables token-F1."""
    logs = [save_world(tmp_path, "one", seed=1), save_world(tmp_path, "two", seed=2)]
    files, tables = zip(*logs, strict=True)
    given = ("answers", "power", *files, "--judged", tables[0], "--judged", tables[1], "--difference", 0.15)
    done = trueval(*given, "--format", "json")
    assert done.status == 0, done.err
    found = json.loads(done.out)
    expected = power_of_scores(
        [answer_scores(str(log), str(table), ["correctness"]) for log, table in logs], difference=0.15
    ).to_dict()
    assert found["measures"] == json.loads(json.dumps(expected["measures"]))
    assert (found["measures"][0]["measure"], found["measures"][0]["queries"]) == ("correctness", 40)
    text = " ".join(trueval(*given, "--baseline", files[0], "--out", tmp_path / "out").out.split())
    assert "trueval answers compare separates" in text
    assert "QRELS" not in text
    assert "trueval compare" not in (tmp_path / "out" / "report.html").read_text(encoding="utf-8")
    saved = json.loads((tmp_path / "out" / "power.json").read_text(encoding="utf-8"))
    assert (saved["baseline"], saved["choices"]["of"]) == ("one", "answers")
    refused = trueval("answers", "power", files[0])
    assert (refused.status, "needs at least two logs" in refused.err) == (2, True)
    refused = trueval("answers", "power", *files, "--judged", tables[0])
    assert (refused.status, "once for each of 2 logs" in refused.err) == (2, True)


@pytest.mark.usefixtures("few_worlds")
def test_power_takes_a_budget_of_answers(trueval: Command, tmp_path: Path) -> None:
    """What another round of the judge would say is no matter of more questions, so less is found; one round is none."""
    files, tables, once = list[Path](), list[object](), list[object]()
    for seed, name in enumerate(("one", "two"), start=1):
        log, table = save_world(tmp_path, name, seed=seed)
        rows = [json.loads(line) for line in table.read_text(encoding="utf-8").splitlines()]
        again = [{**row, "label": "not"} if name == "one" and at % 2 else row for at, row in enumerate(rows)]
        rounds = write_lines(tmp_path / f"{name}_rounds.jsonl", *rows, *again)
        files, once, tables = [*files, log], [*once, "--judged", table], [*tables, "--judged", rounds]
    for name, given in (("once", once), ("twice", tables)):
        done = trueval("answers", "budget", *files, *given, "--out", tmp_path / name)
        assert done.status == 0, done.err
    given = ("answers", "power", *files, *tables, "--format", "json")
    done = trueval(*given, "--budget", tmp_path / "twice")
    assert done.status == 0, done.err
    (pair,) = json.loads(done.out)["measures"][0]["pairs"]
    assert {*pair["shared"]["pair"]} == {"one", "two"}
    assert pair["shared"]["variance"] > 0
    assert pair["shared"]["least_difference"] > pair["expected"]["least_difference"]
    refused = trueval(*given, "--budget", tmp_path / "once")
    assert (refused.status, "one round of the judge" in " ".join(refused.err.split())) == (1, True)


@pytest.mark.usefixtures("few_worlds")
def test_a_budget_in_which_nothing_varies_is_written_and_read(trueval: Command, tmp_path: Path) -> None:
    """Labels that are all alike: no bar to draw, no variance, and degrees of freedom that are null, not Infinity."""
    files, tables = list[object](), list[object]()
    for seed, name in enumerate(("one", "two"), start=1):
        log, table = save_world(tmp_path, name, seed=seed)
        lines = table.read_text(encoding="utf-8").splitlines()
        rows = [{**json.loads(line), "label": "supported"} for line in lines]
        files.append(log)
        tables += ["--judged", write_lines(tmp_path / f"{name}_alike.jsonl", *rows, *rows)]
    budget = trueval("answers", "budget", *files, *tables, "--out", tmp_path / "alike")
    assert budget.status == 0, budget.err
    assert (tmp_path / "alike" / "report.html").is_file()
    done = trueval("answers", "power", *files, *tables, "--format", "json", "--budget", tmp_path / "alike")
    assert done.status == 0, done.err
    shared = json.loads(done.out)["measures"][0]["pairs"][0]["shared"]
    assert (shared["variance"], shared["degrees"]) == (0.0, None)


def test_misuse_is_said(trueval: Command, tmp_path: Path) -> None:
    log, table = save_world(tmp_path, "log")
    assert "once for each of 2 logs" in trueval("answers", "compare", log, log, "--judged", table).err
    assert "--max-drop needs --baseline" in trueval("answers", "compare", log, log, "--max-drop", 0.1).err
    done = trueval("answers", "evaluate", log, "-m", "correctness")
    assert (done.status, "correctness needs a judged table" in done.err) == (2, True)


def test_judge_fills_a_table_that_evaluate_reads(trueval: Command, tmp_path: Path) -> None:
    log, table = save_world(tmp_path, "log")
    out = tmp_path / "out"
    given = ("answers", "judge", log, "--judge", f"labels:{table}", "--out", out)
    estimated = json.loads(trueval(*given, "--dry-run", "--format", "json").out)
    done = trueval(*given, "--format", "json")
    found = json.loads(done.out)
    assert (done.status, found["missing"]) == (0, 0)
    assert estimated["calls"] == found["usage"]["calls"]
    again = trueval("answers", "evaluate", log, "--judged", out / "table.jsonl", "--format", "json")
    expected = evaluate_answers(str(log), str(table))
    means = {each["name"]: each["value"] for each in json.loads(again.out)["measures"]}
    assert means["faithfulness"] == pytest.approx(expected["faithfulness"].value)
    assert "trueval answers evaluate" in trueval(*given).out
