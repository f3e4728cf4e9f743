"""Outputs by item: what a model has seen is never shown to it again, whatever else is asked."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.extras import need

from trueval.collection import Candidates, Collection
from trueval.errors import TruevalWarning
from trueval.models.output_part import OutputPart
from trueval.models.output_reuse import find_missing_items, reuse_outputs, reuse_part
from trueval.models.outputs import model_outputs, parts_of, settings_of
from trueval.retrieval.tiles.mapped_rows import MappedRows

need("safetensors", extra="models")


class Reranker:
    """Scores a pair by the lengths of its texts; a text with ! stops it."""

    batch_size, dtype, scoring, name = 2, "bfloat16", "sigmoid", "lengths"

    def __init__(self) -> None:
        self.seen: list[Any] = []

    def settings(self) -> dict[str, Any]:
        return {"model": "lengths", "path": "nowhere", "dtype": self.dtype}

    def pair_logits(self, pairs: Any, names: Any) -> Any:
        from trueval.numerics import storage_dtype

        self.seen += pairs
        if any("!" in text for _, text in pairs):
            raise KeyboardInterrupt
        return np.array([[len(one) - len(other) / 8] for one, other in pairs], dtype=storage_dtype(self.dtype))


COLLECTION = Collection(
    "c", "c", {f"d{place}": "x" * (place + 1) for place in range(9)}, {"q": "abc", "r": "a", "s": "abc"}
)


def candidates(**lists: list[int]) -> Candidates:
    return Candidates(
        "made", tuple(lists), tuple(COLLECTION.documents), tuple(np.array(each) for each in lists.values())
    )


def test_only_pairs_that_are_new_go_through(tmp_path: Path):
    model = Reranker()
    first = reuse_outputs(model, COLLECTION, candidates(q=[0, 1, 2], r=[1]), folder=tmp_path)
    assert len(model.seen) == 4
    model.seen.clear()
    asked = candidates(r=[1, 4], q=[2, 5, 0], s=[5, 0])
    second = reuse_outputs(model, COLLECTION, asked, folder=tmp_path)
    assert sorted(model.seen) == [("a", "xxxxx"), ("abc", "xxxxxx")]  # the text of s is that of q
    plain = model_outputs(Reranker(), COLLECTION, asked)
    assert second.arrays["pairs"].tolist() == plain.arrays["pairs"].tolist()
    assert first.arrays["pairs"].shape == (4, 1)
    assert MappedRows.of(first.arrays["pairs"]) is not None  # all were new: they are not read into memory
    model.seen.clear()
    told: list[tuple[str, int, int]] = []
    again = reuse_outputs(model, COLLECTION, asked, folder=tmp_path, step=lambda *step: told.append(step))
    assert not model.seen
    assert told == [("pairs", 7, 7)]
    assert again.arrays["pairs"].tolist() == plain.arrays["pairs"].tolist()


def test_another_model_and_other_settings_know_nothing_of_each_other(tmp_path: Path):
    one, other = Reranker(), Reranker()
    other.dtype = "float32"
    asked = candidates(q=[0, 1])
    for model in (one, other):
        assert len(find_missing_items(settings_of(model), pairs_of(asked), tmp_path)) == 2
        reuse_outputs(model, COLLECTION, asked, folder=tmp_path)
        assert len(model.seen) == 2
    assert len(find_missing_items(settings_of(one), pairs_of(candidates(q=[1, 2], s=[2])), tmp_path)) == 1


def pairs_of(asked: Candidates) -> OutputPart:
    return parts_of(Reranker(), COLLECTION, asked)[0]


def test_an_interrupted_pass_goes_on_where_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("trueval.models.output_part.BATCHES", 1)  # of two pairs; that of d1 and d0 is the last
    spoilt = Collection("c", "c", {**COLLECTION.documents, "d1": "x!"}, COLLECTION.queries)
    model, asked = Reranker(), candidates(q=list(range(9)))
    reuse_outputs(model, spoilt, candidates(q=[8]), folder=tmp_path)
    with pytest.raises(KeyboardInterrupt):
        reuse_outputs(model, spoilt, asked, folder=tmp_path)
    assert len(model.seen) == 1 + 8
    model.seen.clear()
    monkeypatch.setattr(Reranker, "pair_logits", lambda self, pairs, names: kept(self, pairs))
    found = reuse_outputs(model, spoilt, asked, folder=tmp_path)
    assert model.seen == [("abc", "x!"), ("abc", "x")]
    assert len(found.arrays["pairs"]) == 9


def test_a_stopped_pass_serves_one_that_asks_for_others_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("trueval.models.output_part.BATCHES", 1)
    spoilt = Collection("c", "c", {**COLLECTION.documents, "d1": "x!"}, COLLECTION.queries)
    model = Reranker()
    with pytest.raises(KeyboardInterrupt):
        reuse_outputs(model, spoilt, candidates(q=list(range(9))), folder=tmp_path)
    before = set(model.seen[:-2])  # the last two were under way
    assert len(before) == 7
    model.seen.clear()
    asked = candidates(q=[0, *range(2, 9)], r=[5])
    assert len(find_missing_items(settings_of(model), parts_of(model, spoilt, asked)[0], tmp_path)) == 2
    found = reuse_outputs(model, spoilt, asked, folder=tmp_path)
    assert not before & set(model.seen)
    assert len(model.seen) == 2
    assert found.arrays["pairs"].tolist() == model_outputs(Reranker(), spoilt, asked).arrays["pairs"].tolist()
    model.seen.clear()
    again = reuse_outputs(model, spoilt, asked, folder=tmp_path)
    assert not model.seen
    assert again.arrays["pairs"].tolist() == found.arrays["pairs"].tolist()


def kept(model: Reranker, pairs: Any) -> Any:
    from trueval.numerics import storage_dtype

    model.seen += pairs
    return np.zeros((len(pairs), 1), dtype=storage_dtype(model.dtype))


def test_without_a_store_everything_goes_through(tmp_path: Path):
    model = Reranker()
    for _ in range(2):
        reuse_outputs(model, COLLECTION, candidates(q=[0, 1]))
    assert len(model.seen) == 4


def test_what_cannot_be_read_is_computed_again(tmp_path: Path):
    model, asked = Reranker(), candidates(q=[0, 1])
    reuse_outputs(model, COLLECTION, asked, folder=tmp_path)
    (keys,) = tmp_path.glob("*/keys.npy")
    keys.write_bytes(b"nothing")
    model.seen.clear()
    with pytest.warns(TruevalWarning, match="keys.npy is not what was written"):
        found = reuse_outputs(model, COLLECTION, candidates(q=[0, 1, 2]), folder=tmp_path)
    assert len(model.seen) == 3
    assert found.arrays["pairs"].shape == (3, 1)


class LateInteraction:
    """A vector for each word of a text."""

    batch_size, dtype, scoring, name = 2, "float32", "maxsim", "words"

    def __init__(self) -> None:
        self.seen: list[str] = []

    def settings(self) -> dict[str, Any]:
        return {"model": "words", "path": "nowhere", "dtype": self.dtype}

    def embed(self, texts: Any, names: Any) -> Any:
        self.seen += texts
        return [np.array([[len(word), 1] for word in text.split()], dtype=np.float32) for text in texts]


def test_vectors_of_every_token_are_taken_by_text_too(tmp_path: Path):
    model = LateInteraction()
    settings = settings_of(model)

    def part(*texts: str) -> OutputPart:
        return OutputPart("documents", texts, texts, model.embed, len)

    first = part("a bb", "ccc", "d ee fff")
    reuse_part(model, first, settings, tmp_path)
    model.seen.clear()
    found = reuse_part(model, part("d ee fff", "new one", "ccc", "new one"), settings, tmp_path)
    assert model.seen == ["new one"]
    assert [row[:, 0].tolist() for row in found.rows] == [[1, 2, 3], [3, 3], [3], [3, 3]]
