"""Models: what embeds texts and scores pairs, and how each is used."""

from typing import TYPE_CHECKING

from trueval.lazy import export_lazily

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
    from trueval.models.high_precision import high_precision
    from trueval.models.loading import load_embedder, load_model, load_reranker
    from trueval.models.recipes import RECIPES, Recipe, find_recipe
    from trueval.models.reranker import Reranker
else:
    export_lazily(
        __name__,
        {
            "RECIPES": "trueval.models.recipes",
            "Embedder": "trueval.models.embedder",
            "Recipe": "trueval.models.recipes",
            "Reranker": "trueval.models.reranker",
            "find_recipe": "trueval.models.recipes",
            "high_precision": "trueval.models.high_precision",
            "load_embedder": "trueval.models.loading",
            "load_model": "trueval.models.loading",
            "load_reranker": "trueval.models.loading",
        },
    )
