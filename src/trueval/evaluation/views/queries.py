"""The view of an evaluation's details: all queries in a plot and a table, those that ties move with their documents."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Final, NamedTuple

from trueval.evaluation.details_result import (
    EvaluationDetails,
    FileRead,
    MovedQuery,
    TiedDocument,
    TieGroup,
)
from trueval.evaluation.evaluation_result import Evaluation, QueryValues
from trueval.evaluation.query_values import QUERIES
from trueval.evaluation.views.figures import PLOTTED, query_plot
from trueval.report.generation import ids_of
from trueval.report.number_texts import NOT_AVAILABLE
from trueval.report.page_content import Figure, Part
from trueval.report.result_directory import Directory, ResultFile
from trueval.report.tie_sizes import TieBin, tie_figure
from trueval.report.units import COUNT, DIFFERENCE, FRACTION, NAME, Unit, unscaled_unit
from trueval.report.view import Answer, AnySheet, Case, Column, Quantity, Section, Sentence, Sheet, View
from trueval.report.view_page import part_of

DETAILS_FILE: Final = "details.json"
MOST_ROWS = 5_000  # of the table of queries; more make a page slow
MOST_POINTS = 100_000  # query values that the page carries for its plot
WIDEST, BIASED = 3, 1  # cases shown for each measure: by range, and by |bias|
# Sentence for a folder that has an evaluation, but none that these details are of.
OTHERS: Final = "These are details of another evaluation: of other runs, or under another policy."
QUERY_KEY: Final = (
    ("pillar", "expected value of a query, or difference of two runs"),
    ("rule", "what the order of ties can make of it"),
    ("lying", "tie-broken, where it differs"),
)


class _Worst(NamedTuple):
    """A query that ties move, with its run."""

    run: str
    query: MovedQuery
    id: str


class _Query(NamedTuple):
    """The values of a query in a run."""

    run: str
    values: QueryValues

    @property
    def range(self) -> float | None:
        """Highest - lowest."""
        lowest, highest = self.values["lowest"], self.values["highest"]
        return None if lowest is None or highest is None else highest - lowest


class _Size(NamedTuple):
    """The tie groups of some sizes in a run."""

    run: str
    bin: TieBin


def _write_score(score: float | str) -> str:
    # Infinities are texts already, since JSON has no number for them (details.py).
    return score if isinstance(score, str) else f"{score:.8g}"


SCORE: Final[Unit] = unscaled_unit(_write_score)
GRADE: Final[Unit] = unscaled_unit(lambda grade: "not judged" if grade is None else f"{grade:g}")


def build(file: ResultFile, directory: Directory) -> Part:
    """The part of the page for the details of an evaluation.

    Args:
        file: the details.
        directory: folder that may hold the evaluation.
    """
    result = EvaluationDetails.from_dict(file.data, str(directory.path / file.name))
    part = part_of(view(result), file, result)
    evaluations = directory.of(Evaluation.KIND)
    if not evaluations or any(belongs(file, each) for each in evaluations):
        return part
    return replace(part, said=((OTHERS,),))


def belongs(details: ResultFile, evaluation: ResultFile) -> bool:
    """Whether details belong to an evaluation: same runs, measures and policy, written together.

    Args:
        details: file of the details.
        evaluation: file of the evaluation.
    """
    mine, other = (
        EvaluationDetails.from_dict(details.data, details.name),
        Evaluation.from_dict(evaluation.data, evaluation.name),
    )
    if mine.policy != other.policy or len(mine.runs) != len(other.runs):
        return False
    if ids_of([details.data]) != ids_of([evaluation.data]):
        return False
    return all(
        run.name == means.name and {row["measure"] for row in run.per_query} <= means.measures.keys()
        for run, means in zip(mine.runs, other.runs, strict=True)
    )


def view(result: EvaluationDetails) -> View:
    """What the page shows beside the means of an evaluation.

    Args:
        result: details.json.
    """
    rows = [_Query(run.name, row) for run in result.runs for row in run.per_query]
    return View(
        title="Queries and ties",
        answer=_answer(result),
        sections=[*_queries(result, rows), *_worst(result), _sizes(result), _provenance(result)],
        csv=Sheet("", rows, [Column(each.title, each.value) for each in QUERY_COLUMNS]),
    )


def _answer(result: EvaluationDetails) -> Answer:
    """The query that ties move most."""
    question = "Which query do ties move most?"
    every = [_Worst(run.name, each, "") for run in result.runs for each in run.worst]
    if not every:
        return Answer("Ties change the value of no query.", question)
    run, most, _ = max(every, key=lambda each: each.query.range)
    ends = (Quantity(most, "lowest"), " and ", Quantity(most, "highest"), ".")
    return Answer((f"Ties move query {most.query} most: its {most.measure} of {run} is between ", *ends), question)


QUERY_COLUMNS: Final[tuple[Column[_Query], ...]] = (
    Column("run", lambda row: row.run, NAME),
    Column("query", lambda row: row.values["query"], NAME),
    Column("measure", lambda row: row.values["measure"], NAME),
    Column("expected", lambda row: row.values["expected"], FRACTION, strong=True),
    Column("lowest", lambda row: row.values["lowest"], FRACTION),
    Column("highest", lambda row: row.values["highest"], FRACTION),
    Column("tie-broken", lambda row: row.values["tie_broken"], FRACTION),
    Column("sd", lambda row: row.values["sd"], FRACTION),
    Column("range", lambda row: row.range, FRACTION),
)


def _queries(result: EvaluationDetails, rows: Sequence[_Query]) -> Iterator[Section]:
    """All queries: a plot of one run or of the difference of two, and a table."""
    if not rows:
        return
    words = (
        "Choose any two runs and a measure: each bar is the difference on one query, the first run's value less the "
        "second's, and its line reaches over all differences that the orders of equal scores allow."
    )
    first = result.runs[0]
    shown, queries = len({row["query"] for row in first.per_query}), first.queries or 0
    if shown < queries:
        words += f" Shown are the {shown:,} of {queries:,} queries that ties move most; {QUERIES} holds all."
    table, caption = rows, "Every run, query and measure."
    if len(rows) > MOST_ROWS:
        table = sorted(rows, key=lambda row: -(row.range or 0.0))[:MOST_ROWS]
        caption = f"The {len(table):,} of {_all_rows(result):,} rows with the widest range; {QUERIES} holds all."
    sheet = Sheet("Queries", table, QUERY_COLUMNS, caption, folded=True, id="per-query-table")
    yield Section("Queries", [sheet], words, [_query_figure(result)], id="queries")


def _query_figure(result: EvaluationDetails) -> Figure:
    """Differences of the first two runs, until a reader chooses others."""
    runs = result.runs
    measures = list(dict.fromkeys(row["measure"] for row in runs[0].per_query))
    queries = {row["query"] for row in runs[0].per_query}
    shown = measures[: max(1, MOST_POINTS // max(1, len(PLOTTED) * len(runs) * len(queries)))]
    title = "Differences of each query" if len(runs) > 1 else "Values of each query"
    title += "" if len(shown) == len(measures) else f" ({', '.join(shown)})"
    description = "The chosen difference of each query, with its range over the orders of equal scores."
    return Figure("per-query", title, description, lambda _: query_plot(runs, shown), interactive=True, key=QUERY_KEY)


def _all_rows(result: EvaluationDetails) -> int:
    measures = (len({row["measure"] for row in run.per_query}) for run in result.runs)
    return sum((run.queries or 0) * count for run, count in zip(result.runs, measures, strict=True))


def _worst(result: EvaluationDetails) -> Iterator[Section]:
    """The queries most affected by ties, with the documents that share their scores."""
    every = [
        _Worst(run.name, each, f"{index}-{place}")
        for index, run in enumerate(result.runs)
        for place, each in enumerate(run.worst)
    ]
    chosen: list[_Worst] = []
    for measure in dict.fromkeys(each.query.measure for each in every):
        mine = [each for each in every if each.query.measure == measure]
        # Two lists: a tool can be far off on a query whose range is not among the widest, and then its bias is news.
        widest = sorted(mine, key=lambda each: -each.query.range)[:WIDEST]
        biased = sorted(mine, key=lambda each: -_bias(each.query))[:BIASED]
        chosen += [*widest, *(each for each in biased if each not in widest)]
    if chosen:
        words = (
            f"For each measure the {WIDEST} queries with the widest range and the one with the largest bias, over all "
            f"runs. Each opens to its tied documents; {DETAILS_FILE} holds more."
        )
        yield Section("Queries that ties move most", words=words, cases=list(map(_case, chosen)), id="worst")


def _bias(query: MovedQuery) -> float:
    return abs(query.bias) if query.bias == query.bias else 0.0


def _case(worst: _Worst) -> Case:
    query = worst.query
    broken = query.bias == query.bias
    title: Sentence = (
        f"{query.measure}, query {query.query} of {worst.run}: range ",
        Quantity(query, "range"),
        *((", bias ", Quantity(query, "bias", DIFFERENCE)) if broken else ()),
    )
    values: Sentence = (
        *("Lowest ", Quantity(query, "lowest"), ", expected ", Quantity(query, "expected")),
        *(", highest ", Quantity(query, "highest")),
        *((", tie-broken ", Quantity(query, "tie_broken")) if broken else ()),
        ".",
    )
    words: list[Sentence] = [f"“{query.text}”", values] if query.text else [values]
    if not query.groups:
        words.append("None of the groups within the cutoff holds a judged document.")
    sheets = [_group_sheet(group, f"group-{worst.id}-{index}") for index, group in enumerate(query.groups)]
    return Case(title, words, sheets)


DOCUMENT_COLUMNS: Final[tuple[Column[TiedDocument], ...]] = (
    Column("document", lambda row: row.document, NAME),
    Column("grade", lambda row: row.grade, GRADE, strong=lambda grade: grade is not None and grade > 0),
    Column("score as read", lambda row: row.score, SCORE),
)


def _describe(document: TiedDocument) -> str:
    return ". ".join(filter(None, (document.title, document.text))) or NOT_AVAILABLE


def _group_sheet(group: TieGroup, name: str) -> Sheet[TiedDocument]:
    """The documents of a tie group, with their texts where a collection has them."""
    with_text = any(each.text is not None for each in group.documents)
    columns = (*DOCUMENT_COLUMNS, Column("text", _describe)) if with_text else DOCUMENT_COLUMNS
    ranks = f"Ranks {group.first_rank} to {group.last_rank} share the score {_write_score(group.score)}"
    caption = f"{ranks}: {group.size} documents, {group.judged} judged."
    more = group.size - len(group.documents)
    notes = [f"{more} more documents of this group are not shown."] if more else []
    return Sheet("Tie group", group.documents, columns, caption, notes, id=name)


def _sizes(result: EvaluationDetails) -> Section:
    """The sizes of the tie groups of each run."""
    histograms = {run.name: run.tie_groups for run in result.runs}
    description = "Share of the listed documents that are in tie groups of each size, for each run."
    figure = tie_figure("tie-groups", description, histograms)
    rows = [_Size(run.name, each) for run in result.runs for each in run.tie_groups]
    caption = "Tie groups by size; a group of 1 is a document without a tie."
    sheet = Sheet("Sizes of tie groups", rows, SIZE_COLUMNS, caption, folded=True, id="group-sizes")
    return Section("Sizes of tie groups", [sheet], figures=[] if figure is None else [figure], id="tie-sizes")


SIZE_COLUMNS: Final[tuple[Column[_Size], ...]] = (
    Column("run", lambda row: row.run, NAME),
    Column("size from", lambda row: row.bin.least, COUNT),
    Column("to", lambda row: row.bin.most, COUNT),
    Column("groups", lambda row: row.bin.groups, COUNT),
    Column("documents", lambda row: row.bin.documents, COUNT),
    Column("share of documents", lambda row: row.bin.share, FRACTION),
)

FILE_COLUMNS: Final[tuple[Column[FileRead], ...]] = (
    Column("role", lambda row: row.role),
    Column("file", lambda row: row.path, unscaled_unit(lambda path: "standard input" if path == "-" else path, "L")),
    Column("bytes", lambda row: row.bytes, COUNT),
    Column("SHA-256", lambda row: row.sha256, unscaled_unit(lambda digest: digest or NOT_AVAILABLE, "L")),
)


def _provenance(result: EvaluationDetails) -> Section:
    """Files, versions, command, date."""
    versions = ", ".join(f"{name} {number}" for name, number in result.versions.items())
    rows = {"written": result.written, "command": result.command, "versions": versions}
    about = [Column[tuple[str, str]]("what", lambda row: row[0]), Column[tuple[str, str]]("value", lambda row: row[1])]
    sheets: list[AnySheet] = [
        Sheet("The files that were read", result.files, FILE_COLUMNS, id="files"),
        Sheet("How the results were made", list(rows.items()), about),
    ]
    return Section("Provenance", sheets, closing=True, id="provenance")
