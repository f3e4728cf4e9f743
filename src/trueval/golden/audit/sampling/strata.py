"""Strata: groups of judged passages that are sampled together, and the sample size of each.

Passages are stratified by the judge's grade, by whether its own labels disagree, and by their influence on the measures
of some runs. A sample of size n gives stratum h

    n_h proportional to  1/2 N_h S_h / sum(N S)  +  1/2 N_h / N,    at least 2, at most N_h

with N_h passages and S_h = root mean square of (influence x error): the first half is Neyman allocation (1934), the
second proportional allocation, so that a wrong guess of S at most doubles the variance of the latter. Seats are
allocated one after another (Webster 1832), so a larger sample contains every smaller one.
"""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

import numpy as np

from trueval.standings.standings import Floats

FLOOR: Final = 2  # minimum size of a stratum: a variance needs two
PLAIN: Final = 0.5  # share of the sample drawn without regard to influence and disagreement
# Ratio of the spread of people's grades, given the judge's, where two of its labels differ: the median over 135 pairs
# of judges of LLMJudge is 1.2 (1.05 to 1.55). A wrong value only widens intervals.
DISPUTED: Final = 1.25
WEIGHTS: Final = ("no weight", "light", "heavy")


class JudgedPassage(NamedTuple):
    """A judged passage with the properties used for stratification.

    Attributes:
        query: query id.
        document: document id.
        disputed: whether the judge's labels differ; None if no passage has more than one label.
        influence: influence on the measures of the runs; None without runs.
    """

    query: str
    document: str
    grade: float
    disputed: bool | None = None
    influence: float | None = None


class StratumKey(NamedTuple):
    """The properties that the passages of a stratum share.

    Attributes:
        disputed: whether labels differ; empty if unknown.
        weights: indices into WEIGHTS; empty without runs.
    """

    grades: frozenset[float]
    disputed: frozenset[bool]
    weights: frozenset[int]

    @property
    def name(self) -> str:
        """The stratum's name, in words.

        >>> StratumKey(frozenset({4.0}), frozenset({True}), frozenset({1, 2})).name
        'grade 4, labels differ, light or heavy'
        """
        grades = " or ".join(f"{grade:g}" for grade in sorted(self.grades))
        parts = [f"{'grade' if len(self.grades) == 1 else 'grades'} {grades}"]
        if len(self.disputed) == 1:
            parts.append("labels differ" if True in self.disputed else "labels agree")
        if 0 < len(self.weights) < len(WEIGHTS):
            parts.append(" or ".join(WEIGHTS[each] for each in sorted(self.weights)))
        return ", ".join(parts)

    def union(self, other: StratumKey) -> StratumKey:
        """The union of two strata."""
        return StratumKey(self.grades | other.grades, self.disputed | other.disputed, self.weights | other.weights)

    def distance(self, other: StratumKey) -> tuple[float, int, int]:
        """How different two strata are: by grades first, then weights, then labels."""
        apart = min(abs(one - two) for one in self.grades for two in other.grades)
        return apart, len(self.weights ^ other.weights), len(self.disputed ^ other.disputed)


def assign_strata(passages: Sequence[JudgedPassage], size: int) -> list[str]:
    """Assign a stratum to each passage.

    Cells are merged, smallest first and with the nearest one, until their floors take at most half of the sample and
    each has at least two passages.

    Args:
        passages: judged passages, at least one.

    >>> assign_strata([JudgedPassage("q", name, grade) for name, grade in zip("abcd", [1, 1, 5, 5])], 20)
    ['grade 1', 'grade 1', 'grade 5', 'grade 5']
    """
    heavy = _heavy(np.array([each.influence or 0.0 for each in passages]))
    cells = [_cell(each, heavy) for each in passages]
    counts = Counter(cells)
    became = {cell: cell for cell in counts}
    most = max(1, size // (2 * FLOOR))
    while len(counts) > 1 and (len(counts) > most or min(counts.values()) < FLOOR):
        small = min(counts, key=lambda cell: (counts[cell], cell.name))
        near = min((each for each in counts if each != small), key=lambda each: (*small.distance(each), each.name))
        joined = small.union(near)
        together = counts.pop(small) + counts.pop(near)
        counts[joined] += together
        became = {cell: joined if now in (small, near) else now for cell, now in became.items()}
    return [became[cell].name for cell in cells]


def _heavy(influence: Floats) -> float:
    """Influence at which a passage counts as heavy: the smallest set of passages with half of the total influence."""
    ordered = np.sort(influence)[::-1]
    sums = np.cumsum(ordered)
    return float(ordered[np.searchsorted(sums, sums[-1] / 2)]) if sums[-1] > 0 else np.inf


def _cell(passage: JudgedPassage, heavy: float) -> StratumKey:
    disputed = frozenset[bool]() if passage.disputed is None else frozenset({passage.disputed})
    if passage.influence is None:
        return StratumKey(frozenset({passage.grade}), disputed, frozenset())
    weight = 0 if passage.influence == 0 else 2 if passage.influence >= heavy else 1
    return StratumKey(frozenset({passage.grade}), disputed, frozenset({weight}))


def shares(passages: Sequence[JudgedPassage], strata: Sequence[str]) -> dict[str, float]:
    """Share of the sample that goes to each stratum; the shares sum to 1.

    Args:
        strata: [passage] stratum name.

    >>> passages = [JudgedPassage("q", "a", 1), JudgedPassage("q", "b", 1), JudgedPassage("q", "c", 5)]
    >>> shares(passages, ["x", "x", "y"])["y"] == 1 / 3
    True
    """
    error = np.array([DISPUTED if each.disputed else 1.0 for each in passages])
    weight = np.array([1.0 if each.influence is None else each.influence for each in passages])
    squares = (error * weight) ** 2
    names = np.array(strata, dtype=object)
    members = {name: names == name for name in dict.fromkeys(strata)}
    spread = {name: float(own.sum()) * float(np.sqrt(squares[own].mean())) for name, own in members.items()}
    total = sum(spread.values())
    plain = {name: float(own.mean()) for name, own in members.items()}
    if not total:
        return plain
    return {name: (1 - PLAIN) * spread[name] / total + PLAIN * plain[name] for name in members}


def allocate_sample(share: Mapping[str, float], population: Mapping[str, int], size: int) -> dict[str, int]:
    """Sample size of each stratum; a larger sample never has fewer items in a stratum.

    Each stratum gets its floor; then each next seat goes to the stratum with the largest share / (2 n_h + 1).

    Args:
        share: stratum → share of the sample.
        population: stratum → number of passages.
        size: size of the sample; at most the population.

    >>> allocate_sample({"x": 0.75, "y": 0.25}, {"x": 100, "y": 3}, 20)
    {'x': 17, 'y': 3}
    """
    given = dict.fromkeys(population, 0)
    left = min(size, sum(population.values()))
    for _ in range(FLOOR):
        for name in sorted(population, key=lambda each: (-share[each], each)):
            if left and given[name] < population[name]:
                given[name] += 1
                left -= 1
    heap = [(-share[name] / (2 * given[name] + 1), name) for name in population if given[name] < population[name]]
    heapq.heapify(heap)
    while left:
        _, name = heapq.heappop(heap)
        given[name] += 1
        left -= 1
        if given[name] < population[name]:
            heapq.heappush(heap, (-share[name] / (2 * given[name] + 1), name))
    return given
