"""Token counts, by the model's tokenizer or estimated and marked as such."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from trueval.models.hosted.call_batches import BYTES, estimate_tokens
from trueval.models.reranker import LocalReranker

Ints = NDArray[np.int64]

ESTIMATED: Final = f"estimated, one for every {BYTES} bytes of UTF-8, rather high than low"


class Tokens(NamedTuple):
    """Token counts of texts or pairs.

    Attributes:
        read: [item] tokens that the model reads, truncated at its maximum length.
        whole: [item] tokens without truncation.
        how: how they were counted, in words.
    """

    read: Ints
    whole: Ints
    how: str


class PairCounter:
    """Counts tokens of (query, document) pairs, once per pair for all systems that rerank it.

    Args:
        model: a reranker of trueval.models. A local one counts by its own tokenizer, the prompt around the pair
            included; for a hosted one, whose tokenizer is not available, tokens are estimated.
    """

    def __init__(self, model: object) -> None:
        self.model = model
        self._known: dict[tuple[str, str], tuple[int, int]] = {}

    def count(self, pairs: Sequence[tuple[str, str]]) -> Tokens:
        """Count tokens of (query, document) pairs."""
        new = list(dict.fromkeys(pair for pair in pairs if pair not in self._known))
        if isinstance(self.model, LocalReranker):
            how = f"by the tokenizer of {self.model.name}"
            found = self.model.pair_tokens(new)
            self._known.update(zip(new, zip(found.read.tolist(), found.whole.tolist(), strict=True), strict=True))
        else:
            how = ESTIMATED
            sizes = [estimate_tokens(query) + estimate_tokens(document) for query, document in new]
            self._known.update(zip(new, zip(sizes, sizes, strict=True), strict=True))
        read, whole = np.array([self._known[pair] for pair in pairs], dtype=np.int64).reshape(-1, 2).T
        return Tokens(read, whole, how)


def text_tokens(texts: Sequence[str], model: Any = None) -> Tokens:
    """Count tokens of texts, such as queries to embed or contexts of a prompt.

    Args:
        texts: texts to count.
        model: model of trueval.models whose tokenizer counts, without its prompts; if it is hosted or None, as for a
            generator, tokens are estimated.

    >>> text_tokens(["retrieval", "a"]).read.tolist()
    [4, 2]
    """
    tokenizer = _tokenizer(model)
    if tokenizer is None:
        sizes = np.fromiter(map(estimate_tokens, texts), np.int64, len(texts))
        return Tokens(sizes, sizes, ESTIMATED)
    ids = tokenizer(list(texts), verbose=False)["input_ids"] if len(texts) else []
    whole = np.fromiter(map(len, ids), np.int64, len(texts))
    limit = getattr(model, "max_length", 0) or tokenizer.model_max_length
    read = np.minimum(whole, int(min(limit, np.iinfo(np.int64).max)))
    return Tokens(read, whole, f"by the tokenizer of {model.name}")


def _tokenizer(model: object) -> Any | None:
    """The tokenizer of a local model; None where there is none."""
    for holder in (model, getattr(model, "model", None)):
        found = getattr(holder, "tokenizer", None)
        if found is not None:
            return found
    return None
