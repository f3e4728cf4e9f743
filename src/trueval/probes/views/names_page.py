"""The page of a names probe: which scorers separate names, and the effect of each ablation."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from trueval.probes.ablations import ABLATIONS
from trueval.probes.views.names import legend, scorer_heading
from trueval.probes.views.published import SOURCE, published_tables
from trueval.report.figures import NARROW, Chart, axis_domain, panels, tone, write_figure
from trueval.report.number_texts import format_difference, format_value, whole
from trueval.report.page_content import Block, Cell, Figure, Number, PageColumn, Part, Row, Table, Words, row_of
from trueval.report.result_directory import Directory, ResultFile, pointer

ROW = 22  # CSS pixels of a condition
SHOWN = 4  # scorers in the summary at the top
NEAR = "edit_distance_near_miss"
KEY = (("dot", "mean over queries and runs"), ("thin", "interval over queries"))


def build(file: ResultFile, directory: Directory) -> Part:
    """Build the page of one probe.

    Args:
        file: the result.
        directory: unused.
    """
    told = [*_describe_findings(file)]
    changed = [at for at, scorer in enumerate(file.data["scorers"]) if len(scorer["conditions"]) > 1]
    domain = shared_domain(file.data["scorers"])
    figures = tuple(_figure(file.data["scorers"][at], at, domain) for at in changed)
    blocks = [
        Block(
            "probe-names",
            "Do the scorers know names",
            (("Shares can be compared between scorers; margins cannot, for each scorer has its own unit.",),),
            tables=(_summary(file),),
        )
    ]
    if figures:
        words: Words = ("What each change of the texts takes from Δname, as a part of it: −1 is all of it.",)
        blocks.append(Block("probe-names-changes", "What each ablation does", (words,), figures=figures))
    tables = tuple(_table(file, at) for at in range(len(file.data["scorers"])))
    blocks.append(Block("probe-names-tables", "Every margin", tables=tables, place="details"))
    blocks.append(_published_block(file))
    facts: tuple[tuple[str, Words], ...] = tuple(
        (name, (f"{file.data['scorers'][0][name]}",)) for name in ("source", "queries", "runs", "seed")
    )
    closing = Block("probe-names-choices", "Choices of the probe of names", facts=facts)
    return Part(
        verdict=told[0],
        summary=tuple(told[1 : 1 + SHOWN]),
        findings=tuple(told[1 + SHOWN :]),
        blocks=tuple(blocks),
        closing=(closing,),
    )


def write_figures(file: ResultFile, directory: Directory, folder: Path) -> tuple[Path, ...]:
    """Write the effect of each ablation, one panel per scorer, as one figure for a paper.

    Args:
        file: the result.
        directory: unused.
        folder: where to; it exists.
    """
    changed = [scorer for scorer in file.data["scorers"] if len(scorer["conditions"]) > 1]
    domain = shared_domain(changed)
    charts = [changes_plot(scorer, domain, title=scorer_heading(scorer)) for scorer in changed]
    return write_figure(panels(charts), folder / "probe-names") if charts else ()


def changes_plot(scorer: Mapping[str, Any], domain: list[float], *, title: str = "") -> Chart:
    """Relative change of Δname under each ablation with its interval, one row per condition.

    Args:
        scorer: an entry of "scorers".
        domain: ends of the axis, those of `shared_domain` so that panels can be compared.
        title: above the plot.
    """
    import altair as alt

    rows = [
        {
            "condition": condition["name"],
            **condition["change"]["relative"],
            "told": f"{condition['name']}: {format_difference(condition['change']['relative']['mean'])}",
        }
        for condition in scorer["conditions"]
        if condition["change"] is not None
    ]
    scale = alt.Scale(domain=domain, nice=False, zero=False)
    base = alt.Chart(alt.InlineData(values=rows)).encode(
        y=alt.Y("condition:N", sort=None, title=None, axis=alt.Axis(labelLimit=190, ticks=False, domain=False))
    )
    x = alt.X("mean:Q", title="ΔΔ / Δ", scale=scale, axis=alt.Axis(grid=False, tickCount=3))
    layers = [
        alt.Chart(alt.InlineData(values=[{"zero": 0}]))
        .mark_rule(color=tone("text"))
        .encode(x=alt.X("zero:Q", scale=scale)),
        base.transform_filter("datum.low !== null")
        .mark_rule(strokeWidth=1.8, color=tone("expected"))
        .encode(x=alt.X("low:Q", scale=scale), x2="high:Q"),
        base.transform_filter("datum.mean !== null")
        .mark_point(size=48, filled=True, color=tone("expected"), aria=True)
        .encode(x=x, description="told:N"),
    ]
    plot = alt.layer(*layers).properties(width=NARROW - 190, height=ROW * len(rows))
    return plot.properties(title=title) if title else plot


def shared_domain(scorers: Iterable[Mapping[str, Any]]) -> list[float]:
    """Common axis limits for the changes of all scorers; includes −1, the loss of the whole margin, and 0.

    Args:
        scorers: entries of "scorers".
    """
    changes = [each["change"]["relative"] for scorer in scorers for each in scorer["conditions"] if each["change"]]
    low, high = axis_domain([-1.0, 0.1, *(change[end] for change in changes for end in ("mean", "low", "high"))])
    return [min(low, -1.08), high]


def _figure(scorer: Mapping[str, Any], at: int, domain: list[float]) -> Figure:
    about = f"{scorer_heading(scorer)}: relative change of the margin of names under each ablation, with intervals."
    return Figure(f"probe-names-{at}", scorer_heading(scorer), about, changes_plot(scorer, domain), key=KEY)


def _describe_findings(file: ResultFile) -> Iterator[Words]:
    """The scorers that separate the most and the fewest names, then each scorer."""
    scorers = list(enumerate(file.data["scorers"]))
    ranked = sorted(scorers, key=lambda each: -each[1]["conditions"][0]["kept_apart"])
    first, last = ranked[0], ranked[-1]
    lead: Words = (
        f"{_scorer_name(first[1])} puts the right author above both impostors in ",
        _separation_share(file, *first),
    )
    if last[1]["conditions"][0]["kept_apart"] < first[1]["conditions"][0]["kept_apart"]:
        lead += (f" of bundles, {_scorer_name(last[1])} in ", _separation_share(file, *last))
        yield (*lead, ", the least of all.")
    else:
        yield (*lead, " of bundles.")
    for at, scorer in ranked:
        yield tuple(_sentence(file, at, scorer))


def _sentence(file: ResultFile, at: int, scorer: Mapping[str, Any]) -> Iterator[str | Number]:
    yield f"{_scorer_name(scorer)}: the right author is first in "
    yield _separation_share(file, at, scorer)
    yield " of bundles"
    near = next((place for place, each in enumerate(scorer["conditions"]) if each["name"] == NEAR), None)
    if near is not None:
        yield ", with impostors one and two letters away in "
        yield _separation_share(file, at, scorer, near)
    ratio = scorer["conditions"][0]["name_over_topic"]
    if ratio is not None:
        yield "; a name moves the score "
        yield Number(format_value(ratio), ratio, file.source("scorers", at, "conditions", 0, "name_over_topic"))
        yield " times as far as a topic"
    yield "."


def _separation_share(file: ResultFile, at: int, scorer: Mapping[str, Any], condition: int = 0) -> Number:
    share = scorer["conditions"][condition]["kept_apart"]
    return Number(format_value(share), share, file.source("scorers", at, "conditions", condition, "kept_apart"))


def _scorer_name(scorer: Mapping[str, Any]) -> str:
    return f"{scorer['name']} ({scorer['language']})"


def _summary(file: ResultFile) -> Table:
    columns = (
        PageColumn("scorer"),
        PageColumn("language", "/language"),
        PageColumn("unit", "/unit"),
        PageColumn("kept apart", "/conditions/0/kept_apart", numeric=True, show=format_value, strong=lambda _: True),
        PageColumn("name / topic", "/conditions/0/name_over_topic", numeric=True, show=format_value),
        PageColumn("Δname", "/conditions/0/delta_name/mean", numeric=True, show=format_difference),
        PageColumn("± between runs", "/conditions/0/delta_name/run_sd", numeric=True, show=format_value),
        PageColumn("Δtopic", "/conditions/0/delta_topic/mean", numeric=True, show=format_difference),
        PageColumn("Δboth", "/conditions/0/delta_both/mean", numeric=True, show=format_difference),
        PageColumn("within grain", "/conditions/0/within_grain", numeric=True, show=format_value),
    )
    rows = tuple(
        row_of(pointer("scorers", at), columns, scorer, scorer["name"])
        for at, scorer in enumerate(file.data["scorers"])
    )
    caption = ("Base margins: names and titles as they are.",)
    return Table("probe-names-base", caption, file.name, columns, rows, tuple(legend(file.data)))


def _table(file: ResultFile, at: int) -> Table:
    columns = (
        PageColumn("condition", "/name"),
        PageColumn("Δname", "/delta_name/mean", numeric=True, show=format_difference, strong=lambda _: True),
        PageColumn("± between runs", "/delta_name/run_sd", numeric=True, show=format_value),
        PageColumn("low", "/delta_name/low", numeric=True, show=format_difference),
        PageColumn("high", "/delta_name/high", numeric=True, show=format_difference),
        PageColumn("Δtopic", "/delta_topic/mean", numeric=True, show=format_difference),
        PageColumn("Δboth", "/delta_both/mean", numeric=True, show=format_difference),
        PageColumn("name / topic", "/name_over_topic", numeric=True, show=format_value),
        PageColumn("ΔΔ", "/change/absolute/mean", numeric=True, show=format_difference),
        PageColumn("ΔΔ / Δ", "/change/relative/mean", numeric=True, show=format_difference),
        PageColumn("its low", "/change/relative/low", numeric=True, show=format_difference),
        PageColumn("its high", "/change/relative/high", numeric=True, show=format_difference),
        PageColumn("bundles in it", "/change/relative_bundles", numeric=True, show=whole),
        PageColumn("kept apart", "/kept_apart", numeric=True, show=format_value),
        PageColumn("within grain", "/within_grain", numeric=True, show=format_value),
    )
    scorer = file.data["scorers"][at]
    rows = tuple(
        row_of(pointer("scorers", at, "conditions", place), columns, each)
        for place, each in enumerate(scorer["conditions"])
    )
    notes = tuple(f"{each.name}: {each.about}." for each in ABLATIONS.values()) if not at else ()
    return Table(f"probe-names-table-{at}", (scorer_heading(scorer),), file.name, columns, rows, notes, folded=True)


def _published_block(file: ResultFile) -> Block:
    """The paper's tables, under their own heading."""
    found = published_tables(frozenset(scorer["language"] for scorer in file.data["scorers"]))
    tables = tuple(
        Table(
            f"probe-names-published-{at}",
            (each.title,),
            "",
            tuple(PageColumn(title) for title in each.head),
            tuple(Row("", tuple(Cell(text, text) for text in row)) for row in each.rows),
            folded=True,
        )
        for at, each in enumerate(found)
    )
    return Block("probe-names-published", "As published, for context", ((SOURCE,),), tables=tables, place="details")
