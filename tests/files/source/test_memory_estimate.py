"""A file that takes more memory than it may is refused before it takes it."""

import gzip
import io
import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import trueval
from trueval.collection import Collection
from trueval.errors import InputError, PolicyError
from trueval.files.json.jsonl_texts import read_text_rows
from trueval.files.source import memory_estimate as room
from trueval.files.source.memory_estimate import VARIABLE, budget, free_memory, memory, parse_size
from trueval.judgments import Judgments
from trueval.precision.logits import read_logits
from trueval.rag.contexts import read_contexts
from trueval.rag.document_sources import read_sources
from trueval.run import Run

ROWS = 100_000
SOURCE = str(Path(trueval.__file__).parents[1])


@pytest.mark.parametrize(
    ("text", "size"),
    [("1", 1), ("8G", 8 << 30), ("500m", 500 << 20), ("1.5 GiB", 3 << 29), (" 2KB ", 2048), ("1T", 1 << 40)],
)
def test_sizes_are_read_as_people_write_them(text: str, size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    assert parse_size(text, "It") == size
    monkeypatch.setenv(VARIABLE, text)
    assert budget() == size
    with memory(7):
        assert budget() == 7  # what the caller says counts before the environment
    with memory(None):
        assert budget() == size


@pytest.mark.parametrize("text", ["0", "-1", "8X", "G", "1e9", "²", "0.1", "9" * 5000, "nan", "1,5G"])
def test_what_is_no_size_is_refused(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(PolicyError, match="must be a size such as 8G"):
        parse_size(text, "It")
    monkeypatch.setenv(VARIABLE, text)
    with pytest.raises(PolicyError, match=f"{VARIABLE} must be a size such as 8G"):
        Run.read(io.BytesIO(b"q Q0 d 1 1 t\n"))


def test_half_of_what_is_free_may_be_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(VARIABLE, raising=False)
    monkeypatch.setattr(room, "_of_machine", lambda: 1000)
    monkeypatch.setattr(room, "_of_groups", lambda: 600)
    monkeypatch.setattr(room, "_of_process", lambda: None)
    assert (free_memory(), budget(), budget(held=100)) == (600, 300, 350)
    monkeypatch.setattr(room, "_of_process", lambda: -5)
    assert budget() == 0
    for name in ("_of_machine", "_of_groups", "_of_process"):
        monkeypatch.setattr(room, name, lambda: None)
    assert budget() == room.UNKNOWN // 2


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="only Linux says so in /proc")
def test_the_machine_says_what_is_free() -> None:
    found = room._of_machine()
    assert found is not None
    assert 1 << 20 < found < os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


def group(folder: Path, most: str, used: int, unused: int, *, first: bool) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    names = ("memory.limit_in_bytes", "memory.usage_in_bytes") if first else ("memory.max", "memory.current")
    for name, value in zip(names, (most, used), strict=True):
        (folder / name).write_text(f"{value}\n", encoding="ascii")
    stat = f"anon 1\n{'total_inactive_file' if first else 'inactive_file'} {unused}\n"
    (folder / "memory.stat").write_text(stat, encoding="ascii")


@pytest.mark.parametrize("first", [False, True])
def test_control_groups_leave_what_the_narrowest_leaves(first: bool, tmp_path: Path) -> None:
    top = tmp_path / "memory" if first else tmp_path
    own = tmp_path / "cgroup"
    own.write_text(f"7:cpu:/x\n{'4:memory' if first else '0:'}:/pod/one\n", encoding="ascii")
    assert room._of_groups(own, tmp_path) is None
    group(top / "pod" / "one", "5000", 1000, 0, first=first)
    assert room._of_groups(own, tmp_path) == 4000
    group(
        top / "pod", "3000", 2500, 300, first=first
    )  # the group above allows less; old files of the cache count as free
    assert room._of_groups(own, tmp_path) == 800
    group(top / "pod", "max", 2500, 300, first=first)
    assert room._of_groups(own, tmp_path) == 4000
    own.write_text(own.read_text("ascii").replace("/pod/one", "/of/the/host"), encoding="ascii")
    group(top, "2000", 500, 0, first=first)
    assert room._of_groups(own, tmp_path) == 1500  # in a container the root is its own group
    assert room._of_groups(tmp_path / "none", tmp_path) is None


def typed(write: str, **options: Any) -> bytes:
    held = io.BytesIO()
    ids = {"query_id": pl.repeat("q", ROWS * 10), "doc_id": pl.repeat("d" * 20, ROWS * 10)}
    getattr(pl.select(**ids, score=pl.repeat(0.5, ROWS * 10)), write)(held, **options)
    return held.getvalue()


def stored(path: Path) -> None:
    np.savez_compressed(
        path, query=np.zeros(ROWS * 4, "<U40"), doc=np.zeros(ROWS * 4, "<U40"), float32=np.zeros(ROWS * 4)
    )


# Small packed files of many rows: name → bytes, and who reads them.
BOMBS: Mapping[str, tuple[Callable[[], bytes], Callable[[Any], Any]]] = {
    "newlines": (lambda: b"\n" * ROWS * 400, Run.read),
    "run": (lambda: b"q Q0 d 1 1 t\n" * ROWS * 10, Run.read),
    "judgments": (lambda: b"q 0 d 1\n" * ROWS * 10, Judgments.read),
    "judgments, irregular": (lambda: b"#\n" + b"q 0 d 1\n" * ROWS * 10, Judgments.read),
    "csv": (lambda: b"qid,docno,score\n" + b"q,d,1\n" * ROWS * 4, Run.read),
    "csv, empty columns": (lambda: b"qid,docno,score" + b",a" * 97 + b"\n" + (b"q,d,1" + b"," * 97 + b"\n") * 20_000,
                           Run.read),
    "csv, quotes": (lambda: b"qid,docno,score\n" + b'"q","d","1"\n' * ROWS * 4, Run.read),
    "jsonl": (lambda: b'{"qid":"q","docno":"d","score":1}\n' * ROWS * 3, Run.read),
    "json": (lambda: b'{"q":{' + b'"d":1,' * ROWS * 6 + b'"e":1}}', Run.read),
    "json, objects": (lambda: b"[" + b"{}," * ROWS * 3 + b"{}]", Run.read),
    "json, wide characters": (lambda: b'{"q":{"' + "😀".encode() * ROWS * 25 + b'":1}}', Run.read),
    "log": (lambda: b'{"query":"q","ids":["d"' + b',"d"' * ROWS * 3 + b"]}", Run.read),
    "log in a list": (lambda: b'[{"query":"q","ids":["d"' + b',"d"' * ROWS * 3 + b"]}]", read_contexts),
    "parquet": (lambda: typed("write_parquet"), Run.read),
    "arrow": (lambda: typed("write_ipc", compression="zstd"), Run.read),
    "sources": (lambda: b"d s\n" * ROWS * 5, read_sources),
}  # fmt: skip


@pytest.mark.parametrize("name", BOMBS)
def test_small_packed_files_of_many_rows_are_refused(name: str) -> None:
    make, read = BOMBS[name]
    packed = gzip.compress(make(), 6)
    assert len(packed) < 1 << 20
    with (
        memory("50M"),
        pytest.raises(InputError, match=r"to read it takes .* and 50.0 MiB may be taken, as --memory or"),
    ):
        read(io.BytesIO(packed))


@pytest.mark.slow
def test_texts_and_stored_logits_of_many_rows_are_refused(tmp_path: Path) -> None:
    (tmp_path / "qrels.trec").write_text("q 0 d 1\n", encoding="utf-8")
    (tmp_path / "queries.jsonl").write_text('{"_id": "q", "text": "?"}\n', encoding="utf-8")
    corpus, line = tmp_path / "corpus.jsonl", '{"_id": "%d"}\n'
    with gzip.open(corpus, "wb", 1) as file:
        file.write("".join(line % number for number in range(40_000)).encode())
    with memory("2M"), pytest.raises(InputError, match=r"corpus.jsonl:16384: to read it takes about .* 2.0 MiB may be"):
        Collection.read(str(tmp_path))
    with gzip.open(corpus, "wb") as file:
        file.write(b'{"_id": "' + b" " * (1 << 22) + b'"}\n')
    with (
        memory("100M"),
        pytest.raises(InputError, match=r"corpus.jsonl:1: to read it takes a line of more than 2.9 MiB"),
    ):
        list(read_text_rows(corpus))
    stored(tmp_path / "m.npz")
    assert (tmp_path / "m.npz").stat().st_size < 1 << 20
    with memory("100M"), pytest.raises(InputError, match=r"m.npz: to read it takes about .* 100.0 MiB may be taken"):
        read_logits(tmp_path / "m.npz")


@pytest.mark.parametrize(
    "data",
    [
        "".join(f"q{row % 50} Q0 document-{row} {row} {-row} t\n" for row in range(5000)),
        "# c\n" + "".join(f"q{row % 50} Q0 document-{row} {row} {-row} t\n" for row in range(5000)),
        "qid,docno,score\n" + "".join(f"q{row % 50},document-{row},{row}\n" for row in range(5000)),
        "".join(f'{{"qid":"q{row % 50}","docno":"{row}","score":1}}\n' for row in range(5000)),
        json.dumps({"q": {str(row): row for row in range(5000)}}),
    ],
)
def test_ordinary_files_of_five_thousand_rows_take_less_than_eight_megabytes(data: str) -> None:
    with memory("8M"):
        assert len(Run.read(io.BytesIO(gzip.compress(data.encode()))).documents) == 5000


@pytest.mark.slow
def test_the_command_line_and_python_say_how_much(tmp_path: Path) -> None:
    (tmp_path / "q").write_bytes(b"q 0 d 1\n")
    (tmp_path / "r").write_bytes(gzip.compress(b"q Q0 d 1 1 t\n" * ROWS * 3))
    command = [sys.executable, "-m", "trueval", "evaluate", "q", "r", "--memory"]
    environment = {**os.environ, "PYTHONPATH": SOURCE}
    options: dict[str, Any] = {"cwd": tmp_path, "env": environment, "capture_output": True, "text": True}
    done = subprocess.run([*command, "20M"], **options)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith(
        "trueval: r: to read it takes about 20.9 MiB of memory, and 20.0 MiB may be taken, as"
    )
    done = subprocess.run([*command, "much"], **options)
    assert (done.returncode, "The memory must be a size such as 8G" in done.stderr) == (2, True)


PROGRAM = """
import resource, sys
from trueval.errors import InputError
from trueval.run import Run
Run.read(sys.argv[1])
taken = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (taken + (600 << 20),) * 2)
try:
    Run.read(sys.argv[2])
except InputError as error:
    print("half of what is free" in str(error), error)
"""


@pytest.mark.slow
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="only Linux holds the address space to its limit")
def test_what_ulimit_leaves_is_kept(tmp_path: Path) -> None:
    """A gzip of 1 MB whose rows take 1 GiB, where 600 MiB are left."""
    (tmp_path / "small").write_bytes(b"q Q0 d 1 1 t\n")
    (tmp_path / "bomb").write_bytes(gzip.compress(b"q Q0 d 1 1 t\n" * ROWS * 100, 1))
    environment = {**os.environ, "PYTHONPATH": SOURCE}
    command = [sys.executable, "-c", PROGRAM, "small", "bomb"]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert done.stdout.startswith("True"), (done.stdout, done.stderr[-1000:])


def needed(data: bytes) -> int:
    """The least memory that a file is read with: what every reader on its way says in turn that it takes."""
    size = 1
    while (more := refused(data, size)) is not None:
        size = max(more, int(size * 1.2))
    return size


def refused(data: bytes, size: int) -> int | None:
    """What the error says that the file takes; None where it is read."""
    try:
        with memory(size):
            Run.read(io.BytesIO(data))
    except InputError as error:
        found = re.findall(r"takes (?:about|more than) ([0-9.,]+) (MiB|GiB)", str(error))[0]
        return parse_size(f"{float(found[0].replace(',', '')) + 0.1:.1f} {found[1]}", "It")
    return None


PEAK = """
import sys
from trueval.run import Run
def size(name):
    return int(next(line for line in open("/proc/self/status") if line.startswith(name)).split()[1]) * 1024
Run.read("small")
open("/proc/self/clear_refs", "w").write("5")  # the peak begins again
before = size("VmRSS")
Run.read("large")
print(size("VmHWM") - before)
"""
OTHER, JSON = '{"score":1,"qid":"q","docno":"d"}\n', '{"q":{'
LINES: Mapping[str, Callable[[int], str]] = {
    "trec": lambda row: f"q{row // 100} Q0 document-{row} {row % 100 + 1} {-row % 100}.5 t\n",
    "trec, a query for each row": lambda row: f"q{row} Q0 d 1 0.5 t\n",
    "trec, irregular": lambda row: f"q{row // 100} Q0  document-{row} {row % 100 + 1} {-row % 100}.5 t\n",
    "csv": lambda row: f"q{row // 100},document-{row},{row}\n" if row else "qid,docno,score\n",
    "csv, quotes": lambda row: f'"q{row // 100}","d,{row}","{row}"\n' if row else "qid,docno,score\n",
    "csv, columns": lambda row: f"q{row // 100},d{row},1{',' * 50}\n" if row else "qid,docno,score" + ",a" * 50 + "\n",
    "jsonl": lambda row: f'{{"qid":"q{row // 100}","docno":"d{row}","score":{row}}}\n',
    "jsonl, other order": lambda row: f'{{"docno":"é{row}","qid":"q","score":1}}\n' if row else OTHER,
    "json": lambda row: f'{"," if row else JSON}"document-{row}":{row}' + "}}" * (row == ROWS * 6 - 1),
    "log": lambda row: f'{{"query":"q{row}","ids":["a{row}","b"],"gold":["b"]}}\n',
}  # fmt: skip


@pytest.mark.evidence
@pytest.mark.skipif(
    not Path("/proc/self/clear_refs").exists(), reason="only Linux tells the peak of a part of a program"
)
@pytest.mark.parametrize("name", LINES)
def test_readers_take_no_more_than_they_say(name: str, tmp_path: Path) -> None:
    lines = [LINES[name](row) for row in range(ROWS * 6)]
    data = "".join(lines).encode()
    (tmp_path / "large").write_bytes(data)
    (tmp_path / "small").write_text("".join(lines[:50]) + "}}" * (name == "json"), encoding="utf-8")
    environment = {**os.environ, "PYTHONPATH": SOURCE}
    command = [sys.executable, "-c", PEAK]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=True)
    assert int(done.stdout) <= needed(data) + room.SMALL  # arenas of threads, arrays of a chunk, late libraries
