"""The plot of dose and response: value by number of distractors, a line for each generator, with intervals."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from trueval.answers.generation.brittle_result import BrittleAnswers, BrittleGenerator, DosePoint
from trueval.report.figures import Chart, ChartRow, axis_domain, tone
from trueval.report.number_texts import format_value

HEIGHT: Final = 190  # CSS pixels of a plot
COLORS: Final = ("expected", "text", "range")
DASHES: Final = ([1, 0], [5, 3], [2, 2])


def dose_plot(result: BrittleAnswers, kind: str, place: str, width: int) -> Chart:
    """Value by number of distractors of one kind, a line for each generator.

    Args:
        result: the whole, for one scale in all plots.
        kind: of distractors.
        place: of the gold documents.
        width: CSS pixels of the whole figure.
    """
    import altair as alt

    names = [each.name for each in result.generators]
    rows = [row for each in result.generators for row in _rows(each, kind, place)]
    everywhere = [row for each in result.generators for row in _rows(each, "", "")]
    for row in rows:  # side by side, so that intervals of one dose do not lie on each other
        row["place"] = float(row["dose"]) + 0.08 * (names.index(str(row["name"])) - (len(names) - 1) / 2)
    scale = alt.Scale(
        domain=axis_domain(row[end] for row in everywhere for end in ("value", "low", "high") if row[end] is not None),
        nice=False,
        zero=False,
    )
    doses = sorted({int(str(row["dose"])) for row in rows})
    across = alt.Scale(domain=[doses[0] - 0.3, doses[-1] + 0.3], nice=False, zero=False)
    colors = [tone(COLORS[at % len(COLORS)]) for at in range(len(names))]
    legend = alt.Legend(orient="bottom", columns=2, labelLimit=180, symbolType="stroke", symbolSize=260)
    base = alt.Chart(alt.InlineData(values=rows)).encode(
        x=alt.X(
            "place:Q",
            title="level of chatter" if kind == "chatter" else "distractors",
            scale=across,
            axis=alt.Axis(values=doses, format="d", grid=False),
        ),
        color=alt.Color("name:N", title=None, sort=None, scale=alt.Scale(domain=names, range=colors), legend=legend),
    )
    axis = alt.Axis(tickCount=4)
    dashes = alt.Scale(domain=names, range=[DASHES[at % len(DASHES)] for at in range(len(names))])
    y = alt.Y("value:Q", title=None, scale=scale, axis=axis)
    return alt.layer(
        base.transform_filter("datum.low !== null")
        .mark_rule(strokeWidth=1.2, opacity=0.5)
        .encode(y=alt.Y("low:Q", title=None, scale=scale, axis=axis), y2="high:Q"),
        base.mark_line(strokeWidth=1.6).encode(y=y, strokeDash=alt.StrokeDash("name:N", scale=dashes, sort=None)),
        base.mark_point(size=34, filled=True, aria=True).encode(y=y, description="told:N"),
    ).properties(width=width - 60, height=HEIGHT)


def _rows(generator: BrittleGenerator, kind: str, place: str) -> Iterator[ChartRow]:
    """The points of a kind and a place; "" for all."""
    for point in generator.points:
        if point.value.value is not None and kind in ("", point.kind) and place in ("", point.place):
            yield {
                "name": generator.name,
                "dose": point.dose,
                "value": point.value.value,
                "low": point.value.low,
                "high": point.value.high,
                "told": _tooltip(generator.name, point),
            }


def _tooltip(name: str, point: DosePoint) -> str:
    found = point.value
    dose = f"level {point.dose} of chatter" if point.kind == "chatter" else f"{point.dose} distractors"
    return f"{name}, {dose}: {format_value(found.value)}, from {format_value(found.low)} to {format_value(found.high)}"
