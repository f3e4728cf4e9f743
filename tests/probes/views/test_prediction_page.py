"""The page of a join: figures with many signals take the whole width, so that each signal has room."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest

from trueval.probes.prediction import PredictionChoices, predict
from trueval.probes.views.prediction_page import build
from trueval.report.result_directory import Directory, ResultFile

SIGNALS = ("drop", "overlap", "margin", "name margin", "name drop")


@pytest.mark.parametrize("count", [2, 3, 5])
def test_a_figure_has_room_for_its_signals(count: int) -> None:
    rng = np.random.default_rng(count)
    rows = [
        pl.DataFrame(
            {
                "model": "m",
                "condition": "noise 4",
                "signal": signal,
                "measure": "R@10",
                "query_id": [f"q{at}" for at in range(12)],
                "danger": rng.random(12),
                "loss": rng.random(12),
            }
        )
        for signal in SIGNALS[:count]
    ]
    about = {
        "collection": {"name": "made", "documents": 3},
        "measures": ["R@10"],
        "k": 10,
        "systems": [{"name": "m", "signals": list(SIGNALS[:count]), "clean": {"R@10": 0.5}}],
        "conditions": [{"name": "noise 4", "about": "chatter", "changed": 12}],
    }
    result = predict(pl.concat(rows), PredictionChoices(resamples=50, threads=1)).with_notes(about, ()).to_dict()
    part = build(ResultFile("probe-join.json", "probe-prediction", result), Directory(Path("made"), ()))
    (figure,) = part.blocks[0].figures
    assert figure.wide is (count > 3)
    chart = figure.chart if isinstance(figure.chart, dict) else figure.chart.to_dict()
    assert [each["title"] for each in chart["hconcat"]] == list(SIGNALS[:count])
    assert min(each["width"] for each in chart["hconcat"]) >= 66
