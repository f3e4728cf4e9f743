"""The view of a join: one answer about the first measure, and figures in which every signal has room."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from trueval.probes.prediction import PredictionChoices, predict
from trueval.probes.prediction_result import JoinedCollection, JoinedCondition, JoinedSystem, PredictionSummary
from trueval.probes.views.kind import PREDICTION
from trueval.report.figures import NARROW, WIDE
from trueval.report.page_content import Number, Part
from trueval.report.result_directory import Directory, ResultFile

SIGNALS = ("drop", "overlap", "margin", "name margin", "name drop")


def joined(
    danger: dict[str, np.ndarray], loss: np.ndarray, conditions: tuple[str, ...] = ("noise 4",)
) -> dict[str, Any]:
    """The JSON of one system whose queries lose so much under each condition, where signals say so of them."""
    rows = [
        pl.DataFrame(
            {
                "model": "m",
                "condition": condition,
                "signal": signal,
                "measure": "R@10",
                "query_id": [f"q{at}" for at in range(len(loss))],
                "danger": values,
                "loss": loss,
            }
        )
        for condition in conditions
        for signal, values in danger.items()
    ]
    about = {
        "collection": JoinedCollection("made", "made", 3, len(loss), {}),
        "policy": {},
        "measures": ("R@10",),
        "k": 10,
        "systems": (JoinedSystem("m", tuple(danger), "dense", {"R@10": 0.5}),),
        "conditions": tuple(JoinedCondition(each, "chatter", len(loss)) for each in conditions),
    }
    found = predict(pl.concat(rows), PredictionChoices(resamples=50, threads=1)).with_notes(about, ())
    return found.to_dict()


def part_of(result: dict[str, Any]) -> Part:
    assert PREDICTION.page
    return PREDICTION.page(ResultFile("probe-join.json", "probe-prediction", result), Directory(Path("made"), ()))


def text(words: Any) -> str:
    return "".join(each.text if isinstance(each, Number) else each for each in words)


@pytest.mark.parametrize("count", [2, 3, 5])
def test_a_figure_has_room_for_its_signals(count: int) -> None:
    pytest.importorskip("altair", reason="altair, of the extra report, is not installed")
    rng = np.random.default_rng(count)
    danger = {signal: rng.random(12) for signal in SIGNALS[:count]}
    (figure,) = part_of(joined(danger, rng.random(12))).lead
    for width in (NARROW, WIDE):
        chart = figure.draw(width).to_dict(validate=False)
        assert [each["title"] for each in chart["hconcat"]] == list(SIGNALS[:count])
        assert min(each["width"] for each in chart["hconcat"]) >= 40
        assert sum(each["width"] for each in chart["hconcat"]) <= width


def test_the_answer_names_the_signal_that_tells_and_where_its_value_is() -> None:
    loss = np.arange(12.0)
    result = joined({"drop": loss**2, "margin": -loss, "overlap": np.array([0.1, 0.2] * 6)}, loss)
    part = part_of(result)
    assert text(part.answer.sentence) == (
        "The drop (m, noise 4) tells in part which queries lose R@10: rank correlation +1.00 [+1.00, +1.00]."
    )
    number = next(each for each in part.answer.sentence if isinstance(each, Number))
    assert (number.value, number.source) == (1.0, "probe-join.json#/models/0/spearman")
    misleading = "The margin (m, noise 4) misleads about which queries lose R@10: rank correlation -1.00"
    assert [text(each).startswith(misleading) for each in part.said].count(True) == 1


def test_pooled_rows_answer_where_there_are_several_conditions() -> None:
    loss = np.arange(12.0)
    part = part_of(joined({"drop": loss}, loss, ("noise 2", "noise 4")))
    assert text(part.answer.sentence).startswith("The drop tells in part which queries lose R@10")
    assert next(each for each in part.answer.sentence if isinstance(each, Number)).source.endswith(
        "#/pooled/0/spearman"
    )


def test_what_is_not_shown_is_not_claimed() -> None:
    rng = np.random.default_rng(0)
    answer = part_of(joined({"drop": rng.random(8)}, rng.random(8))).answer
    assert text(answer.sentence).startswith(
        "No probe is shown to tell which queries lose R@10; the likeliest is the drop"
    )
    assert text(answer.change) == "More queries make the intervals narrower."
    nothing = part_of(joined({"drop": np.ones(8)}, rng.random(8)))
    assert text(nothing.answer.sentence) == "Nothing can be predicted: see the reasons below."
    assert any("drop is the same for every query" in text(each) for each in nothing.said)


def test_the_result_reads_its_own_json() -> None:
    result = joined({"drop": np.ones(8)}, np.arange(8.0))
    assert result["models"][0]["spearman"] is None
    assert PredictionSummary.from_dict(result).to_dict() == result
