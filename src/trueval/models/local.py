"""What every model that runs on this machine shares."""

from __future__ import annotations

import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from trueval.errors import InputError
from trueval.models.batches import in_batches
from trueval.models.places import Place, need

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

__all__ = ["LocalModel", "padded", "pretrained", "quiet"]


class LocalModel:
    """A model loaded in one dtype on one device.

    Args:
        place: where it is and its recipe.
        dtype: the format it runs in; its outputs keep it.
        device: as torch calls it.
        batch_size: texts or pairs per forward pass; halved when memory runs out.
        max_length: tokens kept, prompt included; 0 leaves it to the model's own files.
        instruction: task description that the prompt carries.
        trust_remote_code: whether code that the model's authors put beside it may run.
    """

    def __init__(
        self,
        place: Place,
        *,
        dtype: str,
        device: str,
        batch_size: int,
        max_length: int,
        instruction: str,
        trust_remote_code: bool,
    ) -> None:
        self.torch = need("torch")
        self.place = place
        self.name = place.name
        self.recipe = place.recipe
        self.scoring: str = place.recipe.scoring
        self.dtype = dtype
        self.device = device
        self.batch_size = batch_size
        self.max_length = max_length
        self.instruction = instruction
        self.trust_remote_code = trust_remote_code
        self.load()

    def load(self) -> None:
        """Load model and tokenizer."""
        raise NotImplementedError

    def settings(self) -> dict[str, Any]:
        """Return all that decides the outputs, for a file of results.

        Low-precision outputs depend on batch size and length too (P-A footnote 5), so both are here.
        """
        return {
            "model": self.name,
            "path": self.place.path,
            "recipe": self.recipe.name,
            "scoring": self.scoring,
            "dtype": self.dtype,
            "device": self.device,
            "batch_size": self.batch_size,
            "max_length": self.max_length,
            "instruction": self.instruction,
            "versions": {name: need(name).__version__ for name in ("torch", "transformers", "sentence_transformers")},
        }

    def run(self, forward: Callable[[list[Any]], Any], items: Sequence[Any], length: Callable[[Any], int]) -> list[Any]:
        """Return the model's outputs for all items, and remember a batch size that had to be halved."""
        with self.torch.inference_mode():
            outputs, self.batch_size = in_batches(forward, items, self.batch_size, length)
        return outputs

    def pretrained(self, loader: str, **options: Any) -> Any:
        """Return what a class of transformers loads from the model's place."""
        return pretrained(getattr(need("transformers"), loader), self.place.path, self.trust_remote_code, **options)

    def network(self, loader: str, **options: Any) -> Any:
        """Return the model in its dtype, on its device, for inference."""
        model = self.pretrained(loader, dtype=getattr(self.torch, self.dtype), **options)
        return model.to(self.device).eval()

    def sentence_transformers(self, loader: str) -> Any:
        """Return what a class of sentence-transformers loads from the model's place, in its dtype, on its device."""
        library = getattr(need("sentence_transformers"), loader)
        try:
            with quiet():
                return library(
                    self.place.path,
                    device=self.device,
                    trust_remote_code=self.trust_remote_code,
                    model_kwargs={"dtype": getattr(self.torch, self.dtype)},
                )
        except _load_errors() as error:
            raise _cannot_load(self.place.path, loader, error) from error

    def tokenizer_of_place(self) -> Any:
        """Return the tokenizer, which pads on the side of the recipe."""
        tokenizer = self.pretrained("AutoTokenizer", padding_side=self.recipe.padding_side)
        if tokenizer.pad_token_id is None:
            tokenizer.pad_token = tokenizer.eos_token
        return tokenizer


def pretrained(loader: Any, path: str, trust_remote_code: bool, **options: Any) -> Any:
    """Return what `loader.from_pretrained` loads.

    Raises:
        InputError: it cannot.
    """
    try:
        with quiet():
            return loader.from_pretrained(path, trust_remote_code=trust_remote_code, **options)
    except _load_errors() as error:
        raise _cannot_load(path, loader.__name__, error) from error


def _load_errors() -> tuple[type[Exception], ...]:
    """Return what the libraries raise for folders and ids that hold no model they know."""
    return (OSError, ValueError, KeyError, RuntimeError, need("safetensors").SafetensorError)


def _cannot_load(path: str, loader: str, error: Exception) -> InputError:
    """Return the error for a model that a library does not load, with the library's reason."""
    reason = (str(error).strip().splitlines() or [type(error).__name__])[0]
    return InputError(
        f"{path}: {loader} cannot load it: {reason} It must be a folder that save_pretrained wrote, or an id of the "
        "hub, reachable from here. A model with code of its own needs trust_remote_code."
    )


@contextmanager
def quiet() -> Iterator[None]:
    """Hide the progress bars of transformers where nobody watches."""
    logging = need("transformers").utils.logging
    hide = not sys.stderr.isatty() and logging.is_progress_bar_enabled()
    if hide:
        logging.disable_progress_bar()
    try:
        yield
    finally:
        if hide:
            logging.enable_progress_bar()


def padded(torch: Any, sequences: Sequence[Sequence[int]], pad: int, side: str, device: str) -> dict[str, Any]:
    """Return token ids as a rectangle, with the mask of what is not padding.

    Args:
        torch: the module.
        sequences: token ids of each text.
        pad: id of the padding token.
        side: "left" or "right".
        device: where the tensors go.
    """
    width = max(len(ids) for ids in sequences)
    ids = torch.full((len(sequences), width), pad, dtype=torch.long)
    mask = torch.zeros_like(ids)
    for row, sequence in enumerate(sequences):
        where = slice(width - len(sequence), width) if side == "left" else slice(0, len(sequence))
        ids[row, where] = torch.tensor(sequence, dtype=torch.long)
        mask[row, where] = 1
    return {"input_ids": ids.to(device), "attention_mask": mask.to(device)}
