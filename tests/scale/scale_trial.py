"""A driver of the evidence of scale: works on made-up passages on one executor, with a log of the shards.

    python scale_trial.py EXECUTOR STORE LOG [ITEMS] [embedding|reranking|standings|words|pairs]

Words and pairs are embedded and scored by a model that counts letters and takes its time: without torch it starts at
once.

EXECUTOR is threads, processes, loky, dask, ray, cluster (Ray with two nodes) or cluster-shuffled. LOG gets a line for
each shard that begins and ends, from whichever process computes it. Prints the SHA-256 of each file of the result.
"""

from __future__ import annotations

import hashlib
import json
import os
import random
import re
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import trueval.models.output_part as output_part
from trueval.models.loading import load_model
from trueval.models.model_settings import settings_of
from trueval.models.output_part import OutputPart
from trueval.models.outputs import part_outputs
from trueval.threads import Executor, Processes, as_executor, as_finished

WORDS = "the wing of a plane pushes air down so lift keeps it up while drag slows each part".split()  # noqa: SIM905


def passages(count: int) -> list[str]:
    """Passages of 3 to 60 words, the same each time."""
    rng = random.Random(7)
    return [f"{i} " + " ".join(rng.choices(WORDS, k=rng.randint(3, 60))) for i in range(count)]


def write(log: str, *words: object) -> None:
    """Append a line, which other processes do too."""
    with Path(log).open("ab") as file:
        file.write((" ".join(map(str, words)) + "\n").encode())


def logged(log: str, seconds: float, work: Callable[[Any], Any], shard: Any) -> Any:
    """Work on a shard, with lines in the log before and after."""
    file, number = getattr(shard, "file", None), re.search(r"(?:shard|(group)) (\d+) of", str(shard))
    assert number is not None
    called = f"{number[1] or ''}{number[2]}"
    write(log, "kept" if file is not None and file.exists() else "begins", called, os.getpid())
    for key in getattr(shard, "systems", ()):
        write(log, "system", key)
    if file is None:
        time.sleep(seconds)  # standings of a shard, and small systems, take milliseconds: nobody could be killed
    result = work(shard)
    write(log, "ends", called, os.getpid())
    return result


class Logged:
    """An executor with a log, which may take the shards in another order."""

    def __init__(self, executor: Executor, log: str, *, shuffled: bool = False, seconds: float = 0.3) -> None:
        self.executor, self.log, self.shuffled, self.seconds = executor, log, shuffled, seconds

    def as_finished(self, work: Callable[[Any], Any], items: Iterable[Any], /) -> Iterator[Any]:
        """Results as they finish."""
        if self.shuffled:
            items = list(items)
            random.Random(3).shuffle(items)
        yield from as_finished(self.executor, partial(logged, self.log, self.seconds, work), items)

    def map(self, work: Callable[[Any], Any], items: Iterable[Any], /) -> Iterator[Any]:
        """Results in the order in which the shards were given."""
        if self.shuffled:
            items = list(items)
            random.Random(3).shuffle(items)
        yield from self.executor.map(partial(logged, self.log, self.seconds, work), items)


@contextmanager
def opened(name: str) -> Iterator[Any]:
    """An executor by its name."""
    if name == "threads":
        yield None
    elif name == "processes":
        with Processes(2) as processes:
            yield processes
    elif name == "loky":
        import loky

        yield loky.get_reusable_executor(max_workers=2)
    elif name == "dask":
        from distributed import Client, LocalCluster

        with (
            LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster,
            Client(cluster) as client,
        ):
            yield client.get_executor()
    elif name == "ray":
        from trueval.scale.ray_executor import Ray

        with Ray() as ray:
            yield ray
    else:
        from ray.cluster_utils import Cluster

        from trueval.scale.ray_executor import Ray

        cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False})
        cluster.add_node(num_cpus=1)
        try:
            with Ray(cluster.address) as ray:
                yield ray
        finally:
            cluster.shutdown()


class Letters:
    """A model of letters, for trials that need many starts."""

    name, dtype, scoring, batch_size = "letters", "float32", "product", 8
    seconds = 0.05  # of an item

    def settings(self) -> dict[str, Any]:
        """What decides its outputs."""
        return {"model": self.name, "path": "nowhere", "dtype": self.dtype, "batch_size": self.batch_size}

    def embed_documents(self, texts: list[str], names: list[str]) -> Any:
        """[text, letter] counts."""
        import numpy as np

        time.sleep(self.seconds * len(texts))
        return np.array([[text.count(letter) for letter in "abcdefghij"] for text in texts], dtype=np.float32)

    def pair_logits(self, pairs: list[tuple[str, str]], names: list[str]) -> Any:
        """[pair, 1] letters in common."""
        import numpy as np

        time.sleep(self.seconds * len(pairs))
        return np.array([[len({*query} & {*text}) + len(text) / 64] for query, text in pairs], dtype=np.float32)


def reranker(folder: Path) -> str:
    """A small cross-encoder with weights of a seed, made where it is missing."""
    import torch
    import transformers

    from trueval.models.model_location import find_model

    if not folder.exists():
        torch.manual_seed(1)
        sizes = {"hidden_size": 64, "intermediate_size": 128, "num_hidden_layers": 2, "num_attention_heads": 4}
        config = transformers.BertConfig(**sizes, num_labels=1)
        transformers.BertForSequenceClassification(config).save_pretrained(folder)
        transformers.AutoTokenizer.from_pretrained(find_model("all-MiniLM-L6-v2").path).save_pretrained(folder)
    return f"cross-encoder:{folder}"


def models_of(kind: str, store: Path, count: int) -> tuple[Any, OutputPart]:
    """A model, and what it works on."""
    output_part.BATCHES = 1
    texts = passages(count)
    pairs = [("what keeps a wing in the air?", each) for each in texts]
    if kind == "words":
        letters = Letters()
        return letters, OutputPart("documents", texts, texts, letters.embed_documents, len)
    if kind == "pairs":
        letters = Letters()
        return letters, OutputPart("pairs", pairs, texts, letters.pair_logits, lambda pair: len(pair[1]))
    import torch

    torch.set_num_threads(1)  # as many as an executor's worker has
    if kind == "embedding":
        model: Any = load_model("all-MiniLM-L6-v2", dtype="float32", device="cpu", batch_size=8)
        return model, OutputPart("documents", texts, texts, model.embed_documents, len)
    model = load_model(reranker(store.parent / "reranker"), dtype="float32", device="cpu", batch_size=8, max_length=64)
    return model, OutputPart("pairs", pairs, texts, model.pair_logits, lambda pair: len(pair[1]))


def standings(store: Path, count: int, executor: Executor | None) -> str:
    """SHA-256 of the scores of 20 queries over a corpus of so many shards, from a memory map."""
    import numpy as np

    from trueval.retrieval.exhaustive import TILES, Embeddings, evaluate_corpus

    width, rng = 64, np.random.default_rng(5)
    store.mkdir(parents=True, exist_ok=True)
    np.save(store / "documents", rng.standard_normal((count * TILES * width, 16), dtype=np.float32))
    documents = np.load(store / "documents.npy", mmap_mode="r")
    queries = rng.standard_normal((20, 16), dtype=np.float32)
    doc_ids = [f"d{i}" for i in range(len(documents))]
    judged = {f"q{i}": {f"d{d}": 1 for d in rng.integers(0, len(documents), 9).tolist()} for i in range(20)}
    source = Embeddings(queries, documents, list(judged), doc_ids, format="bfloat16", width=width)
    found = evaluate_corpus(source, judged, "nDCG@10 RR AP", executor=executor)
    return hashlib.sha256(b"".join(each.tobytes() for each in (found.expected, found.lowest, found.sd))).hexdigest()


def main(name: str, store: str, log: str, count: str = "240", kind: str = "embedding") -> None:
    """Do the work, and print digests and seconds."""
    model, part = (None, None) if kind == "standings" else models_of(kind, Path(store), int(count))
    with opened(name) as executor:
        taken = as_executor(executor)
        if taken is not None:
            taken = Logged(taken, log, shuffled=name.endswith("shuffled"))
        write(log, "ready", name)
        began = time.perf_counter()
        scores = {}
        if part is None:
            scores = {"scores": standings(Path(store), int(count), taken)}
        else:
            part_outputs(model, part, settings_of(model), folder=Path(store), executor=taken)
        seconds = time.perf_counter() - began
    files = scores or {file.name: hashlib.sha256(file.read_bytes()).hexdigest() for file in Path(store).rglob("*.npy")}
    print(json.dumps({"files": files, "seconds": seconds}))


if __name__ == "__main__":
    main(*sys.argv[1:])
