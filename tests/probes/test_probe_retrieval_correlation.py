"""The join on a made collection: signals and losses against what is computed by hand, and all forms of the result."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.stats import spearmanr
from tests.extras import need
from tests.report.drawing import draw_once
from tests.tradeoff import made

import trueval as tv
from trueval.cli.output import save, save_page
from trueval.collection import Collection
from trueval.errors import PolicyError
from trueval.probes.conditions import find_conditions
from trueval.probes.prediction import PredictionChoices
from trueval.probes.probe_retrieval_correlation import QueryChange, join_probes
from trueval.probes.probe_systems import systems
from trueval.probes.views.kind import PREDICTION
from trueval.report.terminal import render_text
from trueval.retrieval.pipeline.pipeline import Pipeline

need("faiss", "bm25s", extra="retrieval")
need("safetensors", extra="models")

FAST = PredictionChoices(resamples=50, threads=1)
# Of the three words of a query one, two or none are other ones.
OTHER = QueryChange("other", lambda text: " ".join([text.split()[0], "word1", "word2"]), "two words are others")
SAME = QueryChange("same", str)


@pytest.fixture
def collection(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Collection:
    made.use(monkeypatch, [])
    return Collection.read(str(made.folder(tmp_path)))


def pipelines() -> dict[str, Any]:
    found = systems(["counts@16"], "flat", language="en", bm25=True, hybrid=True, depth=20)
    return {each.name: each.settings for each in found}


@pytest.mark.filterwarnings("ignore::trueval.errors.TruevalWarning")
def test_signals_and_losses_are_those_of_two_searches(tmp_path: Path, collection: Collection) -> None:
    found = join_probes(collection, pipelines(), [OTHER, SAME], "R@5", k=5, choices=FAST, cache=tmp_path / "cache")
    rows = {(each.name, each.condition, each.signal): each for each in found.models}
    assert {key[0]: {signal for name, _, signal in rows if name == key[0]} for key in rows} == {
        "counts@16": {"drop", "overlap", "margin"},
        "bm25": {"overlap", "margin"},
        "counts@16 + bm25": {"drop", "overlap", "margin"},
    }
    settings = pipelines()["counts@16"]
    forms = [collection.queries, {query: OTHER.change(text) for query, text in collection.queries.items()}]
    runs = [Pipeline(settings).retrieve(replace(collection, queries=each)).run for each in forms]
    relevant = collection.graded
    scores = [tv.evaluate(run, relevant, ["R@5"]) for run in runs]
    ids = [query for query in collection.queries if query in scores[0].query_ids]
    loss = [
        scores[0].expected[list(scores[0].query_ids).index(q), 0]
        - scores[1].expected[list(scores[1].query_ids).index(q), 0]
        for q in ids
    ]
    model = made.Model("counts", [])
    vectors = [model.embed_queries([each[q] for q in ids], None)[:, :16] for each in forms]
    vectors = [each / np.linalg.norm(each, axis=1, keepdims=True) for each in vectors]
    drop = 1 - (vectors[0] * vectors[1]).sum(axis=1)
    told = rows["counts@16", "other", "drop"]
    assert (told.danger, told.loss) == pytest.approx((drop.mean(), np.mean(loss)), abs=1e-6)
    assert told.found.spearman.value == pytest.approx(spearmanr(drop, loss).statistic, abs=1e-9)
    tops = [{q: _ranked(run, q)[:5] for q in ids} for run in runs]
    shared = [len(set(tops[0][q]) & set(tops[1][q])) / 5 for q in ids]
    assert rows["counts@16", "other", "overlap"].danger == pytest.approx(
        1 - np.mean(shared), abs=0.05
    )  # ties at the end
    gaps = [np.diff(sorted(_scores(runs[0], q), reverse=True)[:2])[0] for q in ids]
    assert rows["counts@16", "other", "margin"].danger == pytest.approx(np.mean(gaps), abs=1e-6)
    # What changes nothing has no answer, and says why.
    for signal in ("drop", "margin"):
        assert rows["counts@16", "same", signal].found.reason.startswith("no query has both values: each stays")
    assert found.to_dict()["conditions"][1]["changed"] == 0
    assert found.about["systems"][0].clean["R@5"] == pytest.approx(
        np.mean([scores[0].expected[list(scores[0].query_ids).index(q), 0] for q in ids])
    )


def _scores(run: tv.Run, query: str) -> list[float]:
    return run.frame.filter(run.frame["query_id"] == query)["score"].to_list()


def _ranked(run: tv.Run, query: str) -> list[str]:
    rows = run.frame.filter(run.frame["query_id"] == query).sort("score", descending=True, maintain_order=True)
    return rows["doc_id"].to_list()


def test_documents_are_embedded_once_and_a_cache_gives_the_same(
    tmp_path: Path, collection: Collection, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[Any] = []
    made.use(monkeypatch, seen)
    chosen = find_conditions(["noise-2", "strip_diacritics"], "en")
    one = join_probes(collection, pipelines(), chosen, "R@5", choices=FAST, cache=tmp_path / "cache").to_dict()
    assert len([each for each in seen if each in set(collection.documents.values())]) == len(collection.documents)
    seen.clear()
    assert join_probes(collection, pipelines(), chosen, "R@5", choices=FAST, cache=tmp_path / "cache").to_dict() == one
    assert not seen


def test_every_form_shows_the_numbers(tmp_path: Path, collection: Collection, monkeypatch: pytest.MonkeyPatch) -> None:
    draw_once(monkeypatch)
    found = join_probes(collection, pipelines(), [OTHER, SAME], ["R@5", "nDCG@5"], queries=8, k=5, choices=FAST)
    result = found.to_dict()
    assert str(tmp_path) not in json.dumps(result, allow_nan=False)
    out = tmp_path / "out"
    save(out, (PREDICTION, result))
    save_page(out, figures=False)
    row = next(each for each in result["pooled"] if each["condition"] == "all")
    wanted = f"{row['spearman']:+.2f}".replace("0.", ".", 1)
    for name in ("probe-join.md", "probe-join.tex", "report.html"):
        text = (out / name).read_text(encoding="utf-8")
        assert wanted in text or wanted.replace("-", "−") in text, name
    assert f"{row['spearman']}" in (out / "probe-join.csv").read_text(encoding="utf-8")
    shown = render_text(PREDICTION.text["table"](result))
    assert wanted in shown
    assert "cannot be known from" in " ".join(shown.split())
    # Five signals of an embedder, with a table of authors, fit as well, without their intervals.
    for system in result["systems"]:
        system["signals"] = [*system["signals"], *(f"{name} once more" for name in system["signals"])]
    again = [{**each, "signal": f"{each['signal']} once more"} for each in result["models"]]
    lines = render_text(PREDICTION.text["table"]({**result, "models": [*result["models"], *again]})).splitlines()
    assert max(map(len, lines)) <= 100
    assert any(line.startswith("No room for changed, interval:") for line in lines)


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"conditions": []}, "a way to change queries"),
        ({"conditions": [SAME, SAME]}, "different names"),
        ({"measures": "Harm@5"}, "higher values are better"),
    ],
)
def test_what_cannot_be_joined_is_said_first(collection: Collection, asked: dict[str, Any], said: str) -> None:
    given = {"conditions": [SAME], "measures": "R@5", **asked}
    with pytest.raises(PolicyError, match=said):
        join_probes(collection, pipelines(), given["conditions"], given["measures"])


@pytest.mark.filterwarnings("ignore::trueval.errors.TruevalWarning")
def test_a_form_in_which_no_query_finds_anything_loses_all(collection: Collection) -> None:
    lost = QueryChange("lost", lambda text: f"nothing{text.split()[0].removeprefix('word')}x", "no word is anywhere")
    words = {name: each for name, each in pipelines().items() if name == "bm25"}
    found = join_probes(collection, words, [OTHER, lost], "R@5", choices=FAST)
    (row,) = [each for each in found.models if (each.condition, each.signal) == ("lost", "overlap")]
    clean = found.about["systems"][0].clean["R@5"]
    assert (row.loss, row.danger) == (pytest.approx(clean), pytest.approx(1))
    assert any("find nothing, such as" in note and "(lost)" in note for note in found.notes)
    assert not any("no query of the run is judged" in note for note in found.notes)


def test_conditions_by_their_names() -> None:
    assert [each.name for each in find_conditions(["noise 1", "noise-3", "case_punct_upper"], "fr")] == [
        "noise 1",
        "noise 3",
        "case_punct_upper",
    ]
    by_name = {each.name: each for each in find_conditions(None, "fr")}
    assert by_name["strip_diacritics"].change("Été à Orléans") == "Ete a Orleans"
    assert "forêt" in by_name["noise 1"].change("Où est la forêt ?")
    with pytest.raises(PolicyError, match="there is no condition 'noise-9'"):
        find_conditions(["noise-9"], "en")
