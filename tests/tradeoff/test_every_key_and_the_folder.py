"""Every key of a sweep, changed alone in a directory and a cache that other values have filled: as if swept anew."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from tests.extras import need
from tests.golden import small

from trueval.golden.build.golden_tables import JudgeTable
from trueval.retrieval.pipeline.pipeline_tables import KEYS
from trueval.tradeoff.config.sweep_tables import SweepFile
from trueval.tradeoff.runner.sweep import sweep

need("bm25s", extra="retrieval")
pytestmark = pytest.mark.slow

Tables = dict[str, dict[str, Any]]
OWN = {
    f"{name}.{key}"
    for name, field in SweepFile.model_fields.items()
    if name != "configuration"
    for key in field.annotation.model_fields  # type: ignore[union-attr]  # a table
}
LABELS = {"model": "labels:c/labels.trec", "unknown": 1}
CHANGES: Mapping[str, tuple[Tables, ...]] = {
    "prices.generator": ({"prices": {"generator": "writer", "book": "prices.toml"}},),
    "prices.candidate_tokens": ({"prices": {"candidate_tokens": 99, "generator": "writer", "book": "prices.toml"}},),
    "prices.answer_tokens": ({"prices": {"answer_tokens": 7, "generator": "writer", "book": "prices.toml"}},),
    "limits.quality": ({"limits": {"quality": 0.99}},),
    "limits.sure": ({"limits": {"quality": 0.5, "sure": 1.0}},),
    "judge.depth": ({"judge": {**LABELS, "depth": 2}},),
    "judge.scale": ({"judge": {**LABELS, "scale": "1:0,2:0,3:1,4:2,5:3"}},),
    "judge.noise": ({"judge": {**LABELS, "noise": 2.0}},),
    "judge.rounds": ({"judge": {**LABELS, "noise": 2.0, "rounds": 3}},),
    "judge.unknown": ({"judge": {**LABELS, "unknown": 4}},),
    "probes.names": ({"probes": {"names": False, "queries": 3, "runs": 1}},),
    "probes.noise": ({"probes": {"noise": False, "queries": 3, "runs": 1}},),
    "probes.language": ({"probes": {"language": "fr", "queries": 3, "runs": 1}},),
    "probes.queries": ({"probes": {"queries": 2, "runs": 1}},),
    "probes.runs": ({"probes": {"queries": 3, "runs": 2}},),
    "probes.level": ({"probes": {"queries": 3, "runs": 1, "level": 1}},),
    "probes.ablations": ({"probes": {"queries": 3, "runs": 1, "ablations": ["initials_form"]}},),
    "queries.path": ({"queries": {"path": "others.jsonl"}},),
    "queries.sample": ({"queries": {"sample": 2}},),
    "queries.seed": ({"queries": {"sample": 2, "seed": 2}},),
    "queries.rewrite": (
        {"queries": {"rewrite": "others.jsonl"}},
        {"queries": {"rewrite": ["as is", "as is + others.jsonl"]}},
    ),
    "measure.names": ({"measure": {"names": ["AP@K", "nDCG@K"]}},),
    "measure.judgments": ({"measure": {"judgments": "c/labels.trec"}},),
    "measure.grades": ({"measure": {"grades": "1:0,2:0,3:1,4:1,5:1"}},),
    "measure.unjudged": ({"measure": {"unjudged": 2}},),
    "measure.convention": ({"measure": {"convention": "trec_eval"}},),
    "measure.level": ({"measure": {"level": 0.8}},),
    "measure.resamples": ({"measure": {"resamples": 300}},),
    "measure.seed": ({"measure": {"seed": 9}},),
    "measure.tie_order": ({"measure": {"tie_order": "docid-asc"}},),
    "measure.tie_precision": ({"measure": {"tie_precision": "float8_e4m3fn"}},),
    "measure.gain": ({"measure": {"gain": "exp"}},),
    "measure.rel": ({"measure": {"rel": 4, "names": ["AP@K"]}},),
    "measure.depth": ({"measure": {"depth": 1}},),
    "measure.missing": ({"measure": {"missing": "skip"}},),
    "measure.judged_only": ({"measure": {"judged_only": True}},),
    "sparse.index": (
        {"sparse": {"index": ["bm25(k1=0.1, b=1.0)"]}},
        {"sparse": {"index": ["bm25", "bm25(k1=0.1, b=1.0)"]}},
    ),
    "sparse.depth": ({"sparse": {"depth": 3}},),
    "deduplicate.threshold": ({"deduplicate": {"threshold": 0.1, "words": 1}},),
    "generate.contexts": ({"generate": {"contexts": [1, 2]}},),
}


def test_its_keys_are_known() -> None:
    assert {*CHANGES} <= OWN
    # Those of a pipeline and of a judge are tried by their own tests, and answers and times by those of their rooms.
    elsewhere = {*KEYS} | {f"judge.{key}" for key in JudgeTable.model_fields}
    rooms = (
        "answers.",
        "generate.",
        "latency.",
        "grow.",
        "route.",
        "tune.",
        "pipeline.",
        "limits.",
        "measure.",
        "prices.",
    )
    left = {key for key in OWN - {*CHANGES} - elsewhere if not key.startswith(rooms)}
    assert left == {"corpus.path", "corpus.fields", "queries.judge"} - elsewhere


BASE: Tables = {
    "corpus": {"path": "c"},
    "sparse": {"depth": 6},
    "measure": {"names": ["nDCG@K", "P@K"], "resamples": 200},
    "generate": {"contexts": [3]},
    "latency": {"queries": 0},
}


def written(folder: Path, change: Tables) -> Path:
    tables = {name: {**BASE.get(name, {}), **change.get(name, {})} for name in {**BASE, **change}}
    lines = []
    for name, values in tables.items():
        lines += [f"[{name}]", *(f"{key} = {json.dumps(value)}" for key, value in values.items())]
    (folder / "sweep.toml").write_text("\n".join(lines) + "\n")
    return folder / "sweep.toml"


def leaves(value: Any, at: str = "") -> Iterator[tuple[str, Any]]:
    if isinstance(value, dict):
        for key, each in value.items():
            yield from leaves(each, f"{at}.{key}")
    elif isinstance(value, list):
        for place, each in enumerate(value):
            yield from leaves(each, f"{at}[{place}]")
    else:
        yield at, value


def outcome(path: Path, out: Path, cache: Path) -> dict[str, Any]:
    return dict(leaves(json.loads(json.dumps(sweep(path, out=out, cache=cache).to_dict()))))


@pytest.mark.filterwarnings("ignore")
def test_a_directory_never_keeps_the_work_of_another_setting(tmp_path: Path) -> None:
    """The directory and the cache are filled by all changes in turn; each must give what it gives alone."""
    small.corpus(tmp_path / "c")
    lines = (tmp_path / "c" / "labels.trec").read_text().splitlines(keepends=True)
    (tmp_path / "c" / "qrels.trec").write_text("".join(lines[::2]))
    others = {f"q{place}": f"what about {topic} and steel load" for place, topic in enumerate(small.TOPICS)}
    rows = (json.dumps({"_id": query, "text": text}) + "\n" for query, text in others.items())
    (tmp_path / "others.jsonl").write_text("".join(rows))
    (tmp_path / "prices.toml").write_text(PRICES)

    def alone(change: Tables) -> dict[str, Any]:
        found = outcome(written(tmp_path, change), tmp_path / "new", tmp_path / "new-cache")
        shutil.rmtree(tmp_path / "new")
        shutil.rmtree(tmp_path / "new-cache", ignore_errors=True)
        return found

    base, again = alone({}), alone({})
    assert not [at for at in base if again[at] != base[at] and not timed(at)]
    same, told = {*CHANGES}, []
    outcome(written(tmp_path, {}), tmp_path / "kept", tmp_path / "kept-cache")
    for key, changes in CHANGES.items():
        for change in changes:
            expected = alone(change)
            found = outcome(written(tmp_path, change), tmp_path / "kept", tmp_path / "kept-cache")
            differ = [at for at in {**found, **expected} if found.get(at) != expected.get(at) and not timed(at)]
            if differ:
                told.append(f"{change}: {', '.join(differ[:5])}")
            if any(expected.get(at) != base.get(at) and not timed(at) for at in {**expected, **base}):
                same.discard(key)
    assert not told
    assert not same


def timed(at: str) -> bool:
    """Whether a value is of this run of the sweep: a time, or what the machine did."""
    return any(word in at for word in ("seconds", "cached"))


PRICES = """
date = "2026-01-01"
currency = "USD"
source = "made up"
[generators.writer]
per_million_tokens = 3.0
per_million_output = 9.0
"""
