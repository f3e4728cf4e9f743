"""A language model behind a server that answers questions, streamed: every token has its moment.

It is a `ModelJudge` with the task "answer": its client, retries, budget, throttle and errors are the judge's. An answer
is text, so nothing is repaired. A stream that breaks off is sent again; where no attempt was whole, the answer is not
known, with the reason, and is never a wrong one. Where streams of several questions in a row break before their first
token, the server is taken to be broken, and nothing more is asked.
"""

from __future__ import annotations

import hashlib
import json
import re
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count
from typing import Any, Final

from trueval.answers.generation.generator_judge import answer_of, generation_of, question_to
from trueval.golden.judge.judge import JudgeAnswer, JudgeUsage, Question, Task
from trueval.golden.judge.model_judge import TOKENS_OUT, ModelJudge, Reply
from trueval.golden.judge.prompt import Prompt, messages, sendable
from trueval.models.generator import Generation
from trueval.models.hosted.call_batches import estimate_tokens
from trueval.models.hosted.failures import BROKEN, CallError, FailureKind
from trueval.models.hosted.wire import OpenAIClient, count_of

SILENT: Final = 5  # questions in a row without a token, at which the server is at fault, and not they
STOPPED: Final = "the stream stopped before the answer was whole"
# Words by which servers refuse to count the tokens of a stream.
_COUNTS: Final = re.compile(r"stream_options|include_usage", re.IGNORECASE)
_PROBLEMS: Final = {"content_filter": "a filter took the answer away", "length": "the answer was cut off"}


@dataclass(frozen=True)
class AnswerPrompts:
    """The prompts of a generator.

    Attributes:
        given: with passages.
        closed: without any.
    """

    given: Prompt
    closed: Prompt

    def messages(self, question: str, passages: Sequence[str]) -> list[dict[str, str]]:
        """The chat messages of a question.

        The marker around texts is a hash of them, so that the same question is the same prompt; none of them holds it.
        """
        about = json.dumps([question, *passages])
        numbers = count()
        asked = question_to(question, tuple(passages), 0)
        return messages(self.given if passages else self.closed, asked, lambda: _digest(about, next(numbers)))

    @property
    def hashes(self) -> list[str]:
        """Hashes of the prompts."""
        return [self.given.sha256, self.closed.sha256]


def _digest(about: str, number: int) -> str:
    return hashlib.sha256(f"{number} {about}".encode("utf-8", "replace")).hexdigest()[:16]


@dataclass(eq=False, repr=False)
class ModelGenerator(ModelJudge):
    """A language model that answers questions.

    Args:
        answering: its prompts.
        clock: in seconds, of the moments of tokens.
    """

    answering: AnswerPrompts = field(kw_only=True)
    clock: Callable[[], float] = field(default=time.perf_counter, kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        # In each thread: whether the last attempt was answered, its moments and seconds, and broken attempts so far.
        self._stream = threading.local()
        self._silent = 0  # questions in a row without a token
        self._lock = threading.Lock()
        self._counts = True  # whether the server counts the tokens of a stream

    def identity(self, task: Task = "answer") -> Mapping[str, object]:
        """Everything that determines its answers; excludes prices, keys and concurrency."""
        about = {"prompt": self.answering.given.name, "sha256": self.answering.hashes}
        return {"model": self.use.model, "base_url": self.url, "parameters": dict(self.use.parameters), **about}

    def generate(self, question: str, passages: Sequence[str], sample: int = 0) -> Generation:
        """Answer a question; see Generator."""
        return generation_of(self.ask(question_to(question, tuple(passages), sample)))

    def estimate(self, question: Question) -> JudgeUsage:
        """Estimated usage of a question, rather high than low."""
        said = self.answering.messages(question.query, question.passages)
        tokens = sum(estimate_tokens(text["content"]) for text in said), sum(TOKENS_OUT["answer"])
        return JudgeUsage(*tokens, self.use.prices.cost(*tokens))

    def most(self, question: Question) -> JudgeUsage:
        """Upper bound of the billed usage of a question; calls that are cut and sent again are not included."""
        if self.use.most_out is None:
            return JudgeUsage()
        body = self._body(self.answering.messages(question.query, question.passages), question, "text")
        return self._most(body, question)

    def ask(self, question: Question) -> JudgeAnswer:
        """Answer a question.

        Raises:
            InputError: the key is missing, the server refuses or cannot be reached, or max_cost would be exceeded.
        """
        reply = self._reply(self.answering.messages(question.query, question.passages), question)
        moments, seconds = self._stream.moments, self._stream.seconds
        text = "" if reply.problem else reply.text
        usage = (reply.tokens_in, reply.tokens_out, reply.cost)
        return answer_of(Generation(text, reply.problem, moments, *usage, reply.model, seconds))

    def _reply(self, said: Sequence[Mapping[str, str]], question: Question) -> Reply:
        client = self._connect()
        self._stream.broken = 0
        while True:
            counts = self._counts
            self._stream.moments, self._stream.seconds, self._stream.opened = (), 0.0, False
            try:
                reply = self._send(client, self._body(said, question, "text"), question)
                self._silent = 0
                return reply
            except CallError as failure:
                if counts and failure.status in (400, 422) and _COUNTS.search(failure.reason):
                    self._counts = False
                    continue
                if self._question_alone(failure):
                    return Reply("", f"the server refused it ({failure.reason})", refused=True)
                if self._breaks_alone():
                    most = self._most(self._body(said, question, "text"), question).cost
                    bound = None if most is None else most * self._stream.broken  # each attempt may be billed
                    return Reply("", f"{STOPPED} ({failure.reason})", cost=bound)
                raise self._request_error(failure) from None

    def _breaks_alone(self) -> bool:
        """Whether the server answers, and it is the answer to this question that breaks each time."""
        with self._lock:
            if self._stream.moments:
                self._silent = 0
                return True
            self._silent += self._stream.opened
            return bool(self._stream.opened) and self._silent < SILENT

    def _body(self, said: Sequence[Mapping[str, str]], question: Question, form: str) -> dict[str, object]:
        parameters = dict(self.use.parameters)
        if isinstance(parameters.get("seed"), int):  # repetitions differ, and each can be had again
            parameters["seed"] += question.sample
        counts = {"stream_options": {"include_usage": True}} if self._counts else {}
        return {"model": self.use.model, "messages": list(said), "stream": True, **counts, **parameters}

    def _post(self, client: OpenAIClient, body: Mapping[str, object]) -> Reply:
        began = self.throttle.now()
        try:
            return self._read(client, body)
        except CallError as failure:
            self._stream.broken += failure.billed
            self._note_rate_limit(failure, began)
            raise

    def _read(self, client: OpenAIClient, body: Mapping[str, object]) -> Reply:
        """Read a stream to its end."""
        texts, moments = list[str](), list[float]()
        finish, model, refusal = "", "", ""
        usage: Mapping[str, Any] = {}
        sent = self.clock()
        self._stream.moments, self._stream.opened = (), False
        try:
            with client.stream(body) as events:
                self._stream.opened = True
                for event in events:
                    now = self.clock() - sent
                    if event is None:
                        finish = finish or "done"
                        break
                    found = _event(event)
                    if found.text:
                        moments.append(now)
                        texts.append(found.text)
                    finish, model = found.finish or finish, found.model or model
                    refusal += found.refusal
                    usage = found.usage or usage
        finally:
            self._stream.moments, self._stream.seconds = tuple(moments), self.clock() - sent
        if not finish:
            raise CallError(FailureKind.BUSY, f"cut: {self.host} ended its stream before the answer was", billed=True)
        asked, given = (usage.get(name) for name in ("prompt_tokens", "completion_tokens"))
        tokens_in = count_of(asked, 0) if isinstance(asked, int) else None  # 0 tokens may come out, but not go in
        tokens_out = count_of(given, -1) if isinstance(given, int) else None
        problem = "the model refused" if refusal else _PROBLEMS.get(finish, "")
        return Reply(sendable("".join(texts)), problem, sendable(model), tokens_in, tokens_out)


@dataclass(frozen=True)
class _Event:
    text: str
    finish: str
    model: str
    refusal: str
    usage: Mapping[str, Any]


def _event(event: Any) -> _Event:
    """What an event says.

    Raises:
        CallError: it is an error, or no event of a completion.
    """
    try:
        if event.get("error"):
            said = json.dumps(event["error"])[:200]
            raise CallError(FailureKind.BUSY, f"{BROKEN}: the stream says {said}", billed=True)
        choices = event.get("choices") or [{}]
        delta = choices[0].get("delta") or {}
        written = delta.get("content")
        return _Event(
            written if isinstance(written, str) else "",
            str(choices[0].get("finish_reason") or ""),
            str(event.get("model") or ""),
            str(delta.get("refusal") or ""),
            event.get("usage") or {},
        )
    except (KeyError, IndexError, TypeError, AttributeError) as error:
        said = f"{BROKEN}: an event of the stream is none of a completion ({error!r})"
        raise CallError(FailureKind.BUSY, said, billed=True) from error
