"""How much of known grades several labels of a judge that errs give back, where pools are judged whole."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from trueval.collection import Collection
from trueval.golden.grade import Grading, grade, grades_of
from trueval.golden.label_judge import Errors, LabelJudge
from trueval.golden.ledger import opened_ledger

DATA = Path(__file__).parents[3] / "shared" / "data" / "collections"
# Their grades on the rubric, and how many queries are taken.
KNOWN = {
    "csfcube": ({0: 1, 1: 3, 2: 4, 3: 5}, 20),
    "noveleval": ({0: 1, 1: 3, 2: 5}, 21),
    "epqa-dev": ({0: 1, 1: 3, 2: 5}, 150),
}
ERRORS = Errors(noise=0.8, gross=0.05, invalid=0.01, position=0.3, seed=3)
ROUNDS = (1, 2, 3, 4, 5)
AGGREGATES = ("median", "majority", "posterior")


@pytest.mark.evidence
@pytest.mark.parametrize("name", KNOWN)
def test_more_labels_give_back_more_of_the_grades(name: str, tmp_path: Path) -> None:
    if not (DATA / name).is_dir():
        pytest.skip(f"{name} is not here")
    scale, queries = KNOWN[name]
    collection = Collection.read(str(DATA / name))
    known: dict[tuple[str, str], int] = {}
    pools: dict[str, list[str]] = {}
    for query, document, value in collection.graded.frame.select("query_id", "doc_id", "grade").iter_rows():
        if (
            (query in pools or len(pools) < queries)
            and query in collection.queries
            and document in collection.documents
        ):
            pools.setdefault(query, []).append(document)
            known[query, document] = scale[int(value)]
    labels = {(collection.queries[q], collection.documents[d]): value for (q, d), value in known.items()}
    judge = LabelJudge(labels, ERRORS)
    found: dict[tuple[str, int], tuple[float, float, float]] = {}
    with opened_ledger(tmp_path / "l.sqlite") as ledger:
        every = grade(pools, collection.queries, collection.documents, judge, ledger, Grading(rounds=max(ROUNDS)))
    for rounds in ROUNDS:
        some = every.labels.filter(every.labels["round"] < rounds)
        for aggregate in AGGREGATES:
            made = grades_of(pools, some, aggregate).drop_nulls("grade")
            truth = np.array(
                [
                    labels[collection.queries[q], collection.documents[d]]
                    for q, d in made.select("query_id", "doc_id").iter_rows()
                ]
            )
            apart = made["grade"].to_numpy() - truth
            found[aggregate, rounds] = (float((apart == 0).mean()), float(np.abs(apart).mean()), float(apart.mean()))
    print(f"\n{name}: {len(pools)} queries, {len(known)} passages, {len(every.answers)} calls")
    for aggregate in AGGREGATES:
        print(
            f"  {aggregate:10}",
            *(
                f"{rounds} rounds {found[aggregate, rounds][0]:.3f} ({found[aggregate, rounds][1]:.3f} off, "
                f"{found[aggregate, rounds][2]:+.3f} in the mean)"
                for rounds in ROUNDS
            ),
        )
    for aggregate in AGGREGATES:
        assert found[aggregate, 3][0] > found[aggregate, 1][0]
        assert found[aggregate, 5][0] > found[aggregate, 3][0]
    assert found["posterior", 5][0] > found["median", 1][0] + 0.1
    # Of an even number the lower of the middle two: grades fall.
    assert found["median", 2][2] < min(found["median", rounds][2] for rounds in (1, 3, 5)) - 0.1
    assert found["median", 4][2] < min(found["median", rounds][2] for rounds in (1, 3, 5))
