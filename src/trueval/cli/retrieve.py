"""`trueval retrieve`: a run made from a corpus, by indexes, fusion and rerankers."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import typer

from trueval.cli.options import OUTPUT, Form, OutputOptions, with_groups
from trueval.cli.output import check_folder, save, say, show
from trueval.cli.precision import bars, remarks

if TYPE_CHECKING:
    from trueval.collection import Collection
    from trueval.retrieval.pipeline import Pipeline

RUN_FILE = "run.trec"


@dataclass(frozen=True)
class PipelineOptions:
    """What searches the collection: a pipeline from a file, or one index."""

    panel: ClassVar = "Pipeline"

    pipeline: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="TOML with the tables embed, index, sparse, fuse, rerank ..."),
    ] = None
    index: Annotated[
        str | None,
        typer.Option(
            metavar="SPEC",
            help="Instead of a file, one index: bm25(language='fr'), or flat, hnsw(M=32), ivf, pq, opq with --model.",
        ),
    ] = None
    model: Annotated[
        str | None, typer.Option(metavar="NAME_OR_PATH", help="Embedder of --index: recipe, folder or hub id.")
    ] = None
    depth: Annotated[int | None, typer.Option(metavar="N", min=1, help="Documents of each query. Default: 100.")] = None

    def read(self) -> "Pipeline":
        """Reads the file, or makes a pipeline of one stage."""
        from trueval.retrieval.config import settings_of_tables
        from trueval.retrieval.pipeline import Pipeline

        if (self.pipeline is None) == (self.index is None):
            raise typer.BadParameter("give one of them: a file, or one index.", param_hint="--pipeline --index")
        if self.pipeline is not None:
            if self.model is not None or self.depth is not None:
                told = "goes with --index; with --pipeline it stands in the file."
                raise typer.BadParameter(told, param_hint="--model --depth")
            return Pipeline.read(self.pipeline)
        depth: dict[str, Any] = {} if self.depth is None else {"depth": self.depth}
        if self.model is None:
            tables = {"sparse": {"index": self.index, **depth}}
        else:
            tables = {"embed": {"model": self.model}, "index": {"spec": self.index, **depth}}
        return Pipeline(settings_of_tables(tables, "--index"), str(self.index).partition("(")[0])

    def collection(self, place: str | None, pipeline: "Pipeline") -> "Collection":
        """Reads the collection that the command names, or else the file of the pipeline.

        Args:
            place: what the command names.
            pipeline: with its settings.
        """
        from trueval.collection import Collection

        corpus = pipeline.settings.get("corpus", {})
        if place is None:
            if not corpus or self.pipeline is None:
                told = "name it, or give --pipeline a [corpus] with its path."
                raise typer.BadParameter(told, param_hint="COLLECTION")
            place = str(self.pipeline.parent / str(corpus["path"]))  # an absolute path stays as it is
        return Collection.read(place, **({"fields": corpus["fields"]} if corpus else {}))


@with_groups
def retrieve(
    collection: Annotated[
        str | None,
        typer.Argument(
            metavar="[COLLECTION]",
            help="Folder with corpus.jsonl and queries.jsonl, or mteb:NAME, or ir_datasets:NAME. Default: the path in "
            "the [corpus] of --pipeline.",
        ),
    ] = None,
    *,
    search: PipelineOptions,
    run: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Write the run there: TREC text, or .parquet, .jsonl, .csv.",
            rich_help_panel=OUTPUT,
        ),
    ] = None,
    cache: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            rich_help_panel=OUTPUT,
            help="Keeps embeddings, indexes and candidates, and is looked into first. Default: cache in --out.",
        ),
    ] = None,
    output: OutputOptions,
    form: Form = "table",
) -> None:
    """Makes a run from a corpus: embeds, searches, fuses, reranks, and says what ties at each stage.

    Example: trueval retrieve corpus --index "bm25(language='fr')" --run bm25.trec

    Example: trueval retrieve --pipeline hybrid.toml --cache cache --run hybrid.trec --out results
    """
    from trueval.retrieval.views.kind import RETRIEVE

    if run is None and output.out is None:
        raise typer.BadParameter("name a place for the run: --run FILE, or --out DIR.", param_hint="--run")
    if output.out is not None:
        check_folder(output.out)
    if run is not None and not run.parent.is_dir():
        raise typer.BadParameter(f"there is no folder {run.parent}.", param_hint="--run")
    chosen = search.read()
    place = cache or (None if output.out is None else output.out / "cache")
    with remarks(), bars() as bar:
        found = chosen.retrieve(search.collection(collection, chosen), cache=place, begin=bar)
    result = found.to_dict()
    if run is not None:
        found.run.write(run)
        say(f"wrote {run}")
    if output.out is not None:
        save(output.out, (RETRIEVE, result), others={RUN_FILE: found.run.write}, page=True)
    show(RETRIEVE, result, form, percent=output.percent)
