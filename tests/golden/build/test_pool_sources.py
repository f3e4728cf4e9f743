"""What the searches behind a pool tell: the least difference that the judged queries separate."""

from __future__ import annotations

import math
from pathlib import Path

import polars as pl
import pytest
from scipy import stats
from tests.golden.audited_world import World, written

from trueval.comparison.labels.correct import correct
from trueval.golden.build.pool_sources import audited_difference, decidable_difference
from trueval.judgments import Judgments

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


def searches(world: World) -> pl.DataFrame:
    """A pool whose dense search orders by the judge's grades, and whose sparse one in the order of the file."""
    rows = []
    for query, graded in world.judge.items():
        best = sorted(graded, key=lambda document: -graded[document])
        for place, name in enumerate(graded, 1):
            dense = best.index(name) + 1
            own = {"dense": dense, "dense_score": -float(dense), "sparse": place, "sparse_score": -float(place)}
            rows.append({"query_id": query, "doc_id": name, "rank": place, "score": -float(place), **own})
    return pl.DataFrame(rows)


@pytest.mark.parametrize(
    ("design", "sampled", "measure"),
    [("queries", 30, "nDCG(gain='rubric')@10"), ("documents", 40, "DCG(gain='rubric')@10")],
)
def test_with_an_audit_the_least_difference_has_the_errors_of_the_labels(
    tmp_path: Path, design: str, sampled: int, measure: str
) -> None:
    world = written(tmp_path, design=design, sampled=sampled)
    pooled = searches(world)
    found = audited_difference(pooled, world.golden / "qrels.trec")
    runs = {
        name: {
            query: {
                row["doc_id"]: row[f"{name}_score"] for row in pooled.filter(pl.col("query_id") == query).to_dicts()
            }
            for query in world.judge
        }
        for name in ("dense", "sparse")
    }
    qrels = Judgments.read(world.golden / "qrels.trec")
    told = correct(runs, qrels, world.audit, [measure]).differences[0]
    assert found is not None
    assert (found.measure, found.labels, found.unusable) == (measure, told.labels, None)
    assert found.difference == pytest.approx(told.corrected.estimate)
    degrees = told.corrected.degrees
    factor = stats.t.ppf(0.975, degrees) + stats.t.ppf(0.8, degrees)
    assert found.least == pytest.approx(factor * told.corrected.se)
    alone = decidable_difference(pooled, qrels.frame)
    assert alone is not None
    if design == "queries":  # half of the queries are audited, and the judge errs: less is told than if it were right
        assert alone.least is not None
        assert found.least > alone.least


def test_an_audit_of_few_labels_or_of_other_judgments_tells_no_difference(tmp_path: Path) -> None:
    few = written(tmp_path / "few", design="documents", sampled=40, answered=8)
    found = audited_difference(searches(few), few.golden / "qrels.trec")
    assert found is not None
    assert (found.least, found.difference, found.unusable) == (None, None, "8 labels of people are too few")
    other = written(tmp_path / "other", design="documents", sampled=40)
    qrels = other.golden / "qrels.trec"
    qrels.write_text(qrels.read_text().replace(" 5\n", " 4\n"))
    assert audited_difference(searches(other), qrels) is None
    unanswered = written(tmp_path / "unanswered", design="documents", sampled=40, answered=0)
    assert audited_difference(searches(unanswered), unanswered.golden / "qrels.trec") is None
    same = searches(few).with_columns(sparse=pl.col("dense"), sparse_score=pl.col("dense_score"))
    equal = audited_difference(same, few.golden / "qrels.trec")
    assert equal is not None
    assert equal.unusable == "the two searches do not differ in DCG(gain='rubric')@10"
    assert audited_difference(searches(few).drop("sparse", "sparse_score"), few.golden / "qrels.trec") is None
