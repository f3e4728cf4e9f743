"""The cache: the options of commands that keep what they compute, and the folder that these mean."""

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
    """The folder of `CacheFolder`, as `cache_for` finds it; None where nothing can be kept.

    Args:
        given: by --cache.
        out: by --out, which has the cache where the user's own cannot be written.
        make: whether the user's own is made where it is not there; a dry run makes nothing.
    """
    from trueval.retrieval.cache import cache_for

    found = cache_for(given, out, make=make)
    talk(found.notes)
    return found.place
