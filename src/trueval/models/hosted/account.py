"""Accounts: what calls of services cost, before and after, and the limit that they may not exceed."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, NamedTuple

from trueval.errors import InputError, PolicyError

LEDGER: Final = "ledger.jsonl"  # in the cache


class Usage(NamedTuple):
    """What calls use up.

    Attributes:
        tokens: that are billed; None where the service does not say.
        searches: of services that bill a query with up to so many documents; None for others.
    """

    tokens: int | None = None
    searches: float | None = None


class Price(NamedTuple):
    """What a service asks, in any currency.

    Attributes:
        per_million_tokens: None if it is not known.
        per_thousand_searches: None if it is not known, or the service bills tokens.
    """

    per_million_tokens: float | None = None
    per_thousand_searches: float | None = None

    def cost(self, usage: Usage) -> float | None:
        """What usage costs, or None where the price or the usage is not known.

        >>> Price(0.02).cost(Usage(tokens=250_000)), Price().cost(Usage(tokens=1))
        (0.005, None)
        """
        if usage.searches is not None:
            return None if self.per_thousand_searches is None else usage.searches * self.per_thousand_searches / 1e3
        if usage.tokens is None or self.per_million_tokens is None:
            return None
        return usage.tokens * self.per_million_tokens / 1e6

    def __str__(self) -> str:
        """The price in words, or nothing where it is not known."""
        if self.per_thousand_searches is not None:
            return f"{self.per_thousand_searches:g} per thousand searches"
        return "" if self.per_million_tokens is None else f"{self.per_million_tokens:g} per million tokens"


@dataclass(eq=False)
class Account:
    """What is spent on services, over all models that share it.

    Args:
        max_cost: what may be spent, in the currency of the prices; None for no limit.
        ledger: a file that gets one line of JSON for each call that was sent; None keeps none.
        shared: whether what the ledger says was spent counts: by earlier processes, and by others just now.
    """

    max_cost: float | None = None
    ledger: Path | None = None
    shared: bool = False
    spent: float = field(default=0.0, init=False)
    _lock: threading.Lock = field(default_factory=threading.Lock, init=False, repr=False)
    _reserved: float = field(default=0.0, init=False, repr=False)
    _read: int = field(default=0, init=False, repr=False)  # bytes of a shared ledger that `spent` knows

    def __post_init__(self) -> None:
        if self.max_cost is not None and not self.max_cost >= 0:
            raise PolicyError(f"max_cost must be a number of at least 0. Got {self.max_cost!r}.")
        self._catch_up()

    def expect(self, cost: float | None, what: str) -> None:
        """Refuse work whose estimated cost exceeds what is left, before anything of it is sent.

        Args:
            cost: estimated; None if the price is not known.
            what: the work, as an error calls it.

        Raises:
            InputError: it would cost too much, or nobody can say what it costs.
        """
        if self.max_cost is None:
            return
        if cost is None:
            raise InputError(
                f"{what}: max_cost is {self.max_cost:g}, and the price is not known. Give price_per_million_tokens, or "
                "price_per_thousand_searches, in the table of the model. Nothing of this was sent."
            )
        with self._lock:
            self._catch_up()
        if self.spent + cost > self.max_cost:
            raise InputError(
                f"{what} would cost about {cost:.4g} with {self.spent:.4g} spent, which is more than the max_cost of "
                f"{self.max_cost:g}. Nothing of this was sent. Allow more, or take fewer or shorter texts."
            )

    def reserve(self, cost: float | None, what: str) -> None:
        """Set aside what one call is estimated to cost, or refuse the call.

        Args:
            cost: estimated; None if the price is not known.
            what: the work, as an error calls it.

        Raises:
            InputError: with this call more than max_cost would be spent.
        """
        with self._lock:
            self._catch_up()
            if self.max_cost is not None and self.spent + self._reserved + (cost or 0.0) > self.max_cost:
                raise InputError(
                    f"{what}: stopped before the max_cost of {self.max_cost:g} is exceeded, with {self.spent:.4g} "
                    "spent. What was paid for is kept: the same command with a higher max_cost goes on."
                )
            self._reserved += cost or 0.0

    def release(self, reserved: float | None) -> None:
        """Give back what was set aside for a call that was not answered."""
        with self._lock:
            self._reserved = max(self._reserved - (reserved or 0.0), 0.0)

    def charge(self, cost: float | None, entry: Mapping[str, Any], reserved: float | None = None) -> None:
        """Count what a call cost, and write it down.

        Args:
            cost: None if the price is not known.
            entry: what the ledger says of the call beside its cost.
            reserved: what was set aside for it, which this takes the place of in one step: no other call fits between.
        """
        if self.shared:  # the line first: spent is what the lines say
            self.write({**entry, "cost": cost})
        with self._lock:
            self._catch_up()
            self.spent += 0.0 if self.shared else cost or 0.0
            self._reserved = max(self._reserved - (reserved or 0.0), 0.0)
        if not self.shared:
            self.write({**entry, "cost": cost})

    def _catch_up(self) -> None:
        """Read what was added to a shared ledger since the last look.

        Raises:
            InputError: it cannot be read.
        """
        if not self.shared or self.ledger is None or not self.ledger.exists():
            return
        try:
            with self.ledger.open("rb") as file:
                file.seek(self._read)
                new = file.read()
        except OSError as error:
            raise InputError(f"{self.ledger}: cannot be read ({error.strerror}). It says what was spent.") from None
        whole = new[: new.rfind(b"\n") + 1]
        self._read += len(whole)
        self.spent += sum(map(_cost, whole.splitlines()))

    def ready(self) -> None:
        """See that the ledger can be written, before the first call is paid for.

        Raises:
            InputError: it cannot.
        """
        if self.ledger is None:
            return
        try:
            self.ledger.parent.mkdir(parents=True, exist_ok=True)
            self.ledger.open("ab").close()
        except OSError as error:
            raise InputError(
                f"{self.ledger}: cannot be written ({error.strerror}), and every call is written down there. Move it "
                "away, or name another cache. Nothing of this was sent."
            ) from error

    def write(self, entry: Mapping[str, Any]) -> None:
        """Add a line to the ledger; it is on the disk when this returns."""
        if self.ledger is None:
            return
        line = (json.dumps(dict(entry), ensure_ascii=False) + "\n").encode("utf-8", "replace")
        with self._lock:
            self.ledger.parent.mkdir(parents=True, exist_ok=True)
            with self.ledger.open("a+b") as file:
                # A program that was stopped, or a full disk, may have left half a line: it is not to spoil this one.
                if file.seek(0, os.SEEK_END) and file.seek(-1, os.SEEK_END) >= 0 and file.read(1) != b"\n":
                    line = b"\n" + line
                file.write(line)  # one write of a line, so that programs can share it
                file.flush()
                os.fsync(file.fileno())


def _cost(line: bytes) -> float:
    """What a call cost; 0 of half a line, which a program that was stopped left."""
    try:
        cost = json.loads(line)["cost"]
    except (ValueError, KeyError, TypeError):
        return 0.0
    return float(cost) if isinstance(cost, int | float) else 0.0
