"""Measures of evidence: published numbers, arithmetic by hand, all sets and orders of small pools, invariances."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import pytest

from trueval import Judgments, Run, evaluate, evaluate_arrays
from trueval.errors import InputError, MeasureError
from trueval.measures import parse, registry
from trueval.measures.orders.group_draws import draw, hypergeometric, moments
from trueval.measures.rarity import best_gain, rarity_weights

EVIDENCE = ("RA-nWG", "nWG", "N-Recall4+", "N-Recall5", "P4+", "Harm")
CLOSE = {"abs": 1e-12, "rel": 1e-12}


def value(scores: dict[str, float], grades: dict[str, float], measure: str) -> float:
    return float(evaluate(Run.from_dict({"q": scores}), Judgments.from_dict({"q": grades}), measure).expected[0, 0])


# --- weights ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("counts", "w4", "w3"),
    [
        ((1, 1, 1), 0.5, 0.1),
        ((1, 4, 2), 0.125, 0.05),
        ((2, 1, 1), 1.0, 0.2),
        ((5, 1, 1), 1.0, 0.25),  # both caps hold
        ((1, 100, 1), 0.005, 0.1),  # a rare 3 weighs more than a common 4
        ((0, 3, 3), 1.0, 0.2),  # no grade 5: the fallback
        ((1, 0, 0), 0.0, 0.0),  # r_g = 0 where there is no document
    ],
)
def test_weights_by_hand(counts: tuple[int, int, int], w4: float, w3: float) -> None:
    five, four, three = counts
    weights = rarity_weights(np.array([[0, 7, 9, three, four, five]]))[0]
    np.testing.assert_allclose(weights, [0, 0, 0, w3, w4, 1], rtol=1e-15)


def test_the_number_of_graded_documents_cancels() -> None:
    """P-B writes w through proportions n_g / N; the direct form is the same for every N."""
    for five, four, three, rest in itertools.product(range(1, 5), range(1, 5), range(1, 5), (0, 3, 1000)):
        total = five + four + three + rest
        rarity = {g: Fraction(b) / Fraction(n, total) for g, b, n in ((5, 1, five), (4, ".5", four), (3, ".1", three))}
        weights = rarity_weights(np.array([[0, rest, 0, three, four, five]]))[0]
        assert weights[4] == pytest.approx(float(min(rarity[4] / rarity[5], Fraction(1))), rel=1e-15)
        assert weights[3] == pytest.approx(float(min(rarity[3] / rarity[5], Fraction(1, 4))), rel=1e-15)


@pytest.mark.parametrize("seed", range(20))
def test_documents_of_grade_1_and_2_never_move_a_weight_or_a_value(seed: int) -> None:
    rng = np.random.default_rng(seed)
    grades = {f"d{i}": float(rng.integers(1, 6)) for i in range(8)}
    scores = {f"d{i}": float(rng.integers(4)) for i in range(8)}
    more = grades | {f"low{i}": float(rng.integers(1, 3)) for i in range(30)}
    for name in ("RA-nWG", "RA-nWG(alpha=2)", "nWG", "N-Recall4+", "N-Recall5"):
        one, other = value(scores, grades, f"{name}@3"), value(scores, more, f"{name}@3")
        assert one == other or (math.isnan(one) and math.isnan(other))


def test_best_gain_is_the_best_of_all_sets() -> None:
    rng = np.random.default_rng(1)
    for _ in range(200):
        counts = rng.integers(0, 3, 6)
        weights = rng.choice([0, 0.1, 0.25, 0.5, 1], 6)
        documents = [w for w, n in zip(weights, counts, strict=True) for _ in range(n)]
        size = int(rng.integers(1, 6))
        best = max(sum(chosen) for chosen in itertools.combinations(documents, min(size, len(documents))))
        assert best_gain(counts[None].astype(float), weights[None], size)[0] == pytest.approx(best)


# --- published and by hand --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("actual", "ceiling", "printed"),
    [(0.852, 1.000, 85.2), (0.918, 0.988, 92.9), (0.882, 1.000, 88.2), (0.930, 0.985, 94.4)],
)
def test_the_shares_of_table_4_are_ratios_of_macro_means(actual: float, ceiling: float, printed: float) -> None:
    """P-B table 4, by two queries whose means are the printed ones, up to the third digit that the table rounds to."""
    thousand = round(1000 * actual), round(1000 * ceiling)
    grades = {f"d{i}": 4.0 for i in range(1000)}
    found = {f"d{i}": 2.0 for i in range(thousand[0])} | {f"x{i}": 2.0 for i in range(1000 - thousand[0])}
    found |= {f"d{i}": 1.0 for i in range(thousand[0], thousand[1])}
    scores = evaluate(
        Run.from_dict({"q": found}),
        Judgments.from_dict({"q": grades}),
        "RA-nWG@1000 PROC(RA-nWG)@1000 pPROC(RA-nWG)@1000",
    )
    assert scores.expected[0, :2] == pytest.approx([actual, ceiling])
    assert round(100 * scores.expected[0, 2], 1) == printed
    assert scores.details[2]["ratio_of_means"] == pytest.approx(actual / ceiling)


def test_the_ratio_of_means_is_not_the_mean_of_ratios() -> None:
    """Query 1 reaches 1 of its ceiling 1, query 2 reaches .1 of .2: mean of ratios .75, ratio of means 1.1 / 1.2."""
    judgments = Judgments.from_dict({"one": {"a": 5}, "two": {f"t{i}": 5 for i in range(10)}})
    two = {"t0": 3.0, **{f"x{i}": 2.0 for i in range(9)}, "t1": 1.0}
    scores = evaluate(Run.from_dict({"one": {"a": 1.0}, "two": two}), judgments, "pPROC(nWG)@10")
    assert scores.mean("pPROC(nWG)@10").expected == pytest.approx(0.75)
    assert scores.details[0]["ratio_of_means"] == pytest.approx(1.1 / 1.2)


def test_the_worked_example_of_the_documentation() -> None:
    """Judged 5, 4, 4, 3, 1; the run lists 5, 1, 4 first, K = 3. w4 = .25, w3 = .1: (1 + .25) / (1 + .25 + .25)."""
    grades = {"five": 5.0, "four": 4.0, "other": 4.0, "three": 3.0, "one": 1.0}
    scores = {"five": 9.0, "one": 8.0, "four": 7.0, "three": 6.0}
    expected = {
        "RA-nWG@3": 1.25 / 1.5,
        "nWG@3": 1.5 / 2,
        "N-Recall4+@3": 2 / 3,
        "N-Recall5@3": 1,
        "P4+@3": 2 / 3,
        "Harm@3": 1 / 3,
        "AllGold(rel=4)@3": 0,
        "AllGold(rel=5)@3": 1,
        "PROC(RA-nWG, pool=4)@3": 1.35 / 1.5,
        "pPROC(RA-nWG, pool=4)@3": 1.25 / 1.35,
        "retrieval_headroom(RA-nWG, pool=4)@3": 0.15 / 1.5,
        "ordering_headroom(RA-nWG, pool=4)@3": 0.1 / 1.5,
    }
    assert {m: value(scores, grades, m) for m in expected} == pytest.approx(expected)


def test_a_tie_across_the_cutoff_by_hand() -> None:
    """One 5 ties with a 4 and an unjudged document for two places: each is in with 2/3. Ideal 1 + .5."""
    scores, grades = {"a": 1.0, "b": 1.0, "x": 1.0}, {"a": 5.0, "b": 4.0}
    found = evaluate(Run.from_dict({"q": scores}), Judgments.from_dict({"q": grades}), "RA-nWG@2")
    assert found.expected[0, 0] == pytest.approx((2 / 3 * 1.5) / 1.5)
    assert (found.lowest[0, 0], found.highest[0, 0]) == (pytest.approx(0.5 / 1.5), 1)


# --- every set and every order ----------------------------------------------------------------------------------------


def graded_pools(count: int, seed: int) -> Iterator[tuple[dict[str, float], dict[str, float]]]:
    rng = np.random.default_rng(seed)
    for number in range(count):
        listed = [f"d{i}" for i in range(1 + number % 6)]
        grades = {d: float(rng.integers(1, 6)) for d in [*listed, "m1", "m2", "m3"] if rng.random() < 0.75}
        yield {d: float(rng.integers(1 + number % 4)) for d in listed}, grades or {"m1": 5.0}


def brute_weights(name: str, grades: dict[str, float]) -> dict[str, Fraction]:
    count = {g: sum(grade == g for grade in grades.values()) for g in range(1, 6)}
    if name == "RA-nWG" and count[5]:
        four = min(Fraction(count[5], 2 * count[4]), Fraction(1)) if count[4] else Fraction(0)
        three = min(Fraction(count[5], 10 * count[3]), Fraction(1, 4)) if count[3] else Fraction(0)
        table = {5: Fraction(1), 4: four, 3: three}
    else:
        table = {
            "RA-nWG": {5: Fraction(1), 4: Fraction(1), 3: Fraction(1, 5)},
            "nWG": {5: Fraction(1), 4: Fraction(1, 2), 3: Fraction(1, 10)},
            "N-Recall4+": {5: Fraction(1), 4: Fraction(1)},
            "P4+": {5: Fraction(1), 4: Fraction(1)},
            "N-Recall5": {5: Fraction(1)},
            "Harm": {1: Fraction(1), 2: Fraction(1)},
        }[name]
    return {d: table.get(int(g), Fraction(0)) for d, g in grades.items()}


def best(documents: list[str], weights: dict[str, Fraction], size: int) -> Fraction:
    """The best sum over ALL subsets of at most this size, listed one by one."""
    sizes = range(min(size, len(documents)) + 1)
    return max(
        sum((weights.get(d, Fraction(0)) for d in s), Fraction(0))
        for n in sizes
        for s in itertools.combinations(documents, n)
    )


def orders(scores: dict[str, float]) -> list[list[str]]:
    groups = [[d for d in scores if scores[d] == s] for s in sorted(set(scores.values()), reverse=True)]
    return [list(itertools.chain(*choice)) for choice in itertools.product(*map(itertools.permutations, groups))]


class Case(NamedTuple):
    """A list, its grades, and what a measure says of one order; None where it has no value."""

    scores: dict[str, float]
    grades: dict[str, float]
    by_order: Callable[[list[str]], Fraction] | None


def compare(cases: Sequence[Case], measure: str) -> None:
    """Evaluate the cases together, and compare each with what its orders say."""
    assert cases
    run = Run.from_dict({f"q{n}": case.scores for n, case in enumerate(cases)})
    found = evaluate(run, Judgments.from_dict({f"q{n}": case.grades for n, case in enumerate(cases)}), measure)
    assert found.exact == (True,)
    for row, (scores, grades, by_order) in enumerate(cases):
        if by_order is None:
            assert math.isnan(found.expected[row, 0])
            continue
        values = [by_order(order) for order in orders(scores)]
        mean = sum(values) / len(values)
        variance = sum((v - mean) ** 2 for v in values) / len(values)
        true = [float(mean), float(min(values)), float(max(values)), float(variance)]
        said = [found.expected[row, 0], found.lowest[row, 0], found.highest[row, 0], found.sd[row, 0] ** 2]
        assert said == pytest.approx(true, **CLOSE), f"{measure} {scores} {grades}"


@pytest.mark.parametrize("name", EVIDENCE)
@pytest.mark.parametrize("k", [1, 2, 4])
def test_set_measures_over_all_subsets_and_orders(name: str, k: int) -> None:
    cases = []
    for scores, grades in graded_pools(60, seed=k):
        weights = brute_weights(name, grades)
        norm = Fraction(k) if name in ("P4+", "Harm") else best(list(grades), weights, k)

        def share(order: list[str], w: dict[str, Fraction] = weights, n: Fraction = norm) -> Fraction:
            return sum((w.get(d, Fraction(0)) for d in order[:k]), Fraction(0)) / n

        cases.append(Case(scores, grades, share if norm else None))
    compare(cases, f"{name}@{k}")


# From the ceiling of the pool and what an order reaches.
CEILINGS: dict[str, Callable[[Fraction, Fraction], Fraction]] = {
    "PROC": lambda ceiling, actual: ceiling,
    "retrieval_headroom": lambda ceiling, actual: 1 - ceiling,
    "ordering_headroom": lambda ceiling, actual: ceiling - actual,
    "pPROC": lambda ceiling, actual: actual / ceiling,
}


@pytest.mark.parametrize(("k", "pool"), [(1, 2), (2, 3), (2, 2), (1, 5)])
def test_ceilings_over_all_subsets_and_orders(k: int, pool: int) -> None:
    cases: dict[str, list[Case]] = {name: [] for name in CEILINGS}
    for scores, grades in graded_pools(60, seed=10 * k + pool):
        weights = brute_weights("RA-nWG", grades)
        norm = best(list(grades), weights, k)
        if not norm:
            continue

        @cache
        def ceiling(top: frozenset[str], w: dict[str, Fraction] = weights, n: Fraction = norm) -> Fraction:
            return best(list(top), w, k) / n

        def actual(order: list[str], w: dict[str, Fraction] = weights, n: Fraction = norm) -> Fraction:
            return sum((w.get(d, Fraction(0)) for d in order[:k]), Fraction(0)) / n

        for name, of_both in CEILINGS.items():

            def by_order(order: list[str], c: Any = ceiling, a: Any = actual, f: Any = of_both) -> Fraction:
                return f(c(frozenset(order[:pool])), a(order))

            undefined = name == "pPROC" and not all(ceiling(frozenset(order[:pool])) for order in orders(scores))
            cases[name].append(Case(scores, grades, None if undefined else by_order))
    for name, those in cases.items():
        compare(those, f"{name}(RA-nWG, pool={pool})@{k}")


@pytest.mark.parametrize("k", [1, 2, 3])
def test_the_unjudged_bound_holds_for_every_way_to_grade_them_at_the_same_weights(k: int) -> None:
    """Unjudged documents of the top K count 1 at most, whatever they are: the bound is reached when all are 5s."""
    cases = []
    for scores, grades in graded_pools(60, seed=20 + k):
        weights = brute_weights("RA-nWG", grades)
        norm = best(list(grades), weights, k)

        def bound(order: list[str], w: dict[str, Fraction] = weights, n: Fraction = norm) -> Fraction:
            return min(Fraction(1), sum((w.get(d, Fraction(1)) for d in order[:k]), Fraction(0)) / n)

        if norm:
            cases.append(Case(scores, grades, bound))
    compare(cases, f"RA-nWG(unjudged='upper')@{k}")


@pytest.mark.parametrize("k", [1, 2, 4])
def test_all_gold_over_all_orders(k: int) -> None:
    cases = []
    for scores, grades in graded_pools(60, seed=30 + k):
        gold = {d for d, g in grades.items() if g >= 4}
        if gold and set(grades) & set(scores):
            cases.append(Case(scores, grades, lambda o, e=gold: Fraction(e <= set(o[:k]))))
    compare(cases, f"AllGold(rel=4)@{k}")


def test_queries_with_more_gold_than_places_are_counted() -> None:
    judgments = Judgments.from_dict({"q": {"a": 1, "b": 1, "c": 1}, "r": {"a": 1}, "s": {"a": 0}})
    run = Run.from_dict({q: {"a": 3.0, "b": 2.0, "c": 1.0} for q in "qrs"})
    scores = evaluate(run, judgments, "AllGold@2")
    assert scores.details == ({"impossible_queries": 1.0, "impossible_share": 0.5},)
    assert scores.mean("AllGold@2").queries == 2
    assert scores.to_dict()["measures"]["AllGold@2"]["details"]["impossible_share"] == 0.5  # type: ignore[index]


# --- cuts in large groups ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("population", "marked", "drawn"), [(10, 3, 4), (50, 50, 7), (7, 0, 3), (1000, 400, 300), (9, 5, 9)]
)
def test_hypergeometric_is_the_ratio_of_binomials(population: int, marked: int, drawn: int) -> None:
    for x, chance in enumerate(hypergeometric(population, marked, drawn)):
        exact = (
            Fraction(math.comb(marked, x) * math.comb(population - marked, drawn - x), math.comb(population, drawn))
            if x <= drawn
            else 0
        )
        assert chance == pytest.approx(float(exact), rel=1e-11, abs=1e-300)


def test_draws_are_all_outcomes_with_their_chances() -> None:
    found = draw([2, 3], 7, 4)
    ways = {}
    for chosen in itertools.combinations("aabbbxx", 4):
        key = (chosen.count("a"), chosen.count("b"))
        ways[key] = ways.get(key, 0) + 1
    assert {
        tuple(map(int, row)): chance for row, chance in zip(found.counts, found.chance, strict=True)
    } == pytest.approx({key: count / math.comb(7, 4) for key, count in ways.items()})


def test_moments_of_one_value_have_no_spread() -> None:
    assert moments(np.array([1 / 3, 1 / 3, 1 / 3]), np.array([0.3, 0.3, 0.4])) == (1 / 3, 0)


def test_a_thousand_tied_documents_agree_with_sampled_orders() -> None:
    """One grade 5 stands first, so that every order has a share of its ceiling; all others tie."""
    rng = np.random.default_rng(5)
    grades = rng.choice([math.nan, 1, 2, 3, 4, 5], 1000, p=[0.7, 0.1, 0.08, 0.06, 0.04, 0.02])
    names = [
        "PROC(RA-nWG, pool=50)@10",
        "pPROC(RA-nWG, pool=200)@10",
        "ordering_headroom(RA-nWG, pool=200)@10",
        "RA-nWG(unjudged='upper')@40",
    ]
    grades[0] = 5
    tied = evaluate_arrays([np.arange(1000) == 0], [grades], names)
    samples = 1500
    order = np.array([np.append(0, 1 + rng.permutation(999)) for _ in range(samples)])
    strict = evaluate_arrays(np.tile(-np.arange(1000.0), (samples, 1)), grades[order], names)
    error = strict.expected.std(axis=0) / math.sqrt(samples)
    assert (np.abs(strict.expected.mean(axis=0) - tied.expected[0]) < 5 * error + 1e-12).all()
    np.testing.assert_allclose(strict.expected.std(axis=0), tied.sd[0], rtol=0.15)
    assert (strict.expected >= tied.lowest[0] - 1e-12).all()
    assert (strict.expected <= tied.highest[0] + 1e-12).all()


# --- what is refused, what is not available ---------------------------------------------------------------------------


@pytest.mark.parametrize("name", EVIDENCE)
@pytest.mark.parametrize("grade", [0, 6, 2.5])
def test_grades_off_the_rubric_are_refused_with_the_cure(name: str, grade: float) -> None:
    with pytest.raises(
        InputError,
        match=rf"{name.replace('+', '.')} reads grades on the rubric 1 to 5. Got grade {grade:g};.*--grades 0:1,1:3",
    ):
        value({"a": 1.0}, {"a": 5.0, "b": grade}, f"{name}@2")
    with pytest.raises(InputError, match="on the rubric"):
        evaluate_arrays([[1.0, 0.0]], [[5, grade]], f"{name}@2")


def test_queries_with_nothing_to_find_are_left_out_and_counted() -> None:
    judgments = Judgments.from_dict({"q": {"a": 5}, "r": {"a": 2}, "s": {"a": 4}})
    run = Run.from_dict({q: {"a": 1.0} for q in "qrs"})
    scores = evaluate(run, judgments, "RA-nWG@1 N-Recall4+@1 N-Recall5@1 P4+@1 Harm@1")
    assert [estimate.queries for estimate in scores.means().values()] == [2, 2, 1, 3, 3]
    assert [estimate.expected for estimate in scores.means().values()] == pytest.approx([1, 1, 1, 2 / 3, 1 / 3])


def test_harm_is_better_when_lower_and_worst_where_the_run_has_nothing() -> None:
    assert registry()["Harm"].better == "lower"
    judgments = Judgments.from_dict({"q": {"a": 5}, "r": {"a": 5}})
    with pytest.warns(UserWarning, match="missing from the run"):
        scores = evaluate(Run.from_dict({"q": {"a": 1.0}}), judgments, "Harm@1")
    assert scores.expected[:, 0].tolist() == [0, 1]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("RA-nWG", "needs a cutoff"),
        ("PROC@10", "needs a measure as first argument"),
        ("PROC(nDCG)@10", "must be one of RA-nWG"),
        ("PROC(Harm)@10", "higher is better"),
        ("PROC(RA-nWG@5)@10", "cutoff is written outside"),
        ("PROC(RA-nWG, pool=5)@10", "at least the cutoff"),
        ("PROC(RA-nWG(unjudged='upper'))@10", "an upper bound has no ceiling"),
    ],
)
def test_what_makes_no_sense_is_refused(text: str, message: str) -> None:
    with pytest.raises(MeasureError, match=message):
        value({"a": 1.0}, {"a": 5.0}, text)


@pytest.mark.parametrize(
    "text", ["RA-nWG(cap4=1.5)@3", "RA-nWG(alpha=-1)@3", "PROC(RA-nWG, pool=0)@3", "PROC(RA-nWG, pool=2.5)@3"]
)
def test_parameters_are_checked(text: str) -> None:
    with pytest.raises(MeasureError, match="must be a"):
        parse(text)


@pytest.mark.parametrize("text", ["Hit@10", "hit@10", "Hit(rel=4)@3"])
def test_hit_is_refused_because_elsewhere_it_means_any(text: str) -> None:
    with pytest.raises(MeasureError, match=r"Success@k asks for any .* AllGold@k for all"):
        parse(text)
