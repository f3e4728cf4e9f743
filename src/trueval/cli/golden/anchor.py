"""`trueval golden anchor`: the judgments of a golden set for another cut of its corpus."""

from pathlib import Path
from typing import Annotated

import typer

from trueval.cli.options import OUTPUT, with_groups
from trueval.cli.output import make_parent, say, talk


@with_groups
def anchor(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="The folder of the golden set.")],
    *,
    collection: Annotated[
        str, typer.Option(metavar="DIR", help="Folder with the new corpus, as trueval retrieve takes it.")
    ],
    queries: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="The queries, where the golden set does not ask those of the folder."),
    ] = None,
    out: Annotated[
        Path,
        typer.Option(metavar="FILE", help="Write the judgments of the new documents there.", rich_help_panel=OUTPUT),
    ],
) -> None:
    """Carries judgments over to a corpus that was cut anew.

    What was judged and is not there word for word is counted as lost; trueval golden grade judges what a run finds.
    Labels of a query that is asked in other words now are left out, and said.

    Example: trueval golden anchor golden --collection corpus --out qrels.trec
    """
    from trueval.golden.build.anchoring import anchor as library

    make_parent(out, "--out")
    found = library(folder, collection, out, queries=queries)
    talk(found.notes)
    for line in found.sentences():
        say(line)
    say(f"wrote {len(found.judgments.frame):,} judgments to {out}.")
