"""The promise of --memory: whatever is in a file, no more is taken to read it, and a refusal says what to do."""

import gzip
import io
import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import trueval
from trueval.files.source.memory_estimate import SMALL

SOURCE = str(Path(trueval.__file__).parents[1])
MIB = 1 << 20
BUDGETS = (16, 64, 256)  # MiB, in ascending order: the peak of a process never falls
PROGRAM = """
import io, sys, warnings
from pathlib import Path
from trueval.collection import Collection
from trueval.errors import InputError
from trueval.files.source.memory_estimate import memory
from trueval.files.toml import Toml
from trueval.files.trec.kernel import scan
from trueval.judgments import Judgments
from trueval.precision.logits import read_logits
from trueval.precision.model_passes import read_ids
from trueval.probes.authors import read_people
from trueval.rag.contexts import read_contexts
from trueval.rag.document_sources import read_sources
from trueval.run import Run

warnings.simplefilter("ignore")
kind, place, *budgets = sys.argv[1:]
scan.is_compiled = scan.is_compiled and kind != "run without the kernel"
read = {
    "qrels": Judgments.read, "contexts": read_contexts, "sources": read_sources, "authors": read_people,
    "ids": lambda place: read_ids(Path(place)), "logits": lambda place: read_logits(Path(place)),
    "corpus": lambda place: Collection.read(str(Path(place).parent)),
    "toml": lambda place: Toml.read(Path(place), "one"),
}.get(kind, Run.read)

def memory_of(name):  # not ru_maxrss, which begins with what the parent had
    return int(next(line for line in open("/proc/self/status") if line.startswith(name)).split()[1]) * 1024

for first in (b"qid,docno,score\\nq,d,1\\n", b'{"q":{"d":1}}', b"q Q0 d 1 1 t\\n"):  # what is loaded late
    Run.read(io.BytesIO(first))
before = memory_of("VmRSS")
for budget in budgets:
    try:
        with memory(budget):
            read(place)
        told = "read"
    except InputError as error:
        told = str(error)
    print(memory_of("VmHWM") - before, told.replace("\\n", " "), flush=True)
"""


def lines(write: Callable[[int], str], count: int) -> bytes:
    return "".join(map(write, range(count))).encode()


def table(write: str, **columns: pl.Expr) -> bytes:
    held = io.BytesIO()
    getattr(pl.select(**columns), write)(held, **({"compression": "zstd"} if write == "write_ipc" else {}))
    return held.getvalue()


def run_table(write: str, rows: int, letters: int) -> bytes:
    ids = {"query_id": pl.repeat("q", rows), "doc_id": pl.repeat("d" * letters, rows)}
    return table(write, **ids, score=pl.repeat(0.5, rows))


def people(rows: int) -> bytes:
    return table("write_parquet", author=pl.format("A{} B", pl.int_range(rows)), topic=pl.repeat("t", rows))


def logits(letters: int) -> bytes:
    held, rows = io.BytesIO(), 40_000_000 // letters
    names = np.zeros(rows, f"<U{letters}")
    np.savez_compressed(held, query=names, doc=names, float32=np.zeros(rows))
    return held.getvalue()


HEAD = b"qid,docno,score"
# Name → kind of file, and its bytes without compression.
FILES: Mapping[str, tuple[str, Callable[[], bytes]]] = {
    "trec, a long query for each row": ("run", lambda: lines(lambda i: f"query-number-{i:030} Q0 d 1 1 t\n", 500_000)),
    "trec, short rows": ("run", lambda: lines(lambda i: f"{i // 50:x} 0 {i % 50} 1 1 t\n", 1_000_000)),
    "trec, without the kernel": (
        "run without the kernel", lambda: lines(lambda i: f"{i:x} 0 d 1 1 t\n", 700_000)
    ),
    "trec, irregular": ("run", lambda: b"#\n" + lines(lambda i: f"{i:x} 0 d 1 1 t\n", 700_000)),
    "trec, long numbers": ("run", lambda: lines(lambda i: f"q{i // 50:x} Q0 d{i} 1 {10**300} t\n", 60_000)),
    "trec, empty lines": ("run", lambda: b"q Q0 d 1 1 t\n" + b"\n" * 20 * MIB),
    "qrels, a query for each row": ("qrels", lambda: lines(lambda i: f"{i:x} 0 d 1\n", 1_000_000)),
    "csv": ("run", lambda: HEAD + b"\n" + lines(lambda i: f"{i:x},d,1\n", 900_000)),
    "csv, columns": ("run", lambda: HEAD + b",a" * 97 + b"\n" + lines(lambda i: f"{i:x},d,1{',' * 97}\n", 40_000)),
    "csv, quotes": ("run", lambda: HEAD + b"\n" + lines(lambda i: f'"{i:x}","d","1"\n', 500_000)),
    "jsonl": ("run", lambda: lines(lambda i: f'{{"docno":"é{i}","qid":"q","score":1{" " * (i % 2)}}}\n', 400_000)),
    "jsonl, a line of objects": ("run", lambda: b'{"qid":"q","docno":"d","x":[' + b"{}," * 2_000_000 + b"{}]}"),
    "json, queries": ("run", lambda: b"{" + lines(lambda i: f'"q{i}":{{"d":1}},', 300_000) + b'"q":{"d":1}}'),
    "json, lists": ("run", lambda: b'{"q":[' + b"[]," * 2_000_000 + b"[]]}"),
    "json, records": ("run", lambda: b"[{}" + b",{}" * 2_000_000 + b"]"),
    "json, keys": ("run", lambda: b"[{}" + lines(lambda i: f',{{"k{i}":1}}', 500_000) + b"]"),
    "json, wide characters": ("run", lambda: b'{"q":{"' + "é".encode() * 8_000_000 + '😀":1}}'.encode()),
    "log, ids": ("contexts", lambda: b'{"query":"q","ids":["d"' + lines(lambda i: f',"{i}"', 800_000) + b"]}"),
    "log, objects": ("contexts", lambda: b'[{"query":"q","ids":["d"' + b',{"id":1}' * 400_000 + b"]}]"),
    "log, lists": ("contexts", lambda: b'{"query":"q","ids":["a"],"x":[' + b"[]," * 2_000_000 + b"[]]}"),
    "sources": ("sources", lambda: lines(lambda i: f"{i:x} s{i}\n", 900_000)),
    "authors": ("authors", lambda: b"author,topic\n" + lines(lambda i: f"A{i:x} B,t{i}\n", 400_000)),
    "authors, parquet": ("authors", lambda: people(500_000)),
    "ids": ("ids", lambda: lines(lambda i: f"{i:x} ", 2_000_000)),
    "toml": ("toml", lambda: lines(lambda i: f"k{i}=1\n", 900_000)),
    "corpus": ("corpus", lambda: lines(lambda i: f'{{"_id":"{i}","text":"x"}}\n', 700_000)),
    "corpus, a line of objects": ("corpus", lambda: b'{"_id":"1","x":[' + b"{}," * 2_000_000 + b"{}]}\n"),
    "parquet": ("run", lambda: run_table("write_parquet", 3_000_000, 20)),
    "parquet, a long string": ("run", lambda: run_table("write_parquet", 150_000, 2000)),
    "arrow": ("run", lambda: run_table("write_ipc", 3_000_000, 20)),
    "arrow, a long string": ("run", lambda: run_table("write_ipc", 150_000, 2000)),
    "logits": ("logits", lambda: logits(4)),
    "logits, wide names": ("logits", lambda: logits(200)),
}  # fmt: skip
NAMES = {"corpus": "corpus.jsonl", "logits": "logits.npz"}
PLAIN = ("ids", "toml", "logits")  # read as they are


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="only Linux tells the peak of a process there")
@pytest.mark.parametrize("name", FILES)
def test_no_file_takes_more_memory_than_it_may(name: str, tmp_path: Path) -> None:
    kind, make = FILES[name]
    data, place = make(), tmp_path / NAMES.get(kind, "file")
    place.write_bytes(data if kind in PLAIN or data[:4] in (b"PAR1", b"ARRO") else gzip.compress(data, 1))
    (tmp_path / "queries.jsonl").write_text('{"_id": "q", "text": "?"}\n')
    (tmp_path / "qrels.trec").write_text("q 0 1 1\n")
    command = [sys.executable, "-c", PROGRAM, kind, str(place), *(str(size * MIB) for size in BUDGETS)]
    environment = {**os.environ, "PYTHONPATH": SOURCE}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-1000:]
    tried = [line.partition(" ")[::2] for line in done.stdout.splitlines()]
    assert len(tried) == len(BUDGETS)
    for budget, (taken, told) in zip(BUDGETS, tried, strict=True):
        assert int(taken) <= budget * MIB + SMALL, (budget, told)
        if "to read it takes" in told:
            assert told.startswith(str(place))
            assert f"of memory, and {budget}.0 MiB may be taken, as --memory or TRUEVAL_MEMORY says." in told
            assert "allow more with --memory SIZE" in told
    assert "to read it takes" in tried[0][1], "the file is not hostile"
