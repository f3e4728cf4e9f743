"""Concurrent questions to one judge; each answer is in the ledger before the next step sees it."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from trueval.golden.judge.judge import Judge, JudgeAnswer, Question
from trueval.golden.judge.ledger import Ledger
from trueval.models.hosted.concurrent_calls import side_by_side

Step = Callable[[str, int, int], None]


def ask_all(
    ledger: Ledger, judge: Judge, questions: Sequence[Question], *, at_once: int = 1, step: Step | None = None
) -> list[JudgeAnswer]:
    """Ask a judge all questions that the ledger has no answer to.

    After a permanent failure or Ctrl-C no further question is sent; those in flight are awaited and kept, since they
    are paid for.

    Args:
        questions: any number; duplicates are asked once.
        at_once: maximum number of concurrent questions.
        step: called with "questions", the number answered and the total.

    Returns:
        [question] answers.

    Raises:
        InputError: the judge cannot be asked, or the money is spent.
        KeyboardInterrupt: the user interrupted it.
    """
    different = list(dict.fromkeys(questions))
    told = None if step is None else lambda done: step("questions", done, len(different))
    found = side_by_side(lambda question: ledger.ask(judge, question)[0], different, at_once=at_once, done=told)
    answers = dict(zip(different, found, strict=True))
    return [answers[question] for question in questions]
