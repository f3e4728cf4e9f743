"""How often intervals of rare, skewed and smooth values hold the true mean; docs/audit.md has the figures."""

from __future__ import annotations

import numpy as np
import pytest
from tests.comparison.interval_worlds import HOW, PAIRS, QUERIES, SINGLE, WELL, estimated, least, of_one, rows_of, table

from trueval.comparison.labels.both_labels import PairedValues
from trueval.comparison.labels.design_estimate import TARGETS
from trueval.comparison.labels.query_design import by_queries


@pytest.mark.parametrize("target", TARGETS)
def test_estimates_of_many_draws_at_once_are_those_of_the_design(target: str) -> None:
    whole, here = np.arange(QUERIES) < 12, np.ones(QUERIES, dtype=bool)
    made = of_one(SINGLE["P@5, mean .07"], np.random.default_rng(1), 4, 0.8)
    for how in HOW:
        means, errors = estimated(made, 12, how, target)
        for draw in range(4):
            found = by_queries(PairedValues(made.judge[draw], made.people[draw], here, ~here), whole, target, 0.95)
            assert found is not None
            one = {"people": found.people, "tuned": found.corrected, "untuned": found.untuned}[how]
            assert (means[draw], errors[draw]) == pytest.approx((one.estimate, one.se), rel=1e-9)


def test_rare_values_are_held_more_often_than_by_t() -> None:
    rows = list(rows_of("0/1, mean 0.05", 200, (100,), ("tuned",)))
    assert least(rows, "t") < 0.92
    assert least(rows, "ours") > 0.93


@pytest.mark.evidence
@pytest.mark.parametrize("world", SINGLE)
def test_single_values_in_1_000_draws(world: str) -> None:
    rows = list(rows_of(world))
    print("\n".join(list(table(rows))[2:]))
    for row in rows:
        assert row.ours >= row.t
        if row.world in WELL and row.graded >= 20 and row.how != "untuned":
            assert row.whole < 1.06
            assert row.ours > 0.92
    tuned = [row for row in rows if row.how != "untuned"]
    assert least([row for row in tuned if row.graded >= 50], "ours") > 0.91
    assert least(tuned, "ours") > 0.85


@pytest.mark.evidence
@pytest.mark.parametrize("world", PAIRS)
def test_differences_in_1_000_draws(world: str) -> None:
    rows = list(rows_of(world, how=("tuned",)))
    print("\n".join(list(table(rows))[2:]))
    assert all(row.ours >= row.t for row in rows)
    assert least(rows, "ours") > 0.88
    assert max(row.whole for row in rows if row.graded >= 20) < 1.03
