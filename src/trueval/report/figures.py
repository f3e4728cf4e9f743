"""Figures: common theme and colors, and the files made from one specification, byte for byte reproducible.

A figure is a chart of Altair, or the Vega-Lite specification of one as a dict. Its colors are named with `tone`, as the
page's own are, so that one chart follows the page into dark mode, and has the light colors in a paper. The page shows
it as SVG, without a script; papers get SVG, PNG and PDF.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, TypeAlias

from trueval.extras import need

ChartRow: TypeAlias = dict[str, Any]  # a row that a chart draws, or a part of a Vega-Lite specification
Chart: TypeAlias = Any  # of Altair, which has no types and is imported only where a chart is made, or a mapping

# Colors on white paper; templates/page.css has the same, and those of dark mode.
LIGHT: Final[Mapping[str, str]] = {
    "ground": "#ffffff",
    "text": "#1b1f24",
    "quiet": "#57606a",
    "line": "#d0d7de",
    "range": "#9db7d5",
    "expected": "#0b3d91",
    "good": "#1a7f4b",
    "run-0": "#0b62a4",
    "run-1": "#b3391f",
    "run-2": "#b98300",
    "run-3": "#2f9bd6",
    "run-4": "#1b1f24",
    "run-5": "#6b7280",
}
# Six that differ for every kind of color vision (the least distance is 20 in CIE Lab), each readable on its ground.
RUN_TONES: Final = tuple(name for name in LIGHT if name.startswith("run-"))
# Of one width in every browser: Arial, Helvetica and Liberation Sans have the same metrics, and the last one is what
# vl-convert measures labels with.
FONT: Final = "Arial, Helvetica, 'Liberation Sans', sans-serif"
SIZE: Final = 12  # CSS pixels of labels
WIDE: Final = 920  # CSS pixels of a figure on a screen, which scales it to the width of the page
NARROW: Final = 350  # CSS pixels of a figure that fits a phone as it is
LEAST_SPAN: Final = 0.02  # least length of an axis of fractions: two points, a difference that matters
PAPER: Final = 620  # CSS pixels of a figure for papers
DOTS: Final = 200  # per inch of the PNG


def tone(name: str) -> str:
    """The placeholder of a color, which the page and figures for papers replace.

    Args:
        name: key of `LIGHT`.

    Example:
        >>> tone("expected")
        'var(--expected)'
    """
    return f"var(--{name})" if name in LIGHT else LIGHT[name]  # an unknown name raises, instead of drawing black


def specification(chart: Chart) -> dict[str, object]:
    """The Vega-Lite specification of a chart, in our theme regardless of the user's.

    Args:
        chart: Altair chart, or a dict.
    """
    spec = dict(chart) if isinstance(chart, Mapping) else chart.to_dict(validate=False)
    return {**spec, "config": THEME}


def render_svg(chart: Chart) -> str:
    """A chart as SVG with color placeholders, which the page defines.

    Args:
        chart: Altair chart, or a dict.

    Raises:
        MissingExtraError: vl-convert is not installed.
    """
    text: str = _converter().vegalite_to_svg(specification(chart))
    return text


def apply_light_colors(text: str) -> str:
    """Replace color placeholders by the light colors.

    Args:
        text: text of an SVG or a specification.

    Example:
        >>> apply_light_colors('fill="var(--expected)"')
        'fill="#0b3d91"'
    """
    return re.sub(r"var\(--([\w-]+)\)", lambda found: LIGHT[found[1]], text)


def write_figure(chart: Chart, stem: Path) -> tuple[Path, Path, Path]:
    """Write a figure as SVG, PNG and PDF, on white.

    Args:
        chart: Altair chart, or a dict.
        stem: path without suffix, in a folder that exists.

    Raises:
        MissingExtraError: vl-convert is not installed.
    """
    convert = _converter()
    spec = json.loads(apply_light_colors(json.dumps(specification(chart))))
    spec["background"] = LIGHT["ground"]
    svg: str = convert.vegalite_to_svg(spec)
    vector, pixels, printed = (stem.with_name(f"{stem.name}.{suffix}") for suffix in ("svg", "png", "pdf"))
    vector.write_text(svg, encoding="utf-8", newline="\n")
    pixels.write_bytes(convert.svg_to_png(svg, ppi=DOTS))
    printed.write_bytes(convert.svg_to_pdf(svg))
    return vector, pixels, printed


def panels(charts: Sequence[Chart], columns: int = 2) -> Chart:
    """Combine several charts into one figure for a paper, side by side.

    Args:
        charts: charts, at least one.
        columns: number of charts in a row.
    """
    import altair as alt

    return charts[0] if len(charts) == 1 else alt.concat(*charts, columns=columns, spacing=24)


def axis_domain(values: Iterable[float | None]) -> list[float]:
    """The ends of an axis: a margin around the values, clipped at the limits of measures.

    Values between 0 and 1 get an axis between 0 and 1, differences between -1 and 1 one between -1 and 1, each at least
    `LEAST_SPAN` long.

    Args:
        values: values on the axis; None is ignored.

    Returns:
        The two ends.

    Example:
        >>> axis_domain([0.0, 0.5]), axis_domain([-0.25, 1.0]), axis_domain([10.0, 30.0]), axis_domain([0.5, 0.5004])
        ([0.0, 0.525], [-0.3125, 1.0], [9.0, 31.0], [0.4892, 0.5112])
    """
    known = [value for value in values if value is not None]
    if not known:
        return [0.0, 1.0]
    low, high = min(known), max(known)
    if low >= -1 and high <= 1 and high - low < LEAST_SPAN:  # negligible differences must not look large
        least = 0.0 if low >= 0 else -1.0
        low = min(max((low + high - LEAST_SPAN) / 2, least), 1 - LEAST_SPAN)
        high = low + LEAST_SPAN
    room = 0.05 * ((high - low) or abs(high) or 1.0)
    ends = [low - room, high + room]
    if low >= 0:
        ends[0] = max(0.0, ends[0])
    if low >= -1 and high <= 1:
        ends = [max(-1.0, ends[0]), min(1.0, ends[1])]
    return [round(end, 6) for end in ends]


def need_figure_libraries(feature: str) -> None:
    """Raise before any work if the libraries of figures are not installed.

    Args:
        feature: what needs them: "Pages", "Figures".

    Raises:
        MissingExtraError: Altair or vl-convert is not installed.
    """
    for library in ("altair", "vl_convert"):
        need(library, feature, "report")


def _converter() -> Any:
    need_figure_libraries("Figures")
    import vl_convert

    return vl_convert


_LABELS: Final = {"labelFont": FONT, "labelFontSize": SIZE, "labelColor": tone("text")}
_TITLES: Final = {"titleFont": FONT, "titleFontSize": SIZE, "titleFontWeight": "normal", "titleColor": tone("quiet")}
_LINES: Final = {"gridColor": tone("line"), "tickColor": tone("line"), "domain": False, "tickSize": 4}
THEME: Final[Mapping[str, object]] = {
    "background": None,
    "font": FONT,
    "padding": 4,
    "aria": False,  # marks that say more than the figure's own description ask for it
    "view": {"stroke": None},
    "axis": {**_LABELS, **_TITLES, **_LINES, "labelLimit": 170},
    "axisY": {"ticks": False, "labelPadding": 6},
    "legend": {
        **_LABELS,
        **_TITLES,
        "orient": "top",
        "columns": 2,
        "labelLimit": 150,
        "symbolStrokeWidth": 2,
        "symbolOpacity": 1,
    },
    # One weight for all text: vl-convert writes the fonts of a PDF in no fixed order, so two would change its bytes.
    "title": {
        "font": FONT,
        "fontSize": SIZE + 1,
        "fontWeight": "normal",
        "color": tone("text"),
        "anchor": "start",
        "frame": "group",
    },
    "text": {"font": FONT, "fontSize": SIZE, "color": tone("text")},
    "point": {"opacity": 1},
    "concat": {"spacing": 16},
}
