"""`trueval frontier --route`: a sweep's routing becomes a certified file that production reads."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from tests.cli.test_report import Command
from tests.tradeoff.route.test_certificate import planted_inputs, routed_system
from tests.tradeoff.sweeps import made_sweep
from tests.tradeoff.swept import write_sweep

import trueval as tv
from trueval.errors import InputError, PolicyError
from trueval.report.json_fields import encode
from trueval.tradeoff.route.certificate import RouterChoice


@pytest.fixture
def swept(tmp_path: Path) -> Path:
    sweep = made_sweep() | {"route": encode(routed_system(planted_inputs(np.random.default_rng(7), 200)))}
    return write_sweep(tmp_path / "results", sweep)


def test_the_command_writes_the_router_and_says_what_it_promises(trueval: Command, swept: Path, tmp_path: Path) -> None:
    status, out, err = trueval("frontier", swept, "--route", "--epsilon", ".03", "--resamples", "50")
    assert status == 0, err
    told = " ".join(out.split())
    assert (
        "Certified on 100 queries: its loss of nDCG@10 against always 100, gains not counted, is at most 0.0300" in told
    )
    assert "random escalation" in told
    router = tv.Router.load(swept / "router.toml")
    assert (router.fewer, router.more) == (50, 100)
    assert f"wrote {swept / 'router.toml'}" in err
    for form in ("markdown", "latex"):
        assert "Certified on 100 queries" in trueval("frontier", swept, "--route", "--format", form).out
    done = trueval("frontier", swept, "--route", "--resamples", "50", "--out", tmp_path / "out")
    assert done.status == 0, done.err
    assert set(tv.Router.load(tmp_path / "out" / "router.toml").weights) <= {"margin", "entropy"}
    assert "router-block" in (tmp_path / "out" / "report.html").read_text(encoding="utf-8")


def test_a_level_asks_for_more_queries(swept: Path) -> None:
    found = tv.frontier(swept, route=RouterChoice(0.05, 0.9), resamples=50)
    assert found.result.router is not None
    assert found.result.router.method == "learn then test"
    with pytest.raises(PolicyError, match=r"ask for --epsilon 0\.0228 or more"):
        tv.frontier(swept, route=RouterChoice(0.02, 0.9), resamples=50)


def test_what_cannot_be_certified_is_refused(trueval: Command, swept: Path, tmp_path: Path) -> None:
    assert "goes with --route" in trueval("frontier", swept, "--epsilon", ".02").err
    with pytest.raises(PolicyError, match="No router was asked for"):
        tv.frontier(swept, resamples=50).router_toml()
    with pytest.raises(InputError, match=r"Add \[route\]"):
        tv.frontier(write_sweep(tmp_path / "other", made_sweep()), route=RouterChoice(), resamples=50)


def test_a_check_of_a_log_says_drift_by_its_exit_status(trueval: Command, swept: Path, tmp_path: Path) -> None:
    assert trueval("frontier", swept, "--route", "--epsilon", ".03", "--resamples", "50").status == 0
    log = tmp_path / "route.jsonl"
    for far, status in ((0.0, 0), (9.0, 1)):
        needs = np.random.default_rng(0).permutation(_needs(swept))[:40] + far
        log.write_text("".join(f'{{"need": {need}}}\n' for need in needs), encoding="utf-8")
        done = trueval("route", "check", log, "--router", swept / "router.toml", "--out", tmp_path / f"out{status}")
        assert done.status == status, done.err
        assert ("no longer promised" in " ".join(done.out.split())) == bool(status)
        assert "needs-block" in (tmp_path / f"out{status}" / "report.html").read_text(encoding="utf-8")


def _needs(swept: Path) -> list[float]:
    from trueval.retrieval.pipeline.router_file import read_router_file

    return list(read_router_file(swept / "router.toml").certificate.needs)
