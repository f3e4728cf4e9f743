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
from dataclasses import astuple, dataclass
from typing import Final

from trueval.comparison.comparison import Comparison

OUTCOMES: Final = ("same", "reversed", "false", "missed", "neither")
FIRST, SECOND, NONE = "first", "second", "none"


@dataclass(frozen=True)
class VerdictRates:
    """Outcomes over pairs of systems, in the words of the module, and the rates of false and missed differences.

    The rates are None if no pair is separated.
    """

    pairs: int
    same: int
    reversed: int
    false: int
    missed: int
    neither: int
    false_rate: float | None
    missed_rate: float | None


@dataclass(frozen=True)
class VerdictCounts:
    """Number of judges with each verdict on a pair."""

    first: int
    second: int
    none: int

    @property
    def judges(self) -> int:
        """Number of judges that were asked."""
        return self.first + self.second + self.none


@dataclass(frozen=True)
class PairVerdicts:
    """Verdicts on a pair of systems.

    Attributes:
        first: a system.
        second: the other.
        people: their verdict: first, second or none.
        judges: number of judges with each.
        with_people: number of judges that say as people do.
    """

    first: str
    second: str
    people: str
    judges: VerdictCounts
    with_people: int


@dataclass(frozen=True)
class VerdictSpread:
    """Agreement of the judges on all pairs.

    Attributes:
        pairs: number of pairs that some judge was asked about.
        all_judges_agree: number of pairs of which all judges say the same.
        judges_oppose: number of pairs that judges separate in opposite directions.
        people_alone: number of pairs of which no judge says what people say.
    """

    pairs: int
    all_judges_agree: int
    judges_oppose: int
    people_alone: int


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


def rates(people: dict[tuple[str, str], str], judge: dict[tuple[str, str], str], some: Iterable[str]) -> VerdictRates:
    """Outcomes over the pairs of some systems, and the rates of false and missed differences.

    Args:
        people: pair → the better run by people's labels.
        judge: pair → the better run by the judge's labels.
        some: names of the systems.
    """
    among = set(some)
    of = Counter(outcome(said, judge[pair]) for pair, said in people.items() if among.issuperset(pair))
    claimed, there = of["same"] + of["reversed"] + of["false"], of["same"] + of["reversed"] + of["missed"]
    return VerdictRates(
        pairs=sum(of.values()),
        **{name: of[name] for name in OUTCOMES},
        false_rate=(of["false"] + of["reversed"]) / claimed if claimed else None,
        missed_rate=(of["missed"] + of["reversed"]) / there if there else None,
    )


def spread(
    people: dict[tuple[str, str], str],
    judges: Sequence[dict[tuple[str, str], str]],
    kin: Sequence[Collection[str]] | None = None,
) -> tuple[PairVerdicts, ...]:
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
        counts = VerdictCounts(*(of[side] for side in (FIRST, SECOND, NONE)))
        found.append(PairVerdicts(*pair, said, counts, of[said]))
    return tuple(found)


def in_short(pairs: Sequence[PairVerdicts]) -> VerdictSpread:
    """Summary of the judges' agreement on all pairs.

    Args:
        pairs: result of `spread`; pairs without a judge are not counted.
    """
    said = [each for each in pairs if each.judges.judges]
    return VerdictSpread(
        pairs=len(said),
        all_judges_agree=sum(each.judges.judges in astuple(each.judges) for each in said),
        judges_oppose=sum(bool(each.judges.first and each.judges.second) for each in said),
        people_alone=sum(each.with_people == 0 for each in said),
    )
