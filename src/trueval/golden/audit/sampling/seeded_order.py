"""Seeded orders: random orders that depend on a seed and on names alone.

A name is given 32 bytes that a hash makes of the seed, of what the order is for, and of the name; the names sorted by
them are in an order that is as good as drawn at random. Unlike a generator's, it is the same with every version of any
library and however files list things, and it stays as it is where names are added or a sample grows.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable
from typing import TypeVar

Named = TypeVar("Named")


def key(seed: int, what: str, *names: str) -> bytes:
    """Sort key of an element in a seeded random order.

    Args:
        seed: of all orders of a sample.
        what: the order is for; other words give an order that is independent of this one.
        names: of the thing.

    >>> key(0, "order", "a", "b") == key(0, "order", "a", "b"), key(0, "order", "ab") == key(0, "order", "a", "b")
    (True, False)
    """
    return hashlib.sha256(json.dumps([seed, what, *names]).encode()).digest()


def shuffle(seed: int, what: str, things: Iterable[Named], names: Callable[[Named], tuple[str, ...]]) -> list[Named]:
    """Elements in a seeded random order.

    Args:
        seed: of all orders of a sample.
        what: the order is for.
        things: that differ by their names.
        names: of a thing.

    >>> shuffle(0, "letters", "abcd", tuple) == shuffle(0, "letters", "dbca", tuple)
    True
    """
    return sorted(things, key=lambda thing: key(seed, what, *names(thing)))
