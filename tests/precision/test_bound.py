"""Bounds of moved scores: widths, margins at which an order of runs turns, and what is refused."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

import trueval as tv
from trueval.errors import InputError, PolicyError
from trueval.report.kinds import find
from trueval.score_width import ScoreWidth, shift_outward

QRELS = {"q": {"a": 1}, "r": {"b": 1}}


@pytest.mark.parametrize(
    ("text", "factor", "unit"),
    [
        ("0.001", 0.001, ""),
        (0.25, 0.25, ""),
        ("0", 0.0, ""),
        ("bfloat16", 0.5, "ulp(bfloat16)"),
        ("ulp(float16)", 1.0, "ulp(float16)"),
        ("2.5 ulp(bfloat16)", 2.5, "ulp(bfloat16)"),
        ("1e-3", 0.001, ""),
        ("codes(int8)", 0.5, "step(int8)"),
        ("2 step(int4)", 2.0, "step(int4)"),
    ],
)
def test_a_width_is_read_and_written(text: str | float, factor: float, unit: str) -> None:
    width = ScoreWidth.parse(text)
    assert (width.factor, width.unit) == (factor, unit)
    assert ScoreWidth.parse(str(width)) == width


@pytest.mark.parametrize("text", ["", "-1", "nan", "inf", "ulp", "ulp()", "1e", "codes(float8)", "step(int99)", "e"])
def test_a_width_that_means_nothing_is_refused(text: str) -> None:
    with pytest.raises(PolicyError, match="Got"):
        ScoreWidth.parse(text)


def test_an_unknown_format_is_refused_with_the_nearest() -> None:
    with pytest.raises(PolicyError, match="Did you mean 'bfloat16'"):
        ScoreWidth.parse("ulp(bfloat17)")


def test_units_are_the_spacing_of_the_format() -> None:
    from trueval.numerics import FORMATS

    scores = np.array([0.0, 1e-40, -0.3, 1.0, 1.999, -2.0, 300.0])
    for name in ("bfloat16", "float16", "float8_e4m3fn"):
        expected = [FORMATS[name].spacing(score) for score in scores.tolist()]
        assert ScoreWidth.parse(f"ulp({name})").units(scores).tolist() == expected
    assert ScoreWidth.parse("codes(int8)").units(np.array([1.0, 3.0, 256.0])).tolist() == [1.0, 1.0, 1.0]
    with pytest.raises(InputError, match="infinite"):
        ScoreWidth.parse("codes(int8)").units(np.array([1.0, np.inf]))


def test_ends_that_touch_in_decimals_overlap() -> None:
    for tenths in range(1, 200):
        low, high, half = tenths / 10, tenths / 10 + 0.2, 0.1
        up = shift_outward(np.array([low]), np.array([half]))
        down = shift_outward(np.array([high]), np.array([-half]))
        assert up[0] >= down[0]
    assert shift_outward(np.array([np.inf, -np.inf, 1.0]), np.array([-1.0, 1.0, 0.0])).tolist() == [
        math.inf,
        -math.inf,
        1.0,
    ]


def test_rounding_to_a_format_stays_within_its_bound() -> None:
    rng = np.random.default_rng(5)
    run = {f"q{at}": {f"d{place}": float(score) for place, score in enumerate(rng.random(20))} for at in range(20)}
    qrels = {query: {f"d{place}": int(place % 4 == 0) for place in range(20)} for query in run}
    found = tv.precision_bound([run], qrels, "nDCG@10 AP", within="bfloat16")
    rounded = tv.evaluate(run, qrels, "nDCG@10 AP", tie_precision="bfloat16")
    for bound in found.runs[0].measures:
        assert bound.exact
        assert bound.lowest <= rounded[bound.measure].lowest < rounded[bound.measure].highest <= bound.highest


def test_the_margin_is_where_intervals_touch() -> None:
    # a is ahead in q by .25 and in r by .75: the mean RR falls from 1 to 3/4 at .125, to 1/2 at .375.
    first = {"q": {"a": 0.75, "b": 0.5}, "r": {"b": 1.0, "a": 0.25}}
    second = {"q": {"x": 2.0, "a": -2.0}, "r": {"b": 2.0, "x": -2.0}}  # RR 1/2 and 1, never to be moved within 2
    found = tv.precision_bound({"first": first, "second": second}, QRELS, "RR", within=0.1)
    (pair,) = found.pairs
    assert (pair.first, pair.second, pair.difference) == ("first", "second", 0.25)
    assert (pair.margin, pair.turns, pair.exact) == (0.125, False, True)
    assert tv.precision_bound([first, second], QRELS, "RR", within=0.125).pairs[0].turns
    assert tv.precision_bound([first, second], QRELS, "RR", within="ulp(bfloat16)").pairs[0].margin == pytest.approx(
        0.25 / (2**-8 + 2**-8)
    )


@pytest.mark.slow
def test_a_margin_is_the_first_crossing_that_turns_the_order() -> None:
    """Against the bounds themselves, at every crossing of two scores."""
    rng = np.random.default_rng(11)
    for _ in range(2):
        runs = [
            {f"q{at}": {f"d{place}": float(score) for place, score in enumerate(rng.random(4))} for at in range(2)}
            for _ in range(2)
        ]
        qrels = {f"q{at}": {"d0": 1, "d3": int(rng.integers(2))} for at in range(2)}
        (pair,) = tv.precision_bound(runs, qrels, "nDCG@3", within=0).pairs
        gaps = sorted(
            abs(one - other) / 2
            for run in runs
            for scores in run.values()
            for one, other in itertools.combinations(scores.values(), 2)
        )
        turned = [tv.precision_bound(runs, qrels, "nDCG@3", within=gap * (1 + 1e-12)).pairs[0].turns for gap in gaps]
        assert turned == sorted(turned)  # once turned, turned for all wider moves
        expected = next((gap for gap, turns in zip(gaps, turned, strict=True) if turns), None)
        assert pair.margin == (0.0 if turned[0] and pair.lowest <= 0 else pytest.approx(expected))


@pytest.mark.filterwarnings("ignore::trueval.errors.TruevalWarning")
def test_ties_alone_turn_an_order_and_nothing_turns_another() -> None:
    tied, good, bad = {"q": {"a": 1.0, "x": 1.0}}, {"q": {"a": 1.0}}, {"q": {"x": 1.0}}
    (pair,) = tv.precision_bound({"tied": tied, "good": good}, {"q": {"a": 1}}, "RR").pairs
    assert (pair.first, pair.margin, pair.turns) == ("good", 0.0, True)
    (pair,) = tv.precision_bound({"good": good, "bad": bad}, {"q": {"a": 1}}, "RR").pairs
    assert (pair.first, pair.margin, pair.turns) == ("good", None, False)


def test_lower_is_better() -> None:
    first, second = {"q": {"a": 2.0, "b": 1.0}}, {"q": {"b": 2.0, "a": 1.0}}
    (pair,) = tv.precision_bound({"one": first, "two": second}, {"q": {"a": 5, "b": 1}}, "Harm@1", within=0.4).pairs
    assert (pair.first, pair.difference, pair.margin, pair.turns) == ("one", -1.0, 0.5, False)


def test_documents_below_the_list_are_counted() -> None:
    run = {"q": {"a": 0.9, "b": 0.5, "c": 0.45}, "r": {"a": 0.9, "b": 0.8, "c": 0.1}}
    for within, lists in ((0.01, 0), (0.1, 1), (0.5, 2)):
        found = tv.precision_bound([run], {"q": {"a": 1}, "r": {"a": 1}}, "P@2", within=within)
        assert found.runs[0].measures[0].open_queries == lists


@pytest.mark.parametrize("choices", [{"skip_first": True}, {"depth": 1, "base": "list"}])
def test_choices_that_change_which_documents_count_are_refused(choices: dict[str, object]) -> None:
    with pytest.raises(PolicyError, match="No bound is known"):
        tv.precision_bound([{"q": {"a": 1.0}}], {"q": {"a": 1}}, "RR", **choices)  # type: ignore[arg-type]


@pytest.mark.filterwarnings("ignore::trueval.errors.TruevalWarning")
def test_missing_and_empty_queries_follow_the_policy() -> None:
    qrels = {"q": {"a": 2, "b": 1}, "missing": {"a": 1}, "empty": {"a": 0}}
    run = {"q": {"a": 1.0, "b": 0.9, "c": 0.8}, "empty": {"a": 1.0}}
    for empty, missing in itertools.product(("zero", "one", "skip"), ("worst", "skip")):
        found = tv.precision_bound([run], qrels, "nDCG@3 RR", within=0, empty=empty, missing=missing)
        scores = tv.evaluate(run, qrels, "nDCG@3 RR", empty=empty, missing=missing)
        for bound in found.runs[0].measures:
            assert (bound.lowest, bound.highest) == (scores[bound.measure].expected,) * 2


@pytest.mark.parametrize("form", ["table", "markdown", "latex", "csv", "json"])
def test_every_format_has_the_bounds(form: str) -> None:
    first, second = {"q": {"a": 0.75, "b": 0.5}}, {"q": {"b": 0.75, "a": 0.5}}
    found = tv.precision_bound({"one": first, "two": second}, {"q": {"a": 2, "b": 1}}, "nDCG RR", within=0.2)
    kind = find("precision-bound")
    assert kind is not None
    if form != "table":
        text = kind.write(found.to_dict(), form)
        assert "one" in text
        assert "two" in text
    else:
        assert "The lead holds up to 0.125" in repr(found).replace("\n", " ")
    assert type(found).from_dict(found.to_dict()).to_dict() == found.to_dict()
