"""Scorers that round, add noise or depend on the batch, and are found out."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pytest

from trueval.collection import Collection
from trueval.precision.service_probe import probe_service
from trueval.sample import sample_path


class Scorer:
    """A reranker that scores by words, and then does something to the scores of a call."""

    def __init__(self, change: Callable[[np.ndarray], np.ndarray]) -> None:
        self.change = change

    def logits(self, query: str, documents: Sequence[str]) -> np.ndarray:
        seeds = [sum(map(ord, query + text)) for text in documents]
        return self.change(np.array([np.random.default_rng(seed).random() for seed in seeds]))[:, None]


@pytest.fixture(scope="module")
def sample() -> Collection:
    return Collection.read(str(sample_path()))


def test_a_service_that_rounds(sample: Collection) -> None:
    found = probe_service(Scorer(lambda scores: np.round(scores, 2)), sample)
    assert found.service is not None
    assert (found.service.pairs, found.service.verdict) == (300, "rounding")
    assert (found.service.again.differing, found.service.rebatched.differing) == (0, 0)
    assert found.runs[0].grid == "2 decimals"


def test_a_service_with_noise(sample: Collection) -> None:
    rng = np.random.default_rng(1)
    found = probe_service(Scorer(lambda scores: scores + rng.uniform(-0.01, 0.01, len(scores))), sample)
    assert found.service is not None
    assert found.service.verdict == "noise"
    assert found.service.again.differing == 300
    assert 0.015 < found.service.again.most <= 0.02
    assert found.runs[0].grid is None


def test_a_service_whose_batches_matter(sample: Collection) -> None:
    found = probe_service(Scorer(lambda scores: scores + len(scores) / 1024), sample)
    assert found.service is not None
    check = found.service
    assert check.verdict == "batch"
    assert (check.again.differing, check.reordered.differing, check.rebatched.differing) == (0, 0, 300)
    # 50 documents in one call, or 7 and at last 1.
    assert check.rebatched.most == pytest.approx(49 / 1024)


def test_a_service_whose_order_matters(sample: Collection) -> None:
    found = probe_service(Scorer(lambda scores: scores + np.arange(len(scores)) / 65536), sample)
    assert found.service is not None
    assert (found.service.verdict, found.service.again.differing) == ("batch", 0)
    assert found.service.reordered.differing > 250
