"""Gates of a build: limits that a run must keep, what they found, and the summary that GitHub shows."""

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import typer

from trueval.cli.gates import MaxRange, parse_max_range
from trueval.report.text import NOT_AVAILABLE, fixed, interval

if TYPE_CHECKING:
    from trueval.evaluation.scores import Scores
    from trueval.measures import Measure

SUMMARY_VARIABLE = "GITHUB_STEP_SUMMARY"


class Check(NamedTuple):
    """What a gate found for one run and measure.

    Attributes:
        passed: whether the gate lets it through.
        run: name of the run.
        measure: the measure's text form.
        gate: the option, as given.
        found: the number or interval that decided.
        line: the whole story in one sentence.
        bounded: whether the interval that decided is made of bounds, so that passing says little.
    """

    passed: bool
    run: str
    measure: str
    gate: str
    found: str
    line: str
    bounded: bool = False


class Minimum(NamedTuple):
    """The least expected mean that passes.

    Attributes:
        measure: the measure's text form.
        limit: on the scale of the JSON.
    """

    measure: str
    limit: float

    def checks(self, results: Mapping[str, Any]) -> Iterator[Check]:
        """Looks at every run.

        Args:
            results: what `trueval.evaluation.scores.results` returns.

        Yields:
            One check for each run; a mean that is not available fails.

        Example:
            >>> runs = [{"name": "bm25", "measures": {"RR": {"expected": 0.5}}}]
            >>> next(Minimum("RR", 0.6).checks({"runs": runs})).line
            'bm25: RR is 0.5, below --min RR=0.6.'
        """
        for run in results["runs"]:
            found, gate = run["measures"][self.measure]["expected"], f"--min {self.measure}={self.limit:g}"
            passed = found is not None and found >= self.limit
            line = f"{run['name']}: {self.measure} is {found:.6g}, " if found is not None else ""
            line += (
                f"{'not ' if passed else ''}below {gate}." if line else f"{self.measure} has no value, so {gate} fails."
            )
            yield Check(passed, run["name"], self.measure, gate, fixed(found), line)


class MaxDrop(NamedTuple):
    """The largest loss against a baseline that passes.

    A run fails when it lost more than the limit at every value of the joint interval, that of a realized difference,
    which holds the uncertainty of both queries and ties.

    Attributes:
        measure: the measure's text form, None for every measure.
        limit: on the scale of the JSON.
    """

    measure: str | None
    limit: float

    def checks(self, comparison: Mapping[str, Any]) -> Iterator[Check]:
        """Looks at every run that was compared with the baseline.

        Args:
            comparison: what `Comparison.to_dict` returns.

        Yields:
            One check for each run and measure; an interval that is not available fails. One whose ends are bounds
            is said to be so.
        """
        for row in comparison["differences"]:
            if self.measure in (None, row["measure"]):
                yield self._check(row, comparison["choices"]["level"])

    def _check(self, row: Mapping[str, Any], level: float) -> Check:
        gate = f"--max-drop {'' if self.measure is None else f'{self.measure}='}{self.limit:g}"
        ends = row["realized_interval"]
        what = f"{row['first']}: {row['measure']}"
        if ends[0] is None:
            line = f"{what} has no interval against {row['second']}, so {gate} cannot pass."
            return Check(False, row["first"], row["measure"], gate, NOT_AVAILABLE, line)
        higher = row["better"] == "higher"
        drop = -row["expected"] if higher else row["expected"]
        low, high = sorted(-end for end in ends) if higher else ends
        passed = low <= self.limit
        moved = f"{what} {'lost' if drop > 0 else 'gained'} {abs(drop):.6g} against {row['second']}"
        bounded = row["realized_bounded"]
        joint = f"the {level:.0%} interval of the loss [{low:.4f}, {high:.4f}]"
        joint += ", bounded over all orders of ties," if bounded else ""
        verdict = f"{joint} reaches {gate}, so it passes." if passed else f"{joint} is beyond {gate}."
        found = f"[{low:+.4f}, {high:+.4f}]{' bounded' if bounded else ''}"
        return Check(passed, row["first"], row["measure"], gate, found, f"{moved}; {verdict}", bounded)


def mismatch(scores: "Scores") -> str:
    """What of a run the judgments do not know at all, so that its numbers say nothing and no gate may pass.

    Args:
        scores: of the run.

    Returns:
        The end of a sentence, empty where something is judged.
    """
    if len(scores.missing_queries) >= len(scores.query_ids):
        return "no query of the run is judged and has a document in its list"
    return "no retrieved document is judged" if scores.matched == 0 else ""


class Gates(NamedTuple):
    """The gates of one evaluation.

    Attributes:
        ranges: of `--max-range`.
        minima: of `--min`.
        drops: of `--max-drop`.
    """

    ranges: tuple[MaxRange, ...]
    minima: tuple[Minimum, ...]
    drops: tuple[MaxDrop, ...]

    def check(
        self, results: Mapping[str, Any], scores: "Sequence[Scores]", baseline: "Scores | None"
    ) -> tuple[Check, ...]:
        """Runs every gate.

        Args:
            results: of the runs and the baseline.
            scores: of the runs.
            baseline: its scores; it may be one of the runs, and only then the other gates look at it.

        Returns:
            What each gate found; where a run has nothing that is judged, that alone, and it fails.
        """
        strangers = self._strangers([*scores, *([] if baseline is None else [baseline])])
        if strangers:
            return strangers
        names = {each.name for each in scores}
        own = {"runs": [run for run in results["runs"] if run["name"] in names]}
        found = [check for gate in self.ranges for check in _range_checks(gate, own)]
        found += [check for gate in self.minima for check in gate.checks(own)]
        if self.drops and baseline is not None:
            others = [each for each in scores if each is not baseline]
            named = {gate.measure for gate in self.drops}
            asked = [measure for measure in baseline.measures if None in named or str(measure) in named]
            comparison = _against(others, baseline, asked) if others else {"differences": []}
            found += [check for gate in self.drops for check in gate.checks(comparison)]
        return tuple(found)

    def _strangers(self, scores: "Sequence[Scores]") -> tuple[Check, ...]:
        """A failed check for each run whose ids the judgments do not know, where any gate is given at all."""
        if not (self.ranges or self.minima or self.drops):
            return ()
        reasons = {each.name: mismatch(each) for each in scores}
        return tuple(
            Check(False, name, "all", "any gate", why, f"{name}: {why}, so no gate can pass. Are the ids the same?")
            for name, why in reasons.items()
            if why
        )


def parse_gates(
    max_range: Sequence[str] | None,
    minimum: Sequence[str] | None,
    max_drop: Sequence[str] | None,
    baseline: str | None,
    measures: "Sequence[Measure]",
) -> Gates:
    """Reads the options of the gates.

    Args:
        max_range: values of `--max-range`.
        minimum: values of `--min`.
        max_drop: values of `--max-drop`.
        baseline: of `--baseline`.
        measures: those evaluated.

    Raises:
        typer.BadParameter: a value cannot be read, or `--baseline` and `--max-drop` do not come together.
    """
    if (baseline is None) != (not max_drop):
        given, other = ("--max-drop", "--baseline RUN") if baseline is None else ("--baseline", "--max-drop X")
        raise typer.BadParameter(
            f"needs {other}. `trueval compare` shows differences without a gate.", param_hint=given
        )
    names = [str(measure) for measure in measures]
    lower = [str(measure) for measure in measures if measure.better == "lower"]
    return Gates(
        parse_max_range(max_range or [], names),
        tuple(_minimum(text, names, lower) for text in minimum or []),
        tuple(MaxDrop(*_parse(text, names, "--max-drop")) for text in max_drop or []),
    )


def with_baseline(runs: Sequence[str], baseline: str | None) -> list[str]:
    """The paths to read: the runs, then the baseline where it is not one of them.

    Example:
        >>> with_baseline(["new.trec"], "old.trec")
        ['new.trec', 'old.trec']
    """
    return [*runs, *([baseline] if baseline is not None and baseline not in runs else [])]


def conclude(results: Mapping[str, Any], checks: Sequence[Check]) -> None:
    """Says what failed or was decided by bounds, writes the summary where GitHub wants one, leaves with 1 on a failure.

    Args:
        results: of the runs.
        checks: of every gate.

    Raises:
        typer.Exit: always.
    """
    for check in checks:
        if check.bounded or not check.passed:
            typer.echo(check.line, err=True)
    place = os.environ.get(SUMMARY_VARIABLE)
    if checks and place:
        with Path(place).open("a", encoding="utf-8") as file:
            file.write(summary(results, checks))
    raise typer.Exit(0 if all(check.passed for check in checks) else 1)


def summary(results: Mapping[str, Any], checks: Sequence[Check]) -> str:
    """Markdown for the summary page of a build: the gates, then the results.

    Args:
        results: of the runs.
        checks: of every gate.
    """
    from trueval.evaluation.views.formats import to_markdown

    failed = sum(not check.passed for check in checks)
    head = f"## trueval: {f'{failed} of {len(checks)} checks failed' if failed else f'all {len(checks)} checks passed'}"
    return "\n".join([head, "", *_pipes(checks), "", to_markdown(results)])


def _pipes(checks: Iterable[Check]) -> Iterator[str]:
    yield "| | run | measure | gate | found |"
    yield "|---|---|---|---|---|"
    for check in checks:
        cells = ("passed" if check.passed else "**failed**", check.run, check.measure, f"`{check.gate}`", check.found)
        yield f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"


def _range_checks(gate: MaxRange, results: Mapping[str, Any]) -> Iterator[Check]:
    text = f"--max-range {'' if gate.measure is None else f'{gate.measure}='}{gate.limit:g}"
    for run in results["runs"]:
        for name, value in run["measures"].items():
            if gate.measure in (None, name):
                line = next(gate.failures({"runs": [{"name": run["name"], "measures": {name: value}}]}), "")
                spread = interval(value["lowest"], value["highest"])
                yield Check(not line, run["name"], name, text, f"{fixed(value['range'])} {spread}", line)


def _against(scores: "Sequence[Scores]", baseline: "Scores", measures: "Sequence[Measure]") -> dict[str, Any]:
    from trueval.comparison.compare import compare_scores

    return compare_scores([each.of(measures) for each in (*scores, baseline)], baseline=baseline.name).to_dict()


def _minimum(text: str, names: Sequence[str], lower: Sequence[str]) -> Minimum:
    measure, limit = _parse(text, names, "--min")
    if measure is None:
        raise typer.BadParameter(f"must be MEASURE=X, such as nDCG@10=0.3. Got {text}.", param_hint="--min")
    if measure in lower:
        raise typer.BadParameter(f"is for measures of which more is better. Of {measure}, less is.", param_hint="--min")
    return Minimum(measure, limit)


def _parse(text: str, names: Sequence[str], option: str) -> tuple[str | None, float]:
    """A measure, None where the text names none, and a number of at least 0."""
    from trueval.measures import parse

    name, _, number = text.rpartition("=")
    try:
        limit = float(number)
    except ValueError:
        limit = -1.0
    if not 0 <= limit < float("inf"):
        form = "MEASURE=X" if option == "--min" else "X or MEASURE=X"
        raise typer.BadParameter(f"must be {form} with a number X >= 0. Got {text}.", param_hint=option)
    measure = str(parse(name)) if name else None
    if measure is not None and measure not in names:
        message = f"{measure} is not evaluated. Add it with -m, or name one of {' '.join(names)}."
        raise typer.BadParameter(message, param_hint=option)
    return measure, limit
