"""Models that tests make, in the places where pipelines load theirs."""

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from trueval.models.recipes import Recipe
from trueval.retrieval.pipeline import cache_keys, stage_keys


def use(patch: pytest.MonkeyPatch, load: Callable[[str], Any]) -> None:
    """Have pipelines load what `load` gives for a name, of a place and a recipe that are the same for all."""
    patch.setattr(stage_keys, "load_model", lambda name, **_: load(name))
    place = SimpleNamespace(name="counts", path="nowhere", recipe=Recipe("counts", "embedder", "product"))
    patch.setattr(cache_keys, "find_model", lambda name, recipe: place)
