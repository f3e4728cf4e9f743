"""What a corpus was cut into, in a terminal."""

from __future__ import annotations

from typing import Final

from trueval.report.number_texts import percent
from trueval.report.terminal import TerminalGrid, grid
from trueval.retrieval.chunking.corpus_chunks import ChunkedCorpus

HEAD: Final = ("documents", "chunks", "tokens, mean", "most", "longer than the size", "overlap")


def table(result: ChunkedCorpus) -> TerminalGrid:
    """One row: how many, how long, how much twice.

    Args:
        result: of `trueval chunk`.
    """
    shown = grid(HEAD, "r" * len(HEAD))
    counts = [f"{result.documents:,}", f"{result.chunks:,}"]
    length = [f"{result.mean:,.1f}", f"{result.most:,}", f"{result.longer:,}"]
    shown.add_row(*counts, *length, percent(result.overlap))
    return shown
