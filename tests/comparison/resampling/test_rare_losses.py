"""What n queries can tell of losses that few queries have."""

import json
from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import binom
from tests.comparison.made_scores import made_scores

import trueval as tv
from trueval.comparison.checks import Check
from trueval.comparison.gate.gate import MaxDrop
from trueval.comparison.resampling.rare_losses import rare_losses
from trueval.evaluation.content_hashes import ContentHashes
from trueval.evaluation.scores import Scores


def held(run: Scores, base: Scores, limit: float = 0.01, **choices: object) -> Check:
    (check,) = tv.gate(run, [MaxDrop(None, limit)], baseline=base, **choices)
    return check


def pair(apart: np.ndarray, *, measures: str = "nDCG@10") -> tuple[Scores, Scores]:
    """A run that differs so from its baseline."""
    base = made_scores("base", np.full(len(apart), 0.5), measures=measures)
    return made_scores("run", 0.5 + apart, measures=measures), base


@pytest.mark.parametrize(("worse", "share"), [(0, 0.139), (1, 0.216)])
def test_the_share_is_the_upper_end_of_clopper_and_pearson(worse: int, share: float) -> None:
    """At the end, so few are worse with a chance of exactly .05."""
    found = rare_losses(worse, 20, 1.0, 0.95)
    assert found.share == pytest.approx(share, abs=5e-4)
    assert binom.cdf(worse, 20, found.share) == pytest.approx(0.05)
    assert (found.worse, found.units, found.loss) == (worse, 20, found.share)
    assert rare_losses(20, 20, 1.0, 0.95).share == 1


def test_equal_values_do_not_exclude_rare_losses() -> None:
    """A system that fails on one query in twenty has equal values on twenty queries in 36 % of worlds."""
    check = held(*pair(np.zeros(20)))
    assert (check.verdict, check.passed) == ("not worse", True)
    assert check.rare_losses == rare_losses(0, 20, 1.0, 0.95)
    assert "None of 20 queries is worse; losses up to 0.139 are not excluded." in check.line
    assert json.loads(json.dumps(check.to_dict()))["rare_losses"] == {
        "worse": 0,
        "units": 20,
        "share": pytest.approx(0.1391, abs=1e-4),
        "loss": pytest.approx(0.1391, abs=1e-4),
    }


def test_better_queries_do_not_exclude_rare_losses() -> None:
    """However many are better: 19 gain, one loses a little."""
    apart = np.full(20, 0.02)
    apart[3] = -0.001
    check = held(*pair(apart))
    assert check.verdict == "not worse"
    assert check.rare_losses == rare_losses(1, 20, 1.0, 0.95)
    assert "1 of 20 queries is worse; losses up to 0.216 are not excluded, if such queries can lose all" in check.line


def test_rounding_is_no_loss() -> None:
    check = held(*pair(np.full(20, -1e-13)))
    assert check.rare_losses is not None
    assert check.rare_losses.worse == 0


def test_less_of_a_measure_may_be_better() -> None:
    """Harm of one query fell, and that of three rose."""
    harm = np.array([0.1, -0.001, -0.001, -0.001, *np.zeros(36)])
    base = made_scores("base", np.full(40, 0.5), measures="Harm@5")
    check = held(made_scores("run", 0.5 - harm, measures="Harm@5"), base, 0.05)
    assert check.verdict == "not worse"
    assert check.rare_losses == rare_losses(3, 40, 1.0, 0.95)


def test_the_largest_loss_is_that_of_the_measure() -> None:
    """Ten documents can be lost by Hits@10; of DCG no largest loss is known, and the share alone is said."""
    hits = held(*pair(np.zeros(20), measures="Hits@10")).rare_losses
    assert hits is not None
    assert hits.loss == pytest.approx(10 * hits.share)
    check = held(*pair(np.zeros(20), measures="DCG@10"))
    assert check.to_dict()["rare_losses"]["loss"] is None
    assert "None of 20 queries is worse; losses on up to 13.9% of queries are not excluded." in check.line


def test_the_level_is_shared_out_between_checks() -> None:
    run, base = (made_scores(name, np.full((20, 2), 0.5), measures="nDCG@10 AP") for name in ("run", "base"))
    checks = tv.gate(run, [MaxDrop(None, 0.01)], baseline=base)
    assert [check.rare_losses for check in checks] == [rare_losses(0, 20, 1.0, 0.975)] * 2
    (wide,) = tv.gate(run, [MaxDrop("AP", 0.01)], baseline=base, level=0.99)
    assert wide.rare_losses == rare_losses(0, 20, 1.0, 0.99)


def test_clusters_count_once() -> None:
    """The cluster of the lost query gains on the whole, another one loses."""
    apart = np.zeros(40)
    apart[:6] = (-0.01, 0.02, -0.001, -0.001, 0.001, 0.0)
    clusters = {f"q{query}": f"c{query // 2}" for query in range(40)}
    check = held(*pair(apart), clusters=clusters)
    assert check.rare_losses == rare_losses(1, 20, 1.0, 0.95)
    assert "1 of 20 clusters is worse" in check.line


def test_the_same_rows_are_never_worse() -> None:
    content = ContentHashes({"run": "same"})
    run, base = (replace(made_scores(name, np.full(20, 0.5)), content=content) for name in ("run", "base"))
    check = held(run, base, when_same="pass")
    assert (check.verdict, check.rare_losses) == ("not worse", None)
    assert "excluded" not in check.line


@pytest.mark.parametrize("loss", [0.5, 0.03])
def test_a_loss_that_is_seen_needs_no_such_sentence(loss: float) -> None:
    rng = np.random.default_rng(5)
    check = held(*pair(rng.normal(-loss, 0.1, 50)))
    assert check.verdict in ("worse", "cannot tell")
    assert check.rare_losses is None


@pytest.mark.evidence
@pytest.mark.parametrize("better", [0.0, 0.5], ids=["nothing else differs", "half of the queries gain .02"])
@pytest.mark.parametrize("queries", [20, 50, 100, 200, 400])
def test_the_gate_where_one_query_in_twenty_fails(queries: int, better: float) -> None:
    """Each query loses everything with a chance of .05: the true loss is .049, or .0395, and the limit .01."""
    rng, worlds = np.random.default_rng([queries, int(10 * better)]), 2000
    true = 0.05 * 0.98 - 0.95 * better * 0.02
    said, covered = dict.fromkeys(("not worse", "cannot tell", "worse"), 0), 0
    base = made_scores("base", np.full(queries, 0.98))
    for seed in range(worlds):
        values = np.where(rng.random(queries) < better, 1.0, 0.98)
        values[rng.random(queries) < 0.05] = 0.0
        check = held(made_scores("run", values), base, resamples=1000, seed=seed, threads=1)
        said[check.verdict] += 1
        covered += check.rare_losses is None or check.rare_losses.loss >= true
    print(f"{queries} queries, {better:.0%} better: {said}, losses not excluded hold the true one: {covered / worlds}")
    assert covered / worlds >= 0.95
    assert said["worse"] + said["cannot tell"] > 0
