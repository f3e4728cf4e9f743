"""The view of what written questions flatter: whether their order of systems holds on real ones, and why not."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Final

from trueval.golden.questions.flattery_result import Flattery, LexicalGain, PairOrder, SystemValues
from trueval.report.number_texts import count_phrase, format_difference, percent
from trueval.report.page_content import Figure
from trueval.report.plots import TieInterval, plot_dots
from trueval.report.units import DIFFERENCE, FRACTION, NAME, interval_of
from trueval.report.view import Answer, Column, Section, Sentence, Sheet, View, columns_of

ENDS: Final = interval_of(DIFFERENCE)
KEY: Final = (("bar", "interval"), ("dot", "gain"))


def view(result: Flattery) -> View:
    """What `trueval golden flatters` shows.

    Args:
        result: of the command.
    """
    sections = [
        Section("Systems", [Sheet("Systems", result.systems, [*_systems(result)])], open=True),
        *([Section("Gain of lexical search", [_gains(result)])] if result.gains else []),
        *([Section("Pairs of systems", [Sheet("Pairs of systems", result.pairs, PAIRS)])] if result.pairs else []),
    ]
    return View(
        title="Written questions against real ones",
        answer=_answer(result),
        sections=sections,
        csv=Sheet("", result.systems, columns_of("name", "written", "real")),
        lead=_lead(result),
        findings=[*_findings(result)],
        legend=LEGEND,
        notes=result.notes,
    )


def _answer(result: Flattery) -> Answer:
    question = "Can the order of systems on written questions be believed?"
    pairs = count_phrase(len(result.pairs), "pair", "pairs")
    by_verdict = {name: [each for each in result.pairs if each.verdict == name] for name in ("same", "reversed")}
    same, turned = len(by_verdict["same"]), by_verdict["reversed"]
    sure = (
        f"Intervals at {result.level:g} that hold for all pairs together, over {result.written_queries} written and "
        f"{result.real_queries} real questions."
    )
    if result.believed == "not known":
        return Answer(
            f"How far the order of these {len(result.systems)} systems on written questions can be believed is not "
            "known: no real question was given.",
            question,
            "Agreement of written questions with each other says nothing about real ones.",
            "A few dozen real questions with judgments would tell.",
            "trueval golden flatters QUESTIONS RUN... --real COLLECTION --real-run RUN...",
        )
    if turned:
        ahead = [each.first if (each.written.value or 0.0) > 0 else each.second for each in turned]
        behind = [each.second if name == each.first else each.first for each, name in zip(turned, ahead, strict=True)]
        are = "is" if len(turned) == 1 else "are"
        told = f"{len(turned)} of {pairs} of systems {are} the other way round on real ones"
        sentence = (
            f"The order on written questions cannot be believed: {told}. {ahead[0]} is above {behind[0]} on written "
            "questions and below on real ones."
        )
        return Answer(
            sentence, question, sure, "Choose by real questions, or write others in other words (--paraphrase)."
        )
    if result.believed == "yes":
        sentence = (
            f"The order on written questions holds on real ones: {_all(len(result.pairs))} in the same order on both."
        )
        return Answer(sentence, question, sure, "Systems of another sort than these may be flattered in another way.")
    return Answer(
        f"It is not known yet whether the order on written questions holds: {same} of {pairs} of systems are in the "
        "same order on both for sure, none is the other way round for sure.",
        question,
        sure,
        "More real questions separate more pairs.",
    )


def _all(pairs: int) -> str:
    return "the two systems are" if pairs == 1 else f"all {pairs} pairs of systems are"


def _findings(result: Flattery) -> Iterator[Sentence]:
    gain, of = result.gain, f"The gain of {result.lexical} over the other systems"
    if gain is not None and gain.excess.value is not None:
        ends = _ends(gain.excess.low, gain.excess.high)
        says = {
            "yes": f"Written questions flatter {result.lexical}",
            "no": f"Written questions do not flatter {result.lexical}",
            "undecided": f"It is not seen that written questions flatter {result.lexical}",
        }[result.flattered]
        yield (
            f"{says}: its gain over the other systems is {format_difference(gain.written.value)} on written and "
            f"{format_difference(gain.real.value)} on real questions: a difference of "
            f"{format_difference(gain.excess.value)} {ends}."
        )
    if result.rise.value is not None:
        yield (
            f"{of} rises by {format_difference(result.rise.value)} {_ends(result.rise.low, result.rise.high)} from a "
            "question that shares no term with its passages to one that shares all."
        )
    if result.overlap is not None:
        yield from _overlaps(result)
    if result.tau.value is not None:
        yield (
            f"Kendall's tau-b of the two orders of systems: {result.tau.value:.2f} "
            f"{_ends(result.tau.low, result.tau.high, '.2f')}."
        )


def _overlaps(result: Flattery) -> Iterator[Sentence]:
    overlap = result.overlap
    if overlap is None or overlap.written.value is None:
        return
    real = "" if overlap.real.value is None else f", and {percent(overlap.real.value)} of those of real ones"
    yield f"On average passages have {percent(overlap.written.value)} of the terms of written questions{real}."


def _ends(low: float | None, high: float | None, form: str = "+.4f") -> str:
    return "(no interval)" if low is None or high is None else f"({low:{form}} to {high:{form}})"


def _lead(result: Flattery) -> Figure | None:
    gain = result.gain
    if gain is None:
        return None
    dots = [
        TieInterval(name, each.value, each.low, each.high)
        for name, each in (("written", gain.written), ("real", gain.real))
        if each.value is not None and each.low is not None and each.high is not None
    ]
    about = f"Gain of {result.lexical} over the mean of the other systems in {result.measure}, by the questions."
    return (
        Figure("flattery-gain", f"Gain of {result.lexical}", about, partial(plot_dots, dots), key=KEY) if dots else None
    )


def _systems(result: Flattery) -> Iterator[Column[SystemValues]]:
    yield Column("system", lambda row: row.name, NAME)
    yield Column("written", lambda row: row.written, FRACTION, strong=True)
    if result.real is not None:
        yield Column("real", lambda row: row.real, FRACTION, strong=True)


def _gains(result: Flattery) -> Sheet[LexicalGain]:
    columns: list[Column[LexicalGain]] = [
        Column("over", lambda row: row.other or "the mean of all others", NAME),
        Column("written", lambda row: row.written.value, DIFFERENCE),
        Column("interval", lambda row: row.written, ENDS, leaves=2),
    ]
    if result.real is not None:
        columns += [
            Column("real", lambda row: row.real.value, DIFFERENCE),
            Column("interval of real", lambda row: row.real, ENDS, leaves=2),
            Column("excess", lambda row: row.excess.value, DIFFERENCE, strong=True),
            Column("interval of\nexcess", lambda row: row.excess, ENDS, leaves=1),
        ]
    rows = [*([result.gain] if result.gain is not None and len(result.gains) > 1 else []), *result.gains]
    return Sheet(f"Gain of {result.lexical} in {result.measure}", rows, columns, id="flattery-gains")


PAIRS: Final[tuple[Column[PairOrder], ...]] = (
    Column("first", lambda row: row.first, NAME),
    Column("second", lambda row: row.second, NAME),
    Column("written", lambda row: row.written.value, DIFFERENCE),
    Column("interval", lambda row: row.written, ENDS, leaves=1),
    Column("real", lambda row: row.real.value, DIFFERENCE),
    Column("interval of real", lambda row: row.real, ENDS, leaves=1),
    Column("order", lambda row: row.verdict, strong=lambda verdict: verdict == "reversed"),
)
LEGEND: Final = (
    "excess: gain on written questions minus gain on real ones; intervals by a bootstrap of both sets of questions.",
    "order: same or reversed where both intervals exclude 0; all intervals of the table of pairs hold together.",
    "terms: words as BM25 counts them, stemmed and without stop words; of real questions against their best-graded "
    "documents.",
)
