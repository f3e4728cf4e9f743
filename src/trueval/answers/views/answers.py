"""The view of evaluated answers: what limits them, every measure with its interval, and every claim with its labels."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Final, NamedTuple

from trueval.answers.answer_measures import MEASURES
from trueval.answers.answers_evaluation import (
    AnswerMean,
    AnswersEvaluation,
    JudgedClaim,
    JudgedQuestion,
    JudgedText,
    Losses,
    PeopleAgreement,
)
from trueval.report.number_texts import NOT_AVAILABLE, count_phrase, format_value, percent
from trueval.report.page_content import Figure
from trueval.report.plots import TieInterval, plot_dots
from trueval.report.units import COUNT, DIFFERENCE, FRACTION, INTERVAL, NAME, interval_of
from trueval.report.view import Answer, Case, Column, Mark, Quantity, Section, Sentence, Sheet, View, columns_of

KEY: Final = (("bar", "interval over questions, with missing labels"), ("dot", "mean"))
SIGNED: Final = interval_of(DIFFERENCE)
QUESTION: Final = "What limits the answers: retrieval, reading, or labels?"


class _Ends(NamedTuple):
    low: float | None
    high: float | None


def view(result: AnswersEvaluation) -> View:
    """What `trueval answers evaluate` shows.

    Args:
        result: of the command.
    """
    known = [each for each in result.measures if each.value is not None]
    measures = Sheet("Measures of the answers", known, [*_columns(known)])
    sections = [Section("Measures", [measures], open=True)]
    checked = [each for each in known if each.agreement is not None]
    if checked:
        sheet = Sheet("Judge and people, on questions that people labeled", checked, AGREEMENT)
        sections.append(Section("Judge and people", [sheet], open=True))
    if result.listed:
        cases = [_case(each) for each in result.listed]
        less = (
            "" if len(cases) == result.questions else f"The {len(cases)} least correct of {result.questions} questions."
        )
        sections.append(Section("Every claim and what was said of it", [], less, cases=cases, id="claims"))
    sections.append(Section("What each measure is", [Sheet("What each measure is", known, ABOUT, only="page")]))
    return View(
        title="Answers",
        answer=_answer(result),
        sections=sections,
        csv=Sheet("", result.measures, columns_of(*CSV)),
        lead=_figure(known),
        findings=[*_findings(result)],
        marks=[Mark(NOT_AVAILABLE, "too few questions for an interval.")],
        legend=LEGEND,
        notes=result.notes,
    )


def _answer(result: AnswersEvaluation) -> Answer:
    found, questions = result.losses, count_phrase(result.questions, "question", "questions")
    if found is None:
        best: Sentence = f"{result.log}: {questions} answered."
        known = [each for each in result.measures if each.value is not None]
        if known:
            over = count_phrase(known[0].questions, "question", "questions")
            best = (f"{result.log}: {known[0].name} is ", Quantity(known[0], "value"), f" over {over}.")
        return Answer(
            best,
            QUESTION,
            "Without a judged table only words can be compared; what limits the answers is not known.",
            "A judge's labels of the claims would say.",
            "trueval answers judge LOG --judge MODEL --out DIR",
        )
    shares = {
        "retrieval": (found.retrieval, "are neither in the answers nor in the contexts"),
        "reading": (found.reading, "are in the contexts and not in the answers"),
        "labels": (found.undecided, "cannot be placed, as labels are missing"),
    }
    total = found.answered + sum(count for count, _ in shares.values())
    if not total:
        sentence = f"{result.log}: what limits the answers is not known, as no question has a reference and a context."
        return Answer(
            sentence, QUESTION, _sure(result), "Questions with a reference answer, logged with their contexts."
        )
    claims = count_phrase(total, "claim", "claims")
    if found.answered == total:
        return Answer(f"Nothing limits {result.log}: its answers contain all {claims} of the references.", QUESTION)
    most = _limit(found)
    told = "; ".join(f"{percent(count / total)} {words}" for count, words in shares.values() if count)
    sentence = (
        f"{LIMITS[most].format(result.log)}: of {claims} of the references {percent(found.answered / total)} are in "
        f"the answers; {told}."
    )
    return Answer(sentence, QUESTION, _sure(result), CHANGE[most], NEXT[most])


def _limit(found: Losses) -> str:
    """What most claims of the references are lost by; "" where the questions do not tell retrieval from reading."""
    if found.undecided >= max(found.retrieval, found.reading):
        return "labels"
    low, high = found.gap.low, found.gap.high
    return "retrieval" if low > 0 else "reading" if high < 0 else ""


LIMITS: Final = {
    "retrieval": "Retrieval limits {} most",
    "reading": "Reading limits {} most",
    "labels": "Missing labels limit what can be said of {}",
    "": "Whether retrieval or reading limits {} more is not separated",
}
CHANGE: Final = {
    "retrieval": "A retriever, or a larger context, that brings the missing claims.",
    "reading": "Another generator or prompt, or fewer passages beside those that matter.",
    "labels": "Labels for the missing cells: judge again, or have people label them.",
    "": "More questions with a reference and a context.",
}
NEXT: Final = {
    "retrieval": "trueval cuts CONFIG.toml",
    "reading": "trueval answers compare LOG OTHER --judged TABLE --judged OTHER_TABLE",
    "labels": "trueval answers judge LOG --judge MODEL --out DIR",
    "": "",
}


def _sure(result: AnswersEvaluation) -> str:
    labeled = result["correctness"].labeled if "correctness" in result.by_name else 0
    people = f"People labeled {count_phrase(labeled, 'question', 'questions')} in whole." if labeled else ""
    whose = people or "The labels are a judge's, and nobody checked them here: --people corrects them."
    units = max((each.units for each in result.measures), default=0)
    over = count_phrase(units, "cluster of questions", "clusters of questions") if result.clusters else ""
    return f"{whose} Intervals at {result.level:g} are over {over or count_phrase(units, 'question', 'questions')}."


def _findings(result: AnswersEvaluation) -> Iterator[Sentence]:
    if result.missing:
        share = percent(result.missing / result.cells)
        yield (
            f"{result.missing:,} of {result.cells:,} cells of the table ({share}) have no label. Lowest and highest "
            "are the means over all ways to fill them."
        )
    if result.disagreeing:
        yield f"Repetitions differ in {count_phrase(result.disagreeing, 'cell', 'cells')}; their median counts."
    unknown = [each for each in result.measures if each.unknown and each.questions]
    for count in sorted({each.unknown for each in unknown}):
        names = ", ".join(each.name for each in unknown if each.unknown == count)
        first = next(each for each in unknown if each.unknown == count)
        ends = f"from {format_value(first.all_lowest)} to {format_value(first.all_highest)}"
        yield (
            f"The log lacks what these need for {count_phrase(count, 'question', 'questions')}: {names}. Counted as 0 "
            f"or 1 there, {first.name} would be {ends}."
        )
    moved = [each for each in result.measures if each.corrected is not None and each.value is not None]
    moved.sort(key=lambda each: -abs((each.corrected.estimate if each.corrected else 0.0) - (each.value or 0.0)))
    for each in moved[:1]:
        if each.corrected is not None:
            yield (
                f"People's labels move {each.name} most: from ",
                Quantity(each, "value"),
                " to ",
                Quantity(each.corrected, "estimate"),
                ".",
            )


def _columns(known: list[AnswerMean]) -> Iterator[Column[AnswerMean]]:
    yield Column("measure", lambda row: row.name, NAME)
    yield Column("value", lambda row: row.value, FRACTION, strong=True)
    yield Column("interval", lambda row: _Ends(row.low, row.high), INTERVAL)
    if any(each.lowest != each.highest for each in known):
        yield Column("lowest", lambda row: row.lowest, FRACTION, leaves=5)
        yield Column("highest", lambda row: row.highest, FRACTION, leaves=4)
    if any(each.corrected is not None for each in known):
        yield Column("corrected", lambda row: row.corrected and row.corrected.estimate, FRACTION, strong=True)
        yield Column("corrected\ninterval", lambda row: row.corrected, INTERVAL)
    yield Column("questions", lambda row: row.questions, COUNT)
    if any(each.empty for each in known):
        yield Column("nothing\nto measure", lambda row: row.empty, COUNT, leaves=2)
    if any(each.unknown for each in known):
        yield Column("not\nknown", lambda row: row.unknown, COUNT, leaves=1)


def _take_agreement(value: Callable[[PeopleAgreement], object]) -> Callable[[AnswerMean], object]:
    """A value of the agreement of a measure."""
    return lambda row: None if row.agreement is None else value(row.agreement)


AGREEMENT: Final[tuple[Column[AnswerMean], ...]] = (
    Column("measure", lambda row: row.name, NAME),
    Column("judge -\npeople", _take_agreement(lambda found: found.difference.estimate), DIFFERENCE, strong=True),
    Column("interval", _take_agreement(lambda found: found.difference), SIGNED),
    Column("equal", _take_agreement(lambda found: found.equal), FRACTION),
    Column("correlation", _take_agreement(lambda found: found.correlation), FRACTION, leaves=1),
    Column("questions", _take_agreement(lambda found: found.questions), COUNT),
)
ABOUT: Final[tuple[Column[AnswerMean], ...]] = (
    Column("measure", lambda row: row.name, NAME),
    Column("better", lambda row: row.better),
    Column("what it is", lambda row: _measure(row.name, "summary")),
    Column("formula", lambda row: _measure(row.name, "formula")),
    Column("source", lambda row: _measure(row.name, "source")),
)


def _measure(name: str, attribute: str) -> str:
    return str(getattr(MEASURES[name].measure, attribute)) if name in MEASURES else ""


def _figure(known: list[AnswerMean]) -> Figure | None:
    dots = [
        TieInterval(each.name, each.value, each.low, each.high)
        for each in known
        if each.value is not None and each.low is not None and each.high is not None
    ]
    about = "The mean of each measure over questions, with its interval."
    return (
        Figure("answer-measures", "Measures of the answers", about, partial(plot_dots, dots), key=KEY) if dots else None
    )


def _case(question: JudgedQuestion) -> Case:
    correct = "not known" if question.correctness is None else format_value(question.correctness)
    words: list[Sentence] = [f"Answer: {question.answer or '(empty)'}", f"Correctness {correct}. Id {question.query}."]
    called = any(text.calls for claim in question.claims for text in claim.texts)
    columns = TEXTS if called else TEXTS[:-1]
    sheets = [_claim(number, each, columns) for number, each in enumerate(question.claims, start=1)]
    title = question.question if question.correctness is None else f"{question.question} (correctness {correct})"
    return Case(title, words, sheets)


def _claim(number: int, claim: JudgedClaim, columns: tuple[Column[JudgedText], ...]) -> Sheet[JudgedText]:
    whose = "Claim of the answer" if claim.of == "answer" else "Claim of the reference"
    cites = f" Cites passage {claim.cited}." if claim.cited else ""
    return Sheet(f"{number}. {whose}: {claim.claim}{cites}", claim.texts, columns)


TEXTS: Final[tuple[Column[JudgedText], ...]] = (
    Column("against", lambda row: row.against if not row.against[:1].isdigit() else f"passage {row.against}", NAME),
    Column("label", lambda row: row.label),
    Column("text", lambda row: row.text),
    Column("calls", lambda row: ", ".join(each[:8] for each in row.calls)),  # as in the ledger
)
CSV: Final = (
    *("name", "better", "value", "low", "high", "lowest", "highest", "questions", "empty", "unknown", "all_lowest"),
    *("all_highest", "units", "labeled"),
)
LEGEND: Final = (
    "interval: of the mean over questions (clusters, where given), from its lower end if all missing labels were the "
    "worst to its upper end if they were the best.",
    "lowest, highest: mean over all ways to fill cells without a label; value is the middle.",
    "nothing to measure: questions without what the measure divides by, such as an answer without citations.",
    "not known: questions of which the log lacks what the measure needs, such as a context.",
    "judge - people: mean difference of values on questions that people labeled in whole; equal, share of these with "
    "the same value; correlation, Pearson's.",
    "corrected: mean for people's labels, from the judge's of all questions and people's of some (prediction-powered).",
)
