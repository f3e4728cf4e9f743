"""The answers of a stress test as the judge meets them: drawn, edited, backwards, and those that people labeled."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from trueval.answers.answer import AnswerLog, LoggedAnswer
from trueval.answers.answer_logs import read_answers
from trueval.answers.claim_table import MISSING, Cell, JudgedCells, cells_of
from trueval.answers.evaluate_answers import JudgedLog, find_people
from trueval.answers.judge_answers import AskedCells, ask_for
from trueval.answers.validation.answer_edits import EDITS, exchange_answers
from trueval.errors import InputError, PolicyError
from trueval.files import Source
from trueval.golden.build.golden_plan import JudgePlan
from trueval.golden.build.rounds import rng_of
from trueval.golden.judge.judge import Question
from trueval.report.number_texts import count_phrase

CLEAN, BACKWARDS, PEOPLE = "clean", "backwards", "labeled by people"


class StressedAnswers(NamedTuple):
    """Answers as the judge meets them under one edit."""

    kind: str
    log: AnswerLog
    asked: tuple[AskedCells, ...]


class StressPool(NamedTuple):
    """All that is judged, and what it is compared by.

    Attributes:
        logs: names of the logs.
        trials: clean answers first.
        people: of the answers that people labeled in whole, their labels; empty without any.
        clusters: id of an answer → its unit: the question, or its cluster.
        exchanged: number of answers that were put to another question.
        own: how the name of a model begins that counts as the judge's own.
        notes: one-line remarks.
    """

    logs: tuple[str, ...]
    trials: tuple[StressedAnswers, ...]
    people: JudgedCells
    clusters: Mapping[str, str]
    exchanged: int
    own: str
    notes: tuple[str, ...]

    @property
    def questions(self) -> list[Question]:
        """All questions to the judge."""
        return [each.question for trial in self.trials for each in trial.asked]


def draw_answers(
    logs: Sequence[AnswerLog | Source],
    plan: JudgePlan,
    *,
    people: Sequence[Source] = (),
    own: str | None = None,
    answers: int,
) -> StressPool:
    """Draw answers, edit them, and arrange the questions about them; the seed is that of the judge's table.

    Raises:
        InputError: an input is bad, or the judge is no model.
        PolicyError: a choice is none.
    """
    if answers < 1:
        raise PolicyError(f"answers must be an integer >= 1. Got {answers}.")
    if not plan.is_model:
        raise InputError(f"{plan.model} knows no edited answers. Stress is that of a model: name one as the judge.")
    if people and len(people) != len(logs):
        raise InputError(f"People's labels must be given once for each of {len(logs)} logs. Got {len(people)}.")
    read = [each if isinstance(each, AnswerLog) else read_answers(each) for each in logs]
    every = [_with_place(answer, at) for at, log in enumerate(read) for answer in log.answers]
    clusters, name = _clusters(read), plan.model if own is None else own
    judged = [each for each in every if each.claims and next(cells_of(each), None) is not None]
    if not judged:
        raise InputError(f"{read[0].source}: no answer has claims and a text to hold them against.")
    rng = rng_of(plan.grading.seed, "answer stress")
    picked = [judged[at] for at in sorted(rng.permutation(len(judged))[:answers].tolist())]
    drawn = exchange_answers(picked, rng)
    labels = _read_people(people, read)
    labeled, notes = _find_labels(every, labels if people else None, name)
    if len(judged) < answers:
        notes.insert(0, f"there are only {count_phrase(len(judged), 'answer', 'answers')} to edit.")
    return StressPool(
        logs=tuple(log.name for log in read),
        trials=(
            *_trials(drawn, plan, clusters),
            *([_trial(PEOPLE, labeled, labeled, plan, clusters)] if labeled else []),
        ),
        people=labels,
        clusters=clusters,
        exchanged=sum(one is not other for one, other in zip(drawn, picked, strict=True)),
        own=name,
        notes=tuple(notes),
    )


def _clusters(logs: Sequence[AnswerLog]) -> dict[str, str]:
    """Id of an answer → its unit."""
    if len({bool(log.clusters) for log in logs}) > 1:
        raise InputError("Some logs name clusters of questions, and others do not. Name them in all, or in none.")
    return {
        _with_place(answer, at).query: log.clusters.get(answer.query, answer.query)
        for at, log in enumerate(logs)
        for answer in log.answers
    }


def _read_people(people: Sequence[Source], logs: Sequence[AnswerLog]) -> JudgedCells:
    """The labels of all tables, by ids of answers."""
    found: dict[Cell, tuple[int, ...]] = {}
    for at, (table, log) in enumerate(zip(people, logs, strict=bool(people))):
        for cell, codes in JudgedLog.of(log, find_people(table)).judged.labels.items():
            found[cell._replace(query=f"{at}\n{cell.query}")] = codes
    return JudgedCells(found, "")


def _with_place(answer: LoggedAnswer, log: int) -> LoggedAnswer:
    return replace(answer, query=f"{log}\n{answer.query}")


def _id(answer: LoggedAnswer) -> str:
    return answer.query.partition("\n")[2]


def _trials(drawn: Sequence[LoggedAnswer], plan: JudgePlan, clusters: Mapping[str, str]) -> Iterator[StressedAnswers]:
    clean = _trial(CLEAN, drawn, drawn, plan, clusters)
    yield clean
    for kind, edit in EDITS.items():
        edited = [(edit(each, rng_of(plan.grading.seed, kind, each.query)), each) for each in drawn]
        if some := [(one, each) for one, each in edited if one is not None]:
            yield _trial(kind, [one for one, _ in some], [each for _, each in some], plan, clusters)
    if any(len(each.cells) > 1 for each in clean.asked):
        turned = tuple(
            AskedCells(each.question._replace(passages=each.question.passages[::-1]), each.cells[::-1])
            for each in clean.asked
        )
        yield StressedAnswers(BACKWARDS, clean.log, turned)


def _trial(
    kind: str,
    answers: Sequence[LoggedAnswer],
    unedited: Sequence[LoggedAnswer],
    plan: JudgePlan,
    clusters: Mapping[str, str],
) -> StressedAnswers:
    """The answers with their questions, whose texts stand in the slots of the unedited ones."""
    log, other = (AnswerLog(kind, kind, tuple(each), clusters) for each in (answers, unedited))
    return StressedAnswers(kind, log, tuple(ask_for(log, plan.grading, unedited=other)))


def _find_labels(
    every: Sequence[LoggedAnswer], people: JudgedCells | None, own: str
) -> tuple[list[LoggedAnswer], list[str]]:
    """Answers that people labeled in whole, to questions that the judge's model and another one answered so."""
    models = sorted({each.model for each in every if each.model})
    if people is None:
        several = f"the answers are of {len(models)} models, and " if len(models) > 1 else ""
        return [], [f"{several}whether the judge prefers its own model is not known: it takes people's labels."]
    sides: dict[str, set[bool]] = {}
    whole = [each for each in every if each.model and _is_labeled(each, people)]
    for each in whole:
        sides.setdefault(_id(each), set()).add(each.model.startswith(own))
    found = [each for each in whole if len(sides[_id(each)]) == 2]
    if found:
        return found, []
    named = f"the models are {', '.join(models)}" if models else "no answer names its model"
    return [], [
        f"whether the judge prefers its own model is not known: no question that people labeled in whole was answered "
        f"by a model whose name begins with {own!r} and by another one; {named}."
    ]


def _is_labeled(answer: LoggedAnswer, people: JudgedCells) -> bool:
    cells = [*cells_of(answer)]
    return bool(cells) and all(people.label(cell) != MISSING for cell in cells)
