"""`trueval explain`: why other tools report other numbers."""

import warnings
from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from trueval.cli.evaluate import grade_map
from trueval.cli.evidence import Evidence, must_differ
from trueval.cli.options import Facets, Sources
from trueval.cli.output import show, talk
from trueval.cli.progress import progress
from trueval.errors import TruevalWarning

if TYPE_CHECKING:
    from trueval.evaluation.explanation import Explanation
    from trueval.measures import Measure


def explain(
    qrels: Annotated[
        str, typer.Argument(metavar="QRELS", help="Judgments: TREC qrels, BEIR tsv, parquet, csv or jsonl; - is stdin.")
    ],
    run: Annotated[str, typer.Argument(metavar="RUN", help="Run file, in any of these forms; - is stdin.")],
    measure: Annotated[str, typer.Option("--measure", "-m", metavar="MEASURE", help="One measure, such as AP@5.")],
    queries: Annotated[int, typer.Option(metavar="N", min=0, help="How many of the queries that move most.")] = 5,
    rel: Annotated[
        float | None, typer.Option(metavar="N", min=0, help="Grade from which a document is relevant, in every tool.")
    ] = None,
    grades: Annotated[
        str | None, typer.Option(metavar="MAP", help="Replace grades first, such as 0:1,1:3, for every tool.")
    ] = None,
    unjudged: Annotated[
        float | None, typer.Option(metavar="N", min=0, help="Grade every document that RUN lists and nobody graded N.")
    ] = None,
    sources: Sources = None,
    facets: Facets = False,
    form: Annotated[Literal["table", "json", "markdown"], typer.Option("--format", help="What to print.")] = "table",
) -> None:
    """Shows a measure as each other tool computes it, and finds the convention behind every difference.

    Example: trueval explain qrels.trec bm25.trec -m AP@5
    """
    from trueval.evaluation.views.explanation import EXPLAIN
    from trueval.measures import parse

    chosen = parse(measure)
    chosen = chosen if rel is None else chosen.with_defaults(rel=rel)
    if qrels == run and qrels in must_differ(qrels, [run])[:-1]:
        raise typer.BadParameter(f"{qrels} is given twice. Name each file once.", param_hint="QRELS RUN")
    evidence = Evidence([chosen], unjudged=unjudged, sources=sources, facets=facets)
    found = explain_files(qrels, run, chosen, evidence, grade_map(grades), queries)
    talk(found.notes)
    show(EXPLAIN, found.to_dict(), form)


def explain_files(
    qrels: str,
    run: str,
    measure: "Measure",
    evidence: Evidence,
    grades: Mapping[float, float] | None,
    queries: int,
) -> "Explanation":
    """Reads judgments and a run, and explains the measure.

    Args:
        qrels: path of the judgments.
        run: path of the run.
        measure: the measure.
        evidence: reads files, facets and sources among them.
        grades: grade in the file → grade to use.
        queries: how many of the queries that move most are wanted.
    """
    from trueval.evaluation.explanation import explain as explain_run

    with progress(3) as begin, warnings.catch_warnings():
        warnings.simplefilter("ignore", TruevalWarning)
        begin(qrels)
        judgments = evidence.read_judgments(qrels)
        if grades is not None:
            judgments = judgments.map_grades(grades)
        begin(run)
        listed = evidence.read_run(run, None)
        begin("conventions")
        return explain_run(listed, evidence.judge(listed, judgments), measure, examples=queries)
