"""Generators as judges of the task "answer", so that answers go through the ledger of golden sets, paid once."""

from __future__ import annotations

import json
from collections.abc import Mapping

from trueval.golden.judge.judge import ANSWERING, JudgeAnswer, JudgeUsage, Question, Task
from trueval.models.generator import Generation, Generator

DIGITS = 6  # of a moment in seconds: a microsecond


class GeneratorJudge:
    """A generator without calls of ours: a local model, a planted one, or that of a user."""

    def __init__(self, generator: Generator) -> None:
        self.generator, self.name = generator, generator.name

    def identity(self, task: Task) -> Mapping[str, object]:
        """Everything that determines its answers."""
        return self.generator.identity()

    def ask(self, question: Question) -> JudgeAnswer:
        """Have the generator answer.

        Raises:
            InputError: it cannot be asked.
        """
        return answer_of(self.generator.generate(question.query, question.passages, question.sample))


def question_to(question: str, passages: tuple[str, ...], sample: int) -> Question:
    """The question as the ledger keeps it."""
    return Question(ANSWERING, question, passages, sample)


def answer_of(found: Generation) -> JudgeAnswer:
    """A generation as the ledger keeps it: the moments of its tokens are the second of its raw texts."""
    moments = json.dumps([round(each, DIGITS) for each in found.moments])
    return JudgeAnswer(
        text=found.text,
        raw=(found.text, moments),
        problems=(found.problem,) if found.problem else (),
        model=found.model,
        usage=JudgeUsage(found.tokens_in, found.tokens_out, found.cost),
        seconds=round(found.seconds, DIGITS),
    )


def generation_of(answer: JudgeAnswer) -> Generation:
    """The generation in an answer of the ledger."""
    moments = tuple(map(float, json.loads(answer.raw[1]))) if len(answer.raw) > 1 else ()
    return Generation(answer.text, "; ".join(answer.problems), moments, *answer.usage, answer.model, answer.seconds)
