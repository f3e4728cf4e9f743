"""The page of an evaluation: values and their tie ranges, ties, queries, worst queries, policy, provenance."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from trueval.evaluation.views.corrected_page import corrected_block, summary_of
from trueval.evaluation.views.details import KIND as DETAILS_KIND
from trueval.evaluation.views.figures import dots_of
from trueval.evaluation.views.findings import MARKS, NOT_EXACT, WORDS, find, marks, sentences
from trueval.evaluation.views.queries import query_block, worst_block
from trueval.evaluation.views.verdicts import advice, badges, by_merit, summary
from trueval.report.generation import ids_of
from trueval.report.number_texts import format_value
from trueval.report.page_content import Block, Cell, Figure, PageColumn, Part, Table, Words, row_of, rows_of, statistic
from trueval.report.page_footer import policy_block, provenance_block
from trueval.report.plots import DOT_KEY, dot_plot, lead_figure, row_height
from trueval.report.result_directory import Directory, ResultFile, pointer
from trueval.report.tie_sizes import size_name, tie_figure

COLUMNS = (
    *(PageColumn("measure"), PageColumn("run")),
    *map(statistic, ("expected", "lowest", "highest", "range", "tie_broken", "bias", "sd")),
    *(PageColumn("queries", "/queries", numeric=True), PageColumn("marks")),
)
TIE_COLUMNS = (
    PageColumn("run", "/name"),
    PageColumn("queries", "/queries", numeric=True),
    PageColumn("tied documents", "/ties/tied_fraction", numeric=True, show=format_value),
    PageColumn("largest group", "/ties/largest_group", numeric=True),
    PageColumn("possible cuts", "/ties/cut_queries", numeric=True, strong=bool),
    PageColumn("missing queries", "/missing_queries", numeric=True, strong=bool),
    PageColumn("unjudged queries", "/unjudged_queries", numeric=True, strong=bool),
)
MOST_OPEN = 60  # rows of a table that is open from the beginning
MOST_NAMED = 12  # pairs of one kind that a finding names; of more it says how many
MEANINGS = (
    "Expected is the mean over all orders of documents with equal scores; lowest and highest are the values of the "
    "worst and the best order, range their difference. Tie-broken is the value under one tie order, that which a tool "
    "would print; bias is tie-broken minus expected, sd the standard deviation over the orders."
)


def build(file: ResultFile, directory: Directory) -> Part:
    """The part of the page for one evaluation.

    Args:
        file: the results.
        directory: folder that may hold the details of the same evaluation, and comparisons.

    Returns:
        Verdict, badges and plot of the first screen, advice, blocks and closing; blocks that need details are left out
        where there are none.
    """
    results = file.data
    # A folder may hold details of another evaluation, which an older run left there.
    details = next((each for each in directory.of(DETAILS_KIND) if belongs(each.data, results)), None)
    comparisons = [each.data for each in directory.of("compare") if about(each.data, results)]
    measures = [measure for measure in _measures(results) if by_merit(results, measure)]
    first = [run["name"] for run in by_merit(results, measures[0])] if measures else []
    optional = () if details is None else (query_block(details, first), worst_block(details))
    # A comparison says who leads and whether the queries separate it: the evaluation does not say the first half twice.
    boards = [board for each in comparisons for board in each["leaderboards"]]
    told = {board["measure"] for board in boards if board["ranking"] and board["ranking"][0]["groups"]}
    said = summary(file, told=told)
    matrix = () if comparisons else matrix_block(file, measures)
    return Part(
        verdict=said.verdict,
        summary=(*(() if comparisons else summary_of(file)), *said.summary),
        advice=(*notes_of_all(results), *advice(results, compared=bool(comparisons))),
        blocks=(
            *matrix,
            *corrected_block(file),
            value_block(file),
            tie_block(file, details),
            *(each for each in optional if each is not None),
        ),
        closing=(policy_block(file), provenance_block(file, details)),
        lead=lead_figures(results, measures, boards),
        badges=tuple(badges(file)),
        findings=(*said.findings, *((note,) for note in (*finding_notes(results), *notes_of_some(results)))),
    )


def notes_of_all(results: Mapping[str, Any]) -> tuple[Words, ...]:
    """Notes common to all runs, such as judgments that do not fit a threshold: they affect every number.

    Args:
        results: results of an evaluation.
    """
    first, *others = (run["notes"] for run in results["runs"]) if results["runs"] else ([],)
    return tuple((f"{note[:1].upper()}{note[1:]}",) for note in first if all(note in notes for notes in others))


def notes_of_some(results: Mapping[str, Any]) -> Iterator[str]:
    """Notes on some runs only, with their names.

    Args:
        results: results of an evaluation.
    """
    runs = results["runs"]
    for note in dict.fromkeys(note for run in runs for note in run["notes"]):
        names = [run["name"] for run in runs if note in run["notes"]]
        if len(names) < len(runs):
            yield f"{', '.join(names[:MOST_NAMED])}: {note}"


def about(comparison: Mapping[str, Any], results: Mapping[str, Any]) -> bool:
    """Whether a comparison has the runs and the policy of an evaluation.

    Args:
        comparison: the JSON of a comparison.
        results: results of an evaluation.
    """
    names = {run["name"] for run in results["runs"]}
    return set(comparison["runs"]) <= names and comparison["choices"]["policy"] == results["policy"]


def lead_figures(
    results: Mapping[str, Any], measures: Sequence[str], boards: Sequence[Mapping[str, Any]]
) -> tuple[Figure, ...]:
    """The first plot: the runs by the first measure, with brackets where a comparison has groups.

    Args:
        results: results of an evaluation.
        measures: measures with a value.
        boards: leaderboards of comparisons of these runs.
    """
    if not measures or len(results["runs"]) < 2:
        return ()
    groups = next((board["ranking"] for board in boards if board["measure"] == measures[0]), ())
    letters = {row["run"]: row["groups"] for row in groups}
    return (lead_figure("lead", measures[0], dots_of(results, measures[0]), letters),)


def matrix_block(file: ResultFile, measures: Sequence[str]) -> tuple[Block, ...]:
    """Runs by measures, best first by the first measure; nothing for a single run or measure.

    Args:
        file: the results.
        measures: measures with a value.
    """
    if len(measures) < 2 or len(file.data["runs"]) < 2:
        return ()
    columns = (
        PageColumn("run", "/name"),
        *(PageColumn(each, f"/measures/{each}/expected", True, format_value) for each in measures),
    )
    place = {id(run): index for index, run in enumerate(file.data["runs"])}
    rows = tuple(
        row_of(pointer("runs", place[id(run)]), columns, run) for run in by_merit(file.data, measures[0], missing=True)
    )
    table = Table("matrix", ("Expected values, best first by the first measure.",), file.name, columns, rows)
    return (Block("matrix-block", "Runs by measures", tables=(table,), place="decisions"),)


def value_block(file: ResultFile) -> Block:
    """Values with their tie ranges: one plot per measure and a table of all.

    Args:
        file: the results.
    """
    figures, table = tuple(_range_figures(file.data)), _value_table(file)
    return Block("values", "Values and tie ranges", words=((MEANINGS,),), figures=figures, tables=(table,))


def tie_block(file: ResultFile, details: ResultFile | None) -> Block:
    """How much of each run is tied, and the sizes of its tie groups."""
    rows = rows_of(file, TIE_COLUMNS, "runs")
    caption = ("Ties of each run, over the judged queries.",)
    tables = [Table("tie-counts", caption, file.name, TIE_COLUMNS, rows)]
    figures: tuple[Figure, ...] = ()
    if details is not None:
        histograms = {run["name"]: run["tie_groups"] for run in details.data["runs"]}
        description = "Share of the listed documents that are in tie groups of each size, for each run."
        figure = tie_figure("tie-groups", description, histograms)
        figures = () if figure is None else (figure,)
        tables.append(_group_table(details))
    words = (
        "Documents of one query with equal scores form a tie group. A possible cut is a list that may end inside such "
        "a group, so that documents with the same score may be missing from the file.",
    )
    return Block("ties", "Ties", words=(words,), figures=figures, tables=tuple(tables), place="details")


def belongs(details: Mapping[str, Any], results: Mapping[str, Any]) -> bool:
    """Whether details belong to results: same runs, measures and policy, written together.

    Args:
        details: content of details.json.
        results: content of results.json.
    """
    if details["policy"] != results["policy"] or len(details["runs"]) != len(results["runs"]):
        return False
    if ids_of([details]) != ids_of([results]):
        return False
    return all(
        mine["name"] == other["name"] and {row["measure"] for row in mine["per_query"]} <= other["measures"].keys()
        for mine, other in zip(details["runs"], results["runs"], strict=True)
    )


def _measures(results: Mapping[str, Any]) -> list[str]:
    return list(results["runs"][0]["measures"]) if results["runs"] else []


def _range_figures(results: Mapping[str, Any]) -> Iterator[Figure]:
    for index, measure in enumerate(_measures(results)):
        dots = dots_of(results, measure)
        if not dots:
            continue
        description = (
            f"{measure}: expected value, tie range and tie-broken value of each run; {dots[0].name} comes first."
        )
        yield Figure(f"range-{index}", measure, description, dot_plot(dots, row=row_height(len(dots))), key=DOT_KEY)


def _value_table(file: ResultFile) -> Table:
    results, findings, rows = file.data, find(file.data), []
    # Rows are sorted by merit; their source is the place in the file. By identity: two runs may be equal in all values.
    place = {id(run): index for index, run in enumerate(results["runs"])}
    for measure in _measures(results):
        for run in by_merit(results, measure, missing=True):
            value = run["measures"][measure]
            note = marks(findings, run["name"], measure) + ("" if value.get("exact", True) else "°")
            source = pointer("runs", place[id(run)], "measures", measure)
            rows.append(row_of(source, COLUMNS, value, measure, run["name"], note))
    bounds = any(not value.get("exact", True) for run in results["runs"] for value in run["measures"].values())
    # What the marks mean, and no more: which pairs they are about is among the findings under the verdict.
    shown = {mark for row in rows for mark in row.cells[-1].text}
    notes = tuple(f"{mark} {WORDS[kind]}." for kind, mark in MARKS.items() if mark in shown)
    notes += (NOT_EXACT,) if bounds else ()
    caption = ("Means over queries, best expected value first within each measure.",)
    return Table("means", caption, file.name, COLUMNS, tuple(rows), notes, folded=len(rows) > MOST_OPEN)


def finding_notes(results: Mapping[str, Any]) -> list[str]:
    """The findings about ties, one line per mark.

    Args:
        results: results of an evaluation.

    Returns:
        Lines that begin with their mark.
    """
    findings = find(results)
    notes = []
    for kind, mark in MARKS.items():
        mine = tuple(each for each in findings if each.kind == kind)
        if len(mine) > MOST_NAMED:
            notes.append(f"{mark} {len(mine)} pairs of runs {WORDS[kind]}; the table of means marks their runs.")
        elif mine:
            head, *rest = sentences(mine)
            notes.append(f"{head} {'; '.join(line.strip() for line in rest)}.")
    return notes


def _group_table(details: ResultFile) -> Table:
    columns = (
        PageColumn("run"),
        PageColumn("size of group", "/from", numeric=True),
        *(PageColumn(name, f"/{name}", numeric=True) for name in ("groups", "documents")),
        statistic("share", "share of documents"),
    )
    rows = []
    for index, run in enumerate(details.data["runs"]):
        for place, bin_ in enumerate(run["tie_groups"]):
            row = row_of(pointer("runs", index, "tie_groups", place), columns, bin_, run["name"])
            # A bin sorts by its least size and shows both ends.
            sizes = Cell(size_name(bin_), bin_["from"])
            rows.append(row._replace(cells=(row.cells[0], sizes, *row.cells[2:])))
    caption = ("Tie groups by size; a group of 1 is a document without a tie.",)
    return Table("group-sizes", caption, details.name, columns, tuple(rows), folded=True)
