"""Figures of precision audits: curves over the cutoff with tie ranges (P-A, Figures 2, 4, 5), and tie-group sizes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from trueval.precision.views.formats import formats
from trueval.report.figures import NARROW, PAPER, RUN_TONES, Chart, axis_domain, panels, tone, write_figure
from trueval.report.formats import distinct
from trueval.report.plots import DIFFERS, HOLLOW_TICK

if TYPE_CHECKING:
    from trueval.report.result_directory import Directory, ResultFile

HEIGHT = 170  # CSS pixels of a plot


def draw_precision(file: ResultFile, directory: Directory, folder: Path) -> tuple[Path, ...]:
    """Draws the curves of every model, and the tie groups of all.

    Args:
        file: the audit.
        directory: not needed; an audit needs no other file.
        folder: exists.

    Returns:
        SVG, PNG and PDF files.

    Raises:
        MissingExtraError: Altair or vl-convert is not installed.
    """
    audit, prefix = file.data, Path(file.name).stem  # "precision", unless someone renamed the file
    written: list[Path] = []
    models = list(dict.fromkeys(regime["model"] for regime in audit["regimes"]))
    for number, model in enumerate(models, start=1):
        regimes = [regime for regime in audit["regimes"] if regime["model"] == model]
        suffix = f"-{number}" if len(models) > 1 else ""
        if any(len(curve["k"]) > 1 for curve in regimes[0]["curves"].values()):
            curves = [
                curve_plot(regimes, measure, title=f"{model}: {measure.rpartition('@')[0]}@k", width=PAPER // 2 - 24)
                for measure in regimes[0]["curves"]
            ]
            written += write_figure(panels(curves), folder / f"{prefix}-curves{suffix}")
        written += write_figure(reach_plot(regimes, model), folder / f"{prefix}-ties{suffix}")
    return tuple(written)


def curve_plot(regimes: Sequence[Mapping[str, Any]], measure: str, *, title: str = "", width: int = NARROW) -> Chart:
    """A measure over its cutoff: lines expected, bands from lowest to highest, hollow ticks tie-broken.

    Args:
        regimes: regimes of one model.
        measure: a key of their curves.
        title: above the plot.
        width: CSS pixels of the whole plot.
    """
    import altair as alt

    names = distinct(formats(regime) for regime in regimes)
    rows = [
        row for name, regime in zip(names, regimes, strict=True) for row in _points(name, regime["curves"][measure])
    ]
    ends = axis_domain(row[end] for row in rows for end in ("lowest", "highest", "tie"))
    # Cutoffs are apart by their place and not by their size: 1, 5 and 100 would leave the first two in one.
    x = alt.X("k:N", sort=None, title="k", axis=alt.Axis(labelAngle=0, grid=False))
    scale, axis = alt.Scale(domain=ends, nice=False, zero=False), alt.Axis(tickCount=4)
    colors = [tone(RUN_TONES[index % len(RUN_TONES)]) for index in range(len(names))]
    color = alt.Color("name:N", title=None, sort=None, scale=alt.Scale(domain=names, range=colors))
    base = alt.Chart(alt.Data(values=rows)).encode(x=x, color=color)
    layers = [
        base.mark_area(opacity=0.18).encode(y=alt.Y("lowest:Q", title=None, scale=scale, axis=axis), y2="highest:Q"),
        base.mark_line(point=alt.OverlayMarkDef(size=24, filled=True), strokeWidth=1.5).encode(
            y=alt.Y("expected:Q", title=None, scale=scale, axis=axis)
        ),
        base.mark_point(shape=HOLLOW_TICK, size=70, filled=False, strokeWidth=1.2)
        .transform_filter("isValid(datum.tie)")
        .encode(y="tie:Q"),
    ]
    plot = alt.layer(*layers).properties(width=width - 60, height=HEIGHT)
    return plot.properties(title=title) if title else plot


def reach_plot(regimes: Sequence[Mapping[str, Any]], title: str) -> Chart:
    """For each size of tie group, the share of documents in groups of that size or larger.

    Args:
        regimes: regimes of one model.
        title: above the plot.
    """
    import altair as alt

    names = distinct(formats(regime) for regime in regimes)
    rows = [
        {"name": name, "size": size, "share": share}
        for name, regime in zip(names, regimes, strict=True)
        for size, share in zip(*reach(regime["ties"]["group_sizes"]), strict=True)
    ]
    colors = [tone(RUN_TONES[index % len(RUN_TONES)]) for index in range(len(names))]
    plot = alt.Chart(alt.Data(values=rows), title=title).mark_line(interpolate="step", strokeWidth=1.4, point=True)
    scale = alt.Scale(type="log", base=2, nice=False)
    return plot.encode(
        x=alt.X("size:Q", title="documents in the tie group, at least", scale=scale),
        y=alt.Y("share:Q", title="share of documents", scale=alt.Scale(domain=[0, 1])),
        color=alt.Color("name:N", title=None, sort=None, scale=alt.Scale(domain=names, range=colors)),
    ).properties(width=PAPER - 70, height=HEIGHT)


def reach(rows: Sequence[Mapping[str, int]]) -> tuple[list[int], list[float]]:
    """The share of documents in groups of at least each size.

    >>> reach([{"size": 1, "groups": 6}, {"size": 2, "groups": 2}])
    ([1, 2], [1.0, 0.4])
    """
    documents = [row["size"] * row["groups"] for row in rows]
    total = sum(documents)
    shares = [sum(documents[index:]) / total for index in range(len(documents))]
    return [row["size"] for row in rows], shares


def _points(name: str, curve: Mapping[str, Any]) -> list[dict[str, Any]]:
    columns = (curve[part] for part in ("k", "expected", "lowest", "highest", "tie_broken"))
    return [
        {"name": name, "k": str(k), "expected": middle, "lowest": low, "highest": high, "tie": _other(plain, middle)}
        for k, middle, low, high, plain in zip(*columns, strict=True)
        if middle is not None
    ]


def _other(tie_broken: float | None, expected: float) -> float | None:
    known = tie_broken is not None and abs(tie_broken - expected) > DIFFERS
    return tie_broken if known else None
