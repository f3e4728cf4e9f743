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
        help="Keeps embeddings, indexes and candidates, and is looked into first. Default: cache in --out; without "
        "--out the user's cache folder, as trueval cache shows it.",
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
    """The folder of `CacheFolder`; None where the user has none that can be made.

    Args:
        given: by --cache.
        out: by --out.
        make: whether the user's own is made where it is not there; a dry run makes nothing.
    """
    from trueval.retrieval.cache import user_cache

    if given is not None or out is not None:
        return given or (out / "cache" if out else None)
    place = user_cache()
    if not make:
        return place
    try:
        place.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        talk([f"{place}: cannot be made ({error.strerror}), so nothing is kept. Choose another with --cache."])
        return None
    return place
