"""Rows of a memory map, sent to workers by the file that they are in."""

from __future__ import annotations

import os
import socket
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from trueval.errors import InputError


@dataclass(frozen=True)
class MappedRows:
    """Where the rows of a memory map are.

    Attributes:
        file: path of the file.
        dtype: of the rows.
        offset: byte of the file at which they begin.
        shape: [row, dimension].
        stamp: size of the file, and time of its last change in nanoseconds.
    """

    file: Path
    dtype: np.dtype[np.generic]
    offset: int
    shape: tuple[int, ...]
    stamp: tuple[int, int]

    @classmethod
    def of(cls, rows: object) -> MappedRows | None:
        """The place of some rows; None for an array in memory."""
        if not isinstance(rows, np.memmap) or not rows.flags.c_contiguous or rows.filename is None:
            return None
        root: NDArray[np.generic] = rows
        while isinstance(root.base, np.memmap):
            root = root.base
        # A view keeps the offset of the map that it was taken from.
        begin = rows.__array_interface__["data"][0] - root.__array_interface__["data"][0]
        file = Path(os.fspath(rows.filename)).resolve()
        return cls(file, rows.dtype, int(rows.offset) + begin, rows.shape, _stamp(file))

    def open(self) -> NDArray[np.generic]:
        """The rows, as a memory map of the file here.

        Raises:
            InputError: the file is not here, or another one is.
        """
        try:
            same = _stamp(self.file) == self.stamp
        except OSError:
            same = False
        if not same:
            raise InputError(
                f"{self.file}: not the file on {socket.gethostname()} that it is where the command runs. Put it into a "
                "folder that all machines share, or give the embeddings in memory, which are sent."
            )
        integers = np.dtype(f"u{self.dtype.itemsize}") if self.dtype.kind == "V" else self.dtype
        return np.memmap(self.file, integers, "r", self.offset, self.shape).view(self.dtype)


def _stamp(file: Path) -> tuple[int, int]:
    found = file.stat()
    return found.st_size, found.st_mtime_ns
