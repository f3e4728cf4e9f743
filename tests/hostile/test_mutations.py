"""Result files with one value changed: a page, scores, or one of our errors, and nothing else."""

import json
import os
import random
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
from tests.hostile.small import COMMANDS, write_inputs
from tests.report.gold_page import FOLDER
from tests.report.results import results, value

from trueval.errors import InputError, TruevalError
from trueval.evaluation.stored_scores import read_runs
from trueval.report.generation import stamp_of
from trueval.report.kinds import directory_of, read_directory
from trueval.report.page import page, parts, write_figures

DEEP = json.loads("[" * 300 + "]" * 300)
VALUES: tuple[Any, ...] = (
    *(None, True, -1, 0, 10**400, 1e308, -1e308, 2.5, "", "NaN", "x" * 5000, "<script>", "\ud800", [], {}, DEEP),
    *([None], ["x"], [[]], {"x": 1}, {"name": None}),
)
DROPPED, TWICE = object(), object()
SECONDS = 60  # for one directory, on a machine with other work


def places(document: Any, keys: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The keys to every value in a JSON document."""
    yield keys
    inside = (
        document.items() if isinstance(document, dict) else enumerate(document) if isinstance(document, list) else ()
    )
    for key, each in inside:
        yield from places(each, (*keys, key))


def mutated(document: Any, keys: tuple[Any, ...], new: Any) -> Any:
    """The document with another value in one place, without it, or with it twice."""
    if not keys:
        return None if new in (DROPPED, TWICE) else new
    document = deepcopy(document)
    inside = document
    for key in keys[:-1]:
        inside = inside[key]
    if new is DROPPED:
        del inside[keys[-1]]
    else:
        inside[keys[-1]] = [inside[keys[-1]]] * 2 if new is TWICE else new
    return document


def encoded(document: Any) -> bytes:
    return json.dumps(document).encode()


@contextmanager
def in_time() -> Iterator[None]:
    def late(*_: object) -> None:
        raise TimeoutError(f"more than {SECONDS} s")

    before = signal.signal(signal.SIGALRM, late)
    signal.alarm(SECONDS)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def attempt(files: dict[str, bytes], folder: Path, *, drawn: bool) -> str:
    """Reads a result directory in all ways that there are; returns the error of ours, empty where there is none."""
    said = ""
    try:
        directory = directory_of(folder, files)
        parts(directory)
        if drawn:
            page(directory, live=False)
            write_figures(directory, folder)
    except TruevalError as error:
        said = str(error)
    for name, data in files.items():
        (folder / name).write_bytes(data)
    with suppress(TruevalError):
        read_runs(folder)
    return said


def mutate(files: dict[str, bytes], rng: random.Random) -> dict[str, bytes]:
    name = rng.choice(sorted(files))
    document = json.loads(files[name])
    new = rng.choice((*VALUES, DROPPED, TWICE))
    return {**files, name: encoded(mutated(document, rng.choice(list(places(document))), new))}


def test_forty_mutations_of_an_evaluation(tmp_path: Path) -> None:
    """Of one run and one measure, without its plot, as plots take their time."""
    statistics = {"query": "q", "measure": "RR", "expected": 0.5, "lowest": 0.5, "highest": 1.0, "tie_broken": 0.5}
    held = results({"a": {"RR": value(0.2, 0.25, 0.4, 0.3)}})
    held["runs"][0]["queries"] = 1
    held["runs"][0]["per_query"] = [{**statistics, "sd": 0.1}]
    rng = random.Random(7)
    said = [attempt(mutate({"results.json": encoded(held)}, rng), tmp_path, drawn=False) for _ in range(40)]
    assert 10 < sum("results.json#" in each for each in said) < 40


@pytest.mark.parametrize(
    ("name", "keys", "new", "said"),
    [
        (
            "results.json",
            ("runs", 0, "notes"),
            DROPPED,
            "results.json#/runs/0/notes: a result of kind evaluate lacks this value.",
        ),
        (
            "results.json",
            ("runs", 1, "ties"),
            [],
            "results.json#/runs/1/ties: a result of kind evaluate must be an object",
        ),
        (
            "details.json",
            ("runs",),
            None,
            "details.json#/runs: a result of kind evaluate-details must be a list here. Got None.",
        ),
        (
            "details.json",
            ("runs", 0, "per_query", 0, "measure"),
            DROPPED,
            "at or near details.json#/runs/0/per_query/0/measure (KeyError",
        ),
        (
            "comparison.json",
            ("leaderboards", 0, "ranking"),
            1,
            "comparison.json#/leaderboards/0/ranking: a result of kind compare must be a list here. Got 1.",
        ),
    ],
)
def test_the_value_at_fault_is_named(tmp_path: Path, name: str, keys: tuple[Any, ...], new: Any, said: str) -> None:
    files = {path.name: path.read_bytes() for path in FOLDER.glob("*.json")}
    files[name] = encoded(mutated(json.loads(files[name]), keys, new))
    with pytest.raises(InputError) as refused:
        parts(directory_of(tmp_path, files))
    assert said in str(refused.value)
    assert "Write the file again with --out." in str(refused.value)
    assert refused.value.source == str(tmp_path / name)


@pytest.mark.parametrize(
    "text", ['{"kind": "evaluate", "x": NaN}', "[" * 100_000, '{"x": 1' + "0" * 5000 + "}", "\x00"]
)
def test_what_is_not_json_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "results.json").write_text(text, encoding="utf-8")
    for read in (read_directory, read_runs):
        with pytest.raises(InputError, match=r"results\.json: not JSON"):
            read(tmp_path)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """A JSON file of every kind."""
    folder = tmp_path_factory.mktemp("every") / "in"
    write_inputs(folder, 0)
    for command in COMMANDS.values():
        words = [sys.executable, "-m", "trueval", *(word.format(out="out") for word in command)]
        subprocess.run(words, cwd=folder, check=True, capture_output=True)
    return {path.name: path.read_bytes() for path in (folder / "out").glob("*.json") if path.name != "report.json"}


@pytest.mark.evidence
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.skipif(os.name == "nt", reason="without SIGALRM nothing ends what takes too long")
def test_thousands_of_mutations(whole: dict[str, bytes], tmp_path: Path, seed: int) -> None:
    assert len(whole) == 6
    assert all(map(stamp_of, whole.values()))
    # As a folder without stamps is read: with them all mutations but those of the stamp itself would be refused.
    plain = {name: data.partition(b',\n "generation"')[0] + b"\n}\n" for name, data in whole.items()}
    assert attempt(plain, tmp_path, drawn=True) == ""
    rng, refused = random.Random(seed), 0
    for number in range(500):
        with in_time():
            refused += attempt(mutate(plain, rng), tmp_path, drawn=number % 20 == 0) != ""
    print(f"{refused} of 500 directories refused")
