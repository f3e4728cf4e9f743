"""The view of generated answers: what limits them, five contexts with intervals, ties, and times of tokens."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Final

from trueval.answers.generation.generation_result import (
    BoundedMean,
    ContextMean,
    GeneratedAnswers,
    TiedContext,
    TiedQuestion,
    TokenTimes,
)
from trueval.answers.views.token_plot import token_figure
from trueval.report.number_texts import NOT_AVAILABLE, count_phrase, format_value
from trueval.report.page_content import Figure
from trueval.report.plots import TieInterval, plot_dots
from trueval.report.units import COUNT, DIFFERENCE, FRACTION, INTERVAL, NAME, interval_of, number
from trueval.report.view import Answer, Case, Column, Mark, Quantity, Section, Sentence, Sheet, View, columns_of

KEY: Final = (("bar", "interval over questions, with what is not known"), ("dot", "mean"))
QUESTION: Final = "What limits the answers: retrieval, reading, or labels?"
SIGNED: Final = interval_of(DIFFERENCE)
MILLISECONDS: Final = number(",.1f")


def view(result: GeneratedAnswers) -> View:
    """What `trueval answers generate` shows.

    Args:
        result: of the command.
    """
    sections = [Section("Contexts", [Sheet("Answers by context", result.contexts, [*_contexts(result)])], open=True)]
    if result.losses:
        lost = Sheet("Where values are lost", result.losses, [*_losses(result)])
        sections.append(Section("Losses", [lost], open=True))
    if result.times:
        sheet, figure = (
            Sheet("Times by the number of passages", result.times, TIMES),
            token_figure(result.generator, result.times),
        )
        sections.append(Section("Times", [sheet], figures=[figure] if figure else [], open=True))
    if result.ties.listed:
        cases = [_case(each) for each in result.ties.listed]
        words = "Documents with equal scores may come in any order: each order is another context, and maybe an answer."
        sections.append(Section("Contexts that ties leave open", [], words, cases=cases, id="ties"))
    return View(
        title="Generated answers",
        answer=_answer(result),
        sections=sections,
        csv=Sheet("", result.contexts, columns_of(*CSV)),
        lead=_figure(result),
        findings=[*_findings(result)],
        marks=[Mark(NOT_AVAILABLE, "too few questions or answers to know it.")],
        legend=LEGEND,
        notes=result.notes,
    )


def _answer(result: GeneratedAnswers) -> Answer:
    found = {each.name: each for each in result.losses}
    known = [each for each in result.contexts if each.mean.value is not None]
    if not {"retrieval", "reading"} <= {*found} or not found["retrieval"].questions:
        sentence: Sentence = (
            f"{result.generator}: what limits the answers is not known without gold and system contexts."
        )
        if known:
            first = known[0].mean
            sentence = (
                f"{result.generator}: {result.measure} from {first.name} is ",
                Quantity(first, "value"),
                f" over {count_phrase(first.questions, 'question', 'questions')}.",
            )
        return Answer(sentence, QUESTION, _sure(result), "Judgments that say which documents hold the answer.")
    retrieval, reading = found["retrieval"], found["reading"]
    told: Sentence = (
        f"{LIMITS[result.limit].format(result.generator)}: {result.measure} loses ",
        Quantity(retrieval, "value"),
        " in retrieval and ",
        Quantity(reading, "value"),
        " in reading.",
    )
    return Answer(told, QUESTION, _sure(result), CHANGE[result.limit], _next(result))


LIMITS: Final = {
    "retrieval": "Retrieval limits {} most",
    "reading": "Reading limits {} most",
    "labels": "What is not known limits what can be said of {}",
    "": "Whether retrieval or reading limits {} more is not separated",
}
CHANGE: Final = {
    "retrieval": "A retriever, or more passages, that brings the documents that hold the answer.",
    "reading": "Another generator or prompt; or references and labels that fit better what is right.",
    "labels": "References, labels and answers for what is missing.",
    "": "More questions with gold documents and a reference.",
}


def _next(result: GeneratedAnswers) -> str:
    if not result.judge:
        return "trueval answers judge DIR/system.jsonl --judge MODEL --out judged"
    return "trueval answers brittle CONFIG.toml --out DIR"


def _sure(result: GeneratedAnswers) -> str:
    whose = (
        f"Answers are judged by {result.judge}, and nobody checked its labels here."
        if result.judge
        else f"Answers are compared with references by their words ({result.measure}), without a judge."
    )
    over = next((each.questions for each in result.losses if each.name == "retrieval"), result.questions)
    return f"{whose} Intervals at {result.level:g} are over {count_phrase(over, 'question', 'questions')}, paired."


def _findings(result: GeneratedAnswers) -> Iterator[Sentence]:
    by_name = {each.mean.name: each.mean for each in result.contexts}
    closed = by_name.get("none")
    if closed is not None and closed.value is not None:
        reach: list[str | Quantity] = [Quantity(closed, "value")]
        if closed.width > 0:
            reach = [Quantity(closed, "lowest"), " to ", Quantity(closed, "highest"), ", as some values are not known"]
        yield ("Without any passage it reaches ", *reach, ": what it knew anyway.")
    ties = result.ties
    if ties.questions:
        told = count_phrase(ties.questions, "question has", "questions have")
        yield (
            f"{told} several contexts by ties; on {ties.moved:,} of them the contexts that were tried gave answers of "
            "different value."
        )
    if result.usage.tokens_in:
        cost = "" if result.usage.cost is None else f", for {result.usage.cost:.4g} in the currency of the prices"
        yield (
            f"{result.usage.calls:,} different answers took {result.usage.tokens_in:,} tokens in and "
            f"{result.usage.tokens_out or 0:,} out{cost}."
        )


def _contexts(result: GeneratedAnswers) -> Iterator[Column[ContextMean]]:
    rows = result.contexts
    yield Column("context", lambda row: row.mean.name, NAME)
    yield Column("value", lambda row: row.mean.value, FRACTION, strong=True)
    yield Column("interval", lambda row: row.mean, INTERVAL)
    if any(each.mean.width > 0 for each in rows):
        yield Column("lowest", lambda row: row.mean.lowest, FRACTION, leaves=2)
        yield Column("highest", lambda row: row.mean.highest, FRACTION, leaves=2)
    if result.ties.questions:
        yield Column("least\nby ties", lambda row: row.tie_lowest, FRACTION, leaves=3)
        yield Column("most\nby ties", lambda row: row.tie_highest, FRACTION, leaves=3)
    yield Column("abstained", lambda row: row.abstained, FRACTION, leaves=4)
    yield Column("questions", lambda row: row.mean.questions, COUNT)
    if any(each.unknown for each in rows):
        yield Column("not\nknown", lambda row: row.unknown, COUNT, leaves=1)
    if any(each.without for each in rows):
        yield Column("without", lambda row: row.without, COUNT, leaves=5)


def _losses(result: GeneratedAnswers) -> Iterator[Column[BoundedMean]]:
    yield Column("loss", lambda row: row.name, NAME)
    yield Column("value", lambda row: row.value, DIFFERENCE, strong=True)
    yield Column("interval", lambda row: row, SIGNED)
    if any(each.width > 0 for each in result.losses):
        yield Column("lowest", lambda row: row.lowest, DIFFERENCE, leaves=1)
        yield Column("highest", lambda row: row.highest, DIFFERENCE, leaves=1)
    yield Column("questions", lambda row: row.questions, COUNT)


def _percentile(part: str, name: str, end: str = "value") -> Column[TokenTimes]:
    def take(row: TokenTimes) -> float | None:
        found = getattr(row, part).get(name)
        value = None if found is None else getattr(found, end)
        return None if value is None else 1000 * value

    label = {"first": "first token", "between": "between", "whole": "whole"}[part]
    leaves = 0 if part == "first" and name == "p50" else {"whole": 1, "between": 2, "first": 3}[part]
    heading = f"{label}\n{name}, ms" if end == "value" else f"{label}\n{name} {end}"
    return Column(heading, take, MILLISECONDS, leaves=leaves, only="" if end == "value" else "page")


TIMES: Final[tuple[Column[TokenTimes], ...]] = (
    Column("passages", lambda row: row.passages, COUNT),
    Column("answers", lambda row: row.answers, COUNT),
    *(
        _percentile(part, name, end)
        for part in ("first", "between", "whole")
        for name in ("p50", "p95", "p99")
        for end in ("value", "low", "high")
    ),
    Column("tokens in", lambda row: row.tokens_in, number(",.0f"), leaves=4),
    Column("tokens out", lambda row: row.tokens_out, number(",.0f"), leaves=4),
)


def _figure(result: GeneratedAnswers) -> Figure | None:
    dots = [
        TieInterval(each.name, each.value, each.low, each.high)
        for each in (context.mean for context in result.contexts)
        if each.value is not None and each.low is not None and each.high is not None
    ]
    about = f"Mean {result.measure} of the answers from each context, with its interval."
    title = "Answers by context"
    return Figure("answer-contexts", title, about, partial(plot_dots, dots), key=KEY) if dots else None


def _case(question: TiedQuestion) -> Case:
    span = f"{format_value(question.lowest)} to {format_value(question.highest)}"
    title = f"{question.question} (value {span})"
    possible = f"{question.count:,.0f} contexts are equally likely; {len(question.contexts)} were tried."
    words: list[Sentence] = [possible, f"Id {question.query}."]
    return Case(title, words, [Sheet("Contexts and their answers", question.contexts, TIED)])


TIED: Final[tuple[Column[TiedContext], ...]] = (
    Column("documents", lambda row: ", ".join(row.documents), NAME),
    Column("chance", lambda row: row.chance, FRACTION),
    Column("lowest", lambda row: row.lowest, FRACTION),
    Column("highest", lambda row: row.highest, FRACTION),
    Column("answer", lambda row: row.answer),
)
CSV: Final = (
    *("mean.name", "mean.value", "mean.low", "mean.high", "mean.lowest", "mean.highest", "mean.questions"),
    *("abstained", "answers", "unknown", "without", "all_lowest", "all_highest", "tie_lowest", "tie_highest"),
)
LEGEND: Final = (
    "contexts: none, no passage: what the generator knew anyway; system, what users get; gold, documents judged to "
    "hold the answer; gold+distractors, those among others of the list; reordered, the system's in another order.",
    "losses: retrieval, gold - system: what better lists could gain; reading, 1 - gold: wrong with the answer in "
    "front of it; distraction, gold - gold+distractors; order, system - reordered.",
    "interval: of the mean over questions (clusters, where the references name them), from its lower end if everything "
    "that is not known were worth 0 to its upper end if it were worth 1.",
    "lowest, highest: mean over all that missing labels and answers may be; value is the middle.",
    "least, most by ties: mean of the least and the greatest value of each question over the contexts that were tried.",
    "not known: questions of which an answer broke off or was refused, or has no reference or label.",
    "without: questions that do not have this context.",
    "retrieval + reading = 1 - system, over the same questions.",
    "times: p50, p95 and p99 over answers, with intervals over questions; between is the mean of an answer.",
)
