"""Novelty against all orders of small lists, with the gain of every set counted out by its definition."""

from __future__ import annotations

import itertools
import math
import sys
from collections import Counter
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from trueval import Judgments, Run, evaluate
from trueval.errors import MeasureError

sys.path.insert(0, str(Path(__file__).parents[1] / "truth"))

from twin import Notation
from twin_evidence import novel_gain, weights_of

BETA = Fraction(1, 4)
CLOSE = {"abs": 1e-12, "rel": 1e-12}


def pools(count: int, seed: int) -> list[tuple[dict[str, float], dict[str, float], dict[str, str]]]:
    """Lists of up to six documents with coarse scores, up to three more in the judgments, and one to three sources."""
    rng = np.random.default_rng(seed)
    found = []
    for number in range(count):
        listed = [f"{number}d{i}" for i in range(2 + number % 5)]  # a document has one source, whoever asks
        scores = {d: float(rng.integers(1 + number % 3)) for d in listed}
        missed = [f"{number}m{i}" for i in range(rng.integers(4))]
        judged = [d for d in listed if rng.random() < 0.85] + missed or [f"{number}m"]
        grades = {d: float(rng.choice([1, 2, 3, 4, 4, 5, 5])) for d in judged}
        sources = {d: str(rng.integers(1, 4)) for d in (*listed, *judged)}
        found.append((scores, grades, sources))
    return found


def orders(scores: dict[str, float]) -> list[list[str]]:
    groups = [[d for d in scores if scores[d] == s] for s in sorted(set(scores.values()), reverse=True)]
    return [list(itertools.chain(*choice)) for choice in itertools.product(*map(itertools.permutations, groups))]


def gain(documents: tuple[str, ...], weights: dict[str, Fraction], sources: dict[str, str]) -> Fraction:
    return novel_gain([(weights[d], sources[d]) for d in documents if d in weights], BETA)


@pytest.mark.parametrize("inner", ["RA-nWG", "nWG", "N-Recall4+"])
@pytest.mark.parametrize("k", [1, 2, 3, 4, 6, 9])
def test_equals_the_definition_over_all_orders_and_all_ideal_sets(inner: str, k: int) -> None:
    drawn = pools(90, seed=k)
    source_of = {d: source for _, _, sources in drawn for d, source in sources.items()}
    judgments = Judgments.from_dict({f"q{n}": grades for n, (_, grades, _) in enumerate(drawn)}).with_sources(source_of)
    run = Run.from_dict({f"q{n}": scores for n, (scores, _, _) in enumerate(drawn)})
    found = evaluate(run, judgments, f"novelty({inner}, beta=0.25)@{k}", tie_order="input")
    for row, (scores, grades, sources) in enumerate(drawn):
        table = weights_of(list(grades.values()), Notation.read(f"{inner}@{k}"))
        weights = {d: table[int(g)] for d, g in grades.items()}
        ideal = max(gain(chosen, weights, sources) for chosen in itertools.combinations(grades, min(k, len(grades))))
        if not ideal:
            assert math.isnan(found.expected[row, 0])
            continue
        tops = Counter(tuple(order[:k]) for order in orders(scores))
        values = [gain(top, weights, sources) / ideal for top, count in tops.items() for _ in range(count)]
        mean = sum(values) / len(values)
        where = (scores, grades, sources)
        assert found.expected[row, 0] == pytest.approx(float(mean), **CLOSE), where
        assert found.lowest[row, 0] == pytest.approx(float(min(values)), **CLOSE), where
        assert found.highest[row, 0] == pytest.approx(float(max(values)), **CLOSE), where
        variance = sum((value - mean) ** 2 for value in values) / len(values)
        assert found.sd[row, 0] ** 2 == pytest.approx(float(variance), **CLOSE), where
        first = sorted(scores, key=lambda d: -scores[d])
        assert found.tie_broken[row, 0] == pytest.approx(
            float(gain(tuple(first[:k]), weights, sources) / ideal), **CLOSE
        )


def test_the_worked_example() -> None:
    """Two passages of one paper: the second counts half. Gain 1 + .5 of the ideal 1 + 1 (two papers)."""
    judgments = Judgments.from_dict({"q": {"a1": 5, "a2": 5, "b": 5}}).with_sources({"a1": "A", "a2": "A", "b": "B"})
    run = Run.from_dict({"q": {"a1": 3.0, "a2": 2.0, "b": 1.0}})
    assert evaluate(run, judgments, "novelty(nWG)@2").mean("novelty(nWG)@2").expected == 0.75


@pytest.mark.filterwarnings("ignore:run. no retrieved document is judged")
@pytest.mark.filterwarnings("ignore:judgments. novelty.RA-nWG.@2, RA-nWG@2 read grades on the rubric")
def test_without_shared_sources_it_is_the_measure_inside() -> None:
    for scores, grades, _ in pools(60, seed=0):
        run, judgments = Run.from_dict({"q": scores}), Judgments.from_dict({"q": grades}).with_sources({})
        both = evaluate(run, judgments, "novelty(RA-nWG)@2 RA-nWG@2")
        for statistic in ("expected", "lowest", "highest", "tie_broken", "sd"):
            one, other = getattr(both, statistic)[0]
            np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-9)


def test_sources_must_be_known() -> None:
    run, judgments = Run.from_dict({"q": {"a": 1.0}}), Judgments.from_dict({"q": {"a": 5}})
    with pytest.raises(MeasureError, match=r"needs the source of each document\. Give --sources FILE"):
        evaluate(run, judgments, "novelty(RA-nWG)@1")


@pytest.mark.parametrize("text", ["novelty(Harm)@3", "novelty(RA-nWG@3)@3", "novelty(RA-nWG(unjudged='upper'))@3"])
def test_what_it_cannot_take_is_refused(text: str) -> None:
    run, judgments = Run.from_dict({"q": {"a": 1.0}}), Judgments.from_dict({"q": {"a": 5}}).with_sources({})
    with pytest.raises(MeasureError, match="novelty takes one of"):
        evaluate(run, judgments, text)


def test_beta_is_below_one() -> None:
    run, judgments = Run.from_dict({"q": {"a": 1.0}}), Judgments.from_dict({"q": {"a": 5}}).with_sources({})
    with pytest.raises(MeasureError, match="from 0 to below 1"):
        evaluate(run, judgments, "novelty(RA-nWG, beta=1)@1")
