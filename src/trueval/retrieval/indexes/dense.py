"""Dense indexes, on FAISS: inner products of a query with every stored vector, or with those that a search visits.

    flat   every vector              storage float32, float16, bfloat16, int8 and int4 (a range per dimension), binary
                                     (signs), or one of trueval.retrieval.indexes.storages
    hnsw   a graph of neighbors      Malkov & Yashunin 2018
    ivf    the nearest of some cells Sivic & Zisserman 2003
    pq     parts of vectors by codes Jégou et al. 2011; opq rotates the vectors first, Ge et al. 2013

Embeddings of length 1 are thus compared by cosine. Binary scores are d - 2 (number of differing signs), the inner
product of the signs: whole numbers, which tie. Scores are sums in float32: their last bits depend on the kernel.
"""

from __future__ import annotations

import math
import warnings
from abc import abstractmethod
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, ClassVar, Final

import numpy as np
from numpy.typing import NDArray

from trueval.errors import InputError, PolicyError, TruevalWarning
from trueval.retrieval.indexes.hits import Hits, check_depth
from trueval.retrieval.indexes.index import LocalIndex
from trueval.retrieval.indexes.sign_index import SignIndex
from trueval.retrieval.indexes.storages import (
    ACCEPTS,
    BINARY,
    HIGH,
    QUANTIZERS,
    check_storage,
    storages,
    store_vectors,
)
from trueval.specs import Parameter, Value, choice, whole
from trueval.standings.groups import starts_of

FILE: Final = "vectors.faiss"
# Training points per centroid below which FAISS warns.
POINTS_PER_CENTROID: Final = 39
# Documents fetched below the depth, and maximum hits in memory, while following a tie group.
BELOW: Final = 8
FOLLOWED: Final = 1 << 22


def _keep_queries(faiss: Any) -> None:
    """Have FAISS multiply stored vectors with queries as they are, on every processor.

    On processors with products of bfloat16 (AVX-512 BF16) FAISS otherwise rounds queries to bfloat16 where the stored
    vectors are: scores would differ from those of other processors by hundreds of their last bits.
    """
    simd = faiss.SIMDConfig
    if simd.get_level() == faiss.SIMDLevel_AVX512_SPR:
        simd.set_level(faiss.SIMDLevel_AVX512_VPOPCNT)


class Dense(LocalIndex):
    """Vectors in FAISS; each subclass builds one kind of FAISS index."""

    takes = "vectors"
    exact = False
    package: ClassVar = "faiss"
    distributions: ClassVar = ("faiss-cpu",)

    def __init__(self, chosen: Mapping[str, Value]) -> None:
        super().__init__(chosen)
        _keep_queries(self.library)
        self.faiss: Any = None

    @property
    def follows(self) -> bool:
        """Whether tie groups are followed below the depth: where FAISS keeps any of them and a deeper search agrees."""
        return True

    @property
    def dimension(self) -> int | None:
        """Dimension of its vectors; None before the index is built."""
        return None if self.faiss is None else int(self.faiss.d)

    def number(self, name: str) -> int:
        """The value of an integer parameter."""
        return int(self.values[name])  # type: ignore[arg-type]  # checked by the parameter

    def fill(self, documents: NDArray[Any]) -> None:
        """Train and fill the index.

        Raises:
            InputError: vectors that are not [document, dimension], or not finite, or too few to train with.
        """
        vectors = finite_vectors(documents, "documents")
        self.notes = ()
        index = self.create(vectors.shape[1], len(vectors))
        if not index.is_trained:
            index.train(vectors)
        index.add(vectors)
        self.faiss = index

    def check(self, dimension: int, documents: int) -> None:
        """Refuse input from which FAISS cannot make an empty index; as in LocalIndex."""
        try:
            self.create(dimension, documents)
        except RuntimeError as error:
            reason = str(error).splitlines()[-1]
            raise InputError(f"{self.spec} cannot be built of vectors of {dimension} numbers: {reason}") from error
        self.notes = ()

    @abstractmethod
    def create(self, dimension: int, documents: int) -> Any:
        """Make the empty FAISS index."""

    def search(self, queries: NDArray[Any], depth: int) -> Hits:
        """Find up to `depth` documents for each query.

        Raises:
            InputError: the vectors are not finite, or of another dimension.
        """
        check_depth(depth)
        vectors = finite_vectors(queries, "queries", self.dimension)
        return _hits(*self._first(vectors, min(depth, self.documents)))

    def library_call(self, queries: NDArray[Any], depth: int) -> Callable[[], object]:
        """A call of FAISS's search alone; as in LocalIndex.

        Raises:
            InputError: as in search.
        """
        check_depth(depth)
        vectors, most = finite_vectors(queries, "queries", self.dimension), min(depth, self.documents)
        self.tune(most)
        return lambda: self.faiss.search(vectors, most)

    def _first(self, vectors: NDArray[np.float32], depth: int) -> tuple[NDArray[Any], NDArray[np.int64]]:
        """[query, depth] scores and places, best first; of ties at the depth, the first places.

        FAISS keeps arbitrary ones, so a group at the depth is followed to its end.
        """
        if not self.follows:
            return _in_order(*self.search_faiss(vectors, depth))
        asked = min(depth + BELOW, self.documents)
        scores, places = _in_order(*self.search_faiss(vectors, asked))
        cut, kept, goes_on = scores[:, :depth], places[:, :depth], _goes_on(scores, places, depth)
        while asked < self.documents and len(goes_on):
            asked = min(4 * asked, self.documents)
            some = max(FOLLOWED // asked, 1)
            left = []
            for rows in (goes_on[start : start + some] for start in range(0, len(goes_on), some)):
                scores, places = _in_order(*self.search_faiss(vectors[rows], asked))
                cut[rows], kept[rows] = scores[:, :depth], places[:, :depth]
                left.append(rows[_goes_on(scores, places, depth)])
            goes_on = np.concatenate(left)
        return cut, kept

    def search_faiss(self, vectors: NDArray[np.float32], depth: int) -> tuple[NDArray[Any], NDArray[np.int64]]:
        """[query, depth] scores and places as returned by FAISS; a place of -1 is empty."""
        self.tune(depth)
        scores, places = self.faiss.search(vectors, depth)
        return scores, places

    def tune(self, depth: int) -> None:
        """Set the search parameters that FAISS stores in the index."""

    def decode(self) -> NDArray[np.float32]:
        """[document, dimension] the vectors that its codes stand for, whose products with queries are its scores.

        Raises:
            PolicyError: a search does not compare every vector.
        """
        raise PolicyError(f"{self.spec} visits some of its vectors. To look at codes alone, take flat, pq or opq.")

    def encode_queries(self, queries: NDArray[Any]) -> NDArray[np.float32]:
        """[query, dimension] what the vectors of `decode` are multiplied with."""
        return finite_vectors(queries, "queries", self.dimension)

    def size(self) -> int:
        """Size of the serialized index in bytes, which equals its size in memory."""
        return self.serialized_size(self.faiss)

    def serialized_size(self, index: object) -> int:
        """Size of an index when serialized, without storing it."""
        counter = _Counter(self.library)
        self.library.write_index(index, counter.writer)
        return counter.bytes

    def write(self, folder: Path) -> None:
        """Write FAISS's own file."""
        self.library.write_index(self.faiss, str(folder / FILE))

    def read(self, folder: Path) -> None:
        """Read FAISS's own file."""
        self.take(self.library.read_index(str(folder / FILE)))

    def take(self, index: object) -> None:
        """Use a loaded FAISS index."""
        self.faiss = index


class Flat(Dense):
    """Every vector, scored one by one: exact up to the storage format."""

    name: ClassVar = "flat"
    exact = True
    parameters: ClassVar = {
        "storage": Parameter(HIGH, ACCEPTS, check_storage, "format that vectors are kept in"),
    }

    @property
    def storage(self) -> str:
        """What its vectors are kept in."""
        return str(self.values["storage"])

    def fill(self, documents: NDArray[Any]) -> None:
        """Fill the index with what its storage keeps; as in Dense.

        Raises:
            InputError: as in Dense, or a number overflows a format.
        """
        if self.storage in storages():
            documents = store_vectors(self.storage, finite_vectors(documents, "documents"))
        super().fill(documents)

    @property
    def follows(self) -> bool:
        """Yes, except for binary storage: of equal Hamming distances, FAISS keeps the first."""
        return not isinstance(self.faiss, SignIndex)

    def create(self, dimension: int, documents: int) -> Any:
        """A flat index, or one of signs."""
        if self.storage == BINARY:
            return SignIndex(self.library, dimension)
        return self.create_flat(dimension)

    def create_flat(self, dimension: int) -> Any:
        """A flat index with a storage format that FAISS scores by inner products."""
        product = self.library.METRIC_INNER_PRODUCT
        if self.storage not in QUANTIZERS:
            return self.library.IndexFlatIP(dimension)
        kind = getattr(self.library.ScalarQuantizer, QUANTIZERS[self.storage])
        return self.library.IndexScalarQuantizer(dimension, kind, product)

    def decode(self) -> NDArray[np.float32]:
        """The vectors as stored; signs are -1 and 1."""
        if isinstance(self.faiss, SignIndex):
            return self.faiss.decode()
        found: NDArray[np.float32] = self.faiss.reconstruct_n(0, self.documents)
        return found

    def encode_queries(self, queries: NDArray[Any]) -> NDArray[np.float32]:
        """The queries, or their signs for an index of signs."""
        given = super().encode_queries(queries)
        return np.where(given > 0, np.float32(1), np.float32(-1)) if isinstance(self.faiss, SignIndex) else given

    def size(self) -> int:
        """Size of the vectors or signs in bytes."""
        if self.storage in storages():
            return math.ceil(self.documents * int(self.faiss.d) * storages()[self.storage].bits / 8)
        return self.faiss.size() if isinstance(self.faiss, SignIndex) else super().size()

    def write(self, folder: Path) -> None:
        """Write FAISS's own file."""
        if isinstance(self.faiss, SignIndex):
            self.library.write_index_binary(self.faiss.index, str(folder / FILE))
            (folder / "dimension").write_text(str(self.faiss.d), encoding="utf-8")
        else:
            super().write(folder)

    def read(self, folder: Path) -> None:
        """Read FAISS's own file."""
        if self.storage != BINARY:
            super().read(folder)
            return
        signs = SignIndex(self.library, int((folder / "dimension").read_text(encoding="utf-8")))
        signs.index = self.library.read_index_binary(str(folder / FILE))
        self.faiss = signs


class Hnsw(Dense):
    """A graph in which a search moves from neighbor to neighbor, on increasingly fine layers."""

    name: ClassVar = "hnsw"
    parameters: ClassVar = {
        "storage": choice("float32", "int8", about="format that vectors are kept in"),
        "M": whole(32, 2, "neighbors of each vector on a layer, twice as many on the lowest"),
        "efConstruction": whole(200, 1, "candidates that are kept while the graph is built"),
        "efSearch": whole(
            128, 1, "candidates that are kept while it is searched; at least the depth is", searched=True
        ),
    }

    @property
    def follows(self) -> bool:
        """No: a search for more documents takes another path."""
        return False

    def create(self, dimension: int, documents: int) -> Any:
        """Make an empty graph."""
        product, links = self.library.METRIC_INNER_PRODUCT, self.number("M")
        if self.values["storage"] == "float32":
            index = self.library.IndexHNSWFlat(dimension, links, product)
        else:
            kind = self.library.ScalarQuantizer.QT_8bit
            index = self.library.IndexHNSWSQ(dimension, kind, links, product)
        index.hnsw.efConstruction = self.number("efConstruction")
        return index

    def tune(self, depth: int) -> None:
        """Set efSearch to at least the requested number of documents."""
        self.faiss.hnsw.efSearch = max(self.number("efSearch"), depth)


class Ivf(Dense):
    """Vectors in cells around centroids; a search visits the nearest cells."""

    name: ClassVar = "ivf"
    parameters: ClassVar = {
        "storage": choice("float32", *QUANTIZERS, about="format that vectors are kept in"),
        "nlist": whole(None, 1, "cells; four times the root of the number of documents by default"),
        "nprobe": whole(16, 1, "cells that a search visits", searched=True),
    }

    def create(self, dimension: int, documents: int) -> Any:
        """Make empty cells, to be trained."""
        product = self.library.METRIC_INNER_PRODUCT
        cells = cells_of(self.values["nlist"], documents)
        _check_points(self, cells, documents, "nlist")
        centroids, storage = self.library.IndexFlatIP(dimension), str(self.values["storage"])
        if storage == "float32":
            index = self.library.IndexIVFFlat(centroids, dimension, cells, product)
        else:
            kind = getattr(self.library.ScalarQuantizer, QUANTIZERS[storage])
            index = self.library.IndexIVFScalarQuantizer(centroids, dimension, cells, kind, product)
        index.cp.min_points_per_centroid = 1  # too few points are reported in the notes rather than on stderr
        return index

    def tune(self, depth: int) -> None:
        """Set the number of cells to visit."""
        self.faiss.nprobe = self.number("nprobe")


class Pq(Dense):
    """Vectors cut into parts, each stored as the index of the nearest of some centroids."""

    name: ClassVar = "pq"
    parameters: ClassVar = {
        "m": whole(None, 1, "parts of a vector, a divisor of its dimension; parts of 8 numbers or fewer by default"),
        "nbits": whole(8, 1, "bits of the number of each part"),
    }

    def create(self, dimension: int, documents: int) -> Any:
        """Make an empty product quantizer, to be trained."""
        return self.create_codes(dimension, self.parts(dimension), documents)

    def create_codes(self, dimension: int, parts: int, documents: int) -> Any:
        """An empty index of codes with this many parts."""
        bits = self.number("nbits")
        _check_points(self, 2**bits, documents, "nbits")
        index = self.library.IndexPQ(dimension, parts, bits, self.library.METRIC_INNER_PRODUCT)
        index.do_polysemous_training = False  # only needed for search by Hamming distance, and takes 14 times as long
        index.pq.cp.min_points_per_centroid = 1
        return index

    def decode(self) -> NDArray[np.float32]:
        """The centroids of each document's parts."""
        found: NDArray[np.float32] = self.faiss.reconstruct_n(0, self.documents)
        return found

    def parts(self, dimension: int) -> int:
        """Number of parts of a vector.

        Raises:
            InputError: the dimension cannot be cut so.
        """
        parts = parts_of(self.values["m"], dimension)
        if dimension % parts:
            divisors = ", ".join(str(m) for m in range(1, dimension + 1) if dimension % m == 0)
            raise InputError(
                f"m of {self.name} must divide the dimension {dimension}. Got {parts}; choose of {divisors}."
            )
        return parts


class Opq(Pq):
    """Product codes of vectors that are rotated to minimize the quantization error."""

    name: ClassVar = "opq"

    def create(self, dimension: int, documents: int) -> Any:
        """Make an empty rotation with product codes."""
        parts = self.parts(dimension)
        turn = self.library.OPQMatrix(dimension, parts)
        codes = self.create_codes(dimension, parts, documents)
        # The rotation's own product quantizer is silenced in the same way.
        self.trainer = self.library.ProductQuantizer(dimension, parts, self.number("nbits"))
        self.trainer.cp.min_points_per_centroid = 1
        turn.pq = self.trainer  # FAISS keeps a pointer to it, so a reference is held here
        return self.library.IndexPreTransform(turn, codes)


class _Counter:
    """A writer that counts the bytes that FAISS writes."""

    def __init__(self, library: Any) -> None:
        self.bytes = 0
        self.writer = library.PyCallbackIOWriter(self._take)

    def _take(self, part: bytes) -> None:
        self.bytes += len(part)


def cells_of(chosen: Value, documents: int) -> int:
    """Number of cells for this many documents: as chosen, else four times the square root.

    >>> cells_of(None, 10_000), cells_of(64, 10_000)
    (400, 64)
    """
    return chosen if isinstance(chosen, int) else max(1, round(4 * documents**0.5))


def parts_of(chosen: Value, dimension: int) -> int:
    """Number of parts of a coded vector: as chosen, else the fewest equal parts of at most 8 numbers.

    >>> parts_of(None, 384), parts_of(None, 100), parts_of(96, 384)
    (48, 20, 96)
    """
    fewest = next(m for m in range(-(-dimension // 8), dimension + 1) if dimension % m == 0)
    return chosen if isinstance(chosen, int) else fewest


def finite_vectors(given: NDArray[np.generic], what: str, dimension: int | None = None) -> NDArray[np.float32]:
    """Validate vectors and convert them to contiguous float32.

    Args:
        given: [text, dimension] vectors.
        what: "documents" or "queries", for errors.
        dimension: required dimension; None for any.

    Raises:
        InputError: they are not [any, dimension], or hold what is not finite.
    """
    vectors = np.ascontiguousarray(given, dtype=np.float32)
    if vectors.ndim != 2 or not vectors.shape[1] or dimension not in (None, vectors.shape[1]):
        wanted = "dimension" if dimension is None else dimension
        raise InputError(
            f"Vectors of {what} have shape {list(np.shape(given))}. They must be [text, {wanted}]. Embed queries and "
            "documents with one model, at one dimension."
        )
    broken = ~np.isfinite(vectors).all(axis=1)
    if broken.any():
        raise InputError(
            f"{int(broken.sum())} vectors of {what} are not finite, the first in place {int(broken.argmax())}. "
            "Embed them again, in bfloat16 or float32: float16 overflows."
        )
    if not (filled := vectors.any(axis=1)).all():
        warnings.warn(
            f"{int((~filled).sum())} vectors of {what} are all zeros, the first in place {int(filled.argmin())}: their "
            "similarity to everything is 0, so they tie. Check the texts, which may be empty.",
            TruevalWarning,
            stacklevel=2,
        )
    return vectors


def _in_order(scores: NDArray[np.generic], places: NDArray[np.int64]) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """Rows by descending score, ties by place; empty results come last."""
    order = np.lexsort((places, -scores.astype(np.float64), places < 0), axis=1)
    return np.take_along_axis(scores, order, axis=1), np.take_along_axis(places, order, axis=1)


def _goes_on(scores: NDArray[np.generic], places: NDArray[np.int64], depth: int) -> NDArray[np.int64]:
    """Rows whose last score equals that at the depth, so that more of the same may follow."""
    return np.flatnonzero((places[:, -1] >= 0) & (scores[:, -1] == scores[:, depth - 1]))


def _hits(scores: NDArray[np.generic], places: NDArray[np.int64]) -> Hits:
    """The hits without the places that FAISS leaves empty."""
    there = places >= 0
    return Hits(starts_of(there.sum(axis=1)), places[there], scores[there].astype(np.float64))


def _check_points(index: Dense, centroids: int, documents: int, name: str) -> None:
    """Refuse more centroids than documents, and note if there are few documents per centroid.

    Raises:
        InputError: there are more.
    """
    if documents < centroids:
        raise InputError(
            f"{index.spec} needs {centroids} documents to train with, one for each centroid. Got {documents}. Choose a "
            f"smaller {name}, or flat."
        )
    if documents < POINTS_PER_CENTROID * centroids:
        index.notes = (
            *index.notes,
            f"{index.spec}: {documents} documents train {centroids} centroids; FAISS advises "
            f"{POINTS_PER_CENTROID * centroids}.",
        )


KINDS: Final = {kind.name: kind for kind in (Flat, Hnsw, Ivf, Pq, Opq)}
