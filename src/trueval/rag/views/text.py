"""What `trueval evaluate` says of contexts under its table: numbers beside a mean, answers, sensitivity."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, cast

from trueval.evaluation.evaluation_result import run_entries
from trueval.report.number_texts import FRACTIONS, ValueUnit, format_value

if TYPE_CHECKING:
    from trueval.rag.answer_accuracy import AccuracyGivenHit
    from trueval.rag.sensitivity import LabelFlip, Sensitivity

MOST_SWAPS = 5  # flips shown that reverse two runs; the JSON holds all


def detail_lines(results: Mapping[str, object]) -> Iterator[str]:
    """One line for each mean that has numbers beside it, such as upper bounds and counts.

    Args:
        results: the JSON of `trueval evaluate`.
    """
    for run in run_entries(results):
        for measure, entry in run["measures"].items():
            numbers = cast("Mapping[str, float]", entry.get("details", {}))
            if numbers:
                said = ", ".join(f"{name.replace('_', ' ')} {value:.4g}" for name, value in numbers.items())
                yield f"{run['name']}  {measure}: {said}"


def answer_line(run: str, measure: str, found: AccuracyGivenHit, scale: ValueUnit = FRACTIONS) -> str:
    """How many answers were correct where all gold documents were in the context.

    Args:
        run: its name.
        measure: AllGold at a cutoff, in its text form.
        found: the accuracy.
        scale: scale of the printed values.

    Example:
        >>> from trueval.rag.answer_accuracy import AccuracyGivenHit
        >>> answer_line("a", "AllGold@3", AccuracyGivenHit(0.5, 0.25, 1.0, 0.5, 3.5, 4, 0))
        'a  Acc|AllGold@3: 0.5000 over 3.5 expected hits (0.2500 to 1.0000 over tie orders)'
    """
    if math.isnan(found.expected):
        return f"{run}  Acc|{measure}: no query has all its gold documents, so there is nothing to average."
    left = f"; {found.unanswered} queries without an answer are left out" if found.unanswered else ""
    return (
        f"{run}  Acc|{measure}: {format_value(found.expected, scale)} over {found.hits:.4g} expected hits "
        f"({format_value(found.lowest, scale)} to {format_value(found.highest, scale)} over tie orders){left}"
    )


def sensitivity_lines(found: Sensitivity, scale: ValueUnit = FRACTIONS) -> Iterator[str]:
    """What sensitivity found: the grid of parameters, then what changing one label does.

    Args:
        found: of one measure.
        scale: scale of the printed values.
    """
    yield f"Sensitivity of {found.measure}"
    yield "  alpha  cap4  cap3  " + "  ".join(found.runs)
    for cell in found.grid:
        pairs = zip(cell.means, found.runs, strict=True)
        means = "  ".join(_value(mean.expected, scale).rjust(len(name)) for mean, name in pairs)
        swaps = "".join(f"  {worse} passes {better}" for better, worse in cell.swapped)
        yield f"  {cell.alpha:5g}  {cell.cap4:4g}  {cell.cap3:4g}  {means}{swaps}"
    if len(found.runs) > 1:
        changed = sum(bool(cell.swapped) for cell in found.grid)
        yield f"  Order of runs: {'as by default everywhere' if not changed else f'another in {changed} choices'}."
    for one in found.flips:
        means = f"{_value(one.lowest_mean, scale)} and {_value(one.highest_mean, scale)}"
        yield f"  {one.run}: under each of {one.flips} one-label flips the mean stays between {means}."
        if one.falls_when_raised:
            yield f"    Queries that fall although a label rises: {len(one.falls_when_raised)}. The worst flip of each:"
            yield from (f"      {flip_line(flip, scale)}" for flip in one.falls_when_raised)
    if len(found.runs) > 1:
        yield f"  One-label flips that reverse two runs: {len(found.swaps)}."
        for flip, better, worse in found.swaps[:MOST_SWAPS]:
            yield f"    {flip_line(flip, scale)}: {worse} passes {better}"


def flip_line(flip: LabelFlip, scale: ValueUnit = FRACTIONS) -> str:
    """One label changed, and the value of its query before and after.

    Args:
        flip: the change.
        scale: scale of the printed values.

    Example:
        >>> from trueval.rag.sensitivity import LabelFlip
        >>> flip_line(LabelFlip("q", "d", 3, 4, 0.5, 0.25))
        'query q, document d, 3 to 4: 0.5000 to 0.2500'
    """
    values = f"{_value(flip.before, scale)} to {_value(flip.after, scale)}"
    return f"query {flip.query}, document {flip.document}, {flip.old} to {flip.new}: {values}"


def _value(value: float, scale: ValueUnit) -> str:
    return format_value(None if math.isnan(value) else value, scale)
