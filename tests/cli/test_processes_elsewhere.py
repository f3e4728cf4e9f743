"""Commands with --on processes:2 print and write what they do without it: real processes, models and indexes."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tests.extras import need
from tests.scale.scale_trial import reranker
from tests.tradeoff.runner.test_sweep import without_times

from trueval.sample import sample_path

if TYPE_CHECKING:
    from tests.cli.conftest import Command

need("torch", "sentence_transformers", "safetensors", extra="models")
need("faiss", "bm25s", extra="retrieval")

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore::DeprecationWarning")]

ON = ("--on", "processes:2")
# One text a batch: 32 texts, or pairs, a shard.
PIPELINE = """
[corpus]
path = {corpus}

[embed]
model = "all-MiniLM-L6-v2"
dtype = "float32"
device = "cpu"
batch_size = 1
max_length = 32

[index]
spec = "flat"
depth = 10

[rerank]
model = {reranker}
dtype = "float32"
device = "cpu"
batch_size = 1
max_length = 32
depth = 5
"""
SWEEP = """
[pipeline]
methods = ["dense", "sparse", "hybrid+rerank"]

[sparse]
depth = 10

[fuse]
depth = 10

[generate]
contexts = 3

[measure]
names = ["nDCG@K", "RR"]
resamples = 100

[latency]
queries = 0
"""


@pytest.fixture(scope="module")
def pipeline(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Retrieval from the sample, with a small reranker; torch on one thread, here and in the processes."""
    import torch

    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    folder = tmp_path_factory.mktemp("pipeline")
    values = {"corpus": str(sample_path()), "reranker": reranker(folder / "reranker")}
    file = folder / "pipeline.toml"
    file.write_text(PIPELINE.format(**{name: json.dumps(value) for name, value in values.items()}))
    yield file
    torch.set_num_threads(threads)


def digests(folder: Path, *patterns: str) -> dict[str, str]:
    """Path → SHA-256 of the files of a folder."""
    found = sorted(each for pattern in patterns for each in folder.rglob(pattern))
    return {each.relative_to(folder).as_posix(): hashlib.sha256(each.read_bytes()).hexdigest() for each in found}


def test_embeddings_and_logits_are_the_same(trueval: Command, pipeline: Path, tmp_path: Path) -> None:
    found = []
    for name, on in (("threads", ()), ("processes", ON)):
        cache, run = tmp_path / f"cache-{name}", tmp_path / f"{name}.trec"
        done = trueval("retrieve", "--pipeline", pipeline, "--cache", cache, "--run", run, *on)
        assert done.status == 0, done.err
        found.append((run.read_bytes(), digests(cache, "rows.npy", "keys.npy", "vectors.faiss")))
    assert found[0] == found[1]
    assert len([name for name in found[0][1] if name.endswith("rows.npy")]) == 3  # queries, documents, pairs


def test_a_sweep_is_the_same(trueval: Command, pipeline: Path, tmp_path: Path) -> None:
    file, found = tmp_path / "sweep.toml", list[Any]()
    file.write_text(pipeline.read_text().replace('spec = "flat"', 'spec = ["flat", "hnsw(M=4)"]') + SWEEP)
    for name, on in (("threads", ()), ("processes", ON)):
        out = tmp_path / name
        done = trueval("sweep", file, "--out", out, "--cache", tmp_path / f"cache-{name}", *on)
        assert done.status == 0, done.err
        assert "It is made here" not in done.err
        result = without_times(json.loads((out / "sweep.json").read_text()))
        assert result.pop("generation")["files"]  # hashes of files with times
        found.append((result, digests(out, "queries.parquet", "runs/*.parquet")))
        assert not any(each["cached"] for each in json.loads((out / "sweep.json").read_text())["systems"])
    assert found[0] == found[1]
    assert len(found[0][1]) == 1 + 5  # two of vectors, one of terms, two hybrids with a reranker
