"""Stored logits: what somebody else's run of a model left in an .npz file."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from trueval.errors import InputError
from trueval.numerics import FORMATS, round_to, storage_dtype

if TYPE_CHECKING:
    from numpy.typing import NDArray


LABELS: Final = {1: "sigmoid", 2: "softmax"}


class StoredLogits(NamedTuple):
    """Logits from a file.

    Attributes:
        name: of the model that made them, the file's stem.
        query_ids: [pair].
        doc_ids: [pair].
        grades: [pair], or None where the file has none.
        logits: by model dtype, [pair, label] values of that format.
    """

    name: str
    query_ids: tuple[str, ...]
    doc_ids: tuple[str, ...]
    grades: NDArray[np.float64] | None
    logits: Mapping[str, NDArray[Any]]

    @property
    def scoring(self) -> str:
        """φ that fits the number of labels."""
        return LABELS[next(iter(self.logits.values())).shape[1]]


def read_logits(path: Path) -> StoredLogits:
    """Read an .npz file: arrays query, doc, perhaps grade, and one [pair, label] array named by each model dtype.

    Formats that NumPy lacks may be stored as float32; their values must be values of the format.

    Raises:
        InputError: the file is missing or is not an .npz file, an array is missing or misshapen, a logit is not finite
            or is not a value of its dtype.
    """
    try:
        with np.load(path, allow_pickle=False) as stored:  # a pickle could run code
            arrays = {name: stored[name] for name in stored.files}
    except FileNotFoundError as error:
        raise InputError(f"{path}: no such file. Correct the path.") from error
    except (ValueError, OSError, AttributeError) as error:  # AttributeError: an .npy file has no `files`
        raise InputError(f"{path}: not an .npz file ({error}). Write it with numpy.savez_compressed.") from error
    dtypes = [name for name in FORMATS if name in arrays]
    missing = [name for name in ("query", "doc") if name not in arrays] + ([] if dtypes else ["float32"])
    if missing:
        raise InputError(
            f"{path}: no array {' and no '.join(missing)}. It must hold query, doc and one array of logits named "
            f"by each model dtype, such as bfloat16. Got {', '.join(arrays) or 'none'}. Add what is missing."
        )
    query, doc = (tuple(map(str, arrays[name].tolist())) for name in ("query", "doc"))
    logits = {dtype: _checked_logits(path, dtype, arrays[dtype], query, doc) for dtype in dtypes}
    if len({array.shape for array in logits.values()}) > 1:
        raise InputError(f"{path}: the logits of {', '.join(dtypes)} differ in shape. All must score the same pairs.")
    grades = arrays["grade"].astype(np.float64) if "grade" in arrays else None
    return StoredLogits(path.stem, query, doc, grades, logits)


def _checked_logits(
    path: Path, dtype: str, array: NDArray[Any], query: tuple[str, ...], doc: tuple[str, ...]
) -> NDArray[Any]:
    array = array[:, None] if array.ndim == 1 else array
    if array.ndim != 2 or array.shape[1] not in LABELS or not len(array) == len(query) == len(doc):
        raise InputError(
            f"{path}: {dtype} has shape {array.shape}. It must be [{len(query)}, 1] or [{len(query)}, 2], (no, yes), "
            f"one row for each of {len(query)} queries and {len(doc)} documents."
        )
    broken = ~np.isfinite(array.astype(np.float64)).all(axis=1)
    if broken.any():
        named = [f"{doc[i]!r} (query {query[i]!r})" for i in np.flatnonzero(broken)[:5].tolist()]
        raise InputError(
            f"{path}: {dtype} holds {int(broken.sum())} logits that are not finite: {', '.join(named)}. "
            "float16 overflows above 65504: run the model in bfloat16 or float32."
        )
    rounded = round_to(array, dtype)
    # Scores that were computed from logits in float32 are not outputs of a bfloat16 model: nothing would tie.
    if (rounded != array.astype(np.float64)).any():
        raise InputError(
            f"{path}: {dtype} holds values that {dtype} does not have, so the model did not return them. "
            "Store the raw logits, or name the array by the format that they are in."
        )
    return rounded.astype(storage_dtype(dtype))
