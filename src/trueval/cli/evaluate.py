"""`trueval evaluate`: run files against judgments, exactly under ties."""

import warnings
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from trueval.cli.details import Details
from trueval.cli.evidence import Evidence, must_differ, say
from trueval.cli.gate import conclude, parse_gates, with_baseline
from trueval.cli.options import DEFAULT_MEASURES, Facets, MeasureList, Sources
from trueval.cli.output import Format, save, show, talk
from trueval.errors import TruevalWarning

if TYPE_CHECKING:
    from trueval.evaluation.scores import Scores
    from trueval.judgments import Judgments
    from trueval.measures import Measure
    from trueval.run import Run


def evaluate(
    qrels: Annotated[
        str, typer.Argument(metavar="QRELS", help="Judgments: TREC qrels, BEIR tsv, parquet, csv or jsonl; - is stdin.")
    ],
    runs: Annotated[list[str], typer.Argument(metavar="RUN", help="Run files, in any of these forms; - is stdin.")],
    measures: MeasureList = None,
    convention: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Do as another tool does: trec_eval, pytrec_eval, ranx, sentence-transformers, torchmetrics, sklearn, "
            "mteb or paper.",
        ),
    ] = None,
    tie_order: Annotated[
        str | None,
        typer.Option(
            metavar="ORDER",
            help="Order of equal scores for the oblivious value: docid-desc, docid-asc, input, rank or random. "
            "Default: docid-desc.",
        ),
    ] = None,
    tie_precision: Annotated[
        str | None,
        typer.Option(
            metavar="P",
            help="Scores are equal when they are after rounding to float32, float16, bfloat16, float8_e4m3fn, "
            "float8_e5m2, or to a multiple of a number such as 0.01. Default: as read.",
        ),
    ] = None,
    rel: Annotated[float | None, typer.Option(metavar="N", help="Grade from which a document is relevant.")] = None,
    grades: Annotated[
        str | None, typer.Option(metavar="MAP", help="Replace grades before anything else, such as 0:1,1:3,2:4.")
    ] = None,
    empty: Annotated[
        str | None,
        typer.Option(metavar="POLICY", help="Queries without a relevant document: zero, one, skip or error."),
    ] = None,
    missing: Annotated[
        str | None, typer.Option(metavar="POLICY", help="Judged queries that a run lacks: worst, skip or error.")
    ] = None,
    judged_only: Annotated[bool, typer.Option("--judged-only", help="Leave unjudged documents out of runs.")] = False,
    depth: Annotated[
        int | None, typer.Option(metavar="N", min=1, help="Look at the first N documents of each query only.")
    ] = None,
    per_query: Annotated[bool, typer.Option("--per-query", help="Give the values of every query too.")] = False,
    form: Annotated[Format, typer.Option("--format", help="What to print.")] = "table",
    max_range: Annotated[
        list[str] | None,
        typer.Option(
            metavar="X",
            help="Exit with 1 when ties leave a mean a wider range than X, on the scale of the JSON; "
            "nDCG@10=X for one measure.",
        ),
    ] = None,
    minimum: Annotated[
        list[str] | None,
        typer.Option("--min", metavar="M=X", help="Exit with 1 when the expected mean of measure M is below X."),
    ] = None,
    baseline: Annotated[
        str | None, typer.Option(metavar="RUN", help="The run that --max-drop compares every other run with.")
    ] = None,
    max_drop: Annotated[
        list[str] | None,
        typer.Option(
            metavar="X",
            help="Exit with 1 when a run lost more than X against the baseline at every value of the 95% interval that "
            "joins queries and ties; nDCG@10=X for one measure.",
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="Write results.json, results.csv and results.md there too, and details.json for `trueval report`.",
        ),
    ] = None,
    collection: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR", help="Folder with corpus.jsonl and queries.jsonl, whose texts --out shows beside their ids."
        ),
    ] = None,
    seed: Annotated[int | None, typer.Option(metavar="N", help="Seed of --tie-order random.")] = None,
    unjudged: Annotated[
        float | None,
        typer.Option(metavar="N", min=0, help="Grade every document that a run lists and nobody graded N, such as 1."),
    ] = None,
    correct: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="Whether each answer was correct, query and 0 to 1 parted by a tab, a comma or blanks: gives the "
            "accuracy where AllGold@k holds.",
        ),
    ] = None,
    sources: Sources = None,
    facets: Facets = False,
    sensitivity: Annotated[
        bool,
        typer.Option("--sensitivity", help="Vary the parameters of RA-nWG and every label among the first k."),
    ] = False,
) -> None:
    """Measures run files exactly under ties: expected, lowest, highest and oblivious value, bias, standard deviation.

    Example: trueval evaluate qrels.trec bm25.trec rerank.trec.gz -m "nDCG@10 RR@10"
    """
    from trueval.evaluation.scores import results as results_of
    from trueval.evaluation.views.kind import EVALUATE
    from trueval.measures import parse_list

    chosen = parse_list(" ".join(measures or [DEFAULT_MEASURES]))
    gates = parse_gates(max_range, minimum, max_drop, baseline, chosen)
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
    paths = with_baseline(runs, baseline)
    refuse_repeated(must_differ(qrels, paths))
    if collection is not None and out is None:
        raise typer.BadParameter("needs --out, where the texts are written.", param_hint="--collection")
    given = {name: value for name, value in policy.items() if value is not None}
    details = None if out is None else Details(qrels, paths, collection)
    evidence = Evidence(
        chosen, unjudged=unjudged, correct=correct, sources=sources, sensitivity=sensitivity, facets=facets
    )
    scores = measure_files(
        qrels, paths, chosen, grades=grade_map(grades), policy=given, observe=details, evidence=evidence
    )
    results = results_of(scores, per_query=per_query)
    lines = evidence.finish(results, given)
    show(EVALUATE, results, form)
    if per_query and form in ("markdown", "latex"):
        talk([f"--format {form} holds means only. --format json, csv or trec, or --out DIR, give every query."])
    say(lines, on_stdout=form == "table")
    if out is not None and details is not None:
        save(EVALUATE, results, out)
        details.save(out)
    conclude(
        results, gates.check(results, scores[: len(runs)], None if baseline is None else scores[paths.index(baseline)])
    )


def measure_files(
    qrels: str,
    runs: Sequence[str],
    measures: "Sequence[Measure]",
    *,
    grades: Mapping[float, float] | None = None,
    policy: Mapping[str, Any] | None = None,
    observe: "Callable[[Run, Judgments, Scores], None] | None" = None,
    evidence: "Evidence | None" = None,
) -> "list[Scores]":
    """Reads judgments and runs, one run at a time, and says on stderr what readers and evaluation remark.

    Args:
        qrels: path of the judgments, "-" for stdin.
        runs: paths of the runs, "-" for stdin.
        measures: what to measure.
        grades: grade in the file → grade to use.
        policy: options of `trueval.evaluate`.
        observe: called with each run while it is in memory.
        evidence: reads logs of contexts, and gathers what stands beside the means.

    Returns:
        The scores of each run, in order.

    Raises:
        InputError: a file is bad.
        PolicyError: an option is.
    """
    from trueval.cli.progress import progress
    from trueval.evaluation.evaluate import evaluate as evaluate_run

    evidence = evidence or Evidence(measures)
    with progress(1 + len(runs)) as begin, warnings.catch_warnings():
        warnings.simplefilter("ignore", TruevalWarning)
        begin(qrels)
        judgments = evidence.read_judgments(qrels)
        if grades is not None:
            judgments = judgments.map_grades(grades)
        evidence.remember(judgments)
        names = _distinct_names(runs)
        scores = []
        for path in runs:
            begin(path)
            run = evidence.read_run(path, names[path])
            judged = evidence.judge(run, judgments)
            scores.append(evaluate_run(run, judged, measures, **(policy or {})))
            evidence.observe(run, judged, scores[-1])
            if observe is not None:
                observe(run, judged, scores[-1])
    talk(note for each in scores for note in each.notes)
    return scores


def _distinct_names(paths: Sequence[str]) -> dict[str, str | None]:
    """None, which means the reader's own choice, where file names differ; the whole path where they do not."""
    count = Counter(Path(path).name for path in paths)
    return {path: path if count[Path(path).name] > 1 else None for path in paths}


def refuse_repeated(paths: Sequence[str]) -> None:
    """Raises typer.BadParameter if a path is there twice."""
    repeated = [path for path, times in Counter(paths).items() if times > 1]
    if repeated:
        raise typer.BadParameter(f"{repeated[0]} is given twice. Name each file once.", param_hint="QRELS RUN...")


def precision_or_width(text: str | None) -> str | float | None:
    """The value of `--tie-precision`: a number where it reads as one, else the name of a format."""
    try:
        return text if text is None else float(text)
    except ValueError:
        return text


def grade_map(text: str | None) -> dict[float, float] | None:
    """The value of `--grades`: grade in the file → grade to use.

    Raises:
        typer.BadParameter: it does not read as OLD:NEW pairs.
    """
    if text is None:
        return None
    try:
        pairs = [pair.split(":") for pair in text.split(",")]
        mapped = {float(old): float(new) for old, new in pairs}
    except ValueError:
        message = f"must be OLD:NEW pairs of numbers parted by commas, such as 0:1,1:3,2:4. Got {text}."
        raise typer.BadParameter(message, param_hint="--grades") from None
    if len(mapped) < len(pairs):
        raise typer.BadParameter(f"must name each grade once. Got {text}.", param_hint="--grades")
    return mapped
