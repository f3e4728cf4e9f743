"""Ranking methods of a simulation, by name."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final, NamedTuple, TypeAlias

import numpy as np

from research.baselines.heapsort import heapsort, pairwise_heapsort
from research.baselines.tournaments import tournaments
from research.baselines.trueskill import trueskill_stop
from research.baselines.windows import sliding_window
from research.synthetic_pools import SimulatedJudge
from trueval.golden.build.refine_pools import RefinementSettings
from trueval.golden.refine.batch_choice import INSIDE
from trueval.golden.refine.paper_s6 import AUTHORS_TURNS, PaperSettings, paper_s6
from trueval.golden.refine.posterior import Posterior
from trueval.golden.refine.posterior_s6 import PosteriorSettings, expected_overlap, posterior_s6
from trueval.standings.standings import Floats

TOP: Final = 20
PAPER_BUDGET: Final = 500  # far above what it takes
BUDGETS: Final = (20, 40, 80)
STOPS: Final = (0.97, 0.98)
AS_BUILT: Final = "posterior, as built"
CURVE: Final = ": after every round"  # what the name of a method ends with where an answer is a point of its curve


class MethodAnswer(NamedTuple):
    """The ranking of a method, and the calls it took.

    Attributes:
        method: its name.
        ranking: the documents that it returns, the best first.
        calls: of the judge.
        passages: read by the judge.
        claimed: expected overlap; None where the method claims nothing.
    """

    method: str
    ranking: tuple[int, ...]
    calls: int
    passages: int
    claimed: float | None


Method: TypeAlias = Callable[[Floats, SimulatedJudge, np.random.Generator], "Iterator[MethodAnswer]"]


def grades_alone(grades: Floats, judge: SimulatedJudge, rng: np.random.Generator) -> Iterator[MethodAnswer]:
    """The order of the grades, ties in random order: the baseline without refinement."""
    ranking = np.lexsort((rng.random(len(grades)), -grades))
    yield _answer("grades alone", ranking, judge, None)


def paper_method(turns: int) -> Method:
    """The published refinement, which stops after a number of turns without a change of the top."""

    def method(grades: Floats, judge: SimulatedJudge, rng: np.random.Generator) -> Iterator[MethodAnswer]:
        settings = PaperSettings(turns=turns)
        found = paper_s6(grades, judge, rng, top=TOP, budget=PAPER_BUDGET, settings=settings)
        yield _answer(f"paper S6, T={turns}", found.ranking, judge, None)

    return method


def posterior(at_once: int = 1, *, slots: bool = False, inside: float = INSIDE) -> Method:
    """The refinement by a posterior, at three budgets and under two stopping rules, from one run.

    Until it stops, a refinement does the same whatever its budget and its stop are.
    """
    name = "posterior" + (f", {at_once} at once" if at_once > 1 else "") + (", slots" if slots else "")
    name += ", members only" if not inside else ""

    def method(grades: Floats, judge: SimulatedJudge, rng: np.random.Generator) -> Iterator[MethodAnswer]:
        trace: list[MethodAnswer] = []

        def watch(calls: int, found: Posterior, members: Floats) -> None:
            claimed = expected_overlap(found, members, TOP)
            trace.append(_answer(name, found.ranking(), judge, claimed))

        settings = PosteriorSettings(at_once=at_once, overlap=2.0, slot_bias=1.0 if slots else None, inside=inside)
        posterior_s6(grades, judge, rng, top=TOP, budget=max(BUDGETS), settings=settings, watch=watch)
        yield from ends_of(name, trace, -(-len(grades) // settings.batch))

    return method


def as_built(grades: Floats, judge: SimulatedJudge, rng: np.random.Generator) -> Iterator[MethodAnswer]:
    """The refinement of `trueval golden build` with its defaults and its stopping rule."""
    how = RefinementSettings()
    found = posterior_s6(
        grades, judge, rng, top=how.top, budget=how.calls, settings=PosteriorSettings(at_once=how.parallel)
    )
    yield _answer(AS_BUILT, found.posterior.ranking(), judge, found.overlap)


def ends_of(name: str, trace: list[MethodAnswer], least: int) -> Iterator[MethodAnswer]:
    """The state of a refinement at each budget and each stop, and after every round.

    Args:
        name: of the method.
        trace: before each round.
        least: calls before which no stop ends it.
    """
    ends = [(f"{budget} calls", budget, 0.0) for budget in BUDGETS]
    ends += [(f"stop at {stop:g}", least, stop) for stop in STOPS]
    for about, calls, claimed in ends:
        found = (each for each in trace if each.calls >= calls and (each.claimed or 0.0) >= claimed)
        yield next(found, trace[-1])._replace(method=f"{name}, {about}")
    yield from (each._replace(method=f"{name}{CURVE}") for each in trace)


def trueskill(grades: Floats, judge: SimulatedJudge, rng: np.random.Generator) -> Iterator[MethodAnswer]:
    """TrueSkill, stopped when the top is known."""
    found = trueskill_stop(grades, judge, rng, top=TOP)
    yield _answer("TrueSkill, stop", found.ranking, judge, found.overlap)


def _baseline_method(name: str, rank: Callable[[Floats, SimulatedJudge, np.random.Generator], list[int]]) -> Method:
    def method(grades: Floats, judge: SimulatedJudge, rng: np.random.Generator) -> Iterator[MethodAnswer]:
        yield _answer(name, rank(grades, judge, rng), judge, None)

    return method


def _answer(name: str, ranking: object, judge: SimulatedJudge, claimed: float | None) -> MethodAnswer:
    best = tuple(int(each) for each in np.asarray(ranking)[:TOP])
    return MethodAnswer(name, best, judge.calls, judge.passages, claimed)


METHODS: Final[dict[str, Method]] = {
    "grades": grades_alone,
    "paper": paper_method(3),
    "paper-15": paper_method(AUTHORS_TURNS),
    "posterior": posterior(),
    "posterior-4": posterior(4),
    "posterior-members": posterior(inside=0.0),
    "posterior-slots": posterior(slots=True),
    "posterior-built": as_built,
    "setwise": _baseline_method("setwise heapsort", lambda *given: heapsort(*given, top=TOP)),
    "pairwise": _baseline_method("pairwise heapsort", lambda *given: pairwise_heapsort(*given, top=TOP)),
    "window": _baseline_method("window 20/10", sliding_window),
    "window-3": _baseline_method("window 20/10, 3 passes", lambda *given: sliding_window(*given, passes=3)),
    "window-5": _baseline_method(
        "window 5/2, 4 passes", lambda *given: sliding_window(*given, window=5, step=2, passes=4)
    ),
    "tournament": _baseline_method("tournaments, 1 round", lambda *given: tournaments(*given, rounds=1)),
    "tournament-5": _baseline_method("tournaments, 5 rounds", lambda *given: tournaments(*given, rounds=5)),
    "trueskill": trueskill,
}
# What is tried where nothing is named: all but those that ask about one thing more, or stop where another goes on.
USUAL_METHODS: Final = tuple(name for name in METHODS if name not in ("posterior-slots", "posterior-built"))
