"""A driver of the evidence of scale: a sweep of 25 systems whose models count words, on one executor.

    python sweep_trial.py EXECUTOR FOLDER LOG

EXECUTOR is threads, processes, loky, dask, ray, cluster, cluster-shuffled, as in scale_trial.py, or changing: a Ray
cluster that gets a second node once a group has begun, loses it with what is on it, and gets a third one. LOG gets a
line for each group that begins and ends. Prints the SHA-256 of the table of queries, of each run, and of sweep.json
without times.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(Path(__file__).parent)]
os.environ["OMP_NUM_THREADS"] = "1"  # processors that a group asks for
os.environ["MKL_NUM_THREADS"] = "1"  # Dask sets it in this process as well, and it is part of a system's address
os.environ["PYTHONPATH"] = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])  # where workers find models

import pytest  # noqa: E402
from scale_trial import Logged, opened, write  # noqa: E402
from tests.tradeoff import made  # noqa: E402
from tests.tradeoff.runner.test_sweep import without_times  # noqa: E402

from trueval.threads import as_executor  # noqa: E402
from trueval.tradeoff.runner import system_groups  # noqa: E402
from trueval.tradeoff.runner.sweep import sweep  # noqa: E402


class Changing(Logged):
    """A Ray cluster whose nodes change while it works: one is added, removed with what is on it, and another added."""

    def __init__(self, executor: Any, log: str, cluster: Any) -> None:
        super().__init__(executor, log, seconds=5)
        self.cluster, self.node, self.removed = cluster, None, False

    def as_finished(self, work: Callable[[Any], Any], items: Iterable[Any], /) -> Iterator[Any]:
        """Results as they finish; nodes change between two of them."""
        for result in super().as_finished(work, items):
            yield result
            begun = [line.split() for line in Path(self.log).read_text().splitlines()]
            last = {process: word for word, _, process in (each for each in begun if len(each) == 3)}
            if self.node is None:
                self.node = self.cluster.add_node(num_cpus=1)
                write(self.log, "added")
            elif not self.removed and len(last) > 1 and list(last.values())[1] == "begins":  # the new node works
                self.removed = True
                self.cluster.remove_node(self.node, allow_graceful=False)
                write(self.log, "removed")
                self.cluster.add_node(num_cpus=1)
                write(self.log, "added")


@contextmanager
def on(name: str, log: str) -> Iterator[Any]:
    """An executor by its name, with a log."""
    if name != "changing":
        with opened(name) as executor:
            taken = as_executor(executor)
            yield None if taken is None else Logged(taken, log, shuffled=name.endswith("shuffled"))
        return
    from ray.cluster_utils import Cluster

    from trueval.scale.ray_executor import Ray

    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False})
    try:
        with Ray(cluster.address) as ray:
            yield Changing(ray, log, cluster)
    finally:
        cluster.shutdown()


def main(name: str, folder: str, log: str) -> None:
    """Make the sweep, and print digests."""
    place, out = Path(folder), Path(folder) / "out"
    place.mkdir(parents=True, exist_ok=True)
    Path(log).touch()
    system_groups.SYSTEMS = 2  # of a group
    made.use(pytest.MonkeyPatch(), [])
    file = made.written(place, made.LARGE)
    with on(name, log) as executor:
        write(log, "ready", name)
        found = sweep(file, out=out, cache=place / "cache", executor=executor)
    assert not found.failed, found.failed
    texts = {"sweep.json": json.dumps(without_times(found.to_dict()), sort_keys=True).encode()}
    files = {each.name: each.read_bytes() for each in [out / "queries.parquet", *out.glob("runs/*.parquet")]}
    digests = {name: hashlib.sha256(data).hexdigest() for name, data in (texts | files).items()}
    print(json.dumps({"files": digests}))


if __name__ == "__main__":
    main(*sys.argv[1:])
