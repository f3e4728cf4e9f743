"""Refinement by a posterior: every answer is data, and each question maximizes the information gain."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple, TypeAlias

import numpy as np

from trueval.errors import PolicyError
from trueval.golden.refine.aggregate import GROSS
from trueval.golden.refine.batch_choice import ASKED, INSIDE, next_batches, pair_gains
from trueval.golden.refine.judge_orders import Ask, JudgeOrder, OrderBatch, ask_round
from trueval.golden.refine.metropolis import sample
from trueval.golden.refine.noise_scale import LearnedScale, ScorePrior, learn
from trueval.golden.refine.plackett_luce import NOISE
from trueval.golden.refine.posterior import Posterior, Prior
from trueval.golden.refine.posterior_mode import fit
from trueval.standings.standings import Floats

Watch: TypeAlias = "Callable[[int, Posterior, Floats], None]"
OVERLAP: Final = 0.97  # docs/golden.md
BUDGET: Final = 40
DRAWS: Final = 500
LAST_DRAWS: Final = 2500  # number of draws for the final claims
SWEEPS: Final = 6  # sweeps of the chains after each round, before draws are stored
FIRST_SWEEPS: Final = 80  # sweeps where the chains start at the prior with known orders


@dataclass(frozen=True)
class PosteriorSettings:
    """The parameters of the refinement by a posterior.

    Attributes:
        batch: number of documents per call.
        at_once: number of concurrent calls per round. Calls of a larger round know less of each other.
        overlap: expected share of the returned documents that are in the true top set, at which the refinement stops;
            above 1 it uses the whole budget.
        inside: weight of the order within the top set when choosing questions; with 0 only membership counts.
        noise: ε, share of stages that the judge decides at random.
        gross: γ, share of grades that are gross errors, used where no probability is given for each grade.
        scale: κ and τ of the prior; None learns them from the orders.
        slot_bias: prior standard deviation of the score difference between being shown last and first; None assumes no
            slot bias.
        length_bias: the same for one standard deviation of the lengths; None for none.
        draws: number of posterior draws for memberships.
    """

    batch: int = 5
    at_once: int = 1
    overlap: float = OVERLAP
    inside: float = INSIDE
    noise: float = NOISE
    gross: float = GROSS
    scale: ScorePrior | None = None
    slot_bias: float | None = None
    length_bias: float | None = None
    draws: int = DRAWS

    def __post_init__(self) -> None:
        """Refuse settings under which no refinement is possible."""
        if self.batch < 2 or self.at_once < 1 or self.draws < 2:
            raise PolicyError("A batch needs at least 2 documents, a round 1 call, and memberships 2 draws.")
        if not 0 <= self.noise < 1:
            raise PolicyError(
                f"The share of stages decided at random must be at least 0 and below 1. Got {self.noise}."
            )
        if not 0 <= self.gross < 1:
            raise PolicyError(f"The share of grossly wrong grades must be at least 0 and below 1. Got {self.gross}.")


class PosteriorRefinement(NamedTuple):
    """The result of the refinement by a posterior.

    Attributes:
        gross: mean probability that a grade is a gross error, as learned from the orders.
        members: [document] probability of membership in the top set.
        overlap: expected share of the returned documents that are in the true top set.
        orders: all answered orders, including those known before.
        calls: number of questions asked here, answered or not.
        stopped: "overlap", or "budget".
    """

    posterior: Posterior
    scale: ScorePrior
    gross: float
    members: Floats
    overlap: float
    orders: tuple[JudgeOrder, ...]
    calls: int
    stopped: str


def posterior_s6(
    grades: Floats,
    ask: Ask,
    rng: np.random.Generator,
    *,
    top: int = 20,
    budget: int = BUDGET,
    settings: PosteriorSettings,
    lengths: Floats | None = None,
    gross: Floats | None = None,
    known: Sequence[JudgeOrder] = (),
    watch: Watch | None = None,
) -> PosteriorRefinement:
    """Refine a ranking: sample the posterior, ask the most informative batch, until the top is known or calls run out.

    It makes at least as many calls as the returned documents fill batches, however certain the grades make it: a
    refinement without questions refines nothing. docs/golden.md.

    Args:
        grades: [document] grades.
        rng: source of the randomness of draws and slots.
        top: number of documents in the top set.
        budget: maximum number of calls.
        lengths: [document] text lengths in any unit, for `settings.length_bias`.
        gross: [document] probability that its grade is a gross error; `settings.gross` for all if None.
        known: earlier orders of these documents.
        watch: called before each round with the calls so far, the posterior, and memberships.
    """
    seen, calls, stopped = list(known), 0, "budget"
    unanswered = np.ones((len(grades), len(grades)))  # factor on the gains of a batch without an answer
    least = math.ceil(len(grades) / settings.batch)
    model = _Model(grades, np.full(len(grades), settings.gross) if gross is None else gross, lengths, settings, rng)
    while True:
        found = model.draw(seen, settings.draws)
        members = found.membership(top)
        if watch is not None:
            watch(calls, found, members)
        if len(seen) >= least and expected_overlap(found, members, top) >= settings.overlap:
            stopped = "overlap"
            break
        if calls >= budget or len(grades) < 2:
            break
        gains = pair_gains(found, members, settings.inside) * unanswered
        batches = next_batches(gains, min(settings.at_once, budget - calls), settings.batch, rng)
        for batch, order in zip(batches, ask_round(ask, batches), strict=True):
            if order is None:
                unanswered[np.ix_(batch, batch)] *= ASKED  # otherwise the same batch would be asked forever
            else:
                seen.append(order)
        calls += len(batches)
    found = model.draw(seen, LAST_DRAWS)
    members = found.membership(top)
    overlap = expected_overlap(found, members, top)
    return PosteriorRefinement(found, model.scale, model.share, members, overlap, tuple(seen), calls, stopped)


def expected_overlap(posterior: Posterior, members: Floats, top: int) -> float:
    """Expected share of the returned documents that belong to the true top: the mean of their memberships.

    Args:
        posterior: of the scores, whose best are returned.
        members: [document] probability of membership in the top set.
        top: number of returned documents.
    """
    return float(members[posterior.ranking()[:top]].mean())


class _Model:
    """The posterior given a growing set of orders; each chain continues from the previous one."""

    def __init__(
        self,
        grades: Floats,
        gross: Floats,
        lengths: Floats | None,
        settings: PosteriorSettings,
        rng: np.random.Generator,
    ) -> None:
        self.grades, self.gross, self.lengths, self.settings, self.rng = grades, gross, lengths, settings, rng
        self._learned: LearnedScale | None = None
        self._posterior: Posterior | None = None

    @property
    def scale(self) -> ScorePrior:
        """Current estimate of the prior's scale."""
        return ScorePrior() if self._learned is None else self._learned.scale

    @property
    def share(self) -> float:
        """Current mean probability that a grade is a gross error."""
        known = self.gross if self._learned is None or self._learned.prior.gross is None else self._learned.prior.gross
        return float(known.mean())

    def draw(self, seen: Sequence[JudgeOrder], draws: int) -> Posterior:
        """Samples from the posterior given some orders.

        Args:
            seen: all orders so far.
        """
        orders = OrderBatch.of(seen, len(self.grades))
        biases, covariates = _covariates(orders, self.lengths, self.settings)
        before, learned = self._learned, self._fit(orders, biases, covariates)
        start, sweeps = None, FIRST_SWEEPS
        if before is not None and self._posterior is not None:
            ratio, sweeps = learned.scale.per_grade / before.scale.per_grade, SWEEPS
            start = Posterior(self._posterior.draws * ratio, self._posterior.bias_draws)
        self._posterior = sample(
            orders,
            learned.prior,
            learned.mode,
            self.rng,
            draws=draws,
            sweeps=sweeps,
            covariates=covariates,
            start=start,
        )
        self._learned = learned
        return self._posterior

    def _fit(self, orders: OrderBatch, biases: tuple[float, ...], covariates: Floats | None) -> LearnedScale:
        """The prior and the mode, started from the mode given fewer orders."""
        settings, before = self.settings, self._learned
        if settings.scale is None:
            return learn(orders, self.grades, before, settings.noise, biases, covariates, self.gross)
        start = None if before is None else np.concatenate([before.mode.scores, before.mode.biases])
        prior = Prior.of_grades(self.grades, *settings.scale, settings.noise, biases, self.gross)
        return LearnedScale(fit(orders, prior, covariates, start), prior, settings.scale)


def _covariates(
    orders: OrderBatch, lengths: Floats | None, settings: PosteriorSettings
) -> tuple[tuple[float, ...], Floats | None]:
    """Biases of the judge besides the score: prior standard deviations, and covariate values in each order."""
    biases: list[float] = []
    values: list[Floats] = []
    if settings.slot_bias is not None:
        biases.append(settings.slot_bias)
        values.append(orders.slot_values())
    if settings.length_bias is not None and lengths is not None:
        biases.append(settings.length_bias)
        sd = float(lengths.std())
        standard = (lengths - lengths.mean()) / sd if sd > 0 else np.zeros(len(lengths))
        values.append(np.where(orders.present, standard[orders.items], 0.0))
    return tuple(biases), np.stack(values, axis=2) if values else None
