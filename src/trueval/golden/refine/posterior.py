"""Posterior: scores of documents given grades and orders, and the probability of each to be among the best."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from trueval.golden.refine.plackett_luce import NOISE
from trueval.standings.standings import Floats, Ints


@dataclass(frozen=True, eq=False)
class Prior:
    """The prior of scores: s ~ (1−γ)·N(mean, spread²) + γ·N(0, wide²), β ~ N(0, bias²).

    The second component models grossly wrong grades, such as those of a misread passage, which carry no information
    about the score. FORMULAS §7.

    Attributes:
        mean: [document] scores from grades alone: κ(grade − mean grade).
        spread: τ, standard deviation of a score around its mean.
        noise: ε, share of stages that the judge decides at random.
        biases: [covariate] standard deviations of other influences on the judge.
        gross: [document] γ, probability that its grade is a gross error; None for no gross errors.
        wide: τ0, standard deviation of the score of a document with a grossly wrong grade.
    """

    mean: Floats
    spread: float
    noise: float = NOISE
    biases: tuple[float, ...] = ()
    gross: Floats | None = None
    wide: float = 1.0

    @classmethod
    def of_grades(
        cls,
        grades: Floats,
        per_grade: float,
        spread: float,
        noise: float = NOISE,
        biases: tuple[float, ...] = (),
        gross: Floats | None = None,
    ) -> Prior:
        """The prior given grades. τ0 is the spread of scores over all grades: τ0² = τ² + κ²·Var(grade).

        Args:
            grades: [document] grades.
            per_grade: κ, score difference per grade.
            spread: τ.
            noise: ε.
            biases: standard deviations of the covariates' effects.
            gross: [document] γ.

        >>> found = Prior.of_grades(np.array([5.0, 3.0]), per_grade=2.0, spread=1.5)
        >>> found.mean.tolist(), found.wide
        ([2.0, -2.0], 2.5)
        """
        wide = float(np.hypot(spread, per_grade * grades.std()))
        return cls(per_grade * (grades - grades.mean()), spread, noise, biases, gross, wide)

    def of(self, documents: Ints) -> Prior:
        """The prior of a subset of the documents."""
        return replace(self, mean=self.mean[documents], gross=None if self.gross is None else self.gross[documents])

    def log_density(self, scores: Floats) -> Floats:
        """Log density of each score."""
        by_grade = _log_normal(scores - _over(self.mean, scores), self.spread)
        if self.gross is None:
            return by_grade
        gross = _over(self.gross, scores)
        with np.errstate(divide="ignore"):
            found: Floats = np.logaddexp(np.log1p(-gross) + by_grade, np.log(gross) + _log_normal(scores, self.wide))
        return found

    def wrong(self, scores: Floats) -> Floats:
        """[document, ...] probability that the grade is a gross error given the score, by Bayes' rule."""
        if self.gross is None:
            return np.zeros_like(scores)
        by_grade = _log_normal(scores - _over(self.mean, scores), self.spread)
        gross = _over(self.gross, scores)
        with np.errstate(divide="ignore", over="ignore"):
            odds = (1 - gross) / gross * np.exp(by_grade - _log_normal(scores, self.wide))
        return np.asarray(1 / (1 + odds), np.float64)

    def draws(self, count: int, rng: np.random.Generator) -> Floats:
        """[document, draw] samples from the prior."""
        standard = rng.standard_normal((len(self.mean), count))
        by_grade: Floats = self.mean[:, None] + self.spread * standard
        if self.gross is None:
            return by_grade
        return np.where(rng.random(standard.shape) < self.gross[:, None], self.wide * standard, by_grade)


def _log_normal(apart: Floats, sd: float) -> Floats:
    found: Floats = -0.5 * (apart / sd) ** 2 - np.log(sd * np.sqrt(2 * np.pi))
    return found


def _over(values: Floats, scores: Floats) -> Floats:
    """Values of documents, broadcast against scores [document, ...]."""
    return values.reshape(-1, *[1] * (scores.ndim - 1))


@dataclass(frozen=True, eq=False)
class Posterior:
    """Samples from the posterior of scores.

    Attributes:
        draws: [draw, document] scores.
        bias_draws: [draw, covariate] effects of the other influences on the judge.
    """

    draws: Floats
    bias_draws: Floats

    @cached_property
    def scores(self) -> Floats:
        """[document] posterior means."""
        return np.asarray(self.draws.mean(axis=0), np.float64)

    @cached_property
    def sd(self) -> Floats:
        """[document] standard deviations of the scores."""
        return np.asarray(self.draws.std(axis=0), np.float64)

    def ranking(self) -> Ints:
        """[rank] documents by descending score; equal scores in pool order."""
        return np.argsort(-self.scores, kind="stable")

    def pair_variances(self) -> Floats:
        """[document, document] variance of the difference of two scores."""
        apart = self.draws - self.scores
        covariance = apart.T @ apart / len(apart)
        own = covariance.diagonal()
        found: Floats = np.maximum(own[:, None] + own - 2 * covariance, 0.0)
        return found

    def above(self) -> Floats:
        """[document, document] probability that the first has the higher score; 1/2 on the diagonal.

        >>> Posterior(np.array([[1.0, 0.0], [2.0, 1.0], [0.0, 3.0], [2.0, 1.0]]), np.zeros((4, 0))).above().tolist()
        [[0.5, 0.75], [0.25, 0.5]]
        """
        columns = np.ascontiguousarray(self.draws.T)
        found = np.stack([(own > columns).mean(axis=1) for own in columns])
        return np.asarray((found + 1 - found.T) / 2, np.float64)  # ties count half

    def membership(self, top: int) -> Floats:
        """P_i: the share of samples in which each document is in the top set.

        Args:
            top: number of documents in the top set.

        Returns:
            [document] shares, whose sum is `top`, or the number of documents where there are fewer.

        >>> sure = Posterior(np.array([[0.0, 9.0, 5.0], [0.0, 9.0, 8.0]]), np.zeros((2, 0)))
        >>> sure.membership(2).tolist()
        [0.0, 1.0, 1.0]
        """
        count = self.draws.shape[1]
        if top >= count:
            return np.ones(count)
        best = np.argpartition(-self.draws, top - 1, axis=1)[:, :top]
        return np.bincount(best.ravel(), minlength=count) / len(self.draws)
