"""The page: one HTML file that opens offline."""

from __future__ import annotations

import base64
import gzip
import hashlib
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

from trueval.extras import need
from trueval.printable import printable
from trueval.report.figures import need_figure_libraries, specification
from trueval.report.folded_tables import pack_table
from trueval.report.generation import ids_of
from trueval.report.inline_svg import inline
from trueval.report.kinds import Figures, Kind, find
from trueval.report.page_content import PLACES, Block, Figure, Part, Table
from trueval.report.page_errors import explain_drawing_errors, read_by
from trueval.report.result_directory import Directory, ResultFile
from trueval.version import __version__

TEMPLATES = Path(__file__).parent / "templates"


def page(directory: Directory, *, live: bool = True) -> str:
    """Writes the page of a result directory.

    Everything in it is escaped, and a content security policy forbids it to load anything or to run any script but its
    own. It reads without scripts; they sort tables, build the folded ones, and let readers choose what a plot shows.

    Args:
        directory: the results.
        live: whether to embed the plot library where a figure is interactive, most of the page's size.

    Returns:
        HTML.

    Raises:
        InputError: a file holds other values than those of a result.
        MissingExtraError: jinja2, Altair or vl-convert is not installed.
    """
    need_figure_libraries("Pages")
    jinja2 = need("jinja2", "Pages", "report")
    # Numbers and names come from files of others: all of them are escaped, and a name the template lacks is an error.
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(TEMPLATES),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
    )
    environment.policies["json.dumps_kwargs"] = {"separators": (",", ":"), "ensure_ascii": False}
    environment.filters |= {"inline": inline, "packed": pack_table, "specification": specification}
    with explain_drawing_errors(directory):
        part = merge_parts(parts(directory))
    script = (TEMPLATES / "page.js").read_text(encoding="utf-8")
    figures = [*part.lead, *(figure for block in part.blocks for figure in block.figures)]
    library = plot_library() if live and any(figure.interactive for figure in figures) else ""
    # As a content security policy names a script (CSP level 3, hash-source). The page runs these scripts and no other,
    # so that a run named "<script>" does nothing even if escaping failed.
    hashes = [_hash(text) for text in (script, library) if text]
    with explain_drawing_errors(directory):
        text: str = environment.get_template("page.html.j2").render(
            title=f"trueval: {printable(directory.path.resolve().name)}",
            part=part,
            others=directory.others,
            style=(TEMPLATES / "page.css").read_text(encoding="utf-8"),
            script=script,
            library=_compress_script(library) if library else "",
            hashes=hashes,
            version=__version__,
            generations=ids_of(file.data for file in directory.files),
        )
    return text


@cache
def plot_library() -> str:
    """Vega, Vega-Lite and Vega-Embed as one script, which vl-convert carries.

    Raises:
        MissingExtraError: vl-convert is not installed.
    """
    need_figure_libraries("Pages")
    import vl_convert

    text: str = vl_convert.javascript_bundle("window.vegaEmbed = vegaEmbed;")
    return text


def _compress_script(script: str) -> str:
    """A script as text of less than half its size, which browsers unpack by themselves (DecompressionStream)."""
    return base64.b64encode(gzip.compress(script.encode(), mtime=0)).decode()  # without the time: the same bytes


def _hash(script: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()}'"


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
        read_by(kind.page, file, directory)
        for kind in kinds_of(directory)
        if kind.page
        for file in directory.of(kind.name)
    )


def write_figures(directory: Directory, folder: Path) -> tuple[Path, ...]:
    """Writes the figures and tables for papers of every kind in a directory.

    Args:
        directory: the results.
        folder: exists.

    Returns:
        What was written.

    Raises:
        MissingExtraError: Altair or vl-convert is not installed.
    """
    need_figure_libraries("Figures")
    return tuple(
        path
        for kind in kinds_of(directory)
        if kind.figures
        for file in directory.of(kind.name)
        for path in read_by(_into(folder, kind.figures), file, directory)
    )


def _into(folder: Path, draw: Figures) -> Callable[[ResultFile, Directory], tuple[Path, ...]]:
    return lambda file, directory: draw(file, directory, folder)


def merge_parts(several: tuple[Part, ...]) -> Part:
    """One part out of several: summaries first, decisions before values before details, closings last.

    Args:
        several: in the order of the page.

    Returns:
        Their sentences and blocks; a block or figure whose id is taken gets a number, and what is in it too.
    """

    def every(name: str) -> list[Any]:
        return [each for part in several for each in getattr(part, name)]

    blocks = sorted(every("blocks"), key=lambda block: PLACES.index(block.place))
    # Two files of a kind may say the same sentence, of which one is enough.
    said = {name: tuple(dict.fromkeys(every(name))) for name in ("advice", "badges", "findings")}
    # The verdict of each file comes before what else any of them says.
    verdict, *summary = dict.fromkeys([*(part.verdict for part in several if part.verdict), *every("summary"), ()])
    return Part(
        tuple(words for words in summary if words),
        blocks=_distinct(blocks),
        closing=_distinct(every("closing")),
        lead=_own(every("lead")),
        verdict=verdict,
        **said,
    )


def _own(figures: list[Figure]) -> tuple[Figure, ...]:
    seen: Counter[str] = Counter()
    result = []
    for figure in figures:
        seen[figure.id] += 1
        result.append(figure if seen[figure.id] == 1 else replace(figure, id=f"{figure.id}-{seen[figure.id]}"))
    return tuple(result)


def _distinct(blocks: list[Block]) -> tuple[Block, ...]:
    # Two files of a kind give blocks of the same ids, which HTML allows once.
    seen: Counter[str] = Counter()
    result = []
    for block in blocks:
        seen[block.id] += 1
        result.append(block if seen[block.id] == 1 else _number_block(block, seen[block.id]))
    return tuple(result)


def _number_block(block: Block, number: int) -> Block:
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
