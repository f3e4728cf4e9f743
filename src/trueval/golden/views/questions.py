"""The view of written questions: how many of each kind, how many words they share with their passages, and each one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from trueval.golden.questions.written_questions import (
    KindOfQuestions,
    SourcePassage,
    WrittenQuestion,
    WrittenQuestions,
)
from trueval.golden.views.golden import money
from trueval.report.number_texts import count_phrase, percent
from trueval.report.units import COUNT, FRACTION, NAME
from trueval.report.view import Answer, Case, Column, Section, Sentence, Sheet, View, columns_of

ABOUT: Final = {
    "one": "answered by one passage",
    "several": "answered by several passages together",
    "none": "without an answer in the corpus",
}
COPIED: Final = 0.5  # mean overlap from which the page says that lexical search is flattered


def view(result: WrittenQuestions) -> View:
    """What `trueval golden questions` shows.

    Args:
        result: of the command.
    """
    counts = Sheet("Questions by kind", result.kinds, [*_columns(result)])
    every = Section("Every question", [], cases=[_case(each) for each in result.questions], id="written-questions")
    return View(
        title="Written questions",
        answer=_answer(result),
        sections=[Section("Questions by kind", [counts], open=True), every],
        csv=Sheet("", result.questions, columns_of("query", "kind", "text", "answer", "overlap", "requests", "call")),
        findings=[*_findings(result)],
        legend=LEGEND,
        notes=result.notes,
    )


def _answer(result: WrittenQuestions) -> Answer:
    parts = [f"{each.written} {ABOUT[each.kind]}" for each in result.kinds]
    written = count_phrase(len(result.questions), "question", "questions")
    return Answer(
        f"{result.judge} wrote {written} for {result.corpus}: {', '.join(parts)}.",
        f"What can be asked of {result.corpus}?",
        "A model wrote them, not your users: whether systems rank on them as on real questions is not known.",
        "Real questions, even few with judgments, show how far the order of systems can be believed.",
        "trueval retrieve CORPUS --queries DIR/queries.jsonl --qrels DIR/qrels.trec",
    )


def _findings(result: WrittenQuestions) -> Iterator[Sentence]:
    shares = [each.overlap for each in result.questions if each.overlap is not None and each.kind != "none"]
    if shares:
        mean = sum(shares) / len(shares)
        flatters = " Lexical search such as BM25 gains by that." if mean >= COPIED else ""
        yield f"{percent(mean)} of the terms of a question are in its passages, on average.{flatters}"
    above = sum(each.above or 0 for each in result.kinds)
    if result.most_overlap is not None:
        yield (
            f"{above} of {count_phrase(len(result.questions), 'question', 'questions')} kept more than "
            f"{percent(result.most_overlap)} of their terms from their passages after all requests for other words."
        )
    for name, told in FATES:
        count = sum(getattr(each, name) for each in result.kinds)
        if count:
            yield f"{told}: {count}."
    speaking = sum(each.speaks_to_judge for each in result.questions)
    if speaking:
        yield f"Questions from passages that seem to address a model rather than a reader: {speaking}. Look at them."
    cost = result.usage.cost
    paid = "" if cost is None else f", for {money(cost)}"
    yield f"{count_phrase(result.usage.calls, 'call', 'calls')}{paid}."


FATES: Final = (
    ("declined", "Passages about which the model found nothing to ask"),
    ("invalid", "Passages for which its answer was not valid, and no question is made up"),
    ("answered", "Questions left out because a passage answers them after all"),
    ("unchecked", "Questions left out because it could not be checked that nothing answers them"),
    ("repeated", "Questions left out because another passage gave the same"),
)


def _columns(result: WrittenQuestions) -> Iterator[Column[KindOfQuestions]]:
    yield Column("kind", lambda row: row.kind, NAME)
    yield Column("what it is", lambda row: ABOUT[row.kind], only="page")
    yield Column("wanted", lambda row: row.wanted, COUNT, leaves=2)
    yield Column("written", lambda row: row.written, COUNT, strong=True)
    yield Column("overlap", lambda row: row.overlap, FRACTION)
    if result.most_overlap is not None:
        yield Column("above\nlimit", lambda row: row.above, COUNT)
    yield Column("drawn", lambda row: row.drawn, COUNT, leaves=1)
    yield Column("declined", lambda row: row.declined, COUNT, leaves=4)
    yield Column("invalid", lambda row: row.invalid, COUNT, leaves=3)
    yield Column("prompt", lambda row: row.prompt, only="page")


def _case(question: WrittenQuestion) -> Case:
    words: list[Sentence] = [f"Answer: {question.answer}" if question.answer else "No answer was given."]
    words += [f"{_overlap(question)} Kind {question.kind}, id {question.query}."]
    return Case(question.text, words, [Sheet("Passages", question.passages, PASSAGES)])


def _overlap(question: WrittenQuestion) -> str:
    share = percent(question.overlap)
    return f"{share} of its terms are in its passages; asked for {count_phrase(question.requests, 'time', 'times')}."


PASSAGES: Final[tuple[Column[SourcePassage], ...]] = (
    Column("document", lambda row: row.document, NAME),
    Column("text", lambda row: row.text),
    Column("copies", lambda row: ", ".join(row.copies)),
)
LEGEND: Final = (
    "overlap: mean share of the terms of a question, as BM25 counts them, that are in its passages.",
    "drawn: passages that a question was asked for; those without one are replaced in at most two further rounds.",
)
