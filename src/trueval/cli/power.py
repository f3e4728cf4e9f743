"""`trueval power`: the detectable difference for given queries, and the queries needed for a difference."""

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import typer

from trueval.cli.options import (
    JUDGMENTS,
    BudgetResult,
    ClusterFile,
    Form,
    InputOptions,
    Level,
    MeasureList,
    OutputOptions,
    PolicyOptions,
    with_groups,
)
from trueval.cli.output import check_folder, save, show, talk
from trueval.cli.paths import expand, find_run, refuse_repeated, with_baseline
from trueval.cli.progress import progress
from trueval.cli.short_help import common_options

if TYPE_CHECKING:
    from trueval.report.kinds import Kind


@dataclass(frozen=True, eq=False, repr=False)
class PowerOptions:
    """The difference to detect, and the power."""

    panel: ClassVar = "Power"

    power: Annotated[float, typer.Option(metavar="X", help="Chance to find a difference that is there.")] = 0.8
    level: Level = 0.95
    budget: BudgetResult = None
    difference: Annotated[
        float | None,
        typer.Option(
            metavar="D",
            help="The difference that matters, as a fraction of 1: counts the queries that find it. Default: the "
            "measured one of each pair.",
        ),
    ] = None


@dataclass(frozen=True, eq=False, repr=False)
class PublishedOptions:
    """A published mean, without its run."""

    panel: ClassVar = "A published value, without files"

    value: Annotated[
        float | None,
        typer.Option(metavar="X", help="Without files: a published mean, as a fraction of 1. Needs --queries."),
    ] = None
    queries: Annotated[int | None, typer.Option(metavar="N", help="Number of queries that --value is the mean of.")] = (
        None
    )
    grain: Annotated[
        float | None,
        typer.Option(metavar="G", help="Every value behind --value is a multiple of it; 1 says that they are 0 or 1."),
    ] = None


@common_options("measures", "difference", "value", "queries", "power", "out", "form")
@with_groups
def power(
    qrels: Annotated[str | None, typer.Argument(metavar="[QRELS]", help=JUDGMENTS)] = None,
    runs: Annotated[
        list[str] | None, typer.Argument(metavar="[RUN RUN...]", help="Two or more run files, or name=path.")
    ] = None,
    *,
    measures: MeasureList = None,
    asked: PowerOptions,
    told: PublishedOptions,
    policy: PolicyOptions,
    inputs: InputOptions,
    clusters: ClusterFile = None,
    output: OutputOptions,
    baseline: Annotated[
        str | None,
        typer.Option(
            metavar="RUN",
            rich_help_panel="Power",
            help="Hold every run against this one, and not every pair. Default: all pairs.",
        ),
    ] = None,
    form: Form = "table",
) -> None:
    """Says which differences these queries can find.

    Without files, --value and --queries say what a published mean can claim; with --grain and --difference the least p.

    Example: trueval power qrels.trec bm25.trec rerank.trec -m nDCG@10 --difference 0.02

    Example: trueval power --value 0.80 --queries 50 --grain 1 --difference 0.06
    """
    if output.out is not None:
        check_folder(output.out)
    if told.value is not None or told.queries is not None or told.grain is not None:
        kind, result = _analyze_published(told, asked, files=qrels is not None)
    else:
        if qrels is None:
            raise typer.BadParameter("needs QRELS and two runs, or --value and --queries.", param_hint="QRELS RUN...")
        files = expand(runs or [])
        baseline = None if baseline is None else find_run(baseline, files)
        paths = with_baseline(files, baseline)
        kind, result = _of_files(qrels, paths, measures, asked, policy, inputs, clusters, baseline)
    if output.out is not None:
        save(output.out, (kind, result))
    show(kind, result, form, percent=output.percent)


def _of_files(
    qrels: str,
    paths: list[str],
    measures: list[str] | None,
    asked: PowerOptions,
    policy: PolicyOptions,
    inputs: InputOptions,
    clusters: str | None,
    baseline: str | None,
) -> "tuple[Kind, dict[str, Any]]":
    """The power of the queries of some runs."""
    from trueval.comparison.power.power_analysis import power_of_scores
    from trueval.comparison.power.sample_size import check_chances
    from trueval.comparison.resampling.clusters import Clusters
    from trueval.comparison.views.kind import POWER
    from trueval.rag.evaluate_files import evaluate_files

    if len(paths) < 2:
        raise typer.BadParameter(
            "needs at least two runs, as power is about their difference. For a published value without its run, give "
            "--value and --queries and no files.",
            param_hint="RUN RUN...",
        )
    (chosen, rules), members = policy.request(qrels, measures, runs=paths), Clusters.of(clusters)
    check_chances(asked.level, asked.power)
    refuse_repeated(qrels, paths)
    with progress(1 + len(paths)) as begin:
        evaluated = evaluate_files(
            qrels,
            paths,
            chosen,
            inputs=inputs.to_inputs(chosen, policy.grade_map()),
            begin=begin,
            policy=rules,
        )
    name = None if baseline is None else evaluated.scores[paths.index(baseline)].name
    found = power_of_scores(evaluated.scores, baseline=name, clusters=members, **asdict(asked))
    talk([*evaluated.notes, *found.notes])
    return POWER, found.to_dict()


def _analyze_published(told: PublishedOptions, asked: PowerOptions, *, files: bool) -> "tuple[Kind, dict[str, Any]]":
    """What a published mean can claim."""
    from trueval.comparison.gate.published_means import published
    from trueval.comparison.views.kind import PUBLISHED

    if files:
        raise typer.BadParameter("--value, --queries and --grain go without files; runs say more.", param_hint="QRELS")
    if told.value is None or told.queries is None:
        raise typer.BadParameter("give both: a mean, and of how many queries.", param_hint="--value --queries")
    return PUBLISHED, published(told.value, told.queries, told.grain, asked.difference, asked.level).to_dict()
