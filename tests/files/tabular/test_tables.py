"""Headers, csv, jsonl, json, parquet, frames, packed files, and what is refused."""

from __future__ import annotations

import gzip
import io
import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from trueval.errors import InputError, PolicyError
from trueval.files import FORMATS
from trueval.judgments import Judgments
from trueval.run import Run

ROWS = [("007", "d1", 2.5), ("007", "d2", 1.0), ("8", "d1", 0.5)]
FRAME = pl.DataFrame(ROWS, schema=["query_id", "doc_id", "score"], orient="row")
QUERY_NAMES = ("query_id", "query-id", "qid", "QID", "topic", "topic_id", "Query ID", "query", "q_id", "q")
DOC_NAMES = ("doc_id", "docid", "docno", "DocNo", "corpus-id", "corpus_id", "pid", "document_id", "passage_id", "did")


def zstd_compress(data: bytes) -> bytes:
    if sys.version_info >= (3, 14):
        from compression import zstd
    else:
        from backports import zstd
    return zstd.compress(data)


def text(header: str, delimiter: str = "\t") -> bytes:
    rows = [delimiter.join(map(str, row)) for row in ROWS]
    return "\n".join([header, *rows, ""]).encode()


@pytest.mark.parametrize("delimiter", ["\t", ",", ";", " "])
@pytest.mark.parametrize(("query", "document"), list(zip(QUERY_NAMES, DOC_NAMES, strict=True)))
def test_text_with_a_header_line(query: str, document: str, delimiter: str) -> None:
    names = (name.replace(" ", "_") if delimiter == " " else name for name in (query, document, "score"))
    assert Run.read(io.BytesIO(text(delimiter.join(names), delimiter))).frame.rows() == ROWS


@pytest.mark.parametrize("grade", ["grade", "relevance", "label", "rel", "score", "Relevance"])
def test_judgments_with_a_header_line(grade: str) -> None:
    judgments = Judgments.read(io.BytesIO(text(f"query-id\tcorpus-id\t{grade}")))
    assert judgments.frame.columns == ["query_id", "doc_id", "grade"]
    assert judgments.frame.rows() == ROWS


def test_columns_in_another_order_and_beside_others() -> None:
    csv = b'score,query,qid,text,docno\n2.5,"what, where",007,"a\nb",d1\n1.0,who,007,,d2\n'
    assert Run.read(io.BytesIO(csv)).frame.rows() == ROWS[:2]


@pytest.mark.parametrize(
    "change",
    [
        lambda data: data.replace(b"\n", b"\r\n"),
        lambda data: data[:-1],
        lambda data: data.replace(b"\n", b"\r"),
        lambda data: b"\xef\xbb\xbf" + data,
        lambda data: data.replace(b"\n", b"\n\n"),
        lambda data: b"\n" + data,
        lambda data: data.replace(b",", b", "),
        lambda data: data.replace(b"d1", b'"d1"'),
    ],
    ids=["windows", "no last newline", "macintosh", "bom", "empty lines", "empty first", "spaces", "quotes"],
)  # fmt: skip
def test_csv_as_people_write_it(change: Any) -> None:
    assert Run.read(io.BytesIO(change(text("query_id,doc_id,score", ",")))).frame.rows() == ROWS


CSV_FAULTS = {
    "word": ("a,b,1\n\na,c,high\n", 4, "'high'"),
    "empty score": ("a,b,1\na,c,\n", 3, "missing"),
    "missing score": ("a,b,1\na,c\n", 3, "2 fields"),
    "NaN": ("a,b,1\na,c,nan\n", 3, "nan"),
    "empty id": ("a,b,1\n\n,c,1\n", 4, "query_id"),
    "duplicate": ("a,b,1\n\n\na,b,2\n", 5, "twice (first on line 2)"),
    "too many fields": ("a,b,1\na,c,2,3\n", 3, "4 fields"),
    "after a field of two lines": ('a,"b\nc",1\na,d,x\n', 4, "'x'"),
    "quoted duplicate": ('a,"b\nc",1\na,"b\nc",2\n', 4, "twice"),
}


@pytest.mark.parametrize(("rows", "line", "got"), CSV_FAULTS.values(), ids=CSV_FAULTS)
def test_faults_in_csv_have_their_line(rows: str, line: int, got: str) -> None:
    with pytest.raises(InputError) as caught:
        Run.read(io.StringIO("qid,docno,score\n" + rows))
    assert str(caught.value).startswith(f"<file object>:{line}: ")
    assert got in str(caught.value)


@pytest.mark.parametrize(
    ("header", "got"),
    [
        ("query_id,x,score", "no column for the doc_id"),
        ("docno,score,x", "no column for the query_id"),
        ("qid,docno,weight", "no column for the score"),
        ("qid,docno,relevance", "those of judgments"),
    ],
)
def test_missing_columns_are_named(header: str, got: str) -> None:
    with pytest.raises(InputError, match=got):
        Run.read(io.StringIO(f"{header}\na,b,1\n"))


def test_a_run_with_a_header_given_as_judgments_is_named() -> None:
    with pytest.raises(InputError, match="those of a run"):
        Judgments.read(io.StringIO("qid,docno,rank,score\na,b,1,2\n"))


def test_a_table_of_ranks_scores_by_minus_rank() -> None:
    run = Run.read(io.StringIO("qid,docno,rank\na,b,1\na,c,2\n"))
    assert run.frame.select("score", "rank").rows() == [(-1.0, 1), (-2.0, 2)]
    with pytest.raises(InputError, match=r":3: the rank is '2.5'"):
        Run.read(io.StringIO("qid,docno,rank\na,b,1\na,c,2.5\n"))


def test_ranks_of_a_table_are_compared_with_scores() -> None:
    run = Run.read(io.StringIO("qid,docno,rank,score\na,b,1,.1\na,c,2,.3\n"))
    assert run.notes[0].startswith("<file object>:3: ranks contradict scores in 1 of 1")


def test_facets_of_a_table() -> None:
    csv = "qid,subtopic,docno,rel\na,1,d,1\na,2,d,0\n"
    assert Judgments.read(io.StringIO(csv), facets=True).frame["facet"].to_list() == ["1", "2"]
    with pytest.raises(InputError, match="twice"):
        Judgments.read(io.StringIO(csv))
    with pytest.raises(InputError, match="no column for the facet"):
        Judgments.read(io.StringIO("qid,docno,rel\na,d,1\n"), facets=True)


def jsonl(rows: list[dict[str, Any]]) -> bytes:
    return "".join(json.dumps(row) + "\n" for row in rows).encode()


def test_jsonl_and_its_integer_ids() -> None:
    rows: list[dict[str, Any]] = [
        {"qid": "007", "docno": "d1", "score": 2.5},
        {"qid": 8, "docno": 12345678901234567, "score": 1},
    ]
    assert Run.read(io.BytesIO(jsonl(rows))).frame.rows() == [("007", "d1", 2.5), ("8", "12345678901234567", 1.0)]
    assert Run.read(io.BytesIO(b"\n" + jsonl(rows).replace(b"\n", b"\n\n"))).frame.height == 2


JSONL_FAULTS = {
    "not JSON": ('{"qid": "a", "docno": "c", "score": 1', 4, "not JSON"),
    "NaN": ('{"qid": "a", "docno": "c", "score": NaN}', 4, "nan"),
    "no object": ("[1]", 4, "must be one object"),
    "float id": ('{"qid": 1.0, "docno": "c", "score": 1}', 4, "the qid is 1.0"),
    "list id": ('{"qid": ["a"], "docno": "c", "score": 1}', 4, "the qid is ["),
    "bool id": ('{"qid": true, "docno": "c", "score": 1}', 4, "the qid is true"),
    "missing score": ('{"qid": "a", "docno": "c"}', 4, "score is missing"),
    "null score": ('{"qid": "a", "docno": "c", "score": null}', 4, "score is missing"),
    "missing id": ('{"docno": "c", "score": 1}', 4, "query_id is empty"),
    "duplicate": ('{"qid": "a", "docno": "b", "score": 1}', 4, "twice (first on line 2)"),
}


@pytest.mark.parametrize(("row", "line", "got"), JSONL_FAULTS.values(), ids=JSONL_FAULTS)
def test_faults_in_jsonl_have_their_line(row: str, line: int, got: str) -> None:
    with pytest.raises(InputError) as caught:
        Run.read(io.StringIO('\n{"qid": "a", "docno": "b", "score": 1}\n\n' + row + "\n"))
    assert str(caught.value).startswith(f"<file object>:{line}: ")
    assert got in str(caught.value)


def test_json_holds_a_dict() -> None:
    nested = {"007": {"d1": 2.5, "d2": 1}, "8": {"d1": 0.5}}
    for data in (json.dumps(nested), json.dumps(nested, indent=2)):
        assert Run.read(io.StringIO(data)).frame.rows() == ROWS
        assert Judgments.read(io.StringIO(data)).frame.rows() == ROWS


def test_json_holds_records_or_lists_of_relevant_documents() -> None:
    records = [{"qid": q, "docno": d, "score": s} for q, d, s in ROWS]
    assert Run.read(io.StringIO(json.dumps(records))).frame.rows() == ROWS
    judgments = Judgments.read(io.StringIO('{"q": ["d", "e"]}'))
    assert judgments.frame.rows() == [("q", "d", 1.0), ("q", "e", 1.0)]
    predictions = {"mteb_version": "2", "mteb_model_meta": {}, "default": {"test": {"007": {"d1": 2.5}}}}
    assert Run.read(io.StringIO(json.dumps(predictions))).frame.rows() == ROWS[:1]


def test_jsonl_with_other_fields() -> None:
    rows: list[dict[str, Any]] = [{"qid": "007", "docno": "d1", "score": 2.5, "meta": {"a": [1]}}]
    rows.append({"qid": "007", "docno": "d2", "score": 1, "meta": None})
    assert Run.read(io.BytesIO(jsonl(rows))).frame.rows() == ROWS[:2]


def test_faults_in_json_are_named() -> None:
    for data, got in (
        ('{"q": {"d": 1, "d": 1}}', "'d' is twice"),
        ('{"q": {"d": "1"}}', "is a str"),
        ('{"q": {"d": NaN}}', "nan"),
        ('{"q":\n {"d": 1}', ":2: not JSON"),
        ('{"q": 3}', "no column"),
        ('[{"a": 1}]', "no column for the query_id"),
        ("[[1, 2]]", "cannot be read as"),
        ('[{"qid": "a", "docno": "b", "score": 1}, {"qid": 1.5, "docno": "b", "score": 1}]', "query_id 1.5 is a float"),
        ("{}", "no rows"),
    ):
        with pytest.raises(InputError, match=got):
            Run.read(io.StringIO(data))


def test_parquet_and_arrow_files(tmp_path: Path) -> None:
    FRAME.write_parquet(tmp_path / "a.parquet")
    FRAME.write_ipc(tmp_path / "a.arrow")
    (tmp_path / "renamed.trec").write_bytes((tmp_path / "a.parquet").read_bytes())
    for name in ("a.parquet", "a.arrow", "renamed.trec"):
        assert Run.read(tmp_path / name).frame.rows() == ROWS
    (tmp_path / "cut.parquet").write_bytes((tmp_path / "a.parquet").read_bytes()[:200])
    with pytest.raises(InputError, match=r"cut.parquet: the parquet file is truncated or damaged"):
        Run.read(tmp_path / "cut.parquet")


@pytest.mark.parametrize("pack", [gzip.compress, zstd_compress], ids=["gzip", "zstd"])
@pytest.mark.parametrize("name", ["run.trec", "run.gz", "run.zst"])
def test_packed_files_are_told_by_their_first_bytes(tmp_path: Path, pack: Any, name: str) -> None:
    path = tmp_path / name
    data = text("query-id\tcorpus-id\tscore") * 1
    path.write_bytes(pack(data))
    run = Run.read(path)
    assert run.frame.rows() == ROWS
    assert run.name == "run"
    path.write_bytes(pack(b"007 Q0 d1 1 2.5 t\n"))
    assert Run.read(path).frame["doc_id"].to_list() == ["d1"]
    for cut in (5, 12, -3, -9):
        path.write_bytes(pack(data * 50)[:cut])
        with pytest.raises(InputError, match=r"truncated|damaged"):
            Run.read(path)


def test_damaged_and_foreign_packing() -> None:
    damaged = bytearray(gzip.compress(text("qid\tdocno\tscore")))
    damaged[-6] ^= 0xFF
    with pytest.raises(InputError, match="damaged"):
        Run.read(io.BytesIO(bytes(damaged)))
    for magic, name in ((b"BZh9", "bzip2"), (b"\xfd7zXZ\0", "xz"), (b"PK\x03\x04", "zip")):
        with pytest.raises(InputError, match=f"packed with {name}"):
            Run.read(io.BytesIO(magic + b"123"))


@pytest.mark.parametrize("data", [b"", b"\n\n \t\n", b"# only\n# comments\n", b"\xef\xbb\xbf", b"qid,docno,score\n"])
def test_empty_files(data: bytes) -> None:
    for noun in (Run, Judgments):
        for packed in (data, gzip.compress(data)):
            with pytest.raises(InputError, match=r"the file is empty|no rows"):
                noun.read(io.BytesIO(packed))


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be"])
def test_utf_16_is_refused_with_a_cure(encoding: str) -> None:
    with pytest.raises(InputError, match=r"UTF-16.*UTF-8"):
        Run.read(io.BytesIO("q Q0 d 1 2 t\n".encode(encoding)))


def test_utf_32_is_called_by_its_name() -> None:
    with pytest.raises(InputError, match="the text is UTF-32"):
        Run.read(io.BytesIO("q Q0 d 1 2 t\n".encode("utf-32")))


def test_latin_1_in_csv_and_jsonl_has_its_line() -> None:
    for data in (
        b"qid,docno,score\na,b,1\na,\xe9,1\n",
        b'\n{"qid":"a","docno":"b","score":1}\n{"qid":"\xe9","docno":"b","score":1}\n',
    ):
        with pytest.raises(InputError, match=r":3: byte 0xe9 is not UTF-8"):
            Run.read(io.BytesIO(data))


def test_what_is_no_file_is_refused_with_the_right_door() -> None:
    for thing in ({"q": {"d": 1}}, 3, [[1.0]]):
        with pytest.raises(InputError, match=r"For dicts use from_dict"):
            Run.read(thing)  # type: ignore[arg-type]


def test_missing_files_and_directories(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="there is no such file"):
        Run.read(tmp_path / "absent.run")
    with pytest.raises(InputError, match="this folder holds no judgments"):
        Judgments.read(str(tmp_path))


def test_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(gzip.compress(b"q Q0 d 1 2 t\nq Q0 e 2 x t\n"))))
    with pytest.raises(InputError, match=r"^<stdin>:2: "):
        Run.read("-")
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"q Q0 d 1 2 t\n")))
    run = Run.read("-")
    assert (run.source, run.name, run.frame.height) == ("<stdin>", "<stdin>", 1)


@pytest.mark.parametrize(
    ("file", "name"),
    [
        ("bm25.run.gz", "bm25"),
        ("bm25+bert(zs).run.zst", "bm25+bert(zs)"),
        ("run.v1.2.trec", "run.v1.2"),
        ("my.model", "my.model"),
        (".run", ".run"),
    ],
)  # fmt: skip
def test_a_run_is_called_by_its_file(tmp_path: Path, file: str, name: str) -> None:
    (tmp_path / file).write_bytes(b"q Q0 d 1 2 t\n")
    assert Run.read(tmp_path / file).name == name
    assert Run.read(tmp_path / file, name="mine").name == "mine"


def test_formats_can_be_given() -> None:
    assert Run.read(io.BytesIO(b"{q Q0 d 1 2 t\n"), format="trec").frame["query_id"].to_list() == ["{q"]
    assert Run.read(io.BytesIO(text("query-id\tcorpus-id\tscore")), format="beir").frame.rows() == ROWS
    with pytest.raises(PolicyError, match="format must be one of trec"):
        Run.read(io.BytesIO(b"q Q0 d 1 2 t\n"), format="excel")
    assert len(set(FORMATS)) == len(FORMATS)


def test_frames_of_every_library() -> None:
    pandas = pytest.importorskip("pandas")
    arrow = pytest.importorskip("pyarrow")
    columns = FRAME.to_dict(as_series=False)
    for frame in (FRAME, FRAME.lazy(), pandas.DataFrame(columns), arrow.table(columns)):
        assert Run.from_frame(frame).frame.rows() == ROWS
    graded = pandas.DataFrame(columns).rename(columns={"score": "relevance", "doc_id": "docno", "query_id": "qid"})
    assert Judgments.from_frame(graded).frame.rows() == ROWS


def test_ids_of_frames_become_strings() -> None:
    integers = pl.DataFrame({"qid": [1, 2], "docno": pl.Series(["a", "b"], dtype=pl.Categorical), "score": [1, 2]})
    assert Run.from_frame(integers).frame.rows() == [("1", "a", 1.0), ("2", "b", 2.0)]


@pytest.mark.parametrize(
    ("column", "values", "got"),
    [
        ("query_id", [1.0, 2.0], "float has lost"),
        ("doc_id", [True, False], "Boolean"),
        ("doc_id", ["a", None], "row 2: the doc_id is empty"),
        ("query_id", ["a", ""], "row 2: the query_id is empty"),
        ("score", ["1", "x"], "row 2: the score is 'x'"),
        ("score", [1.0, None], "row 2: the score is missing"),
        ("score", [1.0, float("nan")], "row 2: the score of document 'y' in query 'q' is nan"),
        ("score", [[1.0], [2.0]], "must hold numbers"),
    ],
)
def test_faults_in_frames(column: str, values: list[Any], got: str) -> None:
    columns = {"query_id": ["q", "q"], "doc_id": ["x", "y"], "score": [1.0, 2.0]} | {column: values}
    with pytest.raises(InputError, match=got):
        Run.from_frame(pl.DataFrame(columns, strict=False))


def test_what_is_no_frame_is_refused() -> None:
    for thing in ({"query_id": ["q"]}, [1, 2], np.zeros(3)):
        with pytest.raises(InputError, match="not a frame"):
            Run.from_frame(thing)


def test_pandas_columns_of_mixed_types_are_refused_with_a_cure() -> None:
    pandas = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    mixed = pandas.DataFrame({"qid": pandas.Series([1, "a"], dtype=object), "docno": ["x", "y"], "score": [1, 2]})
    with pytest.raises(InputError, match="Convert ids to strings"):
        Run.from_frame(mixed)
