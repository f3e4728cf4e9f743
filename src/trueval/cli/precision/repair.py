"""`trueval precision repair`: which documents must be scored again for the exact first K."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from trueval.cli.caching import CacheFolder, cache_of
from trueval.cli.long_work import bars, interruptible, remarks
from trueval.cli.options import Form, Memory, OutputOptions, with_groups
from trueval.cli.output import check_folder, save, show
from trueval.cli.progress import progress
from trueval.cli.short_help import common_options

if TYPE_CHECKING:
    from trueval.precision.repair_result import PrecisionRepair


@common_options("pipeline", "within", "k", "check", "reference", "out", "form")
@with_groups
def repair(
    place: Annotated[
        str,
        typer.Argument(
            metavar="RUN | COLLECTION",
            help="Run of scores in low precision: a path, - or NAME=PATH; with --pipeline the collection to search.",
        ),
    ],
    *,
    pipeline: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Pipeline whose last model scores the doubtful documents again in float32, as \\[repair] in it does.",
        ),
    ] = None,
    within: Annotated[
        str | None,
        typer.Option(
            metavar="WIDTH",
            help="By how much an exact score may differ: 0.002; bfloat16, rounding to it; 2.5 ulp(bfloat16); of a run "
            "codes(int8). With 0 only groups of equal scores that K cuts. Default: that of \\[repair], or bfloat16.",
        ),
    ] = None,
    k: Annotated[
        int | None,
        typer.Option(
            "-k", metavar="K", min=1, help="Documents that count: the first K. Default: that of \\[repair], or 10."
        ),
    ] = None,
    order: Annotated[
        bool, typer.Option("--order", help="Make the order of the first K exact too, and with it measures at K.")
    ] = False,
    reference: Annotated[
        str | None,
        typer.Option(
            metavar="RUN", help="Exact scores of the same pairs, to see whether the repair restores their first K."
        ),
    ] = None,
    check: Annotated[
        bool, typer.Option("--check", help="With --pipeline: score all pairs in float32 too, as the reference.")
    ] = False,
    cache: CacheFolder = None,
    output: OutputOptions,
    form: Form = "table",
    memory: Memory = None,
) -> None:
    """Says which documents of each query must be scored again in float32 so that the first K are exact.

    Example: trueval precision repair low.trec --within bfloat16 -k 10 --reference high.trec

    Example: trueval precision repair collection --pipeline pipeline.toml --within 0.002 --check
    """
    from trueval.files.display_names import path_of
    from trueval.files.source.fingerprints import record_files
    from trueval.precision.views.kind import REPAIR
    from trueval.report.provenance import files_read
    from trueval.score_width import ScoreWidth

    if within is not None:
        ScoreWidth.parse(within)  # before files are read
    if pipeline is not None and reference is not None:
        raise typer.BadParameter("goes with a run. With --pipeline, --check makes it.", param_hint="--reference")
    if pipeline is None and (check or cache is not None):
        raise typer.BadParameter("go with --pipeline.", param_hint="--check" if check else "--cache")
    if output.out is not None:
        check_folder(output.out)
    with record_files() as seen:
        if pipeline is not None:
            found = _repair_pipeline(place, pipeline, within, k, order, check, cache_of(cache, output.out))
            roles = [("pipeline", str(pipeline))]
        else:
            found = _repair_run(place, within, k, order, reference)
            texts = [place, *([] if reference is None else [reference])]
            roles = list(zip(("run", "reference"), map(path_of, texts), strict=False))
    result = {**found.to_dict(), "files": files_read(roles, seen)}
    if output.out is not None:
        save(output.out, (REPAIR, result), page=True)
    show(REPAIR, result, form, percent=output.percent)


def _repair_run(place: str, within: str | None, k: int | None, order: bool, reference: str | None) -> "PrecisionRepair":
    from trueval.files.display_names import name_files
    from trueval.precision.repair import repair_run
    from trueval.run import Run

    texts = [place, *([] if reference is None else [reference])]
    with progress(len(texts)) as begin:
        read = []
        for name, path in name_files(texts):
            begin(path)
            read.append(Run.read(path, name=name))
        exact = read[1] if len(read) > 1 else None
        return repair_run(read[0], k=k or 10, within=within or "bfloat16", order=order, reference=exact)


def _repair_pipeline(
    collection: str, pipeline: Path, within: str | None, k: int | None, order: bool, check: bool, cache: Path | None
) -> "PrecisionRepair":
    from trueval.precision.repair import repair_pipeline

    told = "What was computed is kept in the cache. The same command goes on from there."
    told = told if cache is not None else "Nothing is kept. With --cache DIR what was computed is."
    with interruptible(told), remarks(), bars() as bar:
        return repair_pipeline(
            collection, pipeline, k=k, within=within, order=order or None, check=check, cache=cache, begin=bar
        )
