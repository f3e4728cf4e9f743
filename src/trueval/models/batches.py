"""Running texts through a model in batches."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar

import numpy as np

from trueval.errors import InputError, TruevalWarning
from trueval.numerics import storage_dtype

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray


Item = TypeVar("Item")
Output = TypeVar("Output")


class BatchVariant(NamedTuple):
    """How texts are put into batches and padded, where not as usual.

    Args:
        seed: draws the batches at random; None for the longest texts first.
        side: "left" or "right", where padding goes; empty for the side of the recipe.
        whole: whether every text is padded to the maximum length, and not to the longest of its batch.
    """

    seed: int | None = None
    side: str = ""
    whole: bool = False

    def to_dict(self) -> dict[str, object]:
        """What is not as usual, for settings of a pass."""
        usual = BatchVariant()._asdict()
        return {name: value for name, value in self._asdict().items() if value != usual[name]}


class BatchOutputs(NamedTuple, Generic[Output]):
    """The outputs of a model for all items.

    Args:
        outputs: one per item, in the order of the items.
        batch_size: final batch size, which is halved whenever memory runs out.
    """

    outputs: list[Output]
    batch_size: int


def in_batches(
    forward: Callable[[list[Item]], Sequence[Output]],
    items: Sequence[Item],
    batch_size: int,
    length: Callable[[Item], int],
    *,
    seed: int | None = None,
) -> BatchOutputs[Output]:
    """Run all items through a model, longest first: this reduces padding, and running out of memory shows early.

    Args:
        forward: function that returns the outputs of one batch, in order.
        items: texts or pairs.
        batch_size: items per batch, at least 1; halved, with a warning, when the device is out of memory.
        length: function that returns the length of an item, in any unit.
        seed: draws the order of the items at random instead.

    Raises:
        InputError: the batch size is below 1, or not even one item fits.

    >>> in_batches(lambda batch: [text.upper() for text in batch], ["a", "bcd", "ef"], 2, len)
    BatchOutputs(outputs=['A', 'BCD', 'EF'], batch_size=2)
    """
    if batch_size < 1:
        raise InputError(f"The batch size must be an integer >= 1. Got {batch_size!r}.")
    order = sorted(range(len(items)), key=lambda i: -length(items[i]))
    if seed is not None:
        order = np.random.default_rng(seed).permutation(len(items)).tolist()
    # The number of outputs is the number of finished items: after a halving the same position is tried again.
    outputs: dict[int, Output] = {}
    while len(outputs) < len(items):
        chosen = order[len(outputs) : len(outputs) + batch_size]
        try:
            results = forward([items[i] for i in chosen])
        except Exception as error:
            if not _out_of_memory(error):
                raise
            if len(chosen) == 1:
                raise InputError(
                    "The device is out of memory with a single text. Use a shorter maximum length, a narrower dtype, "
                    "or another device."
                ) from error
            # Half of the actual batch, not of the requested size, since the last batch may be shorter.
            batch_size = len(chosen) // 2
            warnings.warn(
                f"Out of memory with a batch of {len(chosen)}; going on with {batch_size}. "
                "Batch size changes low-precision scores.",
                TruevalWarning,
                stacklevel=3,
            )
        else:
            outputs.update(zip(chosen, results, strict=True))
    return BatchOutputs([outputs[i] for i in range(len(items))], batch_size)


def _out_of_memory(error: Exception) -> bool:
    """Return whether an error means that the device is out of memory; if so, free its cache."""
    import torch

    host = isinstance(error, RuntimeError) and "not enough memory" in str(error)  # torch's allocator for CPUs
    if not (host or isinstance(error, torch.OutOfMemoryError)):
        return False
    if torch.cuda.is_available():
        torch.cuda.empty_cache()
    return True


def to_array(tensor: Any) -> NDArray[Any]:
    """Return a tensor as a NumPy array of the same format, bit for bit; bfloat16 becomes that of ml_dtypes.

    >>> import pytest; torch = pytest.importorskip("torch")
    >>> to_array(torch.tensor([0.5, 1.0], dtype=torch.bfloat16)).dtype.name
    'bfloat16'
    """
    import torch

    tensor = tensor.detach().cpu().contiguous()
    if tensor.dtype == torch.bfloat16:
        # NumPy has no bfloat16, so torch cannot convert it; viewed as int16 the bits are unchanged.
        array: NDArray[Any] = tensor.view(torch.int16).numpy().view(storage_dtype("bfloat16"))
        return array
    return np.asarray(tensor.numpy())


def refuse_overflow(outputs: NDArray[np.generic], names: Sequence[str], model: str, dtype: str) -> None:
    """Refuse non-finite outputs, and name the documents.

    Args:
        outputs: [text, any] logits or embeddings.
        names: display name of each text.
        dtype: name of the model's number format.

    Raises:
        InputError: some output is NaN or infinite.
    """
    # Upcast first, since `isfinite` needs a native NumPy format.
    broken = ~np.isfinite(outputs.astype(np.float32)).all(axis=1)
    if broken.any():
        named = [names[i] for i in np.flatnonzero(broken).tolist()]
        shown = ", ".join(named[:5]) + (f" and {len(named) - 5} more" if len(named) > 5 else "")
        raise InputError(
            f"{model} in {dtype} gave outputs that are not finite for {len(named)} of {len(names)} texts: {shown}. "
            "Scores need finite logits. float16 overflows above 65504: run the model in bfloat16 or float32."
        )
