"""A flat index of the signs of vectors, on FAISS's binary index."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


class SignIndex:
    """A flat index of the signs of vectors, scored by the inner product of the signs."""

    def __init__(self, library: Any, dimension: int) -> None:
        self.d, self.is_trained, self.library = dimension, True, library
        self.index = library.IndexBinaryFlat(-(-dimension // 8) * 8)  # whole bytes; the padding is 0 on both sides

    def add(self, vectors: NDArray[np.float32]) -> None:
        """Add the signs of vectors."""
        self.index.add(np.packbits(vectors > 0, axis=1))

    def search(self, vectors: NDArray[np.float32], depth: int) -> tuple[NDArray[Any], NDArray[np.int64]]:
        """[query, depth] scores, d - 2 (number of differing signs), and places."""
        distances, places = self.index.search(np.packbits(vectors > 0, axis=1), depth)
        return self.d - 2 * distances, places

    def decode(self) -> NDArray[np.float32]:
        """[document, dimension] signs, -1 and 1."""
        stored = self.library.vector_to_array(self.index.xb).reshape(self.index.ntotal, self.index.code_size)
        bits = np.unpackbits(stored, axis=1, count=self.d)
        return np.where(bits == 1, np.float32(1), np.float32(-1))

    def size(self) -> int:
        """Size of the signs in bytes."""
        return int(self.index.ntotal * self.index.code_size)
