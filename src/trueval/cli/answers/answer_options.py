"""Options that the commands of answers share."""

from pathlib import Path
from typing import Annotated, Final

import typer

from trueval.cli.options import MEASURES, OUTPUT

LOGS: Final = (
    "Answers, one JSON object a question, as this tool, Ragas, DeepEval, RAGChecker, LangSmith or Phoenix write them."
)
AnswerMeasures = Annotated[
    str | None,
    typer.Option(
        "--measures",
        "-m",
        metavar="LIST",
        help="Names, separated by commas. Default: all.",
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
