"""Verdicts in words, and groups of systems that are not separated."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

import numpy as np

from trueval.comparison.resampling.win_probability import WinProbability
from trueval.standings.standings import Bools

SEPARATED: Final = "separated"
NOT_SEPARATED: Final = "not separated by these queries"
UNDECIDABLE: Final = "undecidable under ties"
REVERSED: Final = "the tie-broken order is reversed by the expectation"

# Mean differences closer to 0 than this have no sign.
NO_DIFFERENCE: Final = 1e-12


class Verdict(NamedTuple):
    """The verdict on a difference. Conditions are judged independently; the words are those of the first that holds.

    Attributes:
        reversed: the tie-broken difference and the expected one have opposite signs.
        undecidable: ties affect the difference, and neither system is known to win with a probability of at least the
            level: low < level and high > 1 - level of its win probability.
        separated: the adjusted p is below 1 - level, the interval that decides excludes 0, and the difference is not
            undecidable.
        words: "the tie-broken order is reversed by the expectation", "undecidable under ties", "separated" or "not
            separated by these queries", in this order.
    """

    reversed: bool
    undecidable: bool
    separated: bool
    words: str


def judge(
    *,
    expected: float,
    tie_broken: float,
    tie_range: float,
    win: WinProbability,
    adjusted_p: float,
    interval: tuple[float, float],
    level: float,
) -> Verdict:
    """Judge one difference.

    Args:
        expected: difference of expected means.
        tie_broken: difference of tie-broken means; NaN if unknown.
        tie_range: highest - lowest difference over tie orders.
        win: probability over tie orders that the first is better.
        adjusted_p: p adjusted for the family; NaN if there is none.
        interval: interval of the expected difference, simultaneous for the family; NaN ends where there is none.
        level: level of the verdict, 0.95 for example.

    >>> sure = WinProbability(1.0, 1.0, 1.0, "certain")
    >>> difference = {"expected": 0.1, "tie_broken": 0.1, "tie_range": 0.0, "win": sure}
    >>> judge(**difference, adjusted_p=0.01, interval=(0.02, 0.2), level=0.95).words
    'separated'
    """
    apart = min(abs(expected), abs(tie_broken)) > NO_DIFFERENCE
    turned = apart and expected * tie_broken < 0
    undecidable = tie_range > NO_DIFFERENCE and win.is_open(level)
    beside_zero = interval[0] > 0 or interval[1] < 0
    separated = adjusted_p < round(1 - level, 12) and beside_zero and not undecidable
    said = (REVERSED, turned), (UNDECIDABLE, undecidable), (SEPARATED, separated), (NOT_SEPARATED, True)
    return Verdict(turned, undecidable, separated, next(words for words, holds in said if holds))


def letters(separated: Bools, order: Sequence[int]) -> tuple[str, ...]:
    """Compact letter display: each letter marks a maximal set of systems that are pairwise not separated (Piepho 2004).

    Args:
        separated: [system, system] symmetric, whether each pair is separated.
        order: systems from best to worst; letters follow it.

    Returns:
        [system] its letters: "a", "ab", "b". After z come a1, b1 and so on.

    >>> apart = np.array([[False, False, True], [False, False, False], [True, False, False]])
    >>> letters(apart, [0, 1, 2])
    ('a', 'ab', 'b')
    """
    near = ~separated[np.ix_(order, order)]
    np.fill_diagonal(near, val=False)
    sets = sorted(np.flatnonzero(each).tolist() for each in _cliques(near))
    names = [chr(ord("a") + index % 26) + (str(index // 26) if index >= 26 else "") for index in range(len(sets))]
    found = dict.fromkeys(order, "")
    for name, places in zip(names, sets, strict=True):
        for place in places:
            found[order[place]] += name
    return tuple(found[system] for system in range(len(order)))


def _cliques(near: Bools) -> list[Bools]:
    """Maximal sets of systems that are all near each other (Bron & Kerbosch 1973).

    Insert-and-absorb finds the same sets but takes a minute for 200 systems; the pivot (Tomita, Tanaka & Takahashi
    2006) keeps the work in proportion to the number of sets.

    Args:
        near: [system, system] whether they are near; symmetric, False on the diagonal.

    Returns:
        [set] [system] whether it is in the set.
    """
    found, everybody = [], np.ones(len(near), dtype=bool)
    # Chosen systems, candidates, and systems whose sets were already found.
    waiting = [(~everybody, everybody, ~everybody)]
    while waiting:
        chosen, open_, done = waiting.pop()
        if not open_.any():
            if not done.any():
                found.append(chosen)
            continue
        some = np.flatnonzero(open_ | done)
        pivot = some[np.argmax((near[some] & open_).sum(axis=1))]
        open_, done = open_.copy(), done.copy()
        for system in np.flatnonzero(open_ & ~near[pivot]).tolist():
            more = chosen.copy()
            more[system] = True
            waiting.append((more, open_ & near[system], done & near[system]))
            open_[system], done[system] = False, True
    return found


def rank_intervals(better: Bools) -> tuple[tuple[int, int], ...]:
    """The ranks that each system may have: below all that are separated as better, above all separated as worse.

    All of them hold simultaneously with the probability that no pair is separated falsely (Mogstad, Romano, Shaikh &
    Wilhelm 2024). Two systems of one group may change places, so ranks never say more than groups.

    Args:
        better: [system, system] whether the first is separated from the second, and better.

    Returns:
        [system] (best rank, worst rank), from 1.

    >>> rank_intervals(np.array([[False, False, True], [False, False, False], [False, False, False]]))
    ((1, 2), (1, 3), (2, 3))
    """
    best, worst = 1 + better.sum(axis=0), len(better) - better.sum(axis=1)
    return tuple(zip(best.tolist(), worst.tolist(), strict=True))
