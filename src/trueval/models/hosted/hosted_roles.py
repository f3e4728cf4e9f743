"""Hosted embedders and rerankers: their requests and responses."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trueval.errors import PolicyError, TruevalWarning, nearest
from trueval.models.hosted.account import Account
from trueval.models.hosted.call_batches import Call, CallLimits, calls
from trueval.models.hosted.hosted_model import HostedModel
from trueval.models.hosted.hosted_settings import HostedSettings
from trueval.models.hosted.response_bounds import most_of_vectors
from trueval.models.hosted.retries import Retries
from trueval.models.hosted.services import parse_hosted_name
from trueval.models.hosted.wire import scores_of, vectors_of
from trueval.models.pair_scores import HIGH, pair_scores, scoring_format

LENGTH = 0.01  # tolerance of the length 1; the vectors of services that normalize stay far within it, in any format


class HostedEmbedder(HostedModel):
    """An embedder of a service; its vectors are float32, as transmitted."""

    checked = False  # whether the lengths of its vectors were checked

    @property
    def scoring(self) -> str:
        """φ: the dot product of two vectors."""
        return "product"

    @property
    def dtype(self) -> str:
        """The transmission format of vectors."""
        return "float32"

    def limits(self) -> CallLimits:
        """Limits of a call to /embeddings."""
        return self.named.service.embeds or CallLimits(1, 1)

    def settings(self) -> dict[str, Any]:
        """Return everything that determines the outputs."""
        return {**super().settings(), "dimension": self.use.dimension, "encoding": self.use.encoding}

    def plan(self, part: str, items: Sequence[tuple[int, Any]]) -> list[Call]:
        """Split texts into calls by number and tokens; duplicates are sent once."""
        return calls(part, "", items, self.limit)

    def send(self, call: Call) -> Any:
        """Send texts once; Voyage also gets the input type, query or document."""
        given = self.use
        body: dict[str, Any] = {"model": self.named.model, "input": list(map(sendable, call.texts))}
        voyage = self.named.service.name == "voyage"
        if voyage:
            body |= {"input_type": "query" if call.part == "queries" else "document", "truncation": True}
            body |= {"output_dtype": "float"}
        if given.dimension is not None:
            body["output_dimension" if voyage else "dimensions"] = given.dimension
        # Voyage sends decimal numbers by default, and has no value to request them.
        if given.encoding == "base64" or not voyage:
            body["encoding_format"] = given.encoding
        decimal = body.get("encoding_format") != "base64"
        return self.client.post("/embeddings", body, most_of_vectors(len(call.texts), given.dimension, decimal=decimal))

    def rows_of(self, found: object, call: Call) -> NDArray[Any]:
        """Vectors, [text, dimension]."""
        vectors = vectors_of(found, len(call.texts), self.use.dimension)
        if not self.checked:
            self.checked = True
            longest = float(np.abs(np.linalg.norm(vectors, axis=1) - 1).max())
            if longest > LENGTH:
                told = f"{self.name}: vectors are not of length 1, so that their products are no cosines."
                warnings.warn(told, TruevalWarning, stacklevel=2)
        return vectors

    def embed_queries(self, texts: Sequence[str], names: Sequence[str] | None = None) -> Any:
        """Return one vector per query, [query, dimension] float32.

        Raises:
            InputError: as in answers.
        """
        return collect_outputs(self, "queries", texts, names)

    def embed_documents(self, texts: Sequence[str], names: Sequence[str] | None = None) -> Any:
        """Return one vector per document; otherwise as `embed_queries`."""
        return collect_outputs(self, "documents", texts, names)


class HostedReranker(HostedModel):
    """A reranker of a service; it returns final scores, or logits as TEI does."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.use.dimension is not None:  # settings that concern vectors, but name a reranker
            raise PolicyError(f"{self.name} is a reranker, which has no dimension. Leave it out.")

    @property
    def scoring(self) -> str:
        """φ: "none" for final scores, "sigmoid" for logits."""
        return self.named.service.scoring

    @property
    def dtype(self) -> str:
        """The output format: decimal numbers are read as float64; TEI's logits are printed from float32."""
        return "float64" if self.scoring == "none" else "float32"

    def limits(self) -> CallLimits:
        """Limits of a call to /rerank."""
        return self.named.service.reranks or CallLimits(1, 1)

    def plan(self, part: str, items: Sequence[tuple[int, Any]]) -> list[Call]:
        """Split pairs into calls of one query each."""
        of_query: dict[str, list[tuple[int, str]]] = {}
        for place, (query, document) in items:
            of_query.setdefault(query, []).append((place, document))
        return [call for query, documents in of_query.items() for call in calls(part, query, documents, self.limit)]

    def send(self, call: Call) -> Any:
        """Send one query with its documents once."""
        shape = self.named.service.shape
        model = {} if self.named.service.name == "tei" else {"model": self.named.model}
        texts = list(map(sendable, call.texts))
        body = {**model, "query": sendable(call.query), shape.documents: texts, **shape.extra}
        return self.client.post("/rerank", body)

    def rows_of(self, found: object, call: Call) -> NDArray[Any]:
        """Scores or logits, [document, 1]."""
        return scores_of(found, len(call.texts), self.named.service.shape).astype(self.dtype)

    def pair_logits(self, pairs: Sequence[tuple[str, str]], names: Sequence[str] | None = None) -> Any:
        """Return the service's output for pairs of query and document, [pair, 1].

        Raises:
            InputError: as in answers.
        """
        return collect_outputs(self, "pairs", pairs, names)

    def logits(self, query: str, documents: Sequence[str], names: Sequence[str] | None = None) -> Any:
        """Return the service's output for one query with each document, [document, 1]."""
        return self.pair_logits([(query, document) for document in documents], names)

    def scores(self, query: str, documents: Sequence[str], format: str = HIGH) -> NDArray[Any]:
        """Return [document] scores: final ones unchanged, logits through φ.

        Raises:
            InputError: as in answers.
            PolicyError: a format is asked of finished scores.
        """
        form = scoring_format(self, format)
        return pair_scores({"pairs": self.logits(query, documents)}, [], self.scoring, form)


def sendable(text: str) -> str:
    r"""A text that JSON can transmit: a lone surrogate, which UTF-8 cannot encode, becomes "?".

    >>> sendable("wing \ud800"), sendable("é")
    ('wing ?', 'é')
    """
    return text if text.isascii() else text.encode("utf-8", "replace").decode()


def collect_outputs(
    model: HostedModel, part: str, items: Sequence[object], names: Sequence[str] | None
) -> NDArray[Any]:
    """[item, any] outputs of all items in order, without caching.

    Args:
        part: "queries", "documents" or "pairs".
        items: texts, or pairs of query and document.
        names: name of each item for error messages; by default its index and first characters.

    Raises:
        InputError: as in `HostedModel.answers`.
    """
    called = names or [f"{place} ({str(item)[:40]!r})" for place, item in enumerate(items)]
    rows: list[Any] = [None] * len(items)
    for answered in model.answers(part, items, called):
        for place, row in zip(answered.places, answered.rows, strict=True):
            rows[place] = row
    return np.stack(rows) if rows else np.empty((0, 1 if part == "pairs" else 0), dtype=model.dtype)


def load_hosted(
    name: str, *, account: Account | None = None, retries: Retries | None = None, **settings: Any
) -> HostedEmbedder | HostedReranker:
    """Create a hosted model; nothing is sent yet.

    Args:
        name: SERVICE:MODEL.
        account: account to charge; a new one if None.
        settings: attributes of HostedSettings; None keeps the default.

    Raises:
        InputError: the URL is bad.
        PolicyError: there is no such setting, or it has no such value.
    """
    given = {key: value for key, value in settings.items() if value is not None}
    known = {field.name for field in fields(HostedSettings)}
    unknown = next((key for key in given if key not in known), None)
    if unknown in LOCAL:
        raise PolicyError(f"{name} is a hosted model: its service decides its {unknown}. Leave {unknown} out.")
    if unknown is not None:
        raise PolicyError(f"A hosted model has no setting {unknown!r}.{nearest(unknown, known)}")
    named = parse_hosted_name(name)
    role = HostedEmbedder if named.role == "embedder" else HostedReranker
    return role(named, HostedSettings(**given), account or Account(), retries or Retries())


LOCAL = ("dtype", "device", "max_length", "instruction", "parts", "variant")
"""Options of models that run here, which a service decides by itself."""
