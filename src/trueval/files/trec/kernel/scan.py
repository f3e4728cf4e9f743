"""Regular text read by the compiled kernel (_scan.c), if built, in half the time of polars.

The kernel reads a subset of what polars reads, with equal results: visible ASCII, plain decimal numbers.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from itertools import accumulate
from threading import Event
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from trueval.errors import Place
from trueval.files.columns import has_large
from trueval.files.frame import Stretches
from trueval.files.source.line_limits import LINE
from trueval.files.source.line_parts import LineParts
from trueval.files.source.memory_estimate import check_memory
from trueval.files.trec.row_forms import RowForm
from trueval.threads import in_threads

try:
    from trueval.files.trec.kernel import _scan
except ImportError:  # the package was installed without a compiler
    is_compiled = False
else:
    is_compiled = True


PART = 1 << 20  # bytes per part, which stays in the processor's cache while its lines are counted or read
LARGEST_POWER = 64  # powers of five in the table: numbers with a larger power of ten are left to the other readers
# Bytes of memory as measured (docs/files.md): per row, in addition to its text, which long ids keep; per query.
ROW, QUERY = 60, 130
VIEW = 2  # 64-bit integers per string in Arrow's view layout
ROLES = {"query_id": "q", "doc_id": "d", "score": "n", "grade": "n", "rank": "r"}

Found = tuple[int, bytes, bytes, bytes]  # result of the kernel for one part


@dataclass(eq=False, repr=False)
class _Column:
    """Memory that polars uses as a column without a copy (Arrow's PyCapsule interface)."""

    kind: str
    values: Any
    texts: list[bytes]

    def __arrow_c_array__(self, requested_schema: object = None) -> tuple[object, object]:
        return _scan.export(self.kind, np.ascontiguousarray(self.values).data.cast("B"), self.texts)


def scan_text(text: LineParts, separator: str, form: RowForm) -> tuple[pl.DataFrame, Stretches] | None:
    """Read a regular text: once to count its lines, so that all memory is allocated at once, and once to parse them.

    Args:
        text: parts of the text.
        separator: separator of the fields.
        form: form of the rows.

    Returns:
        doc_id, the number and possibly rank (Int32), and the queries of the rows; None if the kernel is not built, or
        does not support the text.

    Raises:
        InputError: the rows take more memory than may be taken.
    """
    if not is_compiled or not set(form.needed) <= {*ROLES, "iteration"}:  # facets are left to the other readers
        return None
    # NumPy returns memory that the system zeroes on first access: each thread writes the rows of its part in their
    # final position, so nothing is joined afterwards.
    parts = text.cut(PART)
    lines = in_threads(lambda part: _scan.count_lines(text.look(part)), parts)
    starts = [0, *accumulate(lines)]
    # A field has at least a character and a terminator, which the last line may lack. If there are too many lines for
    # that, some are empty; a file of newlines alone would need a hundred times its size for rows.
    if not 0 < starts[-1] * 2 * len(form.names) <= parts[-1].stop + 1:
        return None
    place, taken = Place(text.head.source), starts[-1] * ROW + parts[-1].stop
    check_memory(taken, place)
    views, numbers = np.empty((starts[-1], VIEW), np.uint64), np.empty(starts[-1])
    ranks = np.empty(starts[-1] if "rank" in form.needed else 0, np.int32)
    roles = "".join(ROLES.get(name, "-") for name in form.names)
    irregular, longest = Event(), min(LINE.value, sys.maxsize)

    def scan(number: int) -> Found | None:
        rows = slice(starts[number], starts[number + 1])
        found = None
        if not irregular.is_set():
            found = _scan.scan(
                text.read(parts[number]), roles, ord(separator), number, longest, _powers_of_five(),
                views[rows], numbers[rows], ranks[rows],
            )  # fmt: skip
        # Integers that a double cannot represent must be checked as written.
        if found is None or found[0] != lines[number] or has_large(numbers[rows]):
            irregular.set()
        return found

    scanned = [found for found in in_threads(scan, range(len(parts))) if found is not None]
    if irregular.is_set():
        return None
    # Of each query the id, which its view begins with the length of, is held twice.
    lengths = [np.frombuffer(found[2], np.uint32)[::4] for found in scanned]
    taken += sum(len(found) * QUERY + 2 * int(found.sum()) for found in lengths)
    check_memory(taken, place, held=starts[-1] * ROW)
    texts = [found[3] for found in scanned] if any(found[3] for found in scanned) else []
    columns = [_series("doc_id", "u", views, texts), _series(form.numbers[0], "g", numbers)]
    columns += [_series("rank", "i", ranks)] if len(ranks) else []
    return pl.DataFrame(columns), _stretches(scanned, starts, texts)


def _series(name: str, kind: str, values: NDArray[np.generic], texts: Sequence[bytes] = ()) -> pl.Series:
    return pl.Series(_Column(kind, values, list(texts))).alias(name)


def _stretches(scanned: Sequence[Found], starts: Sequence[int], texts: list[bytes]) -> Stretches:
    """The queries of all parts; one that continues in the next part is one stretch."""
    firsts = [np.frombuffer(found[1], np.int64) + start for found, start in zip(scanned, starts[:-1], strict=True)]
    ids = _series("query_id", "u", np.frombuffer(b"".join(found[2] for found in scanned), np.uint64), texts)
    is_new = ids.ne_missing(ids.shift())  # a part begins with a new stretch, whatever the previous one ended with
    offsets = np.append(np.concatenate(firsts)[is_new.to_numpy()], starts[-1])
    ids = ids.filter(is_new)
    # Views of long ids would keep the long ids of all documents in memory where only the queries are kept.
    return Stretches(pl.Series("query_id", ids.to_list()) if texts else ids, offsets)


@cache
def _powers_of_five() -> NDArray[np.uint64]:
    """[power from -64 to 64] high, low, shift, exact: 5^power = (high 2^64 + low) 2^shift, or up to 2^shift more.

    >>> _powers_of_five()[64 + 1].tolist() == [5 << 61, 0, 2**64 - 125, 1]
    True
    """
    return np.array([_power_of_five(power) for power in range(-LARGEST_POWER, LARGEST_POWER + 1)], np.uint64)


def _power_of_five(power: int) -> tuple[int, int, int, int]:
    """128 bits of a power of five, rounded down."""
    above, below = 5 ** max(power, 0), 5 ** max(-power, 0)
    # Python integers are exact: the quotient is truncated after 128 bits, and the remainder shows whether anything was
    # lost.
    shift = above.bit_length() - below.bit_length() - 128  # gives 128 or 129 bits
    if (above << max(-shift, 0)) // (below << max(shift, 0)) >> 128:
        shift += 1
    bits, rest = divmod(above << max(-shift, 0), below << max(shift, 0))
    return bits >> 64, bits & (2**64 - 1), shift & (2**64 - 1), int(rest == 0)
