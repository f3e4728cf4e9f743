"""Memory estimates: the memory a file needs is estimated, and refused before it is allocated.

The budget is what --memory or TRUEVAL_MEMORY says, for each file; else half of what is free when the file is read: of
the machine, of the control group that a container or a job runs in, and of the address space of the process.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from pathlib import Path
from typing import Final, NamedTuple

from trueval.errors import InputError, Place, PolicyError

VARIABLE: Final = "TRUEVAL_MEMORY"
UNITS: Final = {unit: 1 << (10 * power) for power, unit in enumerate(("", "K", "M", "G", "T"))}
_SIZE: Final = re.compile(r"([0-9]{1,15}(?:\.[0-9]{1,9})?) ?([KMGT]?)(?:i?B)?", re.IGNORECASE)
SMALL: Final = 1 << 26  # bytes that are assumed to be available, since querying takes longer than reading a small file
UNKNOWN: Final = 1 << 32  # assumed free bytes on a system that does not report them
TEXT: Final = 2  # bytes of memory per byte of a text held as a whole, in any format: the text and the parsed data

# Bytes in addition to those of ASCII, per byte and per mark. Characters beyond U+FFFF take four bytes in Python
# strings, and begin with one of these bytes in UTF-8.
WIDE, WIDEST = (2, 1.1), (6, 1.2)
_HAS_WIDEST: Final = re.compile(rb"[\xf0-\xf7]").search

_CHOSEN: ContextVar[int | None] = ContextVar("trueval_memory", default=None)


class MemoryCost(NamedTuple):
    """The memory a reader needs for a text, as measured (docs/files.md).

    Attributes:
        byte: bytes of memory for each byte, the text itself among them.
        marks: bytes of memory for each of some bytes: one that ends a row, opens an object or separates fields.
        decoded: whether the text becomes strings of Python, which have as many bytes for each character as the widest
            of them needs; measured are texts of one byte each.
    """

    byte: float
    marks: tuple[tuple[bytes, int], ...]
    decoded: bool = False

    def of(self, text: bytes) -> int:
        r"""The memory that a text needs.

        >>> MemoryCost(2.0, ((b"\n", 100),)).of(b"a\nb\n")
        208
        """
        wider, more = (0, 1.0) if not self.decoded or text.isascii() else WIDEST if _HAS_WIDEST(text) else WIDE
        marks = sum(text.count(mark) * cost for mark, cost in self.marks)
        return int(len(text) * (self.byte + wider) + marks * more)


# Text that becomes values of Python: JSON, and lines of fields.
PARSED: Final = MemoryCost(7.3, ((b"\n", 250), (b"\r", 250), (b",", 470), (b"{", 500), (b"[", 120)), decoded=True)


@contextmanager
def memory(size: int | str | None) -> Iterator[None]:
    """Let each file that is read in the block take this much memory.

    Args:
        size: bytes, or a text as "8G"; None leaves it to TRUEVAL_MEMORY, and to what is free.

    Raises:
        PolicyError: it is no size.

    >>> with memory("8G"):
    ...     budget()
    8589934592
    """
    token = _CHOSEN.set(None if size is None else parse_size(str(size), "The memory"))
    try:
        yield
    finally:
        _CHOSEN.reset(token)


def parse_size(text: str, what: str) -> int:
    """Parse a number of bytes: 8G, 500M, 1.5 GiB, 1000000; K, M, G and T are powers of 1024.

    Args:
        text: size as written.
        what: subject of the error.

    Raises:
        PolicyError: it is no size.

    >>> parse_size("1.5G", "The memory")
    1610612736
    """
    found = _SIZE.fullmatch(text.strip())
    size = int(float(found[1]) * UNITS[found[2].upper()]) if found else 0
    if size < 1:
        raise PolicyError(f"{what} must be a size such as 8G, 500M or 1000000. Got {text!r}.")
    return size


def budget(held: int = 0, needed: int = SMALL + 1) -> int:
    """Maximum memory in bytes for reading a file.

    Args:
        held: bytes that it already uses, which are no longer free.
        needed: bytes for which the budget is queried: small amounts are granted without asking the system.

    Raises:
        PolicyError: TRUEVAL_MEMORY is no size.
    """
    chosen = chosen_limit()
    if chosen is not None:
        return chosen
    return SMALL if needed <= SMALL else (free_memory() + held) // 2


def check_memory(needed: int, place: Place, *, held: int = 0) -> None:
    """Refuse a file that needs more than the budget.

    Args:
        needed: total bytes that the file takes.
        held: bytes of these that are already in use.

    Raises:
        InputError: it takes more.
        PolicyError: TRUEVAL_MEMORY is no size.
    """
    if needed > (most := budget(held, needed)):
        raise too_large(place, f"about {format_size(needed)}", most)


def too_large(place: Place, needed: str, most: int) -> InputError:
    """The error for a file that needs more memory than allowed.

    Args:
        needed: required memory, in words.
        most: allowed memory in bytes.
    """
    whose = "half of what is free" if chosen_limit() is None else f"as --memory or {VARIABLE} says"
    return place.error(
        f"to read it takes {needed} of memory, and {format_size(most)} may be taken, {whose}. "
        f"If the file is sound, allow more with --memory SIZE (in Python with {VARIABLE})."
    )


def check_cost(cost: MemoryCost, text: bytes, source: str) -> None:
    """Refuse a text that takes more than the budget.

    Raises:
        InputError: it takes more.
        PolicyError: TRUEVAL_MEMORY is no size.
    """
    check_memory(cost.of(text), Place(source), held=len(text))


def format_size(size: int) -> str:
    """A number of bytes as people read it.

    >>> format_size(3 << 29), format_size(5 << 20)
    ('1.5 GiB', '5.0 MiB')
    """
    return f"{size / (1 << 30):,.1f} GiB" if size >= 1 << 30 else f"{size / (1 << 20):,.1f} MiB"


def free_memory() -> int:
    """The bytes that this process can still take."""
    known = [each for each in (_of_machine(), _of_groups(), _of_process()) if each is not None]
    return max(0, min(known, default=UNKNOWN))


def resident_memory() -> int:
    """The bytes of memory that this process has now; 0 where the system does not tell."""
    with suppress(OSError, ValueError, IndexError):
        import resource  # Windows has none

        return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()
    return 0


def chosen_limit() -> int | None:
    """The bytes that --memory or TRUEVAL_MEMORY allows; None where neither is set.

    Raises:
        PolicyError: TRUEVAL_MEMORY is no size.
    """
    text = os.environ.get(VARIABLE, "")
    chosen = _CHOSEN.get()
    return chosen if chosen is not None else parse_size(text, VARIABLE) if text.strip() else None


def _of_machine() -> int | None:
    """Available memory as reported by Linux, without swap; elsewhere the installed memory."""
    with suppress(OSError, ValueError, IndexError):
        line = next(line for line in Path("/proc/meminfo").read_text("ascii").splitlines() if "MemAvailable" in line)
        return int(line.split()[1]) << 10
    with suppress(AttributeError, OSError, ValueError):  # Windows has no sysconf
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return None


def _of_groups(proc: Path = Path("/proc/self/cgroup"), root: Path = Path("/sys/fs/cgroup")) -> int | None:
    """What the control groups leave, of version 1 and 2: that of the process, and each one above it.

    In a container the path is often that of the host, which is not there: then the root is the container's own.
    """
    left = []
    with suppress(OSError, ValueError):
        for line in proc.read_text().splitlines():
            _, controllers, path = line.split(":", 2)
            if controllers in ("", "memory"):
                top = root / controllers
                below = top / path.lstrip("/")
                groups = [group for group in (below, *below.parents) if group.is_relative_to(top)]
                left += [_of_group(group, bool(controllers)) for group in groups]
    return min((each for each in left if each is not None), default=None)


def _of_group(group: Path, first_version: bool) -> int | None:
    names = ("memory.limit_in_bytes", "memory.usage_in_bytes") if first_version else ("memory.max", "memory.current")
    with suppress(OSError, ValueError):  # ValueError: "max", where there is no limit
        counts = dict(line.split() for line in (group / "memory.stat").read_text().splitlines())
        # Inactive file cache is released first, so it counts as free, as in Kubernetes.
        unused = int(counts.get("total_inactive_file", counts.get("inactive_file", "0")))
        most, used = (int((group / name).read_text()) for name in names)
        return most - used + unused
    return None


def _of_process() -> int | None:
    """What `ulimit -v` leaves of the address space."""
    with suppress(ImportError, OSError, ValueError, IndexError):  # Windows has no resource
        import resource

        most, _ = resource.getrlimit(resource.RLIMIT_AS)
        if most != resource.RLIM_INFINITY:
            return most - int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    return None
