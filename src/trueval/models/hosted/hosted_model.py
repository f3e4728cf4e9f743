"""Hosted models: items are sent in calls, and results are yielded as they arrive."""

from __future__ import annotations

import time
import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, Final
from urllib.parse import urlsplit

import numpy as np
from numpy.typing import NDArray

from trueval.collection import text_hash
from trueval.errors import InputError, TruevalWarning
from trueval.models.hosted.account import Account, NoMoneyError, Price, ServiceUsage, sum_costs
from trueval.models.hosted.api_keys import ApiKey
from trueval.models.hosted.call_batches import Call, CallLimits, CallResult, estimate_tokens, most_tokens, spread
from trueval.models.hosted.failures import CallError, FailureKind, cure_of
from trueval.models.hosted.hosted_settings import HostedSettings
from trueval.models.hosted.in_flight import CallingThread, Queue, wait_for_first
from trueval.models.hosted.retries import Retries
from trueval.models.hosted.services import HostedName, base_url_of, key_name
from trueval.models.hosted.wire import Client, HttpClient, OpenAIClient, UnusableError, usage_of
from trueval.models.missing_work import MissingWork, announce

SEARCH_TOKENS: Final = 500  # tokens of query and document billed as one document (docs.cohere.com, pricing)
SHOWN: Final = 3  # maximum number of texts in an error
BLOCK: Final = 20_000  # items per block of planned calls
PATIENCE: Final = 5.0  # seconds up to which a wait is not reported


@dataclass(eq=False, repr=False)
class HostedModel(ABC):
    """A model of a service.

    Args:
        use: settings of the service.
        account: account to charge; shared by the models of one piece of work.
    """

    named: HostedName
    use: HostedSettings
    account: Account
    retries: Retries = field(default_factory=Retries)

    def __post_init__(self) -> None:
        self.name = f"{self.named.service.name}:{self.named.model}"
        self.url = base_url_of(self.named, self.use.base_url)
        self.key = ApiKey(key_name(self.named.service, self.url, self.use.api_key_env))
        self.price = Price(self.use.price_per_million_tokens, self.use.price_per_thousand_searches)
        own = self.limits()
        self.limit = CallLimits(self.use.batch_size or own.texts, self.use.batch_tokens or own.tokens)
        self.batch_size = self.limit.texts
        self.ratio = 1.0  # highest ratio so far of billed to estimated tokens
        self.reached = False
        self._client: Client | None = None

    @property
    @abstractmethod
    def scoring(self) -> str:
        """φ: the mapping from the service's output to a score."""

    @property
    @abstractmethod
    def dtype(self) -> str:
        """The format of the service's output, whatever precision the model runs in."""

    @abstractmethod
    def limits(self) -> CallLimits:
        """Call limits from the service's documentation."""

    @abstractmethod
    def plan(self, part: str, items: Sequence[tuple[int, object]]) -> list[Call]:
        """Split items into calls with their positions."""

    @abstractmethod
    def send(self, call: Call) -> Any:
        """Send one call once, and return the JSON of its response."""

    @abstractmethod
    def rows_of(self, found: object, call: Call) -> NDArray[Any]:
        """[text, any] rows of a response."""

    @property
    def host(self) -> str:
        """The host that receives the texts."""
        return urlsplit(self.url).netloc

    @property
    def client(self) -> Client:
        """The client, created at the first call: cached outputs need neither key nor network."""
        if self._client is None:
            kind = OpenAIClient if self.named.service.name == "openai" else HttpClient
            self._client = kind(self.url, self.key.read(self.name, self.url), self.use.timeout)
        return self._client

    def settings(self) -> dict[str, Any]:
        """Return everything that determines the outputs; excludes batches, prices and keys."""
        service, scoring, dtype = self.named.service.name, self.scoring, self.dtype
        return {"model": self.name, "path": self.url, "recipe": service, "scoring": scoring, "dtype": dtype}

    def answers(self, part: str, items: Sequence[object], called: Sequence[str]) -> Iterator[CallResult]:
        """Send items, and yield results call by call.

        Args:
            part: "queries", "documents" or "pairs".
            items: texts, or pairs of query and document.
            called: name of each item for error messages.

        Yields:
            Indices and rows of the items of each call as soon as it is answered. When a call fails for good, those that
            were in flight are still yielded first.

        Raises:
            InputError: a text is empty, a call is refused, an answer cannot be used, or max_cost would be exceeded.
        """
        if not len(items):
            return
        _refuse_empty(self.name, items, called)
        work = self.estimate_work(part, items)
        self.account.expect(work.cost, f"{len(items)} {part} for {self.name}")
        announce(work, self.url, self.key.variable, self.account)
        _ = self.client  # a missing key or library is reported before threads start
        self.account.ready()
        threads = self.use.concurrency
        with CallingThread() if threads == 1 else ThreadPoolExecutor(threads, "trueval-hosted") as pool:
            yield from self._in_flight(self._plan_blocks(part, items), pool, called)

    def _plan_blocks(self, part: str, items: Sequence[object]) -> Iterator[Call]:
        """The calls of all items, block by block, so that a corpus on disk is not loaded into memory."""
        for start in range(0, len(items), BLOCK):
            places = range(start, min(start + BLOCK, len(items)))
            yield from self.plan(part, [(place, items[place]) for place in places])

    def _in_flight(self, planned: Iterator[Call], pool: Executor, called: Sequence[str]) -> Iterator[CallResult]:
        queue = Queue(planned, self.limit.texts)
        running: dict[Future[NDArray[Any]], Call] = {}
        failed: InputError | KeyboardInterrupt | None = None
        while True:
            while failed is None and len(running) < self.use.concurrency and (call := queue.take()) is not None:
                running[pool.submit(self._ask, call)] = call
            if not running:
                break
            done, stop = wait_for_first(running, stopped=isinstance(failed, KeyboardInterrupt))
            failed = stop or failed
            for future in done:
                asked = running.pop(future)
                try:
                    yield spread(asked, future.result())
                except (CallError, InputError) as error:
                    failed = failed or self._final(error, asked, queue, called)
        if failed is not None:
            raise failed

    def _final(
        self, error: CallError | InputError, asked: Call, queue: Queue, called: Sequence[str]
    ) -> InputError | None:
        """The error that ends the work; None where the call is retried in halves."""
        if len(asked.texts) > 1 and isinstance(error, NoMoneyError):
            queue.halve(asked)  # the remaining budget may suffice for fewer texts
            return None
        if isinstance(error, InputError):
            return error
        if len(asked.texts) > 1 and error.kind is FailureKind.TOO_LARGE:
            self.limit = self.limit._replace(texts=queue.halve(asked))
            return None
        return self._request_error(error, asked, called)

    def _ask(self, call: Call) -> NDArray[Any]:
        """Send a call with retries."""

        def warn(failure: CallError, wait: float | None) -> None:
            if wait is not None and wait >= PATIENCE:
                told = f"{self.host}: {failure.reason}. Sent again in {wait:.0f} seconds."
                warnings.warn(told, TruevalWarning, stacklevel=2)

        found = self.retries.answer(lambda: self._once(call), warn, reached=self.reached)
        self.reached = True
        try:
            return self.rows_of(found, call)
        except UnusableError as error:
            raise InputError(
                f"{self.name} at {self.host} gave an answer that cannot be used: {error}. Is base_url the right "
                "service, and the model of the right kind?"
            ) from None

    def _once(self, call: Call) -> Any:
        """Send a call once, and record its cost."""
        began = time.perf_counter()
        with self.account.call(self.price.cost(self._usage(call, most_tokens)), self._entry(call), self.name) as sent:
            found = self.send(call)
            usage = usage_of(found)
            if usage.tokens is not None:
                self.ratio = max(self.ratio, usage.tokens / call.tokens)
            # If the service does not report billed usage, or not in the unit of its price, the call counts at its
            # maximum cost.
            sent.record_response(
                self.price.cost(usage), {**usage._asdict(), "seconds": round(time.perf_counter() - began, 3)}
            )
        return found

    def _entry(self, call: Call) -> dict[str, Any]:
        """The fields of a call's log entry known before it is sent."""
        return {
            "service": self.named.service.name,
            "host": self.host,
            "model": self.named.model,
            "part": call.part,
            "texts": len(call.texts),
            "estimated_tokens": call.tokens,
            "batch": text_hash((call.query, *call.texts)),
        }

    def _usage(self, call: Call, size: Callable[[str], int] = estimate_tokens) -> ServiceUsage:
        """Billable usage of a call, estimated or as an upper bound."""
        documents = self.named.service.search
        if not documents:
            return ServiceUsage(tokens=max(call.total(size), int(call.tokens * self.ratio) + 1))
        query = size(call.query)
        parts = sum(-(-(query + size(text)) // SEARCH_TOKENS) for text in call.texts)
        return ServiceUsage(searches=float(-(-parts // documents)))

    def estimate_work(self, part: str, items: Sequence[object]) -> MissingWork:
        """Estimate the calls and cost of items before anything is sent."""
        number = tokens = billed = 0
        searches = 0.0
        most: list[float | None] = []
        for call in self._plan_blocks(part, items):
            usage = self._usage(call)
            number, tokens = number + 1, tokens + call.tokens
            billed, searches = billed + (usage.tokens or 0), searches + (usage.searches or 0.0)
            most.append(self.price.cost(self._usage(call, most_tokens)))
        cost = self.price.cost(ServiceUsage(billed, searches if self.named.service.search else None))
        return MissingWork(part, self.name, len(items), number, tokens, cost=cost, at_most=sum_costs(most))

    def answer(self, part: str, items: Sequence[object], called: Sequence[str]) -> NDArray[Any]:
        """Send the items of one query in sequence, without a notice: the caller has announced the total cost.

        Args:
            items: as in answers; at least one.

        Returns:
            [item, any], in the order of the items.

        Raises:
            InputError: as in answers; no call is cut into smaller ones.
        """
        rows: list[Any] = [None] * len(items)
        for call in self.plan(part, list(enumerate(items))):
            try:
                found = spread(call, self._ask(call))
            except CallError as error:
                raise self._request_error(error, call, called) from None
            for place, row in zip(found.places, found.rows, strict=True):
                rows[place] = row
        return np.stack(rows)

    def _request_error(self, failure: CallError, call: Call, called: Sequence[str]) -> InputError:
        reason = failure.reason
        if failure.kind is FailureKind.TOO_LARGE:
            return InputError(
                f"{self.name} at {self.host}: {called[call.groups[0][0]]} is too large for one call, about "
                f"{call.tokens} tokens ({reason}). Cut documents into chunks, or leave it out."
            )
        return InputError(f"{self.name} at {self.host}: {reason.rstrip('.')}. {cure_of(failure, self.key.variable)}")


def _refuse_empty(name: str, items: Sequence[Any], called: Sequence[str]) -> None:
    """Refuse blank texts: services reject the whole call for one of them, or bill it."""
    empty = [
        place
        for place, item in enumerate(items)
        if not all(text.strip() for text in ([item] if isinstance(item, str) else item))
    ]
    if empty:
        shown = ", ".join(called[place] for place in empty[:SHOWN])
        raise InputError(
            f"{name}: {len(empty)} of {len(items)} texts are empty, such as {shown}. Nothing of "
            "this was sent. Give them a text, or leave them out."
        )
