"""Ray as an Executor: results in order, and what is lost with a worker is given to another."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

pytestmark = pytest.mark.slow  # Ray takes 20 s to start

SCRIPT = """
import json, os, socket, sys, warnings
from trueval.errors import InputError
from trueval.scale.ray_executor import Ray
from trueval.threads import Needs

mark = sys.argv[1]

def work(item):
    if item == 5 and not os.path.exists(mark):
        open(mark, "w").close()
        os.kill(os.getpid(), 9)
    return item * item

class Large:
    needs = Needs(memory=1 << 50)
    def __str__(self):
        return "documents, shard 1 of 2"

def refuse(item):
    raise InputError(f"item {item} is bad.")

def process(item):
    return os.getpid()

def end(item):
    os.kill(os.getpid(), 9)

def error(call):
    try:
        call()
    except Exception as error:
        return [type(error).__name__, str(error)]

found = {}
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    with Ray() as executor:
        found["notes"] = [str(each.message) for each in caught if "Ray was started" in str(each.message)]
        found["results"] = list(executor.map(work, iter(range(12))))
        found["nothing"] = list(executor.map(work, []))
        first = set(executor.map(process, range(8)))
        found["kept"] = set(executor.map(process, range(8))) <= first
        with executor.alone() as machine:
            found["alone"] = machine == socket.gethostname()
        found["new"] = set(executor.map(process, range(8))).isdisjoint(first)
        import ray
        from trueval.scale import ray_executor
        ray_executor.ALONE = 3
        other = ray.remote(num_cpus=1)(type("Other", (), {"ready": lambda self: 1})).remote()
        ray.get(other.ready.remote())
        with executor.alone() as machine:
            found["busy"] = machine
        ray.kill(other)
        found["refused"] = error(lambda: list(executor.map(refuse, range(3))))
        found["large"] = error(lambda: list(executor.map(work, [Large()])))
        folder = os.path.dirname(mark)
        with open(f"{folder}/only_here.py", "w") as file:
            file.write("def work(item):\\n    return item\\n")
        sys.path.insert(1, folder)
        import only_here
        found["package"] = error(lambda: list(executor.map(only_here.work, ["documents, shard 1 of 2"])))
        found["ended"] = error(lambda: list(executor.map(end, ["documents, shard 1 of 2"])))
found["address"] = error(lambda: Ray("127.0.0.1:1"))
found["client"] = error(lambda: Ray("ray://127.0.0.1:10001"))
print(json.dumps(found))
"""


def test_ray_gives_results_in_order_and_tells_what_fails(trial: Callable[..., str], tmp_path: object) -> None:
    found = json.loads(trial(SCRIPT, f"{tmp_path}/mark").splitlines()[-1])
    assert found["results"] == [item * item for item in range(12)]
    assert found["nothing"] == []
    assert found["kept"], "idle workers were ended"
    assert found["alone"]
    assert found["new"], "while the machine was held, workers were there"
    assert found["busy"] is None
    assert found["notes"] == [
        "No cluster is named by ray:HOST:PORT or RAY_ADDRESS: Ray was started on this machine, for this work."
    ]
    assert found["refused"] == ["InputError", "item 0 is bad."]
    assert found["large"][0] == "InputError"
    assert found["large"][1].startswith("documents, shard 1 of 2: a worker needs about 1048576.0 GiB of memory, and ")
    assert "add a machine with more." in found["large"][1]
    assert found["package"][0] == "InputError"
    assert found["package"][1].startswith("documents, shard 1 of 2, on ")
    assert ": the package only_here is not installed. Install trueval with" in found["package"][1]
    name, told = found["ended"]
    assert name == "InputError"
    assert told.startswith("documents, shard 1 of 2: lost with its worker 4 times, the last time")
    assert "run the same command again" in told
    assert found["address"][0] == "InputError"
    assert "127.0.0.1:1 does not answer" in found["address"][1]
    assert found["client"][0] == "PolicyError"
