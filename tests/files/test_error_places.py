"""Every error of every reader has the file and the line that its message names, as attributes."""

from __future__ import annotations

import gzip
import io
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from tests.files.tabular.test_tables import JSONL_FAULTS
from tests.files.test_hostile import LINES, SHIFTED, C, J, P, zstd_compress
from tests.files.trec.test_grammar_reader import FAULTS, SKELETON

from trueval import Judgments, Run
from trueval.collection import Collection
from trueval.errors import InputError, Place
from trueval.files.json.jsonl_pairs import Columns, read_pairs
from trueval.printable import printable

PARQUET, ARROW = io.BytesIO(), io.BytesIO()
FRAME = pl.DataFrame({"query_id": ["q", "q"], "doc_id": ["d", "d"], "score": [1.0, 2.0]})
FRAME.write_parquet(PARQUET)
FRAME.write_ipc(ARROW)
JSONL = '\n{"qid": "a", "docno": "b", "score": 1}\n\n%s\n'

# A name, bytes of a run, and the line at fault; None where no line is.
BAD_RUNS: dict[str, tuple[bytes, int | None]] = {
    **{f"trec: {name}": (SKELETON % row, line) for name, (row, line, _) in FAULTS.items()},
    **{f"jsonl: {name}": ((JSONL % row).encode(), line) for name, (row, line, _) in JSONL_FAULTS.items()},
    **{name: (data, line) for name, (data, line, _) in LINES.items()},
    "trec: the file ends in a line": (P[:-3], 3),
    "trec: judgments": (b"q1 0 d1 1\n", None),
    "trec: neither": (b"q1\n", None),
    "trec: fields without end": (b"a " * 100, None),
    "trec: integers that are not ranks": (b"1 70 136\n1 80 120\n", None),
    "trec: a line without end": (P + b"q3 Q0 " + b"d" * (1 << 20) + b" 1 2 t\n", 4),
    "UTF-16": (P.decode().encode("utf-16"), None),
    "not UTF-8": (P.replace(b"d2", b"\xff"), 2),
    "empty": (b"", None),
    "no line holds anything": (b"\n\n", None),
    "csv: no column": (b"# a\nquery_id,doc_id,x\nq,d,1\n", 2),
    "csv: the other kind": (b"qid,docno,relevance\na,b,1\n", 1),
    "csv: too many columns": (b"qid,docno,score" + b",a" * 5000 + b"\n", 1),
    "csv: a bad rank": (b"qid,docno,rank\na,b,1\na,c,2.5\n", 3),
    "csv: no rows": (b"qid,docno,score\n", None),
    "csv: an empty id": (C.replace(b"d2", b""), 3),
    "csv: NaN": (C.replace(b"1.5", b"nan"), 3),
    "jsonl: no column": (J.replace(b"doc_id", b"x"), 1),
    "json: cut": (b'{"q":\n {"d": 1}', 2),
    "json: nested too deep": (b"[" * 1_000_000, None),
    "json: no dict": (b"[[1, 2]]", None),
    "json: several results": (b'{"a": {"q": {"d": 1}}, "b": {"q": {"d": 1}}}', None),
    "json: a value that is a string": (b'{"q": {"d": "1"}}', None),
    "gzip: truncated": (gzip.compress(P)[:-9], None),
    "gzip: damaged": (gzip.compress(P)[:-8] + b"\0" * 8, None),
    "gzip: nothing but empty lines": (gzip.compress(b"\n" * (1 << 22)), None),
    "zstd: truncated": (zstd_compress(P)[:-3], None),
    "packed twice": (gzip.compress(zstd_compress(P)), None),
    "bzip2": (b"BZh9", None),
    "parquet: truncated": (PARQUET.getvalue()[:-1], None),
    "parquet: a document twice": (PARQUET.getvalue(), None),
    "parquet: damaged": (PARQUET.getvalue()[:4] + b"\xff" * 30 + PARQUET.getvalue()[34:], None),
    "arrow: truncated": (ARROW.getvalue()[:-9], None),
    "arrow: a document twice": (ARROW.getvalue(), None),
}


def place_of(read: Callable[[], Any]) -> tuple[str | None, int | None]:
    """The attributes of an error, which its message must begin with, and which must not leave out a line."""
    with pytest.raises(InputError) as caught:
        read()
    error = caught.value
    assert error.source is not None, error
    assert str(error).startswith(f"{printable(Place(error.source, error.line))}: "), error
    rest = str(error)[len(error.source) :]
    assert (re.match(r":\d", rest) is not None) == (error.line is not None), error
    return error.source, error.line


@pytest.mark.parametrize(("data", "line"), BAD_RUNS.values(), ids=BAD_RUNS)
def test_errors_of_bad_runs_have_file_and_line(tmp_path: Path, data: bytes, line: int | None) -> None:
    assert place_of(lambda: Run.read(io.BytesIO(data))) == ("<file object>", line)
    path = tmp_path / "a:7.trec"  # a name that looks like a line does not mislead
    path.write_bytes(data)
    assert place_of(lambda: Run.read(path)) == (str(path), line)


@pytest.mark.parametrize("data", SHIFTED.values(), ids=SHIFTED)
def test_errors_of_shifted_rows_have_file_and_line(data: bytes) -> None:
    source, line = place_of(lambda: Run.read(io.BytesIO(data)))
    assert source == "<file object>"
    assert line in (1, 2)


def test_errors_of_paths_have_the_path(tmp_path: Path) -> None:
    for path in (tmp_path / "absent", tmp_path, Path("nul\0")):
        assert place_of(lambda path=path: Run.read(path)) == (str(path), None)
    assert place_of(lambda: Run.read(3)) == ("int", None)  # type: ignore[arg-type]
    assert place_of(lambda: Run.read(io.StringIO("q Q0 d 1 1 t\nq Q0 \ud800 2 1 t\n"))) == ("<file object>", 2)


def test_errors_of_judgments_have_file_and_line() -> None:
    rows = b"q1 0 d1 1\nq1 0 d1 0\n"
    assert place_of(lambda: Judgments.read(io.BytesIO(rows))) == ("<file object>", 2)
    assert place_of(lambda: Judgments.read(io.BytesIO(P))) == ("<file object>", None)
    ranks = "".join(f"q\td{rank}\t{rank}\n" for rank in range(1, 9))
    assert place_of(lambda: Judgments.read(io.StringIO(ranks))) == ("<file object>", None)
    good = Judgments.read(io.BytesIO(rows[:10]))
    assert place_of(lambda: good.map_grades({0: 1})) == ("<file object>", None)


def test_errors_of_what_is_in_memory_have_its_type() -> None:
    for read, source in (
        (lambda: Run.from_dict({"q": 3}), "builtins.dict"),
        (lambda: Run.from_dict({"q": {"d": "x"}}), "builtins.dict"),
        (lambda: Run.from_dict({"q": {1.5: 1}}), "builtins.dict"),
        (lambda: Run.from_dict({"q": {"\ud800": 1}}), "builtins.dict"),
        (lambda: Run.from_dict({1: {"d": 1}, "1": {"d": 1}}), "builtins.dict"),
        (lambda: Run.from_dict(3), "builtins.int"),
        (lambda: Run.from_frame(3), "builtins.int"),
        (lambda: Run.from_frame(FRAME), "polars.DataFrame"),
        (lambda: Run.from_frame(FRAME.with_columns(doc_id=pl.lit(0.5))), "polars.DataFrame"),
        (lambda: Run.from_frame(FRAME.with_columns(score=pl.lit([1]))), "polars.DataFrame"),
        (lambda: Run.from_arrays([[1.0, float("nan")]]), "arrays"),
    ):
        assert place_of(read) == (source, None)


def test_errors_of_pairs_have_file_and_line() -> None:
    columns = Columns(("query",), ("correct",), "a query and a number")
    for data, line in ((b"q,1\nx\n", 2), (b'q,1\n"x,1\n', 2), (b'{"query": "q"}\n', 1), (b'{"query"\n', 1)):
        assert place_of(lambda data=data: list(read_pairs(io.BytesIO(data), columns))) == ("<file object>", line)
    [pair] = read_pairs(io.BytesIO(b"\nq,1\n"), columns)
    assert (pair.place, pair.place.source, pair.place.line) == ("<file object>:2", "<file object>", 2)


def test_errors_of_collections_have_file_and_line(tmp_path: Path) -> None:
    assert place_of(lambda: Collection.read(str(tmp_path / "absent"))) == (str(tmp_path / "absent"), None)
    assert place_of(lambda: Collection.read(str(tmp_path))) == (str(tmp_path / "queries.jsonl"), None)
    (tmp_path / "queries.jsonl").write_text('{"_id": "q1", "text": "?"}', encoding="utf-8")
    corpus = tmp_path / "corpus.jsonl"
    assert place_of(lambda: Collection.read(str(tmp_path))) == (str(corpus), None)
    for second in ("{", json.dumps({"_id": "d1"})):
        corpus.write_text(f'{{"_id": "d1"}}\n\n{second}\n', encoding="utf-8")
        assert place_of(lambda: Collection.read(str(tmp_path))) == (str(corpus), 3)
