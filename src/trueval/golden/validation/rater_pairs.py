"""Agreement entries of results: for two raters, and for several together."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from trueval.golden.build.golden_set import GoldenSet
from trueval.golden.validation.agreement_intervals import Resampler
from trueval.golden.validation.agreement_result import (
    PopulationAgreement,
    RaterBias,
    RaterGroup,
    RaterPair,
    SampleAgreement,
)
from trueval.golden.validation.audit_labels import PeopleLabels, slots_of, texts_of
from trueval.golden.validation.rater_bias import RaterDifferences, by_group, by_length
from trueval.golden.validation.ratings import KEYS, Ratings
from trueval.standings.standings import Bools, Floats

Tell = Callable[[str], object]


def pair_of(ratings: Ratings, first: int, second: int, between: str, draw: Resampler, tell: Tell | None) -> RaterPair:
    """The agreement entry of two raters; for bias by slot and length see `bias_of_calls`.

    Args:
        first: name of one rater.
        second: name of the other rater.
        between: description of the two raters.
        tell: called with their names.
    """
    names = ratings.raters[first], ratings.raters[second]
    if tell is not None:
        tell(f"{names[0]} and {names[1]}")
    both = ratings.both(first, second)
    plain, weights = both.astype(np.float64), ratings.weights(both)
    given = np.isfinite(ratings.labels[:, [first, second]])
    one, other = ratings.labels[both][:, [first, second]].T
    apart = np.abs(one - other)
    population = None
    if ratings.design is not None:
        table = _table(ratings, first, second, weights)
        coefficients = ratings.coefficients(first, second, weights, draw)
        population = PopulationAgreement(ratings.design.coverage(both), float(weights.sum()), table, coefficients)
    return RaterPair(
        first=names[0],
        second=names[1],
        between=between,
        items=int(both.sum()),
        queries=len(np.unique(ratings.queries[both])),
        only_first=int((given[:, 0] & ~given[:, 1]).sum()),
        only_second=int((given[:, 1] & ~given[:, 0]).sum()),
        same=float((apart == 0).mean()) if both.any() else None,
        within_one=float((apart <= 1).mean()) if both.any() else None,
        grades=tuple(ratings.grades.tolist()),
        sample=SampleAgreement(_table(ratings, first, second, plain), ratings.coefficients(first, second, plain, draw)),
        population=population,
        bias=_bias(RaterDifferences(other - one, ratings.queries[both], weights[both]), one, other, ratings, draw),
    )


def _table(ratings: Ratings, first: int, second: int, weights: Floats) -> tuple[tuple[float, ...], ...]:
    return tuple(map(tuple, ratings.table(first, second, weights).sum(axis=0).tolist()))


def _bias(seen: RaterDifferences, one: Floats, other: Floats, ratings: Ratings, draw: Resampler) -> RaterBias:
    grades = ratings.grades.tolist()
    return RaterBias(
        weighted=ratings.design is not None,
        all=seen.mean(draw),
        by_first=by_group(seen, grades, one, draw),
        by_second=by_group(seen, grades, other, draw),
        by_slot=(),
        by_length=(),
    )


def bias_of_calls(
    bias: RaterBias, ratings: Ratings, golden: GoldenSet, people: PeopleLabels, draw: Resampler
) -> RaterBias:
    """The bias of a golden set's judge against people, by slot and length too.

    Args:
        bias: bias without slots and lengths.
        ratings: people first, then the judge.
        golden: golden set with the calls of the judge.
    """
    both = ratings.both(0, 1)
    weights = ratings.weights(both)
    place = {pair: item for item, pair in enumerate(ratings.items.select(KEYS).iter_rows()) if both[item]}
    slots = [
        (place[query, document], slot, grade)
        for query, document, slot, grade in slots_of(golden)
        if (query, document) in place
    ]
    if slots:
        items, slot, grade = (np.array(each) for each in zip(*slots, strict=True))
        seen = RaterDifferences(grade - ratings.labels[items, 0], ratings.queries[items], weights[items])
        bias = replace(bias, by_slot=by_group(seen, np.unique(slot).tolist(), slot, draw))
    texts, lengths = texts_of(golden), people.lengths()
    known = {item: lengths[texts[pair]] for pair, item in place.items() if texts.get(pair) in lengths}
    if known:
        items = np.array(list(known))
        seen = RaterDifferences(
            ratings.labels[items, 1] - ratings.labels[items, 0], ratings.queries[items], weights[items]
        )
        bias = replace(bias, by_length=by_length(seen, np.array(list(known.values())), draw))
    return bias


def together_of(ratings: Ratings, groups: dict[str, list[int]], draw: Resampler) -> tuple[RaterGroup, ...]:
    """α of more than two raters.

    Args:
        groups: name → raters.
    """
    found = []
    for name, raters in groups.items():
        if len(raters) < 3:
            continue
        shared: Bools = np.isfinite(ratings.labels[:, raters]).sum(axis=1) > 1
        found.append(
            RaterGroup(
                name,
                tuple(ratings.raters[each] for each in raters),
                int(shared.sum()),
                ratings.together(raters, shared.astype(np.float64), draw),
                None if ratings.design is None else ratings.together(raters, ratings.weights(shared), draw),
            )
        )
    return tuple(found)
