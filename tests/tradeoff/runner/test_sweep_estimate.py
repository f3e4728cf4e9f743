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
from trueval.models.missing_work import DryRun
from trueval.models.model_speed import BY_SPEED
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


def texts(said: DryRun) -> int:
    return sum(each.items for each in said.work if each.stage in ("documents", "queries"))


def pairs(said: DryRun) -> int:
    return sum(each.items for each in said.work if each.stage == "pairs")


def seconds(said: DryRun) -> float:
    return float(said.to_dict()["seconds"])


def second_each(model: Any, part: Any, places: Any) -> float:
    """A second for each text, two for each pair."""
    return len(places) * (1.0 if model.name == "counts" else 2.0)


def test_what_is_said_is_what_is_done(tmp_path: Path, seen: list[Any]):
    file, out = made.written(tmp_path, SMALL), tmp_path / "out"
    said = estimate(file, out=out, probe=second_each)
    assert not seen
    assert not out.exists()
    assert [said.about[name] for name in ("systems", "configurations", "done")] == [6, 10, 0]
    assert texts(said) == made.DOCUMENTS + made.QUERIES
    assert [each.exact for each in said.work] == [True, True, False]
    assert sum(each.seconds or 0 for each in said.work[:2]) == 68
    # Without the reranked systems everything that they ask for is in the cache: now the pairs are known.
    sweep(made.written(tmp_path, SMALL.replace(', "dense+rerank", "hybrid+rerank"', ', "hybrid"')), out=out)
    made.written(tmp_path, SMALL)
    known = estimate(file, out=out, probe=second_each)
    seen.clear()
    assert (known.about["done"], texts(known), [each.exact for each in known.work]) == (2, 0, [True])
    sweep(file, out=out)
    assert pairs(known) == len(seen) < pairs(said)
    assert seconds(known) == 2 * len(seen)
    last = estimate(file, out=out, probe=second_each)
    assert (last.about["done"], last.work) == (6, [])
    assert "Nothing goes through a model: all outputs are in the cache." in last.sentences()


def test_a_probe_measures_the_model(tmp_path: Path, seen: list[Any]):
    said = estimate(made.written(tmp_path, SMALL), out=tmp_path / "out")
    assert 0 < len(seen) <= 4 * 17
    assert seconds(said) > 0
    assert "pairs through pairs, about 0.0 minutes." in " ".join(said.sentences())
    assert BY_SPEED in said.sentences()


def test_what_cannot_begin_is_told(tmp_path: Path, seen: list[Any]):
    said = estimate(made.written(tmp_path, SMALL.replace('"pairs"', '"gone"')), out=tmp_path / "out", probe=second_each)
    names = ["dense+rerank top5", "dense+rerank top10", "hybrid+rerank top5", "hybrid+rerank top10"]
    assert [(each["name"], each["reason"]) for each in said.about["failed"]] == [
        (one, "gone: there is no such model.") for one in names
    ]
    assert texts(said) == 68


def test_a_model_that_fails_is_named(tmp_path: Path, seen: list[Any]):
    def broken(model: Any, part: Any, places: Any) -> float:
        raise InputError(f"{model.name} is out of order.")

    said = estimate(made.written(tmp_path, SMALL), out=tmp_path / "out", probe=broken)
    assert [(each["name"], each["reason"]) for each in said.about["failed"]] == [
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
        assert [(each.stage, each.items, each.seconds) for each in said.work] == [
            ("documents", made.DOCUMENTS, None),
            ("queries", made.QUERIES, None),
        ]
        assert said.calls >= 2
        assert said.cost is not None
        assert said.at_most is not None
        assert 0 < said.cost < said.at_most
        assert f"for about {said.cost:.4g}, at most {round_up_amount(said.at_most)}." in " ".join(said.sentences())
        assert json.loads(json.dumps(said.to_dict()))["calls"] == said.calls
        free = estimate(
            made.written(tmp_path, text.replace("\nprice_per_million_tokens = 100", "")), out=tmp_path / "o"
        )
        assert free.cost is None
        assert "at a price that is not known" in " ".join(free.sentences())


@pytest.mark.parametrize(
    ("limit", "told"),
    [(1e3, "it allows this"), (None, ""), (0.0, "it stops before the limit is exceeded"), ("mean", "likely to be")],
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
    assert all(told in line for line in said)


def test_documents_are_embedded_once_for_all_ways_to_write_the_queries(tmp_path: Path, seen: list[Any]):
    text = SMALL.replace(', "dense+rerank", "hybrid+rerank"', "") + '[queries]\nrewrite = ["as is", "other.jsonl"]\n'
    file = made.written(tmp_path, text)
    rows = (tmp_path / "made" / "queries.jsonl").read_text().replace("word1", "word2")
    (tmp_path / "other.jsonl").write_text(rows)
    said = estimate(file, out=tmp_path / "out", probe=second_each)
    seen.clear()
    sweep(file, out=tmp_path / "out")
    assert texts(said) == len(seen) == made.DOCUMENTS + 2 * made.QUERIES


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
        assert [(each.stage, each.items) for each in said.work][-1] == ("timed queries", 2 * (7 + 7))
        with pytest.warns(TruevalWarning, match="in 1 call to openai:e"):
            found = sweep(file, out=out).to_dict()
        assert said.calls == len(service.seen)
        # Beside a service words are free; it would not be known what they cost if nothing had a price.
        totals = {each["name"]: each["cost"]["total"] for each in found["configurations"]}
        assert totals["sparse K=3"] == 0
        assert totals["dense 2d K=3"] > 0
        assert not estimate(file, out=out).work


def test_queries_that_are_timed_are_said(tmp_path: Path, seen: list[Any]):
    text = SMALL.replace("queries = 0", "queries = 2\nrepeats = 2\nwarmup = 1")
    said = estimate(made.written(tmp_path, text), out=tmp_path / "out", probe=second_each)
    timed = {each.model: each for each in said.work if each.stage == "timed queries"}
    # One embedder for all; of two pools 5 and 10 candidates, two seconds each.
    assert (timed["counts"].items, timed["counts"].seconds) == (5, 5)
    assert (timed["pairs"].items, timed["pairs"].seconds, timed["pairs"].exact) == (20, 5 * 2 * 2 * 15, False)
    seen.clear()
    sweep(made.written(tmp_path, text), out=tmp_path / "out")
    assert sum(isinstance(each, str) for each in seen) == texts(said) + 5


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
    assert not estimate(file, out=tmp_path / "out", probe=second_each).about["failed"]


def test_a_changed_document_is_estimated_as_it_is_embedded(
    tmp_path: Path, seen: list[Any], monkeypatch: pytest.MonkeyPatch
):
    file, out = made.written(tmp_path, SMALL), tmp_path / "out"
    for dtype, reuse, new in (("float32", None, 1), ("bfloat16", None, made.DOCUMENTS), ("bfloat16", "text", 1)):
        fixed = property(lambda self, dtype=dtype: dtype, lambda self, _: None)
        monkeypatch.setattr(made.Model, "dtype", fixed, raising=False)
        chosen = SweepPlan.read(file).with_reuse(reuse)
        place = out / f"{dtype} {reuse}"
        sweep(chosen, out=place)
        corpus = tmp_path / "made" / "corpus.jsonl"
        before = corpus.read_text()
        corpus.write_text(before.replace('"text": "', '"text": "changed ', 1))
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            said = estimate(chosen, out=place, probe=second_each)
        assert texts(said) == new
        assert [f"1 of {made.DOCUMENTS} documents is new" in str(each.message) for each in told] == [True] * (new > 1)
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
    assert {each["name"] for each in said.about["failed"]} == wrongs
    assert said.about["ready"] == 1  # sparse
    assert not seen
    (line,) = [each for each in said.sentences() if each.startswith("cannot begin")]
    assert line.startswith("cannot begin: dense and 4 more: ")
    assert told in line
    found = sweep(file, out=out)
    assert {each.name for each in found.failed} == wrongs
    assert not seen
