"""A language model as a judge, through OpenAI's client and any compatible server.

Answers are requested with a JSON schema; where the server refuses that, as a JSON object; where it refuses that too, as
text. In every form they are parsed strictly (responses.py). The model is told once what is invalid; what is still
invalid then is unjudged. Calls are counted, retried and logged by us, so the client's own retries are off.
"""

from __future__ import annotations

import json
import math
import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple
from urllib.parse import urlsplit

from trueval.errors import InputError, PolicyError
from trueval.golden.judge.judge import ANSWERING, NUGGETS, WRITING, JudgeAnswer, JudgeUsage, Question, Task
from trueval.golden.judge.prompt import Prompt, messages, read_prompt, sendable
from trueval.golden.judge.responses import ParsedResponse, merge_responses, parse, schema
from trueval.models.hosted.account import Account
from trueval.models.hosted.api_keys import ApiKey
from trueval.models.hosted.call_batches import estimate_tokens
from trueval.models.hosted.failures import BROKEN, KEPT, CallError, FailureKind
from trueval.models.hosted.retries import Retries
from trueval.models.hosted.services import SERVICES, check_url, key_name
from trueval.models.hosted.throttle import LongPauseError, Throttle
from trueval.models.hosted.wire import OpenAIClient, count_of

OPENAI: Final = SERVICES["openai"].base_url
FORMS: Final = ("json_schema", "json_object", "text")
# Estimated tokens of an answer: per passage, and for the rest.
TOKENS_OUT: Final = {
    "grade": (60, 20),
    "order": (4, 20),
    "rewrite": (0, 80),
    ANSWERING: (0, 120),
    NUGGETS: (40, 20),
    **dict.fromkeys(WRITING, (0, 80)),
}
AROUND: Final = 256  # tokens that a server may put around the messages of a call
PROBLEM: Final = 100  # upper bound of the bytes of a validation error
CAPS: Final = ("max_tokens", "max_completion_tokens")  # parameters that limit an answer
TOO_MANY: Final = 429
SERVER: Final = 500  # this status and above: the fault of the server, not of the call
UNSENT: Final = "the question to repair it could not be sent"
# Words by which servers reject an unsupported response format.
_FORM: Final = re.compile(r"response_format|json_schema|json_object|structured output|guided", re.IGNORECASE)
# Errors that concern one question alone; the others continue.
_CONTENT: Final = re.compile(r"content[ _](filter|policy|management)|safety|flagged|prohibited", re.IGNORECASE)
# A question is not at fault where the error names a parameter, unless it also mentions the context length.
_LENGTH: Final = re.compile(r"context", re.IGNORECASE)
PARAMETERS: Final = ("temperature", "top_p", "seed", "max_completion_tokens", "reasoning_effort", "max_tokens")


class TokenPrices(NamedTuple):
    """Price per million tokens, in any currency; None if unknown."""

    per_million_in: float | None = None
    per_million_out: float | None = None

    def cost(self, tokens_in: int | None, tokens_out: int | None) -> float | None:
        """Cost of tokens; None where a price or a count is unknown.

        >>> TokenPrices(0.25, 2.0).cost(1_000_000, 100_000)
        0.45
        """
        if None in (self.per_million_in, self.per_million_out, tokens_in, tokens_out):
            return None
        return (
            (tokens_in or 0) * (self.per_million_in or 0.0) + (tokens_out or 0) * (self.per_million_out or 0.0)
        ) / 1e6


class Reply(NamedTuple):
    """The response of one call.

    Attributes:
        text: response text; "" if the model refused or was cut off before writing any.
        problem: reason why there is no text; "" if there is.
        model: name of the model as reported by the server.
        tokens_in: billed tokens of the prompt; None if not reported.
        cost: billed cost, or its upper bound if usage is not reported.
        refused: whether the server rejected the question before passing it to a model.
    """

    text: str
    problem: str = ""
    model: str = ""
    tokens_in: int | None = None
    tokens_out: int | None = None
    cost: float | None = None
    refused: bool = False


@dataclass(frozen=True, kw_only=True)
class JudgeSettings:
    """Settings of a model judge.

    Attributes:
        model: model name on the server.
        base_url: base URL of the server.
        api_key_env: environment variable of the key, "" for a server without keys; None for OPENAI_API_KEY at OpenAI,
            and for no key elsewhere.
        parameters: parameters of a call, such as temperature and seed.
        timeout: timeout of an answer in seconds.
        concurrency: maximum number of concurrent calls.
    """

    model: str
    base_url: str = OPENAI
    api_key_env: str | None = None
    parameters: Mapping[str, Any] = field(default_factory=dict)
    timeout: float = 120.0
    concurrency: int = 8
    prices: TokenPrices = field(default_factory=TokenPrices)

    def __post_init__(self) -> None:
        wrong = next((name for name in self.parameters if name not in PARAMETERS), None)
        if wrong is not None:
            raise PolicyError(f"{wrong!r} is not a parameter of a judge. There are: {', '.join(PARAMETERS)}.")
        if not (0 < self.timeout < math.inf and self.concurrency >= 1):
            raise PolicyError("timeout of a judge must be above 0, and concurrency at least 1.")

    @property
    def most_out(self) -> int | None:
        """Maximum number of output tokens; None without a limit."""
        return max((int(self.parameters[name]) for name in CAPS if name in self.parameters), default=None)


@dataclass(eq=False, repr=False)
class ModelJudge:
    """A language model that grades and orders passages.

    Args:
        use: settings of the calls.
        account: spending so far and its limit; its ledger gets a line for each call that was sent.
    """

    use: JudgeSettings
    prompts: Mapping[Task, Prompt]
    account: Account = field(default_factory=Account)
    retries: Retries = field(default_factory=Retries)

    def __post_init__(self) -> None:
        self.name = self.use.model
        self.url = check_url(self.use.base_url, self.name)
        self.key = ApiKey(key_name(SERVICES["openai"], self.url, self.use.api_key_env))
        self.throttle = Throttle(self.use.concurrency, patience=self.retries.total)
        self.repair = read_prompt("repair", "repair")
        self.reached = False
        self.longest = 0  # tokens of an answer, as billed so far
        self._form = 0
        self._client: OpenAIClient | None = None

    @property
    def host(self) -> str:
        """The host that receives the texts."""
        return urlsplit(self.url).netloc

    def identity(self, task: Task) -> Mapping[str, object]:
        """Everything that determines its answers; excludes prices, keys and concurrency."""
        prompts = {"prompt": self.prompts[task].name, "sha256": [self.prompts[task].sha256, self.repair.sha256]}
        return {"model": self.use.model, "base_url": self.url, "parameters": dict(self.use.parameters), **prompts}

    def estimate(self, question: Question) -> JudgeUsage:
        """Estimated usage of a question, rather high than low."""
        texts = messages(self.prompts[question.task], question)
        each, own = TOKENS_OUT[question.task]
        tokens = sum(estimate_tokens(text["content"]) for text in texts), own + each * len(question.passages)
        return JudgeUsage(*tokens, self.use.prices.cost(*tokens))

    def ask(self, question: Question) -> JudgeAnswer:
        """Ask a question, and retry once where the answer is invalid.

        Raises:
            InputError: the key is missing, the server refuses or cannot be reached, or max_cost would be exceeded.
        """
        prompt, began = self.prompts[question.task], time.perf_counter()
        said = messages(prompt, question)
        replies = [self._reply(said, question)]
        parsed = _parse_reply(replies[0], question, prompt)
        # A server that rejects the question would reject it again.
        if parsed.problems and not replies[0].refused:
            parsed = self._repair(parsed, replies, said, question)
        return _answer(parsed, replies, time.perf_counter() - began)

    def _repair(
        self, parsed: ParsedResponse, replies: list[Reply], said: Sequence[Mapping[str, str]], question: Question
    ) -> ParsedResponse:
        """Send the validation errors to the model once, and merge its second reply with the others."""
        told = self.repair.text.replace("{problems}", "; ".join(parsed.problems) + ".")
        again = [{"role": "assistant", "content": replies[0].text}, {"role": "user", "content": told}]
        try:
            replies.append(self._reply([*said, *again], question))
        except InputError:
            # The valid labels are paid for and kept; the next question reports what is wrong.
            if not any(parsed.labels):
                raise
            return parsed._replace(problems=(*parsed.problems, UNSENT))
        second = _parse_reply(replies[1], question, self.prompts[question.task])
        return merge_responses(parsed, second)._replace(problems=(*parsed.problems, *second.problems))

    def _reply(self, said: Sequence[Mapping[str, str]], question: Question) -> Reply:
        """Send the messages until there is an answer, in the best response format that the server supports."""
        client = self._connect()
        while True:
            form = self._form
            try:
                return self._send(client, self._body(said, question, FORMS[form]), question)
            except CallError as failure:
                if failure.status in (400, 422) and form < len(FORMS) - 1 and _FORM.search(failure.reason):
                    self._form = max(self._form, form + 1)
                    continue
                if self._question_alone(failure):
                    return Reply("", f"the server refused it ({failure.reason})", refused=True)
                raise self._request_error(failure) from None

    def _question_alone(self, failure: CallError) -> bool:
        """Whether the error concerns this question alone; an unsupported parameter concerns all."""
        said = failure.reason
        if any(name in said for name in self.use.parameters) and not _LENGTH.search(said):
            return False
        return failure.kind is FailureKind.TOO_LARGE or (failure.status == 400 and _CONTENT.search(said) is not None)

    def _body(self, said: Sequence[Mapping[str, str]], question: Question, form: str) -> dict[str, object]:
        body: dict[str, Any] = {"model": self.use.model, "messages": list(said), **self.use.parameters}
        shape = schema(question, self.prompts[question.task])
        if form == "json_schema":
            about = {"name": question.task, "strict": True, "schema": shape}
            return {**body, "response_format": {"type": form, "json_schema": about}}
        # Without a schema the model is told the form in words, and servers want the word JSON in a message.
        told = {"role": "system", "content": f"Answer in JSON of this schema, and nothing else: {shape}"}
        body["messages"] = [*said[:1], told, *said[1:]]
        return body if form == "text" else {**body, "response_format": {"type": form}}

    def _send(self, client: OpenAIClient, body: Mapping[str, object], question: Question) -> Reply:
        reply = self.retries.answer(lambda: self._once(client, body, question), lambda *_: None, reached=self.reached)
        self.reached = True
        return reply

    def most(self, question: Question) -> JudgeUsage:
        """Upper bound of the billed usage of a question, including one repair call.

        Calls that are cut off and sent again are not included.

        Returns:
            None if unlimited: without max_tokens or max_completion_tokens the answer length is unknown.
        """
        if self.use.most_out is None:
            return JudgeUsage()
        said = messages(self.prompts[question.task], question)
        first = max(_most_in(self._body(said, question, form)) for form in FORMS)
        # The second call contains the first answer and its errors: one line per passage, and one more.
        second = first + self.use.most_out + len(self.repair.text.encode()) + PROBLEM * (len(question.passages) + 1)
        tokens = first + second, 2 * self.use.most_out
        return JudgeUsage(*tokens, self.use.prices.cost(*tokens))

    def _most(self, body: Mapping[str, object], question: Question) -> JudgeUsage:
        """Upper bound of the billed usage of a call.

        No token is shorter than a byte, and a server that honors max_tokens bills no more than that, including
        reasoning tokens. Without such a limit it is estimated: the longest answer so far, and at least our estimate.
        """
        each, own = TOKENS_OUT[question.task]
        back = max(self.use.most_out or own + each * len(question.passages), self.longest)
        sent = _most_in(body)
        return JudgeUsage(sent, back, self.use.prices.cost(sent, back))

    def _once(self, client: OpenAIClient, body: Mapping[str, object], question: Question) -> Reply:
        """Send once, within the rate limit and the budget."""
        entry = {"host": self.host, "model": self.use.model, "part": question.task, "texts": len(question.passages)}
        try:
            # Inside the slot: a waiting call is not in flight, and reserves no money.
            with self.throttle.turn():
                most = self._most(body, question)
                with self.account.call(most.cost, entry, self.name) as sent:
                    reply = self._post(client, body)
                    cost = self.use.prices.cost(reply.tokens_in, reply.tokens_out)
                    sent.record_response(cost, {"tokens_in": reply.tokens_in, "tokens_out": reply.tokens_out})
        except LongPauseError as pause:
            reason = f"it takes no calls for {pause.seconds:.0f} seconds, and this one was not sent"
            raise self._request_error(CallError(FailureKind.REFUSED, reason, TOO_MANY)) from None
        self.throttle.record_success()
        self.longest = max(self.longest, reply.tokens_out or 0)
        return reply._replace(cost=most.cost if cost is None else cost)  # an upper bound if not reported

    def _post(self, client: OpenAIClient, body: Mapping[str, object]) -> Reply:
        began = self.throttle.now()
        try:
            return _reply_of(client.post("/chat/completions", body))
        except CallError as failure:
            self._note_rate_limit(failure, began)
            raise

    def _note_rate_limit(self, failure: CallError, began: float) -> None:
        """Slow down where the server says that it has too many calls."""
        if failure.status == TOO_MANY and failure.kind is FailureKind.BUSY:
            self.throttle.record_rate_limit(began, failure.wait)

    def _connect(self) -> OpenAIClient:
        """The client, created at the first call: answers in the ledger need neither key nor network."""
        if self._client is None:
            self._client = OpenAIClient(self.url, self.key.read(self.name, self.url), self.use.timeout)
        return self._client

    def check_key(self) -> None:
        """Refuse to start without the API key; nothing is sent.

        Raises:
            InputError: the environment variable holds none, or it would go over plain http.
        """
        self.key.read(self.name, self.url)

    def _request_error(self, failure: CallError) -> InputError:
        cure = "Correct model, base_url, key or parameters of the judge"
        if failure.status == TOO_MANY:
            cure = "Wait until it takes calls again, or see what your account there allows"
        elif failure.status is None or failure.status >= SERVER:
            cure = "Is the server running, and is base_url right? If so, see its log, or try again later"
        return InputError(f"{self.name} at {self.host}: {failure.reason.rstrip('.')}. {cure}. {KEPT}")


def _most_in(body: Mapping[str, Any]) -> int:
    """Upper bound of the input tokens of a prompt: its bytes, and the server's overhead."""
    form = json.dumps(body.get("response_format", ""), ensure_ascii=False)
    texts = [form, *(message["content"] for message in body["messages"])]
    return sum(len(text.encode("utf-8", "replace")) for text in texts) + AROUND


def _reply_of(found: Any) -> Reply:
    """The reply in a completion.

    Raises:
        CallError: it is not one; the server may well give one the next time.
    """
    try:
        choice = found["choices"][0]
        message = choice["message"]
        text, refusal = message.get("content"), message.get("refusal")
        usage, model = found.get("usage") or {}, found.get("model")
        tokens = [usage.get(name) for name in ("prompt_tokens", "completion_tokens")]
    except (KeyError, IndexError, TypeError, AttributeError) as error:
        raise CallError(
            FailureKind.BUSY, f"{BROKEN}: a completion without its message ({error!r})", billed=True
        ) from error
    problem = ""
    if refusal:
        problem = "the model refused"
    elif choice.get("finish_reason") == "content_filter":
        problem = "a filter took the answer away"
    elif choice.get("finish_reason") == "length":
        problem = "the answer was cut off"
    # Output tokens may be 0, input tokens may not.
    asked, given = (
        count_of(each, least) if isinstance(each, int) else None for each, least in zip(tokens, (0, -1), strict=True)
    )
    written = text if isinstance(text, str) else ""
    return Reply(sendable(written or str(refusal or "")), problem, sendable(str(model or "")), asked, given)


def _parse_reply(reply: Reply, question: Question, prompt: Prompt) -> ParsedResponse:
    """The valid part of a reply; nothing of a refused or truncated one."""
    if reply.problem:
        nothing = (None,) * len(question.passages) if question.task == "grade" else ()
        return ParsedResponse(nothing, problems=(reply.problem,))
    return parse(reply.text, question, prompt)


def _answer(parsed: ParsedResponse, replies: Sequence[Reply], seconds: float) -> JudgeAnswer:
    usage = JudgeUsage(*(_sum([getattr(reply, name) for reply in replies]) for name in JudgeUsage._fields))
    raw = tuple(reply.text for reply in replies)
    return JudgeAnswer(
        parsed.labels, parsed.order, parsed.text, raw, parsed.problems, replies[-1].model, usage, round(seconds, 3)
    )


def _sum(values: Sequence[object]) -> Any:
    """Sum of the known values; None where none is known."""
    known = [value for value in values if value is not None]
    return sum(known) if known else None
