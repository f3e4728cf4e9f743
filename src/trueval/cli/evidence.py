"""What `trueval evaluate` says below its table: numbers beside means, answers, sensitivity."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

import typer

from trueval.cli.output import talk

if TYPE_CHECKING:
    from trueval.rag.answers import AccuracyGivenHit
    from trueval.rag.evaluation import Evaluated
    from trueval.rag.sensitivity import Flip, Sensitivity


def lines_beside(found: Evaluated, results: dict[str, Any]) -> Iterator[str]:
    """What belongs beside the means, in lines for people.

    Args:
        found: of the runs.
        results: its JSON.
    """
    yield from _details(results)
    for scores, answers in zip(found.scores, found.answers, strict=True):
        yield from (_answer(scores.name, name, one) for name, one in answers.items())
    for one in found.sensitivity:
        yield from sensitivity_lines(one)


def say(lines: Iterable[str], *, on_stdout: bool) -> None:
    """Prints lines for people: under a table on stdout, else on stderr."""
    if not on_stdout:
        talk(lines)
        return
    for line in lines:
        typer.echo(line)


def _details(results: dict[str, Any]) -> Iterator[str]:
    """One line for each mean that has numbers beside it."""
    for run in results["runs"]:
        for measure, entry in run["measures"].items():
            numbers = entry.get("details", {})
            if numbers:
                said = ", ".join(f"{name.replace('_', ' ')} {value:.4g}" for name, value in numbers.items())
                yield f"{run['name']}  {measure}: {said}"


def _answer(run: str, measure: str, found: AccuracyGivenHit) -> str:
    if math.isnan(found.expected):
        return f"{run}  Acc|{measure}: no query has all its gold documents, so there is nothing to average."
    left = f"; {found.unanswered} queries without an answer are left out" if found.unanswered else ""
    return (
        f"{run}  Acc|{measure}: {found.expected:.4f} over {found.hits:.4g} expected hits "
        f"({found.lowest:.4f} to {found.highest:.4f} over tie orders){left}"
    )


def sensitivity_lines(found: Sensitivity) -> Iterator[str]:
    """What sensitivity found, in lines of plain words."""
    yield f"Sensitivity of {found.measure}"
    yield "  alpha  cap4  cap3  " + "  ".join(found.runs)
    for cell in found.grid:
        means = "  ".join(f"{mean.expected:{len(name)}.4f}" for mean, name in zip(cell.means, found.runs, strict=True))
        swaps = "".join(f"  {worse} passes {better}" for better, worse in cell.swapped)
        yield f"  {cell.alpha:5g}  {cell.cap4:4g}  {cell.cap3:4g}  {means}{swaps}"
    if len(found.runs) > 1:
        changed = sum(bool(cell.swapped) for cell in found.grid)
        yield f"  Order of runs: {'as by default everywhere' if not changed else f'another in {changed} choices'}."
    for one in found.flips:
        means = f"{one.lowest_mean:.4f} and {one.highest_mean:.4f}"
        yield f"  {one.run}: under each of {one.flips} one-label flips the mean stays between {means}."
        if one.falls_when_raised:
            yield f"    Queries that fall although a label rises: {len(one.falls_when_raised)}. The worst flip of each:"
            yield from (f"      {_flip(flip)}" for flip in one.falls_when_raised)
    if len(found.runs) > 1:
        yield f"  One-label flips that reverse two runs: {len(found.swaps)}."
        yield from (f"    {_flip(flip)}: {worse} passes {better}" for flip, better, worse in found.swaps[:5])


def _flip(flip: Flip) -> str:
    return (
        f"query {flip.query}, document {flip.document}, {flip.old} to {flip.new}: {flip.before:.4f} to {flip.after:.4f}"
    )
