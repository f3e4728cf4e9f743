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


# Beside the tables of the base: who answers, and what answers are held against.
ANSWERED: Tables = {
    **BASE,
    "generate": {"contexts": [2], "model": "planted", "planted": {"misreads": 0.4, "abstains": 0.2}},
    "answers": {"references": "references.jsonl", "measure": ["exact-match", "token-F1"], "orders": 1},
}
ANSWERS: tuple[Tables, ...] = (
    {"generate": {"contexts": [1]}},
    {"generate": {"model": ["extractive", "planted"]}},
    {"generate": {"planted": {"misreads": 0.9, "abstains": 0.2}}},
    {"generate": {"planted": {"misreads": 0.4, "abstains": 0.6}}},
    {"generate": {"seed": 3}},
    {"generate": {"samples": 3}},
    {"answers": {"measure": ["token-F1"]}},
    {"answers": {"references": "others.jsonl"}},
    {"measure": {"seed": 9}},
    {"queries": {"sample": 2}},
    {"sparse": {"index": ["bm25(k1=0.1, b=1.0)"]}},
)


@pytest.mark.filterwarnings("ignore")
def test_a_directory_never_keeps_the_work_of_another_setting(folder: Path) -> None:
    """The directory and the cache are filled by all changes in turn; each must give what it gives alone."""
    trial = Trial(folder, BASE)
    changing = {key for key, changes in CHANGES.items() for change in changes if trial.differs(change)}
    assert not trial.told
    assert changing == {*CHANGES}  # a change that changes nothing tells nothing


@pytest.mark.filterwarnings("ignore")
def test_nor_answers_of_another_setting(folder: Path) -> None:
    trial = Trial(folder, ANSWERED)
    same = [change for change in ANSWERS if not trial.differs(change)]
    assert not trial.told
    assert not same


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("tables", [BASE, ANSWERED], ids=["runs", "answers"])
def test_nor_the_work_of_files_as_they_were(folder: Path, tables: Tables) -> None:
    """A word of a document, of a query or of a reference, and a grade, are changed in turn, and stay so."""
    trial = Trial(folder, tables)
    changes = {
        "c/corpus.jsonl": ("steam heat", "steam and heat lift wings"),
        "c/queries.jsonl": ("what about boilers", "what about steel"),
        "c/qrels.trec": ("q0 0 wings-2 4", "q0 0 wings-2 1"),
        **({"references.jsonl": ("word1", "worth")} if tables is ANSWERED else {}),
    }
    for name, (old, new) in changes.items():
        text = (folder / name).read_text()
        assert old in text or name == "c/corpus.jsonl"
        (folder / name).write_text(text.replace(old, new) if old in text else text.replace("steam", "lift", 3))
        assert trial.differs({}), name
        trial.base = trial.alone({})
    assert not trial.told


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A collection of which half is judged, other queries, references, and prices."""
    small.corpus(tmp_path / "c")
    lines = (tmp_path / "c" / "labels.trec").read_text().splitlines(keepends=True)
    (tmp_path / "c" / "qrels.trec").write_text("".join(lines[::2]))
    others = [
        {"_id": f"q{at}", "query_id": f"q{at}", "text": f"what about {topic} and steel load", "reference": "stars"}
        for at, topic in enumerate(small.TOPICS)
    ]
    (tmp_path / "others.jsonl").write_text("".join(json.dumps(each) + "\n" for each in others))
    said = [{"query_id": f"q{at}", "reference": f"word{at} of {topic}"} for at, topic in enumerate(small.TOPICS)]
    (tmp_path / "references.jsonl").write_text("".join(json.dumps(each) + "\n" for each in said))
    (tmp_path / "prices.toml").write_text(PRICES)
    return tmp_path


class Trial:
    """A directory and a cache that are kept from one change to the next, beside ones that are not."""

    def __init__(self, folder: Path, tables: Tables) -> None:
        self.folder, self.tables = folder, tables
        self.told: list[str] = []
        self.base = self.alone({})
        again = self.alone({})
        assert not [at for at in self.base if again[at] != self.base[at] and not timed(at)]
        self.kept({})

    def written(self, change: Tables) -> Path:
        tables = {name: {**self.tables.get(name, {}), **change.get(name, {})} for name in {**self.tables, **change}}
        lines = []
        for name, values in tables.items():
            lines += [f"[{name}]", *(f"{key} = {_toml(value)}" for key, value in values.items())]
        (self.folder / "sweep.toml").write_text("\n".join(lines) + "\n")
        return self.folder / "sweep.toml"

    def kept(self, change: Tables) -> dict[str, Any]:
        return outcome(self.written(change), self.folder / "kept", self.folder / "kept-cache")

    def alone(self, change: Tables) -> dict[str, Any]:
        found = outcome(self.written(change), self.folder / "new", self.folder / "new-cache")
        shutil.rmtree(self.folder / "new")
        shutil.rmtree(self.folder / "new-cache", ignore_errors=True)
        return found

    def differs(self, change: Tables) -> bool:
        """Whether a change changes anything; what it gives in the kept directory and not alone is told."""
        expected, found = self.alone(change), self.kept(change)
        differ = [at for at in {**found, **expected} if found.get(at) != expected.get(at) and not timed(at)]
        if differ:
            self.told.append(f"{change}: {', '.join(differ[:5])}")
        return any(expected.get(at) != self.base.get(at) and not timed(at) for at in {**expected, **self.base})


def _toml(value: Any) -> str:
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{key} = {_toml(each)}" for key, each in value.items()) + " }"
    return json.dumps(value)


def timed(at: str) -> bool:
    """Whether a value is of this run of the sweep: a time, or what the machine did."""
    return any(word in at for word in ("seconds", "cached", "machine.load"))


PRICES = """
date = "2026-01-01"
currency = "USD"
source = "made up"
[generators.writer]
per_million_tokens = 3.0
per_million_output = 9.0
"""
