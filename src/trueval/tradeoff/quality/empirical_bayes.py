"""Shrinkage: samples of true values given measured ones, shrunk toward what all configurations have in common.

A resample of queries perturbs every measured mean by the error of a mean over that many queries. Used directly, it
overstates the noise: the measured means already contain such errors, so the best of many looks better than it is, and
one that is narrowly dominated looks dominated. The other configurations are informative about the true value of each:
those with similar cost and latency have similar quality, as far as the data say so. So, for measured means m, errors of
resamples e of covariance S, and features F of the configurations (logs of cost, latency and K, each of mean 0 and sd
1):

    true values t = a + b σ + surface(F) + own,   surface ~ N(0, f² (G + F F')),   own ~ N(0, u² R),   m - t ~ N(0, S)

G = exp(-|F_i - F_j|² / 2): a smooth surface on a plane. σ are the standard errors, the roots of the diagonal of S, and
R is their correlation, a little of its diagonal apart: configurations that err alike, query by query, are alike. a and
b are all but free, sd 10 times that of m. Without b, where values near 1 have small errors and others large ones, which
all share, one accident of 3 σ for all would explain away every difference between them. The sds f and u are drawn from
their posterior on a grid, sd uniform (Gelman 2006, "Prior distributions for variance parameters in hierarchical
models", Bayesian Analysis 1: 515-533), so a surface that the data do not show has no weight. Draws of t given m come
from draws p of the prior and the errors of resamples, which need not be normal (Matheron's rule; Journel & Huijbregts
1978; Wilson et al. 2021, "Pathwise conditioning of Gaussian processes", JMLR 22(105)):

    t* = p + P (P + S)^-1 (m - p - e) = m - e - S (P + S)^-1 (m - p - e),   P = prior covariance

No value is drawn by more than its own standard error (`LIMIT`; Efron & Morris 1972, "Limiting the risk of Bayes and
empirical Bayes estimators", JASA 67: 130-139): a configuration that is unlike all others is what it was measured to be,
and not what they are. Where the mean of draws would move by more, they are mixed with m - e in the proportion that
keeps the limit.

With few queries S underestimates the variance of some contrasts, and with more configurations than queries it is 0 for
some. So each covariance is shrunk toward one common correlation as far as it is noise (`shrink_covariance`; Ledoit &
Wolf 2004, "Honey, I shrunk the sample covariance matrix", use one weight for all, which would separate near
duplicates).

Configurations with the same values for every query are merged, so that they stay equal. docs/tradeoff.md reports the
reliability of the conclusions with and without shrinkage.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

import numpy as np

from trueval.standings.standings import Floats

# Fewer configurations than this are not informative of each other: no shrinkage.
FEWEST: Final = 5
FREE: Final = 10.0  # sd of the mean, in units of that of the measured values
# Limits of the grids: sds from a fraction of the noise to a multiple of the spread of the measured values.
OWN: Final = (0.03, 3.0, 14)
SURFACE: Final = (0.3, 4.0, 8)
APART: Final = 1e-3  # independent share of configuration-specific deviations
LIMIT: Final = 1.0  # maximum shrinkage of a value, in standard errors
ROUNDED: Final = 10.0  # eigenvalues below this many roundings of the largest count as 0
LEAST: Final = 1e-9  # fraction of the measured spread, added to variances so that they can be inverted
TOGETHER: Final = 256  # rows or columns of a matrix per block


class Shrunk(NamedTuple):
    """Samples of true values.

    Attributes:
        values: [configuration, resample] samples of true values.
        noise: standard error of a measured value, without the part common to all.
        own: posterior mean of u, the sd of configuration-specific deviations; NaN without shrinkage.
        surface: posterior mean of f; NaN without shrinkage.
    """

    values: Floats
    noise: float
    own: float
    surface: float


class _Prior(NamedTuple):
    """The Gaussian prior of true values about the center.

    Attributes:
        thin: [configuration, column] factor whose product with its transpose is the covariance of the surface, up to
            rounding; a smooth surface needs few columns.
        free: [configuration, 2] factor whose product with its transpose is the covariance of a and b.
    """

    thin: Floats
    free: Floats

    @classmethod
    def of(cls, features: Floats, spread: float, deviations: Floats) -> _Prior:
        shared = deviations / np.sqrt((deviations**2).mean())
        free = FREE * spread * np.stack([np.ones(len(shared)), shared], axis=1)
        if not features.shape[1]:
            return cls(np.empty((len(features), 0)), free)
        found, vectors = np.linalg.eigh(_surface(features))
        # Further columns would be rounding noise.
        some = found > ROUNDED * np.finfo(np.float64).eps * max(float(found[-1]), 0.0)
        return cls(vectors[:, some] * np.sqrt(found[some]), free)

    def draw(self, surface: float, own: float, root: Floats, count: int, rng: np.random.Generator) -> Floats:
        size, columns = self.thin.shape
        free = rng.standard_normal((2, count))
        drawn: Floats = root @ rng.standard_normal((size, count))
        drawn *= own
        drawn += self.free @ free
        # The columns of rounding noise, which come first, are drawn and discarded.
        for rows in _blocks(size - columns):
            rng.standard_normal((rows.stop - rows.start, count))
        drawn += surface * (self.thin @ rng.standard_normal((columns, count)))
        return drawn


def shrink(measured: Floats, errors: Floats, covariance: Floats, features: Floats, rng: np.random.Generator) -> Shrunk:
    """Sample true values given the measured ones.

    Args:
        measured: [configuration] measured means.
        errors: [configuration, resample] resampled means minus the measured ones.
        covariance: [configuration, configuration] covariance of the errors.
        features: [configuration, feature] features of mean 0 and sd 1; without any there is no surface.
    """
    size = len(measured)
    noise = _noise(covariance)
    spread = float(np.std(measured)) if size else 0.0
    # Without uncertainty, or without differences above rounding, there is nothing to shrink.
    if size < FEWEST or noise <= LEAST * max(spread, LEAST) or spread == 0:
        return Shrunk(measured[:, None] + errors, noise, np.nan, np.nan)
    center = float(measured.mean())
    prior = _Prior.of(features, spread, np.sqrt(np.diag(covariance)))
    surfaces, owns = _grid(noise, spread, surface=bool(features.shape[1]))
    root = _root(_alike(covariance))
    least = (LEAST * spread) ** 2
    shared = prior.free @ prior.free.T
    shared += covariance
    spectrum = _Spectrum.of(_with_diagonal(shared, least), root)
    del shared
    turned = spectrum.vectors.T @ prior.thin
    inverses = [_Inverse.of(spectrum, turned, own) for own in owns]
    weights = _weights(inverses, surfaces, owns, measured - center)
    counts = rng.multinomial(errors.shape[1], weights.ravel())
    out, begin = np.empty_like(errors), 0
    for place in np.flatnonzero(counts):
        (row, column), count = divmod(int(place), len(owns)), int(counts[place])
        drawn = prior.draw(surfaces[row], owns[column], root, count, rng)
        for some in _blocks(count):
            part = slice(begin + some.start, begin + some.stop)
            resampled = measured[:, None] - errors[:, part]
            solved = inverses[column].solve(surfaces[row], resampled - center - drawn[:, some])
            out[:, part] = resampled - covariance @ solved - least * solved
        begin += count
    limited = _limit_shifts(out, measured, errors, np.sqrt(np.diag(covariance)))
    return Shrunk(limited, noise, float(weights.sum(axis=0) @ owns), float(weights.sum(axis=1) @ surfaces))


def _limit_shifts(drawn: Floats, measured: Floats, errors: Floats, deviations: Floats) -> Floats:
    """Samples with their means clipped to some standard errors of the measured values, in place."""
    moved = np.abs(drawn.mean(axis=1) - measured)
    share = np.minimum(LIMIT * deviations / np.maximum(moved, np.finfo(np.float64).tiny), 1.0)[:, None]
    for rows in _blocks(len(drawn)):
        drawn[rows] *= share[rows]
        drawn[rows] += (1 - share[rows]) * (measured[rows, None] - errors[rows])
    return drawn


class _Spectrum(NamedTuple):
    """Eigendecomposition of a covariance, scaled so that configuration-specific deviations have covariance 1."""

    values: Floats
    vectors: Floats

    @classmethod
    def of(cls, covariance: Floats, root: Floats) -> _Spectrum:
        """Decompose a covariance.

        Args:
            covariance: [configuration, configuration] covariance of measured values, without the surface and the
                configuration-specific deviations; overwritten.
            root: lower Cholesky factor of the covariance of configuration-specific deviations.
        """
        from scipy.linalg.blas import dtrsm
        from scipy.linalg.lapack import dsygst

        white, _ = dsygst(covariance.T, root, lower=1, overwrite_a=1)
        values, vectors = _eigendecompose(white)
        return cls(values, dtrsm(1.0, root, vectors, lower=1, trans_a=1, overwrite_b=1))


class _Inverse(NamedTuple):
    """Inverse covariances of measured values, for one sd u of configuration-specific deviations and any sd f.

    C + u² R + f² V V' has the covariance C + u² R, diagonal among the eigenvectors W of C, and a surface of few columns
    V: its inverse is that of the diagonal D less a correction with as many columns (Woodbury 1950). With the spectrum
    U μ U' of V' W D W' V, that of every f is at hand:

        W (D - f² D Z diag(1 / (1 + f² μ)) Z' D) W',    Z = W' V U

    Attributes:
        vectors: W, [configuration, configuration].
        diagonal: of D, [configuration].
        turned: W' V, [configuration, column].
        mixed: U, [column, column].
        values: μ, [column], at least 0.
    """

    vectors: Floats
    diagonal: Floats
    turned: Floats
    mixed: Floats
    values: Floats

    @classmethod
    def of(cls, spectrum: _Spectrum, turned: Floats, own: float) -> _Inverse:
        """The inverses for one sd.

        Args:
            spectrum: spectrum of the covariance without the surface.
            turned: W' V.
            own: u.
        """
        diagonal = 1 / (spectrum.values + own**2)
        values, mixed = np.linalg.eigh((turned * diagonal[:, None]).T @ turned)
        return cls(spectrum.vectors, diagonal, turned, mixed, np.maximum(values, 0.0))

    def solve(self, surface: float, right: Floats) -> Floats:
        """Multiply by the inverse for sd f of the surface.

        Args:
            surface: f.
            right: [configuration, column].
        """
        found = self.diagonal[:, None] * (self.vectors.T @ right)
        share = surface**2 / (1 + surface**2 * self.values)
        explained = self.mixed @ (share[:, None] * (self.mixed.T @ (self.turned.T @ found)))
        found -= self.diagonal[:, None] * (self.turned @ explained)
        solved: Floats = self.vectors @ found
        return solved

    def log_density(self, surfaces: Floats, measured: Floats) -> Floats:
        """[surface] log densities of measured values, up to a constant.

        Args:
            surfaces: values of f.
            measured: [configuration] measured values.
        """
        first = self.vectors.T @ measured
        grown = 1 + surfaces[:, None] ** 2 * self.values
        explained = surfaces[:, None] ** 2 * (self.mixed.T @ (self.turned.T @ (self.diagonal * first))) ** 2 / grown
        squares = (self.diagonal * first**2).sum() - explained.sum(axis=1)
        found: Floats = -0.5 * (squares - np.log(self.diagonal).sum() + np.log(grown).sum(axis=1))
        return found


def shrink_covariance(residuals: Floats, spread: Floats) -> Floats:
    """The error covariance, shrunk toward one common correlation according to its noise.

    A covariance that deviates from the common one by d, with variance v, becomes the common one plus d d² / (d² + v),
    as in Wiener's filter: those of near duplicates stay, sampling noise is removed.

    Args:
        residuals: [query, configuration] contribution of each query to the error of a mean; their squares sum to the
            variance.
        spread: [configuration] independent variance, from tie orders.

    Returns:
        [configuration, configuration] positive semidefinite.
    """
    queries, size = residuals.shape
    covariance = residuals.T @ residuals
    deviations = np.sqrt(np.diag(covariance))
    if size < 2 or queries < 2 or not deviations.min() ** 2 > 0:
        return covariance + np.diag(spread)
    # The mean off-diagonal correlation: the sum of all entries is the square of one vector.
    shared = (residuals / deviations).sum(axis=1)
    alike = (float(shared @ shared) - size) / (size * (size - 1))
    squares = residuals**2
    drawn = squares.T @ squares
    for rows in _blocks(size):
        common = alike * np.outer(deviations[rows], deviations)
        off = covariance[rows] - common
        # Variance of a sum over queries: the sum of squares of the terms, minus that of their mean.
        unsure = np.maximum(drawn[rows] - covariance[rows] ** 2 / queries, np.finfo(np.float64).tiny)
        drawn[rows] = common + off * off**2 / (off**2 + unsure)
    np.fill_diagonal(drawn, np.diag(covariance))
    values, vectors = _eigendecompose(drawn.T)
    first = int(np.searchsorted(values, 0.0, side="right"))
    half = vectors[:, first:] * np.sqrt(values[first:])
    total: Floats = np.matmul(half, half.T, out=covariance)
    return _with_diagonal(total, spread)


def _surface(features: Floats) -> Floats:
    """[configuration, configuration] covariance of the surface for f = 1."""
    found = np.zeros((len(features),) * 2)
    for each in features.T:
        apart = np.subtract.outer(each, each)
        found += np.square(apart, out=apart)
    found /= -2
    np.exp(found, out=found)
    found += features @ features.T
    return found


def _alike(covariance: Floats) -> Floats:
    """Error correlation with reduced off-diagonals: also the similarity of configuration-specific deviations."""
    deviations = np.sqrt(np.maximum(np.diag(covariance), np.finfo(np.float64).tiny))
    found: Floats = (1 - APART) * covariance
    for rows in _blocks(len(found)):
        found[rows] /= np.outer(deviations[rows], deviations)
    np.fill_diagonal(found, 1.0)
    return found


def _root(covariance: Floats) -> Floats:
    """Lower Cholesky factor of a covariance, in place."""
    from scipy.linalg import cholesky

    found: Floats = cholesky(covariance.T, lower=True, overwrite_a=True)
    return found


def _eigendecompose(covariance: Floats) -> tuple[Floats, Floats]:
    """Ascending eigenvalues and eigenvectors from the lower triangle of a column-major matrix, in place."""
    from scipy.linalg import eigh

    values, vectors = eigh(covariance, driver="evd", overwrite_a=True)
    return values, vectors


def _with_diagonal(covariance: Floats, added: Floats | float) -> Floats:
    """A covariance with its diagonal increased, in place."""
    np.fill_diagonal(covariance, np.diag(covariance) + added)
    return covariance


def _blocks(size: int) -> Iterator[slice]:
    """Slices of rows or columns, so that temporaries stay small."""
    for begin in range(0, size, TOGETHER):
        yield slice(begin, min(begin + TOGETHER, size))


def _noise(covariance: Floats) -> float:
    """Standard error of a value relative to the mean of all: shared variation over resamples is removed."""
    size = len(covariance)
    if size < 2:
        return 0.0
    return float(np.sqrt(max((np.trace(covariance) - covariance.sum() / size) / (size - 1), 0.0)))


def _grid(noise: float, spread: float, *, surface: bool) -> tuple[Floats, Floats]:
    """The grid of sds: of the surface, and of configuration-specific deviations."""
    least, most, steps = SURFACE
    smooth = np.geomspace(least * noise, most * spread + noise, steps) if surface else np.empty(0)
    least, most, steps = OWN
    return np.concatenate([[0.0], smooth]), np.geomspace(least * noise, most * spread + noise, steps)


def _weights(inverses: list[_Inverse], surfaces: Floats, owns: Floats, measured: Floats) -> Floats:
    """[surface, own] posterior of the sds; the prior is uniform, which on a geometric grid is the sd itself."""
    least = surfaces[1] if len(surfaces) > 1 else 1.0  # for sd 0, which a geometric grid lacks
    steps = np.log(owns * np.where(surfaces > 0, surfaces, least)[:, None])
    logs = steps + np.stack([each.log_density(surfaces, measured) for each in inverses], axis=1)
    weights = np.exp(logs - logs.max())
    total: Floats = weights / weights.sum()
    return total
