"""The view of a judge's gullibility: the rate at which each kind of adversarial passage was graded relevant."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Final, NamedTuple, TypeVar

from trueval.golden.validation.robustness_result import AdversarialGrade, AdversarialKind, CompanionEffect, Robustness
from trueval.golden.views.golden import money
from trueval.report.number_texts import NOT_AVAILABLE, count_phrase, percent
from trueval.report.page_content import Figure
from trueval.report.plots import TieInterval, plot_dots
from trueval.report.units import COUNT, FRACTION, INTERVAL, NAME, PERCENT, TEXT, YES_NO, number
from trueval.report.view import Answer, AnySheet, Column, Quantity, Section, Sheet, View, columns_of

T = TypeVar("T")

KEY: Final = (("bar", "interval"), ("dot", "share graded relevant"))
GRADE: Final = number("d")
MEAN_GRADE: Final = number(".2f")


class _Companions(NamedTuple):
    """The passages beside those of a kind."""

    kind: str
    effect: CompanionEffect


def view(result: Robustness) -> View:
    """What `trueval golden stress --gullibility` shows.

    Args:
        result: of the command.
    """
    dots = [
        TieInterval(each.kind, each.share.value, each.share.low, each.share.high)
        for each in result.kinds
        if each.share.value is not None and each.share.low is not None and each.share.high is not None
    ]
    about = "Share of each kind of passage that was graded relevant, with its interval; clean is the control."
    figures = (
        [Figure("gullibility-shares", "Graded relevant", about, partial(plot_dots, dots), key=KEY)] if dots else []
    )
    kinds: list[AnySheet] = [_kinds(result), *([_companions(result)] if result.passages > 1 else [])]
    passages = Sheet(
        "Every passage, and the grades", result.traps, PASSAGES, folded=True, only="page", id="gullibility-traps"
    )
    return View(
        title="Robustness of the judge",
        answer=_answer(result),
        sections=[
            Section(f"How easily {result.judge} is fooled", kinds, figures=figures, id="gullibility"),
            Section("Every passage", [passages], id="gullibility-all"),
        ],
        csv=Sheet("", result.traps, columns_of("query", "trap", "document", "characters", "grade", "clean", "call")),
        findings=list(describe_findings(result)),
        legend=list(_legend(result)),
    )


def _answer(result: Robustness) -> Answer:
    question, again = (
        f"Is {result.judge} fooled by passages?",
        "trueval golden stress --gullibility CONFIG.toml --out DIR",
    )
    fooled = [each for each in result.kinds if each.fooled]
    tests = len(result.kinds) - 1
    sure = f"Exact sign tests at level {result.level:g}, of {tests} kinds of passages together (Holm)."
    mend = "Another prompt or model may resist; until then look at the passages that seem to speak to a judge."
    if not fooled and any(each.companions and each.companions.raised_by_it for each in result.kinds):
        return Answer(next(describe_findings(result)), question, sure, mend, again)
    if not fooled:
        seen = f"{result.judge} was not seen to be fooled, over {count_phrase(result.queries, 'query', 'queries')}."
        change = "More queries show rarer failures (--queries)."
        return Answer(seen, question, sure, change, "trueval golden audit DIR --size 200")
    worst = max(fooled, key=lambda each: each.share.value or 0.0)
    sentence = (
        f"{result.judge} is fooled by {len(fooled)} of {tests} kinds of passages, most by {worst.kind}: ",
        Quantity(worst.share, "value", PERCENT),
        " of them are graded relevant.",
    )
    return Answer(sentence, question, sure, mend, again)


def _kinds(result: Robustness) -> Sheet[AdversarialKind]:
    columns: list[Column[AdversarialKind]] = [
        Column("passage", lambda row: row.kind, NAME),
        Column("what it is", lambda row: row.about, TEXT, only="page"),
        Column("graded", lambda row: row.graded, COUNT, leaves=2),
        Column("relevant", lambda row: row.relevant, COUNT),
        Column("share", lambda row: row.share.value, FRACTION, strong=True),
        Column("interval", lambda row: row.share, INTERVAL),
        Column("mean\ngrade", lambda row: row.mean, MEAN_GRADE, leaves=3),
        *_tests(_itself),
        Column("fooled", lambda row: "" if row.p_holm is None else row.fooled, YES_NO, strong=bool),
    ]
    caption = f"Grade {result.relevant} or higher is relevant; lifted and lowered are against the clean passage."
    title = f"{result.judge}: passages that should not be relevant"
    return Sheet(title, result.kinds, columns, caption=caption, notes=list(_legend(result)), id="gullibility-kinds")


def _companions(result: Robustness) -> Sheet[_Companions]:
    columns: list[Column[_Companions]] = [
        Column("beside", lambda row: row.kind, NAME),
        Column("graded", lambda row: row.effect.graded, COUNT, leaves=2),
        Column("mean\ngrade", lambda row: row.effect.mean, MEAN_GRADE),
        Column("by", lambda row: row.effect.by, number("+.2f")),
        *_tests(lambda row: row.effect),
        Column("raised", lambda row: "" if row.effect.p_holm is None else row.effect.raised_by_it, YES_NO, strong=bool),
    ]
    rows = [_Companions(each.kind, each.companions) for each in result.kinds if each.companions is not None]
    caption = "What is shown in one call with each kind of passage, against the same beside the clean passage."
    title = f"{result.judge}: the other {result.passages - 1} passages of the call"
    return Sheet(title, rows, columns, caption=caption, id="gullibility-companions")


def _itself(row: AdversarialKind) -> AdversarialKind:
    return row


def _tests(of: Callable[[T], AdversarialKind | CompanionEffect]) -> list[Column[T]]:
    """Columns that compare with the clean passages; empty for these themselves, the control."""

    def unless_control(value: Callable[[AdversarialKind | CompanionEffect], object]) -> Callable[[T], object]:
        return lambda row: "" if of(row).p_holm is None else value(of(row))

    return [
        Column("lifted", unless_control(lambda tested: tested.lifted), GRADE),
        Column("lowered", unless_control(lambda tested: tested.lowered), GRADE, leaves=1),
        Column("p", unless_control(lambda tested: tested.p_holm), number(".3g")),
    ]


def _list_grades(grades: tuple[int | None, ...]) -> str:
    return ", ".join(NOT_AVAILABLE if each is None else str(each) for each in grades)


PASSAGES: Final[tuple[Column[AdversarialGrade], ...]] = (
    Column("query", lambda row: row.query),
    Column("passage", lambda row: row.trap),
    Column("grade", lambda row: row.grade, GRADE),
    Column("clean", lambda row: row.clean, GRADE),
    Column("beside", lambda row: _list_grades(row.companions)),
    Column("made of", lambda row: row.document),
    Column("characters", lambda row: row.characters, COUNT),
    Column("reason", lambda row: row.reason),
    Column("call", lambda row: row.call[:8]),
)


def describe_findings(result: Robustness) -> Iterator[str]:
    """The findings as sentences, the most important first.

    Args:
        result: of the command.
    """
    fooled = [each for each in result.kinds if each.fooled]
    for each in fooled:
        yield (
            f"{result.judge} is fooled by a passage {each.about}: it graded {percent(each.share.value)} relevant, and "
            f"{each.lifted} of {result.queries} higher than the clean passage."
        )
    raising = [
        (each, each.companions) for each in result.kinds if each.companions is not None and each.companions.raised_by_it
    ]
    for each, companions in raising:
        yield (
            f"{result.judge} grades what is shown beside a passage {each.about} higher, by {companions.by:+.2f} on "
            f"average, and in {companions.lifted} of {result.queries} queries: one passage can lift a whole call."
        )
    if not fooled and not raising:
        yield f"{result.judge} was not seen to be fooled, over {count_phrase(result.queries, 'query', 'queries')}."
    clean = result.kinds[0]
    yield (
        f"The control, {clean.about}, was graded relevant in {percent(clean.share.value)}: by accident a passage that "
        "is drawn may be relevant."
    )
    unjudged = ", ".join(f"{each.unjudged} of {each.kind}" for each in result.kinds if each.unjudged)
    if unjudged:
        yield f"No valid grade: {unjudged}."


def _legend(result: Robustness) -> Iterator[str]:
    yield (
        f"relevant: grade {result.relevant} or higher; intervals at {result.level:g} by Clopper and Pearson. "
        "lifted, lowered: queries whose passage has a higher or lower grade than their clean one; p: exact sign test, "
        "adjusted by Holm."
    )
    if result.passages > 1:
        yield (
            "beside: what is shown in one call with the passage, the same for all of a query and irrelevant too; by: "
            "mean difference of its grades to those beside the clean passage; lifted, lowered: queries."
        )
    cost = result.usage.cost
    paid = "" if cost is None else f", for {money(cost)}"
    among = f"among {result.passages - 1} others" if result.passages > 1 else "alone"
    yield (
        f"{count_phrase(result.usage.calls, 'call', 'calls')}{paid}; every passage was shown {among}, once, as golden "
        f"sets are graded in mode {result.mode}."
    )
