"""The sweep: builds and evaluates every system of a plan, and derives all analyses.

    found = sweep("sweep.toml", out=Path("results"))
    found.to_dict()["configurations"][0]["measures"]

Results are stored as they come, and the same call resumes from there; docs/design/tradeoff.md lists the files.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from trueval.retrieval.pipeline.stage_resources import Begin
    from trueval.threads import Executor
    from trueval.tradeoff.config.plan import SweepPlan
    from trueval.tradeoff.runner.measured_sweep import Sweep


def sweep(
    plan: SweepPlan | Path | str,
    *,
    out: Path | None = None,
    cache: Path | None = None,
    begin: Begin | None = None,
    max_cost: float | None = None,
    executor: Executor | None = None,
) -> Sweep:
    """Build and evaluate every system of a plan; a failing system does not stop the others.

    Args:
        plan: a Plan, or the path of its TOML file.
        out: directory for each system as soon as it is finished, and for the result; None stores nothing.
        cache: folder of embeddings, logits, indexes and candidates; if None, the user's cache as on the command line,
            or `out`/cache where that is not writable.
        begin: called with the name of each stage; the returned function is called with the progress of the stage.
        max_cost: spending limit for hosted models and judge together, in the currency of prices; None for no limit.
        executor: runs embedders and rerankers in other processes or on other machines, as in `retrieve`, and builds,
            searches and fuses there, in groups of systems with one index. Systems are timed after that, one at a time,
            on a machine that is free of other work, which the result names; without one there are no latencies.

    Raises:
        InputError: the file or the collection is bad, nothing is judged, or a grade is not on the rubric of a measure.

    Returns:
        The result, which includes failed systems with their reasons.

    >>> sweep("sweep.toml", out=Path("results")).to_dict()["configurations"]  # doctest: +SKIP
    """
    from trueval.tradeoff.runner.sweep_runner import (
        gather,  # late: importing models and indexes takes as long as starting a command
    )

    return gather(plan, out=out, cache=cache, begin=begin, max_cost=max_cost, executor=executor)
