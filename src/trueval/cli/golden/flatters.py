"""`trueval golden flatters`: how far the order of systems on written questions can be believed."""

from pathlib import Path
from typing import Annotated

import typer

from trueval.cli.golden.agree import Resamples, Seed
from trueval.cli.long_work import remarks
from trueval.cli.options import Form, Level, Memory, OutputOptions, with_groups
from trueval.cli.output import check_folder, save, show, talk
from trueval.cli.short_help import common_options


@common_options("real", "real_run", "lexical", "measure", "out", "form")
@with_groups
def flatters(
    questions: Annotated[
        Path,
        typer.Argument(
            metavar="QUESTIONS",
            help="The folder of trueval golden questions; or a collection of questions that another tool wrote.",
        ),
    ],
    runs: Annotated[list[str], typer.Argument(metavar="RUN...", help="A run of each system, or name=path.")],
    *,
    real: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR|QRELS", help="Real questions: a collection with corpus, queries and judgments, or judgments."
        ),
    ] = None,
    real_run: Annotated[
        list[str] | None,
        typer.Option(
            metavar="RUN",
            help="A run of each system on the real questions, in the order of RUN; once for each. Default: the same "
            "files.",
        ),
    ] = None,
    lexical: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="The system that searches words. Default: the one with bm25 in its name."),
    ] = None,
    measure: Annotated[str, typer.Option("--measure", "-m", metavar="NAME", help="What systems are measured by.")] = (
        "nDCG@10"
    ),
    language: Annotated[
        str, typer.Option(metavar="CODE", help="Of stop words and stems: en, fr, de, es, it, nl, pt, or none.")
    ] = "en",
    resamples: Resamples = 2000,
    seed: Seed = 0,
    level: Level = 0.95,
    output: OutputOptions,
    form: Form = "table",
    memory: Memory = None,
) -> None:
    """Says whether the order of systems on written questions can be believed.

    Example: trueval golden flatters questions bm25.trec dense.trec --real corpus --real-run bm25-real.trec
    --real-run dense-real.trec
    """
    from trueval.golden.questions.flatters import flatters as library
    from trueval.golden.views.kind import FLATTERY

    if output.out is not None:
        check_folder(output.out)
    with remarks():
        found = library(
            questions,
            runs,
            real,
            real_run or (),
            measure=measure,
            lexical=lexical,
            language=None if language == "none" else language,
            resamples=resamples,
            seed=seed,
            level=level,
        )
    talk(found.notes)
    result = found.to_dict()
    if output.out is not None:
        save(output.out, (FLATTERY, result), page=True)
    show(FLATTERY, result, form, percent=output.percent)
