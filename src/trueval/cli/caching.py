"""The cache: the options of commands that cache what they compute, and the folder that they name."""

from pathlib import Path
from typing import Annotated, Literal

import typer

from trueval.cli.options import OUTPUT
from trueval.cli.output import talk

CacheFolder = Annotated[
    Path | None,
    typer.Option(
        "--cache",
        metavar="DIR",
        help="Keeps embeddings, indexes and candidates, and is looked into first. Default: the user's cache folder, as "
        "trueval cache shows it.",
        rich_help_panel=OUTPUT,
    ),
]

Reuse = Annotated[
    Literal["pass", "text"] | None,
    typer.Option(
        "--reuse",
        help="Which kept outputs of models in bfloat16 and float16 are taken: pass, those of the same pass over all "
        "texts, since a batch changes them; text, those of the same text, so that a changed document goes through the "
        "model alone. In float32 it is text. Default: as the file says, or pass.",
    ),
]


def cache_of(given: Path | None, out: Path | None, *, make: bool = True) -> Path | None:
    """The cache folder, as `cache_for` finds it; None if nothing can be written.

    Args:
        given: folder of --cache.
        out: folder of --out, which holds the cache if the user's cannot be written.
        make: whether to create the user's cache if it is missing; a dry run creates nothing.
    """
    from trueval.retrieval.cache import cache_for

    found = cache_for(given, out, make=make)
    talk(found.notes)
    return found.place
