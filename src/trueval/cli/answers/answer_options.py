"""Options that the commands of answers share."""

from typing import Annotated, Final

import typer

from trueval.cli.options import MEASURES

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
