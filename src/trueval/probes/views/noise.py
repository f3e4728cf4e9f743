"""The view of a noise probe: for which systems noise is bad, good or unknown, and what denoising recovers."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from operator import itemgetter
from typing import Final, Literal, NamedTuple, TypeAlias

from trueval.evaluation.views.verdicts import lower_is_better
from trueval.probes.noise_result import (
    BootstrapMean,
    MeasureChange,
    NoiseLevel,
    NoiseSummary,
    NoisySystem,
    StrippedNoise,
)
from trueval.probes.noise_settings import NONE, RULES, NoiseCondition
from trueval.probes.query_noise import HELD_OUT, KNOWN
from trueval.probes.views.noise_published import CHATTER_SOURCE, CHATTER_TABLES
from trueval.probes.views.published import published_section
from trueval.report.figures import NARROW, Chart, ChartRow, axis_domain, panels, tone
from trueval.report.formats import slug
from trueval.report.number_texts import count_phrase, format_value
from trueval.report.page_content import Figure
from trueval.report.units import COUNT, DIFFERENCE, FRACTION, NAME, PERCENT, TEXT, interval_of, unscaled_unit
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
    policy_section,
)

HEIGHT: Final = 170  # CSS pixels of a plot
HARMLESS: Final = 0.02  # mean loss that the interval must exclude for noise to be called harmless
RECOVERED: Final = 0.5  # share of a loss from which on denoising is worth advising
Outcome: TypeAlias = Literal["bad", "good", "unknown"]
SERIES: Final = {
    ("known", "none"): ("known, as it is", "run-1", False),
    ("known", "rules"): ("known, by rules", "run-1", True),
    ("held-out", "none"): ("held out, as it is", "run-2", False),
    ("held-out", "rules"): ("held out, by rules", "run-2", True),
    ("known", "judge"): ("known, by a judge", "run-3", True),
    ("held-out", "judge"): ("held out, by a judge", "run-4", True),
}
OVERLAPS: Final = "Share of the first ten that the clean query finds too."
COSINES: Final = "Cosine of the text that is searched with and the clean query."
CHANGES: Final = "Noisy − clean. The rules know one bank of templates."
KEY: Final = (("lying", "dashed: denoised"), ("thin", "interval over queries"))
ACCURACY: Final = (
    "Recall: share of the characters of chatter that the rules take out. Precision: share of what they take out that "
    "is chatter. They were written for the known templates; those held out are for what others write."
)
SHARE: Final = unscaled_unit(format_value)
VALUES: Final = ("cosine", "overlap", "tau", "rbo")


def view(result: NoiseSummary) -> View:
    """What `trueval probe noise` shows.

    Args:
        result: of the command.
    """
    measures = _measures(result)
    facts = {"collection": result.collection, "queries": result.queries, "seed": result.seed}
    found = sorted((_decide(each, measures[0]) for each in result.models), key=lambda each: each.gain)
    systems = [each.model for each in found]
    return View(
        title="Probe of noise",
        answer=_answer(result, found, measures[0]),
        lead=_figure(result, systems[0], measures[0]),
        sections=[
            *_plots(result, systems[1:], measures[0], f"What chatter does to {measures[0]}", CHANGES),
            *_plots(result, result.models, "overlap", "What it does to the first ten", OVERLAPS),
            *_plots(result, list(_embedders(result)), "cosine", "What it does to the embedding", COSINES),
            Section("Every condition", list(_sheets(result, measures)), id="probe-noise-tables"),
            *_denoiser(result),
            published_section("Chatter as published, for context", CHATTER_SOURCE, CHATTER_TABLES),
            choices_section("probe of noise", facts),
            policy_section(result.policy),
        ],
        csv=_csv(result),
        findings=[_describe_system(result, each, measures[0]) for each in systems],
        legend=list(_legend(result)),
        notes=list(dict.fromkeys(note for each in result.models for note in each.notes)),
        paper=[PaperFigure("probe-noise", partial(_paper, result))],
    )


def _measures(result: NoiseSummary) -> list[str]:
    return list(result.models[0].levels[0].measures)


def _gain(level: NoiseLevel, measure: str) -> float:
    """The change of a measure, negative for a loss; 0 where it is not known."""
    change = level.measures[measure].change
    return 0.0 if change != change else -change if lower_is_better(measure) else change


class _Decision(NamedTuple):
    """What the strongest noise does to a system.

    Attributes:
        level: the condition that loses most.
        gain: mean change of the measure, negative for a loss.
        outcome: "bad" where the interval has losses alone, "good" where it excludes a loss of HARMLESS.
    """

    model: NoisySystem
    level: NoiseLevel
    gain: float
    outcome: Outcome


def _decide(model: NoisySystem, measure: str) -> _Decision:
    level = _strongest(model, measure)
    change = level.measures[measure]
    low, high = (-change.high, -change.low) if lower_is_better(measure) else (change.low, change.high)
    outcome: Outcome = "bad" if high < 0 else "good" if low > -HARMLESS else "unknown"
    return _Decision(model, level, _gain(level, measure), outcome)


def _strongest(model: NoisySystem, measure: str) -> NoiseLevel:
    """The condition of the highest level that loses most, without denoising where there is such a one."""
    highest = max(each.level for each in model.levels)
    found = [each for each in model.levels if each.level == highest]
    found = [each for each in found if each.normalised == _guard(model)] or found
    found = [each for each in found if each.denoised == NONE] or found
    return min(found, key=lambda each: _gain(each, measure))


def _guard(model: NoisySystem) -> bool:
    """Whether the conditions to show have one way of writing: only where there are none without it."""
    return all(each.normalised or each.is_clean for each in model.levels)


def _denoised_level(model: NoisySystem, level: NoiseLevel) -> NoiseLevel | None:
    """The same condition denoised by the rules; None where it was not asked for."""
    found = _find_level(model, level.condition._replace(denoised=RULES))
    return None if found is level else found


def _name(model: NoisySystem) -> str:
    return f"{model.name} ({model.language})"


def _heading(model: NoisySystem) -> str:
    return f"{model.name}, {model.language}, {count_phrase(model.queries, 'query', 'queries')}"


def _effect(change: MeasureChange, measure: str) -> tuple[str | Quantity, ...]:
    """How many queries lose and the mean change; files of older versions have no counts."""
    by = Quantity(change, "change", DIFFERENCE)
    if change.lost is None or change.queries is None:
        return (f"{measure} changes by ", by)
    counts = f"{change.lost:,} of {count_phrase(change.queries, 'query loses', 'queries lose')} {measure}"
    return (f"{counts}, a mean change of ", by)


def _answer(result: NoiseSummary, found: Sequence[_Decision], measure: str) -> Answer:
    """For which systems noise is bad, good or unknown, by the worst of them, and what to change."""
    worst, best = found[0], found[-1]
    level, change = worst.level, worst.level.measures[measure]
    question = "For which systems is chatter in queries bad, and what should be changed?"
    if not level.level:
        return Answer("No noise was tried, only clean queries.", question)
    if change.change != change.change:
        return Answer(f"{measure} has no value under noise: see the notes.", question)
    several = len(found) > 1
    ends = (Quantity(change, "low", DIFFERENCE), " and ", Quantity(change, "high", DIFFERENCE))
    sentence: Sentence = (
        f"Chatter around queries ({level.condition.description}) is {_describe_outcomes(found)}: ",
        f"{_name(worst.model)} loses most: " if several and worst.outcome == "bad" else "",
        f"{_name(worst.model)}: " if several and worst.outcome != "bad" else "",
        *_effect(change, measure),
        *(_describe_best(best.model, level, measure) if several else ()),
        ".",
    )
    by = f"{result.level:.0%} by bootstrap over queries"
    of = f" of {_name(worst.model)}" if several else ""
    sure: Sentence = (f"The mean change{of} is between ", *ends, f" ({by})")
    if worst.outcome == "good":
        sure = (*sure, f", so that a loss of {HARMLESS:g} is excluded")
    sure = (*sure, ".")
    return Answer(sentence, question, sure, _describe_remedy(result, worst, measure))


def _describe_outcomes(found: Sequence[_Decision]) -> str:
    """For whom noise is bad, harmless, or not known to be either: "bad for a (en) and harmless for b (en)"."""
    words = {"bad": "bad for", "unknown": "not known to be bad or harmless for", "good": "harmless for"}
    told = []
    for outcome, phrase in words.items():
        names = [_name(each.model) for each in found if each.outcome == outcome]
        if names:
            told.append(f"{phrase} {', '.join(names[:-1])}{' and ' if names[:-1] else ''}{names[-1]}")
    return f"{', '.join(told[:-1])}{' and ' if told[:-1] else ''}{told[-1]}"


def _describe_remedy(result: NoiseSummary, worst: _Decision, measure: str) -> Sentence:
    """What to change: a denoiser, as far as the rules show its worth, or the number of queries."""
    if worst.outcome == "good":
        return "Nothing needs to be changed."
    if worst.level.denoised != NONE:
        return "These queries are denoised already; --denoise none,rules,judge says what each way recovers."
    rules = [
        (bank, level)
        for bank in (KNOWN, HELD_OUT)
        if (level := _find_level(worst.model, worst.level.condition._replace(templates=bank, denoised=RULES)))
    ]
    wording = {KNOWN: "for templates that the rules know", HELD_OUT: "for others"}
    parts: list[str | Quantity] = []
    for bank, level in rules:
        parts += [", " if parts else "", Quantity(level.measures[measure], "change", DIFFERENCE), f" {wording[bank]}"]
    left: tuple[str | Quantity, ...] = ("denoised by rules, the change is ", *parts, ".") if parts else ()
    if worst.outcome == "unknown":
        more = f"More judged queries than these {worst.model.queries:,} can decide it (--queries N)"
        return (f"{more}; ", *left) if left else (f"{more}.",)
    enough = [_gain(level, measure) >= (1 - RECOVERED) * worst.gain for _, level in rules]
    if not rules:
        return "Try what a denoiser recovers: the same command with --denoise none,rules."
    if all(enough) and rules[-1][0] == HELD_OUT:
        return ('Strip the chatter before the search (rewrite = "denoise" in [queries] of a pipeline): ', *left)
    return (
        "Have a language model rewrite queries before the search, and measure it with --denoise judge --judge MODEL: ",
        *left,
    )


def _find_level(model: NoisySystem, condition: NoiseCondition) -> NoiseLevel | None:
    """The results of a condition; None where it was not measured."""
    return next((each for each in model.levels if each.condition == condition), None)


def _describe_best(model: NoisySystem, level: NoiseLevel, measure: str) -> tuple[str | Quantity, ...]:
    """What the same noise does to the system that loses least."""
    same = next((each for each in model.levels if each.condition == level.condition), None)
    if same is None:
        return ()
    change = same.measures[measure]
    counts = "" if change.lost is None or change.queries is None else f"{change.lost:,} of {change.queries:,}, "
    return (f"; {_name(model)} least: {counts}", Quantity(change, "change", DIFFERENCE))


def _describe_system(result: NoiseSummary, model: NoisySystem, measure: str) -> Sentence:
    """The effect of the strongest noise on a system, in queries and documents, and what the rules recover."""
    level = _strongest(model, measure)
    k, kept = result.reshuffle.k, level.overlap.mean
    words = (
        f"{_name(model)}, {level.condition.description}: ",
        *_effect(level.measures[measure], measure),
        *([f"; of the first {k} documents it keeps {k * kept:.1f}"] if kept == kept else []),
    )
    denoised = _denoised_level(model, level)
    if denoised is None:
        return (*words, ".")
    rules = Quantity(denoised.measures[measure], "change", DIFFERENCE)
    return (*words, "; with the rules it changes by ", rules, ".")


def shown_levels(model: NoisySystem) -> list[NoiseLevel]:
    """The conditions to show: only those without the guard where it changes nothing."""
    return [each for each in model.levels if not each.normalised] if guard_is_idle(model) else list(model.levels)


def guard_is_idle(model: NoisySystem) -> bool:
    """Whether results with and without the guard are equal wherever both were measured."""
    off = {each.condition: each for each in model.levels if not each.normalised}
    pairs = [(each, off.get(each.condition._replace(normalised=False))) for each in model.levels if each.normalised]
    return bool(pairs) and all(other is not None and _same(one, other) for one, other in pairs)


def _same(one: NoiseLevel, other: NoiseLevel) -> bool:
    # A cosine is of vectors in float32, and differs in its last digits between batches.
    means = [(_mean(getattr(one, name)), _mean(getattr(other, name)), 1e-5) for name in VALUES]
    changes = [(one.measures[name].change, other.measures[name].change, 1e-9) for name in one.measures]
    return all(abs(a - b) < most or (a != a and b != b) for a, b, most in (*means, *changes))


def _mean(found: BootstrapMean | None) -> float:
    return math.nan if found is None else found.mean


def short_name(level: NoiseLevel) -> str:
    """A condition's short label: "2 held-out rules guard"."""
    noise = f"{level.level} {level.templates}" if level.level else "clean"
    treated = [] if level.denoised == NONE else [level.denoised]
    return " ".join([noise, *treated, *(["guard"] if level.normalised else [])])


def _legend(result: NoiseSummary) -> Iterator[str]:
    lists = result.reshuffle
    yield (
        f"{result.collection}: means over {count_phrase(result.queries, 'judged query', 'judged queries')} drawn by "
        f"seed {result.seed}; changes are paired, noisy − clean, with intervals of {result.level:.0%} by bootstrap "
        "over queries; values are expected ones under ties."
    )
    yield (
        "added: share of chatter in the characters of the query; on the page also cosine: of the text that is searched "
        f"with and the clean query; overlap and τ: of the first {lists.k} results with those of the clean query, τ for "
        "lists of different documents (1 − 2 K^(1/2)/max, Fagin et al. 2003; −1 nothing in common); RBO: p = "
        f"{lists.p:g}, of the first {lists.depth}."
    )
    yield (
        "Conditions: level and templates of the chatter; rules, judge: what took it out; guard, normalised: one way of "
        "writing after that. Levels: 1 a greeting; 2 a greeting, a frame, a filler, thanks; 3 also a digression, an "
        "emoji, typed on a phone; 4 more of these, words of another language, typos. The rules were written for the "
        "known templates, not for those held out."
    )
    if any(model.levels[0].overlap.mean < 1 for model in result.models):
        yield (
            "Where scores are equal, a clean query keeps less than all of its own results: overlap, τ and RBO are "
            "means over the orders in which an engine may list them."
        )
    idle = ", ".join(model.name for model in result.models if guard_is_idle(model))
    if idle:
        yield f"One way of writing (NFC, plain spaces, apostrophes) changes nothing for {idle}; its rows are left out."
    if result.denoiser is not None:
        clean = result.denoiser.clean
        yield f"The rules change {clean.changed:,} of the {clean.queries:,} clean queries of the collection."


def _sheets(result: NoiseSummary, measures: Sequence[str]) -> Iterator[Sheet[NoiseLevel]]:
    """Of each system a table with the first measure, and one with each of the others, which a terminal leaves out."""
    for at, model in enumerate(result.models):
        title, rows = _heading(model), shown_levels(model)
        columns = [*_columns(), *_changes(measures[0])]
        yield Sheet(title, rows, columns, caption=title, folded=True, id=f"probe-noise-table-{at}")
        for place, name in enumerate(measures[1:], start=1):
            other, columns = f"{title}: {name}", [*_conditions(), *_changes(name)]
            yield Sheet(
                other, rows, columns, caption=other, folded=True, only="document", id=f"probe-noise-table-{at}-{place}"
            )


def _conditions() -> Iterator[Column[NoiseLevel]]:
    yield Column("condition", short_name, TEXT, only="text")
    yield Column("condition", lambda row: row.condition.description, only="page")


def _columns() -> Iterator[Column[NoiseLevel]]:
    yield from _conditions()
    yield Column("added", lambda row: row.added, PERCENT, leaves=1)
    yield Column("cosine", _mean_of(lambda row: row.cosine), SHARE, only="page")
    yield Column("overlap", lambda row: row.overlap.mean, SHARE, strong=True)
    yield Column("τ", lambda row: row.tau.mean, SHARE, only="page")
    yield Column("RBO", lambda row: row.rbo.mean, SHARE, only="page")


def _mean_of(found: Callable[[NoiseLevel], BootstrapMean | None]) -> Callable[[NoiseLevel], float | None]:
    return lambda row: None if (known := found(row)) is None else known.mean


def _changes(name: str) -> Iterator[Column[NoiseLevel]]:
    yield Column(name, lambda row: row.measures[name].noisy, FRACTION, only="page")
    yield Column("queries that lose", lambda row: row.measures[name].lost, COUNT, only="page")
    yield Column(f"{name} change", lambda row: row.measures[name].change, DIFFERENCE, strong=True)
    yield Column("interval", lambda row: row.measures[name], interval_of(DIFFERENCE), leaves=5, ends=("from", "to"))


def _denoiser(result: NoiseSummary) -> Iterator[Section]:
    if result.denoiser is None:
        return
    columns: list[Column[StrippedNoise]] = [
        Column("templates", lambda row: row.templates, NAME),
        Column("language", lambda row: row.language),
        Column("level", lambda row: row.level, COUNT),
        Column("recall", lambda row: row.recall, SHARE),
        Column("precision", lambda row: row.precision, SHARE),
        Column("question lost", lambda row: row.question_lost, SHARE),
    ]
    sheet = Sheet("What the rules strip, by characters", result.denoiser.stripped, columns, id="probe-noise-rules")
    clean = result.denoiser.clean
    words = (f"{ACCURACY} Of {clean.queries:,} clean queries they change ", Quantity(clean, "changed", COUNT), ".")
    yield Section("What the rules strip", [sheet], words, id="probe-noise-denoiser")


def _csv(result: NoiseSummary) -> Sheet[dict[str, object]]:
    """One line per system, condition and statistic: five of the lists and their texts, then the measures."""
    found = [row for model in result.models for level in model.levels for row in _csv_rows(model, level)]
    return Sheet("", found, [Column(name, itemgetter(name)) for name in found[0]])


def _csv_rows(model: NoisySystem, level: NoiseLevel) -> Iterator[dict[str, object]]:
    about: dict[str, object] = {"model": model.name, "language": model.language, "queries": model.queries}
    about |= {name: getattr(level, name) for name in ("level", "templates", "denoised", "normalised", "added")}
    for name in ("cosine", "drop", "overlap", "tau", "rbo"):
        value, low, high = (getattr(getattr(level, name), part, None) for part in ("mean", "low", "high"))
        row = {"statistic": name, "value": value, "value_low": low, "value_high": high}
        yield {**about, **row, **dict.fromkeys(("clean", "change", "change_low", "change_high", "lost"))}
    for name, found in level.measures.items():
        row = {"statistic": name, "value": found.noisy, "value_low": None, "value_high": None, "clean": found.clean}
        change = {"change": found.change, "change_low": found.low, "change_high": found.high, "lost": found.lost}
        yield {**about, **row, **change}


def _embedders(result: NoiseSummary) -> Iterator[NoisySystem]:
    """The systems with an embedder; the first of several with the same one."""
    seen: list[list[BootstrapMean | None]] = []
    for model in result.models:
        cosines = [each.cosine for each in model.levels]
        if cosines[0] is not None and cosines not in seen:
            seen.append(cosines)
            yield model


def _plots(result: NoiseSummary, models: Sequence[NoisySystem], name: str, title: str, words: str) -> Iterator[Section]:
    """A section with the plots of some systems; none without a system."""
    if models:
        figures = [_figure(result, each, name) for each in models]
        yield Section(title, (), words, figures, id=f"probe-noise-{slug(name)}")


def _figure(result: NoiseSummary, model: NoisySystem, name: str) -> Figure:
    about = f"{name} of {model.name} by level of noise, for each bank of templates and way of denoising."
    plot = partial(level_plot, result, model, name)
    title, place = f"{model.name}: {name} by level of noise", result.models.index(model)
    return Figure(f"probe-noise-{slug(name)}-{place}", title, about, plot, key=KEY)


def _paper(result: NoiseSummary) -> Chart:
    """The change of the first measure, one panel per system."""
    measure = _measures(result)[0]
    return panels([level_plot(result, each, measure, title=_heading(each)) for each in result.models])


def level_plot(result: NoiseSummary, model: NoisySystem, name: str, width: int = NARROW, *, title: str = "") -> Chart:
    """A statistic by level, one line per template bank and denoising method, with intervals.

    Args:
        result: the whole, for one scale in all panels.
        model: a system of it.
        name: of a measure, or "overlap" or "cosine".
        width: CSS pixels of the whole figure.
        title: above the plot.
    """
    import altair as alt

    rows = [row for series in SERIES for row in _points(model, name, series)]
    everywhere = [row for each in result.models for series in SERIES for row in _points(each, name, series)]
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
    known = sorted({level.level for level in model.levels})
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
    plot = alt.layer(*layers).properties(width=width - 60, height=HEIGHT)
    return plot.properties(title=title) if title else plot


def _points(model: NoisySystem, name: str, series: tuple[str, str]) -> Iterator[ChartRow]:
    bank, way = series
    for level in model.levels:
        mine = level.denoised == way and level.templates in (bank, None)
        if not mine or level.normalised != _guard(model):
            continue
        change = level.measures.get(name)
        found: BootstrapMean | None = getattr(level, name) if change is None else None  # BM25 has no cosines
        point = found if change is None else BootstrapMean(change.change, change.low, change.high)
        if point is not None and point.mean == point.mean:
            label = SERIES[series][0]
            ends = {"low": point.low, "high": point.high} if point.low == point.low else {"low": None, "high": None}
            told = f"{label}, level {level.level}: {point.mean:.3f}"
            yield {**ends, "level": level.level, "value": point.mean, "series": label, "told": told}
