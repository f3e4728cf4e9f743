"""A driver of the evidence of scale: embeds made-up passages on one executor, with a log of the shards.

    python embedding_trial.py EXECUTOR STORE LOG [TEXTS]

EXECUTOR is threads, processes, loky, dask, ray, cluster (Ray with two nodes) or cluster-shuffled. LOG gets a line for
each shard that begins and ends, from whichever process computes it. Prints the SHA-256 of each file of the result.
"""

from __future__ import annotations

import hashlib
import json
import os
import random
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
from trueval.threads import Executor, Processes, as_executor

WORDS = "the wing of a plane pushes air down so lift keeps it up while drag slows each part".split()  # noqa: SIM905


def passages(count: int) -> list[str]:
    """Passages of 3 to 60 words, the same each time."""
    rng = random.Random(7)
    return [f"{i} " + " ".join(rng.choices(WORDS, k=rng.randint(3, 60))) for i in range(count)]


def write(log: str, *words: object) -> None:
    """Append a line, which other processes do too."""
    with Path(log).open("ab") as file:
        file.write((" ".join(map(str, words)) + "\n").encode())


def logged(log: str, work: Callable[[Any], Any], shard: Any) -> Any:
    """Work on a shard, with lines in the log before and after."""
    kept = shard.file.exists()
    write(log, "kept" if kept else "begins", shard.number, os.getpid())
    result = work(shard)
    write(log, "ends", shard.number, os.getpid())
    return result


class Logged:
    """An executor with a log, which may take the shards in another order."""

    def __init__(self, executor: Executor, log: str, *, shuffled: bool = False) -> None:
        self.executor, self.log, self.shuffled = executor, log, shuffled

    def map(self, work: Callable[[Any], Any], items: Iterable[Any], /) -> Iterator[Any]:
        """Results in the order in which the shards were given."""
        if self.shuffled:
            items = list(items)
            random.Random(3).shuffle(items)
        yield from self.executor.map(partial(logged, self.log, work), items)


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


def main(name: str, store: str, log: str, count: int = 240) -> None:
    """Embed the passages, and print digests and seconds."""
    import torch

    torch.set_num_threads(1)  # as many as an executor's worker has
    output_part.BATCHES = 1
    model: Any = load_model("all-MiniLM-L6-v2", dtype="float32", device="cpu", batch_size=8)
    texts = passages(count)
    part = OutputPart("documents", texts, texts, model.embed_documents, len)
    with opened(name) as executor:
        taken = as_executor(executor)
        if taken is not None:
            taken = Logged(taken, log, shuffled=name.endswith("shuffled"))
        write(log, "ready", name)
        began = time.perf_counter()
        part_outputs(model, part, settings_of(model), folder=Path(store), executor=taken)
        seconds = time.perf_counter() - began
    files = {file.name: hashlib.sha256(file.read_bytes()).hexdigest() for file in Path(store).rglob("*.npy")}
    print(json.dumps({"files": files, "seconds": seconds}))


if __name__ == "__main__":
    main(*sys.argv[1:4], *map(int, sys.argv[4:]))
