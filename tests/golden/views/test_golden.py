"""The view of a golden set says whether it can be used; golden.json is read by its fields, the page has its files."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from tests.extras import need
from tests.golden import small

from trueval.golden.build.build import build
from trueval.golden.build.golden_plan import GoldenPlan
from trueval.golden.build.golden_result import AuditedDifference, DecidableDifference, GoldenResult
from trueval.golden.build.golden_set import GoldenSet
from trueval.golden.refine.heterogeneity import GradeSpread, Heterogeneity, QueryGrades
from trueval.golden.views.golden import view
from trueval.golden.views.kind import GOLDEN
from trueval.report.kinds import read_directory
from trueval.report.number_texts import FRACTIONS
from trueval.report.view_texts import write

need("bm25s", extra="retrieval")


@pytest.fixture(scope="module")
def golden(tmp_path_factory: pytest.TempPathFactory) -> GoldenSet:
    folder = tmp_path_factory.mktemp("golden")
    return build(GoldenPlan.read(small.written(folder, small.LABELS)), folder / "out")


def judged(result: GoldenResult, useful: int, without: int, *, unlabelled: int = 0, lost: int = 0) -> GoldenResult:
    """A result of so many queries with a useful passage, without one, without a label, and without a passage."""
    rows = [QueryGrades(f"q{at}", int(at >= unlabelled), 0, {}) for at in range(unlabelled + useful + without)]
    spread = GradeSpread(1.0, 1.0, 0.1, without)
    collection = replace(result.collection, queries=len(rows) + lost)
    return replace(result, collection=collection, heterogeneity=Heterogeneity(len(rows), {}, spread, tuple(rows)))


def answered(result: GoldenResult) -> tuple[str, str]:
    found = view(result).answer
    return write(found.sentence, FRACTIONS), found.next


def test_most_queries_must_have_a_useful_passage(golden: GoldenSet) -> None:
    result, audit = golden.result, "trueval golden audit DIR --size 200"
    again = "trueval golden build CONFIG.toml --out DIR"
    grade = "(grade 4 or 5)."
    assert answered(result) == (f"It can be used: each of 3 queries has a useful passage {grade}", audit)
    assert answered(judged(result, 5, 7)) == (
        f"It cannot be used: 7 of 12 queries have no useful passage {grade}",
        again,
    )
    some = f"It can be used: all but 6 of 12 queries have a useful passage {grade}"
    assert answered(judged(result, 6, 6)) == answered(judged(result, 6, 4, unlabelled=1, lost=1)) == (some, audit)
    nothing = replace(result, judged=0)
    assert answered(nothing) == ("It cannot be used: labels:labels.trec gave no valid label.", again)


def test_the_answer_says_what_difference_the_queries_separate(golden: GoldenSet) -> None:
    decides = DecidableDifference("nDCG@10", "dense", "sparse", 12, 0.0373, 0.1065, 0.0946, 0.95, 0.8)
    sure = write(view(replace(golden.result, decides=decides)).answer.sure, FRACTIONS)
    assert sure.startswith(
        "Its 12 queries separate runs that are 0.0946 or more apart in nDCG@10, with a chance of 80%, if these differ "
        "from query to query as its dense and sparse search do (+0.0373), and its labels are right. These are labels of"
    )
    for unknown in (None, replace(decides, sd=0.0, least=None)):
        alone = write(view(replace(golden.result, decides=unknown)).answer.sure, FRACTIONS)
        assert alone.startswith("These are labels of")


def test_after_an_audit_the_answer_says_what_the_errors_of_labels_leave(golden: GoldenSet) -> None:
    corrected = AuditedDifference("DCG@10", 240, -0.021, 0.13)
    decides = DecidableDifference("nDCG@10", "dense", "sparse", 12, 0.0373, 0.1065, 0.0946, 0.95, 0.8, corrected)
    usable = judged(replace(golden.result, decides=decides), 12, 0)
    answer = view(usable).answer
    assert write(answer.sure, FRACTIONS).endswith(
        "and its labels are right. Corrected for the errors that 240 labels of people found, it separates runs that "
        "are 0.1300 or more apart in DCG@10 (the two searches: -0.0210)."
    )
    assert answer.next == "trueval golden correct DIR RUN RUN"
    few = replace(decides, audited=AuditedDifference("DCG@10", 9, None, None, "9 labels of people are too few"))
    answer = view(replace(usable, decides=few)).answer
    assert write(answer.sure, FRACTIONS).endswith("is not known yet: 9 labels of people are too few.")
    assert answer.next == "trueval golden audit DIR"


def test_golden_json_is_read_by_its_fields(golden: GoldenSet) -> None:
    """All but the manifests of its stages, of which the result reads what it shows."""
    told, written = golden.result.to_dict(), golden.to_dict()
    stages = zip(told.pop("stages"), written.pop("stages"), strict=True)
    assert told == json.loads(json.dumps(written))
    assert list(told) == list(written)
    for shown, manifest in stages:
        assert {name: manifest.get(name) for name in ("stage", "calls", "cost", "seconds", "parameters")} == {
            name: shown[name] for name in ("stage", "calls", "cost", "seconds", "parameters")
        }


def test_the_page_has_every_label_with_its_line(golden: GoldenSet) -> None:
    need("altair", extra="report")
    directory = read_directory(golden.folder)
    assert GOLDEN.page is not None
    part = GOLDEN.page(directory.files[0], directory)
    (table,) = (table for block in part.closing for table in block.tables if table.id == "golden-labels")
    lines = [json.loads(line) for line in (golden.folder / "labels.jsonl").read_text().splitlines()]
    assert (table.file, len(table.rows)) == ("labels.jsonl", len(lines))
    for at, (row, line) in enumerate(zip(table.rows, lines, strict=True)):
        assert row.source == f"/{at}"
        assert [cell.value for cell in row.cells[:3]] == [line[name] for name in ("query", "document", "grade")]
        assert line["labels"][0]["reason"] in row.cells[6].text


def test_a_set_shows_itself(golden: GoldenSet) -> None:
    assert repr(golden).startswith("It can be used: each of 3 queries")
