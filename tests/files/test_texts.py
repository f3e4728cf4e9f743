"""Texts in memory and on disk: the same from every form of a corpus, and the same faults in one line each."""

import gzip
import json
import os
import pickle
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from trueval.collection import (
    Collection,
    ids_in_order,
    text_hash,
    texts_in_order,
    texts_with_ids_hash,
)
from trueval.errors import InputError
from trueval.files import temporary_files
from trueval.files.source.fingerprints import record_files
from trueval.files.source.memory_estimate import memory
from trueval.files.texts import text_mapping as room
from trueval.files.texts import text_store
from trueval.files.texts.text_files import find_parts
from trueval.files.texts.text_rows import read_rows
from trueval.files.texts.text_store import StoredTexts

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

ROWS: list[dict[str, Any]] = [
    {"_id": "d1", "title": "Wings", "text": "Lift and drag."},
    {"_id": "7", "title": "", "text": "é\u2028\x00 \U0001f600"},
    {"_id": "d" * 40, "title": None, "text": "A long id."},
    {"_id": "empty", "title": "", "text": ""},
    {"_id": "ünï", "title": "t", "text": "x" * 10_000},
]
TEXTS = {
    "d1": "Wings Lift and drag.",
    "7": "é\u2028\x00 \U0001f600",
    "d" * 40: "A long id.",
    "empty": "",
    "ünï": "t " + "x" * 10_000,
}


def as_lines(rows: list[dict[str, Any]]) -> bytes:
    return b"".join(json.dumps(row).encode() + b"\n" for row in rows)


def write(folder: Path, form: str, rows: list[dict[str, Any]]) -> None:
    """Write a corpus in one of its forms, and one query."""
    folder.mkdir(exist_ok=True)
    (folder / "queries.jsonl").write_text('{"_id": "q", "text": "?"}\n', encoding="utf-8")
    packers: dict[str, Callable[[bytes], bytes]] = {"": bytes, ".gz": gzip.compress, ".zst": zstd.compress}
    if form in (".jsonl", ".jsonl.gz", ".jsonl.zst"):
        (folder / f"corpus{form}").write_bytes(packers[form.removeprefix(".jsonl")](as_lines(rows)))
    elif form == ".parquet":
        pl.DataFrame(rows).write_parquet(folder / "corpus.parquet", row_group_size=2)
    else:
        (folder / "corpus").mkdir()
        for part, some in enumerate((rows[:2], [], rows[2:])):
            if form == "parts of lines":
                (folder / "corpus" / f"part-{part}.jsonl.gz").write_bytes(gzip.compress(as_lines(some)))
            else:
                frame = pl.DataFrame(some, schema=dict.fromkeys(("_id", "title", "text"), pl.String))
                frame.write_parquet(folder / "corpus" / f"part-{part}.parquet")


FORMS = (".jsonl", ".jsonl.gz", ".jsonl.zst", ".parquet", "parts of lines", "parts of parquet")


@pytest.fixture(params=["in memory", "on disk"])
def place(request: pytest.FixtureRequest) -> str:
    """Where texts are held; on disk from the second one on."""
    if request.param == "on disk":
        request.getfixturevalue("on_disk")
    return str(request.param)


@pytest.fixture
def on_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    """No text stays in memory."""
    monkeypatch.setattr(room, "IN_MEMORY", 0)
    monkeypatch.setattr(room, "BATCH", 2)
    monkeypatch.setattr(room, "TOGETHER", 2)
    monkeypatch.setattr(text_store, "BLOCK", 64)
    monkeypatch.setattr(text_store, "KEYS", 2)


@pytest.mark.parametrize("form", FORMS)
def test_every_form_gives_the_same_texts_wherever_they_are_held(form: str, place: str, tmp_path: Path) -> None:
    write(tmp_path, form, ROWS)
    found = Collection.read(str(tmp_path))
    texts = found.documents
    assert isinstance(texts, StoredTexts) == (place == "on disk")
    assert list(texts) == list(TEXTS)
    assert list(texts.values()) == list(TEXTS.values())
    assert list(texts.items()) == list(TEXTS.items())
    assert texts == TEXTS
    assert {id: texts[id] for id in reversed(TEXTS)} == TEXTS
    assert len(texts) == len(texts.values()) == 5
    assert "d1" in texts
    assert "d2" not in texts
    assert 7 not in texts
    assert texts.get("d2") is None
    with pytest.raises(KeyError, match="d2"):
        texts["d2"]
    assert ids_in_order(texts).to_list() == list(TEXTS)
    ordered = texts_in_order(texts)
    assert list(ordered) == [ordered[at] for at in range(5)] == list(ordered[:]) == list(TEXTS.values())
    assert ordered[-1] == TEXTS["ünï"]
    assert texts_with_ids_hash(texts) == text_hash(each for pair in TEXTS.items() for each in pair)
    assert found.notes == (
        f"{find_parts(tmp_path, 'corpus').display_name}: 1 of 5 documents have no text, such as 'empty'.",
    )


@pytest.mark.usefixtures("on_disk")
def test_who_waits_is_told_how_many_documents_were_read(tmp_path: Path) -> None:
    write(tmp_path, ".jsonl", ROWS)
    told: list[int] = []
    Collection.read(str(tmp_path), tell=told.append)
    assert told == [2, 4]


def test_half_a_surrogate_pair_is_kept(place: str, tmp_path: Path) -> None:
    write(tmp_path, ".jsonl", ROWS)
    (tmp_path / "corpus.jsonl").write_text('{"_id": "a", "text": "x\\ud800"}\n{"_id": "b", "text": "y"}\n')
    texts = Collection.read(str(tmp_path)).documents
    assert dict(texts) == {"a": "x\ud800", "b": "y"}
    assert texts_with_ids_hash(texts) == text_hash(["a", "x\ud800", "b", "y"])


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (
            b'{"_id": "a", "text": "x"}\n\n{"_id": "a"}\n',
            r"part-1.jsonl:3: .*'a' appears twice, first at .*part-1.jsonl:1",
        ),
        (b'\n\n{"_id": "b"}\n\n{"_id": 7}\n', r"part-1.jsonl:5: .*'7' appears twice, first at .*part-0.jsonl:2"),
        # What is at fault first is said first, although ids are compared at the end.
        (b'{"_id": "d1"}\n{"_id": ', r"part-1.jsonl:1: .*'d1' appears twice, first at .*part-0.jsonl:1"),
        (b'{"_id": "b"}\nx\n{"_id": "d1"}\n', r"part-1.jsonl:2: not JSON"),
        (b'{"_id": "b"}\n{"_id": 1.5}', r"part-1.jsonl:2: not a text with an id.*Got '1.5'"),
        (gzip.compress(b'{"_id": "b"}\n' * 99, mtime=0)[:-9], r"part-1.jsonl:2: .*'b' appears twice"),
        (gzip.compress(b'{"_id": "b"}\n', mtime=0)[:-5], r"part-1.jsonl: the gzip file is truncated"),
    ],
)
def test_faults_of_parts_have_file_and_line(place: str, rows: bytes, message: str, tmp_path: Path) -> None:
    write(tmp_path, "parts of lines", [])
    for path in (tmp_path / "corpus").iterdir():
        path.unlink()
    (tmp_path / "corpus" / "part-0.jsonl").write_bytes(as_lines(ROWS))
    (tmp_path / "corpus" / "part-1.jsonl").write_bytes(rows)
    with pytest.raises(InputError, match=message):
        Collection.read(str(tmp_path))


def test_ids_twice_in_parquet_have_file_and_row(place: str, tmp_path: Path) -> None:
    write(tmp_path, ".parquet", [*ROWS, ROWS[1]])
    with pytest.raises(
        InputError, match=r"corpus.parquet: row 6: .*'7' appears twice, first at .*corpus.parquet: row 2"
    ):
        Collection.read(str(tmp_path))


@pytest.mark.usefixtures("on_disk")
def test_equal_hashes_of_different_ids_are_told_apart(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for module in (room, text_store):
        monkeypatch.setattr(module, "hash", len, raising=False)
    write(tmp_path, ".jsonl", [{"_id": id, "text": id.upper()} for id in ("a", "b", "c", "aa")])
    texts = Collection.read(str(tmp_path)).documents
    assert {id: texts[id] for id in "abc"} == {"a": "A", "b": "B", "c": "C"}
    assert "d" not in texts
    write(tmp_path, ".jsonl", [{"_id": id, "text": "x"} for id in ("a", "b", "c", "b", "a")])
    with pytest.raises(InputError, match=r"corpus.jsonl:4: the id 'b' appears twice, first at .*corpus.jsonl:2"):
        Collection.read(str(tmp_path))


@pytest.mark.parametrize(
    ("frame", "message"),
    [
        ({"_id": ["a", None], "text": ["x", "y"]}, "corpus.parquet: row 2: the id is empty"),
        ({"_id": ["a", ""], "text": ["x", "y"]}, "corpus.parquet: row 2: the id is empty"),
        ({"_id": [1.0], "text": ["x"]}, "holds Float64. Ids must be strings or integers"),
        ({"doc": ["a"], "text": ["x"]}, "no column for ids, _id or id. Got: doc, text"),
        ({"_id": ["a"], "body": ["x"]}, "no column for a text, title or text. Got: _id, body"),
        ({"_id": ["a"], "text": [b"x"]}, "the column 'text' holds Binary. It must hold strings"),
        ({"_id": ["a"], "text": [None]}, "no document has a text. It must be in 'title' or 'text'"),
    ],
)
def test_columns_that_are_no_texts_are_refused(frame: dict[str, list[Any]], message: str, tmp_path: Path) -> None:
    write(tmp_path, ".jsonl", [])
    (tmp_path / "corpus.jsonl").unlink()
    pl.DataFrame(frame).write_parquet(tmp_path / "corpus.parquet")
    with pytest.raises(InputError, match=message):
        Collection.read(str(tmp_path))


def test_integers_and_the_name_id_are_ids_of_parquet_and_lines_alike(tmp_path: Path) -> None:
    rows = [{"id": 7, "text": "x", "authors": ["A", "B"]}, {"id": 8, "text": None, "authors": None}]
    write(tmp_path / "lines", ".jsonl", rows)
    write(tmp_path / "parquet", ".parquet", rows)
    for folder in ("lines", "parquet"):
        found = Collection.read(str(tmp_path / folder), fields=["authors", "text"])
        assert found.documents == {"7": "A, B x", "8": ""}


def test_a_damaged_parquet_file_is_refused(tmp_path: Path) -> None:
    write(tmp_path, ".parquet", ROWS)
    path = tmp_path / "corpus.parquet"
    whole = path.read_bytes()
    for data in (whole[:-9], whole[: len(whole) // 2], b"", b"PAR1" + whole[200:]):
        path.write_bytes(data)
        with pytest.raises(
            InputError, match=r"corpus.parquet: the (parquet file is truncated or damaged|file is empty)"
        ):
            Collection.read(str(tmp_path))


def test_a_row_group_larger_than_memory_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "corpus.parquet"
    frame = pl.DataFrame({"_id": [str(at) for at in range(9000)], "text": "x", "vector": [[0.5] * 99] * 9000})
    frame.write_parquet(path, row_group_size=1000)
    with memory("1M"):
        assert sum(1 for _ in read_rows([path], ["text"])) == 9000
        with pytest.raises(InputError, match=r"corpus.parquet: to read it takes about 4\.\d MiB of memory"):
            list(read_rows([path]))
    frame.write_parquet(path)
    with memory("1M"), pytest.raises(InputError, match=r"corpus.parquet: to read it takes about 1\.\d MiB of memory"):
        list(read_rows([path], ["text"]))


@pytest.mark.parametrize(("name", "there"), [("corpus", "corpus.jsonl"), ("corpus", "corpus.parquet")])
def test_a_corpus_in_two_forms_is_refused(name: str, there: str, tmp_path: Path) -> None:
    write(tmp_path, "parts of lines", ROWS)
    (tmp_path / there).write_bytes(b"")
    with pytest.raises(InputError, match=f"{name} and {there} are there. There must be one of them"):
        Collection.read(str(tmp_path))


def test_folders_of_parts_are_checked(tmp_path: Path) -> None:
    write(tmp_path, "parts of lines", ROWS)
    folder = tmp_path / "corpus"
    for name in ("README.md", "part-9.jsonl.tmp", "_SUCCESS", ".part-0.jsonl.crc"):
        (folder / name).write_text("not a text")
    note = Collection.read(str(tmp_path)).notes[0]
    assert note.endswith("corpus: 2 files are no texts and are not read, such as README.md, part-9.jsonl.tmp.")
    (folder / "part-1.parquet").write_bytes(b"")
    with pytest.raises(InputError, match=r"corpus: it holds lines and parquet. All parts must be of one kind"):
        Collection.read(str(tmp_path))
    for path in folder.iterdir():
        path.unlink()
    with pytest.raises(InputError, match=r"corpus: no texts. A folder of parts must hold .jsonl"):
        Collection.read(str(tmp_path))


def test_parts_are_read_in_the_order_of_their_names(tmp_path: Path) -> None:
    write(tmp_path, "parts of lines", [])
    for name in ("b", "a", "c"):
        (tmp_path / "corpus" / f"part-{name}.jsonl").write_text(f'{{"_id": "{name}", "text": "x"}}')
    with record_files() as seen:
        assert list(Collection.read(str(tmp_path)).documents) == ["a", "b", "c"]
    assert [Path(path).name for path in seen if "part-" in path and "gz" not in path] == [
        f"part-{name}.jsonl" for name in "abc"
    ]


@pytest.mark.parametrize("form", ["parts of lines", "parts of parquet"])
def test_a_part_that_cannot_be_read_is_named(form: str, tmp_path: Path) -> None:
    write(tmp_path, form, ROWS)
    part = max((tmp_path / "corpus").iterdir())
    part.unlink()
    part.mkdir()
    with pytest.raises(InputError, match=f"{part.name}: this is not a regular file"):
        Collection.read(str(tmp_path))
    part.rmdir()
    part.symlink_to(tmp_path / "absent")
    with pytest.raises(InputError, match=f"{part.name}: no such file"):
        Collection.read(str(tmp_path))


def test_parts_of_parquet_need_not_have_the_same_columns(tmp_path: Path) -> None:
    write(tmp_path, "parts of parquet", ROWS)
    pl.DataFrame({"text": ["x"], "id": [3]}).write_parquet(tmp_path / "corpus" / "part-9.parquet")
    assert Collection.read(str(tmp_path)).documents == {**TEXTS, "3": "x"}
    pl.DataFrame({"title": [{"a": 1}], "id": [4]}).write_parquet(tmp_path / "corpus" / "part-a.parquet")
    with pytest.raises(InputError, match=r"part-a.parquet: the column 'title' holds Struct.*It must hold strings"):
        Collection.read(str(tmp_path))


def test_a_parquet_file_is_hashed_where_somebody_asks_and_watched(tmp_path: Path) -> None:
    write(tmp_path, ".parquet", ROWS)
    path = tmp_path / "corpus.parquet"
    with record_files() as seen:
        assert len(list(read_rows([path]))) == 5
    found = seen.get(str(path))
    assert found is not None
    assert found.bytes == path.stat().st_size
    rows = read_rows([path])
    next(rows)
    with path.open("ab") as file:
        file.write(b"more")
    with pytest.raises(InputError, match="changed while it was read"):
        list(rows)


@pytest.fixture
def stored(on_disk: None, tmp_path: Path) -> Mapping[str, str]:
    """Five hundred texts on disk."""
    write(tmp_path, ".jsonl", [{"_id": str(at), "text": f"{at} " * (at % 50 + 1)} for at in range(500)])
    return Collection.read(str(tmp_path)).documents


@pytest.mark.parametrize("pread", [True, False])
def test_threads_read_what_is_stored_at_the_same_time(
    pread: bool, stored: Mapping[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    if not pread:
        monkeypatch.delattr(os, "pread", raising=False)  # as on Windows
    wrong: list[int] = []

    def look(seed: int) -> None:
        places = np.random.default_rng(seed).integers(0, 500, 300).tolist()
        wrong.extend(at for at in places if stored[str(at)] != f"{at} " * (at % 50 + 1))

    threads = [threading.Thread(target=look, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


READ = """
import pickle, sys
from pathlib import Path

found = pickle.loads(Path(sys.argv[1]).read_bytes())
print(len(found), list(found) == [str(at) for at in range(500)], found["7"], "500" in found, found.sha256)
"""


def test_what_is_stored_is_read_by_another_process(stored: Mapping[str, str], tmp_path: Path) -> None:
    """Whose hashes of ids are others."""
    assert isinstance(stored, StoredTexts)
    (tmp_path / "pickle").write_bytes(pickle.dumps(stored))
    program = [sys.executable, "-c", READ, str(tmp_path / "pickle")]
    done = subprocess.run(program, capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["500", "True", *["7"] * 8, "False", stored.sha256]
    again = pickle.loads(pickle.dumps(stored))
    assert [*again.items()] == [*stored.items()]


@pytest.mark.usefixtures("on_disk")
def test_a_full_disk_is_said_with_its_cure(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    write(tmp_path, ".jsonl", ROWS)
    monkeypatch.setenv("TMPDIR", str(tmp_path / "absent"))
    monkeypatch.setattr(temporary_files.tempfile, "tempdir", str(tmp_path / "absent"))
    with pytest.raises(InputError, match=r"absent: no room for a temporary file \(No such file or directory\).*TMPDIR"):
        Collection.read(str(tmp_path))
    if Path("/dev/full").exists():
        monkeypatch.setattr(temporary_files.tempfile, "TemporaryFile", lambda **_: Path("/dev/full").open("wb"))  # noqa: SIM115
        with pytest.raises(InputError, match=r"no room for a temporary file \(No space left on device\)"):
            Collection.read(str(tmp_path))


KILLED = """
import os, signal, sys
from trueval.collection import Collection
from trueval.files.texts import text_mapping
text_mapping.IN_MEMORY, text_mapping.BATCH, text_mapping.TOGETHER = 0, 2, 2
taken = text_mapping._TextBuffer._write
def write(self, writer):
    taken(self, writer)
    os.kill(os.getpid(), signal.SIGKILL)
text_mapping._TextBuffer._write = write
Collection.read(sys.argv[1])
"""


@pytest.mark.skipif(sys.platform == "win32", reason="the system has no SIGKILL")
def test_nothing_is_left_of_a_store_whose_process_was_killed(tmp_path: Path) -> None:
    write(tmp_path / "c", ".jsonl", ROWS)
    (tmp_path / "tmp").mkdir()
    command = [sys.executable, "-c", KILLED, str(tmp_path / "c")]
    done = subprocess.run(command, env={**os.environ, "TMPDIR": str(tmp_path / "tmp")}, check=False)
    assert done.returncode == -signal.SIGKILL
    assert list((tmp_path / "tmp").iterdir()) == []
    assert Collection.read(str(tmp_path / "c")).documents == TEXTS


MEASURED = """
import sys
from trueval.collection import Collection
from trueval.files.texts import text_mapping
def peak():
    return next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith("VmHWM")) << 10
text_mapping.IN_MEMORY = 0
Collection.read(sys.argv[1])  # what is loaded once is no part of it
before = peak()
texts = Collection.read(sys.argv[2]).documents
print((peak() - before) / len(texts))
"""


@pytest.mark.evidence
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="the system does not say how much memory was taken")
def test_texts_on_disk_take_no_more_memory_than_they_say(tmp_path: Path) -> None:
    for folder, rows in (("few", 40_000), ("many", 800_000)):
        write(tmp_path / folder, ".jsonl", [])
        with (tmp_path / folder / "corpus.jsonl").open("w") as file:
            file.writelines(f'{{"_id": "{at:07}", "text": "{"lift " * 20}"}}\n' for at in range(rows))
    command = [sys.executable, "-c", MEASURED, str(tmp_path / "few"), str(tmp_path / "many")]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert 30 < float(done.stdout) < room.ROW_ON_DISK + 7


@pytest.mark.usefixtures("on_disk")
def test_a_text_of_fifty_megabytes_is_a_text(tmp_path: Path) -> None:
    write(tmp_path, ".jsonl", [{"_id": "a", "text": "ab " * (50 << 20 >> 2)}, {"_id": "b", "text": "z"}])
    texts = Collection.read(str(tmp_path)).documents
    assert len(texts["a"]) == 3 * (50 << 20 >> 2)
    assert texts["b"] == "z"


def test_zero_is_a_text_of_parquet_and_lines_alike(tmp_path: Path) -> None:
    rows = [{"_id": "a", "text": "x", "year": 0}, {"_id": "b", "text": "y", "year": 1999}]
    for folder, form in (("lines", ".jsonl"), ("parquet", ".parquet")):
        (tmp_path / folder).mkdir()
        write(tmp_path / folder, form, rows)
        found = Collection.read(str(tmp_path / folder), fields=("text", "year"))
        assert dict(found.documents) == {"a": "x 0", "b": "y 1999"}


def test_a_folder_of_parts_may_have_the_name_of_a_file(tmp_path: Path) -> None:
    write(tmp_path, "parts of parquet", ROWS)
    expected = dict(Collection.read(str(tmp_path)).documents)
    (tmp_path / "corpus").rename(tmp_path / "corpus.parquet")
    assert dict(Collection.read(str(tmp_path)).documents) == expected
