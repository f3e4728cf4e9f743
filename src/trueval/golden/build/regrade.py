"""Regrading of passages whose refined order contradicts their grades."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any, Final

from trueval.golden.build.grade import GradingSettings

# Minimum difference of grades that an order must reverse to contradict them. Expected grades are shrunk towards each
# other: those of two labels 5 and two labels 4 differ by less than one.
WIDE: Final = 0.75
REGRADED: Final = 16  # maximum number of passages to regrade per query


def find_contradictions(refined: Iterable[Mapping[str, Any]]) -> dict[str, list[str]]:
    """Query id → ids of the passages whose order contradicts their grades by `WIDE` or more.

    Args:
        refined: rows of refined.jsonl.

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
        how: settings of the existing rounds.
    """
    return replace(how, rounds=1, first=how.rounds)
