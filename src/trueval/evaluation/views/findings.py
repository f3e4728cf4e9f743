"""Findings: what the tie ranges of several runs imply about their differences."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from typing import Final, Literal, NamedTuple

from trueval.evaluation.evaluation_result import Evaluation, RunMeans
from trueval.report.view import Mark

Kind = Literal["overlap", "inside", "reversed"]

MARKS: Final[Mapping[Kind, str]] = {"overlap": "*", "inside": "+", "reversed": "!"}
WORDS: Final[Mapping[Kind, str]] = {
    "overlap": "not separated, because the order of ties decides which is higher",
    "inside": "differ by less than ties move one of them; yet no order of ties reverses them",
    "reversed": "change places: higher by the tie-broken value, lower by the expected value",
}
BOUND: Final = "°"
NOT_EXACT: Final = Mark(
    BOUND,
    "not exact: lowest and highest are bounds that no order of ties need reach, or expected is the middle of bounds; "
    "docs/measures.md says which.",
)
MOST_NAMED: Final = 12  # pairs of one kind that are named; of more their number is given


class Finding(NamedTuple):
    """Two runs whose difference on one measure depends on ties.

    Attributes:
        kind: "overlap" (the intervals share a value), "inside" (no shared value, but the expected values differ by no
            more than the wider range) or "reversed" (tie-broken and expected values disagree on which run is higher).
        measure: the measure's text form.
        first: name of the run that comes first in the results.
        second: name of the other run.
        higher: name of the run with the higher tie-broken value.
    """

    kind: Kind
    measure: str
    first: str
    second: str
    higher: str


def find(result: Evaluation) -> tuple[Finding, ...]:
    """Every pair of runs whose difference on a measure depends on ties.

    Only tie ranges are compared: pairs that are not found can still differ by chance of the queries.

    Args:
        result: an evaluation.

    Returns:
        The findings, by measure, then by pair in the order of the runs; "reversed" follows "overlap" or "inside".
    """
    measures = result.runs[0].measures if result.runs else ()
    return tuple(
        finding
        for measure in measures
        for first, second in combinations(result.runs, 2)
        for finding in compare(measure, first, second)
    )


def compare(measure: str, first: RunMeans, second: RunMeans) -> Iterator[Finding]:
    """What ties leave open of the difference of two runs.

    Args:
        measure: the measure's text form.
    """
    a, b = first.measures[measure], second.measures[measure]
    widest = max(a.highest - a.lowest, b.highest - b.lowest)
    known = a.tie_broken == a.tie_broken and b.tie_broken == b.tie_broken
    higher = first.name if known and a.tie_broken >= b.tie_broken else second.name
    pair = (measure, first.name, second.name, higher)
    if not widest > 0 or a.range != a.range or b.range != b.range:  # NaN where a value is not available
        return
    if a.lowest <= b.highest and b.lowest <= a.highest:
        yield Finding("overlap", *pair)
    elif abs(a.expected - b.expected) <= widest:
        yield Finding("inside", *pair)
    if known and (a.tie_broken - b.tie_broken) * (a.expected - b.expected) < 0:
        yield Finding("reversed", *pair)


def explain_marks(findings: Sequence[Finding]) -> list[Mark]:
    """What the marks mean, with the pairs of runs that each of them is about.

    Args:
        findings: findings of `find`.

    Example:
        >>> found = Finding("overlap", "RR", "a", "b", "a"), Finding("overlap", "RR", "a", "c", "a")
        >>> explain_marks(found)[0].meaning
        'not separated, because the order of ties decides which is higher: RR: a and b, c.'
    """
    told = []
    for kind, sign in MARKS.items():
        mine = [each for each in findings if each.kind == kind]
        pairs = "; ".join(
            f"{measure}: {_pairs([each for each in mine if each.measure == measure])}"
            for measure in dict.fromkeys(each.measure for each in mine)
        )
        told.append(Mark(sign, f"{WORDS[kind]}: {pairs if len(mine) <= MOST_NAMED else f'{len(mine)} pairs of runs'}."))
    return [*told, NOT_EXACT]


def marks(findings: Sequence[Finding], run: str, measure: str) -> str:
    """The marks at one run's value of one measure, "" if none.

    Args:
        findings: findings of `find`.
        run: name of the run.
        measure: the measure's text form.

    Returns:
        Up to three of "*", "+" and "!".

    Example:
        >>> marks((Finding("overlap", "RR", "a", "b", "a"),), "b", "RR")
        '*'
    """
    kinds = {finding.kind for finding in findings if finding.measure == measure and run in finding[2:4]}
    return "".join(mark for kind, mark in MARKS.items() if kind in kinds)


def _pairs(group: Sequence[Finding]) -> str:
    """The pairs by their first run, which has the higher tie-broken value where the runs change places."""
    partners: dict[str, list[str]] = {}
    for finding in group:
        first, second = finding.first, finding.second
        if finding.kind == "reversed" and finding.higher == second:
            first, second = second, first
        partners.setdefault(first, []).append(second)
    between = "above" if group[0].kind == "reversed" else "and"
    return "; ".join(f"{first} {between} {', '.join(others)}" for first, others in partners.items())
