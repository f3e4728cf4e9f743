"""Input rules of a policy, applied before measuring: grades, first results, documents that count as not retrieved."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from trueval.errors import InputError
from trueval.standings.standings import PER_ROW, Bools, Floats, Ints, Standings

if TYPE_CHECKING:
    from trueval.judgments import Judgments
    from trueval.run import Run


def whole_grades(grades: Floats, rule: str, source: str) -> Floats:
    """Apply a rule to grades that are not whole numbers.

    Args:
        grades: [document] grades; NaN is unjudged and stays.
        rule: "keep", "truncate" (toward 0, as C converts to an integer) or "error".
        source: name of the judgments in errors.

    Raises:
        InputError: the rule is "error" and a grade is not a whole number.

    >>> whole_grades(np.array([1.9, 2.0]), "truncate", "qrels").tolist()
    [1.0, 2.0]
    """
    if rule == "keep":
        return grades
    whole = np.trunc(grades)
    differ = np.flatnonzero((whole != grades) & ~np.isnan(grades))
    if not len(differ):
        return grades
    if rule == "error":
        raise InputError(
            f"{source}: grades must be whole numbers under this convention. Got {grades[differ[0]]:g}. "
            "Map the grades, or choose float_grades='truncate' or 'keep'."
        )
    return whole


def judgments_under(judgments: Judgments, rule: str) -> Judgments:
    """Judgments with a rule of `whole_grades` applied."""
    grades = judgments.frame["grade"].to_numpy()
    changed = whole_grades(grades, rule, judgments.source)
    if changed is grades:
        return judgments
    return replace(judgments, frame=judgments.frame.with_columns(pl.Series("grade", changed)))


def without_first(run: Run) -> Run:
    """A run without the first result of every query: the highest score, and among equal ones the first in the input.

    Source: mteb `skip_first_result`, which expects the query itself there.
    """
    kept = ~first_results(run.documents["score"].to_numpy(), run.offsets)
    offsets = np.concatenate(([0], np.cumsum(kept)))[run.offsets]
    return replace(run, documents=run.documents.filter(pl.Series(kept)), offsets=offsets)


def with_empty_lists(run: Run) -> Run:
    """A run with empty lists added for queries without a document, after the others.

    >>> from trueval.run import Run
    >>> run = with_empty_lists(Run.from_dict({"q": {}, "r": {"d": 1.0}}))
    >>> run.query_ids.to_list(), run.offsets.tolist()
    (['r', 'q'], [0, 1, 1])
    """
    if not run.empty:
        return run
    ids = pl.concat([run.query_ids, pl.Series(run.query_ids.name, run.empty, dtype=pl.String)])
    offsets = np.concatenate([run.offsets, np.full(len(run.empty), run.offsets[-1])])
    return replace(run, query_ids=ids, offsets=offsets, empty=())


def first_results(scores: Floats, offsets: Ints) -> Bools:
    """[document] whether it is the first result of its list.

    >>> first_results(np.array([1.0, 2.0, 2.0, 5.0]), np.array([0, 3, 4])).tolist()
    [False, True, False, True]
    """
    first = np.zeros(len(scores), dtype=bool)
    starts = offsets[:-1][np.diff(offsets) > 0]
    if not len(starts):
        return first
    size = np.diff(np.append(starts, len(scores)))
    best = np.flatnonzero(scores == np.repeat(np.maximum.reduceat(scores, starts), size))
    owner = np.searchsorted(starts, best, side="right")
    first[best[np.append(True, owner[1:] != owner[:-1])]] = True
    return first


def drop_unretrieved(standings: Standings) -> Standings:
    """Standings in which documents with a score <= 0 stay listed and keep their rank but do not count as retrieved.

    Source: torchmetrics, `target = where(preds > 0, target, 0)` in its AP, RR, P and R.
    """
    kept = standings.score > 0
    if kept.all():
        return standings
    if standings.depth is not None:
        # The list's documents in a group that crosses the depth still determine its ideal. Shifted by the depth they
        # are past it, so they count for nothing, and above - depth gives their old position.
        moved = ~kept & standings.is_cut
        standings, kept = replace(standings, above=standings.above + standings.depth * moved), kept | moved
    return replace(standings, **{name: getattr(standings, name)[kept] for name in PER_ROW})
