"""`trueval frontier`: the Pareto-optimal configurations of a sweep, and which one to ship."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import typer

from trueval.cli.options import BudgetResult, Form, OutputOptions, with_groups
from trueval.cli.output import check_folder, save, say, show, talk_notes, write_atomically
from trueval.cli.short_help import common_options

if TYPE_CHECKING:
    from trueval.tradeoff.route.certificate import RouterChoice

ROUTER = "router.toml"


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
    budget: BudgetResult = None
    brittle: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="Result of trueval answers brittle of the same generators: UDCG with utilities measured so is tried "
            "among what predicts answers.",
        ),
    ] = None
    precision: Annotated[
        list[Path] | None,
        typer.Option(
            metavar="DIR",
            help="Result of trueval precision audit --pipeline of a pipeline of the sweep: what number formats do to "
            "it stands beside its systems; may repeat.",
        ),
    ] = None


@dataclass(frozen=True, eq=False, repr=False)
class GrowthOptions:
    """A larger corpus."""

    panel: ClassVar = "Growth"

    grow: Annotated[
        float | None,
        typer.Option(
            metavar="X",
            help="Forecast quality, ties at K, recall, memory and latency for X times as many documents, from the "
            "thinned corpora of a sweep whose file has the table grow.",
        ),
    ] = None


@dataclass(frozen=True, eq=False, repr=False)
class RouterOptions:
    """A router of the candidates of each query, with its certificate."""

    panel: ClassVar = "Router"

    route: Annotated[
        bool,
        typer.Option(
            "--route",
            help="Certify a router of the reranker's depth, and write router.toml to --out, or to SWEEP_DIR.",
        ),
    ] = False
    epsilon: Annotated[
        float | None,
        typer.Option(
            metavar="X",
            help="Loss of quality against always more candidates that the router may have: in expectation, or with a "
            "probability of --level where that is given. Default: .02.",
        ),
    ] = None
    features: Annotated[
        str | None,
        typer.Option(metavar="NAMES", help="Features that it may read, separated by commas. Default: all of scores."),
    ] = None

    def choice(self, level: float | None) -> "RouterChoice | None":
        """The promise that is asked for; None without.

        Args:
            level: as given; None for a promise in expectation.
        """
        from trueval.retrieval.pipeline.router import FEATURES
        from trueval.tradeoff.route.certificate import EPSILON, RouterChoice

        if not self.route:
            given = [f"--{name}" for name in ("epsilon", "features") if getattr(self, name) is not None]
            if given:
                raise typer.BadParameter("goes with --route.", param_hint=" ".join(given))
            return None
        names = FEATURES if self.features is None else tuple(self.features.replace(" ", "").split(","))
        return RouterChoice(EPSILON if self.epsilon is None else self.epsilon, level, names)


@common_options("max_latency_ms", "max_cost", "min_quality", "sure", "grow", "route", "out", "form")
@with_groups
def frontier(
    directory: Annotated[Path, typer.Argument(metavar="SWEEP_DIR", help="What --out of trueval sweep named.")],
    *,
    limits: LimitOptions,
    chances: FrontierOptions,
    growth: GrowthOptions,
    routing: RouterOptions,
    output: OutputOptions,
    form: Form = "table",
) -> None:
    """Says which configuration to ship under your limits.

    Example: trueval frontier results --max-latency-ms 500 --max-cost 2.5 --out results

    Example: trueval frontier results --route --epsilon .02

    Example: trueval frontier results --grow 10
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
        route=routing.choice(chances.level),
        grow=growth.grow,
        budget=chances.budget,
        brittle=chances.brittle,
        precision=chances.precision or (),
    )
    files: Any = {ROUTER: partial(_write_router, text=found.router_toml())} if routing.route else {}
    result = found.to_dict()
    if output.out is not None:
        save(output.out, (FRONTIER, result), others=files, page=True)
    elif routing.route:
        _write_router(directory / ROUTER, found.router_toml())
        say(f"wrote {directory / ROUTER}")
    if form == "json":
        talk_notes(result)
    show(
        FRONTIER,
        result,
        form,
        percent=output.percent,
        given=_files_of_next(directory, result) if form in ("table", "markdown") else {},
    )


def _files_of_next(directory: Path, result: Mapping[str, object]) -> dict[str, list[str]]:
    """Judgments of the sweep, and runs or answers of configurations that tie with the best, for the next command."""
    from trueval.judgments import qrels_in
    from trueval.tradeoff.frontier.frontier_result import FrontierResult
    from trueval.tradeoff.views.frontier_answer import leading_rules

    found = FrontierResult.from_dict(result)
    sweep = json.loads((directory / "sweep.json").read_bytes())
    source = Path(sweep["collection"]["source"])
    qrels = qrels_in(source) if source.is_dir() else None
    tied = next((rule.within_noise for rule in leading_rules(found)), ())
    systems = [sweep["systems"][place] for place in dict.fromkeys(found.points[each].system for each in tied)]
    answers = [system["answers"] for system in systems if "answers" in system]
    if answers:
        logs = [str(directory / each["file"]) for each in answers]
        tables = [str(directory / each["table"]) for each in answers if each["table"] is not None]
        return {"LOG": [*logs, *(word for table in tables for word in ("--judged", table))]} if len(logs) > 1 else {}
    runs = [
        f"{'' if '=' in system['name'] else system['name'] + '='}{directory / 'runs' / system['key']}.parquet"
        for system in systems
    ]
    return {**({"QRELS": [str(qrels)]} if qrels else {}), **({"RUN": runs} if len(runs) > 1 else {})}


def _write_router(path: Path, text: str) -> None:
    write_atomically(path, text)
