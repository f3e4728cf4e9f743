"""Score grids: the values that scores can take, recovered from the scores alone.

A *grid* is a set of values: those of a number format, decimals, codes of a few bits, sums of 1/(60 + rank), or
sigmoids of logits on such a grid. Scores lie on a grid if each is as near to one of its values as the digits of the
file can say. How much that says depends on how often a score in float32 would do so by chance: p = (what the digits
leave open + spacing of float32) / spacing of the grid. The evidence of a grid is the sum of -log2 p over the distinct
scores on it.

Of several grids that hold all scores the coarsest at the top of the lists is named: float32 values written with six
decimals are decimals, and a softmax over two logits is a sigmoid of their difference. A grid that is hardly coarser
than float32 is none: "not known" is an answer, never a guess.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from trueval.numerics import find_format, formats, round_to, spacings

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from trueval.standings.standings import Bools, Floats

LEAST: Final = 3  # distinct scores below which no grid is named
BITS: Final = 20.0  # evidence below which no grid is named: a chance of 2^-20 that float32 scores lie on it
HELD: Final = 0.995  # share of distinct scores that a grid must hold
HELD_LOGITS: Final = 0.9  # the same of logits: those near 0 are on finer steps than the others
HALF: Final = 0.5  # mean chance above which that a score is on a grid says nothing
PART: Final = 0.2  # share that a grid must hold to be one of two in a file
BY_CHANCE: Final = 0.05  # mean chance above which a part of the scores may be on a grid for no reason
COARSER: Final = 1.5  # times another grid's spacing, from which one is the coarser
RRF: Final = 60  # constant of reciprocal rank fusion
RANKS: Final = 1000  # ranks of fused lists
CODES: Final = (4, 8)  # bits of codes
LOGIT_STEPS: Final = range(2, 17)  # log2 of the steps of differences of logits
MOST_DECIMALS: Final = 7
SINGLE: Final = find_format("float32")


class Placed(NamedTuple):
    """Scores on a grid.

    Attributes:
        on: [score] whether it is on the grid.
        spacing: [score] distance of neighboring values of the grid at the score.
        slack: [score] how far from a value of the grid a score may be to be on it.
    """

    on: Bools
    spacing: Floats
    slack: Floats


class Grid(NamedTuple):
    """A grid that scores may be on.

    Attributes:
        name: such as "bfloat16", "4 decimals", "sigmoid of bfloat16".
        family: "format", "decimals", "rrf", "logits" or "codes"; of two that are equally coarse the first is preferred.
        place: function from scores, and what their digits leave open, to their places.
    """

    name: str
    family: str
    place: Callable[[Floats, Floats], Placed]


class FoundGrid(NamedTuple):
    """A grid that holds scores.

    Attributes:
        grid: the grid; None where it is not known.
        share: share of the distinct scores of the sample that it holds.
        bits: evidence, log2 of one over the chance that float32 scores lie on it.
        spacing: at the top of the lists; None where the grid is not known.
    """

    grid: Grid | None
    share: float
    bits: float
    spacing: float | None

    @property
    def confidence(self) -> float:
        """1 less the chance that float32 scores would lie on any of the grids tried."""
        return 0.0 if self.grid is None else 1 - min(1.0, len(_fixed_grids()) * 2.0**-self.bits)


UNKNOWN: Final = FoundGrid(None, 0.0, 0.0, None)


def find_grids(scores: Floats, top: float) -> tuple[FoundGrid, ...]:
    """The grid of scores, or the two of them.

    Args:
        scores: finite scores; of many a sample.
        top: score at the top of the lists, where spacing counts.

    Returns:
        One grid that holds all scores, `UNKNOWN` if there is none; or two grids that hold a part each, the second of
        which may be `UNKNOWN`.

    >>> halves = np.round(np.random.default_rng(0).random(300), 3)
    >>> [each.grid.name for each in find_grids(halves, 0.9)]
    ['3 decimals']
    """
    values = np.unique(scores)
    if len(values) < LEAST:
        return (UNKNOWN,)
    slack = Writing.of(values).slack(values)
    tried = list(_try_grids(values, slack, top))
    whole = _coarsest([each for each, placed in tried if _holds(each, values, placed)])
    if whole is not None:
        return (whole,)
    for first, placed in sorted(tried, key=lambda pair: -pair[0].bits * pair[0].share):
        if first.share < PART or _chance(values, placed).mean() > BY_CHANCE or not _is_coarse(first, top):
            continue
        others = values[~placed.on]
        if len(others) < LEAST or len(others) < PART * len(values):
            continue
        rest = _coarsest(
            [
                each
                for each, placed in _try_grids(others, Writing.of(others).slack(others), top)
                if _holds(each, others, placed)
            ]
        )
        return (first, rest or UNKNOWN._replace(share=1 - first.share))
    return (UNKNOWN,)


def _holds(found: FoundGrid, values: Floats, placed: Placed) -> bool:
    """Whether a grid holds all scores, and not by chance."""
    if found.grid is None or found.grid.family != "logits":
        return found.share >= HELD
    return found.share >= HELD_LOGITS and float(_chance(values, placed).mean()) <= HALF


def _coarsest(found: list[FoundGrid]) -> FoundGrid | None:
    """The coarsest of grids that hold all; the preferred family among those that are about as coarse."""
    order = ("format", "decimals", "rrf", "logits", "codes")
    if not found:
        return None
    most = max(each.spacing or 0.0 for each in found)
    about = [each for each in found if (each.spacing or 0.0) * COARSER > most]
    return min(about, key=lambda each: (order.index(each.grid.family if each.grid else "codes"), -(each.spacing or 0)))


def _try_grids(values: Floats, slack: Floats, top: float) -> Iterator[tuple[FoundGrid, Placed]]:
    """Each grid that holds something by more than chance, with the scores on it."""
    for grid in (*_fixed_grids(), *codes_of(values, slack)):
        placed = grid.place(values, slack)
        if not placed.on.any():
            continue
        chance = _chance(values, placed)
        bits = float(-np.log2(chance[placed.on]).sum())
        spacing = float(grid.place(np.array([top]), np.zeros(1)).spacing[0])
        found = FoundGrid(grid, float(placed.on.mean()), bits, spacing)
        if bits >= BITS and _is_coarse(found, top):
            yield found, placed


def _is_coarse(found: FoundGrid, top: float) -> bool:
    return (found.spacing or 0.0) > SINGLE.spacing(top)


def _chance(values: Floats, placed: Placed) -> Floats:
    """[score] chance that a float32 score there lies on the grid as far as digits tell."""
    with np.errstate(divide="ignore", invalid="ignore"):
        chance = (2 * placed.slack + spacings(values, SINGLE.name)) / placed.spacing
    return np.clip(np.nan_to_num(chance, nan=1.0), 2.0**-52, 1.0)


class Writing(NamedTuple):
    """How many digits scores were written with.

    Attributes:
        decimals: of all scores; None if some have more than twelve.
        digits: significant digits of all scores, where decimals are not known; None if some have more than nine.
    """

    decimals: int | None
    digits: int | None

    @classmethod
    def of(cls, values: Floats) -> Writing:
        """The digits of distinct scores.

        >>> Writing.of(np.array([0.25, 0.123456])), Writing.of(np.array([1.5e-20, 0.123]))
        (Writing(decimals=6, digits=None), Writing(decimals=None, digits=3))
        """
        for decimals in range(13):
            if is_decimal(values, decimals).all():
                return cls(decimals, None)
        for digits in range(3, 10):
            units = values / cls(None, digits)._units(values)
            if (np.abs(units - np.rint(units)) <= 1e-5).all():
                return cls(None, digits)
        return cls(None, None)

    def slack(self, values: Floats) -> Floats:
        """[score] what the digits leave open: half a unit of the last one; 0 where they leave nothing open."""
        if self.decimals is not None:
            return np.full(len(values), 0.5 * 10.0**-self.decimals if self.decimals else 0.0)
        return np.zeros(len(values)) if self.digits is None else 0.5 * self._units(values)

    def _units(self, values: Floats) -> Floats:
        exponents = np.floor(np.log10(np.abs(np.where(values == 0, 1.0, values))))
        units: Floats = 10.0 ** (exponents + 1 - (self.digits or 0))
        return units


def is_decimal(values: Floats, decimals: int) -> Bools:
    """Whether each score has at most so many decimals, as far as float64 tells; a tiny one is no 0."""
    scaled = values * 10.0**decimals
    units = np.rint(scaled)
    near = np.abs(scaled - units) <= np.maximum(4 * np.spacing(np.abs(scaled)), 1e-9)
    return np.asarray(near & (np.abs(scaled) < 2.0**50) & ((units != 0) | (values == 0)))


@cache
def _fixed_grids() -> tuple[Grid, ...]:
    """The grids that no score decides."""
    names = [name for name in tuple(formats())[::-1] if name not in ("float64", SINGLE.name)]  # coarsest first
    return (
        *(Grid(name, "format", _of_format(name)) for name in names),
        Grid("whole numbers", "decimals", _of_decimals(0)),
        Grid("1 decimal", "decimals", _of_decimals(1)),
        *(Grid(f"{count} decimals", "decimals", _of_decimals(count)) for count in range(2, MOST_DECIMALS + 1)),
        Grid(f"sums of 1/({RRF} + rank)", "rrf", _of_fusion),
        *(Grid(f"sigmoid of {name}", "logits", _of_logits(name)) for name in names),
        *(
            Grid(f"sigmoid of multiples of {2.0**-step:g}", "logits", _of_logit_steps(2.0**-step))
            for step in LOGIT_STEPS
        ),
    )


def _of_format(name: str) -> Callable[[Floats, Floats], Placed]:
    def place(values: Floats, slack: Floats) -> Placed:
        with np.errstate(over="ignore"):
            near = round_to(values, name, saturate=True)
        within = slack * (1 + 1e-6) + np.spacing(np.abs(values))
        return Placed(np.abs(values - near) <= within, spacings(values, name), slack)

    return place


def _of_decimals(count: int) -> Callable[[Floats, Floats], Placed]:
    def place(values: Floats, slack: Floats) -> Placed:  # what digits leave open is the grid itself
        return Placed(is_decimal(values, count), np.full(len(values), 10.0**-count), np.zeros(len(slack)))

    return place


@cache
def _fused_sums() -> NDArray[np.float64]:
    """[value] all sums of 1/(60 + rank) over one or two lists, ascending."""
    parts = 1.0 / (RRF + np.arange(1, RANKS + 1))
    return np.unique(np.concatenate([parts, (parts[:, None] + parts)[np.triu_indices(RANKS)]]))


def _of_fusion(values: Floats, slack: Floats) -> Placed:
    sums = _fused_sums()
    at = np.clip(np.searchsorted(sums, values), 1, len(sums) - 1)
    gap = np.minimum(np.abs(values - sums[at - 1]), np.abs(values - sums[at]))
    reach = 8  # values of the grid on each side whose mean distance is its spacing there
    low, high = np.maximum(at - reach, 0), np.minimum(at + reach, len(sums) - 1)
    spacing = (sums[high] - sums[low]) / (high - low)
    inside = (values <= sums[-1]) & (values >= sums[0])
    return Placed((gap <= slack + spacings(values, SINGLE.name)) & inside, spacing, slack)


def _of_logits(name: str) -> Callable[[Floats, Floats], Placed]:
    return lambda values, slack: _of_log_odds(
        values, slack, lambda odds: round_to(odds, name, saturate=True), lambda odds: spacings(odds, name)
    )


def _of_logit_steps(step: float) -> Callable[[Floats, Floats], Placed]:
    return lambda values, slack: _of_log_odds(
        values, slack, lambda odds: np.rint(odds / step) * step, lambda odds: np.full(len(odds), step)
    )


def _of_log_odds(
    values: Floats, slack: Floats, rounded: Callable[[Floats], Floats], spacing: Callable[[Floats], Floats]
) -> Placed:
    """Scores whose log-odds lie on a grid, as far as float32 and the digits tell."""
    inside = (values > 0) & (values < 1)
    safe = np.where(inside, values, 0.5)
    slope = safe * (1 - safe)
    odds = np.log(safe) - np.log1p(-safe)
    near = rounded(odds)
    off = np.abs(1 / (1 + np.exp(-near)) - safe)
    # Softmax and sigmoid in float32 are off by a few units; near 1 they are what float32 makes of 1 - tiny.
    within = slack + 4 * spacings(safe, SINGLE.name)
    steps = np.where(inside, spacing(odds) * slope, 0.0)
    ends = (values == 0) | (values == 1)
    return Placed((inside & (off <= within)) | ends, steps, within)


def codes_of(values: Floats, slack: Floats) -> Iterator[Grid]:
    """The grid of codes of few bits, if the scores are evenly spaced with few steps.

    Args:
        values: distinct scores, ascending.
        slack: [score] what their digits leave open.
    """
    largest = float(np.abs(values).max())
    error = float(slack.max()) + SINGLE.spacing(largest)
    gaps = np.diff(values)
    gaps = gaps[gaps > 4 * error]
    if not len(gaps) or len(values) > 1 << max(CODES):
        return
    start, step = float(values[0]), float(gaps.min())
    for _ in range(3):  # the step from the nearest scores, then from scores farther apart
        for reach in (4, 16, 64, 1 << max(CODES)):
            near = (values - start) <= reach * step
            places = np.rint((values[near] - start) / step)
            if places.max() > 0:
                step = float((places @ (values[near] - start)) / (places @ places))
    places = np.rint((values - start) / step)
    bits = next((bits for bits in CODES if places.max() < 1 << bits), None)
    if bits is None:
        return

    def place(scores: Floats, open_digits: Floats) -> Placed:
        at = np.rint((scores - start) / step)
        within = open_digits + 2 * SINGLE.spacing(largest)
        inside = (at >= 0) & (at < 1 << bits)
        return Placed((np.abs(start + at * step - scores) <= within) & inside, np.full(len(scores), step), within)

    yield Grid(f"int{bits} codes", "codes", place)
