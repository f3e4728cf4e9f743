"""Models: embedders, rerankers and generators, local and hosted, and the recipe of each."""

from importlib import import_module
from typing import TYPE_CHECKING

__all__ = [
    "RECIPES",
    "Embedder",
    "Generation",
    "Generator",
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
    from trueval.models.generator import Generation, Generator
    from trueval.models.loading import load_embedder, load_model, load_reranker
    from trueval.models.recipes import RECIPES, Recipe, find_recipe
    from trueval.models.reranker import Reranker
    from trueval.models.score_wrapper import high_precision

_HOMES = {
    "embedder": ("Embedder",),
    "generator": ("Generation", "Generator"),
    "loading": ("load_embedder", "load_model", "load_reranker"),
    "recipes": ("RECIPES", "Recipe", "find_recipe"),
    "reranker": ("Reranker",),
    "score_wrapper": ("high_precision",),
}


def __getattr__(name: str) -> object:
    # Each module is imported when one of its names is accessed: listing recipes should not load the others.
    for module, names in _HOMES.items():
        if name in names:
            value: object = getattr(import_module(f"{__name__}.{module}"), name)
            return value
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
