"""Orders of ties that are drawn, listed or summed up by evaluate are the same ones, under every convention."""

from __future__ import annotations

import itertools
import math
import warnings
from functools import cache
from typing import Any

import numpy as np
import pytest

from trueval.comparison.compare import compare
from trueval.comparison.resampling.tie_order_values import TieOrders
from trueval.errors import TruevalWarning
from trueval.evaluation.evaluate import evaluate
from trueval.evaluation.scores import Scores
from trueval.judgments import Judgments
from trueval.measures import Measure, parse, registry
from trueval.policy.conventions import CONVENTIONS, OURS, convention
from trueval.policy.policy import Policy
from trueval.run import Run

SAMPLES = 120
SIGMAS = 5
QUERIES = 4
POLICIES: dict[str, Policy] = {
    "ours": OURS,
    **CONVENTIONS,
    "first results dropped": convention(skip_first=True),
    "depth": convention(depth=5),
    "judged only": convention(judged_only=True),
    "scores <= 0 are not retrieved": convention(nonpositive="not-retrieved"),
    "grades cut": convention(float_grades="truncate"),
    "all at once": convention(
        skip_first=True, depth=6, judged_only=True, nonpositive="not-retrieved", tie_precision=0.5, tie_order="random"
    ),
}

# Why no order of tied documents gives a value.
NOT_OF_ONE_ORDER = {
    "gm": "a mean over queries, not a value of one query; compare refuses it",
    "alpha_nDCG": "its rows are facets, several of one document, which must move together; never sampled",
    "NRBP": "as alpha_nDCG",
}
NOT_OF_ONE_ORDER_HERE = {("sklearn", "AP"): "tied documents enter together at one threshold: no order's value"}

OF_A_MEASURE = "RA-nWG"  # what measures of a measure are tried with
RUBRIC = {name for name in registry() if registry()[name].definition.takes_measure} | {
    "RA-nWG", "nWG", "N-Recall4+", "N-Recall5", "P4+", "Harm", "UDCG-proxy",
}  # fmt: skip


def measure_of(name: str) -> list[Measure]:
    """A measure with a cutoff that falls into a group of ties, and without one, as far as it may have either."""
    definition = registry()[name].definition
    pool = ", pool=6" if "pool" in definition.parameters else ""
    text = f"{name}({OF_A_MEASURE}{pool})" if definition.takes_measure else name
    cut = [parse(f"{text}@{k}") for k in (3, 6) if definition.cutoff_use != "none"]
    return cut if definition.cutoff_use == "required" else [*cut, parse(text)]


def grades_for(name: str, chosen: Policy) -> tuple[float, ...]:
    """What the measure and the policy can read."""
    if name in RUBRIC:
        return 1, 2, 3, 4, 5
    if chosen.labels == "binary":
        return 0, 1
    return (0, 0, 1, 2, 3) if chosen.float_grades == "error" else (0, 0, 1, 2, 3, 0.5, 2.5)


@cache
def hostile(name: str, grades: tuple[float, ...]) -> tuple[Run, Judgments]:
    """Few scores, some 0 or less or told apart by doubles only; unjudged documents, grades of 0, one absent."""
    rng = np.random.default_rng([len(name), *map(ord, name)])
    rows: dict[str, dict[str, float]] = {}
    judged: dict[str, dict[str, float]] = {}
    for query in range(QUERIES):
        documents = [f"d{at}" for at in range(10)]
        scores = rng.choice([-1.0, 0.0, 0.5, 0.5 + 1e-12, 1.0], 10)
        rows[f"q{query}"] = dict(zip(documents, scores.tolist(), strict=True))
        known = [*rng.choice(documents, 7, replace=False).tolist(), "absent"]
        judged[f"q{query}"] = {d: rng.choice(grades) for d in known}
        judged[f"q{query}"][known[0]] = max(grades)
    judgments = Judgments.from_dict(judged)
    if name == "novelty":
        judgments = judgments.with_sources({f"d{at}": f"source{at % 3}" for at in range(10)} | {"absent": "source0"})
    return Run.from_dict(rows), judgments


@cache
def scores_under(name: str, rules: str) -> Scores:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", TruevalWarning)
        return evaluate(*hostile(name, grades_for(name, POLICIES[rules])), measure_of(name), policy=POLICIES[rules])


# Measures of a measure take their worth from the one inside: some rules now, all of them in `make evidence`.
INSIDE = ("ours", "depth", "all at once")


@pytest.mark.parametrize(
    ("name", "rules"),
    [
        pytest.param(name, rules, marks=pytest.mark.evidence)
        if registry()[name].definition.takes_measure and rules not in INSIDE
        else (name, rules)
        for name in sorted(set(registry()) - set(NOT_OF_ONE_ORDER))
        for rules in POLICIES
    ],
)
def test_sampled_orders_have_the_mean_and_the_bounds_of_evaluate(name: str, rules: str) -> None:
    if (rules, name) in NOT_OF_ONE_ORDER_HERE:
        pytest.skip(NOT_OF_ONE_ORDER_HERE[rules, name])
    run, judgments = hostile(name, grades_for(name, POLICIES[rules]))
    scores = scores_under(name, rules)
    orders = TieOrders(run, judgments, scores.policy, 0)
    for column, measure in enumerate(scores.measures):
        assert scores.exact[column], measure
        queries = np.flatnonzero(scores.highest[:, column] > scores.lowest[:, column])
        found = orders.samples(measure, queries, SAMPLES, 0)
        expected, lowest, highest = (
            getattr(scores, each)[queries, column].sum() for each in ("expected", "lowest", "highest")
        )
        assert found.min() >= lowest - 1e-9, measure
        assert found.max() <= highest + 1e-9, measure
        # A rare order may be in no sample: the sd that evaluate gives is that of all orders, where it gives one.
        sd = math.sqrt((scores.sd[queries, column] ** 2).sum())
        error = (found.std() if math.isnan(sd) else sd) / math.sqrt(SAMPLES)
        assert found.mean() == pytest.approx(expected, abs=SIGMAS * error + 1e-9), measure


@pytest.mark.parametrize("name", sorted(set(registry()) - set(NOT_OF_ONE_ORDER)))
def test_ties_change_something_under_some_rules(name: str) -> None:
    """What the test above would not see: lists on which nothing is open."""
    every = [scores_under(name, rules) for rules in POLICIES]
    assert sum(bool((scores.highest > scores.lowest).any()) for scores in every) >= 3


def precision_over_hits(ranking: list[bool], k: int) -> float:
    """AP@k of torchmetrics: the mean, over the retrieved relevant documents in the top k, of the precision at each."""
    hits = [rank for rank, relevant in enumerate(ranking[:k], 1) if relevant]
    return sum(at / rank for at, rank in enumerate(hits, 1)) / len(hits) if hits else 0.0


def rivals() -> tuple[Run, Run, Judgments]:
    """One run ties 20 documents, 4 of them relevant, before a tied tail of score 0 that holds 10 relevant ones.

    Torchmetrics does not count those of the tail as retrieved; who does finds that the other run loses in every order.
    """
    top, tail = [f"t{at:02}" for at in range(20)], [f"z{at:02}" for at in range(10)]
    judgments = Judgments.from_dict({"q": dict.fromkeys([*top[:4], *tail], 1) | dict.fromkeys(top[4:], 0)})
    tied = Run.from_dict({"q": dict.fromkeys(top, 1.0) | dict.fromkeys(tail, 0.0)}, name="tied")
    order = [*top[4:7], top[0], *top[7:]]
    fixed = Run.from_dict({"q": {doc: float(30 - at) for at, doc in enumerate(order)}}, name="fixed")
    return tied, fixed, judgments


def test_a_sampled_win_probability_is_that_of_the_policy() -> None:
    tied, fixed, judgments = rivals()
    other = precision_over_hits([False] * 3 + [True] + [False] * 13, 30)
    places = list(itertools.combinations(range(20), 4))
    values = [precision_over_hits([at in chosen for at in range(20)], 30) for chosen in places]
    truth = sum(value > other for value in values) / len(values)
    choices: dict[str, Any] = {"convention": "torchmetrics", "resamples": 100, "tie_samples": 16_000}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", TruevalWarning)
        (pair,) = compare([tied, fixed], judgments, "AP@30", **choices).differences
    assert pair.win.method == "sampled"
    assert 0.05 < truth < 0.97
    assert pair.win.low <= truth <= pair.win.high
    assert pair.undecidable
    assert not pair.separated
