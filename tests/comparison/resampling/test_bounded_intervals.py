"""Intervals by bets in comparisons and gates."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from tests.comparison.made_scores import made_scores

import trueval as tv
from trueval.comparison.checks import Check
from trueval.comparison.compare import compare_scores
from trueval.comparison.comparison import Comparison
from trueval.comparison.gate.gate import MaxDrop
from trueval.comparison.resampling.betting import Bets, lower_ends
from trueval.errors import MeasureError, PolicyError
from trueval.evaluation.content_hashes import ContentHashes
from trueval.evaluation.scores import Scores

RNG = np.random.default_rng(23)
QUERIES = 60
APART = np.clip(RNG.normal(0.1, 0.25, QUERIES), -0.5, 0.5)


def made(apart: np.ndarray = APART, reach: float = 0.0, **more: object) -> list[Scores]:
    """Two runs whose values differ so; ties move a value of the first by reach."""
    return [made_scores("a", 0.5 + apart, reach, **more), made_scores("b", np.full(len(apart), 0.5), **more)]


def compared(scores: list[Scores], intervals: str = "bounded", **choices: object) -> Comparison:
    return compare_scores(scores, intervals=intervals, resamples=200, **choices)


def ends(sums: np.ndarray, alpha: float = 0.05, sizes: np.ndarray | None = None, **bets: object) -> list[float]:
    """Both ends by themselves."""
    sizes = np.ones(len(sums)) if sizes is None else sizes
    return [
        sign * float(lower_ends(sign * sums[:, None], sizes, np.ones(1), Bets(alpha, **bets))[0]) for sign in (1, -1)
    ]


def held(run: Scores, base: Scores, limit: float = 0.01, intervals: str = "bounded", **choices: object) -> Check:
    (check,) = tv.gate(run, [MaxDrop(None, limit)], baseline=base, intervals=intervals, **choices)
    return check


@pytest.mark.parametrize("intervals", ["bounded", "anytime"])
def test_an_interval_is_that_of_the_bets_and_the_rest_stays(intervals: str) -> None:
    (each,), (usual,) = (compared(made(), name).differences for name in (intervals, "bootstrap"))
    wanted = ends(APART, repeated=intervals == "anytime")
    assert list(each.expected_interval) == pytest.approx(wanted)
    assert each.simultaneous_realized_interval == each.realized_interval == each.expected_interval
    assert (each.tests, each.win, each.expected, each.cohen_d) == (
        usual.tests,
        usual.win,
        usual.expected,
        usual.cohen_d,
    )
    assert each.expected_interval.low < usual.expected_interval.low
    assert compared(made(), intervals).choices["intervals"] == intervals


def test_intervals_that_hold_together_share_the_level_out() -> None:
    """Three pairs of each of two measures: 1 - .05 / 3 each, of all measures 1 - .05 / 6."""
    values = np.clip(0.5 + RNG.normal(0, 0.2, (3, QUERIES, 2)), 0, 1)
    scores = [made_scores(f"r{at}", each, measures="nDCG@10 P@5") for at, each in enumerate(values)]
    for family, tests in (("measure", 3), ("all", 6)):
        found = compared(scores, family=family).difference("P@5", "r0", "r2")
        apart = values[0, :, 1] - values[2, :, 1]
        assert list(found.simultaneous_interval) == pytest.approx(ends(apart, 0.05 / tests))
        assert list(found.expected_interval) == pytest.approx(ends(apart))


def test_a_pair_is_separated_by_its_bets() -> None:
    """Twelve equal gains of .05 are separated by resampling, of which a rare loss of 1 would leave nothing."""
    scores = made(np.full(12, 0.05))
    assert compared(scores, "bootstrap").differences[0].separated
    (each,) = compared(scores).differences
    assert (each.separated, each.tests.adjusted < 0.05) == (False, True)
    assert each.simultaneous_interval.low < 0
    assert compared(made(np.full(20, 0.5))).differences[0].separated


def test_ties_take_what_their_orders_can() -> None:
    """The farther of bets on the least differences and the expected end less .1, which ties can take."""
    (each,) = compared(made(reach=0.1)).differences
    low, high = ends(APART)
    assert list(each.expected_interval) == pytest.approx([low, high])
    assert each.realized_bounded
    wanted = min(ends(APART - 0.1)[0], low - 0.1), max(ends(APART + 0.1)[1], high + 0.1)
    assert list(each.realized_interval) == pytest.approx(wanted)


def test_unknown_extremes_of_ties_leave_no_realized_interval() -> None:
    scores = made(reach=0.1)
    scores[0].lowest[3] = np.nan
    (each,) = compared(scores).differences
    assert np.isnan(each.realized_interval).all()
    assert not each.realized_bounded
    assert not np.isnan(each.expected_interval).any()


def test_clusters_are_bet_on_whole_as_large_as_the_file_has_them() -> None:
    """The largest cluster of the file has ten queries, most of which are not compared."""
    clusters = {f"q{query}": f"c{query // 3}" for query in range(QUERIES)} | {f"x{at}": "c0" for at in range(7)}
    (each,) = compared(made(), clusters=clusters).differences
    sums = APART.reshape(-1, 3).sum(axis=1)
    assert list(each.expected_interval) == pytest.approx(ends(sums, sizes=np.full(20, 3.0), largest=10.0))


def test_arrivals_are_in_the_order_of_the_judgments() -> None:
    """The bets of a repeated look go through the queries as they come, and its interval shrinks as more come."""
    turned = [made(APART[::-1].copy())[0], made()[1]]
    assert compared(turned, "anytime").differences[0].expected_interval == pytest.approx(
        ends(APART[::-1], repeated=True)
    )
    looks = [compared(made(APART[:count]), "anytime").differences[0].expected_interval for count in range(5, 61, 5)]
    for before, after in pairwise(looks):
        assert before.low <= after.low + 1e-9
        assert after.high <= before.high + 1e-9


@pytest.mark.parametrize("intervals", ["bounded", "anytime"])
def test_a_measure_without_ends_is_refused(intervals: str) -> None:
    scores = made(measures="DCG@10")
    for refused in (
        lambda: compared(scores, intervals),
        lambda: held(*scores, intervals=intervals),
        lambda: tv.self_test(scores[0], [MaxDrop(None, 0.1)], baseline=scores[1], intervals=intervals, worlds=2),
    ):
        with pytest.raises(MeasureError, match=r"DCG@10 has none\. Take one such as nDCG@10, or --intervals bootstrap"):
            refused()


def test_an_unknown_sort_of_interval_is_refused() -> None:
    with pytest.raises(PolicyError, match=r"intervals must be one of bootstrap, bounded, anytime. Got 'exact'"):
        compared(made(), "exact")


def test_hits_have_ends_ten_apart() -> None:
    (each,) = compared(made(APART, measures="Hits@10")).differences
    wanted = 10 * lower_ends(APART[:, None] / 10, np.ones(QUERIES), np.ones(1), Bets(0.05))
    assert each.expected_interval.low == pytest.approx(float(wanted[0]))


def test_where_nothing_differs_the_width_is_said() -> None:
    note = "nDCG@10: intervals by bets hold for any law of the differences; where nothing differs those of 50 queries "
    notes = compared(made(np.zeros(50))).notes
    assert any(each.startswith(note + "reach from -0.134 to +0.134") for each in notes)
    three = [made_scores(f"r{at}", np.full(50, 0.5)) for at in range(3)]  # three pairs share the level out
    assert any(each.startswith(note + "reach from -0.168 to +0.168") for each in compared(three).notes)
    clusters = {f"q{query}": f"c{query // 2}" for query in range(50)}
    (said,) = (each for each in compared(made(np.zeros(50)), clusters=clusters).notes if "by bets" in each)
    assert "of 25 clusters" in said


def test_a_gate_does_not_take_equal_values_for_proof() -> None:
    """Of 20 equal queries a loss of .29 is not excluded, and 741 would exclude one of .01."""
    run, base = made(np.zeros(20))
    check = held(run, base)
    assert (check.verdict, check.passed, check.needed) == ("cannot tell", True, 741)
    assert check.low == pytest.approx(-0.29, abs=0.001)
    assert "about 741 would decide it" in check.line
    assert check.rare_losses is None
    assert held(run, base, intervals="anytime").needed == 733
    assert held(run, base, 0.3).verdict == "not worse"
    content = ContentHashes({"run": "same"})
    same = held(*(replace(each, content=content) for each in (run, base)), when_same="pass")
    assert (same.verdict, same.needed) == ("not worse", None)


def test_as_many_as_needed_decide_whatever_the_orders_of_ties_are() -> None:
    """A gain of .1 on every query of which ties can take .05; no number decides where they can take .2."""
    gain = np.full(40, 0.1)
    taken = held(*made(gain, reach=0.05))
    assert (taken.verdict, taken.bounded) == ("cannot tell", True)
    assert taken.needed == held(*made(gain - 0.05)).needed
    assert "would decide it" in taken.line
    lost = held(*made(-gain, reach=0.05))
    assert lost.needed == held(*made(-gain + 0.05)).needed
    never = held(*made(gain, reach=0.2))
    assert (never.verdict, never.needed) == ("cannot tell", None)
    assert "more queries do not narrow the bounds that ties leave" in never.line


def test_a_gate_decides_by_bets() -> None:
    assert held(*made(np.full(40, -0.4)), 0.1).verdict == "worse"
    assert held(*made(np.full(40, 0.4)), 0.1).verdict == "not worse"
    low, high = ends(APART)
    check = held(*made())
    assert (check.low, check.high) == pytest.approx((low, high))


def test_less_may_be_better() -> None:
    """A rise of Harm is a loss."""
    low, high = ends(APART)
    check = held(*made(measures="Harm@5"), 0.5)
    assert (check.low, check.high) == pytest.approx((-high, -low))
    assert check.verdict == "not worse"


def test_checks_of_a_gate_share_the_level_out() -> None:
    run, base = (
        made_scores(name, np.stack([at, at], axis=1), measures="nDCG@10 AP")
        for name, at in (("run", 0.5 + APART), ("base", np.full(QUERIES, 0.5)))
    )
    checks = tv.gate(run, [MaxDrop(None, 0.1)], baseline=base, intervals="bounded")
    assert [check.low for check in checks] == pytest.approx([ends(APART, 0.025)[0]] * 2)
    assert checks[0].needed == checks[1].needed


def test_corrected_labels_have_intervals_of_their_own() -> None:
    with pytest.raises(PolicyError, match="intervals='bounded' does not go with labels='corrected'"):
        held(*made(), labels="corrected", corrected=object())


def test_a_self_test_swaps_under_bets() -> None:
    """Swapped worlds of a small difference: bets give no false alarm in 200 worlds, and rarely tell."""
    run, base = made(np.clip(RNG.normal(0, 0.2, 30), -0.5, 0.5))
    found = tv.self_test(run, [MaxDrop(None, 0.01)], baseline=base, worlds=200, intervals="bounded")
    assert (found.asked.worse, found.zero.worse) == (0, 0)
    assert found.asked.unclear == 1
    tied, plain = made(reach=0.2), made()
    wide, narrow = (
        tv.self_test(run, [MaxDrop(None, 0.25)], baseline=base, worlds=100, intervals="bounded").asked.unclear
        for run, base in (tied, plain)
    )
    assert wide > narrow
