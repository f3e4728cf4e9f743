"""Alignment: scores of several runs on the same queries, by the policy for missing ones."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from trueval.errors import InputError, MeasureError
from trueval.evaluation.scores import STATISTICS, Scores
from trueval.measures import Measure
from trueval.standings.standings import Bools, Floats, Ints


@dataclass(frozen=True, eq=False)
class AlignedScores:
    """Scores of several runs on the same queries.

    Attributes:
        names: [run] names of the runs.
        measures: [measure] measures of all runs.
        query_ids: [query] the union of their queries, in the order of the first run that has them.
        place: [run, query] index of the query in the run's own scores; -1 where it is missing.
        kept: [query, measure] whether the query counts in the comparison.
        expected: [run, query, measure] as in Scores; NaN if not available.
        lowest: [run, query, measure] as in Scores.
        highest: [run, query, measure] as in Scores.
        tie_broken: [run, query, measure] as in Scores.
        sd: [run, query, measure] as in Scores.
        notes: one line per thing a reader must know.
    """

    names: tuple[str, ...]
    measures: tuple[Measure, ...]
    query_ids: tuple[str, ...]
    place: Ints
    kept: Bools
    expected: Floats
    lowest: Floats
    highest: Floats
    tie_broken: Floats
    sd: Floats
    notes: tuple[str, ...]

    def excluded_queries(self, measure: int) -> tuple[str, ...]:
        """Ids of the queries that do not count in the comparison on a measure."""
        return tuple(self.query_ids[index] for index in np.flatnonzero(~self.kept[:, measure]).tolist())


def align(scores: Sequence[Scores]) -> AlignedScores:
    """Align scores on the same queries.

    The policy `missing` of the scores sets the value of a judged query that a run lacks. A query without a value for
    any one run ("skip", or NA) is left out of that measure for all of them.

    Args:
        scores: scores of each run; distinct names, the same measures.

    Raises:
        InputError: fewer than two runs, equal names, queries that differ where the policy does not allow it.
        MeasureError: the measures differ.
    """
    _check(scores)
    first, measures = scores[0], scores[0].measures
    query_ids = tuple(dict.fromkeys(query for each in scores for query in each.query_ids))
    index = [{query: at for at, query in enumerate(each.query_ids)} for each in scores]
    place = np.array([[known.get(query, -1) for query in query_ids] for known in index], dtype=np.int64)
    absent = np.argwhere(place < 0)
    if len(absent) and any(each.policy.missing != "skip" for each in scores):
        run, query = absent[0].tolist()
        raise InputError(
            f"Compared runs must be evaluated on the same queries. {scores[run].name} was not evaluated on "
            f"{query_ids[query]!r}. Evaluate both with the same judgments, or with missing='skip'."
        )
    # An index of -1 selects the last query, which the condition then excludes.
    statistics = {
        name: np.stack(
            [
                np.where(where[:, None] >= 0, getattr(each, name)[where], np.nan)
                for each, where in zip(scores, place, strict=True)
            ]
        )
        for name in STATISTICS
    }
    kept: Bools = np.logical_not(np.isnan(statistics["expected"]).any(axis=0))
    notes = [
        f"{each.name} and {first.name} were evaluated under different policies; their difference is not theirs alone."
        for each in scores[1:]
        if each.policy != first.policy
    ]
    total = len(query_ids)
    notes += [
        f"{measure}: {total - count} of {total} queries are left out: some run lacks them or has no value for them."
        for measure, count in zip(measures, kept.sum(axis=0).tolist(), strict=True)
        if count < total
    ]
    names = tuple(each.name for each in scores)
    return AlignedScores(names, measures, query_ids, place, kept, notes=tuple(notes), **statistics)


def _check(scores: Sequence[Scores]) -> None:
    if len(scores) < 2:
        raise InputError(f"A comparison needs at least 2 runs. Got {len(scores)}.")
    name, times = Counter(each.name for each in scores).most_common(1)[0]
    if times > 1:
        raise InputError(f"The runs of a comparison must have different names. Got {name!r} {times} times; rename one.")
    for measure in scores[0].measures:
        if measure.definition.mean != "arithmetic":
            raise MeasureError(
                f"{measure} is a {measure.definition.mean} mean over queries; a comparison takes means of differences. "
                f"Compare {measure.inner or measure} instead."
            )
    for each in scores:
        if each.measures != scores[0].measures:
            raise MeasureError(
                f"Compared runs must be evaluated with the same measures. {scores[0].name} has "
                f"{' '.join(map(str, scores[0].measures))}, {each.name} has {' '.join(map(str, each.measures))}."
            )
