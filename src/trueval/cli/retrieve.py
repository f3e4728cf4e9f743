"""`trueval retrieve`: a run made from a corpus, by indexes, fusion and rerankers, or by a retriever that answers."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import typer

from trueval.cli.caching import CacheFolder, Reuse, cache_of
from trueval.cli.estimates import DryRunFlag, MaxCost, show_dry_run
from trueval.cli.executors import executor_on
from trueval.cli.live import LiveOptions, number_file
from trueval.cli.long_work import bars, interruptible, remarks
from trueval.cli.options import JUDGED, OUTPUT, Form, Memory, OutputOptions, QrelsFile, Where, with_groups
from trueval.cli.output import check_folder, make_parent, save, say, show, talk
from trueval.cli.short_help import common_options

if TYPE_CHECKING:
    from trueval.collection import Collection, Tell
    from trueval.models.missing_work import DryRun
    from trueval.retrieval.pipeline.pipeline import Pipeline
    from trueval.retrieval.pipeline.pipeline_result import PipelineResult
    from trueval.run import Run

RUN_FILE = "run.trec"
CONTEXTS_FILE = "contexts.jsonl"
ROUTE_FILE = "route.jsonl"
CONTEXTS = 10
LIVE_DEPTH = 100


@dataclass(frozen=True, repr=False)
class SearchOptions:
    """The retriever: a pipeline from a file, or one index."""

    panel: ClassVar = "Pipeline"

    pipeline: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="TOML with the tables embed, index, sparse, fuse, rerank ..."),
    ] = None
    index: Annotated[
        str | None,
        typer.Option(
            metavar="SPEC",
            help="Instead of a file, one index: bm25(language='fr') or elastic(url='http://...'); with --model flat, "
            "hnsw(M=32), ivf, pq, opq or milvus(uri='http://...').",
        ),
    ] = None
    model: Annotated[
        str | None,
        typer.Option(metavar="NAME_OR_PATH", help="Embedder of --index: recipe, folder, hub id, or SERVICE:MODEL."),
    ] = None
    queries: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Queries instead of the collection's: .jsonl (.gz, .zst), .parquet, a folder."
        ),
    ] = None

    def read_pipeline(self, depth: int | None = None) -> "Pipeline":
        """Read the pipeline file, or make a pipeline of one stage.

        Args:
            depth: documents per query; None for the default, or the depth of the file.
        """
        from trueval.retrieval.pipeline.pipeline import Pipeline

        if (self.pipeline is None) == (self.index is None):
            raise typer.BadParameter("give one of them: a file, or one index.", param_hint="--pipeline --index")
        if self.pipeline is not None:
            given = [name for name, value in (("--model", self.model), ("--depth", depth)) if value is not None]
            if given:
                told = "goes with --index; with --pipeline it stands in the file."
                raise typer.BadParameter(told, param_hint=" ".join(given))
        return Pipeline.of(self.pipeline, index=self.index, model=self.model, depth=depth)

    def collection(
        self, place: str | None, pipeline: "Pipeline", tell: "Tell" = None, *, qrels: str | None = None
    ) -> "Collection":
        """Read the collection named by the command, or else by the pipeline file.

        Args:
            place: argument of the command.
            pipeline: pipeline with its settings.
            tell: as in `Collection.read`.
            qrels: judgments to use instead of the collection's.
        """
        if place is None and not (pipeline.source and pipeline.settings.get("corpus")):
            told = "name it, or give --pipeline a [corpus] with its path."
            raise typer.BadParameter(told, param_hint="COLLECTION")
        return pipeline.read_collection(place, queries=self.queries, qrels=qrels, tell=tell)


@dataclass(frozen=True, eq=False, repr=False)
class PipelineOptions(SearchOptions):
    """The retriever, its depth, and its scoring."""

    depth: Annotated[int | None, typer.Option(metavar="N", min=1, help="Documents of each query. Default: 100.")] = None
    scoring: Annotated[
        str | None,
        typer.Option(
            metavar="S",
            help="How all stages score: high, in float32; low, in the dtype of their model; both, one run of each. "
            "Default: as the file says, or stages, each as its own table says.",
        ),
    ] = None

    route: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="router.toml of frontier --route: the reranker's depth of each query."),
    ] = None
    reuse: Reuse = None
    on: Where = None
    max_cost: MaxCost = None
    dry_run: DryRunFlag = False

    def read(self) -> "Pipeline":
        """Read the pipeline file, or make a pipeline of one stage, with the requested scoring."""
        found = self.read_pipeline(self.depth).but(scoring=self.scoring, reuse=self.reuse)
        return found if self.route is None else found.with_router(self.route)


@dataclass(frozen=True, eq=False, repr=False)
class RunOutputOptions:
    """Where to write the run, and the contexts for a generator."""

    panel: ClassVar = OUTPUT

    run: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Write the run there: TREC text, or .parquet, .jsonl, .csv. With --scoring both, NAME-low too.",
        ),
    ] = None
    contexts: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Write a log of contexts there: of each query the first documents with their texts, as JSON lines.",
        ),
    ] = None
    k: Annotated[
        int | None,
        typer.Option(
            "-k",
            metavar="K",
            min=1,
            help=f"Documents of each context. Default: contexts of \\[generate], or {CONTEXTS}. With --live documents "
            f"to ask for: {LIVE_DEPTH} by default.",
        ),
    ] = None

    def check(self, out: Path | None) -> None:
        """Create the folders of output files, or refuse them, before any work."""
        if self.run is None and self.contexts is None and out is None:
            told = "name a place for the run: --run FILE, --contexts FILE, or --out DIR."
            raise typer.BadParameter(told, param_hint="--run")
        if out is not None:
            check_folder(out)
        for place, option in ((self.run, "--run"), (self.contexts, "--contexts")):
            if place is not None:
                make_parent(place, option)

    def context_size(self, pipeline: "Pipeline", out: Path | None) -> int | None:
        """Documents per context, if contexts are requested."""
        asker = "[generate]" if self.k is None else "-k"
        k = self.k or pipeline.settings.get("generate", {}).get("contexts")
        if k is not None and self.contexts is None and out is None:
            raise typer.BadParameter("name a file for the contexts: --contexts FILE, or --out DIR.", param_hint=asker)
        return CONTEXTS if k is None and self.contexts is not None else k

    def write(self, runs: Sequence["Run"], k: int | None, texts: "Collection") -> None:
        """Write the run and the contexts to their own files."""
        if self.run is not None:
            for each, name in zip(runs, _names(self.run), strict=False):
                each.write(name)
                say(f"wrote {name}")
        if self.contexts is not None and k is not None:
            _write_contexts(runs[0], k, self.contexts, collection=texts)
            say(f"wrote {self.contexts}")


@common_options("pipeline", "index", "model", "live", "queries", "qrels", "run", "out", "dry_run")
@with_groups
def retrieve(
    collection: Annotated[
        str | None,
        typer.Argument(
            metavar="[COLLECTION]",
            help="Folder with corpus and queries, each .jsonl (.gz, .zst), .parquet, or a folder of such parts; or "
            "mteb:NAME, ir_datasets:NAME or hf:NAME. Default: the path in the \\[corpus] of --pipeline.",
        ),
    ] = None,
    *,
    search: PipelineOptions,
    live: LiveOptions,
    qrels: QrelsFile = None,
    rel: Annotated[
        float | None,
        typer.Option(
            metavar="N",
            help="Grade from which a document is relevant. Default: 1; of a golden set 4.",
            rich_help_panel=JUDGED,
        ),
    ] = None,
    written: RunOutputOptions,
    cache: CacheFolder = None,
    output: OutputOptions,
    form: Form = "table",
    memory: Memory = None,
) -> None:
    """Makes a run from a corpus: embed, search, fuse, rerank.

    Example: trueval retrieve corpus --index "bm25(language='fr')" --run bm25.trec

    Example: trueval retrieve --pipeline hybrid.toml --cache cache --run hybrid.trec --out results

    Example: trueval retrieve corpus --index bm25 --contexts contexts.jsonl -k 10

    Example: trueval retrieve corpus --live "http://localhost:8080/search?q={text}&k={k}" -k 100 --repeats 3 --out live
    """
    if live.live is not None:
        _retrieve_live(collection, live, search, written, qrels, rel, cache, output, form)
        return
    from trueval.retrieval.retrieve import retrieve as library
    from trueval.retrieval.views.kind import RETRIEVE

    live.refuse_alone()
    chosen, place = search.read(), cache_of(cache, output.out, make=not search.dry_run)
    if search.dry_run:
        show_dry_run(lambda: _estimate(search, search.collection(collection, chosen), chosen, place), form)
        return
    written.check(output.out)
    k = written.context_size(chosen, output.out)
    kept = _describe_saved_work(place)
    with interruptible(kept), remarks(), executor_on(search.on) as executor, bars() as bar:
        step = bar("reading")
        texts = search.collection(collection, chosen, lambda done: step("documents", done, 0), qrels=qrels)
        step("documents", len(texts.documents), len(texts.documents))
        talk(texts.notes)
        if rel is not None and texts.judgments is None:
            raise typer.BadParameter("the collection has no judgments.", param_hint="--rel")
        found = library(
            texts, pipeline=chosen, rel=rel, cache=place, begin=bar, max_cost=search.max_cost, executor=executor
        )
    result, runs = found.to_dict(), [found.run, *([] if found.low is None else [found.low.run])]
    written.write(runs, k, texts)
    if output.out is not None:
        save(output.out, (RETRIEVE, result), others=_files(runs, k, texts) | _route_file(found), page=True)
    show(RETRIEVE, result, form, percent=output.percent)


def _retrieve_live(
    collection: str | None,
    live: LiveOptions,
    search: PipelineOptions,
    written: RunOutputOptions,
    qrels: str | None,
    rel: float | None,
    cache: Path | None,
    output: OutputOptions,
    form: Form,
) -> None:
    """Call a live retriever instead of a pipeline."""
    from trueval.collection import Collection
    from trueval.retrieval.views.kind import LIVE

    other = ("pipeline", "index", "model", "depth", "scoring", "route", "reuse", "on", "max_cost", "dry_run")
    if given := [name for name in other if getattr(search, name) not in (None, False)]:
        names = " ".join(f"--{name.replace('_', '-')}" for name in given)
        raise typer.BadParameter(
            "goes with a pipeline or an index, not with --live. Ask for more documents with -k.", param_hint=names
        )
    if collection is None:
        raise typer.BadParameter("name the collection whose queries are asked.", param_hint="COLLECTION")
    written.check(output.out)
    with remarks(), bars() as bar:
        step = bar("reading")
        queries = None if search.queries is None else str(search.queries)
        texts = Collection.read(
            collection, queries=queries, qrels=qrels, needs_corpus=False, tell=lambda done: step("documents", done, 0)
        )
    talk(texts.notes)
    if written.contexts is not None and not texts.documents:
        raise typer.BadParameter("needs the texts of a corpus.", param_hint="--contexts")
    k = written.k or LIVE_DEPTH
    found, ledger = live.ask(texts, k, rel, cache_of(cache, output.out))
    files: dict[str, Any] = {}
    for number, run in enumerate(found.runs, 1):
        if written.run is not None:
            run.write(name := number_file(written.run, number))
            say(f"wrote {name}")
        files[number_file(Path(RUN_FILE), number).name] = run.write
    if written.contexts is not None:
        _write_contexts(found.run, k, written.contexts, collection=texts)
        say(f"wrote {written.contexts}")
    result = found.to_dict()
    if output.out is not None:
        save(output.out, (LIVE, result), others=files, page=True)
    ledger.remove()
    show(LIVE, result, form, percent=output.percent)


def _estimate(search: PipelineOptions, texts: "Collection", pipeline: "Pipeline", cache: Path | None) -> "DryRun":
    from trueval.models.missing_work import DryRun

    return DryRun(pipeline.missing_work(texts, cache=cache), search.max_cost)


def _describe_saved_work(cache: Path | None) -> str:
    """What is kept of an interrupted pipeline."""
    if cache is None:
        return "Nothing is kept. With --cache DIR, or --out DIR, what was computed and paid for is."
    return f"What was computed and paid for is kept in {cache}. The same command goes on from there."


def _names(run: Path) -> tuple[Path, Path]:
    """Paths of the run, and of the run in low precision."""
    return run, run.with_name(f"{run.stem}-low{run.suffix}")


def _files(runs: Sequence["Run"], k: int | None, texts: "Collection") -> dict[str, Any]:
    """Files of the result folder besides the manifest, with the function that writes each."""
    files: dict[str, Any] = {name.name: run.write for run, name in zip(runs, _names(Path(RUN_FILE)), strict=False)}
    if k is not None:
        files[CONTEXTS_FILE] = partial(_write_contexts, runs[0], k, collection=texts)
    return files


def _route_file(found: "PipelineResult") -> dict[str, Any]:
    """The log of a router's choices, for `trueval route check`, where there is one."""
    if "route" not in found.settings:
        return {}
    from trueval.retrieval.pipeline.routed_rerank import route_log
    from trueval.retrieval.pipeline.router import Router

    entries = route_log(found.stages, Router.load(found.settings["route"]["router"]))
    text = "".join(f"{json.dumps(each, ensure_ascii=False)}\n" for each in entries)
    return {ROUTE_FILE: partial(_write_text, text=text)}


def _write_text(file: Path, text: str) -> None:
    file.write_text(text, encoding="utf-8")


def _write_contexts(run: "Run", k: int, file: Path, *, collection: "Collection") -> None:
    from trueval.retrieval.pipeline.prompt_log import write_contexts

    cut = write_contexts(run, k, file, collection.queries, collection.documents)
    if cut.note:
        talk([cut.note])
