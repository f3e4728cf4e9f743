"""Trials of refinements on pools whose true order is known, and their tables."""

import io
import json

import numpy as np
import pytest
from research.ranking_methods import METHODS
from research.refinement_trials import kendall_tau, simulate
from research.simulate import SIMULATE
from research.simulation_results import RefinementSimulation
from research.synthetic_pools import WORLDS
from rich.console import Console
from scipy import stats

from trueval.errors import PolicyError
from trueval.threads import Processes

QUICK = ["grades", "setwise", "window", "tournament"]


def test_tau_is_that_of_scipy() -> None:
    values = np.random.default_rng(2).random(20)
    assert kendall_tau(values) == pytest.approx(stats.kendalltau(values, -np.arange(20)).statistic)


def test_a_result_depends_on_nothing_else_that_is_tried() -> None:
    together = simulate(["noisy", "usual"], QUICK, pools=5, seed=2)
    alone = simulate(["usual"], ["setwise"], pools=5, seed=2)
    (_, usual) = together.worlds
    assert alone.worlds[0].methods[0] in usual.methods
    assert simulate(["usual"], ["setwise"], pools=5, seed=3) != alone


@pytest.mark.slow
def test_processes_change_nothing() -> None:
    with Processes(2) as executor:
        assert simulate(["usual"], QUICK, pools=5, executor=executor) == simulate(["usual"], QUICK, pools=5)


@pytest.fixture(scope="module")
def tried() -> RefinementSimulation:
    return simulate(["usual"], ["grades", "setwise", "posterior"], pools=1)


@pytest.mark.slow
def test_the_posterior_beats_the_grades_and_its_rows_are_of_one_run(tried: RefinementSimulation) -> None:
    (world,) = tried.worlds
    rows = {each.method: each for each in world.methods}
    assert rows["posterior, 40 calls"].membership > rows["grades alone"].membership
    assert [rows[f"posterior, {calls} calls"].calls for calls in (20, 40, 80)] == [20, 40, 80]
    assert rows["posterior, stop at 0.97"].calls <= rows["posterior, stop at 0.98"].calls
    (curve,) = world.curves
    assert curve.method == "posterior"
    assert [point.calls for point in curve.points] == list(range(81))
    assert curve.points[20].membership == rows["posterior, 20 calls"].membership
    assert rows["posterior, 40 calls"].gap == pytest.approx(curve.points[40].claimed - curve.points[40].membership)


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"worlds": ["usuall"]}, "Unknown world 'usuall'.*Did you mean usual?"),
        ({"methods": ["heap"]}, "Unknown method 'heap'"),
        ({"pools": 0}, "at least one pool"),
    ],
)
def test_what_is_not_known_is_refused(options: dict, says: str) -> None:
    with pytest.raises(PolicyError, match=says):
        simulate(**options)


def test_views(tried: RefinementSimulation) -> None:
    result = json.loads(json.dumps(tried.to_dict()))
    setwise = result["worlds"][0]["methods"][1]
    out = io.StringIO()
    Console(file=out, width=120, color_system=None).print(SIMULATE.write(result, "table"))
    for text in (out.getvalue(), SIMULATE.write(result, "markdown"), SIMULATE.write(result, "latex")):
        assert f"{setwise['membership']:.4f}" in text
        assert "setwise heapsort" in text
    lines = SIMULATE.write(result, "csv").splitlines()
    assert len(lines) == 1 + sum(len(world["methods"]) for world in result["worlds"])


# Two worlds are of methods that see long lists or large pools. docs/golden.md has the figures.
CALIBRATED = [name for name in WORLDS if name not in ("large", "long lists")]


@pytest.mark.evidence
@pytest.mark.parametrize("name", CALIBRATED)
def test_the_stop_claims_what_is_so(name: str) -> None:
    """docs/golden.md: claimed − actual is at most .02, and the reverse .04, in every world; 200 pools of each."""
    with Processes(2) as executor:
        (world,) = simulate([name], ["posterior-built"], pools=200, executor=executor).worlds
    (found,) = world.methods
    assert found.gap is not None
    assert found.gap_error is not None
    print(
        f"\n| {name} | {found.calls:.1f} | {found.claimed:.3f} | {found.judged:.3f} | {found.gap:+.3f} ± "
        f"{found.gap_error:.3f} | {found.membership:.3f} |"
    )
    assert found.gap <= 0.02 + 2 * found.gap_error
    assert found.gap >= -0.04


@pytest.mark.slow
def test_the_stop_claims_what_is_so_where_grades_are_gross_or_say_nothing() -> None:
    """The evidence in small: the worst world of gross errors, and one without any sense in its grades."""
    for world in simulate(["4 of 20", "flat"], ["posterior-built"], pools=8).worlds:
        (found,) = world.methods
        assert found.gap is not None
        assert found.gap_error is not None
        assert -0.04 - 2 * found.gap_error <= found.gap <= 0.02 + 2 * found.gap_error


@pytest.mark.evidence
def test_the_figures_of_the_formulas() -> None:
    """docs/golden.md and issue 17, on 100 pools; docs/golden.md has the table."""
    names = [name for name in METHODS if name in ("paper", "paper-15", "posterior")]
    with Processes(2) as executor:
        (world,) = simulate(["usual"], names, pools=100, executor=executor).worlds
    rows = {each.method: each for each in world.methods}
    short, long = rows["paper S6, T=3"], rows["paper S6, T=15"]
    assert short.membership == pytest.approx(0.937, abs=0.015)
    assert long.membership == pytest.approx(0.967, abs=0.01)
    assert short.tau == pytest.approx(0.827, abs=0.02)
    assert long.tau == pytest.approx(0.914, abs=0.01)
    assert short.calls == pytest.approx(53, abs=10)
    assert long.calls == pytest.approx(161, abs=20)  # measured: 176.5
    ours = rows["posterior, 40 calls"]
    assert ours.membership >= 0.98
    assert ours.tau >= 0.94
    assert ours.gap is not None
    assert abs(ours.gap) <= 0.01
