"""From a sweep to the service: a certified router routes the pipeline of its sweep, each query as certified."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from tests.tradeoff import made

import trueval as tv
from trueval.retrieval.pipeline.pipeline import Pipeline
from trueval.retrieval.pipeline.routed_rerank import route_log

PIPELINE = """
[corpus]
path = "made"
[embed]
model = "counts"
dimension = 24
[index]
spec = "flat"
depth = 20
[rerank]
model = "pairs"
depth = 5
"""


def test_the_swept_router_serves_the_pipeline_of_the_sweep(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    scored = SimpleNamespace(recipe=SimpleNamespace(scoring="sigmoid"))
    monkeypatch.setattr("trueval.tradeoff.diagnosis.query_performance_predictors.find_model", lambda name, _: scored)
    seen: list[Any] = []
    made.use(monkeypatch, seen)
    text = made.SMALL.replace('["dense", "sparse", "dense+rerank", "hybrid+rerank"]', '["dense+rerank"]')
    text = text.replace("[5, 10]", "5").replace("contexts = [3, 10]", "contexts = 3") + "[route]\ndepths = [5, 15]\n"
    file, out = made.written(tmp_path, text), tmp_path / "out"
    tv.sweep(file, out=out)
    found = tv.frontier(out, route=tv.RouterChoice(0.3), resamples=50)
    router = out / "router.toml"
    router.write_text(found.router_toml(), encoding="utf-8")
    (tmp_path / "pipeline.toml").write_text(PIPELINE, encoding="utf-8")
    pipeline = Pipeline.read(tmp_path / "pipeline.toml").with_router(router)
    served = pipeline.retrieve(pipeline.read_collection())
    certified = found.result.router
    assert certified is not None
    needs = [each["need"] for each in route_log(served.stages, tv.Router.load(router))]
    assert len(needs) == made.QUERIES
    # Half of the queries certified; their needs are those of the service, digit by digit.
    assert set(certified.needs) <= set(needs)
    depths = np.diff(served.run.offsets)
    threshold = np.inf if certified.threshold is None else certified.threshold
    assert depths.tolist() == [15 if need >= threshold else 5 for need in needs]
