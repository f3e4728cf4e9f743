"""What the design is worth on real judges, and whether intervals from its strata cover, as docs/audit.md says."""

from __future__ import annotations

import gzip
import math
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from typing import NamedTuple

import numpy as np
import pytest
from scipy.stats import t

from trueval.golden.audit.sampling.influence import influence
from trueval.golden.audit.sampling.population import population_of
from trueval.golden.audit.sampling.strata import allocate_sample
from trueval.judgments import Judgments
from trueval.measures import parse
from trueval.run import Run
from trueval.standings.standings import Floats

DATA = Path(__file__).parents[4] / "shared" / "data" / "labels" / "llmjudge"
Grades = dict[str, dict[str, int]]
RUNS = ((4,), (5, 10, 12), (1, 6, 9, 14, 16))  # which judges' labels rank the pseudo-runs
DRAWS = 400

pytestmark = [
    pytest.mark.evidence,
    pytest.mark.skipif(not DATA.is_dir(), reason="needs labels/llmjudge of the shared data"),
]


class Case(NamedTuple):
    """A judge, a measure, runs, and a size.

    Attributes:
        errors: [passage] weight in one run, times what people's grade differs from the judge's.
        strata: [passage] name.
        allocation: stratum → passages of the sample.
    """

    errors: Floats
    strata: list[str]
    allocation: dict[str, int]


def graded(path: Path) -> Grades:
    found: Grades = {}
    with gzip.open(path, "rt") if path.suffix == ".gz" else path.open() as lines:
        for line in lines:
            query, _, document, grade = line.split()
            found.setdefault(query, {})[document] = min(3, int(float(grade)))  # one judge says 10 once
    return found


def cases(size: int, judges: tuple[int, ...], runs_of: tuple[tuple[int, ...], ...]) -> Iterator[Case]:
    people, files = graded(DATA / "human.qrels"), sorted((DATA / "judges").iterdir())
    labels_of = [graded(path) for path in files]
    for judge in judges:
        judgments = Judgments.from_dict(labels_of[judge])
        rows = list(judgments.frame.select("query_id", "doc_id", "grade").iter_rows())
        other = labels_of[(judge + 1) % len(files)]  # stands for another round of the judge
        labels = [
            {"query": q, "document": d, "labels": [{"grade": g}, {"grade": other[q].get(d, g)}]} for q, d, g in rows
        ]
        for name in ("DCG@10", "P(rel=2)@10"):
            apart = [(people[q][d] >= 2) - (g >= 2) if name[0] == "P" else people[q][d] - g for q, d, g in rows]
            for numbers in runs_of:
                runs = [Run.from_dict(labels_of[number], name=str(number)) for number in numbers]
                drawn_from = population_of(judgments, "documents", size, labels=labels, runs=runs, measure=parse(name))
                allocation = allocate_sample(drawn_from.share, drawn_from.sizes, size)
                strata = [each.stratum for each in drawn_from.members]
                for run in runs:
                    yield Case(influence(judgments, [run], parse(name)) * np.array(apart), strata, allocation)


def standard_error(case: Case) -> float:
    """Of the sum of all errors, exactly: sum over strata of N^2 (1 - n/N) S^2 / n."""
    names, total = np.array(case.strata), 0.0
    for name, sampled in case.allocation.items():
        own = case.errors[names == name]
        if sampled < len(own):
            total += len(own) ** 2 * (1 - sampled / len(own)) * float(own.var(ddof=1)) / sampled
    return math.sqrt(total)


@pytest.mark.parametrize(("size", "widest"), [(100, 0.65), (400, 0.6)])
def test_the_design_is_narrower_than_a_plain_sample(size: int, widest: float) -> None:
    ratios = []
    for case in cases(size, (0, 3, 8, 13, 15), RUNS):
        count = len(case.errors)
        plain = Case(case.errors, ["all"] * count, {"all": size})
        ratios.append(standard_error(case) / standard_error(plain))
    print(f"\n{size}: {len(ratios)} cases, {median(ratios):.3f}, {min(ratios):.3f} to {max(ratios):.3f}")
    assert median(ratios) < widest
    assert max(ratios) < 1


@pytest.mark.parametrize("size", [100, 400])
def test_intervals_from_its_strata_cover(size: int) -> None:
    """t intervals with the degrees of freedom of Satterthwaite 1946; 400 draws have a standard error of 1.1 %."""
    rng, covered = np.random.default_rng(0), []
    for case in cases(size, (0, 8, 15), ((4,), (5,))):
        names = np.array(case.strata)
        estimate, variance, below = np.zeros(DRAWS), np.zeros(DRAWS), np.zeros(DRAWS)
        for name, sampled in case.allocation.items():
            own = case.errors[names == name]
            chosen = own[np.argsort(rng.random((DRAWS, len(own))), axis=1)[:, :sampled]]
            estimate += len(own) * chosen.mean(axis=1)
            if sampled < len(own):
                part = len(own) ** 2 * (1 - sampled / len(own)) * chosen.var(axis=1, ddof=1) / sampled
                variance, below = variance + part, below + part**2 / (sampled - 1)
        half = t.ppf(0.975, variance**2 / np.maximum(below, 1e-300)) * np.sqrt(variance)
        covered.append(float((np.abs(estimate - case.errors.sum()) <= half).mean()))
    print(f"\n{size}: {len(covered)} cases, {median(covered):.4f}, least {min(covered):.4f}")
    assert 0.93 <= median(covered) <= 0.97
    assert min(covered) > 0.9
