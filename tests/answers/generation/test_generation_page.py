"""The page and the tables of generated answers."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from tests.answers.generation.planted_corpus import write_corpus

from trueval.answers.generation.generate_answers import generate_answers
from trueval.answers.generation.generation_result import GeneratedAnswers, TokenTimes
from trueval.answers.views.generation import view
from trueval.answers.views.kind import GENERATED
from trueval.answers.views.token_plot import token_figure
from trueval.latency.percentiles import PercentileEstimate

PLANTED = {"knows": 0.2, "misreads": 0.2, "distracted": 0.05, "abstains": 0.5}


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> GeneratedAnswers:
    asked = {"measure": "exact-match", "orders": 6}
    folder = tmp_path_factory.mktemp("page")
    config = write_corpus(folder, 30, ties=6, generate={"planted": PLANTED, "samples": 2}, asked=asked)
    return generate_answers(config, folder / "out")


def test_the_result_is_its_json(found: GeneratedAnswers) -> None:
    assert GeneratedAnswers.from_dict(found.to_dict()) == found


def test_the_view_answers_first_and_shows_each_context_and_loss(found: GeneratedAnswers) -> None:
    text = " ".join(repr(found).split())
    assert "in retrieval and" in text
    for name in ("none", "system", "gold", "gold+distractors", "reordered", "retrieval", "reading", "distraction"):
        assert name in text
    assert "6 questions have several contexts by ties" in text
    assert [each.id for each in view(found).sections if each.cases] == ["ties"]


def test_what_limits_follows_the_interval_and_what_is_not_known(found: GeneratedAnswers) -> None:
    gap = found.gap
    assert gap is not None
    for low, high, limit in ((0.1, 0.3, "retrieval"), (-0.3, -0.1, "reading"), (-0.1, 0.1, "")):
        assert replace(found, gap=replace(gap, low=low, high=high)).limit == limit
    open = tuple(replace(each, lowest=0.0, highest=1.0, value=0.5) for each in found.losses)
    assert replace(found, losses=open).limit == "labels"
    assert replace(found, losses=()).limit == ""


def test_a_page_without_losses_still_answers(found: GeneratedAnswers) -> None:
    alone = replace(found, losses=(), gap=None, contexts=found.contexts[:1])
    assert "exact-match from none is" in " ".join(repr(alone).split())


def test_the_kind_is_found_by_its_name(found: GeneratedAnswers) -> None:
    assert GENERATED.name == found.to_dict()["kind"] == "generated-answers"


def test_first_tokens_are_drawn_by_the_number_of_passages(found: GeneratedAnswers) -> None:
    """Seconds become milliseconds; an end that is not known has no rule; one number of passages has no figure."""

    def times(passages: int, first: dict[str, PercentileEstimate]) -> TokenTimes:
        return TokenTimes(passages, 9, None, None, first, {}, {})

    three = times(3, {"p50": PercentileEstimate(0.2, 0.1, 0.3), "p95": PercentileEstimate(0.9, 0.8, None)})
    five = times(5, {"p50": PercentileEstimate(0.4, 0.3, 0.5), "p95": PercentileEstimate(1.5, None, None)})
    shown = view(replace(found, times=(times(0, {}), three, five)))
    (section,) = (each for each in shown.sections if each.title == "Times")
    (figure,) = section.figures
    chart = figure.draw(600).to_dict()
    (rows,) = {json.dumps(each) for each in chart["datasets"].values()} if "datasets" in chart else {"[]"}
    data = json.loads(rows) or chart["layer"][0]["data"]["values"]
    assert [(row["passages"], row["part"], row["value"], row["high"]) for row in data] == [
        (3, "p50", 200.0, 300.0),
        (3, "p95", 900.0, None),
        (5, "p50", 400.0, 500.0),
        (5, "p95", 1500.0, None),
    ]
    assert token_figure("one", (three,)) is None
    assert token_figure("none", (times(0, {}), times(3, {}))) is None
