"""Single orders, listed or drawn: the mean of what they give is the expected value, in every convention."""

from __future__ import annotations

import warnings
from functools import cache

import lists
import numpy as np
import pytest
from test_every_measure import FORMS, rubric, with_cutoffs

from trueval.comparison.resampling.tie_order_values import TieOrders
from trueval.errors import TruevalWarning
from trueval.evaluation.evaluate import evaluate
from trueval.judgments import Judgments
from trueval.policy.conventions import CONVENTIONS, choose
from trueval.run import Run

# Groups across a cutoff of 2 and a depth of 3, and inside both; graded, some grades 0, some documents unjudged.
SMALL, SEVEN = lists.small_queries(24, seed=3), lists.seven_document_queries()
QUERIES = lists.Queries({name: SMALL[name] for name in ("q4", "q18", "q23")} | {"three-four": SEVEN["three-four"]})
CLOSE = 1e-9  # orders of nearly the same value are one atom
SIGMAS = 5
SAMPLES = 100

CHOICES = {
    "ours": {},
    **{name: {"convention": name} for name in CONVENTIONS},
    "depth": {"depth": 3},
    "list and depth": {"depth": 3, "base": "list"},
    "sklearn and depth": {"convention": "sklearn", "depth": 3},
    "rel": {"rel": 0},
}


@cache
def read(on_rubric: bool, binary: bool) -> tuple[Run, Judgments]:
    """Lists with whole grades, as some conventions want them; binary where they must be."""
    queries = {name: lists.on_rubric(query) if on_rubric else query for name, query in QUERIES.items()}
    grades = {
        name: {d: float(g > 0) if binary and not on_rubric else float(int(g)) for d, g in query.grades.items()}
        for name, query in queries.items()
    }
    return Run.from_dict({name: dict(query.scores) for name, query in queries.items()}), Judgments.from_dict(grades)


@cache
def tie_orders(on_rubric: bool, name: str) -> TieOrders:
    """What a run's orders are under some choices."""
    run, judgments = read(on_rubric, CHOICES[name].get("convention") in ("sklearn", "torchmetrics"))
    return TieOrders(run, judgments, choose(None, {"missing": "worst"} | CHOICES[name]), 0)


@pytest.mark.parametrize("name", CHOICES)
@pytest.mark.parametrize("form", FORMS)
def test_the_mean_over_orders_is_the_expected_value(form: str, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of all orders, listed, whose extremes are the bounds too; and of some that are drawn, of all queries at once."""
    orders, measures = tie_orders(rubric(form), name), with_cutoffs(form, (2,))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", TruevalWarning)
        scores = evaluate(orders.run, orders.judgments, measures, policy=orders.policy)
    for column, measure in enumerate(measures):
        lowest, highest, expected = scores.lowest[:, column], scores.highest[:, column], scores.expected[:, column]
        tied = np.flatnonzero(highest > lowest)
        for query in tied.tolist():
            found = orders.distribution(measure, np.array([query]))
            assert found is not None
            told = [found.values[0], found.values @ found.probabilities, found.values[-1]]
            assert told == pytest.approx([lowest[query], expected[query], highest[query]], abs=CLOSE), (measure, query)
        monkeypatch.setattr(
            "trueval.comparison.resampling.tie_order_values.FEW_ORDERS", column
        )  # 0: nothing is drawn from a list
        drawn = orders.samples(measure, tied, SAMPLES, seed=0)
        within = SIGMAS * drawn.std() / np.sqrt(SAMPLES) + CLOSE
        assert drawn.mean() == pytest.approx(expected[tied].sum(), abs=within), measure
