"""Tiny models, built once."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import pytest

pytest.importorskip("torch", reason="torch, of the extra models, is not installed")
pytest.importorskip("transformers", reason="transformers, of the extra models, is not installed")
pytest.importorskip("sentence_transformers", reason="sentence-transformers, of the extra models, is not installed")


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
    built: dict[str, Path] = {}

    def build(recipe: str) -> Path:
        if recipe not in built:
            built[recipe] = TINY.BUILDERS[recipe](tmp_path_factory.mktemp(recipe))
        return built[recipe]

    return build
