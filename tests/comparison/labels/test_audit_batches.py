"""Audits whose passages are drawn in batches with chances of their own: what is read, corrected and refused."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from trueval import Judgments, evaluate
from trueval.comparison.judges.judge_verdicts import bounded_verdicts
from trueval.comparison.labels.audit_batches import AuditBatches
from trueval.comparison.labels.audit_sample import AuditSample
from trueval.comparison.labels.correct import correct
from trueval.errors import InputError
from trueval.golden.validation.audit_labels import PeopleLabels
from trueval.policy.policy import OURS
from trueval.run import Run

DOCUMENTS = "abcdefg"
UNJUDGED = "xy"
Grades = dict[str, dict[str, int]]


def made(queries: int, seed: int, documents: str = DOCUMENTS) -> Grades:
    rng = np.random.default_rng(seed)
    return {f"q{i}": {d: int(rng.integers(0, 4)) for d in documents} for i in range(queries)}


def tied_run(queries: int, seed: int) -> dict[str, dict[str, float]]:
    rng = np.random.default_rng(seed)
    return {f"q{i}": {d: float(rng.integers(3)) for d in DOCUMENTS + UNJUDGED} for i in range(queries)}


def audit(
    people: Grades,
    drawn: Iterable[tuple[str, str, float, int]],
    precision: tuple[float, ...],
    left: set[Any] | None = None,
) -> AuditSample:
    """Batches of passages with their chances; people graded all but those that are left."""
    rows = list(drawn)
    chances = pl.DataFrame(rows, schema=["query_id", "doc_id", "chance", "batch"], orient="row")
    said = [(q, d, float(people[q][d])) for q, d, _, _ in rows if (q, d) not in (left or set())]
    members = pl.DataFrame([(q, d) for q in people for d in people[q]], schema=["query_id", "doc_id"], orient="row")
    return AuditSample(
        "poisson",
        chances.select("query_id", "doc_id", stratum=pl.lit("passages")),
        pl.DataFrame(said, schema={"query_id": pl.String, "doc_id": pl.String, "grade": pl.Float64}, orient="row"),
        {"passages": len(members)},
        (0.0, 3.0),
        batches=AuditBatches(chances, precision, members, max(batch for *_, batch in rows)),
    )


@pytest.mark.parametrize("target", ["new queries", "these queries"])
def test_at_a_census_the_corrected_value_is_that_of_peoples_judgments_also_of_passages_without_a_grade(
    target: str,
) -> None:
    judge, people = made(9, 1), made(9, 2, DOCUMENTS + UNJUDGED)
    runs = {"a": tied_run(9, 3), "b": tied_run(9, 4)}
    everything = [(q, d, 1.0, 1) for q in people for d in people[q]]
    found = correct(runs, judge, audit(people, everything, (1.0,)), "P@3 DCG@4 RBP", target=target)
    for name, run in runs.items():
        by_people = evaluate(run, people, "P@3 DCG@4 RBP")
        for measure in ("P@3", "DCG@4", "RBP"):
            one = found.of(name, measure)
            assert one.corrected.estimate == pytest.approx(by_people[measure].expected, abs=1e-12)
            assert one.judge == pytest.approx(evaluate(run, judge, measure)[measure].expected, abs=1e-12)
            assert (one.corrected.se < 1e-9) == (target == "these queries")
    difference = found.difference("a", "b", "DCG@4").corrected.estimate
    assert difference == pytest.approx(
        found.of("a", "DCG@4").corrected.estimate - found.of("b", "DCG@4").corrected.estimate, abs=1e-12
    )


def test_corrections_of_single_passages_are_unbiased_over_many_samples() -> None:
    judge, people, run = made(6, 5), made(6, 6, DOCUMENTS + UNJUDGED), tied_run(6, 7)
    truth = evaluate(run, people, "DCG@4")["DCG@4"].expected
    rng, found = np.random.default_rng(8), []
    for _ in range(150):
        left, drawn = [(q, d) for q in people for d in people[q]], []
        for batch in (1, 2):
            # Chances of the second batch follow from what people said of the first.
            bonus = 0.02 * sum(people[q][d] for q, d, _, _ in drawn)
            chance = {pair: 0.2 + 0.1 * (pair[1] in "abc") + min(bonus, 0.3) for pair in left}
            taken = [pair for pair in left if rng.random() < chance[pair]]
            drawn += [(*pair, chance[pair], batch) for pair in taken]
            left = [pair for pair in left if pair not in taken]
        found.append(
            correct(run, judge, audit(people, drawn, (1.0, 2.0)), "DCG@4").of("run", "DCG@4").corrected.estimate
        )
    assert abs(np.mean(found) - truth) < 3 * np.std(found) / np.sqrt(len(found))


def test_a_batch_counts_when_it_is_answered_as_a_whole() -> None:
    people = made(6, 6)
    pairs = [(q, d) for q in people for d in "abcd"]
    drawn = [(q, d, 0.5, 1 if d in "ab" else 2) for q, d in pairs]
    run, judge = tied_run(6, 7), made(6, 5)
    first = correct(run, judge, audit(people, drawn[:0] + [row for row in drawn if row[3] == 1], (1.0, 1.0)), "P@3")
    part = correct(run, judge, audit(people, drawn, (1.0, 1.0), {("q0", "c")}), "P@3").of("run", "P@3")
    assert part.corrected == first.of("run", "P@3").corrected
    assert part.warnings[-1] == "The last batch does not count yet: 1 passage is open."
    whole = correct(run, judge, audit(people, drawn, (1.0, 1.0)), "P@3").of("run", "P@3")
    assert whole.labels == 24 > part.labels == 12


def test_measures_with_weights_that_could_not_be_drawn_are_refused() -> None:
    people = {query: {d: grade for d, grade in row.items() if d in "abc"} for query, row in made(6, 6).items()}
    drawn = [(q, d, 0.5, 1) for q in people for d in "ab"]
    found = correct(tied_run(6, 7), made(6, 5), audit(people, drawn, (1.0,)), "P@3 nDCG@3")
    assert "that could not be drawn, such as" in (found.of("run", "P@3").refused or "")
    assert "its norm depends on people's grades" in (found.of("run", "nDCG@3").refused or "")


def test_bounds_on_judges_refuse_unequal_chances() -> None:
    people = made(6, 6)
    found = audit(people, [(q, "a", 0.5, 1) for q in people], (1.0,))
    runs = [Run.of(tied_run(6, seed), name=str(seed)) for seed in (1, 2)]
    with pytest.raises(InputError, match="drawn for a decision"):
        bounded_verdicts(runs, Judgments.of(made(6, 5)), found, [], OURS)


def test_agreement_with_the_judge_refuses_unequal_chances(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"sample\.json: drawn for a decision"):
        PeopleLabels.read(write(tmp_path))


SAMPLE: dict[str, Any] = {
    "kind": "audit",
    "format": 1,
    "design": "poisson",
    "scale": [0, 3],
    "strata": [{"name": "passages", "population": 3, "sampled": 2}],
    "batches": [
        {"batch": 1, "expected": 2.0, "precision": 1.0, "passages": 2},
        {"batch": 2, "expected": 1.0, "precision": 2.0, "passages": None},
    ],
}
ITEMS = [
    {"item": f"g{d}", "task": "grade", "query": "q", "document": d, "stratum": "passages", "chance": 0.5, "batch": 1}
    for d in "ab"
]


def write(folder: Path, sample: Any = SAMPLE, items: Any = ITEMS) -> Path:
    (folder / "sample.json").write_text(json.dumps(sample))
    (folder / "items.jsonl").write_text("".join(json.dumps(row) + "\n" for row in items))
    rows = [{"query": "q", "document": d, "stratum": "passages"} for d in "abc"]
    (folder / "population.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (folder / "people.jsonl").write_text(json.dumps({**ITEMS[0], "grade": 2}) + "\n")
    return folder


def test_chances_and_batches_are_read(tmp_path: Path) -> None:
    batches = AuditSample.read(write(tmp_path)).batches
    assert batches is not None
    assert batches.chances.rows() == [("q", "a", 0.5, 1), ("q", "b", 0.5, 1)]
    assert batches.members.rows() == [("q", "a"), ("q", "b"), ("q", "c")]
    assert (batches.precision, batches.drawn) == ((1.0, 2.0), 1)
    assert batches.shares(2).tolist() == pytest.approx([1 / 3, 2 / 3])


@pytest.mark.parametrize(
    ("sample", "items", "message"),
    [
        ({**SAMPLE, "batches": [{"batch": 1}]}, ITEMS, r"sample\.json: damaged \('precision'\)"),
        ({**SAMPLE, "batches": []}, ITEMS, r"batch 1 is not one of those that were drawn"),
        (SAMPLE, [{**ITEMS[0], "chance": None}], r'items\.jsonl: an item has no "chance" or no "batch"'),
        (SAMPLE, [{**ITEMS[0], "chance": 0}], r"drawn with the chance 0\.0\. It must be above 0"),
        (SAMPLE, [{**ITEMS[0], "document": "a", "chance": 1.5}], r"drawn with the chance 1\.5"),
        (SAMPLE, [ITEMS[0], {**ITEMS[1], "document": "z"}], r"document 'z' .* is not in the population"),
        (SAMPLE, [{**ITEMS[0], "batch": 2}], r"batch 2 is not one of those that were drawn"),
    ],
)
def test_damaged_batches_are_refused(tmp_path: Path, sample: Any, items: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        AuditSample.read(write(tmp_path, sample, items))
