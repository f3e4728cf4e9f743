"""The view of `trueval golden correct`: corrected values, differences, and the gain of more labels."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Final, NamedTuple

from trueval.comparison.labels.correction import Corrected
from trueval.evaluation.corrected_values import (
    CorrectedRun,
    LabelPlan,
    OpenQuery,
    StratumWorth,
)
from trueval.evaluation.views.corrections import (
    DIFFERENCES_TITLE,
    LEGEND,
    TITLE,
    CorrectedRow,
    best_first,
    by_measure,
    corrected_figures,
    corrected_sheet,
    csv_columns,
    describe_leader_changes,
    describe_refusals,
    describe_sample,
    describe_sign_changes,
    describe_warnings,
    leaders,
)
from trueval.report.figures import NARROW, RUN_TONES, Chart, tone
from trueval.report.formats import distinct
from trueval.report.number_texts import NOT_AVAILABLE, percent
from trueval.report.page_content import Figure
from trueval.report.plots import shorten_name
from trueval.report.units import COUNT, FRACTION, INTERVAL, NAME, PERCENT, number
from trueval.report.view import Answer, AnySheet, Column, Mark, Quantity, Section, Sentence, Sheet, View, policy_section

HEIGHT: Final = 190  # CSS pixels of a plot
MOST: Final = 4  # sentences of one kind
MOST_WORTH: Final = 3  # strata, or queries, that a sentence names
MOST_OPEN: Final = 30  # rows of strata that are open from the beginning
QUESTION: Final = "What do people's labels make of the judge's values?"


class _Planned(NamedTuple):
    """A correction with its plan."""

    row: CorrectedRow
    plan: LabelPlan


class _Stratum(NamedTuple):
    row: CorrectedRow
    stratum: StratumWorth


class _Query(NamedTuple):
    row: CorrectedRow
    query: OpenQuery


class _Line(NamedTuple):
    """A line of the CSV file."""

    run: str
    second: str | None
    of: CorrectedRow


def view(result: Corrected) -> View:
    """What `trueval golden correct` shows.

    Args:
        result: of the command, or of `trueval.correct`.
    """
    every = [*rows_of(result.runs), *differences_of(result)]
    answered = [each for each in every if each.value is not None]
    values = best_first([each for each in answered if each.found.second is None])
    differences = [each for each in answered if each.found.second is not None]
    figures, changes = corrected_figures(values), list(describe_leader_changes(values))
    return View(
        title="Corrected values",
        answer=_answer(result, values, differences),
        lead=figures[0] if figures else None,
        sections=[
            Section(TITLE, [corrected_sheet(values)], figures=figures[1:], id="corrected-block"),
            *_differences(differences),
            *_plans(result, every),
            policy_section(result.policy),
        ],
        csv=_csv(result),
        findings=[
            *([] if len(values) < 2 else _most_moved(values)),
            *[each for each in changes if not each.startswith(f"{values[0].measure}: ")][:MOST],  # else answered
            *list(describe_sign_changes(differences, surely=True))[:MOST],
            *describe_refusals(every),
            *_whole_queries(result, every),
            *describe_warnings(every),
        ],
        marks=[Mark(NOT_AVAILABLE, "not known, or no number of labels is enough.")],
        legend=[*LEGEND, *([_explain_plan(result)] if any(each.plan for each in every) else [])],
    )


def rows_of(runs: Sequence[CorrectedRun]) -> list[CorrectedRow]:
    """Corrections of every run, run by run."""
    return [CorrectedRow(run.name, found) for run in runs for found in run.corrected]


def differences_of(result: Corrected) -> list[CorrectedRow]:
    """Corrections of every pair, by measure."""
    return [CorrectedRow(f"{found.first} - {found.second}", found) for found in result.differences]


def _answer(result: Corrected, values: Sequence[CorrectedRow], differences: Sequence[CorrectedRow]) -> Answer:
    """The best run of the first measure that was corrected, and whether people's labels separate it from the next."""
    sample = () if result.audit is None else (describe_sample(result.audit),)
    mine = next((mine for _, mine in by_measure(values)), [])
    if not mine:
        return Answer("People's labels correct none of these measures.", QUESTION, sample)
    found = leaders(mine)
    best = mine[0] if found is None else found[1]
    measure = best.measure
    known = best.corrected.low == best.corrected.low
    interval = (" ", Quantity(best.value, "corrected", INTERVAL)) if known else (" (no interval yet)",)
    corrected = (Quantity(best.corrected, "estimate"), *interval)
    judged = Quantity(best.judge, "estimate")
    sentence: Sentence
    equal: list[str] = []
    if found is None:
        sentence = (f"{measure} of {best.name} is ", *corrected, " corrected by people's labels; ", judged)
        sentence = (*sentence, " by the judge's.")
    elif equal := [each.name for each in best_first(mine)[1:] if each.corrected.estimate == best.corrected.estimate]:
        names = f"{', '.join([best.name, *equal[:-1]])} and {equal[-1]}"
        sentence = (f"{names} are equal in {measure}: ", *corrected, " corrected by people's labels, ")
        sentence = (*sentence, judged, f" of {best.name} by the judge's.")
    elif found[0].name == best.name:
        sentence = (f"{best.name} stays first in {measure}: ", *corrected, " corrected by people's labels, ", judged)
        sentence = (*sentence, " by the judge's.")
    else:
        sentence = (f"{best.name} is first in {measure} by people's labels, with ", *corrected)
        sentence = (*sentence, f" corrected; by the judge's labels {found[0].name} is first.")
    sure: Sentence = (*(() if equal else _separation(mine, best, differences)), *sample)
    return Answer(sentence, QUESTION, sure, *_labels_needed(result, best))


def _separation(
    mine: Sequence[CorrectedRow], best: CorrectedRow, differences: Sequence[CorrectedRow]
) -> tuple[str | Quantity, ...]:
    """Whether the interval of the leader's difference to the next run excludes 0."""
    ranked = best_first(mine)
    if len(ranked) < 2:
        return ()
    second = ranked[1].name
    for each in differences:
        value = each.value
        if value is None or value.measure != best.measure:
            continue
        if {value.first, value.second} == {best.name, second}:
            shown = each if value.first == best.name else each.turn("")
            end = shown.corrected.low if shown.corrected.estimate > 0 else -shown.corrected.high
            decided = "These labels separate" if end > 0 else "These labels do not separate"
            return (
                f"{decided} {best.name} from {second}, the next by them: the difference is ",
                shown.quantity("corrected"),
                " ",
                shown.quantity("corrected", interval=True),
                ". ",
            )
    return ()


def _labels_needed(result: Corrected, best: CorrectedRow) -> tuple[Sentence, str]:
    """What would make the answer surer, and the command for it."""
    plan, audit = best.plan, result.audit
    if plan is None or audit is None:
        return "", ""
    now = (f"The interval of {best.name} is ", Quantity(plan, "width_now"), " wide, from end to end; ")
    target, least = Quantity(plan, "target_width"), Quantity(plan, "least_width")
    if plan.more_labels is None or plan.more_units is None:
        return (*now, "no number of labels makes it ", target, ", as the queries alone leave ", least, "."), ""
    if not plan.more_units:
        return (
            *now,
            "no label makes it narrower, as the queries alone leave it."
            if result.width is None
            else "that is narrow enough.",
        ), ""
    halfway: Sentence = (", halfway to the ", least, " with everything graded; --width W names another target")
    words: Sentence = (
        *now,
        "about ",
        Quantity(plan, "more_labels", COUNT),
        " more labels",
        *(() if plan.unit == "passages" else (" (", Quantity(plan, "more_units", COUNT), " queries)")),
        " would make it ",
        target,
        *(halfway if result.width is None else ()),
        ".",
        *_useful_labels(result, best),
    )
    return words, f"trueval golden audit DIR --size {audit.sampled + plan.more_units}"


def _useful_labels(result: Corrected, best: CorrectedRow) -> tuple[str, ...]:
    """Where more labels of a value gain most: strata, or whole queries on which judge and people differ most."""
    value = best.value
    if value is None:
        return ()
    if result.design == "queries":
        named = ", ".join(each.query for each in value.open_queries[:MOST_WORTH])
        return (f" Judge and people differ most in the queries {named}.",) if named else ()
    strata = sorted((each for each in value.strata if each.worth > 0), key=lambda each: -each.worth)
    named = ", ".join(f"{each.stratum} ({percent(each.share)} of what is open)" for each in strata[:MOST_WORTH])
    return (f" One more is worth most in these strata: {named}.",) if named else ()


def _most_moved(answered: Sequence[CorrectedRow]) -> Iterator[Sentence]:
    """The value that people's labels move most."""

    def change(row: CorrectedRow) -> float:
        by = abs(row.corrected.estimate - row.judge.estimate)
        return by if by == by else -1.0

    most = max(answered, key=change)
    if change(most) >= 0:
        yield (
            f"People's labels move {most.measure} of {most.name} most: ",
            Quantity(most.judge, "estimate"),
            " by the judge's labels, ",
            Quantity(most.corrected, "estimate"),
            " corrected.",
        )


def _whole_queries(result: Corrected, rows: Sequence[CorrectedRow]) -> Iterator[str]:
    """What an audit of single passages leaves out, and the audit that corrects it; once, where nothing was refused."""
    if result.design == "documents" and not any(each.refused for each in rows):
        yield (
            "Single passages correct sums over passages alone (P, DCG, P4+, Harm). RA-nWG, N-Recall4+, R and nDCG, "
            "which divide by what people find in a whole query, need an audit of whole queries: trueval golden audit "
            "DIR --design queries --out AUDIT, then this command with --audit AUDIT."
        )


def _differences(rows: Sequence[CorrectedRow]) -> Iterator[Section]:
    if rows:
        figures = corrected_figures(rows, differences=True, prefix="differences-")
        sheet = corrected_sheet(rows, differences=True, prefix="differences-")
        yield Section(DIFFERENCES_TITLE, [sheet], figures=figures, id="differences-corrected-block")


def _units(result: Corrected) -> str:
    """The unit of sampling."""
    return "queries" if result.design == "queries" else "passages"


def _explain_plan(result: Corrected) -> str:
    target = "--width" if result.width is not None else "halfway from the width now to the least width"
    return (
        "Widths are of the interval from end to end, on the scale of the measure; the least width is that with "
        f"everything graded, and the target width is {target}. About so many more {_units(result)} or labels reach it, "
        "if judge and people go on to differ as they do. To add them: trueval golden audit DIR --size N."
    )


def _plans(result: Corrected, every: Sequence[CorrectedRow]) -> Iterator[Section]:
    rows = [_Planned(each, each.plan) for each in every if each.plan is not None]
    if not rows:
        return
    units = _units(result)
    columns: list[Column[_Planned]] = [
        Column("measure", lambda row: row.row.measure, NAME),
        Column("run or difference", lambda row: row.row.name, NAME),
        Column("width now", lambda row: row.plan.width_now, FRACTION),
        Column("target width", lambda row: row.plan.target_width, FRACTION),
        Column(f"more {units}", lambda row: row.plan.more_units, COUNT),
        Column("more labels", lambda row: row.plan.more_labels, COUNT, strong=True),
        Column("least width", lambda row: row.plan.least_width, FRACTION),
    ]
    figures = [
        Figure(
            f"plan-{at}",
            f"{measure}: width of the interval",
            f"How narrow the interval of {measure} becomes as people grade more {units}.",
            partial(width_plot, mine, units),
        )
        for at, (measure, mine) in enumerate(by_measure(each.row for each in rows))
    ]
    title = "What more labels buy: widths of intervals, from end to end"
    sheets: list[AnySheet] = [Sheet(title, rows, columns, id="plan-table")]
    yield Section(
        "What more labels buy",
        [*sheets, *_strata([each.row for each in rows]), *_queries([each.row for each in rows])],
        _explain_plan(result),
        figures,
        id="plan",
    )


def _strata(rows: Sequence[CorrectedRow]) -> Iterator[Sheet[_Stratum]]:
    """Strata by the gain of one more label, for audits with strata."""
    found = [_Stratum(row, each) for row in rows if row.value is not None for each in row.value.strata]
    if len(found) > len(rows):
        columns: list[Column[_Stratum]] = [
            Column("measure", lambda row: row.row.measure),
            Column("run or difference", lambda row: row.row.name),
            Column("stratum", lambda row: row.stratum.stratum),
            Column("passages", lambda row: row.stratum.population, COUNT),
            Column("graded", lambda row: row.stratum.audited, COUNT),
            Column("share of what is open", lambda row: row.stratum.share, PERCENT, strong=True),
            Column("worth of one more", lambda row: row.stratum.worth, number(".2g")),
        ]
        title = "Where one more label lowers the variance of the corrected value most"
        yield Sheet(title, found, columns, folded=len(found) > MOST_OPEN, only="page", id="plan-strata")


def _queries(rows: Sequence[CorrectedRow]) -> Iterator[Sheet[_Query]]:
    """Queries in which judge and people differ most."""
    found = [_Query(row, each) for row in rows if row.value is not None for each in row.value.open_queries]
    if found:
        columns: list[Column[_Query]] = [
            Column("measure", lambda row: row.row.measure),
            Column("run or difference", lambda row: row.row.name),
            Column("query", lambda row: row.query.query),
            Column("share", lambda row: row.query.share, PERCENT, strong=True),
        ]
        title = "Audited queries in which people say otherwise than the judge lets expect, the most first"
        yield Sheet(title, found, columns, folded=True, only="page", id="plan-queries")


def width_plot(rows: Sequence[CorrectedRow], units: str, width: int = NARROW) -> Chart:
    """Plot of the interval width over the number of labeled units, for each run or pair.

    Args:
        rows: corrections of one measure, with plans.
        units: name of the units that are graded.
        width: CSS pixels of the whole figure.
    """
    import altair as alt

    shown = rows[: len(RUN_TONES)]
    names = distinct([shorten_name(each.name) for each in shown])
    points = [
        {"name": name, "units": point.graded, "width": point.width}
        for name, each in zip(names, shown, strict=True)
        for point in (() if each.plan is None else each.plan.curve)
    ]
    colors = alt.Scale(domain=names, range=[tone(each) for each in RUN_TONES[: len(names)]])
    plot = alt.Chart(alt.Data(values=points)).mark_line(point=alt.OverlayMarkDef(filled=True, size=22), strokeWidth=1.5)
    return plot.encode(
        x=alt.X("units:Q", title=f"{units} graded", axis=alt.Axis(tickCount=4, format=",d")),
        y=alt.Y("width:Q", title="width", axis=alt.Axis(tickCount=4), scale=alt.Scale(zero=True)),
        color=alt.Color("name:N", title=None, scale=colors, legend=alt.Legend(orient="bottom", columns=2)),
    ).properties(width=width - 60, height=HEIGHT)


def _csv(result: Corrected) -> Sheet[_Line]:
    lines = [_Line(run.name, None, CorrectedRow(run.name, found)) for run in result.runs for found in run.corrected]
    lines += [_Line(str(found.first), found.second, CorrectedRow("", found)) for found in result.differences]
    columns: list[Column[_Line]] = [
        Column("run", lambda row: row.run),
        Column("second", lambda row: row.second),
        Column("measure", lambda row: row.of.measure),
        *csv_columns(lambda row: row.of),
        Column("width_now", lambda row: row.of.plan and row.of.plan.width_now),
        Column("target_width", lambda row: row.of.plan and row.of.plan.target_width),
        Column("more_units", lambda row: row.of.plan and row.of.plan.more_units),
        Column("more_labels", lambda row: row.of.plan and row.of.plan.more_labels),
        Column("least_width", lambda row: row.of.plan and row.of.plan.least_width),
    ]
    return Sheet("", lines, columns)
