"""Hostile files: the rows that plain Python finds, or a refusal with a reason; never anything else."""

from __future__ import annotations

import gzip
import io
import os
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from fuzz.build import build
from fuzz.checks import CHECKS, SPELLS, TABLES, check_tables, spell
from hypothesis import given
from hypothesis import strategies as st
from tests.examples import examples

from trueval.errors import InputError, PolicyError
from trueval.files import read_table
from trueval.files.source import source_bytes as content_module
from trueval.judgments import Judgments
from trueval.run import Run

P = b"q1 Q0 d1 1 2.5 t\nq1 Q0 d2 2 1.5 t\nq2 Q0 d1 1 0.5 t\n"
C = b"query_id,doc_id,score\nq1,d1,2.5\nq1,d2,1.5\nq2,d1,0.5\n"
J = b'{"query_id":"q1","doc_id":"d1","score":2.5}\n{"query_id":"q1","doc_id":"d2","score":1.5}\n'


@pytest.mark.slow
@pytest.mark.parametrize("name", SPELLS)
@given(st.binary(min_size=1, max_size=150))
@examples(300)
def test_files_nearly_in_order_are_read_as_plain_python_reads_them(name: str, data: bytes) -> None:
    CHECKS[name](build(name, data))


@pytest.mark.parametrize("name", SPELLS)
@given(st.binary(max_size=40))
@examples(200)
def test_pieces_of_text_without_order_are_read_or_refused(name: str, data: bytes) -> None:
    CHECKS[name](spell(data))


@given(st.binary(max_size=12))
@examples(200)
def test_damaged_gzip_is_read_or_refused(data: bytes) -> None:
    CHECKS["packed"](data)


# Found by fuzzing, kept for good: (check, input).
FOUND = {
    "an id that begins as zlib data do": ("trec", b"x^2 Q0 d1 1 2.5 t\nx^2 Q0 d2 2 1.5 t\n"),
    "a part that begins as zlib data do": ("parts", b"q1 Q0 d1 1 2.5 t\nq1 Q0 d22 2 1.5 t\nx^2 Q0 d2 2 1.5 t\n" * 2),
    "zlib data": ("parts", b'x\x9c)=_l"d2"X{"query_id": 7, "doc_id": "d3", "score": 1e3}\nY\x02M\x1fd2'),
    "a column that begins as zlib data do": ("any", b"x^2,query_id,doc_id,score\n1,q1,d1,2\n"),
    "a query with half a surrogate pair that lists nothing": ("json", b'{"\\ud800q1": {}, "q2": {"d0": -1}}'),
    "tags only from the second row on": ("trec", b"q1 Q0 d3 3 .5\nq2 Q0 d1 1 7 t\n"),
    "tags only from the second row on, wider": ("trec", b"q1 Q0 d3 3 .5\nq2 Q0 d1 1 7 t u v w\n"),
    "key with half a surrogate pair": ("any", b'{"query_id\\ud800": "q1", "doc_id": "d0", "score": 7}\n'),
    "other key with half a surrogate pair": (
        "jsonl",
        b'{"query_id": "q1", "\\ud800": 1, "doc_id": "d0", "score": 7}\n',
    ),
}


@pytest.mark.parametrize(("name", "data"), FOUND.values(), ids=FOUND)
def test_what_fuzzing_found_stays_mended(name: str, data: bytes) -> None:
    CHECKS[name](data)


# Every fifth byte from another one in each file; all of them in `make evidence`.
@pytest.mark.slow
@pytest.mark.parametrize("step", [5, pytest.param(1, marks=pytest.mark.evidence)])
@pytest.mark.parametrize("which", range(len(TABLES)))
def test_every_changed_byte_of_a_parquet_or_arrow_file_is_survived(which: int, step: int) -> None:
    """In a process of its own: polars that believes a wrong length takes the process with it."""
    program = (
        "from fuzz.checks import TABLES, check_tables\n"
        f"for at in range({which % step}, len(TABLES[{which}]), {step}):\n"
        f"    check_tables(bytes([{which}, *at.to_bytes(2, 'little'), TABLES[{which}][at] ^ 0x7F]))\n"
        "print('survived')\n"
    )
    root = Path(__file__).parents[2]
    path = os.pathsep.join((str(root), str(root / "src")))
    done = subprocess.run([sys.executable, "-c", program], env={**os.environ, "PYTHONPATH": path}, capture_output=True)
    assert done.stdout.strip() == b"survived", done.stderr[-500:]


def test_sound_parquet_and_arrow_files_of_other_writers_are_read() -> None:
    pytest.importorskip("pyarrow")
    from pyarrow import feather, parquet

    frame = pl.select(
        query_id=pl.int_range(3000) // 1000, doc_id=(pl.int_range(3000) % 1000).cast(pl.String), score=pl.lit(0.5)
    )
    table = frame.to_arrow()
    held = [io.BytesIO() for _ in range(6)]
    with parquet.ParquetWriter(held[0], table.schema) as writer:
        for part in (table.slice(0, 10), table.slice(0, 0), table.slice(10)):  # an empty group has no pages
            writer.write_table(part)
    parquet.write_table(table, held[1], compression="gzip", use_dictionary=False, data_page_version="2.0")
    parquet.write_table(table, held[2], version="1.0", row_group_size=100, write_page_index=True)
    feather.write_feather(table, held[3], compression="lz4")
    frame.with_columns(pl.col("doc_id").cast(pl.Categorical)).write_ipc(held[4], compression="zstd")
    frame.write_ipc(held[5], compat_level=pl.CompatLevel.oldest())
    for file in held:
        assert Run.read(io.BytesIO(file.getvalue())).frame["doc_id"].to_list() == frame["doc_id"].to_list()


@pytest.mark.parametrize("which", range(len(TABLES)))
def test_cut_parquet_and_arrow_files_are_refused(which: int) -> None:
    format = "parquet" if which < 3 else "arrow"
    for cut in (1, 8, 9, 100, len(TABLES[which]) // 2):
        with pytest.raises(InputError, match="truncated or damaged"):
            read_table(io.BytesIO(TABLES[which][:-cut]), "run", format)
    check_tables(bytes([which]))


SHIFTED = {
    "a space in an id": P.replace(b"d2", b"d 2"),
    "a space in an id between tabs": P.replace(b" ", b"\t").replace(b"d2", b"d 2"),
    "a form feed in an id": P.replace(b"d2", b"d\f2"),
    "spaces in all ids": b"q1 Q0 Some Title 1 2.5\nq1 Q0 Other Name 2 1.5\n",
    "a space in the first id": b"q1 Q0 d 1 1 2.5 t\nq1 Q0 d2 2 1.5 t\n",
    "a field too many": P.replace(b"d2", b"d2 x"),
    "a lost newline": P.replace(b"t\nq2", b"tq2"),
    "a newline become a space": P.replace(b"t\nq2", b"t q2"),
    "a lost newline in the first row": P.replace(b"t\nq1", b"tq1"),
    "a lost newline made up for by a cut row": P.replace(b"t\nq2", b"t q2") + b"q3 Q0 d1 1 0.5\n",
}


@pytest.mark.parametrize("data", SHIFTED.values(), ids=SHIFTED)
def test_shifted_and_joined_rows_are_refused(data: bytes) -> None:
    with pytest.raises(InputError, match=r"^<file object>:[12]: (a number after the score|two rows on one line)"):
        Run.read(io.BytesIO(data))


def test_a_tag_that_is_a_number_and_text_after_the_tag_are_fine() -> None:
    for tag in (b" 7\n", b" my tag of 3 words\n", b" tag\n"):
        assert Run.read(io.BytesIO(P.replace(b" t\n", tag))).frame["score"].to_list() == [2.5, 1.5, 0.5]


def test_a_last_line_cut_behind_its_score_is_refused() -> None:
    for cut in (3, 4):
        with pytest.raises(InputError, match=r":3: the file ends in the middle of a line"):
            Run.read(io.BytesIO(P[:-cut]))
    assert Run.read(io.BytesIO(P.replace(b" t\n", b"\n")[:-1])).frame.height == 3


LINES = {
    "a carriage return in an id": (P.replace(b"d2", b"d\r2"), 2, "carriage return"),
    "a carriage return for a newline": (P.replace(b"t\nq2", b"t\rq2"), 2, "carriage return"),
    "a byte order mark inside": (P.replace(b"q2", "\ufeffq2".encode()), 3, "byte order mark"),
    "a control character": (P.replace(b"d2", b"d\x022"), 2, "U+0002"),
    "the end mark of DOS": (P + b"\x1a", 4, "U+001A"),
    "too large a score": (P.replace(b"1.5", b"1e400"), 2, "too large for a double"),
    "Arabic digits": (P.replace(b"1.5", "١٢".encode()), 2, "not a number"),
    "csv: a short row": (C.replace(b"q1,d2,1.5", b"q1,d2"), 3, "2 fields"),
    "csv: a cut row": (b"qid,docno,score,tag\nq1,d1,2.5,a\nq1,d2,1.", 3, "3 fields"),
    "csv: a row of commas": (C.replace(b"q2", b",,\nq2"), 4, "without any value"),
    "csv: a quote inside": (C.replace(b"d2", b'd"2'), 3, "a quote out of place"),
    "csv: text behind a quote": (C.replace(b"d2", b'"d"2'), 3, "a quote out of place"),
    "csv: a quote never closed": (C.replace(b"d2", b'"d2'), 3, "a quote out of place"),
    "csv: behind a quoted newline": (C.replace(b"d2", b'"d\n2"').replace(b"0.5", b"x"), 5, "'x'"),
    "csv: a no-break space": (C.replace(b"1.5", "1.5\u00a0".encode()), 3, "must be a number"),
    "csv: too large a score": (C.replace(b"1.5", b"-1e400"), 3, "too large for a double"),
    "csv: behind comments": (b"# a\n# b\n" + C.replace(b"1.5", b"x"), 5, "'x'"),
    "csv: a column twice": (b"qid,docno,score,Score\nq1,d1,1,2\n", 1, "is there twice"),
    "jsonl: a key twice": (J.replace(b'"score":1.5', b'"score":1.5,"score":9'), 2, "the key 'score' is twice"),
    "jsonl: a key twice, once escaped": (J.replace(b'"doc_id":"d2"', b'"doc_id":"x","doc\\u005fid":"d2"'), 2, "twice"),
    "jsonl: a float id behind an escape": (J.replace(b'"doc_id":"d2"', b'"doc\\u005fid":7.0'), 2, "is 7.0"),
    "jsonl: half a surrogate pair": (J.replace(b"d2", b"\\ud800"), 2, "surrogate"),
    "jsonl: too large a score": (J.replace(b"1.5", b"1e400"), 2, "too large for a double"),
    "jsonl: an integer of 5,000 digits": (J.replace(b"1.5", b"1" * 5000), 2, "too large for a double"),
    "jsonl: a truth value": (J.replace(b"1.5", b"true"), 2, "is true"),
    "jsonl: nested a million deep": (J.replace(b"1.5", b"[" * 1_000_000), 2, "nested too deep"),
    "json: a key twice": (b'{"q1": {"d1": 1,\n "d1": 2}}', 2, "'d1' is twice"),
    "json: NaN": (b'{"q1": {"d1": 1,\n\n "d2": NaN}}', 3, "is nan"),
    "json: a duplicate": (
        b'[{"qid":"q","docno":"d","score":1},\n{"qid":"q","docno":"d","score":2}]',
        2,
        "first on line 1",
    ),
    "json: a hit": (b'{"q1": [["d1", 1],\n["d1", 2]]}', 2, "first on line 1"),
    "json: too large a score": (b'{"q1":\n {"d1": 1e400}}', 2, "too large for a double"),
}


@pytest.mark.parametrize("packed", [False, True], ids=["plain", "gzip"])
@pytest.mark.parametrize(("data", "line", "got"), LINES.values(), ids=LINES)
def test_faults_are_refused_with_their_line(data: bytes, line: int, got: str, packed: bool) -> None:
    with pytest.raises(InputError) as caught:
        Run.read(io.BytesIO(gzip.compress(data) if packed else data))
    assert str(caught.value).startswith(f"<file object>:{line}: ")
    assert got in str(caught.value)


def test_json_nested_a_million_deep_is_refused() -> None:
    for data in (b'{"q":' * 1_000_000, b"[" * 1_000_000):
        with pytest.raises(InputError, match="nested too deep"):
            Run.read(io.BytesIO(data))


def test_a_query_named_by_a_string_and_by_an_integer_is_refused() -> None:
    with pytest.raises(InputError, match="the query '1' is there twice, as string and as integer"):
        Run.from_dict({1: {"d": 1.0}, "1": {"e": 2.0}})


def test_numbers_too_small_for_a_double_are_noted() -> None:
    for data, line in ((P, 2), (C, 3)):
        run = Run.read(io.BytesIO(data.replace(b"1.5", b"1e-400")))
        assert run.notes[0].startswith(f"<file object>:{line}: 1 scores are too small for a double")
    assert Run.read(io.BytesIO(P.replace(b"0.5", b"-0.0e5"))).notes == ()
    assert Run.read(io.BytesIO(P.replace(b"0.5", b"5e-324"))).frame["score"].to_list()[-1] == 5e-324


def test_spaces_in_ids_of_csv_are_kept() -> None:
    run = Run.read(io.BytesIO(C.replace(b"d2", b"a title")))
    assert run.frame["doc_id"].to_list() == ["d1", "a title", "d1"]
    assert run.notes == ()
    edge = Run.read(io.BytesIO(C.replace(b"d2", b" d2")))
    assert edge.frame["doc_id"].to_list() == ["d1", " d2", "d1"]
    assert "doc_ids hold characters that cannot be seen, for instance ' d2'" in edge.notes[0]


def test_ids_are_never_normalized_and_a_note_says_when_they_look_alike() -> None:
    run = Run.read(io.BytesIO(P.replace(b"d2", "e\u0301".encode()).replace(b"d1", "é".encode())))
    assert run.frame["doc_id"].to_list() == ["\u00e9", "e\u0301", "\u00e9"]
    assert "'e\\u0301'" in run.notes[0]
    assert "'\\xe9' is there too, as another id" in run.notes[0]
    assert "not in Unicode form NFC" in Judgments.read(io.BytesIO("q 0 e\u0301 1\n".encode())).notes[0]
    assert Run.read(io.BytesIO(P.replace(b"d2", "é漢".encode()))).notes == ()


@pytest.mark.parametrize("character", ["\u00a0", "\u2028", "\u0085", "\u200b", "\u3000"])
def test_characters_that_cannot_be_seen_are_kept_and_noted(character: str) -> None:
    run = Run.read(io.BytesIO(P.replace(b"d2", f"d{character}2".encode())))
    assert run.frame["doc_id"].to_list()[1] == f"d{character}2"
    assert ascii(character)[1:-1] in run.notes[0]


def test_very_long_ids_are_kept() -> None:
    run = Run.read(io.BytesIO(P.replace(b"d2", b"d" * 500_000)))
    assert len(run.frame["doc_id"].to_list()[1]) == 500_000


def test_judgments_of_beir_given_as_a_run_are_noted() -> None:
    data = b"query-id\tcorpus-id\tscore\nq1\td1\t1\nq1\td2\t1\nq2\td1\t2\n"
    assert "are these judgments given as a run?" in Run.read(io.BytesIO(data)).notes[0]
    assert Run.read(io.BytesIO(data.replace(b"\t2", b"\t2.5"))).notes == ()
    assert Judgments.read(io.BytesIO(data)).notes == ()


def test_a_wide_file_is_refused() -> None:
    with pytest.raises(InputError, match="200000 fields on the first line"):
        Run.read(io.BytesIO(b"a " * 200_000))
    with pytest.raises(InputError, match="30000 columns"):
        Run.read(io.BytesIO(b"qid,docno,score" + b",a" * 29_997 + b"\n"))


# Limits, and how to raise them.


def zstd_compress(data: bytes) -> bytes:
    if sys.version_info >= (3, 14):
        from compression import zstd
    else:
        from backports import zstd
    return zstd.compress(data)


@pytest.mark.slow
@pytest.mark.parametrize("pack", [gzip.compress, zstd_compress], ids=["gzip", "zstd"])
def test_bombs_are_refused_before_they_are_held(pack: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InputError, match="the file is empty"):
        Run.read(io.BytesIO(pack(b"\n" * (1 << 22))))
    bomb = pack(b"\n" * (1 << 26))
    monkeypatch.setenv("TRUEVAL_MEMORY", "50M")
    with pytest.raises(InputError, match=r"takes more than 52.0 MiB of memory, and 50.0 MiB may be taken, as --memory"):
        Run.read(io.BytesIO(bomb))


@pytest.mark.slow
def test_a_bomb_of_many_gibibytes_takes_little_memory() -> None:
    """Eight gibibytes packed as 8,192 members of one mebibyte, read where no more than 1.5 GiB may be taken."""
    resource = pytest.importorskip("resource")
    program = (
        "import gzip, io, resource\n"
        "from trueval.errors import InputError\n"
        "from trueval.run import Run\n"
        "bomb = gzip.compress(b'q Q0 d 1 1 t\\n' * 80_000) * 8_192\n"
        "before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss\n"
        "try:\n    Run.read(io.BytesIO(bomb))\n"
        "except InputError as error:\n    print('refused' if 'more than 202.0 MiB' in str(error) else error)\n"
        "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)\n"
    )
    del resource
    source = str(Path(__file__).parents[2] / "src")
    environment = {**os.environ, "PYTHONPATH": source, "TRUEVAL_MEMORY": "200M"}
    done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True)
    refused, grown = done.stdout.split()
    assert refused == "refused", done.stderr
    assert int(grown) < 300_000  # KiB


@pytest.mark.parametrize("inner", [gzip.compress, zstd_compress, lambda data: b"BZh9" + data], ids=["gz", "zst", "bz2"])
def test_what_is_packed_twice_is_refused(inner: Any) -> None:
    for outer in (gzip.compress, zstd_compress):
        with pytest.raises(InputError, match="packed twice"):
            Run.read(io.BytesIO(outer(inner(P))))


def test_endless_lines_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    data = P + b"q3 Q0 " + b"d" * (1 << 20) + b" 1 2 t\n"
    with pytest.raises(InputError, match=r":4: a line of more than 1,048,576 bytes.*TRUEVAL_MAX_LINE"):
        Run.read(io.BytesIO(data))
    monkeypatch.setenv("TRUEVAL_MAX_LINE", "2000000")
    assert Run.read(io.BytesIO(data)).frame.height == 4
    monkeypatch.setenv("TRUEVAL_MAX_LINE", "17")
    assert Run.read(io.BytesIO(P)).frame.height == 3
    monkeypatch.setenv("TRUEVAL_MAX_LINE", "15")
    with pytest.raises(InputError, match=r":1: a line of more than 15 bytes"):
        Run.read(io.BytesIO(P))


@pytest.mark.parametrize("value", ["0", "-1", "1.5", "a", "²"])
def test_a_limit_must_be_a_positive_integer(value: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRUEVAL_MAX_LINE", value)
    with pytest.raises(PolicyError, match="TRUEVAL_MAX_LINE must be an integer >= 1"):
        Run.read(io.BytesIO(P))


def test_too_large_a_file_is_refused_before_it_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "sparse.run"
    with path.open("wb") as file:
        file.truncate(1 << 40)
    with pytest.raises(
        InputError, match=r"takes about 2,048.0 GiB of memory, and .* may be taken, half of what is free"
    ):
        Run.read(path)
    monkeypatch.setenv("TRUEVAL_MEMORY", "10M")
    with pytest.raises(InputError, match=r"takes more than 12.0 MiB of memory, and 10.0 MiB may be taken, as --memory"):
        Run.read("/dev/zero")


def test_a_parquet_file_of_too_many_rows_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    held = io.BytesIO()
    pl.select(
        query_id=pl.repeat("q", 1_000_000), doc_id=pl.repeat("d", 1_000_000), score=pl.repeat(0.5, 1_000_000)
    ).write_parquet(held)
    assert len(held.getvalue()) < 100_000
    monkeypatch.setenv("TRUEVAL_MEMORY", "90M")
    with pytest.raises(InputError, match=r"takes about 124.0 MiB of memory"):
        Run.read(io.BytesIO(held.getvalue()))


# Files that change while they are read.


@pytest.mark.parametrize("change", ["append", "replace", "remove", "rewrite"])
def test_a_file_that_changes_while_it_is_read_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, change: str
) -> None:
    path = tmp_path / "a.run"
    path.write_bytes(P)
    read = content_module._read_to_end

    def read_and_change(*given: Any) -> bytes:
        data = read(*given)
        if change == "append":
            path.write_bytes(P + P.replace(b"q", b"r"))
        elif change == "rewrite":
            path.write_bytes(P.replace(b"2.5", b"9.5"))
            os.utime(path, ns=(1, 1))
        else:
            path.unlink()
        if change == "replace":
            path.write_bytes(P)
        return data

    monkeypatch.setattr(content_module, "_read_to_end", read_and_change)
    with pytest.raises(InputError, match=r"changed while it was read|there is no such file"):
        Run.read(path)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no named pipes")
def test_a_named_pipe_is_read_to_its_end(tmp_path: Path) -> None:
    path = tmp_path / "pipe"
    os.mkfifo(path)
    writer = threading.Thread(target=path.write_bytes, args=(P,))
    writer.start()
    assert Run.read(path).frame.height == 3
    writer.join()
