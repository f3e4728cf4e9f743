"""Parts of a network that run in a format of their own: its head, or the softmax of its attention.

Everything else keeps the model's dtype, so that a difference in outputs is the part's. Without a format of its own,
attention is that of transformers, whose kernels may hold scores and softmax in float32 already.
"""

from __future__ import annotations

from copy import deepcopy
from functools import partial
from typing import Any, Final, NamedTuple

from trueval.errors import InputError, PolicyError, nearest
from trueval.models.model_location import need

HEAD, ATTENTION = "head", "attention"
PARTS: Final = (HEAD, ATTENTION)
FORMATS_OF_PARTS: Final = ("float32", "bfloat16", "float16")  # those that a network runs in
# The last module of the architectures of transformers: of classifiers like BERT and XLM-RoBERTa, of those over a
# decoder like Qwen3, of language models, and of BERT's masked one, which learned sparse models have.
HEADS: Final = ("classifier", "score", "lm_head", "cls")


class ModelPart(NamedTuple):
    """A part and its format.

    Attributes:
        name: "head" or "attention".
        format: number format.
    """

    name: str
    format: str

    @classmethod
    def parse(cls, text: str) -> ModelPart:
        """A part from its text.

        Args:
            text: such as "head=float32".

        Raises:
            PolicyError: there is no such part, or a network cannot run in the format.

        >>> ModelPart.parse("head=float32")
        ModelPart(name='head', format='float32')
        """
        name, _, form = (each.strip() for each in text.partition("="))
        if name not in PARTS or form not in FORMATS_OF_PARTS:
            hint = nearest(name, PARTS) if name not in PARTS else nearest(form, FORMATS_OF_PARTS)
            raise PolicyError(
                f"A part of a model must be PART=FORMAT, with {' or '.join(PARTS)} and one of "
                f"{', '.join(FORMATS_OF_PARTS)}, such as head=float32. Got {text!r}.{hint}"
            )
        return cls(name, form)

    def __str__(self) -> str:
        """Its text."""
        return f"{self.name}={self.format}"


def set_part(network: Any, part: ModelPart, model: str) -> None:
    """Let a part of a network run in a format of its own.

    Args:
        network: a model of transformers, which is changed.
        part: its part and format.
        model: name of the model, for errors.

    Raises:
        InputError: the network has no head, or attention that cannot be exchanged.
    """
    if part.name == HEAD:
        _set_head(network, part.format, model)
    else:
        _set_attention(network, part.format, model)


def _set_head(network: Any, form: str, model: str) -> None:
    """Copy the head in the format, and give it what it reads in that format too; its outputs have it.

    A copy, since the head of a language model may share its weights with the embeddings of its tokens.
    """
    name = next((each for each in HEADS if hasattr(network, each)), None)
    if name is None:
        raise InputError(
            f"{model} has no head of its own: the outputs of an embedder are its last hidden states. Name attention, "
            "or a reranker."
        )
    dtype = getattr(need("torch"), form)
    head = deepcopy(getattr(network, name)).to(dtype)
    head.register_forward_pre_hook(lambda _, inputs: tuple(each.to(dtype) for each in inputs))
    setattr(network, name, head)


def _set_attention(network: Any, form: str, model: str) -> None:
    """Exchange the attention of a network, by the interface that transformers has for it."""
    need("transformers")
    from transformers.masking_utils import AttentionMaskInterface, eager_mask
    from transformers.modeling_utils import AttentionInterface

    name = f"trueval_{form}"
    AttentionInterface.register(name, partial(attend, form))
    AttentionMaskInterface.register(name, eager_mask)
    if getattr(network, "_supports_attention_backend", False):
        network.set_attn_implementation(name)
    if getattr(network.config, "_attn_implementation", None) != name:
        raise InputError(
            f"{model}: {type(network).__name__} has attention of its own, which cannot be exchanged. Leave attention "
            "out."
        )


def attend(
    form: str,
    module: Any,
    query: Any,
    key: Any,
    value: Any,
    mask: Any,
    scaling: float | None = None,
    **_: object,
) -> tuple[Any, Any]:
    """Return the attention whose scores and softmax are in a format.

    A = softmax(round(q·kᵀ scaling + mask)), and then A v, with A rounded to the dtype of v. Products of q and k are in
    the wider one of the format and their own dtype, and rounded after. In the dtype of the model this is step by step
    the `eager_attention_forward` that transformers has for BERT.

    Args:
        form: number format of the scores and of the softmax.
        module: layer of the network; its `num_key_value_groups` says how often keys are repeated.
        query: [text, head, token, dimension], like key and value, in the dtype of the model.
        mask: [text, 1, token, token] 0 or the lowest number of the model's dtype; None for no mask.
        scaling: factor of the products; 1 / sqrt(dimension) if None.

    Returns:
        [text, token, head, dimension] in the dtype of value, and [text, head, token, token] weights.
    """
    torch = need("torch")
    dtype, repeats = getattr(torch, form), getattr(module, "num_key_value_groups", 1)
    if repeats > 1:
        key, value = (each.repeat_interleave(repeats, dim=1) for each in (key, value))
    wide = torch.promote_types(query.dtype, dtype)
    scores = torch.matmul(query.to(wide), key.to(wide).transpose(2, 3))
    scores = scores * (query.shape[-1] ** -0.5 if scaling is None else scaling)
    if mask is not None:
        scores = scores + mask.to(wide)
    # Clipped: the lowest number of float32 would be -inf in the format, and a row of padding alone NaN.
    lowest = max(torch.finfo(dtype).min, torch.finfo(wide).min)
    weights = torch.softmax(scores.clamp(min=lowest).to(dtype), dim=-1).to(value.dtype)
    return torch.matmul(weights, value).transpose(1, 2).contiguous(), weights
