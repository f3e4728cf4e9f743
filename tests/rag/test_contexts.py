"""Logs of contexts, answers given a hit, and unjudged documents that get a grade."""

from __future__ import annotations

import gzip
import io
import itertools
import json
import math
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from trueval import Judgments, Run, evaluate
from trueval.errors import InputError, MeasureError, PolicyError, TruevalWarning
from trueval.rag.answer_accuracy import accuracy_given_hit, read_correctness
from trueval.rag.contexts import (
    Contexts,
    all_contexts,
    looks_like_contexts,
    read_contexts,
)
from trueval.rag.evaluate_files import evaluate_files
from trueval.rag.unjudged_passages import grade_unjudged

if TYPE_CHECKING:
    from pathlib import Path


def contexts(*lines: Any, **options: Any) -> Contexts:
    text = "\n".join(line if isinstance(line, str) else json.dumps(line) for line in lines)
    return read_contexts(io.BytesIO(text.encode()), **options)


def listed(run: Run) -> list[tuple[Any, ...]]:
    return run.frame.select("query_id", "doc_id", "score").rows()


# --- logs -------------------------------------------------------------------------------------------------------------


def test_ids_without_scores_are_a_strict_order() -> None:
    found = contexts({"query": "q", "ids": ["b", "a", 7]})
    assert listed(found.run) == [("q", "b", -1.0), ("q", "a", -2.0), ("q", "7", -3.0)]
    assert found.judgments is None
    scores = evaluate(found.run, Judgments.from_dict({"q": {"a": 5}}), "N-Recall5@1 N-Recall5@2")
    assert scores.expected.tolist() == [[0, 1]]
    assert scores.ties.tied_fraction == 0


@pytest.mark.parametrize("entry", [["a", 0.5], {"id": "a", "score": 0.5}, {"chunk_id": "a", "score": 0.5, "text": "-"}])
def test_scored_ids_keep_their_scores_and_their_ties(entry: Any) -> None:
    found = contexts({"query_id": 3, "contexts": [entry, {"id": "b", "score": 0.5}]})
    assert listed(found.run) == [("3", "a", 0.5), ("3", "b", 0.5)]
    judgments = Judgments.from_dict({"3": {"a": 5}})
    with pytest.warns(TruevalWarning, match="in the order of the log, in which the model read them"):
        scores = evaluate(found.run, judgments, "N-Recall5@1")
    assert (scores.expected[0, 0], scores.lowest[0, 0], scores.highest[0, 0]) == (0.5, 0, 1)
    assert (scores.tie_broken[0, 0], scores.policy.tie_order) == (1, "input")  # b is first by descending names
    with pytest.warns(TruevalWarning, match="in the tie order docid-desc; --tie-order input is that of the log"):
        assert evaluate(found.run, judgments, "N-Recall5@1", tie_order="docid-desc").tie_broken[0, 0] == 0


def test_files_of_logs_break_ties_in_their_own_order_unless_another_is_named(tmp_path: Path) -> None:
    """Beside a run of another kind the tie order stays that of all runs."""
    log, trec = tmp_path / "log.jsonl", tmp_path / "run.trec"
    log.write_text(json.dumps({"query": "q", "ids": [["a", 0.5], ["b", 0.5]], "gold": ["a"]}))
    trec.write_text("q Q0 a 1 0.5 x\nq Q0 b 2 0.5 x\n")

    def found(*runs: Path, **choices: Any) -> list[float]:
        scores = evaluate_files(str(log), list(map(str, runs)), "RR@10", **choices).scores
        return [float(each.tie_broken[0, 0]) for each in scores]

    assert found(log) == [1]
    assert found(log, tie_order="docid-desc") == [0.5]
    assert found(log, convention="trec_eval") == [0.5]
    assert found(log, trec) == [0.5, 0.5]
    assert all_contexts([f"mine={log}"])
    assert not all_contexts([str(tmp_path / "none.jsonl")])


def test_a_repeated_document_counts_once_where_it_is_first_and_is_named() -> None:
    found = contexts({"query": "q", "ids": ["a", "b", "a", "c", "a"]})
    assert [row[1] for row in listed(found.run)] == ["a", "b", "c"]
    assert "2 repeated documents in 1 queries are counted once, at their first place" in found.notes[0]
    judgments = Judgments.from_dict({"q": {"a": 5, "b": 1, "z": 5}})
    with pytest.warns(UserWarning, match="repeated documents"):
        scores = evaluate(found.run, judgments, "N-Recall5@3")
    assert scores.mean("N-Recall5@3").expected == 0.5


def test_a_repeated_document_is_refused_on_request() -> None:
    with pytest.raises(InputError, match=r":2: document 'b' is in query 'r' twice"):
        contexts({"query": "q", "ids": ["a"]}, {"query": "r", "ids": ["b", "c", "b"]}, duplicates="refuse")
    with pytest.raises(PolicyError, match="first, refuse"):
        contexts({"query": "q", "ids": ["a"]}, duplicates="twice")


def test_gold_sources_and_correctness_come_along() -> None:
    found = contexts(
        {"query": "q", "ids": [{"id": d, "source": "x"} for d in "ab"], "gold": ["a", "b"], "correct": True},
        {"query": "r", "ids": ["c"], "gold": {"c": 5, "d": 4}, "correct": 0.25},
    )
    assert found.correct == {"q": 1.0, "r": 0.25}
    assert found.sources == {"a": "x", "b": "x"}
    assert found.judgments is not None
    assert found.judgments.frame.rows() == [("q", "a", 1.0), ("q", "b", 1.0), ("r", "c", 5.0), ("r", "d", 4.0)]
    assert found.judgments.source_codes is not None
    assert len(set(found.judgments.source_codes.tolist())) == 3


def test_a_query_that_retrieved_nothing_has_an_empty_list_and_is_not_missing() -> None:
    found = contexts({"query": "q", "ids": ["a"], "gold": ["a"]}, {"query": "r", "ids": [], "gold": ["b"]})
    assert "1 queries retrieved nothing, the first 'r'" in found.notes[0]
    assert found.judgments is not None
    with pytest.warns(UserWarning, match="."):
        scores = evaluate(found.run, found.judgments, "AllGold@1 Harm@1", missing="error")
    assert scores.expected.tolist() == [[1, 1], [0, 0]]  # gold is grade 1, which harms on the rubric; nothing does not
    assert scores.missing_queries == ()


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("{", ":1: not JSON"),
        ("[1]", r":1: '\[1\]'. Each line must be one object"),
        ({"query": "q"}, ":1: a line must be an object with query and a list of ids"),
        ({"query": True, "ids": ["a"]}, ":1: a line must be an object"),
        ({"query": "q", "ids": [["a", 1], "b"]}, ":1: some documents have scores and some do not"),
        ({"query": "q", "ids": [["a", "x"]]}, ":1: a retrieved document must be an id"),
        ('{"query": "q", "ids": [["a", NaN]]}', ":1: the score of document 'a' in query 'q' is nan"),
        ('{"query": "q", "ids": [["a", 1e999], ["b", 1]]}', ":1: the score '1e999' is too large for a double"),
        ('{"query": "q", "ids": ["a"], "ids": ["b"]}', ":1: the key 'ids' is twice in one object"),
        ('{"query": "q", "ids": ["\\ud800"]}', ":1: a retrieved document must be an id"),
        ('{"query": "\\ud800", "ids": ["a"]}', ":1: a line must be an object with query"),
        ('{"query": "q", "ids": [{"id": "a", "source": "\\ud800"}]}', ":1: a retrieved document must be an id"),
        ('{"query": "q", "ids": ["a"], "gold": ["\\ud800"]}', ":1: gold must be a list of ids"),
        ('{"query": "q", "ids": ["a"], "gold": {"a": 1e999}}', ":1: the grade '1e999' is too large for a double"),
        ('{"query": "q", "ids": ' + "[" * 100_000, ":1: nested too deep"),
        ('{"query": "q", "ids": ["a\x01"]}', ":1: the control character U\\+0001"),
        ({"query": "q", "ids": [""]}, ":1: a retrieved document must be an id"),
        ({"query": "q", "ids": [1.5]}, ":1: a retrieved document must be an id"),
        ({"query": 1.5, "ids": ["a"]}, ":1: a line must be an object with query"),
        ({"query": "", "ids": ["a"]}, ":1: a line must be an object with query"),
        ({"query": "q", "ids": [{"id": "a", "source": 3}, {"id": "a", "source": "x"}]}, ":1: document 'a' must have"),
        ({"query": "q", "ids": [{"id": "a", "source": 3.5}]}, ":1: a retrieved document must be an id"),
        ({"query": "q", "ids": ["a"], "gold": [None]}, ":1: gold must be a list of ids"),
        ({"query": "q", "ids": ["a"], "gold": {"a": "5"}}, ":1: gold must be a list of ids"),
        ({"query": "q", "ids": ["a"], "correct": "1_0"}, ":1: correct must be true, false, or a number from 0 to 1"),
        ({"query": "q", "ids": [None]}, ":1: a retrieved document must be an id"),
        ({"query": "q", "ids": ["a"], "gold": "a"}, ":1: gold must be a list of ids"),
        ({"query": "q", "ids": ["a"], "correct": 2}, ":1: correct must be true, false, or a number from 0 to 1"),
        ({"query": "q", "ids": []}, "no query retrieved a document"),
    ],
)
def test_bad_lines_are_named(line: Any, message: str) -> None:
    with pytest.raises(InputError, match=message) as caught:
        contexts(line)
    source, _, rest = str(caught.value).partition(":")
    assert caught.value.source == source
    assert (caught.value.line == 1) == rest.startswith("1:")


def test_a_query_or_a_source_given_twice_is_an_error_with_its_line() -> None:
    with pytest.raises(InputError, match=r":2: query 'q' is there twice"):
        contexts({"query": "q", "ids": ["a"]}, {"query": "q", "ids": ["b"]})
    with pytest.raises(InputError, match=r":2: document 'a' must have one source. Got 'x' and 'y'"):
        contexts(*({"query": q, "ids": [{"id": "a", "source": s}]} for q, s in ("qx", "ry")))


def test_bytes_that_are_no_text_are_refused_with_their_line() -> None:
    line = b'{"query": "q", "ids": ["a"]}\n'
    with pytest.raises(InputError, match=":2: byte 0xff is not UTF-8"):
        read_contexts(io.BytesIO(line + b'{"query": "r", "ids": ["a\xff"]}\n'))
    with pytest.raises(InputError, match="UTF-16"):
        read_contexts(io.BytesIO(line.decode().encode("utf-16")))


def test_only_a_newline_ends_a_line() -> None:
    found = read_contexts(io.BytesIO('{"query": "q", "ids": ["a\u2028b"]}\r\n\r\n'.encode()))
    assert listed(found.run) == [("q", "a\u2028b", -1.0)]
    assert any("characters that cannot be seen" in note for note in found.notes)


def test_scores_too_small_for_a_double_count_as_zero_with_a_note() -> None:
    found = contexts('{"query": "q", "ids": [["a", 1e-400], ["b", -1]]}', '{"query": "r", "ids": [["a", -Infinity]]}')
    assert listed(found.run) == [("q", "a", 0.0), ("q", "b", -1.0), ("r", "a", -math.inf)]
    assert any(":1: 1 scores are too small for a double" in note for note in found.notes)


def test_the_source_of_a_repeated_document_is_kept_wherever_it_stands() -> None:
    assert contexts({"query": "q", "ids": ["a", {"id": "a", "source": "x"}]}).sources == {"a": "x"}


LOG = '{"query": "q", "ids": ["a"], "gold": ["a"]}\n'
ROWS = '{"query": "q", "doc_id": "a", "score": 1.0}\n'


@pytest.mark.parametrize("name", ["log.jsonl", "log.txt", "log", "log.jsonl.gz"])
def test_logs_are_told_from_runs_by_their_content(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_bytes(gzip.compress(LOG.encode()) if name.endswith(".gz") else LOG.encode())
    path = str(tmp_path / name)
    assert looks_like_contexts(path)
    assert not looks_like_contexts("-")
    run = Run.read(path)
    assert (run.name, run.source, listed(run)) == ("log", path, [("q", "a", -1.0)])
    assert Judgments.read(path).frame.rows() == [("q", "a", 1.0)]


@pytest.mark.parametrize(
    "text",
    [
        ROWS,
        '{"query": "q", "doc_id": "a", "score": 1.0, "ids": ["z"], "documents": ["z"]}\n',
        '{"q": {"a": 1.0}}',
        '{"q": [{"corpus_id": "a", "score": 1.0}]}',
        "q Q0 a 1 1.0 tag\n",
        "\ufeff" + ROWS,
    ],
)
def test_runs_stay_runs(tmp_path: Path, text: str) -> None:
    path = tmp_path / "run.jsonl"
    path.write_text(text, encoding="utf-8")
    run = Run.read(str(path), name="mine")
    assert not looks_like_contexts(str(path))
    assert (run.name, run.source, listed(run)) == ("mine", str(path), [("q", "a", 1.0)])


def test_a_file_that_is_no_log_is_read_as_if_nothing_had_looked_at_it(tmp_path: Path) -> None:
    """Two byte order marks: one is left out, the other is refused, however often the bytes are handed on."""
    path = tmp_path / "run.trec"
    path.write_bytes(b"\xef\xbb\xbf" * 2 + b"q Q0 a 1 1.0 tag\n")
    with pytest.raises(InputError, match=":1: a byte order mark"):
        Run.read(str(path))


def test_a_log_without_gold_is_no_judgments() -> None:
    with pytest.raises(InputError, match="no line names gold documents"):
        Judgments.read(io.BytesIO(b'{"query": "q", "ids": ["a"]}'))


# --- answers ----------------------------------------------------------------------------------------------------------


def test_accuracy_given_a_hit_by_hand() -> None:
    """Hits of q1 (right) and q2 (wrong); q3 misses; q4 hits in half of its orders and is right: 1.5 of 2.5."""
    run = Run.from_dict({"q1": {"a": 1.0}, "q2": {"a": 1.0}, "q3": {"b": 1.0}, "q4": {"a": 1.0, "b": 1.0}})
    judgments = Judgments.from_dict({q: {"a": 1} for q in ("q1", "q2", "q3", "q4")})
    scores = evaluate(run, judgments, "AllGold@1")
    found = accuracy_given_hit(scores, "AllGold@1", {"q1": 1, "q2": 0, "q3": 1, "q4": 1})
    assert found.expected == pytest.approx(1.5 / 2.5)
    assert (found.lowest, found.highest) == (1 / 2, 2 / 3)
    assert (found.tie_broken, found.hits, found.queries, found.unanswered) == (1 / 2, 2.5, 4, 0)
    assert accuracy_given_hit(scores, "AllGold@1", {"q1": 1}).unanswered == 3


def test_the_extremes_are_those_of_all_combinations_of_hits() -> None:
    rng = np.random.default_rng(0)
    for _ in range(60):
        count = int(rng.integers(1, 7))
        kind = rng.choice(["hit", "miss", "open"], count)
        value = rng.choice([0, 0.25, 0.5, 1], count)
        lists = {"hit": {"g": 1.0}, "miss": {"x": 1.0}, "open": {"g": 1.0, "x": 1.0}}
        run = Run.from_dict({f"q{i}": lists[k] for i, k in enumerate(kind)})
        judgments = Judgments.from_dict({f"q{i}": {"g": 1, "x": 0} for i in range(count)})
        scores = evaluate(run, judgments, "AllGold@1")
        found = accuracy_given_hit(scores, "AllGold@1", {f"q{i}": float(v) for i, v in enumerate(value)})
        ratios = [
            sum(h * v for h, v in zip(hits, value, strict=True)) / sum(hits)
            for hits in itertools.product(*[{"hit": [1], "miss": [0], "open": [0, 1]}[k] for k in kind])
            if sum(hits)
        ]
        if not ratios:
            assert math.isnan(found.expected)
            assert math.isnan(found.lowest)
            continue
        assert found.lowest == pytest.approx(min(ratios))
        assert found.highest == pytest.approx(max(ratios))


def test_accuracy_given_a_hit_needs_all_gold() -> None:
    scores = evaluate(Run.from_dict({"q": {"a": 1.0}}), Judgments.from_dict({"q": {"a": 1}}), "R@1")
    with pytest.raises(MeasureError, match="needs AllGold"):
        accuracy_given_hit(scores, "R@1", {})


@pytest.mark.parametrize(
    "text",
    [
        '{"query": "q1", "correct": true}\n{"query": "q2", "correct": 0.5}\n',
        "query,correct\nq1,1\nq2,.5\n",
        "q1\ttrue\nq2\t0.5\n",
        "q1 1\n\nq2  \t.5\r\n",
        '"q1", 1\n"q2",".5"\n',
        "qid accuracy\nq1 1.0\nq2 5e-1",
        '\ufeff{"qid": "q1", "accuracy": "true"}\n{"qid": "q2", "correct": "0.5"}',
    ],
)
def test_correctness_is_read_from_lines_of_json_or_two_columns(text: str) -> None:
    assert read_correctness(io.BytesIO(text.encode())) == {"q1": 1.0, "q2": 0.5}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("q1,1\nq1,0\n", ":2: query 'q1' is there twice"),
        ("q1,2\n", ":1: correct must be"),
        ("q1,nan\n", ":1: correct must be"),
        ("q1,1,0\n", ":1: not two fields. A line must hold a query and a number from 0 to 1, separated by"),
        ("q1 1\nq 2 1\n", ":2: not two fields"),
        ("q1;1\n", "separated by a tab, a comma or spaces"),
        ("q1,1\n,1\n", ":2: not two fields"),
        ('q1,1\n"q2,1\n', ":2: quotes must surround a whole field"),
        ('q1,1\nq"2,1\n', ":2: quotes must surround a whole field"),
        ("q1,1_0\n", ":1: correct must be"),
        ("q1,\u0661\n", ":1: correct must be"),
        ("q1,1\nq2,\x00\n", ":2: a NUL byte"),
        ("q1,1\rq2,1\nq3,1", ":1: a carriage return without a newline"),
        ('{"query": "q1", "correct": null}\n', ":1: a line must be an object with query_id and correct"),
        ('{"query": "q1", "correct": 1, "correct": 0}\n', ":1: the key 'correct' is twice"),
        ('{"query": "q1", "correct": [1]}\n', ":1: correct must be"),
        ('{"query": "\\ud800", "correct": 1}\n', ":1: a line must be an object with query_id and correct"),
        ('{"query": "q1"}\n', ":1: a line must be an object with query_id and correct"),
        ('{"query": "q1", \n', ":1: not JSON"),
    ],
)
def test_bad_correctness_is_named_with_its_line(text: str, message: str) -> None:
    with pytest.raises(InputError, match=message) as caught:
        read_correctness(io.BytesIO(text.encode()))
    assert f":{caught.value.line}: " in str(caught.value)


def test_correctness_that_is_no_text_is_refused_with_its_line() -> None:
    for text in (b"q1,1\nq\xff,1\n", b'{"query": "q1", "correct": 1}\n{"query": "\xff", "correct": 1}\n'):
        with pytest.raises(InputError, match=":2: byte 0xff is not UTF-8"):
            read_correctness(io.BytesIO(text))


# --- unjudged ---------------------------------------------------------------------------------------------------------


def test_unjudged_documents_of_the_run_get_the_grade_and_no_others() -> None:
    judgments = Judgments.from_dict({"q": {"a": 5, "b": -1, "c": -1}, "r": {"a": 4}})
    run = Run.from_dict({"q": {"x": 3.0, "a": 2.0, "b": 1.0}, "s": {"a": 1.0}})
    filled = grade_unjudged(judgments, run, 1)
    assert filled.frame.rows() == [("q", "a", 5), ("q", "c", -1), ("q", "x", 1), ("q", "b", 1), ("r", "a", 4)]
    assert filled.offsets.tolist() == [0, 4, 5]
    assert filled.query_ids.to_list() == ["q", "r"]


def test_grade_1_moves_harm_and_judged_but_no_weight_and_no_norm() -> None:
    judgments = Judgments.from_dict({"q": {"a": 5, "b": 4, "c": 3, "d": 4}})
    run = Run.from_dict({"q": {"a": 4.0, "x": 3.0, "b": 2.0, "y": 1.0}})
    filled = grade_unjudged(judgments, run, 1)
    unmoved = "RA-nWG@3 nWG@3 N-Recall4+@3 N-Recall5@3 P4+@3"
    assert evaluate(run, judgments, unmoved).expected.tolist() == evaluate(run, filled, unmoved).expected.tolist()
    before, after = (evaluate(run, j, "Harm@4 Judged@4").expected[0].tolist() for j in (judgments, filled))
    assert (before, after) == ([0, 0.5], [0.5, 1])


@pytest.mark.parametrize("grade", [-1, math.inf, math.nan])
def test_a_grade_of_unjudged_documents_is_at_least_zero(grade: float) -> None:
    with pytest.raises(PolicyError, match="unjudged must be a grade of at least 0"):
        grade_unjudged(Judgments.from_dict({"q": {"a": 1}}), Run.from_dict({"q": {"a": 1.0}}), grade)
