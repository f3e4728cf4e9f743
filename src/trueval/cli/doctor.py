"""`trueval doctor`: what this installation can do, and what to install for what is missing."""

import json
import sys
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from trueval.cli.output import say

if TYPE_CHECKING:
    from collections.abc import Iterator

    from trueval.installation import Installation


def doctor(
    form: Annotated[Literal["table", "json"], typer.Option("--format", help="What to print.")] = "table",
) -> None:
    """Says what this installation can do, and what is missing.

    Exit status 1 where something is broken: a library that is too old, a plugin that cannot be loaded, a model whose
    weights are other ones. An extra that is not installed is no fault; how to install it is said.

    Example: trueval doctor
    """
    from trueval.installation import read_installation

    found = read_installation()
    if form == "json":
        sys.stdout.write(json.dumps(found.to_dict(), indent=2, ensure_ascii=False) + "\n")
    else:
        _print(found)
    for problem in found.problems:
        say(problem)
    if found.problems:
        raise typer.Exit(1)


def _print(found: "Installation") -> None:
    from rich.console import Console
    from rich.text import Text

    from trueval.report.terminal import breadth, grid

    table = grid(("part", "found", "about"), "LLL")
    for row in _rows(found):
        table.add_row(*map(Text, row))
    console = Console(highlight=False)
    if not console.is_terminal:
        console.width = max(console.width, breadth(table))
    console.print(table)


def _rows(found: "Installation") -> "Iterator[tuple[str, str, str]]":
    from trueval.files.source.memory_estimate import format_size

    for name, version in found.versions.items():
        yield name, version, ""
    yield "system", found.system, f"{found.processors} processors, {format_size(found.memory)} of memory free"
    yield (
        "accelerator",
        ", ".join(found.accelerators) or "none",
        "" if found.accelerators else "models run on processors",
    )
    for name, compiled in found.compiled.items():
        yield name, "compiled" if compiled else "not compiled", "" if compiled else "the same values, in more time"
    yield "models", ", ".join(found.models) or "none here", "others come from the hub, or from folders"
    yield "cache", str(found.cache), "there" if found.cache.is_dir() else "not there yet"
    told: set[str] = set()
    for extra in found.extras:
        new = [f"{each.name} {each.found}" for each in extra.libraries if each.fits and each.name not in told]
        lacking = ", ".join(each.name for each in extra.lacks)
        cure = f'lacks {lacking}: pip install "trueval[{extra.name}]"' if lacking else ", ".join(new)
        yield f"extra {extra.name}", "not complete" if lacking else "complete", cure or "the same as above"
        told |= {each.name for each in extra.libraries}
    for plugin in found.plugins:
        yield f"{plugin.group} {plugin.name}", plugin.package, plugin.error
