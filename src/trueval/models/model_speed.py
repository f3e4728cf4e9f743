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
TRIED: Final = 16  # number of texts or pairs for timing a model
BY_SPEED: Final = f"Minutes are those of a trial with {TRIED} texts or pairs of all lengths."


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
    """Estimated seconds of a local model, from a trial with items of all lengths; None without items.

    Args:
        part: items without outputs.
        trial: what measures some of them.
    """
    if not len(part.places):
        return None
    lengths = np.array([part.part.length(part.part.items[place]) for place in part.places.tolist()])
    order = part.places[np.argsort(lengths, kind="stable")]
    tried = order[np.linspace(0, len(order) - 1, min(TRIED, len(order))).astype(int)].tolist()
    return trial(part.model, part.part, tried) / len(tried) * len(order)
