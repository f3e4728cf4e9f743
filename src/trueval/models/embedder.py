"""Embedders: texts in, raw embeddings out."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, runtime_checkable

import numpy as np

from trueval.models.batches import refuse_overflow, to_array
from trueval.models.local_model import LocalModel, pad_sequences
from trueval.models.model_parts import HEAD
from trueval.models.pair_scores import pair_scores
from trueval.scoring import SCALE

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray


@runtime_checkable
class Embedder(Protocol):
    """The protocol of a model that turns texts into vectors.

    Attributes:
        name: display name in reports.
        dtype: number format of the model.
    """

    name: str
    dtype: str

    def embed_queries(self, texts: Sequence[str]) -> NDArray[np.generic]:
        """Return one vector per query, [query, dimension], in the model's dtype."""
        ...

    def embed_documents(self, texts: Sequence[str]) -> NDArray[np.generic]:
        """Return one vector per document, [document, dimension], in the model's dtype."""
        ...


class LocalEmbedder(LocalModel):
    """An embedder that runs on this machine; its vectors have length 1 up to the rounding of its dtype.

    Attributes:
        scale: factor of its products in a softmax over a list, as such models are trained.
    """

    scale: ClassVar[float] = SCALE

    def embed_queries(self, texts: Sequence[str], names: Sequence[str] | None = None) -> Any:
        """Return the embeddings of queries, with the recipe's prompt.

        Args:
            names: name of each item for error messages; by default its index and first characters.

        Returns:
            [query, dimension] in the model's dtype (bfloat16 is that of ml_dtypes); for late interaction one
            [token, dimension] array per query.

        Raises:
            InputError: some value is not finite; the texts are named.
        """
        return self.collect(self.run(self.forward_queries, texts, len), texts, names)

    def embed_documents(self, texts: Sequence[str], names: Sequence[str] | None = None) -> Any:
        """Return the embeddings of documents; otherwise as `embed_queries`."""
        return self.collect(self.run(self.forward_documents, texts, len), texts, names)

    @property
    @abstractmethod
    def dimension(self) -> int | None:
        """Dimension of the vectors; None where the model does not declare it."""

    def scores(self, query: str, documents: Sequence[str], format: str = "float32") -> NDArray[np.generic]:
        """Score documents for a query as a reranker does: by dot product, or by MaxSim.

        Args:
            format: number format of the scores, independent of the model's dtype.

        Returns:
            [document] scores.
        """
        vectors = {"queries": self.embed_queries([query]), "documents": self.embed_documents(documents)}
        return pair_scores(vectors, [np.arange(len(documents))], self.scoring, format)

    @abstractmethod
    def forward_queries(self, texts: list[str]) -> Any:
        """Return the embeddings of one batch of queries, one tensor per text."""

    @abstractmethod
    def forward_documents(self, texts: list[str]) -> Any:
        """Return the embeddings of one batch of documents, one tensor per text."""

    def collect(self, rows: Sequence[object], texts: Sequence[str], names: Sequence[str] | None) -> Any:
        """Return the vectors as one array; refuses non-finite values."""
        if not rows:
            return to_array(self.torch.empty((0, 0), dtype=getattr(self.torch, self.dtype)))
        vectors = to_array(self.torch.stack(rows))
        refuse_overflow(vectors, names or _label_texts(texts), self.name, self.dtype)
        return vectors


class TransformerEmbedder(LocalEmbedder):
    """A transformers encoder, pooled and normalized by its recipe, in its own dtype."""

    def load(self) -> None:
        """Load the encoder."""
        self.tokenizer = self.tokenizer_of_place()
        self.model = self.network("AutoModel")
        self.end: list[int] = []  # to add to every text
        if self.recipe.end_token:
            token = self.tokenizer.convert_tokens_to_ids(self.recipe.end_token)
            # In some versions of the files the tokenizer adds it; adding it twice would move the pooled token.
            self.end = [] if self.tokenizer("a")["input_ids"][-1] == token else [token]

    @property
    def dimension(self) -> int | None:
        """Dimension of the vectors, that of the hidden states."""
        return int(self.model.config.hidden_size)

    def tokens_around(self) -> int:
        """Number of special tokens of a text, with the one that ends it."""
        return super().tokens_around() + len(self.end)

    def forward_queries(self, texts: list[str]) -> Any:
        """Return the embeddings of one batch of queries, with the recipe's prompt."""
        return self.forward([self.recipe.query.format(instruction=self.instruction, query=text) for text in texts])

    def forward_documents(self, texts: list[str]) -> Any:
        """Return the embeddings of one batch of documents, with the recipe's prompt."""
        return self.forward([self.recipe.document.format(document=text) for text in texts])

    def hidden_states(self, texts: list[str]) -> tuple[Any, Any, list[list[int]]]:
        """Return the last hidden states, the attention mask, and the token ids."""
        # A tokenizer without a limit reports 1e30, so the positions of the network bound it.
        room = self.max_length or int(min(self.tokenizer.model_max_length, self.model.config.max_position_embeddings))
        # The end token is added after truncation: its vector is the pooled one, so no text may lose it.
        tokens = self.tokenizer(texts, truncation=True, max_length=room - len(self.end))["input_ids"]
        tokens = [ids + self.end for ids in tokens]
        width = room if self.variant.whole else 0
        inputs = pad_sequences(self.torch, tokens, self.tokenizer.pad_token_id, self.padding_side, self.device, width)
        return self.model(**inputs).last_hidden_state, inputs["attention_mask"], tokens

    def forward(self, texts: list[str]) -> Any:
        """Return one normalized vector per text."""
        hidden, mask, _ = self.hidden_states(texts)
        # Normalized in the model's dtype, as in the code of the model card; high-precision scoring begins after the
        # vector.
        return self.torch.nn.functional.normalize(POOLINGS[self.recipe.pooling](hidden, mask), p=2, dim=1)


class SentenceTransformerEmbedder(LocalEmbedder):
    """Any SentenceTransformer, with the prompts and modules of its own configuration."""

    def load(self) -> None:
        """Load the model; add normalization where it compares by cosine without it."""
        self.model = self.sentence_transformers("SentenceTransformer")
        if self.max_length:
            self.model.max_seq_length = self.max_length
        self.max_length = int(self.model.max_seq_length or 0)
        normalizes = any(type(module).__name__ == "Normalize" for module in self.model.children())
        self.normalize = not normalizes and self.model.similarity_fn_name in (None, "cosine")

    @property
    def transformer(self) -> Any:
        """The network of its first module."""
        return self.model[0].model

    @property
    def dimension(self) -> int | None:
        """Dimension of the vectors; None where no module declares it."""
        found = self.model.get_embedding_dimension()
        return None if found is None else int(found)

    def forward_queries(self, texts: list[str]) -> Any:
        """Return the embeddings of queries, with the model's own prompt for them."""
        return self._encode(self.model.encode_query, texts)

    def forward_documents(self, texts: list[str]) -> Any:
        """Return the embeddings of documents, with the model's own prompt for them."""
        return self._encode(self.model.encode_document, texts)

    def _encode(self, encode: Callable[..., Any], texts: list[str]) -> Any:
        options = {"batch_size": len(texts), "convert_to_tensor": True, "show_progress_bar": False}
        vectors = encode(texts, normalize_embeddings=self.normalize, **options, **self.processing)
        return vectors.to(getattr(self.torch, self.dtype))  # some versions upcast what they return


class SparseEmbedder(SentenceTransformerEmbedder):
    """Any SparseEncoder: a weight for each word of the vocabulary, most of them 0, held as dense rows.

    Products of such rows are the dot products of a learned sparse index, since zeros add nothing.
    """

    scale = 1.0  # of SpladeLoss's own ranking loss, whose products are not bounded by 1

    def load(self) -> None:
        """Load the model."""
        self.model = self.sentence_transformers("SparseEncoder")
        if self.max_length:
            self.model.max_seq_length = self.max_length
        self.max_length = int(self.model.max_seq_length or 0)

    def _encode(self, encode: Callable[..., Any], texts: list[str]) -> Any:
        options = {"batch_size": len(texts), "convert_to_sparse_tensor": False, "show_progress_bar": False}
        return encode(texts, **options, **self.processing).to(getattr(self.torch, self.parts.get(HEAD, self.dtype)))


class MultiVectorEmbedder(SentenceTransformerEmbedder):
    """Any MultiVectorEncoder: a vector for each token, with the modules and masks of its own configuration."""

    def load(self) -> None:
        """Load the model."""
        self.model = self.sentence_transformers("MultiVectorEncoder")
        if self.max_length:
            self.model.max_seq_length = self.max_length
        self.max_length = int(self.model.max_seq_length or 0)

    def _encode(self, encode: Callable[..., Any], texts: list[str]) -> Any:
        dtype = getattr(self.torch, self.dtype)
        found = encode(texts, batch_size=len(texts), show_progress_bar=False, **self.processing)
        return [each.to(dtype) for each in found]

    def collect(
        self, rows: Sequence[object], texts: Sequence[str], names: Sequence[str] | None
    ) -> list[NDArray[np.generic]]:
        """Return one array per text; refuses non-finite values."""
        return _collect_tokens(self, rows, texts, names)


class LateInteractionEmbedder(TransformerEmbedder):
    """The normalized last hidden state of every token, without special tokens."""

    def forward(self, texts: list[str]) -> Any:
        """Return one [token, dimension] tensor per text."""
        hidden, mask, tokens = self.hidden_states(texts)
        vectors = self.torch.nn.functional.normalize(hidden, p=2, dim=-1)
        special = set(self.tokenizer.all_special_ids)
        kept = []
        for row, ids in enumerate(tokens):
            words = [place for place, token in enumerate(ids) if token not in special]
            places = words or range(len(ids))  # an empty text keeps its special tokens, so that it has a vector
            kept.append(vectors[row][mask[row].bool()][list(places)])
        return kept

    def collect(
        self, rows: Sequence[object], texts: Sequence[str], names: Sequence[str] | None
    ) -> list[NDArray[np.generic]]:
        """Return one array per text; refuses non-finite values."""
        return _collect_tokens(self, rows, texts, names)


def _collect_tokens(
    model: LocalEmbedder, rows: Sequence[object], texts: Sequence[str], names: Sequence[str] | None
) -> list[NDArray[np.generic]]:
    arrays = [to_array(row) for row in rows]
    if arrays:
        # Texts have different numbers of tokens; the sum of each is finite only if all its values are.
        sums = np.stack([array.astype(np.float32).sum(keepdims=True)[0, :1] for array in arrays])
        refuse_overflow(sums, names or _label_texts(texts), model.name, model.dtype)
    return arrays


def _label_texts(texts: Sequence[str]) -> list[str]:
    return [f"{i} ({text[:40]!r})" for i, text in enumerate(texts)]


def _mean(hidden: Any, mask: Any) -> Any:
    """Return the mean over non-padding tokens, accumulated in float32 and rounded once, as in serving."""
    kept = mask[..., None].float()
    return ((hidden * kept).sum(dim=1) / kept.sum(dim=1)).to(hidden.dtype)


def _last(hidden: Any, mask: Any) -> Any:
    """Return the last non-padding token; such recipes pad on the left, so it is the last of all."""
    places = mask.shape[1] - 1 - mask.flip(1).argmax(dim=1)  # argmax gives the first 1, so it is asked from the end
    return hidden[range(len(hidden)), places]


def _first(hidden: Any, mask: Any) -> Any:
    """Return the first non-padding token."""
    return hidden[range(len(hidden)), mask.argmax(dim=1)]


POOLINGS: dict[str, Callable[[Any, Any], Any]] = {"mean": _mean, "last": _last, "first": _first}
"""How token vectors become one: [text, token, dimension] and the mask of what is not padding."""

EMBEDDERS: dict[str, type[LocalEmbedder]] = {
    "embedder": TransformerEmbedder,
    "sentence-transformer": SentenceTransformerEmbedder,
    "late-interaction": LateInteractionEmbedder,
    "sparse-encoder": SparseEmbedder,
    "multi-vector": MultiVectorEmbedder,
}
