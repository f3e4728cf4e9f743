"""Model speed: the seconds that a local model takes for the items that it still has to process, by a trial."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np

from trueval.models.missing_work import MissingPart
from trueval.models.output_part import OutputPart

# Function from a model, a part and some of its places to the seconds that the model takes for these.
Trial = Callable[[Any, OutputPart, Sequence[int]], float]
GROUPS: Final = 4  # of a trial: as many parts of the items by length, since time is not proportional to length
TRIED: Final = 16  # number of texts or pairs of a first trial
QUICK: Final = 1.0  # seconds of a first trial below which another one has whole batches, as the work itself
WHOLE: Final = 64  # items of a batch of that one, at most
BY_SPEED: Final = "Minutes are those of one process, by a trial with some texts or pairs of four lengths."


def seconds_of(model: object, part: OutputPart, places: Sequence[int]) -> float:
    """Measured seconds of a model for some items, after a warm-up with one of them.

    Args:
        model: model without cached outputs.
        part: part that contains the items.
    """
    items, names = [part.items[place] for place in places], [part.called[place] for place in places]
    part.forward(items[:1], names[:1])
    began = time.perf_counter()
    part.forward(items, names)
    return time.perf_counter() - began


def expected_seconds(part: MissingPart, trial: Trial = seconds_of) -> float | None:
    """Estimated seconds of a local model, from trials with items of several lengths; None without items.

    The items are cut into groups by length, and of each those around its mean length are tried together: as in the work
    itself, a batch has items of about one length.

    Args:
        part: items without outputs.
        trial: what measures some of them.
    """
    if not len(part.places):
        return None
    lengths = np.array([part.part.length(part.part.items[place]) for place in part.places.tolist()])
    order = np.argsort(lengths, kind="stable")
    groups = [each for each in np.array_split(order, GROUPS) if len(each)]

    def estimate(each: int) -> tuple[float, float]:
        """Seconds of the trials, and of all items, with so many items a group."""
        took = expected = 0.0
        for group in groups:
            first = int(np.searchsorted(lengths[group], lengths[group].mean())) - each // 2
            first = max(0, min(first, len(group) - each))
            chosen = part.places[group[first : first + each]].tolist()
            seconds = trial(part.model, part.part, chosen)
            took += seconds
            expected += seconds / len(chosen) * len(group)
        return took, expected

    few = TRIED // GROUPS
    took, expected = estimate(few)
    whole = min(WHOLE, int(getattr(part.model, "batch_size", 1)))
    return expected if took > QUICK or whole <= few else estimate(whole)[1]
