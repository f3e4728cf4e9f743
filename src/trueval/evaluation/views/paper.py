"""What goes into a paper: figures, and one table of runs by measures with marks of significance."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from trueval.evaluation.views.details import KIND as DETAILS_KIND
from trueval.evaluation.views.figures import draw_tie_groups, draw_tie_ranges
from trueval.evaluation.views.page import belongs
from trueval.evaluation.views.verdicts import by_merit
from trueval.report import formats
from trueval.report.directory import Directory, ResultFile
from trueval.report.formats import pipes, tabular
from trueval.report.text import fixed


class Entry(NamedTuple):
    """A value of the table.

    Attributes:
        text: the expected value.
        better_than: letters of the runs that it is separated from and better than.
        best: whether no run has a better expected value.
    """

    text: str
    better_than: str
    best: bool


def write_paper(file: ResultFile, directory: Directory, folder: Path) -> tuple[Path, ...]:
    """Writes tie-range and tie-group figures, and the table as LaTeX and Markdown.

    Args:
        file: the results of an evaluation.
        directory: may hold its details, and a comparison of its runs.
        folder: exists.

    Returns:
        What was written; nothing where the evaluation holds no run.

    Raises:
        MissingExtraError: matplotlib is not installed.
    """
    if not file.data["runs"]:
        return ()
    prefix = "" if file.name == "results.json" else f"{Path(file.name).stem}-"
    written = [*draw_tie_ranges(file.data, folder / f"{prefix}tie-ranges")]
    written += _groups(directory, file, folder / f"{prefix}tie-groups")
    comparison = _comparison(directory, file)
    for suffix, form in (("tex", latex), ("md", markdown)):
        path = folder / f"{prefix}table.{suffix}"
        path.write_text(form(file.data, comparison), encoding="utf-8", newline="\n")
        written.append(path)
    return tuple(written)


def latex(results: Mapping[str, Any], comparison: Mapping[str, Any] | None = None) -> str:
    """The table as LaTeX; it needs the package booktabs.

    Args:
        results: of an evaluation.
        comparison: of the same runs; None for a table without marks.

    Returns:
        A tabular; the best value of a measure is bold, superscripts name the runs that it is separated from.
    """

    def cell(entry: Entry) -> str:
        text = formats.latex(entry.text)
        value = rf"\textbf{{{text}}}" if entry.best else text
        return value + (rf"$^{{\mathrm{{{entry.better_than}}}}}$" if entry.better_than else "")

    measures = list(results["runs"][0]["measures"])
    rows = ([letter, formats.latex(run), *map(cell, row)] for letter, run, row in _rows(results, comparison))
    head = ["", "run", *map(formats.latex, measures)]
    return tabular(head, rows, "l" * len(head), notes=_notes(results, comparison))


def markdown(results: Mapping[str, Any], comparison: Mapping[str, Any] | None = None) -> str:
    """The table as Markdown.

    Args:
        results: of an evaluation.
        comparison: of the same runs; None for a table without marks.

    Returns:
        A pipe table and its notes.
    """

    def cell(entry: Entry) -> str:
        value = f"**{entry.text}**" if entry.best else entry.text
        return value + (f"<sup>{entry.better_than}</sup>" if entry.better_than else "")

    head = ["", "run", *map(formats.markdown, results["runs"][0]["measures"])]
    rows = ([letter, formats.markdown(run), *map(cell, row)] for letter, run, row in _rows(results, comparison))
    notes = "".join(f"{note}\n" for note in _notes(results, comparison))
    return f"{pipes(head, rows, words=2, escape=str)}\n{notes}"


def significance(comparison: Mapping[str, Any]) -> dict[tuple[str, str], list[str]]:
    """Which runs each run is better than, where the queries separate the two.

    Args:
        comparison: the JSON of a comparison.

    Returns:
        (measure, run) → names of the runs below it.
    """
    found: dict[tuple[str, str], list[str]] = {}
    for each in comparison["differences"]:
        if not each["separated"]:
            continue
        gain = each["expected"] if each["better"] == "higher" else -each["expected"]
        pair = (each["first"], each["second"]) if gain > 0 else (each["second"], each["first"])
        found.setdefault((each["measure"], pair[0]), []).append(pair[1])
    return found


def _rows(
    results: Mapping[str, Any], comparison: Mapping[str, Any] | None
) -> Iterator[tuple[str, str, Sequence[Entry]]]:
    names = [run["name"] for run in results["runs"]]
    letters = {name: _letter(index) for index, name in enumerate(names)}
    beaten = {} if comparison is None else significance(comparison)
    for run in results["runs"]:
        row = []
        for measure, value in run["measures"].items():
            below = sorted(beaten.get((measure, run["name"]), ()), key=names.index)
            best = by_merit(results, measure)[:1]
            leads = bool(best) and best[0]["measures"][measure]["expected"] == value["expected"]
            row.append(Entry(fixed(value["expected"]), "".join(letters[name] for name in below), leads))
        yield letters[run["name"]], run["name"], row


def _letter(index: int) -> str:
    """The letter of a run: a to z, then a1 and so on.

    >>> _letter(0), _letter(27)
    ('a', 'b1')
    """
    return chr(ord("a") + index % 26) + (str(index // 26) if index >= 26 else "")


def _notes(results: Mapping[str, Any], comparison: Mapping[str, Any] | None) -> Iterator[str]:
    yield "Expected values over all orders of equal scores; bold: best of its measure."
    widest = max((v["range"] or 0.0 for run in results["runs"] for v in run["measures"].values()), default=0.0)
    yield f"The widest tie range of a value is {fixed(widest)}."
    if comparison is not None:
        choices = comparison["choices"]
        yield (
            f"Superscripts: better than those runs, by the {choices['test']} test over queries with Holm's adjustment "
            f"at level {choices['level']:g}, and not undecidable under ties."
        )


def _groups(directory: Directory, file: ResultFile, stem: Path) -> Sequence[Path]:
    fitting = (details.data["runs"] for details in directory.of(DETAILS_KIND) if belongs(details.data, file.data))
    runs: list[dict[str, Any]] = next(fitting, [])
    return draw_tie_groups(runs, stem) if any(len(run["tie_groups"]) > 1 for run in runs) else ()


def _comparison(directory: Directory, file: ResultFile) -> Mapping[str, Any] | None:
    """The first comparison that is about runs of the evaluation alone, under the same policy."""
    names = {run["name"] for run in file.data["runs"]}
    fitting = (
        each.data
        for each in directory.of("compare")
        if set(each.data["runs"]) <= names and each.data["choices"]["policy"] == file.data["policy"]
    )
    return next(fitting, None)
