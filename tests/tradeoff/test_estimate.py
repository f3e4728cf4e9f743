"""Estimates: what is said before is what is then done, and saying it does nothing."""

import json
from pathlib import Path
from typing import Any

import pytest
from tests.models.hosted.loopback import serving
from tests.tradeoff import made
from tests.tradeoff.made import SMALL

from trueval.tradeoff.estimate import estimate
from trueval.tradeoff.sweep import sweep

pytest.importorskip("faiss", reason='needs the extra "retrieval"')
pytest.importorskip("bm25s", reason='needs the extra "retrieval"')
pytest.importorskip("safetensors", reason='needs the extra "models"')


@pytest.fixture
def seen(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    found: list[Any] = []
    made.use(monkeypatch, found)
    return found


def second_each(model: Any, part: Any, places: Any) -> float:
    """A second for each text, two for each pair."""
    return len(places) * (1.0 if model.name == "counts" else 2.0)


def test_what_is_said_is_what_is_done(tmp_path: Path, seen: list[Any]):
    file, out = made.written(tmp_path, SMALL), tmp_path / "out"
    said = estimate(file, out=out, probe=second_each)
    assert not seen
    assert not out.exists()
    assert (said.systems, said.configurations, said.done) == (6, 10, 0)
    assert said.count("texts") == made.DOCUMENTS + made.QUERIES
    assert [task.at_most for task in said.tasks] == [False, True]
    assert said.tasks[0].seconds == 68
    # Without the reranked systems everything that they ask for is in the cache: now the pairs are known.
    sweep(made.written(tmp_path, SMALL.replace(', "dense+rerank", "hybrid+rerank"', ', "hybrid"')), out=out)
    made.written(tmp_path, SMALL)
    known = estimate(file, out=out, probe=second_each)
    seen.clear()
    assert (known.done, known.count("texts"), [task.at_most for task in known.tasks]) == (2, 0, [False])
    sweep(file, out=out)
    assert known.count("pairs") == len(seen) < said.count("pairs")
    assert known.seconds == 2 * len(seen)
    last = estimate(file, out=out, probe=second_each)
    assert (last.done, last.tasks) == (6, ())
    assert last.sentences()[-1].startswith("No text goes through a model")


def test_a_probe_measures_the_model(tmp_path: Path, seen: list[Any]):
    said = estimate(made.written(tmp_path, SMALL), out=tmp_path / "out")
    assert 0 < len(seen) <= 4 * 17
    assert said.seconds > 0
    assert "about 0.0 minutes, by the speed of 16 pairs" in " ".join(said.sentences())


def test_what_cannot_begin_is_told(tmp_path: Path, seen: list[Any]):
    said = estimate(made.written(tmp_path, SMALL.replace('"pairs"', '"gone"')), out=tmp_path / "out", probe=second_each)
    assert [(each.name, each.reason) for each in said.failed] == [
        ("systems with gone", "gone: there is no such model.")
    ]
    assert said.count("texts") == 68


def test_calls_of_a_service_are_counted_with_their_price(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    pytest.importorskip("openai", reason='needs the extra "hosted"')
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    with serving() as service:
        text = SMALL.replace('"counts"', f'"openai:e"\nbase_url = "{service.url}"\nprice_per_million_tokens = 100')
        text = text.replace("dimension = 24\n", "").replace(', "dense+rerank", "hybrid+rerank"', "")
        said = estimate(made.written(tmp_path, text), out=tmp_path / "out")
        assert not service.seen
        (task,) = said.tasks
        assert (task.count, task.seconds) == (68, None)
        assert task.calls >= 2
        assert task.cost is not None
        assert task.cost > 0
        assert said.cost == task.cost
        assert json.loads(json.dumps(said.to_dict()))["calls"] == task.calls
        free = estimate(
            made.written(tmp_path, text.replace("\nprice_per_million_tokens = 100", "")), out=tmp_path / "o"
        )
        assert free.cost is None
        assert "at a price that is not known" in " ".join(free.sentences())
