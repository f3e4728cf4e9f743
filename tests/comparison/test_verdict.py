import itertools
import re
from collections import Counter

import numpy as np
import pytest

from trueval.comparison.resampling.win_probability import WinProbability
from trueval.comparison.verdict import NOT_SEPARATED, REVERSED, SEPARATED, UNDECIDABLE, judge, letters

SURE = WinProbability(1.0, 1.0, 1.0, "certain")
EVEN = WinProbability(0.5, 0.5, 0.5, "certain")


def win(low: float, high: float) -> WinProbability:
    return WinProbability((low + high) / 2, low, high, "exact")


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({}, SEPARATED),
        ({"adjusted_p": 0.05}, NOT_SEPARATED),
        ({"adjusted_p": float("nan")}, NOT_SEPARATED),
        ({"tie_range": 0.2, "win": win(0.6, 0.6)}, UNDECIDABLE),
        ({"tie_range": 0.2, "win": win(0.6, 0.6), "adjusted_p": 0.5}, UNDECIDABLE),
        ({"tie_range": 0.2, "win": win(0.94, 0.96)}, UNDECIDABLE),
        ({"tie_range": 0.2, "win": win(0.95, 1.0)}, SEPARATED),
        ({"tie_range": 0.2, "win": win(0.0, 0.05), "expected": -0.1, "tie_broken": -0.1}, SEPARATED),
        ({"tie_range": 0.0, "win": EVEN, "expected": 0.0, "tie_broken": 0.0, "adjusted_p": 1.0}, NOT_SEPARATED),
        ({"tie_range": 0.2, "tie_broken": -0.01, "win": win(0.6, 0.6)}, REVERSED),
        ({"tie_range": 0.2, "tie_broken": -0.01, "win": win(0.99, 0.99)}, REVERSED),
        ({"tie_broken": 0.0}, SEPARATED),
        ({"tie_broken": float("nan")}, SEPARATED),
        ({"tie_broken": -1e-13}, SEPARATED),  # rounding has no sign
        ({"interval": (0.0, 0.2)}, NOT_SEPARATED),
        ({"interval": (-0.2, 0.0)}, NOT_SEPARATED),
        ({"interval": (-0.2, -1e-9)}, SEPARATED),
    ],
)
def test_each_condition(changes: dict, words: str) -> None:
    usual = {"expected": 0.1, "tie_broken": 0.1, "tie_range": 0.0, "win": SURE, "adjusted_p": 0.01, "level": 0.95}
    usual["interval"] = (0.02, 0.2)
    assert judge(**usual | changes).words == words


def test_a_reversed_difference_says_what_else_holds() -> None:
    found = judge(
        expected=0.1,
        tie_broken=-0.1,
        tie_range=0.5,
        win=win(0.99, 0.99),
        adjusted_p=0.001,
        interval=(0.02, 0.2),
        level=0.95,
    )
    assert (found.reversed, found.undecidable, found.separated) == (True, False, True)


@pytest.mark.parametrize("seed", range(30))
def test_systems_share_a_letter_if_and_only_if_they_are_not_separated(seed: int) -> None:
    rng = np.random.default_rng(seed)
    size = int(rng.integers(2, 9))
    apart = np.triu(rng.random((size, size)) < rng.random(), 1)
    apart |= apart.T
    shown = letters(apart, rng.permutation(size).tolist())
    for one, other in itertools.combinations(range(size), 2):
        assert bool(set(shown[one]) & set(shown[other])) == (not apart[one, other])
    assert all(shown)


def test_letters_follow_the_order_and_none_is_idle() -> None:
    apart = np.zeros((4, 4), dtype=bool)
    assert letters(apart, [3, 2, 1, 0]) == ("a", "a", "a", "a")
    everyone = ~np.eye(4, dtype=bool)
    assert letters(everyone, [3, 2, 1, 0]) == ("d", "c", "b", "a")


def test_letters_of_hundreds_of_systems_are_the_largest_sets() -> None:
    """Systems are separated from the eleventh neighbour on, so a letter is of each eleven in a row."""
    place = np.arange(300)
    found = letters(np.abs(place[:, None] - place) > 10, place.tolist())
    systems = Counter(name for each in found for name in re.findall("[a-z][0-9]*", each))
    assert len(systems) == 290
    assert set(systems.values()) == {11}


def test_after_z_come_letters_with_numbers() -> None:
    """Each of 54 systems is separated from all others, so that each has a letter of its own."""
    found = letters(~np.eye(54, dtype=bool), list(range(54)))
    assert [found[at] for at in (0, 25, 26, 27, 51, 52, 53)] == ["a", "z", "a1", "b1", "z1", "a2", "b2"]
    assert len(set(found)) == 54
