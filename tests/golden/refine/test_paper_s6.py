"""The published refinement: its steps by hand, locks without circles, and when it stops."""

from collections.abc import Sequence
from itertools import combinations

import numpy as np
import pytest

from trueval.golden.refine.judge_orders import Batch
from trueval.golden.refine.locks import Locks
from trueval.golden.refine.paper_s6 import PaperSettings, paper_s6, score_steps


def perfect(batches: Sequence[Batch]) -> list[Batch]:
    return [tuple(sorted(batch)) for batch in batches]


def test_steps_of_three_equal_scores_by_hand() -> None:
    """Suffixes of three, two and one: winners gain η(1 − 1/3) and η(1 − 1/2), the others lose η/3 and η/2."""
    steps, information = score_steps(np.zeros(4), (2, 0, 1), rate=0.6)
    np.testing.assert_allclose(steps, [0.6 * (1 / 2 - 1 / 3), 0.6 * (-1 / 3 - 1 / 2), 0.6 * 2 / 3, 0], atol=1e-15)
    np.testing.assert_allclose(information, [2 / 9 + 1 / 4, 2 / 9 + 1 / 4, 2 / 9, 0], atol=1e-15)


@pytest.mark.parametrize("seed", range(5))
def test_locks_follow_one_another_and_never_close_a_circle(seed: int) -> None:
    rng, locks = np.random.default_rng(seed), Locks(7)
    edges = [(0, 0)][:0]
    for winner, loser in rng.permutation(list(combinations(range(7), 2)) * 2):
        pair = (int(winner), int(loser)) if rng.random() < 0.5 else (int(loser), int(winner))
        if locks.add(*pair):
            edges.append(pair)
        else:
            assert locks.above[pair[1], pair[0]]
        reach = np.zeros((7, 7), bool)
        for edge in edges:
            reach[edge] = True
        for middle in range(7):  # Warshall 1962, from the pairs themselves
            reach |= reach[:, [middle]] & reach[middle]
        assert not reach.diagonal().any()
        assert (reach == locks.above).all()
    ranking = locks.ranking(rng.random(7))
    place = {document: rank for rank, document in enumerate(ranking)}
    assert sorted(ranking) == list(range(7))
    assert all(place[winner] < place[loser] for winner, loser in edges)


def test_without_locks_scores_rank() -> None:
    assert Locks(4).ranking(np.array([1.0, 3.0, 3.0, 2.0])) == [1, 2, 3, 0]


def test_two_calls_that_agree_lock_a_pair_and_one_does_not() -> None:
    """Two documents of the same grade: the margin is far from clear, so only the second call locks."""
    grades = np.zeros(2)
    seen = []

    def judge(batches: Sequence[Batch]) -> list[Batch]:
        seen.append(batches)
        return perfect(batches) if len(seen) < 3 else [(1, 0)]

    settings = PaperSettings(turns=10, rate=0.0, least_rate=0.0)
    found = paper_s6(grades, judge, np.random.default_rng(0), top=2, budget=5, settings=settings)
    assert found.ranking == (0, 1)
    assert found.calls == 5  # two calls say 0 above 1, then three the opposite: the lock of the first two holds
    assert np.all(found.scores == 0)


def test_it_stops_after_so_many_turns_without_a_change() -> None:
    found = paper_s6(
        np.arange(9.0), perfect, np.random.default_rng(0), top=3, budget=100, settings=PaperSettings(turns=4)
    )
    assert found.stable
    assert 4 < found.calls < 100
    short = paper_s6(
        np.arange(9.0), perfect, np.random.default_rng(0), top=3, budget=3, settings=PaperSettings(turns=4)
    )
    assert (short.stable, short.calls) == (False, 3)


def test_turns_without_a_call_count_only_where_that_is_asked_for() -> None:
    """Five documents make one batch, which two calls settle: then the author's way asks no more."""
    ways = [PaperSettings(turns=6, skip_settled=skip) for skip in (False, True)]
    asked, skipped = (
        paper_s6(np.zeros(5), perfect, np.random.default_rng(1), top=5, budget=50, settings=way) for way in ways
    )
    assert asked.stable
    assert skipped.stable
    assert skipped.calls == 2
    assert asked.calls > 6
    assert asked.ranking == skipped.ranking == (0, 1, 2, 3, 4)


def test_a_turn_moves_no_score_by_more_than_the_clip() -> None:
    settings = PaperSettings(rate=50.0, clip=0.2)
    found = paper_s6(np.zeros(5), perfect, np.random.default_rng(0), top=5, budget=1, settings=settings)
    assert np.abs(found.scores).max() == 0.2


def test_the_least_exposed_come_first() -> None:
    shown: list[Batch] = []

    def judge(batches: Sequence[Batch]) -> list[Batch]:
        shown.extend(batches)
        return perfect(batches)

    settings = PaperSettings(turns=100, pick="least")
    paper_s6(np.zeros(10), judge, np.random.default_rng(0), top=5, budget=4, settings=settings)
    assert sorted(shown[0] + shown[1]) == sorted(shown[2] + shown[3]) == list(range(10))


def test_no_answer_is_a_call_that_changes_nothing() -> None:
    found = paper_s6(np.array([1.0, 2.0, 3.0]), lambda batches: [None], np.random.default_rng(0), budget=5,
                     settings=PaperSettings())  # fmt: skip
    assert (found.calls, found.orders, found.ranking) == (4, (), (2, 1, 0))


def test_one_document_is_not_asked_about() -> None:
    found = paper_s6(np.array([3.0]), perfect, np.random.default_rng(0), budget=9, settings=PaperSettings())
    assert (found.ranking, found.calls, found.stable) == ((0,), 0, True)
