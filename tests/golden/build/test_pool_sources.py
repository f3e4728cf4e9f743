"""What the searches behind a pool tell: the least difference that the judged queries separate."""

from __future__ import annotations

import math

import polars as pl
import pytest
from scipy import stats

from trueval.golden.build.pool_sources import decidable_difference

GRADES = {"good": 5.0, "bad": 1.0}


def pool(first_of_sparse: dict[str, str], *, searches: tuple[str, ...] = ("dense", "sparse")) -> pl.DataFrame:
    """The dense search has the useful passage first everywhere, the sparse one the passage that is given."""
    rows = []
    for query, first in first_of_sparse.items():
        for place, name in enumerate(GRADES, 1):
            sparse = 1 if name == first else 2
            own = {"dense": place, "dense_score": -float(place), "sparse": sparse, "sparse_score": -float(sparse)}
            row = {"query_id": query, "doc_id": f"{query}-{name}", "rank": place, "score": -float(place), **own}
            rows.append({key: value for key, value in row.items() if key.partition("_")[0] not in LEFT_OUT[searches]})
    return pl.DataFrame(rows)


LEFT_OUT = {("dense", "sparse"): (), ("dense",): ("sparse",)}


def judged(queries: list[str]) -> pl.DataFrame:
    rows = [(query, f"{query}-{name}", grade) for query in queries for name, grade in GRADES.items()]
    return pl.DataFrame(rows, schema=["query_id", "doc_id", "grade"], orient="row")


def test_the_least_difference_is_that_of_a_paired_t_test_on_the_two_searches() -> None:
    """nDCG with the gains of the rubric is 1 where the 5 is first, and 1 / log2(3) where it is second."""
    given = {"q1": "good", "q2": "bad", "q3": "good", "q4": "bad", "q5": "good"}
    found = decidable_difference(pool(given), judged(list(given)))
    assert found is not None
    loss = 1 - 1 / math.log2(3)
    differences = [0.0, loss, 0.0, loss, 0.0]
    mean = sum(differences) / 5
    sd = math.sqrt(sum((each - mean) ** 2 for each in differences) / 4)
    assert (found.first, found.second, found.queries) == ("dense", "sparse", 5)
    assert found.measure == "nDCG(gain='rubric')@10"
    assert found.difference == pytest.approx(mean)
    assert found.sd == pytest.approx(sd)
    assert found.least == pytest.approx((stats.t.ppf(0.975, 4) + stats.t.ppf(0.8, 4)) * sd / math.sqrt(5))


def test_equal_searches_one_search_and_one_query_tell_nothing() -> None:
    same = dict.fromkeys(("q1", "q2", "q3"), "good")
    found = decidable_difference(pool(same), judged(list(same)))
    assert found is not None
    assert (found.sd, found.least) == (0.0, None)
    assert decidable_difference(pool(same, searches=("dense",)), judged(list(same))) is None
    assert decidable_difference(pool({"q1": "bad"}), judged(["q1"])) is None
    assert decidable_difference(pool(same), judged([])) is None
