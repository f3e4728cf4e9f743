"""Real runs whose scores tie, against the twin: all orders where they are few, sampled ones where they are many."""

from __future__ import annotations

import gzip
import math
from collections import defaultdict
from typing import TYPE_CHECKING

import numpy as np
import pytest
import twin

from trueval.evaluation.evaluate import evaluate
from trueval.judgments import Judgments
from trueval.run import Run

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from trueval.evaluation.scores import Scores

SIGMAS = 5
FEW = 5040
CUT = [
    "nDCG@10",
    "nDCG(gain='exp')@10",
    "RR@10",
    "RR(rel=2)@10",
    "AP@10",
    "P(rel=2)@10",
    "R@10",
    "F1@10",
    "Success@3",
    "Judged@10",
]
DL_HARD = ["bm25", "bm25+rm3", "bm25+bert(zs)", "bm25+rm3+bert(zs)", "bm25+t5(zs)", "bm25+rm3+t5(zs)"]


def read_columns(path: Path, column: int) -> dict[str, dict[str, float]]:
    """Read a TREC file the plain way: query in field 0, document in field 2, a number in the given field."""
    text = gzip.decompress(path.read_bytes()).decode() if path.suffix == ".gz" else path.read_text()
    found: dict[str, dict[str, float]] = defaultdict(dict)
    for line in text.splitlines():
        fields = line.split()
        found[fields[0]][fields[2]] = float(fields[column])
    return found


def reaching(scores: Mapping[str, float], k: int) -> dict[str, float]:
    """Return the documents of the tie groups that begin within the top k: no other can stand there."""
    kept: list[str] = []
    for group in twin.tie_groups(scores):
        if len(kept) >= k:
            break
        kept += group
    return {document: scores[document] for document in kept}


def order_count(scores: Mapping[str, float]) -> int:
    return math.prod(math.factorial(len(group)) for group in twin.tie_groups(scores))


def check_query(
    scores: Scores, row: int, listed: Mapping[str, float], grades: Mapping[str, float], samples: int
) -> bool:
    """Compare one query with the twin, exactly where orders are few; return whether it was exact."""
    if order_count(listed) <= FEW:
        orders = twin.all_orders(listed, grades)
        for column, measure in enumerate(scores.measures):
            truth = twin.over_orders(orders, str(measure))
            found = (scores.expected, scores.lowest, scores.highest)
            for statistic, true in zip(found, truth[:3], strict=True):
                assert statistic[row, column] == pytest.approx(float(true), abs=1e-12), (measure, row)
            assert scores.sd[row, column] ** 2 == pytest.approx(float(truth.variance), abs=1e-12), (measure, row)
        return True
    rankings = list(twin.sampled_orders(listed, grades, samples, np.random.default_rng(row)))
    for column, measure in enumerate(scores.measures):
        seen = twin.over_sample(rankings, str(measure))
        sd = scores.sd[row, column]
        error = max(seen.mean_error, sd / math.sqrt(samples))
        assert abs(seen.mean - scores.expected[row, column]) <= SIGMAS * error + 1e-12, (measure, row)
        assert abs(seen.variance - sd**2) <= 2 * SIGMAS * seen.variance_error + 1e-12 + 0.02 * sd, (measure, row)
        assert scores.lowest[row, column] - 1e-12 <= seen.lowest, (measure, row)
        assert scores.highest[row, column] + 1e-12 >= seen.highest, (measure, row)
    return False


def check_extrema(scores: Scores, row: int, listed: Mapping[str, float], grades: Mapping[str, float]) -> None:
    """The best and the worst graded document first in each group are real orders, and the extrema are theirs."""
    for statistic, sign in ((scores.highest, -1), (scores.lowest, 1)):
        order = sorted(listed, key=lambda d: (-listed[d], sign * grades.get(d, -0.5)))
        ranking = twin.ranking_of(order, grades, float)
        for column, measure in enumerate(scores.measures):
            assert statistic[row, column] == pytest.approx(twin.value(ranking, str(measure)), abs=1e-12), (measure, row)


@pytest.mark.slow
@pytest.mark.parametrize("name", DL_HARD)
def test_dl_hard_runs_tied_by_bfloat16_equal_the_twin(name: str, dl_hard: Path) -> None:
    run, grades = read_columns(dl_hard / f"{name}.run.gz", 4), read_columns(dl_hard / "qrels.trec", 3)
    rounded = {q: {d: twin.round_to_bits(s, 8) for d, s in listed.items()} for q, listed in run.items()}
    judgments = Judgments.read(dl_hard / "qrels.trec")
    scores = evaluate(Run.read(dl_hard / f"{name}.run.gz"), judgments, CUT, tie_precision="bfloat16")
    exact = 0
    for row, query in enumerate(scores.query_ids):
        listed = reaching(rounded[query], 10)
        check_extrema(scores, row, listed, grades[query])
        exact += check_query(scores, row, listed, grades[query], samples=300)
    assert exact >= 10


@pytest.mark.slow
def test_measures_without_cutoff_of_a_tied_run_equal_sampled_orders(dl_hard: Path) -> None:
    run, grades = read_columns(dl_hard / "bm25.run.gz", 4), read_columns(dl_hard / "qrels.trec", 3)
    measures = ["nDCG", "AP", "RR", "Rprec", "RBP", "nDCG@100", "AP(rel=2)@100", "R@100"]
    judgments = Judgments.read(dl_hard / "qrels.trec")
    scores = evaluate(Run.read(dl_hard / "bm25.run.gz"), judgments, measures, tie_precision="bfloat16")
    for row in range(0, len(scores.query_ids), 5):
        query = scores.query_ids[row]
        listed = {d: twin.round_to_bits(s, 8) for d, s in run[query].items()}
        check_extrema(scores, row, listed, grades[query])
        check_query(scores, row, listed, grades[query], samples=300)


def test_bm25_in_bfloat16_has_the_range_known_beforehand(dl_hard: Path) -> None:
    """Issue "the evaluator": nDCG@10 of bm25 between .2921 and .3068."""
    run, judgments = Run.read(dl_hard / "bm25.run.gz"), Judgments.read(dl_hard / "qrels.trec")
    mean = evaluate(run, judgments, ["nDCG@10"], tie_precision="bfloat16").mean("nDCG@10")
    assert (round(mean.lowest, 4), round(mean.highest, 4)) == (0.2921, 0.3068)
    assert mean.lowest < mean.expected < mean.highest


@pytest.mark.filterwarnings("ignore:.*finds nothing relevant in any run")
@pytest.mark.slow
def test_every_askubuntu_query_equals_the_twin(askubuntu: Path) -> None:
    """375 BM25 lists of 20 candidates, 58 of them with tied scores (data README)."""
    run, grades = read_columns(askubuntu / "run.trec", 4), read_columns(askubuntu / "qrels.trec", 3)
    measures = [*CUT, "nDCG", "AP", "RR", "Rprec", "RBP", "AP(norm='min')@5"]
    scores = evaluate(Run.read(askubuntu / "run.trec"), Judgments.read(askubuntu / "qrels.trec"), measures)
    tied = [q for q in scores.query_ids if order_count(run[q]) > 1]
    assert (len(scores.query_ids), len(tied)) == (375, 58)
    exact = 0
    for row, query in enumerate(scores.query_ids):
        check_extrema(scores, row, run[query], grades[query])
        exact += check_query(scores, row, run[query], grades[query], samples=500)
    assert exact >= 350
