"""Refinement of a pool of ids: perfect judges, judges that refuse, contradict themselves, or are broken."""

import json
from collections.abc import Sequence

import numpy as np
import pytest

from trueval.errors import InputError, PolicyError
from trueval.golden.refine.noise_scale import ScorePrior
from trueval.golden.refine.paper_s6 import PaperSettings
from trueval.golden.refine.posterior_s6 import PosteriorSettings
from trueval.golden.refine.refine import in_rounds, refine

IDS = [f"d{number:02}" for number in range(30)]
GRADES = [5 - number // 8 for number in range(30)]
FIXED = PosteriorSettings(scale=ScorePrior())  # half the time of a learned one
Batches = Sequence[tuple[str, ...]]


def perfect(batches: Batches) -> list[list[str]]:
    return [sorted(batch) for batch in batches]


def noisy(seed: int, sd: float = 1.5):  # type: ignore[no-untyped-def]
    rng = np.random.default_rng(seed)

    def judge(batch: tuple[str, ...]) -> list[str]:
        return sorted(batch, key=lambda each: int(each[1:]) + sd * rng.standard_normal())

    return in_rounds(judge, executor=Alone())


class Alone:
    """One batch after another, so that a judge with a state gives the same answers every time."""

    def map(self, work, items):  # type: ignore[no-untyped-def]
        return [work(item) for item in items]


@pytest.mark.parametrize("settings", [None, PosteriorSettings(at_once=4), PaperSettings(turns=15)])
def test_a_perfect_judge_gets_the_best(settings: PosteriorSettings | PaperSettings | None) -> None:
    found = refine(IDS[::-1], GRADES[::-1], perfect, top=8, budget=60, settings=settings)
    assert set(found.best) == set(IDS[:8])
    assert found.inconsistency.both_ways == found.inconsistency.cycles == 0
    assert len(found.orders) == found.calls <= 60
    assert [each.rank for each in found.documents] == list(range(1, 31))


@pytest.mark.slow
def test_the_same_seed_asks_the_same_and_another_does_not() -> None:
    first, second, other = (refine(IDS, GRADES, noisy(1), top=8, settings=FIXED, seed=seed) for seed in (3, 3, 4))
    assert first == second
    assert first.orders != other.orders


def test_what_is_claimed_is_the_mean_membership_of_the_returned() -> None:
    found = refine(IDS, GRADES, noisy(2), top=8, settings=FIXED)
    members = [each.member for each in found.documents[:8]]
    assert found.overlap == pytest.approx(np.mean(members))
    assert sum(each.member or 0 for each in found.documents) == pytest.approx(8)
    assert found.stopped == "overlap"
    assert found.overlap > 0.96
    assert found.calls < 40


def test_a_refinement_that_is_sure_from_grades_still_asks() -> None:
    found = refine(IDS, [10.0 * (number < 8) for number in range(30)], perfect, top=8)
    assert found.calls == 6  # as many as the thirty documents fill batches


def test_orders_from_before_are_data_and_are_not_asked_again() -> None:
    before = refine(
        IDS, GRADES, noisy(3), top=8, budget=10, settings=PosteriorSettings(overlap=2.0, scale=ScorePrior())
    )
    assert (before.calls, before.stopped) == (10, "budget")
    after = refine(IDS, GRADES, perfect, top=8, budget=0, settings=FIXED, known=before.orders)
    assert (after.calls, after.orders) == (0, before.orders)
    scores = [{each.document: each.score for each in found.documents} for found in (before, after)]
    assert scores[0] == pytest.approx(scores[1], abs=0.4)  # other draws of one posterior
    assert before.overlap == pytest.approx(after.overlap, abs=0.02)


@pytest.mark.slow
def test_contradictions_are_kept() -> None:
    settings = PosteriorSettings(overlap=2.0, scale=ScorePrior())
    found = refine(IDS, GRADES, noisy(4, sd=8.0), top=8, budget=30, settings=settings)
    assert found.inconsistency.both_ways > 0
    assert len(found.orders) == 30
    assert sum(each.exposures for each in found.documents) == 150


def test_a_judge_that_refuses_some_costs_calls_and_is_asked_about_others() -> None:
    """Whoever shows d03 gets no answer: it must not be asked for ever."""
    shown = []

    def judge(batches: Batches) -> list[list[str] | None]:
        shown.extend(frozenset(batch) for batch in batches)
        return [None if "d03" in batch else sorted(batch) for batch in batches]

    found = refine(IDS, GRADES, judge, top=8, budget=30, settings=PosteriorSettings(overlap=2.0, scale=ScorePrior()))
    assert found.calls == 30
    refused = [batch for batch in shown if "d03" in batch]
    assert 0 < len(refused) < 20
    assert len(found.orders) == 30 - len(refused)
    assert {each.document: each.exposures for each in found.documents}["d03"] == 0


@pytest.mark.parametrize(
    ("answers", "says"),
    [
        (lambda batches: [], "must answer for each of 1 batches. Got 0"),
        (lambda batches: [batch[1:] for batch in batches], "must order the documents"),
        (lambda batches: [("d99", *batch[1:]) for batch in batches], "must order the documents"),
        (lambda batches: [(*batch, max(batch)) for batch in batches], "must order the documents"),
        (lambda batches: [(batch[1], *batch[1:]) for batch in batches], "must order the documents"),
    ],
)
def test_what_is_no_order_of_the_batch_is_refused(answers, says: str) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(InputError, match=says):
        refine(IDS, GRADES, answers)


@pytest.mark.parametrize(
    ("documents", "grades", "options", "error"),
    [
        (["a", "b", "a"], [1, 2, 3], {}, "The document a appears twice"),
        (["a", "b"], [1], {}, "each a finite grade"),
        (["a", "b"], [1, float("nan")], {}, "each a finite grade"),
        ([], [], {}, "A pool needs documents"),
        (["a", "b"], [1, 2], {"top": 0}, "at least 1 document"),
        (["a", "b"], [1, 2], {"lengths": [1]}, "needs a length"),
        (["a", "b"], [1, 2], {"lengths": [1, 2], "settings": PaperSettings()}, "no lengths"),
    ],
)
def test_bad_pools_are_refused(documents: list[str], grades: list[float], options: dict, error: str) -> None:
    with pytest.raises((InputError, PolicyError), match=error):
        refine(documents, grades, perfect, **options)


def test_small_pools() -> None:
    alone = refine(["a"], [3], perfect)
    assert (alone.best, alone.calls, alone.overlap) == (("a",), 0, 1.0)
    two = refine(["b", "a"], [3, 3], perfect, top=20)
    assert two.best == ("a", "b")
    assert two.overlap == 1.0


@pytest.mark.slow
def test_a_favored_slot_is_reported() -> None:
    """The judge puts whatever comes first first, and orders the rest."""
    settings = PosteriorSettings(slot_bias=1.0, overlap=2.0, scale=ScorePrior())
    found = refine(
        IDS, GRADES, lambda batches: [[batch[0], *sorted(batch[1:])] for batch in batches], settings=settings
    )
    assert found.slot_bias is not None
    value, sd = found.slot_bias
    assert value < -2 * sd
    assert refine(IDS, GRADES, perfect, settings=FIXED, budget=5).slot_bias is None


@pytest.mark.slow
def test_a_judge_that_likes_long_texts_is_found_out() -> None:
    """All grades are equal and the judge orders by length alone: the scores keep less of it than without the term."""
    rng = np.random.default_rng(0)
    lengths = rng.permutation(30).astype(float)
    of = dict(zip(IDS, lengths, strict=True))

    def judge(batches: Batches) -> list[list[str]]:
        return [sorted(batch, key=lambda each: -of[each]) for batch in batches]

    settings = PosteriorSettings(length_bias=3.0, overlap=2.0, scale=ScorePrior())
    found = refine(IDS, [3.0] * 30, judge, top=8, lengths=lengths, settings=settings)
    assert found.length_bias is not None
    value, sd = found.length_bias
    assert value > 2 * sd


@pytest.mark.slow
def test_grades_that_the_orders_contradict_are_listed() -> None:
    grades = [float(grade) for grade in GRADES]
    grades[29] = 5.0  # of the worst document
    found = refine(IDS, grades, perfect, top=8, budget=25, settings=PosteriorSettings(overlap=2.0, scale=ScorePrior()))
    assert {each.below for each in found.inversions} == {"d29"}
    assert all(each.chance >= 0.9 and each.grades > 0 for each in found.inversions)


def test_it_is_json() -> None:
    for settings in (FIXED, PaperSettings()):
        found = refine(IDS, GRADES, perfect, budget=8, settings=settings).to_dict()
        assert json.loads(json.dumps(found, allow_nan=False)) == found


@pytest.mark.slow
@pytest.mark.parametrize("wrong", [1, 2, 4])
def test_claims_hold_where_grades_are_grossly_wrong(wrong: int) -> None:
    """Twenty 4s and twenty 2s, so many of each 20 with the other grade, and a judge that never errs.

    Without gross errors in the prior it stops after 4 calls and claims .9995, whatever is wrong.
    """
    claimed, actual = [], []
    for seed in range(3):
        ids, rng = [f"d{place:02}" for place in range(40)], np.random.default_rng(seed)  # the best first
        grades = np.repeat([4.0, 2.0], 20)
        for first in (0, 20):
            grades[first + rng.permutation(20)[:wrong]] = 6 - grades[first]
        found = refine(ids, grades, perfect, settings=PosteriorSettings(at_once=4), budget=60, seed=seed)
        claimed.append(found.overlap)
        actual.append(len(set(found.best) & set(ids[:20])) / 20)
    assert np.mean(claimed) - np.mean(actual) <= 0.02
    assert np.mean(actual) - np.mean(claimed) <= 0.04


@pytest.mark.parametrize(("gross", "says"), [([0.1], "for 30 documents"), ([1.5] * 30, "1.5 to 1.5")])
def test_chances_of_gross_errors_are_checked(gross: list[float], says: str) -> None:
    with pytest.raises(InputError, match=says):
        refine(IDS, GRADES, perfect, gross=gross)
    with pytest.raises(PolicyError, match="at least 0 and below 1"):
        PosteriorSettings(gross=1.0)


def test_a_doubtful_grade_moves_less() -> None:
    """Two 5s, one of them doubtful: nothing is asked, and the doubtful one is less likely to be among the best."""
    grades = [5.0, 5.0] + [2.0] * 8
    found = refine([f"d{place}" for place in range(10)], grades, perfect, top=2, budget=0, gross=[0.6] + [0.05] * 9)
    members = {each.document: each.member or 0.0 for each in found.documents}
    assert members["d0"] < members["d1"] - 0.2
    assert found.gross == pytest.approx(0.105)
