"""The view of judges under stress: κ and τ, false and missed differences, systems under all judges, families."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Final, NamedTuple

from trueval.golden.validation.label_verdicts import PairVerdicts
from trueval.golden.validation.stress_result import (
    FamilyLift,
    JudgeLabelAgreement,
    JudgeRanking,
    MeasureUnderJudges,
    Stress,
    SystemUnderJudges,
)
from trueval.report.figures import Chart, ChartRow, axis_domain, tone
from trueval.report.number_texts import NOT_AVAILABLE, count_phrase, format_difference, format_value, percent
from trueval.report.page_content import Figure
from trueval.report.plots import TieInterval, plot_dots
from trueval.report.units import (
    COUNT,
    DIFFERENCE,
    FRACTION,
    INTERVAL,
    NAME,
    PERCENT,
    interval_of,
    number,
    unscaled_unit,
)
from trueval.report.view import Answer, AnySheet, Column, Quantity, Section, Sheet, View, columns_of

Words = tuple[str | Quantity, ...]

HEIGHT: Final = 230  # CSS pixels of a plot
NAMED: Final = 8  # judges up to which the plot names each of them
OF_SYSTEMS: Final = (("bar", "range over judges"), ("dot", "by people"))
OF_TAU: Final = (("bar", "interval over queries"), ("dot", "τ"))
COEFFICIENTS: Final = {
    "kappa": "κ",
    "kappa_quadratic": "κ quadratic",
    "alpha_ordinal": "α ordinal",
    "alpha_interval": "α interval",
}


class _JudgeRow(NamedTuple):
    """A judge: agreement of its labels, and its ranking of the systems."""

    labels: JudgeLabelAgreement
    ranking: JudgeRanking


class _CsvRow(NamedTuple):
    """A line of the CSV file."""

    measure: str
    labels: JudgeLabelAgreement
    ranking: JudgeRanking


class _Ends(NamedTuple):
    """The least and greatest of the judges."""

    low: float | None
    high: float | None


def view(result: Stress) -> View:
    """What `trueval golden stress` shows.

    Args:
        result: of the command.
    """
    sections = [section for at in range(len(result.measures)) for section in _sections(result, at)]
    findings = [line for measure in result.measures for line in describe_findings(measure)]
    return View(
        "Judges under stress",
        _answer(result),
        sections,
        _csv(result),
        findings=findings,
        legend=list(legend(result)),
        notes=result.notes,
    )


def _answer(result: Stress) -> Answer:
    question, measure = "Does a ranking by a judge hold for people?", result.measures[0]
    known = [(each.tau.value, at) for at, each in enumerate(measure.judges) if each.tau.value is not None]
    if not known:
        return Answer(f"{measure.measure}: nothing can be said of the order of the systems.", question)
    _, at = max(known)
    judge, kappa = measure.judges[at], result.labels[at].coefficients["kappa_quadratic"]
    words: Words = (f"{judge.judge} ranks systems most like people: τ ", Quantity(judge.tau, "value"))
    words = (*words, f" on {measure.measure}")
    if kappa.value is not None:
        words = (*words, ", with a quadratic κ of its labels of ", Quantity(kappa, "value"))
    if judge.all.false_rate is not None:
        rate = Quantity(judge.all, "false_rate", PERCENT)
        words = (*words, "; people do not confirm ", rate, " of the differences that it separates")
    ends = (Quantity(judge.tau, "low"), ", ", Quantity(judge.tau, "high"))
    sure: Words = ("The interval of τ over queries is [", *ends, "]. ") if judge.tau.low is not None else ()
    apart = f"People separate {measure.separated} of {measure.spread.pairs} pairs of systems."
    change = "People's labels of more queries would narrow the interval, and correct what a judge gets wrong."
    return Answer((*words, "."), question, (*sure, apart), change, "trueval golden correct DIR RUN")


def _sections(result: Stress, at: int) -> Iterator[Section]:
    measure = result.measures[at]
    name = measure.measure
    yield Section(
        f"{name}: judges against people",
        [_judges(result, at), _labels(result, at)],
        figures=[*_tau_plot(measure, at), *_kappa_plot(result, at)],
        id=f"stress-judges-{at}",
    )
    dots = [TieInterval(each.run, each.mean, each.least_mean, each.greatest_mean) for each in measure.systems]
    about = f"{name} of each run by people, and its range over judges, best by people first."
    figure = Figure(f"stress-systems-plot-{at}", "Systems", about, partial(plot_dots, dots), key=OF_SYSTEMS)
    title = f"{name}: systems under all judges"
    systems: list[AnySheet] = [
        Sheet(title, measure.systems, SYSTEMS, id=f"stress-system-table-{at}"),
        _pairs(measure, at),
    ]
    yield Section(title, systems, figures=[figure], id=f"stress-systems-{at}")
    if measure.families:
        words = (
            "A judge may like what a model of its own family wrote or ranked. lift: mean ranks that such runs are "
            "higher under the judge than under people; by others: the same runs under judges of other families. Ranks "
            "saturate; what a judge adds is in the measure: the value of such runs under the judge less that under "
            "people, beyond the same of all other runs."
        )
        title = f"{name}: runs of the judge's own family"
        families = [
            Sheet(title, measure.families, LIFTS, caption="Lifts in ranks.", id=f"stress-family-table-{at}"),
            Sheet(
                f"{name}: what judges add to runs of their own family",
                measure.families,
                LIFTS_IN_MEASURE,
                caption="Lifts in the measure.",
                id=f"stress-family-values-{at}",
            ),
        ]
        yield Section(title, families, words=words, id=f"stress-families-{at}")


def _judges(result: Stress, at: int) -> Sheet[_JudgeRow]:
    measure = result.measures[at]
    rows = [_JudgeRow(*both) for both in zip(result.labels, measure.judges, strict=True)]
    columns: list[Column[_JudgeRow]] = [
        Column("judge", lambda row: row.ranking.judge, NAME),
        Column("κ quad-\nratic", lambda row: row.labels.coefficients["kappa_quadratic"].value, FRACTION),
        Column("α\nordinal", lambda row: row.labels.coefficients["alpha_ordinal"].value, FRACTION, leaves=2),
        Column("τ", lambda row: row.ranking.tau.value, FRACTION, strong=True),
        Column("interval", lambda row: row.ranking.tau, INTERVAL, leaves=1),
        Column("τ top", lambda row: row.ranking.tau_top.value, FRACTION),
        Column("false\nrate", lambda row: row.ranking.all.false_rate, FRACTION, strong=True),
        Column("missed\nrate", lambda row: row.ranking.all.missed_rate, FRACTION, strong=True),
        Column("turned", lambda row: row.ranking.all.reversed, number("d"), leaves=3),
        Column("false", lambda row: row.ranking.all.false, COUNT, only="page"),
        Column("missed", lambda row: row.ranking.all.missed, COUNT, only="page"),
        Column("same", lambda row: row.ranking.all.same, COUNT, only="page"),
        Column("separated", lambda row: row.ranking.separated, COUNT, only="page"),
        Column("false rate, top", lambda row: row.ranking.best.false_rate, FRACTION, only="page"),
        Column("missed rate, top", lambda row: row.ranking.best.missed_rate, FRACTION, only="page"),
    ]
    title = f"{measure.measure}: judges against people, {count_phrase(len(result.runs), 'run', 'runs')}"
    return Sheet(title, rows, columns, notes=[*legend(result)], id=f"stress-judge-table-{at}")


def _labels(result: Stress, at: int) -> Sheet[JudgeLabelAgreement]:
    def coefficient(name: str) -> Column[JudgeLabelAgreement]:
        return Column(COEFFICIENTS[name], lambda row: row.coefficients[name].value, FRACTION)

    columns: list[Column[JudgeLabelAgreement]] = [
        Column("judge", lambda row: row.judge, NAME),
        Column("items", lambda row: row.items, COUNT),
        *map(coefficient, COEFFICIENTS),
    ]
    correlation = result.measures[at].kappa_and_tau["kappa_quadratic"]
    notes = [f"Over judges, quadratic κ and τ are correlated by τ-b {format_value(correlation)}."]
    title = "Agreement of labels with people"
    return Sheet(
        title,
        result.labels,
        columns,
        notes=notes[: correlation is not None],
        only="page",
        id=f"stress-label-table-{at}",
    )


def _pairs(measure: MeasureUnderJudges, at: int) -> Sheet[PairVerdicts]:
    caption = "Every pair: which system people find better, and how many judges say first, second or none."
    return Sheet("Pairs", measure.pairs, PAIRS, caption=caption, folded=True, only="page", id=f"stress-pairs-{at}")


def format_lift(value: float | None) -> str:
    """A lift in ranks.

    >>> format_lift(1.25), format_lift(None)
    ('+1.2', '–')
    """
    return NOT_AVAILABLE if value is None else f"{value:+.1f}"


def _format_ranks(ends: _Ends) -> str:
    return f"{ends.low:g}–{ends.high:g}"


RANK: Final = number("g")
LIFT: Final = unscaled_unit(format_lift)

SYSTEMS: Final[tuple[Column[SystemUnderJudges], ...]] = (
    Column("run", lambda row: row.run, NAME),
    Column("by people", lambda row: row.mean, FRACTION, strong=True),
    Column("by judges", lambda row: _Ends(row.least_mean, row.greatest_mean), INTERVAL, ends=("least", "greatest")),
    Column("rank by\npeople", lambda row: row.rank, RANK),
    Column(
        "ranks by\njudges",
        lambda row: _Ends(row.best_rank, row.worst_rank),
        unscaled_unit(_format_ranks)._replace(end=RANK),
        ends=("best rank", "worst rank"),
    ),
)
PAIRS: Final[tuple[Column[PairVerdicts], ...]] = (
    Column("first", lambda row: row.first),
    Column("second", lambda row: row.second),
    Column("people say", lambda row: row.people),
    Column("first", lambda row: row.judges.first, COUNT),
    Column("second", lambda row: row.judges.second, COUNT),
    Column("none", lambda row: row.judges.none, COUNT),
    Column("with people", lambda row: row.with_people, COUNT),
)
LIFTS: Final[tuple[Column[FamilyLift], ...]] = (
    Column("judge", lambda row: row.judge, NAME),
    Column("family", lambda row: row.family, NAME),
    Column("runs", lambda row: row.runs, number("d"), leaves=1),
    Column("lift", lambda row: row.lift.own.value, LIFT),
    Column("by\nothers", lambda row: row.lift.others.value, LIFT),
    Column("extra", lambda row: row.lift.extra.value, LIFT, strong=True),
    Column("interval", lambda row: row.lift.extra, interval_of(LIFT)),
    Column("τ", lambda row: row.tau.value, FRACTION),
    Column("τ without\nthem", lambda row: row.tau_without.value, FRACTION),
    Column("false rate without", lambda row: row.without.false_rate, FRACTION, only="page"),
    Column("missed rate without", lambda row: row.without.missed_rate, FRACTION, only="page"),
)
LIFTS_IN_MEASURE: Final[tuple[Column[FamilyLift], ...]] = (
    Column("judge", lambda row: row.judge, NAME),
    Column("family", lambda row: row.family, NAME),
    Column("lift", lambda row: row.lift_in_measure.own.value, DIFFERENCE),
    Column("by\nothers", lambda row: row.lift_in_measure.others.value, DIFFERENCE),
    Column("extra", lambda row: row.lift_in_measure.extra.value, DIFFERENCE, strong=True),
    Column("interval", lambda row: row.lift_in_measure.extra, interval_of(DIFFERENCE)),
)


def _csv(result: Stress) -> Sheet[_CsvRow]:
    rows = [
        _CsvRow(measure.measure, *both)
        for measure in result.measures
        for both in zip(result.labels, measure.judges, strict=True)
    ]

    def coefficient(name: str) -> Column[_CsvRow]:
        return Column(name, lambda row: row.labels.coefficients[name].value)

    def tau(title: str, value: Callable[[JudgeRanking], float | None]) -> Column[_CsvRow]:
        return Column(title, lambda row: value(row.ranking))

    outcomes = ("pairs", "same", "reversed", "false", "missed", "neither", "false_rate", "missed_rate")
    columns: list[Column[_CsvRow]] = [
        *columns_of("measure", "labels.judge"),
        *map(coefficient, result.labels[0].coefficients),
        tau("tau", lambda ranking: ranking.tau.value),
        tau("tau_low", lambda ranking: ranking.tau.low),
        tau("tau_high", lambda ranking: ranking.tau.high),
        tau("tau_top", lambda ranking: ranking.tau_top.value),
        *columns_of(*(f"ranking.all.{name}" for name in outcomes)),
    ]
    return Sheet("", rows, columns)


def _tau_plot(measure: MeasureUnderJudges, at: int) -> Iterator[Figure]:
    dots = [
        TieInterval(each.judge, each.tau.value, each.tau.low, each.tau.high)
        for each in measure.judges
        if each.tau.value is not None and each.tau.low is not None and each.tau.high is not None
    ]
    if dots:
        dots.sort(key=lambda dot: -dot.expected)
        about = "Kendall's τ of the systems by each judge and by people, with its interval over queries."
        yield Figure(f"stress-tau-{at}", "τ of the systems", about, partial(plot_dots, dots), key=OF_TAU)


def _kappa_plot(result: Stress, at: int) -> Iterator[Figure]:
    points: list[ChartRow] = [
        {"judge": ranking.judge, "kappa": kappa, "tau": ranking.tau.value}
        for labels, ranking in zip(result.labels, result.measures[at].judges, strict=True)
        if (kappa := labels.coefficients["kappa_quadratic"].value) is not None and ranking.tau.value is not None
    ]
    if len(points) > 1:
        about = "Agreement of labels (quadratic κ) against agreement of rankings (τ), a point for each judge."
        yield Figure(f"stress-kappa-{at}", "Labels and rankings", about, partial(kappa_plot, points))


def kappa_plot(points: list[ChartRow], width: int) -> Chart:
    """κ of labels against τ of systems.

    Args:
        points: judge, kappa and tau of each.
        width: CSS pixels of the whole figure.
    """
    import altair as alt

    x = alt.Scale(domain=axis_domain([each["kappa"] for each in points]), nice=False, zero=False)
    y = alt.Scale(domain=axis_domain([each["tau"] for each in points]), nice=False, zero=False)
    base = alt.Chart(alt.Data(values=points)).encode(
        x=alt.X("kappa:Q", title="quadratic κ of the labels", scale=x, axis=alt.Axis(tickCount=4)),
        y=alt.Y("tau:Q", title="τ of the systems", scale=y, axis=alt.Axis(tickCount=4)),
        tooltip=["judge:N", "kappa:Q", "tau:Q"],
    )
    layers = [base.mark_point(filled=True, size=60, color=tone("expected"), opacity=0.75)]
    if len(points) <= NAMED:
        layers.append(base.mark_text(align="left", dx=7, dy=-6, color=tone("quiet"), limit=110).encode(text="judge:N"))
    return alt.layer(*layers).properties(width=width - 60, height=HEIGHT)


def describe_findings(measure: MeasureUnderJudges) -> Iterator[str]:
    """The findings of a measure as sentences, the most important first.

    Args:
        measure: conclusions from it.
    """
    name, judges = measure.measure, measure.judges
    known = [(each.tau.value, each.judge) for each in judges if each.tau.value is not None]
    if known:
        (most, best), (least, lowest) = (
            max(known, key=lambda each: each[0]),
            min(known, key=lambda each: each[0]),
        )
        low, high = format_value(least), format_value(most)
        up = f" to {high} ({best})" if low != high else ""
        whose = lowest if up or len(known) == 1 else f"{len(known)} judges alike"
        yield f"{name}: τ with people is {low} ({whose}){up}."
    false = [(each.all.false_rate, each) for each in judges if each.all.false_rate is not None]
    if false:
        rate, worst = max(false, key=lambda each: each[0])
        claims = worst.all.same + worst.all.reversed + worst.all.false
        yield (
            f"{name}: people separate {measure.separated} of {worst.all.pairs} pairs. Of {claims} that {worst.judge} "
            f"separates, {percent(rate)} are not separated by people or are turned around."
        )
    missed = [(each.all.missed_rate, each) for each in judges if each.all.missed_rate]
    if missed:
        rate, worst = max(missed, key=lambda each: each[0])
        yield (
            f"{name}: of {measure.separated} pairs that people separate, {worst.judge} misses or turns around "
            f"{percent(rate)}."
        )
    if len(judges) > 1:
        yield (
            f"{name}: {len(judges)} judges say the same of {measure.spread.all_judges_agree} of "
            f"{measure.spread.pairs} pairs, and separate {measure.spread.judges_oppose} in opposite directions."
        )
    if measure.spread_unrelated is not None:
        unrelated = measure.spread_unrelated
        yield (
            f"{name}: judges of other families than a pair's say the same of {unrelated.all_judges_agree} of "
            f"{unrelated.pairs} pairs, and separate {unrelated.judges_oppose} in opposite directions."
        )
    families = count_phrase(len(measure.families), "judge", "judges")
    lifts = [(each.lift.extra.value or 0.0, each.judge) for each in measure.families if (each.lift.extra.low or 0) > 0]
    if lifts:
        most, judge = max(lifts, key=lambda each: each[0])
        yield (
            f"{name}: {len(lifts)} of {families} with runs of the same family rank them higher than other judges do, "
            f"{judge} by {most:.1f} ranks."
        )
    added = [
        (each.lift_in_measure.extra.value or 0.0, each)
        for each in measure.families
        if (each.lift_in_measure.extra.low or 0) > 0
    ]
    if added:
        _, each = max(added, key=lambda one: one[0])
        own, others = (format_difference(of.value) for of in (each.lift_in_measure.own, each.lift_in_measure.others))
        yield (
            f"{name}: {len(added)} of {families} with runs of the same family add more to them than other judges do, "
            f"{each.judge} {own} against {others}."
        )


def legend(result: Stress) -> Iterator[str]:
    """What the columns mean.

    Args:
        result: of the command.
    """
    first = f"of the first {result.top} by people" if result.top < len(result.runs) else "the same, of all runs"
    yield (
        f"τ is Kendall's τ-b between the means of the systems by the judge and by people; top: {first}. Intervals at "
        f"{result.level:g} are over queries."
    )
    yield (
        "false rate: of the pairs that the judge separates, those that people do not separate, or the other way round; "
        "missed rate: of those that people separate."
    )
    if any(measure.families for measure in result.measures):
        yield (
            "lift: mean ranks that runs of its family are higher under the judge than under people; by others: the "
            "same runs under judges of other families; extra: the difference. Ranks saturate: what judges add is in "
            "the measure, the value of such runs under the judge less that under people, beyond the same of all other "
            "runs."
        )
    yield (
        f"All labels are compared on the {result.shared.pairs:,} pairs of query and passage that everybody "
        "labelled. People's verdicts are tests too, and not the truth."
    )
