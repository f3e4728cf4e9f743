"""Lists whose items are made when they are asked for, so that millions of them take no memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar, overload

Item_co = TypeVar("Item_co", covariant=True)


class Made(Sequence[Item_co]):
    """A sequence of which a function makes each item.

    Args:
        count: how many items there are.
        make: from a place, 0 for the first, to the item.

    >>> squares = Made(4, lambda place: place * place)
    >>> squares[3], squares[-1], squares[1:3], list(squares)
    (9, 9, [1, 4], [0, 1, 4, 9])
    """

    def __init__(self, count: int, make: Callable[[int], Item_co]) -> None:
        self._count, self._make = count, make

    def __len__(self) -> int:
        return self._count

    @overload
    def __getitem__(self, at: int) -> Item_co: ...
    @overload
    def __getitem__(self, at: slice) -> list[Item_co]: ...
    def __getitem__(self, at: int | slice) -> Item_co | list[Item_co]:
        """One item, or a list of some."""
        if isinstance(at, slice):
            return [self._make(place) for place in range(*at.indices(self._count))]
        return self._make(range(self._count)[at])

    def __iter__(self) -> Iterator[Item_co]:
        """Make all items in their order."""
        return map(self._make, range(self._count))
