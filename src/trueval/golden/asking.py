"""Asking: many questions to one judge, several at once, each written down before the next step sees it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait

from trueval.golden.judge import Answer, Judge, Question
from trueval.golden.ledger import Ledger

Step = Callable[[str, int, int], None]


def ask_all(
    ledger: Ledger, judge: Judge, questions: Sequence[Question], *, at_once: int = 1, step: Step | None = None
) -> list[Answer]:
    """Ask a judge many questions, those alone that the ledger has no answer to.

    When one fails for good, or somebody presses Ctrl-C, no further one is sent, and those under way are waited for and
    kept: they are paid for.

    Args:
        ledger: where answers are.
        judge: who is asked.
        questions: any number; one that is there twice is asked once.
        at_once: questions under way at once.
        step: called with "questions", how many are answered and how many there are.

    Returns:
        [question] answers.

    Raises:
        InputError: the judge cannot be asked, or the money is spent.
        KeyboardInterrupt: somebody stopped it.
    """
    different = list(dict.fromkeys(questions))
    answers: dict[Question, Answer] = {}
    waiting, running = iter(different), dict[Future[tuple[Answer, bool]], Question]()
    failed: BaseException | None = None
    with ThreadPoolExecutor(at_once, "trueval-judge") as pool:
        while True:
            while failed is None and len(running) < at_once and (question := next(waiting, None)) is not None:
                running[pool.submit(ledger.ask, judge, question)] = question
            if not running:
                break
            try:
                done = wait(running, return_when=FIRST_COMPLETED).done
            except KeyboardInterrupt as stop:
                if isinstance(failed, KeyboardInterrupt):  # who does it again does not want to wait
                    raise
                failed = stop
                continue
            for future in done:
                question = running.pop(future)
                error = future.exception()
                if error is not None:
                    failed = failed or error
                    continue
                answers[question] = future.result()[0]
                if step is not None:
                    step("questions", len(answers), len(different))
    if failed is not None:
        raise failed
    return [answers[question] for question in questions]
