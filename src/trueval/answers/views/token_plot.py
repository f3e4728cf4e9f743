"""The plot of first tokens: p50 and p95 by the number of passages in the prompt, with intervals."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Final

from trueval.answers.generation.generation_result import TokenTimes
from trueval.report.figures import Chart, ChartRow, axis_domain, tone
from trueval.report.formats import slug
from trueval.report.number_texts import format_value
from trueval.report.page_content import Figure

HEIGHT: Final = 190  # CSS pixels of a plot
PARTS: Final[Mapping[str, str]] = {"p50": "expected", "p95": "range"}
KEY: Final = (("dot", "percentile over answers"), ("thin", "interval over questions"))


def token_figure(generator: str, times: Sequence[TokenTimes]) -> Figure | None:
    """The figure of the first tokens of a generator; None without two numbers of passages."""
    if sum(bool(each.first) for each in times) < 2:
        return None
    about = f"Milliseconds to the first token of {generator} by the number of passages: p50 and p95, with intervals."
    return Figure(
        f"first-token-{slug(generator)}", f"First token of {generator}, ms", about, partial(token_plot, times), key=KEY
    )


def token_plot(times: Sequence[TokenTimes], width: int) -> Chart:
    """Milliseconds to the first token by the number of passages, a line for each percentile.

    Args:
        times: by number of passages.
        width: CSS pixels of the whole figure.
    """
    import altair as alt

    rows = [row for each in times for row in _rows(each)]
    sizes = sorted({each.passages for each in times if each.first})
    ends = (row[end] for row in rows for end in ("value", "low", "high") if row[end] is not None)
    scale = alt.Scale(domain=axis_domain(float(str(each)) for each in ends), nice=False, zero=False)
    across = alt.Scale(domain=[sizes[0] - 0.3, sizes[-1] + 0.3], nice=False, zero=False)
    colors = alt.Scale(domain=[*PARTS], range=[tone(each) for each in PARTS.values()])
    legend = alt.Legend(orient="bottom", symbolType="stroke", symbolSize=260)
    base = alt.Chart(alt.InlineData(values=rows)).encode(
        x=alt.X("passages:Q", title="passages", scale=across, axis=alt.Axis(values=sizes, format="d", grid=False)),
        color=alt.Color("part:N", title=None, sort=None, scale=colors, legend=legend),
    )
    y = alt.Y("value:Q", title=None, scale=scale, axis=alt.Axis(tickCount=4))
    return alt.layer(
        base.transform_filter("datum.low !== null && datum.high !== null")
        .mark_rule(strokeWidth=1.2, opacity=0.5)
        .encode(y=alt.Y("low:Q", title=None, scale=scale), y2="high:Q"),
        base.mark_line(strokeWidth=1.6).encode(y=y),
        base.mark_point(size=34, filled=True, aria=True).encode(y=y, description="told:N"),
    ).properties(width=width - 70, height=HEIGHT)


def _rows(times: TokenTimes) -> Iterator[ChartRow]:
    """Percentiles of one number of passages, in milliseconds."""
    for part in PARTS:
        if part in times.first:
            value, low, high = (None if each is None else 1000 * each for each in times.first[part])
            told = f"{part} of {times.passages} passages: {format_value(value)} ms"
            yield {"passages": times.passages, "part": part, "value": value, "low": low, "high": high, "told": told}
