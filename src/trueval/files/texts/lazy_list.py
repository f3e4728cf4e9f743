"""Lists whose items are computed on access, so that millions of them take no memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from typing import Final, TypeVar, overload

TOLD: Final = 1 << 10  # items between two progress reports
Item_co = TypeVar("Item_co", covariant=True)


class LazyList(Sequence[Item_co]):
    """A sequence whose items are computed by a function.

    Args:
        count: number of items.
        make: function from an index, from 0, to the item.

    >>> squares = LazyList(4, lambda place: place * place)
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


class ProgressList(Sequence[Item_co]):
    """A sequence that reports progress while it is iterated over.

    Args:
        tell: called with the number of items that are done.

    >>> told = []
    >>> list(ProgressList("abc", told.append)), told
    (['a', 'b', 'c'], [3])
    """

    def __init__(self, items: Sequence[Item_co], tell: Callable[[int], object]) -> None:
        self._items, self._tell = items, tell

    def __len__(self) -> int:
        return len(self._items)

    @overload
    def __getitem__(self, at: int) -> Item_co: ...
    @overload
    def __getitem__(self, at: slice) -> Sequence[Item_co]: ...
    def __getitem__(self, at: int | slice) -> Item_co | Sequence[Item_co]:
        """One item, or some."""
        return self._items[at]

    def __iter__(self) -> Iterator[Item_co]:
        """All items in their order."""
        coming, done = iter(self._items), 0
        while some := list(islice(coming, TOLD)):
            yield from some
            done += len(some)
            self._tell(done)
