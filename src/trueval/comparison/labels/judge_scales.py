"""Scales of several judges: whether their grades can be held against each other."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final

from trueval.errors import InputError

if TYPE_CHECKING:
    from trueval.judgments import Judgments

# Highest grades that differ by this factor are of two scales, such as 0 to 1 and 0 to 3.
FACTOR: Final = 2.0

LABELS: Final = ("query_id", "doc_id", "grade")


def check_scales(names: Sequence[str], judges: Sequence[Judgments]) -> Iterator[str]:
    """Refuse judges of different scales; note copies.

    Args:
        names: [judge] names, of files for example.
        judges: [judge] judgments.

    Yields:
        Remarks on scales that may differ, and on judges with the same labels.

    Raises:
        InputError: a judge gave no grade, or highest grades differ by a factor of two or more.
    """
    highest: list[float] = []
    for name, judge in zip(names, judges, strict=True):
        grades = judge.frame["grade"]
        top = grades.filter(grades >= 0).max()
        if not isinstance(top, float):
            raise InputError(f"{name}: no passage has a grade of 0 or more, so it is no judge. Leave it out.")
        highest.append(top)
    low, high = min(highest), max(highest)
    first, other = names[highest.index(high)], names[highest.index(low)]
    if high >= FACTOR * low and high > low:
        raise InputError(
            f"{other}: grades go up to {low:g}, and those of {first} up to {high:g}. Judges must grade on one scale: "
            "map the grades of one file onto the scale of the other."
        )
    if high > low:
        yield (
            f"{other} gives no grade above {low:g}, {first} up to {high:g}. If their scales differ, map the grades of "
            "one file onto the scale of the other."
        )
    labels = [judge.frame.select(LABELS).sort(LABELS) for judge in judges]
    for at, found in enumerate(labels):
        same = next((before for before in range(at) if labels[before].equals(found)), None)
        if same is not None:
            yield (
                f"{names[at]} has the labels of {names[same]}: one is a copy of the other, and says nothing of what "
                "other judges would say. Leave it out."
            )
