"""`trueval probe join`: whether what probes say of a query predicts what it loses."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import typer

from trueval.cli.caching import CacheFolder, cache_of
from trueval.cli.estimates import DryRunFlag, MaxCost, show_dry_run
from trueval.cli.executors import executor_on
from trueval.cli.long_work import bars, interruptible, remarks
from trueval.cli.options import (
    MEASURES,
    Form,
    Memory,
    Percent,
    QrelsFile,
    ResultFolder,
    Where,
    in_list,
    measures_of,
    with_groups,
)
from trueval.cli.output import check_folder, save, show, talk_notes
from trueval.cli.short_help import common_options

if TYPE_CHECKING:
    from collections.abc import Sequence

    from trueval.models.missing_work import DryRun
    from trueval.retrieval.pipeline.config import Settings


@dataclass(frozen=True, eq=False, repr=False)
class CollectionSearchOptions:
    """What searches the collection."""

    panel: ClassVar = "Search"

    models: Annotated[
        list[str] | None,
        typer.Option(
            "--model",
            metavar="NAME[@DIM]",
            help="Embedder, searched exactly; with @DIM its first numbers alone. May be repeated.",
        ),
    ] = None
    bm25: Annotated[bool, typer.Option("--bm25", help="BM25 too.")] = False
    hybrid: Annotated[bool, typer.Option("--hybrid", help="Each embedder fused with BM25 too.")] = False
    pipelines: Annotated[
        list[Path] | None,
        typer.Option(
            "--pipeline", metavar="FILE.toml", help="A pipeline, as trueval retrieve takes it. May be repeated."
        ),
    ] = None
    depth: Annotated[int, typer.Option(metavar="N", min=10, help="Documents of each list.")] = 100

    def settings(self, language: str) -> "dict[str, Settings]":
        """Name → settings of each pipeline."""
        from trueval.probes.probe_systems import searched_settings

        return searched_settings(self.pipelines or (), self.models or (), language=language, **self.search_options())

    def search_options(self) -> dict[str, Any]:
        """What is searched with beside pipelines and models."""
        return {"bm25": self.bm25, "hybrid": self.hybrid, "depth": self.depth}


@dataclass(frozen=True, eq=False, repr=False)
class QueryOptions:
    """Which queries, and how they are changed."""

    panel: ClassVar = "Queries"

    conditions: Annotated[
        str | None,
        typer.Option(
            metavar="LIST",
            help="noise-1 to noise-4, case_punct_upper, case_punct_lower, strip_diacritics, "
            "unicode_normalization_stress; with --table hard_name_mask, gibberish_name, edit_distance_near_miss, "
            "initials_form, name_order_inversion; separated by commas. Default: all.",
        ),
    ] = None
    table: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Authors, as trueval probe names takes them: queries that name one, and what becomes of the name.",
        ),
    ] = None
    language: Annotated[str, typer.Option(metavar="NAME", help="Of the chatter and of BM25: en or fr.")] = "en"
    queries: Annotated[
        int | None, typer.Option(metavar="N", min=2, help="So many judged queries are drawn. Default: all.")
    ] = None
    top: Annotated[int, typer.Option("-k", metavar="K", min=1, help="First documents of the overlap.")] = 10
    seed: Annotated[int, typer.Option(metavar="N", min=0, help="Of everything random.")] = 0


@common_options("measures", "models", "bm25", "conditions", "qrels", "language", "out", "dry_run", "form")
@with_groups
def join(
    collection: Annotated[
        str, typer.Argument(metavar="COLLECTION", help="Folder with corpus, queries and judgments, or mteb:NAME.")
    ],
    *,
    measures: Annotated[
        list[str] | None,
        typer.Option(
            "--measures",
            "-m",
            metavar="LIST",
            help="Measures that may lose. Default: R@10; of a golden set those of evaluate, but for Harm.",
            rich_help_panel=MEASURES,
        ),
    ] = None,
    search: CollectionSearchOptions,
    asked: QueryOptions,
    qrels: QrelsFile = None,
    out: ResultFolder = None,
    cache: CacheFolder = None,
    on: Where = None,
    max_cost: MaxCost = None,
    dry_run: DryRunFlag = False,
    form: Form = "table",
    percent: Percent = False,
    memory: Memory = None,
) -> None:
    """Tells whether probes predict what queries lose.

    Example: trueval probe join collection --model all-MiniLM-L6-v2 --bm25 --queries 100 -m R@10

    Example: trueval probe join collection --model all-MiniLM-L6-v2 --language fr --conditions noise-4 --out join

    Example: trueval probe join collection --model all-MiniLM-L6-v2 --table authors.csv --out join
    """
    from trueval.probes.probe import probe_join
    from trueval.probes.views.kind import PREDICTION

    if out is not None:
        check_folder(out)
    names = None if asked.conditions is None else in_list(asked.conditions)
    place = cache_of(cache, out, make=not dry_run)
    if dry_run:
        show_dry_run(lambda: _estimate(collection, qrels, search, asked, names, place, max_cost), form)
        return
    kept = "Nothing is kept." if place is None else f"What was computed is kept in {place}."
    kept = f"{kept} The same command goes on from there."
    with interruptible(kept), remarks(), executor_on(on) as executor, bars() as bar:
        found = probe_join(
            collection,
            search.pipelines or (),
            models=search.models or (),
            **search.search_options(),
            qrels=qrels,
            conditions=names,
            table=None if asked.table is None else str(asked.table),
            language=asked.language,
            measures=measures_of(measures),
            queries=asked.queries,
            k=asked.top,
            seed=asked.seed,
            cache=place,
            begin=bar,
            max_cost=max_cost,
            executor=executor,
        )
    result = found.to_dict()
    talk_notes(result)
    if out is not None:
        save(out, (PREDICTION, result), page=True)
    show(PREDICTION, result, form, percent=percent)


def _estimate(
    collection: str,
    qrels: str | None,
    search: CollectionSearchOptions,
    asked: QueryOptions,
    names: "Sequence[str] | None",
    cache: Path | None,
    max_cost: float | None,
) -> "DryRun":
    """What the join takes; nothing is asked."""
    from trueval.collection import Collection
    from trueval.models.missing_work import DryRun
    from trueval.probes.authors import read_people
    from trueval.probes.conditions import find_conditions
    from trueval.probes.mentions import Mentions
    from trueval.probes.probe_retrieval_correlation import estimate_join

    mentions = None if asked.table is None else Mentions(read_people(str(asked.table)))
    models = estimate_join(
        Collection.read(collection, qrels=qrels),
        search.settings(asked.language),
        find_conditions(names, asked.language, seed=asked.seed, mentions=mentions),
        mentions=mentions,
        queries=asked.queries,
        seed=asked.seed,
        cache=cache,
    )
    return DryRun(models, max_cost)
