"""Significance verdicts under a judge's labels against those under people's: found, missed or reversed differences.

A pair of systems is separated, or it is not, as `trueval compare` decides. Of a judge and people:

    same       both separate the pair, the same system ahead
    reversed   both separate it, another system ahead
    false      the judge separates it, people do not
    missed     people separate it, the judge does not
    neither    neither separates it

The false rate is (false + reversed) / pairs that the judge separates; the missed rate (missed + reversed) / pairs that
people separate. People's verdict is a test on the same queries, not the truth: other people would differ too.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from typing import Any, Final

from trueval.comparison.comparison import Comparison

OUTCOMES: Final = ("same", "reversed", "false", "missed", "neither")
FIRST, SECOND, NONE = "first", "second", "none"


def ahead(found: Comparison, measure: str) -> dict[tuple[str, str], str]:
    """Pair of runs → the significantly better one: first, second or none.

    Args:
        found: every compared pair.
    """
    return {
        (each.first, each.second): NONE if not each.separated else FIRST if each.gain > 0 else SECOND
        for each in found.differences
        if each.measure == measure
    }


def outcome(people: str, judge: str) -> str:
    """Compare a judge's verdict on a pair with people's.

    >>> outcome("first", "second"), outcome("none", "first"), outcome("first", "none")
    ('reversed', 'false', 'missed')
    """
    if people == judge:
        return "neither" if people == NONE else "same"
    return "false" if people == NONE else "missed" if judge == NONE else "reversed"


def rates(people: dict[tuple[str, str], str], judge: dict[tuple[str, str], str], some: Iterable[str]) -> dict[str, Any]:
    """Outcomes over the pairs of some systems, and the rates of false and missed differences.

    Args:
        people: pair → the better run by people's labels.
        judge: pair → the better run by the judge's labels.
        some: names of the systems.
    """
    among = set(some)
    of = Counter(outcome(said, judge[pair]) for pair, said in people.items() if among.issuperset(pair))
    claimed, there = of["same"] + of["reversed"] + of["false"], of["same"] + of["reversed"] + of["missed"]
    return {
        "pairs": sum(of.values()),
        **{name: of[name] for name in OUTCOMES},
        "false_rate": (of["false"] + of["reversed"]) / claimed if claimed else None,
        "missed_rate": (of["missed"] + of["reversed"]) / there if there else None,
    }


def spread(
    people: dict[tuple[str, str], str],
    judges: Sequence[dict[tuple[str, str], str]],
    kin: Sequence[Collection[str]] | None = None,
) -> list[dict[str, Any]]:
    """People's verdict on each pair, and the number of judges with each verdict.

    Args:
        people: pair → the better run by people's labels.
        judges: [judge] pair → the better run by the judge's labels.
        kin: [judge] runs of its family, whose pairs are skipped; None uses every judge for every pair.
    """
    found = []
    for pair, said in people.items():
        asked = [judge for at, judge in enumerate(judges) if kin is None or not set(pair) & set(kin[at])]
        of = Counter(judge[pair] for judge in asked)
        told = {side: of[side] for side in (FIRST, SECOND, NONE)}
        found.append({"first": pair[0], "second": pair[1], "people": said, "judges": told, "with_people": of[said]})
    return found


def in_short(pairs: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Summary of the judges' agreement on all pairs.

    Args:
        pairs: result of `spread`; pairs without a judge are not counted.
    """
    said = [each for each in pairs if any(each["judges"].values())]
    return {
        "pairs": len(said),
        "all_judges_agree": sum(sum(each["judges"].values()) in each["judges"].values() for each in said),
        "judges_oppose": sum(bool(each["judges"][FIRST] and each["judges"][SECOND]) for each in said),
        "people_alone": sum(each["with_people"] == 0 for each in said),
    }
