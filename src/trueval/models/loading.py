"""Loading a model in a dtype."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from trueval.errors import InputError, PolicyError
from trueval.models.batches import BatchVariant
from trueval.models.embedder import EMBEDDERS, LocalEmbedder
from trueval.models.hosted.hosted_roles import HostedEmbedder, HostedReranker, load_hosted
from trueval.models.hosted.services import is_hosted
from trueval.models.model_location import find_model, need
from trueval.models.model_parts import ModelPart
from trueval.models.reranker import RERANKERS, LocalReranker

if TYPE_CHECKING:
    from collections.abc import Mapping

    from trueval.models.recipes import Recipe


DTYPES = ("float32", "bfloat16", "float16")
"""The formats a model can run in here."""

BATCH_SIZE = 32  # texts or pairs per forward pass


def load_model(
    name: str,
    *,
    dtype: str | None = None,
    recipe: str | Recipe | None = None,
    device: str | None = None,
    batch_size: int | None = None,
    max_length: int | None = None,
    instruction: str | None = None,
    trust_remote_code: bool = False,
    parts: Mapping[str, str] | None = None,
    variant: BatchVariant | None = None,
    **service: Any,
) -> LocalEmbedder | LocalReranker | HostedEmbedder | HostedReranker:
    """Load an embedder or a reranker.

    Args:
        name: a recipe ("bge-reranker-v2-m3"), a hub id that has one, a folder, "RECIPE:FOLDER_OR_ID", or a hosted model
            as "SERVICE:MODEL" ("openai:text-embedding-3-small").
        dtype: number format of the model, one of `DTYPES`; bfloat16 if None. Not accepted for a hosted model.
        recipe: name of the recipe, if the model name does not imply it.
        device: torch device; by default an accelerator if there is one.
        batch_size: texts or pairs per forward pass, 32 if None; it can change low-precision outputs, and is recorded.
            For a hosted model, texts per call, by default the service's limit.
        max_length: maximum number of tokens, instead of the recipe's.
        instruction: task description, instead of the recipe's.
        trust_remote_code: whether to run code from the model's repository.
        parts: part of the network → format that it alone runs in, such as {"head": "float32"}: "head" is the last
            module, "attention" the softmax of attention. None for none.
        variant: how texts are put into batches and padded; None as usual.
        service: further settings of a hosted model, as in `trueval.models.hosted.hosted_roles.load_hosted`.

    Raises:
        InputError: no such recipe or model, files are missing, or the number of labels does not fit the recipe.
        MissingExtraError: torch, transformers or sentence-transformers is not installed.
        PolicyError: an unknown dtype, or an option that does not go with this model.
    """
    if recipe is None and is_hosted(name):
        local: dict[str, Any] = {
            "dtype": dtype,
            "device": device,
            "max_length": max_length,
            "instruction": instruction,
        }
        local |= {} if parts is None else {"parts": parts}
        local |= {} if variant is None else {"variant": variant}
        return load_hosted(name, batch_size=batch_size, **local, **service)
    if service:
        raise PolicyError(f"{name} runs on this machine. Only a hosted model takes {', '.join(service)}.")
    own = [ModelPart.parse(f"{name}={form}") for name, form in (parts or {}).items()]
    dtype = "bfloat16" if dtype is None else dtype
    if dtype not in DTYPES:
        raise PolicyError(f"The dtype of a model must be one of {', '.join(DTYPES)}. Got {dtype!r}.")
    place, torch = find_model(name, recipe), need("torch")
    accelerator = "cuda" if torch.cuda.is_available() else "mps" if torch.backends.mps.is_available() else "cpu"
    return (RERANKERS | EMBEDDERS)[place.recipe.kind](
        place,
        dtype=dtype,
        device=device or accelerator,
        batch_size=BATCH_SIZE if batch_size is None else batch_size,
        max_length=max_length or place.recipe.max_length,
        instruction=place.recipe.instruction if instruction is None else instruction,
        trust_remote_code=trust_remote_code,
        parts=dict(own),
        variant=variant or BatchVariant(),
    )


def load_reranker(name: str, **options: Any) -> LocalReranker | HostedReranker:
    """Load a reranker; options as for `load_model`.

    Raises:
        InputError: the model embeds texts; it does not score pairs.
    """
    model = load_model(name, **options)
    if not isinstance(model, (LocalReranker, HostedReranker)):
        raise InputError(f"{name} is an embedder. Rerankers take a query and a document at once: use load_embedder.")
    return model


def load_embedder(name: str, **options: Any) -> LocalEmbedder | HostedEmbedder:
    """Load an embedder; options as for `load_model`.

    Raises:
        InputError: the model scores pairs; it does not embed texts.
    """
    model = load_model(name, **options)
    if not isinstance(model, (LocalEmbedder, HostedEmbedder)):
        raise InputError(f"{name} is a reranker. Embedders take one text at a time: use load_reranker.")
    return model
