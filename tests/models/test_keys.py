"""What decides outputs is in their key, and where a model lies is not."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from tests.extras import need

from trueval.errors import InputError
from trueval.models.output_part import OutputPart
from trueval.models.outputs import place_of, settings_of, weights_hash
from trueval.retrieval.pipeline import cache_keys

need("transformers", extra="models")


@pytest.fixture
def folder(folder_of: Any, tmp_path: Path) -> Path:
    return Path(shutil.copytree(folder_of("multilingual-e5-large"), tmp_path / "here" / "mine"))


def place(folder: Path, **options: Any) -> str:
    from trueval.models import load_model

    model = load_model(f"multilingual-e5-large:{folder}", **{"device": "cpu", "dtype": "float32", **options})
    part = OutputPart("documents", ["a"], ["a"], model.embed_documents, len)
    return place_of(settings_of(model), part.name, part.texts(), Path("store")).identity


def decided(folder: Path, **changed: Any) -> str:
    named = {"model": f"multilingual-e5-large:{folder}", "dtype": "float32", "device": None, "batch_size": 32}
    return json.dumps(
        cache_keys.build_key_settings("embed", {**named, "max_length": None, "instruction": None, **changed}),
        sort_keys=True,
    )


def test_the_contents_of_a_model_count_and_not_its_place(folder: Path, tmp_path: Path) -> None:
    other = tmp_path / "there" / "mine"
    shutil.copytree(folder, other)
    assert place(folder) == place(other)
    assert decided(folder) == decided(other)
    tokenizer = other / "tokenizer_config.json"
    tokenizer.write_text(tokenizer.read_text().replace("{", '{"model_max_length": 9,', 1))
    assert place(folder) != place(other)
    assert decided(folder) != decided(other)


def test_device_threads_length_and_prompt_count(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import torch

    base = place(folder)
    assert (
        len({base, place(folder, max_length=7), place(folder, instruction="other"), place(folder, batch_size=3)}) == 4
    )
    threads = torch.get_num_threads()
    torch.set_num_threads(threads + 1)
    try:
        assert place(folder) != base
    finally:
        torch.set_num_threads(threads)
    assert place(folder) == base
    told = decided(folder)
    assert decided(folder, max_length=7) != told
    assert decided(folder, instruction="other") != told
    with monkeypatch.context() as patch:
        patch.setenv("OMP_NUM_THREADS", "3")
        assert decided(folder) != told
    with monkeypatch.context() as patch:
        patch.setattr("trueval.models.model_location.vector_units", lambda: "another")
        assert decided(folder) != told
        assert place(folder) != base
    with monkeypatch.context() as patch:
        patch.setattr("trueval.models.model_location.may_have_accelerator", lambda: True)
        patch.setattr("trueval.models.model_location.accelerator_names", lambda: ["one"])
        first = decided(folder)
        patch.setattr("trueval.models.model_location.accelerator_names", lambda: ["another"])
        assert len({told, first, decided(folder)}) == 3


def test_a_model_of_the_hub_counts_by_its_commit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import huggingface_hub.constants

    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_CACHE", str(tmp_path))
    assert weights_hash(Path("somebody/model")) is None
    for commit in ("a" * 40, "b" * 40):
        snapshot = tmp_path / "models--somebody--model" / "snapshots" / commit
        snapshot.mkdir(parents=True)
        (snapshot / "config.json").write_text("{}")
        refs = tmp_path / "models--somebody--model" / "refs"
        refs.mkdir(exist_ok=True)
        (refs / "main").write_text(commit)
        assert weights_hash(Path("somebody/model")) == f"hub:{commit}"
    assert weights_hash(Path("no such: model")) is None


@pytest.mark.parametrize(
    "recipe", ["Qwen3-Reranker-0.6B", "bge-reranker-v2-m3", "cross-encoder", "multilingual-e5-large"]
)
def test_a_length_that_leaves_no_token_of_a_text_is_refused(folder_of, recipe: str) -> None:
    """Without this a tokenizer fails in words of its own, or every text is the same."""
    from trueval.models import load_model

    with pytest.raises(
        InputError, match=r"max_length must be above \d+, the tokens that stand around every text. Got 2"
    ):
        load_model(f"{recipe}:{folder_of(recipe)}", dtype="float32", device="cpu", max_length=2)
