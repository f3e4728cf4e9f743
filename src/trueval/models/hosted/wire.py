"""The wire: service calls through their clients, with responses validated before use."""

from __future__ import annotations

import base64
import binascii
import json
import math
import os
import weakref
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from types import ModuleType
from typing import Any, Final, NamedTuple, Protocol
from urllib.parse import urlsplit

import numpy as np
from numpy.typing import NDArray

from trueval.errors import InputError
from trueval.extras import need
from trueval.files.json.quick_json import read_json
from trueval.models.hosted.account import ServiceUsage
from trueval.models.hosted.api_keys import Secret
from trueval.models.hosted.failures import (
    BROKEN,
    CallError,
    FailureKind,
    cut_off,
    failure_of,
    message_of,
    timed_out,
    unreachable,
)
from trueval.models.hosted.response_bounds import ResponseBounds
from trueval.models.hosted.services import SERVICES, RerankShape, is_this_machine
from trueval.version import __version__

PROXIES: Final = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY")  # in upper or lower case
MOST_BILLED: Final = 2**53  # maximum count in any unit; a larger number is invalid


class ServiceResponse(NamedTuple):
    """The response of a service.

    Attributes:
        rows: [text, dimension] vectors or [text, 1] scores, in the order of the texts.
    """

    rows: NDArray[Any]
    usage: ServiceUsage


class UnusableError(Exception):
    """A billed response that is invalid, with the reason in words."""


class Headers(Protocol):
    """Headers of HTTP."""

    def items(self) -> Iterable[tuple[str, str]]:
        """Names and values."""


class Response(Protocol):
    """What is read of a response of HTTP."""

    @property
    def status_code(self) -> int:
        """Status of HTTP."""

    @property
    def text(self) -> str:
        """The decoded body."""

    @property
    def headers(self) -> Headers:
        """Headers, with names in any case."""


def parse_response(response: Response, key: Secret) -> Any:
    """The JSON of a response, with the key redacted.

    Raises:
        CallError: its status is not 2xx, or it is not JSON.
    """
    status, text = int(response.status_code), response.text
    if not 200 <= status < 300:
        headers = {name.lower(): key.redact(value) for name, value in response.headers.items()}
        raise failure_of(status, headers, key.redact(text))
    try:
        return key.redact_json(read_json(text), text)
    except (ValueError, RecursionError) as error:
        # A proxy's page, or a truncated response: a retry may well succeed.
        shown = message_of(key.redact(text))[:80]
        raise CallError(FailureKind.BUSY, f"{BROKEN}: HTTP {status} without JSON: {shown!r}", billed=True) from error


def need_hosted(module: str) -> ModuleType:
    """Import a module of the extra `hosted` late, and return it.

    Raises:
        MissingExtraError: it is not installed.
    """
    return need(module, "Hosted models", "hosted")


@cache
def load_certificates() -> Any:
    """The SSL context, loaded once: that takes a tenth of a second."""
    return need_hosted("httpx2").create_ssl_context()


class Client(ABC):
    """Sends calls to one service.

    Args:
        url: base URL of the service.
        key: API key, which is redacted from everything returned.
        timeout: timeout in seconds from the first byte sent to the last byte received.
    """

    def __init__(self, url: str, key: Secret, timeout: float) -> None:
        self.url, self.key, self.timeout = url, key, timeout
        self.http = need_hosted("httpx2")
        # Redirects are not followed: texts go only to the host that was named before the first call.
        self.options = {"verify": load_certificates(), "timeout": timeout, "follow_redirects": False}
        # No proxy for a server on this machine, since texts that are said to stay here would leave it.
        self.options["trust_env"] = not is_this_machine(url)
        self.bounds = ResponseBounds(self.http)
        self.options["event_hooks"] = self.bounds.hooks

    @property
    def host(self) -> str:
        """The host that receives the texts."""
        return urlsplit(self.url).netloc

    @contextmanager
    def explain_proxy_errors(self) -> Iterator[None]:
        """Refuse an invalid proxy from the environment without printing its URL, which may contain a password.

        Raises:
            InputError: its scheme is not supported, or it is no URL.
        """
        try:
            yield
        except (ImportError, ValueError, self.http.InvalidURL) as error:
            named = [name for name in os.environ if name.upper() in PROXIES and os.environ[name].strip()]
            if not named or not self.options["trust_env"]:
                raise
            cure = "install socksio" if isinstance(error, ImportError) else "correct it"
            raise InputError(
                f"{self.host} would be reached by a proxy of {', '.join(sorted(named))}, and cannot be: "
                f"{cure}, unset it, or name the host in NO_PROXY. Nothing of this was sent."
            ) from error

    def post(self, path: str, body: Mapping[str, object], most: int | None = None) -> Any:
        """Send one call, and return the JSON of its response.

        Args:
            path: path below the base URL.
            most: maximum bytes of the response, if it can need more than `bounds.MOST`.

        Raises:
            CallError: it is not answered.
        """
        self.bounds.begin(self.timeout, most)
        return parse_response(self.send(path, body), self.key)

    @abstractmethod
    def send(self, path: str, body: Mapping[str, object]) -> Any:
        """Send one call once, and return the httpx2 response.

        Raises:
            CallError: none came.
        """

    def connection_failure(self, error: Exception) -> CallError:
        """The failure for a broken connection; what was sent may be billed, unless no connection was made."""
        if isinstance(error.__cause__, CallError):  # an error of our bounds, wrapped by OpenAI's client
            return error.__cause__
        cause = error.__cause__ if isinstance(error.__cause__, self.http.TransportError) else error
        nowhere = isinstance(cause, (self.http.ConnectError, self.http.ConnectTimeout, self.http.PoolTimeout))
        unsent = nowhere or isinstance(cause, (self.http.UnsupportedProtocol, self.http.InvalidURL))
        if isinstance(cause, self.http.TimeoutException):  # which may be transient
            return timed_out(self.host, self.timeout, billed=not unsent)
        said = self.key.redact(" ".join(str(cause).split())) or type(cause).__name__
        if unsent:
            return unreachable(self.host, said)
        return cut_off(self.host, said)


class HttpClient(Client):
    """Plain JSON over HTTP.

    Args:
        url: base URL of the service.
        key: API key, which is redacted from everything returned.
        timeout: timeout in seconds from the first byte sent to the last byte received.
        headers: headers of every call; None for the key as a bearer token.
    """

    def __init__(self, url: str, key: Secret, timeout: float, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(url, key, timeout)
        bearer = {"authorization": f"Bearer {key.value}"} if key.value else {}
        sent = {"user-agent": f"trueval/{__version__}", **(bearer if headers is None else headers)}
        # All connections are kept: who asks for 32 calls at once would else open most of them anew.
        limits = self.http.Limits(max_connections=None, max_keepalive_connections=None)
        with self.explain_proxy_errors():
            self.client = self.http.Client(headers=sent, limits=limits, **self.options)
        weakref.finalize(self, self.client.close)

    def send(self, path: str, body: Mapping[str, object]) -> Any:
        """Post JSON; see Client."""
        return self.request("POST", self.url + path, body)

    def request(self, method: str, url: str, body: Mapping[str, object] | None) -> Any:
        """Send a request once, and return the httpx2 response.

        Args:
            method: of HTTP; "" for POST with a body, else GET.
            url: whole URL.
            body: JSON; None for none.

        Raises:
            CallError: no response came.
        """
        try:
            return self.client.request(method or ("GET" if body is None else "POST"), url, json=body)
        except (self.http.RequestError, self.http.InvalidURL) as error:
            raise self.connection_failure(error) from error


class OpenAIClient(Client):
    """OpenAI's own client, for its service and all compatible ones."""

    def __init__(self, url: str, key: Secret, timeout: float) -> None:
        super().__init__(url, key, timeout)
        self.library = need_hosted("openai")
        with self.explain_proxy_errors():
            connection = self.library.DefaultHttpxClient(**self.options)
        self.client = self.library.OpenAI(
            api_key=key.value or "none",  # the client requires one; servers without keys ignore it
            base_url=url,
            timeout=timeout,
            max_retries=0,  # our retries count, wait and log every attempt
            http_client=connection,
        )
        if urlsplit(url)[:2] != urlsplit(SERVICES["openai"].base_url)[:2]:
            # Headers of the user's OpenAI account, which the client reads from the environment, are not sent to other
            # servers.
            self.client.organization = self.client.project = None
        weakref.finalize(self, self.client.close)

    def send(self, path: str, body: Mapping[str, object]) -> Any:
        """Create embeddings or a chat completion; see Client."""
        try:
            if path == "/chat/completions":
                # The body is JSON already: the client's check of its types takes a seventh of a call's processor time.
                return self.client.post(path, body=dict(body), cast_to=self.http.Response)
            # Raw, because the client itself accepts responses of any length and order.
            return self.client.embeddings.with_raw_response.create(**body).http_response
        except self.library.APIStatusError as error:
            return error.response
        except self.library.APIConnectionError as error:
            raise self.connection_failure(error) from error

    @contextmanager
    def stream(self, body: Mapping[str, object]) -> Iterator[Iterator[Any]]:
        """Send one chat completion with `stream`, and yield its events as they arrive, with the key redacted.

        An event is the JSON behind "data:"; "[DONE]" is the last one and yields None. Other lines are comments.

        Raises:
            CallError: it is not answered, breaks off, or an event is not JSON.
        """
        self.bounds.begin(self.timeout, None, streams=True)
        try:
            with self.client.chat.completions.with_streaming_response.create(**body) as response:
                yield self._events(response.iter_lines())
        except self.library.APIStatusError as error:
            parse_response(error.response, self.key)
            raise
        except (self.library.APIConnectionError, self.http.RequestError) as error:
            raise self.connection_failure(error) from error

    def _events(self, lines: Iterator[str]) -> Iterator[object]:
        for line in lines:
            name, _, data = line.partition(":")
            if name != "data":
                continue
            if data.strip() == "[DONE]":
                yield None
                return
            try:
                yield self.key.redact_json(read_json(data), data)
            except (ValueError, RecursionError) as error:
                shown = self.key.redact(data)[:80]
                raise CallError(FailureKind.BUSY, f"{BROKEN}: an event without JSON: {shown!r}", billed=True) from error


def vectors_of(found: object, count: int, dimension: int | None) -> NDArray[np.float32]:
    """[text, dimension] float32 vectors of an /embeddings response, ordered by index.

    Args:
        found: the JSON.
        count: number of texts sent.
        dimension: requested dimension; None for any.

    Raises:
        UnusableError: rows are missing, doubled, of different lengths, not finite or all zeros.
    """
    rows = _order_rows(_list(found, "data"), count)
    vectors = [_vector(row, place) for place, row in enumerate(rows)]
    lengths = {len(vector) for vector in vectors} | ({dimension} if dimension else set())
    if len(lengths) > 1 or 0 in lengths:
        asked = f" (asked for {dimension})" if dimension else ""
        raise UnusableError(f"vectors of {sorted(lengths)} dimensions{asked}; all must have the same")
    table = np.stack(vectors)
    broken = np.flatnonzero(~np.isfinite(table).all(axis=1))
    if len(broken):
        raise UnusableError(f"{len(broken)} of {count} vectors are not finite, the first at index {broken[0]}")
    empty = np.flatnonzero(~table.any(axis=1))
    if len(empty):  # a zero vector has no direction and would tie with every text at similarity 0
        raise UnusableError(f"{len(empty)} of {count} vectors are all zeros, the first at index {empty[0]}")
    return table


def scores_of(found: object, count: int, shape: RerankShape) -> NDArray[np.float64]:
    """[document, 1] float64 scores of a /rerank response, which lists the best first, reordered by index.

    Args:
        found: the JSON.
        count: number of documents sent.

    Raises:
        UnusableError: scores are missing, doubled or not finite.
    """
    rows = _order_rows(_list(found, shape.results), count)
    lacking = [place for place, row in enumerate(rows) if row.get(shape.score) is None]  # null is NaN in strict JSON
    if lacking:
        raise UnusableError(f"{len(lacking)} of {count} rows have no {shape.score!r}, the first at index {lacking[0]}")
    scores = np.array([[_number(row.get(shape.score), place)] for place, row in enumerate(rows)], dtype=np.float64)
    broken = np.flatnonzero(~np.isfinite(scores[:, 0]))
    if len(broken):
        raise UnusableError(f"{len(broken)} of {count} scores are not finite, the first at index {broken[0]}")
    return scores


def usage_of(found: object) -> ServiceUsage:
    """Billed usage in a response: tokens, or searches (Cohere); 0 counts as missing, since nothing is free."""
    about = found if isinstance(found, Mapping) else {}
    meta, usage = about.get("meta"), about.get("usage")
    units = meta.get("billed_units") if isinstance(meta, Mapping) else None
    searches = units.get("search_units") if isinstance(units, Mapping) else None
    tokens = usage.get("total_tokens", usage.get("prompt_tokens")) if isinstance(usage, Mapping) else None
    searched = count_of(searches)
    return ServiceUsage(
        count_of(tokens) if isinstance(tokens, int) else None, None if searched is None else float(searched)
    )


def count_of(found: Any, least: float = 0.0) -> Any:
    """A billed count; None for values that are not a valid count, such as true.

    Args:
        found: value in the response.
        least: exclusive lower bound: no question has 0 tokens.
    """
    number = isinstance(found, int | float) and not isinstance(found, bool)
    return found if number and least < found < MOST_BILLED else None


def _list(found: object, name: str) -> list[object]:
    rows = found.get(name) if name and isinstance(found, Mapping) else found
    if not isinstance(rows, list):
        where = f"list {name!r}" if name else "list"
        raise UnusableError(f"it has no {where}: {message_of(json.dumps(found))[:80]!r}")
    return rows


def _order_rows(rows: Sequence[Any], count: int) -> list[Mapping[str, object]]:
    """Rows in the order of the texts: services sort them by score, or not at all."""
    placed: list[Mapping[str, object] | None] = [None] * count
    for row in rows:
        index = row.get("index") if isinstance(row, Mapping) else None
        if not isinstance(index, int) or isinstance(index, bool) or not 0 <= index < count:
            raise UnusableError(f"a row with index {index!r}; indexes must be from 0 to {count - 1}")
        if placed[index] is not None:
            raise UnusableError(f"index {index} appears twice")
        placed[index] = row
    missing = [place for place, row in enumerate(placed) if row is None]
    if missing:
        raise UnusableError(f"{count - len(missing)} rows for {count} texts, index {missing[0]} is missing")
    return [row for row in placed if row is not None]


def _vector(row: Mapping[str, object], place: int) -> NDArray[np.float32]:
    given = row.get("embedding")
    try:
        if isinstance(given, str):  # base64 of little-endian float32 on any machine
            return np.frombuffer(base64.b64decode(given, validate=True), dtype="<f4").astype(np.float32)
        if isinstance(given, list):
            numbers = np.array(given)
            if numbers.ndim != 1 or numbers.dtype.kind not in "fi":  # contains null, texts or lists
                numbers = np.array([_number(value, place) for value in given], dtype=np.float64)
            with np.errstate(over="ignore"):  # overflow becomes infinite, which is refused
                return numbers.astype(np.float32)
    except (binascii.Error, ValueError) as error:
        raise UnusableError(f"the vector at index {place} cannot be read ({error})") from error
    raise UnusableError(f"no vector at index {place}")


def _number(value: object, place: int) -> float:
    if value is None:  # NaN in strict JSON
        return float("nan")
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise UnusableError(f"{str(value)[:40]!r} at index {place} is not a number")
    try:
        return float(value)
    except OverflowError:  # an integer of hundreds of digits, refused like a non-finite value
        return math.inf
