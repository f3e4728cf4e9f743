"""Cache keys: hashes of everything that affects a stage's output, so that only equal stages share a cache entry."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, Final

from trueval.errors import MissingExtraError, Place
from trueval.models.hosted.services import base_url_of, is_hosted, parse_hosted_name
from trueval.models.hosted.wire import need_hosted
from trueval.models.model_location import find_model, hardware
from trueval.models.model_settings import recipe_hash, weights_hash
from trueval.models.output_reuse import BY_TEXT, TEXT
from trueval.retrieval.indexes.index import read_spec
from trueval.retrieval.pipeline.config import SPECS
from trueval.retrieval.pipeline.pipeline_tables import PAYING_KEYS
from trueval.version import __version__

# The extra of tables with a model, and the libraries whose versions affect the output of their stages.
MODELS: Final = ("models", ("torch", "transformers", "sentence-transformers"))


def key_of(*parts: object) -> str:
    """The hash of the given settings and of the version of trueval, whose code affects the output too."""
    return hashlib.sha256(json.dumps([__version__, *parts], sort_keys=True).encode()).hexdigest()


def build_key_settings(table: str, settings: Mapping[str, Any]) -> dict[str, object]:
    """The settings of a table that affect candidates, with hashes of models and files, and library versions."""
    about = dict(settings)
    if is_hosted(settings.get("model")):
        about = {key: value for key, value in settings.items() if key not in PAYING_KEYS}
        about["base_url"] = base_url_of(parse_hosted_name(settings["model"]), settings["base_url"])
    elif "model" in settings:
        place = find_model(settings["model"], None)
        about |= {"model": place.name, "recipe": place.recipe.name, "weights": weights_hash(Path(place.path))}
        about |= {"path": place.path} if about["weights"] is None else {}
        about |= hardware(settings["device"])
        about |= recipe_hash(place.recipe)
        if settings.get("reuse") != TEXT or settings["dtype"] in BY_TEXT:  # then it has no effect
            about.pop("reuse", None)
    for name in ("sources", "router"):
        if settings.get(name) is not None:
            about[name] = _file_hash(Path(settings[name]))
    return about | {"versions": versions_of(table, settings)}


def _file_hash(path: Path) -> str:
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise Place(str(path)).error(f"cannot be read ({error.strerror}). Correct its path.") from None


@cache
def find_version(name: str) -> str:
    """The installed version of a library, cached, as the lookup takes longer than many a stage.

    Raises:
        PackageNotFoundError: it is not.
    """
    return version(name)


def versions_of(table: str, settings: Mapping[str, Any]) -> dict[str, str]:
    """Versions of the libraries that affect the output of a stage; a service's versions are not included."""
    extra: str = ""
    names: tuple[str, ...] = ()
    if is_hosted(settings.get("model")):
        need_hosted("openai" if parse_hosted_name(settings["model"]).service.name == "openai" else "httpx2")
    elif "model" in settings:
        extra, names = MODELS
    elif table in SPECS:
        kind, _ = read_spec(settings[SPECS[table][0]])
        extra, names = kind.extra, kind.distributions
    try:
        return {name: find_version(name) for name in names}
    except PackageNotFoundError as error:
        raise MissingExtraError(f"The stages of [{table}]", extra) from error
