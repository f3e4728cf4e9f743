"""An engine behind a URL: a request for each query, made of a template."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Final, NamedTuple
from urllib.parse import SplitResult, quote, urlsplit

from trueval.models.hosted.api_keys import ApiKey
from trueval.models.hosted.services import is_this_machine
from trueval.models.hosted.wire import HttpClient, Response, load_certificates, parse_response
from trueval.retrieval.live.direct_http import DirectHttp
from trueval.version import __version__

AUTHORIZATION = "authorization"
PLACES: Final = ("{text}", "{k}")
_PLACES: Final = re.compile(r"(\{text\}|\{k\})")
RESERVED: Final = "%/?:@!$&'()*+,;=[]~|^"  # characters of a URL that stay as they are


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
    body: Mapping[str, object] | None = None
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
            MissingExtraError: httpx2, which knows certificates and proxies, is needed and not installed.
        """
        return EngineClient(self, timeout)


class EngineClient:
    """A client that asks an engine.

    Args:
        engine: how it is asked.
        timeout: seconds from the first byte sent to the last one received.

    Raises:
        InputError: as `EngineUrl.connect` does.
    """

    def __init__(self, engine: EngineUrl, timeout: float) -> None:
        self.engine, bare = engine, engine.url.partition("{")[0]
        self.key = ApiKey(engine.key_variable).read(engine.name, bare, "url")
        bearer = engine.key_header.lower() == AUTHORIZATION
        sent = {engine.key_header: f"Bearer {self.key.value}" if bearer else self.key.value} if self.key.value else {}
        headers = {name.lower(): value for name, value in {**engine.headers, **sent}.items()}
        parts = urlsplit(engine.url)
        if _is_direct(parts):
            agent = {"user-agent": f"trueval/{__version__}"}
            certificates = load_certificates() if parts.scheme == "https" else None
            http = DirectHttp(parts.hostname or "", parts.port, {**agent, **headers}, timeout, certificates)
            self.url = _target(parts)
            self.request: Callable[[str, str, Any], Response] = http.request
        else:
            self.url = engine.url
            self.request = partial(_request, HttpClient(bare, self.key, timeout, headers))
        self.method = engine.method.upper() or ("GET" if engine.body is None else "POST")

    def answer(self, text: str, k: int) -> Any:
        """The JSON that the engine returns for a query.

        Raises:
            CallError: there is none.
        """
        url = self.url.replace("{text}", quote(text, safe="", errors="replace")).replace("{k}", str(k))
        return parse_response(self.request(self.method, url, _fill_template(self.engine.body, text, k)), self.key)


def _request(client: HttpClient, method: str, url: str, body: Any) -> Response:
    client.bounds.begin(client.timeout, None)
    return client.request(method, url, body)  # type: ignore[no-any-return]


def _is_direct(parts: SplitResult) -> bool:
    """Whether a server is asked without httpx2: no proxy of the environment is on the way, and its name is plain."""
    if not parts.netloc.isascii() or not {"@", "{"}.isdisjoint(parts.netloc):
        return False
    if is_this_machine(parts.geturl()):  # texts that are said to stay here go through no proxy
        return True
    from urllib.request import getproxies  # late: it loads much that a server of this machine does not need

    return {parts.scheme, "all"}.isdisjoint(getproxies())


def _target(parts: SplitResult) -> str:
    """Path and query of a template, of which all but the places to fill in is quoted where URLs need it.

    >>> _target(urlsplit("http://localhost/a b?filter={x}&q={text}#part"))
    '/a%20b?filter=%7Bx%7D&q={text}'
    """
    whole = f"{parts.path or '/'}{f'?{parts.query}' if parts.query else ''}"
    return "".join(part if part in PLACES else quote(part, safe=RESERVED) for part in _PLACES.split(whole))


def _fill_template(template: object, text: str, k: int) -> Any:
    """A body with the query and the number in their places."""
    if isinstance(template, Mapping):
        return {name: _fill_template(value, text, k) for name, value in template.items()}
    if isinstance(template, list):
        return [_fill_template(value, text, k) for value in template]
    if template == "{k}":
        return k
    return template.replace("{text}", text) if isinstance(template, str) else template
