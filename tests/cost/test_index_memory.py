"""Formulas of memory against the files that FAISS writes, and against what P-B §5.3 says."""

from __future__ import annotations

import numpy as np
import pytest
from tests.extras import need

from trueval.cost.index_memory import (
    Memory,
    Words,
    memory_entry,
    memory_of_vectors,
    memory_of_words,
    words_of,
)
from trueval.errors import PolicyError
from trueval.retrieval.indexes.index import make_index

need("faiss", "bm25s", extra="retrieval")

GIB = 2**30
EXACT = [
    "flat",
    "flat(storage='float16')",
    "flat(storage='bfloat16')",
    "flat(storage='int8')",
    "flat(storage='binary')",
    "ivf(nlist=6)",
    "ivf(nlist=6, storage='float16')",
    "ivf(storage='int8')",
    "pq(m=4, nbits=4)",
    "pq(m=5, nbits=5)",
    "pq(nbits=6)",
]
GRAPHS = ["hnsw(M=4, efConstruction=8)", "hnsw(M=16, efConstruction=8)", "hnsw(storage='int8', M=5, efConstruction=8)"]


@pytest.fixture(autouse=True)
def _one_thread():
    """Small indexes are trained sooner by one thread than by several that wait for each other."""
    faiss = pytest.importorskip("faiss")
    before = faiss.omp_get_max_threads()
    faiss.omp_set_num_threads(1)
    yield
    faiss.omp_set_num_threads(before)


def built(spec: str, documents: int, dimension: int):
    index = make_index(spec)
    index.build(np.random.default_rng(1).standard_normal((documents, dimension)).astype(np.float32))
    return index


@pytest.mark.parametrize("dimension", [20, 40])
@pytest.mark.parametrize("spec", EXACT)
def test_formulas_are_the_bytes_of_the_file(spec: str, dimension: int) -> None:
    for documents in (100, 203):
        index = built(spec, documents, dimension)
        assert memory_of_vectors(spec, documents, dimension).total == index.describe().bytes


def test_the_rotation_of_opq_is_counted() -> None:
    index = built("opq(m=2, nbits=3)", 60, 10)
    assert memory_of_vectors(index.spec, 60, 10).total == index.describe().bytes


@pytest.mark.parametrize("spec", GRAPHS)
def test_links_of_a_graph_are_those_that_are_expected(spec: str) -> None:
    index = built(spec, 2000, 12)
    found = memory_of_vectors(spec, 2000, 12)
    links, neighbors = index.faiss.hnsw.neighbors.size(), index.number("M")
    # All but the links is exact, and those above the lowest layer are drawn: n trials of a share.
    drawn, above = 2000 * 2 * neighbors, 2000 * neighbors / (neighbors - 1)
    assert index.describe().bytes - 4 * links == pytest.approx(found.total - 4 * (drawn + above), abs=1e-6)
    deviation = neighbors * np.sqrt(2000 * neighbors) / (neighbors - 1)  # of a geometric number of layers
    assert abs(links - drawn - above) < 4 * deviation
    assert found.total == pytest.approx(index.describe().bytes, rel=0.01)


def test_the_paper_s_figures_for_1024_dimensions() -> None:
    """P-B §5.3: 4096 B a vector, 3.8 GiB a million; int8 .95; the graph .15 to .6 for M 16 to 32; and 10 million."""
    million = 1_000_000
    plain, coded = (memory_of_vectors(f"flat(storage='{form}')", million, 1024) for form in ("float32", "int8"))
    assert plain.vectors / million == 4096
    assert round(plain.vectors / GIB, 1) == 3.8
    assert round(coded.vectors / GIB, 2) == 0.95
    graphs = [memory_of_vectors(f"hnsw(M={neighbors})", million, 1024).graph / GIB for neighbors in (16, 32)]
    assert [round(each, 3) for each in graphs] == [0.134, 0.253]  # links of 32 bits
    wide = [graph + 4 * (2 * m + m / (m - 1)) * million / GIB for m, graph in zip((16, 32), graphs, strict=True)]
    assert [round(each, 3) for each in wide] == [0.258, 0.496]  # of 64 bits
    ten = [memory_of_vectors(f"hnsw(storage='{s}')", 10 * million, 1024).total / GIB for s in ("float32", "int8")]
    assert 40 <= ten[0] <= 44
    assert 10 <= ten[1] <= 15


def test_words_are_counted_and_grow_with_the_corpus() -> None:
    texts = [f"wing {number} lift" for number in range(50)]
    index = make_index("bm25(language=None)")
    index.build(texts)
    words = words_of(index)
    assert words == Words(50, 150, 52, len("winglift") + sum(len(str(number)) for number in range(50)))
    assert memory_of_words(words, 50).words == index.describe().bytes
    # Twice the documents: twice the postings, and terms by the root of two.
    rest = memory_of_words(words, 50).words - 12 * 150 - 8
    assert memory_of_words(words, 100).words == pytest.approx(12 * 300 + 8 + 2**0.5 * rest)


def test_an_entry_adds_the_indexes_of_a_system() -> None:
    dense, sparse = built("flat(storage='int8')", 40, 8), make_index("bm25")
    sparse.build(["wing lift", "heat"] * 20)
    entry = memory_entry([dense, sparse])
    parts = memory_of_vectors("flat(storage='int8')", 40, 8) + memory_of_words(words_of(sparse), 40)
    assert entry["measured"] == dense.describe().bytes + sparse.describe().bytes == parts.total
    assert [entry[name] for name in Memory._fields] == list(parts)
    assert entry["millions"]["10"] > 9.9 * entry["millions"]["1"] > 9.9 * 8_000_000
    assert memory_entry([])["measured"] == 0


def test_only_an_engine_knows_its_own_memory() -> None:
    with pytest.raises(PolicyError, match="No formula for the memory of milvus is known"):
        memory_of_vectors("milvus", 10, 8)
    with pytest.raises(PolicyError, match="Did you mean flat"):
        memory_of_vectors("flaat", 10, 8)
