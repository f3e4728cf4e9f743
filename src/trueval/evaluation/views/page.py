"""The page of an evaluation: values and their tie ranges, ties, queries, worst queries, policy, provenance."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from trueval.evaluation.views.details import KIND as DETAILS_KIND
from trueval.evaluation.views.findings import NOT_EXACT, find, marks, sentences
from trueval.evaluation.views.queries import PLOTTED, query_block, worst_block
from trueval.evaluation.views.verdicts import advice, by_merit, summary
from trueval.report.closing import policy_block, provenance_block
from trueval.report.content import Block, Cell, Column, Figure, Part, Table, row_of, rows_height, statistic
from trueval.report.directory import Directory, ResultFile, pointer
from trueval.report.text import fixed
from trueval.report.tie_sizes import size_name, tie_figure

COLUMNS = (
    *(Column("measure"), Column("run")),
    *map(statistic, ("expected", "lowest", "highest", "range", "tie_broken", "bias", "sd")),
    *(Column("queries", "/queries", numeric=True), Column("marks")),
)
TIE_COLUMNS = (
    Column("run", "/name"),
    Column("queries", "/queries", numeric=True),
    Column("tied documents", "/ties/tied_fraction", numeric=True, show=fixed),
    Column("largest group", "/ties/largest_group", numeric=True),
    Column("possible cuts", "/ties/cut_queries", numeric=True, strong=bool),
    Column("missing queries", "/missing_queries", numeric=True, strong=bool),
    Column("unjudged queries", "/unjudged_queries", numeric=True, strong=bool),
)
MEANINGS = (
    "Expected is the mean over all orders of documents with equal scores; lowest and highest are the values of the "
    "worst and the best order, range their difference. Tie-broken is the value under one tie order, that which a tool "
    "would print; bias is tie-broken minus expected, sd the standard deviation over the orders."
)


def build(file: ResultFile, directory: Directory) -> Part:
    """The part of the page for one evaluation.

    Args:
        file: the results.
        directory: may hold the details of the same evaluation.

    Returns:
        Summary, advice, blocks and closing; blocks that need details are left out where there are none.
    """
    # A folder may hold details of another evaluation, which an older run left there.
    details = next((each for each in directory.of(DETAILS_KIND) if belongs(each.data, file.data)), None)
    optional = () if details is None else (query_block(details), worst_block(details))
    figures, table = tuple(_range_figures(file.data)), _value_table(file)
    values = Block("values", "Values and tie ranges", words=((MEANINGS,),), figures=figures, tables=(table,))
    compared = directory.of("compare")
    boards = [board for each in compared for board in each.data["leaderboards"]]
    # A comparison says who leads and whether the queries separate it: the summary does not say the first half twice.
    told = {board["measure"] for board in boards if board["ranking"] and board["ranking"][0]["groups"]}
    return Part(
        tuple(summary(file, told=told)),
        tuple(advice(file.data, compared=bool(compared))),
        (values, tie_block(file, details), *(block for block in optional if block is not None)),
        (policy_block(file), provenance_block(file, details)),
    )


def tie_block(file: ResultFile, details: ResultFile | None) -> Block:
    """How much each run ties, and how large its groups are."""
    rows = tuple(row_of(pointer("runs", index), TIE_COLUMNS, run) for index, run in enumerate(file.data["runs"]))
    caption = ("Ties of each run, over the judged queries.",)
    tables = [Table("tie-counts", caption, file.name, TIE_COLUMNS, rows)]
    figures: tuple[Figure, ...] = ()
    if details is not None:
        histograms = {run["name"]: run["tie_groups"] for run in details.data["runs"]}
        description = "Share of the listed documents that are in tie groups of each size, for each run."
        figures = (tie_figure("tie-groups", description, histograms),)
        tables.append(_group_table(details))
    words = (
        "Documents of one query with equal scores form a tie group. A possible cut is a list that may end inside such "
        "a group, so that documents with the same score may be missing from the file.",
    )
    return Block("ties", "Ties", words=(words,), figures=figures, tables=tuple(tables))


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
        description = f"{measure}: expected value, tie range and tie-broken value of each run; {first} comes first."
        height = rows_height(len(ranked))
        yield Figure(f"range-{index}", measure, description, "tieRange", data, height)


def _value_table(file: ResultFile) -> Table:
    results, findings, rows = file.data, find(file.data), []
    # Rows are sorted by merit; their source is the place in the file. By identity: two runs may be equal in all values.
    place = {id(run): index for index, run in enumerate(results["runs"])}
    for measure in results["runs"][0]["measures"] if results["runs"] else ():
        for run in by_merit(results, measure, missing=True):
            value = run["measures"][measure]
            note = marks(findings, run["name"], measure) + ("" if value.get("exact", True) else "°")
            source = pointer("runs", place[id(run)], "measures", measure)
            rows.append(row_of(source, COLUMNS, value, measure, run["name"], note))
    bounds = any(not value.get("exact", True) for run in results["runs"] for value in run["measures"].values())
    notes = (*finding_notes(results), *((NOT_EXACT,) if bounds else ()))
    caption = ("Means over queries, best expected value first within each measure.",)
    return Table("means", caption, file.name, COLUMNS, tuple(rows), notes)


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


def _group_table(details: ResultFile) -> Table:
    columns = (
        Column("run"),
        Column("size of group", "/from", numeric=True),
        *(Column(name, f"/{name}", numeric=True) for name in ("groups", "documents")),
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
