"""The cache: the options of commands that keep what they compute, and the folder that these mean."""

import os
from contextlib import suppress
from datetime import UTC, datetime
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
    """The folder of `CacheFolder`; None where the user has none that can be written, and no --out.

    Of the user's own, what was not used longest leaves where it is larger than its limit.

    Args:
        given: by --cache.
        out: by --out, which has the cache where the user's own cannot be written.
        make: whether the user's own is made where it is not there; a dry run makes nothing.
    """
    from trueval.retrieval import cache as library

    if given is not None:
        return given
    limit = library.limit_of()
    try:
        if not make:
            return _looked_into(library.user_cache(), out)
        place = library.own_cache()
    except OSError as error:
        instead = None if out is None else out / "cache"
        kept = "Nothing is kept" if instead is None else f"What is computed is kept in {instead}"
        talk([f"{error.filename}: the cache cannot be written ({error.strerror}). {kept}. --cache DIR names another."])
        return instead
    _make_room(place, limit)
    return place


def _looked_into(place: Path, out: Path | None) -> Path | None:
    """Where a dry run looks: the user's own cache, or that of --out where an earlier command had to keep it there."""
    there = next(each for each in (place, *place.parents) if each.exists())
    return place if there.is_dir() and os.access(there, os.W_OK) else (out / "cache" if out else None)


def _make_room(place: Path, limit: int) -> None:
    """Remove what was not used longest, and say so."""
    from trueval.files.source.memory import shown
    from trueval.report.text import counted
    from trueval.retrieval import cache as library

    if library.size_of(place) <= limit:
        return
    gone = library.leaving(library.read_cache(place), limit, datetime.now(UTC))
    if not gone:
        return
    with suppress(OSError):  # another process may have been faster
        library.remove(gone)
    entries = counted(len(gone), "entry that was", "entries that were")
    since = f"{max(each.used for each in gone):%Y-%m-%d}"
    size = shown(sum(each.bytes for each in gone))
    talk([f"{entries} not used since {since} left the cache ({size}), which may hold {shown(limit)}: {library.LIMIT}."])
