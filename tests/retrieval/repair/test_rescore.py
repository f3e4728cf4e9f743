"""Rescoring: the first K after a repair are those of exact scores wherever the width bounds what they differ by."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.examples import examples

from trueval.numerics import round_to
from trueval.retrieval.repair.doubtful_documents import find_doubtful, is_top, repair
from trueval.retrieval.repair.rescore import describe_repair, rescore_doubtful
from trueval.run import Run
from trueval.score_width import ScoreWidth

# Few distinct scores, so that most lists tie, some of them at neighboring values of bfloat16.
SCORES = st.sampled_from([0.0, 0.5, 0.5019531, 0.50390625, 0.505859375, 0.25, 0.9999, 1.0, -0.5, 1e-30, 3.0])


def moved(score: float, by: float, width: float) -> float:
    """A score moved by at most the width: where rounding takes it beyond that, the nearest one inside."""
    low = score + by
    return low if abs(Fraction(low) - Fraction(score)) <= Fraction(width) else math.nextafter(low, score)


def lists_of(scores: dict[str, list[float]]) -> Run:
    return Run.from_dict({query: {f"d{at}": each for at, each in enumerate(own)} for query, own in scores.items()})


@examples(1000)
@given(
    st.lists(st.lists(SCORES, min_size=1, max_size=12), min_size=1, max_size=3),
    st.integers(1, 6),
    st.sampled_from(["bfloat16", "float16", "0", "0.01", "2 ulp(bfloat16)"]),
    st.booleans(),
    st.randoms(use_true_random=False),
)
def test_the_first_documents_are_the_exact_ones(
    lists: list[list[float]], k: int, within: str, order: bool, random: Any
) -> None:
    exact = {f"q{at}": own for at, own in enumerate(lists)}
    form = "bfloat16" if "bfloat16" in within else "float16"
    if within in ("0", "0.01"):  # exact scores anywhere within the width, at its ends above all
        width = float(within)
        shares = {q: [random.choice((-1, -0.5, 0, 0.5, 1)) for _ in own] for q, own in exact.items()}
        low = {q: [moved(s, m * width, width) for s, m in zip(own, shares[q], strict=True)] for q, own in exact.items()}
    else:
        low = {q: round_to(np.array(own), form).astype(float).tolist() for q, own in exact.items()}
    asked: list[tuple[str, str]] = []

    def score(run: Run) -> Run:
        asked.extend(run.frame.select("query_id", "doc_id").rows())
        return lists_of(exact)

    found = rescore_doubtful(lists_of(low), k, ScoreWidth.parse(within), score, order=order)
    assert len(asked) == len(set(asked)) == found.repair.rescored
    assert found.repair.beyond == 0
    for query, own in exact.items():
        rows = found.run.frame.filter(query_id=query)
        places = [int(doc[1:]) for doc in rows["doc_id"]]
        assert sorted(places) == list(range(len(own)))
        assert rows["score"].to_list() == sorted(rows["score"].to_list(), reverse=True)
        for cut in range(1, k + 1) if order else [k]:
            assert is_top(np.array(own), np.array(places[:cut]))
        # Exact where they were asked for, and the others as they were.
        for place, value in zip(places, rows["score"].to_list(), strict=True):
            assert value == (exact if (query, f"d{place}") in asked else low)[query][place]


def test_an_order_is_exact_where_every_exact_order_within_the_width_agrees() -> None:
    """The naive twin: a document is scored again if and only if allowed scores put it in two places of the first K."""
    rng = np.random.default_rng(5)
    for _ in range(200):
        count = int(rng.integers(1, 6))
        scores, moves = rng.integers(0, 8, count) / 8, rng.integers(0, 3, count) / 8
        k = int(rng.integers(1, count + 1))
        ends = itertools.product(*[(s - m, s, s + m) for s, m in zip(scores, moves, strict=True)])
        places: list[set[int]] = [set() for _ in scores]
        for exact in map(np.array, ends):
            for at, own in enumerate(exact):
                above, ties = (exact > own).sum(), (exact == own).sum() - 1
                places[at].update(min(place, k) for place in range(above, above + ties + 1))  # k is "below the first k"
        found = repair(scores, k, moves, order=True)
        assert set(found.rescore.tolist()) == {at for at, own in enumerate(places) if len(own) > 1}
        assert set(found.keep.tolist()) == {at for at, own in enumerate(places) if len(own) == 1 and own != {k}}


def test_drift_and_lists_that_end_too_early_are_said() -> None:
    low = {"q": {"a": 0.5, "b": 0.5, "c": 0.5}, "r": {"a": 1.0, "b": 0.25, "c": 0.125}}
    exact = {"q": {"a": 0.49, "b": 0.501, "c": 0.5}}
    found = rescore_doubtful(Run.of(low), 1, ScoreWidth.parse("bfloat16"), lambda run: Run.of(exact), depth=3)
    told = found.repair
    assert (told.rescored, told.share, told.documents, told.sure) == (3, 0.5, {"q": ("a", "b", "c")}, {"q": 0, "r": 1})
    assert (told.changed, told.beyond, told.reach) == (1, 1, 1)
    assert told.most == pytest.approx(0.01 * 256)
    assert describe_repair(told, 2) == [
        "3 of 6 pairs (50.00%), in 1 of 2 queries, were scored again in float32: the first 1 changed in 1 query.",
        "1 score differs by more than 0.5 ulp(bfloat16), at most by 2.56 ulp(bfloat16): outputs drift. Only a width "
        "that covers this is sure.",
        "In 1 query documents below the last one listed could be among the first 1. Search deeper: set depth of "
        "[index].",
    ]
    whole = rescore_doubtful(Run.of(low), 1, ScoreWidth.parse("bfloat16"), lambda run: Run.of(exact))
    assert whole.repair.reach == 0


@pytest.mark.parametrize(("off", "beyond"), [(0.0009, 0), (0.001, 0), (0.0011, 1), (0.0019, 1)])
def test_a_score_outside_its_interval_is_drift(off: float, beyond: int) -> None:
    low, exact = Run.of({"q": {"a": 0.5, "b": 0.5}}), Run.of({"q": {"a": 0.5 + off, "b": 0.5}})
    found = rescore_doubtful(low, 1, ScoreWidth.parse("0.001"), lambda run: exact)
    assert found.repair.beyond == beyond
    assert found.repair.most == pytest.approx(off)


def test_nothing_doubtful_asks_for_nothing() -> None:
    def refuse(run: Run) -> Run:
        raise AssertionError(run)

    run = Run.of({"q": {"a": 1.0, "b": 0.5}})
    found = rescore_doubtful(run, 1, ScoreWidth.parse("0"), refuse)
    assert found.run.frame.equals(run.frame)
    assert find_doubtful(run, 1, ScoreWidth.parse("0")).run.documents.height == 0
