"""`trueval probe names`: whether scorers keep proper names apart."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import typer

from trueval.cli.caching import CacheFolder, cache_of
from trueval.cli.estimates import DryRunFlag, MaxCost, show_dry_run
from trueval.cli.executors import executor_on
from trueval.cli.loading import LoadingOptions
from trueval.cli.long_work import bars, interruptible, remarks
from trueval.cli.options import Form, Memory, Percent, ResultFolder, Where, in_list, with_groups
from trueval.cli.output import check_folder, save, show
from trueval.cli.short_help import common_options

if TYPE_CHECKING:
    from trueval.probes.scorer_request import ScorerRequest


@dataclass(frozen=True, eq=False, repr=False)
class ScorerOptions:
    """Who is tested."""

    panel: ClassVar = "Scorers"

    models: Annotated[
        list[str] | None,
        typer.Option(
            "--model",
            metavar="NAME[@DIM]",
            help="Embedder, as trueval retrieve takes it; with @DIM its first numbers alone. May be repeated.",
        ),
    ] = None
    bm25: Annotated[
        bool, typer.Option("--bm25", help="BM25; its corpus is the candidates of one run under one condition.")
    ] = False
    hybrid: Annotated[
        bool, typer.Option("--hybrid", help="Each embedder and BM25, half each, in units of their own spread.")
    ] = False
    maxsim: Annotated[
        bool, typer.Option("--maxsim", help="Late interaction over the token vectors of each embedder.")
    ] = False
    rerankers: Annotated[
        list[str] | None,
        typer.Option("--reranker", metavar="NAME", help="Reranker, by its logits. May be repeated."),
    ] = None
    dtype: Annotated[str, typer.Option(metavar="NAME", help="Format that models run in.")] = "float32"
    scoring: Annotated[
        str, typer.Option(metavar="NAME", help="Format of cosines and MaxSim; model is the model's own.")
    ] = "float32"
    index_dtype: Annotated[
        str, typer.Option(metavar="NAME", help="Format that vectors of candidates are kept in; model is its own.")
    ] = "model"

    def to_request(self, loading: dict[str, object], hosted: dict[str, object]) -> "ScorerRequest":
        """What the probe is asked for."""
        from trueval.probes.scorer_request import ScorerRequest

        return ScorerRequest(
            tuple(self.models or ()),
            tuple(self.rerankers or ()),
            self.bm25,
            self.hybrid,
            self.maxsim,
            self.dtype,
            self.scoring,
            self.index_dtype,
            loading,
            hosted,
        )


@dataclass(frozen=True, eq=False, repr=False)
class HostedOptions:
    """How services are used, all of them alike."""

    panel: ClassVar = "Hosted models"

    base_url: Annotated[
        str | None, typer.Option(metavar="URL", help="Of a server of your own, instead of the service's.")
    ] = None
    api_key_env: Annotated[
        str | None, typer.Option(metavar="NAME", help="Environment variable of the key, instead of the service's.")
    ] = None
    price_per_million_tokens: Annotated[
        float | None,
        typer.Option(metavar="X", min=0, help="What a service asks, in any currency: --max-cost needs it."),
    ] = None
    price_per_thousand_searches: Annotated[
        float | None, typer.Option(metavar="X", min=0, help="The same of services that bill searches.")
    ] = None


@dataclass(frozen=True, eq=False, repr=False)
class DesignOptions:
    """What is asked."""

    panel: ClassVar = "Texts"

    table: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="Authors, titles and topics: CSV, JSON lines or Parquet with the columns author, topic, title and, "
            "if wanted, family. Default: our sample of 125 authors who do not exist.",
        ),
    ] = None
    language: Annotated[
        str, typer.Option(metavar="LIST", help="Languages of the texts around the names: en, fr, or both.")
    ] = "en"
    queries: Annotated[int, typer.Option(metavar="N", min=2, help="How many rows are asked for.")] = 100
    runs: Annotated[
        int, typer.Option(metavar="N", min=1, help="How often, with other impostors, works and templates each time.")
    ] = 15
    ablations: Annotated[
        str | None, typer.Option(metavar="LIST", help="Names of changes, separated by commas. Default: all ten.")
    ] = None
    seed: Annotated[
        int, typer.Option(metavar="N", min=0, help="Of everything random; the same seed gives the same result.")
    ] = 0

    def choices(self) -> dict[str, Any]:
        """The choices of `probe_names` and `designs_of`, beside the table."""
        ablations = None if self.ablations is None else in_list(self.ablations)
        return {
            "languages": in_list(self.language),
            **{name: getattr(self, name) for name in ("queries", "runs", "seed")},
            "ablations": ablations,
        }


@common_options("models", "bm25", "rerankers", "language", "queries", "table", "out", "dry_run")
@with_groups
def names(
    *,
    scorers: ScorerOptions,
    design: DesignOptions,
    loading: LoadingOptions,
    hosted: HostedOptions,
    out: ResultFolder = None,
    cache: CacheFolder = None,
    on: Where = None,
    max_cost: MaxCost = None,
    dry_run: DryRunFlag = False,
    form: Form = "table",
    percent: Percent = False,
    memory: Memory = None,
) -> None:
    """Tests whether scorers keep a name apart from another.

    Example: trueval probe names --model all-MiniLM-L6-v2 --model all-MiniLM-L6-v2@128 --bm25 --hybrid --language en,fr

    Example: trueval probe names --table authors.csv --model all-MiniLM-L6-v2 --ablations gibberish_name --out names

    Example: trueval probe names --model openai:text-embedding-3-small --max-cost 1 --dry-run
    """
    from dataclasses import asdict

    from trueval.files.source.fingerprints import record_files
    from trueval.probes.names_probe import designs_of, estimate_all
    from trueval.probes.probe import probe_names
    from trueval.probes.views.kind import NAMES
    from trueval.report.provenance import files_read

    if out is not None:
        check_folder(out)
    asked = scorers.to_request(*map(_drop_unset, (asdict(loading), asdict(hosted))))
    place = cache_of(cache, out, make=not dry_run)
    if dry_run:
        designs = designs_of(design.table, **design.choices())
        show_dry_run(lambda: estimate_all(asked, designs, cache=place, max_cost=max_cost), form)
        return
    kept = "Nothing is kept." if place is None else f"Finished batches of the models are kept in {place}."
    with (
        record_files() as seen,
        interruptible(f"{kept} The same command goes on from there."),
        remarks(),
        executor_on(on) as executor,
        bars() as bar,
    ):
        found = probe_names(
            asked,
            table=design.table,
            **design.choices(),
            cache=place,
            max_cost=max_cost,
            begin=bar,
            executor=executor,
        )
    read = [] if design.table is None else [("people", design.table)]
    result = {**found.to_dict(), "files": files_read(read, seen)}
    if out is not None:
        save(out, (NAMES, result), page=True)
    show(NAMES, result, form, percent=percent)


def _drop_unset(options: dict[str, object]) -> dict[str, object]:
    return {name: value for name, value in options.items() if value is not None}
