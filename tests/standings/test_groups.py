"""Tie groups are those of a plain sort, whichever way the scores are stored and sorted."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from trueval.standings import groups as kernel
from trueval.standings.groups import find_groups, members_of, tie_groups

SHORT = st.sampled_from([0.0, -0.0, 1.5, -1.5, np.inf, -np.inf, 2.0**-149, -(2.0**-149), 3.0e38, 16.125])
LONG = st.sampled_from([0.1, 0.1 + 2**-40, -0.1, 1e300, -1e300, 1e-300, np.inf, -np.inf, 0.0])


def plain(scores: np.ndarray) -> list[tuple[float, list[int]]]:
    """Score and positions of every group of one list."""
    values = sorted(set(scores.tolist()), reverse=True)
    return [(value, np.flatnonzero(scores == value).tolist()) for value in values]


def check(lists: list[list[float]]) -> None:
    scores = np.array([score for one in lists for score in one], dtype=np.float64)
    offsets = np.cumsum([0, *map(len, lists)])
    groups = tie_groups(scores, offsets)
    expected = [
        (value, [begin + place for place in places])
        for begin, end in pairwise(offsets.tolist())
        for value, places in plain(scores[begin:end])
    ]
    assert groups.score.tolist() == [value for value, _ in expected]
    assert groups.size.tolist() == [len(places) for _, places in expected]
    assert groups.first.tolist() == np.cumsum([0, *(len(set(one)) for one in lists)]).tolist()
    members = members_of(groups, np.arange(len(groups.score)))
    found = [members.position[begin:end].tolist() for begin, end in pairwise(members.offsets.tolist())]
    assert found == [places for _, places in expected]
    lengths = np.diff(offsets)
    own = find_groups(groups, np.repeat(np.arange(len(lists)), lengths), scores, np.arange(len(scores)))
    assert own.tolist() == [
        next(g for g, (_, places) in enumerate(expected) if p in places) for p in range(len(scores))
    ]
    if groups.rank is not None:
        order = sorted(range(len(scores)), key=lambda p: (own[p], p))
        assert groups.rank[order].tolist() == list(range(len(scores)))


def check_both_sorts(lists: list[list[float]]) -> None:
    """As the few documents that they are, and as lists of many documents would be sorted."""
    check(lists)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(kernel, "FEW", 0)
        check(lists)


@given(st.lists(st.lists(SHORT, max_size=12), min_size=1, max_size=6))
def test_scores_that_float32_holds(lists: list[list[float]]) -> None:
    """Both zeros are one score, infinities are ordinary, and members stand in the order of the input."""
    check_both_sorts(lists)


@given(st.lists(st.lists(st.one_of(LONG, SHORT), max_size=12), min_size=1, max_size=6))
def test_scores_that_float32_does_not_hold(lists: list[list[float]]) -> None:
    """Scores that float32 would tie or overflow stay apart."""
    check_both_sorts(lists)


@pytest.mark.parametrize("width", [1, 3, 20])
@pytest.mark.parametrize("block", [1, 7, 64])
@pytest.mark.parametrize("few", [0, kernel.FEW])
def test_lists_of_one_length_in_many_blocks(monkeypatch: pytest.MonkeyPatch, width: int, block: int, few: int) -> None:
    """Cutting lists into blocks changes nothing."""
    monkeypatch.setattr(kernel, "BLOCK", block)
    monkeypatch.setattr(kernel, "FEW", few)
    check(np.random.default_rng(0).integers(-3, 3, (11, width)).astype(float).tolist())
