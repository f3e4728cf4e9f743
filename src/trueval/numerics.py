"""Number formats, their resolution, and rounding to them."""

from __future__ import annotations

import difflib
import math
from functools import cache
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from trueval.errors import InputError, PolicyError
from trueval.plugins import load_plugins

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from numpy.typing import ArrayLike, NDArray


_CHUNK = 1 << 15  # values rounded at a time: a chunk and its scratch space fit in the second-level cache


class Format(NamedTuple):
    """A binary floating-point format.

    Args:
        name: name in NumPy, ml_dtypes and torch.
        exponent_bits: stored bits of the exponent.
        mantissa_bits: stored bits of the mantissa, without the leading one.
        largest: the largest finite value.
    """

    name: str
    exponent_bits: int
    mantissa_bits: int
    largest: float

    @property
    def lowest_exponent(self) -> int:
        """Exponent of the smallest normal value; below 2**lowest_exponent the spacing no longer shrinks."""
        return 2 - (1 << (self.exponent_bits - 1))

    @property
    def smallest(self) -> float:
        """The smallest positive value, a subnormal."""
        return math.ldexp(1.0, self.lowest_exponent - self.mantissa_bits)

    @property
    def reach(self) -> float:
        """Half a step past the largest value: anything beyond overflows.

        >>> FORMATS["float8_e4m3fn"].reach
        464.0
        """
        return self.largest + self.spacing(self.largest) / 2

    def spacing(self, value: float) -> float:
        """Return the distance from the format's value at or below |value| to the next larger one.

        >>> FORMATS["bfloat16"].spacing(0.75) == 2**-8
        True
        """
        return math.ldexp(1.0, self.exponent(value) - self.mantissa_bits)

    def exponent(self, value: float) -> int:
        """Return floor(log2 |value|), but at least the lowest exponent, which subnormals share.

        >>> FORMATS["float16"].exponent(0.3), FORMATS["float16"].exponent(0.0)
        (-2, -14)
        """
        return max(math.frexp(value)[1] - 1, self.lowest_exponent) if value else self.lowest_exponent


class FormatResolution(NamedTuple):
    """The resolution of a format between two bounds.

    Args:
        values: number of representable values strictly between the bounds.
        largest_gap: the largest distance between neighboring representable values there.
    """

    values: int
    largest_gap: float


_ALL = (
    Format("float64", 11, 52, float(np.finfo(np.float64).max)),
    Format("float32", 8, 23, (2 - 2**-23) * 2.0**127),
    Format("float16", 5, 10, 65504.0),
    Format("bfloat16", 8, 7, (2 - 2**-7) * 2.0**127),
    Format("float8_e4m3fn", 4, 3, 448.0),  # "fn": no infinity, the top exponent holds numbers and one NaN
    Format("float8_e5m2", 5, 2, 57344.0),
)
FORMATS: Mapping[str, Format] = MappingProxyType({known.name: known for known in _ALL})
"""Our number formats by name, finest first."""


@cache
def formats() -> Mapping[str, Format]:
    """Every number format by name, finest first: ours, and those that other packages add.

    A package adds one by an entry point of the group `trueval.formats`. Scores and stored vectors can then be rounded
    to it, and `trueval precision runs` looks for it in the scores of runs.

    Raises:
        PolicyError: a package adds what is no format, or none whose values float32 has.

    >>> list(formats())[:2]
    ['float64', 'float32']
    """
    added = load_plugins("trueval.formats", Format, FORMATS)
    single = FORMATS["float32"]
    for known in added.values():
        bits = known.exponent_bits, known.mantissa_bits
        fits = 2 <= bits[0] <= single.exponent_bits and 1 <= bits[1] < single.mantissa_bits
        if not (known.name.isidentifier() and fits and 0 < known.largest <= single.largest):
            raise PolicyError(
                f"The format {known.name!r} of another package must have a name of letters, digits and _, 2 to 8 bits "
                f"of exponent, 1 to 22 of mantissa and a largest value that float32 has. Got {bits[0]}, {bits[1]} and "
                f"{known.largest!r}. Mend or uninstall the package that brings it."
            )
    return MappingProxyType(dict(sorted({**FORMATS, **added}.items(), key=lambda each: -each[1].mantissa_bits)))


def find_format(name: str) -> Format:
    """Return the format of that name.

    Raises:
        PolicyError: the name is not in `formats()`; the nearest one is offered.

    >>> find_format("bfloat16").mantissa_bits
    7
    """
    if name in FORMATS:
        return FORMATS[name]
    known = formats()
    if name in known:
        return known[name]
    nearest = difflib.get_close_matches(name, known, n=1, cutoff=0.4)
    hint = f" Did you mean {nearest[0]!r}?" if nearest else ""
    raise PolicyError(f"A number format must be one of {', '.join(known)}. Got {name!r}.{hint}")


def spacings(values: NDArray[np.float64], name: str) -> NDArray[np.float64]:
    """Distance of each value to the next one in a format, like `Format.spacing` for arrays.

    Args:
        values: values of any shape.
        name: name in FORMATS.

    >>> spacings(np.array([0.75, 0.0]), "bfloat16").tolist() == [2**-8, 2**-133]
    True
    """
    known = find_format(name)
    exponents = np.where(values == 0, known.lowest_exponent, np.frexp(values)[1] - 1)
    found: NDArray[np.float64] = np.ldexp(1.0, np.maximum(exponents, known.lowest_exponent) - known.mantissa_bits)
    return found


def storage_dtype(name: str) -> np.dtype[Any]:
    """Return the NumPy dtype that stores a format: ml_dtypes gives those NumPy lacks, float32 holds added ones.

    >>> storage_dtype("bfloat16").itemsize
    2
    """
    known = find_format(name)
    if known.name in ("float64", "float32", "float16"):
        return np.dtype(known.name)
    if known.name not in FORMATS:
        return np.dtype("float32")
    import ml_dtypes

    stored: np.dtype[Any] = np.dtype(getattr(ml_dtypes, known.name))
    return stored


def round_to(values: ArrayLike, precision: str | float | None, *, saturate: bool = False) -> NDArray[np.float64]:
    """Round scores to a number format or to a grid, in one rounding from the source.

    Nearest value, halves to the even mantissa, subnormals kept (IEEE 754-2019 §4.3.1); infinities and NaN pass
    through. A grid of width w gives the index rint(s/w), so that equal means tied.

    Args:
        values: scores of any shape, float64 or narrower.
        precision: a name of `formats()`, a positive grid width, or None for as they are.
        saturate: overflow gives infinity instead of an error.

    Returns:
        The rounded values, or grid indexes, as float64. With None or "float64" this may be the array given.

    Raises:
        InputError: a finite value overflows the format, unless `saturate`.
        PolicyError: the format is unknown or the width is not a positive finite number.

    >>> round_to([0.998, 0.9985, 0.2], "bfloat16").tolist()
    [0.99609375, 1.0, 0.2001953125]
    >>> round_to([0.12, 0.13, 0.19], 0.1).tolist()
    [1.0, 1.0, 2.0]
    """
    source = np.asarray(values)
    if isinstance(precision, str):
        precision = find_format(precision).name
    elif precision is not None and not (math.isfinite(precision) and precision > 0):
        raise PolicyError(f"A grid width must be a positive finite number. Got {precision!r}.")
    if precision in (None, "float64"):
        return source.astype(np.float64, copy=False)
    rounded = np.empty(source.shape, np.float64)
    flat, target = source.reshape(-1), rounded.reshape(-1)
    for start in range(0, flat.size, _CHUNK):
        part = flat[start : start + _CHUNK].astype(np.float64)
        target[start : start + _CHUNK] = _round_part(part, precision, saturate)
    return rounded


def _round_part(part: NDArray[np.float64], precision: str | float, saturate: bool) -> NDArray[np.float64]:
    """Round one chunk; refuse what overflows, or make it infinite."""
    if isinstance(precision, str):
        known = find_format(precision)
        rounded, name, largest = _to_format(part, known), known.name, known.largest
    else:
        with np.errstate(over="ignore"):  # refused below, with the value
            rounded = np.rint(part / precision)  # a half goes to the even index
        name, largest = f"a grid of width {precision!r}", float(np.finfo(np.float64).max)
    lost = (np.abs(rounded) > largest) & np.isfinite(part)
    if lost.any() and saturate:
        rounded[lost] = np.copysign(np.inf, part[lost])
    elif lost.any():
        value = float(part[lost][0])
        raise InputError(
            f"The score {value!r} overflows {name}. A finite score must stay within ±{largest:g} there, "
            "or it would tie with others. Use a wider precision, or rescale the scores before they are rounded."
        )
    return rounded


def _to_format(part: NDArray[np.float64], target: Format) -> NDArray[np.float64]:
    """Round to nearest even on the bits of float64; a carry out of the mantissa correctly raises the exponent."""
    shift = 52 - target.mantissa_bits  # mantissa bits of float64 that the format lacks
    bits = part.view(np.int64)
    # Half a unit less one is added, and one more where the last kept bit is odd: so a half goes up to the even neighbor
    # or stays below it. The sign is a bit of its own, so magnitudes are rounded. A cast by way of float32 would round
    # twice, and a value just above a half of the format could first become that half and then go down.
    rounded = (bits + ((bits >> shift) & 1) + ((1 << (shift - 1)) - 1)) & -(1 << shift)
    result = rounded.view(np.float64)
    # Subnormals have fewer bits than the mantissa: they are multiples of the smallest one. It is a power of
    # two, so the division is exact.
    below_normal = np.abs(part) < math.ldexp(1.0, target.lowest_exponent)
    if below_normal.any():
        result[below_normal] = np.rint(part[below_normal] / target.smallest) * target.smallest
    missing = np.isnan(part)
    if missing.any():  # the carry could turn the bits of a NaN into those of a number
        result[missing] = np.nan
    return result


class RoundingInterval(NamedTuple):
    """Bounds of values that round to the same value."""

    low: NDArray[Any]
    high: NDArray[Any]


def rounding_interval(
    values: NDArray[np.generic], rounded: Callable[[NDArray[Any]], NDArray[np.float64]]
) -> RoundingInterval:
    """Return, for each value, the lowest and highest value of its own format that rounds to the same result.

    Rounding keeps order, so a score rounds to the same result as a value if and only if it lies within these bounds:
    two comparisons replace rounding the score.

    Args:
        values: [value] float32 or float64, no NaN.
        rounded: the rounding; it must keep order and not raise errors.

    >>> found = rounding_interval(np.array([1.0], np.float32), lambda x: round_to(x, "bfloat16"))
    >>> (found.low[0], found.high[0]) == (1 - 2**-9, 1 + 2**-8)
    True
    """
    wanted, own = rounded(values), _keys(values)
    neighbors = (rounded(np.nextafter(values, values.dtype.type(end))) for end in (-np.inf, np.inf))
    if all((neighbor != wanted).all() for neighbor in neighbors):  # nothing is rounded
        return RoundingInterval(values, values)
    ends = _keys(np.array([-np.inf, np.inf], values.dtype)).tolist()
    bounds = []
    for end, inside in ((ends[0] - 1, np.greater_equal), (ends[1] + 1, np.less_equal)):
        outer, inner = np.full_like(own, end), own
        # Bisect between a value that rounds to the same and one beyond, until they are adjacent.
        for _ in range(8 * values.dtype.itemsize + 1):
            middle = (outer >> 1) + (inner >> 1) + (outer & inner & 1)
            with np.errstate(invalid="ignore"):  # beyond infinity there is only NaN, which is not inside
                same = inside(rounded(_of_keys(middle, values.dtype)), wanted)
            outer, inner = np.where(same, outer, middle), np.where(same, middle, inner)
        bounds.append(_of_keys(inner, values.dtype))
    return RoundingInterval(*bounds)


def _keys(values: NDArray[np.generic]) -> NDArray[np.int64]:
    """Integers in the order of the floating-point values; neighboring values differ by 1."""
    bits = values.view(f"i{values.dtype.itemsize}").astype(np.int64)
    return np.where(bits < 0, np.iinfo(f"i{values.dtype.itemsize}").min - bits - 1, bits)


def _of_keys(keys: NDArray[np.int64], dtype: np.dtype[np.generic]) -> NDArray[Any]:
    """The values with these keys."""
    integer = np.dtype(f"i{dtype.itemsize}")
    return np.where(keys < 0, np.iinfo(integer).min - keys - 1, keys).astype(integer).view(dtype)


def resolution(format: str, low: float = 0.0, high: float = 1.0) -> FormatResolution:
    """Return the resolution of a format strictly between two bounds.

    The default bounds are those of softmax and sigmoid scores (P-A Appendix A).

    Raises:
        InputError: the bounds are not finite and increasing.

    >>> resolution("bfloat16")
    FormatResolution(values=16255, largest_gap=0.00390625)
    >>> resolution("bfloat16", 0.5, 1.0).values
    127
    """
    if not (math.isfinite(low) and math.isfinite(high) and low < high):
        raise InputError(f"The bounds of a resolution must be finite, low < high. Got {low!r} and {high!r}.")
    known = find_format(format)
    most = _place(known, known.largest)[0]
    first = max(_place(known, low)[0] + 1, -most)
    last = min(_place(known, high)[1] - 1, most)
    # Gaps grow away from zero, so the largest is at the value of the place farthest from it. Places count through
    # octaves of 2**mantissa_bits values; the subnormals come before the first, with its spacing.
    octave = max(max(abs(first), abs(last)) >> known.mantissa_bits, 1)
    steps = max(abs(first), abs(last)) - ((octave - 1) << known.mantissa_bits)
    farthest = math.ldexp(steps, octave - 1 + known.lowest_exponent - known.mantissa_bits)
    return FormatResolution(max(0, last - first + 1), known.spacing(farthest) if last > first else high - low)


def _place(target: Format, value: float) -> tuple[int, int]:
    """Return the indices, counted from zero in representable values, of those at or below and at or above a value."""
    exponent = target.exponent(value)
    steps = math.ldexp(abs(value), target.mantissa_bits - exponent)
    base = (exponent - target.lowest_exponent) << target.mantissa_bits
    down, up = base + math.floor(steps), base + math.ceil(steps)
    return (down, up) if value >= 0 else (-up, -down)


def distinct(values: NDArray[np.int64]) -> NDArray[np.int64]:
    """The distinct values of an array, ascending, as `np.unique` returns them.

    Since NumPy 2.3 `np.unique` hashes integers, which takes some 60 times as long where most of them differ.

    Args:
        values: integers of any shape.

    >>> distinct(np.array([3, 1, 3])).tolist()
    [1, 3]
    """
    ordered = np.sort(values)
    found: NDArray[np.int64] = ordered[np.append(True, ordered[1:] != ordered[:-1])[: len(ordered)]]
    return found


def or_null(value: float) -> float | None:
    """A number for JSON, with None for NaN, which JSON lacks and readers in other languages refuse.

    >>> or_null(0.5), or_null(math.nan)
    (0.5, None)
    """
    return None if math.isnan(value) else value


def nulls(value: object) -> Any:
    """A JSON value with null for every NaN in it, at any depth.

    Args:
        value: nested objects, lists, texts and numbers.

    >>> nulls({"a": [0.5, math.nan], "b": {"c": math.nan}})
    {'a': [0.5, None], 'b': {'c': None}}
    """
    if isinstance(value, dict):
        return {name: nulls(each) for name, each in value.items()}
    if isinstance(value, list):
        return [nulls(each) for each in value]
    return None if isinstance(value, float) and math.isnan(value) else value
