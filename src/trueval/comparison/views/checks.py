"""How the checks of a gate look: a table in a terminal, Markdown for the page of a build, sentences."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final

from trueval.comparison.checks import CANNOT_TELL, POWER, Check
from trueval.comparison.labels.label_source import JUDGE
from trueval.printable import printable
from trueval.report.formats import pipes
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

if TYPE_CHECKING:
    from trueval.comparison.gate.self_test import Alarms, SelfTest
    from trueval.report.terminal import TerminalGrid

HEADINGS: Final = ("verdict", "run", "measure", "limit", "found")
NEEDED: Final = "needed"


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


def table(checks: Sequence[Check]) -> TerminalGrid:
    """Every check with its numbers.

    Args:
        checks: of every gate.
    """
    from rich.text import Text

    from trueval.report.terminal import grid

    with_needed = any(map(_is_unclear, checks))
    rows = grid((*HEADINGS, NEEDED) if with_needed else HEADINGS, "lLlllr" if with_needed else "lLlll")
    for check in checks:
        style = "bold red" if not check.passed else "yellow" if _is_unclear(check) or check.bounded else "green"
        limit = check.name if check.limit is None else f"{check.name} {check.limit:g}"
        cells = [
            check.run,
            check.measure or "all",
            limit,
            describe_result(check),
            *([_describe_queries_needed(check)] if with_needed else []),
        ]
        rows.add_row(Text(check.verdict, style=style), *cells)
    return rows


def to_markdown(checks: Sequence[Check], self_test: SelfTest | None = None) -> str:
    """The checks for the summary page of a build.

    Args:
        checks: of every gate.
        self_test: of the gate; None where there is none.

    Returns:
        A heading, a pipe table, then what needs a sentence as a list.
    """
    rows = []
    for check in checks:
        verdict = check.verdict if check.passed and not _is_unclear(check) else f"**{check.verdict}**"
        cells = (
            verdict,
            check.run,
            check.measure or "all",
            f"`{check.option}`",
            describe_result(check),
            _describe_queries_needed(check),
        )
        rows.append([printable(cell).replace("|", "\\|") for cell in cells])
    words = [*sentences(checks), *([] if self_test is None else self_test_lines(self_test))]
    listed = "".join(f"- {printable(line.strip())}\n" for line in words)
    return f"## trueval: {head(checks)}\n\n{pipes((*HEADINGS, NEEDED), rows, words=5, escape=str)}\n{listed}\n"


def sentences(checks: Sequence[Check]) -> Iterator[str]:
    """The finding of each check that failed, or was decided by bounds; then checks that cannot tell, and what decides.

    Between the two, what checks that did not fail rest on, and what their queries do not exclude.

    Args:
        checks: of every gate.
    """
    yield from (check.line for check in checks if check.bounded or not (check.passed or _is_unclear(check)))
    yield from (said for check in checks for said in _few_queries(check))
    every = [check for check in checks if _is_unclear(check)]
    by_people = [each for each in every if each.labels != JUDGE]
    unclear = [each for each in every if each.labels == JUDGE]
    if by_people:
        passing = "pass" if by_people[0].passed else "fail"
        yield (
            f"{count_phrase(len(by_people), 'check', 'checks')} cannot tell from people's labels whether the "
            "limit is kept: "
            f"--when-unclear lets {_them(by_people)} {passing}. {NEEDED.capitalize()}: queries, or passages of the "
            f"design documents, that people must have graded to decide with a chance of {POWER:.0%}, if the value "
            "stays."
        )
    if not unclear:
        return
    first = unclear[0]
    count, units = (first.queries, "queries") if first.clusters is None else (first.clusters, "clusters")
    passing = "pass" if first.passed else "fail"
    yield (
        f"{count_phrase(len(unclear), 'check', 'checks')} cannot tell from {count:,} {units} whether the loss is "
        "within the "
        f"limit: --when-unclear lets {_them(unclear)} {passing}. As many {units} as {NEEDED} would decide with a "
        f"chance of {POWER:.0%}, if the difference stays."
    )
    if any(_describe_queries_needed(each) == MANY_QUERIES for each in unclear):
        yield f"{MANY_QUERIES}: more than a million, which nobody can judge: allow a larger loss."


def _few_queries(check: Check) -> Iterator[str]:
    """What few queries do not exclude beyond the limit, and that an interval rests on few, unless the line was said."""
    if check.bounded or not (check.passed or _is_unclear(check)):
        return
    units, rare = "queries" if check.clusters is None else "clusters", check.rare_losses
    if rare is not None and rare.loss > (check.limit or 0.0):
        yield f"{check.run}: {check.measure}: {rare.sentence(units)}"
    if check.concentration is not None:
        yield f"{check.run}: {check.measure}: {check.concentration.sentence(units)}."


def _them(checks: Sequence[Check]) -> str:
    return "it" if len(checks) == 1 else "them"


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


def _describe_queries_needed(check: Check) -> str:
    """How many queries decide; a check of bounds or of a difference at the limit is not decided by any number."""
    return "" if not _is_unclear(check) else attainable(check.needed)


def _is_unclear(check: Check) -> bool:
    """Whether an interval does not decide; without an interval nothing is known, and the check fails."""
    return check.verdict == CANNOT_TELL and check.low is not None


def _alarms(alarms: Alarms) -> str:
    sure = f"[{percent(alarms.low)}, {percent(alarms.high)}]"
    return (
        f"{' '.join(alarms.limits)}: {percent(alarms.worse)} of them with a false alarm {sure}; "
        f"{percent(alarms.unclear)} of checks cannot tell"
    )
