"""How much a file may ask of the memory: limits that an environment variable raises."""

from __future__ import annotations

import os
from typing import NamedTuple

from trueval.errors import PolicyError


class Limit(NamedTuple):
    """A limit of the readers.

    Args:
        variable: the environment variable that replaces it.
        default: the limit without the variable.
    """

    variable: str
    default: int

    @property
    def value(self) -> int:
        """The limit in force.

        Raises:
            PolicyError: the variable is not a positive integer.
        """
        text = os.environ.get(self.variable, "").strip()
        if not text:
            return self.default
        if not (text.isascii() and text.isdigit()) or int(text) < 1:
            raise PolicyError(f"{self.variable} must be an integer >= 1. Got {text!r}.")
        return int(text)

    @property
    def cure(self) -> str:
        """What a person can do who trusts the file.

        >>> LINE.cure
        'If the file is sound, raise the limit with the environment variable TRUEVAL_MAX_LINE.'
        """
        return f"If the file is sound, raise the limit with the environment variable {self.variable}."


SIZE = Limit("TRUEVAL_MAX_BYTES", 1 << 33)  # 8 GiB of text: 200 million rows
LINE = Limit("TRUEVAL_MAX_LINE", 1 << 20)  # bytes; rows of real runs have 20 to 200
RATIO = Limit("TRUEVAL_MAX_RATIO", 250)  # unpacked to packed; real runs have 3 to 20, bombs 1000 (gzip) and more (zstd)
RATIO_FREE = 1 << 24  # bytes that any file may unpack to: small files of equal rows pack well and harm nobody
