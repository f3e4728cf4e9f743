"""Every key of a golden set, changed alone in a folder that was built with another value: as if built anew.

A key that decides a label and is missing in the key of a stage leaves the old stage there, which no other test would
see. A key that is added must be listed here.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from tests.extras import need
from tests.golden import small

from trueval.golden.build.build import build
from trueval.golden.build.golden_plan import GoldenPlan
from trueval.golden.build.golden_tables import MODEL_KEYS, GoldenFile
from trueval.retrieval.pipeline.pipeline_tables import KEYS

need("bm25s", extra="retrieval")
pytestmark = pytest.mark.slow

Tables = dict[str, dict[str, Any]]
OWN = tuple(
    f"{name}.{key}"
    for name, field in GoldenFile.model_fields.items()
    for key in field.annotation.model_fields  # type: ignore[union-attr]  # a table
)
CHANGES: Mapping[str, tuple[Tables, ...]] = {
    "queries.path": ({"queries": {"path": "others.jsonl"}},),
    "queries.sample": ({"queries": {"sample": 2}},),
    "queries.seed": ({"queries": {"sample": 2, "seed": 2}},),
    "queries.rewrite": tuple({"queries": {"rewrite": way}} for way in ("denoise", "as is + others.jsonl")),
    "sparse.index": ({"sparse": {"index": "bm25(k1=0.1, b=1.0)"}},),
    "pool.depth": ({"pool": {"depth": 5}},),
    "judge.grades": ({"judge": {"grades": "1:1,2:2,3:4,4:5,5:5"}},),
    "judge.unknown": ({"judge": {"unknown": 3}},),
    "judge.noise": ({"judge": {"noise": 2.0}},),
    "judge.persistent": ({"judge": {"persistent": 1.5}},),
    "judge.position": ({"judge": {"position": 2.0}},),
    "judge.length": ({"judge": {"length": -2.0}},),
    "judge.gross": ({"judge": {"gross": 0.7}},),
    "judge.invalid": ({"judge": {"invalid": 0.7}},),
    "judge.mode": tuple({"judge": {"mode": mode, "noise": 1.0}} for mode in ("single", "list")),
    "judge.batch": ({"judge": {"batch": 2, "noise": 1.0}},),
    "judge.rounds": ({"judge": {"rounds": 3, "noise": 1.0}},),
    "judge.aggregate": tuple({"judge": {"aggregate": way, "noise": 1.5}} for way in ("median", "majority")),
    "judge.repeat": ({"judge": {"repeat": 2, "noise": 1.0}},),
    "prune.keep": ({"prune": {"keep": 3}},),
    "refine.method": ({"refine": {"method": "paper"}}, {"refine": {"method": "none"}}),
    "refine.top": ({"refine": {"top": 2}},),
    "refine.batch": ({"refine": {"batch": 5}},),
    "refine.parallel": ({"refine": {"parallel": 1}},),
    "refine.overlap": ({"refine": {"overlap": 0.3}},),
    "refine.calls": ({"refine": {"calls": 1}},),
    "refine.slot_bias": ({"refine": {"slot_bias": True}},),
    "refine.gross": ({"refine": {"gross": 0.5}},),
    "refine.turns": ({"refine": {"method": "paper", "turns": 1}},),
    "refine.regrade": ({"refine": {"regrade": True}, "judge": {"noise": 2.5}},),
    "golden.seed": ({"golden": {"seed": 5}},),
}
ELSEWHERE = {
    *("corpus.path", "corpus.fields", "queries.judge", "sparse.depth", "fuse.depth", "index.depth"),
    *(key for key in KEYS if key.startswith(("embed.", "index.", "fuse."))),  # tests of every key of a pipeline
    *("judge.model", "judge.concurrency", "judge.max_cost", "judge.price_per_million_output"),
    *(f"judge.{key}" for key in MODEL_KEYS),  # tests of the ledger's keys
}


def test_every_key_is_changed_here_or_elsewhere() -> None:
    assert {*CHANGES} | ELSEWHERE >= {*OWN}
    assert {*CHANGES} <= {*OWN}
    assert not {*CHANGES} & ELSEWHERE


BASE: Tables = {
    "corpus": {"path": "c"},
    "sparse": {},
    "pool": {"depth": 8},
    "judge": {"model": "labels:c/labels.trec", "unknown": 1, "noise": 0.7, "batch": 3},
    "prune": {"keep": 6},
    "refine": {"top": 3, "batch": 3, "parallel": 2, "calls": 4},
}


def written(folder: Path, change: Tables) -> GoldenPlan:
    tables = {name: {**BASE.get(name, {}), **change.get(name, {})} for name in {**BASE, **change}}
    lines = []
    for name, values in tables.items():
        lines += [f"[{name}]", *(f"{key} = {_toml(value)}" for key, value in values.items())]
    (folder / "golden.toml").write_text("\n".join(lines) + "\n")
    return GoldenPlan.read(folder / "golden.toml")


def _toml(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else f'"{value}"' if isinstance(value, str) else str(value)


def outcome(folder: Path) -> dict[str, bytes]:
    """All files that say what was found, judged and chosen, without dates.

    That of the second grading stays where none is asked for any more, and is read by no other stage.
    """
    kinds = (".trec", ".jsonl", ".parquet")
    files = [each for each in folder.iterdir() if each.suffix in kinds and each.name != "regraded.parquet"]
    return {each.name: re.sub(rb'"date": "[^"]*"', b"", each.read_bytes()) for each in files}


@pytest.mark.filterwarnings("ignore")
def test_a_folder_never_keeps_the_stage_of_another_setting(tmp_path: Path) -> None:
    """The folder is built by all changes in turn; each must leave what it makes in an empty one."""
    small.corpus(tmp_path / "c")
    others = {f"q{place}": f"hello, what about {topic} and steel? Thanks" for place, topic in enumerate(small.TOPICS)}
    (tmp_path / "others.jsonl").write_text(
        "".join(f'{{"_id": "{query}", "text": "{text}"}}\n' for query, text in others.items())
    )
    (tmp_path / "c" / "labels.trec").write_text(
        "".join((tmp_path / "c" / "labels.trec").read_text().splitlines(keepends=True)[:-3])  # some unknown
    )
    build(written(tmp_path, {}), tmp_path / "kept")
    base, same, told = outcome(tmp_path / "kept"), {*CHANGES}, []
    assert {"qrels.trec", "pool.parquet", "top.trec", "labels.jsonl"} <= base.keys()
    for key, changes in CHANGES.items():
        for change in changes:
            plan = written(tmp_path, change)
            build(plan, tmp_path / "kept")
            build(plan, tmp_path / "new")
            alone = outcome(tmp_path / "new")
            shutil.rmtree(tmp_path / "new")
            if alone != base:
                same.discard(key)
            found = outcome(tmp_path / "kept")
            if found != alone:
                differ = [name for name in {**found, **alone} if found.get(name) != alone.get(name)]
                told.append(f"{change}: {', '.join(differ)}")
    assert not told
    build(written(tmp_path, {}), tmp_path / "kept")
    assert outcome(tmp_path / "kept") == base
    assert not same  # a change that changes nothing tells nothing
