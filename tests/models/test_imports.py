"""Nothing heavy is imported before a model is loaded, and a missing extra is named."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import trueval
from trueval.errors import MissingExtraError
from trueval.models import load_model


def run(code: str) -> str:
    environment = {**os.environ, "PYTHONPATH": str(Path(trueval.__file__).parents[1])}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_importing_models_and_finding_one_is_light():
    code = """
import sys
from trueval.models import RECIPES, Embedder, Reranker, find_recipe, high_precision, load_model
from trueval.models.model_location import find_model
find_model("bge-reranker-v2-m3")
load_model("openai:text-embedding-3-small"), load_model("cohere:rerank-v3.5")  # reached when texts go out
heavy = ("torch", "transformers", "sentence_transformers", "scipy", "ml_dtypes", "openai", "httpx2")
print([name for name in heavy if name in sys.modules])
"""
    assert run(code) == "[]\n"


@pytest.mark.parametrize("module", ["torch", "transformers", "sentence_transformers"])
def test_a_missing_extra_is_named(monkeypatch, folder_of, module):
    folder = folder_of("sentence-transformer" if module == "sentence_transformers" else "multilingual-e5-large")
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(MissingExtraError, match=r'Models need the extra "models".*pip install "trueval\[models\]"'):
        load_model(str(folder) if module == "sentence_transformers" else f"multilingual-e5-large:{folder}", device=None)
