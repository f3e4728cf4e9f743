"""What a cache holds, in a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Final

from rich.console import Group
from rich.text import Text

from trueval.files.source.memory_estimate import format_size
from trueval.report.number_texts import count_phrase
from trueval.report.terminal import grid
from trueval.retrieval.cache import CacheEntry

HEAD: Final = ("kind", "name", "of", "items", "size", "age", "state")


def table(entries: Sequence[CacheEntry], now: datetime) -> Group:
    """The entries, the largest of each kind first.

    Args:
        entries: entries of a cache.
        now: from when their age is.
    """
    rows = grid(HEAD, "lLLrrrl", spare=("items",))
    for entry in sorted(entries, key=lambda entry: (entry.kind, -entry.bytes, entry.name)):
        items = "" if entry.items is None else f"{entry.items:,}"
        age = _age((now - entry.used).total_seconds())
        rows.add_row(entry.kind, entry.name, entry.about, items, format_size(entry.bytes), age, entry.state)
    return Group(*([rows] if entries else []), *map(Text, totals(entries)))


def totals(entries: Sequence[CacheEntry]) -> Iterator[str]:
    """How much there is of each kind, and in all."""
    for kind in dict.fromkeys(sorted(entry.kind for entry in entries)):
        of_kind = [entry.bytes for entry in entries if entry.kind == kind]
        yield f"{kind}: {len(of_kind):,}, {format_size(sum(of_kind))}"
    yield (
        f"in all: {count_phrase(len(entries), 'entry', 'entries')}, "
        f"{format_size(sum(entry.bytes for entry in entries))}"
    )


def _age(seconds: float) -> str:
    hours = max(seconds, 0) / 3600
    return f"{hours / 24:.0f} d" if hours >= 48 else f"{hours:.0f} h" if hours >= 2 else f"{60 * hours:.0f} min"
