from fractions import Fraction

import numpy as np
import pytest

from trueval.comparison.resampling.resampled_sums import (
    CHUNK,
    SignPatterns,
    bootstrap_sums,
    generator,
    normal_noise,
    thread_count,
    to_grid,
)
from trueval.errors import PolicyError


def test_sums_of_grid_values_are_exact() -> None:
    values = np.random.default_rng(0).random((700, 3)) - 0.5
    grid = to_grid(values)
    assert (np.abs(grid.values - values) <= grid.step / 2).all()
    for column in range(3):
        exact = sum(map(Fraction, grid.values[:, column].tolist()))
        assert Fraction(float(grid.values[::-1, column].sum())) == exact
        assert Fraction(float(np.sort(grid.values[:, column]).sum())) == exact


@pytest.mark.parametrize("queries", [20, 50, 333])
def test_threads_change_no_bit(queries: int) -> None:
    grid = to_grid(np.random.default_rng(1).normal(size=(queries, 7)))
    one, two, four = (bootstrap_sums(grid, 1234, 5, threads) for threads in (1, 2, 4))
    assert one.shape == (7, 1234)
    assert one.tobytes() == two.tobytes() == four.tobytes()
    assert one.tobytes() != bootstrap_sums(grid, 1234, 6, 1).tobytes()


def test_more_resamples_begin_with_the_fewer() -> None:
    grid = to_grid(np.random.default_rng(2).normal(size=(30, 2)))
    few, many = (bootstrap_sums(grid, count, 0, 1) for count in (CHUNK + 7, 3 * CHUNK))
    assert (many[:, : CHUNK + 7] == few).all()
    assert (normal_noise(3 * CHUNK, 0)[: CHUNK + 7] == normal_noise(CHUNK + 7, 0)).all()


def test_every_resample_draws_as_many_queries_as_there_are() -> None:
    assert (bootstrap_sums(to_grid(np.ones((40, 1))), 500, 0, 1) == 40).all()


def test_bootstrap_means_have_the_mean_and_variance_of_the_queries() -> None:
    values = np.random.default_rng(3).normal(size=(50, 1))
    means = bootstrap_sums(to_grid(values), 20_000, 0, 2)[0] / 50
    standard_error = values.std() / np.sqrt(50)
    assert means.mean() == pytest.approx(values.mean(), abs=4 * standard_error / np.sqrt(20_000))
    assert means.std() == pytest.approx(standard_error, rel=0.02)


def test_all_signs_are_listed_once_up_to_their_mirror_image() -> None:
    signs = SignPatterns(6, 10, 0)
    assert signs.enumerates_all
    assert signs.least_p == 1 / 32
    sums = all_rows(signs) @ 2.0 ** np.arange(6)
    assert sorted(np.abs(sums)) == list(range(1, 64, 2))


def test_listed_patterns_come_in_parts_and_each_once() -> None:
    signs = SignPatterns(14, 100, 0)
    assert signs.chunks > 1
    assert len({tuple(row) for row in all_rows(signs).tolist()}) == signs.count == 2**13


@pytest.mark.parametrize("units", [18, 19])
def test_patterns_are_listed_up_to_200_000(units: int) -> None:
    signs = SignPatterns(units, 500, 0)
    assert signs.enumerates_all == (2 ** (units - 1) <= 200_000)
    assert signs.least_p == (1 / 2**17 if units == 18 else 1 / 501)


def test_drawn_signs_are_fair_and_the_first_of_more() -> None:
    few, many = all_rows(SignPatterns(40, CHUNK + 7, 3)), all_rows(SignPatterns(40, 4 * CHUNK, 3))
    assert (many[: CHUNK + 7] == few).all()
    assert set(np.unique(many)) == {-1.0, 1.0}
    assert abs(many.mean()) < 4 / np.sqrt(many.size)


def all_rows(signs: SignPatterns) -> np.ndarray:
    parts = [signs.rows(chunk) for chunk in range(signs.chunks)]
    places = [index for place, _ in parts for index in range(place.start, place.stop)]
    assert places == list(range(signs.count))
    return np.concatenate([rows for _, rows in parts])


def test_chunks_and_streams_differ() -> None:
    draws = [generator(0, stream, chunk).random() for stream in range(3) for chunk in range(3)]
    assert len(set(draws)) == 9


def test_bad_choices_are_named() -> None:
    with pytest.raises(PolicyError, match="seed"):
        generator(-1, 0, 0)
    with pytest.raises(PolicyError, match="threads"):
        thread_count(0)


@pytest.mark.parametrize("seed", [-1, 2**64])
def test_a_seed_is_of_64_bits(seed: int) -> None:
    with pytest.raises(PolicyError, match=rf"seed must be an integer from 0 to 2\^64 - 1. Got {seed}"):
        generator(seed, 0, 0)
    assert generator(2**64 - 1, 0, 0).random() != generator(0, 0, 0).random()
