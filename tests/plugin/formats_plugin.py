"""A number format and a storage of another package.

TensorFloat-32 is what tensor cores multiply float32 in (NVIDIA A100, 2020); thirds are steps of a third.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from trueval.numerics import Format
from trueval.retrieval.indexes.storages import Storage

TF32 = Format("tf32", exponent_bits=8, mantissa_bits=10, largest=(2 - 2**-10) * 2.0**127)


def in_thirds(vectors: NDArray[np.float32]) -> NDArray[np.float32]:
    """The nearest multiples of a third."""
    return (np.rint(3 * vectors) / 3).astype(np.float32)


THIRDS = Storage("thirds", bits=3, store=in_thirds)
