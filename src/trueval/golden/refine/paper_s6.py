"""Refinement as published (P-B §3.4, Algorithm 1): small score steps, locks, and a ranking that respects them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal, NamedTuple

import numpy as np

from trueval.golden.refine.judge_orders import Ask, Batch, JudgeOrder, ask_round
from trueval.golden.refine.locks import Locks
from trueval.standings.standings import Floats, Ints

TURNS: Final = 3  # T in the text; 15 in the author's code
AUTHORS_TURNS: Final = 15


@dataclass(frozen=True)
class PaperSettings:
    """The parameters of the published refinement; defaults of docs/golden.md.

    Attributes:
        turns: T, number of turns for which the ranking of the top documents must stay the same.
        pick: choice of a batch: "sampled" draws documents with weights 1/(1 + exposures), as "sample (favor low
            exposures)" in Algorithm 1; "least" takes those with the fewest exposures, then the least information.
        batch: number of documents per call, m.
        rate: η at the first turn; η_t = max(least_rate, rate/√(1 + t/decay)).
        least_rate: minimum of η.
        decay: decay constant of η in turns.
        clip: maximum change of a score in one turn.
        recentre: number of turns between centerings of the scores.
        z: width of the margin of a lock, in standard errors.
        confirmations: number of agreeing calls that lock a pair regardless of the margin.
        least_information: ε of σ = 1/√max(I, ε).
        skip_settled: skip calls whose answer the locks determine, and count such a turn as unchanged, as the author's
            code does. Otherwise every turn asks.
    """

    turns: int = TURNS
    pick: Literal["sampled", "least"] = "sampled"
    batch: int = 5
    rate: float = 0.05
    least_rate: float = 0.01
    decay: float = 50.0
    clip: float = 0.2
    recentre: int = 50
    z: float = 1.0
    confirmations: int = 2
    least_information: float = 1e-6
    skip_settled: bool = False


class PaperRefinement(NamedTuple):
    """The result of the published refinement.

    Attributes:
        scores: [document] scores.
        calls: number of questions asked, answered or not.
        stable: whether it stopped because the top documents stayed the same, rather than at the budget.
    """

    ranking: tuple[int, ...]
    scores: Floats
    orders: tuple[JudgeOrder, ...]
    calls: int
    stable: bool


def paper_s6(
    grades: Floats, ask: Ask, rng: np.random.Generator, *, top: int = 20, budget: int, settings: PaperSettings
) -> PaperRefinement:
    """Refine a ranking as published: ask, update scores, lock, rank, until the top stays the same for T turns.

    "The same" means the same documents in the same order, as in a snapshot of the top 20. P-B §3.4, Algorithm 1;
    docs/golden.md.

    Args:
        grades: [document] grades.
        rng: source of the randomness of batches.
        top: number of documents in the top set.
        budget: maximum number of calls.
    """
    state = _State(grades, settings)
    best: Batch = ()
    calls = turn = 0
    stable = 0 if len(grades) > 1 else settings.turns  # a single document needs no order
    while calls < budget and stable < settings.turns and turn < 100 * budget:
        batch = state.next_batch(rng)
        if settings.skip_settled and state.locks.settles(batch):
            state.exposures[list(batch)] += 1
        else:
            (order,) = ask_round(ask, [batch])
            calls += 1
            state.see(order, batch, turn)
        turn += 1
        found = tuple(state.locks.ranking(state.scores)[:top])
        stable, best = (stable + 1 if found == best else 0), found
    ranking = tuple(state.locks.ranking(state.scores))
    return PaperRefinement(ranking, state.scores, tuple(state.orders), calls, stable >= settings.turns)


def score_steps(scores: Floats, best_first: Batch, rate: float) -> tuple[Floats, Floats]:
    """The score steps and the information from one order.

    For each suffix S of the order, p = softmax(s over S): its first document gains η(1−p), the others lose ηp, and the
    information of each grows by p(1−p). All p are of the scores before the steps.

    Args:
        scores: [document] scores.
        rate: η.

    Returns:
        [document] steps, and [document] information.

    >>> steps, information = score_steps(np.zeros(2), (1, 0), rate=0.1)
    >>> steps.round(9).tolist(), information.tolist()
    ([-0.05, 0.05], [0.25, 0.25])
    """
    steps, information = np.zeros(len(scores)), np.zeros(len(scores))
    for first in range(len(best_first)):
        left = np.array(best_first[first:])
        weights = np.exp(scores[left] - scores[left].max())
        share = weights / weights.sum()
        steps[left] -= rate * share
        steps[left[0]] += rate
        information[left] += share * (1 - share)
    return steps, information


class _State:
    """Scores, information, exposures and locks over the turns."""

    def __init__(self, grades: Floats, settings: PaperSettings) -> None:
        self.settings = settings
        self.scores: Floats = grades.astype(np.float64)
        self.information = np.zeros(len(grades))
        self.exposures: Ints = np.zeros(len(grades), np.int64)
        self.confirmed = np.zeros((len(grades), len(grades)), np.int64)
        self.locks = Locks(len(grades))
        self.orders: list[JudgeOrder] = []

    def next_batch(self, rng: np.random.Generator) -> Batch:
        """The next documents to ask about, in random slots."""
        if self.settings.pick == "sampled":
            weights, size = 1 / (1 + self.exposures), min(self.settings.batch, len(self.scores))
            return tuple(map(int, rng.choice(len(weights), size, replace=False, p=weights / weights.sum())))
        keys = (rng.random(len(self.scores)), self.information, self.exposures)  # the last one decides first
        return tuple(map(int, rng.permutation(np.lexsort(keys)[: self.settings.batch])))

    def see(self, order: JudgeOrder | None, batch: Batch, turn: int) -> None:
        """Update the state with an answer."""
        self.exposures[list(batch)] += 1
        if order is None:
            return
        self.orders.append(order)
        chosen = self.settings
        rate = max(chosen.least_rate, chosen.rate / float(np.sqrt(1 + turn / chosen.decay)))
        steps, information = score_steps(self.scores, order.best_first, rate)
        self.scores = self.scores + np.clip(steps, -chosen.clip, chosen.clip)
        self.information = self.information + information
        if (turn + 1) % chosen.recentre == 0:
            self.scores = self.scores - self.scores.mean()
        self._lock(order.best_first)

    def _lock(self, best_first: Batch) -> None:
        chosen = self.settings
        sigma = 1 / np.sqrt(np.maximum(self.information, chosen.least_information))
        for place, winner in enumerate(best_first):
            for loser in best_first[place + 1 :]:
                self.confirmed[winner, loser] += 1
                lower = self.scores[winner] - chosen.z * sigma[winner]
                upper = self.scores[loser] + chosen.z * sigma[loser]
                if lower > upper or self.confirmed[winner, loser] >= chosen.confirmations:
                    self.locks.add(winner, loser)
