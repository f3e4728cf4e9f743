"""The compiled counts: those of comparisons one by one, for any score, and nothing written outside its memory."""

from __future__ import annotations

import shutil
import sysconfig
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.examples import examples
from tests.standings.corpus.test_corpus_counting import COLUMNS, Table, world

from trueval.policy.policy import Policy
from trueval.standings.counting import count
from trueval.standings.kernel import passing

HEADER = Path(sysconfig.get_paths()["include"], "Python.h")
CAN_COMPILE = shutil.which((sysconfig.get_config_var("CC") or "cc").split()[0]) is not None and HEADER.exists()
TINY, SMALLEST = np.finfo(np.float32).tiny, np.float32(1e-45)
VALUES = np.array([-np.inf, -3, -1, -TINY, -SMALLEST, -0.0, 0.0, SMALLEST, TINY, 1, 1 + 2**-23, 3, np.inf, np.nan])


def test_the_kernel_is_there_where_it_could_be_compiled() -> None:
    if not CAN_COMPILE or sysconfig.get_config_var("Py_GIL_DISABLED"):
        pytest.skip("no compiler, no headers of Python or no lock, so the kernel may be absent")
    assert passing.is_compiled, "Compile the kernel: pip install -e ."


needs_kernel = pytest.mark.skipif(not passing.is_compiled, reason="the kernel was not compiled")


def intervals(rng: np.random.Generator, rows: int, bounds: int, dtype: str) -> tuple[Any, Any]:
    """Ascending intervals that are the same or do not overlap, as those of judged scores; some hold one number."""
    ends = np.sort(rng.choice(np.append(VALUES[:-1], rng.normal(0, 2, 2 * bounds)), (rows, bounds, 2)), axis=2)
    ends = np.sort(ends.reshape(rows, -1), axis=1).reshape(ends.shape).astype(dtype)
    twice = rng.random((rows, bounds)) < 0.3
    for bound in range(1, bounds):
        ends[twice[:, bound], bound] = ends[twice[:, bound], bound - 1]
    return ends[:, :, 0].copy(), ends[:, :, 1].copy()


@needs_kernel
@given(
    st.integers(0, 2**32 - 1),
    st.sampled_from(["float32", "float64"]),
    st.sampled_from([1, 3, 31, 32, 33, 64, 100, 512, 550, 1100]),
    st.sampled_from([1, 2, 5, 63, 64, 65, 130]),
)
@examples(200)
def test_counts_are_those_of_comparisons(seed: int, dtype: str, columns: int, bounds: int) -> None:
    """Widths that fill no block or chunk, scores that mostly pass and rarely, few bounds and many, equal ones, NaN."""
    rng = np.random.default_rng(seed)
    drawn = [rng.choice(VALUES, (5, columns)), rng.normal(0, 2, (5, columns)), rng.normal(-9, 3, (3, columns))]
    wide = np.concatenate(drawn).astype(dtype)
    scores = rng.permutation(np.append(wide, wide, axis=1), axis=1)[::-1, :columns]
    low, high = intervals(rng, len(scores), bounds, dtype)
    at_least, above = passing.count_passing(scores, low, high)
    assert np.array_equal(at_least, (scores[:, :, None] >= low[:, None]).sum(axis=1))
    assert np.array_equal(above, (scores[:, :, None] > high[:, None]).sum(axis=1))


@needs_kernel
def test_columns_may_be_anywhere() -> None:
    scores = np.arange(12, dtype=np.float32).reshape(4, 3).T
    bounds = np.full((3, 1), 4, np.float32)
    assert passing.count_passing(scores, bounds, bounds)[0].ravel().tolist() == [2, 3, 3]


@needs_kernel
@pytest.mark.parametrize("order", ["docid-asc", "random"])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(("judged", "width", "precision"), [(1, 13, None), (6, 3, 0.1), (20, 33, None), (70, 90, None)])
def test_standings_are_the_same_without_it(
    judged: int, width: int, precision: float | None, dtype: str, order: str
) -> None:
    """A tie precision refuses what is infinite."""
    rng = np.random.default_rng(judged)
    table, judgments = world(queries=5, documents=90, judged=judged)
    values = VALUES[:-1] if precision is None else VALUES[1:-2]
    scores = np.where(rng.random(table.scores.shape) < 0.5, rng.choice(values, table.scores.shape), table.scores)
    source = Table(scores.astype(dtype), format=dtype, width=width)
    policy = Policy(tie_order=order, tie_precision=precision)
    with patch.object(passing, "is_compiled", False):
        expected = count(source, judgments, policy)
    found = count(source, judgments, policy)
    assert all(np.array_equal(getattr(found, name), getattr(expected, name)) for name in COLUMNS)
    assert expected.tied.max() > 1


def memory(dtype: str = "float32", rows: int = 2, columns: int = 40, bounds: int = 3) -> dict[str, Any]:
    matrix = np.zeros((rows, bounds), dtype)
    counts = {name: np.zeros((rows, bounds), np.int64) for name in ("at_least", "above")}
    return {"scores": np.ones((rows, columns), dtype), "low": matrix, "high": matrix.copy(), **counts}


def crooked(matrix: Any) -> Any:
    """The same at an odd address."""
    held = np.zeros(matrix.nbytes + 1, np.uint8)[1:].view(matrix.dtype).reshape(matrix.shape)
    held[:] = matrix
    return held


@needs_kernel
@pytest.mark.parametrize("name", ["scores", "low", "high", "at_least", "above"])
@pytest.mark.parametrize(
    "change",
    [
        crooked,
        lambda matrix: matrix[1:],
        lambda matrix: matrix[:, :0],
        lambda matrix: matrix.ravel(),
        lambda matrix: matrix[None],
        lambda matrix: np.repeat(matrix, 2, axis=1)[:, ::2],
        lambda matrix: matrix[:, ::-1],
        lambda matrix: matrix.astype(matrix.dtype.newbyteorder()),
        lambda matrix: matrix.astype("int32"),
        lambda matrix: matrix.astype("float16"),
        lambda matrix: matrix.astype("float64"),
        lambda matrix: matrix.astype("complex64"),
        lambda matrix: matrix.tobytes(),
        lambda matrix: matrix.tolist(),
        lambda matrix: None,
    ],
)
def test_memory_of_anything_else_is_refused(name: str, change: Any) -> None:
    given = memory()
    with pytest.raises((TypeError, ValueError, BufferError)):
        passing._passing.count(*(given | {name: change(given[name])}).values())
    passing._passing.count(*given.values())
    assert given["at_least"].tolist() == [[40] * 3] * 2


@needs_kernel
@pytest.mark.parametrize("name", ["low", "high", "at_least", "above"])
def test_bounds_and_counts_have_one_shape_and_no_space_between_rows(name: str) -> None:
    given = memory()
    for other in (np.zeros((2, 4), given[name].dtype), np.zeros((2, 4), given[name].dtype)[:, :3]):
        with pytest.raises(ValueError, match="shape"):
            passing._passing.count(*(given | {name: other}).values())


@needs_kernel
@pytest.mark.parametrize("name", ["at_least", "above"])
def test_memory_that_must_not_be_written_is_refused(name: str) -> None:
    given = memory()
    given[name].flags.writeable = False
    with pytest.raises((TypeError, ValueError, BufferError)):
        passing._passing.count(*given.values())


@needs_kernel
@given(st.integers(0, 2**32 - 1), st.sampled_from([1, 2, 64, 65, 67, 200]))
@examples(200)
def test_bounds_in_no_order_stay_within_memory(seed: int, bounds: int) -> None:
    """Their counts say nothing, but what lies around them is as it was."""
    rng = np.random.default_rng(seed)
    given = memory(rows=3, bounds=bounds)
    held = np.full((2, 5, bounds), 7)
    for name, around in zip(("at_least", "above"), held, strict=True):
        given[name] = around[1:-1]
    for name in ("scores", "low", "high"):
        given[name] = rng.choice(VALUES, given[name].shape).astype(np.float32)
    passing._passing.count(*given.values())
    assert (held[:, [0, -1]] == 7).all()
    assert (held[:, 1:-1] <= given["scores"].shape[1] * bounds).all()
