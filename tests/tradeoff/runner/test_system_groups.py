"""Systems that an executor makes are those that the command makes: the same bytes, and nothing finished again."""

from __future__ import annotations

import errno
import os
import pickle
import random
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.extras import need
from tests.tradeoff import made
from tests.tradeoff.runner.test_sweep import without_times

from trueval.errors import InputError, TruevalWarning
from trueval.retrieval.indexes.dense import Dense
from trueval.retrieval.pipeline.stage_runner import StageRunner
from trueval.tradeoff.runner import system_groups
from trueval.tradeoff.runner.sweep import sweep
from trueval.tradeoff.runner.system_groups import SystemGroup
from trueval.tradeoff.runner.system_store import SystemStore

need("faiss", "bm25s", extra="retrieval")
need("safetensors", extra="models")


class Elsewhere:
    """Another process, whose inputs and results are sent; it may take groups in another order, and lose some.

    Args:
        change: function from a group to what arrives there.
        most: number of groups after which the command is lost.
    """

    def __init__(
        self,
        change: Callable[[SystemGroup], SystemGroup] = lambda group: group,
        *,
        shuffled: bool = False,
        most: int = 1000,
    ) -> None:
        self.change, self.shuffled, self.most = change, shuffled, most
        self.groups: list[SystemGroup] = []

    def map(self, work: Callable[[Any], Any], items: Iterable[Any], /) -> Iterator[Any]:
        given = [*items]
        if self.shuffled:
            random.Random(4).shuffle(given)
        for item in given:
            sent, arrived = pickle.loads(pickle.dumps((work, item)))
            if isinstance(arrived, SystemGroup):
                if len(self.groups) >= self.most:
                    raise KeyboardInterrupt
                arrived = self.change(arrived)
                self.groups.append(arrived)
            yield pickle.loads(pickle.dumps(sent(arrived)))

    def __getattr__(self, name: str) -> Any:
        if name == "as_finished" and self.shuffled:
            return self.map
        raise AttributeError(name)


@pytest.fixture
def models(monkeypatch: pytest.MonkeyPatch) -> None:
    made.use(monkeypatch, [])


@pytest.fixture
def file(tmp_path: Path, models: None) -> Path:
    """Ten systems: two forms of the queries, with each one of terms, two of vectors and two hybrids with a reranker."""
    methods = '"dense", "sparse", "hybrid", "dense+rerank", "hybrid+rerank"'
    text = made.LARGE.replace(methods, '"dense", "sparse", "hybrid+rerank"').replace("[24, 16]", "24")
    text = text.replace("[5, 10]", "5").replace("resamples = 200", "resamples = 100")
    written = made.written(tmp_path, text + '\n[queries]\nrewrite = ["as is", "normalised"]\n')
    queries = tmp_path / "made" / "queries.jsonl"
    # A space of no width, which "normalised" removes: otherwise both forms are one.
    queries.write_text(queries.read_text().replace('"text": "word', '"text": "w\u200bord'))
    return written


Results = tuple[Any, dict[str, bytes]]


def results(folder: Path, found: Any) -> Results:
    """What must be the same: the result but for times, the table of queries, the runs."""
    kept = {each.name: each.read_bytes() for each in [folder / "queries.parquet", *sorted(folder.glob("runs/*"))]}
    return without_times(found.to_dict()), kept


@pytest.fixture
def built(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Specs of the indexes of vectors that are built."""
    specs, fill = list[str](), Dense.fill

    def fill_and_note(index: Dense, documents: Any) -> None:
        specs.append(index.spec)
        fill(index, documents)

    monkeypatch.setattr(Dense, "fill", fill_and_note)
    return specs


@pytest.fixture
def here(file: Path, tmp_path: Path, built: list[str]) -> Results:
    return results(tmp_path / "here", sweep(file, out=tmp_path / "here", cache=tmp_path / "cache-here"))


@pytest.mark.parametrize("shuffled", [False, True])
def test_the_bytes_are_those_of_the_command(file: Path, here: Results, tmp_path: Path, *, shuffled: bool) -> None:
    executor, out = Elsewhere(shuffled=shuffled), tmp_path / "there"
    found = sweep(file, out=out, cache=tmp_path / "cache", executor=executor)
    assert results(out, found) == here
    assert not any(each.cached for each in found.result.systems)
    sent = [key for group in executor.groups for key in group.systems]
    assert len(sent) == len(set(sent)) == len(found.systems) == 10
    assert not [*(tmp_path / "cache" / "stages").glob(".*"), *out.glob(".*")]


def test_groups_follow_from_the_plan(file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Those of one index are together, at most so many; those that find it built come after all others."""
    monkeypatch.setattr(system_groups, "SYSTEMS", 3)
    executor = Elsewhere()
    sweep(file, out=tmp_path / "out", cache=tmp_path / "cache", executor=executor)
    sizes = [len(group.systems) for group in executor.groups]
    specs = [
        {each.settings.get("index", {}).get("spec") for each in group.systems.values()} for group in executor.groups
    ]
    assert sizes == [3, 3, 2, 1, 1]
    assert [len(each) for each in specs] == [1] * 5
    assert specs[3:] == specs[:2]


def test_a_killed_sweep_makes_nothing_again(
    file: Path, here: Results, tmp_path: Path, built: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    plain, searches, search, out = sorted(built), [], StageRunner._search, tmp_path / "there"
    built.clear()

    def search_and_note(work: StageRunner, name: str, *given: Any) -> Any:
        searches.append((name, work.last_key))
        return search(work, name, *given)

    monkeypatch.setattr(StageRunner, "_search", search_and_note)
    first, second = Elsewhere(most=2), Elsewhere()
    with pytest.raises(KeyboardInterrupt):
        sweep(file, out=out, cache=tmp_path / "cache", executor=first)
    stored = {each.stem for each in out.glob("systems/*.json")}
    assert stored <= {key for group in first.groups for key in group.systems}
    assert results(out, sweep(file, out=out, cache=tmp_path / "cache", executor=second)) == here
    assert not stored & {key for group in second.groups for key in group.systems}
    assert sorted(built) == plain
    assert len(searches) == len(set(searches))


def test_workers_that_see_no_folder_of_the_sweep_send_systems_back(file: Path, here: Results, tmp_path: Path) -> None:
    executor, out = Elsewhere(lambda group: group._replace(mark="another")), tmp_path / "there"
    assert results(out, sweep(file, out=out, cache=tmp_path / "cache", executor=executor)) == here


def test_without_a_folder_systems_are_sent_back(file: Path, here: Results, tmp_path: Path) -> None:
    found = sweep(file, cache=tmp_path / "cache", executor=Elsewhere())
    assert without_times(found.to_dict()) == here[0]


def test_workers_without_the_cache_leave_their_systems_to_the_command(
    file: Path, here: Results, tmp_path: Path
) -> None:
    executor, out = Elsewhere(lambda group: group._replace(inputs=tmp_path / "nowhere")), tmp_path / "there"
    with pytest.warns(
        TruevalWarning, match=r"group [123] of 3, on .*: .* is another folder there. Put the cache into"
    ) as caught:
        found = sweep(file, out=out, cache=tmp_path / "cache", executor=executor)
    assert len(caught) == 3
    assert results(out, found) == here


def test_a_system_that_fails_there_is_made_by_the_command(file: Path, here: Results, tmp_path: Path) -> None:
    def spoil(group: SystemGroup) -> SystemGroup:
        systems = {key: replace(each, rewrite="nowhere") for key, each in group.systems.items()}
        return group._replace(systems=systems) if group.number == 0 else group

    out = tmp_path / "there"
    with pytest.warns(TruevalWarning, match=r"on .*: KeyError: .* It is made here\."):
        found = sweep(file, out=out, cache=tmp_path / "cache", executor=Elsewhere(spoil))
    assert results(out, found) == here
    assert not found.failed


def test_what_a_worker_has_no_memory_or_room_for_is_made_by_the_command(
    file: Path, here: Results, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The inputs of the first group do not fit into memory there; of the second, a system does not fit on its disk."""
    opened, write, executor, out = system_groups._open, SystemStore.write, Elsewhere(), tmp_path / "there"

    def open_inputs(*given: Any) -> Any:
        if len(executor.groups) == 1:
            raise MemoryError
        return opened(*given)

    def store(kept: SystemStore, key: str, *given: Any) -> Any:
        if len(executor.groups) == 2 and kept is not command.get("store"):
            command.setdefault("store", kept)
            raise OSError(errno.ENOSPC, "No space left on device", str(out / "systems" / key))
        return write(kept, key, *given)

    command = dict[str, SystemStore]()
    monkeypatch.setattr(system_groups, "_open", open_inputs)
    monkeypatch.setattr(SystemStore, "write", store)
    with pytest.warns(TruevalWarning, match="It is made here") as caught:
        found = sweep(file, out=out, cache=tmp_path / "cache", executor=executor)
    notes = [str(each.message) for each in caught]
    assert len(notes) == 2
    assert re.search(r"group 1 of 3, on .*: MemoryError\. It is made here\.", notes[0])
    assert re.search(r", on .*: OSError: .*No space left on device.* It is made here\.", notes[1])
    assert results(out, found) == here
    assert not found.failed


@pytest.mark.parametrize("days", [-1, 1])
def test_a_clock_that_is_wrong_by_a_day_changes_nothing(days: int, file: Path, here: Results, tmp_path: Path) -> None:
    first, second, out, cache = Elsewhere(most=2), Elsewhere(), tmp_path / "there", tmp_path / "cache"
    with pytest.raises(KeyboardInterrupt):
        sweep(file, out=out, cache=cache, executor=first)
    stored = {each.stem for each in out.glob("systems/*.json")}
    for each in (*out.rglob("*"), *cache.rglob("*")):
        os.utime(each, (then := each.stat().st_mtime + days * 86_400, then))
    assert results(out, sweep(file, out=out, cache=cache, executor=second)) == here
    assert stored
    assert not stored & {key for group in second.groups for key in group.systems}


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (
            lambda group: group._replace(versions={**group.versions, "numpy": "1.0"}),
            r"group 1 of 3, on .*: the systems would be others here: numpy is [\d.]+, not 1.0. Give",
        ),
        (lambda group: group._replace(digest="0" * 64), "is not what the command wrote. Run the same command again"),
    ],
)
def test_workers_that_would_make_other_systems_are_refused(
    change: Callable[[SystemGroup], SystemGroup], told: str, file: Path, tmp_path: Path
) -> None:
    with pytest.raises(InputError, match=told):
        sweep(file, out=tmp_path / "out", cache=tmp_path / "cache", executor=Elsewhere(change))
