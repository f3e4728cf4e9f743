"""Index memory: bytes by formula for any number of documents, and as measured on the built index.

The formulas give the size of the file that FAISS writes, which an index reports as its size (Description.bytes):

    vectors   N codes: 4 d bytes in float32, 2 d in float16 and bfloat16, d in int8, d / 8 of signs, m nbits / 8 of pq
    graph     N (4 for the level + 8 for the offset of its links + 4 for each of 2 M + M / (M - 1) links)
    tables    centroids, codebooks, rotations, ranges, ids of cells, and a hundred bytes of headers
    words     12 bytes a posting, 8 and its letters a term

A graph has 2 M links of each vector on the lowest layer and M on each above. Layer l holds a share M^-l of the vectors
(Malkov & Yashunin 2018), so that M / (M - 1) links of layers above are expected. P-B §5.3 has rules of thumb.
Embeddings for exact rescoring ([index] scoring) are on disk, and not counted.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, NamedTuple

from trueval.errors import PolicyError
from trueval.retrieval.indexes.dense import KINDS, Dense, cells_of, parts_of
from trueval.retrieval.indexes.index import HOMES, LocalIndex, read_spec
from trueval.retrieval.indexes.sparse import POSTINGS, Bm25
from trueval.specs import Value

MILLIONS: Final = (1, 10)  # corpus sizes, in millions of documents, for which memory is estimated
BYTES: Final = {"float32": 4, "float16": 2, "bfloat16": 2, "int8": 1}  # per number
FLOAT: Final = 4
LINK: Final = 4  # links are int32, even if ids have 64 bits
LEVEL, OFFSET = 4, 8
ID: Final = 8  # document id in a cell
POSTING: Final = 12
TERM: Final = 8
# Header sizes of FAISS files, measured on small indexes; tests check them.
FLAT_HEAD, QUANTIZED_HEAD, CELLS_HEAD, CODES_HEAD, ROTATION_HEAD = 45, 81, 139, 86, 71
GRAPH_HEAD, OF_A_LEVEL = 109, 12
IN_CELLS: Final = 45 - QUANTIZED_HEAD  # the quantizer of cells has a shorter header
LEAST_SHARE: Final = 1e-9  # share of vectors on a layer below which FAISS allocates none
HEAPS: Final = 0.5  # the vocabulary grows with the root of the corpus: Manning et al. 2008, §5.1.1


class Memory(NamedTuple):
    """Bytes of the search structures of a system, without the engines.

    Attributes:
        vectors: codes of the vectors.
        graph: links between them.
        tables: codebooks, ids of cells, headers.
        words: postings and vocabulary.
    """

    vectors: float = 0.0
    graph: float = 0.0
    tables: float = 0.0
    words: float = 0.0

    @property
    def total(self) -> float:
        """Total bytes."""
        return math.fsum(self)

    def __add__(self, other: tuple[Any, ...]) -> Memory:  # that of tuples concatenates
        """The sum for two indexes, part by part."""
        return Memory(*(a + b for a, b in zip(self, other, strict=True)))


class Words(NamedTuple):
    """Term statistics of a corpus.

    Attributes:
        documents: number of documents.
        postings: number of pairs of a document and a term in it.
        terms: number of distinct terms.
        letters: bytes of all terms.
    """

    documents: int
    postings: int
    terms: int
    letters: int


def words_of(index: Bm25) -> Words:
    """The term statistics of the corpus of a built index."""
    scores = index.scorer.scores
    letters = sum(len(term.encode()) for term in index.analyzer.vocabulary)
    return Words(index.documents, len(scores[POSTINGS[1]]), len(scores[POSTINGS[2]]) - 1, letters)


def memory_of_vectors(spec: str, documents: int, dimension: int) -> Memory:
    """Bytes of a vector index by formula.

    Exact, except for the upper layers of a graph, which are random: their expectation.

    Args:
        spec: as in make_index.
        documents: number of documents.
        dimension: dimension of the vectors.

    Raises:
        PolicyError: the index does not exist, or is that of an engine, which alone knows its size.

    >>> memory_of_vectors("flat", 1_000_000, 1024).vectors / 2**30  # GiB
    3.814697265625
    """
    name = spec.strip().partition("(")[0]
    kind, chosen = read_spec(spec)
    if not issubclass(kind, Dense):
        known = ", ".join(each for each in HOMES if each in KINDS)
        raise PolicyError(
            f"No formula for the memory of {name} is known. There is one for {known}. Ask the engine itself."
        )
    values = {name: chosen.get(name, one.default) for name, one in kind.parameters.items()}
    return FORMULAS[kind.name](values, documents, dimension)


def memory_of_words(words: Words, documents: int) -> Memory:
    """Bytes of a sparse index for a corpus of another size and the same density.

    Postings grow linearly with the documents; the vocabulary with their square root, by Heaps' law with exponent 1/2.

    Args:
        words: statistics of the known corpus.
        documents: number of documents of the other corpus.

    >>> memory_of_words(Words(documents=100, postings=1000, terms=50, letters=250), 400).words
    49308.0
    """
    share = documents / words.documents
    terms = share**HEAPS
    pointers = TERM * (words.terms * terms + 1)
    return Memory(words=POSTING * words.postings * share + pointers + words.letters * terms)


def memory_entry(indexes: Sequence[LocalIndex], *, millions: Sequence[int] = MILLIONS) -> dict[str, object]:
    """The memory entry of a system in sweep.json.

    Args:
        indexes: built indexes of the system.
        millions: corpus sizes, in millions of documents, for which memory is estimated.

    Returns:
        "vectors", "graph", "tables", "words" by formula for this corpus, "measured" bytes of the indexes, and
        "millions" → total by formula. With an index in an engine, all but "measured" are None.
    """
    formulas = [_formula(index) for index in indexes]
    measured = sum(index.describe().bytes for index in indexes)
    if any(each is None for each in formulas):
        return {**dict.fromkeys(Memory._fields), "measured": measured, "millions": None}

    def at(documents: int) -> Memory:
        return sum((each(documents) for each in formulas if each is not None), Memory())

    here = at(indexes[0].documents) if indexes else Memory()
    return {
        **here._asdict(),
        "measured": measured,
        "millions": {str(number): at(number * 1_000_000).total for number in millions},
    }


def _formula(index: LocalIndex) -> Callable[[int], Memory] | None:
    """Function from number of documents to bytes of an index; None for an engine."""
    if isinstance(index, Bm25):
        words = words_of(index)
        return lambda documents: memory_of_words(words, documents)
    if isinstance(index, Dense) and index.dimension is not None:
        dimension = index.dimension
        return lambda documents: memory_of_vectors(index.spec, documents, dimension)
    return None


def _flat(values: Mapping[str, Value], documents: int, dimension: int) -> Memory:
    storage = str(values["storage"])
    if storage == "binary":
        return Memory(vectors=documents * -(-dimension // 8))
    return Memory(vectors=documents * dimension * BYTES[storage], tables=_storage_tables(storage, dimension))


def _storage_tables(storage: str, dimension: int) -> int:
    """Headers of codes; for int8 also minimum and range of each dimension."""
    if storage == "float32":
        return FLAT_HEAD
    return QUANTIZED_HEAD + (2 * FLOAT * dimension if storage == "int8" else 0)


def _hnsw(values: Mapping[str, Value], documents: int, dimension: int) -> Memory:
    neighbors = int(values["M"])  # type: ignore[arg-type]  # checked by the parameter
    links = 2 * neighbors + neighbors / (neighbors - 1)
    head = GRAPH_HEAD + OF_A_LEVEL * _levels(neighbors)
    codes = _flat(values, documents, dimension)
    return codes._replace(graph=documents * (LEVEL + OFFSET + LINK * links), tables=codes.tables + head)


def _levels(neighbors: int) -> int:
    """HNSW layers that FAISS allocates: those with a non-negligible share of vectors."""
    level = 0
    while neighbors**-level * (1 - 1 / neighbors) >= LEAST_SHARE:
        level += 1
    return level


def _ivf(values: Mapping[str, Value], documents: int, dimension: int) -> Memory:
    cells = cells_of(values["nlist"], documents)
    codes = _flat(values, documents, dimension)
    ranges = 0 if values["storage"] == "float32" else codes.tables + IN_CELLS
    tables = CELLS_HEAD + cells * (FLOAT * dimension + OFFSET) + documents * ID + ranges
    return codes._replace(tables=tables)


def _pq(values: Mapping[str, Value], documents: int, dimension: int) -> Memory:
    parts, bits = parts_of(values["m"], dimension), int(values["nbits"])  # type: ignore[arg-type]  # checked
    return Memory(vectors=documents * -(-parts * bits // 8), tables=CODES_HEAD + FLOAT * dimension * 2**bits)


def _opq(values: Mapping[str, Value], documents: int, dimension: int) -> Memory:
    codes = _pq(values, documents, dimension)
    return codes._replace(tables=codes.tables + ROTATION_HEAD + FLOAT * dimension**2)


FORMULAS: Final[Mapping[str, Callable[[Mapping[str, Value], int, int], Memory]]] = {
    "flat": _flat,
    "hnsw": _hnsw,
    "ivf": _ivf,
    "pq": _pq,
    "opq": _opq,
}
