"""Asking: many questions to one judge, several at once, each written down before the next step sees it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from typing import TypeVar

from trueval.golden.judge import Answer, Judge, Question
from trueval.golden.ledger import Ledger

Item = TypeVar("Item")
Result = TypeVar("Result")
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
    told = None if step is None else lambda done: step("questions", done, len(different))
    found = side_by_side(lambda question: ledger.ask(judge, question)[0], different, at_once=at_once, done=told)
    answers = dict(zip(different, found, strict=True))
    return [answers[question] for question in questions]


def side_by_side(
    work: Callable[[Item], Result],
    items: Sequence[Item],
    *,
    at_once: int,
    done: Callable[[int], object] | None = None,
    stop: Callable[[], object] | None = None,
) -> list[Result]:
    """Do some work on many items, several at once; after a failure or Ctrl-C nothing new begins.

    Args:
        work: on one item.
        items: of the work.
        at_once: items under way at once.
        done: called with the number of items that are done.
        stop: called once, where no further item begins: tells those under way that nobody waits for their results.

    Returns:
        [item] results.

    Raises:
        Exception: what the work raised first, when all that was under way has ended.
        KeyboardInterrupt: somebody stopped it; pressed twice, it does not wait.
    """
    results: dict[int, Result] = {}
    waiting, running = iter(range(len(items))), dict[Future[Result], int]()
    failed: BaseException | None = None

    def fails(error: BaseException) -> None:
        nonlocal failed
        if failed is None and stop is not None:
            stop()
        failed = error if isinstance(error, KeyboardInterrupt) else failed or error

    with ThreadPoolExecutor(at_once, "trueval-judge") as pool:
        while True:
            while failed is None and len(running) < at_once and (place := next(waiting, None)) is not None:
                running[pool.submit(work, items[place])] = place
            if not running:
                break
            try:
                ended = wait(running, return_when=FIRST_COMPLETED).done
            except KeyboardInterrupt as interrupt:
                if isinstance(failed, KeyboardInterrupt):  # who does it again does not want to wait
                    raise
                fails(interrupt)
                continue
            for future in ended:
                place, error = running.pop(future), future.exception()
                if error is not None:
                    fails(error)
                    continue
                results[place] = future.result()
                if done is not None:
                    done(len(results))
    if failed is not None:
        raise failed
    return [results[place] for place in range(len(items))]
