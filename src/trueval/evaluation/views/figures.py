"""Figures of evaluations, for pages and papers: values with tie ranges, sizes of tie groups, per-query values."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from trueval.evaluation.details_result import RunDetails, RunEvidence
from trueval.evaluation.evaluation_result import Evaluation
from trueval.evaluation.views.verdicts import by_merit
from trueval.report.figures import PAPER, Chart, panels, tone, write_figure
from trueval.report.json_fields import encode
from trueval.report.plots import DIFFERS, TieInterval, dot_of, dot_plot
from trueval.report.tie_sizes import tie_plot

QUERIES_WIDTH, QUERIES_HEIGHT = 700, 260  # CSS pixels, until a script fits the plot to the page
DECIMALS = 5  # of plotted values of queries; far below a pixel
PLOTTED = ("expected", "lowest", "highest", "tie_broken")


def dots_of(result: Evaluation, measure: str) -> list[TieInterval]:
    """The runs from best to worst, with their plotted values.

    Args:
        result: an evaluation.
        measure: the measure's text form.
    """
    return [dot_of(run.name, encode(run.measures[measure])) for run in by_merit(result, measure)]


def draw_tie_ranges(result: Evaluation, stem: Path) -> tuple[Path, ...]:
    """Draw each measure's runs from best to worst: bar from lowest to highest, dot expected, hollow tick tie-broken.

    Args:
        result: an evaluation with at least one run.
        stem: path without suffix.

    Returns:
        SVG, PNG and PDF; nothing where no measure has a value.

    Raises:
        MissingExtraError: Altair or vl-convert is not installed.
    """
    charts = [
        dot_plot(dots, title=measure, width=PAPER // 2)
        for measure in result.runs[0].measures
        if (dots := dots_of(result, measure))
    ]
    return write_figure(panels(charts), stem) if charts else ()


def draw_tie_groups(runs: Sequence[RunEvidence], stem: Path) -> tuple[Path, ...]:
    """Draw the share of documents in tie groups of each size.

    Args:
        runs: what ties do in each run.
        stem: path without suffix.

    Returns:
        SVG, PNG and PDF.

    Raises:
        MissingExtraError: Altair or vl-convert is not installed.
    """
    return write_figure(tie_plot({run.name: run.tie_groups for run in runs}, width=PAPER), stem)


def query_plot(runs: Sequence[RunDetails], measures: Sequence[str]) -> Chart:
    """One bar per query: the value of one run, or the difference of two, with its tie range.

    Readers choose the runs, the measure and the order of the bars, which are parameters of the plot. The values of a
    query are stored as three short numbers: expected, and the offsets of lowest, highest and tie-broken.

    Args:
        runs: all of the same queries; the plot begins with the first two.
        measures: shown.
    """
    import altair as alt

    names = [run.name for run in runs]
    queries = list(dict.fromkeys(row["query"] for row in runs[0].per_query))
    data = [
        _values(run, measure) | {"run": i, "measure": j}
        for i, run in enumerate(runs)
        for j, measure in enumerate(measures)
    ]
    none = ["nothing: values of the first run"]
    places = list(range(len(names)))
    orders = ["difference or value", "tie range", "order of the judgments"]

    def choice(name: str, value: int, options: list[int], labels: list[str], title: str) -> alt.Parameter:
        bind = alt.binding_select(options=options, labels=labels, name=f"{title} ")
        return alt.param(name=name, value=value, bind=bind)

    parameters = [
        choice("first", 0, places, names, "Run"),
        choice("second", 1 if len(runs) > 1 else -1, [-1, *places], none + names, "less"),
        choice("measure", 0, list(range(len(measures))), list(measures), "Measure"),
        choice("order", 0, [0, 1, 2], orders, "Sorted by"),
        alt.param(name="names", value=queries),
    ]
    base = alt.Chart(alt.NamedData("queries")).transform_filter(
        "datum.measure == measure && (datum.run == first || datum.run == second)"
    )
    base = _differences(base)
    x = alt.X("place:O", axis=None)
    y_axis = alt.Axis(tickCount=5, titleAnchor="start")
    tips = [
        alt.Tooltip(f"{field}:{kind}", title=title, **({} if kind == "N" else {"format": ".4f"}))
        for field, kind, title in (
            ("query", "N", "query"),
            ("middle", "Q", "expected"),
            ("low", "Q", "lowest"),
            ("high", "Q", "highest"),
            ("plain", "Q", "tie-broken"),
        )
    ]
    layers = [
        base.mark_bar(color=tone("expected"), opacity=0.55).encode(
            x=x, y=alt.Y("middle:Q", title=None, axis=y_axis), tooltip=tips
        ),
        base.mark_rule(color=tone("text"), strokeWidth=1.6)
        .transform_filter(f"datum.high - datum.low > {DIFFERS}")
        .encode(x=x, y="low:Q", y2="high:Q", tooltip=tips),
        base.mark_point(
            shape="M-1,-0.22L1,-0.22L1,0.22L-1,0.22Z", size=50, filled=False, stroke=tone("text"), strokeWidth=1.1
        )
        .transform_filter(f"abs(datum.plain - datum.middle) > {DIFFERS}")
        .encode(x=x, y="plain:Q", tooltip=tips),
    ]
    plot = alt.layer(*layers).add_params(*parameters)
    spec = plot.properties(width=QUERIES_WIDTH, height=QUERIES_HEIGHT).to_dict(validate=False)
    # Added here, since Altair copies whatever data a chart holds at every step above.
    return {**spec, "datasets": {"queries": data}}


def _differences(chart: Chart) -> Chart:
    """Turn rows per run, with arrays over the queries, into one row per query with the difference."""
    import altair as alt

    mine, other = "(datum.run == first)", "(datum.run == second && second != first)"
    chart = chart.transform_calculate(place_of="sequence(0, length(datum.e))")
    chart = chart.transform_flatten(["place_of", "e", "d", "u", "t"]).transform_filter("isValid(datum.e)")
    chart = chart.transform_calculate(
        middle_of=f"({mine} - {other}) * datum.e",
        low_of=f"{mine} * (datum.e + datum.d) - {other} * (datum.e + datum.u)",
        high_of=f"{mine} * (datum.e + datum.u) - {other} * (datum.e + datum.d)",
        plain_of=f"({mine} - {other}) * (datum.e + datum.t)",
    )
    sums = [
        alt.AggregatedFieldDef(op="sum", field=f"{name}_of", **{"as": name})
        for name in ("middle", "low", "high", "plain")
    ]
    chart = chart.transform_aggregate(
        [*sums, alt.AggregatedFieldDef(op="count", **{"as": "known"})], groupby=["place_of"]
    )
    # A query that one of the two runs has no value for has no difference.
    chart = chart.transform_filter("datum.known == (second < 0 || second == first ? 1 : 2)")
    chart = chart.transform_calculate(
        query="names[datum.place_of]",
        key="order == 0 ? datum.middle : order == 1 ? datum.high - datum.low : -datum.place_of",
    )
    rank = alt.WindowFieldDef(op="row_number", **{"as": "place"})
    return chart.transform_window([rank], sort=[alt.SortField("key", order="descending")])


def _values(run: RunDetails, measure: str) -> dict[str, list[float | None]]:
    rows = [row for row in run.per_query if row["measure"] == measure]
    return {
        "e": [None if row["expected"] is None else round(row["expected"], DECIMALS) for row in rows],
        "d": [_offset(row["lowest"], row["expected"]) for row in rows],
        "u": [_offset(row["highest"], row["expected"]) for row in rows],
        "t": [_offset(row["tie_broken"], row["expected"]) for row in rows],
    }


def _offset(value: float | None, expected: float | None) -> float:
    return 0 if value is None or expected is None else round(value - expected, DECIMALS) or 0
