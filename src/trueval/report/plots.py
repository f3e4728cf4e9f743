"""Plots that several rooms draw: values with their tie ranges, differences with their intervals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from trueval.report.figures import NARROW, Chart, axis_domain, tone
from trueval.report.formats import distinct
from trueval.report.number_texts import format_difference, format_value, interval
from trueval.report.page_content import Figure

ROW = 20  # CSS pixels of a run
LABEL = 52  # CSS pixels of a value written beside its dot, as far as that is at the right end
MOST_LEADING = 24  # runs in it
MOST_BRACKETS = 12  # more would take the room of the values
LONGEST = 26  # characters of a name beside a plot
# Half a unit of the last digit that is shown: what lies nearer is the same number for a reader.
DIFFERS = 0.00005
# A shorter tie range is not drawn: no decision depends on it.
LEAST_RANGE = 0.0005
HOLLOW_TICK = "M-0.22,-1L0.22,-1L0.22,1L-0.22,1Z"

# Legend of the marks, for the line above the plots.
DOT_KEY = (
    ("bar", "lowest to highest over tie orders"),
    ("dot", "expected"),
    ("tick", "tie-broken, where it differs"),
)


class TieInterval(NamedTuple):
    """A value under ties, such as that of a run.

    Attributes:
        name: label beside the plot.
        expected: position of the dot.
        lowest: start of the bar.
        highest: end of the bar.
        tie_broken: position of the hollow tick, shown only if it differs from the dot.
    """

    name: str
    expected: float
    lowest: float
    highest: float
    tie_broken: float | None = None


class Bracket(NamedTuple):
    """Runs that are not separated.

    Attributes:
        letter: letter of the group.
        members: places of its runs in the plot, from the top.
    """

    letter: str
    members: tuple[int, ...]


class DifferenceInterval(NamedTuple):
    """A difference with its tie range and interval.

    Attributes:
        name: beside the plot.
        expected: the dot.
        ties: lowest and highest over tie orders, the bar.
        interval: over queries, the line.
        strong: whether it is separated: its dot is filled.
    """

    name: str
    expected: float
    ties: tuple[float, float]
    interval: tuple[float | None, float | None]
    strong: bool


def dot_plot(
    dots: Sequence[TieInterval],
    *,
    brackets: Sequence[Bracket] = (),
    title: str = "",
    width: int = NARROW,
    row: int = ROW,
) -> Chart:
    """Plot values with their tie ranges, with brackets around groups that are not separated.

    Args:
        dots: best first, at least one.
        brackets: brackets of groups.
        title: above the plot.
        width: CSS pixels of the whole figure.
        row: CSS pixels of a value.
    """
    import altair as alt

    names = distinct([shorten_name(dot.name) for dot in dots])
    rows = [
        {
            "name": name,
            "expected": dot.expected,
            "lowest": dot.lowest if _has_range(dot) else dot.expected,
            "highest": dot.highest if _has_range(dot) else dot.expected,
            "tick": dot.tie_broken if _differs(dot) else None,
            "end": max(dot.highest, dot.tie_broken if _differs(dot) and dot.tie_broken else dot.highest),
            "value": format_value(dot.expected),
            "told": _describe_interval(dot),
        }
        for name, dot in zip(names, dots, strict=True)
    ]
    ticks = (dot.tie_broken for dot in dots if _differs(dot))
    domain = axis_domain([*(value for dot in dots for value in (dot.lowest, dot.highest, dot.expected)), *ticks])
    room, side = _label_width(names), 13 * len(brackets)
    shape = {"width": max(120, width - room - side - LABEL), "height": row * len(rows)}
    base = alt.Chart(alt.Data(values=rows)).encode(y=names_axis(names))
    x = alt.X("expected:Q", title=None, scale=alt.Scale(domain=domain, nice=False, zero=False), axis=_ticks())
    layers = [
        base.mark_rule(strokeWidth=7, color=tone("range"), strokeCap="butt").encode(
            x=alt.X("lowest:Q", title=None, scale=alt.Scale(domain=domain, nice=False, zero=False), axis=_ticks()),
            x2="highest:Q",
        ),
        base.mark_point(shape=HOLLOW_TICK, filled=False, size=90, stroke=tone("text"), strokeWidth=1.2)
        .transform_filter("isValid(datum.tick)")
        .encode(x="tick:Q"),
        base.mark_point(filled=True, size=52, color=tone("expected"), aria=True).encode(x=x, description="told:N"),
        base.mark_text(align="left", dx=8, fontSize=11).encode(x="end:Q", text="value:N"),
    ]
    plot = alt.layer(*layers).properties(**shape)
    if brackets:
        plot = alt.hconcat(plot, _brackets(names, brackets, shape["height"]), spacing=6).resolve_scale(y="independent")
    return plot.properties(title=title) if title else plot


def plot_dots(dots: Sequence[TieInterval], width: int) -> Chart:
    """`dot_plot` at a width, its rows less high where there are many: what a `Figure` of a view calls.

    Args:
        dots: as in `dot_plot`.
        width: CSS pixels of the whole figure.
    """
    return dot_plot(dots, width=width, row=row_height(len(dots)))


def lead_figure(name: str, measure: str, dots: Sequence[TieInterval], groups: Mapping[str, str]) -> Figure:
    """The plot of the first screen: values best first, with brackets around those that are not separated.

    Args:
        name: id of the figure.
        measure: the measure's text form.
        dots: best first; of many the first ones are shown.
        groups: name → letters, as leaderboards have them; empty where nothing was compared.
    """
    shown = dots[:MOST_LEADING]
    brackets = brackets_of([groups.get(dot.name, "") for dot in shown])
    if len(brackets) > MOST_BRACKETS:
        brackets = ()
    title = measure if len(shown) == len(dots) else f"{measure}: the first {len(shown)} of {len(dots)} runs"
    description = f"{measure}: expected value and tie range of each run, best first; {dots[0].name} comes first."

    def chart(width: int) -> Chart:
        return dot_plot(shown, brackets=brackets, width=width, row=row_height(len(shown)))

    key = (*DOT_KEY, *((("bracket", "runs under one letter are not separated"),) if brackets else ()))
    return Figure(name, title, description, chart, key=key)


def row_height(rows: int) -> int:
    """Height of a row in CSS pixels, less for many rows."""
    return ROW if rows <= 20 else 16


def span_plot(spans: Sequence[DifferenceInterval], *, title: str = "", width: int = NARROW) -> Chart:
    """Differences in the order given: bar of ties, line of the interval over queries, dot filled where separated.

    Args:
        spans: at least one.
        title: above the plot.
        width: CSS pixels of the whole figure.
    """
    import altair as alt

    names = distinct([span.name for span in spans])
    rows = [
        {
            "name": name,
            "expected": span.expected,
            "lowest": span.ties[0],
            "highest": span.ties[1],
            "low": span.interval[0],
            "high": span.interval[1],
            "strong": span.strong,
            "told": f"{span.name}: {format_difference(span.expected)} {interval(*span.interval)}",
        }
        for name, span in zip(names, spans, strict=True)
    ]
    domain = axis_domain([0.0, *(end for span in spans for end in (*span.ties, *span.interval))])
    scale = alt.Scale(domain=domain, nice=False, zero=False)
    shape = {"width": width - 24, "height": 34 * len(rows)}
    base = alt.Chart(alt.Data(values=rows)).encode(y=alt.Y("name:N", sort=None, title=None, axis=None))

    def x(field: str) -> alt.X:
        return alt.X(f"{field}:Q", title=None, scale=scale, axis=_ticks())

    written: Any = {"align": "left", "baseline": "bottom", "yOffset": 1, "fontSize": 11, "limit": width - 24}
    layers = [
        alt.Chart(alt.Data(values=[{"zero": 0}])).mark_rule(color=tone("text")).encode(x=x("zero")),
        base.mark_rule(strokeWidth=7, color=tone("range"), yOffset=7).encode(x=x("lowest"), x2="highest:Q"),
        base.mark_rule(strokeWidth=1.8, color=tone("expected"), yOffset=7).encode(x=x("low"), x2="high:Q"),
        base.mark_point(size=48, stroke=tone("expected"), strokeWidth=1.8, yOffset=7, aria=True).encode(
            x=x("expected"),
            description="told:N",
            fill=alt.condition("datum.strong", alt.value(tone("expected")), alt.value(tone("ground"))),
        ),
        # Twice: the first one clears the lines behind the letters.
        *(
            base.mark_text(**written, **halo).encode(x=alt.value(0), text="name:N")
            for halo in ({"stroke": tone("ground"), "strokeWidth": 4}, {})
        ),
    ]
    plot = alt.layer(*layers).properties(**shape)
    return plot.properties(title=title) if title else plot


def brackets_of(groups: Sequence[str | None]) -> tuple[Bracket, ...]:
    """The groups of runs in the order of a plot, each run with the letters of its groups.

    Args:
        groups: groups of each run, as leaderboards have them.

    Example:
        >>> brackets_of(["a", "ab", "b"])
        (Bracket(letter='a', members=(0, 1)), Bracket(letter='b', members=(1, 2)))
    """
    places: dict[str, list[int]] = {}
    for place, letters in enumerate(groups):
        for letter in letters_of(letters or ""):
            places.setdefault(letter, []).append(place)
    return tuple(Bracket(letter, tuple(members)) for letter, members in places.items())


def letters_of(groups: str) -> tuple[str, ...]:
    """The letters of a group text.

    >>> letters_of("aba1")
    ('a', 'b', 'a1')
    """
    found: list[str] = []
    for character in groups:
        if character.isdigit() and found:
            found[-1] += character
        else:
            found.append(character)
    return tuple(found)


def shorten_name(name: str, most: int = LONGEST) -> str:
    """A name shortened in the middle: names of similar systems differ at the end.

    >>> shorten_name("bm25+rm3+monobert-large-v2", 15)
    'bm25+rm…arge-v2'
    """
    if len(name) <= most:
        return name
    head = most // 2
    return f"{name[:head]}…{name[len(name) - (most - 1 - head) :]}"


def dot_of(name: str, value: Mapping[str, Any]) -> TieInterval:
    """The dot of a value as the JSON holds it.

    Args:
        name: beside the plot.
        value: with expected, lowest, highest, and tie_broken where there is one.
    """
    low, high = (value["expected"] if value[end] is None else value[end] for end in ("lowest", "highest"))
    return TieInterval(name, value["expected"], low, high, value.get("tie_broken"))


def names_axis(names: Sequence[str]) -> Any:
    """The vertical axis of names, in their order; rows have them in the field "name".

    Args:
        names: distinct names.
    """
    import altair as alt

    return alt.Y("name:N", sort=None, title=None, scale=alt.Scale(domain=list(names)), axis=alt.Axis(grid=False))


def _has_range(dot: TieInterval) -> bool:
    return dot.highest - dot.lowest >= LEAST_RANGE


def _differs(dot: TieInterval) -> bool:
    return dot.tie_broken is not None and abs(dot.tie_broken - dot.expected) > DIFFERS


def _describe_interval(dot: TieInterval) -> str:
    told = f"{dot.name}: expected {format_value(dot.expected)}"
    told += f", ties {interval(dot.lowest, dot.highest)}" if dot.highest - dot.lowest > DIFFERS else ""
    return f"{told}, tie-broken {format_value(dot.tie_broken)}" if _differs(dot) else told


def _label_width(names: Sequence[str]) -> int:
    # Arial is about half as wide as high, on average over letters and digits.
    return min(170, int(6.6 * max(map(len, names))) + 8)


def _ticks() -> Any:
    import altair as alt

    return alt.Axis(tickCount=3, labelFlush=False, labelOverlap=True)


def _brackets(names: Sequence[str], brackets: Sequence[Bracket], height: int) -> Chart:
    """A line from the first to the last run of each group, a knot at each of its runs, its letter above."""
    import altair as alt

    lines = [
        {"letter": each.letter, "name": names[each.members[0]], "last": names[each.members[-1]]} for each in brackets
    ]
    knots = [{"letter": each.letter, "name": names[member]} for each in brackets for member in each.members]
    x = alt.X(
        "letter:N",
        sort=None,
        title=None,
        scale=alt.Scale(domain=[each.letter for each in brackets]),
        axis=alt.Axis(orient="top", labelAngle=0, ticks=False, grid=False, labelPadding=2),
    )
    y = alt.Y("name:N", sort=None, scale=alt.Scale(domain=list(names)), axis=None)
    rules = alt.Chart(alt.Data(values=lines)).mark_rule(color=tone("quiet"), strokeWidth=1.5)
    points = alt.Chart(alt.Data(values=knots)).mark_point(filled=True, size=16, color=tone("quiet"))
    return alt.layer(rules.encode(x=x, y=y, y2="last:N"), points.encode(x=x, y=y)).properties(
        width=13 * len(brackets), height=height
    )
