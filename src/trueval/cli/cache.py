"""`trueval cache`: show and remove cached models' outputs, indexes and stages."""

import json
import sys
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from trueval.cli.output import say

if TYPE_CHECKING:
    from trueval.retrieval.cache import Cache


def cache(
    folder: Annotated[
        Path | None,
        typer.Argument(metavar="[DIR]", help="What --cache named. Default: the user's cache folder."),
    ] = None,
    remove: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help="Remove outputs, indexes, stages, all, or what begins with NAME; may be repeated. Without --yes "
            "it is only shown.",
        ),
    ] = None,
    older_than: Annotated[
        str | None, typer.Option(metavar="AGE", help="Only what was not used for so long: 12h, 30d, 4w.")
    ] = None,
    yes: Annotated[bool, typer.Option("--yes", help="Remove it.")] = False,
    form: Annotated[Literal["table", "json"], typer.Option("--format", help="What to print.")] = "table",
) -> None:
    """Shows what the cache holds, and removes some of it.

    What trueval does not know is left alone, and so are costs. Of the user's own cache the entries leave that were not
    used longest when it is larger than TRUEVAL_CACHE_LIMIT, 20G by default.

    Example: trueval cache --remove stages --older-than 30d
    """
    from trueval.retrieval import cache as library

    if yes and not remove:
        raise typer.BadParameter("say what to remove: --remove all, for instance.", param_hint="--yes")
    if folder is not None and not folder.exists():
        raise typer.BadParameter(
            f"{folder} is not there. trueval cache alone shows the user's cache, and --remove NAME removes.",
            param_hint="DIR",
        )
    library.limit_of()  # an unreadable size is reported only where sizes are shown
    place = folder or library.user_cache()
    found, now = library.read_cache(place), library.file_clock(place)
    age = None if older_than is None else library.age_of(older_than)
    meant = library.select_entries(found, remove or (), age, now)
    free = [entry for entry in meant if not (remove and entry.is_busy(now))]
    _print(found._replace(entries=tuple(free)), now, form)
    if len(free) < len(meant):
        say(
            f"{len(meant) - len(free)} of them changed in the last hour and are not complete: a process may be at work."
        )
    if not remove:
        return
    if yes:
        library.remove(free)
    say(f"removed {len(free)}" if yes else f"nothing is removed yet; add --yes to remove these {len(free)}")


def _print(found: "Cache", now: datetime, form: str) -> None:
    from trueval.files.source.memory_estimate import format_size
    from trueval.retrieval.views.cache import table

    result = found.to_dict()
    if form == "json":
        sys.stdout.write(json.dumps(result, indent=2, ensure_ascii=False) + "\n")
        return
    from rich.console import Console

    from trueval.report.terminal import breadth

    text, console = table(found.entries, now), Console(highlight=False)
    if not console.is_terminal:
        console.width = max(console.width, breadth(text))
    console.print(text)
    say(f"in {found.folder}")
    if found.ledger is not None:
        say(f"ledger.jsonl, what hosted models cost: {format_size(found.ledger)}; it is kept")
    if found.others:
        say(f"{found.others} other files or folders, which are not ours and are left alone")
