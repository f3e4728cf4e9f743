"""Stored logits: outputs of a model run elsewhere, in an .npz file."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from trueval.errors import Place
from trueval.files.source.encoding import is_unicode
from trueval.numerics import formats, round_to, storage_dtype
from trueval.precision.npz_archive import read_archive
from trueval.printable import encodable

if TYPE_CHECKING:
    from numpy.typing import NDArray


LABELS: Final = {1: "sigmoid", 2: "softmax"}


class StoredLogits(NamedTuple):
    """Logits from a file.

    Attributes:
        name: name of the model, the file's stem.
        query_ids: [pair] query ids.
        doc_ids: [pair] document ids.
        grades: [pair] grades, NaN if unjudged; None if the file has none.
        logits: model dtype → [pair, label] values of that format.
    """

    name: str
    query_ids: tuple[str, ...]
    doc_ids: tuple[str, ...]
    grades: NDArray[np.float64] | None
    logits: Mapping[str, NDArray[Any]]

    @property
    def scoring(self) -> str:
        """The scoring function φ for the number of labels."""
        return LABELS[next(iter(self.logits.values())).shape[1]]


def read_logits(path: Path) -> StoredLogits:
    """Read an .npz file: arrays query, doc, perhaps grade, and one [pair, label] array named by each model dtype.

    Formats that NumPy lacks may be stored as float32; their values must be values of the format.

    Raises:
        InputError: the file is missing or is not an .npz file, an array is missing, misshapen or of another type, an id
            is empty, a pair is there twice, a grade is not finite, a logit is not finite or is not a value of its
            dtype.
    """
    place = Place(encodable(str(path)))
    arrays = read_archive(str(path), ("query", "doc", "grade", *formats()))
    dtypes = [name for name in formats() if name in arrays]
    missing = [name for name in ("query", "doc") if name not in arrays] + ([] if dtypes else ["float32"])
    if missing:
        raise place.error(
            f"no array {' and no '.join(missing)}. It must hold query, doc and one array of logits named "
            f"by each model dtype, such as bfloat16. Got {', '.join(arrays) or 'none'}. Add what is missing."
        )
    query, doc = (_ids(place, name, arrays[name]) for name in ("query", "doc"))
    logits = {dtype: _check_logits(place, dtype, arrays[dtype], query, doc) for dtype in dtypes}
    if len({array.shape for array in logits.values()}) > 1:
        raise place.error(f"the logits of {', '.join(dtypes)} differ in shape. All must score the same pairs.")
    if len(set(zip(query, doc, strict=True))) < len(query):
        (twice, _), *_ = Counter(zip(query, doc, strict=True)).most_common(1)
        raise place.error(f"document {twice[1]!r} of query {twice[0]!r} is there twice. Keep one row of each pair.")
    grades = _grades(place, arrays["grade"], len(query)) if "grade" in arrays else None
    return StoredLogits(encodable(path.stem), query, doc, grades, logits)


def _ids(place: Place, name: str, array: NDArray[Any]) -> tuple[str, ...]:
    if array.ndim != 1 or array.dtype.kind not in "USiu":
        raise place.error(
            f"{name} has shape {array.shape} and type {array.dtype}. It must be a list of ids, texts or integers."
        )
    try:
        texts = np.char.decode(array, "utf-8") if array.dtype.kind == "S" else array
        ids = tuple(map(str, texts.tolist()))
    except (ValueError, SystemError) as error:  # decoding errors; code points that Unicode lacks
        raise place.error(f"{name} holds ids that are not Unicode ({error}). Write them as texts.") from None
    wrong = next((at for at, id in enumerate(ids) if not id or not is_unicode(id)), None)
    if wrong is not None:
        raise place.error(f"{name} number {wrong + 1} is {ids[wrong]!r}. An id must be a text that is not empty.")
    return ids


def _grades(place: Place, array: NDArray[np.generic], pairs: int) -> NDArray[np.float64]:
    if array.shape != (pairs,) or array.dtype.kind not in "fiu":
        raise place.error(
            f"grade has shape {array.shape} and type {array.dtype}. It must be one number for each of {pairs} pairs, "
            "NaN where nobody judged."
        )
    grades = array.astype(np.float64)
    if np.isinf(grades).any():
        raise place.error("grade holds infinite numbers. Grades must be finite, or NaN where nobody judged.")
    return grades


def _check_logits(
    place: Place, dtype: str, array: NDArray[np.generic], query: tuple[str, ...], doc: tuple[str, ...]
) -> NDArray[Any]:
    array = array[:, None] if array.ndim == 1 else array
    if array.ndim != 2 or array.shape[1] not in LABELS or not len(array) == len(query) == len(doc):
        raise place.error(
            f"{dtype} has shape {array.shape}. It must be [{len(query)}, 1] or [{len(query)}, 2], (no, yes), "
            f"one row for each of {len(query)} queries and {len(doc)} documents."
        )
    if array.dtype.kind not in "fiu":
        raise place.error(f"{dtype} holds values of type {array.dtype}. Logits must be real numbers.")
    broken = ~np.isfinite(array.astype(np.float64)).all(axis=1)
    if broken.any():
        named = [f"{doc[i]!r} (query {query[i]!r})" for i in np.flatnonzero(broken)[:5].tolist()]
        raise place.error(
            f"{dtype} holds {int(broken.sum())} logits that are not finite: {', '.join(named)}. "
            "float16 overflows above 65504: run the model in bfloat16 or float32."
        )
    rounded = round_to(array, dtype)
    # Scores computed from logits in float32 are not outputs of a bfloat16 model: nothing would tie.
    if (rounded != array.astype(np.float64)).any():
        raise place.error(
            f"{dtype} holds values that {dtype} does not have, so the model did not return them. "
            "Store the raw logits, or name the array by the format that they are in."
        )
    return rounded.astype(storage_dtype(dtype))
