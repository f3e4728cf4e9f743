"""Forecasts of larger corpora: laws that are exact, laws that are not, and worlds whose truth is known."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

import numpy as np
import pytest
from scipy import stats

from trueval.errors import PolicyError
from trueval.tradeoff.diagnosis.corpus_growth import SHARES
from trueval.tradeoff.diagnosis.diagnosis_results import GrowthMeasurement
from trueval.tradeoff.diagnosis.growth_forecast import (
    ENOUGH,
    LEAST_DRIFT,
    LOGARITHM,
    POWER,
    forecast_growth,
)

JUDGED, OTHERS = 100, 6400
Rows = list[tuple[float, int, list[float]]]


def measured(rows: Rows, quantity: str = "quality") -> list[GrowthMeasurement]:
    """Measurements of one quantity: share, documents, a value a replicate."""
    plain = {"quality": 0.5, "cut": 0.0, "recall": None, "bytes": 1.0, "seconds": 1.0}
    return [
        GrowthMeasurement(share, draw, documents, **{**plain, quantity: value})  # type: ignore[arg-type]
        for share, documents, values in rows
        for draw, value in enumerate(values)
    ]


def sizes() -> list[tuple[float, int]]:
    return [(share, JUDGED + round(share * OTHERS)) for share in SHARES]


def test_a_power_law_of_bytes_is_continued_exactly() -> None:
    rows: Rows = [(share, n, [12.5 * n**0.9] * (1 if share == 1 else 3)) for share, n in sizes()]
    found = forecast_growth(measured(rows, "bytes"), "bytes", 20_000)
    assert found is not None
    assert (found.law, found.doubt) == (POWER, None)
    for value in (found.value, found.low, found.high):
        assert value == pytest.approx(12.5 * 20_000**0.9, rel=1e-4)


def test_a_quality_that_falls_with_the_logarithm_is_continued_and_its_slope_may_still_drift() -> None:
    """Without noise, the variance is that of a walk of the slope after the last size: drift h^3 / 3, and no less."""
    rows: Rows = [(share, n, [0.9 - 0.04 * math.log(n)] * (1 if share == 1 else 3)) for share, n in sizes()]
    whole = rows[-1][1]
    found = forecast_growth(measured(rows), "quality", 4 * whole)
    assert found is not None
    assert (found.law, found.doubt) == (LOGARITHM, None)
    assert found.value == pytest.approx(0.9 - 0.04 * math.log(4 * whole), abs=1e-4)
    ahead = math.log(4)
    least = math.sqrt(LEAST_DRIFT * 0.04**2 / math.log(10) * ahead**3 / 3) * stats.t.ppf(0.975, ENOUGH)
    assert least <= found.high - found.value <= 2 * least
    assert found.value - found.low == pytest.approx(found.high - found.value)


def test_what_cannot_be_forecast_is_said() -> None:
    rows: Rows = [(share, n, [0.9 - 0.04 * math.log(n)] * (1 if share == 1 else 3)) for share, n in sizes()]
    with pytest.raises(PolicyError, match=r"more documents than the 6,500 that were searched\. Got 6500"):
        forecast_growth(measured(rows), "quality", 6500)
    with pytest.raises(PolicyError, match="4 sizes of the corpus or more"):
        forecast_growth(measured(rows[-3:]), "quality", 9000)
    assert forecast_growth(measured(rows), "recall", 9000) is None
    far = forecast_growth(measured(rows), "quality", 40 * 6500)
    assert far is not None
    assert far.doubt is not None
    assert far.doubt.startswith("thinning made the corpus 32.5 times smaller")
    cliff: Rows = [*rows[:-1], (1.0, 6500, [0.1])]
    missed = forecast_growth(measured(cliff), "quality", 9000)
    assert missed is not None
    assert missed.doubt is not None
    assert missed.doubt.startswith("what the smaller corpora forecast")


def test_shares_stay_shares_and_a_cut_of_nothing_is_no_power_law() -> None:
    rows: Rows = [(share, n, [0.001 * place] * (1 if share == 1 else 3)) for place, (share, n) in enumerate(sizes())]
    found = forecast_growth(measured(rows, "cut"), "cut", 60_000)
    assert found is not None
    assert found.law == LOGARITHM
    assert 0 <= found.low <= found.value <= found.high <= 1


def world(rng: np.random.Generator, kind: str) -> tuple[Rows, int, float]:
    """Queries with one relevant document, which each distractor beats with a chance of the query's own.

    Returns:
        Thinned corpora of a corpus, the size of one that is ten times as large, and the quality on it.
    """
    queries, others = int(rng.integers(50, 400)), int(rng.choice([500, 2000, 8000]))
    judged, many = int(queries * rng.uniform(0.8, 2)), 10 * others
    if kind == "flat":
        chances = rng.uniform(-12, -1, queries)
    elif kind == "normal":
        chances = rng.normal(rng.uniform(-9, -5), rng.uniform(1, 3), queries)
    elif kind == "two":
        chances = np.where(rng.random(queries) < 0.5, rng.normal(-11, 0.7, queries), rng.normal(-4, 0.7, queries))
    else:  # every query is lost at the same size: no law of the smaller corpora can know
        chances = rng.normal(-math.log(others * rng.uniform(0.5, 8)), 0.3, queries)
    share = np.minimum(np.exp(chances), 0.9)
    beaten, own = rng.binomial(many, share), rng.binomial(judged, share)
    whole = rng.hypergeometric(beaten, many - beaten, others)

    def quality(above: Sequence[int] | np.ndarray) -> float:
        rank = 1 + np.asarray(above) + own
        return float(np.where(rank <= 10, 1 / np.log2(rank + 1), 0.0).mean())

    rows: Rows = []
    for part in SHARES:
        number = round(part * others)
        draws = 1 if part == 1 else 5
        values = [
            quality(whole if part == 1 else rng.hypergeometric(whole, others - whole, number)) for _ in range(draws)
        ]
        rows.append((part, number + judged, values))
    return rows, many + judged, quality(beaten)


@pytest.mark.evidence
@pytest.mark.parametrize("kind", ["flat", "normal", "two", "cliff"])
def test_intervals_hold_what_larger_corpora_give(kind: str) -> None:
    """300 worlds: the whole from an eighth and less of it, and a corpus of ten times the documents from the whole."""
    rng = np.random.default_rng(5)
    held: dict[str, list[bool]] = {"whole from 1/8": [], "10 times": [], "10 times, not doubted": []}
    widths: dict[str, list[float]] = {name: [] for name in held}
    laws: Counter[str] = Counter()
    for _ in range(300):
        rows, documents, truth = world(rng, kind)
        small = forecast_growth(measured([row for row in rows if row[0] <= 1 / 8]), "quality", rows[-1][1])
        large = forecast_growth(measured(rows), "quality", documents)
        assert small is not None
        assert large is not None
        laws[large.law] += 1
        told = [("whole from 1/8", small, rows[-1][2][0]), ("10 times", large, truth)]
        for name, found, value in [*told, *([("10 times, not doubted", large, truth)] if large.doubt is None else [])]:
            held[name].append(found.low <= value <= found.high)
            widths[name].append(found.high - found.low)
    for name, each in held.items():
        print(f"{kind}: {name}: {np.mean(each):.3f} of {len(each)}, median width {np.median(widths[name]):.3f}")
    print(f"{kind}: {dict(laws)}")
    if kind != "cliff":  # where all queries fail at one size, intervals miss: docs/evidence/notes/tradeoff.md
        assert np.mean(held["whole from 1/8"]) >= 0.9
        assert np.mean(held["10 times"]) >= 0.9
