"""`trueval retrieve`: a run made from a corpus, by indexes, fusion and rerankers."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from trueval.cli.options import Form, OutputOptions, with_groups
from trueval.cli.output import check_folder, save, say, show
from trueval.cli.precision import bars, remarks

if TYPE_CHECKING:
    from trueval.collection import Collection
    from trueval.retrieval.pipeline import Pipeline

PIPELINE = "Pipeline"
RUN_FILE = "run.trec"


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
    pipeline: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", rich_help_panel=PIPELINE, help="TOML with the tables embed, index, sparse, fuse, rerank ..."
        ),
    ] = None,
    index: Annotated[
        str | None,
        typer.Option(
            metavar="SPEC",
            rich_help_panel=PIPELINE,
            help="Instead of a file, one index: bm25(language='fr'), or flat, hnsw(M=32), ivf, pq, opq with --model.",
        ),
    ] = None,
    model: Annotated[
        str | None,
        typer.Option(
            metavar="NAME_OR_PATH", rich_help_panel=PIPELINE, help="Embedder of --index: recipe, folder or hub id."
        ),
    ] = None,
    depth: Annotated[
        int | None,
        typer.Option(metavar="N", min=1, rich_help_panel=PIPELINE, help="Documents of each query. Default: 100."),
    ] = None,
    run: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Write the run there: TREC text, or .parquet, .jsonl, .csv.",
            rich_help_panel="Output",
        ),
    ] = None,
    cache: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            rich_help_panel="Output",
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
    chosen = _pipeline(pipeline, index, model, depth)
    place = cache or (None if output.out is None else output.out / "cache")
    with remarks(), bars() as bar:
        found = chosen.retrieve(_collection(collection, chosen, pipeline), cache=place, begin=bar)
    result = found.to_dict()
    if run is not None:
        found.run.write(run)
        say(f"wrote {run}")
    if output.out is not None:
        save(output.out, (RETRIEVE, result), others={RUN_FILE: found.run.write}, page=True)
    show(RETRIEVE, result, form, percent=output.percent)


def _pipeline(file: Path | None, index: str | None, model: str | None, depth: int | None) -> "Pipeline":
    from trueval.retrieval.config import settings_of_tables
    from trueval.retrieval.pipeline import Pipeline

    if (file is None) == (index is None):
        raise typer.BadParameter("give one of them: a file, or one index.", param_hint="--pipeline --index")
    if file is not None:
        if model is not None or depth is not None:
            raise typer.BadParameter(
                "goes with --index; with --pipeline it stands in the file.", param_hint="--model --depth"
            )
        return Pipeline.read(file)
    told: dict[str, Any] = {} if depth is None else {"depth": depth}
    if model is None:
        tables = {"sparse": {"index": index, **told}}
    else:
        tables = {"embed": {"model": model}, "index": {"spec": index, **told}}
    return Pipeline(settings_of_tables(tables, "--index"), str(index).partition("(")[0])


def _collection(place: str | None, pipeline: "Pipeline", file: Path | None) -> "Collection":
    from trueval.collection import Collection

    corpus = pipeline.settings.get("corpus", {})
    fields = {"fields": corpus["fields"]} if corpus else {}
    if place is None:
        if not corpus:
            raise typer.BadParameter("name it, or give --pipeline a [corpus] with its path.", param_hint="COLLECTION")
        inside = Path(str(corpus["path"]))
        place = str(inside if file is None or inside.is_absolute() else file.parent / inside)
    return Collection.read(place, **fields)
