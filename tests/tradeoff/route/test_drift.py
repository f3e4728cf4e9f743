"""Drift of served scores: bets with mean 1, found when it is there, rarely when it is not, however often one looks."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from tests.retrieval.pipeline.test_routed_rerank import write_router

from trueval.errors import InputError, PolicyError
from trueval.report.number_texts import FRACTIONS
from trueval.report.view_texts import write
from trueval.retrieval.pipeline.config import settings_of_tables
from trueval.retrieval.pipeline.pipeline import Pipeline
from trueval.tradeoff.route.drift import SHIFT_STAKES, SPREAD_STAKES, check_drift, drift_evidence
from trueval.tradeoff.views.drift import view


def naive_evidence(certified: list[float], served: list[float], rng: np.random.Generator) -> list[float]:
    """The product of each bet, one by one, and their mean."""
    known, capital, found = list(certified), np.ones(8), []
    for need, u in zip(served, rng.random(len(served)), strict=True):
        known.append(need)
        p = (sum(each < need for each in known) + u * sum(each == need for each in known)) / len(known)
        bets = [1 + stake * (2 * p - 1) for stake in SHIFT_STAKES]
        bets += [1 + stake * (12 * (p - 0.5) ** 2 - 1) for stake in SPREAD_STAKES]
        capital *= bets
        found.append(capital.mean())
    return found


def test_evidence_is_the_mean_of_the_products_of_bets() -> None:
    rng = np.random.default_rng(0)
    certified, served = rng.integers(0, 9, 20).tolist(), rng.integers(0, 9, 40).tolist()
    found = drift_evidence(certified, served, np.random.default_rng(1)).values
    assert found == pytest.approx(naive_evidence(certified, served, np.random.default_rng(1)))


def test_bets_have_mean_one_and_lose_never_all() -> None:
    p = (np.arange(100_000) + 0.5) / 100_000
    for stakes, gain in ((SHIFT_STAKES, 2 * p - 1), (SPREAD_STAKES, 12 * (p - 0.5) ** 2 - 1)):
        for stake in stakes:
            bets = 1 + stake * gain
            assert bets.mean() == pytest.approx(1, abs=1e-8)
            assert bets.min() > 0


def test_drift_is_found_by_chance_in_fewer_than_one_of_twenty_logs_and_a_shift_soon() -> None:
    rng = np.random.default_rng(2)
    alike, shifted, wider = 0, 0, 0
    for _ in range(60):
        certified = rng.normal(size=100).tolist()
        alike += drift_evidence(certified, rng.normal(size=150).tolist(), rng).values.max() >= 20
        shifted += drift_evidence(certified, rng.normal(1.0, 1, size=150).tolist(), rng).values.max() >= 20
        wider += drift_evidence(certified, rng.normal(0, 2.5, size=150).tolist(), rng).values.max() >= 20
    assert alike <= 6  # 60 / 20 = 3; more than 6 of 60 has a chance of .03 at the very bound
    assert shifted >= 55
    assert wider >= 50


@pytest.fixture
def router(tmp_path: Path) -> Path:
    tables = {"sparse": {}, "rerank": {"model": "cross-encoder"}}
    return write_router(tmp_path / "router.toml", Pipeline(settings_of_tables(tables, "test")), 0.5, {"margin": -1.0})


def log_of(folder: Path, needs: list[float]) -> Path:
    place = folder / "route.jsonl"
    place.write_text(
        "".join(f'{{"query": "q{at}", "need": {need}}}\n' for at, need in enumerate(needs)), encoding="utf-8"
    )
    return place


def test_the_check_says_whether_the_promise_stands(router: Path, tmp_path: Path) -> None:
    rng = np.random.default_rng(4)
    alike = check_drift(log_of(tmp_path, rng.permutation([0.0, 1.0] * 20).tolist()), router)
    assert not alike.drifted
    assert write(view(alike).answer.sentence, FRACTIONS).startswith(
        "No drift is found in 40 served queries: largest evidence"
    )
    far = check_drift(log_of(tmp_path, (rng.random(60) + 5).tolist()), router)
    assert far.drifted
    told = write(view(far).answer.sentence, FRACTIONS)
    assert "The loss of at most 0.05 nDCG@10 is no longer promised." in told
    assert far.served.share == 1.0
    assert far.certified.share == 0.5


@pytest.mark.parametrize("text", ["", "{}\n", '{"need": "a"}\n', '{"need": NaN}\n', "[1]\n", "nothing\n"])
def test_a_log_without_needs_is_refused(router: Path, tmp_path: Path, text: str) -> None:
    (tmp_path / "route.jsonl").write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match=r"Log Router.route"):
        check_drift(tmp_path / "route.jsonl", router)
    with pytest.raises(PolicyError, match="level must be"):
        check_drift(tmp_path / "route.jsonl", router, level=1.0)
