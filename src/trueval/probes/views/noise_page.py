"""The page of a noise probe: what noise costs and denoising recovers; small multiples by system."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from trueval.probes.noise_summary import is_clean
from trueval.probes.views.noise import legend, level_name, levels, pipeline_heading
from trueval.probes.views.noise_published import CHATTER_SOURCE, CHATTER_TABLES
from trueval.report.figures import NARROW, Chart, axis_domain, panels, tone, write_figure
from trueval.report.number_texts import format_difference, format_value, percent
from trueval.report.page_content import Block, Cell, Figure, Number, PageColumn, Part, Row, Table, Words, row_of
from trueval.report.result_directory import Directory, ResultFile, pointer

HEIGHT = 170  # CSS pixels of a plot
SERIES = {
    ("known", "none"): ("known, as it is", "run-1", False),
    ("known", "rules"): ("known, by rules", "run-1", True),
    ("held-out", "none"): ("held out, as it is", "run-2", False),
    ("held-out", "rules"): ("held out, by rules", "run-2", True),
    ("known", "judge"): ("known, by a judge", "run-3", True),
    ("held-out", "judge"): ("held out, by a judge", "run-4", True),
}


def build(file: ResultFile, directory: Directory) -> Part:
    """Build the page of one probe.

    Args:
        file: the result.
        directory: unused.
    """
    sentences = [*_describe_findings(file)]
    measures = list(file.data["models"][0]["levels"][0]["measures"])
    blocks = [
        _plots(file, measures[0], "change", f"What chatter does to {measures[0]}"),
        _plots(file, "overlap", "mean", "What it does to the first ten"),
    ]
    if any(model["levels"][0]["cosine"] for model in file.data["models"]):
        blocks.append(_plots(file, "cosine", "mean", "What it does to the embedding"))
    if file.data["denoiser"]:
        blocks.append(_denoiser_block(file))
    tables = tuple(_table(file, at, measures) for at in range(len(file.data["models"])))
    words = tuple((line,) for line in legend(file.data))
    blocks.append(Block("probe-noise-tables", "Every condition", words, tables=tables, place="details"))
    blocks.append(_published_block())
    return Part(verdict=sentences[0], summary=tuple(sentences[1:]), blocks=tuple(blocks), closing=(_choices(file),))


def write_figures(file: ResultFile, directory: Directory, folder: Path) -> tuple[Path, ...]:
    """Write the change of the first measure, one panel per system, as one figure for a paper.

    Args:
        file: the result.
        directory: unused.
        folder: where to; it exists.
    """
    measure = next(iter(file.data["models"][0]["levels"][0]["measures"]))
    charts = [level_plot(file.data, model, measure, title=pipeline_heading(model)) for model in file.data["models"]]
    return write_figure(panels(charts), folder / "probe-noise")


def level_plot(result: Mapping[str, Any], model: Mapping[str, Any], name: str, *, title: str = "") -> Chart:
    """A statistic by level, one line per template bank and denoising method, with intervals.

    Args:
        result: the whole, for one scale in all panels.
        model: an entry of "models".
        name: of a measure, or "overlap" or "cosine".
        title: above the plot.
    """
    import altair as alt

    rows = [row for series in SERIES for row in _points(model, name, series)]
    everywhere = [row for each in result["models"] for series in SERIES for row in _points(each, name, series)]
    names = [SERIES[series][0] for series in SERIES if any(row["series"] == SERIES[series][0] for row in rows)]
    styles = {label: (color, dashed) for label, color, dashed in SERIES.values()}
    ends = axis_domain(row[end] for row in everywhere for end in ("value", "low", "high") if row[end] is not None)
    scale = alt.Scale(domain=ends, nice=False, zero=False)
    color = alt.Color(
        "series:N",
        title=None,
        sort=None,
        scale=alt.Scale(domain=names, range=[tone(styles[each][0]) for each in names]),
        legend=alt.Legend(orient="bottom", columns=2, labelLimit=180, symbolType="stroke", symbolSize=260),
    )
    dash = alt.StrokeDash(
        "series:N",
        scale=alt.Scale(domain=names, range=[[4, 3] if styles[each][1] else [1, 0] for each in names]),
        sort=None,
    )
    known = sorted({level["level"] for level in model["levels"]})
    across = alt.Scale(domain=[known[0] - 0.3, known[-1] + 0.3], nice=False, zero=False)
    ticks = alt.Axis(values=known, format="d", grid=False)
    # Side by side, so that the intervals of one level do not lie on each other.
    for row in rows:
        row["place"] = row["level"] + 0.07 * (names.index(row["series"]) - (len(names) - 1) / 2)
    base = alt.Chart(alt.InlineData(values=rows)).encode(
        x=alt.X("place:Q", title="noise level", scale=across, axis=ticks), color=color
    )
    axis = alt.Axis(tickCount=4)
    layers = [
        base.transform_filter("datum.low !== null")
        .mark_rule(strokeWidth=1.2, opacity=0.5)
        .encode(y=alt.Y("low:Q", title=None, scale=scale, axis=axis), y2="high:Q"),
        base.mark_line(strokeWidth=1.6).encode(y=alt.Y("value:Q", title=None, scale=scale, axis=axis), strokeDash=dash),
        base.mark_point(size=34, filled=True, aria=True).encode(
            y=alt.Y("value:Q", title=None, scale=scale, axis=axis), description="told:N"
        ),
    ]
    plot = alt.layer(*layers).properties(width=NARROW - 60, height=HEIGHT)
    return plot.properties(title=title) if title else plot


def _points(model: Mapping[str, Any], name: str, series: tuple[str, str]) -> Iterator[dict[str, Any]]:
    bank, way = series
    for level in model["levels"]:
        mine = level["denoised"] == way and level["templates"] in (bank, None)
        if not mine or level["normalised"] != _guard(model):
            continue
        found = level["measures"].get(name) or level[name] or {}  # BM25 has no cosines
        value = found.get("change", found.get("mean"))
        if value is not None:
            label = SERIES[series][0]
            told = f"{label}, level {level['level']}: {value:.3f}"
            yield {**{end: found[end] for end in ("low", "high")}, "level": level["level"], "value": value} | {
                "series": label,
                "told": told,
            }


def _guard(model: Mapping[str, Any]) -> bool:
    """The conditions to draw: those without the guard, where they exist."""
    return all(level["normalised"] or is_clean(level) for level in model["levels"])


def _plots(file: ResultFile, name: str, part: str, title: str) -> Block:
    models = [*_embedders(file)] if name == "cosine" else file.data["models"]
    figures = tuple(
        Figure(
            f"probe-noise-{name.replace('@', '-')}-{at}",
            model["name"],
            f"{name} of {model['name']} by level of noise, for each bank of templates and way of denoising.",
            level_plot(file.data, model, name),
        )
        for at, model in enumerate(models)
    )
    words: dict[str, Words] = {
        "change": (
            "Noisy − clean, with intervals over queries. Dashed: denoised. The rules know one bank of templates.",
        ),
        "mean": (
            ("Share of the first ten that the clean query finds too. Dashed: denoised.",)
            if name == "overlap"
            else ("Cosine of the text that is searched with and the clean query. Dashed: denoised.",)
        ),
    }
    return Block(f"probe-noise-{name.replace('@', '-')}", title, (words[part],), figures=figures)


def _embedders(file: ResultFile) -> Iterator[Mapping[str, Any]]:
    """The systems with an embedder; the first of several with the same one."""
    seen: list[list[Any]] = []
    for model in file.data["models"]:
        cosines = [level["cosine"] for level in model["levels"]]
        if cosines[0] and cosines not in seen:
            seen.append(cosines)
            yield model


def _describe_findings(file: ResultFile) -> Iterator[Words]:
    """Per system, the effect of the strongest noise on the first measure, and what the rules recover."""
    for at, model in enumerate(file.data["models"]):
        measure = next(iter(model["levels"][0]["measures"]))
        for place in _strongest(model):
            level = model["levels"][place]
            change = Number(
                format_difference(level["measures"][measure]["change"]),
                level["measures"][measure]["change"],
                file.source("models", at, "levels", place, "measures", measure, "change"),
            )
            overlap = Number(
                format_value(level["overlap"]["mean"]),
                level["overlap"]["mean"],
                file.source("models", at, "levels", place, "overlap", "mean"),
            )
            words: Words = (
                f"{model['name']} ({model['language']}): {level_name(level)}, changes {measure} by ", change,
                " and keeps ", overlap, " of the first ten",
            )  # fmt: skip
            yield (*words, *_describe_denoised_change(file, at, level, measure), ".")


def _strongest(model: Mapping[str, Any]) -> list[int]:
    """Indices of the highest-level conditions that lead the page: those without denoising, if any."""
    levels, guard = model["levels"], _guard(model)
    highest = max(level["level"] for level in levels)
    places = [at for at, each in enumerate(levels) if each["level"] == highest]
    places = [at for at in places if levels[at]["normalised"] == guard] or places
    return [at for at in places if levels[at]["denoised"] == "none"] or places


def _describe_denoised_change(file: ResultFile, at: int, level: Mapping[str, Any], measure: str) -> Words:
    for place, other in enumerate(file.data["models"][at]["levels"]):
        alike = all(other[name] == level[name] for name in ("level", "templates", "normalised"))
        if alike and other["denoised"] == "rules" != level["denoised"]:
            change = other["measures"][measure]["change"]
            source = file.source("models", at, "levels", place, "measures", measure, "change")
            return ("; with the rules it changes by ", Number(format_difference(change), change, source))
    return ()


def _table(file: ResultFile, at: int, measures: list[str]) -> Table:
    model = file.data["models"][at]
    columns = [
        PageColumn("condition"),
        PageColumn("added", "/added", numeric=True, show=percent),
        PageColumn("cosine", "/cosine/mean", numeric=True, show=format_value),
        PageColumn("overlap", "/overlap/mean", numeric=True, show=format_value, strong=lambda _: True),
        PageColumn("τ", "/tau/mean", numeric=True, show=format_difference),
        PageColumn("RBO", "/rbo/mean", numeric=True, show=format_value),
    ]
    for name in measures:
        columns += [
            PageColumn(name, f"/measures/{name}/noisy", numeric=True, show=format_value),
            PageColumn(
                "change", f"/measures/{name}/change", numeric=True, show=format_difference, strong=lambda _: True
            ),
            PageColumn("from", f"/measures/{name}/low", numeric=True, show=format_difference),
            PageColumn("to", f"/measures/{name}/high", numeric=True, show=format_difference),
        ]
    shown = levels(model)
    rows = tuple(
        row_of(pointer("models", at, "levels", place), columns, level, level_name(level))
        for place, level in enumerate(model["levels"])
        if level in shown
    )
    return Table(f"probe-noise-table-{at}", (pipeline_heading(model),), file.name, tuple(columns), rows, folded=True)


def _denoiser_block(file: ResultFile) -> Block:
    found = file.data["denoiser"]
    columns = (
        PageColumn("language", "/language"),
        PageColumn("templates", "/templates"),
        PageColumn("level", "/level", numeric=True),
        PageColumn("recall", "/recall", numeric=True, show=format_value),
        PageColumn("precision", "/precision", numeric=True, show=format_value),
        PageColumn("question lost", "/question_lost", numeric=True, show=format_value),
    )
    rows = tuple(
        row_of(pointer("denoiser", "stripped", place), columns, each) for place, each in enumerate(found["stripped"])
    )
    clean = Number(
        str(found["clean"]["changed"]), found["clean"]["changed"], file.source("denoiser", "clean", "changed")
    )
    words: Words = (
        "Recall: share of the characters of chatter that the rules take out. Precision: share of what they take "
        "out that is chatter. They were written for the known templates; those held out are for what others write. "
        f"Of {found['clean']['queries']:,} clean queries they change ",
        clean,
        ".",
    )
    table = Table("probe-noise-stripped", ("What the rules strip.",), file.name, columns, rows)
    return Block("probe-noise-rules", "What the rules strip", (words,), tables=(table,))


def _published_block() -> Block:
    """The paper's tables, under their own heading."""
    tables = tuple(
        Table(
            f"probe-noise-published-{at}",
            (each.title,),
            "",
            tuple(PageColumn(title) for title in each.head),
            tuple(Row("", tuple(Cell(text, text) for text in row)) for row in each.rows),
            folded=True,
        )
        for at, each in enumerate(CHATTER_TABLES)
    )
    return Block(
        "probe-noise-published",
        "Chatter as published, for context",
        ((CHATTER_SOURCE,),),
        tables=tables,
        place="details",
    )


def _choices(file: ResultFile) -> Block:
    facts: tuple[tuple[str, Words], ...] = tuple(
        (name, (f"{file.data[name]}",)) for name in ("collection", "queries", "seed")
    )
    facts += tuple(
        (name.replace("_", " "), (f"{value}",)) for name, value in file.data["policy"].items() if value is not None
    )
    return Block("probe-noise-choices", "Choices of the probe of noise", facts=facts)
