"""The blocks of a comparison's page with corrected values and differences, and the verdicts they reverse."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from trueval.comparison.views.corrected import differences_of, values_of
from trueval.evaluation.views.corrected import describe_sign_changes
from trueval.evaluation.views.corrected_page import block
from trueval.report.page_content import Block
from trueval.report.result_directory import ResultFile


def corrected_blocks(file: ResultFile, *, values: bool) -> Iterator[Block]:
    """The blocks of corrected values and differences; none without an audit.

    Args:
        file: the comparison.
        values: whether to show the values of runs, which an evaluation on the same page may show already.
    """
    if "audit" not in file.data:
        return
    if values:
        yield block(file, values_of(file.data), "run", name="compared-")
    differences = block(file, differences_of(file.data), "difference", differences=True, name="differences-")
    yield replace(differences, title="Differences, corrected by people's labels")


def describe_reversals(file: ResultFile, measure: str | None = None) -> Iterator[str]:
    """One sentence per difference reversed by people's labels: its whole interval has the opposite sign.

    Args:
        file: the comparison.
        measure: a measure; None for all.
    """
    if "audit" in file.data:
        told = differences_of(file.data)
        yield from describe_sign_changes([each for each in told if measure in (None, each.measure)], surely=True)
