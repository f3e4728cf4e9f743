"""Exhaustive standings by shards: the same counts wherever the tiles are counted."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from trueval.errors import InputError
from trueval.evaluation.scores import Scores
from trueval.retrieval import exhaustive
from trueval.retrieval.exhaustive import Embeddings, evaluate_corpus
from trueval.threads import Processes

QUERIES, DOCUMENTS, DIMENSION = 40, 900, 8
QUERY_IDS = [f"q{i}" for i in range(QUERIES)]
DOC_IDS = [f"d{i * 7919 % DOCUMENTS}" for i in range(DOCUMENTS)]


def sent_back(value: object) -> Any:
    """A value from the store of a cluster, which shares its arrays with others: they are read-only."""
    buffers = list[pickle.PickleBuffer]()
    data = pickle.dumps(value, protocol=5, buffer_callback=buffers.append)
    return pickle.loads(data, buffers=[bytes(each.raw()) for each in buffers])


class Elsewhere:
    """Another machine: what it gets and gives is sent; the last shard comes first."""

    def __init__(self) -> None:
        self.sizes = list[int]()

    def map(self, work: Callable[[Any], Any], items: Iterable[Any], /) -> Iterator[Any]:
        sent = [pickle.dumps(item) for item in items]
        self.sizes += map(len, sent)
        yield from [sent_back(work(sent_back(pickle.loads(each)))) for each in sent[::-1]][::-1]


@pytest.fixture
def vectors(monkeypatch: pytest.MonkeyPatch) -> tuple[Any, Any]:
    """Small integers, so that many scores tie."""
    monkeypatch.setattr(exhaustive, "TILES", 3)
    rng = np.random.default_rng(4)
    queries, documents = (rng.integers(-3, 4, (count, DIMENSION)).astype(np.float32) for count in (QUERIES, DOCUMENTS))
    return queries, documents


def judgments(documents: int = DOCUMENTS) -> dict[str, dict[str, int]]:
    rng = np.random.default_rng(5)
    return {query: {DOC_IDS[at]: int(at) % 3 for at in rng.choice(documents, 12, False)} for query in QUERY_IDS}


def source(queries: object, documents: object, **choices: Any) -> Embeddings:
    given = {"height": 16, "width": 64, "in_order": True, "format": "bfloat16", **choices}
    return Embeddings(queries, documents, QUERY_IDS, DOC_IDS, **given)


def values(scores: Scores) -> list[bytes]:
    return [getattr(scores, name).tobytes() for name in ("expected", "lowest", "highest", "tie_broken", "sd")]


@pytest.mark.parametrize("order", ["docid-desc", "docid-asc", "random", "input"])
def test_counts_do_not_depend_on_who_counts(vectors: tuple[Any, Any], order: str) -> None:
    found, executor = source(*vectors), Elsewhere()
    here = evaluate_corpus(found, judgments(), "nDCG@10 AP RR R@100", tie_order=order)
    there = evaluate_corpus(found, judgments(), "nDCG@10 AP RR R@100", tie_order=order, executor=executor)
    assert values(there) == values(here)
    assert len(executor.sizes) == 12, "three blocks of queries, four shards each"
    with np.errstate(invalid="ignore"):
        assert (here.highest > here.lowest).any(), "nothing ties"


def test_token_vectors_are_counted_elsewhere_too(vectors: tuple[Any, Any]) -> None:
    queries, documents = ([rows[at : at + 1 + at % 3] for at in range(len(rows))] for rows in vectors)
    found, executor = source(queries, documents, scoring="maxsim"), Elsewhere()
    here = evaluate_corpus(found, judgments(), "nDCG@10 AP")
    assert values(evaluate_corpus(found, judgments(), "nDCG@10 AP", executor=executor)) == values(here)
    assert executor.sizes


def test_of_a_memory_map_the_file_is_sent(vectors: tuple[Any, Any], tmp_path: Path) -> None:
    queries, documents = vectors
    file = tmp_path / "documents.npy"
    np.save(file, np.concatenate([documents[:5], documents]))  # the rows begin after others
    mapped = np.load(file, mmap_mode="r")[5:]
    here = evaluate_corpus(source(queries, documents), judgments(), "AP")
    memory, maps = Elsewhere(), Elsewhere()
    for rows, executor in ((documents, memory), (mapped, maps)):
        assert values(evaluate_corpus(source(queries, rows), judgments(), "AP", executor=executor)) == values(here)
    rows = 3 * 64 * DIMENSION * 4
    assert max(maps.sizes) < max(memory.sizes) - rows / 2

    class Moved(Elsewhere):
        """A machine where the file is another one."""

        def map(self, work: Callable[[Any], Any], items: Iterable[Any], /) -> Iterator[Any]:
            items = list(items)
            np.save(file, documents[:7])
            yield from super().map(work, items)

    with pytest.raises(InputError, match=r"documents\.npy: not the file on .* all machines share"):
        evaluate_corpus(source(queries, mapped), judgments(), "AP", executor=Moved())


def test_a_shard_that_memory_runs_out_for_is_named(vectors: tuple[Any, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise MemoryError

    found, executor = source(*vectors), Elsewhere()
    monkeypatch.setattr(exhaustive.ArrayProducts, "scratch", fail)
    with pytest.raises(InputError, match=r"corpus, shard \d of 4, on .*: memory ran out\. Take fewer workers, .*again"):
        evaluate_corpus(found, judgments(), "AP", executor=executor)


def test_a_shard_says_what_it_needs(vectors: tuple[Any, Any]) -> None:
    seen = list[Any]()

    class Look(Elsewhere):
        def map(self, work: Callable[[Any], Any], items: Iterable[Any], /) -> Iterator[Any]:
            seen.extend(items)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        evaluate_corpus(source(*vectors, storage="float16"), judgments(), "AP", executor=Look())
    needs, documents, columns = seen[0].needs, len(seen[0].source.documents), seen[0].tiles[1]
    assert (needs.cpus, needs.gpus, columns) == (1, 0, 96)
    tile = columns * DIMENSION * (4 + 8) + 32 * (columns + DIMENSION) * 4  # 16 queries, padded to 32
    assert needs.memory == exhaustive.LIBRARIES + documents * DIMENSION * 4 + tile


def test_a_score_that_overflows_is_named_from_elsewhere(vectors: tuple[Any, Any]) -> None:
    queries, documents = vectors
    documents[600] = 3e38
    with pytest.raises(InputError, match=f"the score of document '{DOC_IDS[600]}' for query") as there:
        evaluate_corpus(source(queries, documents), judgments(600), "AP", executor=Elsewhere())
    with pytest.raises(InputError) as here:
        evaluate_corpus(source(queries, documents), judgments(600), "AP")
    assert str(there.value) == str(here.value)


@pytest.mark.slow
def test_processes_count_the_same(vectors: tuple[Any, Any]) -> None:
    found = source(*vectors)
    here = evaluate_corpus(found, judgments(), "nDCG@10 AP")
    with Processes(2) as executor:
        there = evaluate_corpus(replace(found, executor=executor), judgments(), "nDCG@10 AP")
    assert values(there) == values(here)
