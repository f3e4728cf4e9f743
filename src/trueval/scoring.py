"""Scoring functions φ, in low precision as models are served and in high precision for evaluation.

Low precision: s = round_B(φ(float32(z))), one rounding to the format B, which is what torch's softmax and sigmoid do
on a bfloat16 or float16 tensor. High precision: ŝ = φ(float32(z)), kept in float32 (P-A eq. 3). The model's output z,
logits or embeddings, is the same in both. `strict=True` rounds every step instead (P-A eq. 1, read literally).

Where kernels differ: NumPy arrays are scored with an exactly rounded exponential, so their scores do not depend on the
machine. They equal those of torch on a CPU bit for bit for every sigmoid of a bfloat16 or float16 logit, and for
softmax over the last axis, whose CPU kernel multiplies by 1/Σ. The kernels that divide by Σ (torch over any other axis)
land on the other side of a midpoint for about 6 in a million pairs. Tensors are scored by torch on their own device;
its float32 exponential may be off by one unit in the last place there. A product is a sum of many float32 terms, and
the order of the sum is the kernel's own: near a midpoint two kernels may round to neighbors.
Float32 saturates too: the sigmoid of a logit above 16.7 is 1, and below -88.7 it is 0.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, Final, TypeVar

import numpy as np

from trueval.errors import InputError
from trueval.numerics import FORMATS, find_format, round_to

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray
    from torch import Tensor

    Values = TypeVar("Values", NDArray[Any], Tensor)  # arrays give arrays, tensors give tensors


SCALE: Final = 20.0  # of products of vectors of length 1 in a softmax
_BLOCK = 1 << 16  # documents upcast at a time, so that a corpus is never in memory twice
_SHORTEST = 1e-12  # minimum divisor of torch.nn.functional.normalize, so a zero vector scores 0


@np.errstate(over="ignore", invalid="ignore")
def softmax(logits: Values, format: str, *, strict: bool = False) -> Values:
    """Return the probability of "yes" of two logits.

    s = exp(yes − m) / (exp(no − m) + exp(yes − m)), m = max(no, yes). P-A eq. 1 and 3.

    Args:
        logits: [pair, 2], (no, yes), NumPy or torch, in the model's dtype.
        format: "float32" keeps the float32 score; a narrower name of `numerics.formats()` rounds it once.
        strict: round every step to the format.

    Returns:
        [pair] float32 (float64 for "float64"), whose values are values of the format.

    Raises:
        InputError: there are not two logits per pair, or a score is not a number.

    >>> softmax(np.array([[0.0, 7.5625], [0.0, 7.3125]]), "bfloat16").tolist()
    [1.0, 1.0]
    >>> [f"{s:.8f}" for s in softmax(np.array([[0.0, 7.5625], [0.0, 7.3125]]), "float32")]
    ['0.99948066', '0.99933332']
    """
    arrays = _Arrays(logits, format, strict)
    if logits.ndim < 1 or logits.shape[-1] != 2:
        raise InputError(
            f"Softmax takes two logits per pair, (no, yes), shape [pair, 2]. Got shape {tuple(logits.shape)}. "
            "Use sigmoid for one logit, or pick the two columns."
        )
    if arrays.native(logits):
        score = arrays.wide(arrays.module.softmax(logits, -1)[..., 1])
    else:
        wide, step = arrays.wide(logits), arrays.step
        no, yes = wide[..., 0], wide[..., 1]
        top = arrays.module.maximum(no, yes)  # subtracted from both, so that no exponential overflows
        parts = [step(arrays.exp(step(logit - top))) for logit in (no, yes)]
        total = step(parts[0] + parts[1])
        # torch's kernel over the last axis multiplies by the reciprocal, which rounds once more than a division.
        score = parts[1] * (1 / total) if arrays.low and not strict else parts[1] / total
    scores: Values = arrays.finish(score, "softmax")
    return scores


@np.errstate(over="ignore", invalid="ignore")
def sigmoid(logits: Values, format: str, *, strict: bool = False) -> Values:
    """Return the logistic function of one logit.

    s = 1 / (1 + exp(−z)). P-A eq. 1 and 3.

    Args:
        logits: [pair] or [pair, 1], NumPy or torch, in the model's dtype.
        format: "float32" keeps the float32 score; a narrower name of `numerics.formats()` rounds it once.
        strict: round every step to the format.

    Returns:
        [pair] float32 (float64 for "float64"), whose values are values of the format.

    Raises:
        InputError: there is more than one logit per pair, or a score is not a number.

    >>> sigmoid(np.array([0.0, 8.0, 9.0]), "bfloat16").tolist()
    [0.5, 1.0, 1.0]
    """
    arrays = _Arrays(logits, format, strict)
    if logits.ndim > 1 and logits.shape[1:] != (1,):
        raise InputError(
            f"Sigmoid takes one logit per pair, shape [pair] or [pair, 1]. Got shape {tuple(logits.shape)}. "
            "Use softmax for two logits, (no, yes)."
        )
    flat, step = logits.reshape(-1), arrays.step
    if arrays.native(flat):
        score = arrays.wide(arrays.module.sigmoid(flat))
    else:
        score = 1 / step(1 + step(arrays.exp(-arrays.wide(flat))))
    scores: Values = arrays.finish(score, "sigmoid")
    return scores


@np.errstate(over="ignore", invalid="ignore")
def product(
    queries: Values, documents: Values, format: str, *, normalize: bool = False, strict: bool = False
) -> Values:
    """Return the products of query and document embeddings.

    s = h_q · h_d, accumulated in float32; with `normalize`, of the vectors divided by their lengths (cosine), in
    float32 too. P-A §2.1, pairwise product. Strict: every product and every partial sum, left to right, is rounded.

    Args:
        queries: [query, dimension] or one query [dimension], NumPy or torch, in the model's dtype.
        documents: [document, dimension], of the same kind.
        format: "float32" keeps the float32 score; a narrower name of `numerics.formats()` rounds it once.
        normalize: divide by the lengths first; not needed for embeddings that the model normalized.
        strict: round every step to the format.

    Returns:
        [query, document], or [document] for one query; float32 (float64 for "float64").

    Raises:
        InputError: the dimensions differ, a product overflows the format, or a score is not a number.

    >>> product(np.array([0.6, 0.8]), np.array([[0.8, 0.6], [0.6, 0.801]]), "bfloat16").tolist()
    [0.9609375, 1.0]
    """
    arrays = _Arrays(queries, format, strict)
    _check_dimensions(queries, documents)
    single = queries.ndim == 1
    wide = _vectors(arrays, queries[None] if single else queries, normalize)
    blocks = [
        arrays.finish(
            _products(arrays, wide, _vectors(arrays, documents[start : start + _BLOCK], normalize)), "product"
        )
        for start in range(0, max(1, len(documents)), _BLOCK)
    ]
    table = blocks[0] if len(blocks) == 1 else arrays.module.concatenate(blocks, 1)
    scores: Values = table[0] if single else table
    return scores


@np.errstate(over="ignore", invalid="ignore")
def softmax_similarity(
    queries: Values, documents: Values, format: str, *, scale: float = SCALE, strict: bool = False
) -> Values:
    """Return the share of each document in the list of a query, by a softmax over the products with all of them.

    s_j = exp(τ q·d_j − m) / Σ_i exp(τ q·d_i − m), m = max_i τ q·d_i: what embedders are trained on (van den Oord et al.
    2018, eq. 4). Source of the scale: MultipleNegativesRankingLoss of sentence-transformers. A product that is more
    than 103 / τ below the largest has a share of 0 in float32, and ties with the others there.

    Args:
        queries: [query, dimension] or one query [dimension], NumPy or torch, in the model's dtype.
        documents: [document, dimension], those of the list, at least one.
        format: "float32" keeps the float32 score; a narrower name of `numerics.formats()` rounds it once.
        scale: τ; 20 for vectors of length 1, 1 for sparse ones.
        strict: round every step to the format.

    Returns:
        [query, document], or [document] for one query; float32 (float64 for "float64"). Rows add up to 1.

    Raises:
        InputError: the dimensions differ, there is no document, or a score is not a number.

    >>> softmax_similarity(np.array([1.0, 0.0]), np.array([[0.8, 0.6], [0.8, -0.6]]), "bfloat16").tolist()
    [0.5, 0.5]
    """
    arrays = _Arrays(queries, format, strict)
    if not len(documents):
        raise InputError("A softmax over a list needs at least one document. Got none.")
    high = arrays.format if strict else arrays.width
    products = product(queries, documents, high, strict=strict)
    scaled = arrays.step(scale * (products - arrays.module.amax(products, -1)[..., None]))
    powers = arrays.step(arrays.exp(scaled))
    total = _sum(arrays, arrays.module.moveaxis(powers, -1, 0)) if strict else powers.sum(-1)
    scores: Values = arrays.finish(powers / total[..., None], "softmax")
    return scores


@np.errstate(over="ignore", invalid="ignore")
def maxsim(query: Values, documents: Values | Sequence[Values], format: str, *, strict: bool = False) -> Values:
    """Return the late-interaction score of one query and each document.

    s = Σ_i max_j q_i · d_j over query tokens i and document tokens j (Khattab & Zaharia 2020, eq. 3). Each similarity
    is accumulated in float32 and rounded to the format; so is the sum. Strict: every step is, left to right.

    Args:
        query: [query token, dimension], NumPy or torch, in the model's dtype.
        documents: one [document token, dimension] array per document, padding left out.
        format: "float32" keeps the float32 score; a narrower name of `numerics.formats()` rounds.
        strict: round every step to the format.

    Returns:
        [document] float32 (float64 for "float64").

    Raises:
        InputError: dimensions differ, a document has no token, a score overflows or is not a number.

    >>> query, document = np.array([[1.0, 0.0], [0.0, 1.0]]), np.array([[0.5, 0.25], [0.75, -1.0]])
    >>> maxsim(query, [document], "float32").tolist()
    [1.0]
    """
    arrays = _Arrays(query, format, strict)
    wide = arrays.wide(query)
    sums = []
    for number, document in enumerate(documents):
        _check_dimensions(query, document)
        if not len(document):
            raise InputError(f"Every document needs at least one token for MaxSim. Document {number} has none.")
        best = arrays.module.amax(arrays.round(_products(arrays, wide, arrays.wide(document))), 1)
        sums.append(_sum(arrays, best) if strict else best.sum())
    scores: Values = arrays.finish(arrays.module.stack(sums) if sums else wide[:0, 0], "maxsim")
    return scores


def _check_dimensions(queries: Any, documents: Any) -> None:
    """Refuse vectors that cannot be multiplied."""
    if documents.ndim != 2 or queries.shape[-1] != documents.shape[-1]:
        raise InputError(
            "Queries and documents must be vectors of one dimension, [document, dimension]. "
            f"Got shapes {tuple(queries.shape)} and {tuple(documents.shape)}."
        )


def _products(arrays: _Arrays, queries: Any, documents: Any) -> Any:
    """Return all products; in strict mode rounded after every multiplication and addition."""
    if not arrays.strict:
        return queries @ documents.T
    total = arrays.step(queries[:, :1] * documents[:, 0])
    for k in range(1, queries.shape[1]):
        total = arrays.step(total + arrays.step(queries[:, k : k + 1] * documents[:, k]))
    return total


def _vectors(arrays: _Arrays, vectors: object, normalize: bool) -> Any:
    """Return the vectors upcast, and divided by their lengths if asked."""
    wide = arrays.wide(vectors)
    if not normalize:
        return wide
    squares = arrays.step(wide * wide)
    length = arrays.step((_sum(arrays, squares.T) if arrays.strict else squares.sum(-1)) ** 0.5)
    return arrays.step(wide / arrays.module.clip(length, _SHORTEST, None)[:, None])


def _sum(arrays: _Arrays, values: Any) -> Any:
    """Return the sum over the first axis, rounded after every addition."""
    total = values[0]
    for value in values[1:]:
        total = arrays.step(total + value)
    return total


class _Arrays:
    """The functions that φ needs from NumPy or torch, which share their names, at one format.

    Args:
        values: array or tensor of the kind to be scored.
        format: the format of the scores.
        strict: whether `step` rounds.
    """

    def __init__(self, values: object, format: str, strict: bool) -> None:
        torch = sys.modules.get("torch")  # whoever holds a tensor has imported it
        self.tensors = torch is not None and isinstance(values, torch.Tensor)
        if not self.tensors and not isinstance(values, np.ndarray):
            raise InputError(
                f"Logits and embeddings must be NumPy arrays or torch tensors. Got {type(values).__name__}."
            )
        self.module: Any = torch if self.tensors else np
        self.format = find_format(format).name
        self.strict = strict
        self.low = self.format not in ("float32", "float64")
        self.width = "float64" if self.format == "float64" else "float32"

    def wide(self, values: Any) -> Any:
        """Return the values upcast to the width that φ is computed in."""
        if self.tensors:
            return values.detach().to(getattr(self.module, self.width))
        return np.asarray(values).astype(self.width, copy=False)

    def exp(self, values: Any) -> Any:
        """Return the exponential; NumPy's is rounded from float64, so that it is identical on every machine."""
        return self.module.exp(values) if self.tensors else np.exp(values.astype(np.float64)).astype(values.dtype)

    def native(self, values: Any) -> bool:
        """Return whether torch itself scores in this format with one rounding."""
        return self.tensors and self.low and not self.strict and str(values.dtype) == f"torch.{self.format}"

    def step(self, values: object) -> Any:
        """Return the values, rounded if every step is."""
        return self.round(values) if self.strict else values

    def round(self, values: Any) -> Any:
        """Return the values rounded to the format."""
        if not self.low:
            return values
        if not self.tensors:
            return round_to(values, self.format).astype(self.width)
        if self.format not in FORMATS:  # a format of another package
            return self.module.from_numpy(round_to(values.cpu().numpy(), self.format)).to(values)
        rounded = values.to(getattr(self.module, self.format)).to(values.dtype)
        # torch may clamp values too large for float8_e4m3fn, which has no infinity, to its largest number.
        beyond = values.abs() > find_format(self.format).reach
        lost = (beyond | ~self.module.isfinite(rounded)) & self.module.isfinite(values)
        if lost.any():
            raise InputError(f"The score {values[lost][0].item()!r} overflows {self.format}. Use a wider format.")
        return rounded

    def finish(self, scores: object, name: str) -> Any:
        """Return the rounded scores, if all are numbers; rounding again changes nothing."""
        scores = self.round(scores)
        missing = self.module.isnan(scores)
        if missing.any():
            first = self.module.argwhere(missing)[0].tolist()
            raise InputError(
                f"The {name} score at position {first[0] if len(first) == 1 else first} is not a number. Logits and "
                "embeddings must be finite. Others mean that the model overflowed, as float16 does above 65504: run it "
                "in bfloat16 or float32."
            )
        return scores
