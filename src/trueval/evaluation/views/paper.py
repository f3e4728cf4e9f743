"""Output for papers: figures, and one table of runs by measures with marks of significance."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TypedDict, cast

from trueval.evaluation.details_result import EvaluationDetails
from trueval.evaluation.evaluation_result import Evaluation
from trueval.evaluation.views.figures import draw_tie_groups, draw_tie_ranges
from trueval.evaluation.views.queries import belongs
from trueval.evaluation.views.verdicts import by_merit
from trueval.report import formats
from trueval.report.formats import PREAMBLE, pipes, tabular
from trueval.report.number_texts import format_value
from trueval.report.result_directory import Directory, ResultFile
from trueval.report.view_texts import plain_value


class _Choices(TypedDict):
    policy: Mapping[str, object]
    test: str
    correction: str
    level: float


class _Ranked(TypedDict):
    run: str
    groups: str


class _Leaderboard(TypedDict):
    measure: str
    ranking: Sequence[_Ranked]


class _Difference(TypedDict):
    measure: str
    first: str
    separated: bool


class ComparisonEntry(TypedDict):
    """The JSON of a comparison, a room above this one, as far as the table reads it."""

    runs: Sequence[str]
    baseline: str | None
    choices: _Choices
    leaderboards: Sequence[_Leaderboard]
    differences: Sequence[_Difference]


def write_paper(file: ResultFile, directory: Directory, folder: Path) -> tuple[Path, ...]:
    """Write figures of tie ranges and tie groups, and the table as LaTeX and Markdown.

    Args:
        file: results of an evaluation.
        directory: folder that may hold its details, and a comparison of its runs.
        folder: existing folder to write to.

    Returns:
        What was written; nothing where the evaluation holds no run.

    Raises:
        MissingExtraError: Altair or vl-convert is not installed.
    """
    result = Evaluation.from_dict(file.data, str(directory.path / file.name))
    if not result.runs:
        return ()
    prefix = "" if file.name == "results.json" else f"{Path(file.name).stem}-"
    written = [*draw_tie_ranges(result, folder / f"{prefix}tie-ranges")]
    details = (each for each in directory.of(EvaluationDetails.KIND) if belongs(each, file))
    runs = next((EvaluationDetails.from_dict(each.data, each.name).runs for each in details), ())
    if any(len(run.tie_groups) > 1 for run in runs):  # the first bin is that of documents without a tie
        written += draw_tie_groups(runs, folder / f"{prefix}tie-groups")
    # A folder may hold comparisons of other runs too, or under other choices: the first that fits gives the marks.
    names = {run.name for run in result.runs}
    comparisons = (cast("ComparisonEntry", each.data) for each in directory.of("compare"))
    fitting = (each for each in comparisons if set(each["runs"]) <= names)
    same_policy = (each for each in fitting if each["choices"]["policy"] == result.policy)
    comparison = next(same_policy, None)
    for suffix, form in (("tex", latex), ("md", markdown)):
        path = folder / f"{prefix}table.{suffix}"
        path.write_text(form(result, comparison), encoding="utf-8", newline="\n")
        written.append(path)
    return tuple(written)


def latex(result: Evaluation, comparison: ComparisonEntry | None = None) -> str:
    """The table as LaTeX; a comment names the package that it needs.

    Args:
        result: an evaluation.
        comparison: comparison of the same runs; None for a table without marks.

    Returns:
        A tabular; the best value of a measure is bold, runs that share a superscript are not separated.
    """
    best, raised = r"\textbf{{{}}}".format, r"$^{{\mathrm{{{}}}}}$".format
    head, *rows = _rows(result, comparison, formats.latex, best, raised)
    return tabular(head, rows, "l" * len(head), notes=[*_notes(result, comparison), PREAMBLE])


def markdown(result: Evaluation, comparison: ComparisonEntry | None = None) -> str:
    """The table as Markdown.

    Args:
        result: an evaluation.
        comparison: comparison of the same runs; None for a table without marks.

    Returns:
        A pipe table and its notes.
    """
    head, *rows = _rows(result, comparison, formats.markdown, "**{}**".format, "<sup>{}</sup>".format)
    notes = "".join(f"{note}\n" for note in _notes(result, comparison))
    return f"{pipes(head, rows, words=1, escape=str)}\n{notes}"


def superscripts(comparison: ComparisonEntry) -> dict[tuple[str, str], str]:
    """The group letters of a comparison; against a baseline, a star where separated.

    Args:
        comparison: the JSON of a comparison.

    Returns:
        (measure, run) → what is raised beside its value; "" for nothing.
    """
    if comparison["baseline"] is None:
        boards = comparison["leaderboards"]
        return {(board["measure"], row["run"]): row["groups"] for board in boards for row in board["ranking"]}
    return {(each["measure"], each["first"]): "*" * each["separated"] for each in comparison["differences"]}


def _rows(
    result: Evaluation,
    comparison: ComparisonEntry | None,
    escape: Callable[[str], str],
    best: Callable[[str], str],
    raised: Callable[[str], str],
) -> Iterator[list[str]]:
    """The headings, then one row per run: its name, and its values with group letters."""
    yield ["run", *map(escape, result.runs[0].measures)]
    marks = {} if comparison is None else superscripts(comparison)
    for run in result.runs:
        row = [escape(run.name)]
        for measure, mean in run.measures.items():
            leads = any(first.measures[measure].expected == mean.expected for first in by_merit(result, measure)[:1])
            text = escape(format_value(plain_value(mean.expected)))
            mark = marks.get((measure, run.name), "")
            row.append((best(text) if leads else text) + (raised(mark) if mark else ""))
        yield row


def _notes(result: Evaluation, comparison: ComparisonEntry | None) -> Iterator[str]:
    yield "Expected values over all orders of equal scores; bold: best of its measure."
    ranges = (mean.range for run in result.runs for mean in run.measures.values())
    widest = max((each for each in ranges if each == each), default=0.0)
    yield f"The widest tie range of a value is {format_value(widest)}."
    if comparison is not None:
        choices, baseline = comparison["choices"], comparison["baseline"]
        shared = "runs that share a letter are not separated" if baseline is None else f"* separated from {baseline}"
        yield (
            f"Superscripts: {shared}, by the {choices['test']} test over queries, adjusted for the pairs "
            f"({choices['correction']}) at level {choices['level']:g}, and the orders of ties."
        )
