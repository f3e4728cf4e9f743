"""What the commands of answers share: their options, and how `generate` and `brittle` ask generators."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from trueval.cli.estimates import show_dry_run
from trueval.cli.long_work import bars, interruptible, remarks
from trueval.cli.options import MEASURES, OUTPUT
from trueval.cli.output import check_folder, save, show, talk

if TYPE_CHECKING:
    from trueval.answers.generation.brittle_result import BrittleAnswers
    from trueval.answers.generation.generation_result import GeneratedAnswers
    from trueval.models.missing_work import DryRun
    from trueval.report.kinds import Kind
    from trueval.retrieval.pipeline.stage_resources import Begin

LOGS: Final = (
    "Answers, one JSON object a question, as this tool, Ragas, DeepEval, RAGChecker, LangSmith or Phoenix write them."
)
AnswerMeasures = Annotated[
    str | None,
    typer.Option(
        "--measures",
        "-m",
        metavar="LIST",
        help="Names, separated by commas. Default: all; of a budget correctness, or token-F1 without tables.",
        rich_help_panel=MEASURES,
    ),
]
ANSWERS_FILE: Final = "Questions, contexts, who answers and who judges: trueval schema answers."
GeneratedFolder = Annotated[
    Path,
    typer.Option("--out", metavar="DIR", help="Write logs, ledger, tables and page there.", rich_help_panel=OUTPUT),
]
GeneratedLedger = Annotated[
    Path | None,
    typer.Option(
        "--ledger",
        metavar="FILE",
        help="Keep answers there. Default: ledger.sqlite in --out.",
        rich_help_panel=OUTPUT,
    ),
]


def ask_generators(
    kind: "Kind",
    answer: "Callable[[Begin], BrittleAnswers | GeneratedAnswers]",
    estimate: "Callable[[], DryRun]",
    *,
    out: Path,
    ledger: Path | None,
    dry_run: bool,
    form: str,
    percent: bool,
) -> None:
    """Ask generators, write the result with its page, and show it; or say what work is left.

    Args:
        kind: of the result.
        answer: from a function that begins a progress bar to the result.
        estimate: computes the work that is left.
        out: folder of the result.
        ledger: file of the ledger; None for that of the folder.
        dry_run: whether only the work that is left is shown.
        form: format of the output.
        percent: whether values are shown in percent.
    """
    from trueval.golden.build.build import LEDGER

    check_folder(out)
    if dry_run:
        show_dry_run(estimate, form)
        return
    kept = f"Every answer is kept in {ledger or out / LEDGER}. The same command goes on from there."
    with interruptible(kept), remarks(), bars() as bar:
        found = answer(bar)
    result = found.to_dict()
    talk(found.notes)
    save(out, (kind, result), page=True)
    show(kind, result, form, percent=percent)
