"""How models run: the options that commands with models share."""

from dataclasses import dataclass
from typing import Annotated, ClassVar

import typer


@dataclass(frozen=True, eq=False, repr=False)
class LoadingOptions:
    """How models run."""

    panel: ClassVar = "Models"

    batch_size: Annotated[
        int | None,
        typer.Option(metavar="N", min=1, help="Texts in one forward pass; halved when memory runs out. Default: 32."),
    ] = None
    max_length: Annotated[
        int | None, typer.Option(metavar="N", min=8, help="Tokens kept, instead of the recipe's.")
    ] = None
    device: Annotated[
        str | None, typer.Option(metavar="NAME", help="As torch calls it. Default: an accelerator, else cpu.")
    ] = None
