"""`trueval frontier`: the Pareto-optimal configurations of a sweep, and which one to ship."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, ClassVar

import typer

from trueval.cli.options import Form, OutputOptions, with_groups
from trueval.cli.output import check_folder, save, show, talk
from trueval.cli.short_help import common_options


@dataclass(frozen=True, eq=False, repr=False)
class LimitOptions:
    """Limits on the configuration to ship."""

    panel: ClassVar = "Limits"

    max_latency_ms: Annotated[
        float | None,
        typer.Option(metavar="X", min=0, help="Milliseconds of a query. Default of all limits: those of the sweep."),
    ] = None
    max_cost: Annotated[float | None, typer.Option(metavar="X", min=0, help="Cost of 1,000 queries.")] = None
    min_quality: Annotated[
        str | None,
        typer.Option(metavar="M=X", help="Least value X of measure M of the sweep; X alone is of its quality."),
    ] = None
    sure: Annotated[
        float | None,
        typer.Option(
            metavar="X",
            min=0,
            max=1,
            help="Share of resamples of queries and times in which the answer must be inside the limits. Default: .5.",
        ),
    ] = None
    slo: Annotated[
        list[float] | None,
        typer.Option("--slo-ms", metavar="X", min=0, help="Show the frontier inside X milliseconds too; may repeat."),
    ] = None


@dataclass(frozen=True, eq=False, repr=False)
class FrontierOptions:
    """How the frontier is computed, and its confidence level."""

    panel: ClassVar = "Frontier"

    rule: Annotated[
        str,
        typer.Option(
            metavar="RULE",
            help="pareto: a configuration goes if another is no worse in cost, latency and quality and better in one; "
            "paper: only if another is better in all three.",
        ),
    ] = "pareto"
    percentile: Annotated[
        str | None,
        typer.Option(metavar="P", help="Of the latency: p50, p95 or p99. Default: that of the sweep, or p50."),
    ] = None
    band_ms: Annotated[
        float | None,
        typer.Option(metavar="X", min=0, help="Latencies that differ by X or less tie. Default: by measured jitter."),
    ] = None
    level: Annotated[
        float | None, typer.Option(metavar="X", help="Of intervals and choices. Default: that of the sweep.")
    ] = None
    resamples: Annotated[
        int | None, typer.Option(metavar="N", min=1, help="Of queries and times. Default: those of the sweep.")
    ] = None
    seed: Annotated[
        int | None, typer.Option(metavar="N", min=0, help="Of everything random. Default: the sweep's.")
    ] = None


@common_options("max_latency_ms", "max_cost", "min_quality", "sure", "rule", "out", "form")
@with_groups
def frontier(
    directory: Annotated[Path, typer.Argument(metavar="SWEEP_DIR", help="What --out of trueval sweep named.")],
    *,
    limits: LimitOptions,
    chances: FrontierOptions,
    output: OutputOptions,
    form: Form = "table",
) -> None:
    """Says which configuration to ship under your limits.

    Example: trueval frontier results --max-latency-ms 500 --max-cost 2.5 --out results
    """
    from trueval.tradeoff.frontier.frontier import frontier as find
    from trueval.tradeoff.views.kind import FRONTIER

    if output.out is not None:
        check_folder(output.out)
    found = find(
        directory,
        max_latency_ms=limits.max_latency_ms,
        max_cost=limits.max_cost,
        min_quality=limits.min_quality,
        slo_ms=limits.slo or None,
        rule=chances.rule,
        percentile=chances.percentile,
        band_ms=chances.band_ms,
        level=chances.level,
        resamples=chances.resamples,
        seed=chances.seed,
        sure=limits.sure,
    )
    result = found.to_dict()
    if output.out is not None:
        save(output.out, (FRONTIER, result), page=True)
    if form == "json":
        talk(result["notes"])
    show(FRONTIER, result, form, percent=output.percent)
