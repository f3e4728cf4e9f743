"""Worlds: pools whose true order is known, and judges that err in known ways, to try refinements on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np

from trueval.golden.orders import Batch
from trueval.standings.standings import Floats

USUAL: Final = 5  # documents of a batch for which the disagreement of a judge is meant
GRADE_NOISE: Final = 0.35  # docs/golden.md


@dataclass(frozen=True)
class World:
    """A kind of pool and of judge.

    Attributes:
        name: of the world.
        about: one sentence.
        sizes: (grade, documents of it), best first.
        grade_noise: standard deviation of the true utilities around their grade.
        disagreement: share of all pairs of the pool on which the judge contradicts itself when it is asked twice.
        slot_bias: by how many grades the first slot is favored over the last.
        persistent_bias: standard deviation, in grades, of what the judge always adds to a document.
        list_noise: power of (documents in the list / 5) by which the noise grows in lists of more than 5.
        accidents: share of answers that are random orders.
    """

    name: str
    about: str
    sizes: tuple[tuple[int, int], ...] = ((5, 4), (4, 6), (3, 14), (2, 16))
    grade_noise: float = GRADE_NOISE
    disagreement: float = 0.05
    slot_bias: float = 0.0
    persistent_bias: float = 0.0
    list_noise: float = 0.0
    accidents: float = 0.0

    def to_dict(self) -> dict[str, Any]:
        """The world in the JSON of a simulation."""
        return {**vars(self), "sizes": [list(size) for size in self.sizes]}


WORLDS: Final = {
    world.name: world
    for world in (
        World("usual", "40 documents of four grades; the judge contradicts itself on 5 % of the pairs"),
        World("flat", "40 documents, all of grade 3: grades say nothing", sizes=((3, 40),)),
        World("large", "80 documents of four grades", sizes=((5, 8), (4, 12), (3, 28), (2, 32))),
        World("noisy", "the judge contradicts itself on 15 % of the pairs", disagreement=0.15),
        World("position", "the judge favors the first slot by 0.3 grades over the last", slot_bias=0.3),
        World("biased", "the judge misjudges each document for good, by 0.25 grades (sd)", persistent_bias=0.25),
        World("long lists", "the judge's noise grows with the length of the list: four times at 20", list_noise=1.0),
        World("accidents", "5 % of the answers are random orders", accidents=0.05),
    )
}


@dataclass(frozen=True, eq=False)
class Pool:
    """One pool of a world.

    Attributes:
        grades: [document] as a first judge gave them.
        utilities: [document] the truth, in grades.
        judged: [document] the truth as the judge sees it on average: with what it always adds.
        noise: standard deviation of what the judge adds anew in every call, in grades.
    """

    grades: Floats
    utilities: Floats
    judged: Floats
    noise: float


def draw_pool(world: World, rng: np.random.Generator) -> Pool:
    """One pool of a world: utilities are grades plus noise, and the judge is as noisy as the world says.

    Args:
        world: what kind.
        rng: where the randomness comes from.

    >>> pool = draw_pool(WORLDS["usual"], np.random.default_rng(0))
    >>> round(disagreement(pool.judged, pool.noise), 4)
    0.05
    """
    grades = np.repeat(np.array([float(grade) for grade, _ in world.sizes]), [count for _, count in world.sizes])
    utilities = grades + world.grade_noise * rng.standard_normal(len(grades))
    judged = utilities + world.persistent_bias * rng.standard_normal(len(grades))
    return Pool(grades, utilities, judged, _noise_for(judged, world.disagreement))


def disagreement(judged: Floats, noise: float) -> float:
    """The share of all pairs whose order differs between two calls.

    A call adds N(0, noise²) to each document, so the first of two is above with p = Φ(difference/(noise √2)), and two
    calls differ with 2p(1−p).

    Args:
        judged: [document] what the judge means.
        noise: standard deviation of what it adds.

    >>> disagreement(np.array([1.0, 1.0]), 0.3)
    0.5
    """
    from scipy.special import ndtr

    first, second = np.triu_indices(len(judged), 1)
    above = ndtr((judged[first] - judged[second]) / (noise * np.sqrt(2)))
    return float((2 * above * (1 - above)).mean())


def _noise_for(judged: Floats, wanted: float) -> float:
    """The noise at which the judge contradicts itself so often; it grows with the noise, so halving finds it."""
    low, high = 1e-6, 100.0
    for _ in range(60):
        middle = float(np.sqrt(low * high))
        low, high = (middle, high) if disagreement(judged, middle) < wanted else (low, middle)
    return high


@dataclass
class SimulatedJudge:
    """A judge that errs as its world says, and counts what it was asked.

    Attributes:
        pool: what it judges.
        world: how it errs.
        rng: where its errors come from.
        calls: asked so far.
        passages: read so far.
    """

    pool: Pool
    world: World
    rng: np.random.Generator
    calls: int = field(default=0, init=False)
    passages: int = field(default=0, init=False)

    def __call__(self, batches: Sequence[Batch]) -> list[Batch]:
        """Orders of some batches, the best first."""
        return [self._order(batch) for batch in batches]

    def _order(self, shown: Batch) -> Batch:
        self.calls += 1
        self.passages += len(shown)
        count = len(shown)
        if self.rng.random() < self.world.accidents:
            return tuple(map(int, self.rng.permutation(shown)))
        noise = self.pool.noise * max(count / USUAL, 1.0) ** self.world.list_noise
        seen = self.pool.judged[list(shown)] + noise * self.rng.standard_normal(count)
        seen -= self.world.slot_bias * np.arange(count) / max(count - 1, 1)
        return tuple(shown[place] for place in np.argsort(-seen))
