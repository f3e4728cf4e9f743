"""Foreign code: Python classes outside sentence-transformers that a model's files would import.

`modules.json` names the class of each module of a model, a router's files those of its routes, and a vocabulary file
that of its tokenizer. Up to version 5.7, sentence-transformers imported any such class, even with
trust_remote_code=False (its issues 3683, 3801; refused from 6.0 on, pull request 3935). So these files are checked here
before the library reads them. transformers itself refuses what `auto_map` of config.json names.
"""

from __future__ import annotations

import json
import re
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any

from trueval.errors import InputError
from trueval.models.model_location import need

if TYPE_CHECKING:
    from collections.abc import Iterator

OWN = re.compile(r"sentence_transformers(\.\w+)+")
# Settings files of modules: routers, word tables, and routers as written by versions before 4.
SETTINGS_OF_PARTS = ("router_config.json", "wordembedding_config.json", "config.json")
# Maximum nesting of routers.
DEEPEST = 8


def refuse_foreign_code(path: str) -> None:
    """Refuse a model whose files name classes outside sentence-transformers.

    Args:
        path: a folder, or a model id on the hub.

    Raises:
        InputError: says which file names which class; or the file cannot be read.
    """
    for file, name in _find_classes(path):
        if not isinstance(name, str) or not OWN.fullmatch(name):
            raise InputError(
                f"{path}: {file} names the class {name!r}, which is not part of sentence-transformers. To import it "
                "would run code that came with the model or is installed here. Read that code first; then allow it "
                "with trust_remote_code=True."
            )


def _find_classes(path: str) -> Iterator[tuple[str, object]]:
    """Files of a model with the class that each names."""
    modules = _read(path, "modules.json", "")
    if modules is None:
        return
    if not isinstance(modules, list) or not all(isinstance(module, dict) for module in modules):
        raise InputError(f"{path}: modules.json must be a list of objects. Save the model again.")
    for module in modules:
        yield "modules.json", module.get("type")
        yield from _classes_of_part(path, str(module.get("path", "")), DEEPEST)


def _classes_of_part(path: str, folder: str, deepest: int) -> Iterator[tuple[str, object]]:
    """Files of one module of a model with the class that each names, including the routes of routers."""
    for name in SETTINGS_OF_PARTS:
        settings = _read(path, name, folder)
        if not isinstance(settings, dict):
            continue
        file = str(PurePosixPath(folder, name))
        # transformers writes a name without a module into its own config.json, and imports nothing for it.
        if "." in str(settings.get("tokenizer_class", "")):
            yield file, settings["tokenizer_class"]
        types = settings.get("types", {})
        if not isinstance(types, dict) or (types and not deepest):
            raise InputError(f"{path}: types of {file} must be an object, with few routers within routers.")
        for route, kind in types.items():
            yield file, kind
            yield from _classes_of_part(path, str(PurePosixPath(folder, route)), deepest - 1)


def _read(path: str, name: str, folder: str) -> Any:
    """The content of a model's JSON file; None where the file does not exist."""
    found = need("sentence_transformers.util").load_file_path(path, name, subfolder=folder)
    if found is None:
        return None
    try:
        return json.loads(Path(found).read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:
        raise InputError(
            f"{path}: {PurePosixPath(folder, name)} is not JSON: {error}. Save the model again."
        ) from error
