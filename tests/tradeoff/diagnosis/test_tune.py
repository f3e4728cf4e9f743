"""Tuning a graph: the least efSearch is the least by brute force, the graph is built once, and none is told why."""

import json
from itertools import count
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from tests.extras import need
from tests.tradeoff import planted
from tests.tradeoff.sweeps import made_sweep

from trueval import Judgments
from trueval.collection import Collection
from trueval.errors import InputError, PolicyError
from trueval.report.result_directory import Directory, ResultFile
from trueval.retrieval.indexes.index import LocalIndex
from trueval.retrieval.pipeline.pipeline import Pipeline
from trueval.tradeoff.diagnosis.loss_decomposition import decompose_loss
from trueval.tradeoff.diagnosis.tune import Loss, TriedSetting, TuningResult, _Trial, least_sufficient, tune
from trueval.tradeoff.quality.changes import Bootstrap, MeanEstimate
from trueval.tradeoff.runner.sweep_result import SweepResult
from trueval.tradeoff.views.kind import SWEEP

need("faiss", extra="retrieval")
need("safetensors", extra="models")

FAST = Bootstrap(resamples=200, threads=1)


def tried(**losses: float) -> tuple[TriedSetting, ...]:
    """efSearch → loss, as ef10=0.1."""
    nothing = MeanEstimate(0.0, 0.0, 0.0, 1)
    return tuple(
        TriedSetting(int(name[2:]), nothing, {}, {"recall": Loss(loss, loss, loss + 0.01)}, 0.0)
        for name, loss in losses.items()
    )


def test_an_effort_suffices_only_if_every_greater_one_does():
    assert least_sufficient(tried(ef10=0.5, ef20=0.01, ef40=0.3, ef80=0.01, ef160=0.0), "recall", 0.02, "bound") == 80
    assert least_sufficient(tried(ef10=0.01, ef20=0.0), "recall", 0.02, "bound") == 10
    assert least_sufficient(tried(ef10=0.0, ef20=0.5), "recall", 0.02, "bound") is None
    # 0.015 is within 0.02, its bound 0.025 is not.
    assert least_sufficient(tried(ef10=0.015, ef20=0.0), "recall", 0.02, "bound") == 20
    assert least_sufficient(tried(ef10=0.015, ef20=0.0), "recall", 0.02, "value") == 10


@pytest.mark.parametrize(
    ("suffices", "asked"),
    [
        (lambda ef: ef >= 1, [100, 200]),
        # 200 fails, 400 and 800 suffice; then between 200 and 400, until the ends are a tenth apart.
        (lambda ef: ef >= 330, [100, 200, 400, 800, 300, 350, 325]),
        # 200 suffices by accident: doubling goes on, and the gap above 400 is halved.
        (lambda ef: ef == 200 or ef >= 700, [100, 200, 400, 800, 1600, 600, 700, 650]),
        (lambda ef: False, [100, 200, 400, 800, 1600, 3200]),
    ],
)
def test_doubling_and_halving(suffices: Any, asked: list[int]):
    trial = object.__new__(_Trial)
    fields = {"depth": 100, "known": {}, "graph": SimpleNamespace(index=SimpleNamespace(documents=10**6))}
    for name, value in fields.items():
        object.__setattr__(trial, name, value)

    def at(value: int) -> TriedSetting:
        return trial.known.setdefault(value, tried(**{f"ef{value}": 0.0 if suffices(value) else 0.5})[0])

    object.__setattr__(trial, "at", at)
    found = trial.search(0.02, "bound")
    assert list(trial.known) == asked
    assert [each.ef_search for each in found] == sorted(asked)


def world(documents: int = 400, queries: int = 12) -> Collection:
    rng = np.random.default_rng(0)
    texts = {f"d{place}": " ".join(f"{each:.5f}" for each in rng.normal(size=8)) for place in range(documents)}
    asked = {f"q{place}": " ".join(f"{each:.5f}" for each in rng.normal(size=8)) for place in range(queries)}
    numbers = {name: np.array(text.split(), dtype=float) for name, text in {**texts, **asked}.items()}
    best = {query: max(texts, key=lambda doc: numbers[doc] @ numbers[query]) for query in asked}
    return Collection("made", "made", texts, asked, Judgments.from_dict({query: {best[query]: 1} for query in asked}))


@pytest.fixture
def log(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, int]]:
    return planted.use(monkeypatch)


def tuned(collection: Collection, spec: str, **choices: Any) -> TuningResult:
    depth = choices.pop("depth", 3)
    given = planted.settings(index={"spec": spec, "depth": depth})
    return tune(collection, given, collection.graded, ["R@3", "RR"], bootstrap=FAST, **choices)


def test_the_least_by_brute_force(monkeypatch: pytest.MonkeyPatch, log: list[tuple[str, int]]):
    built: list[str] = []
    build = LocalIndex.build
    monkeypatch.setattr(LocalIndex, "build", lambda self, given: built.append(self.name) or build(self, given))
    collection, values = world(), [1, 3, 6, 20, 400]
    ticks = count()
    found = tuned(
        collection, "hnsw(M=2, efConstruction=4)", values=values, by="value", clock=lambda: float(next(ticks))
    )
    assert sorted(built) == ["flat", "hnsw"]
    assert log == [("embed", 256), ("embed", 144), ("embed", 12)]
    assert [each.ef_search for each in found.tried] == [3, 6, 20, 400]  # 1 is 3: the depth
    vectors = {
        name: np.array(text.split(), dtype=float)
        for name, text in {**collection.documents, **collection.queries}.items()
    }
    exact = {
        query: sorted(collection.documents, key=lambda doc, query=query: -(vectors[doc] @ vectors[query]))[:3]
        for query in collection.queries
    }
    monkeypatch.undo()
    planted.use(monkeypatch)
    suffices = {}
    for each in found.tried:
        spec = f"hnsw(M=2, efConstruction=4, efSearch={each.ef_search})"
        run = Pipeline(planted.settings(index={"spec": spec, "depth": 3})).retrieve(collection).run
        lists = {query: run.frame.filter(query_id=query)["doc_id"].to_list() for query in exact}
        recall = np.mean([len(set(lists[query]) & set(exact[query])) / 3 for query in exact])
        found_best = np.mean([exact[query][0] in lists[query] for query in exact])  # the relevant one
        assert each.losses["recall"].value == pytest.approx(1 - recall)
        assert each.losses["R@3"].value == pytest.approx(1 - found_best)
        assert each.seconds == 1.0
        suffices[each.ef_search] = 1 - recall <= 0.02
    good = [value for value in suffices if all(suffices[other] for other in suffices if other >= value)]
    assert found.least["recall"] == (min(good) if good else None)
    assert not suffices[3]  # there is something to tune


def test_doubling_finds_one_that_suffices(log: list[tuple[str, int]]):
    found = tuned(world(), "hnsw(M=8)")
    assert found.ef_search is not None
    assert found.ef_search == max(value for value in found.least.values() if value is not None)
    assert found.advice == ""
    assert all(
        loss.high <= 0.02 for each in found.tried if each.ef_search >= found.ef_search for loss in each.losses.values()
    )
    told = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    assert told["efSearch"] == found.ef_search
    assert [each["efSearch"] for each in told["tried"]] == [each.ef_search for each in found.tried]
    assert told["spec"].startswith("hnsw(storage='float32', M=8")


def test_a_loss_of_the_storage_is_told(log: list[tuple[str, int]]):
    found = tuned(planted.collection(), "hnsw(storage='int8')", depth=2)
    assert found.ef_search is None
    assert found.storage["recall"].value == 0.5
    assert "The storage alone loses 0.5000, which no search mends: store float32." in found.advice


def test_a_poor_graph_is_to_be_built_anew(log: list[tuple[str, int]]):
    found = tuned(world(), "hnsw(M=2, efConstruction=1)", values=[3, 4])
    assert found.least["recall"] is None
    assert found.advice.endswith("Build the graph anew with a greater M or efConstruction.")
    assert found.to_dict()["efSearch"] is None


def test_lower_is_better_is_a_loss_too(log: list[tuple[str, int]]):
    collection = planted.collection()
    grades = {f"q{axis}": {f"b{axis}": 1, f"t{axis}": 1, f"a{axis}": 5} for axis in range(planted.QUERIES)}
    given = planted.settings(index={"spec": "hnsw(storage='int8')", "depth": 2})
    found = tune(collection, given, Judgments.from_dict(grades), "Harm@2", bootstrap=FAST, values=[16])
    # Exact lists hold t and a, one of two harmful; int8 lists t and b, both: a loss of all there was.
    assert found.storage["Harm@2"].value == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("spec", "choices", "error", "said"),
    [
        ("flat", {}, PolicyError, "efSearch is a parameter of hnsw. Got index flat"),
        ("hnsw", {"values": []}, PolicyError, "one at least"),
        ("hnsw", {"values": [0]}, PolicyError, ">= 1"),
        ("hnsw", {"within": 1.0}, PolicyError, "within must be"),
        ("hnsw", {"by": "luck"}, PolicyError, "'bound' or 'value'"),
    ],
)
def test_bad_arguments(spec: str, choices: dict[str, Any], error: type[Exception], said: str):
    with pytest.raises(error, match=said):
        tuned(planted.collection(), spec, **choices)


def test_nothing_to_lose(log: list[tuple[str, int]]):
    collection = planted.collection()
    nowhere = Judgments.from_dict({"q0": {"z0": 1}})
    with pytest.raises(InputError, match="R@2 of exact search is 0"):
        tune(collection, planted.settings(index={"spec": "hnsw"}), nowhere, "R@2", bootstrap=FAST)


def test_a_cache_serves_the_graph(tmp_path: Path, log: list[tuple[str, int]], monkeypatch: pytest.MonkeyPatch):
    first = tuned(world(), "hnsw(M=8)", cache=tmp_path, values=[3, 50])
    monkeypatch.setattr(LocalIndex, "build", lambda *_: pytest.fail("built again"))
    second = tuned(world(), "hnsw(M=8, efSearch=77)", cache=tmp_path, values=[3, 50])
    assert [each.losses for each in second.tried] == [each.losses for each in first.tried]
    assert log == [("embed", 256), ("embed", 144), ("embed", 12)]


def test_a_short_dimension_is_no_loss_of_the_graph(log: list[tuple[str, int]]):
    collection = world()
    given = planted.settings(embed={"dimension": 4}, index={"spec": "hnsw(M=8)", "depth": 3})
    found = tune(collection, given, collection.graded, ["R@3"], values=[400], by="value", bootstrap=FAST)
    assert found.tried[-1].recall.value == 1.0  # of exact search by the same four numbers
    assert (found.ef_search, found.advice) == (400, "")


def test_the_page_shows_what_ladders_and_tuners_give(log: list[tuple[str, int]]):
    collection = world(60)
    given = planted.settings(index={"spec": "hnsw(M=8)", "depth": 3})
    found = tune(collection, given, collection.graded, ["R@3"], values=[60], bootstrap=FAST)
    ladder = decompose_loss(collection, given, collection.graded, ["R@3"], bootstrap=FAST)
    derived = {"quality": "R@3", "ladder": [ladder.to_dict()], "tuned": [{"name": "dense", **found.to_dict()}]}
    data = made_sweep() | derived
    assert SweepResult.from_dict(data).to_dict() == data
    assert SWEEP.page is not None
    page = SWEEP.page(ResultFile("sweep.json", "sweep", data), Directory(Path(), ()))
    (block,) = [each for each in page.blocks if each.id == "ladder-block"]
    steps, efforts = ([[cell.value for cell in row.cells] for row in table.rows] for table in block.tables)
    assert [row[1:4] for row in steps] == [["exact float32", 1.0, 1.0], ["hnsw", 1.0, 1.0]]
    assert [row[-1] for row in steps] == [None, 0.0]
    assert efforts[0][:5] == ["dense", 60, 1.0, 1.0, 0.0]
