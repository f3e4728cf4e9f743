"""Shards of a model's outputs: the same bytes wherever they are computed, and none twice."""

from __future__ import annotations

import errno
import os
import pickle
import socket
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from trueval.collection import Candidates, Collection, candidate_lists
from trueval.errors import InputError, PolicyError
from trueval.files.source.memory_estimate import memory
from trueval.judgments import Judgments
from trueval.models import model_shards
from trueval.models.loading import load_model
from trueval.models.model_shards import ModelShard
from trueval.models.outputs import model_outputs
from trueval.threads import LOCAL, Executor, Needs, Processes, as_executor

DOCUMENTS = {f"d{i}": f"the wing number {i} " * (i % 5 + 1) for i in range(23)}
QUERIES = {f"q{i}": f"what keeps wing {i} in the air?" for i in range(1, 10)}
JUDGMENTS = Judgments.from_dict({"q1": dict.fromkeys(DOCUMENTS, 1), **{f"q{i}": {f"d{i}": 1} for i in range(2, 4)}})
SAMPLE = Collection("c", "c", DOCUMENTS, QUERIES, JUDGMENTS)


class Elsewhere:
    """Another machine: what it gets and gives is sent, and it may see another folder, or fail."""

    def __init__(self, *, backward: bool = False, change: Callable[[ModelShard], ModelShard] | None = None) -> None:
        self.backward, self.change, self.done = backward, change, list[int]()
        self.fails_at: int | None = None

    def map(self, work: Callable[[Any], Any], items: Iterable[Any], /) -> Iterator[Any]:
        def one(item: ModelShard) -> Any:
            item = pickle.loads(pickle.dumps(item))
            if len(self.done) == self.fails_at:
                raise KeyboardInterrupt
            self.done.append(item.number)
            return pickle.loads(pickle.dumps(work(item if self.change is None else self.change(item))))

        if not self.backward:
            yield from map(one, items)
            return
        yield from [one(item) for item in list(items)[::-1]][::-1]


@pytest.fixture
def candidates(monkeypatch: pytest.MonkeyPatch) -> Candidates:
    monkeypatch.setattr("trueval.models.output_part.BATCHES", 2)  # a shard of four pairs
    return candidate_lists(SAMPLE)


def files(folder: Path) -> dict[str, bytes]:
    """What is kept of every part; part.json has the seconds that it took."""
    return {f"{file.parent.name}/{file.name}": file.read_bytes() for file in sorted(folder.rglob("*.npy"))}


RERANKER = "bge-reranker-v2-m3"
loaded: dict[Path, Any] = {}  # loading takes a second


def run(recipe: str, folder: Path, candidates: Candidates, store: Path | None, executor: Executor | None) -> Any:
    if folder not in loaded:
        loaded[folder] = load_model(f"{recipe}:{folder}", dtype="bfloat16", device="cpu", batch_size=2)
    return model_outputs(loaded[folder], SAMPLE, candidates, folder=store, executor=executor)


@pytest.mark.slow
@pytest.mark.parametrize("recipe", [RERANKER, "late-interaction"])
def test_the_bytes_do_not_depend_on_who_computes(
    recipe: str, folder_of: Callable[[str], Path], candidates: Candidates, tmp_path: Path
) -> None:
    place = folder_of(recipe)
    run(recipe, place, candidates, tmp_path / "here", None)
    sends = Elsewhere(change=lambda shard: shard._replace(file=tmp_path / "nowhere" / shard.file.name))
    for name, executor in {"there": Elsewhere(), "backward": Elsewhere(backward=True), "sent": sends}.items():
        run(recipe, place, candidates, tmp_path / name, executor)
        assert executor.done, "nothing was computed there"
        assert files(tmp_path / name) == files(tmp_path / "here")
    assert not list(tmp_path.rglob(".shared-*"))
    # Without a folder, too.
    outputs = run(recipe, place, candidates, None, Elsewhere()).arrays
    for name, rows in run(recipe, place, candidates, None, None).arrays.items():
        assert [row.tobytes() for row in outputs[name]] == [row.tobytes() for row in rows]


@pytest.mark.slow  # each process imports torch
def test_processes_give_the_same_bytes(
    folder_of: Callable[[str], Path], candidates: Candidates, tmp_path: Path
) -> None:
    run(RERANKER, folder_of(RERANKER), candidates, tmp_path / "here", None)
    with Processes(2) as executor:
        run(RERANKER, folder_of(RERANKER), candidates, tmp_path / "there", executor)
    assert files(tmp_path / "there") == files(tmp_path / "here")


def test_no_finished_shard_is_made_again(
    folder_of: Callable[[str], Path], candidates: Candidates, tmp_path: Path
) -> None:
    first, second = Elsewhere(), Elsewhere()
    first.fails_at = 4
    with pytest.raises(KeyboardInterrupt):
        run(RERANKER, folder_of(RERANKER), candidates, tmp_path, first)
    run(RERANKER, folder_of(RERANKER), candidates, tmp_path, second)
    assert (first.done, second.done) == ([0, 4, 2, 6], [1, 5, 3])  # of all lengths
    third = Elsewhere()
    run(RERANKER, folder_of(RERANKER), candidates, tmp_path, third)
    assert third.done == []


def test_a_worker_that_would_give_other_outputs_is_refused(
    folder_of: Callable[[str], Path], candidates: Candidates, tmp_path: Path
) -> None:

    def other_torch(shard: ModelShard) -> ModelShard:
        settings = {**shard.source.settings, "versions": {"torch": "1.0"}}
        return shard._replace(source=shard.source._replace(settings=settings))

    for change, told in (
        (other_torch, "would give other outputs here: versions is"),
        (lambda shard: shard._replace(version="0.0.1"), "and 0.0.1 where the command runs"),
    ):
        with pytest.raises(InputError, match=told) as caught:
            run(RERANKER, folder_of(RERANKER), candidates, tmp_path / told[:5], Elsewhere(change=change))
        assert str(caught.value).startswith(f"pairs, shard 1 of 7, on {socket.gethostname()}: ")
        assert "run the same command again" in str(caught.value)


def test_a_shard_says_what_it_needs(folder_of: Callable[[str], Path], candidates: Candidates) -> None:
    seen = list[Needs]()

    def look(shard: ModelShard) -> ModelShard:
        seen.append(shard.needs)
        on_gpu = {**shard.source.settings, "device": "cuda:0"}
        seen.append(shard._replace(source=shard.source._replace(settings=on_gpu)).needs)
        return shard

    run(RERANKER, folder_of(RERANKER), candidates, None, Elsewhere(change=look))
    here, there = seen[:2]
    assert (here.gpus, there.gpus) == (0, 1)
    model = loaded[folder_of(RERANKER)]
    weights = sum(each.nbytes for each in model.model.parameters())
    stored = sum(file.stat().st_size for file in folder_of(RERANKER).glob("*.safetensors"))
    longest = len(f"what keeps wing 1 in the air?{'the wing number 14 ' * 5}") // 3 + 2
    config = model.model.config
    batch = 2 * min(longest, model.max_length) * (4 * config.hidden_size + 2 * config.intermediate_size) * 2
    # Its files are float32, the model bfloat16: both are in memory while it loads.
    assert here.memory == model_shards.LIBRARIES + weights + max(stored, batch)
    assert there.memory == model_shards.LIBRARIES + weights + model_shards.CONTEXT + stored


def test_a_worker_without_the_memory_is_refused_before_it_loads_a_model(
    folder_of: Callable[[str], Path], candidates: Candidates, monkeypatch: pytest.MonkeyPatch
) -> None:
    run(RERANKER, folder_of(RERANKER), candidates, None, None)
    monkeypatch.setattr(model_shards.ModelSource, "open", lambda source: pytest.fail("the model was loaded"))
    with memory("100M"), pytest.raises(InputError) as caught:
        run(RERANKER, folder_of(RERANKER), candidates, None, Elsewhere())
    assert str(caught.value).startswith(f"pairs, shard 1 of 7, on {socket.gethostname()}: a worker needs about ")
    assert "100.0 MiB may be taken, as --memory or TRUEVAL_MEMORY says" in str(caught.value)
    executor = Elsewhere()
    executor.workers_here = 5  # type: ignore[attr-defined]
    monkeypatch.setattr(model_shards, "free_memory", lambda: 2 << 30)
    with pytest.raises(InputError, match=r"5 of them more than the 2\.0 GiB that are free\. Take --on processes:3, "):
        run(RERANKER, folder_of(RERANKER), candidates, None, executor)
    assert executor.done == []
    monkeypatch.setattr(model_shards, "free_memory", lambda: 0)
    monkeypatch.setattr(model_shards, "resident_memory", lambda: 1 << 20)
    with pytest.raises(
        InputError,
        match=r"pairs, shard 1 of 7, on .*: a worker needs about .* and 1\.0 MiB is free.*run the same command",
    ):
        run(RERANKER, folder_of(RERANKER), candidates, None, Elsewhere())


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (MemoryError(), "memory ran out. Take fewer workers, a smaller batch size, or a machine with more, and run "),
        (
            OSError(errno.ENOSPC, "No space left on device", "/cache/shard-00002.safetensors"),
            "there is no room for /cache/shard-00002.safetensors. Make room, and run ",
        ),
    ],
)
def test_a_worker_without_room_is_said_and_what_is_finished_is_kept(
    error: Exception, told: str, folder_of: Callable[[str], Path], candidates: Candidates, tmp_path: Path
) -> None:
    run(RERANKER, folder_of(RERANKER), candidates, tmp_path / "here", None)
    first, second, write = Elsewhere(), Elsewhere(), model_shards.write_shard

    def fill(file: Path, *given: Any) -> None:
        if file.stem.endswith("2"):
            raise error
        write(file, *given)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(model_shards, "write_shard", fill)
        with pytest.raises(InputError) as caught:
            run(RERANKER, folder_of(RERANKER), candidates, tmp_path / "there", first)
    assert str(caught.value) == (
        f"pairs, shard 3 of 7, on {socket.gethostname()}: {told}the same command again. The other shards are kept."
    )
    run(RERANKER, folder_of(RERANKER), candidates, tmp_path / "there", second)
    assert second.done == [1, 6, 3, 2, 5]
    assert files(tmp_path / "there") == files(tmp_path / "here")


@pytest.mark.parametrize("days", [-1, 1])
def test_a_clock_that_is_wrong_by_a_day_changes_nothing(
    days: int, folder_of: Callable[[str], Path], candidates: Candidates, tmp_path: Path
) -> None:
    run(RERANKER, folder_of(RERANKER), candidates, tmp_path / "here", None)
    first, second, third = Elsewhere(), Elsewhere(), Elsewhere()
    first.fails_at = 4
    with pytest.raises(KeyboardInterrupt):
        run(RERANKER, folder_of(RERANKER), candidates, tmp_path / "there", first)
    for executor, done in ((second, [1, 5, 3]), (third, [])):
        for each in (tmp_path / "there").rglob("*"):
            os.utime(each, (then := each.stat().st_mtime + days * 86_400, then))
        run(RERANKER, folder_of(RERANKER), candidates, tmp_path / "there", executor)
        assert executor.done == done
    assert files(tmp_path / "there") == files(tmp_path / "here")


def test_executors_of_other_packages_are_taken(
    folder_of: Callable[[str], Path], candidates: Candidates, tmp_path: Path
) -> None:
    run(RERANKER, folder_of(RERANKER), candidates, tmp_path / "here", None)
    with ThreadPoolExecutor(1) as pool:
        run(RERANKER, folder_of(RERANKER), candidates, tmp_path / "pool", as_executor(pool))
    assert files(tmp_path / "pool") == files(tmp_path / "here")
    assert as_executor(LOCAL) is LOCAL
    with pytest.raises(PolicyError, match=r"Got int\."):
        as_executor(3)


def test_a_model_that_is_not_there_is_said_with_the_machine(
    folder_of: Callable[[str], Path], candidates: Candidates, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(model_shards, "_opened", {})

    def lost(shard: ModelShard) -> ModelShard:
        place = shard.source.options["place"]._replace(path="/nowhere/at/all")
        options = {**shard.source.options, "place": place}
        return shard._replace(source=shard.source._replace(options=options))

    executor = Elsewhere(change=lost)
    with pytest.raises(InputError, match=r"pairs, shard 1 of 7, on .*: /nowhere/at/all: .*The other shards are kept"):
        run(RERANKER, folder_of(RERANKER), candidates, None, executor)
