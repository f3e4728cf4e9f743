"""Options that several commands share."""

from typing import Annotated

import typer

DEFAULT_MEASURES = "nDCG@10 RR@10 AP@100 R@100 P@10"

MeasureList = Annotated[
    list[str] | None,
    typer.Option(
        "--measures",
        "-m",
        metavar="LIST",
        help=f"Measures, parted by blanks or repeated. Default: {DEFAULT_MEASURES}.",
    ),
]
Sources = Annotated[
    str | None,
    typer.Option(
        metavar="FILE",
        help="Document and its source on each line, parted by a tab, a comma or blanks, for novelty(...).",
    ),
]
Facets = Annotated[
    bool,
    typer.Option("--facets", help="The second column of QRELS holds facets; alpha_nDCG and NRBP imply it."),
]
