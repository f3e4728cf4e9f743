"""The page of a prediction: whether probes identify the queries that lose, by signal, model and condition."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from trueval.probes.views.prediction import ALL, correlation, legend
from trueval.report.figures import NARROW, Chart, panels, tone, write_figure
from trueval.report.number_texts import format_difference, format_value, percent
from trueval.report.page_content import Block, Figure, Number, PageColumn, Part, Table, Words, row_of
from trueval.report.result_directory import Directory, ResultFile, pointer

ROW: Final = 22  # CSS pixels of a condition
NAMES: Final = 150  # CSS pixels of the names of conditions
MANY: Final = 3  # signals side by side above which a figure takes the full width
AXIS: Final = (-1, 0, 1)
KEY: Final = (("thin", "interval over queries"), ("dot", "Spearman's correlation"))


def build(file: ResultFile, directory: Directory) -> Part:
    """Build the page of one prediction.

    Args:
        file: the result.
        directory: unused.
    """
    told = [*_describe_findings(file)]
    blocks = [each for measure in file.data["measures"] for each in _blocks(file, measure)]
    data = file.data
    facts: tuple[tuple[str, Words], ...] = (
        ("Collection", (f"{data['collection']['name']}: {data['collection']['documents']:,} documents",)),
        ("Queries", (f"{data['queries']:,}, seed {data['seed']}",)),
        ("Intervals", (f"level {data['level']:g}, {data['resamples']:,} resamples of queries",)),
        *((each["name"], (f"{each['about']}; {each['changed']} queries differ",)) for each in data["conditions"]),
    )
    closing = Block("join-choices", "Conditions and choices", facts=facts)
    lead = told[0] if told else ("Nothing varies, so that nothing can be predicted.",)
    return Part(verdict=lead, summary=tuple(told[1:]), blocks=tuple(blocks), closing=(closing,))


def write_figures(file: ResultFile, directory: Directory, folder: Path) -> tuple[Path, ...]:
    """Write the small multiples of the first measure as one figure for a paper.

    Args:
        file: the result.
        directory: unused.
        folder: where to; it exists.
    """
    measure = file.data["measures"][0]
    charts = [plot for system in file.data["systems"] if (plot := _plot(file.data, system, measure)) is not None]
    return write_figure(panels(charts), folder / "probe-join") if charts else ()


def _describe_findings(file: ResultFile) -> Iterator[Words]:
    """The pooled findings, most certain signal first."""
    pooled = [
        (place, each)
        for place, each in enumerate(file.data["pooled"] or file.data["models"])
        if each["condition"] in (ALL, *([] if file.data["pooled"] else [each["condition"]])) and each["low"] is not None
    ]
    key = "pooled" if file.data["pooled"] else "models"
    for place, each in sorted(pooled, key=lambda pair: -pair[1]["low"]):
        told = "misleads about" if each["high"] < 0 else "says nothing sure about"
        told = "says something about" if each["low"] > 0 else told
        number = Number(correlation(each["spearman"]), each["spearman"], file.source(key, place, "spearman"))
        low, high = (Number(correlation(each[end]), each[end], file.source(key, place, end)) for end in ("low", "high"))
        rest = f" which queries lose {each['measure']}: rank correlation "
        yield (f"The {each['signal']} {told}{rest}", number, " [", low, ", ", high, "].")


def _blocks(file: ResultFile, measure: str) -> Iterator[Block]:
    data = file.data
    pooled = [place for place, each in enumerate(data["pooled"]) if each["measure"] == measure]
    name = "".join(letter if letter.isalnum() else "-" for letter in measure)
    figures = []
    for place, system in enumerate(data["systems"]):
        plot = _plot(data, system, measure)
        if plot is not None:
            about = f"{system['name']}: rank correlation of each signal with the loss in {measure}, by condition."
            title = system["name"]
            figures.append(Figure(f"join-{name}-{place}", title, about, plot, wide=is_wide(system), key=KEY))
    rows = [place for place, each in enumerate(data["models"]) if each["measure"] == measure]
    tables = (*([_pooled_table(file, pooled, name)] if pooled else []), _table(file, rows, name))
    yield Block(f"join-{name}", f"Who predicts the loss in {measure}", figures=tuple(figures), tables=tables)


def is_wide(system: Mapping[str, Any]) -> bool:
    """Whether a system's figure takes the full page width.

    >>> is_wide({"signals": ["drop", "overlap", "margin"]})
    False
    """
    return len(system["signals"]) > MANY


def _plot(data: Mapping[str, Any], system: Mapping[str, Any], measure: str) -> Chart | None:
    """Small multiples: one per signal, one row per condition; None without any value."""
    import altair as alt

    names = [each["name"] for each in data["conditions"]]
    rows = [
        {**{name: each[name] for name in ("condition", "signal", "spearman", "low", "high")}, "told": _sentence(each)}
        for each in data["models"]
        if (each["name"], each["measure"]) == (system["name"], measure) and each["spearman"] is not None
    ]
    if not rows:
        return None
    signals = [name for name in system["signals"] if any(each["signal"] == name for each in rows)]
    whole = 2 * NARROW if is_wide(system) else NARROW
    width = (whole - NAMES) // len(signals)
    charts = []
    for place, signal in enumerate(signals):
        own = [each for each in rows if each["signal"] == signal]
        axis = alt.Axis(labelLimit=140) if place == 0 else None
        y = alt.Y("condition:N", sort=names, title=None, scale=alt.Scale(domain=names), axis=axis)

        def x(field: str) -> alt.X:
            ticks = alt.Axis(values=AXIS, format="d", grid=True)
            return alt.X(f"{field}:Q", title=None, scale=alt.Scale(domain=[-1, 1], nice=False), axis=ticks)

        base = alt.Chart(alt.InlineData(values=own)).encode(y=y)
        known = alt.Chart(alt.InlineData(values=[each for each in own if each["low"] is not None])).encode(y=y)
        zero = alt.Chart(alt.InlineData(values=[{"zero": 0}])).mark_rule(color=tone("text")).encode(x=x("zero"))
        lines = known.mark_rule(strokeWidth=1.8, color=tone("expected")).encode(x=x("low"), x2="high:Q")
        dots = base.mark_point(size=44, filled=True, color=tone("expected"), aria=True)
        layers = [zero, lines, dots.encode(x=x("spearman"), description="told:N")]
        charts.append(alt.layer(*layers).properties(width=width, height=ROW * len(names), title=signal))
    return alt.hconcat(*charts, spacing=12)


def _sentence(row: Mapping[str, Any]) -> str:
    return f"{row['condition']}, {row['signal']}: {correlation(row['spearman'])}"


def _columns(first: str) -> tuple[PageColumn, ...]:
    return (
        PageColumn(first, f"/{first}"),
        PageColumn("condition", "/condition"),
        PageColumn("Spearman", "/spearman", numeric=True, show=correlation, strong=lambda _: True),
        PageColumn("low", "/low", numeric=True, show=correlation),
        PageColumn("high", "/high", numeric=True, show=correlation),
        PageColumn("τ-b", "/kendall/value", numeric=True, show=correlation),
        PageColumn("low", "/kendall/low", numeric=True, show=correlation),
        PageColumn("high", "/kendall/high", numeric=True, show=correlation),
        PageColumn("queries", "/queries", numeric=True),
    )


def _pooled_table(file: ResultFile, places: list[int], name: str) -> Table:
    columns = (*_columns("signal"), PageColumn("ranked across", "/across/value", numeric=True, show=correlation))
    rows = tuple(row_of(pointer("pooled", place), columns, file.data["pooled"][place]) for place in places)
    caption = ("All models together, queries ranked within each model and condition.",)
    return Table(f"join-pooled-{name}", caption, file.name, columns, rows, tuple(legend(file.data)))


def _table(file: ResultFile, places: list[int], name: str) -> Table:
    first, *rest = _columns("name")
    columns = (
        first._replace(title="model"),
        PageColumn("signal", "/signal"),
        *rest,
        PageColumn("lost", "/lost", numeric=True, show=percent),
        PageColumn("gained", "/gained", numeric=True, show=percent),
        PageColumn("mean loss", "/loss", numeric=True, show=format_difference),
        PageColumn("mean signal", "/danger", numeric=True, show=format_value),
    )
    rows = tuple(row_of(pointer("models", place), columns, file.data["models"][place]) for place in places)
    return Table(f"join-models-{name}", ("Each model and condition.",), file.name, columns, rows)
