"""High-precision scores in user code: the same model and logits, with φ in float32."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from trueval.errors import InputError
from trueval.models.model_location import need
from trueval.models.reranker import answer_module, raw_logits

if TYPE_CHECKING:
    from collections.abc import Sequence


def high_precision(model: Any, tokenizer: Any = None) -> HighPrecisionCrossEncoder | HighPrecisionClassifier:
    """Wrap a model so that its scores are float32 of its unchanged low-precision logits (P-A eq. 3).

    The forward pass is unchanged; only the last step, a few numbers per pair, is computed in float32. Since version 6
    sentence-transformers also upcasts before its activation. Earlier versions round before it, and so do models that
    subtract the logit of "no" from that of "yes".

    Args:
        model: a sentence-transformers CrossEncoder, or a sequence classifier of transformers.
        tokenizer: the classifier's tokenizer, if pairs of texts are scored.

    Returns:
        For a CrossEncoder an object with its methods, whose `predict` and `rank` score in float32; for a classifier an
        object with its methods, a method `scores(**inputs)` and, with a tokenizer, `predict(pairs)`.

    Raises:
        InputError: the model is neither.
        MissingExtraError: torch, transformers or sentence-transformers is not installed.
    """
    if isinstance(model, need("sentence_transformers").CrossEncoder):
        return HighPrecisionCrossEncoder(model)
    if hasattr(model, "config") and type(model).__name__.endswith("ForSequenceClassification"):
        return HighPrecisionClassifier(model, tokenizer)
    raise InputError(
        "Only a CrossEncoder of sentence-transformers or a ...ForSequenceClassification of transformers can be "
        f"wrapped. Got {type(model).__name__}. Score other logits with trueval.scoring."
    )


class HighPrecisionCrossEncoder:
    """A CrossEncoder whose activation is computed in float32, otherwise unchanged."""

    def __init__(self, model: Any) -> None:
        self._model = model

    def __getattr__(self, name: str) -> Any:
        return getattr(self._model, name)

    def predict(
        self,
        inputs: Sequence[Any],
        *,
        activation_fn: Any = None,
        apply_softmax: bool | None = False,
        convert_to_numpy: bool = True,
        convert_to_tensor: bool = False,
        **options: Any,
    ) -> Any:
        """Return the scores of the model's own `predict`, with the activation in float32.

        Args:
            inputs: pairs of texts, or one pair.
            activation_fn: activation instead of the model's own.
            apply_softmax: whether to apply softmax over several labels.
            convert_to_numpy: whether to return an array (the default) rather than a list of tensors.
            convert_to_tensor: whether to return one tensor.
            options: further options of `predict`.
        """
        one = len(inputs) > 0 and isinstance(inputs[0], str)
        wide = raw_logits(self._model, [inputs] if one else inputs, **options).float()
        # "yes" minus "no", after the upcast: in the model's dtype the difference itself would be rounded.
        if answer_module(self._model) is not None and wide.ndim > 1:
            wide = wide[:, 1] - wide[:, 0]
        scores = (activation_fn or self._model.activation_fn)(wide)
        if apply_softmax and scores.ndim > 1:
            scores = scores.softmax(dim=1)
        if one:
            scores = scores[0]
        if convert_to_tensor:
            return scores
        return scores.cpu().numpy() if convert_to_numpy else list(scores)

    def rank(
        self, query: str, documents: list[str], top_k: int | None = None, return_documents: bool = False, **options: Any
    ) -> list[dict[str, Any]]:
        """Return documents by descending score, like the model's own `rank`; ties keep their order."""
        scores = self.predict([(query, document) for document in documents], **options)
        order = sorted(range(len(documents)), key=lambda i: -scores[i])[:top_k]
        texts = [{"text": documents[i]} if return_documents else {} for i in order]
        return [{"corpus_id": i, "score": scores[i], **text} for i, text in zip(order, texts, strict=True)]


class HighPrecisionClassifier:
    """A sequence classifier with float32 scoring of its logits.

    Args:
        model: the classifier, with one label or two, (no, yes).
        tokenizer: its tokenizer, needed by `predict`.
    """

    def __init__(self, model: Any, tokenizer: Any = None) -> None:
        labels = model.config.num_labels
        if labels not in (1, 2):
            raise InputError(
                f"A reranker has one label, scored by sigmoid, or two, (no, yes), scored by softmax. "
                f"This model has {labels}. Pick its columns and score them with trueval.scoring."
            )
        self._model = model
        self._tokenizer = tokenizer
        self._torch = need("torch")

    def __getattr__(self, name: str) -> Any:
        return getattr(self._model, name)

    def __call__(self, *args: Any, **inputs: Any) -> Any:
        """Return the model's own output."""
        return self._model(*args, **inputs)

    def scores(self, **inputs: Any) -> Any:
        """Return [pair] float32 scores of tokenized pairs, on the model's device."""
        from trueval.scoring import sigmoid, softmax

        with self._torch.inference_mode():
            logits = self._model(**inputs).logits
        return softmax(logits, "float32") if logits.shape[-1] > 1 else sigmoid(logits, "float32")

    def predict(self, pairs: Sequence[tuple[str, str]], batch_size: int = 32, max_length: int | None = None) -> Any:
        """Return [pair] float32 scores of pairs of texts, as an array.

        Raises:
            InputError: no tokenizer was given.
        """
        if self._tokenizer is None:
            raise InputError("predict needs a tokenizer. Give it: high_precision(model, tokenizer). Or use scores.")
        parts = [self._torch.empty(0)]
        for start in range(0, len(pairs), batch_size):
            queries, documents = zip(*pairs[start : start + batch_size], strict=True)
            inputs = self._tokenizer(
                list(queries),
                list(documents),
                padding=True,
                truncation=True,
                max_length=max_length,
                return_tensors="pt",
            )
            parts.append(self.scores(**inputs.to(self._model.device)).cpu())
        return self._torch.cat(parts).numpy()
