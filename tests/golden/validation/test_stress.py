"""Judges whose errors are known by construction are found out: one that is right, one at random, one that likes kin."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats

from trueval.comparison.compare import compare
from trueval.errors import InputError, PolicyError
from trueval.golden.validation.label_verdicts import ahead
from trueval.golden.validation.stress import Stress, stress
from trueval.golden.views.kind import STRESS
from trueval.judgments import Judgments
from trueval.run import Run

QUERIES, DOCUMENTS = 24, 12
FAST: dict[str, Any] = {"resamples": 100, "top": 2}


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """Four systems, the better the lower their noise, and three judges.

    `people` grade the truth. `exact` does so too. `noisy` grades mostly at random. `kin` grades 3 whatever the last
    system puts first, and is right elsewhere.
    """
    folder, rng = tmp_path_factory.mktemp("world"), np.random.default_rng(5)
    truth = rng.integers(0, 4, (QUERIES, DOCUMENTS))
    runs = {}
    for place, noise in enumerate((0.3, 1.0, 2.0, 4.0)):
        scores = truth + rng.normal(0, noise, truth.shape)
        runs[f"s{place}"] = scores
        lines = [f"q{q} Q0 d{d} 0 {scores[q, d]:.9f} s{place}\n" for q in range(QUERIES) for d in range(DOCUMENTS)]
        (folder / f"s{place}.trec").write_text("".join(lines))
    kin = truth.copy()
    first = np.argsort(-runs["s3"], axis=1)[:, :5]
    np.put_along_axis(kin, first, 3, axis=1)
    labels = {"people": truth, "exact": truth, "noisy": rng.integers(0, 4, truth.shape), "kin": kin}
    for name, grades in labels.items():
        lines = [f"q{q} 0 d{d} {grades[q, d]}\n" for q in range(QUERIES) for d in range(DOCUMENTS)]
        (folder / f"{name}.qrels").write_text("".join(lines))
    (folder / "family.toml").write_text('[runs]\nk = ["s3"]\n[judges]\nkin = "k"\n')
    files = [folder / f"{name}.qrels" for name in ("exact", "noisy", "kin")]
    found = stress(
        files,
        folder / "people.qrels",
        [str(folder / f"s{place}.trec") for place in range(4)],
        "nDCG@5 P(rel=3)@5",
        families=folder / "family.toml",
        **FAST,
    )
    return {"folder": folder, "files": files, "data": found.to_dict()}


def of(world: dict[str, Any], judge: str, measure: int = 0) -> dict[str, Any]:
    found: dict[str, Any] = next(e for e in world["data"]["measures"][measure]["judges"] if e["judge"] == judge)
    return found


def test_a_judge_that_says_what_people_say_changes_nothing(world: dict[str, Any]) -> None:
    for measure in (0, 1):
        exact = of(world, "exact", measure)
        assert exact["tau"]["value"] == 1.0
        assert exact["tau_top"]["value"] == 1.0
        assert (exact["all"]["false_rate"], exact["all"]["missed_rate"]) == (0.0, 0.0)
        assert exact["all"]["same"] == exact["separated"] == world["data"]["measures"][measure]["separated"] > 0
    assert world["data"]["labels"][0]["coefficients"]["kappa"]["value"] == 1.0


def test_a_judge_that_grades_at_random_misses_differences_and_agrees_with_nobody(world: dict[str, Any]) -> None:
    noisy, labels = of(world, "noisy"), world["data"]["labels"][1]
    assert abs(labels["coefficients"]["kappa_quadratic"]["value"]) < 0.15
    assert noisy["all"]["missed_rate"] > 0.5


def test_a_judge_that_likes_the_runs_of_its_family_lifts_them(world: dict[str, Any]) -> None:
    (found,) = world["data"]["measures"][0]["families"]
    assert (found["judge"], found["family"], found["runs"]) == ("kin", "k", ["s3"])
    assert found["lift"]["own"]["value"] == 3.0  # last by people, first by its judge
    assert found["lift"]["extra"]["low"] > 0
    by_name = {each["run"]: each for each in world["data"]["measures"][0]["systems"]}
    judges = [each["judge"] for each in world["data"]["measures"][0]["judges"]]

    def added(name: str) -> float:  # by the judge of the family
        return by_name[name]["means"][judges.index("kin")] - by_name[name]["mean"]

    beyond = added("s3") - np.mean([added(name) for name in ("s0", "s1", "s2")])
    assert found["lift_in_measure"]["own"]["value"] == pytest.approx(beyond)
    assert found["lift_in_measure"]["extra"]["low"] > 0
    assert found["tau_without"]["value"] > found["tau"]["value"]
    assert (found["without"]["pairs"], of(world, "kin")["all"]["pairs"]) == (3, 6)


def test_verdicts_are_those_of_compare(world: dict[str, Any]) -> None:
    folder, data = world["folder"], world["data"]
    runs = [Run.read(str(folder / f"s{place}.trec"), name=f"s{place}") for place in range(4)]
    for file, judge in zip(world["files"], data["measures"][0]["judges"], strict=True):
        found = compare(runs, Judgments.read(file), "nDCG@5 P(rel=3)@5")
        verdicts = ahead(found, "nDCG@5")
        assert judge["separated"] == sum(each != "none" for each in verdicts.values())
        means = {row.run: row.expected for row in found.leaderboards[0].ranking}
        at = [each["judge"] for each in data["measures"][0]["judges"]].index(judge["judge"])
        for system in data["measures"][0]["systems"]:
            assert system["means"][at] == pytest.approx(means[system["run"]], abs=1e-12)
        for pair in data["measures"][0]["pairs"]:
            assert pair["judges"][verdicts[pair["first"], pair["second"]]] >= 1


def test_whether_agreement_on_labels_tells_which_tau_is_high_is_kendalls_tau(world: dict[str, Any]) -> None:
    for measure in world["data"]["measures"]:
        high = [each["tau"]["value"] for each in measure["judges"]]
        assert len(set(high)) > 1
        for name, value in measure["kappa_and_tau"].items():
            labels = [each["coefficients"][name]["value"] for each in world["data"]["labels"]]
            assert value == pytest.approx(stats.kendalltau(labels, high).statistic), name


def test_systems_say_the_range_of_every_conclusion(world: dict[str, Any]) -> None:
    measure = world["data"]["measures"][0]
    assert [each["run"] for each in measure["systems"]] == ["s0", "s1", "s2", "s3"]
    for each in measure["systems"]:
        assert each["least_mean"] == min(each["means"])
        assert each["worst_rank"] == max(each["ranks"])
    assert measure["systems"][3]["best_rank"] == 1.0
    assert measure["top"] == ["s0", "s1"]
    for pair in measure["pairs"]:
        assert sum(pair["judges"].values()) == 3
        assert pair["with_people"] == pair["judges"][pair["people"]]
    assert (STRESS.name, STRESS.format) == (Stress.KIND, Stress.FORMAT)


def test_labels_are_compared_on_what_everybody_labelled(world: dict[str, Any], tmp_path: Path) -> None:
    folder = world["folder"]
    lines = (folder / "exact.qrels").read_text().splitlines(keepends=True)
    (tmp_path / "half.qrels").write_text("".join(lines[: len(lines) // 2]))
    runs = [str(folder / "s0.trec"), str(folder / "s3.trec")]
    found = stress([tmp_path / "half.qrels"], folder / "people.qrels", runs, "nDCG@5", **FAST).to_dict()
    assert found["shared"] == {"pairs": len(lines) // 2, "queries": QUERIES // 2}
    assert found["notes"][0] == f"Labels that not everybody gave are left out: {len(lines) // 2} of people."
    assert found["measures"][0]["judges"][0]["tau"]["value"] == 1.0
    assert set(found["measures"][0]["kappa_and_tau"].values()) == {None}  # one judge ranks nothing


def test_what_cannot_be_is_refused(world: dict[str, Any], tmp_path: Path) -> None:
    folder = world["folder"]
    runs = [str(folder / "s0.trec"), str(folder / "s3.trec")]
    (tmp_path / "other.qrels").write_text("x 0 y 1\n")
    with pytest.raises(InputError, match="No pair of query and passage is labelled by people and by every judge"):
        stress([tmp_path / "other.qrels"], folder / "people.qrels", runs, "nDCG@5", **FAST)
    with pytest.raises(PolicyError, match="top must be an integer >= 2"):
        stress([folder / "exact.qrels"], folder / "people.qrels", runs, "nDCG@5", top=1)
    with pytest.raises(PolicyError, match="Unknown choice 'tset'"):
        stress([folder / "exact.qrels"], folder / "people.qrels", runs, "nDCG@5", tset="t")
