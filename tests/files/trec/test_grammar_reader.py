"""TREC text: every spelling a good file has, every fault with its true line, and round trips of generated text."""

from __future__ import annotations

import gzip
import io
import math
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.examples import examples

from trueval.errors import InputError
from trueval.files import read_table
from trueval.judgments import Judgments
from trueval.run import Run

ROWS = [("q1", "d1", 2.5), ("q1", "d2", 1.5), ("q2", "d1", 0.5)]
PLAIN = b"q1 Q0 d1 1 2.5 tag\nq1 Q0 d2 2 1.5 tag\nq2 Q0 d1 1 0.5 tag\n"
GOOD_RUNS = {
    "plain": PLAIN,
    "no newline at the end": PLAIN[:-1],
    "tabs": PLAIN.replace(b" ", b"\t"),
    "tabs and spaces": PLAIN.replace(b" d1", b"\t  d1"),
    "two spaces": PLAIN.replace(b" ", b"  "),
    "leading spaces in a field": PLAIN.replace(b" 2.5", b"   2.5"),
    "leading spaces on a line": b"  " + PLAIN.replace(b"\n", b"\n \t"),
    "trailing spaces": PLAIN.replace(b"\n", b"  \n"),
    "empty lines": b"\n\n" + PLAIN.replace(b"\n", b"\n\n \t \n"),
    "Windows line ends": PLAIN.replace(b"\n", b"\r\n"),
    "old Macintosh line ends": PLAIN.replace(b"\n", b"\r"),
    "byte order mark": b"\xef\xbb\xbf" + PLAIN,
    "byte order mark and comment": b"\xef\xbb\xbf# note\n" + PLAIN,
    "comments": b"# run of today\n" + PLAIN.replace(b"\n", b"\n  # between\n"),
    "a comment that looks like a row": PLAIN + b"# Q0 d9 3 0.1 tag\n#q3 Q0 d9 3 0.1 tag\n",
    "text after the tag": PLAIN.replace(b"tag\nq1", b"tag more junk at\nq1"),
    "text after the tag of the first line": PLAIN.replace(b"tag", b"tag a b c d", 1),
    "no tag": PLAIN.replace(b" tag", b""),
    "no tag on a later line": PLAIN.replace(b"0.5 tag", b"0.5"),
    "plus signs and exponents": PLAIN.replace(b"2.5", b"+25e-1"),
    "vertical tab and form feed": PLAIN.replace(b" 1 ", b"\v1\f"),
    "quotes in the tag": PLAIN.replace(b"tag", b'"tag'),
    "gzip under any name": gzip.compress(PLAIN),
    "two gzip members": gzip.compress(PLAIN[:20]) + gzip.compress(PLAIN[20:]),
}  # fmt: skip


@pytest.mark.parametrize("data", GOOD_RUNS.values(), ids=GOOD_RUNS)
def test_good_runs_give_the_same_rows(data: bytes) -> None:
    run = Run.read(io.BytesIO(data))
    assert run.frame.select("query_id", "doc_id", "score").rows() == ROWS
    assert run.frame["rank"].to_list() == [1, 2, 1]
    assert run.offsets.tolist() == [0, 2, 3]
    assert run.query_ids.to_list() == ["q1", "q2"]
    assert run.notes == ()


# Each fault is in a text of three rows on lines 1, 4 and 6: the line in the error must be that of the source.
SKELETON = b"q1 Q0 d1 1 2.5 tag\n\n# note\n%s\n\nq2 Q0 d1 1 0.5 tag\n"
FAULTS = {
    "NaN": (b"q1 Q0 d2 2 nan tag", 4, "nan"),
    "negative NaN": (b"q1 Q0 d2 2 -NaN tag", 4, "nan"),
    "word": (b"q1 Q0 d2 2 high tag", 4, "'high'"),
    "underscore": (b"q1 Q0 d2 2 1_000 tag", 4, "'1_000'"),
    "hexadecimal": (b"q1 Q0 d2 2 0x1p3 tag", 4, "'0x1p3'"),
    "decimal comma": (b"q1 Q0 d2 2 1,5 tag", 4, "'1,5'"),
    "Arabic digits": ("q1 Q0 d2 2 ٣ tag".encode(), 4, "'٣'"),
    "missing fields": (b"q1 Q0 d2", 4, "3 fields"),
    "duplicate": (b"q1 Q0 d1 2 1.5 tag", 4, "twice"),
    "identical duplicate": (b"q1 Q0 d1 1 2.5 tag", 4, "twice"),
    "duplicate in a query that comes again": (b"q3 Q0 d1 1 2.5 tag\nq2 Q0 d7 1 1 t\nq1 Q0 d1 3 4 t", 6, "twice"),
    "NUL byte": (b"q1 Q0 d\x002 2 1.5 tag", 4, "NUL"),
    "Latin-1": (b"q1 Q0 d\xe9 2 1.5 tag", 4, "0xe9"),
}


@pytest.mark.parametrize("ends", [b"\n", b"\r\n"], ids=["unix", "windows"])
@pytest.mark.parametrize("packed", [False, True], ids=["plain", "gzip"])
@pytest.mark.parametrize(("row", "line", "got"), FAULTS.values(), ids=FAULTS)
def test_faults_are_reported_with_file_line_and_value(
    tmp_path: Path, row: bytes, line: int, got: str, packed: bool, ends: bytes
) -> None:
    path = tmp_path / "bad.run"
    data = (SKELETON % row).replace(b"\n", ends)
    path.write_bytes(gzip.compress(data) if packed else data)
    with pytest.raises(InputError) as caught:
        Run.read(path)
    assert str(caught.value).startswith(f"{path}:{line}: ")
    assert got in str(caught.value)


@pytest.mark.parametrize(("row", "line", "got"), FAULTS.values(), ids=FAULTS)
def test_faults_in_regular_text_are_reported_too(row: bytes, line: int, got: str) -> None:
    before = b"".join(b"q0 Q0 d%d 1 2.5 tag\n" % i for i in range(4))
    text = b"q1 Q0 d1 1 2.5 tag\n%sq2 Q0 d1 1 0.5 tag\n" % (before[: 19 * (line - 3)] + row + b"\n")
    with pytest.raises(InputError, match=rf"^<file object>:{2 + (line - 3) + row.count(10)}: ") as caught:
        Run.read(io.BytesIO(text))
    assert got in str(caught.value)


def test_a_late_fault_is_found_behind_many_good_rows() -> None:
    rows = [f"q{i // 1000} Q0 d{i} {i % 1000} {-i} tag" for i in range(50_000)]
    rows[44_321] = rows[44_321].replace("-44321", "1e")
    with pytest.raises(InputError, match=r":44322: the score '1e' of document 'd44321'"):
        Run.read(io.StringIO("\n".join(rows)))


def test_infinite_and_negative_scores_are_ordinary() -> None:
    run = Run.read(io.BytesIO(b"q Q0 a 1 inf t\nq Q0 b 2 -3 t\nq Q0 c 3 -Infinity t\nq Q0 d 4 -inf t\n"))
    assert run.frame["score"].to_list() == [math.inf, -3.0, -math.inf, -math.inf]


@given(st.lists(st.floats(allow_nan=False), min_size=1, max_size=50))
@examples(200)
def test_scores_are_read_as_python_reads_them(scores: list[float]) -> None:
    text = "".join(f"q Q0 d{i} 1 {score!r} t\n" for i, score in enumerate(scores))
    assert Run.read(io.StringIO(text)).frame["score"].to_list() == scores


@pytest.mark.slow
@given(st.from_regex(r"\A-?[0-9]{1,25}\.[0-9]{0,25}(e-?[0-9]{1,2})?\Z"))
@examples(300)
def test_long_decimals_are_rounded_correctly(text: str) -> None:
    assert Run.read(io.StringIO(f"q Q0 d 1 {text} t\n")).frame["score"].item() == float(text)


def test_ids_are_strings_and_keep_their_zeros_and_hashes() -> None:
    run = Run.read(io.BytesIO(b'007 Q0 doc#1 1 2 t\n7 Q0 0012 1 2 t\n7 Q0 12 1 1 t\n7 Q0 "q 1 0 t\n'))
    assert run.frame.select("query_id", "doc_id").rows() == [("007", "doc#1"), ("7", "0012"), ("7", "12"), ("7", '"q')]


def test_words_that_other_parsers_take_for_missing_stay_ids() -> None:
    run = Run.read(io.BytesIO(b"NA Q0 null 1 2 t\nNA Q0 NaN 1 2 t\nNA Q0 None 1 2 t\n"))
    assert run.frame["doc_id"].to_list() == ["null", "NaN", "None"]


def test_rows_of_a_query_are_brought_together_in_order_of_first_appearance() -> None:
    run = Run.read(io.BytesIO(b"b Q0 1 1 9 t\na Q0 1 1 9 t\nb Q0 0 2 8 t\na Q0 7 2 8 t\nc Q0 1 1 1 t\n"))
    assert run.query_ids.to_list() == ["b", "a", "c"]
    assert run.frame["doc_id"].to_list() == ["1", "0", "1", "7", "1"]
    assert run.offsets.tolist() == [0, 2, 4, 5]


def test_ranks_that_are_no_integers_are_left_out_with_a_note() -> None:
    run = Run.read(io.BytesIO(b"q Q0 a 1 2 t\nq Q0 b - 1 t\n"))
    assert run.frame.columns == ["query_id", "doc_id", "score"]
    assert run.notes == ("<file object>:2: a rank is not an integer, so the rank column is not used",)


def test_ranks_that_contradict_scores_are_noted_with_the_true_line() -> None:
    run = Run.read(io.BytesIO(b"# distances\nq Q0 a 1 0.1 t\n\nq Q0 b 2 0.4 t\nq Q0 c 3 0.9 t\n"))
    assert len(run.notes) == 1
    assert run.notes[0].startswith(
        "<file object>:4: ranks contradict scores in 2 of 2 neighbors; in query 'q' rank 1 has"
    )
    assert "a distance sorted upward?" in run.notes[0]


def test_ranks_in_another_order_than_the_lines_are_compared_by_rank() -> None:
    assert Run.read(io.BytesIO(b"q Q0 b 2 1 t\nq Q0 a 1 2 t\nq Q0 c 3 0 t\n")).notes == ()
    notes = Run.read(io.BytesIO(b"q Q0 b 2 5 t\nq Q0 a 1 2 t\nq Q0 c 3 0 t\n")).notes
    assert notes[0].startswith("<file object>:1: ranks contradict scores in 1 of 2 neighbors")
    assert "the scores decide" in notes[0]


def test_equal_ranks_and_tied_scores_are_no_contradiction() -> None:
    assert Run.read(io.BytesIO(b"q Q0 a 0 1 t\nq Q0 b 0 2 t\n")).notes == ()
    assert Run.read(io.BytesIO(b"q Q0 a 1 1 t\nq Q0 b 2 1 t\nr Q0 b 1 7 t\n")).notes == ()


def test_ms_marco_runs_score_by_minus_rank() -> None:
    run = Run.read(io.BytesIO(b"1\t70\t1\n1\t80\t2\n2\t70\t1\n"))
    assert run.frame.rows() == [("1", "70", -1.0, 1), ("1", "80", -2.0, 2), ("2", "70", -1.0, 1)]


def test_three_columns_with_fractions_are_scores_and_say_so() -> None:
    run = Run.read(io.BytesIO(b"1 70 12.5\n1 80 2\n"))
    assert run.frame["score"].to_list() == [12.5, 2.0]
    assert "read as query document score" in run.notes[0]


@pytest.mark.parametrize("text", [b"1 70 136\n1 80 120\n", b"1 70 1\n1 80 1\n"])
def test_three_columns_of_integers_that_are_no_ranks_are_refused(text: bytes) -> None:
    with pytest.raises(InputError, match="add the header line: query_id doc_id score"):
        Run.read(io.BytesIO(text))


def test_a_qrels_file_given_as_a_run_is_named() -> None:
    with pytest.raises(InputError, match="looks like judgments"):
        Run.read(io.BytesIO(b"q1 0 d1 1\n"))


def test_a_run_given_as_judgments_is_named() -> None:
    with pytest.raises(InputError, match="looks like a run"):
        Judgments.read(io.BytesIO(PLAIN))


def test_a_run_of_ranks_given_as_judgments_is_named() -> None:
    text = "".join(f"q{q}\td{d}\t{d}\n" for q in range(3) for d in range(1, 21))
    with pytest.raises(InputError, match="looks like a run"):
        Judgments.read(io.StringIO(text))


GRADES = [("q1", "d1", 1.0), ("q1", "d2", 0.0), ("q2", "d1", -2.0), ("q2", "d#2", 0.5)]
QRELS = b"q1 0 d1 1\nq1 0 d2 0\nq2 0 d1 -2\nq2 0 d#2 0.5\n"
GOOD_QRELS = {
    "plain": QRELS,
    "tabs": QRELS.replace(b" ", b"\t"),
    "tabs and spaces": QRELS.replace(b" d", b"\t\t d"),
    "Windows line ends": QRELS.replace(b"\n", b"\r\n"),
    "trailing spaces": QRELS.replace(b"\n", b" \n"),
    "comments and empty lines": b"# c\n" + QRELS.replace(b"\n", b"\n# d 0 e 1\n\n"),
    "three columns": QRELS.replace(b" 0 d", b" d"),
}


@pytest.mark.parametrize("data", GOOD_QRELS.values(), ids=GOOD_QRELS)
def test_good_judgments_give_the_same_rows(data: bytes) -> None:
    assert Judgments.read(io.BytesIO(data)).frame.rows() == GRADES


@pytest.mark.parametrize(
    ("row", "got"),
    [
        (b"q1 0 d3 yes", "'yes'"),
        (b"q1 0 d3 nan", "nan"),
        (b"q1 0 d3 inf", "inf"),
        (b"q1 0 d3", "3 fields"),
        (b"q1 0 d3 1 2", "5 fields"),
        (b"q1 0 d1 0", "twice"),
        (b"q1 0 d1 1", "twice"),
    ],
)  # fmt: skip
def test_faults_in_judgments_have_their_line(row: bytes, got: str) -> None:
    for head, line in ((b"q1 0 d1 1\n", 2), (b"# c\n\n q1\t0 d1 1\n\n", 5)):
        with pytest.raises(InputError, match=rf"^<file object>:{line}: ") as caught:
            Judgments.read(io.BytesIO(head + row + b"\nq9 0 d1 1\n"))
        assert got in str(caught.value)


def test_facets_are_kept_only_if_asked_for() -> None:
    text = b"q 1 d 1\nq 2 d 1\nq 2 e 0\n"
    kept = Judgments.read(io.BytesIO(text), facets=True)
    assert kept.frame.rows() == [("q", "d", 1.0, "1"), ("q", "d", 1.0, "2"), ("q", "e", 0.0, "2")]
    with pytest.raises(InputError, match="facets=True"):
        Judgments.read(io.BytesIO(text))
    with pytest.raises(InputError, match=r":4: .*for facet '2' twice \(first on line 2\)"):
        Judgments.read(io.BytesIO(text + b"q 2 d 0\n"), facets=True)


BLANK = st.text(" \t\v\f", min_size=1, max_size=3)
EDGE = st.text(" \t", max_size=2)
ID = st.text(st.characters(min_codepoint=33, exclude_categories=("Z", "C", "Cs")), min_size=1, max_size=20)
END = st.sampled_from(["", "\r"])
SCORE = st.floats(allow_nan=False)
FILLER = st.one_of(
    st.just(""), st.text(" \t", max_size=4), st.tuples(EDGE, ID).map(lambda t: f"{t[0]}#{t[1]} Q0 d 1 2 t")
)


@st.composite
def written_runs(draw: st.DrawFn) -> tuple[str, list[tuple[str, str, float]], list[int]]:
    pairs = draw(
        st.lists(st.tuples(ID.filter(lambda i: not i.startswith("#")), ID), min_size=1, max_size=12, unique=True)
    )
    pairs.sort(key=lambda pair: pair[0])
    lines: list[str] = []
    rows, numbers = [], []
    for query, document in pairs:
        lines += draw(st.lists(FILLER, max_size=2))
        score = draw(SCORE)
        fields = [query, "Q0", document, "1", repr(score), "tag", *draw(st.lists(ID, max_size=2))]
        lines.append(draw(EDGE) + "".join(f + draw(BLANK) for f in fields[:-1]) + fields[-1] + draw(EDGE) + draw(END))
        rows.append((query, document, score))
        numbers.append(len(lines))
    # Without any newline, carriage returns would end the lines.
    return "\n".join(lines) + draw(st.sampled_from(["\n", "\n\n", "\n \t"])), rows, numbers


@pytest.mark.slow
@given(written_runs())
@examples(300)
def test_round_trip_keeps_rows_and_line_numbers(written: tuple[str, list[tuple[str, str, float]], list[int]]) -> None:
    text, rows, numbers = written
    # A NO-BREAK or other Unicode space cannot be drawn; what begins the file must not pass for JSON or a header line.
    table, _ = read_table(io.StringIO(text, newline=""), "run", format="trec")
    frame = Run.read(io.StringIO(text, newline=""), format="trec").frame
    assert frame.select("query_id", "doc_id", "score").rows() == rows
    assert [int(table.place(row).rpartition(":")[2]) for row in range(len(rows))] == numbers


DATA = Path(__file__).parents[3] / ".." / "shared" / "data"
needs_data = pytest.mark.skipif(not DATA.is_dir(), reason="../shared/data is absent")


@needs_data
@pytest.mark.parametrize(
    ("name", "queries", "rows"),
    [
        ("results.test", 3, 1500),
        ("results.trunc", 2, 584),
        ("results.comment.test.gz", 301, 30100),
        ("results-302.test", 1, 500),
    ],
)
def test_runs_of_trec_eval(name: str, queries: int, rows: int) -> None:
    run = Run.read(DATA / "trec_eval" / name)
    assert (len(run.query_ids), run.frame.height) == (queries, rows)


def without_hashes(frame: pl.DataFrame) -> pl.DataFrame:
    """Undo what the comment files add to ids: CR93E-3103#37 is CR93E-3103, CR#93E-1860 is CR93E-1860."""
    return frame.with_columns(pl.col("doc_id").str.replace(r"#37$|#", ""))


@needs_data
def test_judgments_of_trec_eval_with_and_without_comments_are_equal() -> None:
    folder = DATA / "trec_eval"
    groups = Judgments.read(folder / "qrels.123", facets=True)
    commented_groups = Judgments.read(folder / "qrels.comments.123", facets=True)
    assert commented_groups.frame["doc_id"].str.contains("#", literal=True).any()
    assert without_hashes(groups.frame).equals(without_hashes(commented_groups.frame))
    assert groups.frame["facet"].n_unique() == 3
    plain, commented = (Judgments.read(folder / name).frame for name in ("qrels.test", "qrels.test.with-comments"))
    assert without_hashes(commented).equals(without_hashes(plain))
    assert Judgments.read(folder / "qrels.comment.test").frame["doc_id"].str.contains("#", literal=True).any()


@needs_data
def test_real_runs_of_dl_hard() -> None:
    folder = DATA / "runs" / "dl-hard-passage"
    for path in folder.glob("*.run.gz"):
        run = Run.read(path)
        expected = pl.DataFrame(
            [line.split() for line in gzip.decompress(path.read_bytes()).decode().splitlines()],
            schema=["q", "i", "d", "r", "s", "t"],
            orient="row",
        )
        assert run.name == path.name.removesuffix(".run.gz")
        assert run.frame["query_id"].to_list() == expected["q"].to_list()
        assert run.frame["doc_id"].to_list() == expected["d"].to_list()
        assert run.frame["score"].to_list() == [float(s) for s in expected["s"]]
    judgments = Judgments.read(folder / "qrels.trec")
    assert (len(judgments.query_ids), judgments.frame.height) == (50, 4256)


@needs_data
def test_real_run_of_askubuntu() -> None:
    run = Run.read(DATA / "runs" / "askubuntu-bm25" / "run.trec")
    assert (len(run.query_ids), run.frame.height) == (375, 7500)
