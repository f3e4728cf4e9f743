"""Results of a simulation: methods on worlds with a known true order."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from research.synthetic_pools import SyntheticWorld

KIND = "golden-simulate"
# 1: the first.
FORMAT_VERSION = 1


class MethodResult(NamedTuple):
    """Means over the pools of one world.

    Attributes:
        method: its name.
        calls: of the judge.
        passages: read by the judge.
        membership: share of the returned documents that truly belong to the best.
        error: standard error of that mean.
        judged: share that belongs to the best as the judge itself means it.
        tau: Kendall's τ between the order returned and the true one, of the documents returned.
        claimed: expected overlap as the method claims it; None where it claims nothing.
        gap: claimed − judged; None likewise.
        gap_error: standard error of that mean; None likewise.
        wrong: share of the lists with at least one wrong member.
        posterior_calls: calls after which one of the curves has this membership and keeps it; None where none does.
    """

    method: str
    calls: float
    passages: float
    membership: float
    error: float
    judged: float
    tau: float
    claimed: float | None
    gap: float | None
    gap_error: float | None
    wrong: float
    posterior_calls: int | None


class CurvePoint(NamedTuple):
    """Means of a posterior before a round.

    Attributes:
        calls: so far.
        membership: as in `MethodResult`.
        tau: likewise.
        claimed: likewise.
    """

    calls: int
    membership: float
    tau: float
    claimed: float


class RefinementCurve(NamedTuple):
    """The quality of a posterior after every call.

    Attributes:
        method: its name.
        points: by calls.
    """

    method: str
    points: tuple[CurvePoint, ...]


@dataclass(frozen=True)
class WorldResult:
    """The results of one world.

    Attributes:
        world: of which kind.
        methods: in the order asked.
        curves: of each posterior that was tried.
    """

    world: SyntheticWorld
    methods: tuple[MethodResult, ...]
    curves: tuple[RefinementCurve, ...]

    def to_dict(self) -> dict[str, Any]:
        """The world in the JSON of a simulation."""
        return {
            **self.world.to_dict(),
            "methods": [each._asdict() for each in self.methods],
            "curves": [
                {"method": each.method, "points": [point._asdict() for point in each.points]} for each in self.curves
            ],
        }


@dataclass(frozen=True)
class RefinementSimulation:
    """The results of methods on worlds with a known true order.

    Attributes:
        worlds: in the order asked.
        pools: of each world.
        top: how many documents are the best.
        seed: of everything random.
    """

    worlds: tuple[WorldResult, ...]
    pools: int
    top: int
    seed: int

    def to_dict(self) -> dict[str, Any]:
        """The JSON of `python -m research.simulate`; null where not available."""
        from trueval.version import __version__

        return {
            "kind": KIND,
            "format": FORMAT_VERSION,
            "trueval": __version__,
            "pools": self.pools,
            "top": self.top,
            "seed": self.seed,
            "worlds": [each.to_dict() for each in self.worlds],
        }


def rows(result: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """One row for each world and method.

    Args:
        result: the JSON of `python -m research.simulate`.
    """
    for world in result["worlds"]:
        for method in world["methods"]:
            yield {"world": world["name"], **method}
