"""What details.json says is what the run says, counted by hand or the slow way."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from trueval import Judgments, Run, evaluate
from trueval.errors import InputError
from trueval.evaluation.details_result import EvaluationDetails
from trueval.evaluation.scores import Scores
from trueval.evaluation.views import details
from trueval.evaluation.views.details import DOCUMENTS, add_texts, run_evidence, select_queries, to_details
from trueval.evaluation.views.queries import view
from trueval.files import read_table
from trueval.files.source.fingerprints import record_files
from trueval.report.formats import to_json
from trueval.report.json_fields import encode
from trueval.report.provenance import provenance

JUDGMENTS = Judgments.from_dict({"q1": {"a": 2, "b": 0, "c": 1}, "q2": {"d": 1}})
RUN = Run.from_dict({"q1": {"x": 9.0, "a": 2.04, "b": 2.0, "y": 1.0, "z": 1.0}, "q2": {"d": 3.0}, "q9": {"a": 1.0}})


def evidence(
    run: Run = RUN, judgments: Judgments = JUDGMENTS, measures: str = "RR@10", **policy: Any
) -> dict[str, Any]:
    """As details.json holds it."""
    found: dict[str, Any] = encode(run_evidence(run, judgments, evaluate(run, judgments, measures, **policy)))
    return found


@pytest.mark.filterwarnings("ignore::trueval.errors.TruevalWarning")
def test_the_worst_query_shows_its_tied_documents() -> None:
    found = evidence(tie_precision=0.1)
    (case,) = found["worst"]
    assert (case["query"], case["measure"]) == ("q1", "RR@10")
    assert case["range"] == pytest.approx(1 / 2 - 1 / 3)
    (group,) = case["groups"]
    assert (group["first_rank"], group["last_rank"], group["size"], group["judged"]) == (2, 3, 2, 2)
    assert group["score"] == pytest.approx(2.0)
    assert group["documents"] == [
        {"document": "a", "grade": 2.0, "score": 2.04},
        {"document": "b", "grade": 0.0, "score": 2.0},
    ]


@pytest.mark.filterwarnings("ignore::trueval.errors.TruevalWarning")
def test_without_ties_there_is_no_worst_query() -> None:
    assert evidence(measures="RR@10 P@2")["worst"] == []


@pytest.mark.parametrize("policy", [{}, {"tie_precision": "bfloat16"}, {"judged_only": True, "tie_precision": 4.0}])
def test_the_histogram_counts_what_evaluation_calls_tied(policy: dict[str, Any]) -> None:
    rng = np.random.default_rng(7)
    scores = {f"q{q}": {f"d{d}": float(rng.integers(0, 60)) for d in range(200)} for q in range(5)}
    grades = {query: {f"d{d}": int(rng.integers(0, 3)) for d in rng.permutation(200)[:40]} for query in scores}
    run, judgments = Run.from_dict(scores), Judgments.from_dict(grades)
    ties = evaluate(run, judgments, "RR@10", **policy).ties
    rows = evidence(run, judgments, **policy)["tie_groups"]
    assert sum(row["share"] for row in rows) == pytest.approx(1)
    assert sum(row["share"] for row in rows if row["from"] > 1) == pytest.approx(ties.tied_fraction)
    assert rows[-1]["from"] <= ties.largest_group <= rows[-1]["to"]
    if not policy:
        sizes = [size for documents in scores.values() for size in Counter(documents.values()).values()]
        for row in rows:
            inside = [size for size in sizes if row["from"] <= size <= row["to"]]
            assert (row["groups"], row["documents"]) == (len(inside), sum(inside))


@pytest.mark.filterwarnings("ignore::trueval.errors.TruevalWarning")
def test_groups_past_the_depth_are_not_counted() -> None:
    """x, then a and b tied to the precision; y and z are past the depth. In q2 there is d alone."""
    rows = evidence(tie_precision=0.1, depth=2)["tie_groups"]
    assert [(row["to"], row["groups"], row["documents"]) for row in rows] == [(1, 2, 2), (2, 1, 2)]


def test_large_groups_are_cut_and_say_their_size() -> None:
    documents = {f"d{index:03}": 1.0 for index in range(100)}
    found = evidence(Run.from_dict({"q": documents}), Judgments.from_dict({"q": {"d050": 1, "d001": 3}}))
    (group,) = found["worst"][0]["groups"]
    assert (group["size"], group["judged"], len(group["documents"])) == (100, 2, DOCUMENTS)
    assert [document["document"] for document in group["documents"]][:3] == ["d001", "d050", "d000"]
    assert group["documents"][2]["grade"] is None


def test_infinite_scores_can_be_written() -> None:
    run = Run.from_dict({"q": {"a": float("inf"), "b": float("inf"), "c": 0.0}})
    found = evidence(run, Judgments.from_dict({"q": {"a": 1}}))
    assert found["worst"][0]["groups"][0]["score"] == "inf"
    json.dumps(found, allow_nan=False)


@pytest.fixture
def collection(tmp_path: Path) -> Path:
    rows = [{"_id": "a", "title": "A title", "text": "x" * 1000}, {"_id": 7, "text": "seven"}]
    (tmp_path / "corpus.jsonl").write_text("\n".join(map(json.dumps, rows)) + "\n\n", encoding="utf-8")
    return tmp_path


@pytest.mark.filterwarnings("ignore::trueval.errors.TruevalWarning")
def test_texts_stand_beside_the_ids_that_have_them(collection: Path) -> None:
    (run,) = add_texts([run_evidence(RUN, JUDGMENTS, evaluate(RUN, JUDGMENTS, "RR@10", tie_precision=0.1))], collection)
    found: dict[str, Any] = encode(run)
    first, second = found["worst"][0]["groups"][0]["documents"]
    assert first["title"] == "A title"
    assert first["text"] == "x" * 300 + " …"
    assert "text" not in second
    assert "text" not in found["worst"][0]


def test_a_folder_without_a_corpus_and_a_broken_line_are_errors(collection: Path) -> None:
    with pytest.raises(InputError, match=r"corpus\.jsonl: no such file"):
        add_texts([], collection / "nothing")
    (collection / "corpus.jsonl").write_text('{"_id": "a"}\n{"text": "b"}\n', encoding="utf-8")
    with pytest.raises(InputError, match=r"corpus\.jsonl:2: not a text with an id"):
        add_texts([], collection)


def test_provenance_holds_what_identifies_the_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "qrels"
    file.write_bytes(b"abc")
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "0")
    with record_files() as seen, pytest.raises(InputError):
        read_table(str(file), "judgments")
    found = provenance([("judgments", str(file)), ("run", "-")], seen)
    assert found["written"] == "1970-01-01T00:00:00Z"
    first, second = found["files"]
    assert first["bytes"] == 3
    # FIPS 180-4, the example "abc" of SHA-256
    assert first["sha256"] == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
    assert second == {"role": "run", "path": "-", "bytes": None, "sha256": None}
    assert {"trueval", "python", "numpy", "polars"} == set(found["versions"])


def test_of_many_queries_those_that_ties_move_most_are_shown() -> None:
    """q1 and q4 tie in the second run, q4 also in the first; all others are there as far as there is room."""
    judgments = Judgments.from_dict({f"q{number}": {"a": 1} for number in range(6)})

    def scores(name: str, *tied: str) -> Scores:
        lists = {query: {"a": 1.0, "b": 1.0 if query in tied else 0.5} for query in judgments.query_ids}
        return evaluate(Run.from_dict(lists, name=name), judgments, "RR P@1")

    several = [scores("one", "q4"), scores("two", "q1", "q4")]
    for most, shown in ((100, [0, 1, 2, 3, 4, 5]), (24, [0, 1, 2, 3, 4, 5]), (15, [0, 1, 4]), (8, [1, 4]), (0, [1])):
        assert [places.tolist() for places in select_queries(several, most)] == [shown] * 2
    assert select_queries([several[1], scores("three", "q5").at(np.arange(3, 6))], 6) == [pytest.approx([1]), [2]]


def test_the_page_says_that_it_shows_some_queries(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(details, "MOST_ROWS", 1)
    run = Run.from_dict({"q1": {"a": 1.0, "c": 1.0}, "q2": {"d": 1.0}})
    scores = evaluate(run, JUDGMENTS, "RR@10")
    held = to_details([run_evidence(run, JUDGMENTS, scores)], [scores], [])
    assert [row["query"] for row in held["runs"][0]["per_query"]] == ["q1"]
    shown = view(EvaluationDetails.from_dict(json.loads(to_json(held))))
    words = shown.sections[0].words
    assert isinstance(words, str)
    assert words.endswith("Shown are the 1 of 2 queries that ties move most; queries.parquet holds all.")


@pytest.mark.filterwarnings("ignore::trueval.errors.TruevalWarning")
def test_details_are_read_as_they_were_written() -> None:
    scores = evaluate(RUN, JUDGMENTS, "RR@10", tie_precision=0.1)
    held = to_details([run_evidence(RUN, JUDGMENTS, scores)], [scores], [("run", "run.trec")])
    read = json.loads(to_json(held))
    assert list(read)[:2] == ["kind", "format"]
    found = EvaluationDetails.from_dict(read)
    assert json.loads(to_json(found.to_dict())) == read
    assert [document.document for document in found.runs[0].worst[0].groups[0].documents] == ["a", "b"]
