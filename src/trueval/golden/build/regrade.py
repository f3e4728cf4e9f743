"""Regrading of passages whose refined order contradicts their grades."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any, Final

from trueval.golden.build.grade import GradingSettings

# Grades apart, from which an order contradicts them. Expected grades are drawn towards each other: two labels of 5 and
# two of 4 are less than one grade apart.
WIDE: Final = 0.75
REGRADED: Final = 16  # passages of a query that are graded once more, at most


def find_contradictions(refined: Iterable[Mapping[str, Any]]) -> dict[str, list[str]]:
    """Query id → ids of the passages whose order contradicts their grades by `WIDE` or more.

    Args:
        refined: lines of refined.jsonl.

    >>> find_contradictions([{"query": "q", "inversions": [{"above": "a", "below": "b", "grades": 1.0}]}])
    {'q': ['a', 'b']}
    """
    pools = {}
    for row in refined:
        wide = [each for each in row["inversions"] if each["grades"] >= WIDE]
        ids = [each[side] for each in wide for side in ("above", "below")]
        if ids:
            pools[row["query"]] = list(dict.fromkeys(ids))[:REGRADED]
    return pools


def once_more(how: GradingSettings) -> GradingSettings:
    """One more grading round after the existing ones.

    Args:
        how: the passages were graded.
    """
    return replace(how, rounds=1, first=how.rounds)
