"""The page: one HTML file that opens offline."""

from __future__ import annotations

import base64
import gzip
import hashlib
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Final

from trueval.extras import need
from trueval.printable import printable
from trueval.report.figures import NARROW, WIDE, need_figure_libraries, specification
from trueval.report.folded_tables import pack_table
from trueval.report.formats import slug
from trueval.report.generation import ids_of
from trueval.report.inline_svg import inline
from trueval.report.kinds import Figures, Kind, find
from trueval.report.page_content import Block, Figure, PageTable, Part
from trueval.report.page_errors import explain_drawing_errors, read_by
from trueval.report.result_directory import Directory, ResultFile
from trueval.version import __version__

TEMPLATES: Final = Path(__file__).parent / "templates"
# By their class of CSS: at what width figures are drawn for a screen and for a phone.
WIDTHS: Final = {"wide": WIDE, "narrow": NARROW}


def page(directory: Directory, *, live: bool = True) -> str:
    """Render the page of a result directory.

    Everything in it is escaped, and a content security policy forbids loading anything and running other scripts. The
    page is readable without scripts, which sort tables, build folded ones and control interactive plots.

    Args:
        directory: the results.
        live: whether to embed the plot library for interactive figures; it is most of the page's size.

    Returns:
        HTML.

    Raises:
        InputError: a file has values that no result has.
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
    environment.filters |= {"draw_svg": draw_svg, "packed": pack_table, "live": _live}
    with explain_drawing_errors(directory):
        shown = with_own_ids(parts(directory))
    script = (TEMPLATES / "page.js").read_text(encoding="utf-8")
    figures = [
        figure for part in shown for figure in (*part.lead, *(one for each in part.blocks for one in each.figures))
    ]
    library = plot_library() if live and any(figure.interactive for figure in figures) else ""
    # As a content security policy names a script (CSP level 3, hash-source). The page runs these scripts and no other,
    # so that a run named "<script>" does nothing even if escaping failed.
    hashes = [_hash(text) for text in (script, library) if text]
    with explain_drawing_errors(directory):
        text: str = environment.get_template("page.html.j2").render(
            title=f"trueval: {printable(directory.path.resolve().name)}",
            parts=shown,
            closing=[each for part in shown for each in part.closing],
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
    """A script compressed to less than half its size; browsers decompress it (DecompressionStream)."""
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
    """The part of each file, in the order of the page.

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
    """Write the figures and tables for papers of every kind in a directory.

    Args:
        directory: the results.
        folder: existing folder.

    Returns:
        Paths of the written files.

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


def draw_svg(figure: Figure) -> list[tuple[str, str]]:
    """Draw a figure as SVG, for a screen and for a phone, each with its CSS class; once if a live chart replaces it."""
    widths = {"": WIDE} if figure.interactive else WIDTHS
    return [(name, inline(figure.draw(width))) for name, width in widths.items()]


def _live(figure: Figure) -> dict[str, object]:
    return specification(figure.draw(WIDE))


def with_own_ids(several: Sequence[Part]) -> tuple[Part, ...]:
    """Parts with unique ids of headings, figures and tables; two files of a kind have the same ones."""
    seen: Counter[str] = Counter()

    def own(name: str) -> str:
        seen[name] += 1
        return name if seen[name] == 1 else f"{name}-{seen[name]}"

    def figures(found: Iterable[Figure]) -> tuple[Figure, ...]:
        return tuple(replace(each, id=own(each.id)) for each in found)

    def tables(found: Iterable[PageTable]) -> tuple[PageTable, ...]:
        return tuple(replace(each, id=own(each.id)) for each in found)

    def blocks(found: Iterable[Block]) -> tuple[Block, ...]:
        return tuple(
            replace(
                each,
                id=own(each.id),
                figures=figures(each.figures),
                tables=tables(each.tables),
                cases=tuple(replace(case, tables=tables(case.tables)) for case in each.cases),
            )
            for each in found
        )

    return tuple(
        replace(
            part,
            id=own(f"part-{slug(part.title)}"),
            lead=figures(part.lead),
            blocks=blocks(part.blocks),
            closing=blocks(part.closing),
        )
        for part in several
    )
