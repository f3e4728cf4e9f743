"""`trueval precision runs`: what number formats did to runs that you have."""

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
from trueval.cli.output import check_folder, save, show, talk
from trueval.cli.paths import refuse_repeated
from trueval.cli.progress import progress
from trueval.cli.short_help import common_options


@common_options("measures", "tie_order", "rel", "out", "form")
@with_groups
def runs(
    qrels: Annotated[str, typer.Argument(metavar="QRELS", help=JUDGMENTS)],
    runs: Annotated[
        list[str],
        typer.Argument(
            metavar="RUN...",
            help="MODEL:DTYPE=PATH, or MODEL:DTYPE:SCORING=PATH where scores have a format of their own; all of the "
            "same queries and documents.",
        ),
    ],
    *,
    measures: MeasureList = None,
    policy: PolicyOptions,
    inputs: InputOptions,
    output: OutputOptions,
    form: Form = "table",
) -> None:
    """Says what low precision did to runs that you have, and what scoring in float32 repaired.

    Example: trueval precision runs qrels.trec minilm:bfloat16=run-low.trec minilm:bfloat16:float32=run.trec -m nDCG@10
    """
    from trueval.files.display_names import path_of
    from trueval.files.source.fingerprints import record_files
    from trueval.precision.audit_runs import audit_runs, read_regime
    from trueval.precision.views.kind import PRECISION
    from trueval.report.provenance import files_read

    chosen, rules = policy.request(qrels, measures)
    refuse_repeated(qrels, runs)
    for text in runs:
        read_regime(text.partition("=")[0])  # before files are read
    if output.out is not None:
        check_folder(output.out)
    reading = inputs.to_inputs(chosen, policy.grade_map())
    with record_files() as seen, progress(1 + len(runs)) as begin:
        begin(qrels)
        pairs = reading.read_runs(runs, reading.read_judgments(qrels), begin)
        found = {pair.run.name: pair for pair in pairs}
        judgments = next(iter(found.values())).judgments
        audited = audit_runs({name: pair.run for name, pair in found.items()}, judgments, chosen, policy=rules)
    files = [("judgments", qrels), *(("run", path_of(text)) for text in runs)]
    result = {**audited.to_dict(), "files": files_read(files, seen)}
    talk(result["notes"])
    if output.out is not None:
        save(output.out, (PRECISION, result), page=True)
    show(PRECISION, result, form, percent=output.percent)
