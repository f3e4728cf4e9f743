"""Sweep files that are wrong in one place each: refused with file, line and key, or read as they are written."""

import copy
import math
import random
from collections.abc import Callable, Iterator
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from trueval.errors import InputError
from trueval.retrieval.pipeline.config import settings_of_tables
from trueval.tradeoff.config.plan import SweepPlan

FILES = 500
WHOLE: dict[str, Any] = {
    "corpus": {"path": "c", "fields": ["title", "text"]},
    "queries": {"path": "q.jsonl", "sample": 100, "rewrite": ["as is", "normalised"]},
    "pipeline": {"methods": ["dense", "hybrid", "hybrid+rerank"], "scoring": "stages"},
    "embed": {"model": "m", "dtype": "float32", "dimension": [64, 32], "batch_size": 8, "reuse": "pass"},
    "index": {"spec": ["flat", "hnsw(M=8)"], "depth": 80, "scoring": "index"},
    "sparse": {"index": "bm25", "depth": 90},
    "fuse": {"method": "weighted", "k": 60, "norm": "min-max", "weights": [1, 2.5], "codes": 0.5, "depth": 70},
    "deduplicate": {"threshold": 0.8, "words": 5, "duplicates": True, "per_source": 3},
    "rerank": {"model": "r", "scoring": "float32", "depth": [20, 50]},
    "repair": {"within": ["bfloat16", "0.01"], "k": 10, "order": False},
    "generate": {"contexts": [5, 10]},
    "measure": {"names": ["nDCG@K", "R@K"], "unjudged": 1, "rel": 2, "missing": "skip", "level": 0.9, "seed": 3},
    "prices": {"generator": "gpt-5", "candidate_tokens": 500},
    "latency": {"queries": 30, "repeats": 3, "rates": [2.0], "band_ms": 75},
    "limits": {"latency_ms": 500, "cost": 2.5, "slo_ms": [350, 500], "percentile": "p95"},
    "tune": {"within": 0.02},
    "route": {"depths": [20, 50], "drop": False, "language": "en"},
    "judge": {"model": "j", "rounds": 2, "max_cost": 5.0, "scale": "1:0,2:0,3:1,4:2,5:3"},
    "probes": {"names": True, "queries": 20, "ablations": ["initials_form"]},
    "configuration": [
        {"name": "one", "embed": {"dimension": 16}, "pipeline": {"methods": "dense"}},
        {"name": "other", "sparse": {"depth": [30, 40]}, "queries": {"rewrite": "as is"}},
    ],
}
HOSTILE: list[Any] = [
    *("", "x", "\0", "é" * 3_000, "no.such(", 0, -1, 7, 2**62, 2**63, 1.5, -0.0, 1e300, math.nan, math.inf, -math.inf),
    *(
        True,
        False,
        date(2026, 1, 1),
        [],
        [[]],
        [[], []],
        [1, 1],
        [1, 2, 3],
        ["x", 1],
        [{}],
        {},
        {"a": 1},
        [math.nan] * 2,
    ),
]


def toml(value: Any) -> str:
    """A value as TOML writes it."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        return '"' + "".join(f"\\u{ord(each):04x}" if each < " " or each in '"\\' else each for each in value) + '"'
    if isinstance(value, list):
        return f"[{', '.join(map(toml, value))}]"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{toml(key)} = {toml(inner)}" for key, inner in value.items()) + "}"
    return value.isoformat() if isinstance(value, date) else repr(value)


def lines(file: dict[str, Any]) -> list[str]:
    """A file with one key a line; what is no table comes first."""
    found = [f"{toml(name)} = {toml(value)}" for name, value in file.items() if not isinstance(value, dict)]
    for name, table in file.items():
        if isinstance(table, dict):
            found += [f"[{toml(name)}]", *(f"{toml(key)} = {toml(value)}" for key, value in table.items())]
    return found


def misspelt(name: str, rng: random.Random) -> str:
    place = rng.randrange(len(name))
    return name[:place] + rng.choice(["", "x", name[place] * 2]) + name[place + 1 :]


def renamed(table: dict[str, Any], old: str, new: str) -> None:
    table[new] = table.pop(old)


def mutated(rng: random.Random) -> tuple[dict[str, Any], set[str]]:
    """A file with one thing changed, and the names of which a message must have one."""
    file = copy.deepcopy(WHOLE)
    if rng.random() < 0.7:
        del file["configuration"]
    else:
        del file["limits"]["cost"]  # one of the two need not cost anything
    name = rng.choice([each for each in file if isinstance(file[each], dict)])
    tables = file
    if "configuration" in file and rng.random() < 0.5:
        tables = rng.choice(file["configuration"])
        name = rng.choice(list(tables))
    table = tables[name]
    key = rng.choice(list(table)) if isinstance(table, dict) else name
    keys = table if isinstance(table, dict) else tables
    value, hostile = copy.deepcopy(keys[key]), copy.deepcopy(rng.choice(HOSTILE))
    changes: list[Callable[[], Any]] = [
        lambda: keys.__setitem__(key, hostile),
        lambda: keys.__setitem__(key, [value, hostile]),
        lambda: keys.__setitem__(key, [value, value]),
        lambda: keys.__setitem__(key, [value]),
        lambda: renamed(keys, key, misspelt(key, rng)),
        lambda: keys.pop(key),
        lambda: tables.pop(name),
        lambda: renamed(tables, name, misspelt(name, rng)),
        lambda: tables.__setitem__(name, rng.choice([hostile, [table], [table, table]])),
        lambda: file[rng.choice(list(WHOLE)[:-1])].__setitem__(name, copy.deepcopy(table)),
        lambda: file.__setitem__(
            "configuration", rng.choice([hostile, [{"name": "a"}] * 2, [{"name": key, key: value}]])
        ),
    ]
    rng.choice(changes)()
    return file, {name, key, "configuration", "needs", "retrieves"}


def values(file: dict[str, Any], table: str, key: str) -> Iterator[Any]:
    """What a file says a key may be."""
    for tables in (file, *file.get("configuration", [])):
        if key in tables.get(table, {}):
            given = tables[table][key]
            yield from [given, tuple(given), *given] if isinstance(given, list) else [given]


def read_as_written(plan: SweepPlan, file: dict[str, Any]) -> None:
    """Every value of every system is one that the file names, or the default."""
    defaults = settings_of_tables({"embed": {"model": "m"}, "sparse": {}, "rerank": {"model": "r"}}, "here")
    defaults |= settings_of_tables({"embed": {"model": "m"}, "repair": {}}, "here")
    defaults |= settings_of_tables({"sparse": {}, "deduplicate": {}, "pipeline": {}}, "here")
    assert plan.systems
    for system in plan.systems:
        contexts, rewrites = (list(values(file, *way)) for way in (("generate", "contexts"), ("queries", "rewrite")))
        assert all(k in [10, *contexts] for k in system.contexts)
        assert system.rewrite in ["as is", *rewrites]
        for table, settings in system.settings.items():
            for key, value in settings.items():
                wanted = [defaults[table][key], *values(file, table, key)]
                wanted += [tuple(each) for each in wanted if isinstance(each, list)]
                assert any(type(value) is type(each) and value == each for each in wanted), (table, key, value)


@pytest.mark.parametrize("part", range(5))
def test_a_file_that_is_wrong_in_one_place_is_refused_by_name_or_right(tmp_path: Path, part: int):
    refused = accepted = 0
    for seed in range(part, FILES, 5):
        file, names = mutated(random.Random(seed))
        text, unchanged = lines(file), {*lines(WHOLE)}
        path = tmp_path / "s.toml"
        path.write_text("\n".join(text) + "\n", encoding="utf-8")
        try:
            plan = SweepPlan.read(path)
        except InputError as error:
            message, line = str(error), "" if error.line is None else text[error.line - 1]
            assert message.startswith(f"{path}:"), seed
            assert any(name in message for name in names), (seed, message)
            assert line or "needs" in message or "nothing retrieves" in message, (seed, message)
            assert line not in unchanged or any(name in f"{line} {message}" for name in names), (seed, message, line)
            refused += 1
        else:
            read_as_written(plan, file)
            accepted += 1
    assert refused > 2 * accepted > 10  # both happen
