"""The view of an evaluation: values with their tie ranges, ties, queries, and what people's labels correct."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial
from typing import Final, NamedTuple, cast

from trueval.evaluation.corrected_evaluation import CorrectedEvaluation, CorrectedRunMeans
from trueval.evaluation.evaluation_result import MeasureMeans, QueryValues
from trueval.evaluation.views import corrections
from trueval.evaluation.views.corrections import CorrectedRow
from trueval.evaluation.views.figures import dots_of
from trueval.evaluation.views.findings import BOUND, explain_marks, find, marks
from trueval.evaluation.views.rows import CsvRows, corrected_rows
from trueval.evaluation.views.verdicts import answer, by_merit, further
from trueval.policy.policy import OURS
from trueval.report.json_fields import encode
from trueval.report.page_content import Figure
from trueval.report.plots import DOT_KEY, dot_of, lead_figure, plot_dots
from trueval.report.units import COUNT, DIFFERENCE, FRACTION, INTERVAL, MARKS, NAME
from trueval.report.view import Answer, Column, Section, Sentence, Sheet, View, policy_section

MOST_OPEN: Final = 60  # rows of a table that is open from the beginning
MOST_NAMED: Final = 12  # runs that a note names
# Choices that go without saying where they are ours: few measures and fewer tools ask for them.
RARELY_CHOSEN: Final = ("gain", "norm", "short", "rounding", "unopposed", "labels", "float_grades", "nonpositive")
LEGEND: Final = (
    "Expected is the mean over all orders of documents with equal scores; lowest and highest are the values of the "
    "worst and the best order, range their difference. Tie-broken is the value under one tie order, that which a tool "
    "would print; bias is tie-broken minus expected, sd the standard deviation over the orders.",
    "Documents of one query with equal scores form a tie group; tied is the share of listed documents that are in one "
    "of two or more. A possible cut is a list that may end inside such a group, so that documents with the same score "
    "may be missing from the file.",
)


class _Span(NamedTuple):
    low: float | None
    high: float | None


class _QueryRow(NamedTuple):
    run: str
    row: QueryValues


def view(result: CorrectedEvaluation) -> View:
    """What `trueval evaluate` shows.

    Args:
        result: of the command.
    """
    measures = [measure for measure in _measures(result) if by_merit(result, measure)]
    rows = corrections.best_first(corrected_rows(result))
    return View(
        title="Evaluation",
        answer=_answer(result, measures, rows),
        lead=_lead(result, measures),
        sections=[
            *_matrix(result, measures),
            Section("Values and tie ranges", _values(result), figures=_figures(result, measures), id="values"),
            Section("Ties", [Sheet("Ties", result.runs, TIES, id="tie-counts")] if result.runs else [], id="ties"),
            *_queries(result),
            *_correction_sections(result, rows),
            policy_section(result.policy),
        ],
        csv=CsvRows(result, rows).sheet(),
        findings=[*_describe_corrections(result, rows), *further(result)],
        marks=explain_marks(find(result)),
        legend=[*LEGEND, *(corrections.LEGEND if result.audit else ())],
        notes=list(_notes(result)),
        footer=[describe_policy(result.policy)] if result.policy else [],
    )


def _answer(result: CorrectedEvaluation, measures: list[str], rows: list[CorrectedRow]) -> Answer:
    """The answer, and whether people's labels say otherwise."""
    found = answer(result)
    best = corrections.leaders([row for row in rows if row.found.measure == measures[0]]) if measures else None
    if best is None or best[0].name == best[1].name:
        return found
    return replace(found, sentence=(*found.sentence, f" By what people's labels correct, {best[1].name} is best."))


def _measures(result: CorrectedEvaluation) -> list[str]:
    return list(result.runs[0].measures) if result.runs else []


def _lead(result: CorrectedEvaluation, measures: list[str]) -> Figure | None:
    """Of several runs those by the first measure, of one run its measures."""
    if not measures:
        return None
    if len(result.runs) > 1:
        return lead_figure("lead", measures[0], dots_of(result, measures[0]), {})
    run = result.runs[0]
    dots = [dot_of(measure, encode(run.measures[measure])) for measure in measures]
    about = f"Expected value and tie range of each measure of {run.name}."
    return Figure("lead", run.name, about, partial(plot_dots, dots), key=DOT_KEY)


def _figures(result: CorrectedEvaluation, measures: list[str]) -> list[Figure]:
    """A plot of each further measure."""
    found = []
    for place, measure in enumerate(measures[1:] if len(result.runs) > 1 else (), start=1):
        dots = dots_of(result, measure)
        about = f"{measure}: expected value, tie range and tie-broken value of each run; {dots[0].name} comes first."
        found.append(Figure(f"range-{place}", measure, about, partial(plot_dots, dots), key=DOT_KEY))
    return found


def _matrix(result: CorrectedEvaluation, measures: list[str]) -> Iterator[Section]:
    """Runs by measures, best first by the first measure; nothing for a single run or measure."""
    if len(measures) < 2 or len(result.runs) < 2:
        return

    def measure_column(measure: str) -> Column[CorrectedRunMeans]:
        return Column(measure, lambda run: run.measures[measure].expected, FRACTION)

    columns = [Column[CorrectedRunMeans]("run", lambda run: run.name), *map(measure_column, measures)]
    ranked = by_merit(result, measures[0], missing=True)
    caption = "Expected values, best first by the first measure."
    yield Section("Runs by measures", [Sheet("Runs by measures", ranked, columns, caption, only="page", id="matrix")])


def _values(result: CorrectedEvaluation) -> list[Sheet[MeasureMeans]]:
    """Values by measure, of one run below its name: in the order of the runs for texts, best first on the page."""
    measures, findings = _measures(result), find(result)
    of = {id(mean): (measure, run.name) for run in result.runs for measure, mean in run.measures.items()}

    def signs(mean: MeasureMeans) -> str:
        measure, run = of[id(mean)]
        return marks(findings, run, measure) + ("" if mean.exact else BOUND)

    names: list[Column[MeasureMeans]] = [
        Column("measure", lambda mean: of[id(mean)][0], NAME),
        Column("run", lambda mean: of[id(mean)][1], NAME),
    ]
    columns: list[Column[MeasureMeans]] = [
        *(names if len(result.runs) > 1 else reversed(names)),
        Column("expected", lambda mean: mean.expected, FRACTION, strong=True),
        Column("lowest, highest", lambda mean: _Span(mean.lowest, mean.highest), INTERVAL, only="text"),
        Column("lowest", lambda mean: mean.lowest, FRACTION, only="page"),
        Column("highest", lambda mean: mean.highest, FRACTION, only="page"),
        Column("range", lambda mean: mean.range, FRACTION, leaves=1),
        Column("tie-broken", lambda mean: mean.tie_broken, FRACTION),
        Column("bias", lambda mean: mean.bias, DIFFERENCE, leaves=2),
        Column("sd", lambda mean: mean.sd, FRACTION, leaves=3),
        Column("queries", lambda mean: mean.queries, COUNT, only="page"),
        Column("marks", signs, MARKS, only="page"),
        Column("", signs, MARKS, only="text"),
    ]
    given = [run.measures[measure] for measure in measures for run in result.runs]
    ranked = [run.measures[measure] for measure in measures for run in by_merit(result, measure, missing=True)]
    title = "Values and tie ranges"
    caption = "Means over queries, best expected value first within each measure."
    folded = len(ranked) > MOST_OPEN
    return [
        Sheet(title, given, columns, only="text", grouped=True),
        Sheet(title, ranked, columns, caption, folded=folded, only="page", id="means"),
    ] * bool(measures)


TIES: Final[tuple[Column[CorrectedRunMeans], ...]] = (
    Column("run", lambda run: run.name, NAME),
    Column("queries", lambda run: run.queries, COUNT),
    Column("tied", lambda run: run.ties.tied_fraction, FRACTION),
    Column("largest group", lambda run: run.ties.largest_group, COUNT),
    Column("possible cuts", lambda run: run.ties.cut_queries, COUNT, strong=bool),
    Column("queries\nmissing", lambda run: run.missing_queries, COUNT, strong=bool),
    Column("queries\nunjudged", lambda run: run.unjudged_queries, COUNT, strong=bool),
)


def _queries(result: CorrectedEvaluation) -> Iterator[Section]:
    """The values of every query, where they were asked for."""
    rows = [_QueryRow(run.name, row) for run in result.runs for row in run.per_query or ()]

    columns: list[Column[_QueryRow]] = [
        Column("run", lambda each: each.run, NAME),
        Column("query", lambda each: each.row["query"], NAME),
        Column("measure", lambda each: each.row["measure"], NAME),
        Column("expected", lambda each: each.row["expected"], FRACTION),
        Column("lowest, highest", lambda each: _Span(each.row["lowest"], each.row["highest"]), INTERVAL),
        Column("tie-broken", lambda each: each.row["tie_broken"], FRACTION),
        Column("sd", lambda each: each.row["sd"], FRACTION, leaves=1),
    ]
    if rows:
        yield Section("Queries", [Sheet("Queries", rows, columns, only="text", grouped=True)])


def _correction_sections(result: CorrectedEvaluation, rows: list[CorrectedRow]) -> Iterator[Section]:
    if result.audit is not None:
        sheets = [corrections.corrected_sheet(rows)] if rows else []
        figures = corrections.corrected_figures(rows)
        yield Section(corrections.TITLE, sheets, figures=figures, id="corrected-block")


def _describe_corrections(result: CorrectedEvaluation, rows: list[CorrectedRow]) -> Iterator[Sentence]:
    if result.audit is not None:
        yield from corrections.describe_leader_changes(rows)
        yield f"{corrections.MEANT[result.audit.labels]}. {corrections.describe_sample(result.audit)}"
        yield from corrections.describe_refusals(rows)
        yield from corrections.describe_warnings(rows)


def _notes(result: CorrectedEvaluation) -> Iterator[str]:
    """Notes on the inputs, with the runs that they are about where these are not all."""
    for note in dict.fromkeys(note for run in result.runs for note in run.notes):
        names = [run.name for run in result.runs if note in run.notes]
        yield note if len(names) == len(result.runs) else f"{', '.join(names[:MOST_NAMED])}: {note}"


def describe_policy(policy: Mapping[str, object]) -> str:
    """The choices that are in force, on one line.

    Args:
        policy: by name, as the JSON holds it.
    """
    idle = {name for name, value in policy.items() if value is None or value is False}
    if policy.get("tie_order") != "random":
        idle.add("seed")
    idle |= {name for name in RARELY_CHOSEN if policy.get(name) == getattr(OURS, name)}
    words = _choices({name: value for name, value in policy.items() if name not in idle | {"exceptions"}})
    exceptions: dict[str, list[str]] = {}
    own_choices = cast("Mapping[str, Mapping[str, object]]", policy.get("exceptions") or {})
    for measure, own in own_choices.items():
        exceptions.setdefault(_choices(own), []).append(measure)
    return "; ".join([f"policy: {words}", *(f"for {', '.join(of)}: {own}" for own, of in exceptions.items())])


def _choices(choices: Mapping[str, object]) -> str:
    values = ("as read" if v is None else f"{v:g}" if isinstance(v, float) else v for v in choices.values())
    return ", ".join(f"{name.replace('_', ' ')} {value}" for name, value in zip(choices, values, strict=True))
