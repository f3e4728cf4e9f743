"""Notes on differences that rest on few queries."""

import numpy as np
import pytest
from tests.comparison.made_scores import made_scores

import trueval as tv
from trueval.comparison.compare import compare_scores
from trueval.comparison.gate.gate import MaxDrop
from trueval.comparison.resampling.concentration import Concentration, concentration

RNG = np.random.default_rng(2)


def found(values: np.ndarray) -> Concentration | None:
    return concentration(values, np.ones(len(values)), [f"q{at}" for at in range(len(values))])


def constant_but(count: int, queries: int) -> np.ndarray:
    """Gains of about .05, and so many losses of .9."""
    values = np.full(queries, 0.05) + RNG.normal(0, 0.001, queries)
    values[:count] = -0.9
    return values


def test_one_query_with_most_of_the_variance_is_named() -> None:
    few = found(constant_but(1, 20))
    assert few is not None
    assert (few.units, few.of) == (("q0",), 20)
    # Residuals: .9 + .05 of which the mean takes a twentieth.
    assert few.share == pytest.approx(0.95, abs=0.001)


@pytest.mark.parametrize(("count", "queries"), [(2, 20), (4, 50), (9, 100)])
def test_a_few_queries_with_all_of_it_are_named(count: int, queries: int) -> None:
    few = found(constant_but(count, queries))
    assert few is not None
    assert set(few.units) <= {f"q{at}" for at in range(count)}
    assert len(few.units) >= 0.8 * count
    assert 0.8 < few.share < 1
    names = ", ".join(few.units) if count < 4 else f"{', '.join(few.units[:3])} and {len(few.units) - 3} more"
    assert few.sentence("queries").startswith(f"queries {names} carry ")


def test_one_half_is_a_bound() -> None:
    """Residuals of one query a and of twenty others of 1, of mean 0: a^2 / (a^2 + 20)."""
    for largest, named in ((4.4, False), (4.6, True)):
        values = np.array([largest, -largest / 20 + 1, *([-largest / 20 - 1, -largest / 20 + 1] * 10)][:21])
        values -= values.mean()
        share = values.max() ** 2 / (values**2).sum()
        assert (share > 0.5) == named
        assert (found(values) is not None) == named
    assert found(constant_but(3, 20)) is None  # of 20 queries, 2 are few


def test_equal_differences_tell_nothing() -> None:
    few = found(np.full(12, 0.05) + np.linspace(0, 1e-16, 12))
    assert few == Concentration((), 0.0, 12)
    assert found(np.zeros(12)) is None
    assert found(np.full(1, 0.05)) is None


@pytest.mark.parametrize(("queries", "most"), [(12, 0.1), (50, 0.0), (200, 0.0)])
def test_ordinary_differences_rest_on_many(queries: int, most: float) -> None:
    """One of twelve normal values does carry half of their variance now and then."""
    noted = [found(RNG.normal(0.02, 0.2, queries)) is not None for _ in range(500)]
    assert np.mean(noted) <= most


def test_a_comparison_names_them() -> None:
    base = made_scores("base", np.full(20, 0.95))
    scores = [made_scores("run", 0.95 + constant_but(1, 20)), base]
    comparison = compare_scores(scores, resamples=200)
    note = "nDCG@10, run against base: query q0 carries 95% of the variance over 20 queries; see --intervals bounded."
    assert note in comparison.notes
    (each,) = comparison.to_dict()["differences"]
    assert each["concentration"] == {"units": ["q0"], "share": pytest.approx(0.95, abs=0.001), "of": 20}
    row = comparison.to_polars().row(0, named=True)
    assert (row["concentration_units"], row["concentration_share"]) == ("q0", each["concentration"]["share"])
    assert note not in compare_scores(scores, resamples=200, intervals="bounded").notes
    clusters = {f"q{query}": f"topic {query // 2}" for query in range(20)}
    (noted,) = (each for each in compare_scores(scores, resamples=200, clusters=clusters).notes if "carries" in each)
    assert "cluster topic 0 carries" in noted


def test_many_pairs_are_counted() -> None:
    """Six runs, each better by a constant: of 15 pairs three are named, separated ones first."""
    scores = [made_scores(f"r{run}", np.full(20, 0.1 * run)) for run in range(6)]
    said = [each for each in compare_scores(scores, resamples=200).notes if "differ by the same" in each]
    assert len(said) == 3
    assert said[2].endswith("all 20 queries differ by the same (and 12 more pairs); see --intervals bounded.")


def test_a_gate_names_them() -> None:
    base = made_scores("base", np.full(20, 0.95))
    (check,) = tv.gate(made_scores("run", 0.95 + constant_but(1, 20)), [MaxDrop(None, 0.01)], baseline=base)
    assert check.line.endswith(" query q0 carries 95% of the variance over 20 queries.")
    assert check.to_dict()["concentration"]["units"] == ["q0"]
    (plain,) = tv.gate(made_scores("run", 0.95 + RNG.normal(0, 0.01, 20)), [MaxDrop(None, 0.01)], baseline=base)
    assert plain.concentration is None
