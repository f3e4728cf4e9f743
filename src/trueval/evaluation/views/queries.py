"""The queries of an evaluation: all in a plot and a table, the worst ones with their tied documents."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from trueval.evaluation.evaluation_result import Evaluation
from trueval.evaluation.query_values import QUERIES
from trueval.evaluation.views.figures import PLOTTED, query_plot
from trueval.report.generation import ids_of
from trueval.report.number_texts import NOT_AVAILABLE, format_difference, format_value
from trueval.report.page_content import (
    Block,
    Case,
    Cell,
    Figure,
    Number,
    PageAnswer,
    PageColumn,
    Part,
    Table,
    Words,
    row_of,
    statistic,
)
from trueval.report.page_footer import provenance_block
from trueval.report.result_directory import Directory, ResultFile, pointer
from trueval.report.tie_sizes import size_name, tie_figure

MOST_ROWS = 5_000  # of the table of queries; more make a page slow
MOST_POINTS = 100_000  # query values that the page carries for its plot
WIDEST, BIASED = 3, 1  # cases shown for each measure: by range, and by |bias|


class _Row(NamedTuple):
    run: int
    place: int
    name: str
    row: Mapping[str, Any]


# What is said where the folder holds no evaluation that these details are of.
OTHERS: Words = ("These are details of another evaluation: of other runs, or under another policy.",)
QUERY_KEY = (
    ("pillar", "expected value of a query, or difference of two runs"),
    ("rule", "what the order of ties can make of it"),
    ("lying", "tie-broken, where it differs"),
)


def build(file: ResultFile, directory: Directory) -> Part:
    """The part of the page for the details of an evaluation.

    Args:
        file: the details.
        directory: folder that may hold the evaluation.
    """
    evaluations = directory.of(Evaluation.KIND)
    blocks = (query_block(file), worst_block(file), _tie_block(file))
    return Part(
        title="Queries and ties",
        answer=PageAnswer(sentence=_answer(file)),
        said=() if not evaluations or any(belongs(file.data, each.data) for each in evaluations) else (OTHERS,),
        blocks=tuple(each for each in blocks if each is not None),
        closing=(provenance_block(file),),
    )


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


def _answer(details: ResultFile) -> Words:
    """The query that ties move most."""
    every = [
        (row["range"], index, place, run["name"], row)
        for index, run in enumerate(details.data["runs"])
        for place, row in enumerate(run["worst"])
    ]
    if not every:
        return ("Ties change the value of no query.",)
    _, index, place, name, row = max(every, key=lambda each: each[0])

    def number(field: str) -> Number:
        return Number(format_value(row[field]), row[field], details.source("runs", index, "worst", place, field))

    about = f"Ties move query {row['query']} most: its {row['measure']} of {name} is between "
    return (about, number("lowest"), " and ", number("highest"), ".")


def _tie_block(details: ResultFile) -> Block:
    """The sizes of the tie groups of each run."""
    histograms = {run["name"]: run["tie_groups"] for run in details.data["runs"]}
    description = "Share of the listed documents that are in tie groups of each size, for each run."
    figure = tie_figure("tie-groups", description, histograms)
    figures = () if figure is None else (figure,)
    return Block("tie-sizes", "Sizes of tie groups", figures=figures, tables=(_size_table(details),), place="details")


def _size_table(details: ResultFile) -> Table:
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


def query_block(details: ResultFile, ranked: Sequence[str] = ()) -> Block | None:
    """All queries: a plot of one run or of the difference of two, and a table.

    Args:
        details: details of the evaluation.
        ranked: names of the runs, best first; the plot starts with the first two.

    Returns:
        The block; None where there are no queries.
    """
    if not any(run["per_query"] for run in details.data["runs"]):
        return None
    words = (
        "Choose any two runs and a measure: each bar is the difference on one query, the first run's value less the "
        "second's, and its line reaches over all differences that the orders of equal scores allow.",
    )
    figure, table = _query_figure(details, ranked), _query_table(details)
    first = details.data["runs"][0]
    shown = len({row["query"] for row in first["per_query"]})
    some = ((_some(shown, first["queries"]),),) if shown < first.get("queries", 0) else ()
    return Block("queries", "Queries", words=(words, *some), figures=(figure,), tables=(table,), place="details")


def _some(shown: int, queries: int) -> str:
    return f"Shown are the {shown:,} of {queries:,} queries that ties move most; {QUERIES} holds all."


def _query_figure(details: ResultFile, ranked: Sequence[str]) -> Figure:
    runs = details.data["runs"]
    measures = list(dict.fromkeys(row["measure"] for row in runs[0]["per_query"]))
    queries = {row["query"] for row in runs[0]["per_query"]}
    shown = measures[: max(1, MOST_POINTS // max(1, len(PLOTTED) * len(runs) * len(queries)))]
    places = {run["name"]: place for place, run in enumerate(runs)}
    start = [*(places[name] for name in ranked if name in places), *places.values()]
    pair = (start[0], next((place for place in start if place != start[0]), -1))
    title = "Differences of each query" if len(runs) > 1 else "Values of each query"
    title += "" if len(shown) == len(measures) else f" ({', '.join(shown)})"
    description = "The chosen difference of each query, with its range over the orders of equal scores."
    return Figure(
        "per-query", title, description, lambda _: query_plot(runs, shown, pair), interactive=True, key=QUERY_KEY
    )


def _query_table(details: ResultFile) -> Table:
    columns = (
        *(PageColumn("run"), PageColumn("query", "/query"), PageColumn("measure", "/measure")),
        *map(statistic, (*PLOTTED, "sd")),
        PageColumn("range", "/highest - /lowest", numeric=True, show=format_value),
    )
    places = [
        _Row(index, place, run["name"], row)
        for index, run in enumerate(details.data["runs"])
        for place, row in enumerate(run["per_query"])
    ]
    shown, caption = places, "Every run, query and measure."
    if len(places) > MOST_ROWS:
        shown = sorted(places, key=lambda each: -_range(each.row))[:MOST_ROWS]
        where = QUERIES if "queries" in details.data["runs"][0] else details.name  # as older versions had it
        caption = f"The {len(shown):,} of {_all_rows(details):,} rows with the widest range; {where} holds all."
    rows = tuple(
        row_of(pointer("runs", each.run, "per_query", each.place), columns, each.row, each.name) for each in shown
    )
    return Table("per-query-table", (caption,), details.name, columns, rows, folded=True)


def _all_rows(details: ResultFile) -> int:
    runs = details.data["runs"]
    measures = [len({row["measure"] for row in run["per_query"]}) for run in runs]
    counts = zip(runs, measures, strict=True)
    return sum(run["queries"] * count if "queries" in run else len(run["per_query"]) for run, count in counts)


def _range(row: Mapping[str, Any]) -> float:
    if row["lowest"] is None or row["highest"] is None:
        return 0.0
    return float(row["highest"] - row["lowest"])


def worst_block(details: ResultFile) -> Block | None:
    """The queries most affected by ties, with the documents that share their scores.

    Args:
        details: details of the evaluation.

    Returns:
        The block; None where ties move nothing.
    """
    every = [
        _Row(index, place, run["name"], row)
        for index, run in enumerate(details.data["runs"])
        for place, row in enumerate(run["worst"])
    ]
    chosen: list[_Row] = []
    for measure in dict.fromkeys(worst.row["measure"] for worst in every):
        mine = [worst for worst in every if worst.row["measure"] == measure]
        # Two lists: a tool can be far off on a query whose range is not among the widest, and then its bias is news.
        widest = sorted(mine, key=lambda worst: -worst.row["range"])[:WIDEST]
        biased = sorted(mine, key=lambda worst: -abs(worst.row["bias"] or 0.0))[:BIASED]
        chosen += [*widest, *(worst for worst in biased if worst not in widest)]
    if not chosen:
        return None
    words = (
        f"For each measure the {WIDEST} queries with the widest range and the one with the largest bias, over all "
        f"runs. Each opens to its tied documents; {details.name} holds more.",
    )
    cases = tuple(_case(details, worst) for worst in chosen)
    return Block("worst", "Queries that ties move most", words=(words,), cases=cases, place="details")


def _score(score: float | str) -> str:
    # Infinities are texts already, since JSON has no number for them (details.py).
    return score if isinstance(score, str) else f"{score:.8g}"


def _case(details: ResultFile, worst: _Row) -> Case:
    row, keys = worst.row, ("runs", worst.run, "worst", worst.place)

    def number(name: str) -> Number:
        text = format_difference(row[name]) if name == "bias" else format_value(row[name])
        return Number(text, row[name], details.source(*keys, name))

    title: Words = (f"{row['measure']}, query {row['query']} of {worst.name}: range ", number("range"))
    title += (", bias ", number("bias")) if row["bias"] is not None else ()
    values: Words = ("Lowest ", number("lowest"), ", expected ", number("expected"), ", highest ", number("highest"))
    values += (", tie-broken ", number("tie_broken"), ".") if row["tie_broken"] is not None else (".",)
    words: tuple[Words, ...] = ((f"“{row['text']}”",), values) if row.get("text") else (values,)
    if not row["groups"]:
        words += (("None of the groups within the cutoff holds a judged document.",),)
    tables = tuple(_group_table(details, worst, index, group) for index, group in enumerate(row["groups"]))
    return Case(title, words, tables)


DOCUMENT_COLUMNS = (
    PageColumn("document", "/document"),
    PageColumn(
        "grade",
        "/grade",
        numeric=True,
        show=lambda grade: "not judged" if grade is None else f"{grade:g}",
        strong=lambda grade: grade is not None and grade > 0,
    ),
    PageColumn("score as read", "/score", numeric=True, show=_score),
)


def _group_table(details: ResultFile, worst: _Row, index: int, group: Mapping[str, Any]) -> Table:
    keys = ("runs", worst.run, "worst", worst.place, "groups", index)

    def count(name: str) -> Number:
        return Number(str(group[name]), group[name], details.source(*keys, name))

    with_text = any("text" in document for document in group["documents"])
    columns = (*DOCUMENT_COLUMNS, PageColumn("text")) if with_text else DOCUMENT_COLUMNS
    rows = []
    for place, document in enumerate(group["documents"]):
        text = ". ".join(document[part] for part in ("title", "text") if document.get(part)) or NOT_AVAILABLE
        rows.append(row_of(pointer(*keys, "documents", place), columns, document, text))
    first, last, size, judged = map(count, ("first_rank", "last_rank", "size", "judged"))
    share = f" share the score {_score(group['score'])}: "
    caption = ("Ranks ", first, " to ", last, share, size, " documents, ", judged, " judged.")
    more = group["size"] - len(rows)
    notes = (f"{more} more documents of this group are not shown.",) if more else ()
    name = f"group-{worst.run}-{worst.place}-{index}"
    return Table(name, caption, details.name, columns, tuple(rows), notes)
