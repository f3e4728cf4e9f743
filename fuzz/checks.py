"""One check for each reader: the rows of the oracle, or a refusal, and never anything else."""

from __future__ import annotations

import gzip
import io
import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal
from unittest.mock import patch

import polars as pl

from fuzz import oracle
from trueval.errors import InputError
from trueval.files import check_rows, format_detection, id_notes, rank_notes, read_table
from trueval.files.row_checks import CheckedRows
from trueval.files.source import line_parts
from trueval.files.trec import regular_reader
from trueval.files.trec.kernel import scan
from trueval.rag.answer_accuracy import read_correctness
from trueval.rag.contexts import read_contexts, read_run_or_contexts

Kind = Literal["run", "judgments"]

# Pieces of text that readers take for something else; a fuzzer that strings them together meets more than with bytes.
PIECES = [
    *(" ", "\t", "\n", "\r\n", "\r", "\v", "\f", "  ", "\n\n", "#", '"', '""', ",", ";", "{", "}", "[", "]", ":"),
    *("q1", "q2", "Q0", "0", "1", "2", "d1", "d2", "t", "tag", "0.5", "-1", "1.", ".5", "1e5", "1e400", "1e-400"),
    *("nan", "inf", "-Infinity", "0x1p3", "1_0", "+-1", "٣", "null", "true", "1,5", "007", "\\u00e9", "\\ud800"),
    *("\u00a0", "\u2028", "\ufeff", "\u0085", "\x00", "\x01", "é", "e\u0301", "q1 Q0 d1 1 2.5 t\n"),
    *("q1 Q0 d2 2 1 t\n", "q2 Q0 d1 1 7 t\n"),
    *("q1 0 d1 1\n", "q1,d2,0.5\n", 'q1,"d,2",0.5\n', "q1\td3\t1\n", '"query_id"', '"doc_id"', '"score"', '"d2"'),
    *('{"query_id":"q1","doc_id":"d2","score":2}\n', '{"query_id": 7, "doc_id": "d3", "score": 1e3}\n'),
    *('{"q1":{"d1":1', '"q2":{"d1":2', '"d3":3', "}}"),
    *("q1 Q0 d3 3 .5", " 9 ", "\n#q1 Q0 d9 1 1 t\n", "q1,d3,1", '"\n"', "qid", "docno", "score", "1 2 3"),
    *('{"query":"q1","ids":["d1","d2"]}\n', '{"query":"q2","ids":[["d1",2]],"gold":{"d1":5}}\n'),
    *('"ids"', '"gold"', '"query"'),
    *('{"query":"q1","correct":true}\n', '"correct"', "q1,1\n", "q2\t0.5\n", "q3 true\n"),
]  # fmt: skip
SPELLED = [piece.encode() for piece in PIECES]


def spell(data: bytes) -> bytes:
    """Turn bytes into pieces of text; those beyond the pieces are themselves."""
    return b"".join(SPELLED[code] if code < len(SPELLED) else bytes([code - len(SPELLED)]) for code in data)


def rows_read(data: bytes, kind: Kind, format: str | None) -> CheckedRows | None:
    """Read a table with all checks and notes; None if it is refused."""
    try:
        table, _ = read_table(io.BytesIO(data), kind, format)
        rows = check_rows(table, kind)
    except InputError as error:
        place = f"<file object>:{error.line}: " if error.line else "<file object>: "
        if error.source != "<file object>" or not str(error).startswith(place):
            raise AssertionError(f"{error.source} and {error.line} are not the place that begins: {error}") from error
        return None
    id_notes(rows.table, rows.query_ids)
    if kind == "run":
        rank_notes(rows)
    return rows


def compare(data: bytes, kind: Kind, format: str, expected: Callable[[], list[oracle.Row] | None]) -> None:
    """Hold a reader against the oracle."""
    try:
        wanted = expected()
    except oracle.RefusalError as refusal:
        rows = rows_read(data, kind, format)
        if rows is not None:
            raise AssertionError(f"read, but {refusal}: {rows.table.frame.rows()[:5]}") from None
        return
    rows = rows_read(data, kind, format)
    if wanted is None:
        return
    if rows is None:
        read_table(io.BytesIO(data), kind, format)  # shows the error
        raise AssertionError(f"refused, but it holds {wanted[:5]}")
    _same_rows(rows, wanted, kind)


def _same_rows(rows: CheckedRows, wanted: list[oracle.Row], kind: Kind) -> None:
    columns = ["query_id", "doc_id", "score" if kind == "run" else "grade"]
    got = rows.table.whole().select(columns).rows()
    if got != [row[1:] for row in wanted]:
        raise AssertionError(f"read {got[:5]}, but it holds {[row[1:] for row in wanted][:5]}")
    if wanted[0].line:
        places = [rows.table.place(row) for row in range(len(wanted))]
        if places != [f"<file object>:{row.line}" for row in wanted]:
            raise AssertionError(f"lines {places[:5]}, but they are {[row.line for row in wanted][:5]}")


def check_trec(data: bytes) -> None:
    """Runs and judgments without a header line."""
    for kind in ("run", "judgments"):
        compare(data, kind, "trec", lambda kind=kind: oracle.trec_rows(data, kind))


SCRATCH = tempfile.TemporaryDirectory()
SMALL_PART, SMALL_WINDOW = 32, 48  # bytes, so that a small file is read in several parts


def check_parts(data: bytes) -> None:
    """Text in a file that is read part by part: as the careful reader reads it from memory, error for error."""
    path = Path(SCRATCH.name) / f"{os.getpid()}.trec"
    path.write_bytes(data)
    with patch.object(format_detection, "read_regular", lambda *_: None):
        wanted = _outcome(io.BytesIO(data))
    for is_compiled in {scan.is_compiled, False}:
        with (
            patch.object(regular_reader, "PART", SMALL_PART),
            patch.object(scan, "PART", SMALL_PART),
            patch.object(scan, "is_compiled", is_compiled),
            patch.object(line_parts, "LARGE", SMALL_PART),
            patch.object(line_parts, "WINDOW", SMALL_WINDOW),
        ):
            got = _outcome(path), _outcome(io.BytesIO(data))
        if got != (wanted, wanted):
            raise AssertionError(f"read {got}{' by the kernel' * is_compiled}, but carefully {wanted}")


def _outcome(source: Path | io.BytesIO) -> object:
    """The rows of a run and their lines, or the error."""
    try:
        rows = check_rows(read_table(source, "run", "trec")[0], "run")
    except InputError as error:
        return str(error).replace(str(source), "<file object>")
    table = rows.table
    notes = tuple(note.replace(table.source, "<file object>") for note in (*table.notes, *rank_notes(rows)))
    places = [table.place(row).removeprefix(table.source) for row in range(table.frame.height)]
    return rows.table.whole().rows(), rows.offsets.tolist(), places, notes


HEADERS = [
    (b"query_id,doc_id,score\n", ",", (0, 1, 2), 3),
    (b"qid\tdocno\tscore\ttext\n", "\t", (0, 1, 2), 4),
    (b"score;text;query;doc\r\n", ";", (2, 3, 0), 4),
    (b'"query-id","corpus-id","score"\n', ",", (0, 1, 2), 3),
    (b"note,query_id,doc_id,score\n\n", ",", (1, 2, 3), 4),
]  # fmt: skip


def check_csv(data: bytes) -> None:
    """Text behind one of several header lines."""
    header, delimiter, columns, width = HEADERS[data[0] % len(HEADERS) if data else 0]
    text = header + data[1:]
    for kind in ("run", "judgments"):
        compare(text, kind, "csv", lambda kind=kind: oracle.csv_rows(text, kind, delimiter, columns, width))


def check_jsonl(data: bytes) -> None:
    """Objects behind a first one that is in order."""
    text = b'{"query_id": "q", "doc_id": "d", "score": 1.5}\n' + data
    for kind in ("run", "judgments"):
        compare(text, kind, "jsonl", lambda kind=kind: oracle.jsonl_rows(text, kind))


def check_json(data: bytes) -> None:
    """One JSON value."""
    for kind in ("run", "judgments"):
        compare(data, kind, "json", lambda kind=kind: oracle.json_rows(data, kind))


def check_contexts(data: bytes) -> None:
    """Lines of a log behind a first one that is in order."""
    text = b'{"query": "q", "ids": ["d", "e"], "gold": ["d"]}\n' + data
    try:
        listed, gold = oracle.context_rows(text)
    except oracle.RefusalError as refusal:
        _refused(lambda: read_run_or_contexts(io.BytesIO(text)), refusal)
        return
    found = read_contexts(io.BytesIO(text))
    for frame, rows in ((found.run.frame, listed), (found.judgments.frame if found.judgments else None, gold)):
        got = [] if frame is None else frame.rows()
        if got != [row[1:] for row in rows]:
            raise AssertionError(f"read {got[:5]}, but it holds {rows[:5]}")


# What is before the answers, and what separates their fields.
ANSWERS = [
    (b"q,1\n", ","),
    (b"q\t1\n", "\t"),
    (b"q 1\n", " "),
    (b"query,correct\n", ","),
    (b'{"query": "q", "correct": true}\n', "{"),
]


def check_answers(data: bytes) -> None:
    """Answers behind one of several first lines."""
    begin, separator = ANSWERS[data[0] % len(ANSWERS) if data else 0]
    text = begin + data[1:]
    try:
        wanted = oracle.answers(text, separator)
    except oracle.RefusalError as refusal:
        _refused(lambda: read_correctness(io.BytesIO(text)), refusal)
        return
    got = read_correctness(io.BytesIO(text))
    if got != wanted:
        raise AssertionError(f"read {got}, but it holds {wanted}")


def _refused(read: Callable[[], Any], refusal: oracle.RefusalError) -> None:
    """Hold a reader to a refusal that begins with its source."""
    try:
        found = read()
    except InputError as error:
        if not str(error).startswith("<file object>"):
            raise AssertionError(f"an error without its source: {error}") from error
        return
    raise AssertionError(f"read, but {refusal}: {found}") from None


def check_any(data: bytes) -> None:
    """Bytes of which nothing is known: any format, or a refusal."""
    for kind in ("run", "judgments"):
        rows_read(data, kind, None)
    rows_read(gzip.compress(data, 1), "run", None)


def small_tables() -> list[bytes]:
    """A parquet file and an Arrow file of a few rows, plain and packed."""
    frame = pl.DataFrame({"query_id": ["q1", "q1", "q2"], "doc_id": ["d1", "d2", "é"], "score": [0.5, 0.25, -1.0]})
    files = []
    for packing in ("uncompressed", "zstd", "snappy"):
        frame.write_parquet(held := io.BytesIO(), compression=packing)  # type: ignore[arg-type]
        files.append(held.getvalue())
    for packing in ("uncompressed", "lz4", "zstd"):
        frame.write_ipc(held := io.BytesIO(), compression=packing)  # type: ignore[arg-type]
        files.append(held.getvalue())
    return files


TABLES = small_tables()


def check_tables(data: bytes) -> None:
    """A parquet or Arrow file with bytes changed, or cut: first which file, then pairs of a place and a new byte."""
    if not data:
        return
    file = bytearray(TABLES[data[0] % len(TABLES)])
    for at in range(1, len(data) - 2, 3):
        place = int.from_bytes(data[at : at + 2], "little") % len(file)
        file[place] = data[at + 2]
    cut = len(file) - (data[-1] if len(data) % 3 == 2 else 0)
    rows_read(bytes(file[:cut]), "run", "parquet" if data[0] % len(TABLES) < 3 else "arrow")


def check_packed(data: bytes) -> None:
    """A gzip file with bytes changed."""
    packed = bytearray(gzip.compress(b"q1 Q0 d1 1 2.5 t\nq1 Q0 d2 2 1.5 t\n" * 3, mtime=0))
    for at in range(0, len(data) - 1, 2):
        packed[data[at] % len(packed)] = data[at + 1]
    rows_read(bytes(packed), "run", None)


CHECKS: dict[str, Callable[[bytes], Any]] = {
    "trec": check_trec,
    "parts": check_parts,
    "csv": check_csv,
    "jsonl": check_jsonl,
    "json": check_json,
    "contexts": check_contexts,
    "answers": check_answers,
    "any": check_any,
    "tables": check_tables,
    "packed": check_packed,
}
SPELLS = ("trec", "parts", "csv", "jsonl", "json", "contexts", "answers", "any")
