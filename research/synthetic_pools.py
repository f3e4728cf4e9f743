"""Synthetic pools with a known true order, and judges with a known error model."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Final

import numpy as np

from trueval.golden.refine.judge_orders import Batch
from trueval.standings.standings import Floats

USUAL: Final = 5  # documents of a batch for which the disagreement of a judge is meant
GRADE_NOISE: Final = 0.35  # docs/golden.md
TRUE_ORDER: Final = "the true order"
# Of utilities around their grade, with a standard deviation of 1 (heavy tails have none).
SHAPES: Final[Mapping[str, Callable[[np.random.Generator, int], Floats]]] = MappingProxyType(
    {
        "normal": lambda rng, count: rng.standard_normal(count),
        "bimodal": lambda rng, count: 0.97 * rng.choice([-1.0, 1.0], count) + 0.24 * rng.standard_normal(count),
        "plateaus": lambda rng, count: 0.05 * rng.standard_normal(count),
        "heavy tails": lambda rng, count: rng.standard_t(2, count),
    }
)
# [slot] what a judge takes off, by the share of the way from the first slot to the last.
SLOTS: Final[Mapping[str, Callable[[Floats], Floats]]] = MappingProxyType(
    {
        "line": lambda way: way,
        "ends": lambda way: 1 - (2 * way - 1) ** 2,
        "first": lambda way: np.minimum(way * len(way), 1.0),
    }
)


@dataclass(frozen=True)
class SyntheticWorld:
    """A kind of pool and of judge.

    Attributes:
        name: of the world.
        about: one sentence.
        sizes: (true grade, documents of it), best first.
        grade_noise: standard deviation of the true utilities around their grade.
        shape: of the utilities around their grade, of `SHAPES`.
        gross: share of the documents of each true grade that are given another grade of the pool.
        reversed: whether the best documents are given the lowest grade, and so on.
        disagreement: share of all pairs of the pool on which the judge contradicts itself when it is asked twice.
        slot_bias: by how many grades the best slot is favored over the worst.
        slot_shape: of `SLOTS`.
        contrast: what the judge takes off a document for each grade by which the one shown before it is better than
            the mean of the pool.
        cycles: standard deviation, in grades, of what the judge adds to a document for each other document beside it,
            and takes off that other: preferences in circles. A batch counts the mean over the others in it.
        persistent_bias: standard deviation, in grades, of what the judge always adds to a document.
        list_noise: power of (documents in the list / 5) by which the noise grows in lists of more than 5.
        accidents: share of answers that are random orders.
        truth: what the claims are about, where the judge errs in a way that no call of it shows.
    """

    name: str
    about: str
    sizes: tuple[tuple[int, int], ...] = ((5, 4), (4, 6), (3, 14), (2, 16))
    grade_noise: float = GRADE_NOISE
    shape: str = "normal"
    gross: float = 0.0
    reversed: bool = False
    disagreement: float = 0.05
    slot_bias: float = 0.0
    slot_shape: str = "line"
    contrast: float = 0.0
    cycles: float = 0.0
    persistent_bias: float = 0.0
    list_noise: float = 0.0
    accidents: float = 0.0
    truth: str = TRUE_ORDER

    def to_dict(self) -> dict[str, Any]:
        """The world in the JSON of a simulation."""
        return {**vars(self), "sizes": [list(size) for size in self.sizes]}


_TWO: Final = ((4, 20), (2, 20))
_SLOTS: Final = "the judge's order, averaged over slots"
WORLDS: Final = {
    world.name: world
    for world in (
        SyntheticWorld("usual", "40 documents of four grades; the judge contradicts itself on 5 % of the pairs"),
        SyntheticWorld("flat", "40 documents, all of grade 3: grades say nothing", sizes=((3, 40),)),
        SyntheticWorld("large", "80 documents of four grades", sizes=((5, 8), (4, 12), (3, 28), (2, 32))),
        SyntheticWorld("noisy", "the judge contradicts itself on 15 % of the pairs", disagreement=0.15),
        SyntheticWorld(
            "position", "the judge favors the first slot by 0.3 grades over the last", slot_bias=0.3, truth=_SLOTS
        ),
        SyntheticWorld(
            "biased",
            "the judge misjudges each document for good, by 0.25 grades (sd)",
            persistent_bias=0.25,
            truth="the judge's own order, with what it always gets wrong",
        ),
        SyntheticWorld(
            "long lists", "the judge's noise grows with the length of the list: four times at 20", list_noise=1.0
        ),
        SyntheticWorld("accidents", "5 % of the answers are random orders", accidents=0.05),
        SyntheticWorld("bimodal", "documents of a grade are all well above or well below it", shape="bimodal"),
        SyntheticWorld("plateaus", "documents of a grade are nearly equal", shape="plateaus"),
        SyntheticWorld(
            "heavy tails", "utilities around a grade have tails of Student's t with 2 degrees", shape="heavy tails"
        ),
        SyntheticWorld(
            "intransitive",
            "the judge's preferences go in circles, by 0.3 grades (sd) for each pair",
            cycles=0.3,
            truth="the judge's order, averaged over companions",
        ),
        SyntheticWorld(
            "contrast",
            "a document loses 0.3 grades for each grade by which the one shown before it is above the mean",
            contrast=0.3,
            truth="the judge's order, averaged over companions",
        ),
        SyntheticWorld(
            "ends",
            "the judge favors the first and the last slot by 0.3 grades over the middle",
            slot_bias=0.3,
            slot_shape="ends",
            truth=_SLOTS,
        ),
        SyntheticWorld(
            "first slot",
            "the judge favors the first slot by 0.3 grades over all others",
            slot_bias=0.3,
            slot_shape="first",
            truth=_SLOTS,
        ),
        SyntheticWorld("reversed", "grades are upside down: the best documents have the lowest", reversed=True),
        SyntheticWorld("gross", "5 % of the documents have another grade of the pool", gross=0.05),
        SyntheticWorld("1 of 20", "twenty 4s and twenty 2s; 1 of each 20 has the other grade", sizes=_TWO, gross=0.05),
        SyntheticWorld("2 of 20", "twenty 4s and twenty 2s; 2 of each 20 have the other grade", sizes=_TWO, gross=0.1),
        SyntheticWorld("4 of 20", "twenty 4s and twenty 2s; 4 of each 20 have the other grade", sizes=_TWO, gross=0.2),
    )
}


@dataclass(frozen=True, eq=False)
class SyntheticPool:
    """One pool of a world.

    Attributes:
        grades: [document] as a first judge gave them.
        utilities: [document] the truth, in grades.
        judged: [document] the truth as the judge sees it on average: with what it always adds.
        beside: [document, other] what the judge adds to a document for another beside it; None for nothing.
        noise: standard deviation of what the judge adds anew in every call, in grades.
    """

    grades: Floats
    utilities: Floats
    judged: Floats
    beside: Floats | None
    noise: float


def draw_pool(world: SyntheticWorld, rng: np.random.Generator) -> SyntheticPool:
    """Draw a pool of a world: utilities are true grades plus noise, and the judge has the noise of the world.

    Args:
        world: what kind.
        rng: where the randomness comes from.

    >>> pool = draw_pool(WORLDS["usual"], np.random.default_rng(0))
    >>> round(disagreement(pool.judged, pool.noise), 4)
    0.05
    """
    grades = np.repeat(np.array([float(grade) for grade, _ in world.sizes]), [count for _, count in world.sizes])
    utilities = grades + world.grade_noise * SHAPES[world.shape](rng, len(grades))
    judged = utilities + world.persistent_bias * rng.standard_normal(len(grades))
    beside = None
    if world.cycles:
        drawn = world.cycles * rng.standard_normal((len(grades), len(grades)))
        beside = (drawn - drawn.T) / np.sqrt(2)
        judged = judged + beside.sum(axis=1) / (len(grades) - 1)
    if world.reversed:
        grades = grades.max() + grades.min() - grades
    return SyntheticPool(
        _misread(grades, world.gross, rng), utilities, judged, beside, _noise_for(judged, world.disagreement)
    )


def _misread(grades: Floats, share: float, rng: np.random.Generator) -> Floats:
    """Grades, a share of which is replaced by other grades of the pool."""
    found, kinds = grades.copy(), np.unique(grades)
    for grade in kinds if share else ():
        of = np.flatnonzero(grades == grade)
        wrong = rng.permutation(of)[: round(share * len(of))]
        found[wrong] = rng.choice(kinds[kinds != grade], len(wrong))
    return found


def disagreement(judged: Floats, noise: float) -> float:
    """The share of pairs whose order differs between two calls.

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
    """The noise at which the judge contradicts itself at a given rate, by bisection: the rate grows with the noise."""
    low, high = 1e-6, 100.0
    for _ in range(60):
        middle = float(np.sqrt(low * high))
        low, high = (middle, high) if disagreement(judged, middle) < wanted else (low, middle)
    return high


@dataclass
class SimulatedJudge:
    """A judge with the error model of its world, which counts its calls.

    Attributes:
        pool: what it judges.
        world: how it errs.
        rng: where its errors come from.
        calls: asked so far.
        passages: read so far.
    """

    pool: SyntheticPool
    world: SyntheticWorld
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
        seen = self.pool.judged[list(shown)] + noise * self.rng.standard_normal(count) + self._by_place(shown)
        return tuple(shown[place] for place in np.argsort(-seen))

    def _by_place(self, shown: Batch) -> Floats:
        """[slot] the bias of the judge by slot and companions."""
        count, judged = len(shown), self.pool.judged
        added: Floats = -self.world.slot_bias * SLOTS[self.world.slot_shape](np.arange(count) / max(count - 1, 1))
        if self.world.contrast:
            added[1:] -= self.world.contrast * (judged[list(shown[:-1])] - judged.mean())
        if self.pool.beside is not None:
            usual = self.pool.beside.sum(axis=1)[list(shown)] / (len(judged) - 1)  # is in `judged`
            added += self.pool.beside[np.ix_(shown, shown)].sum(axis=1) / max(count - 1, 1) - usual
        return added
