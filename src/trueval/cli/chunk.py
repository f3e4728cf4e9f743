"""`trueval chunk`: a corpus of chunks, made from a corpus of documents."""

import json
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

import typer

from trueval.cli.long_work import bars
from trueval.cli.options import Memory, with_groups
from trueval.cli.output import make_parent, say, talk
from trueval.cli.short_help import common_options

if TYPE_CHECKING:
    from trueval.retrieval.chunking.chunks import Chunker, Tokenizer

WORDS = "words"
LARGE = 1 << 26  # bytes of a corpus from which several processes pay off: they take a second to start


@dataclass(frozen=True, eq=False, repr=False)
class ChunkOptions:
    """How documents are cut."""

    panel: ClassVar = "Chunks"

    how: Annotated[
        Literal["sentences", "windows"],
        typer.Option(
            metavar="HOW",
            help="sentences: whole ones up to the size, no heading inside; windows: so many tokens, wherever it cuts.",
        ),
    ] = "sentences"
    size: Annotated[int, typer.Option(metavar="N", min=1, help="Tokens of a chunk at most, breadcrumb included.")] = 515
    overlap: Annotated[
        int,
        typer.Option(metavar="N", min=0, help="Tokens at most that a chunk begins with and the one before ends with."),
    ] = 70
    tokens: Annotated[
        str,
        typer.Option(
            metavar="NAME", help="What counts as a token: words, or the tokens of a model, by recipe, folder or hub id."
        ),
    ] = WORDS
    breadcrumbs: Annotated[
        bool,
        typer.Option(help="Whether chunks begin with title › section › heading, of Markdown headings in the text."),
    ] = True
    titles: Annotated[
        str, typer.Option(metavar="LIST", help="Fields that begin a breadcrumb, where they are there; comma-separated.")
    ] = "title,section"
    fields: Annotated[
        str, typer.Option(metavar="LIST", help="Fields that make a document's text, one below the other.")
    ] = "text"

    def chunker(self) -> "Chunker":
        """The chunker with these settings."""
        from trueval.retrieval.chunking.chunks import Chunker

        return Chunker(self.how, self.size, self.overlap, self.breadcrumbs, self._tokenizer())

    def _tokenizer(self) -> "Tokenizer | None":
        if self.tokens == WORDS:
            return None
        from trueval.models.local_model import load_tokenizer
        from trueval.retrieval.chunking.chunks import model_tokens

        return model_tokens(load_tokenizer(self.tokens))


@common_options("out", "size", "overlap", "how", "tokens", "titles")
@with_groups
def chunk(
    corpus: Annotated[
        Path,
        typer.Argument(
            metavar="CORPUS",
            help="A folder of documents (.txt, .md, .html, .pdf, .docx), a collection's folder, a folder of parts, or "
            "one file of these or of .jsonl (.gz, .zst) or .parquet.",
            show_default=False,
        ),
    ],
    *,
    out: Annotated[
        Path, typer.Option(metavar="FILE", help="Write the chunks there, a corpus again: .jsonl or .jsonl.gz.")
    ],
    options: ChunkOptions,
    form: Annotated[Literal["table", "json"], typer.Option("--format", help="What to print.")] = "table",
    memory: Memory = None,
) -> None:
    """Cuts documents into chunks with overlap and breadcrumbs.

    Example: trueval chunk documents --out chunks/corpus.jsonl --size 515 --overlap 70
    """
    from trueval.retrieval.chunking.corpus_chunks import chunk_corpus, source_bytes
    from trueval.retrieval.views.chunked import table
    from trueval.threads import Processes

    make_parent(out, "--out")
    chunker = options.chunker()
    fields, titles = (
        tuple(filter(None, map(str.strip, given.split(",")))) for given in (options.fields, options.titles)
    )
    if not fields:
        raise typer.BadParameter("name at least one field.", param_hint="--fields")
    large = source_bytes(corpus) >= LARGE
    with bars() as bar, Processes(None if large else 1) as executor:
        step = bar("chunking")
        found = chunk_corpus(
            corpus,
            out,
            chunker,
            fields=fields,
            titles=titles,
            tell=lambda done: step("documents", done, 0),
            executor=executor,
        )
        step("documents", found.documents + found.empty, found.documents + found.empty)
    talk(found.notes)
    say(f"wrote {out}")
    if form == "json":
        sys.stdout.write(json.dumps(found.to_dict(), indent=2, ensure_ascii=False) + "\n")
        return
    from rich.console import Console

    Console(highlight=False).print(table(found))
