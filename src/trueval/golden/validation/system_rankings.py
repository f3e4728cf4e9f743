"""Rankings of systems under different labels: their correlation, and which systems a judge favors.

τ is Kendall's τ-b (1945): concordant minus discordant pairs of systems, over the geometric mean of the pairs that each
ranking separates; equal means are ties. A lift is how many ranks higher a run is under a judge than under people; equal
means share their mean rank. Ranks saturate: a run that is second by people's labels can rise by only one, however much
the judge favors it. So the lift in the measure is reported too. Intervals resample queries, the same for all labels.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Final, NamedTuple

import numpy as np

from trueval.golden.validation.agreement_intervals import Resampler, ValueWithInterval
from trueval.standings.standings import Bools, Floats

ByLabels = Callable[[Floats], Floats]  # [..., labels, system] means → [..., labels]
DECIMALS: Final = 12  # tolerance of means: those that differ by less are equal


def tau_b(one: Floats, other: Floats) -> Floats:
    """Kendall's τ-b of values of the same systems.

    Args:
        one: [..., system] values.
        other: [..., system] values.

    Returns:
        [...] τ-b; NaN where all values of a side are equal.

    >>> float(tau_b(np.array([3.0, 2.0, 1.0]), np.array([3.0, 1.0, 2.0])))
    0.3333333333333333
    """
    first, second = np.triu_indices(one.shape[-1], k=1)
    signs = [np.sign(np.round(values[..., first] - values[..., second], DECIMALS)) for values in (one, other)]
    same, sizes = (signs[0] * signs[1]).sum(axis=-1), [(each**2).sum(axis=-1) for each in signs]
    scale = np.sqrt(sizes[0] * sizes[1])
    found: Floats = np.divide(same, scale, out=np.full(np.shape(scale), np.nan), where=scale > 0)
    return found


def ranks(values: Floats) -> Floats:
    """[..., system] ranks from 1, highest value first; ties share their mean rank.

    >>> ranks(np.array([0.5, 0.7, 0.5])).tolist()
    [2.5, 1.0, 2.5]
    """
    apart = np.sign(np.round(values[..., None, :] - values[..., :, None], DECIMALS))
    found: Floats = 1 + (apart > 0).sum(axis=-1) + ((apart == 0).sum(axis=-1) - 1) / 2
    return found


class SystemMeans(NamedTuple):
    """Per-query values of every run under every set of labels.

    Attributes:
        values: [query, labels, system] values, higher is better; 0 where not counted. The first labels are those of
            people.
        counted: [query, labels] whether the labels count the query.
    """

    values: Floats
    counted: Bools

    @property
    def parts(self) -> Floats:
        """[query, labels, system + 1] values with their counts."""
        return np.concatenate([self.values, self.counted[:, :, None].astype(np.float64)], axis=2)

    @property
    def means(self) -> Floats:
        """[labels, system] means over the counted queries; NaN without any query."""
        return means_of(self.parts.sum(axis=0))


def means_of(sums: Floats) -> Floats:
    """[..., system] means from sums and counts."""
    counts = sums[..., -1:]
    found: Floats = np.divide(sums[..., :-1], counts, out=np.full(sums[..., :-1].shape, np.nan), where=counts > 0)
    return found


def top_of(people: Floats, top: int) -> list[int]:
    """The top systems by people, ties with the last one included.

    >>> top_of(np.array([0.1, 0.5, 0.3, 0.3]), 2)
    [1, 2, 3]
    """
    last = np.sort(people)[::-1][: max(top, 1)][-1]
    return [place for place in np.argsort(-people, kind="stable").tolist() if people[place] >= last - 10.0**-DECIMALS]


def taus(means: SystemMeans, some: Sequence[int], judges: Sequence[int], draw: Resampler) -> list[ValueWithInterval]:
    """[judge] τ-b between the rankings by each judge and by people.

    Args:
        means: means under all labels, people first.
        some: systems to rank.
        judges: indices of the judges among the labels, from 1.
    """
    if len(some) < 2:
        return [ValueWithInterval(None, reason="fewer than two systems")] * len(judges)

    wanted = [0, *judges]

    def taus(sums: Floats) -> dict[str, Floats]:
        each = means_of(sums)[..., list(some)]
        return {str(judge): tau_b(each[..., at, :], each[..., 0, :]) for at, judge in enumerate(judges, start=1)}

    told = [*draw.values(means.parts[:, wanted], taus).values()]
    equal = "all systems are equal by one side"
    return [replace(each, reason=equal) if each.value is None else each for each in told]


@dataclass(frozen=True)
class Lift:
    """How much a judge favors the runs of its family.

    Attributes:
        own: how much higher runs of its family are under the judge than under people.
        others: the same for these runs under judges of other families or none; unknown without such judges.
        extra: own minus others: the lift beyond that by other judges.
    """

    own: ValueWithInterval
    others: ValueWithInterval
    extra: ValueWithInterval


def lift(means: SystemMeans, judge: int, others: Sequence[int], kin: Sequence[int], draw: Resampler) -> Lift:
    """The lift of a judge's family in mean ranks.

    Args:
        means: means under all labels, people first.
        judge: index of the judge among the labels, from 1.
        others: judges of other families, or of none.
        kin: indices of the family's runs.
    """

    def higher(values: Floats) -> Floats:
        place = ranks(values)[..., list(kin)]
        return np.asarray((place[..., :1, :] - place).mean(axis=-1), np.float64)

    return _lift(means, higher, judge, others, draw)


def lift_in_measure(means: SystemMeans, judge: int, others: Sequence[int], kin: Sequence[int], draw: Resampler) -> Lift:
    """How much more a judge's labels add to its family's runs than to all other runs.

    Mean over the kin of (value under the judge − value under people), minus the same over the other runs, so a judge
    that is generous to all has no lift. Unknown where all runs are kin.

    Args:
        means: means under all labels, people first.
        judge: index of the judge among the labels, from 1.
        others: judges of other families, or of none.
        kin: indices of the family's runs.
    """
    rest = [place for place in range(means.values.shape[2]) if place not in kin]

    def higher(values: Floats) -> Floats:
        added = values - values[..., :1, :]
        if not rest:
            return np.full(added.shape[:-1], np.nan)
        found: Floats = added[..., list(kin)].mean(axis=-1) - added[..., rest].mean(axis=-1)
        return found

    return _lift(means, higher, judge, others, draw)


def _lift(means: SystemMeans, higher: ByLabels, judge: int, others: Sequence[int], draw: Resampler) -> Lift:
    """The lift of each set of labels for its own family, for others, and the difference."""

    def agreements(sums: Floats) -> dict[str, Floats]:
        by_labels = higher(means_of(sums))
        own = by_labels[..., judge]
        if not others:
            return {"own": own}
        rest = by_labels[..., list(others)].mean(axis=-1)
        return {"own": own, "others": rest, "extra": own - rest}

    none = ValueWithInterval(None, reason="no judge of another family")
    return Lift(**{"others": none, "extra": none, **draw.values(means.parts, agreements)})
