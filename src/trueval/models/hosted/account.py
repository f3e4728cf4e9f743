"""Accounts: the cost of service calls, estimated before and counted after, and the spending limit."""

from __future__ import annotations

import math
import secrets
import threading
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from decimal import ROUND_CEILING, Context
from pathlib import Path
from typing import Final, NamedTuple

from trueval.errors import InputError, PolicyError
from trueval.models.hosted.call_log import SENT, CallLog, amount
from trueval.models.hosted.call_owners import OWNER, is_alive
from trueval.models.hosted.failures import CallError

LEDGER: Final = "ledger.jsonl"  # file name in the cache
POLL: Final = 0.2  # seconds between checks of what other programs spent
LONGEST: Final = timedelta(minutes=15)  # seconds for which a call of another machine counts as in flight
UNSENT: Final = "not sent"


class ServiceUsage(NamedTuple):
    """Billable usage of calls.

    Attributes:
        tokens: billed tokens; None if the service does not report them.
        searches: searches, for services that bill a query with up to a number of documents as one; None for others.
    """

    tokens: int | None = None
    searches: float | None = None


class Price(NamedTuple):
    """The price of a service, in any currency.

    Attributes:
        per_million_tokens: None if unknown.
        per_thousand_searches: None if unknown, or if the service bills tokens.
    """

    per_million_tokens: float | None = None
    per_thousand_searches: float | None = None

    def cost(self, usage: ServiceUsage) -> float | None:
        """Cost of usage; None where price or usage is unknown.

        >>> Price(0.02).cost(ServiceUsage(tokens=250_000)), Price().cost(ServiceUsage(tokens=1))
        (0.005, None)
        """
        if usage.searches is not None:
            return None if self.per_thousand_searches is None else usage.searches * self.per_thousand_searches / 1e3
        if usage.tokens is None or self.per_million_tokens is None:
            return None
        return usage.tokens * self.per_million_tokens / 1e6


def round_up_amount(amount: float) -> str:
    """An amount rounded up to four digits, so that a stated maximum is never exceeded.

    >>> round_up_amount(0.013001), round_up_amount(0.1 + 0.2), round_up_amount(120_001.0), round_up_amount(0.0)
    ('0.01301', '0.3', '120100', '0')
    """
    # Rounded to twelve digits first, to drop the rounding error of a sum of floats.
    digits = Context(prec=4, rounding=ROUND_CEILING).create_decimal(f"{amount:.12g}")
    return f"{digits.normalize():f}"


def sum_costs(costs: Iterable[float | None]) -> float | None:
    """The sum of costs; None where one is unknown.

    >>> sum_costs([0.5, 0.25]), sum_costs([0.5, None]), sum_costs([])
    (0.75, None, 0.0)
    """
    every = list(costs)
    known = [each for each in every if each is not None]
    return math.fsum(known) if len(known) == len(every) else None


class NoMoneyError(InputError):
    """A call that was not sent, since it could exceed max_cost."""


class OpenCall(NamedTuple):
    """A call whose cost is not recorded yet.

    Attributes:
        owner: process that sent it.
        time: time of sending, in ISO 8601.
    """

    most: float
    owner: str
    time: str

    @property
    def is_under_way(self) -> bool:
        """Whether its response may still arrive."""
        try:
            since = datetime.now(UTC) - datetime.fromisoformat(self.time)
        except (ValueError, TypeError):
            return False
        return is_alive(self.owner) and since < LONGEST


@dataclass(eq=False)
class SentCall:
    """A call in flight, and its outcome.

    Attributes:
        most: maximum cost; None if the price is unknown.
        cost: actual cost; None if unknown.
        about: further entries of its last log line.
    """

    most: float | None
    status: str = "cut"
    cost: float | None = None
    about: Mapping[str, object] = field(default_factory=dict)

    def record_response(self, cost: float | None, about: Mapping[str, object]) -> None:
        """Record the cost of the response.

        Args:
            cost: actual cost; if None, the call counts at its maximum cost.
            about: further entries of its log line, such as tokens.
        """
        self.status, self.cost, self.about = "200", cost, about

    def record_failure(self, failure: CallError) -> None:
        """Record a failure; one that cannot be billed costs nothing."""
        free = not failure.billed and self.most is not None
        self.status, self.cost = failure.log_name, 0.0 if free else None


@dataclass(eq=False)
class Account:
    """The spending on services, shared by several models.

    The limit applies to the sum of billed costs, maximum costs of calls in flight, and maximum costs of calls with
    unknown bill. A call waits while those in flight leave no room for it.

    Args:
        max_cost: spending limit in the currency of the prices; None for no limit.
        ledger: file that gets a line of JSON before each call is sent and one after its response; None for no file.
        shared: whether spending in the ledger by earlier or concurrent processes counts.
        within: an enclosing account with its own limit that counts these calls too; None for none.
    """

    max_cost: float | None = None
    ledger: Path | None = None
    shared: bool = False
    within: Account | None = None
    _changed: threading.Condition = field(default_factory=threading.Condition, init=False, repr=False)
    _billed: float = field(default=0.0, init=False, repr=False)
    _open: dict[str, OpenCall] = field(default_factory=dict, init=False, repr=False)
    _own: set[str] = field(default_factory=set, init=False, repr=False)  # those of them that belong to this account
    _cut: dict[str, float] = field(default_factory=dict, init=False, repr=False)  # calls at their maximum cost

    def __post_init__(self) -> None:
        if self.max_cost is not None and not self.max_cost >= 0:
            raise PolicyError(f"max_cost must be a number of at least 0. Got {self.max_cost!r}.")
        self._log = CallLog(self.ledger)
        self._catch_up()

    @property
    def limit(self) -> float | None:
        """The smaller of its limit and that of the enclosing account; None for no limit."""
        outer = None if self.within is None else self.within.limit
        return min((each for each in (self.max_cost, outer) if each is not None), default=None)

    @property
    def spent(self) -> float:
        """Billed cost, plus the maximum cost of calls with unknown bill; excludes calls in flight."""
        with self._changed:
            return self._billed + self._at_most()

    @property
    def at_most(self) -> float:
        """The part of `spent` that is the maximum cost of calls with unknown bill."""
        with self._changed:
            return self._at_most()

    def _at_most(self) -> float:
        return math.fsum((*self._cut.values(), *(call.most for name, call in self._open.items() if not self._is(name))))

    def _is(self, name: str) -> bool:
        """Whether an open call is in flight."""
        return name in self._own or self._open[name].is_under_way

    def expect(self, cost: float | None, what: str) -> None:
        """Refuse work whose estimated cost exceeds the remaining budget, before anything is sent.

        Args:
            cost: estimated cost; None if the price is unknown.
            what: name of the work, for errors.

        Raises:
            InputError: it would cost too much, or its cost is unknown.
        """
        if self.within is not None:
            self.within.expect(cost, what)
        if self.max_cost is None:
            return
        if cost is None:
            raise InputError(
                f"{what}: max_cost is {self.max_cost:g}, and the price is not known. Give price_per_million_tokens, or "
                "price_per_thousand_searches, in the table of the model. Nothing of this was sent."
            )
        with self._changed:
            self._catch_up()
        if self.spent + cost > self.max_cost:
            raise InputError(
                f"{what} would cost about {cost:.4g} with {self.spent:.4g} spent, which is more than the max_cost of "
                f"{self.max_cost:g}. Nothing of this was sent. Allow more, or take fewer or shorter texts."
            )

    @contextmanager
    def call(self, most: float | None, entry: Mapping[str, object], what: str) -> Iterator[SentCall]:
        """Account for one call: reserve its maximum cost before, record its actual cost after.

        A line is logged before the block and another after it. A CallError raised in the block counts as it says; after
        any other error, or without `SentCall.record_response`, the call counts at its maximum cost.

        Args:
            most: maximum cost of the call; None if the price is unknown.
            entry: fields of its log line.
            what: name of the work, for errors.

        Raises:
            InputError: with this call more than max_cost could be spent, or the log cannot be written.
        """
        name, sent = secrets.token_hex(8), SentCall(most)
        self._begin(name, most, entry, what)
        try:
            if self.within is None:
                yield sent
            else:
                with self.within.call(most, entry, what) as outer:
                    yield sent
                    outer.record_response(sent.cost, {})
        except CallError as failure:
            sent.record_failure(failure)
            raise
        except NoMoneyError:  # from the enclosing account: nothing was sent
            sent.status, sent.cost = UNSENT, 0.0
            raise
        finally:
            at_most = most if sent.cost is None else None
            self._end(name, {**entry, "status": sent.status, **sent.about, "cost": sent.cost, "at_most": at_most})

    def _begin(self, name: str, most: float | None, entry: Mapping[str, object], what: str) -> None:
        with self._changed:
            while not self._is_set_aside(name, most, entry):
                if not any(map(self._is, self._open)):
                    raise self._no_money(most, what)
                self._changed.wait(POLL)

    def _is_set_aside(self, name: str, most: float | None, entry: Mapping[str, object]) -> bool:
        """Reserve a call's maximum cost and log it, if the call may be sent now."""
        self._catch_up()
        if not self._fits(most):
            return False
        self._own.add(name)
        line = {**entry, "status": SENT, "owner": OWNER, "cost": None, "at_most": most}
        if self._write(name, line, most, sync=False):
            return True
        self._end(name, {**entry, "status": UNSENT, "cost": 0.0, "at_most": None})
        return False

    def _end(self, name: str, line: Mapping[str, object]) -> None:
        with self._changed:
            self._own.discard(name)
            self._write(name, line, None, sync=True)
            self._changed.notify_all()

    def _write(self, name: str, line: Mapping[str, object], most: float | None, *, sync: bool) -> bool:
        """Write and count a line; returns whether the call fits into the budget left by all earlier lines."""
        line = {"call": name, "time": datetime.now(UTC).isoformat(timespec="milliseconds"), **line}
        self._log.write(line, sync=sync)
        if self.shared and self.ledger is not None:
            return self._catch_up(name, most)  # another program may have written a line before this one
        self._count(line)
        return True

    def _fits(self, most: float | None) -> bool:
        used = self._billed + math.fsum((*self._cut.values(), *(call.most for call in self._open.values())))
        return self.max_cost is None or used + (most or 0.0) <= self.max_cost

    def _no_money(self, most: float | None, what: str) -> NoMoneyError:
        cut = (
            f" (up to {round_up_amount(self._at_most())} of it for calls whose bill is not known)"
            if self._at_most()
            else ""
        )
        return NoMoneyError(
            f"{what}: stopped before the max_cost of {self.max_cost:g} is exceeded, with {self.spent:.4g} spent{cut}; "
            f"the next call may cost up to {round_up_amount(most or 0.0)}. What was paid for is kept: the same "
            "command with "
            "a higher max_cost goes on."
        )

    def _catch_up(self, name: str = "", most: float | None = None) -> bool:
        """Count lines added to a shared log since the last read; returns whether a call fits before its own line."""
        fits = True
        for line in self._log.new_lines() if self.shared else []:
            if line.get("call") == name:
                fits = self._fits(most)
            self._count(line)
        return fits

    def _count(self, line: Mapping[str, object]) -> None:
        """Count a line, replacing earlier lines of the same call."""
        name, status = str(line.get("call") or ""), line.get("status")
        if name and status == SENT:
            self._open[name] = OpenCall(amount(line), str(line.get("owner")), str(line.get("time")))
            return
        self._open.pop(name, None)
        self._cut.pop(name, None)
        if name and line.get("cost") is None and amount(line):
            self._cut[name] = amount(line)
        else:
            self._billed += amount(line)

    def ready(self) -> None:
        """Check that the log is writable, before the first paid call.

        Raises:
            InputError: it cannot.
        """
        self._log.ready()
