"""`trueval compare`: which of several runs is better, and how sure that is."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from trueval.cli.evaluate import grade_map, measure_files, precision_or_width, refuse_repeated
from trueval.cli.evidence import Evidence, must_differ
from trueval.cli.gate import with_baseline
from trueval.cli.options import DEFAULT_MEASURES, Facets, MeasureList, Sources
from trueval.cli.output import check_folder, save, show, talk

if TYPE_CHECKING:
    from trueval.evaluation.scores import Scores
    from trueval.judgments import Judgments
    from trueval.measures import Measure
    from trueval.run import Run

Format = Literal["table", "json", "csv", "markdown", "latex"]


def compare(
    qrels: Annotated[str, typer.Argument(metavar="QRELS", help="Judgments, as in `trueval evaluate`; - is stdin.")],
    runs: Annotated[list[str], typer.Argument(metavar="RUN RUN...", help="Two or more run files.")],
    measures: MeasureList = None,
    baseline: Annotated[
        str | None,
        typer.Option(metavar="RUN", help="Compare every run with this one, and not every pair. Default: all pairs."),
    ] = None,
    missing: Annotated[
        str | None, typer.Option(metavar="POLICY", help="Judged queries that a run lacks: worst, skip or error.")
    ] = None,
    test: Annotated[
        str, typer.Option(metavar="NAME", help="Test that decides: randomization, t or wilcoxon.")
    ] = "randomization",
    family: Annotated[
        str, typer.Option(metavar="NAME", help="Tests corrected together: those of each measure, or all.")
    ] = "measure",
    level: Annotated[float, typer.Option(metavar="X", help="Of intervals, tests and verdicts.")] = 0.95,
    resamples: Annotated[int, typer.Option(metavar="N", help="Bootstrap resamples and random sign patterns.")] = 10_000,
    tie_samples: Annotated[
        int,
        typer.Option(metavar="N", help="Tie orders to draw where they cannot all be listed; 0: normal, with bounds."),
    ] = 0,
    convention: Annotated[str | None, typer.Option(metavar="NAME", help="Do as another tool does.")] = None,
    tie_order: Annotated[
        str | None, typer.Option(metavar="ORDER", help="Order of equal scores for the oblivious value.")
    ] = None,
    tie_precision: Annotated[
        str | None, typer.Option(metavar="P", help="Number format or grid width that decides what is tied.")
    ] = None,
    rel: Annotated[float | None, typer.Option(metavar="N", help="Grade from which a document is relevant.")] = None,
    grades: Annotated[str | None, typer.Option(metavar="MAP", help="Replace grades first, such as 0:1,1:3.")] = None,
    empty: Annotated[
        str | None, typer.Option(metavar="POLICY", help="Queries without a relevant document: zero, skip or error.")
    ] = None,
    judged_only: Annotated[bool, typer.Option("--judged-only", help="Leave unjudged documents out of runs.")] = False,
    depth: Annotated[
        int | None, typer.Option(metavar="N", min=1, help="Look at the first N documents of each query only.")
    ] = None,
    unjudged: Annotated[
        float | None,
        typer.Option(metavar="N", min=0, help="Grade every document that a run lists and nobody graded N."),
    ] = None,
    sources: Sources = None,
    facets: Facets = False,
    form: Annotated[Format, typer.Option("--format", help="What to print.")] = "table",
    out: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Write comparison.json, .csv, .md and .tex there too."),
    ] = None,
    seed: Annotated[
        int, typer.Option(metavar="N", min=0, help="Of everything random; the same seed gives the same result.")
    ] = 0,
    threads: Annotated[
        int | None, typer.Option(metavar="N", min=1, help="Default: one for each processor. Changes no number.")
    ] = None,
) -> None:
    """Compares runs: differences with intervals, tests, win probabilities over tie orders, verdicts and groups.

    Example: trueval compare qrels.trec bm25.trec dense.trec rerank.trec.gz -m "nDCG@10 RR@10"
    """
    from trueval.comparison.compare import Choices
    from trueval.comparison.views.kind import COMPARE
    from trueval.measures import parse_list

    paths = with_baseline(runs, baseline)
    if len(paths) < 2:
        raise typer.BadParameter(f"needs at least two runs. Got {runs[0]}.", param_hint="RUN RUN...")
    choices = Choices(level, resamples, seed, test, family, tie_samples=tie_samples)
    policy: dict[str, Any] = {
        "convention": convention,
        "tie_order": tie_order,
        "tie_precision": precision_or_width(tie_precision),
        "rel": rel,
        "empty": empty,
        "missing": missing,
        "judged_only": judged_only or None,
        "depth": depth,
        "seed": seed,
    }
    refuse_repeated(must_differ(qrels, paths))
    if out is not None:
        check_folder(out)
    chosen = parse_list(" ".join(measures or [DEFAULT_MEASURES]))
    evidence = Evidence(chosen, unjudged=unjudged, sources=sources, facets=facets)
    given = {name: value for name, value in policy.items() if value is not None}
    comparison = compare_files(
        qrels, paths, chosen, baseline, choices, grade_map(grades), given, threads, evidence=evidence
    )
    show(COMPARE, comparison, form)
    if out is not None:
        save(COMPARE, comparison, out)


def compare_files(
    qrels: str,
    paths: list[str],
    measures: "Sequence[Measure]",
    baseline: str | None,
    choices: Any,
    grades: Mapping[float, float] | None,
    policy: Mapping[str, Any],
    threads: int | None,
    *,
    evidence: Evidence | None = None,
) -> dict[str, Any]:
    """Reads and compares runs.

    Args:
        qrels: path of the judgments.
        paths: of the runs, the baseline among them.
        measures: what to measure.
        baseline: its path; None for all pairs.
        choices: a `trueval.comparison.compare.Choices`.
        grades: grade in the file → grade to use.
        policy: options of `trueval.evaluate`.
        threads: that share the work.
        evidence: reads logs of contexts, facets and sources.

    Returns:
        What `Comparison.to_dict` returns.
    """
    from dataclasses import asdict

    from trueval.comparison.compare import compare_scores
    from trueval.comparison.orders import TieOrders

    orders: list[TieOrders] = []

    def observe(run: "Run", judgments: "Judgments", scores: "Scores") -> None:
        orders.append(TieOrders(run, judgments, scores.policy, len(orders)))

    scores = measure_files(qrels, paths, measures, grades=grades, policy=policy, observe=observe, evidence=evidence)
    name = None if baseline is None else scores[paths.index(baseline)].name
    found = compare_scores(scores, baseline=name, orders=orders, threads=threads, **asdict(choices))
    said = {note for each in scores for note in each.notes}
    talk(note for note in found.notes if note not in said)
    return found.to_dict()
