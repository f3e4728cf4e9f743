"""The section of a sweep on its answers: who answers, how much of it is known, and when the first token comes."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from trueval.report.units import COUNT, NAME, number
from trueval.report.view import Column, Section, Sheet
from trueval.tradeoff.quality.result_parts import IntervalEstimate
from trueval.tradeoff.runner.sweep_result import SweepResult, SystemAnswers
from trueval.tradeoff.views.units import MILLISECONDS

FEW = 20  # rows from which the table begins closed


class _AnswersRow(NamedTuple):
    """A configuration and its answers."""

    name: str
    answers: SystemAnswers


def answers_section(sweep: SweepResult) -> list[Section]:
    """Answers of each configuration; empty where nobody answers.

    Args:
        sweep: of the command.
    """
    rows = [_AnswersRow(each.name, each.answers) for each in sweep.systems if each.answers is not None]
    if not rows:
        return []
    columns: list[Column[_AnswersRow]] = [
        Column("configuration", lambda row: row.name, NAME),
        Column("model", lambda row: row.answers.model),
        Column("K", lambda row: row.answers.k, COUNT),
        Column("questions", lambda row: row.answers.questions, COUNT),
        Column("answers", lambda row: row.answers.answers, COUNT),
        Column("not known", lambda row: row.answers.unknown, COUNT),
        Column("abstain", lambda row: row.answers.abstained, number(".1%")),
        Column("tokens in", lambda row: row.answers.tokens_in, COUNT),
        Column("tokens out", lambda row: row.answers.tokens_out, COUNT),
        *(Column(f"first token {name}, ms", _first_token(name), MILLISECONDS) for name in ("p50", "p95")),
    ]
    words = (
        "Answers with those of other orders of ties, of repetitions, and of questions that are timed several times. "
        "One that is not known counts as anything from 0 to 1. The first token is that of the answer: retrieval is in "
        "its time."
    )
    title = "Answers of each configuration"
    sheet = Sheet(title, rows, columns, folded=len(rows) > FEW, only="page", id="answers")
    return [Section("Answers", [sheet], words, id="answers-block")]


def _first_token(percentile: str) -> Callable[[_AnswersRow], float | None]:
    def value(row: _AnswersRow) -> float | None:
        first = row.answers.first
        found: IntervalEstimate | None = None if first is None else getattr(first, percentile)
        return None if found is None else found.value

    return value
