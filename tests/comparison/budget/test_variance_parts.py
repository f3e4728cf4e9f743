"""Parts of variances: unbiased exactly, nested repeats too; their intervals; degrees of freedom by hand."""

from collections.abc import Iterator, Mapping

import numpy as np
import pytest
from tests.comparison.doubt_worlds import planted

from trueval.comparison.budget.variance_parts import (
    MeanVariance,
    mean_over_repeats,
    satterthwaite,
    variance_of_mean,
    variance_of_nested,
)


def columns(shape: tuple[int, int, int], sds: Mapping[str, float]) -> Iterator[np.ndarray]:
    """Columns L of a factor of the covariance: values are their sum, each times a normal number of its own.

    A quadratic form y' A y then has the mean tr(A L L'), the sum of the form over the columns.
    """
    sizes = dict(zip("QRJ", shape, strict=True))
    for effect, sd in sds.items():
        size = tuple(sizes[letter] if letter in effect else 1 for letter in "QRJ")
        for place in np.ndindex(size):
            one = np.zeros(size)
            one[place] = sd
            yield np.broadcast_to(one, shape)


def expected_variances(found: list[MeanVariance]) -> np.ndarray:
    return np.sum([each.variances for each in found], axis=0)


SDS = {"Q": 1.0, "R": 0.3, "J": 0.4, "QR": 0.5, "QJ": 0.6, "RJ": 0.2, "QRJ": 0.7}


def test_crossed_parts_have_no_bias_and_add_up_to_the_variance_of_the_mean() -> None:
    found = [variance_of_mean(each) for each in columns((4, 3, 2), SDS)]
    effects = [each.effect for each in found[0].components]
    assert expected_variances(found) == pytest.approx([SDS[effect] ** 2 for effect in effects], abs=1e-12)
    of_mean = sum(each.value**2 for each in found)
    assert (expected_variances(found) / found[0].divisors).sum() == pytest.approx(of_mean, rel=1e-12)


@pytest.mark.parametrize(("repeats", "judges"), [((2, 3), 2), ((2, 1), 2), ((3, 2), 1)])
def test_nested_parts_have_no_bias_and_add_up_to_the_variance_of_the_difference(repeats, judges) -> None:
    """Queries and judges move both systems, one more than the other; repeats each system alone."""
    sds = SDS if judges > 1 else {effect: sd for effect, sd in SDS.items() if "J" not in effect}
    first, second = (4, repeats[0], judges), (4, repeats[1], judges)
    shared = {effect: sd for effect, sd in sds.items() if "R" not in effect}
    own = {effect: sd for effect, sd in sds.items() if "R" in effect}
    nothing = np.zeros
    worlds = [
        (np.broadcast_to(3 * one[:, :1], first), np.broadcast_to(one[:, :1], second))
        for one in columns((4, 1, judges), shared)
    ]
    for at, shape in enumerate((first, second)):
        if shape[1] > 1:
            worlds += [(one, nothing(second)) if at == 0 else (nothing(first), one) for one in columns(shape, own)]
    found = [variance_of_nested(*world) for world in worlds]
    true = [(sds[each.effect] * (2 if each.system < 0 else 1)) ** 2 for each in found[0].components]
    assert expected_variances(found) == pytest.approx(true, abs=1e-12)
    of_mean = sum(each.value**2 for each in found)
    assert (expected_variances(found) / found[0].divisors).sum() == pytest.approx(of_mean, rel=1e-12)
    systems = {(each.system, each.effect) for each in found[0].components if each.system >= 0}
    letters = {"R", "QR", "RJ", "QRJ"} if judges > 1 else {"R", "QR"}
    assert systems == {(at, effect) for at, count in enumerate(repeats) for effect in letters if count > 1}


def test_shared_repeats_of_a_difference_are_crossed() -> None:
    """A condition that moves both systems alike is no doubt about their difference; nested repeats count it twice."""
    rng = np.random.default_rng(1)
    shared = np.array([0.0, 1.0, 2.0]).reshape(1, 3, 1)
    first, second = (planted((40, 3, 1), rng, sds={"Q": 1.0, "QR": 0.3}) + shared for _ in range(2))
    crossed, nested = variance_of_mean(first - second), variance_of_nested(first, second)
    repeats = {each.effect: value for each, value in zip(crossed.components, crossed.variances, strict=True)}
    assert abs(repeats["R"]) < 0.02
    apart = [value for each, value in zip(nested.components, nested.variances, strict=True) if each.effect == "R"]
    assert len(apart) == 2
    assert min(apart) > 0.8
    assert crossed.value == pytest.approx(nested.value)


def test_an_even_law_of_queries_alone_is_that_of_a_t_test() -> None:
    values = np.random.default_rng(2).normal(size=(30, 1, 1))
    found = variance_of_mean(values)
    parts = found.variances / found.divisors
    assert parts == pytest.approx([values.var(ddof=1) / 30])
    assert float(satterthwaite(found.components, list(parts), found.counts)) == pytest.approx(29)


def test_degrees_of_freedom_by_hand() -> None:
    """Variances 3 of queries and 1 of judges, as parts of the mean, and none of both: (3 + 1)^2 / (9 / 9 + 1 / 1)."""
    found = variance_of_mean(planted((10, 1, 2), np.random.default_rng(3)))
    parts = [np.array(part) for part in (3.0, 1.0, 0.0)]
    assert [each.effect for each in found.components] == ["Q", "J", "QJ"]
    assert float(satterthwaite(found.components, parts, found.counts)) == pytest.approx(16 / 2)
    # What both vary by together is in the mean squares of either: 2^2 / (2^2 / 9 + 1^2 / 1 + 1^2 / 9).
    parts = [np.array(part) for part in (1.0, 0.0, 1.0)]
    assert float(satterthwaite(found.components, parts, found.counts)) == pytest.approx(4 / (4 / 9 + 1 + 1 / 9))


def test_means_over_repeats_leave_missing_ones_out() -> None:
    values = np.array([[[1.0, np.nan], [3.0, np.nan]]])
    assert mean_over_repeats(values).tolist()[0][0][0] == 2.0
    assert np.isnan(mean_over_repeats(values)[0, 0, 1])


def test_intervals_of_parts_are_those_of_chi_squared_where_queries_alone_vary() -> None:
    from scipy.stats import chi2

    values = np.random.default_rng(4).normal(size=(60, 1, 1))
    found = variance_of_mean(values)
    low, high = np.quantile(found.draw(np.random.default_rng(0)), [0.025, 0.975], axis=1)
    free = found.steady[0]
    wanted = values.var(ddof=1) * free / chi2.ppf([0.975, 0.025], free)
    assert [low[0], high[0]] == pytest.approx(wanted, rel=0.03)


def test_heavy_tails_have_fewer_degrees_of_freedom() -> None:
    rng = np.random.default_rng(6)
    steady = [variance_of_mean(planted((200, 1, 1), rng, law)).steady[0] for law in ("normal", "mostly 0")]
    assert steady[0] > 130
    assert steady[1] < 90
