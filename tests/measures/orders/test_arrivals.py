"""Sums over pairs of ranks from times of arrival, against the walk over documents and against all orders."""

from __future__ import annotations

import itertools
import subprocess
import sys
from fractions import Fraction
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from trueval.evaluation.arrays import evaluate_arrays
from trueval.evaluation.evaluate import evaluate
from trueval.judgments import Judgments
from trueval.measures import cascade, diversity
from trueval.measures.orders.arrivals import ArrivalKinds, PairSums, few_chances
from trueval.measures.orders.survival import GroupTakers, expected_products, expected_totals, falls, horizon
from trueval.run import Run


def of_walk(tied: int, first: np.ndarray, second: np.ndarray, steps: np.ndarray) -> float:
    one, other = (GroupTakers(each[None], 1 - each[None], np.array([len(each)])) for each in (first, second))
    joint = expected_products(np.array([tied]), one, other, len(steps) - 1)
    pairs = [(s, t) for t in range(len(steps)) for s in range(t + 1)]
    return float(sum(steps[s] * steps[t] * joint[0, s, t - s] / (2 if s == t else 1) for s, t in pairs))


@pytest.mark.parametrize("keep", [Fraction(1, 2), Fraction(0), Fraction(19, 20)])
def test_seven_documents_of_two_facets_in_exact_fractions(keep: Fraction) -> None:
    """Two documents about the first facet, one about the second, one about both, three about neither."""
    tied, kinds = 7, [(1, 0), (1, 0), (0, 1), (1, 1), (0, 0), (0, 0), (0, 0)]
    steps = [Fraction(0), *(Fraction(1, rank * (rank + 1)) for rank in range(1, tied)), Fraction(1, tied)]
    total = Fraction(0)
    orders = sorted(set(itertools.permutations(kinds)))  # each of them as often as any other
    for order in orders:
        c = [[1 - keep ** sum(about[facet] for about in order[:t]) for t in range(tied + 1)] for facet in (0, 1)]
        for s, t in itertools.combinations_with_replacement(range(tied + 1), 2):
            total += steps[s] * steps[t] * c[0][s] * c[1][t] / (2 if s == t else 1)
    sums = PairSums.of(tied, np.array([float(step) for step in steps]), 1.0)
    share = float(1 - keep)
    found = sums.sum(ArrivalKinds(np.array([share, 0, share]), np.array([0, share, share]), np.array([2.0, 1.0, 1.0])))
    assert found.total == pytest.approx(float(total / len(orders)), rel=1e-12)
    assert found.doubt < 1e-10 * found.total


@pytest.mark.parametrize(
    ("tied", "takers", "low", "high", "ranks"),
    [
        (300, 30, 0.05, 0.9, 300),
        (300, 300, 0.01, 0.1, 200),
        (300, 60, 1e-9, 1e-8, 300),
        (300, 60, 0.3, 1.0, 150),
        (150, 1, 0.5, 0.5, 7),
    ],
)
def test_what_the_walk_over_documents_says(tied: int, takers: int, low: float, high: float, ranks: int) -> None:
    """Many documents or few, that take nearly nothing, or all that is left; two quantities that differ."""
    rng = np.random.default_rng(tied + takers)
    first, second = rng.uniform(low, high, (2, takers))
    weights = 1 / np.arange(1.0, ranks + 1)
    steps = falls(weights[None])[0]
    taken = float(max((each * (2 - each)).sum() for each in (first, second))) / tied
    found = PairSums.of(tied, steps, taken).sum(ArrivalKinds(first, second, np.ones(takers)))
    true = of_walk(tied, first, second, steps)
    assert found.total == pytest.approx(true, rel=1e-11)
    assert abs(found.total - true) < 10 * found.doubt + 1e-14 * true


def test_few_chances_take_as_much_together_as_the_many_that_they_stand_for() -> None:
    rng = np.random.default_rng(4)
    chances = np.concatenate((rng.random(500), 1 - 2.0 ** -rng.uniform(1, 40, 300), rng.random(100) * 1e-6))
    few, number = few_chances(chances)
    assert len(few) < 400
    assert number.sum() == pytest.approx(len(chances), rel=1e-12)
    for u, v in ((0.9999, 0.99999), (0.2, 0.7), (1e-6, 1e-5)):
        one, other = (
            ArrivalKinds(each, each, count).joint(np.array([u]), np.array([v]))
            for each, count in ((chances, np.ones(len(chances))), (few, number))
        )
        np.testing.assert_allclose(other, one, rtol=1e-11)


def test_nothing_is_left_past_the_horizon() -> None:
    """The mean square of what is left, exactly, of 400 documents that tie."""
    rng = np.random.default_rng(6)
    factor = 1 - rng.choice([0, 0.5, 0.9], 400)
    ranks = int(horizon(np.array([1 - (factor**2).mean()]))[0])
    assert ranks < 400
    left = np.zeros(401)
    left[0] = 1
    for n, square in enumerate(factor**2):
        t = np.arange(n + 2)
        left[: n + 2] = (1 - t / (n + 1)) * left[: n + 2] + t / (n + 1) * square * np.append(0, left[: n + 1])
    assert left[ranks] < 2.0**-128 < left[ranks // 3]


GRADES = {
    "graded": lambda rng, n: rng.integers(0, 5, n) * 1.0,
    "distinct": lambda rng, n: rng.random(n) * 4,
    "rare": lambda rng, n: np.where(rng.random(n) < 0.05, rng.integers(1, 5, n), np.nan),
    "small": lambda rng, n: rng.random(n) * 1e-200,
    "low": lambda rng, n: rng.integers(1, 3, n) * 1.0,
}


@pytest.mark.parametrize("above", [0, 5000])
@pytest.mark.parametrize("name", GRADES)
def test_err_of_long_groups_is_that_of_a_walk(name: str, above: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """A group of 220 documents, cut or not at the head of a list, whole under many single ones.

    A cut far down is left to the walk: nearly all that such a group adds is the same in every order.
    """
    rng = np.random.default_rng(above + 1)
    grades = np.concatenate((np.full(above, np.nan), GRADES[name](rng, 220)))
    scores = np.concatenate((np.arange(above, 0, -1.0), np.zeros(220)))
    measures = ["ERR"] if above else ["ERR", "ERR@100"]
    with monkeypatch.context() as patch:
        patch.setattr(cascade, "LONG", 1 << 62)
        patch.setattr(cascade, "horizon", lambda taken: np.full(len(taken), 1 << 40))
        walked = evaluate_arrays([scores], [grades], measures)
    monkeypatch.setattr(cascade, "LONG", 0)
    monkeypatch.setattr(cascade, "MOST_CELLS", 0)
    found = evaluate_arrays([scores], [grades], measures)
    np.testing.assert_allclose(found.expected, walked.expected, rtol=1e-13)
    np.testing.assert_allclose(found.sd, walked.sd, rtol=1e-9)
    assert (found.sd > 0).all()


# --- 10,000 documents that tie ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["distinct", "rare"])
def test_ten_thousand_tied_documents_take_few_steps(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Steps are cells of arrays: of the walk for the mean, of times and kinds for the deviation; none by pairs."""
    steps = []
    monkeypatch.setattr(cascade, "second_moments", lambda *_: pytest.fail("pairs of counts are walked"))
    monkeypatch.setattr(
        cascade, "expected_totals", lambda m, t, w: steps.append(t.taken.size * (w + 1)) or expected_totals(m, t, w)
    )
    joint = ArrivalKinds.joint
    monkeypatch.setattr(ArrivalKinds, "joint", lambda k, u, v: steps.append(len(k.first) * u.size) or joint(k, u, v))
    found = evaluate_arrays([np.zeros(10_000)], [GRADES[name](np.random.default_rng(2), 10_000)], "ERR")
    assert found.exact == (True,)
    assert found.sd[0, 0] > 0
    assert len(steps) == 2
    assert sum(steps) < 1e8


def test_a_long_group_whose_digits_are_in_doubt_has_no_deviation() -> None:
    """Grades so near each other that nearly all of the second moment is the mean: null, and the mean is still right."""
    grades = 1 + 1e-9 * np.random.default_rng(0).random(2000)
    found = evaluate_arrays([np.zeros(2000)], [grades], "ERR")
    assert np.isnan(found.sd[0, 0])
    assert found.lowest[0, 0] < found.expected[0, 0] < found.highest[0, 0]


def test_a_group_that_no_reader_gets_to_hides_no_deviation() -> None:
    """Forty documents of grade 4 and 3 above: one in 10^40 readers gets past them to the group of the test before."""
    grades = np.concatenate((np.full(40, 4.0), [3.0, 4.0], 1 + 1e-9 * np.random.default_rng(0).random(2000)))
    scores = np.concatenate((np.full(42, 1.0), np.zeros(2000)))
    found = evaluate_arrays([scores, scores[:42]], [grades, grades[:42]], "ERR")
    assert found.sd[0, 0] == pytest.approx(found.sd[1, 0], rel=1e-13)


# --- facets -----------------------------------------------------------------------------------------------------------


def with_facets(documents: int, share: float, rng: np.random.Generator) -> tuple[Run, Judgments]:
    """One query whose documents tie, each about each of ten facets with the same chance."""
    document, facet = np.nonzero(rng.random((documents, 10)) < share)
    names = np.array([f"d{number:05}" for number in range(documents)])
    frame = {"query_id": "q", "facet": facet.astype(str), "doc_id": names[document], "grade": 1.0}
    return Run.from_dict({"q": dict.fromkeys(names.tolist(), 1.0)}), Judgments.from_frame(
        pl.DataFrame(frame), facets=True
    )


@pytest.mark.parametrize(("measure", "share"), [("alpha_nDCG", 0.02), ("alpha_nDCG@1000", 0.3), ("NRBP", 0.3)])
def test_ten_thousand_documents_about_ten_facets_take_few_steps(
    measure: str, share: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    steps = []
    monkeypatch.setattr(diversity, "covariances", lambda *_: pytest.fail("pairs of facets are walked"))
    joint = ArrivalKinds.joint
    monkeypatch.setattr(ArrivalKinds, "joint", lambda k, u, v: steps.append(len(k.first) * u.size) or joint(k, u, v))
    found = evaluate(*with_facets(10_000, share, np.random.default_rng(2)), measure)
    assert found.sd[0, 0] > 0
    assert len(steps) == 90
    assert sum(steps) < 5e7


def test_two_facets_of_many_documents_vary_as_in_sampled_orders() -> None:
    """500 documents, a third about one facet, a tenth about another, some about both."""
    rng = np.random.default_rng(3)
    about = rng.random((500, 2)) < (0.33, 0.1)
    document, facet = np.nonzero(about)
    names = np.array([f"d{number:05}" for number in range(500)])
    rows = {"query_id": "q", "facet": facet.astype(str), "doc_id": names[document], "grade": 1.0}
    judgments = Judgments.from_frame(pl.DataFrame(rows), facets=True)
    found = evaluate(Run.from_dict({"q": dict.fromkeys(names.tolist(), 1.0)}), judgments, "NRBP(beta=0.95)")
    orders = about[rng.permuted(np.tile(np.arange(500), (4000, 1)), axis=1)]
    before = np.cumsum(orders, axis=1) - orders
    values = (1 - 0.475) / 2 * ((orders * 0.5**before).sum(axis=2) @ 0.95 ** np.arange(500.0))
    assert abs(values.mean() - found.expected[0, 0]) < 5 * values.std() / 4000**0.5
    assert abs(values.std() - found.sd[0, 0]) < 5 * values.std() / 8000**0.5


@pytest.mark.evidence
@pytest.mark.skipif(sys.platform != "linux", reason="limits of memory are those of Linux")
@pytest.mark.parametrize("name", ["judged", "rare", "half", "distinct", "pairs"])
def test_no_measure_takes_more_than_five_seconds_and_one_gibibyte(name: str) -> None:
    """The benchmark itself, at 10,000 documents, with what a measure may take as limits of its processes."""
    folder = Path(__file__).parents[3] / "benchmarks"
    command = [sys.executable, str(folder / "hostile_ties.py"), "--sizes", "10000", "--lists", name]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    assert done.stdout.splitlines()[-1].endswith("0 over 5 s or 1024 MiB: none"), done.stdout
