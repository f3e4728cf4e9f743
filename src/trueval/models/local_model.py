"""The base of all models that run on this machine."""

from __future__ import annotations

import sys
from abc import ABC, abstractmethod
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

from trueval.errors import InputError
from trueval.models.batches import BatchVariant, in_batches
from trueval.models.foreign_code import refuse_foreign_code
from trueval.models.hosted.hosted_roles import sendable
from trueval.models.hosted.services import is_hosted
from trueval.models.model_location import ModelLocation, check_device, find_model, hardware, need
from trueval.models.model_parts import ModelPart, set_part

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence


SETTINGS = ("scoring", "dtype", "device", "batch_size", "max_length", "instruction")


@dataclass(eq=False, repr=False, kw_only=True)
class LocalModel(ABC):
    """A model loaded in one dtype on one device.

    Args:
        place: location and recipe.
        dtype: number format of the model and its outputs.
        device: torch device.
        batch_size: texts or pairs per forward pass; halved when memory runs out.
        max_length: maximum number of tokens, prompt included; 0 for the limit in the model's files.
        instruction: task description in the prompt.
        trust_remote_code: whether to run code from the model's repository.
        parts: part of the network → number format that it alone runs in.
        variant: how texts are put into batches.
    """

    of_pairs: ClassVar = False  # whether it reads a query and a document together
    place: ModelLocation = field(kw_only=False)
    dtype: str
    device: str
    batch_size: int
    max_length: int
    instruction: str
    trust_remote_code: bool
    parts: Mapping[str, str] = field(default_factory=dict)
    variant: BatchVariant = field(default_factory=BatchVariant)

    def __post_init__(self) -> None:
        self.torch = need("torch")
        self.name, self.recipe = self.place.name, self.place.recipe
        self.scoring: str = self.recipe.scoring  # a cross-encoder infers it from its head
        self.load()
        for part in self.parts.items():
            set_part(self.transformer, ModelPart(*part), self.name)
        self.limit_length()

    def limit_length(self) -> None:
        """Take the limit of the model's files where more tokens are asked for, which it has no positions for.

        Results have the length that was taken.

        Raises:
            InputError: what stands around every text leaves no token of it.
        """
        limits = (
            getattr(getattr(self, "tokenizer", None), "model_max_length", None),
            getattr(getattr(getattr(self, "model", None), "config", None), "max_position_embeddings", None),
        )
        self.max_length = min([self.max_length, *(int(limit) for limit in limits if limit)])
        if 0 < self.max_length <= (around := self.tokens_around()):
            raise InputError(
                f"{self.name}: max_length must be above {around}, the tokens that stand around every text. Got "
                f"{self.max_length}."
            )

    def tokens_around(self) -> int:
        """Number of tokens around every text, or pair, which truncation leaves: special tokens, or a prompt."""
        tokenizer = getattr(self, "tokenizer", None) or getattr(getattr(self, "model", None), "tokenizer", None)
        count = getattr(tokenizer, "num_special_tokens_to_add", None)
        return 0 if count is None else int(count(pair=self.of_pairs))

    @abstractmethod
    def load(self) -> None:
        """Load model and tokenizer."""

    @property
    def padding_side(self) -> str:
        """The side of a text that padding goes to."""
        return self.variant.side or self.recipe.padding_side

    @property
    def processing(self) -> dict[str, Any]:
        """Options of sentence-transformers for how texts are padded."""
        return {"processing_kwargs": {"text": {"padding": "max_length"}}} if self.variant.whole else {}

    @property
    def transformer(self) -> Any:
        """The network, a model of transformers."""
        return self.model  # type: ignore[attr-defined]

    def settings(self) -> dict[str, Any]:
        """Return everything that determines the outputs, for result files.

        Low-precision outputs depend on batch size and length too (P-A footnote 5), so both are here.
        """
        return {
            "model": self.name,
            "path": self.place.path,
            "recipe": self.recipe.name,
            **{name: getattr(self, name) for name in SETTINGS},
            **({"parts": dict(self.parts)} if self.parts else {}),
            **({"batching": self.variant.to_dict()} if self.variant.to_dict() else {}),
            **hardware(self.device),
            **({"threads": self.torch.get_num_threads()} if self.device.startswith("cpu") else {}),
            "versions": {name: need(name).__version__ for name in ("torch", "transformers", "sentence_transformers")},
        }

    def run(
        self, forward: Callable[[list[Any]], Any], items: Sequence[object], length: Callable[[Any], int]
    ) -> list[Any]:
        """Return the model's outputs for all items, and keep a batch size that had to be halved."""
        with self.torch.inference_mode():
            outputs, self.batch_size = in_batches(
                forward, list(map(_readable, items)), self.batch_size, length, seed=self.variant.seed
            )
        return outputs

    def load_pretrained(self, loader: str, **options: object) -> Any:
        """Load a transformers class from the model's location."""
        check_device(self.device)
        with explain_load_errors(self.place.path, loader):
            library = getattr(need("transformers"), loader)
            return library.from_pretrained(self.place.path, trust_remote_code=self.trust_remote_code, **options)

    def network(self, loader: str) -> Any:
        """Return the model in its dtype, on its device, for inference."""
        # The head is in the model's dtype too, as in serving: its rounding makes logits tie.
        return self.load_pretrained(loader, dtype=getattr(self.torch, self.dtype)).to(self.device).eval()

    def sentence_transformers(self, loader: str) -> Any:
        """Load a sentence-transformers class from the model's location, in its dtype, on its device."""
        check_device(self.device)
        with explain_load_errors(self.place.path, loader):
            if not self.trust_remote_code:
                refuse_foreign_code(self.place.path)
            model = getattr(need("sentence_transformers"), loader)(
                self.place.path,
                device=self.device,
                trust_remote_code=self.trust_remote_code,
                model_kwargs={"dtype": getattr(self.torch, self.dtype)},
            )
        if self.variant.side:
            model.tokenizer.padding_side = self.variant.side
        return model

    def tokenizer_of_place(self) -> Any:
        """Return the tokenizer, with the padding side of the recipe."""
        tokenizer = self.load_pretrained("AutoTokenizer", padding_side=self.padding_side)
        if tokenizer.pad_token_id is None:  # as in many language models; the mask hides the padding token
            tokenizer.pad_token = tokenizer.eos_token
        return tokenizer


def _readable(item: Any) -> Any:
    """A text or pair without lone surrogates, which tokenizers refuse, as services do."""
    return sendable(item) if isinstance(item, str) else tuple(map(sendable, item))


def load_tokenizer(name: str) -> Any:
    """Load the tokenizer of a model, without its weights.

    Args:
        name: model name, as in `load_model`.

    Raises:
        InputError: there is none, it belongs to a hosted model, or it does not say where its tokens are.
        MissingExtraError: transformers is not installed.
    """
    if is_hosted(name):
        raise InputError(f"{name}: the tokens of a hosted model are not known here. Name a local model, or words.")
    path = find_model(name).path
    with explain_load_errors(path, "AutoTokenizer"):
        tokenizer = need("transformers").AutoTokenizer.from_pretrained(path, trust_remote_code=False)
    if not tokenizer.is_fast:
        raise InputError(f"{path}: its tokenizer does not say where in a text its tokens are. Name another model.")
    return tokenizer


@contextmanager
def explain_load_errors(path: str, loader: str) -> Iterator[None]:
    """Explain why a library fails to load a model; hides transformers' progress bars without a terminal."""
    logging = need("transformers").utils.logging
    hide = not sys.stderr.isatty() and logging.is_progress_bar_enabled()
    if hide:
        logging.disable_progress_bar()
    try:
        yield
    # Errors that the libraries raise for folders and ids without a supported model.
    except (OSError, ValueError, KeyError, RuntimeError, need("safetensors").SafetensorError) as error:
        reason = (str(error).strip().splitlines() or [type(error).__name__])[0]
        raise InputError(
            f"{path}: {loader} cannot load it: {reason} It must be a folder that save_pretrained wrote, or an id of "
            "the hub, reachable from here. A model with code of its own needs trust_remote_code."
        ) from error
    finally:
        if hide:
            logging.enable_progress_bar()


def pad_sequences(
    torch: Any, sequences: Sequence[Sequence[int]], pad: int, side: str, device: str, width: int = 0
) -> dict[str, object]:
    """Return padded token ids with their attention mask.

    Args:
        sequences: token ids of each text.
        pad: id of the padding token.
        side: "left" or "right".
        device: device of the tensors.
        width: tokens that every text is padded to at least.
    """
    width = max(width, *(len(ids) for ids in sequences))
    ids = torch.full((len(sequences), width), pad, dtype=torch.long)
    mask = torch.zeros_like(ids)
    for row, sequence in enumerate(sequences):
        # On the left if the last position is read, so that it holds a token of every text.
        where = slice(width - len(sequence), width) if side == "left" else slice(0, len(sequence))
        ids[row, where] = torch.tensor(sequence, dtype=torch.long)
        mask[row, where] = 1
    return {"input_ids": ids.to(device), "attention_mask": mask.to(device)}
