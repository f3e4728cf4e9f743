"""An engine behind a URL: a request for each query, made of a template."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple
from urllib.parse import quote, urlsplit

from trueval.models.hosted.api_keys import ApiKey
from trueval.models.hosted.wire import HttpClient

AUTHORIZATION = "authorization"


class EngineUrl(NamedTuple):
    """How an engine is asked over HTTP.

    Attributes:
        url: with {text} and {k}, which are quoted as URLs need it.
        body: JSON to send, in which the text "{k}" is the number and {text} in any text the query; None for none.
        method: of HTTP; "" for POST with a body, else GET.
        headers: further ones.
        key_variable: environment variable of the key; "" for none.
        key_header: header that the key goes to.
    """

    url: str
    body: Mapping[str, Any] | None = None
    method: str = ""
    headers: Mapping[str, str] = {}
    key_variable: str = ""
    key_header: str = AUTHORIZATION

    @property
    def name(self) -> str:
        """Host and path, without queries and passwords, which may hold a key."""
        parts = urlsplit(self.url)
        return f"{parts.hostname}{f':{parts.port}' if parts.port else ''}{parts.path}"

    def connect(self, timeout: float) -> EngineClient:
        """The client, which connects at its first call.

        Args:
            timeout: seconds that an answer may take.

        Raises:
            InputError: the key is not set, or would go over plain HTTP.
            MissingExtraError: the library of HTTP is not installed.
        """
        return EngineClient(self, timeout)


class EngineClient(HttpClient):
    """A client that asks an engine.

    Args:
        engine: how it is asked.
        timeout: seconds from the first byte sent to the last one received.
    """

    def __init__(self, engine: EngineUrl, timeout: float) -> None:
        self.engine, bare = engine, engine.url.partition("{")[0]
        key = ApiKey(engine.key_variable).read(engine.name, bare, "url")
        bearer = engine.key_header.lower() == AUTHORIZATION
        sent = {engine.key_header: f"Bearer {key.value}" if bearer else key.value} if key.value else {}
        super().__init__(bare, key, timeout, {**engine.headers, **sent})

    def answer(self, text: str, k: int) -> Any:
        """The JSON that the engine returns for a query.

        Raises:
            CallError: there is none.
        """
        url = self.engine.url.replace("{text}", quote(text, safe="")).replace("{k}", str(k))
        self.bounds.begin(self.timeout, None)
        return self.parse_response(self.request(self.engine.method, url, _fill_template(self.engine.body, text, k)))


def _fill_template(template: object, text: str, k: int) -> Any:
    """A body with the query and the number in their places."""
    if isinstance(template, Mapping):
        return {name: _fill_template(value, text, k) for name, value in template.items()}
    if isinstance(template, list):
        return [_fill_template(value, text, k) for value in template]
    if template == "{k}":
        return k
    return template.replace("{text}", text) if isinstance(template, str) else template
