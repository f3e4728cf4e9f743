"""Numbers of an array, a tensor or a list as float64; what is something else, or cannot be one exactly, is refused."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trueval.errors import InputError
from trueval.files.columns import CURE, EXACT, has_large

NO_NUMBERS = (
    str, bytes, complex, np.complexfloating, np.datetime64, np.timedelta64,
    dt.date, dt.time, dt.timedelta,
)  # fmt: skip


def plain_numbers(values: object, name: str) -> NDArray[np.float64]:
    """Float64 of an array, tensor or list; None becomes NaN, as frames have it, and so does what an array masks.

    Args:
        values: numbers, in one dimension or two.
        name: what errors call them.

    Raises:
        InputError: a value is not a real number, or two different integers of a list are the same double.

    >>> plain_numbers([1, None], "scores").tolist()
    [1.0, nan]
    """
    held = plain_array(values, name)
    # Objects are converted by their own library: pandas knows its missing values.
    source = held if held.dtype.kind != "O" or hasattr(values, "detach") else values
    try:
        numbers = np.asarray(source, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        raise _no_numbers(values, name) from None
    as_given = isinstance(values, list | tuple)  # NumPy reads integers next to a float as floats
    if (as_given or held.dtype.kind != "f") and has_large(numbers.ravel()):
        _refuse_equal_integers(values if as_given else held, numbers, name)
    hidden = find_mask(values)
    return numbers if hidden is None else np.where(hidden, np.nan, numbers)


def plain_array(values: object, name: str) -> NDArray[Any]:
    """A NumPy array of real numbers, from any kind of array.

    Raises:
        InputError: a value is not a real number, or a tensor is one that NumPy cannot hold.
    """
    if hasattr(values, "detach"):
        return _of_tensor(values, name)
    try:
        held = np.asarray(values)
    except (TypeError, ValueError):
        raise _no_numbers(values, name) from None
    # ml_dtypes registers its formats with kind "V", as are structured arrays.
    if held.size and held.dtype.kind not in "fiubO" and "float" not in held.dtype.name:
        raise _no_numbers(values, name, held.dtype)
    if held.dtype.kind == "O" and any(isinstance(value, NO_NUMBERS) for value in held.flat):
        raise _no_numbers(values, name)
    return held


def find_mask(values: object) -> NDArray[np.bool_] | None:
    """Which values a masked array masks; None where it is no such array, or masks nothing.

    >>> find_mask(np.ma.masked_equal([1.0, -1.0], -1.0)).tolist()
    [False, True]
    """
    if not isinstance(values, np.ma.MaskedArray) or values.mask is np.ma.nomask:
        return None
    return np.ma.getmaskarray(values)


def _of_tensor(values: Any, name: str) -> NDArray[Any]:
    """A tensor as a NumPy array; bfloat16, which NumPy lacks, as float32, which represents all its values."""
    try:
        values = values.detach().cpu()
        values = values.float() if "bfloat16" in str(values.dtype) else values
        held = np.asarray(values.numpy())
    except (TypeError, RuntimeError, NotImplementedError) as error:  # float8, sparse, conjugate, quantized, meta
        raise InputError(
            f"{name} must be a dense tensor of real numbers. Got {values.dtype} with layout {values.layout}, which "
            f"NumPy cannot hold: {str(error).splitlines()[0]} Convert it: .float(), .to_dense(), .real."
        ) from None
    if held.size and held.dtype.kind not in "fiub":
        raise _no_numbers(values, name, held.dtype)
    return held


def _no_numbers(values: object, name: str, dtype: object = None) -> InputError:
    got = repr(values)
    got = got if len(got) <= 60 else got[:57] + "..."
    kind = "" if dtype is None else f"{dtype}: "
    return InputError(f"{name} must hold real numbers, one list per query. Got {kind}{got}. Convert them.")


def _refuse_equal_integers(values: Any, numbers: NDArray[np.float64], name: str) -> None:
    """Refuse integers of one list that differ and are the same double; a matrix has a list in each row."""
    if numbers.ndim != 1:
        for row, floats in zip(values, numbers, strict=True):
            if has_large(floats.ravel()):
                _refuse_equal_integers(row, floats, name)
        return
    exact: dict[float, int] = {}
    for at in np.flatnonzero(np.isfinite(numbers) & (np.abs(numbers) >= EXACT)).tolist():
        value = values[at]
        integer = int(value) if not isinstance(value, Decimal) or value == int(value) else int(numbers[at])
        other = exact.setdefault(float(numbers[at]), integer)
        if other != integer:
            raise InputError(
                f"{integer} and {other} in one list of {name} are the same double, for integers beyond 2^53 are "
                f"rounded, and would tie. {CURE}"
            )
