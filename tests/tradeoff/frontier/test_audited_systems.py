"""Audits of pipelines beside a sweep: matched by their settings with every format float32, and refused elsewhere."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from tests.precision.test_pipeline_audit import TABLES, audited, collection, log

from trueval.collection import Collection
from trueval.errors import InputError
from trueval.report.formats import to_json
from trueval.tradeoff.frontier.audited_systems import match_audits
from trueval.tradeoff.frontier.frontier import frontier
from trueval.tradeoff.frontier.frontier_result import FrontierResult
from trueval.tradeoff.quality.sweep_loader import read_sweep
from trueval.tradeoff.runner.sweep import sweep

__all__ = ["collection", "log"]

SEARCH: dict[str, Any] = {name: TABLES[name] for name in ("embed", "index")}


@pytest.fixture
def swept(tmp_path: Path, collection: Collection, log: list[tuple[str, int]]) -> Path:
    """A sweep of the pipeline in two formats of its model, and at two depths."""
    (tmp_path / "made").mkdir()
    for name, texts in (("corpus", collection.documents), ("queries", collection.queries)):
        lines = "".join(json.dumps({"_id": each, "text": text}) + "\n" for each, text in texts.items())
        (tmp_path / "made" / f"{name}.jsonl").write_text(lines, encoding="utf-8")
    rows = collection.graded.frame.select("query_id", "doc_id", "grade").rows()
    (tmp_path / "made" / "qrels.trec").write_text(
        "".join(f"{q} 0 {d} {int(g)}\n" for q, d, g in rows), encoding="utf-8"
    )
    tables: dict[str, dict[str, Any]] = {
        "corpus": {"path": "made"},
        **SEARCH,
        "embed": {**SEARCH["embed"], "dtype": ["float32", "bfloat16"]},
        "index": {**SEARCH["index"], "depth": [SEARCH["index"]["depth"], 20]},
        "generate": {"contexts": [5]},
        "measure": {"names": ["nDCG@K"]},
        "latency": {"queries": 0},
    }
    (tmp_path / "sweep.toml").write_text(
        "\n".join(f"[{name}]\n{_lines(values)}" for name, values in tables.items()), encoding="utf-8"
    )
    sweep(tmp_path / "sweep.toml", out=tmp_path / "out")
    return tmp_path / "out"


def _lines(values: Mapping[str, Any]) -> str:
    return "".join(f"{key} = {json.dumps(value)}\n" for key, value in values.items())


def test_an_audit_stands_beside_the_systems_that_are_its_pipeline(swept: Path, collection: Collection) -> None:
    audit = audited(collection, SEARCH, scoring=["bfloat16"])
    (found,) = match_audits(read_sweep(swept), [audit])
    names = [each["name"] for each in read_sweep(swept).systems]
    assert len(names) == 4
    assert list(found.systems) == [name for name in names if "depth=20" not in name]  # both formats, one depth
    assert len(found.systems) == 2
    assert (found.queries, found.measures) == (6, ("nDCG@5",))
    assert found.ladder == audit.ladder
    (swept / "precision-stages.json").write_text(to_json(audit.to_dict()), encoding="utf-8")
    for place in (swept, swept / "precision-stages.json", audit):
        result = frontier(swept, precision=[place], resamples=50).to_dict()
        assert FrontierResult.from_dict(result).precision == (found,)
    text = " ".join(repr(frontier(swept, precision=[audit], resamples=50)).split())
    assert "Stages of mine" in text
    (step,) = (each for each in audit.ladder if (each.stage, each.regime) == ("dense", "low"))
    told = (
        f"ties leave nDCG@5 a range of {step.measures[0].range:.4f} and a bias of {step.measures[0].bias:+.4f} at the"
    )
    assert f"In {found.systems[0]} and 1 other {told} end with all in bfloat16;" in text
    assert frontier(swept, resamples=50).result.precision is None


def test_a_lead_below_the_range_is_said(swept: Path, collection: Collection) -> None:
    audit = audited(collection, SEARCH, scoring=["bfloat16"])
    found = frontier(swept, precision=[audit], resamples=50)
    (rule,) = found.result.rules
    assert rule.answer is not None
    assert rule.runner_up_value is not None
    assert rule.value is not None
    widest = max(each.measures[0].range or 0.0 for each in audit.ladder if each.stage == "dense")
    text, leads = " ".join(repr(found).split()), "by less than the range"
    inside = found.result.points[rule.answer].system_name in match_audits(read_sweep(swept), [audit])[0].systems
    assert (leads in text) == (inside and rule.value - rule.runner_up_value < widest)
    assert leads not in " ".join(repr(frontier(swept, resamples=50)).split())


def test_audits_of_something_else_are_refused(swept: Path, collection: Collection) -> None:
    measured = read_sweep(swept)
    other = audited(collection, {**SEARCH, "index": {**SEARCH["index"], "depth": 25}}, scoring=["bfloat16"])
    with pytest.raises(InputError, match=r"No system .* is the pipeline mine of the audit: .*\[index\] depth 30, and"):
        match_audits(measured, [other])
    lacking = audited(collection, {"sparse": TABLES["sparse"]}, scoring=["bfloat16"])
    with pytest.raises(InputError, match=r"has \[embed\] model embedder, and the audit none\. Audit a pipeline"):
        match_audits(measured, [lacking])
    strict = audited(collection, SEARCH, scoring=["bfloat16"], rel=2)
    with pytest.raises(InputError, match=r"is of values with rel=2, and the sweep has rel=1\. Audit the pipeline"):
        match_audits(measured, [strict])
    texts = {**collection.documents, "d00": "another text"}
    moved = Collection("moved", "moved", texts, collection.queries, judgments=collection.graded)
    with pytest.raises(InputError, match=r"of other documents \(moved, 60\) than the sweep \(made, 60\)"):
        match_audits(measured, [audited(moved, SEARCH, scoring=["bfloat16"])])
    with pytest.raises(InputError, match=r"no result of trueval precision audit --pipeline\. Name its folder"):
        match_audits(measured, [swept / "sweep.json"])
