"""Sensitivity of RA-nWG, against evaluation of judgments with the label really changed."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest

from trueval import Judgments, Run, convention, evaluate
from trueval.errors import MeasureError
from trueval.rag.sensitivity import Sensitivity, sensitivity

# Three grade 5 and ten grade 4 in the judgments; the run puts a 4 and a 3 first.
# As judged: w4 = .5 * 3/10 = .15, w3 = .1 * 3/1 = .3 -> .25; value (.15 + .25) / 2 = .2
TRAP = {"q": {f"five{i}": 5.0 for i in range(3)} | {f"four{i}": 4.0 for i in range(10)} | {"three": 3.0}}


def value(run: Run, grades: dict[str, dict[str, float]], measure: str) -> float:
    return float(evaluate(run, Judgments.from_dict(grades), measure).mean(measure).expected)


def random_case(seed: int) -> tuple[list[Run], dict[str, dict[str, float]]]:
    rng = np.random.default_rng(seed)
    documents = [f"d{i}" for i in range(8)]
    grades = {f"q{q}": {d: float(rng.integers(1, 6)) for d in documents if rng.random() < 0.8} for q in range(4)}
    grades = {query: of or {"d0": 5.0} for query, of in grades.items()}
    runs = [
        Run.from_dict(
            {q: {d: float(rng.integers(4)) for d in rng.permutation(documents)[:6].tolist()} for q in grades}, name=n
        )
        for n in ("one", "two")
    ]
    return runs, grades


@pytest.mark.parametrize("seed", [0, 1, *(pytest.param(seed, marks=pytest.mark.evidence) for seed in (2, 3, 4, 5))])
def test_every_flip_is_what_evaluation_says_of_the_changed_label(seed: int) -> None:
    runs, grades = random_case(seed)
    found = sensitivity(runs, Judgments.from_dict(grades), "RA-nWG@3")
    for run, flips in zip(runs, found.flips, strict=True):
        means, changes, falls = [], {}, set()
        possible = 0
        for query, of in grades.items():
            listed = sorted(run.frame.filter(query_id=query).select("doc_id", "score").iter_rows(), key=lambda r: -r[1])
            reach = {doc for doc, score in listed if sum(other > score for _, other in listed) < 3}
            before = evaluate(run, Judgments.from_dict(grades), "RA-nWG@3").expected[list(grades).index(query), 0]
            for doc in reach & set(of):
                for new in {1.0, 2.0, 3.0, 4.0, 5.0} - {of[doc]}:
                    possible += 1
                    scores = evaluate(run, Judgments.from_dict(grades | {query: of | {doc: new}}), "RA-nWG@3")
                    means.append(scores.mean("RA-nWG@3").expected)
                    change = scores.expected[list(grades).index(query), 0] - before
                    changes[query, doc, new] = change
                    if change < -1e-12 and new > of[doc]:
                        falls.add(query)
        assert flips.flips == possible
        assert {flip.query for flip in flips.falls_when_raised} == falls
        default = evaluate(run, Judgments.from_dict(grades), "RA-nWG@3").mean("RA-nWG@3").expected
        assert flips.lowest_mean == pytest.approx(min([*means, default]), abs=1e-12)
        assert flips.highest_mean == pytest.approx(max([*means, default]), abs=1e-12)
        for flip in (*flips.falls_when_raised, *flips.rises_when_lowered, flips.largest_fall, flips.largest_rise):
            if flip is not None:
                assert changes[flip.query, flip.document, flip.new] == pytest.approx(
                    flip.after - flip.before, abs=1e-12
                )
        known = [change for change in changes.values() if not math.isnan(change)]
        assert flips.largest_fall is None or flips.largest_fall.after - flips.largest_fall.before == pytest.approx(
            min(known)
        )
        assert flips.largest_rise is None or flips.largest_rise.after - flips.largest_rise.before == pytest.approx(
            max(known)
        )


@pytest.mark.parametrize("seed", range(6))
def test_flips_that_reverse_two_runs_do_so_under_evaluation(seed: int) -> None:
    runs, grades = random_case(seed)
    found = sensitivity(runs, Judgments.from_dict(grades), "RA-nWG@3")
    by_name = {run.name: run for run in runs}
    for flip, better, worse in found.swaps:
        changed = grades | {flip.query: grades[flip.query] | {flip.document: float(flip.new)}}
        assert value(by_name[better], grades, "RA-nWG@3") > value(by_name[worse], grades, "RA-nWG@3")
        assert value(by_name[better], changed, "RA-nWG@3") < value(by_name[worse], changed, "RA-nWG@3")


def test_some_flip_and_some_cell_reverses_runs_in_generated_cases() -> None:
    """So that the two checks above and below do not hold emptily."""
    found = [sensitivity(runs, Judgments.from_dict(grades), "RA-nWG@3") for runs, grades in map(random_case, range(12))]
    assert any(one.swaps for one in found)
    assert any(cell.swapped for one in found for cell in one.grid)
    assert any(flips.falls_when_raised for one in found for flips in one.flips)


def test_the_measure_falls_when_a_label_rises_and_the_query_is_named() -> None:
    """Three 5s, ten 4s and one 3 are judged; the list is the 3 and two 4s, K = 3, and the ideal three 5s.

    As judged: w4 = .5 * 3/10 and w3 = .25, its cap. With the 3 upgraded to 4: w4 = .5 * 3/11 for all, less in sum.
    """
    run = Run.from_dict({"q": {"three": 3.0, "four0": 2.0, "four1": 1.0}})
    before, after = (0.15 + 0.15 + 0.25) / 3, 3 * (1.5 / 11) / 3
    found = sensitivity([run], Judgments.from_dict(TRAP), "RA-nWG@3").flips[0].falls_when_raised
    assert [flip.query for flip in found] == ["q"]
    assert found[0][1:4] == ("three", 3, 4)
    assert found[0].before == pytest.approx(before, abs=1e-15)
    assert found[0].after == pytest.approx(after, abs=1e-15)
    raised = {"q": TRAP["q"] | {"three": 4.0}}
    assert value(run, raised, "RA-nWG@3") < value(run, TRAP, "RA-nWG@3")
    assert value(run, raised, "nWG@3") > value(run, TRAP, "nWG@3"), "fixed weights do not fall"


def test_upgrading_a_retrieved_passage_from_4_to_5_can_lower_the_value() -> None:
    """Judged 5, 4, 4; the list has the 5 and one 4; K = 3. As judged w4 = .5 * 1/2: (1 + .25) / (1 + .25 + .25).

    With that 4 upgraded w4 = .5 * 2/1, so the 4 that the list lacks is worth as much as a 5: (1 + 1) / 3.
    """
    grades = {"q": {"a": 5.0, "b": 4.0, "c": 4.0}}
    run = Run.from_dict({"q": {"a": 2.0, "b": 1.0}})
    before = value(run, grades, "RA-nWG@3")
    after = value(run, {"q": grades["q"] | {"b": 5.0}}, "RA-nWG@3")
    assert before == pytest.approx((1 + 0.25) / 1.5)
    assert after == pytest.approx(2 / 3)
    assert after < before
    flips = sensitivity([run], Judgments.from_dict(grades), "RA-nWG@3").flips[0]
    assert [(flip.document, flip.old, flip.new) for flip in flips.falls_when_raised] == [("b", 4, 5)]


def test_the_grid_holds_the_papers_choices_and_the_default() -> None:
    runs, grades = random_case(1)
    found: Sensitivity = sensitivity(runs, Judgments.from_dict(grades), "RA-nWG@3")
    assert {(c.alpha, c.cap4, c.cap3) for c in found.grid} == {
        (a, b, c) for a in (0, 0.5, 1, 2) for b in (0.75, 1) for c in (0.2, 0.25, 0.33)
    }
    for cell in found.grid:
        text = f"RA-nWG(alpha={cell.alpha}, cap4={cell.cap4}, cap3={cell.cap3})@3"
        for run, mean in zip(runs, cell.means, strict=True):
            assert mean.expected == value(run, grades, text)
    default = next(cell for cell in found.grid if cell[:3] == (1, 1, 0.25))
    assert default.swapped == ()


def test_it_can_be_written_as_json() -> None:
    runs, grades = random_case(2)
    found = sensitivity(runs, Judgments.from_dict(grades), "RA-nWG@3").to_dict()
    assert json.loads(json.dumps(found, allow_nan=False)) == found
    assert len(found["grid"]) == 24


@pytest.mark.parametrize("text", ["nWG@10", "RA-nWG(unjudged='upper')@10"])
def test_it_is_that_of_ra_nwg(text: str) -> None:
    with pytest.raises(MeasureError, match="Sensitivity is that of RA-nWG at a cutoff"):
        sensitivity([Run.from_dict({"q": {"a": 1.0}})], Judgments.from_dict({"q": {"a": 5}}), text)


@pytest.mark.parametrize(
    ("choices", "wanted"), [({}, 0.0), ({"skip_first": True}, 1.0), ({"nonpositive": "not-retrieved"}, 0.0)]
)
def test_sensitivity_reads_the_whole_policy(choices: dict[str, object], wanted: float) -> None:
    """The relevant document is second; where the first result is dropped, it is first."""
    run = Run.from_dict({"q": {"a": 2.0, "b": 0.0}}, name="run")
    judgments = Judgments.from_dict({"q": {"a": 1, "b": 5}})
    found = sensitivity([run], judgments, "RA-nWG@1", **choices)
    assert {cell.means[0].expected for cell in found.grid} == {wanted}
    assert evaluate(run, judgments, "RA-nWG@1", **choices).mean("RA-nWG@1").expected == wanted
    assert sensitivity([run], judgments, "RA-nWG@1", policy=convention(**choices)) == found
    reached = {flip.document for flip in (found.flips[0].largest_fall, found.flips[0].largest_rise) if flip}
    assert reached <= ({"b"} if wanted else {"a"})
