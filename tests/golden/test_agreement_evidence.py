"""What the documentation says of 17 real judges, of stratified samples and of intervals, measured again."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.conftest import SHARED

from trueval.golden.validation.agreement_intervals import Resampler
from trueval.golden.validation.coefficients import of_tables
from trueval.golden.validation.label_files import LabelChoices
from trueval.golden.validation.stress import stress
from trueval.judgments import Judgments

pytestmark = pytest.mark.evidence
LABELS = SHARED / "labels" / "llmjudge"
GRADES = np.arange(4.0)


@pytest.fixture(scope="module")
def judges() -> list[Path]:
    found = sorted((LABELS / "judges").glob("*.gz"))
    if not found:
        pytest.skip("real data is absent: ../shared/data/labels/llmjudge")
    return found


def tables(one: Any, other: Any, weights: Any) -> Any:
    found = np.zeros((4, 4))
    np.add.at(found, (one, other), weights)
    return found


def test_a_sample_by_the_judges_grade_overstates_agreement_and_its_weights_mend_that(judges: list[Path]) -> None:
    """100, 200 and 400 labels, as many of each grade of willia-umbrela1, 2,000 samples each."""
    people = Judgments.read(LABELS / "human.qrels").frame
    judge = Judgments.read(next(path for path in judges if "umbrela1" in path.name)).frame
    both = people.join(judge, on=["query_id", "doc_id"], maintain_order="left")
    one, other = (both[name].to_numpy().astype(int) for name in ("grade", "grade_right"))
    truth = of_tables(tables(one, other, 1.0), GRADES)
    rng, strata = np.random.default_rng(0), [np.flatnonzero(other == grade) for grade in range(4)]
    for size in (100, 200, 400):
        each, plain, weighted = size // 4, [], []
        for _ in range(2000):
            some = np.concatenate([rng.choice(stratum, each, replace=False) for stratum in strata])
            weights = np.repeat([len(stratum) / each for stratum in strata], each)
            plain.append(tables(one[some], other[some], 1.0))
            weighted.append(tables(one[some], other[some], weights))
        alone, estimated = (of_tables(np.array(found), GRADES) for found in (plain, weighted))
        for name in ("kappa", "kappa_quadratic", "alpha_ordinal"):
            assert alone[name].mean() - truth[name] > 0.015, (size, name)
            assert abs(estimated[name].mean() - truth[name]) < 0.006, (size, name)


@pytest.mark.parametrize("queries", [25, 50])
def test_intervals_over_queries_hold_the_kappa_of_all_queries(queries: int) -> None:
    """1,000 samples of queries whose agreement differs, 20 passages each."""
    rng = np.random.default_rng(queries)
    steadiness = rng.beta(4, 3, 3000)  # of the judge in each query
    one = rng.integers(0, 4, (3000, 20))
    same = rng.random(one.shape) < steadiness[:, None]
    other = np.where(same, one, rng.integers(0, 4, one.shape))
    parts = np.array([tables(a, b, 1.0) for a, b in zip(one, other, strict=True)])
    truth = {name: float(value) for name, value in of_tables(parts.sum(axis=0), GRADES).items()}
    held = dict.fromkeys(("kappa", "kappa_quadratic", "alpha_ordinal"), 0)
    for draw in range(1000):
        some = parts[rng.choice(3000, queries, replace=False)]
        found = Resampler(500, draw).values(some, lambda sums: of_tables(sums, GRADES))
        for name in held:
            value = found[name]
            held[name] += (value.low or 0) <= truth[name] <= (value.high or 0)
    print(queries, held)
    for name, count in held.items():
        assert 0.93 <= count / 1000 <= 0.97, (name, count)


@pytest.fixture(scope="module")
def found(judges: list[Path], tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """17 runs, each the order of one judge's labels, and the 17 judges; teams are families."""
    folder = tmp_path_factory.mktemp("runs")
    teams: dict[str, list[str]] = {}
    for path in judges:
        name = path.name.removesuffix(".qrels.gz")
        teams.setdefault(name.split("-")[0], []).append(name)
        rows = (line.split() for line in gzip.decompress(path.read_bytes()).decode().splitlines())
        (folder / f"{name}.trec").write_text("".join(f"{q} Q0 {d} 0 {grade} {name}\n" for q, _, d, grade in rows))
    family = tmp_path_factory.mktemp("family") / "teams.toml"
    runs = "".join(f"{team} = {json.dumps(names)}\n" for team, names in teams.items())
    family.write_text(f"[runs]\n{runs}[judges]\n" + "".join(f'{n} = "{t}"\n' for t, ns in teams.items() for n in ns))
    runs_read = [str(path) for path in sorted(folder.iterdir())]
    drop = LabelChoices(outside="drop")
    return stress(judges, LABELS / "human.qrels", runs_read, "nDCG@10", families=family, top=5, choices=drop).to_dict()


def test_rankings_of_other_teams_runs_hide_how_little_labels_agree(found: dict[str, Any]) -> None:
    measure = found["measures"][0]
    kappa = {each["judge"]: each["coefficients"]["kappa_quadratic"]["value"] for each in found["labels"]}
    tau = {each["judge"]: each["tau_without"]["value"] for each in measure["families"]}
    assert min(kappa, key=lambda judge: kappa[judge]) == "TREMA-rubric0"
    assert kappa["TREMA-rubric0"] == pytest.approx(0.162, abs=5e-4)
    assert max(tau, key=lambda judge: tau[judge]) == "TREMA-rubric0"
    assert tau["TREMA-rubric0"] == pytest.approx(0.909, abs=5e-4)
    assert np.median(list(tau.values())) == pytest.approx(0.717, abs=5e-4)


def test_judges_lift_what_their_own_team_ranked_and_find_what_people_do_not(found: dict[str, Any]) -> None:
    """Verdicts draw as many tie orders as they need, so that no pair is undecidable for want of draws."""
    measure = found["measures"][0]
    assert all(each["lift"]["extra"]["low"] > 0 for each in measure["families"])
    assert np.median([each["lift"]["extra"]["value"] for each in measure["families"]]) == pytest.approx(4.15, abs=0.01)
    assert measure["separated"] == 47
    # Expected are the rates of 200,000 sign patterns. A p near .05 of 10,000 has a standard error of .0022, and a pair
    # that it turns moves a rate: over 13 seeds the medians had standard deviations of .006, .008, .017 and .008, of
    # which three are allowed.
    judges, left = ([each[rates] for each in measure[of]] for rates, of in (("all", "judges"), ("without", "families")))
    assert np.median([each["false_rate"] for each in judges]) == pytest.approx(0.591, abs=0.019)
    assert np.median([each["missed_rate"] for each in judges]) == pytest.approx(0.532, abs=0.024)
    assert np.median([each["false_rate"] for each in left]) == pytest.approx(0.429, abs=0.051)
    assert np.median([each["missed_rate"] for each in left]) == pytest.approx(0.452, abs=0.024)
    spread = measure["spread_unrelated"]
    assert (spread["pairs"], spread["judges_oppose"]) == (136, 3)
    assert abs(spread["all_judges_agree"] - 48) <= 2
    best = next(each for each in measure["judges"] if each["judge"] == "willia-umbrela1")
    assert (best["separated"], best["all"]["false"], best["all"]["missed"]) == (81, 34, 0)
