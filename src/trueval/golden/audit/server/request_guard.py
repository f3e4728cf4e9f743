"""The request guard of the audit's page: which requests are refused from their headers, before the body is read.

Threat model: another site in the rater's browser, which can make it send requests here (forged forms, names that
resolve to this machine), and another program on this machine, which can send anything. Neither knows the token.
"""

from __future__ import annotations

import hmac
from collections.abc import Iterable
from typing import Final, NamedTuple

LONGEST_BODY: Final = 32_768  # bytes: a note of 2,000 escaped characters, and some room for the rest
PAGES: Final = {
    b"/": ("index.html", "text/html; charset=utf-8"),
    b"/page.css": ("page.css", "text/css; charset=utf-8"),
    b"/icon.svg": ("icon.svg", "image/svg+xml"),
    **{
        f"/{name}.js".encode(): (f"{name}.js", "text/javascript; charset=utf-8")
        for name in ("page", "view", "kept", "keys", "rubric", "talk")
    },
}
CALLS: Final = {b"/api/start": "start", b"/api/items": "items", b"/api/events": "events"}
# Only our own files, from this origin; no text can run as code, not even one inserted into the page by a script.
POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; "
    "form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"
)
HEADERS: Final = {
    "Content-Security-Policy": POLICY,
    "X-Frame-Options": "DENY",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cross-Origin-Embedder-Policy": "require-corp",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=(), clipboard-read=()",
}


class RequestHead(NamedTuple):
    """Method, path and headers of a request.

    Attributes:
        path: raw path, not decoded.
        query: part after the question mark.
        headers: headers with lower-case names.
    """

    method: str
    path: bytes
    query: bytes
    headers: tuple[tuple[bytes, bytes], ...]

    def all(self, name: bytes) -> list[bytes]:
        """All values of a header."""
        return [value for each, value in self.headers if each == name]

    def one(self, name: bytes) -> bytes | None:
        """The value of a header that occurs exactly once; else None."""
        values = self.all(name)
        return values[0] if len(values) == 1 else None


class Refusal(NamedTuple):
    """The response to a refused request; it reveals nothing of the request or of this machine.

    Attributes:
        words: one-line message.
    """

    status: int
    words: str


def hosts_of(host: str, port: int) -> frozenset[bytes]:
    """The Host values that are accepted: names that no other site can claim.

    Args:
        host: address that the server listens on.

    >>> sorted(hosts_of("127.0.0.1", 8001))
    [b'127.0.0.1:8001', b'localhost:8001']
    """
    return frozenset(f"{name}:{port}".encode() for name in (f"[{host}]" if ":" in host else host, "localhost"))


def refusal(head: RequestHead, token: str, hosts: Iterable[bytes]) -> Refusal | None:
    """The reason to refuse a request; None to accept it.

    Args:
        hosts: accepted Host values.
    """
    host = head.one(b"host")
    if host is None or host.lower() not in hosts:
        # DNS rebinding: if another site's name resolves to this machine, its scripts become same-origin.
        return Refusal(421, "This server does not go by that name. Open the address that trueval golden audit prints.")
    known = head.path in PAGES or head.path in CALLS
    if not known or head.query:
        return Refusal(404, "There is nothing here.")
    if head.method != _method(head):
        return Refusal(405, f"Only {_method(head)} is answered here.")
    if not _is_from_here(head, host):
        return Refusal(403, "Another site asked for this. Open the address that trueval golden audit prints.")
    return _check_call(head, token) if head.path in CALLS else None


def allowed_method(head: RequestHead) -> str | None:
    """The method that a path accepts; None where the path does not exist."""
    return _method(head) if head.path in PAGES or head.path in CALLS else None


def _method(head: RequestHead) -> str:
    return "POST" if head.path in CALLS else "GET"


def _is_from_here(head: RequestHead, host: bytes) -> bool:
    """Whether the request comes from our own page or a followed link, by the fetch metadata that browsers send."""
    if any(origin.lower() != b"http://" + host.lower() for origin in head.all(b"origin")):
        return False
    sites = head.all(b"sec-fetch-site")
    if all(site in (b"same-origin", b"none") for site in sites):
        return True
    opens = head.one(b"sec-fetch-mode") == b"navigate" and head.one(b"sec-fetch-dest") == b"document"
    return head.path == b"/" and opens


def _check_call(head: RequestHead, token: str) -> Refusal | None:
    given = head.one(b"authorization") or b""
    if not hmac.compare_digest(given, b"Bearer " + token.encode()):
        return Refusal(401, "The token is not that of this audit. Open the address that trueval golden audit prints.")
    kind = (head.one(b"content-type") or b"").lower().replace(b" ", b"")
    if kind not in (b"application/json", b"application/json;charset=utf-8") or head.all(b"content-encoding"):
        return Refusal(415, "A request must be JSON, not compressed.")
    length = head.one(b"content-length")
    if length is not None and (not length.isdigit() or len(length) > 9 or int(length) > LONGEST_BODY):
        return Refusal(413, f"A request must have at most {LONGEST_BODY:,} bytes.")
    return None
