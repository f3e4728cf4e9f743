"""Line limits: the maximum length of a line, which an environment variable can raise.

memory_estimate.py says how much memory a file may take.
"""

from __future__ import annotations

import os
from typing import NamedTuple

from trueval.errors import PolicyError


class LineLimit(NamedTuple):
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
        if not (text.isascii() and text.isdigit() and len(text) <= MOST_DIGITS) or int(text) < 1:
            raise PolicyError(f"{self.variable} must be an integer >= 1. Got {text[:MOST_DIGITS]!r}.")
        return int(text)

    @property
    def cure(self) -> str:
        """What a user who trusts the file can do.

        >>> LINE.cure
        'If the file is sound, raise the limit with the environment variable TRUEVAL_MAX_LINE.'
        """
        return f"If the file is sound, raise the limit with the environment variable {self.variable}."


MOST_DIGITS = 30  # digits of a limit; Python itself refuses integers of thousands of digits
LINE = LineLimit("TRUEVAL_MAX_LINE", 1 << 20)  # bytes; rows of real runs have 20 to 200
