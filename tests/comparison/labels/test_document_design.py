"""Single passages: every sample of tiny collections, worlds of new queries, and strata that have few answers."""

from __future__ import annotations

from itertools import combinations, product

import numpy as np
import polars as pl
import pytest
from tests.comparison.labels.test_correct import DOCUMENTS, made, passages, tied_run

from trueval import evaluate
from trueval.comparison.labels.audit_sample import AuditSample
from trueval.comparison.labels.contributions import Contributions
from trueval.comparison.labels.correct import correct
from trueval.comparison.labels.design_estimate import NEW, THESE
from trueval.comparison.labels.document_design import Strata, by_documents, merge_strata

# What the passages of a kind of query add: by people, by the judge.
KINDS = (((0.5, 0.25), (0.125, 0.5)), ((0.0, 0.25), (0.0, 0.0)), ((1.0, 0.75), (0.5, 1.0)))


def collection(kinds: tuple[tuple[tuple[float, float], ...], ...]) -> Contributions:
    people, judge = np.array([passage for kind in kinds for passage in kind]).T
    return Contributions(judge, people, np.zeros(len(kinds)), np.ones(len(kinds), dtype=bool))


def samples(queries: int) -> list[np.ndarray]:
    """All samples of two first passages of queries and two second ones, each a stratum."""
    own = [combinations(range(first, 2 * queries, 2), 2) for first in (0, 1)]
    return [np.array([*a, *b]) for a, b in product(*own)]


def strata(queries: int) -> Strata:
    return Strata(("first", "second"), np.full(2, float(queries)), np.array([0, 0, 1, 1]))


def test_of_all_samples_mean_and_variance_are_the_truth() -> None:
    added, owner = collection((*KINDS, KINDS[2], KINDS[0])), np.repeat(np.arange(5), 2)
    found = [by_documents(added, rows, strata(5), owner, THESE, 0.95) for rows in samples(5)]
    truth = added.people.sum() / 5
    for name in ("people", "untuned"):
        estimates, se = (np.array([getattr(getattr(each, name), of) for each in found]) for of in ("estimate", "se"))
        assert estimates.mean() == pytest.approx(truth, abs=1e-12)
        assert (se**2).mean() == pytest.approx(((estimates - truth) ** 2).mean(), abs=1e-12)
    # One weight for both strata depends on what each was drawn: with two answers each, a ninth of the error.
    tuned = np.array([each.corrected.estimate for each in found])
    assert abs(tuned.mean() - truth) < 0.12 * tuned.std()


def test_over_all_worlds_the_variance_for_new_queries_is_the_truth() -> None:
    """Three queries of three kinds, two passages of each stratum graded; no variance between queries is cut at 0."""
    owner, squares, variances = np.repeat(np.arange(3), 2), [], []
    far = tuple(tuple((people + 4 * at, judge) for people, judge in kind) for at, kind in enumerate(KINDS))
    truth = sum(people for kind in far for people, _ in kind) / 3
    uncut = []
    for world in product(far, repeat=3):
        for rows in samples(3):
            found = by_documents(collection(world), rows, strata(3), owner, NEW, 0.95)
            uncut.append(_signed_between(collection(world), rows, owner))
            these = by_documents(collection(world), rows, strata(3), owner, THESE, 0.95).untuned
            assert found.untuned.se**2 == pytest.approx(these.se**2 + max(0.0, uncut[-1]))
            squares.append((found.untuned.estimate - truth) ** 2)
            variances.append(these.se**2 + uncut[-1])
    assert np.mean(variances) == pytest.approx(np.mean(squares), rel=1e-9)


def _signed_between(added: Contributions, rows: np.ndarray, owner: np.ndarray) -> float:
    """The variance between queries over N by its definition, not cut at 0: the sample's own part is taken out."""
    left, values, parts = added.people - added.judge, np.bincount(owner, added.judge), np.zeros(3)
    whole = 0.0
    for stratum in (rows[:2], rows[2:]):
        values += 3 / 2 * np.bincount(owner[stratum], left[stratum], 3)
        whole += 3 * 1 / 2 * left[stratum].var(ddof=1)
        parts += [3 * 1 / 2 * np.where(owner[stratum] == query, left[stratum], 0).var(ddof=1) for query in range(3)]
    return float((values.var(ddof=1) - (parts.sum() - whole / 3) / 2) / 3)


def test_over_many_samples_the_mean_is_the_value_by_peoples_judgments() -> None:
    measure, judge, people, run = "DCG@5", made(4, 1), made(4, 2), tied_run(4, 3)
    every = [(q, d) for q in people for d in DOCUMENTS[:4]]
    judge, people = (
        {q: {d: g for d, g in of.items() if d in "abcd"} for q, of in each.items()} for each in (judge, people)
    )
    rng, estimates = np.random.default_rng(1), []
    for _ in range(20):
        rows = [every[at] for at in rng.permutation(16)[:8]]
        found = correct(run, judge, passages(people, rows), measure).of("run", measure)
        estimates.append(found.corrected.estimate)
    truth = evaluate(run, people, measure)[measure].expected
    assert abs(np.mean(estimates) - truth) < 3 * np.std(estimates) / np.sqrt(20)
    assert np.std(estimates) > 0


def test_strata_with_few_answers_are_merged_with_those_that_were_drawn_as_rarely() -> None:
    found = merge_strata(
        {"often": 10, "rare": 900, "rarer": 2000, "none": 50}, ["often"] * 8 + ["rare"] * 3 + ["rarer"]
    )
    assert found.names == ("often", "rare + rarer + none")
    assert found.population.tolist() == [10.0, 2950.0]
    assert found.of_label.tolist() == [0] * 8 + [1] * 4


def test_a_stratum_of_one_passage_that_is_graded_stays_by_itself() -> None:
    found = merge_strata({"one": 1, "many": 50}, ["one", "many", "many"])
    assert found.names == ("one", "many")
    added = Contributions(np.zeros(51), np.arange(51.0), np.zeros(3), np.ones(3, dtype=bool))
    one = by_documents(added, np.array([50, 1, 3]), found, np.repeat(np.arange(3), 17), THESE, 0.95)
    assert one.people.estimate == pytest.approx((50 + 50 * 2) / 3)
    assert one.people.degrees == pytest.approx(1)
    assert one.strata(found.names)[0].worth == 0


def test_merging_is_said() -> None:
    judge, people = made(4, 1), made(4, 2)
    every = [(q, d) for q in people for d in DOCUMENTS]
    of = passages(people, every[::2])
    items = of.items.with_columns(stratum=pl.Series(["a"] * 13 + ["b"]))
    audited = AuditSample("documents", items, of.labels, {"a": 20, "b": 8}, (0.0, 3.0))
    found = correct(tied_run(4, 3), judge, audited, "P@3").of("run", "P@3")
    assert "2 strata were merged to 1: the others have fewer than 2 answers." in found.warnings
    assert [each.name for each in found.strata] == ["a + b"]


def test_the_least_answered_stratum_is_merged_first() -> None:
    """Rates 0, 1/20, 5/125 and 17/200: none goes to few, which leaves 5/525; then one is nearer to many.

    Had one been merged first, it would have gone to few, and none after it.
    """
    labels = ["one"] + ["few"] * 5 + ["many"] * 17
    found = merge_strata({"none": 400, "one": 20, "few": 125, "many": 200}, labels)
    assert found.names == ("none + few", "one + many")
    assert found.population.tolist() == [525.0, 220.0]


@pytest.mark.parametrize("far", [0.0, 40.0])
def test_degrees_are_the_fewer_ones_of_the_sample_and_of_the_queries(far: float) -> None:
    """Of thirty queries that are alike the sample is what is not known; of those of which one is far off, they are."""
    rng = np.random.default_rng(1)
    people, queries = rng.random(60), np.repeat(np.arange(30), 2)
    people[:2] += far
    added = Contributions(np.zeros(60), people, np.zeros(30), np.ones(30, dtype=bool))
    rows = np.arange(60)[4:16] if not far else np.arange(60)[:50]
    asked = Strata(("all",), np.array([60.0]), np.zeros(len(rows), dtype=np.int64))
    new, these = (by_documents(added, rows, asked, queries, target, 0.95).people.degrees for target in (NEW, THESE))
    values = np.bincount(queries[rows], people[rows] * 60 / len(rows), 30)
    spread, n = values.var(ddof=1), 30
    fourth = ((values - values.mean()) ** 4).mean()
    of_queries = 2 * spread**2 / max(2 * spread**2 / (n - 1), (fourth - spread**2 * (n - 3) / (n - 1)) / n)
    assert new == pytest.approx(min(these, max(of_queries, 1.0)))
    assert (new < these) == bool(far)
