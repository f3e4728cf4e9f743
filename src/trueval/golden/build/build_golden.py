"""A golden set in one call, from the file of its plan."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from trueval.golden.build.golden_plan import GoldenPlan
    from trueval.golden.build.golden_set import GoldenSet
    from trueval.golden.judge.judge import Judge
    from trueval.retrieval.pipeline.stage_resources import Begin


def build_golden(
    plan: GoldenPlan | Path | str,
    out: Path | str,
    *,
    until: str | None = None,
    reuse: str | None = None,
    ledger: Path | None = None,
    cache: Path | None = None,
    max_cost: float | None = None,
    judge: Judge | None = None,
    begin: Begin | None = None,
) -> GoldenSet:
    """Build a golden set, pools of passages graded and ordered by a judge, or resume an interrupted build.

    Args:
        plan: path of its TOML file, or a GoldenPlan.
        out: folder of the golden set, created if absent.
        until: last stage to run: "rewrite", "pool", "grade", "prune" or "refine"; all by default.
        reuse: which cached model outputs to reuse, "pass" or "text"; None for the plan's setting.
        ledger: file of the judge's answers, if several golden sets share one; in the folder by default.
        cache: keeps embeddings and indexes; None keeps nothing.
        max_cost: spending limit, including earlier runs of the same folder; that of the plan by default.
        judge: judge to use instead of the plan's.
        begin: called with the name of each stage; the returned function is called with the progress of the stage.

    Returns:
        The golden set; its files are in the folder.

    Raises:
        InputError: an input is bad, a service refuses, or the money is spent; what is done is kept.
        PolicyError: there is no such stage.

    >>> build_golden("golden.toml", "golden", max_cost=5).to_dict()  # doctest: +SKIP
    """
    # Late: importing models and indexes takes as long as starting a command.
    from trueval.golden.build.build import build
    from trueval.golden.build.golden_plan import GoldenPlan

    chosen = plan if isinstance(plan, GoldenPlan) else GoldenPlan.read(Path(plan))
    return build(
        chosen.with_reuse(reuse),
        Path(out),
        until=until,
        ledger=ledger,
        cache=cache,
        max_cost=max_cost,
        judge=judge,
        begin=begin,
    )
