"""What a corpus was cut into, in a terminal."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from trueval.report.number_texts import percent
from trueval.report.terminal import TerminalGrid, grid

HEAD: Final = ("documents", "chunks", "tokens, mean", "most", "longer than the size", "overlap")


def table(result: Mapping[str, Any]) -> TerminalGrid:
    """One row: how many, how long, how much twice.

    Args:
        result: the JSON of `trueval chunk`.
    """
    shown = grid(HEAD, "r" * len(HEAD))
    counts = [f"{result[name]:,}" for name in ("documents", "chunks")]
    length = [f"{result['mean']:,.1f}", f"{result['most']:,}", f"{result['longer']:,}"]
    shown.add_row(*counts, *length, percent(result["overlap"]))
    return shown
