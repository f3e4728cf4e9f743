"""Language models of transformers that answer on this machine, token by token through a streamer."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Final

from trueval.errors import PolicyError
from trueval.models.generator import Generation
from trueval.models.hosted.hosted_roles import sendable
from trueval.models.local_model import explain_load_errors
from trueval.models.model_location import check_device, need
from trueval.models.model_settings import weights_hash

CUT_OFF: Final = "the answer was cut off"  # by max_tokens
# From question and passages to the messages of a chat, each with "role" and "content".
WriteMessages = Callable[[str, Sequence[str]], Sequence[Mapping[str, str]]]


@dataclass(frozen=True)
class LocalGeneratorSettings:
    """Settings of a local generator.

    Attributes:
        path: folder that save_pretrained wrote, or an id of the hub.
        max_tokens: maximum number of tokens of an answer.
        temperature: 0 for the most likely token at each place.
        top_p: smallest share of chance whose tokens are drawn from; 1 for all.
        seed: of drawn tokens, together with the prompt and the number of the sample.
        dtype: number format of the model.
        device: torch device; an accelerator if there is one by default.
    """

    path: str
    max_tokens: int = 128
    temperature: float = 0.0
    top_p: float = 1.0
    seed: int = 0
    dtype: str = "float32"
    device: str = ""


@dataclass(eq=False, repr=False)
class LocalGenerator:
    """A causal language model; loaded at the first question, so that answers in a ledger need no model.

    Args:
        use: settings.
        write: makes the messages of the prompt.
        prompts: hashes of the prompts that `write` uses, which identify the generator.
    """

    use: LocalGeneratorSettings
    write: WriteMessages
    prompts: Sequence[str] = ()
    _loaded: tuple[Any, Any, str] | None = field(default=None, init=False)

    def __post_init__(self) -> None:
        self.name = self.use.path

    @cached_property
    def _weights(self) -> str | None:
        """Hash of its files: other weights in the same folder are another generator."""
        return weights_hash(Path(self.use.path))

    def identity(self) -> Mapping[str, object]:
        """Its settings, files and prompts; the device does not identify it."""
        kept = {name: value for name, value in vars(self.use).items() if name != "device"}
        return {
            "model": f"local:{self.use.path}",
            "parameters": kept,
            "weights": self._weights,
            "sha256": list(self.prompts),
        }

    def generate(self, question: str, passages: Sequence[str], sample: int = 0) -> Generation:
        """Answer a question; see Generator.

        Raises:
            InputError: the model cannot be loaded.
        """
        torch = need("torch")
        model, tokenizer, device = self._load()
        messages = [dict(each, content=sendable(each["content"])) for each in self.write(question, passages)]
        ids = _prompt_ids(tokenizer, messages).to(device)
        longest = getattr(model.config, "max_position_embeddings", None)
        if longest is not None and ids.shape[1] + self.use.max_tokens > longest:
            said = f"the prompt and max_tokens are more than the {longest:,} tokens that the model reads"
            return Generation("", said)
        began, moments = time.perf_counter(), list[float]()
        streamer = _Moments(began, moments)
        about = json.dumps([self.use.seed, sample, messages]).encode()
        drawn = {"do_sample": True, "temperature": self.use.temperature, "top_p": self.use.top_p}
        with torch.inference_mode(), torch.random.fork_rng():
            torch.manual_seed(int.from_bytes(hashlib.sha256(about).digest()[:7], "big"))
            found = model.generate(
                ids,
                attention_mask=torch.ones_like(ids),
                max_new_tokens=self.use.max_tokens,
                pad_token_id=tokenizer.pad_token_id if tokenizer.pad_token_id is not None else tokenizer.eos_token_id,
                streamer=streamer,
                **(drawn if self.use.temperature > 0 else {"do_sample": False, "temperature": None, "top_p": None}),
            )
        seconds = time.perf_counter() - began
        written = found[0, ids.shape[1] :]
        text = tokenizer.decode(written, skip_special_tokens=True).strip()
        problem = "" if len(written) < self.use.max_tokens or _ends(model, int(written[-1])) else CUT_OFF
        return Generation(text, problem, tuple(moments), int(ids.shape[1]), len(written), 0.0, self.name, seconds)

    def _load(self) -> tuple[Any, Any, str]:
        if self._loaded is None:
            torch, transformers = need("torch"), need("transformers")
            if not hasattr(torch, self.use.dtype):
                raise PolicyError(f"dtype of [generate] must be one of torch's. Got {self.use.dtype!r}.")
            device = self.use.device or ("cuda" if torch.cuda.is_available() else "cpu")
            check_device(device)
            with explain_load_errors(self.use.path, "AutoModelForCausalLM"):
                tokenizer = transformers.AutoTokenizer.from_pretrained(self.use.path)
                loader = transformers.AutoModelForCausalLM
                model = loader.from_pretrained(self.use.path, dtype=getattr(torch, self.use.dtype)).to(device).eval()
            self._loaded = model, tokenizer, device
        return self._loaded


class _Moments:
    """A streamer of transformers: it is called with the prompt first, then with each token as it is there."""

    def __init__(self, began: float, moments: list[float]) -> None:
        self.began, self.moments, self.prompt = began, moments, True

    def put(self, value: object) -> None:
        """Note the moment of a token."""
        if self.prompt:
            self.prompt = False
        else:
            self.moments.append(time.perf_counter() - self.began)

    def end(self) -> None:
        """The answer is whole."""


def _ends(model: Any, token: int) -> bool:
    """Whether an answer ends with a token: one of those that the model ends with, of which there may be several."""
    ends = model.generation_config.eos_token_id
    return token in (ends if isinstance(ends, list) else [ends])


def _prompt_ids(tokenizer: Any, messages: Sequence[Mapping[str, str]]) -> Any:
    """[1, token] ids of the prompt, by the model's own template; without one the messages as paragraphs."""
    if tokenizer.chat_template:
        how = {"add_generation_prompt": True, "return_tensors": "pt", "return_dict": True}
        return tokenizer.apply_chat_template(messages, **how)["input_ids"]
    text = "\n\n".join(each["content"] for each in messages) + "\n\nAnswer:"
    return tokenizer(text, return_tensors="pt")["input_ids"]
