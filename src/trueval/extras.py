"""Extras: optional libraries, imported only when needed, with one error where they are missing."""

from __future__ import annotations

from importlib import import_module
from types import ModuleType

from trueval.errors import MissingExtraError


def need(module: str, feature: str, extra: str) -> ModuleType:
    """Import and return a module of an extra.

    Args:
        module: its full name, such as "safetensors.numpy".
        feature: the feature that needs it, as the subject of a sentence ("Plots").
        extra: name of the extra in pyproject.toml.

    Raises:
        MissingExtraError: it is not installed.

    >>> need("no_such_library", "Plots", "report")
    Traceback (most recent call last):
    trueval.errors.MissingExtraError: Plots need the extra "report". Install it with: pip install "trueval[report]"
    """
    try:
        return import_module(module)
    except ImportError as error:
        raise MissingExtraError(feature, extra) from error
