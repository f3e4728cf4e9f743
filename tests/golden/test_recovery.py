"""How much of known grades several labels of a judge that errs give back, where pools are judged whole."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from trueval.collection import Collection
from trueval.golden.build.grade import GradingSettings, grade, grades_of
from trueval.golden.judge.label_judge import LabelErrors, LabelJudge
from trueval.golden.judge.ledger import open_ledger

DATA = Path(__file__).parents[3] / "shared" / "data" / "collections"
# Their grades on the rubric, and how many queries are taken.
KNOWN = {
    "csfcube": ({0: 1, 1: 3, 2: 4, 3: 5}, 20),
    "noveleval": ({0: 1, 1: 3, 2: 5}, 21),
    "epqa-dev": ({0: 1, 1: 3, 2: 5}, 150),
}
# How judges err; the first world is that of the tables of shares.
WORLDS = {
    "usual": LabelErrors(noise=0.8, gross=0.05, invalid=0.01, position=0.3, seed=3),
    "quiet": LabelErrors(noise=0.4, seed=3),
    "noisy": LabelErrors(noise=1.2, seed=3),
    "gross": LabelErrors(noise=0.4, gross=0.1, seed=3),
    "very gross": LabelErrors(noise=0.8, gross=0.2, seed=3),
    "persistent": LabelErrors(noise=0.5, persistent=0.5, gross=0.05, seed=3),
    "slots": LabelErrors(noise=0.5, position=1.0, gross=0.05, seed=3),
    "lengths": LabelErrors(noise=0.5, length=0.5, gross=0.05, seed=3),
}
ROUNDS = (1, 2, 3, 4, 5)
AGGREGATES = ("median", "majority", "posterior")
USEFUL = 4


def recovered(name: str, errors: LabelErrors, ledger: Path) -> dict[tuple[str, int], np.ndarray]:
    """(aggregate, rounds) → [passage, 2] the grade that labels make, and the known one."""
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
    judge = LabelJudge(labels, errors)
    with open_ledger(ledger) as book:
        every = grade(pools, collection.queries, collection.documents, judge, book, GradingSettings(rounds=max(ROUNDS)))
    found = {}
    for rounds in ROUNDS:
        some = every.labels.filter(every.labels["round"] < rounds)
        for aggregate in AGGREGATES:
            made = grades_of(pools, some, aggregate).drop_nulls("grade").select("query_id", "doc_id", "grade")
            pairs = [
                (value, labels[collection.queries[q], collection.documents[d]]) for q, d, value in made.iter_rows()
            ]
            found[aggregate, rounds] = np.array(pairs)
    return found


def f1_of_useful(pairs: np.ndarray) -> float:
    taken, truly = (pairs >= USEFUL).T
    return float(2 * (taken & truly).sum() / (taken.sum() + truly.sum()))


def told(pairs: np.ndarray) -> str:
    """Share of right grades, mean errors, useful passages kept and wrongly taken, and errors by grade."""
    apart, useful = pairs[:, 0] - pairs[:, 1], pairs >= USEFUL
    by_grade = ", ".join(
        f"{grade}: {(apart[pairs[:, 1] == grade] == 0).mean():.2f} right {apart[pairs[:, 1] == grade].mean():+.2f}"
        for grade in np.unique(pairs[:, 1])
    )
    return (
        f"{(apart == 0).mean():.3f} right ({np.abs(apart).mean():.3f} off, {apart.mean():+.3f} in the mean); of "
        f"{useful[:, 1].sum()} useful {(useful[:, 0] & useful[:, 1]).sum()} kept, "
        f"{(useful[:, 0] & ~useful[:, 1]).sum()} wrong beside, F1 {f1_of_useful(pairs):.3f}; by grade {by_grade}"
    )


@pytest.mark.evidence
@pytest.mark.parametrize("name", KNOWN)
def test_more_labels_give_back_more_of_the_grades(name: str, tmp_path: Path) -> None:
    if not (DATA / name).is_dir():
        pytest.skip(f"{name} is not here")
    found = recovered(name, WORLDS["usual"], tmp_path / "l.sqlite")
    print(f"\n{name}: {len(found['median', 5])} passages")
    for key, pairs in sorted(found.items()):
        print(f"  {key[0]:10} {key[1]} rounds {told(pairs)}")
    right = {key: (pairs[:, 0] == pairs[:, 1]).mean() for key, pairs in found.items()}
    mean = {key: (pairs[:, 0] - pairs[:, 1]).mean() for key, pairs in found.items()}
    for aggregate in AGGREGATES:
        assert right[aggregate, 3] > right[aggregate, 1]
        assert right[aggregate, 5] > right[aggregate, 3]
    assert right["posterior", 5] > right["median", 1] + 0.1
    # Of an even number the lower of the middle two: grades fall.
    assert mean["median", 2] < min(mean["median", rounds] for rounds in (1, 3, 5)) - 0.1
    assert mean["median", 4] < min(mean["median", rounds] for rounds in (1, 3, 5))


@pytest.mark.evidence
@pytest.mark.parametrize("world", WORLDS)
def test_the_default_aggregate_has_the_highest_f1_of_useful_passages(world: str, tmp_path: Path) -> None:
    """The mean over the collections, from two labels on. docs/golden.md has the figures."""
    names = [name for name in KNOWN if (DATA / name).is_dir()]
    if not names:
        pytest.skip("no collection is here")
    f1: dict[tuple[str, int], list[float]] = {}
    for name in names:
        for key, pairs in recovered(name, WORLDS[world], tmp_path / f"{name}.sqlite").items():
            f1.setdefault(key, []).append(f1_of_useful(pairs))
    for rounds in ROUNDS:
        means = {aggregate: float(np.mean(f1[aggregate, rounds])) for aggregate in AGGREGATES}
        each = {aggregate: [round(value, 3) for value in f1[aggregate, rounds]] for aggregate in AGGREGATES}
        print(f"\n| {world} | {rounds} |", " | ".join(f"{value:.3f}" for value in means.values()), "|", each)
        if rounds > 1:
            assert means[GradingSettings().aggregate] > max(means.values()) - 0.003
