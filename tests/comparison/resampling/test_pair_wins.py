"""Listed and drawn values are used only where their mean is the expectation."""

from collections import Counter
from itertools import product
from typing import Any

import numpy as np
import pytest
from tests.comparison.made_scores import LOSS, made_scores

import trueval as tv
from trueval.comparison.choices import MOST_TIE_SAMPLES
from trueval.comparison.compare import compare_scores
from trueval.comparison.resampling import tie_order_values
from trueval.comparison.resampling.alignment import align
from trueval.comparison.resampling.pair_wins import MeasureColumn, PairWins
from trueval.comparison.resampling.tie_order_values import Atoms
from trueval.comparison.resampling.win_probability import WinProbability, normal


class Listed:
    """Tie orders that give one distribution, whatever is asked."""

    are_of_documents = True

    def __init__(self, values: list[float], probabilities: list[float]) -> None:
        self.atoms = Atoms(np.array(values), np.array(probabilities))

    def distribution(self, measure: object, queries: np.ndarray) -> Atoms | None:
        return self.atoms

    def samples(self, measure: object, queries: np.ndarray, count: int, seed: int, batch: int) -> np.ndarray:
        drawn = np.random.default_rng([seed, batch]).choice(self.atoms.values, count, p=self.atoms.probabilities)
        return drawn * bool(len(queries))


class Drawn(Listed):
    """The same where orders are too many to list."""

    def distribution(self, measure: object, queries: np.ndarray) -> None:
        return None


def winners(off: float, *, measures: Any = "nDCG@10") -> PairWins:
    """Two runs of two queries: the first is 0.2 or 0.6 on one of them, off by so much in the list; 0.5 on the other."""
    a = made_scores("a", [0.4, 0.5], [0.2, 0.0], measures=measures)
    b = made_scores("b", [0.45, 0.5], measures=measures)
    listed: Any = Listed([0.2 + off, 0.6 + off], [0.5, 0.5])
    return PairWins(align([a, b]), [listed, listed], tie_samples=0, seed=0)


def probability(off: float, **choices: Any) -> WinProbability:
    return winners(off, **choices).probability(0, 0, 1)


@pytest.mark.parametrize("off", [0.0, 1.5e-9, -1.5e-9])
def test_a_list_with_the_expected_mean_is_used(off: float) -> None:
    assert probability(off) == WinProbability(0.5, 0.5, 0.5, "exact")


@pytest.mark.parametrize("off", [3e-9, -3e-9])
def test_a_list_with_another_mean_is_not(off: float) -> None:
    """A billionth for each query and one more is allowed, 2e-9 here; a sample cannot tell so little."""
    assert probability(off).method == "sampled"


@pytest.mark.parametrize(("off", "method"), [(0.0, "sampled"), (0.03, "sampled"), (0.1, "normal"), (-0.1, "normal")])
def test_samples_with_another_mean_are_not_used(off: float, method: str) -> None:
    """Of 500 samples in a range of .4 the mean is off by .4 sqrt(ln(2e9) / 1000) = .0585 once in a billion."""
    drawn: Any = Drawn([0.2 + off, 0.6 + off], [0.5, 0.5])
    case = PairWins(winners(0.0).aligned, [drawn, drawn], tie_samples=0, seed=0)
    found = case.probability(0, 0, 1)
    assert found.method == method
    if method == "normal":
        assert found == normal(*(MeasureColumn.of(case.aligned, run, 0).spread() for run in (0, 1)))


@pytest.mark.parametrize(("queries", "rank"), [(20, 6), (50, 5), (60, 6), (60, 4)])
def test_a_verdict_does_not_turn_with_the_orders_that_are_drawn(queries: int, rank: int) -> None:
    """Twelve tied documents of which one is relevant, too many sums to list, against one on a rank.

    The win probabilities are about .97, .957, .999 and .59.
    """
    names = [f"q{number}" for number in range(queries)]
    tied = {query: {f"d{place}": 1.0 for place in range(12)} for query in names}
    fixed = {query: {f"x{place}": 50.0 - place for place in range(rank - 1)} | {"e": 5.0} for query in names}
    judgments = {query: {"d0": 1, "e": 1} for query in names}
    for seed in range(3):
        found = [
            tv.compare(
                {"tied": tied, "fixed": fixed}, judgments, "RR", resamples=100, tie_samples=samples, seed=seed
            ).differences[0]
            for samples in (0, 200, 1_000, 5_000)
        ]
        assert len({each.undecidable for each in found}) == 1
        if rank != 5:
            assert found[0].undecidable == (rank == 4)


def test_a_win_probability_at_the_level_is_undecidable_when_the_orders_are_spent() -> None:
    drawn: Any = Drawn([0.2, 1.0], [0.95, 0.05])  # mean .24
    one, other = made_scores("a", [0.24], [0.4], measures="nDCG@10"), made_scores("b", [0.5], measures="nDCG@10")
    case = PairWins(align([one, other]), [drawn, drawn], tie_samples=0, seed=0)
    found = case.probability(0, 0, 1)
    assert found.method == "sampled"
    assert found.low < 0.05 < found.high < found.low + 0.02
    assert found.is_open(0.95)
    assert sum(map(len, case._drawn[0, 0])) == MOST_TIE_SAMPLES


@pytest.mark.parametrize(("most", "method"), [(20_000, "exact"), (0, "sampled")])
def test_average_precision_with_one_threshold_wins_by_single_orders(
    most: int, method: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Eight queries of five tied documents, one relevant, against it on rank 3: AP is 1 / rank, against 1 / 3.

    All documents of a group entering together have 1 / 5, the tie-broken value of scikit-learn and of no order.
    """
    monkeypatch.setattr("trueval.comparison.resampling.tie_order_values.MOST_LISTED", most)
    queries = [f"q{number}" for number in range(8)]
    tied = {query: dict.fromkeys("abcde", 1.0) for query in queries}
    third = {query: {"a": 3.0, "b": 5.0, "c": 4.0, "d": 2.0, "e": 1.0} for query in queries}
    sums: Counter[float] = Counter({0.0: 1})
    for _ in queries:
        several = Counter[float]()
        for (total, count), rank in product(sums.items(), range(1, 6)):
            several[round(total + 1 / rank, 9)] += count
        sums = several
    won = sum(
        count * (1 if total > 8 / 3 + 1e-6 else abs(total - 8 / 3) < 1e-6 and 0.5) for total, count in sums.items()
    )
    (found,) = tv.compare(
        {"tied": tied, "third": third},
        {query: {"a": 1} for query in queries},
        "AP",
        convention="sklearn",
        tie_samples=2_000,
        resamples=100,
    ).differences
    assert won / 5**8 == pytest.approx(0.8879, abs=5e-5)
    assert found.win.method == method
    assert found.win.value == pytest.approx(won / 5**8, abs=1e-9 if method == "exact" else 0.03)


def test_without_orders_a_measure_that_is_better_when_lower_is_turned() -> None:
    """.4 with a deviation of .2 against .45: Phi(-1/4) = .4013 where more is better, 1 - .4013 where less is."""
    for measures, value in (("nDCG@10", 0.40129), ((LOSS,), 0.59871)):
        found = PairWins(winners(0.0, measures=measures).aligned, None, 0, 0).probability(0, 0, 1)
        assert found.method == "normal"
        assert found.value == pytest.approx(value, abs=1e-5)


def test_the_list_of_a_measure_that_is_better_when_lower_is_turned() -> None:
    """0.2 with a chance of 3/4, 1 with 1/4, mean 0.4: against 0.45 it is the lower one in three of four orders."""
    for measures, value in (("nDCG@10", 0.25), ((LOSS,), 0.75)):
        case = winners(0.0, measures=measures)
        listed: Any = Listed([0.2, 1.0], [0.75, 0.25])
        found = PairWins(case.aligned, [listed, listed], 0, 0).probability(0, 0, 1)
        assert found == WinProbability(value, value, value, "exact")


def test_sums_over_queries_are_listed_while_they_are_few() -> None:
    """Of 2, 3 and 5 tied documents one is relevant: 30 orders of ranks, against a sum of 1 + 1 + 1/5."""
    sizes = (2, 3, 5)
    tied = {f"q{size}": {f"d{place}": 1.0 for place in range(size)} for size in sizes}
    fixed = {
        f"q{size}": {f"d{place}": float(place if size == 5 else -place) for place in range(size)} for size in sizes
    }
    judgments = {f"q{size}": {"d0": 1} for size in sizes}
    (found,) = tv.compare({"tied": tied, "fixed": fixed}, judgments, "RR", resamples=100).differences
    sums = [sum(1 / rank for rank in ranks) for ranks in product(*(range(1, size + 1) for size in sizes))]
    assert len({round(each, 9) for each in sums}) > 15
    wins = sum((each > 2.2 + 1e-9) + 0.5 * (abs(each - 2.2) < 1e-9) for each in sums) / 30
    assert (found.win.method, found.win.value) == ("exact", pytest.approx(wins, abs=1e-12))


@pytest.mark.parametrize("measure", ["AP", "nDCG@10", "RR", "P@3"])
@pytest.mark.parametrize("size", [3, 8])
def test_queries_are_measured_together_as_one_by_one(monkeypatch: pytest.MonkeyPatch, measure: str, size: int) -> None:
    """Listed of 3 tied documents, drawn of 8; 40 queries take one call for a batch, and alone the same to the bit."""
    calls, whole = [], tie_order_values.evaluate_measure
    monkeypatch.setattr(tie_order_values, "evaluate_measure", lambda *asked: calls.append(1) or whole(*asked))
    rng = np.random.default_rng(size)
    names = [f"d{number}" for number in range(2 * size)]
    judgments = {
        f"q{query}": dict(zip(names, rng.integers(0, 3, 2 * size).tolist(), strict=True)) for query in range(40)
    }
    runs = {
        run: {query: {name: float(rng.integers(2)) for name in names} for query in judgments}
        for run in ("one", "other")
    }

    def win() -> tuple[WinProbability, int]:
        calls.clear()
        (found,) = tv.compare(runs, judgments, measure, tie_samples=600, resamples=100).differences
        return found.win, len(calls)

    together, few = win()
    monkeypatch.setattr(tie_order_values, "TOGETHER", 1)
    alone, many = win()
    assert together == alone
    assert together.method in ("exact", "sampled")
    assert many > 4 * few > 0


def test_a_column_is_made_once_for_all_pairs(monkeypatch: pytest.MonkeyPatch) -> None:
    made, of = Counter[tuple[int, int]](), MeasureColumn.of
    monkeypatch.setattr(
        MeasureColumn, "of", lambda aligned, run, measure: made.update([(run, measure)]) or of(aligned, run, measure)
    )
    scores = [made_scores(f"r{run}", np.full((4, 2), 0.1 * run), measures="nDCG@10 RR") for run in range(6)]
    assert len(compare_scores(scores, resamples=100).differences) == 30
    assert made == dict.fromkeys(product(range(6), range(2)), 1)
