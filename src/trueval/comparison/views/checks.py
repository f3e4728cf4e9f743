"""The view of a gate: its checks, and what they leave open."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final

from trueval.comparison.checks import CANNOT_TELL, POWER, Check
from trueval.comparison.labels.label_source import JUDGE
from trueval.printable import printable
from trueval.report.number_texts import (
    MANY_QUERIES,
    NOT_AVAILABLE,
    attainable,
    count_phrase,
    format_difference,
    format_value,
    interval,
    percent,
)
from trueval.report.units import NAME, unscaled_unit
from trueval.report.view import Answer, Column, Mark, Section, Sheet, View

if TYPE_CHECKING:
    from trueval.comparison.gate.self_test import Alarms, SelfTest

QUERIES_NEEDED: Final = unscaled_unit(attainable)
QUESTION: Final = "Do the runs keep their limits?"


def view(checks: Sequence[Check], self_test: SelfTest | None = None) -> View:
    """What a gate shows: how many checks failed, every check with its numbers, and what needs a sentence.

    Args:
        checks: of every gate, at least one.
        self_test: of the gate; None where there is none.
    """
    columns: list[Column[Check]] = [
        Column("verdict", lambda check: check.verdict),
        Column("run", lambda check: check.run, NAME),
        Column("measure", lambda check: check.measure or "all"),
        Column("limit", lambda check: check.name if check.limit is None else f"{check.name} {check.limit:g}"),
        Column("found", describe_result),
        *([Column("needed", _count_needed, QUERIES_NEEDED)] if any(map(_is_unclear, checks)) else []),
    ]
    words = [*sentences(checks), *(() if self_test is None else self_test_lines(self_test))]
    return View(
        title="Gate",
        answer=Answer(head(checks), QUESTION),
        sections=[Section("Checks", [Sheet("Checks", checks, columns)])],
        csv=Sheet("", (), []),
        findings=list(map(printable, words)),
        marks=[Mark(MANY_QUERIES, "more than a million, which nobody can judge: allow a larger loss.")],
    )


def head(checks: Sequence[Check]) -> str:
    """How many checks failed and how many cannot tell, in one line.

    Args:
        checks: of every gate, at least one.
    """
    if len(checks) == 1:
        (check,) = checks
        said = "passed" if check.passed else "failed"
        return f"the check cannot tell, and {said}" if _is_unclear(check) else f"the check {said}"
    failed, unclear = sum(not check.passed for check in checks), sum(map(_is_unclear, checks))
    said = f"{failed} of {len(checks)} checks failed" if failed else f"all {len(checks)} checks passed"
    passed = sum(_is_unclear(check) and check.passed for check in checks)
    if unclear:
        how = "passing" if passed == unclear else "failing" if not passed else f"{passed} of them passing"
        said += f", {unclear} cannot tell ({how})"
    return said


def sentences(checks: Sequence[Check]) -> Iterator[str]:
    """The finding of each check that failed, or was decided by bounds; then checks that cannot tell, and what decides.

    Between the two, what checks that did not fail rest on, and what their queries do not exclude.

    Args:
        checks: of every gate.
    """
    yield from (check.line for check in checks if check.bounded or not (check.passed or _is_unclear(check)))
    yield from (said for check in checks for said in _few_queries(check))
    shared = [check for check in checks if check.shared is not None]
    if shared:
        widths = ", ".join(f"±{check.shared:.4f} of {check.run} in {check.measure}" for check in shared)
        yield f"Intervals hold what repeats and labels vary by, of the budget: {widths}."
    every = [check for check in checks if _is_unclear(check)]
    by_people = [each for each in every if each.labels != JUDGE]
    unclear = [each for each in every if each.labels == JUDGE]
    if by_people:
        yield (
            f"{count_phrase(len(by_people), 'check', 'checks')} cannot tell from people's labels whether the "
            f"limit is kept; {_verdict(by_people)}. Needed: queries, or passages of the "
            f"design documents, that people must have graded to decide with a chance of {POWER:.0%}, if the value "
            "stays."
        )
    if not unclear:
        return
    first = unclear[0]
    count, units = (first.queries, "queries") if first.clusters is None else (first.clusters, "clusters")
    yield (
        f"{count_phrase(len(unclear), 'check', 'checks')} cannot tell from {count:,} {units} whether the loss is "
        f'within the limit; {_verdict(unclear)}. The {units} "needed" would decide with a chance of {POWER:.0%}, if '
        "the difference stays."
    )


def _few_queries(check: Check) -> Iterator[str]:
    """What few queries do not exclude beyond the limit, and that an interval rests on few, unless the line was said."""
    if check.bounded or not (check.passed or _is_unclear(check)):
        return
    units, rare = "queries" if check.clusters is None else "clusters", check.rare_losses
    if rare is not None and rare.loss > (check.limit or 0.0):
        yield f"{check.run}: {check.measure}: {rare.sentence(units)}"
    if check.concentration is not None:
        yield f"{check.run}: {check.measure}: {check.concentration.sentence(units)}."


def _verdict(checks: Sequence[Check]) -> str:
    """What becomes of checks that cannot tell, and the option that changes it."""
    they = "it" if len(checks) == 1 else "they"
    ending = "es" if len(checks) == 1 else ""
    if checks[0].passed:
        return f"{they} pass{ending}, unless --when-unclear is fail"
    return f"{they} fail{ending[1:]}, as --when-unclear says"


def self_test_lines(self_test: SelfTest) -> Iterator[str]:
    """What a self-test found.

    Args:
        self_test: of a gate.
    """
    units = count_phrase(self_test.queries, "query", "queries")
    if self_test.clusters is not None:
        units += f" in {count_phrase(self_test.clusters, 'cluster', 'clusters')}"
    worlds, checks = (
        count_phrase(self_test.worlds, "random swap", "random swaps"),
        count_phrase(self_test.checks, "check", "checks"),
    )
    yield f"self-test: {worlds} of candidate and baseline, {units}, {checks}, {self_test.level:.0%} intervals"
    yield f"  {_alarms(self_test.asked)}"
    if self_test.zero.limits != self_test.asked.limits:
        yield f"  {_alarms(self_test.zero)}"


def describe_result(check: Check) -> str:
    """The numbers that decided."""
    if check.name == "judged":
        return "nothing is judged"
    if check.name == "comparable":
        return "measured otherwise"
    if check.name == "distinct":
        return "compared with itself"
    if check.name == "relevant":
        return "nothing to find"
    if check.name == "queries" and check.limit is not None:
        return count_phrase(int(check.value or 0), "query", "queries")
    if check.name == "min" and check.labels == JUDGE:
        return format_value(check.value)
    if check.name == "max-range":
        return f"{format_value(check.value)} {interval(check.low, check.high)}"
    if check.low is None:
        return NOT_AVAILABLE
    if check.name == "min":
        return f"{format_value(check.value)} {interval(check.low, check.high)} {check.labels}"
    bounded = " bounded" if check.bounded else "" if check.labels == JUDGE else f" {check.labels}"
    return f"{format_difference(check.value)} {interval(check.low, check.high, show=format_difference)}{bounded}"


def _count_needed(check: Check) -> object:
    """How many queries decide; no number decides a check of bounds or of a difference at the limit."""
    return check.needed if _is_unclear(check) else ""


def _is_unclear(check: Check) -> bool:
    """Whether an interval does not decide; without an interval nothing is known, and the check fails."""
    return check.verdict == CANNOT_TELL and check.low is not None


def _alarms(alarms: Alarms) -> str:
    sure = f"[{percent(alarms.low)}, {percent(alarms.high)}]"
    return (
        f"{' '.join(alarms.limits)}: {percent(alarms.worse)} of them with a false alarm {sure}; "
        f"{percent(alarms.unclear)} of checks cannot tell"
    )
