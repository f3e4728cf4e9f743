"""How often corrected intervals hold the true mean: simulated queries, and the real judges of LLMJudge.

Figures are printed with `-s` and stand in docs/audit.md.
"""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from tests.comparison import audit_worlds
from tests.comparison.audit_worlds import drawing, judge_names, mean_of_worlds, sample, simulated, world

from trueval import Judgments
from trueval.comparison.labels.both_labels import LabelSets, Sides
from trueval.comparison.labels.correct import correct
from trueval.comparison.labels.design_estimate import NEW, TARGETS, THESE, DesignEstimate
from trueval.comparison.labels.document_design import by_documents
from trueval.comparison.labels.query_design import by_queries
from trueval.errors import InputError
from trueval.measures import parse
from trueval.measures.span import UNIT
from trueval.policy.policy import OURS

QUERIES = 200
HOW = ("people", "corrected", "untuned")
PAIRS = 40  # of a judge and a pseudo-run, drawn once for each setting


class Tally:
    """Coverage and widths over draws."""

    def __init__(self) -> None:
        self.covers, self.widths, self.draws, self.wider = Counter[str](), Counter[str](), 0, Counter[str]()

    def add(self, found: DesignEstimate, truth: float) -> None:
        self.draws += 1
        for how in HOW:
            bounded = getattr(found, how)
            self.covers[how] += bounded.low - 1e-9 <= truth <= bounded.high + 1e-9
            self.widths[how] += bounded.width
            self.wider[how] += bounded.width > found.people.width * (1 + 1e-9)

    def coverage(self, how: str = "corrected") -> float:
        return self.covers[how] / self.draws

    def ratio(self, how: str = "corrected") -> float:
        """Mean width over that of people's labels alone."""
        return self.widths[how] / self.widths["people"] if self.widths["people"] else 1.0

    def __str__(self) -> str:
        covers = ", ".join(f"{how} {self.coverage(how):.3f}" for how in HOW)
        widths = f"width x {self.ratio():.3f} tuned, x {self.ratio('untuned'):.3f} untuned"
        return f"covers {covers}; {widths}; untuned wider in {self.wider['untuned'] / self.draws:.3f}"


def over_queries(correlation: float, part: float, target: str, draws: int) -> Tally:
    rng, tally = np.random.default_rng([int(10 * correlation), int(10 * part), TARGETS.index(target)]), Tally()
    for _ in range(draws):
        values, whole = simulated(rng, QUERIES, correlation), np.zeros(QUERIES, dtype=bool)
        whole[rng.choice(QUERIES, int(QUERIES * part), replace=False)] = True
        found = by_queries(values, whole, target, 0.95, UNIT)
        assert found is not None
        tally.add(found, float(values.people.mean()) if target == THESE else mean_of_worlds())
    return tally


def over_passages(measure: str, size: int, target: str, draws: int) -> Tally:
    names = judge_names()
    rng, tally = np.random.default_rng([size, TARGETS.index(target), len(measure)]), Tally()
    pairs = [rng.choice(len(names), 2, replace=False).tolist() for _ in range(PAIRS)]
    for draw in range(draws):
        judge, run = (names[at] for at in pairs[draw % PAIRS])
        here, asked = world(judge, run, measure), drawing(judge, run, measure, size)
        added, owner = here.added, here.owner
        if target == NEW:
            added, owner, take = here.of_queries(here.again(rng))
            asked = asked._replace(of_passage=asked.of_passage[take])
        drawn = sample(rng, asked, size)
        found = by_documents(added, drawn.rows, drawn.strata, owner, target, 0.95, parse(measure).span)
        tally.add(found, here.truth)
    return tally


@pytest.mark.parametrize("target", TARGETS)
def test_intervals_over_queries_hold_the_mean_and_a_good_judge_makes_them_narrow(target: str) -> None:
    found = over_queries(0.8, 0.5, target, 40)
    assert 0.88 <= found.coverage() < 1
    assert found.ratio() < 0.9


@pytest.mark.evidence
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("part", [0.1, 0.5, 1.0])
@pytest.mark.parametrize("correlation", [0.2, 0.5, 0.8])
def test_over_queries_in_1_000_draws(correlation: float, part: float, target: str) -> None:
    found = over_queries(correlation, part, target, 1000)
    print(f"correlation {correlation}, f = {part}, {target}: {found}")
    if target == THESE and part == 1:  # nothing is left open, so the interval is one point, the mean itself
        assert found.coverage() == 1
        assert found.widths["corrected"] < 1e-6
        return
    assert 0.93 <= found.coverage() <= 0.97
    assert found.ratio() <= 1.05
    if correlation >= 0.5 and part < 1:
        assert found.ratio() < 1


@pytest.mark.evidence
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("size", [100, 400])
@pytest.mark.parametrize("measure", ["P(rel=2)@10", "DCG@10"])
def test_over_passages_of_real_judges_in_1_000_draws(measure: str, size: int, target: str) -> None:
    found = over_passages(measure, size, target, 1000)
    print(f"{measure}, {size} labels, {target}: {found}")
    assert 0.93 <= found.coverage() <= 0.97
    assert found.ratio() <= 1.05


@pytest.mark.evidence
def test_an_untuned_judge_makes_most_intervals_wider_where_it_is_as_good_as_real_ones() -> None:
    """At a correlation of .23, with a tenth of the queries graded."""
    found = over_queries(0.26, 0.1, NEW, 1000)
    print(f"a correlation of .23 between values: {found}")
    assert found.wider["untuned"] / found.draws > 0.8
    assert found.ratio() < found.ratio("untuned")


@pytest.mark.evidence
def test_values_of_real_judges_go_weakly_with_those_of_people() -> None:
    """Correlation over the 25 queries, of each judge with four pseudo-runs."""
    names, every = judge_names(), []
    for measure in ("P@10", "P(rel=2)@10", "DCG@10", "nDCG@10", "RR(rel=2)@10", "AP(rel=2)"):
        found = []
        for at, judge in enumerate(names):
            labels = LabelSets(audit_worlds.judgments(judge), audit_worlds.census(), OURS)
            for run in (names[(at + step) % len(names)] for step in range(1, 5)):
                both = Sides.of(audit_worlds.pseudo_run(run), labels).values(parse(measure))
                if both.judge.std() and both.people.std():
                    found.append(float(np.corrcoef(both.judge, both.people)[0, 1]))
        print(f"{measure}: median {np.median(found):.2f}, quartiles {np.quantile(found, [0.25, 0.75]).round(2)}")
        every += found
    print(f"all: median {np.median(every):.2f} of {len(every)}")
    assert 0.1 < np.median(every) < 0.25


def test_a_grade_outside_the_scale_is_refused_and_mapped_where_that_is_chosen() -> None:
    if audit_worlds.BROKEN not in judge_names():
        pytest.skip("needs the labels of h2oloo-zeroshot2")
    path = audit_worlds.LLMJUDGE / "judges" / f"{audit_worlds.BROKEN}.qrels.gz"
    judge, run = Judgments.read(path), audit_worlds.pseudo_run("Olz-exp")
    with pytest.raises(InputError, match=r"the grade 10, and people grade from 0 to 3\. Both must be on one scale"):
        correct(run, judge, audit_worlds.census(), "P@10")
    mapped = judge.map_grades({0: 0, 1: 1, 2: 2, 3: 3, 10: 3})
    found = correct(run, mapped, audit_worlds.census(), "P@10", target=THESE).of(run.name, "P@10")
    assert found.corrected.estimate == pytest.approx(world(audit_worlds.BROKEN, "Olz-exp", "P@10").truth)
