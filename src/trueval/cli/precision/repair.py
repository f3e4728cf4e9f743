"""`trueval precision repair`: which documents must be scored again for the exact first K."""

from typing import Annotated

import typer

from trueval.cli.options import Form, Memory, OutputOptions, with_groups
from trueval.cli.output import check_folder, save, show
from trueval.cli.progress import progress
from trueval.cli.short_help import common_options


@common_options("within", "k", "reference", "out", "form")
@with_groups
def repair(
    run: Annotated[str, typer.Argument(metavar="RUN", help="Run of scores in low precision: a path, - or NAME=PATH.")],
    *,
    within: Annotated[
        str,
        typer.Option(
            metavar="WIDTH",
            help="By how much an exact score may differ: 0.002; bfloat16, rounding to it; 2.5 ulp(bfloat16); "
            "codes(int8). With 0 only groups of equal scores that K cuts.",
        ),
    ] = "bfloat16",
    k: Annotated[int, typer.Option("-k", metavar="K", min=1, help="Documents that count: the first K.")] = 10,
    reference: Annotated[
        str | None,
        typer.Option(
            metavar="RUN", help="Exact scores of the same pairs, to see whether the repair restores their first K."
        ),
    ] = None,
    output: OutputOptions,
    form: Form = "table",
    memory: Memory = None,
) -> None:
    """Says which documents of each query must be scored again in float32 so that the first K are exact.

    Example: trueval precision repair low.trec --within bfloat16 -k 10 --reference high.trec
    """
    from trueval.files.display_names import name_files, path_of
    from trueval.files.source.fingerprints import record_files
    from trueval.precision.repair import repair_run
    from trueval.precision.views.kind import REPAIR
    from trueval.report.provenance import files_read
    from trueval.run import Run
    from trueval.score_width import ScoreWidth

    ScoreWidth.parse(within)  # before files are read
    if output.out is not None:
        check_folder(output.out)
    texts = [run, *([] if reference is None else [reference])]
    with record_files() as seen, progress(len(texts)) as begin:
        read = []
        for name, path in name_files(texts):
            begin(path)
            read.append(Run.read(path, name=name))
        found = repair_run(read[0], k=k, within=within, reference=read[1] if len(read) > 1 else None)
    roles = zip(("run", "reference"), map(path_of, texts), strict=False)
    result = {**found.to_dict(), "files": files_read(list(roles), seen)}
    if output.out is not None:
        save(output.out, (REPAIR, result), page=True)
    show(REPAIR, result, form, percent=output.percent)
