"""Live calls: every query asked, several at once, patiently, and each answer written down."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Final, NamedTuple

from trueval.errors import InputError, TruevalError
from trueval.models.hosted.concurrent_calls import side_by_side
from trueval.models.hosted.failures import CallError, FailureKind
from trueval.models.hosted.retries import Retries
from trueval.models.hosted.throttle import Throttle
from trueval.retrieval.live.engine_answer import documents_of
from trueval.retrieval.live.live_ledger import LiveAnswer, LiveLedger, LiveQuestion
from trueval.retrieval.live.live_spec import LiveSource

STOPPED: Final = "stopped"
CURES: Final = {
    None: "Is it running, and is the address right?",
    401: "Name the variable of its key in api_key_env.",
    403: "Name the variable of a key that may search in api_key_env.",
    404: "Correct the path in the address.",
}


class LiveCalls(NamedTuple):
    """What was asked.

    Attributes:
        answers: [call][query] answers.
        retried: attempts that failed and were made again.
        resumed: answers that the ledger had.
        began: when the job began, in ISO 8601.
    """

    answers: list[list[LiveAnswer]]
    retried: int
    resumed: int
    began: str


def ask_live(
    source: LiveSource,
    queries: Mapping[str, str],
    k: int,
    ledger: LiveLedger,
    *,
    repeats: int = 1,
    at_once: int = 1,
    retries: Retries = Retries(),  # noqa: B008 - immutable
    done: Callable[[int], object] | None = None,
) -> LiveCalls:
    """Ask a retriever all queries that the ledger has no answer to, call after call.

    With one call at a time, calls are made in the thread of the caller: connections of some libraries belong to it.

    Args:
        source: retriever, and where its answers have what counts.
        queries: texts by id.
        k: documents to ask for.
        repeats: how often each query is asked; all queries once, then all again.
        at_once: calls at once.
        retries: how often and how patiently a call is made again.
        done: called with the number of answers.

    Raises:
        InputError: a query has no answer, or one that cannot be read; what was answered is in the ledger.
        KeyboardInterrupt: the user interrupted it.
    """
    questions = [LiveQuestion(call, *pair) for call in range(repeats) for pair in queries.items()]
    asker = _Asker(source, k, ledger, at_once, retries)
    open_ones = [each for each in questions if each.key not in ledger.answers]
    resumed = len(questions) - len(open_ones)

    def report(answered: int) -> None:
        if done is not None:
            done(resumed + answered)

    report(0)
    if at_once == 1:
        for place, question in enumerate(open_ones, 1):
            asker.ask(question)
            report(place)
    else:
        side_by_side(asker.ask, open_ones, at_once=at_once, done=report, stop=asker.stopped.set)
    found = [ledger.answers[each.key] for each in questions]
    by_call = [found[place : place + len(queries)] for place in range(0, len(found), max(len(queries), 1))]
    return LiveCalls(by_call, asker.retried, resumed, ledger.began)


class _Asker:
    """Asks one question at a time in each thread."""

    def __init__(self, source: LiveSource, k: int, ledger: LiveLedger, at_once: int, retries: Retries) -> None:
        self.source, self.k, self.ledger = source, k, ledger
        self.throttle = Throttle(at_once, begin=at_once)  # the user says what the engine takes
        self.stopped, self.retried, self.reached = threading.Event(), 0, False
        self.retries = replace(retries, sleep=self._sleep) if at_once > 1 else retries

    def ask(self, question: LiveQuestion) -> None:
        """Ask until there is an answer, and write it down."""
        try:
            answer = self.retries.answer(lambda: self._send(question.text), self._record_failure, reached=self.reached)
        except CallError as failure:
            cure = "" if self.reached else CURES.get(failure.status, "")
            raise self._error(question, failure.reason, cure) from None
        except TruevalError as error:
            raise self._error(question, str(error)) from None
        self.ledger.keep(question, answer)

    def _send(self, text: str) -> LiveAnswer:
        with self.throttle.turn():
            began = time.perf_counter(), self.throttle.now()
            try:
                found = self.source.retriever.answer(text, self.k)
                documents = documents_of(found, self.source.fields)
            except CallError as failure:
                if failure.status == 429 or failure.wait is not None:
                    self.throttle.record_rate_limit(began[1], failure.wait)
                raise
            seconds = time.perf_counter() - began[0]
        self.throttle.record_success()
        self.reached = True
        return LiveAnswer(seconds, documents)

    def _record_failure(self, failure: CallError, wait: float | None) -> None:
        self.retried += wait is not None

    def _sleep(self, seconds: float) -> None:
        if self.stopped.wait(seconds):
            raise CallError(FailureKind.REFUSED, STOPPED)

    def _error(self, question: LiveQuestion, reason: str, cure: str = "") -> InputError:
        name = self.source.retriever.name
        kept = (
            f"{len(self.ledger.answers)} answers are kept in {self.ledger.path}; the same command goes on from there."
        )
        parts = [f"{name}: query {question.query!r} has no answer. {reason.rstrip('.')}.", cure]
        return InputError(" ".join([*filter(None, parts), *([kept] if self.ledger.path else [])]), source=name)
