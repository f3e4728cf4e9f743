"""Tiny models, built once."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import pytest


def _tiny():
    """The module beside this file; tests are imported by path, not as a package."""
    spec = importlib.util.spec_from_file_location("tiny", Path(__file__).with_name("tiny.py"))
    module = importlib.util.module_from_spec(spec)
    sys.modules["tiny"] = module
    spec.loader.exec_module(module)
    return module


TINY = _tiny()


@pytest.fixture(scope="session")
def tiny():
    return TINY


@pytest.fixture(scope="session")
def folder_of(tmp_path_factory):
    """The folder of a tiny model by the name of its recipe."""
    for module in ("torch", "transformers", "sentence_transformers"):
        pytest.importorskip(module, reason=f"{module}, of the extra models, is not installed")
    built: dict[str, Path] = {}

    def build(recipe: str) -> Path:
        if recipe not in built:
            built[recipe] = TINY.BUILDERS[recipe](tmp_path_factory.mktemp(recipe))
        return built[recipe]

    return build
