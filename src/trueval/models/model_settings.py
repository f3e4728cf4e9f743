"""Settings of a model: everything that determines its outputs, with hashes of its files and prompts."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

from trueval.models.recipes import Recipe

# Files that determine the outputs of a model: weights, settings, vocabularies, templates, and its own code.
DECIDING: Final = frozenset((".safetensors", ".bin", ".json", ".txt", ".model", ".jinja", ".py"))


@dataclass(frozen=True)
class ComputedModel:
    """A model whose outputs are there, so that a process that only reads them need not load it.

    Attributes:
        known: its settings, as `settings_of` gives them.
        dimension: of its embeddings; None if unknown.
    """

    name: str
    known: Mapping[str, Any]
    dtype: str
    scoring: str
    dimension: int | None

    @classmethod
    def of(cls, model: Any) -> ComputedModel:
        """What is known of a loaded model."""
        return cls(model.name, settings_of(model), model.dtype, model.scoring, getattr(model, "dimension", None))


def settings_of(model: Any) -> dict[str, Any]:
    """Everything that determines a model's outputs, and its location: settings, full recipe, hash of its files."""
    if isinstance(model, ComputedModel):
        return dict(model.known)
    settings, recipe = model.settings(), getattr(model, "recipe", None)
    if hasattr(model, "answers"):  # for a service nothing else is known
        return {**settings, "weights": None}
    prompts = recipe_hash(recipe) if isinstance(recipe, Recipe) else {}
    return {**settings, **prompts, "weights": weights_hash(Path(str(settings["path"])))}


def recipe_hash(recipe: Recipe) -> dict[str, str]:
    """Hash of the full recipe: a changed prompt under the same name must not reuse old outputs."""
    letters = json.dumps({**asdict(recipe), "source": ""}, sort_keys=True)
    return {"recipe_sha256": hashlib.sha256(letters.encode()).hexdigest()}


def weights_hash(folder: Path) -> str | None:
    """Return the SHA-256 of a model's files; for a hub model its commit, or None where it is not downloaded yet.

    The hash covers not only weights but also tokenizer, pooling, prompts and the modules after it, which
    sentence-transformers stores in separate folders: a change in place must not reuse old outputs.

    Args:
        folder: folder or hub id from which the model was loaded.
    """
    found = (file for place in _modules(folder) for file in place.glob("*"))
    files = sorted(file for file in found if file.suffix in DECIDING and file.is_file())
    if not files:
        return hub_commit(folder.as_posix())
    digest = hashlib.sha256()
    for file in files:
        digest.update(hashlib.sha256(file.relative_to(folder).as_posix().encode()).digest())
        with file.open("rb") as data:
            digest.update(hashlib.file_digest(data, "sha256").digest())
    return digest.hexdigest()


def hub_commit(name: str) -> str | None:
    """The commit of a hub model in the local hub cache; None where not cached."""
    try:
        from huggingface_hub import try_to_load_from_cache

        for file in ("config.json", "modules.json"):
            found = try_to_load_from_cache(name, file)
            if isinstance(found, str):
                return f"hub:{Path(found).parent.name}"
    except (ImportError, ValueError):  # no library, or a name that the hub cannot have
        return None
    return None


def _modules(folder: Path) -> list[Path]:
    """Folders of a model: its own, and those of the modules in its modules.json."""
    try:
        modules = json.loads((folder / "modules.json").read_text(encoding="utf-8"))
        named = {str(each["path"]) for each in modules}
    except (OSError, ValueError, KeyError, TypeError):  # the library that loads it reports the error
        return [folder]
    return [folder, *(folder / name for name in sorted(named) if (folder / name).resolve() != folder.resolve())]
