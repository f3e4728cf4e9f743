"""Limits that fail a build."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import typer


class MaxRange(NamedTuple):
    """The widest range of values that the order of ties may leave to a mean.

    Attributes:
        measure: the measure's text form, None for every measure.
        limit: on the scale of the JSON, so 0.02 is two points of a hundred.
    """

    measure: str | None
    limit: float

    def failures(self, results: Mapping[str, Any]) -> Iterator[str]:
        """Says for each run and measure beyond the limit what was found.

        Args:
            results: what `trueval.evaluation.scores.results` returns.

        Yields:
            One line for each failure; a range that is not available fails too.

        Example:
            >>> runs = [{"name": "bm25", "measures": {"RR": {"range": 0.5}}}]
            >>> list(MaxRange(None, 0.02).failures({"runs": runs}))
            ['bm25: the range of RR is 0.5, above --max-range 0.02.']
        """
        for run in results["runs"]:
            for name, value in run["measures"].items():
                if self.measure not in (None, name):
                    continue
                found, what = value["range"], f"{run['name']}: the range of {name} is"
                if found is None:
                    yield f"{what} not available, so --max-range cannot pass."
                elif found > self.limit:
                    yield f"{what} {found:.6g}, above --max-range {self.limit:g}."


def parse_max_range(texts: Sequence[str], measures: Sequence[str]) -> tuple[MaxRange, ...]:
    """Reads the values of `--max-range`.

    Args:
        texts: each "X" or "MEASURE=X".
        measures: text forms of the measures that are evaluated.

    Returns:
        One limit for each text.

    Raises:
        typer.BadParameter: X is not a number from 0, or the measure is not among those evaluated.

    Example:
        >>> parse_max_range(["0.02", "nDCG(gain='exp')@10=0.1"], ["nDCG(gain='exp')@10"])[1].limit
        0.1
    """
    return tuple(_parse(text, measures) for text in texts)


def _parse(text: str, measures: Sequence[str]) -> MaxRange:
    from trueval.measures import parse

    name, _, number = text.rpartition("=")
    try:
        limit = float(number)
    except ValueError:
        limit = -1.0
    if not 0 <= limit < float("inf"):
        raise _misuse(f"must be X or MEASURE=X with a number X >= 0, such as 0.02 or nDCG@10=0.02. Got {text}.")
    measure = str(parse(name)) if name else None
    if measure is not None and measure not in measures:
        raise _misuse(f"{measure} is not evaluated. Add it with -m, or name one of {' '.join(measures)}.")
    return MaxRange(measure, limit)


def _misuse(message: str) -> typer.BadParameter:
    return typer.BadParameter(message, param_hint="--max-range")
