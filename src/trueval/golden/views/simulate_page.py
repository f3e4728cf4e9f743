"""The page of a simulation: what each method gives for how many calls, and how true its claims are."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from trueval.golden.views.simulate import heading, legend
from trueval.report.figures import NARROW, RUN_TONES, Chart, axis_domain, panels, tone, write_figure
from trueval.report.number_texts import fixed, signed, whole
from trueval.report.page_content import Block, Column, Figure, Number, Part, Table, Words, row_of
from trueval.report.result_directory import Directory, ResultFile, pointer

HEIGHT = 200  # CSS pixels of a plot
MOST = 4  # worlds of the figure for papers
# One fewer than there are colors, so that 56 methods differ in one of the two.
SHAPES = ("circle", "square", "cross", "diamond", "triangle-up", "triangle-down", "triangle-right")
CALLS = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000)
KEY = (("thin", "a posterior after so many calls"), ("dot", "other methods, where they end"))


def build(file: ResultFile, directory: Directory) -> Part:
    """The part of the page for one simulation.

    Args:
        file: the result.
        directory: not needed.
    """
    told = [*_told(file)]
    blocks = []
    for at, world in enumerate(file.data["worlds"]):
        figures = []
        if _asked(world):
            plot = calls_plot(world)
            figures.append(Figure(f"simulate-calls-{at}", "Membership", _described(world), plot, key=KEY))
        if world["curves"]:
            about = "What the first posterior claims against what is so, over calls."
            figures.append(Figure(f"simulate-claims-{at}", "Claims", about, claims_plot(world["curves"][0])))
        blocks.append(Block(f"simulate-{at}", heading(world), figures=tuple(figures), tables=(_table(file, at),)))
    facts: tuple[tuple[str, Words], ...] = tuple((name, (f"{file.data[name]}",)) for name in ("pools", "top", "seed"))
    closing = Block("simulate-choices", "Choices of the simulation", facts=facts)
    lead = told[0] if told else ("No refinement was simulated.",)
    return Part(verdict=lead, summary=tuple(told[1:]), blocks=tuple(blocks), closing=(closing,))


def write_figures(file: ResultFile, directory: Directory, folder: Path) -> tuple[Path, ...]:
    """Membership over calls in the first worlds, as one figure for a paper.

    Args:
        file: the result.
        directory: not needed.
        folder: where to; it exists.
    """
    charts = [calls_plot(world, title=world["name"]) for world in file.data["worlds"][:MOST] if _asked(world)]
    return write_figure(panels(charts), folder / "simulate") if charts else ()


def calls_plot(world: Mapping[str, Any], *, title: str = "") -> Chart:
    """Membership against calls, in steps of factors: posteriors as lines, other methods as points.

    Args:
        world: an entry of "worlds".
        title: above the plot.
    """
    import altair as alt

    lines = [{"of": curve["method"], **point} for curve in world["curves"] for point in curve["points"]]
    lines = [point for point in lines if point["calls"]]
    others = [each for each in world["methods"] if each["calls"] and not each["method"].startswith("posterior")]
    ends = axis_domain([each["membership"] for each in (*lines, *others)])
    most = max([each["calls"] for each in (*lines, *others)], default=1)
    last = next((step for step in CALLS if step >= most), CALLS[-1])
    x = alt.X(
        "calls:Q",
        title="calls",
        scale=alt.Scale(type="log", domain=[1, last], nice=False),
        axis=alt.Axis(values=[step for step in CALLS if step <= last], grid=False),
    )
    y = alt.Y("membership:Q", title="membership", scale=alt.Scale(domain=ends, nice=False, zero=False))
    curve = alt.Chart(alt.InlineData(values=lines)).mark_line(color=tone("expected"), strokeWidth=1.8)
    points = alt.Chart(alt.InlineData(values=others))
    names = [each["method"] for each in others]
    colors = [tone(RUN_TONES[place % len(RUN_TONES)]) for place in range(len(names))]
    shapes = [SHAPES[place % len(SHAPES)] for place in range(len(names))]
    color = alt.Color("method:N", title=None, sort=None, scale=alt.Scale(domain=names, range=colors))
    shape = alt.Shape("method:N", title=None, sort=None, scale=alt.Scale(domain=names, range=shapes))
    # A legend of nothing has no size, and then the plot has none.
    layers = [curve.encode(x=x, y=y, strokeDash=alt.StrokeDash("of:N", title=None, sort=None))] if lines else []
    layers += [points.mark_point(filled=True, size=60).encode(x=x, y=y, color=color, shape=shape)] if others else []
    plot = alt.layer(*layers).properties(width=NARROW - 70, height=HEIGHT)
    return plot.properties(title=title) if title else plot


def claims_plot(curve: Mapping[str, Any]) -> Chart:
    """What a posterior claims and what is so, over calls.

    Args:
        curve: an entry of "curves".
    """
    import altair as alt

    names = ["claimed", "true"]
    values = [
        {"calls": point["calls"], "name": name, "share": point[field]}
        for point in curve["points"]
        for name, field in zip(names, ("claimed", "membership"), strict=True)
    ]
    ends = axis_domain([value["share"] for value in values])
    colors = alt.Scale(domain=names, range=[tone("run-1"), tone("expected")])
    return (
        alt.Chart(alt.InlineData(values=values))
        .mark_line(strokeWidth=1.8)
        .encode(
            x=alt.X("calls:Q", title="calls", axis=alt.Axis(grid=False)),
            y=alt.Y("share:Q", title="share of the best", scale=alt.Scale(domain=ends, nice=False, zero=False)),
            color=alt.Color("name:N", title=None, sort=None, scale=colors),
        )
        .properties(width=NARROW - 70, height=HEIGHT)
    )


def _asked(world: Mapping[str, Any]) -> bool:
    """Whether any method asked the judge: there is nothing to draw of those that did not."""
    return any(method["calls"] for method in world["methods"])


def _described(world: Mapping[str, Any]) -> str:
    return f"{world['name']}: share of the true best among those returned, against calls of the judge."


def _told(file: ResultFile) -> Iterator[Words]:
    for at, world in enumerate(file.data["worlds"]):
        claiming = [(place, each) for place, each in enumerate(world["methods"]) if each["claimed"] is not None]
        if not claiming:
            continue
        place, best = max(claiming, key=lambda each: (each[1]["membership"], -each[1]["calls"]))
        source = f"worlds/{at}/methods/{place}"
        calls = Number(f"{best['calls']:.0f}", best["calls"], file.source(*source.split("/"), "calls"))
        share = Number(fixed(best["membership"]), best["membership"], file.source(*source.split("/"), "membership"))
        yield (f"World {world['name']}: {best['method']} finds ", share, " of the true best with ", calls, " calls.")


def _table(file: ResultFile, at: int) -> Table:
    columns = (
        Column("method", "/method"),
        Column("calls", "/calls", numeric=True, show=lambda value: f"{value:.1f}"),
        Column("passages", "/passages", numeric=True, show=lambda value: f"{value:.0f}"),
        Column("membership", "/membership", numeric=True, show=fixed, strong=lambda _: True),
        Column("±", "/error", numeric=True, show=fixed),
        Column("of the judge", "/judged", numeric=True, show=fixed),
        Column("τ", "/tau", numeric=True, show=fixed),
        Column("claimed", "/claimed", numeric=True, show=fixed),
        Column("claimed − judge", "/gap", numeric=True, show=signed),
        Column("± of it", "/gap_error", numeric=True, show=fixed),
        Column("wrong lists", "/wrong", numeric=True, show=fixed),
        Column("posterior needs", "/posterior_calls", numeric=True, show=whole),
    )
    methods = file.data["worlds"][at]["methods"]
    shown = tuple(row_of(pointer("worlds", at, "methods", place), columns, each) for place, each in enumerate(methods))
    return Table(f"simulate-table-{at}", ("Every method.",), file.name, columns, shown, tuple(legend(file.data)))
