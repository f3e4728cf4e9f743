"""Probes in a sweep: each kind once, kept, and in every form of the result; what fails stops nothing."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from tests.extras import need
from tests.report.drawing import draw_once
from tests.tradeoff import made
from tests.tradeoff.made import SMALL

from trueval.cli.output import save, save_page
from trueval.errors import InputError
from trueval.probes.noise import probe_pipelines
from trueval.probes.noise_settings import CLEAN, NONE, NoiseCondition
from trueval.probes.query_noise import KNOWN, noisy
from trueval.report.terminal import render_text
from trueval.tradeoff.config.plan import SweepPlan
from trueval.tradeoff.config.sweep_inputs import read_inputs
from trueval.tradeoff.diagnosis.query_performance_predictors import route_pipeline
from trueval.tradeoff.runner.sweep import sweep
from trueval.tradeoff.runner.sweep_estimate import estimate
from trueval.tradeoff.runner.sweep_probes import noise_entry
from trueval.tradeoff.views.kind import SWEEP

need("faiss", "bm25s", extra="retrieval")
need("safetensors", extra="models")

METHODS = '"dense", "sparse", "dense+rerank", "hybrid+rerank"'
SIZES = (
    SMALL.replace(METHODS, '"dense", "sparse", "hybrid", "dense+rerank"')
    .replace("dimension = 24", "dimension = [24, 16]")
    .replace("depth = [5, 10]", "depth = 5")
)
PROBES = '\n[probes]\nqueries = 6\nruns = 2\nablations = ["hard_name_mask", "gibberish_name"]\n'


@pytest.fixture
def seen(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    found: list[Any] = []
    made.use(monkeypatch, found)
    return found


def test_each_probe_is_made_once_and_kept(tmp_path: Path, seen: list[Any]) -> None:
    file, out = made.written(tmp_path, SIZES + PROBES), tmp_path / "out"
    found = sweep(file, out=out).to_dict()
    assert not found["failed"]
    assert all("ran in bfloat16" in note for note in found["notes"]), found["notes"]
    by_name = {each["name"]: each["probes"] for each in found["systems"]}
    dense = {name: each for name, each in by_name.items() if name.startswith("dense")}
    assert {each["names"]["unit"] for each in dense.values()} == {"cosine"}
    for name, each in by_name.items():
        if each["names"]["unit"] != "cosine":  # the model of the tests knows no word of the bundles
            assert each["names"]["changes"]["hard_name_mask"]["of_means"] == pytest.approx(-1, abs=1e-9), name
        assert (each["noise"]["drop"] is None) == (name == "sparse")
        assert 0 <= each["noise"]["overlap"] <= 1
    # One for each dimension, with and without words, and one of words; a reranker makes no other one.
    assert len(list((out / "probes").glob("names-*.json"))) == 5
    assert len(list((out / "probes").glob("noise-*.json"))) == 5
    asked = [each for each in seen if isinstance(each, str)]
    # The clean queries alone go through the model again, in one set with their noisy forms.
    assert {text for text in asked if asked.count(text) > 1} <= set(read_inputs(SweepPlan.read(file)).texts.values())
    seen.clear()
    again = sweep(file, out=out).to_dict()
    assert not seen
    assert [each["probes"] for each in again["systems"]] == [each["probes"] for each in found["systems"]]
    # Another table asks anew, and only for what it changes.
    made.written(tmp_path, SIZES + PROBES.replace("runs = 2", "runs = 1"))
    sweep(file, out=out)
    assert len(list((out / "probes").glob("names-*.json"))) == 10
    assert len(list((out / "probes").glob("noise-*.json"))) == 5


def test_the_drop_is_that_of_the_queries_of_the_sweep(tmp_path: Path, seen: list[Any]) -> None:
    file = made.written(tmp_path, SMALL + PROBES.replace("queries = 6", "queries = 50\nlevel = 2\nnames = false"))
    found = sweep(file).to_dict()
    (dense,) = [each for each in found["systems"] if each["name"].startswith("dense") and "top" not in each["name"]][:1]
    model, texts = made.Model("counts", []), read_inputs(SweepPlan.read(file)).texts
    clean, changed = (
        model.embed_queries(list(each), None)
        for each in (texts.values(), [noisy(text, 2, "en").text for text in texts.values()])
    )
    assert dense["probes"]["noise"]["drop"] == pytest.approx(
        float(np.mean(1 - (clean * changed).sum(axis=1))), abs=1e-6
    )
    assert dense["probes"]["names"] is None
    assert dense["probes"]["noise"]["queries"] == made.QUERIES


def test_the_change_under_chatter_is_that_of_the_means() -> None:
    noisy_one = NoiseCondition(2, KNOWN, NONE, False)
    found: Any = SimpleNamespace(
        row=(CLEAN, noisy_one).index,
        conditions=(CLEAN, noisy_one),
        lists=SimpleNamespace(overlap=np.array([[1.0, 1.0], [0.5, 0.75]])),
        worth={"R@10": np.array([[1.0, 0.5], [0.25, 0.75]])},
        design=SimpleNamespace(language="en"),
        query_ids=("q", "r"),
        cosines=np.array([[1.0, 1.0], [0.875, 0.625]]),
    )
    told = noise_entry(found, 2)
    assert (told["drop"], told["overlap"], told["change"]) == (0.25, 0.625, {"R@10": -0.25})


def test_a_probe_that_fails_stops_nothing(tmp_path: Path, seen: list[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: Any, **__: Any) -> Any:
        raise InputError("the probe is out of order.")

    monkeypatch.setattr("trueval.tradeoff.runner.sweep_probes.probe_scorer", broken)
    found = sweep(made.written(tmp_path, SMALL + PROBES), out=tmp_path / "out").to_dict()
    assert not found["failed"]
    assert all(each["probes"]["names"] is None for each in found["systems"])
    assert all(each["probes"]["noise"] is not None for each in found["systems"])
    assert (
        sum("the probe is out of order." in note for note in found["notes"]) == 3
    )  # of the embedder, of words, and of both


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        ("level = 5\n", r"level of .* an integer >= 1 and <= 4"),
        ("language = 'de'\n", "'en' or 'fr'"),
        ("ablations = 'gibberish'\n", "gibberish_name"),
        ("quries = 3\n", "Did you mean queries"),
        ("names = 1\n", "true or false"),
    ],
)
def test_a_bad_table_is_told_with_its_line(tmp_path: Path, lines: str, said: str) -> None:
    file = tmp_path / "sweep.toml"
    file.write_text(f'[corpus]\npath = "made"\n[sparse]\nindex = "bm25"\n[probes]\n{lines}')
    with pytest.raises(InputError, match=f":6: .*{said}"):
        SweepPlan.read(file)


def test_probes_are_columns_in_every_form(tmp_path: Path, seen: list[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    draw_once(monkeypatch)
    out = tmp_path / "out"
    found = sweep(made.written(tmp_path, SMALL + PROBES), out=out).to_dict()
    sparse = next(each["probes"] for each in found["systems"] if each["name"] == "sparse")
    save(out, (SWEEP, found))
    save_page(out, figures=False)
    wanted = f"{sparse['noise']['overlap']:.3f}"
    assert f"{sparse['names']['changes']['hard_name_mask']['of_means']:+.0%}" == "-100%"
    shown = {name: (out / name).read_text(encoding="utf-8") for name in ("sweep.md", "sweep.tex", "sweep.csv")}
    shown["report.html"] = (out / "report.html").read_text(encoding="utf-8")
    shown["table"] = render_text(SWEEP.write(found, "table", legend=True))
    for name in ("sweep.md", "sweep.tex", "report.html", "table"):
        assert wanted in shown[name], name
        assert "-100" in shown[name] or "−100" in shown[name], name
        assert "name / topic" in " ".join(shown[name].split()), name


def test_a_sweep_without_probes_has_no_such_key(tmp_path: Path, seen: list[Any]) -> None:
    found = sweep(made.written(tmp_path, SMALL)).to_dict()
    assert "probes" not in found
    assert all("probes" not in each for each in found["systems"])


def test_before_the_work_it_is_said_what_probes_give_to_models(tmp_path: Path, seen: list[Any]) -> None:
    text, out = SIZES.replace(', "dense+rerank"', ""), tmp_path / "out"
    sweep(made.written(tmp_path, text), out=out)
    file = made.written(tmp_path, text + PROBES)
    seen.clear()
    before = estimate(file, out=out, probe=lambda *_: 1.0)
    assert not seen
    (task,) = before.work
    assert f"probe texts: {task.items:,} texts" in " ".join(before.sentences())
    sweep(file, out=out)
    assert task.items == len(seen) > 100
    assert not estimate(file, out=out).work


def test_what_decides_a_probe_makes_it_anew(tmp_path: Path, seen: list[Any]) -> None:
    text = SMALL.replace(METHODS, '"sparse"') + PROBES

    def probes(text: str) -> dict[str, Any]:
        (found,) = sweep(made.written(tmp_path, text), out=tmp_path / "out").to_dict()["systems"]
        return found["probes"]

    first = probes(text)
    # By another policy other documents are relevant.
    assert probes(text.replace("[measure]", "[measure]\nrel = 5"))["names"] == first["names"]
    assert [len(list((tmp_path / "out" / "probes").glob(f"{each}-*"))) for each in ("names", "noise")] == [1, 2]
    narrow = probes(text.replace("[measure]", "[measure]\nlevel = 0.6"))["names"]
    assert narrow["delta_name"]["mean"] == first["names"]["delta_name"]["mean"]
    assert narrow["delta_name"]["low"] > first["names"]["delta_name"]["low"]
    # A damaged file is made again.
    for file in (tmp_path / "out" / "probes").iterdir():
        file.write_text("{")
    assert probes(text) == first


def test_probes_are_paid_from_the_account_of_the_sweep(
    tmp_path: Path, seen: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    accounts = []

    def noticed(*given: Any, account: Any, **named: Any) -> Any:
        accounts.append(account)
        return probe_pipelines(*given, account=account, **named)

    monkeypatch.setattr("trueval.tradeoff.runner.sweep_probes.probe_pipelines", noticed)
    few = SMALL.replace(METHODS, '"dense", "sparse"')
    sweep(made.written(tmp_path, few + PROBES + "names = false\n"), max_cost=0.25)
    assert {each.within.max_cost for each in accounts} == {0.25}
    assert len(set(map(id, accounts))) == 1


def test_the_drop_of_routing_is_counted_before_and_paid_from_the_same_account(
    tmp_path: Path, seen: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    accounts = []

    def noticed(*given: Any, account: Any, **named: Any) -> Any:
        accounts.append(account)
        return route_pipeline(*given, account=account, **named)

    monkeypatch.setattr("trueval.tradeoff.runner.analyses.route_pipeline", noticed)
    place = SimpleNamespace(recipe=SimpleNamespace(scoring="sigmoid"))
    monkeypatch.setattr("trueval.tradeoff.diagnosis.query_performance_predictors.find_model", lambda name, _: place)
    text, out = SMALL.replace(METHODS, '"dense+rerank"').replace("[5, 10]", "10"), tmp_path / "out"
    sweep(made.written(tmp_path, text), out=out)
    file = made.written(tmp_path, text + "\n[route]\ndepths = [5, 10]\ndrop = true\n")
    (task,) = estimate(file, out=out, probe=lambda *_: 1.0).work
    assert (task.stage, task.items) == ("probe texts", made.QUERIES)
    seen.clear()
    sweep(file, out=out, max_cost=0.25)
    assert len(seen) == made.QUERIES
    assert not estimate(file, out=out).work
    assert [each.within.max_cost for each in accounts] == [0.25]
