"""Pair scores: scores of queries with documents, from the outputs of any model."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from trueval.errors import PolicyError
from trueval.numerics import find_format
from trueval.scoring import maxsim, product, sigmoid, softmax, softmax_similarity

MODEL: Final = "model"  # the model's own dtype
HIGH: Final = "float32"
FINISHED: Final = "none"
LISTWISE: Final = "softmax("  # begins the φ of a softmax over a list, with its scale
PAIRED: Final = ("softmax", "sigmoid", FINISHED)  # φ of models that see query and document together


def scoring_format(model: Any, asked: str) -> str:
    """The number format of a model's scores.

    Args:
        model: model with its scoring and dtype.
        asked: a format name, or "model" for the model's dtype.

    Raises:
        PolicyError: there is no such format, or the model gives finished scores, which nothing can be computed of.
    """
    if model.scoring == FINISHED:
        if asked not in (MODEL, HIGH, model.dtype):
            raise PolicyError(
                f"{model.name} gives finished scores: there are no logits or vectors to score in {asked}. Leave "
                "scoring out; its scores are taken as they are."
            )
        return str(model.dtype)
    return find_format(model.dtype if asked == MODEL else asked).name


def pair_scores(arrays: Mapping[str, Any], lists: Sequence[NDArray[np.int64]], scoring: str, form: str) -> NDArray[Any]:
    """Score each query with the documents of its list, list after list.

    A cross-encoder's logits go through φ, a service's final scores are used unchanged, embeddings are multiplied, and
    token embeddings are scored by MaxSim: any model that scores pairs can rerank.

    Args:
        arrays: outputs of the model: "pairs" [pair, label] of these lists, list by list; or the embeddings of "queries"
            and "documents".
        lists: [query] indices of its documents.
        scoring: φ: "softmax", "sigmoid", "none", "product", "maxsim", or "softmax(τ)" of products over the list.
        form: number format of the scores.

    Returns:
        [pair] scores.
    """
    if scoring in PAIRED:
        return _of_logits(arrays["pairs"], scoring, form)
    queries, documents = arrays["queries"], arrays["documents"]
    pairs = list(zip(queries, lists, strict=True))
    if scoring == "maxsim":
        return np.concatenate([maxsim(query, [documents[d] for d in chosen.tolist()], form) for query, chosen in pairs])
    score: Callable[..., NDArray[Any]] = product
    if scoring.startswith(LISTWISE):
        score = partial(softmax_similarity, scale=float(scoring[len(LISTWISE) : -1]))
    if all(chosen is lists[0] for chosen in lists):  # the whole corpus: one matrix product
        return score(queries, documents[lists[0]], form).ravel()
    return np.concatenate([score(np.asarray(query), np.asarray(documents[chosen]), form) for query, chosen in pairs])


def _of_logits(logits: object, scoring: str, form: str) -> NDArray[Any]:
    array = np.asarray(logits)
    if scoring == FINISHED:
        return array.reshape(-1)
    scores: NDArray[Any] = (softmax if scoring == "softmax" else sigmoid)(array, form)
    return scores
