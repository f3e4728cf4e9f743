"""The view of a budget: what differences vary by, and what shortens their intervals."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from operator import itemgetter
from typing import Final, NamedTuple

from trueval.comparison.budget.budget_result import Budget, Doubt, DoubtEffect, MeasureBudget, Purchase, rows
from trueval.report.figures import NARROW, Chart, tone
from trueval.report.number_texts import NOT_AVAILABLE, attainable, count_phrase, percent
from trueval.report.page_content import Figure
from trueval.report.units import COUNT, DIFFERENCE, FRACTION, INTERVAL, NAME, PERCENT, number, unscaled_unit
from trueval.report.view import (
    Answer,
    AnySheet,
    Column,
    Mark,
    Only,
    PaperFigure,
    Quantity,
    Section,
    Sentence,
    Sheet,
    View,
    choices_section,
)

MOST_PAIRS: Final = 12  # that texts and the figure show; the page and CSV have all
NEEDED: Final = unscaled_unit(attainable)
MONEY: Final = number(",.2f")
VARIANCE: Final = number(".3g")
MARKS: Final = (Mark(NOT_AVAILABLE, "not known, or no number is enough."),)
# Colors of the figure, by source.
COLORS: Final = {
    "questions": "expected",
    "labels": "range",
    "repeats": "run-2",
    "repeats and labels together": "quiet",
    "ties": "run-1",
}


class _EffectRow(NamedTuple):
    """An effect, and the difference that it is of."""

    measure: str
    doubt: Doubt
    effect: DoubtEffect


class BudgetWords(NamedTuple):
    """What a budget calls its parts.

    Attributes:
        title: of the page.
        next: the next command; {measure} stands for the measure.
        repeat: in singular and plural, of repeats.
        judge: in singular and plural, of judges.
        repeats: what repeats are, in columns.
        judges: what judges are, in columns.
        others: what the interval is about beside questions: repeats, and judges.
        formats: whether a number format of scores can remove ties.
    """

    title: str = "Budget of doubt"
    next: str = 'trueval power QRELS RUN RUN -m "{measure}"'
    repeat: tuple[str, str] = ("more repeat of each system", "more repeats of each system")
    judge: tuple[str, str] = ("more judge", "more judges")
    repeats: str = "repeats"
    judges: str = "judges"
    others: tuple[str, str] = ("other repeats", "other judges like these")
    formats: bool = True

    def source(self, name: str) -> str:
        """What a source is called."""
        return name.replace("repeats", self.repeats)


OF_RUNS: Final = BudgetWords()
OF_ANSWERS: Final = BudgetWords(
    title="Budget of answers",
    next='trueval answers compare LOG LOG --judged TABLE --judged TABLE -m "{measure}"',
    repeat=("more answer to each question", "more answers to each question"),
    judge=("more round of the judge", "more rounds of the judge"),
    repeats="samples",
    judges="rounds",
    others=("other answers of the same generators", "other rounds of the same judge"),
    formats=False,
)


def view(result: Budget) -> View:
    """What `trueval budget` shows, and `trueval answers budget`.

    Args:
        result: of the command.
    """
    words = OF_RUNS if result.choices.get("answer_labels") is None else OF_ANSWERS
    sheets = [sheet for found in result.measures for sheet in _sheets(result, found, words)]
    leading = [found for found in result.measures if any(map(_varies, found.differences[:MOST_PAIRS]))]
    figures = [_figure(found, at, words) for at, found in enumerate(leading)]
    effects = [
        _EffectRow(found.measure, doubt, effect)
        for found in result.measures
        for doubt in found.differences
        for effect in doubt.effects
    ]
    return View(
        title=words.title,
        answer=_answer(result, words),
        lead=figures[0] if figures else None,
        sections=[
            Section("What differences vary by", sheets, "Shares are of the variance of a difference.", figures[1:]),
            Section("Variances of the model", [_effects(effects)]),
            choices_section("budget", {**result.choices, "prices": _price_words(result)}),
        ],
        csv=_csv(result),
        findings=[line for found in result.measures[1:] for line in _findings(result, found, words)],
        marks=MARKS,
        legend=list(_legend(result)),
        notes=result.notes,
        paper=[PaperFigure("budget", partial(_chart, leading[0], words))] if leading else [],
    )


def main_pair(found: MeasureBudget) -> Doubt:
    """The pair that the first sentence is about: the two best runs, or the best one and the baseline."""
    return found.differences[0]


def _answer(result: Budget, words: BudgetWords) -> Answer:
    found = result.measures[0]
    pair = main_pair(found)
    question = "What is the difference uncertain by, and what makes it less so?"
    interval = "excludes 0" if pair.separated else "includes 0"
    sentence: Sentence = (
        f"{found.measure}: {pair.run} - {pair.minus} is ",
        Quantity(pair, "value", DIFFERENCE),
        " ± ",
        Quantity(pair, "half_width"),
        f", an interval that {interval}. {_shares(pair, words)}",
    )
    return Answer(
        sentence,
        question,
        sure=_sure(result, words),
        change=_cure(result, pair, words),
        next=words.next.format(measure=found.measure),
    )


def _shares(pair: Doubt, words: BudgetWords) -> str:
    """What the variance of the difference is made of, the largest part first."""
    known = sorted((each for each in pair.sources if each.share == each.share), key=lambda each: -each.share)
    if not known:
        return "Nothing varies."
    called = [f"{words.source(each.source)} {percent(each.share)}" for each in known]
    return f"Of the variance of a difference of tie-broken values: {', '.join(called)}."


def _sure(result: Budget, words: BudgetWords) -> str:
    about = ["other questions like these"]
    if max(result.repeats) > 1:
        about.append(words.others[0])
    if len(result.judges) > 1 and not result.choices["fixed_judges"]:
        about.append(words.others[1])
    listed = about[0] if len(about) == 1 else f"{', '.join(about[:-1])} and {about[-1]}"
    return f"The interval, at level {result.choices['level']:.4g}, is about {listed}."


def _cure(result: Budget, pair: Doubt, called: BudgetWords) -> Sentence:
    """What shortens the interval, and what does not."""
    shorter = pair.shorter
    if shorter is None:
        return "Nothing varies, so nothing shortens the interval."
    aim = "Half of it" if result.choices["half_width"] is None else f"A half width of {shorter.target:.4g}"
    currency = _currency(result)
    audit = str(result.choices["audit"] or "")
    ways = (shorter.cheapest, shorter.questions, shorter.audited, shorter.judges, shorter.repeats)
    found = next((each for each in ways if each is not None), None)
    if found is not None:
        words = f"{aim} takes {_bought(found, currency, audit, called)}."
    elif result.choices["prices"]:
        words = f"{aim} is not reached by any of the numbers that were tried."
    else:
        words = f"{aim} is not reached by more of one kind alone; --prices looks for the cheapest of all together."
    return f"{words} {_format_words(pair)}" if called.formats else words


def _format_words(pair: Doubt) -> str:
    """What a number format could do at best."""
    saved = 1 - pair.without_ties_and_repeats / pair.tie_broken_half_width if pair.tie_broken_half_width > 0 else 0.0
    what = "ties and repeats" if pair.source("repeats") is not None else "ties"
    if saved < 0.0005:  # rounds to nothing
        return f"Scores in float32, which can only remove {what}, would not shorten it."
    return f"Scores in float32 can at most remove {what}, {percent(saved)} of the interval of tie-broken values."


def _bought(one: Purchase, currency: str, audit: str, called: BudgetWords) -> str:
    """What is bought, in words: "40 more questions (1,200 labels, cost 12.00 USD)"."""
    unit = ("query", "queries") if audit == "queries" else ("passage", "passages")
    counts = (
        (one.questions, "more question", "more questions"),
        (one.repeats, *called.repeat),
        (one.judges, *called.judge),
        (one.audited, f"more audited {unit[0]}", f"more audited {unit[1]}"),
    )
    words = [count_phrase(count, single, several) for count, single, several in counts if count]
    if not words:
        return "nothing more"
    work = [count_phrase(one.labels, "label", "labels")] if one.labels else []
    work += [count_phrase(one.answers, "answer", "answers")] if one.answers else []
    work += [f"cost {one.cost:,.2f}{currency}"] if one.cost is not None else []
    return f"{' and '.join(words)} ({', '.join(work)})"


def _currency(result: Budget) -> str:
    prices = result.choices["prices"]
    return f" {prices['currency']}" if prices and prices["currency"] else ""


def _price_words(result: Budget) -> str:
    prices = result.choices["prices"]
    if not prices:
        return "none"
    return ", ".join(f"{name} {prices[name]:g}{_currency(result)}" for name in ("question", "label", "answer"))


def _findings(result: Budget, found: MeasureBudget, words: BudgetWords) -> Iterator[Sentence]:
    """The same of another measure, in one sentence."""
    pair = main_pair(found)
    yield (
        f"{found.measure}: {pair.run} - {pair.minus} is ",
        Quantity(pair, "value", DIFFERENCE),
        " ± ",
        Quantity(pair, "half_width"),
        f". {_shares(pair, words)} ",
    )


def _share_column(source: str, title: str) -> Column[Doubt]:
    def share(doubt: Doubt) -> float | None:
        found = doubt.source(source)
        return None if found is None else found.share

    return Column(title, share, PERCENT)


def _sheets(result: Budget, found: MeasureBudget, words: BudgetWords) -> Iterator[AnySheet]:
    means: list[Column[Doubt]] = [
        Column("run", lambda row: row.run + (" (baseline)" if row.run == result.baseline else ""), NAME),
        Column("expected", lambda row: row.value, FRACTION),
        Column("interval", lambda row: row, INTERVAL),
        Column("queries", lambda row: row.queries, COUNT, leaves=1),
    ]
    heading = f"{found.measure}: {found.better} is better"
    yield Sheet(heading, found.means, means, id=f"means-{found.measure}")
    titles = {
        "questions": "questions",
        "labels": "labels",
        "repeats": words.repeats,
        "repeats and labels together": "both",
    }
    known = {each.source for pair in found.differences for each in pair.sources}
    shares = [_share_column(source, title) for source, title in titles.items() if source in known]
    columns: list[Column[Doubt]] = [
        Column("A", lambda row: row.run, NAME),
        Column("B", lambda row: row.minus, NAME),
        Column("diff", lambda row: row.value, DIFFERENCE, strong=True),
        Column("±", lambda row: row.half_width, FRACTION),
        *shares,
        _share_column("ties", "ties"),
        Column("±,\ntie-broken", lambda row: row.tie_broken_half_width, FRACTION, leaves=1),
    ]
    pairs = found.differences
    shown: list[tuple[Only, Sequence[Doubt]]] = [("", pairs)]
    if len(pairs) > MOST_PAIRS:
        shown = [("text", pairs[:MOST_PAIRS]), ("page", pairs)]
    for only, chosen in shown:
        title = f"{found.measure}: what differences vary by"
        yield Sheet(title, chosen, columns, only=only, id=f"shares-{found.measure}")
        plan = list(_plan_columns(result, words))
        yield Sheet(f"{found.measure}: what {_aim(result)}", chosen, plan, only=only, id=f"plan-{found.measure}")


def _aim(result: Budget) -> str:
    wanted = result.choices["half_width"]
    return "halves the interval" if wanted is None else f"makes the half width {wanted:g}"


def _plan_columns(result: Budget, words: BudgetWords) -> Iterator[Column[Doubt]]:
    """More questions, repeats, judges or audited units alone, and the cheapest of all together."""
    yield Column("A", lambda row: row.run, NAME)
    yield Column("B", lambda row: row.minus, NAME)
    yield Column("questions", lambda row: _alone(row, "questions"), NEEDED, strong=True)
    if max(result.repeats) > 1:
        yield Column(f"or {words.repeats}", lambda row: _alone(row, "repeats"), NEEDED)
    if len(result.judges) > 1 and not result.choices["fixed_judges"]:
        yield Column(f"or {words.judges}", lambda row: _alone(row, "judges"), NEEDED)
    if _is_audited(result):
        yield Column("or audited", lambda row: _alone(row, "audited"), NEEDED)
    if result.choices["prices"]:
        yield Column("cheapest:\nquestions", lambda row: _cheapest(row, "questions"), NEEDED)
        if max(result.repeats) > 1:
            yield Column(f"with\n{words.repeats}", lambda row: _cheapest(row, "repeats"), NEEDED)
        if len(result.judges) > 1 and not result.choices["fixed_judges"]:
            yield Column(f"with\n{words.judges}", lambda row: _cheapest(row, "judges"), NEEDED)
        if _is_audited(result):
            yield Column("with\naudited", lambda row: _cheapest(row, "audited"), NEEDED)
        yield Column(f"cost{_currency(result)}", _least_cost, MONEY)


def _alone(row: Doubt, name: str) -> int | None:
    one: Purchase | None = None if row.shorter is None else getattr(row.shorter, name)
    return None if one is None else int(getattr(one, name))


def _is_audited(result: Budget) -> bool:
    return any(one.effect == "A" for found in result.measures for each in found.differences for one in each.effects)


def _cheapest(row: Doubt, name: str) -> int | None:
    one = None if row.shorter is None else row.shorter.cheapest
    return None if one is None else int(getattr(one, name))


def _least_cost(row: Doubt) -> float | None:
    return None if row.shorter is None or row.shorter.cheapest is None else row.shorter.cheapest.cost


def _effects(chosen: Sequence[_EffectRow]) -> Sheet[_EffectRow]:
    columns: list[Column[_EffectRow]] = [
        Column("measure", lambda row: row.measure),
        Column("A", lambda row: row.doubt.run),
        Column("B", lambda row: row.doubt.minus),
        Column("effect", lambda row: row.effect.effect),
        Column("of", lambda row: row.effect.system or ""),
        Column("variance", lambda row: row.effect.variance, VARIANCE, strong=True),
        Column("low", lambda row: row.effect.low, VARIANCE),
        Column("high", lambda row: row.effect.high, VARIANCE),
        Column("untruncated", lambda row: row.effect.untruncated, VARIANCE),
        Column("degrees", lambda row: row.effect.degrees, COUNT),
        Column("divided by", lambda row: row.effect.divisor, COUNT),
    ]
    return Sheet("Variances of the model", chosen, columns, folded=True, only="page", id="effects")


def _csv(result: Budget) -> Sheet[dict[str, object]]:
    found = list(rows(result.to_dict()))
    return Sheet("", found, [Column(name, itemgetter(name)) for name in (found[0] if found else ())])


def _legend(result: Budget) -> Iterator[str]:
    """Explanation of the columns."""
    level = f"{result.choices['level']:.4g}"
    yield (
        f"diff: of expected means, A - B. ±: half width of its interval, level {level} (Satterthwaite). ±, tie-broken: "
        "the same for values under one order of tied documents."
    )
    yield "Shares: of the variance of a difference of tie-broken values; expected values have no part of ties."
    yield "questions, or ...: how many more of them alone are enough. cheapest: of all together, at the prices."
    if any(len(found.differences) > MOST_PAIRS for found in result.measures):
        yield f"Shown are {MOST_PAIRS} pairs of the best runs; the page, --format csv and json hold all."


def _varies(pair: Doubt) -> bool:
    """Whether there are shares to draw: where nothing varies there are none."""
    return any(each.share == each.share for each in pair.sources)


def _figure(found: MeasureBudget, at: int, words: BudgetWords) -> Figure:
    description = f"{found.measure}: what differences vary by, as half widths of their intervals."
    return Figure(f"budget-{at}", found.measure, description, partial(_chart, found, words), key=())


def _chart(found: MeasureBudget, words: BudgetWords = OF_RUNS, width: int = NARROW) -> Chart:
    """Bars of the variance of each difference, by source."""
    import altair as alt

    data = [
        {
            "pair": f"{pair.run} - {pair.minus}",
            "source": words.source(each.source),
            "share": each.share,
            "at": at,
        }
        for pair in found.differences[:MOST_PAIRS]
        for at, each in enumerate(pair.sources)
        if each.share == each.share
    ]
    colors = {words.source(source): color for source, color in COLORS.items()}
    sources = [source for source in colors if any(row["source"] == source for row in data)]
    order = list(dict.fromkeys(row["pair"] for row in data))
    scale = alt.Scale(domain=sources, range=[tone(colors[source]) for source in sources])
    return (
        alt.Chart(alt.InlineData(values=data))
        .mark_bar()
        .encode(
            x=alt.X(
                "share:Q",
                title="share of the variance",
                stack="zero",
                axis=alt.Axis(format="%"),
                scale=alt.Scale(domain=[0, 1]),
            ),
            y=alt.Y("pair:N", title=None, sort=order, axis=alt.Axis(labelLimit=width // 2)),
            color=alt.Color(
                "source:N", title=None, scale=scale, sort=sources, legend=alt.Legend(orient="bottom", columns=2)
            ),
            order=alt.Order("at:Q"),
        )
        .properties(width=width - 170, height=max(24 * len(order), 40))
    )
