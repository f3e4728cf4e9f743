"""Models: what embeds texts and scores pairs, and how each is used."""

from importlib import import_module
from typing import TYPE_CHECKING

__all__ = [
    "RECIPES",
    "Embedder",
    "Recipe",
    "Reranker",
    "find_recipe",
    "high_precision",
    "load_embedder",
    "load_model",
    "load_reranker",
]

if TYPE_CHECKING:
    from trueval.models.embedder import Embedder
    from trueval.models.loading import load_embedder, load_model, load_reranker
    from trueval.models.recipes import RECIPES, Recipe, find_recipe
    from trueval.models.reranker import Reranker
    from trueval.models.wrapping import high_precision

_HOMES = {
    "RECIPES": "recipes",
    "Embedder": "embedder",
    "Recipe": "recipes",
    "Reranker": "reranker",
    "find_recipe": "recipes",
    "high_precision": "wrapping",
    "load_embedder": "loading",
    "load_model": "loading",
    "load_reranker": "loading",
}


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value: object = getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    return value
