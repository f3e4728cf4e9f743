"""The page of `trueval golden correct`: values by each kind of labels, differences, and the gain of more labels."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from trueval.comparison.views.correction import differences_of, headline, plan_sentence, suggest_labels, units_of
from trueval.evaluation.views.corrected import (
    CorrectedEntry,
    by_measure,
    describe_leader_changes,
    describe_sign_changes,
    of_runs,
)
from trueval.evaluation.views.corrected_page import block
from trueval.report.figures import NARROW, RUN_TONES, Chart, tone
from trueval.report.formats import distinct
from trueval.report.number_texts import format_value, make_formatter, percent, whole
from trueval.report.page_content import Block, Figure, PageColumn, Part, Table, Words, counts, row_of
from trueval.report.page_footer import policy_block
from trueval.report.plots import shorten_name
from trueval.report.result_directory import Directory, ResultFile, pointer

HEIGHT: Final = 190  # CSS pixels of a plot
MOST: Final = 4  # sentences of one kind in the summary


def build(file: ResultFile, _: Directory) -> Part:
    """The part of the page for one correction.

    Args:
        file: the result.
    """
    data = file.data
    values, differences = of_runs(data), differences_of(data)
    blocks = [block(file, values, "run")]
    if differences:
        told = block(file, differences, "difference", differences=True, name="differences-")
        blocks.append(replace(told, title="Differences, corrected by people's labels"))
    blocks += _plan_blocks(file, [*values, *differences])
    turned = [*describe_leader_changes(values), *describe_sign_changes(differences, surely=True)]
    return Part(
        verdict=(headline(data),),
        summary=tuple((line,) for line in turned[:MOST]),
        advice=tuple(_advice(data, values)),
        blocks=tuple(blocks),
        closing=(policy_block(file),),
    )


def _advice(data: Mapping[str, Any], values: Sequence[CorrectedEntry]) -> Iterator[Words]:
    """Where more labels gain most, in one paragraph."""
    first, *rest = [line.strip() for line in suggest_labels(data, values)] or [""]
    if first:
        yield (f"{first} {'; '.join(rest)}." if rest else first,)


def _plan_blocks(file: ResultFile, told: Sequence[CorrectedEntry]) -> Iterator[Block]:
    planned = [each for each in told if "plan" in each.entry]
    if not planned:
        return
    figures = tuple(
        Figure(
            f"plan-{at}",
            f"{measure}: width of the interval",
            f"How narrow the interval of {measure} becomes as people grade more {units_of(file.data)}.",
            width_plot(mine, units_of(file.data)),
        )
        for at, (measure, mine) in enumerate(by_measure(planned))
    )
    tables = (_plan_table(file, planned), *_strata_table(file, planned), *_query_table(file, planned))
    yield Block("plan", "What more labels buy", ((plan_sentence(file.data),),), figures, tables, place="values")


def width_plot(told: Sequence[CorrectedEntry], units: str, *, width: int = NARROW) -> Chart:
    """Plot of the interval width over the number of labeled units, for each run or pair.

    Args:
        told: plans of one measure.
        units: name of the units that are graded.
        width: CSS pixels of the whole figure.
    """
    import altair as alt

    shown = told[: len(RUN_TONES)]
    names = distinct([shorten_name(each.name) for each in shown])
    rows = [
        {"name": name, "units": point["graded"], "width": point["width"]}
        for name, each in zip(names, shown, strict=True)
        for point in each.entry["plan"]["curve"]
    ]
    colors = alt.Scale(domain=names, range=[tone(each) for each in RUN_TONES[: len(names)]])
    plot = alt.Chart(alt.Data(values=rows)).mark_line(point=alt.OverlayMarkDef(filled=True, size=22), strokeWidth=1.5)
    return plot.encode(
        x=alt.X("units:Q", title=f"{units} graded", axis=alt.Axis(tickCount=4, format=",d")),
        y=alt.Y("width:Q", title="width", axis=alt.Axis(tickCount=4), scale=alt.Scale(zero=True)),
        color=alt.Color("name:N", title=None, scale=colors, legend=alt.Legend(orient="bottom", columns=2)),
    ).properties(width=width - 60, height=HEIGHT)


def _plan_table(file: ResultFile, told: Sequence[CorrectedEntry]) -> Table:
    columns = (
        PageColumn("measure", "/measure"),
        PageColumn("run or difference"),
        PageColumn("width now", "/plan/now", numeric=True, show=format_value),
        PageColumn("wanted", "/plan/wanted", numeric=True, show=format_value),
        counts(f"more {units_of(file.data)}", "/plan/units"),
        PageColumn("more labels", "/plan/labels", numeric=True, show=whole, strong=lambda _: True),
        PageColumn("least width", "/plan/least", numeric=True, show=format_value),
    )
    rows = tuple(row_of(pointer(*each.source), columns, each.entry, each.name) for each in told)
    notes = ("A dash: no number of labels is enough, as the queries themselves are too few.",)
    return Table("plan-table", ("What a width takes.",), file.name, columns, rows, notes)


def _strata_table(file: ResultFile, told: Sequence[CorrectedEntry]) -> Iterator[Table]:
    """Strata by the gain of one more label, for audits with strata."""
    if all(len(each.entry["strata"]) < 2 for each in told):
        return
    columns = (
        PageColumn("measure"),
        PageColumn("run or difference"),
        PageColumn("stratum", "/stratum"),
        counts("passages", "/population"),
        counts("graded", "/audited"),
        PageColumn("share of what is open", "/share", numeric=True, show=percent, strong=lambda _: True),
        PageColumn("worth of one more", "/worth", numeric=True, show=make_formatter(".2g")),
    )
    rows = tuple(
        row_of(pointer(*each.source, "strata", at), columns, one, each.measure, each.name)
        for each in told
        for at, one in enumerate(each.entry["strata"])
    )
    caption = ("Where one more label lowers the variance of the corrected value most.",)
    yield Table("plan-strata", caption, file.name, columns, rows, folded=len(rows) > 30)


def _query_table(file: ResultFile, told: Sequence[CorrectedEntry]) -> Iterator[Table]:
    """Queries in which judge and people differ most."""
    columns = (
        PageColumn("measure"),
        PageColumn("run or difference"),
        PageColumn("query", "/query"),
        PageColumn("share", "/share", numeric=True, show=percent, strong=lambda _: True),
    )
    rows = tuple(
        row_of(pointer(*each.source, "open_queries", at), columns, one, each.measure, each.name)
        for each in told
        for at, one in enumerate(each.entry["open_queries"])
    )
    if rows:
        caption = ("Audited queries in which people say otherwise than the judge lets expect, the most first.",)
        yield Table("plan-queries", caption, file.name, columns, rows, folded=True)
