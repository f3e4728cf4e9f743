"""What is wrong in a file of labels is refused with its line, or left out where that is chosen, and counted."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from trueval.errors import InputError, PolicyError
from trueval.golden.validation.label_files import LabelChoices, read_labels, scale_of
from trueval.judgments import Judgments

LINES = ["q1 0 a 3", "q1 0 b 1", "q2 0 a 0", "q1 0 a 2", "q2 0 c 10", "q2 0 d -1"]
SCALE = (0.0, 3.0)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "judge.qrels.gz"
    path.write_bytes(gzip.compress("\n".join(LINES).encode()))
    return path


def test_a_pair_that_is_there_twice_is_refused_with_both_lines(file: Path) -> None:
    with pytest.raises(InputError, match=r"judge.qrels.gz:4: document 'a' is in query 'q1' twice \(first on line 1\)"):
        read_labels(file, "judge", LabelChoices(outside="drop"), SCALE)


def test_a_grade_outside_the_scale_is_refused_with_its_line_even_after_lines_that_were_left_out(file: Path) -> None:
    for how in ("first", "last", "drop"):
        with pytest.raises(InputError, match=r":5: the grade 10 of document 'c' in query 'q2' is outside the scale, 0"):
            read_labels(file, "judge", LabelChoices(duplicates=how), SCALE)


@pytest.mark.parametrize(("how", "kept", "left"), [("first", 3.0, 1), ("last", 2.0, 1), ("drop", None, 2)])
def test_what_is_left_out_is_chosen_and_counted(file: Path, how: str, kept: float | None, left: int) -> None:
    found = read_labels(file, "judge", LabelChoices(how, "drop"), SCALE)  # type: ignore[arg-type]
    of = {(query, document): grade for query, document, grade in found.frame.iter_rows()}
    assert of.get(("q1", "a")) == kept
    assert (found.duplicates, found.outside, found.unjudged) == (left, 1, 1)
    assert {**of, ("q1", "a"): 0} == {("q1", "a"): 0, ("q1", "b"): 1.0, ("q2", "a"): 0.0}


def test_without_a_scale_every_grade_from_0_up_is_taken(file: Path) -> None:
    found = read_labels(file, "people", LabelChoices("first"), None)
    assert sorted(found.frame["grade"].to_list()) == [0.0, 1.0, 3.0, 10.0]


def test_the_scale_of_labels_is_from_their_least_to_their_greatest_grade(tmp_path: Path) -> None:
    (tmp_path / "people.qrels").write_text("q 0 a 2\nq 0 b 5\nq 0 c 3\n")
    assert scale_of(read_labels(tmp_path / "people.qrels", "people", LabelChoices(), None).frame) == (2.0, 5.0)


def test_a_choice_that_is_none_and_a_file_without_labels_are_refused(tmp_path: Path) -> None:
    with pytest.raises(PolicyError, match=r"duplicates must be one of refuse, first, last, drop. Got 'mean'"):
        LabelChoices("mean").validate()  # type: ignore[arg-type]
    (tmp_path / "none.qrels").write_text("q 0 d -1\n")
    with pytest.raises(InputError, match="no labels are left"):
        read_labels(tmp_path / "none.qrels", "people", LabelChoices(), None)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("four.qrels", "q1 0 a 3\nq1 0 b 1\nq2 0 a 2\n"),
        ("three.qrels", "q1 a 3\nq1 b 1\nq2 a 2\n"),
        ("beir.tsv", "query-id\tcorpus-id\tscore\nq1\ta\t3\nq1\tb\t1\nq2\ta\t2\n"),
        ("frame.csv", "query_id,doc_id,grade\nq1,a,3\nq1,b,1\nq2,a,2\n"),
        ("dict.json", '{"q1": {"a": 3, "b": 1}, "q2": {"a": 2}}'),
    ],
)
def test_labels_are_read_as_judgments_are_everywhere_else(tmp_path: Path, name: str, text: str) -> None:
    """Three columns are query, document and grade, here as in evaluate."""
    (tmp_path / name).write_text(text)
    found = read_labels(tmp_path / name, "judge", LabelChoices(), SCALE).frame
    assert found.sort("query_id", "doc_id").rows() == [("q1", "a", 3.0), ("q1", "b", 1.0), ("q2", "a", 2.0)]
    assert found.rows() == Judgments.read(tmp_path / name).frame.select(found.columns).rows()


@pytest.mark.parametrize(
    "text",
    [
        "q1 0 a 3\nq1 b 1\n",  # a column is lost
        "q1 0 3\nq1 0 1\n",  # the document is lost: '0' twice
        "q1 a x\n",
        "".join(f"q{query} d{rank} {rank}\n" for query in range(4) for rank in range(1, 9)),  # ranks of a run
    ],
)
def test_what_is_no_judgments_is_refused_in_the_same_words(tmp_path: Path, text: str) -> None:
    file = tmp_path / "x.qrels"
    file.write_text(text)
    with pytest.raises(InputError) as usual:
        Judgments.read(file)
    with pytest.raises(InputError) as here:
        read_labels(file, "judge", LabelChoices(), None)
    assert str(here.value) == str(usual.value)
    assert "x.qrels" in str(here.value)
