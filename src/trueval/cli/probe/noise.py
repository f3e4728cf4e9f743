"""`trueval probe noise`: what chatter around a question does to what is found for it."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

import typer

from trueval.cli.caching import CacheFolder, cache_of
from trueval.cli.estimates import DryRunFlag, MaxCost, show_dry_run
from trueval.cli.executors import executor_on
from trueval.cli.long_work import bars, interruptible, remarks
from trueval.cli.options import (
    Form,
    MeasureList,
    Memory,
    Percent,
    PolicyOptions,
    QrelsFile,
    ResultFolder,
    Where,
    in_list,
    with_groups,
)
from trueval.cli.output import check_folder, save, show, talk
from trueval.cli.short_help import common_options

if TYPE_CHECKING:
    from trueval.probes.noise_settings import NoiseSettings
    from trueval.retrieval.pipeline.pipeline import Pipeline


@dataclass(frozen=True, eq=False, repr=False)
class ProbeSystemOptions:
    """What searches the collection."""

    panel: ClassVar = "Systems"

    pipelines: Annotated[
        list[Path] | None,
        typer.Option("--pipeline", metavar="FILE", help="TOML of a pipeline. May be repeated."),
    ] = None
    models: Annotated[
        list[str] | None,
        typer.Option("--model", metavar="NAME", help="Embedder that searches by --index. May be repeated."),
    ] = None
    index: Annotated[str, typer.Option(metavar="SPEC", help="Index of each --model.")] = "flat"
    bm25: Annotated[bool, typer.Option("--bm25", help="BM25 in the language of the chatter.")] = False
    hybrid: Annotated[bool, typer.Option("--hybrid", help="Each --model and BM25, fused by their ranks.")] = False

    def read_pipelines(self, language: str) -> "list[Pipeline]":
        """The pipelines, in the order of their options."""
        from trueval.probes.probe_systems import check_unique_names, systems
        from trueval.retrieval.pipeline.pipeline import Pipeline

        named = [Pipeline.read(path) for path in self.pipelines or ()]
        made = systems(self.models or (), self.index, language=language, bm25=self.bm25, hybrid=self.hybrid)
        return check_unique_names([*named, *made])


@dataclass(frozen=True, eq=False, repr=False)
class NoiseOptions:
    """What is put around the questions, and what is done about it."""

    panel: ClassVar = "Noise"

    language: Annotated[Literal["en", "fr"], typer.Option(help="Language of the chatter, and of BM25.")] = "en"
    levels: Annotated[str, typer.Option(metavar="LIST", help="Levels of noise, 0 to 4.")] = "0,1,2,3,4"
    templates: Annotated[
        str,
        typer.Option(metavar="LIST", help="known, that the rules were written for; held-out, that they were not."),
    ] = "known,held-out"
    denoise: Annotated[
        str, typer.Option(metavar="LIST", help="none, rules, judge: a language model rewrites the query.")
    ] = "none,rules"
    guard: Annotated[
        Literal["both", "on", "off"],
        typer.Option(help="Whether queries are written one way at the end: NFC, plain spaces and apostrophes."),
    ] = "both"
    queries: Annotated[int, typer.Option(metavar="N", min=2, help="How many judged queries are drawn.")] = 100

    def design(self, seed: int) -> "NoiseSettings":
        """What is asked of the probe, with a seed."""
        from trueval.probes.noise_settings import NoiseSettings

        return NoiseSettings(
            self.language,
            tuple(dict.fromkeys(_levels(self.levels))),
            tuple(dict.fromkeys(in_list(self.templates))),
            tuple(dict.fromkeys(in_list(self.denoise))),
            {"both": (False, True), "on": (True,), "off": (False,)}[self.guard],
            self.queries,
            seed,
        )


@dataclass(frozen=True, eq=False, repr=False)
class RewriterOptions:
    """The language model that rewrites queries."""

    panel: ClassVar = "Judge"

    judge: Annotated[
        str | None,
        typer.Option(metavar="MODEL", help="A model as its server calls it, or a TOML file with a table \\[judge]."),
    ] = None
    max_cost: MaxCost = None
    dry_run: DryRunFlag = False


@common_options("models", "bm25", "pipelines", "language", "levels", "qrels", "measures", "out", "dry_run")
@with_groups
def noise(
    collection: Annotated[
        str, typer.Argument(metavar="COLLECTION", help="Folder with corpus, queries and judgments, or mteb:NAME.")
    ],
    *,
    system: ProbeSystemOptions,
    chosen: NoiseOptions,
    qrels: QrelsFile = None,
    measures: MeasureList = None,
    policy: PolicyOptions,
    rewriter: RewriterOptions,
    out: ResultFolder = None,
    cache: CacheFolder = None,
    on: Where = None,
    form: Form = "table",
    percent: Percent = False,
    memory: Memory = None,
) -> None:
    """Measures what chatter around queries does to results.

    Example: trueval probe noise corpus --model all-MiniLM-L6-v2 --bm25 --hybrid --language fr --out noise

    Example: trueval probe noise corpus --pipeline hybrid.toml --levels 0,2,4 --denoise none,judge --judge gpt-5-mini
    """
    from trueval.collection import Collection
    from trueval.probes.probe import probe_noise
    from trueval.probes.rewriter import open_rewriter
    from trueval.probes.views.kind import NOISE

    if out is not None:
        check_folder(out)
    design, place = chosen.design(policy.seed or 0), cache_of(cache, out, make=not rewriter.dry_run)
    pipelines = system.read_pipelines(design.language)
    kept = (
        "Nothing is kept."
        if place is None
        else f"What was computed, and answers that were paid for, are kept in {place}."
    )
    kept = f"{kept} The same command goes on from there."
    with interruptible(kept), remarks(), executor_on(on) as executor, bars() as bar:
        step = bar("reading")
        texts = Collection.read(collection, qrels=qrels, tell=lambda done: step("documents", done, 0))
        talk(texts.notes)
        if (grades := policy.grade_map()) is not None:
            texts = replace(texts, judgments=texts.graded.map_grades(grades))
        if rewriter.dry_run:
            named = rewriter.judge, texts, place, rewriter.max_cost, bar("rewriting")
            with open_rewriter(*named, make=False) as rewrites:
                show_dry_run(lambda: rewrites.estimate(pipelines, texts, design), form)
            return
        found = probe_noise(
            texts,
            pipelines,
            design=design,
            judge=rewriter.judge,
            measures=measures,
            cache=place,
            begin=bar,
            max_cost=rewriter.max_cost,
            executor=executor,
            **policy.choices(),
        )
    talk(dict.fromkeys(note for each in found.probes for note in each.notes))
    result = found.to_dict()
    if out is not None:
        save(out, (NOISE, result), page=True)
    show(NOISE, result, form, percent=percent)


def _levels(text: str) -> Sequence[int]:
    try:
        return [int(part) for part in in_list(text)]
    except ValueError:
        raise typer.BadParameter(
            f"must be levels from 0 to 4, such as 0,2,4. Got {text!r}.", param_hint="--levels"
        ) from None
