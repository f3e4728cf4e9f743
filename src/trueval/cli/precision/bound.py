"""`trueval precision bound`: what measures can become if every score moves by at most so much."""

import warnings
from typing import Annotated

import typer

from trueval.cli.options import (
    JUDGMENTS,
    Form,
    InputOptions,
    MeasureList,
    OutputOptions,
    PolicyOptions,
    with_groups,
)
from trueval.cli.output import check_folder, save, show, talk_notes
from trueval.cli.paths import refuse_repeated
from trueval.cli.progress import progress
from trueval.cli.short_help import common_options
from trueval.errors import TruevalWarning


@common_options("within", "measures", "rel", "out", "form")
@with_groups
def bound(
    qrels: Annotated[str, typer.Argument(metavar="QRELS", help=JUDGMENTS)],
    runs: Annotated[list[str], typer.Argument(metavar="RUN...", help="Runs, each a path, - for stdin, or NAME=PATH.")],
    *,
    within: Annotated[
        str,
        typer.Option(
            metavar="WIDTH",
            help="By how much every score may move: 0.001; bfloat16, rounding to it; ulp(bfloat16) or 2.5 "
            "ulp(bfloat16), units in the last place; codes(int8), rounding to 255 steps.",
        ),
    ] = "ulp(bfloat16)",
    measures: MeasureList = None,
    policy: PolicyOptions,
    inputs: InputOptions,
    output: OutputOptions,
    form: Form = "table",
) -> None:
    """Says how far measures, and the order of runs, can move if every score moves by at most so much.

    Example: trueval precision bound qrels.trec bm25.run dense.run --within 0.001 -m nDCG@10
    """
    from trueval.files.display_names import path_of
    from trueval.files.source.fingerprints import record_files
    from trueval.precision.bound import bound_runs
    from trueval.precision.views.kind import BOUND
    from trueval.report.provenance import files_read
    from trueval.score_width import ScoreWidth

    width = ScoreWidth.parse(within)
    chosen, rules = policy.request(qrels, measures)
    refuse_repeated(qrels, runs)
    if output.out is not None:
        check_folder(output.out)
    reading = inputs.to_inputs(chosen, policy.grade_map())
    with record_files() as seen, progress(1 + len(runs)) as begin, warnings.catch_warnings():
        warnings.simplefilter("ignore", TruevalWarning)  # the same lines are notes of the result
        begin(qrels)
        pairs = reading.read_runs(runs, reading.read_judgments(qrels), begin)
        found = bound_runs(((pair.run, pair.judgments) for pair in pairs), chosen, width, rules)
    files = [("judgments", qrels), *(("run", path_of(text)) for text in runs)]
    result = {**found.to_dict(), "files": files_read(files, seen)}
    talk_notes(result)
    if output.out is not None:
        save(output.out, (BOUND, result), page=True)
    show(BOUND, result, form, percent=output.percent)
