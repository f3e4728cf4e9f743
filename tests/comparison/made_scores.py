"""Scores made by hand, for tests of what comes after evaluation."""

from collections.abc import Sequence

import numpy as np

from trueval.evaluation.scores import Scores
from trueval.evaluation.ties import TieSummary
from trueval.measures import Measure, parse_list
from trueval.measures.measure import Definition
from trueval.policy.conventions import Policy

LOSS = Measure(
    Definition("Loss", "Less of it is better.", "-", "-", lambda standings, measure: None, better="lower"),
    "Loss",
)


def made_scores(
    name: str,
    expected: Sequence[float] | np.ndarray,
    reach: float | Sequence[float] | np.ndarray = 0.0,
    *,
    tie_broken: Sequence[float] | np.ndarray | None = None,
    measures: tuple[Measure, ...] | str = "nDCG@10",
    missing: tuple[str, ...] = (),
    ids: tuple[str, ...] | None = None,
    policy: Policy | None = None,
) -> Scores:
    """Scores of one run: [query] or [query, measure]; ties move a value by reach either way with the same chance."""
    parsed = parse_list(measures) if isinstance(measures, str) else measures
    values = np.asarray(expected, dtype=float).reshape(-1, len(parsed))
    width = np.broadcast_to(np.asarray(reach, dtype=float).reshape(-1, 1), values.shape)
    return Scores(
        name,
        ids or tuple(f"q{index}" for index in range(len(values))),
        parsed,
        expected=values,
        lowest=values - width,
        highest=values + width,
        tie_broken=values if tie_broken is None else np.asarray(tie_broken, dtype=float).reshape(values.shape),
        sd=width,
        exact=(True,) * len(parsed),
        ties=TieSummary(0.0, 1, ()),
        missing_queries=missing,
        unjudged_queries=(),
        policy=policy or Policy(),
        notes=(),
    )
