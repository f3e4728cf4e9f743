"""What `trueval evaluate` says of contexts, answers, unjudged documents and sensitivity."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

# Judged 5, 4, 4; the list has the 5, one 4 and something unjudged: (1 + .25) / 1.5. With the 4 upgraded: 2 / 3.
QRELS = "q 0 a 5\nq 0 b 4\nq 0 c 4\nr 0 a 5\n"
RUN = "q Q0 a 1 3.0 x\nq Q0 b 2 2.0 x\nq Q0 u 3 1.0 x\nr Q0 a 1 1.0 x\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "qrels.trec").write_text(QRELS, encoding="utf-8")
    (tmp_path / "run.trec").write_text(RUN, encoding="utf-8")
    (tmp_path / "answers.csv").write_text("q,1\nr,0\n", encoding="utf-8")
    (tmp_path / "sources.tsv").write_text("a\tpaper\nb\tpaper\n", encoding="utf-8")
    log = [
        {"query": "q", "ids": ["a", "b", "b", "u"], "gold": {"a": 5, "b": 4, "c": 4}, "correct": True},
        {"query": "r", "ids": ["a"], "gold": {"a": 5}, "correct": False},
    ]
    (tmp_path / "log.jsonl").write_text("\n".join(map(json.dumps, log)), encoding="utf-8")
    (tmp_path / "gold.jsonl").write_text("\n".join(map(json.dumps, log)), encoding="utf-8")
    return tmp_path


def test_sensitivity_names_the_query_that_falls_when_a_label_rises(trueval: Callable[..., Any], folder: Path) -> None:
    outcome = trueval("evaluate", folder / "qrels.trec", folder / "run.trec", "-m", "RA-nWG@3", "--sensitivity")
    assert outcome.status == 0
    assert "Sensitivity of RA-nWG@3" in outcome.out
    assert "query q, document b, 4 to 5: 0.8333 to 0.6667" in outcome.out
    assert "RA-nWG@3: unjudged in top 0.5, upper 1, fallback queries 0" in outcome.out


def test_sensitivity_is_in_the_json(trueval: Callable[..., Any], folder: Path) -> None:
    options = ("-m", "RA-nWG@3 RR", "--sensitivity", "--format", "json")
    found = json.loads(trueval("evaluate", folder / "qrels.trec", folder / "run.trec", *options).out)
    assert len(found["sensitivity"][0]["grid"]) == 24
    assert found["sensitivity"][0]["flips"][0]["falls_when_raised"][0]["query"] == "q"


def test_unjudged_documents_get_a_grade(trueval: Callable[..., Any], folder: Path) -> None:
    options = ("-m", "Harm@3 RA-nWG@3", "--format", "json")
    plain, filled = (
        json.loads(trueval("evaluate", folder / "qrels.trec", folder / "run.trec", *options, *more).out)["runs"][0]
        for more in ((), ("--unjudged", "1"))
    )
    assert plain["measures"]["Harm@3"]["expected"] == 0
    assert filled["measures"]["Harm@3"]["expected"] == pytest.approx(1 / 6)
    assert plain["measures"]["RA-nWG@3"]["expected"] == filled["measures"]["RA-nWG@3"]["expected"]


def test_answers_are_averaged_where_all_gold_is_there(trueval: Callable[..., Any], folder: Path) -> None:
    """At rel 4 q lacks c, so only r is a hit, and its answer is wrong; at rel 5 both are."""
    options = ("-m", "AllGold(rel=4)@3 AllGold(rel=5)@3", "--correct", folder / "answers.csv")
    outcome = trueval("evaluate", folder / "qrels.trec", folder / "run.trec", *options)
    assert "Acc|AllGold(rel=4)@3: 0.0000 over 1 expected hits (0.0000 to 0.0000 over tie orders)" in outcome.out
    assert "Acc|AllGold(rel=5)@3: 0.5000 over 2 expected hits" in outcome.out


def test_a_log_of_contexts_serves_as_run_and_as_judgments(trueval: Callable[..., Any], folder: Path) -> None:
    options = ("-m", "RA-nWG@3 AllGold(rel=5)@3", "--format", "json")
    from_log = json.loads(trueval("evaluate", folder / "gold.jsonl", folder / "log.jsonl", *options).out)["runs"][0]
    from_files = json.loads(trueval("evaluate", folder / "qrels.trec", folder / "run.trec", *options).out)["runs"][0]
    assert from_log["measures"] == from_files["measures"]
    assert from_log["answers"]["AllGold(rel=5)@3"]["expected"] == 0.5


def test_one_log_of_contexts_serves_as_both_and_other_files_do_not(trueval: Callable[..., Any], folder: Path) -> None:
    options = ("-m", "AllGold(rel=5)@3", "--format", "json")
    one = trueval("evaluate", folder / "log.jsonl", folder / "log.jsonl", *options)
    two = trueval("evaluate", folder / "gold.jsonl", folder / "log.jsonl", *options)
    assert one.status == 0
    assert json.loads(one.out)["runs"] == json.loads(two.out)["runs"]
    for name, times in (("log.jsonl", 3), ("run.trec", 2)):
        outcome = trueval("evaluate", *[folder / name] * times, *options)
        assert outcome.status == 2
        assert "is given twice" in " ".join(outcome.err.replace("│", " ").split())


def test_a_log_or_a_run_comes_through_standard_input(trueval: Callable[..., Any], folder: Path) -> None:
    options = ("-m", "RR", "--format", "json")
    for name in ("log.jsonl", "run.trec"):
        text = (folder / name).read_text(encoding="utf-8")
        piped = json.loads(trueval("evaluate", folder / "qrels.trec", "-", *options, stdin=text).out)["runs"][0]
        named = json.loads(trueval("evaluate", folder / "qrels.trec", folder / name, *options).out)["runs"][0]
        assert (piped["name"], named["name"]) == ("<stdin>", name.partition(".")[0])
        assert piped["measures"] == named["measures"]


@pytest.mark.parametrize("command", ["evaluate", "compare", "explain"])
def test_every_command_reads_logs_by_one_function_and_refuses_bad_ones(
    trueval: Callable[..., Any], folder: Path, command: str
) -> None:
    (folder / "bad.jsonl").write_bytes(b'{"query": "q", "ids": ["a"]}\n{"query": "r", "ids": ["a\xff"]}\n')
    runs = [folder / "bad.jsonl", *([folder / "run.trec"] if command == "compare" else [])]
    outcome = trueval(command, folder / "qrels.trec", *runs, "-m", "RR")
    assert outcome.status == 1
    assert "bad.jsonl:2: byte 0xff is not UTF-8" in " ".join(outcome.err.split())


def test_an_answer_to_a_query_that_nobody_judged_is_named(trueval: Callable[..., Any], folder: Path) -> None:
    (folder / "answers.txt").write_text("q 1\nr 0\nz 1\ny 1\n", encoding="utf-8")
    options = ("-m", "AllGold(rel=5)@3", "--correct", folder / "answers.txt")
    outcome = trueval("evaluate", folder / "qrels.trec", folder / "run.trec", *options)
    assert outcome.status == 0
    assert "2 queries are not in the judgments and are ignored, the first 'y'" in " ".join(outcome.err.split())
    options = ("-m", "AllGold(rel=5)@3", "--correct", folder / "answers.csv")
    assert "ignored" not in trueval("evaluate", folder / "qrels.trec", folder / "run.trec", *options).err


def test_sources_make_novelty(trueval: Callable[..., Any], folder: Path) -> None:
    """In q: 1 + .5 * .25 of the ideal 1 + .25 + .5 * .25 (a, c, then b of a's paper); in r 1."""
    options = ("-m", "novelty(RA-nWG)@3", "--sources", folder / "sources.tsv", "--format", "json")
    found = json.loads(trueval("evaluate", folder / "qrels.trec", folder / "run.trec", *options).out)["runs"][0]
    assert found["measures"]["novelty(RA-nWG)@3"]["expected"] == pytest.approx((1.125 / 1.375 + 1) / 2)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("-m", "nDCG@10", "--sensitivity"), "needs RA-nWG among the measures"),
        (("-m", "nDCG@10", "--correct", "x.csv"), "needs AllGold at a cutoff"),
    ],
)
def test_what_lacks_its_measure_is_misuse(
    trueval: Callable[..., Any], folder: Path, options: tuple[str, ...], message: str
) -> None:
    outcome = trueval("evaluate", folder / "qrels.trec", folder / "run.trec", *options)
    assert outcome.status == 2
    assert message in " ".join(outcome.err.replace("│", " ").split())


def test_grades_off_the_rubric_are_an_error_that_names_the_cure(trueval: Callable[..., Any], folder: Path) -> None:
    (folder / "zeros.trec").write_text("q 0 a 3\nq 0 b 0\n", encoding="utf-8")
    outcome = trueval("evaluate", folder / "zeros.trec", folder / "run.trec", "-m", "RA-nWG@3")
    assert outcome.status == 1
    assert "Got grade 0" in outcome.err
    assert "--grades 0:1,1:3,2:4,3:5" in outcome.err
    mapped = ("-m", "RA-nWG@3", "--grades", "0:1,1:3,2:4,3:5", "--format", "json")
    found = json.loads(trueval("evaluate", folder / "zeros.trec", folder / "run.trec", *mapped).out)
    assert found["runs"][0]["measures"]["RA-nWG@3"]["expected"] == 1


@pytest.mark.parametrize("options", [("--missing", "skip"), ("--convention", "pytrec_eval")])
def test_sensitivity_and_bounds_skip_the_queries_that_the_mean_skips(
    trueval: Callable[..., Any], folder: Path, options: tuple[str, str]
) -> None:
    (folder / "short.trec").write_text(RUN.splitlines()[0] + "\n", encoding="utf-8")
    asked = ("-m", "nWG@1 RA-nWG@1", "--sensitivity", "--format", "json", *options)
    found = json.loads(trueval("evaluate", folder / "qrels.trec", folder / "short.trec", *asked).out)
    [run] = found["runs"]
    assert (run["measures"]["RA-nWG@1"]["expected"], run["measures"]["RA-nWG@1"]["details"]["upper"]) == (1, 1)
    assert {cell["means"]["short"]["expected"] for cell in found["sensitivity"][0]["grid"]} == {1}
    assert found["sensitivity"][0]["flips"][0]["highest_mean"] == 1
