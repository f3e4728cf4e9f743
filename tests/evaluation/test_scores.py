"""Scores of several parts joined."""

import json
from dataclasses import replace

import numpy as np
import pytest
from tests.comparison.made_scores import made_scores

from trueval.errors import InputError, MeasureError
from trueval.evaluation.evaluate import evaluate
from trueval.evaluation.evaluation_result import Evaluation
from trueval.evaluation.scores import STATISTICS, Scores, results
from trueval.judgments import Judgments
from trueval.measures import parse
from trueval.run import Run

LISTS = {f"q{n}": {"a": 2.0, "b": float(n % 3), "c": 1.0, "d": 1.0} for n in range(7)}
GRADES = {query: {"b": 1, "c": 2, "e": 1} for query in LISTS}


def scores_of(queries: list[str], measures: str = "nDCG@2 AP") -> Scores:
    run = Run.from_dict({query: LISTS[query] for query in queries}, name="run")
    return evaluate(run, Judgments.from_dict({query: GRADES[query] for query in queries}), measures)


def test_joined_parts_are_the_scores_of_all_queries() -> None:
    names = list(LISTS)
    whole, joined = scores_of(names), Scores.join([scores_of(names[:3]), scores_of(names[3:4]), scores_of(names[4:])])
    assert joined.query_ids == whole.query_ids
    for statistic in STATISTICS:
        np.testing.assert_array_equal(getattr(joined, statistic), getattr(whole, statistic))
    assert joined.means() == whole.means()
    assert joined.ties.tied_fraction == pytest.approx(whole.ties.tied_fraction)
    assert joined.ties._replace(tied_fraction=0) == whole.ties._replace(tied_fraction=0)
    assert joined.matched == whole.matched


def test_one_part_is_itself() -> None:
    one = scores_of(["q1", "q2"])
    assert Scores.join([one]) is one
    assert one.join([one]) is one  # static: what it is called on is none of the parts


def test_what_cannot_be_joined_is_refused() -> None:
    with pytest.raises(InputError, match="'q1' is in two parts"):
        Scores.join([scores_of(["q0", "q1"]), scores_of(["q1"])])
    with pytest.raises(MeasureError, match="same measures"):
        Scores.join([scores_of(["q0"]), scores_of(["q1"], "AP")])


def test_the_deviation_of_a_mean_is_the_root_of_the_summed_variances_over_its_queries() -> None:
    """Deviations .3 and .4 of four queries: .5 / 4. A query without a value is not among them."""
    four = made_scores("run", [0.5, 0.5, 0.5, 0.5], [0.3, 0.4, 0.0, 0.0], tie_broken=[0.7, 0.5, 0.5, 0.5])
    found = four.mean("nDCG@10")
    assert found.sd == pytest.approx(0.125, abs=1e-16)
    assert (found.range, found.bias, found.z) == pytest.approx((0.35, 0.05, 0.4))
    three = made_scores("run", [0.5, 0.5, np.nan, 0.5], [0.3, 0.4, 0.2, 0.0]).mean("nDCG@10")
    assert three.sd == pytest.approx(0.5 / 3, abs=1e-16)
    assert three.queries == 3


def test_the_deviation_of_a_mean_by_hand_from_lists() -> None:
    """RR of one relevant document of two tied is 1 or 1/2, a deviation of 1/4. Two such queries, and one untied."""
    pair = {"a": 1.0, "b": 1.0}
    run = Run.from_dict({"q1": pair, "q2": pair, "q3": {"a": 2.0, "b": 1.0}})
    found = evaluate(run, Judgments.from_dict({query: {"a": 1} for query in ("q1", "q2", "q3")}), "RR")["RR"]
    assert found.sd == pytest.approx(0.25 * 2**0.5 / 3, abs=1e-16)


@pytest.mark.parametrize("size", [1e-200, 1e200])
def test_the_deviation_of_a_mean_whose_squares_are_out_of_range(size: float) -> None:
    found = made_scores("run", [0.0, 0.0], [3 * size, 4 * size]).mean("nDCG@10")
    assert found.sd == pytest.approx(2.5 * size, rel=1e-15, abs=0)


def test_a_deviation_that_is_not_known_is_not_0() -> None:
    one = made_scores("run", [0.5, 0.5], [0.3, np.nan]).mean("nDCG@10")
    assert np.isnan(one.sd)
    none = made_scores("run", [np.nan, np.nan], [np.nan, np.nan]).mean("nDCG@10")
    assert np.isnan(none[:5]).all()
    assert none.queries == 0
    assert np.isnan(made_scores("run", [0.5, 0.5], [0.3, 0.0], measures="gm(AP)").mean("gm(AP)").sd)
    assert made_scores("run", [0.5, 0.5], [0.0, 0.0], measures="gm(AP)").mean("gm(AP)").sd == 0


def test_results_hold_queries_and_content_only_where_they_are_asked_for() -> None:
    (run,) = results([scores_of(["q1"])])["runs"]
    assert {"per_query", "content", "matched"}.isdisjoint(run)
    (run,) = results([scores_of(["q1"])], per_query=True, content=True)["runs"]
    assert {"per_query", "content", "matched"} <= set(run)


def test_results_are_read_as_they_were_written() -> None:
    """NaN is null, and what nobody asked for is not there."""
    several = [made_scores("run", [0.5, np.nan], [0.3, 0.0]), made_scores("none", [np.nan] * 2, [np.nan] * 2)]
    for content in (False, True):
        written = results(several, content=content)
        read = Evaluation.from_dict(json.loads(json.dumps(written)))
        assert read.to_dict() == written
        assert read.runs[0].measures["nDCG@10"].expected == 0.5
        assert np.isnan(read.runs[1].measures["nDCG@10"].expected)


def test_flat_scores_are_what_any_logger_takes() -> None:
    """A tie of a relevant and another document: RR is 1 or 1/2. What no query has a value of is left out."""
    scores = evaluate({"q": {"a": 1.0, "b": 1.0}}, {"q": {"a": 1}}, ["RR@10", "R(rel=1)@1"])
    scores = replace(
        scores,
        measures=(*scores.measures, parse("AP")),
        **{name: np.append(getattr(scores, name), [[np.nan]], axis=1) for name in STATISTICS},
    )
    assert scores.flat("dev/") == {
        "dev/RR_at_10": 0.75,
        "dev/RR_at_10_lowest": 0.5,
        "dev/RR_at_10_highest": 1.0,
        "dev/R_rel_1_at_1": 0.5,
        "dev/R_rel_1_at_1_lowest": 0.0,
        "dev/R_rel_1_at_1_highest": 1.0,
    }
    assert all(name.isidentifier() and type(value) is float for name, value in scores.flat().items())


def test_flat_scores_have_no_name_twice() -> None:
    scores = evaluate({"q": {"a": 1.0}}, {"q": {"a": 1}}, ["RR", "AP"])
    alike = tuple(replace(measure, name=name) for measure, name in zip(scores.measures, ("A-b", "A_b"), strict=True))
    with pytest.raises(MeasureError, match=r"^A-b and A_b would both be A_b\. Log one of them\.$"):
        replace(scores, measures=alike).flat()
