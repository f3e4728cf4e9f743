"""The audit page as an ASGI application: static files, and three API calls that require a token.

    POST /api/start    a rater starts: scales, descriptions of grades, progress
    POST /api/items    the next items of the rater, several at once so that the next is shown without delay
    POST /api/events   a grade, a skip, or an undo

Responses contain only what raters see: texts, scales and counts. Grades of the judge, strata, ranks, scores and
document names never leave the server. Imported when a server starts: it needs the extra "web".
"""

from __future__ import annotations

import asyncio
import hashlib
import itertools
import json
import logging
import time
from collections.abc import Callable, Mapping
from importlib.resources import files
from typing import TYPE_CHECKING, Any, Final

from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response

from trueval.golden.audit.server.request_guard import (
    CALLS,
    HEADERS,
    LONGEST_BODY,
    PAGES,
    Refusal,
    RequestHead,
    allowed_method,
    refusal,
)
from trueval.golden.audit.server.requests import MalformedError, request_of
from trueval.golden.audit.store.events import Event, RefusedError
from trueval.golden.audit.store.rubric import anchors_of

if TYPE_CHECKING:
    from starlette.types import Receive, Scope, Send

    from trueval.golden.audit.store.audit_items import AuditItem
    from trueval.golden.audit.store.audit_store import AuditStore

# Reason of the store to refuse an event → HTTP status. Types and forms are checked before: "event" is a reused id.
STATUSES: Final = {"item": 404, "shown": 403, "answered": 409, "event": 409, "undo": 409}
log = logging.getLogger(__name__)


class App:
    """The page of an audit, as an ASGI application.

    Args:
        hosts: accepted values of the Host header.
        patience: timeout in seconds for the body of a request.
    """

    def __init__(self, store: AuditStore, token: str, hosts: frozenset[bytes], patience: float) -> None:
        self.store, self.token, self.hosts, self.patience = store, token, hosts, patience
        # Key under which a browser stores labels: it does not change with the token or when the sample grows, so that
        # no label is lost.
        about = json.dumps([store.sample.design, store.sample.seed, store.sample.about.get("qrels")])
        self.audit = hashlib.sha256(about.encode()).hexdigest()[:32]
        # Responses may arrive out of order; a page believes the one with the highest number. Numbers start at the clock
        # in microseconds, so that those of the next server are higher.
        self.moments = itertools.count(time.time_ns() // 1000)
        folder = files(__package__) / "pages"
        self.pages = {path: (folder / name).read_bytes() for path, (name, _) in PAGES.items()}
        shows = f'<body data-shows="{store.sample.shows}" '.encode()
        self.pages[b"/"] = self.pages[b"/"].replace(b"<body ", shows, 1)
        self.calls: Mapping[str, Callable[[dict[str, Any]], dict[str, Any]]] = {
            "start": self._start,
            "items": self._items,
            "events": self._event,
        }

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            return
        head = RequestHead(scope["method"], scope["raw_path"], scope["query_string"], tuple(scope["headers"]))
        answer = await self._answer(head, Request(scope, receive))
        if answer is not None:
            answer.headers.update(HEADERS)
            await answer(scope, receive, send)

    async def _answer(self, head: RequestHead, request: Request) -> Response | None:
        refused = refusal(head, self.token, self.hosts)
        if refused is not None:
            return _refusal_response(refused, head)
        if head.path in PAGES:
            return Response(self.pages[head.path], media_type=PAGES[head.path][1])
        try:
            async with asyncio.timeout(self.patience):
                body = await _body(request)
            call = CALLS[head.path]
            return _json(self.calls[call](request_of(call, body)))
        except MalformedError as error:
            return _refusal_response(error.refusal, head)
        except RefusedError as error:
            return _refusal_response(Refusal(STATUSES.get(error.reason, 422), str(error)), head)
        except TimeoutError:
            return _refusal_response(Refusal(408, "The request took too long."), head)
        except ClientDisconnect:
            return None
        except Exception:  # any exception: details go to the terminal, not to the rater
            log.exception("A request of the audit's page failed.")
            return _refusal_response(Refusal(503, "The server could not write this down. Its terminal says why."), head)

    def _start(self, asked: dict[str, Any]) -> dict[str, object]:
        scales = self.store.sample.scales
        return {
            "audit": self.audit,
            "scales": {task: list(scale) for task, scale in scales.items()},
            "anchors": {task: anchors_of(task, scale, self.store.sample.shows) for task, scale in scales.items()},
            "progress": self._progress(asked["rater"]),
        }

    def _items(self, asked: dict[str, Any]) -> dict[str, object]:
        shown = self.store.next_items(asked["rater"], asked["want"])
        return {"items": [_item_to_dict(each) for each in shown], "progress": self._progress(asked["rater"])}

    def _event(self, asked: dict[str, Any]) -> dict[str, object]:
        rater, event = asked["rater"], asked["id"]
        if asked["kind"] == "undo":
            self.store.undo(rater, event, asked["of"])
        else:
            about = (asked.get("value"), asked.get("note", ""), asked.get("seconds"))
            self.store.record(Event(event, rater, asked["item"], asked["kind"], *about))
        return {"progress": self._progress(rater)}

    def _progress(self, rater: str) -> dict[str, int]:
        every = self.store.progress()
        return {
            "mine": sum(each.raters.get(rater, 0) for each in every),
            "all": sum(each.given for each in every),
            "items": sum(each.wanted for each in every),
            "at": next(self.moments),
        }


def _item_to_dict(shown: AuditItem) -> dict[str, object]:
    """The fields of an item that a rater may see, listed explicitly so that new fields stay hidden by default."""
    return {
        "id": shown.item,
        "task": shown.task,
        "query": shown.question,
        "texts": list(shown.texts),
        "scale": [shown.low, shown.high],
    }


async def _body(request: Request) -> bytes:
    """The request body, read up to the size limit."""
    body = bytearray()
    async for part in request.stream():
        body += part
        if len(body) > LONGEST_BODY:
            raise MalformedError(Refusal(413, f"A request must have at most {LONGEST_BODY:,} bytes."))
    return bytes(body)


def _json(value: Mapping[str, object], status: int = 200) -> Response:
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")
    return Response(text, status, media_type="application/json")


def _refusal_response(refused: Refusal, head: RequestHead) -> Response:
    answer = _json({"error": refused.words}, refused.status)
    if refused.status == 405:
        answer.headers["Allow"] = allowed_method(head) or ""
    if refused.status in (408, 413):
        answer.headers["Connection"] = "close"  # the rest of the body must not be read as the next request
    return answer
