"""The page: one HTML file that opens offline."""

from __future__ import annotations

import base64
import hashlib
from collections import Counter
from dataclasses import replace
from pathlib import Path

from trueval.errors import MissingExtraError
from trueval.report.content import Block, Part, Table
from trueval.report.directory import Directory
from trueval.report.kinds import Kind, find
from trueval.version import __version__

TEMPLATES = Path(__file__).parent / "templates"


def page(directory: Directory, *, plots: bool = True) -> str:
    """Writes the page of a result directory.

    Everything in it is escaped, and a content security policy forbids it to load anything or to run any script but its
    own. It reads without scripts; they sort tables and draw plots.

    Args:
        directory: the results.
        plots: whether to embed the plot library, most of the page's size.

    Returns:
        HTML.

    Raises:
        MissingExtraError: jinja2 or plotly is not installed.
    """
    try:
        import jinja2

        if plots:
            from plotly.offline import get_plotlyjs
    except ImportError as error:
        raise MissingExtraError("Pages", "report") from error
    # Numbers and names come from files of others: all of them are escaped, and a name the template lacks is an error.
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(TEMPLATES),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
    )
    scripts = [(TEMPLATES / "page.js").read_text(encoding="utf-8")]
    if plots:
        scripts.insert(0, get_plotlyjs())
    # As a content security policy names a script (CSP level 3, hash-source). The page runs these scripts and no other,
    # so that a run named "<script>" does nothing even if escaping failed.
    digests = (hashlib.sha256(script.encode()).digest() for script in scripts)
    hashes = [f"'sha256-{base64.b64encode(digest).decode()}'" for digest in digests]
    text: str = environment.get_template("page.html.j2").render(
        title=f"trueval: {directory.path.resolve().name}",
        part=merged(parts(directory)),
        others=directory.others,
        style=(TEMPLATES / "page.css").read_text(encoding="utf-8"),
        scripts=scripts,
        hashes=hashes,
        version=__version__,
    )
    return text


def kinds_of(directory: Directory) -> list[Kind]:
    """The kinds of a directory, in the order of the page.

    Args:
        directory: the results.
    """
    found = (find(name) for name in {file.kind for file in directory.files})
    return sorted((kind for kind in found if kind), key=lambda kind: (kind.order, kind.name))


def parts(directory: Directory) -> tuple[Part, ...]:
    """What each file gives to the page, in the order of the page.

    Args:
        directory: the results.

    Returns:
        One part for each file of a kind that makes a part.
    """
    return tuple(
        kind.page(file, directory) for kind in kinds_of(directory) if kind.page for file in directory.of(kind.name)
    )


def write_figures(directory: Directory, folder: Path) -> tuple[Path, ...]:
    """Writes the figures and tables for papers of every kind in a directory.

    Args:
        directory: the results.
        folder: exists.

    Returns:
        What was written.

    Raises:
        MissingExtraError: matplotlib is not installed.
    """
    return tuple(
        path
        for kind in kinds_of(directory)
        if kind.figures
        for file in directory.of(kind.name)
        for path in kind.figures(file, directory, folder)
    )


def merged(several: tuple[Part, ...]) -> Part:
    """One part out of several: summaries first, closings last.

    Args:
        several: in the order of the page.

    Returns:
        Their sentences and blocks; a block whose id is taken gets a number, and what is in it too.
    """
    blocks, closing = (
        _distinct([block for part in several for block in getattr(part, name)]) for name in ("blocks", "closing")
    )
    # Two files of a kind may say the same sentence, of which one is enough.
    summary, advice = (
        tuple(dict.fromkeys(each for part in several for each in getattr(part, name))) for name in ("summary", "advice")
    )
    return Part(summary, advice, blocks, closing)


def _distinct(blocks: list[Block]) -> tuple[Block, ...]:
    # Two files of a kind give blocks of the same ids, which HTML allows once.
    seen: Counter[str] = Counter()
    result = []
    for block in blocks:
        seen[block.id] += 1
        result.append(block if seen[block.id] == 1 else _numbered(block, seen[block.id]))
    return tuple(result)


def _numbered(block: Block, number: int) -> Block:
    """The block with a number at its heading, and at every id in it: plots and captions are found by theirs."""

    def tables(found: tuple[Table, ...]) -> tuple[Table, ...]:
        return tuple(replace(table, id=f"{table.id}-{number}") for table in found)

    return replace(
        block,
        id=f"{block.id}-{number}",
        title=f"{block.title} ({number})",
        figures=tuple(replace(figure, id=f"{figure.id}-{number}") for figure in block.figures),
        tables=tables(block.tables),
        cases=tuple(replace(case, tables=tables(case.tables)) for case in block.cases),
    )
