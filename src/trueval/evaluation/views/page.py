"""The page of an evaluation: values and their tie ranges, ties, queries, worst queries, policy, provenance."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from trueval.evaluation.views.details import KIND as DETAILS_KIND
from trueval.evaluation.views.findings import NOT_EXACT, find, marks, sentences
from trueval.evaluation.views.queries import PLOTTED, query_block, worst_block
from trueval.evaluation.views.verdicts import advice, by_merit, summary
from trueval.report.closing import policy_block, provenance_block
from trueval.report.content import Block, Cell, Column, Figure, Part, Row, Table
from trueval.report.directory import Directory, ResultFile, pointer
from trueval.report.text import fixed, signed
from trueval.report.tie_sizes import size_name, tie_figure

STATISTICS = ("expected", "lowest", "highest", "range", "oblivious", "bias", "sd")
MEANINGS = (
    "Expected is the mean over all orders of documents with equal scores; lowest and highest are the values of the "
    "worst and the best order, range their difference. Oblivious is the value under one tie order, the one that a tool "
    "would print; bias is oblivious minus expected, sd the standard deviation over the orders."
)
LEAST_HEIGHT = 140  # CSS pixels under which Plotly finds no room for its axes
ROW_HEIGHT, FRAME_HEIGHT = 30, 50  # CSS pixels of a run in a tie-range plot, and of the plot around the runs


def build(file: ResultFile, directory: Directory) -> Part:
    """The part of the page for one evaluation.

    Args:
        file: the results.
        directory: may hold the details of the same evaluation.

    Returns:
        Summary, advice, blocks and closing; blocks that need details are left out where there are none.
    """
    results = file.data
    details = _details(file, directory)
    optional = (None, None) if details is None else (query_block(details), worst_block(details))
    blocks = (value_block(file), tie_block(file, details), *(block for block in optional if block is not None))
    return Part(
        tuple(summary(file, told=_told(directory))),
        tuple(advice(results, compared=bool(directory.of("compare")))),
        blocks,
        (policy_block(file), provenance_block(file, details)),
    )


def value_block(file: ResultFile) -> Block:
    """Means with their tie ranges: a plot for each measure and one table."""
    results = file.data
    return Block(
        "values",
        "Values and tie ranges",
        words=((MEANINGS,),),
        figures=tuple(_range_figures(results)),
        tables=(_value_table(file),),
    )


def tie_block(file: ResultFile, details: ResultFile | None) -> Block:
    """How much each run ties, and how large its groups are."""
    tables = [_tie_table(file)]
    figures: tuple[Figure, ...] = ()
    if details is not None:
        figures = (_group_figure(details),)
        tables.append(_group_table(details))
    words = (
        "Documents of one query with equal scores form a tie group. A possible cut is a list that may end inside such "
        "a group, so that documents with the same score may be missing from the file.",
    )
    return Block("ties", "Ties", words=(words,), figures=figures, tables=tuple(tables))


def _told(directory: Directory) -> frozenset[str]:
    """Measures whose leader a comparison names."""
    boards = (board for each in directory.of("compare") for board in each.data["leaderboards"])
    return frozenset(board["measure"] for board in boards if board["ranking"] and board["ranking"][0]["groups"])


def _details(file: ResultFile, directory: Directory) -> ResultFile | None:
    """The details that belong to the results: those of the same runs, measures and policy."""
    return next((each for each in directory.of(DETAILS_KIND) if belongs(each.data, file.data)), None)


def belongs(details: Mapping[str, Any], results: Mapping[str, Any]) -> bool:
    """Whether details are about the same runs, measures and policy as some results.

    Args:
        details: content of details.json.
        results: content of results.json.
    """
    if details["policy"] != results["policy"] or len(details["runs"]) != len(results["runs"]):
        return False
    return all(
        mine["name"] == other["name"] and {row["measure"] for row in mine["per_query"]} <= other["measures"].keys()
        for mine, other in zip(details["runs"], results["runs"], strict=True)
    )


def _range_figures(results: Mapping[str, Any]) -> Iterator[Figure]:
    measures = list(results["runs"][0]["measures"]) if results["runs"] else []
    for index, measure in enumerate(measures):
        ranked = by_merit(results, measure)
        if not ranked:
            continue
        values = {name: [run["measures"][measure][name] for run in ranked] for name in PLOTTED}
        data = {"runs": [run["name"] for run in ranked], **values}
        first = ranked[0]["name"]
        description = f"{measure}: expected value, tie range and oblivious value of each run; {first} comes first."
        height = max(LEAST_HEIGHT, FRAME_HEIGHT + ROW_HEIGHT * len(ranked))
        yield Figure(f"range-{index}", measure, description, "tieRange", data, height)


def _value_table(file: ResultFile) -> Table:
    results = file.data
    columns = (
        Column("measure"),
        Column("run"),
        *(Column(name, f"/{name}", numeric=True) for name in (*STATISTICS, "queries")),
        Column("marks"),
    )
    bounds = any(not value.get("exact", True) for run in results["runs"] for value in run["measures"].values())
    notes = finding_notes(results)
    notes += [NOT_EXACT] if bounds else []
    caption = ("Means over queries, best expected value first within each measure.",)
    return Table("means", caption, file.name, columns, tuple(_value_rows(results)), tuple(notes))


def finding_notes(results: Mapping[str, Any]) -> list[str]:
    """The findings about ties, one line for each mark.

    Args:
        results: of an evaluation.

    Returns:
        Lines that begin with their mark.
    """
    notes: list[str] = []
    for line in sentences(find(results)):
        if line.startswith(" "):
            notes[-1] += f"{' ' if notes[-1].endswith(':') else '; '}{line.strip()}"
        else:
            notes.append(line)
    return [f"{note}." for note in notes]


def _value_rows(results: Mapping[str, Any]) -> Iterator[Row]:
    findings = find(results)
    place = {id(run): index for index, run in enumerate(results["runs"])}
    for measure in results["runs"][0]["measures"] if results["runs"] else ():
        for run in by_merit(results, measure, missing=True):
            value = run["measures"][measure]
            note = marks(findings, run["name"], measure) + ("" if value.get("exact", True) else "°")
            cells = (
                Cell(measure, measure),
                Cell(run["name"], run["name"]),
                *(_statistic(name, value[name]) for name in STATISTICS),
                Cell(str(value["queries"]), value["queries"]),
                Cell(note, note or None),
            )
            yield Row(pointer("runs", place[id(run)], "measures", measure), cells)


def _statistic(name: str, value: float | None) -> Cell:
    text = signed(value) if name == "bias" else fixed(value)
    return Cell(text, value, strong=name == "expected")


def _tie_table(file: ResultFile) -> Table:
    columns = (
        Column("run", "/name"),
        Column("queries", "/queries", numeric=True),
        Column("tied documents", "/ties/tied_fraction", numeric=True),
        Column("largest group", "/ties/largest_group", numeric=True),
        Column("possible cuts", "/ties/cut_queries", numeric=True),
        Column("missing queries", "/missing_queries", numeric=True),
        Column("unjudged queries", "/unjudged_queries", numeric=True),
    )
    rows = tuple(Row(pointer("runs", index), _tie_cells(run)) for index, run in enumerate(file.data["runs"]))
    return Table("tie-counts", ("Ties of each run, over the judged queries.",), file.name, columns, rows)


def _tie_cells(run: Mapping[str, Any]) -> tuple[Cell, ...]:
    ties = run["ties"]
    counts = [len(ties["cut_queries"]), len(run["missing_queries"]), len(run["unjudged_queries"])]
    return (
        Cell(run["name"], run["name"]),
        Cell(str(run["queries"]), run["queries"]),
        Cell(fixed(ties["tied_fraction"]), ties["tied_fraction"]),
        Cell(str(ties["largest_group"]), ties["largest_group"]),
        *(Cell(str(count), count, strong=count > 0) for count in counts),
    )


def _group_figure(details: ResultFile) -> Figure:
    histograms = {run["name"]: run["tie_groups"] for run in details.data["runs"]}
    description = "Share of the listed documents that are in tie groups of each size, for each run."
    return tie_figure("tie-groups", description, histograms)


def _group_table(details: ResultFile) -> Table:
    columns = (
        Column("run"),
        Column("size of group", "/from", numeric=True),
        *(Column(name, f"/{name}", numeric=True) for name in ("groups", "documents")),
        Column("share of documents", "/share", numeric=True),
    )
    rows = tuple(
        Row(
            pointer("runs", index, "tie_groups", place),
            (
                Cell(run["name"], run["name"]),
                Cell(size_name(row), row["from"]),
                Cell(str(row["groups"]), row["groups"]),
                Cell(str(row["documents"]), row["documents"]),
                Cell(fixed(row["share"]), row["share"]),
            ),
        )
        for index, run in enumerate(details.data["runs"])
        for place, row in enumerate(run["tie_groups"])
    )
    caption = ("Tie groups by size; a group of 1 is a document without a tie.",)
    return Table("group-sizes", caption, details.name, columns, rows, folded=True)
