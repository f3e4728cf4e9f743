"""Findings: what the tie ranges of several runs imply about their differences."""

from collections.abc import Iterator, Mapping
from itertools import combinations
from typing import Any, Literal, NamedTuple

Kind = Literal["overlap", "inside", "reversed"]

MARKS: Mapping[Kind, str] = {"overlap": "*", "inside": "+", "reversed": "!"}

WORDS: Mapping[Kind, str] = {
    "overlap": "not separated, because the order of ties decides which is higher",
    "inside": "differ by less than ties move one of them; yet no order of ties reverses them",
    "reversed": "change places: higher by the tie-broken value, lower by the expected value",
}

NOT_EXACT = (
    "° not exact: lowest and highest are bounds that no order of ties need reach, or expected is the middle of bounds; "
    "docs/measures.md says which."
)


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


def find(results: Mapping[str, Any]) -> tuple[Finding, ...]:
    """Every pair of runs whose difference on a measure depends on ties.

    Only tie ranges are compared: pairs that are not found can still differ by chance of the queries.

    Args:
        results: what `trueval.evaluation.scores.results` returns, the JSON of `trueval evaluate`.

    Returns:
        The findings, by measure, then by pair in the order of the runs; "reversed" follows "overlap" or "inside".

    Example:
        >>> value = {"lowest": 0.2, "highest": 0.4, "expected": 0.3, "tie_broken": 0.4}
        >>> runs = [{"name": name, "measures": {"RR": value}} for name in ("a", "b")]
        >>> [(finding.kind, finding.first, finding.second) for finding in find({"runs": runs})]
        [('overlap', 'a', 'b')]
    """
    runs = results["runs"]
    measures = list(runs[0]["measures"]) if runs else []
    return tuple(
        finding
        for measure in measures
        for first, second in combinations(runs, 2)
        for finding in _compare(measure, first, second)
    )


def sentences(findings: tuple[Finding, ...]) -> list[str]:
    r"""The findings in words: one line per kind that occurs, then one line per measure with its pairs of runs.

    Args:
        findings: findings of `find`.

    Returns:
        Lines; those of a kind begin with its mark, those of a measure with two spaces.

    Example:
        >>> found = Finding("overlap", "RR", "a", "b", "a"), Finding("overlap", "RR", "a", "c", "a")
        >>> print(*sentences(found), sep="\n")
        * not separated, because the order of ties decides which is higher:
          RR: a and b, c
    """
    lines = []
    for kind, mark in MARKS.items():
        measures = dict.fromkeys(finding.measure for finding in findings if finding.kind == kind)
        if measures:
            lines.append(f"{mark} {WORDS[kind]}:")
        for measure in measures:
            group = [finding for finding in findings if finding[:2] == (kind, measure)]
            lines.append(f"  {measure}: {_pairs(group)}")
    return lines


def marks(findings: tuple[Finding, ...], run: str, measure: str) -> str:
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


def _compare(measure: str, first: Mapping[str, Any], second: Mapping[str, Any]) -> Iterator[Finding]:
    a, b = first["measures"][measure], second["measures"][measure]
    if any(entry[part] is None for entry in (a, b) for part in ("lowest", "highest", "expected")):
        return
    widest = max(a["highest"] - a["lowest"], b["highest"] - b["lowest"])
    if widest <= 0:
        return
    known = a["tie_broken"] is not None and b["tie_broken"] is not None
    higher = first["name"] if known and a["tie_broken"] >= b["tie_broken"] else second["name"]
    pair = (measure, first["name"], second["name"], higher)
    if a["lowest"] <= b["highest"] and b["lowest"] <= a["highest"]:
        yield Finding("overlap", *pair)
    elif abs(a["expected"] - b["expected"]) <= widest:
        yield Finding("inside", *pair)
    if known and (a["tie_broken"] - b["tie_broken"]) * (a["expected"] - b["expected"]) < 0:
        yield Finding("reversed", *pair)


def _pairs(group: list[Finding]) -> str:
    """The pairs by their first run, which has the higher tie-broken value where the runs change places."""
    partners: dict[str, list[str]] = {}
    for finding in group:
        first, second = finding.first, finding.second
        if finding.kind == "reversed" and finding.higher == second:
            first, second = second, first
        partners.setdefault(first, []).append(second)
    between = "above" if group[0].kind == "reversed" else "and"
    return "; ".join(f"{first} {between} {', '.join(others)}" for first, others in partners.items())
