"""A sweep file's way through the house: rooms call what stands below them, and seldom what was given from above."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import NamedTuple

import pytest
from tests.extras import need
from tests.test_floors import FLOOR, MODULES, imports, room
from tests.tradeoff import made

from trueval.tradeoff.runner.sweep import sweep

need("faiss", "bm25s", extra="retrieval")
need("safetensors", extra="models")
pytestmark = pytest.mark.slow

MODULE_OF_FILE = {str(path): name for name, path in MODULES.items()}
MOST_CLIMBS = 5


class Call(NamedTuple):
    """From a function of one room to one of another."""

    caller: str
    called: str
    functions: str


def sub_room(module: str) -> str:
    """The room of a module; of tradeoff, which a sweep file goes through, the sub-room."""
    parts = module.split(".")
    return ".".join(parts[1:3]) if room(module) == "tradeoff" and len(parts) > 3 else room(module)


def floor_of(name: str) -> int:
    return FLOOR[name.partition(".")[0]]


def sub_rooms_below() -> dict[str, set[str]]:
    """The sub-rooms of tradeoff that each stands on, at once or through others."""
    below: dict[str, set[str]] = {sub_room(name): set() for name in MODULES if room(name) == "tradeoff"}
    for name in MODULES:
        if room(name) == "tradeoff":
            below[sub_room(name)] |= {sub_room(each) for each in imports(name)} & set(below) - {sub_room(name)}
    for _ in below:
        for known in below.values():
            known |= {each for other in known for each in below[other]}
    return below


@contextmanager
def calls_between_rooms() -> Iterator[set[Call]]:
    """What a room calls of another, in whatever thread; callers outside the package are looked through.

    But for pydantic: it checks a declared table by the table's own validators, whoever asks it to.
    """
    found: set[Call] = set()

    def watch(frame: FrameType, event: str, _: object) -> None:
        if event != "call" or (module := MODULE_OF_FILE.get(frame.f_code.co_filename)) is None:
            return
        caller = frame.f_back
        while caller is not None and caller.f_code.co_filename not in MODULE_OF_FILE:
            if f"{os.sep}pydantic{os.sep}" in caller.f_code.co_filename:
                return
            caller = caller.f_back
        if caller is None:
            return
        rooms = sub_room(MODULE_OF_FILE[caller.f_code.co_filename]), sub_room(module)
        if rooms[0] != rooms[1]:
            found.add(Call(*rooms, f"{caller.f_code.co_qualname} -> {frame.f_code.co_qualname}"))

    threading.setprofile(watch)
    sys.setprofile(watch)
    try:
        yield found
    finally:
        sys.setprofile(None)
        threading.setprofile(None)


def test_a_sweep_file_climbs_at_most_five_times(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Counted are the pairs of rooms of which the lower calls the upper, which it can only by what it was given.

    A room is a package or module of src/trueval, on its floor of FLOORS; within tradeoff each sub-room is one, and
    stands above those that it imports. The ground floor is no room: it maps a function over threads, checks a value by
    its type. Today lazy lists of files (texts) ask the collection, models and retrieval for a text, files writes what
    a sweep hands over, and retrieval tells the sweep how far a stage is.
    """
    made.use(monkeypatch, [])
    file = made.written(tmp_path, made.SMALL)
    with calls_between_rooms() as calls:
        sweep(file, out=tmp_path / "out")
    below = sub_rooms_below()
    climbs = {
        f"{each.caller} calls {each.called}": each.functions
        for each in calls
        if (low := floor_of(each.caller)) > 0
        and (floor_of(each.called) > low or each.caller in below.get(each.called, ()))
    }
    assert ("tradeoff.runner", "tradeoff.config") in {(call.caller, call.called) for call in calls}  # the trace sees
    assert len(climbs) <= MOST_CLIMBS, climbs
