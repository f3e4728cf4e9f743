"""Estimates: what is said before is what is then done, and saying it does nothing."""

import json
import warnings
from pathlib import Path
from typing import Any

import pytest
from tests.extras import need
from tests.models.hosted.loopback import serving
from tests.tradeoff import made
from tests.tradeoff.made import SMALL

from trueval.errors import InputError, TruevalWarning
from trueval.models.hosted.account import round_up_amount
from trueval.tradeoff.config.plan import SweepPlan
from trueval.tradeoff.runner.sweep import sweep
from trueval.tradeoff.runner.sweep_estimate import estimate

need("faiss", "bm25s", extra="retrieval")
need("safetensors", extra="models")


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
    names = ["dense+rerank top5", "dense+rerank top10", "hybrid+rerank top5", "hybrid+rerank top10"]
    assert [(each.name, each.reason) for each in said.failed] == [
        (one, "gone: there is no such model.") for one in names
    ]
    assert said.count("texts") == 68


def test_a_model_that_fails_is_named(tmp_path: Path, seen: list[Any]):
    def broken(model: Any, part: Any, places: Any) -> float:
        raise InputError(f"{model.name} is out of order.")

    said = estimate(made.written(tmp_path, SMALL), out=tmp_path / "out", probe=broken)
    assert [(each.name, each.reason) for each in said.failed] == [
        (f"systems with {model}", f"{model} is out of order.") for model in ("counts", "pairs")
    ]


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
        assert said.at_most == task.cost_at_most
        assert task.cost < task.cost_at_most
        assert f"for about {task.cost:.4g}, at most {round_up_amount(task.cost_at_most)}." in " ".join(said.sentences())
        assert json.loads(json.dumps(said.to_dict()))["calls"] == task.calls
        free = estimate(
            made.written(tmp_path, text.replace("\nprice_per_million_tokens = 100", "")), out=tmp_path / "o"
        )
        assert free.cost is None
        assert "at a price that is not known" in " ".join(free.sentences())


@pytest.mark.parametrize(
    ("limit", "told"),
    [(1e3, "which it allows."), (None, ""), (0.0, "It stops before the limit is exceeded"), ("mean", "likely to be")],
)
def test_a_dry_run_says_whether_the_limit_is_enough(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, limit: float | str | None, told: str
):
    pytest.importorskip("openai", reason='needs the extra "hosted"')
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    text = SMALL.replace('"counts"', '"openai:e"\nbase_url = "http://127.0.0.1:9"\nprice_per_million_tokens = 100')
    text = text.replace("dimension = 24\n", "").replace(', "dense+rerank", "hybrid+rerank"', "")
    file, out = made.written(tmp_path, text), tmp_path / "out"
    free = estimate(file, out=out)
    assert free.cost is not None
    assert free.at_most is not None
    most = (free.cost + free.at_most) / 2 if isinstance(limit, str) else limit
    found = estimate(file, out=out, max_cost=most)
    said = [line for line in found.sentences() if line.startswith("max_cost is")]
    assert found.to_dict()["max_cost"] == most
    assert len(said) == (limit is not None)
    assert all(told in line and f"at most {round_up_amount(free.at_most)}" in line for line in said)


def test_documents_are_embedded_once_for_all_ways_to_write_the_queries(tmp_path: Path, seen: list[Any]):
    text = SMALL.replace(', "dense+rerank", "hybrid+rerank"', "") + '[queries]\nrewrite = ["as is", "other.jsonl"]\n'
    file = made.written(tmp_path, text)
    rows = (tmp_path / "made" / "queries.jsonl").read_text().replace("word1", "word2")
    (tmp_path / "other.jsonl").write_text(rows)
    said = estimate(file, out=tmp_path / "out", probe=second_each)
    seen.clear()
    sweep(file, out=tmp_path / "out")
    assert said.count("texts") == len(seen) == made.DOCUMENTS + 2 * made.QUERIES


@pytest.mark.slow
def test_calls_that_time_a_service_are_in_the_estimate(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    pytest.importorskip("openai", reason='needs the extra "hosted"')
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    with serving() as service:
        text = SMALL.replace('"counts"', f'"openai:e"\nbase_url = "{service.url}"\nprice_per_million_tokens = 100')
        # A service cuts vectors itself: each dimension is asked for.
        text = text.replace("dimension = 24", "dimension = [2, 3]").replace(', "dense+rerank", "hybrid+rerank"', "")
        text = text.replace("queries = 0", "queries = 3\nrepeats = 2\nwarmup = 1\nconcurrency = 2")
        file, out = made.written(tmp_path, text), tmp_path / "out"
        said = estimate(file, out=out)
        assert [(task.what, task.count) for task in said.tasks][-1] == ("timed queries", 2 * (7 + 7))
        with pytest.warns(TruevalWarning, match="tokens in 1 call"):
            found = sweep(file, out=out).to_dict()
        assert said.calls == len(service.seen)
        # Beside a service words are free; it would not be known what they cost if nothing had a price.
        totals = {each["name"]: each["cost"]["total"] for each in found["configurations"]}
        assert totals["sparse K=3"] == 0
        assert totals["dense 2d K=3"] > 0
        assert not estimate(file, out=out).tasks


def test_queries_that_are_timed_are_said(tmp_path: Path, seen: list[Any]):
    text = SMALL.replace("queries = 0", "queries = 2\nrepeats = 2\nwarmup = 1")
    said = estimate(made.written(tmp_path, text), out=tmp_path / "out", probe=second_each)
    timed = {task.model: task for task in said.tasks if task.what == "timed queries"}
    # One embedder for all; of two pools 5 and 10 candidates, two seconds each.
    assert (timed["counts"].count, timed["counts"].seconds) == (5, 5)
    assert (timed["pairs"].count, timed["pairs"].seconds, timed["pairs"].at_most) == (20, 5 * 2 * 2 * 15, True)
    seen.clear()
    sweep(made.written(tmp_path, text), out=tmp_path / "out")
    assert sum(isinstance(each, str) for each in seen) == said.count("texts") + 5


def test_a_price_that_no_book_has_is_refused_with_its_line(tmp_path: Path, seen: list[Any]):
    text = SMALL + '[prices]\ncandidate_tokens = 300\ngenerator = "gpt-6"\n'
    line = 1 + text.splitlines().index('generator = "gpt-6"')
    with pytest.raises(InputError) as error:
        estimate(made.written(tmp_path, text))
    told = str(error.value)
    assert f"sweep.toml:{line}: [prices] generator: the price book of trueval has no price of gpt-6." in told
    assert 'Name a book of your own as book in [prices], with [generators."gpt-6"] and per_million_tokens.' in told
    assert "prices.toml" not in told
    (tmp_path / "mine.toml").write_text('date = "2026-01"\ncurrency = "USD"\nsource = "here"\n')
    with pytest.raises(InputError, match=r"sweep.toml:\d+: \[prices\] generator: .*mine.toml has no price of gpt-6"):
        estimate(made.written(tmp_path, text + 'book = "mine.toml"\n'))


def test_a_grade_of_the_unjudged_that_no_measure_takes_is_refused_before_any_work(tmp_path: Path, seen: list[Any]):
    file = made.written(tmp_path, SMALL.replace("resamples", "unjudged = 7\nresamples"))
    for make in (estimate, sweep):
        with pytest.raises(InputError, match="Got grade 7"):
            make(file, out=tmp_path / "out")
    assert not seen
    made.written(tmp_path, SMALL.replace("resamples", "unjudged = 1\nresamples"))
    assert not estimate(file, out=tmp_path / "out", probe=second_each).failed


def test_a_changed_document_is_estimated_as_it_is_embedded(
    tmp_path: Path, seen: list[Any], monkeypatch: pytest.MonkeyPatch
):
    file, out = made.written(tmp_path, SMALL), tmp_path / "out"
    for dtype, reuse, texts in (("float32", None, 1), ("bfloat16", None, made.DOCUMENTS), ("bfloat16", "text", 1)):
        fixed = property(lambda self, dtype=dtype: dtype, lambda self, _: None)
        monkeypatch.setattr(made.Model, "dtype", fixed, raising=False)
        chosen = SweepPlan.read(file).reusing(reuse)
        place = out / f"{dtype} {reuse}"
        sweep(chosen, out=place)
        corpus = tmp_path / "made" / "corpus.jsonl"
        before = corpus.read_text()
        corpus.write_text(before.replace('"text": "', '"text": "changed ', 1))
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            said = estimate(chosen, out=place, probe=second_each)
        assert said.count("texts") == texts
        assert [f"1 of {made.DOCUMENTS} documents is new" in str(each.message) for each in told] == [True] * (texts > 1)
        corpus.write_text(before)


CANNOT = [
    ("dimension = 24", "dimension = 1000", "The model gives 24 dimensions. Got dimension 1000"),
    ('spec = "flat"', 'spec = "pq(m=7, nbits=2)"', "m of pq must divide the dimension 24. Got 7"),
    ('spec = "flat"', 'spec = "ivf(nlist=70)"', "needs 70 documents to train with"),
]


@pytest.mark.parametrize(("line", "wrong", "told"), CANNOT)
def test_what_cannot_begin_is_told_before_anything_is_embedded(
    tmp_path: Path, seen: list[Any], monkeypatch: pytest.MonkeyPatch, line: str, wrong: str, told: str
):
    monkeypatch.setattr(made.Model, "dimension", 24, raising=False)
    file, out = made.written(tmp_path, SMALL.replace(line, wrong)), tmp_path / "out"
    said = estimate(file, out=out, probe=second_each)
    wrongs = {"dense", "dense+rerank top5", "dense+rerank top10", "hybrid+rerank top5", "hybrid+rerank top10"}
    assert {each.name for each in said.failed} == wrongs
    assert said.ready == 1  # sparse
    assert not seen
    (line,) = [each for each in said.sentences() if each.startswith("cannot begin")]
    assert line.startswith("cannot begin: dense and 4 more: ")
    assert told in line
    found = sweep(file, out=out)
    assert {each.name for each in found.failed} == wrongs
    assert not seen
