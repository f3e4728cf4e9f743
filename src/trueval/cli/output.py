"""Where results go: data to stdout or a folder, talk to stderr. Every kind of result is shown and saved here."""

import os
import sys
import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import typer

from trueval.errors import InputError, MissingExtraError
from trueval.printable import printable, printable_message

if TYPE_CHECKING:
    from trueval.report.kinds import Kind

Format = Literal["table", "json", "csv", "markdown", "latex"]


def show(kind: "Kind", result: Mapping[str, Any], form: str, *, percent: bool = False, **told: Any) -> None:
    """Prints a result to stdout.

    Args:
        kind: of the result.
        result: as its JSON holds it.
        form: "table" for people, or one of the text formats of the kind.
        percent: whether tables, Markdown and LaTeX hold points, 100 times the values; JSON, CSV and trec never do.
        told: what else the tables and Markdown of the kind take.
    """
    from trueval.report.text import FRACTIONS, POINTS

    told = told if form in ("table", "markdown") else {}
    text = kind.write(result, form, scale=POINTS if percent else FRACTIONS, **told)
    if form == "table":
        from rich.console import Console

        from trueval.report.terminal import breadth

        console = Console(highlight=False)
        if not console.is_terminal and "COLUMNS" not in os.environ:
            console.width = max(console.width, breadth(text))  # a pipe has room: nothing is shortened or left out
        console.print(text, crop=False)
    else:
        sys.stdout.write(text)


def save(kind: "Kind", result: Mapping[str, Any], folder: Path) -> None:
    """Writes the files of a result; each one is either the old one or complete.

    Args:
        kind: of the result.
        result: as its JSON holds it.
        folder: made if absent.

    Raises:
        InputError: it cannot be a folder.
        OSError: the folder cannot be made or written.
    """
    check_folder(folder)
    folder.mkdir(parents=True, exist_ok=True)
    for name, form in kind.files.items():
        write_atomically(folder / name, kind.write(result, form))
    say(f"wrote {', '.join(kind.files)} to {folder}")


def save_page(folder: Path, file: Path | None = None, *, figures: bool = True) -> None:
    """Writes the page of all results in a folder, and figures and tables for papers to its folder figures.

    Args:
        folder: what `--out` named.
        file: of the page; report.html in the folder if None.
        figures: whether to write the figures too; all of them or none.

    Raises:
        MissingExtraError: what the page or the figures are made with is not installed.
    """
    from trueval.report.kinds import read_directory
    from trueval.report.page import page, write_figures

    directory, file = read_directory(folder), file or folder / "report.html"
    write_atomically(file, page(directory))
    say(f"wrote {file}")
    if not figures:
        return
    with tempfile.TemporaryDirectory(dir=folder) as place:  # drawn there, so that a failure leaves the old ones
        drawn = write_figures(directory, Path(place))
        for path in drawn:
            (folder / "figures").mkdir(exist_ok=True)
            path.replace(folder / "figures" / path.name)
    if drawn:
        say(f"wrote {', '.join(path.name for path in drawn)} to {folder / 'figures'}")


def offer_page(folder: Path) -> None:
    """Writes the page beside results that are complete without it, or says which package it needs.

    Args:
        folder: what `--out` named.
    """
    try:
        save_page(folder)
    except MissingExtraError as error:
        talk([str(error)])


def check_folder(folder: Path) -> None:
    """Refuses what cannot be a folder, before any work is done for it.

    Args:
        folder: what `--out` names.

    Raises:
        InputError: there is a file of that name, or of the name of a parent.
    """
    # The nearest place that exists decides: making the folder would fail below a file.
    first = next((place for place in (folder, *folder.parents) if place.exists()), folder)
    if first.exists() and not first.is_dir():
        raise InputError(f"{first}: File exists. --out must name a folder. Name another place, or move the file away.")


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
        # A temporary file is its owner's alone. It gets the rights that any new file has here, so that others can read
        # results in a shared folder.
        mask = os.umask(0)  # it can only be read by setting it
        os.umask(mask)
        Path(temporary).chmod(0o666 & ~mask)
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
        say(f"note: {line}")


def say(line: str, *, err: bool = True) -> None:
    """Says one line, control characters in its ids and names written out.

    Args:
        line: without a line feed of ours in it.
        err: whether on stderr.
    """
    typer.echo(printable_message(line) if err else printable(line), err=err)
