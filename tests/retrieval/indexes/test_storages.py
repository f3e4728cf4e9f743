"""Storages of flat indexes that are not FAISS's: number formats, and those that packages register."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from tests.extras import need

from trueval.errors import InputError, PolicyError
from trueval.judgments import Judgments
from trueval.numerics import formats, round_to
from trueval.precision.stage_formats import StageFormats
from trueval.precision.stored_codes import measure_codes
from trueval.retrieval.indexes.index import make_index
from trueval.retrieval.indexes.storages import storage_names, storages

need("faiss", extra="retrieval")

PLUGIN = Path(__file__).parents[2] / "plugin"
RNG = np.random.default_rng(0)
DOCUMENTS, QUERIES = (RNG.normal(size=(rows, 10)).astype(np.float32) for rows in (60, 7))


@pytest.fixture(autouse=True)
def own_registry() -> Iterator[None]:
    for kept in (formats, storages):
        kept.cache_clear()
    yield
    for kept in (formats, storages):
        kept.cache_clear()


@pytest.fixture
def plugin(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(PLUGIN))


def test_vectors_are_kept_in_any_narrower_format(tmp_path: Path) -> None:
    index = make_index("flat(storage='float8_e4m3fn')")
    index.build(DOCUMENTS)
    kept = round_to(DOCUMENTS, "float8_e4m3fn").astype(np.float32)
    hits = index.search(QUERIES, 60)
    scores = np.full((7, 60), np.nan)
    scores[np.repeat(np.arange(7), 60), hits.places] = hits.scores
    assert scores == pytest.approx(QUERIES @ kept.T, rel=1e-5, abs=1e-6)
    assert index.describe().bytes == 60 * 10
    index.save(tmp_path / "index")
    again = make_index("flat(storage='float8_e4m3fn')")
    again.load(tmp_path / "index")
    assert np.array_equal(again.search(QUERIES, 5).scores, index.search(QUERIES, 5).scores)
    with pytest.raises(InputError, match=r"500.0 overflows float8_e4m3fn"):
        index.build(500 * np.ones((3, 4), np.float32))


@pytest.mark.usefixtures("plugin")
def test_a_storage_of_another_package_is_one_of_flat() -> None:
    assert storage_names()[-1] == "thirds"
    index = make_index("flat(storage='thirds')")
    index.build(DOCUMENTS)
    kept = (np.rint(3 * DOCUMENTS) / 3).astype(np.float32)
    assert np.array_equal(index.decode(), kept)
    assert index.describe().bytes == 225  # 60 documents of 10 numbers of 3 bits
    assert make_index("flat(storage='tf32')").spec == "flat(storage='tf32')"


@pytest.mark.usefixtures("plugin")
def test_codes_and_pipelines_take_it() -> None:
    """Documents of equal thirds tie, and the audit of a pipeline may have its vectors in them."""
    names = [f"d{at}" for at in range(60)], [f"q{at}" for at in range(7)]
    judgments = Judgments.from_dict({query: {"d3": 1} for query in names[1]})
    small = np.concatenate([DOCUMENTS, DOCUMENTS[:5] + np.float32(1e-3)])
    found = measure_codes(
        QUERIES, small, names[1], [*names[0], *(f"e{at}" for at in range(5))], judgments, ["flat(storage='thirds')"]
    )
    exact, thirds = found.storages
    kept = np.rint(3 * small)
    twice = len(kept) - len(np.unique(kept, axis=0))
    assert twice >= 4
    assert (exact.tied, round(thirds.tied * 65)) == (
        0,
        len(kept) - (np.unique(kept, axis=0, return_counts=True)[1] == 1).sum(),
    )
    assert StageFormats.of(vectors=["thirds", "tf32"]).vectors == ["thirds", "tf32"]


def test_without_its_package_it_is_refused_by_name() -> None:
    with pytest.raises(PolicyError, match=r"storage of flat must be 'float32' or .* Got 'thirds'"):
        make_index("flat(storage='thirds')")
    with pytest.raises(PolicyError, match=r"one of float32, float16, .*, opq\. Got 'thirds'"):
        StageFormats.of(vectors=["thirds"])


@pytest.mark.parametrize("made", ["vectors[:, :2]", "vectors.astype(int)"])
def test_a_storage_that_returns_no_such_vectors_is_refused(
    made: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    info = tmp_path / "other_plugin-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: other-plugin\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[trueval.storages]\nshort = short_storage:SHORT\n")
    (tmp_path / "short_storage.py").write_text(
        f"from trueval.retrieval.indexes.storages import Storage\nSHORT = Storage('short', 4, lambda vectors: {made})\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(__import__("sys").modules, "short_storage", raising=False)
    with pytest.raises(PolicyError, match=r"The storage short must return vectors of shape \[60, 10\] in float32"):
        make_index("flat(storage='short')").build(DOCUMENTS)
