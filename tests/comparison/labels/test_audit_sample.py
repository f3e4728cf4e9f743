"""Audits as files: what is read of them, and where they are wrong."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from trueval.comparison.labels.audit_sample import AuditSample
from trueval.comparison.labels.label_source import people_only
from trueval.errors import InputError
from trueval.judgments import Judgments

SAMPLE: dict[str, Any] = {
    "kind": "audit",
    "format": 1,
    "design": "documents",
    "seed": 1,
    "scale": [1, 5],
    "strata": [{"name": "low", "population": 7, "sampled": 2}, {"name": "high", "population": 3, "sampled": 1}],
}
ITEMS = [
    {"item": "i1", "task": "grade", "query": "q1", "document": "a", "stratum": "low"},
    {"item": "i2", "task": "grade", "query": "q1", "document": "b", "stratum": "high"},
    {"item": "i3", "task": "grade", "query": "q2", "document": "é", "stratum": "low"},
    {"item": "o1", "task": "order", "query": "q1", "documents": ["a", "b"], "stratum": "order"},
]
PEOPLE = [
    {"item": "i1", "task": "grade", "query": "q1", "document": "a", "stratum": "low", "grade": 4, "skipped": []},
    {"item": "i3", "task": "grade", "query": "q2", "document": "é", "stratum": "low", "grade": None, "skipped": ["x"]},
    {"item": "o1", "task": "order", "query": "q1", "documents": ["a", "b"], "grade": -1},
]


def write(folder: Path, sample: Any = SAMPLE, items: list[Any] = ITEMS, people: list[Any] | None = PEOPLE) -> Path:
    (folder / "sample.json").write_text(sample if isinstance(sample, str) else json.dumps(sample))
    for name, rows in (("items.jsonl", items), ("people.jsonl", people)):
        if rows is not None:
            lines = [row if isinstance(row, str) else json.dumps(row) for row in rows]
            (folder / name).write_text("".join(line + "\n" for line in lines), encoding="utf-8")
    return folder


def test_what_people_graded_is_read_with_its_design(tmp_path: Path) -> None:
    found = AuditSample.read(write(tmp_path))
    assert (found.design, found.scale, dict(found.population)) == ("documents", (1.0, 5.0), {"low": 7, "high": 3})
    assert found.items.rows() == [("q1", "a", "low"), ("q1", "b", "high"), ("q2", "é", "low")]
    assert found.labels.rows() == [("q1", "a", 4.0)]
    assert found.skipped == {("q2", "é")}
    assert repr(found) == "<Audited: design documents, 1 of 3 passages graded>"


def test_an_audit_that_nobody_answered_has_no_labels(tmp_path: Path) -> None:
    found = AuditSample.read(str(write(tmp_path, people=None)))
    assert len(found.labels) == 0
    assert found.labels.columns == ["query_id", "doc_id", "grade"]


def test_peoples_grades_take_the_place_of_the_judges_and_leave_the_rest(tmp_path: Path) -> None:
    judge = Judgments.from_dict({"q2": {"z": 1, "é": 2}, "q1": {"b": 3, "a": 1}}).with_sources({"a": "s", "z": "s"})
    over = AuditSample.read(write(tmp_path)).over(judge)
    assert over.frame.rows() == [("q2", "z", 1.0), ("q2", "é", 2.0), ("q1", "b", 3.0), ("q1", "a", 4.0)]
    assert over.source_codes is judge.source_codes
    assert judge.frame["grade"].to_list() == [1.0, 2.0, 3.0, 1.0]


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"sample": "{"}, r"sample\.json: not JSON: .*Put the file back"),
        ({"sample": []}, r'sample\.json: not an audit: "kind" must be "audit"'),
        ({"sample": {**SAMPLE, "kind": "evaluate"}}, r'sample\.json: not an audit: "kind" must be "audit"'),
        ({"sample": {**SAMPLE, "format": 2}}, r"sample\.json: format must be 1\. Got 2"),
        ({"sample": {**SAMPLE, "scale": [5, 1]}}, r"sample\.json: damaged"),
        ({"sample": {**SAMPLE, "scale": 5}}, r"sample\.json: damaged"),
        ({"sample": {**SAMPLE, "strata": [{"name": "low"}]}}, r"sample\.json: damaged \('population'\)"),
        ({"sample": {**SAMPLE, "strata": [{"name": "low", "population": 0}]}}, r"sample\.json: damaged"),
        (
            {"sample": {**SAMPLE, "design": "both"}},
            r"the design must be one of queries, documents, poisson\. Got 'both'",
        ),
        ({"items": [ITEMS[0], ITEMS[0]]}, r"items\.jsonl:2: document 'a' of query 'q1' appears twice"),
        ({"items": [{**ITEMS[0], "stratum": "odd"}]}, r"items\.jsonl:1: the stratum 'odd' is not in sample\.json"),
        ({"items": [ITEMS[0], {**ITEMS[1], "document": None}]}, r'items\.jsonl:2: "query" and "document" must be ids'),
        ({"items": ["[]"]}, r"items\.jsonl:1: "),
        ({"people": [PEOPLE[0], "{"]}, r"people\.jsonl:2: not JSON"),
        ({"people": [PEOPLE[1], PEOPLE[0], PEOPLE[0]]}, r"people\.jsonl:3: document 'a' of query 'q1' appears twice"),
        ({"people": [{**PEOPLE[0], "document": "z"}]}, r"people\.jsonl:1: document 'z' of query 'q1' is not in items"),
        ({"people": [{**PEOPLE[0], "grade": 6}]}, r"people\.jsonl:1: the grade is 6\. It must be a number from 1 to 5"),
        ({"people": [{**PEOPLE[0], "grade": "x"}]}, r"people\.jsonl:1: the grade is x\."),
        ({"people": [{**PEOPLE[0], "grade": [4]}]}, r"people\.jsonl:1: the grade is "),
    ],
)
def test_files_that_are_wrong_are_refused_with_file_and_line(
    tmp_path: Path, changed: dict[str, Any], message: str
) -> None:
    with pytest.raises(InputError, match=message):
        AuditSample.read(write(tmp_path, **changed))


def test_a_folder_that_is_no_audit_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"sample\.json: cannot be read .*trueval golden audit"):
        AuditSample.read(tmp_path)
    write(tmp_path)
    (tmp_path / "items.jsonl").unlink()
    with pytest.raises(InputError, match=r"items\.jsonl: cannot be read"):
        AuditSample.read(tmp_path)


def test_in_memory_too_labels_must_be_of_the_sample_and_on_its_scale() -> None:
    items = pl.DataFrame({"query_id": ["q", "q"], "doc_id": ["a", "b"], "stratum": ["s", "s"]})
    said = items.select("query_id", "doc_id", grade=pl.Series([1.0, 2.0]))
    with pytest.raises(InputError, match=r"the grade of document 'b' in query 'q' is 2\. It must be from 0 to 1"):
        AuditSample("documents", items, said, {"s": 4}, (0.0, 1.0))
    with pytest.raises(InputError, match=r"a label is of a passage that is not in the sample"):
        AuditSample("documents", items.head(1), said, {"s": 4}, (0.0, 3.0))
    with pytest.raises(InputError, match=r"a passage is there twice"):
        AuditSample("documents", pl.concat([items, items]), said, {"s": 4}, (0.0, 3.0))
    with pytest.raises(InputError, match=r"stratum 's' has 2 passages in the sample and a population of 1"):
        AuditSample("documents", items, said, {"s": 1}, (0.0, 3.0))
    with pytest.raises(InputError, match=r"stratum 'queries' has 1 queries in the sample and a population of 0"):
        AuditSample("queries", items, said, {"s": 1}, (0.0, 3.0))


@pytest.mark.parametrize(
    ("skipped", "words"), [("b", "1 passage that they skipped keeps"), ("bc", "2 passages that they skipped keep")]
)
def test_skipped_passages_of_whole_queries_are_counted(skipped: str, words: str) -> None:
    items = pl.DataFrame({"query_id": ["q"] * 3, "doc_id": ["a", "b", "c"], "stratum": ["queries"] * 3})
    said = [("q", document, 1.0) for document in "abc" if document not in skipped]
    labels = pl.DataFrame(said, schema=["query_id", "doc_id", "grade"], orient="row")
    audited = AuditSample(
        "queries", items, labels, {"queries": 2}, (0.0, 1.0), frozenset(("q", each) for each in skipped)
    )
    judgments = Judgments.from_dict({"q": {"a": 0, "b": 1, "c": 0}, "r": {"a": 1}})
    assert f"; {words} the judge's grade." in " ".join(people_only(judgments, audited).notes)
