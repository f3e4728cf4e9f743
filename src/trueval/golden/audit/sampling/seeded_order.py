"""Seeded orders: random orders that depend on a seed and on names alone.

Each name gets a 32-byte hash of the seed, the purpose of the order, and the name; sorting by the hashes gives a random
order. Unlike a generator's, it does not depend on library versions or on the order of files, and it stays the same when
names are added or a sample grows.
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
        seed: seed of all orders of a sample.
        what: purpose of the order; different purposes give independent orders.

    >>> key(0, "order", "a", "b") == key(0, "order", "a", "b"), key(0, "order", "ab") == key(0, "order", "a", "b")
    (True, False)
    """
    return hashlib.sha256(json.dumps([seed, what, *names]).encode()).digest()


def shuffle(seed: int, what: str, things: Iterable[Named], names: Callable[[Named], tuple[str, ...]]) -> list[Named]:
    """Elements in a seeded random order.

    Args:
        seed: seed of all orders of a sample.
        what: purpose of the order.
        things: elements with distinct names.

    >>> shuffle(0, "letters", "abcd", tuple) == shuffle(0, "letters", "dbca", tuple)
    True
    """
    return sorted(things, key=lambda thing: key(seed, what, *names(thing)))
