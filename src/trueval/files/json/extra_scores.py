"""Scores of a log: those in the metadata of its documents, or under a key that other numbers use too; contrary ones.

LangChain stores them there: a reranker writes `metadata.relevance_score`, many retrievers `metadata.score`. Such a
number may also come from an earlier stage, after which the list was reordered, so it counts as the score only if all
lists are sorted by it. A score in its own place is held to the same: the model read the list as it is.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

from trueval.files.json.log_keys import LogLine


class ScoredLines(NamedTuple):
    """The lines of a log, with scores where any were found.

    Attributes:
        lines: lines in order.
        notes: one line on the scores found, used or not.
    """

    lines: tuple[LogLine, ...]
    notes: tuple[str, ...]


def with_extra_scores(lines: tuple[LogLine, ...], source: str) -> ScoredLines:
    """Give documents without scores those of their metadata, if every list is in the order of these.

    Args:
        lines: lines of a log.
        source: what a note calls it.
    """
    bare = [line for line in lines if _is_bare(line)]
    places = dict.fromkeys(place for line in bare for entry in line.entries for place in entry.extra)
    if not places:
        return ScoredLines(lines, ())
    refused = {place: why for place in places if (why := _refusal(bare, place))}
    place = next((each for each in places if each not in refused), None)
    if place is None:
        named = "; ".join(f"{each}, {why}" for each, why in refused.items())
        note = (
            f"{source}: documents count by their places alone, and none as tied: numbers that may be scores are not "
            f"used ({named}). Write what the lists are sorted by as score in each document."
        )
        return ScoredLines(lines, (note,))
    scored = tuple(
        line._replace(entries=[entry._replace(score=entry.extra[place]) for entry in line.entries])
        if _is_bare(line)
        else line
        for line in lines
    )
    count = sum(len(line.entries) for line in bare)
    return ScoredLines(scored, (f"{source}: the scores of {count} retrieved documents are those under {place}.",))


def without_contrary_scores(lines: tuple[LogLine, ...], source: str) -> ScoredLines:
    """Leave the scores out if some list is not sorted by them: distances, or lists reordered after they were scored.

    Args:
        lines: lines of a log.
        source: what a note calls it.
    """
    scored = [line for line in lines if line.entries and not _is_bare(line)]
    # A score that is no number is not above or below another: it is kept, and refused with its line.
    contrary = sum(any(a < b for a, b in pairwise(float(str(each.score)) for each in line.entries)) for line in scored)
    if not contrary:
        return ScoredLines(lines, ())
    ranked = tuple(
        line._replace(entries=[entry._replace(score=None) for entry in line.entries]) if line.entries else line
        for line in lines
    )
    note = (
        f"{source}: scores do not descend in {contrary} of {len(scored)} lists, as after a reordering, or with "
        "distances. The order of the lists counts, in which the model read them; scores are not used, and no document "
        "is tied. To rank by scores, give a run file."
    )
    return ScoredLines(ranked, (note,))


def _descends(values: Sequence[float]) -> bool:
    return all(a >= b for a, b in pairwise(values))


def _is_bare(line: LogLine) -> bool:
    """Whether a query has retrieved documents without scores; either all or none have one."""
    return bool(line.entries) and line.entries[0].score is None


def _refusal(lines: Sequence[LogLine], place: str) -> str:
    """Why the numbers at a place are no scores of these lists; empty where they are."""
    if any(place not in entry.extra for line in lines for entry in line.entries):
        return "which some documents lack"
    lists = [[float(entry.extra[place]) for entry in line.entries] for line in lines]
    if not all(map(_descends, lists)):
        return "which does not descend with the lists"
    if len({value for values in lists for value in values}) == 1:
        return "which is the same everywhere"
    return ""
