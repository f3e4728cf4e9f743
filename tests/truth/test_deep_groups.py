"""Tie groups far down the list, where all ranks weigh nearly the same: no digit of mean and deviation is lost."""

from __future__ import annotations

from decimal import Context, Decimal, localcontext
from itertools import combinations
from math import fsum

import numpy as np
import pytest

from trueval.evaluation.arrays import evaluate_arrays

DEEP = [(0, 2), (1000, 2), (1000, 10), (100_000, 2), (100_000, 1000), (1_000_000, 2), (1_000_000, 10)]
DEEPER = [(0, 1000), (0, 100_000), (1_000_000, 100_000), (10_000_000, 2), (10_000_000, 1000)]


def deep(above: int, tied: int, relevant: int, measures: list[str]) -> object:
    """One list with single documents above a group whose first documents are relevant."""
    scores = np.concatenate((np.arange(above, 0, -1.0) + 1, np.zeros(tied)))
    grades = np.full(above + tied, np.nan)
    grades[above : above + relevant] = 1
    return evaluate_arrays([scores], [grades], measures)


def moments_of_one(values: list[Decimal]) -> tuple[float, float]:
    """Mean and standard deviation of a value at a rank that is any with equal chance."""
    mean = sum(values) / len(values)
    return float(mean), float((sum((value - mean) ** 2 for value in values) / len(values)).sqrt())


@pytest.mark.parametrize(("above", "tied"), DEEP)
@pytest.mark.parametrize("last", [None, 1])
def test_one_relevant_document(above: int, tied: int, last: int | None) -> None:
    """Against 40 digits; also where the cutoff leaves all but one rank of the group out."""
    with localcontext(Context(prec=40)):
        ranks = [Decimal(above + t) for t in range(1, tied + 1)]
        keep = [1 if last is None or t < last else 0 for t in range(tied)]
        log = [k * Decimal(2).ln() / (r + 1).ln() for k, r in zip(keep, ranks, strict=True)]
        share = [k / r for k, r in zip(keep, ranks, strict=True)]
        wanted = [moments_of_one(values) for values in (log, share, share)]
    cut = "" if last is None else f"@{above + last}"
    found = deep(above, tied, 1, [f"{name}{cut}" for name in ("nDCG", "RR", "AP")])
    np.testing.assert_allclose(found.expected[0], [mean for mean, _ in wanted], rtol=1e-12)
    np.testing.assert_allclose(found.sd[0], [sd for _, sd in wanted], rtol=1e-11)
    assert (found.lowest <= found.expected).all()
    assert (found.expected <= found.highest).all()


@pytest.mark.parametrize("above", [0, 1000, 100_000, 1_000_000])
@pytest.mark.parametrize("last", [5, 3, 2])
@pytest.mark.parametrize("relevant", [2, 4])
def test_average_precision_of_several(above: int, last: int, relevant: int) -> None:
    """Five tied documents, all places of the relevant ones, with and without a cutoff inside the group."""
    with localcontext(Context(prec=40)):
        sums = [
            sum(Decimal(i + 1) / (above + t + 1) for i, t in enumerate(places) if t < last) / Decimal(relevant)
            for places in combinations(range(5), relevant)
        ]
        mean, sd = moments_of_one(sums)
    found = deep(above, 5, relevant, [f"AP@{above + last}"])
    assert found.expected[0, 0] == pytest.approx(mean, rel=1e-13, abs=0)
    assert found.sd[0, 0] == pytest.approx(sd, rel=1e-12, abs=0)


def test_gain_that_stands_above_hides_no_deviation() -> None:
    """A relevant document first, so that the range of the query is known to fewer digits than its deviation."""
    above = 100_000
    scores, grades = np.concatenate((np.arange(above, 0, -1.0) + 1, [0, 0])), np.full(above + 2, np.nan)
    grades[[0, above]] = 1
    found = evaluate_arrays([scores], [grades], ["RR", "AP"])
    assert found.sd[0, 0] == 0
    assert found.sd[0, 1] == pytest.approx(fsum((1 / (above + 1), -1 / (above + 2))) / 2, rel=1e-9, abs=0)


def of_weights(weights: np.ndarray, tied: int) -> tuple[float, float]:
    """Mean and standard deviation of the weight of a rank, where the ranks that are not given weigh 0; exact sums.

    From the differences to the first weight: squares that are added to 1 would lose theirs.
    """
    lost = (weights[0] - weights).tolist()
    mean_lost = fsum((*lost, (tied - len(lost)) * float(weights[0]))) / tied
    squares = fsum([(each - mean_lost) ** 2 for each in lost]) + (tied - len(lost)) * (weights[0] - mean_lost) ** 2
    return float(weights[0]) - mean_lost, float(np.sqrt(squares / tied))


@pytest.mark.parametrize("cut", [False, True])
@pytest.mark.parametrize(("above", "tied"), [*DEEP, *DEEPER])
def test_one_relevant_document_in_every_measure(above: int, tied: int, cut: bool) -> None:
    """One document that gains anywhere in a group: each measure is the weight of its rank, over a norm.

    In long doubles, whose 64 bits leave 11 more than a weight needs; a log of ranks that are near comes from log1p.
    """
    last = above + (tied + 1) // 2 if cut else above + tied
    ranks = np.arange(above + 1, last + 1)
    first, offset = np.longdouble(above + 1), (ranks - above - 1).astype(np.longdouble)
    share = np.longdouble(1) / ranks
    log = np.log(np.longdouble(2)) / (np.log1p(offset / (first + 1)) + np.log(first + 1))
    one = np.ones(len(ranks), dtype=np.longdouble)
    # Near 1 deep down the list, where another would leave no weight.
    p = above / (above + 1)
    rbp = (1 - np.longdouble(p)) * np.longdouble(p) ** (ranks - 1)
    wanted = {
        "DCG": log, "nDCG": log, "RR": share, "AP": share, "ERR(gmax=4)": share / 16,
        "P": one / last, "R": one, f"RBP(p={p!r})": rbp, "Judged": one / last,
    }  # fmt: skip
    names = list(wanted)
    found = deep(above, tied, 1, [f"{name}@{last}" for name in names])
    for column, name in enumerate(names):
        mean, sd = (float(each) for each in of_weights(wanted[name], tied))
        np.testing.assert_allclose(found.expected[0, column], mean, rtol=1e-11, err_msg=name)
        if np.isnan(found.sd[0, column]):
            assert name.startswith("ERR")
            assert last - above > 4096
        else:
            np.testing.assert_allclose(found.sd[0, column], sd, rtol=1e-8, atol=1e-300, err_msg=name)
