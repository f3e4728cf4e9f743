"""Model scorers: cosine of an embedder, MaxSim of token vectors, logits of a reranker.

Rounding to a format with m mantissa bits changes a number by at most the fraction u = 2^-(m+1). So it changes the dot
product of two unit vectors by at most u for each of them (Cauchy and Schwarz), and the score itself by half its
spacing. Rounding inside the layers of a model is not included.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from trueval.errors import InputError
from trueval.models.output_part import OutputPart, Step
from trueval.models.output_reuse import reuse_part
from trueval.models.outputs import settings_of
from trueval.models.pair_scores import FINISHED
from trueval.numerics import find_format, round_to, spacings
from trueval.probes.scorer import ScorerPairs, TextPairScores
from trueval.retrieval.indexes.vectors import truncate_vectors
from trueval.scoring import maxsim
from trueval.standings.standings import Floats, Ints
from trueval.threads import Executor

AT_ONCE: Final = 1 << 12  # pairs per block of products
GIVEN: Final = 1 << 10  # batch size for an embedder without settings


class ModelOutputs:
    """Outputs of one model, computed once per text or pair and shared by all scorers.

    Args:
        model: an embedder or a reranker; or a user's object with the role Embedder or Reranker.
        folder: folder of stored outputs; None for none. Outputs of a model without settings are not stored.
        step: called with the part's name, items done and total items.
        executor: runs the model; None for here.
    """

    def __init__(
        self,
        model: Any,
        *,
        folder: Path | None = None,
        step: Step | None = None,
        executor: Executor | None = None,
    ) -> None:
        self.model, self.folder, self.step, self.executor = model, folder, step, executor
        self.settings = settings_of(model) if hasattr(model, "settings") else None
        self._places: dict[str, dict[Any, int]] = {}
        self._rows: dict[str, list[Any]] = {}

    def rows(self, name: str, items: Sequence[Any]) -> list[Any]:
        """The outputs for items, in order; new items are computed.

        Args:
            name: "queries", "documents" or "pairs".
            items: texts, or pairs of texts.
        """
        places, rows = self._places.setdefault(name, {}), self._rows.setdefault(name, [])
        new = [item for item in dict.fromkeys(items) if item not in places]
        if new:
            rows.extend(self._compute(name, new))
            places.update({item: len(rows) - len(new) + at for at, item in enumerate(new)})
        return [rows[places[item]] for item in items]

    def count(self, name: str) -> int:
        """Number of items of a part that were computed."""
        return len(self._places.get(name, ()))

    def _compute(self, name: str, items: list[Any]) -> Any:
        if self.settings is None:
            return self._by_role(name, items)
        part = part_of(self.model, name, items)
        return reuse_part(self.model, part, self.settings, self.folder, self.step, self.executor).rows

    def _by_role(self, name: str, items: list[Any]) -> list[object]:
        """Outputs through the role's public methods only, for a model of the user."""
        if name == "pairs":
            return [row for query, document in items for row in self.model.logits(query, [document])]
        embed: Callable[[list[str]], Any] = getattr(self.model, f"embed_{name}")
        found: list[Any] = []
        for start in range(0, len(items), GIVEN):
            found.extend(map(np.asarray, embed(items[start : start + GIVEN])))
            if self.step is not None:
                self.step(name, len(found), len(items))
        return found


def part_of(model: Any, name: str, items: Sequence[Any]) -> OutputPart:
    """Items as a part of a model.

    Args:
        model: model from `load_model`.
        name: "queries", "documents" or "pairs".
        items: texts, or pairs of texts.
    """
    forward = {"queries": "embed_queries", "documents": "embed_documents", "pairs": "pair_logits"}[name]
    called = [repr(item if isinstance(item, str) else item[1])[:60] for item in items]
    return OutputPart(name, items, called, getattr(model, forward), _length)


def _length(item: str | tuple[str, str]) -> int:
    return len(item) if isinstance(item, str) else sum(map(len, item))


class _Distinct:
    """The distinct pairs: each is scored once, so equal texts have bitwise equal scores."""

    def __init__(self, pairs: ScorerPairs) -> None:
        codes, self.place = np.unique(pairs.query * len(pairs.candidates) + pairs.candidate, return_inverse=True)
        self.query, self.candidate = np.divmod(codes, max(len(pairs.candidates), 1))


def different_pairs(pairs: ScorerPairs) -> list[tuple[str, str]]:
    """The distinct pairs for a reranker.

    >>> different_pairs(ScorerPairs.of([("q", "a"), ("q", "b"), ("q", "a")]))
    [('q', 'a'), ('q', 'b')]
    """
    found = _Distinct(pairs)
    places = zip(found.query.tolist(), found.candidate.tolist(), strict=True)
    return [(pairs.queries[query], pairs.candidates[at]) for query, at in places]


class CosineScorer:
    """Cosine similarity of embeddings, optionally truncated to a dimension and rounded to a format.

    s = q · d / (|q| |d|), summed in float64 and rounded once; for Matryoshka models, over the first dimensions only.

    Args:
        dimension: number of leading components to keep; None for all.
        scoring: format of the scores, "model" for the model's own.
        stored: storage format of candidates' vectors; "model" for the model's own.
    """

    unit = "cosine"

    def __init__(
        self, passed: ModelOutputs, *, dimension: int | None = None, scoring: str = "float32", stored: str = "model"
    ) -> None:
        own = str(passed.model.dtype)
        self.passed, self.dimension = passed, dimension
        self.scoring, self.stored = (find_format(own if each == "model" else each).name for each in (scoring, stored))
        told = [f"{dimension}d"] if dimension else []
        told += [own] if own != "float32" else []
        told += [f"scores {self.scoring}"] if self.scoring not in (own, "float32") else []
        told += [f"kept in {self.stored}"] if self.stored != own else []
        self.name = f"{passed.model.name} ({', '.join(told)})" if told else str(passed.model.name)

    def score(self, pairs: ScorerPairs) -> TextPairScores:
        """Score pairs, with all texts in one pass."""
        queries = self._vectors(self.passed.rows("queries", pairs.queries))
        candidates = self._vectors(self.passed.rows("documents", pairs.candidates))
        if self.stored != self.passed.model.dtype:
            candidates = _unit(round_to(candidates, self.stored))
        distinct = _Distinct(pairs)
        exact = _products(queries, candidates, distinct.query, distinct.candidate)
        values = round_to(exact, self.scoring)
        moved = _unit_roundoff(self.passed.model.dtype) + max(
            _unit_roundoff(self.passed.model.dtype), _unit_roundoff(self.stored)
        )
        grain = spacings(values, self.scoring) / 2 + moved
        return TextPairScores(values[distinct.place], grain[distinct.place])

    def _vectors(self, rows: Sequence[Any]) -> Floats:
        vectors: NDArray[Any] = np.stack(rows).astype(np.float32)
        return _unit((truncate_vectors(vectors, self.dimension) if self.dimension else vectors).astype(np.float64))


def _unit(vectors: Floats) -> Floats:
    """Vectors normalized to length 1; zero vectors stay."""
    lengths = np.sqrt(np.einsum("ij,ij->i", vectors, vectors))
    return vectors / np.where(lengths > 0, lengths, 1.0)[:, None]


def _products(queries: Floats, candidates: Floats, query: Ints, candidate: Ints) -> Floats:
    """Row-wise dot products without BLAS, whose threads could change the order of summation."""
    parts = [np.zeros(0)]
    for start in range(0, len(query), AT_ONCE):
        chosen = slice(start, start + AT_ONCE)
        parts.append(np.einsum("ij,ij->i", queries[query[chosen]], candidates[candidate[chosen]]))
    return np.concatenate(parts)


def _unit_roundoff(form: str) -> float:
    return float(2.0 ** -(find_format(form).mantissa_bits + 1))


class MaxSimScorer:
    """Late-interaction score: Σ over query tokens of the largest dot product with a candidate's tokens.

    Args:
        name: display name of the model; its own name if empty.
        scoring: format of the scores, "model" for the model's own.
    """

    unit = "MaxSim"

    def __init__(self, passed: ModelOutputs, *, name: str = "", scoring: str = "float32") -> None:
        own = str(passed.model.dtype)
        self.passed = passed
        self.scoring = find_format(own if scoring == "model" else scoring).name
        self.name = f"{name or passed.model.name} MaxSim" + (f" ({own})" if own != "float32" else "")

    def score(self, pairs: ScorerPairs) -> TextPairScores:
        """Score pairs, with all texts in one pass."""
        queries = self.passed.rows("queries", pairs.queries)
        candidates = self.passed.rows("documents", pairs.candidates)
        distinct = _Distinct(pairs)
        values = np.zeros(len(distinct.query))
        for chosen in np.split(np.arange(len(values)), np.flatnonzero(np.diff(distinct.query)) + 1):
            if len(chosen):
                query = np.asarray(queries[distinct.query[chosen[0]]])
                documents = [np.asarray(candidates[at]) for at in distinct.candidate[chosen].tolist()]
                values[chosen] = maxsim(query, documents, self.scoring)
        tokens = np.array([len(each) for each in queries], dtype=np.float64)[distinct.query]
        # A maximum changes by no more than the numbers it is taken over, and there is one per query token.
        grain = spacings(values, self.scoring) / 2 + tokens * (
            2 * _unit_roundoff(self.passed.model.dtype) + _unit_roundoff(self.scoring)
        )
        return TextPairScores(values[distinct.place], grain[distinct.place])


class LogitScorer:
    """The logit of a reranker; for two logits, (no, yes), their difference; for a service, its final score.

    Logits rather than probabilities: where a sigmoid saturates at 1, margins of any size look alike.
    """

    def __init__(self, passed: ModelOutputs) -> None:
        own = str(passed.model.dtype)
        self.passed = passed
        self.unit = "score" if passed.model.scoring == FINISHED else "logit"
        self.name = f"{passed.model.name} ({own})" if own != "float32" else str(passed.model.name)

    def score(self, pairs: ScorerPairs) -> TextPairScores:
        """Score pairs, all in one pass.

        Raises:
            InputError: there are neither one nor two logits for a pair.
        """
        distinct = _Distinct(pairs)
        rows = self.passed.rows("pairs", different_pairs(pairs))
        logits = np.stack(rows).astype(np.float64).reshape(len(rows), -1)
        if logits.shape[1] not in (1, 2):
            raise InputError(f"A reranker must give one or two logits for a pair. Got {logits.shape[1]}.")
        values = logits[:, -1] - (logits[:, 0] if logits.shape[1] == 2 else 0.0)
        grain = spacings(logits, str(self.passed.model.dtype)).sum(axis=1) / 2
        return TextPairScores(values[distinct.place], grain[distinct.place])
