"""Gates of a build: the options, the report of their checks, and the summary that GitHub shows."""

import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, NamedTuple

import typer

from trueval.cli.options import BudgetResult, ClusterFile, Intervals
from trueval.cli.paths import find_run, with_baseline
from trueval.cli.progress import progress

if TYPE_CHECKING:
    from trueval.comparison.gate.gate import Check, Limit
    from trueval.comparison.gate.self_test import SelfTest
    from trueval.comparison.labels.correction import CorrectedResults
    from trueval.evaluation.scores import Scores
    from trueval.measures import Measure
    from trueval.policy.policy import Policy
    from trueval.report.kinds import Kind

SUMMARY_VARIABLE = "GITHUB_STEP_SUMMARY"
BUILD_FORMS = ("junit", "github")


class GateFindings(NamedTuple):
    """The findings of the gates.

    Attributes:
        checks: all checks.
        self_test: None if not requested.
    """

    checks: "tuple[Check, ...]" = ()
    self_test: "SelfTest | None" = None

    def write(self, form: str) -> None:
        """Write the checks to stdout as a build server reads them."""
        from trueval.comparison.views.builds import FORMS

        sys.stdout.write(FORMS[form](self.checks))

    def add_to(self, results: Mapping[str, Any]) -> dict[str, Any]:
        """The JSON of an evaluation with the checks of each run, and the self-test.

        Args:
            results: results of the runs.
        """
        runs = [
            {**run, "checks": [_record_baseline(check.to_dict()) for check in self.checks if check.run == run["name"]]}
            for run in results["runs"]
        ]
        tested = {} if self.self_test is None else {"self_test": self.self_test.to_dict()}
        return {**results, "runs": runs, **tested}


def _record_baseline(check: dict[str, Any]) -> dict[str, object]:
    """A check with the folders stripped from the path of its baseline."""
    from trueval.report.provenance import strip_folders

    return (
        {**check, "baseline": check["baseline"] and strip_folders(check["baseline"])} if "baseline" in check else check
    )


@dataclass(frozen=True, eq=False, repr=False)
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
        typer.Option(
            "--min",
            metavar="M=X",
            help="Exit with 1 when the expected mean of measure M is below X; with --labels corrected or people, when "
            "the whole interval is.",
        ),
    ] = None
    max_drop: Annotated[
        list[str] | None,
        typer.Option(
            metavar="X",
            help="Exit with 1 when a run is worse than the baseline by more than X at every value of the 95% interval "
            "that joins queries and ties, of all such checks together; nDCG@10=X for one measure.",
        ),
    ] = None
    baseline: Annotated[
        str | None,
        typer.Option(
            metavar="RUN",
            help="What --max-drop compares every other run with: a run file, the name of a run in tables, or a folder "
            "that --out wrote (DIR#RUN for one run of several).",
        ),
    ] = None
    min_queries: Annotated[
        str | None,
        typer.Option(
            metavar="N",
            help="Exit with 1 when a run has fewer than N judged queries: all, a number, or a share such as 95%. "
            "Default: all, unless a rule for missing queries is given, and 6 with something to find.",
        ),
    ] = None
    when_unclear: Annotated[
        Literal["pass", "fail"],
        typer.Option(
            help="What a check does that an interval does not decide, of --max-drop or of people's labels; it is said "
            "in any case."
        ),
    ] = "pass"
    when_same: Annotated[
        Literal["pass", "fail"],
        typer.Option(
            help="What a run does that holds the same rows as its baseline: it was compared with itself, or the system "
            "has not changed."
        ),
    ] = "fail"
    self_test: Annotated[
        bool,
        typer.Option(
            "--self-test",
            help="Swap run and baseline at random 1,000 times, query by query, and say how often --max-drop gives a "
            "false alarm. Takes about .2 s a check on one processor for each 200 queries.",
        ),
    ] = False

    intervals: Intervals = "bootstrap"
    clusters: ClusterFile = None
    budget: BudgetResult = None

    def paths(self, runs: Sequence[str]) -> list[str]:
        """The files to read: the runs, then the baseline if it is a separate file.

        Raises:
            InputError: the baseline is neither a run, nor a file, nor a folder of results.
        """
        return with_baseline(runs, self._file(runs))

    def _file(self, runs: Sequence[str]) -> str | None:
        """The baseline as a file to read, possibly one of the runs; None without a baseline, or if it is a folder."""
        if self.baseline is None:
            return None
        from trueval.errors import InputError, nearest
        from trueval.evaluation.stored_scores import is_stored
        from trueval.files.display_names import name_files, path_of

        found = find_run(self.baseline, runs)
        path = Path(path_of(found))
        if found in runs or str(path) == "-" or (path.exists() and not path.is_dir()):  # pipes are files, too
            return found
        if is_stored(self.baseline):
            return None
        names = [file.name for file in name_files(runs)]
        raise InputError(
            f"--baseline: {self.baseline} must be a run file, a folder that --out wrote, or one of the runs: "
            f"{', '.join(names)}.{nearest(self.baseline, names)}"
        )

    def files(self) -> dict[str, str | None]:
        """Role → file read besides the runs: folder of a baseline, clusters; None if there is none."""
        found = {"baseline": None, "clusters": self.clusters}
        if self.baseline is None:
            return found
        from trueval.evaluation.stored_scores import folder_of, is_stored

        return found | {"baseline": folder_of(self.baseline) if is_stored(self.baseline) else None}

    def limits(
        self, measures: "Sequence[Measure]", policy: "Policy", labels: str = "judge", form: str = "table"
    ) -> "tuple[Limit, ...]":
        """The limits as data.

        Args:
            measures: those evaluated.
            policy: behind them.
            labels: whose labels gates look at.
            form: what is printed.

        Raises:
            PolicyError: a limit cannot be read, `--baseline` and `--max-drop` do not come together, or an option does
                not go with the labels.
            typer.BadParameter: checks are to be printed, and there is no limit.
        """
        fewest = [] if self.min_queries is None else [self.min_queries]
        given = (
            ("max-range", self.max_range),
            ("min", self.minimum),
            ("max-drop", self.max_drop),
            ("min-queries", fewest),
        )
        of_intervals = labels in ("corrected", "people") and self.minimum  # then --min can be undecided too
        of_drops = [
            f"--{name}"
            for name, chosen in self._of_drops().items()
            if chosen and not (of_intervals and name == "when-unclear")
        ]
        if not of_drops and not any(texts for _, texts in given):
            if form in BUILD_FORMS:
                raise typer.BadParameter(
                    f"{form} shows the checks of a gate, and there is none. Add a limit, such as --max-range 0.02.",
                    param_hint="--format",
                )
            return ()  # before the comparison behind the gate is imported
        from trueval.comparison.limits import check_limits, name_measures, parse_limit
        from trueval.errors import PolicyError

        parsed = [parse_limit(name, text) for name, texts in given for text in texts or ()]
        limits = name_measures(parsed, measures, policy)
        if of_drops and not self.max_drop:
            raise PolicyError(f"{of_drops[0]} needs --max-drop X. `trueval compare` shows differences without a gate.")
        check_limits(limits, measures, baseline=self.baseline is not None)
        if labels == "corrected":
            self._refuse_with_corrected()
        return limits

    def _refuse_with_corrected(self) -> None:
        """Refuse options that a gate on corrected values does not support.

        Raises:
            PolicyError: such an option is given.
        """
        from trueval.errors import PolicyError
        from trueval.evaluation.stored_scores import is_stored

        if self.baseline is not None and is_stored(self.baseline):
            raise PolicyError(
                f"--labels corrected needs the lists of the baseline, and {self.baseline} holds values. Name its run "
                "file with --baseline."
            )
        given = {
            "--clusters": self.clusters is not None,
            "--intervals": self.intervals != "bootstrap",
            "--budget": self.budget is not None,
            "--self-test": self.self_test,
        }
        if odd := next((name for name, there in given.items() if there), None):
            raise PolicyError(f"{odd} does not go with --labels corrected, whose intervals count queries one by one.")

    def baseline_of(self, scores: "Sequence[Scores]", runs: Sequence[str], paths: Sequence[str]) -> str | None:
        """Name of the baseline run; None without a baseline, or if it is a folder.

        Args:
            scores: scores of the files read.
            runs: runs of the command line.
            paths: files of the scores.
        """
        file = self._file(runs)
        return None if file is None else scores[paths.index(file)].name

    def _of_drops(self) -> dict[str, bool]:
        """Name of each option that only --max-drop uses → whether it was chosen."""
        return {
            "baseline": self.baseline is not None,
            "self-test": self.self_test,
            "clusters": self.clusters is not None,
            "intervals": self.intervals != "bootstrap",
            "budget": self.budget is not None,
            "when-unclear": self.when_unclear != "pass",
            "when-same": self.when_same != "fail",
        }

    def check(
        self,
        scores: "Sequence[Scores]",
        runs: int,
        paths: Sequence[str],
        limits: "Sequence[Limit]",
        *,
        missing: str | None,
        corrected: "CorrectedResults | None" = None,
        labels: str = "judge",
    ) -> GateFindings:
        """Check runs against their limits.

        Args:
            scores: scores of the runs, followed by those of a baseline in a separate file, which is not checked itself.
            runs: number of runs.
            paths: files of the scores.
            limits: limits of the runs.
            missing: chosen rule for judged queries that a run lacks; None if none was chosen.
            corrected: values corrected by people's labels; None without them.
            labels: whose labels the checks use.

        Raises:
            InputError: the baseline does not exist, or a query has no cluster.
        """
        if not limits:
            return GateFindings()
        from trueval.comparison.gate.gate import gate
        from trueval.comparison.resampling.clusters import Clusters

        file = self._file(paths[:runs])
        baseline = self.baseline if file is None else scores[paths.index(file)]
        shared: dict[str, Any] = {
            "baseline": baseline,
            "missing": missing,
            "clusters": Clusters.of(self.clusters),
            "intervals": self.intervals,
        }
        when: dict[str, Any] = {
            "when_unclear": self.when_unclear,
            "when_same": self.when_same,
            "budget": self.budget,
        }
        checks = gate(scores[:runs], limits, **when, **shared, corrected=corrected, labels=labels)
        names = {check.name for check in checks}
        told = "max-drop" in names and not names & {"judged", "comparable"}
        return GateFindings(checks, _self_test(scores[:runs], limits, shared) if self.self_test and told else None)


def _self_test(scores: "Sequence[Scores]", limits: "Sequence[Limit]", shared: dict[str, Any]) -> "SelfTest":
    from trueval.comparison.gate.self_test import WORLDS, parts, self_test
    from trueval.comparison.limits import MaxDrop

    drops = [limit for limit in limits if isinstance(limit, MaxDrop)]
    named = {str(measure) for measure in scores[0].measures if {None, str(measure)} & {each.measure for each in drops}}
    with progress(parts(WORLDS, len(named) * len(scores)), verb="swapping:") as begin:
        return self_test(scores, drops, begin=begin, **shared)


@contextmanager
def conclude_with_checks(
    results: Mapping[str, object], gated: GateFindings, kind: "Kind | None" = None
) -> Iterator[None]:
    """After the results, report every check, write the summary for GitHub, and exit.

    The checks are reported even if the results cannot be printed because stdout is closed.

    Args:
        results: results of the runs.
        gated: findings of the gates.
        kind: of the results; None for those of `trueval evaluate`.

    Raises:
        typer.Exit: with 1 on a failure, or else 0, unless printing failed.
    """
    printed = False
    try:
        yield
        printed = True
    finally:
        if gated.checks:
            _say(gated)
        place = os.environ.get(SUMMARY_VARIABLE)
        if gated.checks and place:
            with Path(place).open("a", encoding="utf-8") as file:  # other steps of the build write there too
                file.write(summary(results, gated, kind))
        if printed:
            raise typer.Exit(0 if all(check.passed for check in gated.checks) else 1)


def summary(results: Mapping[str, object], gated: GateFindings, kind: "Kind | None" = None) -> str:
    """Markdown for the summary page of a build: the gates, then the results.

    Args:
        results: results of the runs.
        gated: findings of the gates.
        kind: as in `conclude_with_checks`.
    """
    from trueval.comparison.views.checks import view
    from trueval.evaluation.views.kind import EVALUATE
    from trueval.report.view_texts import as_markdown

    checks = as_markdown(view(gated.checks, gated.self_test))
    return f"## trueval\n\n{checks}\n{(kind or EVALUATE).write(results, 'markdown')}"


def _say(gated: GateFindings) -> None:
    """Print to stderr in every format, since stdout is for the results."""
    from rich.console import Console

    from trueval.comparison.views.checks import view
    from trueval.report.view_texts import in_terminal

    console = Console(stderr=True, highlight=False)
    console.print()
    console.print(in_terminal(view(gated.checks, gated.self_test)), soft_wrap=True)
