"""Score widths: by how much scores may move, in units that a score itself may decide."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from trueval.errors import InputError, PolicyError
from trueval.numerics import find_format, formats, spacings

if TYPE_CHECKING:
    from numpy.typing import NDArray

ACCEPTED: Final = (
    "a number of at least 0 such as 0.001, a number format such as bfloat16 (rounding to it), ulp(bfloat16) or "
    "2.5 ulp(bfloat16) (units in the last place), or codes(int8)"
)
_SPEC: Final = re.compile(r"(?P<factor>[0-9.][0-9.eE+-]*)?\s*(?:(?P<unit>ulp|step)\((?P<of>\w+)\))?")
_CODES: Final = re.compile(r"codes\(int(?P<bits>[0-9]+)\)")


@dataclass(frozen=True)
class ScoreWidth:
    """By how much a score may move, up and down: a number of units.

    Attributes:
        factor: number of units, at least 0.
        unit: "" for 1, "ulp(FORMAT)" for the distance of neighboring values of the format at the score, "step(intN)"
            for the step of codes of N bits over the range of the run's scores.
    """

    factor: float
    unit: str = ""

    @classmethod
    def parse(cls, text: str | float) -> ScoreWidth:
        """Read a width.

        A format alone is rounding to it, half a unit in the last place; codes(int8) is rounding to 255 steps between
        the lowest and the highest score of the run, half a step.

        Args:
            text: such as "0.001", "bfloat16", "ulp(bfloat16)", "2.5 ulp(float16)", "codes(int8)".

        Raises:
            PolicyError: it is none of these, or its format is unknown.

        >>> ScoreWidth.parse(".002")
        ScoreWidth(factor=0.002, unit='')
        >>> ScoreWidth.parse("bfloat16"), str(ScoreWidth.parse("ulp(bfloat16)"))
        (ScoreWidth(factor=0.5, unit='ulp(bfloat16)'), '1 ulp(bfloat16)')
        """
        given = str(text).strip()
        if given.isidentifier() and given in formats():
            return cls(0.5, f"ulp({given})")
        if codes := _CODES.fullmatch(given):
            given = f"0.5 step(int{codes['bits']})"
        found = _SPEC.fullmatch(given)
        if not given or found is None:
            raise PolicyError(f"A width must be {ACCEPTED}. Got {str(text)!r}.")
        try:
            factor = float(found["factor"] or 1)
        except ValueError:
            factor = math.nan
        if not (math.isfinite(factor) and factor >= 0):
            raise PolicyError(f"A width must be {ACCEPTED}. Got {str(text)!r}.")
        if found["unit"] is None:
            return cls(factor)
        of = find_format(found["of"]).name if found["unit"] == "ulp" else _check_codes(found["of"])
        return cls(factor, f"{found['unit']}({of})")

    def __str__(self) -> str:
        """The text that `parse` reads."""
        return f"{self.factor:g} {self.unit}".strip()

    def units(self, scores: NDArray[np.float64]) -> NDArray[np.float64]:
        """[document] the unit of each score.

        Args:
            scores: [document] scores of one run.

        Raises:
            InputError: codes of scores of which one is infinite.

        >>> ScoreWidth.parse("ulp(bfloat16)").units(np.array([0.75, 1.0, -3.0])).tolist()
        [0.00390625, 0.0078125, 0.015625]
        """
        kind, _, of = self.unit.rstrip(")").partition("(")
        if kind == "ulp":
            return spacings(scores, of)
        step = 1.0
        if kind == "step":
            spread = float(np.ptp(scores)) if len(scores) else 0.0
            if not math.isfinite(spread):
                raise InputError("Codes have no step where a score is infinite. Give the width as a number.")
            step = spread / ((1 << int(of.removeprefix("int"))) - 1)
        return np.full(len(scores), step)


def shift_outward(scores: NDArray[np.float64], moves: NDArray[np.float64]) -> NDArray[np.float64]:
    """Scores plus moves, two values further than rounded sums are, so that intervals that touch in decimals overlap.

    Two scores, their distance in decimals and two sums are off by less than three units in the last place together.

    Args:
        scores: scores.
        moves: [document] what is added; a score that does not move stays as it is.

    >>> bool(shift_outward(np.array([0.3]), np.array([0.1]))[0] >= shift_outward(np.array([0.5]), np.array([-0.1]))[0])
    True
    """
    with np.errstate(invalid="ignore"):
        moved = scores + moves
        further = moved + np.sign(moves) * 2 * np.spacing(np.abs(moved))
    return np.where(np.isfinite(moved), further, moved)


def is_beyond(scores: NDArray[np.float64], moves: NDArray[np.float64], exact: NDArray[np.float64]) -> NDArray[np.bool_]:
    """[document] whether its exact score lies outside the interval of its score.

    Args:
        scores: [document] scores.
        moves: [document] by how much an exact score may differ, at least 0.
        exact: [document] exact scores.

    >>> is_beyond(np.array([0.5, 0.5, 0.5]), np.full(3, 0.1), np.array([0.6, 0.61, 0.39])).tolist()
    [False, True, True]
    """
    return (exact > shift_outward(scores, moves)) | (exact < shift_outward(scores, -moves))


def _check_codes(name: str) -> str:
    bits = name.removeprefix("int")
    if not (name.startswith("int") and bits.isdigit() and 1 <= int(bits) <= 32):
        raise PolicyError(f"Codes must be int1 to int32, such as codes(int8). Got {name!r}.")
    return name
