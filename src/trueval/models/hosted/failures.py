"""Failures of service calls: whether to retry, and how to fix them."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from enum import Enum
from typing import Final

# 408, 409 and 425 may be retried; 429 is a rate limit, and some overloaded services return 529.
BUSY: Final = frozenset({408, 409, 425, 429, 529})
# From a gateway that lost its backend, which may have answered and billed. Services bill no other errors.
GATEWAY: Final = frozenset({502, 504, *range(520, 528)})
TOO_LARGE: Final = 413
INVALID: Final = frozenset({400, 422})  # statuses whose reason is only in the message
BROKEN: Final = "broken answer"  # prefix of the reason for an unreadable response
SHOWN: Final = 300  # maximum characters of a service's message
# This need not be exact: a call taken for too large is halved until one text is left, and then the service's message is
# shown.
_LARGE: Final = re.compile(
    r"too (large|long|many|big)|batch size|maximum|max[ _](allowed|batch|tokens|length)|exceed|at most|context length",
    re.IGNORECASE,
)
# Narrow, since messages of transient rate limits also mention payment ("add a payment method to raise your limits").
_NO_MONEY: Final = re.compile(
    r"insufficient[_ ](quota|funds|balance|credit)|exceeded your current quota|billing[_ ](hard[_ ]limit|not[_ ]active)"
    r"|out of credit",
    re.IGNORECASE,
)


KEPT: Final = "What was answered is kept, and the same command goes on from there."
# The remedy by HTTP status; None where no response came.
CURES: Final = {
    None: f"Is the server running, and is base_url right? {KEPT}",
    400: "Correct the settings of the model, or its name.",
    401: "The key {key} is not accepted. Set the right one.",
    402: "Nothing is left to pay with. " + KEPT,
    403: "The key {key} may not use this model. Ask for access, or use another key or model.",
    404: "There is no such model or path. Check the model's name and base_url.",
    422: "Correct the settings of the model, or its name.",
}


class FailureKind(Enum):
    """How a failure can be handled."""

    BUSY = "busy"  # a retry may succeed
    LOST = "lost"  # as if busy; but if the service was never reached, the URL is probably wrong
    TOO_LARGE = "too large"  # halves may succeed
    REFUSED = "refused"  # needs action by the user


class CallError(Exception):
    """A failed call; never shown to users, who get an InputError made from it.

    Args:
        kind: how it can be handled.
        reason: one line.
        status: HTTP status; None without a response.
        wait: seconds that the service asks to wait; None if it does not say.
        billed: whether the call may be billed although there is no usable response.
    """

    def __init__(
        self,
        kind: FailureKind,
        reason: str,
        status: int | None = None,
        wait: float | None = None,
        *,
        billed: bool = False,
    ) -> None:
        super().__init__(reason)
        self.kind, self.reason, self.status, self.wait, self.billed = kind, reason, status, wait, billed

    @property
    def log_name(self) -> str:
        """Its name in a log."""
        return str(self.status) if self.status is not None else self.reason.partition(":")[0]


def failure_of(status: int, headers: Mapping[str, str], body: str) -> CallError:
    """The failure for an HTTP response.

    Args:
        status: HTTP status, not 2xx.
        headers: headers of the response; names in lower case, or a case-insensitive mapping.
        body: body of the response; the API key is removed from it here.

    >>> failure_of(429, {"retry-after": "2"}, "slow down").wait
    2.0
    >>> failure_of(400, {}, '{"error": {"message": "maximum context length is 8192 tokens"}}').kind
    <FailureKind.TOO_LARGE: 'too large'>
    """
    said = message_of(body)
    if 300 <= status < 400:
        said = f"moved to {_cut(headers.get('location', 'another place'))}; base_url must name the place itself"
    if status == TOO_LARGE or (status in INVALID and _LARGE.search(said)):
        kind = FailureKind.TOO_LARGE
    elif (status in BUSY or status >= 500) and not (status == 429 and _NO_MONEY.search(body)):
        kind = FailureKind.BUSY
    else:
        kind = FailureKind.REFUSED
    reason = f"HTTP {status}: {said}" if said else f"HTTP {status}"
    return CallError(kind, reason, status, read_retry_after(headers), billed=status in GATEWAY)


def timed_out(host: str, seconds: float, *, billed: bool) -> CallError:
    """The failure of a call that took too long, which may pass."""
    return CallError(FailureKind.BUSY, f"timeout: {host} did not answer within {seconds:g} seconds", billed=billed)


def unreachable(host: str, said: str) -> CallError:
    """The failure of a call that was not sent."""
    return CallError(FailureKind.LOST, f"no connection: {host} cannot be reached ({said})")


def cut_off(host: str, said: str) -> CallError:
    """The failure of a call whose connection broke; what was sent may be billed."""
    return CallError(FailureKind.BUSY, f"cut: {host} broke off before its answer was whole ({said})", billed=True)


def too_large(most: int) -> CallError:
    """The failure for a response of more than so many bytes."""
    return CallError(
        FailureKind.REFUSED, f"{BROKEN}: it has more than {most / 2**20:.4g} MiB, and was not read", billed=True
    )


def cure_of(failure: CallError, variable: str) -> str:
    """How the user can fix it, in one or two sentences.

    Args:
        variable: environment variable of the key; "" if none was sent.

    >>> print(cure_of(CallError(FailureKind.REFUSED, "HTTP 401", 401), "CO_API_KEY"))
    The key in CO_API_KEY is not accepted. Set the right one.
    """
    key = f"in {variable}" if variable else "(none was sent; name its variable in api_key_env)"
    return CURES.get(failure.status, KEPT).format(key=key)


def message_of(body: str) -> str:
    """The service's error message, in one line.

    >>> message_of('{"error": {"message": "no such model"}}'), message_of('{"detail": "bad"}'), message_of("<p> <b>")
    ('no such model', 'bad', '<p> <b>')
    """
    try:
        found = json.loads(body)
    except (ValueError, RecursionError):
        found = body
    while isinstance(found, Mapping):
        known = (found.get(name) for name in ("error", "message", "detail", "error_message", "object"))
        found = next((each for each in known if each), "")
    text = found if isinstance(found, str) else json.dumps(found)
    return _cut(" ".join(text.split()))


def _cut(line: str) -> str:
    return line if len(line) <= SHOWN else f"{line[:SHOWN]} ..."


def read_retry_after(headers: Mapping[str, str], now: datetime | None = None) -> float | None:
    """Seconds of Retry-After: a number, or an HTTP date (RFC 9110, 10.2.3); None where absent.

    Args:
        now: current time; if None, the Date of the response, whatever the local clock says, or else the local clock.

    >>> now = datetime(2015, 10, 21, 7, 27, 30, tzinfo=UTC)
    >>> read_retry_after({"retry-after": "Wed, 21 Oct 2015 07:28:00 GMT"}, now)
    30.0
    """
    asked = headers.get("retry-after")
    if asked is None:
        return None
    try:
        seconds = float(asked)
    except ValueError:
        until = _date(asked)
        if until is None:
            return None
        seconds = (until - (now or _date(headers.get("date", "")) or datetime.now(UTC))).total_seconds()
    return max(seconds, 0.0) if seconds == seconds and seconds < float("inf") else None


def _date(written: str) -> datetime | None:
    """Parse an HTTP date; without a zone it is UTC, as all HTTP dates are."""
    try:
        found = parsedate_to_datetime(written)
    except (ValueError, IndexError, OverflowError):
        return None
    return found if found.tzinfo else found.replace(tzinfo=UTC)
