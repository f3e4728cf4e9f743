"""`trueval precision runs`: what the scores of runs were rounded to, and what number formats did."""

from typing import TYPE_CHECKING, Annotated

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

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from trueval.precision.audit_result import Audit
    from trueval.precision.grid_result import GridReport
    from trueval.run import Run


@common_options("qrels", "measures", "tie_order", "rel", "out", "form")
@with_groups
def runs(
    files: Annotated[
        list[str],
        typer.Argument(
            metavar="RUN...",
            help="Runs, each a path or NAME=PATH. Or QRELS and runs of named formats, all of the same queries and "
            "documents: MODEL:DTYPE=PATH, or MODEL:DTYPE:SCORING=PATH where scores have a format of their own.",
        ),
    ],
    *,
    qrels: Annotated[
        str | None, typer.Option(metavar="QRELS", help=f"{JUDGMENTS} Of runs alone, for measures.")
    ] = None,
    measures: MeasureList = None,
    policy: PolicyOptions,
    inputs: InputOptions,
    output: OutputOptions,
    form: Form = "table",
) -> None:
    """Says what the scores of runs were rounded to, from the scores alone; of runs in named formats, what these cost.

    Example: trueval precision runs served.trec --qrels qrels.trec -m nDCG@10
    """
    from trueval.files.display_names import path_of
    from trueval.files.source.fingerprints import record_files
    from trueval.precision.views.kind import GRID, PRECISION
    from trueval.report.provenance import files_read

    audited = any(":" in text.partition("=")[0] and "=" in text for text in files)
    if audited and qrels is None:
        qrels, files = files[0], files[1:]
    if qrels is not None:
        refuse_repeated(qrels, files)
    if output.out is not None:
        check_folder(output.out)
    with record_files() as seen, progress(len(files) + (qrels is not None)) as begin:
        given = measures, policy, inputs, begin
        found = _audit(str(qrels), files, *given) if audited else _grids(qrels, files, *given)
    named = [*([] if qrels is None else [("judgments", qrels)]), *(("run", path_of(text)) for text in files)]
    result = {**found.to_dict(), "files": files_read(named, seen)}
    talk(result["notes"])
    kind = PRECISION if audited else GRID
    if output.out is not None:
        save(output.out, (kind, result), page=True)
    show(kind, result, form, percent=output.percent)


def _audit(
    qrels: str,
    runs: "Sequence[str]",
    measures: list[str] | None,
    policy: PolicyOptions,
    inputs: InputOptions,
    begin: "Callable[[str], None]",
) -> "Audit":
    """The audit of runs in named formats."""
    from trueval.precision.audit_runs import audit_runs, read_regime

    for text in runs:
        read_regime(text.partition("=")[0])  # before files are read
    chosen, rules = policy.request(qrels, measures)
    reading = inputs.to_inputs(chosen, policy.grade_map())
    begin(qrels)
    pairs = reading.read_runs(runs, reading.read_judgments(qrels), begin)
    found = {pair.run.name: pair for pair in pairs}
    judgments = next(iter(found.values())).judgments
    return audit_runs({name: pair.run for name, pair in found.items()}, judgments, chosen, policy=rules)


def _grids(
    qrels: str | None,
    runs: "Sequence[str]",
    measures: list[str] | None,
    policy: PolicyOptions,
    inputs: InputOptions,
    begin: "Callable[[str], None]",
) -> "GridReport":
    """The grids of runs, with measures where there are judgments."""
    from trueval.files.display_names import name_files
    from trueval.precision.run_grids import grids_of
    from trueval.run import Run

    if qrels is None:
        if measures:
            raise typer.BadParameter("measures need judgments: give --qrels QRELS.", param_hint="--measures")

        def read() -> "Iterator[tuple[Run, None]]":
            for name, path in name_files(runs):
                begin(path)
                yield Run.read(path, name=name), None

        return grids_of(read(), (), None)
    chosen, rules = policy.request(qrels, measures)
    reading = inputs.to_inputs(chosen, policy.grade_map())
    begin(qrels)
    pairs = reading.read_runs(runs, reading.read_judgments(qrels), begin)
    return grids_of(((pair.run, pair.judgments) for pair in pairs), chosen, rules)
