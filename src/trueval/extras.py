"""Extras: the optional libraries, each imported when something needs it, with one error where it is not there."""

from __future__ import annotations

from importlib import import_module
from types import ModuleType

from trueval.errors import MissingExtraError


def need(module: str, feature: str, extra: str) -> ModuleType:
    """Return a module of an extra, imported only now.

    Args:
        module: its full name, such as "safetensors.numpy".
        feature: what needs it, as the subject of a sentence ("Plots").
        extra: that holds it, as pyproject.toml names it.

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
