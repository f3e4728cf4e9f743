"""Where results go: data to stdout or a folder, talk to stderr."""

import os
import sys
import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Literal

import typer

from trueval.errors import InputError

Format = Literal["table", "json", "csv", "markdown", "latex", "trec"]
MEANS_ONLY = ("markdown", "latex")
FILES = {"results.json": "json", "results.csv": "csv", "results.md": "markdown"}


def show(results: Mapping[str, Any], form: Format, *, per_query: bool = False) -> None:
    """Prints results to stdout.

    Args:
        results: what `trueval.evaluation.scores.results` returns.
        form: "table" for people, or one of the text formats.
        per_query: whether the table lists the queries too.
    """
    if form == "table":
        from rich.console import Console

        from trueval.evaluation.views.table import table

        Console(highlight=False).print(table(results, per_query=per_query))
        return
    from trueval.evaluation.views.formats import WRITERS

    sys.stdout.write(WRITERS[form](results))
    if per_query and form in MEANS_ONLY:
        talk([f"--format {form} holds means only. --format json, csv or trec, or --out DIR, give every query."])


def save(results: Mapping[str, Any], folder: Path) -> None:
    """Writes results.json, results.csv and results.md; each file is either the old one or complete.

    Args:
        results: what `trueval.evaluation.scores.results` returns.
        folder: made if absent.

    Raises:
        OSError: the folder cannot be made or written.
    """
    from trueval.evaluation.views.formats import WRITERS

    make_folder(folder)
    for name, form in FILES.items():
        write_atomically(folder / name, WRITERS[form](results))
    typer.echo(f"wrote {', '.join(FILES)} to {folder}", err=True)


def check_folder(folder: Path) -> None:
    """Refuses what cannot be a folder, before any work is done for it.

    Args:
        folder: what `--out` names.

    Raises:
        InputError: a file stands there, or in place of a parent.
    """
    standing = next((place for place in (folder, *folder.parents) if place.exists()), folder)
    if standing.exists() and not standing.is_dir():
        raise InputError(
            f"{standing}: File exists. --out must name a folder. Name another place, or move the file away."
        )


def make_folder(folder: Path) -> None:
    """Makes the folder that `--out` names.

    Args:
        folder: made if absent, its parents too.

    Raises:
        InputError: it cannot be a folder.
    """
    check_folder(folder)
    folder.mkdir(parents=True, exist_ok=True)


def write_atomically(path: Path, text: str) -> None:
    """Writes a text file beside its place and moves it there in one step.

    Args:
        path: the file's place; its folder must exist.
        text: all of its content, written as UTF-8.

    Raises:
        OSError: the folder cannot be written.
    """
    handle, temporary = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    try:
        with os.fdopen(handle, "w", encoding="utf-8", newline="") as file:
            file.write(text)
        Path(temporary).chmod(0o666 & ~_umask())
        Path(temporary).replace(path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def talk(lines: Iterable[str]) -> None:
    """Says each different line once, on stderr.

    Args:
        lines: remarks of one line.
    """
    for line in dict.fromkeys(lines):
        typer.echo(f"note: {line}", err=True)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
