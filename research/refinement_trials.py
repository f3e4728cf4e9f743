"""Simulated refinements: methods on pools with a known true order, with judges of a known error model."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any, Final, NamedTuple, TypeVar

import numpy as np

from research.ranking_methods import CURVE, METHODS, TOP, USUAL_METHODS, MethodAnswer
from research.simulation_results import CurvePoint, MethodResult, RefinementCurve, RefinementSimulation, WorldResult
from research.synthetic_pools import WORLDS, SimulatedJudge, SyntheticPool, SyntheticWorld, draw_pool
from trueval.errors import PolicyError, nearest
from trueval.standings.standings import Floats, Ints
from trueval.threads import LOCAL, Executor

Named = TypeVar("Named")
POOLS: Final = 100  # docs/golden.md
PORTION: Final = 4  # pools between two words about progress


class MethodTrial(NamedTuple):
    """The result of one method on one pool, as in `simulation_results.MethodResult`."""

    method: str
    calls: int
    passages: int
    membership: float
    judged: float
    tau: float
    claimed: float | None


def simulate(
    worlds: Sequence[str | SyntheticWorld] = tuple(WORLDS),
    methods: Sequence[str] = USUAL_METHODS,
    *,
    pools: int = POOLS,
    seed: int = 0,
    executor: Executor = LOCAL,
    begin: Callable[[str], None] = lambda name: None,
) -> RefinementSimulation:
    """Run methods on pools of each world.

    The pools of a world, and what the judge answers to a method, depend on the seed, the world and the method alone:
    not on what else is tried, nor on the executor.

    Args:
        worlds: names of `WORLDS`, or worlds of one's own.
        methods: names of `METHODS`.
        pools: how many of each world.
        seed: of everything random, at least 0.
        executor: who does the work; what it is given can be sent to other processes.
        begin: told the name of the world before every `PORTION` of its pools.

    Raises:
        PolicyError: a name is not known, or there are no pools.

    >>> found = simulate(["usual"], ["grades"], pools=3)
    >>> found.worlds[0].methods[0].calls
    0.0
    """
    if pools < 1 or seed < 0:
        raise PolicyError(f"A simulation needs at least one pool and a seed of at least 0. Got {pools} and {seed}.")
    chosen = [world if isinstance(world, SyntheticWorld) else _find_by_name(world, WORLDS, "world") for world in worlds]
    for name in methods:
        _find_by_name(name, METHODS, "method")
    found = []
    for world in chosen:
        work = partial(trials_of, world=world, methods=tuple(methods), seed=seed)
        done: list[list[MethodTrial]] = []
        for first in range(0, pools, PORTION):
            begin(world.name)
            done += executor.map(work, range(first, min(first + PORTION, pools)))
        found.append(_summarize_trials(world, done))
    return RefinementSimulation(tuple(found), pools, TOP, seed)


def _find_by_name(name: str, known: Mapping[str, Named], noun: str) -> Named:
    if name not in known:
        raise PolicyError(f"Unknown {noun} {name!r}. It must be one of {', '.join(known)}.{nearest(name, known)}")
    return known[name]


def trials_of(number: int, *, world: SyntheticWorld, methods: tuple[str, ...], seed: int) -> list[MethodTrial]:
    """The results of all methods on one pool.

    Args:
        number: of the pool.
        world: of which kind.
        methods: names of `METHODS`.
        seed: of everything random.
    """
    of_pool = (seed, zlib.crc32(world.name.encode()), number)
    pool = draw_pool(world, np.random.default_rng(of_pool))
    trials = []
    for name in methods:
        rng, errors = map(np.random.default_rng, np.random.SeedSequence((*of_pool, zlib.crc32(name.encode()))).spawn(2))
        judge = SimulatedJudge(pool, world, errors)
        trials += [trial_of(answer, pool) for answer in METHODS[name](pool.grades, judge, rng)]
    return trials


def trial_of(answer: MethodAnswer, pool: SyntheticPool) -> MethodTrial:
    """Compare an answer with the true order.

    Args:
        answer: of a method.
        pool: whose truth is known.
    """
    returned = np.array(answer.ranking, np.int64)
    return MethodTrial(
        answer.method,
        answer.calls,
        answer.passages,
        _overlap_with_best(returned, pool.utilities),
        _overlap_with_best(returned, pool.judged),
        kendall_tau(pool.utilities[returned]),
        answer.claimed,
    )


def _overlap_with_best(returned: Ints, values: Floats) -> float:
    best = np.argsort(-values)[: len(returned)]
    return len(np.intersect1d(returned, best)) / len(returned)


def kendall_tau(values: Floats) -> float:
    """Kendall's τ between an order and distinct true values.

    Args:
        values: [place] of what the order puts there; the best should come first.

    >>> kendall_tau(np.array([3.0, 1.0, 2.0])).as_integer_ratio() == (1 / 3).as_integer_ratio()
    True
    """
    first, second = np.triu_indices(len(values), 1)
    return float(np.sign(values[first] - values[second]).mean()) if len(first) else 1.0


def _summarize_trials(world: SyntheticWorld, pools: Iterable[list[MethodTrial]]) -> WorldResult:
    of_method: dict[str, list[MethodTrial]] = {}
    of_curve: dict[str, dict[int, list[MethodTrial]]] = {}
    for trials in pools:
        for trial in trials:
            if trial.method.endswith(CURVE):
                of_curve.setdefault(trial.method.removesuffix(CURVE), {}).setdefault(trial.calls, []).append(trial)
            else:
                of_method.setdefault(trial.method, []).append(trial)
    curves = tuple(RefinementCurve(name, tuple(map(_point, sorted(found.items())))) for name, found in of_curve.items())
    return WorldResult(world, tuple(_result(name, trials, curves) for name, trials in of_method.items()), curves)


def _point(found: tuple[int, list[MethodTrial]]) -> CurvePoint:
    calls, trials = found
    return CurvePoint(calls, _mean(trials, "membership"), _mean(trials, "tau"), _mean(trials, "claimed"))


def _result(name: str, trials: list[MethodTrial], curves: tuple[RefinementCurve, ...]) -> MethodResult:
    members = np.array([trial.membership for trial in trials])
    claims = trials[0].claimed is not None
    claimed, judged = (_mean(trials, "claimed") if claims else None), _mean(trials, "judged")
    gaps = np.array([trial.claimed - trial.judged for trial in trials if trial.claimed is not None])
    membership = float(members.mean())
    needed = [calls for curve in curves if (calls := calls_to_reach(membership, curve.points)) is not None]
    return MethodResult(
        method=name,
        calls=_mean(trials, "calls"),
        passages=_mean(trials, "passages"),
        membership=membership,
        error=_error(members),
        judged=judged,
        tau=_mean(trials, "tau"),
        claimed=claimed,
        gap=None if claimed is None else claimed - judged,
        gap_error=_error(gaps) if claims else None,
        wrong=float((members < 1).mean()),
        posterior_calls=min(needed, default=None),
    )


def _error(values: Floats) -> float:
    """The standard error of a mean; 0 for a single value."""
    return float(values.std(ddof=1) / np.sqrt(len(values))) if len(values) > 1 else 0.0


def calls_to_reach(membership: float, curve: Sequence[CurvePoint]) -> int | None:
    """The number of calls after which the membership of the top no longer changes; None if it never settles.

    Args:
        membership: to reach.
        curve: of the posterior, by calls.

    >>> curve = [CurvePoint(calls, share, 0.0, 0.0) for calls, share in ((0, 0.8), (1, 0.95), (2, 0.9), (3, 0.96))]
    >>> calls_to_reach(0.8, curve), calls_to_reach(0.92, curve), calls_to_reach(0.99, curve)
    (0, 3, None)
    """
    below = [place for place, point in enumerate(curve) if point.membership < membership]
    first = below[-1] + 1 if below else 0
    return curve[first].calls if first < len(curve) else None


def _mean(trials: Sequence[Any], name: str) -> float:
    return float(np.mean([getattr(trial, name) for trial in trials]))
