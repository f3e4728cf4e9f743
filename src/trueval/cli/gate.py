"""Gates of a build: the options, what is said of their findings, and the summary that GitHub shows."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import typer

from trueval.report.text import NOT_AVAILABLE, fixed, interval

if TYPE_CHECKING:
    from trueval.comparison.gate import Check, Limit
    from trueval.evaluation.scores import Scores
    from trueval.measures import Measure

SUMMARY_VARIABLE = "GITHUB_STEP_SUMMARY"


@dataclass(frozen=True)
class GateOptions:
    """Limits that runs must keep."""

    panel: ClassVar = "Gates"

    max_range: Annotated[
        list[str] | None,
        typer.Option(
            metavar="X",
            help="Exit with 1 when ties leave a mean a wider range than X, on the scale of the JSON; "
            "nDCG@10=X for one measure.",
        ),
    ] = None
    minimum: Annotated[
        list[str] | None,
        typer.Option("--min", metavar="M=X", help="Exit with 1 when the expected mean of measure M is below X."),
    ] = None
    max_drop: Annotated[
        list[str] | None,
        typer.Option(
            metavar="X",
            help="Exit with 1 when a run lost more than X against the baseline at every value of the 95% interval that "
            "joins queries and ties; nDCG@10=X for one measure.",
        ),
    ] = None
    baseline: Annotated[
        str | None, typer.Option(metavar="RUN", help="The run that --max-drop compares every other run with.")
    ] = None

    def limits(self, measures: "Sequence[Measure]") -> "tuple[Limit, ...]":
        """The limits as data.

        Args:
            measures: those evaluated.

        Raises:
            PolicyError: a limit cannot be read, or `--baseline` and `--max-drop` do not come together.
        """
        given = (("max-range", self.max_range), ("min", self.minimum), ("max-drop", self.max_drop))
        if self.baseline is None and not any(texts for _, texts in given):
            return ()  # before the comparison behind the gate is imported
        from trueval.comparison.gate import check_limits, parse_limit
        from trueval.errors import PolicyError

        limits = tuple(parse_limit(name, text) for name, texts in given for text in texts or ())
        if self.baseline is not None and not self.max_drop:
            raise PolicyError("--baseline needs --max-drop X. `trueval compare` shows differences without a gate.")
        check_limits(limits, measures, baseline=self.baseline is not None)
        return limits

    def check(
        self, scores: "Sequence[Scores]", runs: int, paths: Sequence[str], limits: "Sequence[Limit]"
    ) -> "tuple[Check, ...]":
        """Holds runs against their limits.

        Args:
            scores: of the runs; a baseline that is not among them comes after them, and no gate is asked of it.
            runs: how many they are.
            paths: where scores come from.
            limits: what the runs must keep.
        """
        if not limits:
            return ()
        from trueval.comparison.gate import gate

        baseline = None if self.baseline is None else scores[paths.index(self.baseline)]
        return gate(scores[:runs], limits, baseline=baseline)


def conclude(results: Mapping[str, Any], checks: "Sequence[Check]") -> None:
    """Says what failed or was decided by bounds, writes the summary where GitHub wants one, leaves with 1 on a failure.

    Args:
        results: of the runs.
        checks: of every gate.

    Raises:
        typer.Exit: always.
    """
    # A pass that bounds decided is said too: whoever reads the log should know that it was not an exact value.
    for check in checks:
        if check.bounded or not check.passed:
            typer.echo(check.line, err=True)
    place = os.environ.get(SUMMARY_VARIABLE)
    if checks and place:
        with Path(place).open("a", encoding="utf-8") as file:  # other steps of the build write there too
            file.write(summary(results, checks))
    raise typer.Exit(0 if all(check.passed for check in checks) else 1)


def summary(results: Mapping[str, Any], checks: "Sequence[Check]") -> str:
    """Markdown for the summary page of a build: the gates, then the results.

    Args:
        results: of the runs.
        checks: of every gate.
    """
    from trueval.evaluation.views.formats import to_markdown

    failed = sum(not check.passed for check in checks)
    head = f"## trueval: {f'{failed} of {len(checks)} checks failed' if failed else f'all {len(checks)} checks passed'}"
    lines = ["| | run | measure | gate | found |", "|---|---|---|---|---|"]
    for check in checks:
        verdict = check.verdict if check.passed else f"**{check.verdict}**"
        cells = (verdict, check.run, check.measure or "all", f"`{check.option}`", _found(check))
        lines.append(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |")
    return "\n".join([head, "", *lines, "", to_markdown(results)])


def _found(check: "Check") -> str:
    """The number or interval that decided."""
    if check.name == "judged":
        return "nothing is judged"
    if check.name == "min":
        return fixed(check.value)
    if check.name == "max-range":
        return f"{fixed(check.value)} {interval(check.low, check.high)}"
    if check.low is None:
        return NOT_AVAILABLE
    return f"[{check.low:+.4f}, {check.high:+.4f}]{' bounded' if check.bounded else ''}"
