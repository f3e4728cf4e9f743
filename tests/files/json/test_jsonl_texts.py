import gzip
import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from trueval.collection import Collection
from trueval.errors import InputError
from trueval.evaluation.content_hashes import collection_hashes
from trueval.evaluation.views.texts import read_texts
from trueval.files.json.jsonl_texts import read_text_rows

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

SOUND = '{"_id": "d1", "text": "é"}\n\n{"_id": 7, "title": "t"}\n'


def by_collection(folder: Path) -> None:
    Collection.read(str(folder))


def by_hash(folder: Path) -> None:
    collection_hashes(folder)


def by_page(folder: Path) -> None:
    read_texts([folder / "corpus.jsonl"], {"d1"})


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "qrels.trec").write_text("q 0 d1 1\n", encoding="utf-8")
    (tmp_path / "queries.jsonl").write_text('{"_id": "q", "text": "?"}\n', encoding="utf-8")
    return tmp_path


@pytest.mark.parametrize("pack", [bytes, gzip.compress, zstd.compress, lambda data: b"\xef\xbb\xbf" + data])
def test_texts_are_read_however_they_are_packed(pack: Callable[[bytes], bytes], tmp_path: Path) -> None:
    (tmp_path / "corpus.jsonl").write_bytes(pack(SOUND.encode()))
    rows = list(read_text_rows(tmp_path / "corpus.jsonl"))
    assert [(row.id, row.place.line, row.values.get("text")) for row in rows] == [("d1", 1, "é"), ("7", 3, None)]


# Without times of packing, which would be in the names of the tests, and two workers must give them the same ones.
@pytest.mark.parametrize("read", [by_collection, by_hash, by_page])
@pytest.mark.parametrize(
    ("data", "message"),
    [
        (SOUND.encode("latin-1"), ":1: byte 0xe9 is not UTF-8"),
        (SOUND.encode("utf-16"), ":1: the text is UTF-16"),
        (b'{"_id": "d1"}\n' + b'{"_id": "d2", "text": ' + b"[" * 100_000 + b"\n", ":2: nested too deep"),
        (b'{"_id": "d1"}\n' + b'{"a":' * 100_000 + b"\n", ":2: nested too deep"),
        (b'{"_id": "d1"}\n["d2"]\n', r":2: '\[\"d2\"\]'. Each line must be one object"),
        (b'{"_id": "d1"}\n7\n', ":2: '7'. Each line must be one object"),
        (b'{"_id": "d1"', ":1: not JSON"),
        (b'{"_id": 1.0}\n', ":1: not a text with an id: ids are strings or integers. Got '1.0'"),
        (b'{"_id": null}\n', "Got None"),
        (b'{"_id": true}\n', "Got True"),
        (b'{"_id": ""}\n', "Got ''"),
        (b'{"_id": ["d1"]}\n', r"Got \['d1'\]"),
        (b'{"_id": "\\ud800"}\n', r"Got '\\ud800'"),
        (b'{"text": "x"}\n', "Got no _id"),
        (b'{"_id": "d1", "_id": "d2"}\n', ":1: the key '_id' is twice in one object"),
        (b'{"_id": ' + b"9" * 5000 + b"x}\n", ":1: not JSON"),
        (gzip.compress(SOUND.encode(), mtime=0)[:-5], "the gzip file is truncated"),
        (gzip.compress(SOUND.encode(), mtime=0)[:30] + b"\xff" * 9, "the gzip file is (damaged|truncated)"),
        (zstd.compress(SOUND.encode())[:-5], "the zstd file is truncated or damaged"),
        (gzip.compress(zstd.compress(SOUND.encode()), mtime=0), "packed twice"),
        (b"PK\x03\x04" + SOUND.encode(), "packed with zip"),
        (b'{"_id": "d1"}\n{"_id": "d1"}\n', ":2: the id 'd1' appears twice"),
    ],
)  # fmt: skip
def test_bad_texts_are_errors_with_their_line_for_whoever_reads_them(
    read: Callable[[Path], None], data: bytes, message: str, folder: Path
) -> None:
    (folder / "corpus.jsonl").write_bytes(data)
    if read is by_hash and "appears twice" in message:  # who hashes remembers no id
        read(folder)
        return
    with pytest.raises(InputError, match=message) as caught:
        read(folder)
    assert caught.value.source == str(folder / "corpus.jsonl")


def test_other_places_than_files_are_refused(tmp_path: Path) -> None:
    for path, message in ((tmp_path, "not a regular file"), (tmp_path / "no", "no such file"), (Path("\0"), "cannot")):
        with pytest.raises(InputError, match=message):
            list(read_text_rows(path))


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="the system has no named pipes")
def test_a_pipe_is_refused_without_waiting_for_it(folder: Path) -> None:
    os.mkfifo(folder / "corpus.jsonl")
    for read in (by_collection, by_hash, by_page):
        with pytest.raises(InputError, match="not a regular file, and texts may be read twice"):
            read(folder)


def test_half_a_surrogate_pair_in_a_text_can_be_shown(folder: Path) -> None:
    (folder / "corpus.jsonl").write_text('{"_id": "d1", "text": "a\\ud800"}\n', encoding="utf-8")
    found = read_texts([folder / "corpus.jsonl"], {"d1"})
    assert found["d1"].text == r"a\ud800"
    assert set(collection_hashes(folder)) == {"corpus", "query_texts"}
