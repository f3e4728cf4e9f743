"""The view of a names probe: which scorer confuses names, in counts of probes, and what each ablation changes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from operator import itemgetter
from typing import Final

from trueval.probes.ablations import ABLATIONS
from trueval.probes.margin_summary import LEAST_COSINE, LEAST_PART
from trueval.probes.names_result import ConditionMargins, MarginChange, NamesSummary, ScorerMargins, Statistic
from trueval.probes.views.published import SOURCE, published_section, published_tables
from trueval.report.figures import NARROW, Chart, axis_domain, panels, tone
from trueval.report.formats import distinct
from trueval.report.number_texts import count_phrase, format_difference, format_value
from trueval.report.page_content import Figure
from trueval.report.plots import HOLLOW_TICK, names_axis, shorten_name
from trueval.report.units import COUNT, DIFFERENCE, FRACTION, NAME, interval_of, unscaled_unit
from trueval.report.view import (
    Answer,
    Column,
    PaperFigure,
    Quantity,
    Section,
    Sentence,
    Sheet,
    View,
    choices_section,
)

ROW: Final = 22  # CSS pixels of a condition
LABELS: Final = 190  # CSS pixels of the names of conditions
SHOWN: Final = 4  # scorers with a sentence of their own
NEAR: Final = "edit_distance_near_miss"
# Margins are in the unit of their scorer, which has no points.
MARGIN: Final = unscaled_unit(format_value)
MARGIN_CHANGE: Final = unscaled_unit(format_difference)
EVERY_CHANGE: Final = (("dot", "mean over queries and runs"), ("thin", "interval over queries"))
KEPT: Final = (("dot", "probes with the right author first"),)
NEAR_KEPT: Final = (("dot", "with impostors one and two letters away"), ("tick", "with plain names of others"))


def view(result: NamesSummary) -> View:
    """What `trueval probe names` shows.

    Args:
        result: of the command.
    """
    ranked = sorted(result.scorers, key=lambda each: (_hardest(each).kept_apart, each.base.kept_apart))
    changed = [each for each in result.scorers if len(each.conditions) > 1]
    plots = {_heading(each): partial(changes_plot, each, shared_domain(changed)) for each in changed}
    about = "relative change of the margin of names under each ablation, with intervals."
    figures = [
        Figure(f"probe-names-{at}", title, f"{title}: {about}", plot, key=EVERY_CHANGE)
        for at, (title, plot) in enumerate(plots.items())
    ]
    words = "What each change of the texts takes from Δname, as a part of it: −1 is all of it."
    first = result.scorers[0]
    return View(
        title="Probe of names",
        answer=_answer(result, ranked),
        lead=_lead(ranked),
        sections=[
            Section("Every scorer", [_scorers(result)], id="probe-names"),
            *([Section("What each ablation does", (), words, figures, id="probe-names-changes")] if figures else []),
            Section("Every margin", list(_sheets(result)), id="probe-names-tables"),
            published_section("As published, for context", SOURCE, published_tables(_languages(result))),
            choices_section(
                "probe of names", {name: getattr(first, name) for name in ("source", "queries", "runs", "seed")}
            ),
        ],
        csv=_csv(result),
        findings=[_describe_scorer(each) for each in ranked[:SHOWN]],
        legend=list(_legend(result)),
        paper=[PaperFigure("probe-names", partial(_paper, plots))] if plots else [],
    )


def kept_apart(scorer: ScorerMargins, condition: ConditionMargins) -> int:
    """Number of probes in which the right author is above both impostors by more than rounding."""
    return round(condition.kept_apart * scorer.probes)


def _languages(result: NamesSummary) -> frozenset[str]:
    return frozenset(each.language for each in result.scorers)


def _heading(scorer: ScorerMargins) -> str:
    return f"{scorer.name}, {scorer.language} ({scorer.unit})"


def _name(scorer: ScorerMargins) -> str:
    return f"{scorer.name} ({scorer.language})"


def _count(scorer: ScorerMargins, condition: ConditionMargins | None = None) -> str:
    """The count of probes in words, such as "94 of 120"."""
    return f"{kept_apart(scorer, condition or scorer.base):,} of {scorer.probes:,}"


def _hardest(scorer: ScorerMargins) -> ConditionMargins:
    """Near misses where they were tried, since plain names of other people are no trial; else base."""
    return next((each for each in scorer.conditions if each.name == NEAR), scorer.base)


def _answer(result: NamesSummary, ranked: Sequence[ScorerMargins]) -> Answer:
    """The scorer that confuses names most, and the one that does so least."""
    worst, best = ranked[0], ranked[-1]
    margins = _hardest(worst)
    right = "the right author is above both impostors in"
    if margins.name == NEAR:
        right = f"with impostors one and two letters away {right}"
    if margins.kept_apart == 1:
        who = f"{_name(worst)} keeps" if len(ranked) == 1 else f"All {len(ranked)} scorers keep"
        sentence = f"{who} every name apart: {right} all {worst.probes:,} probes."
    elif len(ranked) == 1:
        sentence = f"{_name(worst)} confuses names: {right} {_count(worst, margins)} probes."
    elif margins.kept_apart == _hardest(best).kept_apart:
        sentence = f"All {len(ranked)} scorers confuse names alike: {right} {_count(worst, margins)} probes."
    else:
        sentence = (
            f"{_name(worst)} confuses names most: {right} {_count(worst, margins)} probes, under {_name(best)} in "
            f"{_count(best, _hardest(best))}."
        )
    margin = margins.delta_name
    sure: Sentence = ""
    if margin.low == margin.low:  # NaN for fewer than two authors
        sure = (
            f"Over other authors the mean margin of {_name(worst)} is between ",
            Quantity(margin, "low", MARGIN_CHANGE),
            " and ",
            Quantity(margin, "high", MARGIN_CHANGE),
            f" ({result.level:.0%}, in {worst.unit}).",
        )
    own = worst.source == "sample"
    change = "Your own names may be nearer to each other than those of our sample." if own else ""
    following = "trueval probe names --table authors.csv --model MODEL" if own else ""
    return Answer(sentence, "Which scorer confuses names?", sure, change, following)


def _describe_scorer(scorer: ScorerMargins) -> Sentence:
    near = _hardest(scorer)
    words = f"{_name(scorer)}: the right author is first in {_count(scorer)} probes"
    words += f", with impostors one and two letters away in {_count(scorer, near)}" if near.name == NEAR else ""
    if scorer.base.name_over_topic is None:
        return f"{words}."
    ratio = Quantity(scorer.base, "name_over_topic")
    return (f"{words}; a name moves the score ", ratio, " times as far as a topic.")


def _legend(result: NamesSummary) -> Iterator[str]:
    first = result.scorers[0]
    of = "our sample of authors who do not exist" if first.source == "sample" else first.source
    yield (
        f"{count_phrase(first.probes, 'probe', 'probes')}: {count_phrase(first.queries, 'query', 'queries')} in each "
        f"of {count_phrase(first.runs, 'run', 'runs')}, seed {first.seed}, names of {of}; ± standard deviation between "
        f"runs; intervals of {result.level:.0%} by bootstrap over authors."
    )
    yield (
        "Δname: right author less the better of two impostors, for the same work; Δtopic: the work less another one by "
        "the same author; Δboth: less another work by another author. Margins of different scorers are in different "
        "units: compare counts and ratios."
    )
    yield (
        "ΔΔ: Δname less that of base, run by run and query by query; ΔΔ / Δ: the mean of its part of base, over "
        f"probes whose base Δname is at least {_least(result)}."
    )
    yield (
        "kept apart: probes in which the right author is above both impostors by more than rounding; within grain: "
        "share in which the margin is not larger than rounding to the number formats can make it."
    )
    for scorer in result.scorers:
        share = scorer.base.within_grain
        if share:
            yield (
                f"{_name(scorer)}: {round(share * scorer.probes):,} of its {scorer.probes:,} base margins are within "
                f"the grain of its scores, {scorer.grain:.2g}: rounding alone can have made them."
            )
    if any(scorer.unit == "BM25" for scorer in result.scorers):
        yield "BM25 counts words over the candidates of one run under one condition."
    if any(scorer.unit == "spread" for scorer in result.scorers):
        yield "Hybrid: half of each part, less its mean over the base texts, in units of its standard deviation there."


def _least(result: NamesSummary) -> str:
    """The smallest base margin for percentages, in words."""
    cosines = any(scorer.unit == "cosine" for scorer in result.scorers)
    others = any(scorer.unit != "cosine" for scorer in result.scorers)
    part = f"{LEAST_PART:.4f} of the scorer's mean Δboth"
    known = f"{LEAST_COSINE} of cosines"
    return f"{known}, and {part} of other scores" if cosines and others else known if cosines else part


def _scorers(result: NamesSummary) -> Sheet[ScorerMargins]:
    columns: list[Column[ScorerMargins]] = [
        Column("scorer", lambda row: row.name, NAME),
        Column("language", lambda row: row.language),
        Column("unit", lambda row: row.unit),
        Column("probes", lambda row: row.probes, COUNT),
        Column("kept apart", lambda row: kept_apart(row, row.base), COUNT, strong=True),
        Column("name / topic", lambda row: row.base.name_over_topic, FRACTION),
        Column("Δname", lambda row: row.base.delta_name.mean, MARGIN_CHANGE),
        Column("± between runs", lambda row: row.base.delta_name.run_sd, MARGIN),
        Column("Δtopic", lambda row: row.base.delta_topic.mean, MARGIN_CHANGE),
        Column("Δboth", lambda row: row.base.delta_both.mean, MARGIN_CHANGE),
        Column("within grain", lambda row: row.base.within_grain, FRACTION),
    ]
    caption = "Base margins: names and titles as they are."
    return Sheet("Scorers", result.scorers, columns, caption=caption, only="page", id="probe-names-base")


def _sheets(result: NamesSummary) -> Iterator[Sheet[ConditionMargins]]:
    notes = [f"{each.name}: {each.about}." for each in ABLATIONS.values()]
    for at, scorer in enumerate(result.scorers):
        title = f"{_heading(scorer)}, {count_phrase(scorer.probes, 'probe', 'probes')}"
        rows, about = scorer.conditions, () if at else notes
        yield Sheet(
            title, rows, _columns(scorer), caption=title, notes=about, folded=True, id=f"probe-names-table-{at}"
        )


def _columns(scorer: ScorerMargins) -> list[Column[ConditionMargins]]:
    return [
        Column("condition", lambda row: row.name, NAME),
        Column("kept\napart", lambda row: kept_apart(scorer, row), COUNT, strong=True),
        Column("Δname", lambda row: row.delta_name.mean, MARGIN_CHANGE),
        Column("± between\nruns", lambda row: row.delta_name.run_sd, MARGIN, leaves=2),
        Column("interval", lambda row: row.delta_name, interval_of(MARGIN), leaves=4),
        Column("Δtopic", lambda row: row.delta_topic.mean, MARGIN_CHANGE),
        Column("Δboth", lambda row: row.delta_both.mean, MARGIN_CHANGE, leaves=1),
        Column("name /\ntopic", lambda row: row.name_over_topic, FRACTION),
        Column("ΔΔ", _of_change(lambda change: change.absolute.mean), MARGIN_CHANGE, leaves=6),
        Column("ΔΔ / Δ", _of_change(lambda change: change.relative.mean), DIFFERENCE),
        Column(
            "its\ninterval",
            _of_change(lambda change: change.relative),
            interval_of(DIFFERENCE),
            leaves=5,
            ends=("its low", "its high"),
        ),
        Column("probes in it", _of_change(lambda change: change.relative_bundles), COUNT, only="page"),
        Column("within\ngrain", lambda row: row.within_grain, FRACTION, leaves=3),
    ]


def _of_change(value: Callable[[MarginChange], object]) -> Callable[[ConditionMargins], object]:
    """A value of the change against base, which base itself has none of."""
    return lambda row: None if row.change is None else value(row.change)


def _csv(result: NamesSummary) -> Sheet[dict[str, object]]:
    """One line per scorer, language and condition."""
    found = [_csv_row(scorer, condition) for scorer in result.scorers for condition in scorer.conditions]
    return Sheet("", found, [Column(name, itemgetter(name)) for name in found[0]])


def _csv_row(scorer: ScorerMargins, condition: ConditionMargins) -> dict[str, object]:
    change = condition.change
    statistics = {
        "delta_name": condition.delta_name,
        "delta_topic": condition.delta_topic,
        "delta_both": condition.delta_both,
        "change": None if change is None else change.absolute,
        "change_relative": None if change is None else change.relative,
    }
    row: dict[str, object] = {"scorer": scorer.name, "language": scorer.language, "condition": condition.name}
    for key, found in statistics.items():
        for end in ("mean", "run_sd", "low", "high"):
            row[key if end == "mean" else f"{key}_{end}"] = None if found is None else getattr(found, end)
    row["relative_bundles"] = None if change is None else change.relative_bundles
    return row | {name: getattr(condition, name) for name in ("name_over_topic", "kept_apart", "within_grain", "tied")}


def _lead(ranked: Sequence[ScorerMargins]) -> Figure:
    near = any(_hardest(each).name == NEAR for each in ranked)
    about = "Probes in which the right author is above both impostors, by scorer, the one that confuses most first."
    plot = partial(kept_apart_plot, ranked)
    return Figure("probe-names-kept", "Names kept apart", about, plot, key=NEAR_KEPT if near else KEPT)


def kept_apart_plot(scorers: Sequence[ScorerMargins], width: int) -> Chart:
    """Probes in which names are kept apart: a dot for each scorer, with near misses where they were tried.

    Args:
        scorers: in the order of the rows.
        width: CSS pixels of the whole figure.
    """
    import altair as alt

    names = distinct(shorten_name(_name(each)) for each in scorers)
    rows = [
        {
            "name": name,
            "kept": _hardest(each).kept_apart,
            "plain": None if _hardest(each) is each.base else each.base.kept_apart,
            "count": _count(each, _hardest(each)),
        }
        for name, each in zip(names, scorers, strict=True)
    ]
    scale = alt.Scale(domain=[0, 1], nice=False)
    x = alt.X("kept:Q", title="share of probes", scale=scale, axis=alt.Axis(tickCount=3, format="%"))
    base = alt.Chart(alt.InlineData(values=rows)).encode(y=names_axis(names))
    layers = [
        base.mark_point(shape=HOLLOW_TICK, filled=False, size=90, stroke=tone("text"), strokeWidth=1.2)
        .transform_filter("isValid(datum.plain)")
        .encode(x=alt.X("plain:Q", scale=scale)),
        base.mark_point(filled=True, size=52, color=tone("expected"), aria=True).encode(x=x, description="count:N"),
        base.mark_text(align="left", dx=8, fontSize=11).encode(x=alt.value("width"), text="count:N"),
    ]
    return alt.layer(*layers).properties(width=max(120, width - 290), height=ROW * len(rows))


def changes_plot(scorer: ScorerMargins, domain: list[float], width: int = NARROW, *, title: str = "") -> Chart:
    """Relative change of Δname under each ablation with its interval, one row per condition.

    Args:
        scorer: with conditions beside base.
        domain: ends of the axis, those of `shared_domain` so that panels can be compared.
        width: CSS pixels of the whole figure.
        title: above the plot.
    """
    import altair as alt

    changes = {each.name: each.change.relative for each in scorer.conditions if each.change is not None}
    rows = [
        {
            "condition": name,
            **_plot_values(change),
            "told": f"{name}: {format_difference(_plot_values(change)['mean'])}",
        }
        for name, change in changes.items()
    ]
    scale = alt.Scale(domain=domain, nice=False, zero=False)
    base = alt.Chart(alt.InlineData(values=rows)).encode(
        y=alt.Y("condition:N", sort=None, title=None, axis=alt.Axis(labelLimit=LABELS, ticks=False, domain=False))
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
    plot = alt.layer(*layers).properties(width=width - LABELS, height=ROW * len(rows))
    return plot.properties(title=title) if title else plot


def shared_domain(scorers: Iterable[ScorerMargins]) -> list[float]:
    """Common axis limits for the changes of all scorers; includes −1, the loss of the whole margin, and 0.

    Args:
        scorers: all that are drawn.
    """
    changes = [_plot_values(each.change.relative) for scorer in scorers for each in scorer.conditions if each.change]
    low, high = axis_domain([-1.0, 0.1, *(value for change in changes for value in change.values())])
    return [min(low, -1.08), high]


def _plot_values(found: Statistic) -> dict[str, float | None]:
    """Mean and interval for a plot; None for what is not known."""
    values = {"mean": found.mean, "low": found.low, "high": found.high}
    return {name: None if value != value else value for name, value in values.items()}


def _paper(plots: Mapping[str, Callable[..., Chart]]) -> Chart:
    """The effect of each ablation, one panel per scorer."""
    return panels([plot(NARROW, title=title) for title, plot in plots.items()])
