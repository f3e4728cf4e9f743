"""The view of a prediction: whether what a probe says of queries tells which of them lose."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Sequence
from functools import partial
from operator import itemgetter
from typing import Final, NamedTuple, TypeVar

from trueval.probes.prediction_result import (
    JoinedCondition,
    JoinedSystem,
    PooledEntry,
    PredictionSummary,
    SignalEntry,
)
from trueval.report.figures import NARROW, Chart, panels, tone
from trueval.report.formats import slug
from trueval.report.number_texts import NOT_AVAILABLE, count_phrase
from trueval.report.page_content import Figure
from trueval.report.units import COUNT, DIFFERENCE, FRACTION, NAME, PERCENT, interval_of, unscaled_unit
from trueval.report.view import (
    Answer,
    AnySheet,
    Column,
    PaperFigure,
    Quantity,
    Section,
    Sentence,
    Sheet,
    View,
    choices_section,
)

Key = TypeVar("Key", bound=Hashable)
Correlated = TypeVar("Correlated", SignalEntry, PooledEntry)

ALL: Final = "all"
NAME_MARGIN: Final = "name margin"
REASONS: Final = 6  # that are shown
ROW: Final = 22  # CSS pixels of a condition
NAMES: Final = 150  # CSS pixels of the names of conditions
AXIS: Final = (-1, 0, 1)
KEY: Final = (("thin", "interval over queries"), ("dot", "Spearman's correlation"))


class _ConditionRow(NamedTuple):
    """A condition, and the signals of one system under it."""

    condition: JoinedCondition
    found: dict[str, SignalEntry]

    @property
    def any(self) -> SignalEntry:
        """One of them: losses are the same for all signals."""
        return next(iter(self.found.values()))


def view(result: PredictionSummary) -> View:
    """What `trueval probe join` shows.

    Args:
        result: of the command.
    """
    ranked = _rank_signals(result)
    drawn = [system for system in result.systems if _drawable(result, system, result.measures[0])]
    facts = {
        "collection": f"{result.collection.name}: {result.collection.documents:,} documents",
        "queries": f"{result.queries:,}, seed {result.seed}",
        "intervals": f"level {result.level:g}, {result.resamples:,} resamples of queries",
        **{each.name: f"{each.about}; {each.changed} queries differ" for each in result.conditions},
    }
    return View(
        title="Probes and losses",
        answer=_answer(result, ranked),
        lead=_figure(result, drawn[0], result.measures[0]) if drawn else None,
        sections=[
            *(_section(result, measure, drawn[:1] if at == 0 else []) for at, measure in enumerate(result.measures)),
            Section("The queries as they are", [_systems(result)], id="join-systems"),
            choices_section("join", facts),
        ],
        csv=_csv(result),
        findings=[*map(_describe, ranked[1:]), *_describe_orders(result), *_describe_reasons(result)],
        legend=list(_legend(result)),
        notes=result.notes,
        paper=[PaperFigure("probe-join", partial(_paper, result, drawn))] if drawn else [],
    )


def correlation(value: float | None) -> str:
    """A correlation, formatted.

    >>> correlation(0.3456), correlation(-0.1), correlation(None)
    ('+.35', '-.10', '–')
    """
    return NOT_AVAILABLE if value is None else f"{value:+.2f}".replace("0.", ".", 1)


CORRELATION: Final = unscaled_unit(correlation)
SPAN: Final = interval_of(CORRELATION)


def _rank_signals(result: PredictionSummary) -> Sequence[PooledEntry | SignalEntry]:
    """The signals with an interval, by measure and the most certain first; pooled where that is known."""
    pooled = [each for each in result.pooled if each.condition == ALL]
    rows: Sequence[PooledEntry | SignalEntry] = pooled or result.models
    known = [each for each in rows if each.low == each.low]
    return sorted(known, key=lambda each: (result.measures.index(each.measure), -each.low))


def _answer(result: PredictionSummary, ranked: Sequence[PooledEntry | SignalEntry]) -> Answer:
    """The signal that tells most surely which queries lose the first measure."""
    question = "Does a probe tell which queries lose?"
    if not ranked:
        return Answer("Nothing can be predicted: see the reasons below.", question)
    best = ranked[0]
    queries = count_phrase(best.queries, "query", "queries")
    sure = f"Over {queries} of {result.collection.name}; intervals of {result.level:.0%} by bootstrap over queries."
    if best.low > 0:
        return Answer(_describe(best), question, sure)
    words = f"No probe is shown to tell which queries lose {best.measure}; the likeliest is the {_signal(best)}"
    change = "More queries make the intervals narrower."
    return Answer((f"{words}: rank correlation ", *_correlation_cells(best)), question, sure, change)


def _describe(row: PooledEntry | SignalEntry) -> Sentence:
    verdict = "misleads about" if row.high < 0 else "is not shown to tell"
    verdict = "tells in part" if row.low > 0 else verdict
    words = f"The {_signal(row)} {verdict} which queries lose {row.measure}: rank correlation "
    return (words, *_correlation_cells(row))


def _signal(row: PooledEntry | SignalEntry) -> str:
    return f"{row.signal} ({row.name}, {row.condition})" if isinstance(row, SignalEntry) else row.signal


def _correlation_cells(row: PooledEntry | SignalEntry) -> tuple[str | Quantity, ...]:
    value, low, high = (Quantity(row, name, CORRELATION) for name in ("spearman", "low", "high"))
    return (value, " [", low, ", ", high, "].")


def _describe_orders(result: PredictionSummary) -> Iterator[str]:
    """Whether signals order the systems by what they lose."""
    for told, signals in _together((each.told, each.signal) for each in result.orders):
        yield f"Whether {signals} puts the models into the order of what they lose: {told}"


def _describe_reasons(result: PredictionSummary) -> Iterator[str]:
    """Why correlations are missing."""
    missing = [each for each in result.models if each.reason]
    reasons = _together(((f"{each.name}, {each.condition}", each.reason), each.signal) for each in missing)
    yield from (f"{where}, {signals}: {reason}" for (where, reason), signals in reasons[:REASONS])
    if len(reasons) > REASONS:
        yield f"{count_phrase(len(reasons) - REASONS, 'further reason is', 'further reasons are')} in the JSON."


def _together(pairs: Iterable[tuple[Key, str]]) -> list[tuple[Key, str]]:
    """Each key with its words, joined by commas."""
    found: dict[Key, dict[str, None]] = {}
    for key, word in pairs:
        found.setdefault(key, {})[word] = None
    return [(key, ", ".join(words)) for key, words in found.items()]


def _legend(result: PredictionSummary) -> Iterator[str]:
    queries = count_phrase(result.queries, "query", "queries")
    yield (
        f"Rank correlations of what a probe says of a query with what the query loses, over {queries} of "
        f"{result.collection.name}; intervals of {100 * result.level:g} % by bootstrap over queries. Above 0: "
        "the probe is right; an interval around 0: nothing is known."
    )
    yield (
        "drop: 1 - cosine of the query and its changed form; overlap: share of the first "
        f"{result.k} documents that change; margin: first score less the next, small ones first. lost: share of "
        "the queries whose value falls. Queries that a condition leaves as they are are left out of it."
    )
    if any(NAME_MARGIN in system.signals for system in result.systems):
        yield (
            "name margin: cosine of a relevant document that names the author, less that of the same document under "
            "the better of two other names, small ones first; name drop: what the change takes away of it."
        )
    if len({each.name for each in result.models}) > 1:
        yield (
            "Pooled: queries are ranked within each model and condition, so that a model which is worse in both is not "
            "taken for prediction. Ranked across: all in one list, where it is."
        )


def _systems(result: PredictionSummary) -> Sheet[JoinedSystem]:
    def clean(measure: str) -> Column[JoinedSystem]:
        return Column(measure, lambda row: row.clean[measure], FRACTION)

    columns = [Column[JoinedSystem]("system", lambda row: row.name, NAME), *map(clean, result.measures)]
    return Sheet("The queries as they are", result.systems, columns, id="join-clean")


def _section(result: PredictionSummary, measure: str, shown: Sequence[JoinedSystem]) -> Section:
    """The tables and plots of a measure; those of the systems shown above are left out."""
    systems = [each for each in result.systems if each not in shown and _drawable(result, each, measure)]
    name = slug(measure)
    pooled = [each for each in result.pooled if each.measure == measure]
    rows = [each for each in result.models if each.measure == measure]
    sheets: list[AnySheet] = []
    if pooled:
        everything = [each for each in pooled if each.condition == ALL]
        sheets.append(Sheet(f"What predicts the loss in {measure}, all together", everything, POOLED, only="text"))
        caption = "All models together, queries ranked within each model and condition."
        sheets.append(Sheet("Pooled", pooled, POOLED_PAGE, caption=caption, only="page", id=f"join-pooled-{name}"))
    sheets += [_of_system(result, each, measure) for each in result.systems]
    sheets.append(Sheet("Each model and condition", rows, MODELS, only="page", id=f"join-models-{name}"))
    figures = [_figure(result, each, measure) for each in systems]
    return Section(f"Who predicts the loss in {measure}", sheets, figures=figures, id=f"join-{name}")


def _labels(of: type[Correlated]) -> tuple[Column[Correlated], Column[Correlated], Column[Correlated]]:
    """Columns of the signal, the condition and the number of queries, for one of the two kinds of rows."""
    return (
        Column("signal", lambda row: row.signal, NAME),
        Column("condition", lambda row: row.condition),
        Column("queries", lambda row: row.queries, COUNT),
    )


def _estimates(of: type[Correlated]) -> list[Column[Correlated]]:
    """The correlations of a row."""
    return [
        Column("Spearman", lambda row: row.spearman, CORRELATION, strong=True),
        Column("its interval", lambda row: row, SPAN),
        Column("τ-b", lambda row: row.kendall.value, CORRELATION),
        Column("its interval", lambda row: row.kendall, SPAN),
    ]


ACROSS: Final = Column[PooledEntry]("ranked\nacross", lambda row: row.across.value, CORRELATION)
SIGNAL, CONDITION, QUERIES = _labels(PooledEntry)
ESTIMATES: Final = _estimates(PooledEntry)
POOLED: Final[tuple[Column[PooledEntry], ...]] = (SIGNAL, *ESTIMATES, ACROSS, QUERIES)
POOLED_PAGE: Final[tuple[Column[PooledEntry], ...]] = (SIGNAL, CONDITION, *ESTIMATES, QUERIES, ACROSS)
_SIGNAL, _CONDITION, _QUERIES = _labels(SignalEntry)
MODELS: Final[tuple[Column[SignalEntry], ...]] = (
    Column("model", lambda row: row.name),
    _SIGNAL,
    _CONDITION,
    *_estimates(SignalEntry),
    _QUERIES,
    Column("lost", lambda row: row.lost, PERCENT),
    Column("gained", lambda row: row.gained, PERCENT),
    Column("mean loss", lambda row: row.loss, DIFFERENCE),
    Column("mean signal", lambda row: row.danger, FRACTION),
)


def _of_system(result: PredictionSummary, system: JoinedSystem, measure: str) -> Sheet[_ConditionRow]:
    """One row per condition: the loss, and Spearman's correlation of each signal."""
    mine = {(each.condition, each.signal): each for each in _rows_of(result, system, measure)}
    rows = [_ConditionRow(each, {name: mine[each.name, name] for name in system.signals}) for each in result.conditions]

    def signal(name: str) -> list[Column[_ConditionRow]]:
        return [
            Column(name, lambda row: row.found[name].spearman, CORRELATION),
            Column("interval", lambda row: row.found[name], SPAN, leaves=2),
        ]

    columns: list[Column[_ConditionRow]] = [
        Column("condition", lambda row: row.condition.name, NAME),
        Column("changed", lambda row: row.condition.changed / result.queries, PERCENT, leaves=1),
        Column("lost", lambda row: row.any.lost, PERCENT),
        Column("mean\nloss", lambda row: row.any.loss, DIFFERENCE),
        *(column for name in system.signals for column in signal(name)),
    ]
    return Sheet(f"{system.name}: Spearman's correlation with the loss in {measure}", rows, columns, only="text")


def _rows_of(result: PredictionSummary, system: JoinedSystem, measure: str) -> list[SignalEntry]:
    return [each for each in result.models if (each.name, each.measure) == (system.name, measure)]


def _csv(result: PredictionSummary) -> Sheet[dict[str, object]]:
    """One line per model, condition, signal and measure, and per pooled value."""
    found = [*map(_csv_row, result.models), *map(_csv_row, result.pooled)]
    return Sheet("", found, [Column(name, itemgetter(name)) for name in CSV])


CSV: Final = (
    *("of", "condition", "signal", "measure", "spearman", "low", "high", "kendall", "kendall_low", "kendall_high"),
    *("across", "queries", "lost", "gained", "danger", "loss", "reason"),
)


def _csv_row(row: SignalEntry | PooledEntry) -> dict[str, object]:
    values = {name: getattr(row, name, None) for name in CSV}
    kendall, across = row.kendall, row.across.value if isinstance(row, PooledEntry) else None
    of = row.name if isinstance(row, SignalEntry) else "pooled"
    ends = {"kendall": kendall.value, "kendall_low": kendall.low, "kendall_high": kendall.high}
    return {**values, **ends, "of": of, "across": across}


def _drawable(result: PredictionSummary, system: JoinedSystem, measure: str) -> bool:
    """Whether any correlation of a system is known."""
    return any(each.spearman == each.spearman for each in _rows_of(result, system, measure))


def _figure(result: PredictionSummary, system: JoinedSystem, measure: str) -> Figure:
    about = f"{system.name}: rank correlation of each signal with the loss in {measure}, by condition."
    place = result.systems.index(system)
    plot = partial(signals_plot, result, system, measure)
    return Figure(f"join-{slug(measure)}-{place}", f"{system.name}: {measure}", about, plot, key=KEY)


def _paper(result: PredictionSummary, systems: Sequence[JoinedSystem]) -> Chart:
    """The small multiples of the first measure."""
    return panels([signals_plot(result, each, result.measures[0], NARROW) for each in systems])


def signals_plot(result: PredictionSummary, system: JoinedSystem, measure: str, width: int) -> Chart:
    """Small multiples: one per signal, one row per condition.

    Args:
        result: of the command.
        system: with a known correlation.
        measure: of the loss.
        width: CSS pixels of the whole figure.
    """
    import altair as alt

    names = [each.name for each in result.conditions]
    rows = [
        {
            "condition": each.condition,
            "signal": each.signal,
            "spearman": each.spearman,
            **({"low": each.low, "high": each.high} if each.low == each.low else {"low": None, "high": None}),
            "told": f"{each.condition}, {each.signal}: {correlation(each.spearman)}",
        }
        for each in _rows_of(result, system, measure)
        if each.spearman == each.spearman
    ]
    signals = [name for name in system.signals if any(each["signal"] == name for each in rows)]
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
        room = max(40, (width - NAMES) // len(signals) - 12)
        charts.append(alt.layer(*layers).properties(width=room, height=ROW * len(names), title=signal))
    return alt.hconcat(*charts, spacing=12)
