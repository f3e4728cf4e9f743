"""PyTerrier: experiments whose values are exact under ties. Written for pyterrier 1.1 and newer; tried with 1.1.2.

It needs frames only, no Java. Change the import of `Experiment`, and a column with the tie range follows each measure::

    from trueval.integrations.pyterrier import Experiment
    Experiment([bm25, dense], topics, qrels, [RR @ 10], names=["bm25", "dense"])

`with install():` does the same for pt.Experiment, pt.Evaluate and pt.GridSearch, whose values come from ir_measures.
Its measures, such as RR_lowest and RA_nWG, are those of trueval.integrations.ir_measures.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from trueval.integrations.hosts import need_host

need_host("pyterrier", "1.1.0")

import ir_measures
import pyterrier as pt

from trueval.integrations.ir_measures import install, measures

__all__ = ["Experiment", "install"]


def Experiment(
    retr_systems: object,
    topics: object,
    qrels: object,
    eval_metrics: Sequence[object],
    names: Sequence[str] | None = None,
    *,
    ties: str = "expected",
    ranges: bool | None = None,
    **options: object,
) -> Any:
    """Run pt.Experiment with the values of trueval.

    Args:
        retr_systems: as in pt.Experiment.
        topics: as in pt.Experiment.
        qrels: as in pt.Experiment.
        eval_metrics: measures of ir_measures, or names of trec_eval.
        names: as in pt.Experiment.
        ties: the number to give where equal scores leave several: "expected", "lowest", "highest" or "tie-broken".
        ranges: whether the tie range follows each measure; None: unless there is a baseline, which PyTerrier would test
            ranges against too.
        options: other options of pt.Experiment.

    Returns:
        What pt.Experiment returns.

    Raises:
        PolicyError: ties is no such choice.
    """
    if ranges is None:
        ranges = options.get("baseline") is None
    with install(ties):
        metrics = [each for metric in eval_metrics for each in _with_range(metric)] if ranges else list(eval_metrics)
        return pt.Experiment(retr_systems, topics, qrels, metrics, names, **options)


def _with_range(metric: Any) -> list[object]:
    """A measure, or a name of trec_eval, and the tie range of each measure that trueval computes of it."""
    parsed = ir_measures.parse_trec_measure(metric) if isinstance(metric, str) else [metric]
    known = measures()
    return [metric, *(known[f"{each.NAME}_range"](**each.params) for each in parsed if f"{each.NAME}_range" in known)]
