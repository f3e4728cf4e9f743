"""Agreement as its definitions have it, in exact fractions: slow, and written with nothing of ours."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import permutations

Distance = Callable[[int, int], Fraction]


def unlike(a: int, b: int) -> Fraction:
    return Fraction(int(a != b))


def apart(a: int, b: int) -> Fraction:
    return Fraction(abs(a - b))


def squared(a: int, b: int) -> Fraction:
    return Fraction((a - b) ** 2)


def kappa(
    pairs: Sequence[tuple[int, int]], distance: Distance, weights: Sequence[Fraction] | None = None
) -> Fraction | None:
    """1 - mean distance of the items over that of all combinations of a label of one and a label of the other."""
    weigh = list(weights or [Fraction(1)] * len(pairs))
    total = sum(weigh)
    observed = sum(w * distance(a, b) for w, (a, b) in zip(weigh, pairs, strict=True)) / total
    both = list(zip(weigh, pairs, strict=True))
    expected = sum(w * v * distance(a, b) for w, (a, _) in both for v, (_, b) in both)
    return 1 - observed / (expected / total**2) if expected else None


def alpha(units: Sequence[Sequence[int]], distance: Distance | None) -> Fraction | None:
    """1 - D_o / D_e of Krippendorff; None in the place of a distance is the ordinal one."""
    paired = [unit for unit in units if len(unit) > 1]
    values = [value for unit in paired for value in unit]
    n, counts = len(values), Counter(values)

    def ordinal(a: int, b: int) -> Fraction:
        low, high = min(a, b), max(a, b)
        between = sum(count for value, count in counts.items() if low <= value <= high)
        return (between - Fraction(counts[a] + counts[b], 2)) ** 2

    far = distance or ordinal
    observed = sum(
        (far(a, b) / (len(unit) - 1) for unit in paired for a, b in permutations(unit, 2)), Fraction(0)
    ) / max(n, 1)
    expected = sum((far(a, b) for a, b in permutations(values, 2)), Fraction(0))
    return 1 - observed / (expected / (n * (n - 1))) if expected else None
