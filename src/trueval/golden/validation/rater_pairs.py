"""Agreement entries of results: for two raters, and for several together."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from trueval.golden.build.golden_set import GoldenSet
from trueval.golden.validation.agreement_intervals import Resampler, ValueWithInterval
from trueval.golden.validation.audit_labels import PeopleLabels, slots_of, texts_of
from trueval.golden.validation.rater_bias import RaterDifferences, by_group, by_length
from trueval.golden.validation.ratings import KEYS, Ratings
from trueval.standings.standings import Bools, Floats

Tell = Callable[[str], object]


def pair_of(
    ratings: Ratings, first: int, second: int, between: str, draw: Resampler, tell: Tell | None
) -> dict[str, Any]:
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
    return {
        "first": names[0],
        "second": names[1],
        "between": between,
        "items": int(both.sum()),
        "queries": len(np.unique(ratings.queries[both])),
        "only_first": int((given[:, 0] & ~given[:, 1]).sum()),
        "only_second": int((given[:, 1] & ~given[:, 0]).sum()),
        "same": float((apart == 0).mean()) if both.any() else None,
        "within_one": float((apart <= 1).mean()) if both.any() else None,
        "grades": ratings.grades.tolist(),
        "sample": _tables(ratings, first, second, plain, draw),
        "population": None
        if ratings.design is None
        else {
            "covered": ratings.design.covered(both),
            "items": float(weights.sum()),
            **_tables(ratings, first, second, weights, draw),
        },
        "bias": _bias(RaterDifferences(other - one, ratings.queries[both], weights[both]), one, other, ratings, draw),
    }


def _tables(ratings: Ratings, first: int, second: int, weights: Floats, draw: Resampler) -> dict[str, Any]:
    return {
        "table": ratings.table(first, second, weights).sum(axis=0).tolist(),
        "coefficients": dicts(ratings.coefficients(first, second, weights, draw)),
    }


def _bias(seen: RaterDifferences, one: Floats, other: Floats, ratings: Ratings, draw: Resampler) -> dict[str, Any]:
    grades = ratings.grades.tolist()
    return {
        "weighted": ratings.design is not None,
        "all": seen.mean(draw).to_dict(),
        "by_first": by_group(seen, grades, one, draw),
        "by_second": by_group(seen, grades, other, draw),
        "by_slot": [],
        "by_length": [],
    }


def bias_of_calls(ratings: Ratings, golden: GoldenSet, people: PeopleLabels, draw: Resampler) -> dict[str, Any]:
    """Bias by slot and length of a golden set's judge against people.

    Args:
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
    found: dict[str, Any] = {}
    if slots:
        items, slot, grade = (np.array(each) for each in zip(*slots, strict=True))
        seen = RaterDifferences(grade - ratings.labels[items, 0], ratings.queries[items], weights[items])
        found["by_slot"] = by_group(seen, np.unique(slot).tolist(), slot, draw)
    texts, lengths = texts_of(golden), people.lengths()
    known = {item: lengths[texts[pair]] for pair, item in place.items() if texts.get(pair) in lengths}
    if known:
        items = np.array(list(known))
        seen = RaterDifferences(
            ratings.labels[items, 1] - ratings.labels[items, 0], ratings.queries[items], weights[items]
        )
        found["by_length"] = by_length(seen, np.array(list(known.values())), draw)
    return found


def together_of(ratings: Ratings, groups: dict[str, list[int]], draw: Resampler) -> list[dict[str, Any]]:
    """α of more than two raters.

    Args:
        groups: name → raters.
    """
    found = []
    for name, raters in groups.items():
        if len(raters) < 3:
            continue
        shared: Bools = np.isfinite(ratings.labels[:, raters]).sum(axis=1) > 1
        entry: dict[str, Any] = {
            "between": name,
            "raters": [ratings.raters[each] for each in raters],
            "items": int(shared.sum()),
            "coefficients": dicts(ratings.together(raters, shared.astype(np.float64), draw)),
        }
        weights = ratings.weights(shared)
        entry["population"] = None if ratings.design is None else dicts(ratings.together(raters, weights, draw))
        found.append(entry)
    return found


def dicts(values: Mapping[str, ValueWithInterval]) -> dict[str, Any]:
    """JSON forms by name."""
    return {name: value.to_dict() for name, value in values.items()}
