"""Drift: whether served queries still look like those that certified a router, tested at any time.

The needs of the certified queries come first, then those served, one by one. The conformal p-value of a served need is
its rank among all so far, itself included,

    p = (number below + u x number equal) / number,   u uniform in (0, 1)

If all are exchangeable, these p are independent and uniform (Vovk, Gammerman & Shafer 2005, "Algorithmic Learning in a
Random World", chapter 7), so that a bet 1 + λ g(p) with mean 1 multiplies a capital that is an e-process. Half of it
bets on a shift, g = 2p - 1, half on a change of spread, g = 12 (p - 1/2)^2 - 1, each with λ of both signs and two sizes
(a mixture, as in Vovk et al. 2021, "Retrain or not retrain: conformal test martingales for change-point detection"). By
Ville's inequality the capital ever reaches 1 / (1 - level) with a probability of at most 1 - level: the log may be
checked after every query.
"""

from __future__ import annotations

import json
from bisect import bisect_left, bisect_right, insort
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Final, NamedTuple

import numpy as np

from trueval.errors import Place, PolicyError
from trueval.report.result import Result
from trueval.retrieval.pipeline.router import Router
from trueval.retrieval.pipeline.router_file import read_router_file
from trueval.standings.standings import Floats

# Stakes λ, with which no bet loses all: g lies between -1 and 1 for a shift, between -1 and 2 for spread.
SHIFT_STAKES: Final = (-0.8, -0.4, 0.4, 0.8)
SPREAD_STAKES: Final = (-0.4, -0.2, 0.4, 0.8)


@dataclass(frozen=True)
class NeedSummary:
    """Needs of some queries.

    Attributes:
        queries: number of queries.
        median: median need.
        low: 10th percentile.
        high: 90th percentile.
        share: share of queries with more candidates.
    """

    queries: int
    median: float
    low: float
    high: float
    share: float


@dataclass(frozen=True, repr=False)
class DriftCheck(Result):
    """Whether served queries look like those of a certificate.

    Attributes:
        drifted: whether the evidence ever reached what the level asks for.
        level: of the test.
        needed: evidence that it asks for, 1 / (1 - level).
        evidence: e-value after the last query.
        largest: largest e-value so far.
        first: number of served queries at which it was first reached; None where it was not.
        certified: needs of the certified queries.
        served: needs of the served queries.
        measure: of the certificate.
        epsilon: its loss.
        threshold: of the router; None for infinite.
        seed: of the order among equal needs.
    """

    KIND: ClassVar = "route-check"
    FORMAT: ClassVar = 1

    drifted: bool
    level: float
    needed: float
    evidence: float
    largest: float
    first: int | None
    certified: NeedSummary
    served: NeedSummary
    measure: str
    epsilon: float
    threshold: float | None
    seed: int


class Evidence(NamedTuple):
    """[served query] e-value after it."""

    values: Floats

    def first(self, needed: float) -> int | None:
        """Number of queries at which it was first reached; None where it was not."""
        reached = np.flatnonzero(self.values >= needed)
        return int(reached[0]) + 1 if len(reached) else None


def drift_evidence(certified: Sequence[float], served: Sequence[float], rng: np.random.Generator) -> Evidence:
    """The e-process of served needs against certified ones.

    >>> bool(drift_evidence([0.0] * 20, [1.0] * 20, np.random.default_rng(0)).values[-1] > 20)
    True
    """
    known = sorted(certified)
    shift, spread = np.zeros(len(SHIFT_STAKES)), np.zeros(len(SPREAD_STAKES))
    out = np.empty(len(served))
    for at, (need, u) in enumerate(zip(served, rng.random(len(served)).tolist(), strict=True)):
        below, equal = bisect_left(known, need), bisect_right(known, need) - bisect_left(known, need) + 1
        insort(known, need)
        p = (below + u * equal) / len(known)
        shift += np.log1p(np.multiply(SHIFT_STAKES, 2 * p - 1))
        spread += np.log1p(np.multiply(SPREAD_STAKES, 12 * (p - 0.5) ** 2 - 1))
        logs = np.concatenate((shift, spread))
        top = logs.max()
        out[at] = np.exp(min(top + np.log(np.exp(logs - top).mean()), 700.0))
    return Evidence(out)


def check_drift(log: Path | str, router: Path | str, *, level: float = 0.95, seed: int = 0) -> DriftCheck:
    """Test the needs of a log against those of a router's certificate.

    Args:
        log: JSON lines, each an object with "need", in the order of serving.
        router: router.toml that served them.
        level: drift is found by chance with a probability of at most 1 - level, however often this is called.

    Raises:
        InputError: a file cannot be read, a line has no need, or the log is empty.
        PolicyError: the level is not between 0 and 1.

    >>> check_drift("route.jsonl", "router.toml").drifted  # doctest: +SKIP
    """
    if not 0 < level < 1:
        raise PolicyError(f"level must be a number between 0 and 1. Got {level!r}.")
    served, about, rule = read_needs(Path(log)), read_router_file(Path(router)), Router.load(router)
    found = drift_evidence(about.certificate.needs, served, np.random.default_rng(seed))
    needed = 1 / (1 - level)
    return DriftCheck(
        drifted=bool(found.values.max() >= needed),
        level=level,
        needed=needed,
        evidence=float(found.values[-1]),
        largest=float(found.values.max()),
        first=found.first(needed),
        certified=_summary(about.certificate.needs, rule.threshold),
        served=_summary(served, rule.threshold),
        measure=about.certificate.measure,
        epsilon=about.certificate.epsilon,
        threshold=rule.threshold if np.isfinite(rule.threshold) else None,
        seed=seed,
    )


def read_needs(log: Path) -> list[float]:
    """[query] needs of a log.

    Raises:
        InputError: it cannot be read, is empty, or a line has no need.
    """
    try:
        lines = log.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        told = getattr(error, "strerror", None) or error
        raise Place(str(log)).error(f"cannot be read ({told}). Name a log of JSON lines.") from None
    found = []
    for number, line in enumerate(lines, 1):
        if line.strip():
            found.append(_need(line, Place(str(log), number)))
    if not found:
        raise Place(str(log)).error("no query was served. Log Router.route(...).need of each query as a JSON line.")
    return found


def _need(line: str, place: Place) -> float:
    try:
        need = json.loads(line)["need"]
        if isinstance(need, bool) or not np.isfinite(need):
            raise ValueError(need)
        return float(need)
    except (ValueError, KeyError, TypeError, RecursionError):
        cure = 'Log Router.route(...): {"query": "q7", "need": -0.12}.'
        raise place.error(f"the line must be a JSON object with a number as need. {cure}") from None


def _summary(needs: Sequence[float], threshold: float) -> NeedSummary:
    values = np.asarray(needs)
    low, median, high = np.quantile(values, [0.1, 0.5, 0.9]).tolist()
    return NeedSummary(len(values), median, low, high, float((values >= threshold).mean()))
