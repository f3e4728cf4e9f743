"""Rerankers: query and documents in, raw logits out."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Protocol, runtime_checkable

import numpy as np

from trueval.errors import InputError
from trueval.models.batches import refuse_overflow, to_array
from trueval.models.local_model import LocalModel, pad_sequences
from trueval.models.model_location import need
from trueval.models.model_parts import HEAD
from trueval.numerics import storage_dtype
from trueval.scoring import sigmoid, softmax

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray


_LABELS = {"sigmoid": 1, "softmax": 2}
COUNTED_AT_ONCE: Final = 256  # pairs per block of token counting


class PairTokens(NamedTuple):
    """Token counts of pairs, with the prompt included.

    Attributes:
        read: [pair] int64 tokens that the model reads, truncated to its maximum length.
        whole: [pair] int64 tokens without truncation.
    """

    read: NDArray[np.int64]
    whole: NDArray[np.int64]


@runtime_checkable
class Reranker(Protocol):
    """The protocol of a model that scores documents for a query.

    Attributes:
        name: display name in reports.
        dtype: number format of the model.
        scoring: φ of its logits, "softmax" or "sigmoid"; "none" for final scores.
    """

    name: str
    dtype: str
    scoring: str

    def logits(self, query: str, documents: Sequence[str]) -> NDArray[np.generic]:
        """Return raw logits, [document, 1], or [document, 2] as (no, yes), in the model's dtype."""
        ...


class LocalReranker(LocalModel):
    """A reranker that runs on this machine."""

    of_pairs = True

    def logits(self, query: str, documents: Sequence[str], names: Sequence[str] | None = None) -> NDArray[np.generic]:
        """Return raw logits of one query with each document; see `pair_logits`."""
        return self.pair_logits([(query, document) for document in documents], names)

    def pair_logits(self, pairs: Sequence[tuple[str, str]], names: Sequence[str] | None = None) -> NDArray[np.generic]:
        """Return raw logits of pairs, batched across queries.

        Args:
            pairs: (query, document).
            names: name of each pair in errors; by default its index and the start of the document.

        Returns:
            [pair, 1], or [pair, 2] as (no, yes), in the dtype of the model or of its head (bfloat16 is that of
            ml_dtypes).

        Raises:
            InputError: some logit is not finite; the documents are named.
        """
        labels = _LABELS[self.scoring]
        if not pairs:
            return np.empty((0, labels), storage_dtype(self.dtype))
        rows = self.run(self.forward, pairs, lambda pair: len(pair[0]) + len(pair[1]))
        logits = to_array(self.torch.stack(rows).reshape(len(pairs), labels))
        called = names or [f"{i} ({document[:40]!r})" for i, (_, document) in enumerate(pairs)]
        refuse_overflow(logits, called, self.name, self.dtype)
        return logits

    def scores(self, query: str, documents: Sequence[str], format: str = "float32") -> NDArray[np.generic]:
        """Return φ of the logits, by default in high precision.

        Args:
            format: number format of the scores, independent of the model's dtype.

        Returns:
            [document] scores.
        """
        logits = self.logits(query, documents)
        scores: NDArray[np.generic] = (softmax if self.scoring == "softmax" else sigmoid)(logits, format)
        return scores

    def pair_tokens(self, pairs: Sequence[tuple[str, str]]) -> PairTokens:
        """Count tokens of pairs, truncated as the model sees them and untruncated, without scoring.

        Args:
            pairs: (query, document).
        """
        batches = (list(pairs[at : at + COUNTED_AT_ONCE]) for at in range(0, len(pairs), COUNTED_AT_ONCE))
        counted = [np.empty((2, 0), np.int64), *(np.asarray(self.count_tokens(batch), np.int64) for batch in batches)]
        return PairTokens(*np.concatenate(counted, axis=1))

    @abstractmethod
    def count_tokens(self, pairs: list[tuple[str, str]]) -> Any:
        """Return token counts per pair, [2, pair]: truncated, and untruncated."""

    @abstractmethod
    def forward(self, pairs: list[tuple[str, str]]) -> Any:
        """Return the logits of one batch, [pair, label], as a tensor."""

    def refuse_padding_after(self, side: str) -> None:
        """Refuse padding on the right of a model that reads the logits at the last position.

        Args:
            side: that padding goes to; empty for the model's own.
        """
        if side == "right":
            raise InputError(
                f"{self.name} reads its answer at the last position, so padding must go to the left. Got right. Leave "
                "padding=right out."
            )

    def check_labels(self, labels: int) -> None:
        """Refuse a model whose logits do not fit its φ."""
        if labels != _LABELS[self.scoring]:
            raise InputError(
                f"{self.name}: the recipe {self.recipe.name} takes {self.scoring} of {_LABELS[self.scoring]} label(s). "
                f"The model has {labels}. One label is scored by sigmoid, two, (no, yes), by softmax: name the one "
                "that fits."
            )


class YesNoReranker(LocalReranker):
    """A language model with a yes/no prompt; it returns the next-token logits of "no" and "yes"."""

    def load(self) -> None:
        """Load the language model, and look up its answer tokens."""
        self.refuse_padding_after(self.padding_side)
        self.tokenizer = self.tokenizer_of_place()
        self.model = self.network("AutoModelForCausalLM")
        self.answer_tokens = [self.tokenizer.convert_tokens_to_ids(answer) for answer in self.recipe.answers]
        if None in self.answer_tokens or self.tokenizer.unk_token_id in self.answer_tokens:
            raise InputError(
                f"{self.name}: the tokenizer has no token for one of {self.recipe.answers}. The recipe "
                f"{self.recipe.name} reads their logits. Use the tokenizer that belongs to the model."
            )
        self.prefix, self.suffix = (
            self.tokenizer.encode(text, add_special_tokens=False) for text in (self.recipe.prefix, self.recipe.suffix)
        )

    def tokens_around(self) -> int:
        """Number of tokens of the prompt around a pair."""
        return len(self.prefix) + len(self.suffix)

    def forward(self, pairs: list[tuple[str, str]]) -> Any:
        """Return the logits of (no, yes) after each prompt; only the pair is truncated."""
        room = self.max_length - self.tokens_around()
        tokens = self.tokenizer(self.texts(pairs), truncation=True, max_length=room)["input_ids"]
        # Joined as token ids: joined as text, truncating a document would cut the end of the prompt.
        prompts = [self.prefix + ids + self.suffix for ids in tokens]
        width = self.max_length if self.variant.whole else 0
        inputs = pad_sequences(self.torch, prompts, self.tokenizer.pad_token_id, "left", self.device, width)
        # With padding on the left, every prompt ends at the last position. Only the logits there are computed: those of
        # all positions over a vocabulary of 150,000 would not fit into memory.
        return self.model(**inputs, logits_to_keep=1, use_cache=False).logits[:, -1, self.answer_tokens]

    def texts(self, pairs: list[tuple[str, str]]) -> list[str]:
        """Return the body of each pair's prompt, without its prefix and suffix."""
        return [
            self.recipe.query.format(instruction=self.instruction, query=query)
            + self.recipe.document.format(document=document)
            for query, document in pairs
        ]

    def count_tokens(self, pairs: list[tuple[str, str]]) -> Any:
        """Return token counts of each prompt."""
        tokens = self.tokenizer(self.texts(pairs), verbose=False)["input_ids"]
        whole = np.array([len(ids) for ids in tokens]) + self.tokens_around()
        return np.minimum(whole, self.max_length), whole


class ClassifierReranker(LocalReranker):
    """A transformers sequence classifier over query and document."""

    def load(self) -> None:
        """Load the classifier; an untrained head is refused."""
        self.tokenizer = self.tokenizer_of_place()
        model, report = self.load_pretrained(
            "AutoModelForSequenceClassification", dtype=getattr(self.torch, self.dtype), output_loading_info=True
        )
        if report["missing_keys"]:
            raise InputError(
                f"{self.name}: the files hold no weights for {', '.join(sorted(report['missing_keys']))}. A reranker "
                "needs a trained head. Use a model that was trained to classify pairs."
            )
        self.check_labels(model.config.num_labels)
        self.model = model.to(self.device).eval()

    def forward(self, pairs: list[tuple[str, str]]) -> Any:
        """Return the logits of each pair."""
        inputs = self.tokenizer(
            [query for query, _ in pairs],
            [document for _, document in pairs],
            padding="max_length" if self.variant.whole else True,
            truncation=True,
            max_length=self.max_length or None,
            return_tensors="pt",
        )
        return self.model(**inputs.to(self.device)).logits

    def count_tokens(self, pairs: list[tuple[str, str]]) -> Any:
        """Return token counts of each pair."""
        return count_pair_tokens(self.tokenizer, pairs, self.max_length)


class CrossEncoderReranker(LocalReranker):
    """Any CrossEncoder of sentence-transformers, without its activation."""

    def load(self) -> None:
        """Load the cross-encoder; one label uses sigmoid, two use softmax."""
        self.model = self.sentence_transformers("CrossEncoder")
        network = self.model.model
        saved = network.config.architectures or []
        # For a model of another kind, the library would create a head with random weights, and only warn.
        if saved and type(network).__name__ not in saved:
            raise InputError(
                f"{self.name}: the files hold a {saved[0]}, which has no trained head for pairs. A cross-encoder "
                "must be a ...ForSequenceClassification, or a language model with a recipe. Use another recipe."
            )
        if any(type(module).__name__ == "LogitScore" for module in self.model.children()):
            self.refuse_padding_after(self.variant.side)
        labels = 2 if answer_module(self.model) is not None else self.model.num_labels
        self.scoring = "softmax" if labels == 2 else "sigmoid"
        self.check_labels(labels)
        length = "max_seq_length" if hasattr(self.model, "max_seq_length") else "max_length"  # renamed in version 6
        if self.max_length:
            setattr(self.model, length, self.max_length)
        self.max_length = int(getattr(self.model, length) or 0)

    @property
    def transformer(self) -> Any:
        """The network inside."""
        return self.model.model

    def forward(self, pairs: list[tuple[str, str]]) -> Any:
        """Return the logits of each pair in the model's dtype, from which some versions upcast."""
        return raw_logits(self.model, pairs, batch_size=len(pairs), show_progress_bar=False, **self.processing).to(
            getattr(self.torch, self.parts.get(HEAD, self.dtype))
        )

    def count_tokens(self, pairs: list[tuple[str, str]]) -> Any:
        """Return token counts of each pair; with prompts, through the library itself, which is slower."""
        if answer_module(self.model) is None and getattr(self.model, "default_prompt_name", None) is None:
            return count_pair_tokens(self.model.tokenizer, pairs, self.max_length)
        chosen: tuple[dict[str, Any], ...] = ({}, {"processing_kwargs": {"text": {"truncation": False}}})
        found = [self.model.preprocess(pairs, **options)["attention_mask"].sum(dim=1).tolist() for options in chosen]
        return found[0], found[1]


def count_pair_tokens(tokenizer: Any, pairs: list[tuple[str, str]], max_length: int) -> Any:
    """Return token counts per pair, [2, pair]: truncated and untruncated; a truncated pair has exactly the limit.

    Args:
        pairs: (query, document).
        max_length: maximum number of tokens; 0 for the tokenizer's own limit.
    """
    queries, documents = map(list, zip(*pairs, strict=True))
    found = tokenizer(queries, documents, verbose=False, return_token_type_ids=False, return_attention_mask=False)
    whole = np.array([len(ids) for ids in found["input_ids"]])
    return np.minimum(whole, max_length or tokenizer.model_max_length), whole


def answer_module(model: Any) -> Any | None:
    """Return the CrossEncoder module that subtracts the "no" logit from the "yes" logit, if there is one."""
    for module in model.children():
        if type(module).__name__ == "LogitScore" and module.false_token_id is not None:
            return module
    return None


def raw_logits(model: Any, pairs: Sequence[Any], **options: Any) -> Any:
    """Return a CrossEncoder's logits as a tensor: [pair], [pair, label], or (no, yes) where it would subtract them.

    The difference of two bfloat16 logits is rounded to bfloat16, which makes ties before any score is computed.

    Args:
        pairs: as for its `predict`.
        options: as for its `predict`.
    """
    identity = need("torch").nn.Identity()
    answers, activation = answer_module(model), model.activation_fn
    hook = answers.register_forward_hook(_both_answers) if answers is not None else None
    try:
        return model.predict(pairs, activation_fn=identity, convert_to_tensor=True, **options)
    finally:
        model.activation_fn = activation  # versions before 6 keep the given one
        if hook is not None:
            hook.remove()


def _both_answers(module: Any, inputs: tuple[Any, ...], outputs: dict[str, Any]) -> dict[str, object]:
    """Keep both logits, (no, yes), instead of their difference."""
    logits = inputs[0][module.module_input_name][:, -1]
    return {**outputs, "scores": logits[:, [module.false_token_id, module.true_token_id]]}


RERANKERS: dict[str, type[LocalReranker]] = {
    "yes-no": YesNoReranker,
    "classifier": ClassifierReranker,
    "cross-encoder": CrossEncoderReranker,
}
