"""Text that is regular as it is: read in parts from memory or from a file as the careful reader reads it."""

from __future__ import annotations

import os
import sys
from contextlib import contextmanager
from io import BytesIO, TextIOWrapper
from itertools import pairwise
from pathlib import Path
from unittest.mock import patch

import polars as pl
import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st
from tests.examples import examples

from trueval import Judgments, Run
from trueval.errors import InputError
from trueval.files import format_detection
from trueval.files.source import line_parts as lines
from trueval.files.trec import regular_reader
from trueval.files.trec.kernel import scan

RUN = b"".join(b"q%d Q0 d%d %d %.3f tag\n" % (q, 7 * d, d, 1 / d) for q in range(40) for d in range(1, 21))
SHORTER = RUN[:6000].rpartition(b"\n")[0] + b"\n"  # of two dozen parts, as they are cut here
MESSES = [
    (b" ", b"  "), (b" ", b"\t"), (b"\n", b"\r\n"), (b"\n", b"\n\n"), (b"\n", b" \n"), (b"\n", b"\n#"), (b"\n", b""),
    (b" tag", b""), (b" tag", b" tag too"), (b" Q0", b""), (b" Q0", b" "), (b"q", b""), (b".", b""), (b"0", b"-inf"),
    (b"0.", b"1e999"), (b"0.", b"0.0e-999"), (b"d", "é".encode()), (b"d", b"\xff"), (b"d", b"\x00"), (b"d", b"\x7f"),
    (b"d", b"\xef\xbb\xbf"), (b"d", b"#"), (b"d", b'"'), (b"1 ", b"nan "),
]  # fmt: skip


@contextmanager
def small_parts(size: int = 256, window: int = 128):
    """Small enough that a small text has many parts."""
    with (
        patch.object(regular_reader, "PART", size),
        patch.object(scan, "PART", size),
        patch.object(lines, "LARGE", size),
        patch.object(lines, "WINDOW", window),
    ):
        yield


@pytest.fixture(params=["kernel", "polars"])
def reader(request, monkeypatch) -> str:
    """The compiled kernel, or the reader of an installation that could not compile it."""
    if request.param == "kernel" and not scan.is_compiled:
        pytest.skip("the kernel was not compiled")
    if request.param == "polars":
        monkeypatch.setattr(scan, "is_compiled", False)
    return request.param


@contextmanager
def only_careful():
    with patch.object(format_detection, "read_regular", lambda *_: None):
        yield


def outcome(source, kind: type[Run] | type[Judgments]):
    """Everything that reading gives, or the error; the source is left out, for it differs."""
    try:
        found = kind.read(source, format="trec")
    except InputError as error:
        return str(error).replace(str(source), "<file object>")
    notes = tuple(note.replace(str(source), "<file object>") for note in found.notes)
    return found.frame.to_dict(as_series=False), found.offsets.tolist(), notes


def assert_one_outcome(data: bytes, path: Path, kind: type[Run] | type[Judgments] = Run) -> None:
    path.write_bytes(data)
    with only_careful():
        expected = outcome(BytesIO(data), kind)
    for is_compiled in {scan.is_compiled, False}:
        with patch.object(scan, "is_compiled", is_compiled):
            assert outcome(BytesIO(data), kind) == expected
            with small_parts():
                assert outcome(BytesIO(data), kind) == expected
                assert outcome(path, kind) == expected


@pytest.mark.slow
@given(data=st.data())
@examples(150, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_mess_has_one_outcome(tmp_path: Path, data) -> None:
    text = bytearray(RUN[: data.draw(st.sampled_from([30, 600, 6000]))].rpartition(b"\n")[0] + b"\n")
    for old, new in data.draw(st.lists(st.sampled_from(MESSES), max_size=2)):
        at = text.find(old, data.draw(st.integers(0, max(len(text) - 1, 0))))
        if at >= 0:
            text[at : at + len(old)] = new
    if data.draw(st.booleans()):
        del text[data.draw(st.integers(0, len(text))) :]
    assert_one_outcome(bytes(text), tmp_path / "run.trec")


@pytest.mark.parametrize("mess", MESSES, ids=str)
@pytest.mark.parametrize("place", [0, 1, 300, 3000])
def test_each_mess_has_one_outcome(tmp_path: Path, mess: tuple[bytes, bytes], place: int) -> None:
    at = SHORTER.find(mess[0], place)
    data = SHORTER[:at] + mess[1] + SHORTER[at + len(mess[0]) :]
    assert_one_outcome(data, tmp_path / "run.trec")


@pytest.mark.parametrize("separator", [b" ", b"\t"])
@pytest.mark.parametrize("end", [b"\n", b"\r\n"])
@pytest.mark.parametrize("last", [b"", b"end"])
def test_separators_and_ends_have_one_outcome(tmp_path: Path, separator: bytes, end: bytes, last: bytes) -> None:
    text = RUN.replace(b" ", separator).replace(b"\n", end)
    assert_one_outcome(text if last else text[: -len(end)], tmp_path / "run.trec")
    qrels = b"".join(b"q%d 0 d%d %d\n" % (q, d, d % 4) for q in range(40) for d in range(20))
    qrels = qrels.replace(b" ", separator).replace(b"\n", end)
    assert_one_outcome(qrels if last else qrels[: -len(end)], tmp_path / "qrels.trec", Judgments)


def test_messes_that_keep_the_number_of_separators_are_not_regular(tmp_path: Path) -> None:
    """A lost field and one space more: a parser of csv would read an empty field."""
    lost = RUN.replace(b"q3 Q0 d7 ", b"q3  d7 ", 1)
    assert_one_outcome(lost, tmp_path / "run.trec")
    with pytest.raises(InputError, match=r"run\.trec:61: .*score"):
        Run.read(tmp_path / "run.trec")


@pytest.mark.parametrize("cut", range(1, 30))
def test_a_file_cut_anywhere_in_its_last_line_has_one_outcome(tmp_path: Path, cut: int) -> None:
    assert_one_outcome(SHORTER[:-cut], tmp_path / "run.trec")


def test_a_file_is_read_in_parts_twice(tmp_path: Path, reader: str) -> None:
    """The kernel counts the lines first, and polars is asked only once it is known what their rows take."""
    (tmp_path / "run.trec").write_bytes(RUN)
    read: list[slice] = []
    pread = lines.os.pread
    with (
        small_parts(),
        patch.object(format_detection, "read_content", lambda source: pytest.fail("read as a whole")),
        patch.object(lines.os, "pread", lambda file, n, at: read.append(slice(at, at + n)) or pread(file, n, at)),
    ):
        run = Run.read(tmp_path / "run.trec")
    whole = sorted((part for part in read if part.stop - part.start != 128), key=lambda part: part.start)
    assert whole[::2] == whole[1::2]
    parts = whole[::2]
    assert parts[0].start == 0
    assert parts[-1].stop == len(RUN)
    assert all(one.stop == other.start for one, other in pairwise(parts))
    assert len(parts) > 20
    assert run.frame.equals(Run.read(BytesIO(RUN)).frame)


@pytest.mark.parametrize("change", ["append", "touch", "replace", "remove", "truncate"])
def test_a_file_that_changes_while_it_is_read_is_refused(tmp_path: Path, reader: str, change: str) -> None:
    path = tmp_path / "run.trec"
    path.write_bytes(RUN)

    def parse(*arguments):
        if change == "append":
            path.write_bytes(RUN + RUN.replace(b"q", b"r"))
        elif change == "touch":
            lines.os.utime(path, ns=(1, 1))
        elif change == "replace":
            (tmp_path / "other").write_bytes(RUN)
            (tmp_path / "other").replace(path)
        elif change == "remove":
            path.unlink()
        else:
            path.write_bytes(RUN[:5000])
        return regular_reader.read_regular(*arguments)

    with (
        small_parts(),
        patch.object(format_detection, "read_regular", parse),
        pytest.raises(InputError, match="changed while it was read"),
    ):
        Run.read(path)


def test_where_lines_are_too_long_to_cut_at_parts_are_larger(tmp_path: Path) -> None:
    rows = pl.DataFrame({"q": [f"q{i}" for i in range(9)]})["q"].to_list()
    data = "".join(f"{q} Q0 {'d' * 500} 1 1.5 tag\n" for q in rows).encode()
    assert_one_outcome(data, tmp_path / "run.trec")


def test_a_dash_is_standard_input_beside_a_large_file_of_that_name(tmp_path: Path, monkeypatch) -> None:
    (tmp_path / "-").write_bytes(RUN)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "stdin", TextIOWrapper(BytesIO(b"q Q0 d 1 2 t\n")))
    with small_parts():
        run = Run.read("-")
    assert (run.source, run.frame["doc_id"].to_list()) == ("<stdin>", ["d"])


def test_a_part_is_read_to_its_end_however_little_the_system_gives(tmp_path: Path, monkeypatch, reader: str) -> None:
    lines = [b"q1 Q0 d%03d 1 0.5 tag\n" % document for document in range(100)]
    (tmp_path / "run.trec").write_bytes(b"".join(lines))
    give = os.pread
    monkeypatch.setattr(os, "pread", lambda file, size, at: give(file, min(size, 3 * len(lines[0])), at))
    with small_parts():
        assert Run.read(tmp_path / "run.trec").frame.height == len(lines)


def test_the_source_is_the_path_as_given_however_large_the_file(tmp_path: Path, monkeypatch) -> None:
    (tmp_path / "run.trec").write_bytes(RUN)
    monkeypatch.chdir(tmp_path)
    with small_parts():
        assert Run.read("./run.trec").source == "./run.trec"
