"""Table 1 of P-A repeated: on tiny random models of its architectures, and on planted logits with known answers."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.extras import need
from tests.models.tiny import BUILDERS

from trueval.collection import Collection
from trueval.errors import InputError, PolicyError
from trueval.numerics import round_to
from trueval.precision.audit_precision import audit_precision
from trueval.precision.presets import find_preset
from trueval.precision.published_table import ASKUBUNTU, BGE, E5, GTE, MIRACL, MODELS, QWEN, TABLE_1
from trueval.precision.reproduce_table import REGIMES, missing_table_work, reproduce_table, table_models
from trueval.precision.reproduction_result import TableReproduction
from trueval.precision.views.reproduction import view

need("torch", "transformers", "sentence_transformers", "safetensors", extra="models")

SETS = {MIRACL: 3, ASKUBUNTU: 2}
CANDIDATES = 5


def written(folder: Path) -> dict[str, Path]:
    """Two small sets with candidates; every query has its relevant documents somewhere among them."""
    rng, found = np.random.default_rng(4), {}
    for name, queries in SETS.items():
        place = found[name] = folder / name
        place.mkdir(parents=True)
        words = ["wing", "air", "heat", "flow", "lift", "moves", "cold", "body"]
        documents = {f"d{at}": " ".join(rng.choice(words, 6)) for at in range(queries * CANDIDATES)}
        asked = {f"q{at}": " ".join(rng.choice(words, 3)) for at in range(queries)}
        for file, texts in (("corpus", documents), ("queries", asked)):
            rows = (json.dumps({"_id": each, "text": text}) + "\n" for each, text in texts.items())
            (place / f"{file}.jsonl").write_text("".join(rows), encoding="utf-8")
        grades = [
            f"q{query} 0 d{query * CANDIDATES + at} {int(at in (1, 3))}\n"
            for query in range(queries)
            for at in range(CANDIDATES)
        ]
        (place / "qrels.trec").write_text("".join(grades), encoding="utf-8")
    return found


@pytest.fixture
def sets(tmp_path: Path) -> dict[str, Path]:
    return written(tmp_path / "sets")


@pytest.fixture(scope="module")
def folder_of(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """The folder of a tiny random model of a recipe's architecture."""
    return cache(lambda name: BUILDERS[name](tmp_path_factory.mktemp(name)))


def test_the_printed_table_adds_up() -> None:
    assert len(TABLE_1) == 15
    assert [row.model for row in TABLE_1[:5]] == list(MODELS)
    for row in TABLE_1:
        for values in (row.low, row.high):
            # Each is rounded to two digits.
            assert abs(values.tie_broken - values.expected - values.bias) < 0.0201, row
            assert values.range >= abs(values.bias)


@pytest.fixture
def tiny_models(folder_of: Callable[[str], Path]) -> list[str]:
    return [f"{name}:{folder_of(name)}" for name in MODELS]


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.slow
def test_it_runs_to_the_end_on_tiny_models_and_goes_on(
    sets: dict[str, Path], tiny_models: list[str], tmp_path: Path
) -> None:
    places = dict(sets)
    found = reproduce_table(tmp_path / "out", tiny_models, sets=places)
    assert found.unmade == ()
    assert [(each.data, each.measure, each.model) for each in found.cells[:: len(REGIMES)]] == [
        (row.data, row.measure, row.model) for row in TABLE_1
    ]
    for cell in found.cells:
        assert cell.ours is not None
        assert cell.queries == SETS[cell.data]
        assert cell.ours.bias == pytest.approx(cell.ours.tie_broken - cell.ours.expected)
        assert cell.difference is not None
        assert cell.difference.expected == pytest.approx(cell.ours.expected - cell.printed.expected)
    assert (found.batch_size, found.max_length, found.devices) == (16, 4096, ("cpu",))
    assert TableReproduction.from_dict(found.to_dict()).to_dict() == found.to_dict()
    assert "Of 45 values of Table 1, 45 were run" in str(view(found).answer.sentence)
    # Each row is what an audit of its model says.
    audit = audit_precision(Collection.read(str(sets[MIRACL])), tiny_models[1], "nDCG@10", preset="paper")
    (regime,) = [each for each in audit.results if each.regime.label == "bfloat16_float32"]
    (own,) = [
        each.ours
        for each in found.cells
        if (each.model, each.measure, each.regime) == (BGE, "nDCG@10", "BF16 → FP32") and each.ours
    ]
    assert own.expected == regime.scores["nDCG@10"].expected
    # Nothing is left to do, and the same call gives the same.
    assert not [work for work in missing_table_work(tmp_path / "out", tiny_models, sets=places) if work.items]
    assert reproduce_table(tmp_path / "out", tiny_models, sets=places).to_dict() == found.to_dict()
    # A model that is gone leaves its rows open, and the others are there.
    broken = [*tiny_models[:-1], f"{E5}:{tmp_path / 'nowhere'}"]
    partly = reproduce_table(tmp_path / "out", broken, sets=places)
    assert {(each.data, each.model) for each in partly.unmade} == {(MIRACL, E5), (ASKUBUNTU, E5)}
    assert sum(each.ours is None for each in partly.cells) == 9
    assert "their rows are left open" in " ".join(map(str, view(partly).findings))


def orders(scores: list[float]) -> list[tuple[int, ...]]:
    """Every order of the documents that descending scores allow."""
    return [
        order
        for order in itertools.permutations(range(len(scores)))
        if all(scores[a] >= scores[b] for a, b in itertools.pairwise(order))
    ]


def reciprocal_rank(order: tuple[int, ...]) -> float:
    return next(1 / rank for rank, at in enumerate(order, 1) if at in (1, 3))


def average_precision(order: tuple[int, ...]) -> float:
    """AP@3 with two relevant documents."""
    found = [rank for rank, at in enumerate(order[:3], 1) if at in (1, 3)]
    return sum(place / rank for place, rank in enumerate(found, 1)) / 2


def ndcg(order: tuple[int, ...]) -> float:
    gains = sum(1 / np.log2(rank + 1) for rank, at in enumerate(order, 1) if at in (1, 3))
    return float(gains / (1 + 1 / np.log2(3)))


PLANTED: dict[str, Callable[[tuple[int, ...]], float]] = {
    "RR@10": reciprocal_rank,
    "nDCG@10": ndcg,
    "AP@3": average_precision,
}
SIGMOID: dict[str, Callable[[Any], Any]] = {
    QWEN: lambda rows: 1 / (1 + np.exp(rows[:, 0] - rows[:, 1])),
    GTE: lambda rows: 1 / (1 + np.exp(-rows[:, 0])),
}


@pytest.mark.parametrize("name", [QWEN, GTE])
def test_planted_logits_have_the_answers_of_all_orders(name: str, sets: dict[str, Path], tmp_path: Path) -> None:
    """Values of bfloat16 whose softmax or sigmoid ties in bfloat16, some in float32 too; answers by enumeration."""
    labels = 2 if name == QWEN else 1
    rng = np.random.default_rng(8)
    count = max(SETS.values()) * CANDIDATES
    # Steps of 1/32 near 4, where sigmoids are near 1 and a unit of bfloat16 is 1/256.
    raw = 4 + rng.integers(0, 12, (count, labels)) / 32 * np.array([0.0, 1.0] if labels == 2 else [1.0])
    if labels == 2:
        raw[:, 0] = 0.0
    for data, queries in SETS.items():
        rows = queries * CANDIDATES
        ids = {
            "query": np.repeat([f"q{at}" for at in range(queries)], CANDIDATES),
            "doc": np.array([f"d{at}" for at in range(rows)]),
        }
        np.savez(tmp_path / f"{data}.npz", **ids, bfloat16=raw[:rows], float32=raw[:rows])
    found = reproduce_table(models=[f"{name}:{tmp_path}"], sets=dict(sets))
    assert found.unmade == ()
    for data, queries in SETS.items():
        exact = SIGMOID[name](raw[: queries * CANDIDATES])
        scores = {
            "FP32": exact.astype(np.float32).astype(float),
            "BF16": round_to(exact, "bfloat16").astype(float),
            "BF16 → FP32": exact.astype(np.float32).astype(float),
        }
        cells = [each for each in found.cells if each.data == data]
        assert len(cells) == 3 * len({row.measure for row in TABLE_1 if row.data == data})
        for cell in cells:
            assert cell.ours is not None
            means, broken = [], []
            for at in range(queries):
                own = scores[cell.regime][at * CANDIDATES : (at + 1) * CANDIDATES].tolist()
                every = [PLANTED[cell.measure](order) for order in orders(own)]
                means.append((np.mean(every), min(every), max(every)))
                given = tuple(sorted(range(CANDIDATES), key=lambda place, own=own: -own[place]))
                broken.append(PLANTED[cell.measure](given))
            expected, lowest, highest = np.mean(means, axis=0)
            assert cell.ours.expected == pytest.approx(expected)
            assert cell.ours.range == pytest.approx(highest - lowest)
            assert cell.ours.tie_broken == pytest.approx(np.mean(broken))
        ranges = {cell.regime: cell.ours.range for cell in cells if cell.ours}
        assert ranges["BF16"] > ranges["BF16 → FP32"]


def test_the_preset_is_the_papers_and_gives_way(sets: dict[str, Path], folder_of: Callable[[str], Path]) -> None:
    preset, place = find_preset("paper"), f"{BGE}:{folder_of(BGE)}"
    found = audit_precision(sets[MIRACL], place, preset="paper")
    assert [str(each) for each in found.measures] == list(preset.measures)
    assert {each.regime.model_dtype for each in found.results} == set(preset.dtypes)
    passes = found.about["passes"]
    assert {(each["batch_size"], each["max_length"]) for each in passes} == {(16, 512)}  # the tokenizer's limit
    policy = found.results[0].scores.policy
    assert (policy.tie_order, policy.base, policy.empty) == ("input", "list", "skip")
    own = audit_precision(
        sets[MIRACL], place, "RR", ["float32"], preset="paper", batch_size=4, max_length=100, empty="zero"
    )
    assert [str(each) for each in own.measures] == ["RR"]
    assert (own.about["passes"][0]["batch_size"], own.about["passes"][0]["max_length"]) == (4, 100)
    assert (own.results[0].scores.policy.empty, own.results[0].scores.policy.base) == ("zero", "list")


def test_what_is_refused(sets: dict[str, Path], tmp_path: Path) -> None:
    with pytest.raises(PolicyError, match=r"models of the table are Qwen3-Reranker-0\.6B"):
        table_models(["MiniLM"])
    with pytest.raises(
        PolicyError, match=r"data sets of the table are MIRACLReranking, AskUbuntuDupQuestions\. Got 'x'"
    ):
        reproduce_table(sets={"x": sets[MIRACL]})
    with pytest.raises(PolicyError, match=r"A preset must be one of: paper\. Got 'papers'"):
        audit_precision(sets[MIRACL], "m", preset="papers")
    with pytest.raises(InputError, match=r"Nothing of the table could be run\. MIRACLReranking: "):
        reproduce_table(sets=dict.fromkeys(sets, tmp_path / "nowhere"))
