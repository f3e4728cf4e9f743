import gzip
import hashlib
import io
import os
import sys
from pathlib import Path
from threading import Thread

import pytest

from trueval.errors import InputError
from trueval.files import read_table
from trueval.files.json.jsonl_texts import read_text_rows
from trueval.files.source import fingerprints, line_parts
from trueval.files.source.fingerprints import FileFingerprints, Fingerprint, PartsHash, record_files
from trueval.files.trec import regular_reader
from trueval.files.trec.kernel import scan

TEXT = "".join(f"q{row // 100} Q0 d{row} {row % 100 + 1} {-row}.5 tag\n" for row in range(9000)).encode()


def fingerprint(data: bytes) -> Fingerprint:
    return Fingerprint(len(data), hashlib.sha256(data).hexdigest())


@pytest.fixture
def small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Reads part by part what is far smaller than files that are read so."""
    monkeypatch.setattr(line_parts, "LARGE", 1000)
    monkeypatch.setattr(scan, "PART", 1000)
    monkeypatch.setattr(regular_reader, "PART", 1000)


def test_parts_hash_alike_in_any_order() -> None:
    digest = PartsHash()
    for at in (6, 3, 0):
        digest.take(at, TEXT[at : at + 3])
    assert digest.fingerprint() == fingerprint(TEXT[:9])
    digest.take(12, b"behind a part that is missing")
    assert digest.fingerprint().bytes == 9
    digest.begin()
    assert digest.fingerprint() == fingerprint(b"")


@pytest.mark.usefixtures("small_parts")
@pytest.mark.parametrize("compiled", [True, False])
@pytest.mark.parametrize("end", [b"", b"q99 Q0 d 1 1.5\n", b"# a comment\n"])  # the last two are read once more
def test_a_file_read_part_by_part_is_hashed_as_it_is(
    compiled: bool, end: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scan, "is_compiled", compiled and scan.is_compiled)
    path = tmp_path / "run.trec"
    path.write_bytes(TEXT + end)
    with record_files() as found:
        read_table(path, "run")
    assert list(found) == [str(path)]
    assert found.get(str(path)) == fingerprint(TEXT + end)


@pytest.mark.usefixtures("small_parts")
def test_the_hash_is_of_the_bytes_that_gave_the_rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "run.trec"
    path.write_bytes(TEXT)
    given = line_parts._read_part

    def changed(file: int, part: slice) -> bytes:  # as one that is written to through memory, which leaves its date
        return given(file, part).replace(b"d8999 ", b"x8999 ")

    monkeypatch.setattr(line_parts, "_read_part", changed)
    with record_files() as found:
        table, _ = read_table(path, "run")
    assert table.frame["doc_id"][-1] == "x8999"
    assert found.get(str(path)) == fingerprint(TEXT.replace(b"d8999 ", b"x8999 "))


def test_packed_files_and_standard_input_are_hashed_as_they_come(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    packed = gzip.compress(TEXT)
    (tmp_path / "run.trec").write_bytes(packed)
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(packed)))
    with record_files() as found:
        read_table(tmp_path / "run.trec", "run")
        read_table("-", "run")
    assert found.get("-") == found.get(str(tmp_path / "run.trec")) == fingerprint(packed)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="the system has no named pipes")
def test_a_pipe_is_read_once_and_hashed(tmp_path: Path) -> None:
    path = tmp_path / "run.trec"
    os.mkfifo(path)
    writer = Thread(target=path.write_bytes, args=(TEXT,))
    writer.start()
    with record_files() as found:
        table, name = read_table(path, "run")
    writer.join()
    assert (name, table.frame.height) == ("run", 9000)
    assert found.get(str(path)) == fingerprint(TEXT)


def test_a_file_that_is_other_when_read_again_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "run.trec"
    path.write_bytes(TEXT)
    with record_files() as found:
        read_table(path, "run")
        read_table(path, "run")
        path.write_bytes(TEXT.replace(b"d7 ", b"d8999 "))
        with pytest.raises(InputError, match="the file changed while it was read"):
            read_table(path, "run")
    assert found.get(str(path)) == fingerprint(TEXT)


@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_texts_are_hashed_to_the_last_byte(pack: type[bytes], tmp_path: Path) -> None:
    data = pack(b'{"_id": "d1", "text": "one"}\n\n{"_id": 2, "text": "two"}')
    path = tmp_path / "corpus.jsonl"
    path.write_bytes(data)
    with record_files() as found:
        rows = read_text_rows(path)
        assert next(rows).id == "d1"
        assert found.get(str(path)) is None  # only what was read to its end has a hash
        assert [row.id for row in rows] == ["2"]
    assert found.get(str(path)) == fingerprint(data)


@pytest.mark.usefixtures("small_parts")
def test_nothing_is_hashed_where_nobody_asks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("note", "take"):
        monkeypatch.setattr(FileFingerprints if name == "note" else PartsHash, name, lambda *_: pytest.fail("hashed"))
    monkeypatch.setattr(fingerprints, "Fingerprint", lambda *_: pytest.fail("hashed"))
    (tmp_path / "run.trec").write_bytes(TEXT)
    (tmp_path / "packed").write_bytes(gzip.compress(TEXT))
    read_table(tmp_path / "run.trec", "run")
    read_table(tmp_path / "packed", "run")
