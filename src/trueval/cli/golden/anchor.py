"""`trueval golden anchor`: the judgments of a golden set for another cut of its corpus."""

from pathlib import Path
from typing import Annotated

import typer

from trueval.cli.options import OUTPUT, with_groups
from trueval.cli.output import make_parent, say, talk
from trueval.errors import InputError


@with_groups
def anchor(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="The folder of the golden set.")],
    *,
    collection: Annotated[
        str, typer.Option(metavar="DIR", help="Folder with the new corpus, as trueval retrieve takes it.")
    ],
    out: Annotated[
        Path,
        typer.Option(metavar="FILE", help="Write the judgments of the new documents there.", rich_help_panel=OUTPUT),
    ],
) -> None:
    """Carries judgments over to a corpus that was cut anew: a label stays with the text that it was given to.

    What was judged and is not there word for word is counted as lost; trueval golden grade judges what a run finds.

    Example: trueval golden anchor golden --collection corpus --out qrels.trec
    """
    from trueval.collection import Collection
    from trueval.golden.golden_set import GoldenSet

    make_parent(out, "--out")
    found = GoldenSet.read(folder)
    if out.resolve().parent == folder.resolve():
        raise InputError(f"{out}: is in the golden set, whose files belong together. Name another place.")
    texts = Collection.read(collection)
    talk(texts.notes)
    anchored = found.anchored(texts)
    anchored.judgments.write(out)
    say(
        f"{anchored.kept:,} of {anchored.kept + anchored.lost:,} judged passages are there word for word, "
        f"{anchored.moved:,} of them under other ids; {anchored.lost:,} are lost."
    )
    say(f"wrote {len(anchored.judgments.frame):,} judgments to {out}.")
