"""The seconds that a model is expected to take, from trials with items of several lengths."""

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np

from trueval.models.missing_work import MissingPart
from trueval.models.model_speed import GROUPS, TRIED, expected_seconds
from trueval.models.output_part import OutputPart


def missing(lengths: Sequence[int], batch_size: int = 32) -> MissingPart:
    texts = ["x" * length for length in lengths]
    part = OutputPart("documents", texts, texts, lambda items, names: None, len)
    return MissingPart("documents", SimpleNamespace(name="m", batch_size=batch_size), part, np.arange(len(texts)))


def padded(seconds: float, seen: list[int]) -> Any:
    """A model that takes so long for each letter of a batch, whose texts are padded to the longest."""

    def trial(model: object, part: OutputPart, places: Sequence[int]) -> float:
        seen.append(len(places))
        return seconds * len(places) * max(len(part.items[place]) for place in places)

    return trial


def test_texts_of_many_lengths_take_what_their_letters_take() -> None:
    rng = np.random.default_rng(1)
    for lengths in (rng.integers(3, 400, 4000), rng.lognormal(4, 0.8, 4000).astype(int) + 1):
        seen: list[int] = []
        found = expected_seconds(missing(lengths.tolist()), padded(0.01, seen))
        assert found is not None
        assert 0.95 < found / (0.01 * lengths.sum()) < 1.05
        assert seen == [TRIED // GROUPS] * GROUPS, "a model that is slow is not tried again"


def test_a_quick_model_is_tried_with_whole_batches() -> None:
    seen: list[int] = []
    expected_seconds(missing([10] * 500), padded(1e-6, seen))
    assert seen == [4] * GROUPS + [32] * GROUPS


def test_few_items_and_none() -> None:
    assert expected_seconds(missing([]), padded(1, [])) is None
    assert expected_seconds(missing([3, 5]), padded(1, [])) == 8
