"""How many more labels a width takes."""

from __future__ import annotations

import dataclasses
import math

import pytest
from tests.comparison.labels.test_correct import DOCUMENTS, audit, made, passages, tied_run

from trueval.comparison.labels.audit_planning import labels_needed, width_after
from trueval.comparison.labels.correct import correct
from trueval.comparison.labels.correction import Correction
from trueval.errors import PolicyError
from trueval.measures.span import ANYTHING


def of_queries(target: str = "new queries") -> Correction:
    judge, people = made(40, 1), made(40, 2)
    return correct(tied_run(40, 3), judge, audit(people, 40, [f"q{i}" for i in range(9)]), "P@3", target=target).of(
        "run", "P@3"
    )


def of_passages(target: str = "these queries") -> Correction:
    judge, people = made(10, 1), made(10, 2)
    every = [(q, d) for q in people for d in DOCUMENTS]
    return correct(tied_run(10, 3), judge, passages(people, every[::3]), "P@3", target=target).of("run", "P@3")


@pytest.mark.parametrize("make", [of_queries, of_passages])
@pytest.mark.parametrize("target", ["new queries", "these queries"])
def test_without_more_labels_the_width_is_the_one_of_the_interval(make, target: str) -> None:  # type: ignore[no-untyped-def]
    found = make(target)
    assert width_after(found, 0) == pytest.approx(found.corrected.width)


@pytest.mark.parametrize("make", [of_queries, of_passages])
def test_the_number_is_the_least_that_gives_the_width(make) -> None:  # type: ignore[no-untyped-def]
    found = make()
    widths = [width_after(found, more) for more in range(sum(s.population - s.audited for s in found.strata) + 1)]
    assert widths == sorted(widths, reverse=True)
    wanted = 0.5 * (widths[0] + widths[-1])
    needed = labels_needed(found, wanted)
    assert needed.units == next(more for more, width in enumerate(widths) if width <= wanted)
    each = found.labels / found.queries if found.design == "queries" else 1
    assert needed.labels == math.ceil(needed.units * each)
    assert needed.least == widths[-1]


def test_for_these_queries_all_labels_leave_nothing_open_and_for_new_ones_queries_are_few() -> None:
    assert labels_needed(of_queries("these queries"), 1e-6).units == 31
    never = labels_needed(of_queries(), 0.01)
    assert (never.units, never.labels) == (None, None)
    assert never.least > 0.01
    assert never.to_dict() == {"width": 0.01, "units": None, "labels": None, "least": never.least}
    assert labels_needed(of_queries(), 5.0).units == 0


def test_strata_grow_alike_and_end_where_they_are_whole() -> None:
    found = of_passages()
    (one,) = found.strata
    two = dataclasses.replace(
        found,
        span=ANYTHING,  # so that widths are in the ratio of standard errors
        strata=(
            one._replace(population=10, audited=8, spread=0.01),
            one._replace(population=60, audited=16, spread=0.02),
        ),
    )
    # 12 more: 4 and 8, of which the first has room for 2, so 2 and 10
    variance = 60**2 * 0.02 * (1 / 26 - 1 / 60)
    assert width_after(two, 12) / width_after(two, 0) == pytest.approx(
        math.sqrt(variance / (60**2 * 0.02 * (1 / 16 - 1 / 60) + 100 * 0.01 * (1 / 8 - 1 / 10)))
    )


def test_a_width_must_be_a_size_and_the_measure_not_refused() -> None:
    with pytest.raises(PolicyError, match="width must be a number above 0"):
        labels_needed(of_queries(), 0)
    judge = made(10, 1)
    refused = correct(tied_run(10, 3), judge, passages(judge, [("q1", "a"), ("q2", "b")]), "RR").corrections[0]
    with pytest.raises(PolicyError, match="More labels give no interval of a value that cannot be corrected: RR"):
        labels_needed(refused, 0.1)


def test_what_is_worth_most_is_where_the_judge_leaves_most_open() -> None:
    found = of_passages()
    (one,) = found.strata
    assert one.share == pytest.approx(1)
    fewer = width_after(found, 0) ** 2 - width_after(found, 1) ** 2
    t = found.corrected.width / 2 / found.corrected.se
    assert one.worth == pytest.approx(fewer / (4 * t**2))
