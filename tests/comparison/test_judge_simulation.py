"""Worlds with a judge that errs, more on some queries than on others, also in favor of one system.

Whether bounds on its errors hold, and whether "robust" is ever wrong.

Figures are printed with `-s` and stand in docs/evidence/notes/compare.md.
"""

import numpy as np
import pytest
from tests.comparison.judges.judge_worlds import world

import trueval as tv
from trueval.comparison.judges.error_bounds import bound_errors
from trueval.comparison.judges.judge_verdicts import _audit_counts, bounded_verdicts
from trueval.comparison.labels.both_labels import LabelSets
from trueval.measures import parse_list
from trueval.policy.policy import OURS

# Of many worlds some have an order of ids that follows the grades by chance.
pytestmark = pytest.mark.filterwarnings("ignore:.*order of document ids")

MEASURES = parse_list("P(rel=2)@5 DCG@10")


def tried(worlds: int, design: str, favor: float, error: str, measures: list[tv.Measure] = MEASURES) -> None:
    robust, wrong, wrong_inside, pairs, inside, judge_wrong = 0, 0, 0, 0, 0, 0
    for seed in range(worlds):
        rng = np.random.default_rng(seed)
        errors, share = float(rng.choice([0.003, 0.01, 0.03, 0.1])), float(rng.choice([0.4, 0.8]))
        size = int(share * (40 if design == "queries" else 200))
        found = world(rng, design, favor=favor, runs=3, size=size, errors=errors)
        counts = _audit_counts(LabelSets(found.judge, found.audit, OURS))
        own = found.judge.frame["grade"].to_numpy().astype(int)
        true = found.people.frame["grade"].to_numpy().astype(int)
        bounds = bound_errors(counts, own, 0.95)
        table = np.zeros(bounds.least.shape, dtype=int)
        np.add.at(table, (own, true), 1)
        holds = bool(((bounds.least <= table) & (table <= bounds.most)).all())
        inside += holds
        by_people = {run.name: tv.evaluate(run, found.people, measures).expected.mean(axis=0) for run in found.runs}
        verdicts, _ = bounded_verdicts(found.runs, found.judge, found.audit, measures, OURS, error=error)
        for verdict in verdicts:
            at = [str(measure) for measure in measures].index(verdict.measure)
            truth = by_people[verdict.first][at] - by_people[verdict.second][at]
            pairs += 1
            turned = truth * np.sign(verdict.difference) <= 0
            judge_wrong += turned
            if verdict.verdict == "robust":
                robust += 1
                wrong += turned
                wrong_inside += turned and holds
    print(
        f"{design}, {error}, favor {favor:.0%}: bounds by grade hold in {inside / worlds:.1%} of {worlds} worlds; of "
        f"{pairs} differences people turn {judge_wrong}, robust {robust / pairs:.1%}, of these wrong {wrong}, wrong "
        f"with labels inside the bounds {wrong_inside}"
    )
    assert inside >= 0.94 * worlds
    assert wrong_inside == 0 or error == "by-system"
    assert wrong <= 0.05 * worlds


@pytest.mark.evidence
@pytest.mark.parametrize("favor", [0.0, 0.4])
@pytest.mark.parametrize("design", ["queries", "documents"])
def test_no_robust_verdict_is_wrong_where_the_judge_stays_inside_its_bounds(design, favor) -> None:
    tried(500, design, favor, "bounded")


@pytest.mark.evidence
@pytest.mark.parametrize("design", ["queries", "documents"])
def test_a_judge_that_favors_one_system(design) -> None:
    tried(200, design, 0.4, "by-system")


@pytest.mark.evidence
@pytest.mark.parametrize("favor", [0.0, 0.4])
@pytest.mark.parametrize("design", ["queries", "documents"])
def test_measures_with_a_norm_of_labels(design, favor) -> None:
    tried(250, design, favor, "bounded", parse_list("nDCG@10 R(rel=2)@5"))


def test_some_worlds() -> None:
    tried(8, "queries", 0.2, "bounded")
