"""What belongs beside a mean is about the same queries as the mean, under every policy."""

from __future__ import annotations

import numpy as np
import pytest

from trueval.evaluation.evaluate import evaluate
from trueval.evaluation.scores import Scores
from trueval.judgments import Judgments
from trueval.measures import Measure, parse, registry
from trueval.rag.sensitivity import sensitivity
from trueval.run import Run

# The run lacks "gone", which has something to find, and "nothing there", which has not; "nothing" it has. Every query
# holds ties, and "late" has nothing of worth among its candidates in some orders.
GRADES: dict[str, dict[str, float]] = {
    "here": {"a": 5, "b": 4, "c": 3, "d": 1, "out": 5},
    "late": {"a": 1, "b": 4, "c": 2, "out": 4},
    "nothing": {"a": 1, "b": 2},
    "gone": {"a": 5, "b": 4, "c": 1},
    "nothing there": {"a": 1},
}
RUN = {
    "here": {"a": 2.0, "b": 2.0, "u": 2.0, "c": 1.0, "d": 0.0},
    "late": {"a": 2.0, "u": 2.0, "b": 2.0, "c": 1.0},
    "nothing": {"a": 1.0, "b": 1.0, "u": 1.0},
}
WITH_DETAILS = [
    f"{name}(nWG, pool=2)@2" if measure.definition.takes_measure else f"{name}@2"
    for name, measure in registry().items()
    if measure.definition.details is not None and name != "gm"  # gm has those of a measure that has none
]
EMPTY = ("zero", "one", "skip")


WHOLE = Run.from_dict(RUN)
NOTHING = Run(WHOLE.documents.head(0), WHOLE.query_ids.head(0), np.zeros(1, dtype=np.int64), "run", "nowhere")


def scores_of(grades: dict[str, dict[str, float]], measure: Measure, **policy: str) -> Scores:
    run = WHOLE if grades.keys() & RUN.keys() else NOTHING
    return evaluate(run, Judgments.from_dict(grades), measure, **policy)  # type: ignore[arg-type]


@pytest.mark.filterwarnings("ignore::trueval.errors.TruevalWarning")
@pytest.mark.parametrize("empty", EMPTY)
@pytest.mark.parametrize("text", WITH_DETAILS)
def test_skipped_queries_are_as_if_they_were_not_judged(text: str, empty: str) -> None:
    measure = parse(text)
    judged = {query: of for query, of in GRADES.items() if query in RUN}
    skipped = scores_of(GRADES, measure, missing="skip", empty=empty)
    assert skipped.details[0]
    assert skipped.details == scores_of(judged, measure, missing="worst", empty=empty).details


@pytest.mark.filterwarnings("ignore::trueval.errors.TruevalWarning")
@pytest.mark.parametrize("empty", EMPTY)
@pytest.mark.parametrize("text", WITH_DETAILS)
@pytest.mark.parametrize("missing", ["worst", "skip"])
def test_details_are_those_of_the_queries_that_have_a_value(text: str, missing: str, empty: str) -> None:
    """A query alone has its own details, a mean of one; those of all are the mean or the sum over the queries."""
    measure = parse(text)
    together = scores_of(GRADES, measure, missing=missing, empty=empty)
    having = [query for row, query in enumerate(GRADES) if not np.isnan(together.expected[row, 0])]
    alone = [
        dict(scores_of({query: GRADES[query]}, measure, missing="worst", empty=empty).details[0]) for query in having
    ]
    details = together.details[0]
    for name, value in details.items():
        if name == "ratio_of_means":
            continue  # of two means that single queries do not give; the test above has it
        parts = [each[name] for each in alone]
        total = sum(parts) if name.endswith("_queries") else sum(parts) / len(parts)
        assert value == pytest.approx(total, abs=1e-12), name


@pytest.mark.filterwarnings("ignore::trueval.errors.TruevalWarning")
@pytest.mark.parametrize("missing", ["worst", "skip"])
@pytest.mark.parametrize("text", [text for text in WITH_DETAILS if "pool" not in text and "AllGold" not in text])
def test_an_upper_bound_is_not_below_the_mean_that_it_bounds(text: str, missing: str) -> None:
    scores = scores_of(GRADES, parse(text), missing=missing)
    assert scores.details[0]["upper"] >= scores.mean(text).expected
    bound = parse(text)(unjudged="upper")
    assert scores.details[0]["upper"] == pytest.approx(scores_of(GRADES, bound, missing=missing).mean(bound).expected)


def test_the_bound_of_a_perfect_list_is_1_where_the_missing_query_is_skipped() -> None:
    run, judgments = Run.from_dict({"q": {"a": 1.0}}), Judgments.from_dict({"q": {"a": 5}, "gone": {"a": 5}})
    with pytest.warns(UserWarning, match="missing from the run"):
        scores = evaluate(run, judgments, "RA-nWG@1", missing="skip")
    assert scores.mean("RA-nWG@1").expected == 1
    assert scores.details[0] == {"unjudged_in_top": 0.0, "upper": 1.0, "fallback_queries": 0.0}


@pytest.mark.filterwarnings("ignore::trueval.errors.TruevalWarning")
def test_harm_has_the_queries_whose_lists_end_before_its_cutoff() -> None:
    judgments = Judgments.from_dict({query: {"a": 1, "b": 5} for query in ("long", "short", "empty", "gone")})
    lists = {"long": {"a": 2.0, "b": 1.0}, "short": {"a": 1.0}}
    run = Run.from_dict({**lists, "empty": {}})
    assert evaluate(run, judgments, "Harm@2").details[0]["short_list_queries"] == 2
    assert evaluate(run, judgments, "Harm@1").details[0]["short_list_queries"] == 1
    assert evaluate(Run.from_dict(lists), judgments, "Harm@2").details[0]["short_list_queries"] == 1


@pytest.mark.filterwarnings("ignore::trueval.errors.TruevalWarning")
def test_sensitivity_skips_the_queries_that_the_mean_skips() -> None:
    other = Run.from_dict({"here": {"b": 2.0, "c": 1.0}, "gone": {"a": 2.0, "b": 2.0, "u": 2.0}}, name="other")
    judged = {query: of for query, of in GRADES.items() if query in RUN}
    run = Run.from_dict(RUN, name="run")
    of_both, alone = (
        sensitivity(runs, Judgments.from_dict(grades), "RA-nWG@2", missing="skip")
        for runs, grades in (([run, other], GRADES), ([run], judged))
    )
    worst = sensitivity([run], Judgments.from_dict(GRADES), "RA-nWG@2")
    assert of_both.flips[0] == alone.flips[0]
    assert [cell.means[0] for cell in of_both.grid] == [cell.means[0] for cell in alone.grid]
    assert worst.flips[0].highest_mean < alone.flips[0].highest_mean
    lacking = ("late", "nothing")
    kept = {query: of for query, of in GRADES.items() if query not in lacking}
    of_other = sensitivity([other], Judgments.from_dict(kept), "RA-nWG@2", missing="skip")
    assert of_both.flips[1] == of_other.flips[0]


@pytest.mark.filterwarnings("ignore::trueval.errors.TruevalWarning")
def test_a_run_of_which_every_query_is_skipped_has_no_sensitivity() -> None:
    flips = sensitivity([NOTHING], Judgments.from_dict({"q": {"a": 5}}), "RA-nWG@1", missing="skip").flips[0]
    assert np.isnan([flips.lowest_mean, flips.highest_mean]).all()
