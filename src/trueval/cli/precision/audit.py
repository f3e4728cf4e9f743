"""`trueval precision audit`: what a model's number formats do to a result."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from trueval.cli.caching import cache_of
from trueval.cli.estimates import show_dry_run
from trueval.cli.executors import executor_on
from trueval.cli.loading import LoadingOptions
from trueval.cli.long_work import bars, interruptible, remarks
from trueval.cli.options import (
    Form,
    MeasureList,
    Memory,
    OutputOptions,
    PolicyOptions,
    in_list,
    measures_of,
    with_groups,
)
from trueval.cli.output import check_folder, make_parent, save, show, talk_notes, write_atomically
from trueval.cli.paths import with_roles
from trueval.cli.precision.audit_options import DEFAULT_DTYPES, CollectionOptions, FormatOptions, SourceOptions
from trueval.cli.short_help import common_options

if TYPE_CHECKING:
    from trueval.collection import Collection
    from trueval.measures import Measure
    from trueval.models.missing_work import DryRun, MissingWork
    from trueval.precision.audit_result import Audit
    from trueval.precision.batch_result import BatchEffects
    from trueval.precision.stages_result import PipelineAudit

IN_CACHE = "Outputs of models are kept in the cache. The same command goes on from there."


@common_options("models", "logits", "pipeline", "dtype", "measures", "candidates", "qrels", "out", "form")
@with_groups
def audit(
    collection: Annotated[
        str | None,
        typer.Argument(
            metavar="[COLLECTION]",
            help="Folder with corpus.jsonl, queries.jsonl and qrels.trec, or mteb:NAME, ir_datasets:NAME or hf:NAME.",
        ),
    ] = None,
    *,
    measures: MeasureList = None,
    formats: FormatOptions,
    reading: CollectionOptions,
    loading: LoadingOptions,
    policy: PolicyOptions,
    output: OutputOptions,
    source: SourceOptions,
    form: Form = "table",
    memory: Memory = None,
) -> None:
    """Says what low precision costs a model, and what repairs it.

    Example: trueval precision audit collection --model bge-reranker-v2-m3 -m nDCG@10 --out audit

    Example: trueval precision audit mteb:MIRACLReranking/en --model bge-reranker-v2-m3 --preset paper --out audit

    Example: trueval precision audit --reproduce table1 --out table1

    Example: trueval precision audit collection --pipeline pipeline.toml -m nDCG@10 --out audit
    """
    from trueval.files.source.fingerprints import record_files
    from trueval.precision.views.kind import BATCHES, PRECISION, STAGES
    from trueval.report.provenance import files_read

    source.check()
    if source.pipeline is not None:
        _refuse_model_options(reading, loading, formats)
    chosen = measures_of(measures)
    if source.reproduce is not None:
        _refuse_beside_table(source, chosen, formats, reading)
        _reproduce(collection, source, reading, loading, output, form)
        return
    if collection is None:
        raise typer.BadParameter("name the collection.", param_hint="COLLECTION")
    if source.dry_run:
        show_dry_run(lambda: _estimate(collection, source, reading, formats, loading, output.out), form)
        return
    if output.out is not None:
        check_folder(output.out)  # before hours of forward passes
    if source.card is not None:
        make_parent(source.card, "--card")
    kept = _describe_saved_work(output.out if source.models else None) if source.pipeline is None else IN_CACHE
    cache = None if source.pipeline is None else cache_of(source.cache, output.out)
    # Warnings are printed at once: a halved batch size matters hours before the end.
    with record_files() as seen, remarks(), interruptible(kept):
        found = _run_audit(collection, chosen, source, reading, formats, loading, policy, output.out, cache)
    # Of a pipeline, entries of its cache are read too, which are no input.
    inputs = [path for path in seen if source.pipeline is None or not _is_within(path, cache)]
    named = {
        "collection": collection,
        "judgments": reading.qrels,
        "logits": source.logits,
        "excluded": reading.exclude_queries,
        "candidates": reading.candidates,
    }
    roles = with_roles(inputs, named)
    roles += [] if source.pipeline is None else [("pipeline", str(source.pipeline))]
    result = {**found.to_dict(), "files": files_read(roles, seen)}
    talk_notes(result)
    kind = STAGES if source.pipeline is not None else BATCHES if source.sizes else PRECISION
    if output.out is not None:
        save(output.out, (kind, result), page=True)
    if source.card is not None:
        _write_card(result, source.card)
    show(kind, result, form, percent=output.percent)


def _write_card(result: Mapping[str, object], place: Path) -> None:
    """Write the table for a card of models, or of a pipeline."""
    from trueval.precision.audit_result import PrecisionAudit
    from trueval.precision.stages_result import PipelineAudit
    from trueval.precision.views.card import model_card, pipeline_card
    from trueval.report.provenance import provenance

    command = str(provenance((), None)["command"])
    if result["kind"] == PipelineAudit.KIND:
        text = pipeline_card(PipelineAudit.from_dict(result), command)
    else:
        text = model_card(PrecisionAudit.from_dict(result), command)
    write_atomically(place, text)


def _is_within(path: str, folder: Path | None) -> bool:
    return folder is not None and Path(path).resolve().is_relative_to(folder.resolve())


def _estimate(
    place: str,
    source: SourceOptions,
    reading: CollectionOptions,
    formats: FormatOptions,
    loading: LoadingOptions,
    out: Path | None,
) -> "DryRun":
    """The texts that models still have to process; none for stored logits."""
    from trueval.models.missing_work import DryRun
    from trueval.precision.batch_effects import in_threads_of_torch, read_passes
    from trueval.precision.model_passes import missing_passes, read_ids, select_queries
    from trueval.precision.presets import find_preset

    found = reading.read(place)
    left_out = () if reading.exclude_queries is None else read_ids(reading.exclude_queries, found)
    found = select_queries(found, exclude=left_out, limit=reading.limit)
    preset = None if source.preset is None else find_preset(source.preset)
    dtypes = formats.of_models or (in_list(DEFAULT_DTYPES) if preset is None else list(preset.dtypes))
    given = {
        "candidates": reading.candidate_source(),
        "parts": formats.of_parts,
        "folder": None if out is None else out / "logits",
        **{name: value for name, value in asdict(loading).items() if name != "batch_size"},
    }
    if preset is not None:
        given["max_length"] = loading.max_length or preset.max_length
    size = loading.batch_size or (None if preset is None else preset.batch_size)
    if not source.sizes:
        return DryRun(list(missing_passes(found, source.models or (), dtypes, **{**given, "batch_size": size})))
    left: list[MissingWork] = []
    for each in read_passes(source.sizes, in_list(source.also or "")):
        with in_threads_of_torch(each.threads):
            left += missing_passes(found, source.models or (), dtypes, **{**given, **each.options()})
    return DryRun(left)


def _run_audit(
    collection: str,
    measures: "Sequence[Measure] | None",
    source: SourceOptions,
    reading: CollectionOptions,
    formats: FormatOptions,
    loading: LoadingOptions,
    policy: PolicyOptions,
    out: Path | None,
    cache: Path | None,
) -> "Audit | BatchEffects | PipelineAudit":
    """Audit models, which are run now, stored logits, or a pipeline."""
    from trueval.precision.audit_precision import audit_precision

    if source.pipeline is not None:
        return _run_pipeline(reading.read(collection), measures, source, reading, formats, policy, cache)
    with executor_on(source.on) as executor, bars() as bar:
        if source.sizes:
            run = {"folder": None if out is None else out / "logits", "begin": bar, "executor": executor}
            return _run_batches(reading.read(collection), measures, source, reading, formats, loading, policy, run)
        return audit_precision(
            reading.read(collection),
            source.models or (),
            measures,
            formats.of_models,
            logits=source.logits,
            scoring=formats.of_scores,
            index_dtypes=formats.of_vectors,
            similarities=formats.of_embedders,
            parts=formats.of_parts,
            candidates=reading.candidate_source() if source.models else None,
            exclude=reading.exclude_queries or (),
            limit=reading.limit,
            preset=source.preset,
            grades=policy.grade_map(),
            folder=None if out is None else out / "logits",
            begin=bar,
            executor=executor,
            **asdict(loading),
            **policy.choices(),
        )


def _run_batches(
    collection: "Collection",
    measures: "Sequence[Measure] | None",
    source: SourceOptions,
    reading: CollectionOptions,
    formats: FormatOptions,
    loading: LoadingOptions,
    policy: PolicyOptions,
    run: "Mapping[str, object]",
) -> "BatchEffects":
    """Audit models in batches of several sizes."""
    from dataclasses import replace

    from trueval.precision.batch_effects import audit_batches
    from trueval.precision.model_passes import read_ids, select_queries

    grades = policy.grade_map()
    if grades is not None:
        collection = replace(collection, judgments=collection.graded.map_grades(grades))
    left_out = () if reading.exclude_queries is None else read_ids(reading.exclude_queries, collection)
    passes = {
        "candidates": reading.candidate_source(),
        "scoring": formats.of_scores,
        "index_dtypes": formats.of_vectors,
        "similarities": formats.of_embedders,
        "parts": formats.of_parts,
        **asdict(loading),
        **run,
    }
    return audit_batches(
        select_queries(collection, exclude=left_out, limit=reading.limit),
        source.models or (),
        source.sizes,
        measures,
        formats.of_models or in_list(DEFAULT_DTYPES),
        variants=in_list(source.also or ""),
        passes=passes,
        **policy.choices(),
    )


def _refuse_beside_table(
    source: SourceOptions, measures: "Sequence[Measure] | None", formats: FormatOptions, reading: CollectionOptions
) -> None:
    """Refuse options that the table decides itself."""
    from trueval.precision.reproduce_table import TABLES

    if source.reproduce not in TABLES:
        raise typer.BadParameter(
            f"must be one of: {', '.join(TABLES)}. Got {source.reproduce!r}.", param_hint="--reproduce"
        )
    other = {
        "--measures": measures is not None,
        "--dtype": formats.dtype is not None,
        "--parts": formats.parts is not None,
        "--similarity": formats.similarity is not None,
        "--logits": source.logits is not None,
        "--batch-sizes": source.batch_sizes is not None,
        "--candidates": reading.candidates is not None,
        "--qrels": reading.qrels is not None,
        "--exclude-queries": reading.exclude_queries is not None,
    }
    given = [name for name, is_given in other.items() if is_given]
    if given:
        raise typer.BadParameter(
            "the table decides it. Remove it, or audit a collection without --reproduce.", param_hint=" ".join(given)
        )


def _reproduce(
    collection: str | None,
    source: SourceOptions,
    reading: CollectionOptions,
    loading: LoadingOptions,
    output: OutputOptions,
    form: Form,
) -> None:
    """Repeat a table of the paper."""
    from trueval.models.missing_work import DryRun
    from trueval.precision.published_table import PLACES
    from trueval.precision.reproduce_table import missing_table_work, reproduce_table
    from trueval.precision.views.kind import REPRODUCTION

    sets = {name: Path(collection) / name for name in PLACES} if collection is not None else None
    given: dict[str, Any] = {"sets": sets, "limit": reading.limit, **asdict(loading)}
    folder = None if output.out is None else output.out / "logits"
    if source.dry_run:
        show_dry_run(lambda: DryRun(list(missing_table_work(folder, source.models or (), **given))), form)
        return
    if output.out is not None:
        check_folder(output.out)
    kept = _describe_saved_work(output.out)
    with remarks(), interruptible(kept), executor_on(source.on) as executor, bars() as bar:
        found = reproduce_table(folder, source.models or (), begin=bar, executor=executor, **given)
    result = found.to_dict()
    talk_notes(result)
    if output.out is not None:
        save(output.out, (REPRODUCTION, result), page=True)
    show(REPRODUCTION, result, form, percent=output.percent)


def _run_pipeline(
    collection: "Collection",
    measures: "Sequence[Measure] | None",
    source: SourceOptions,
    reading: CollectionOptions,
    formats: FormatOptions,
    policy: PolicyOptions,
    cache: Path | None,
) -> "PipelineAudit":
    """Audit the stages of a pipeline."""
    from trueval.precision.audit_pipeline import audit_pipeline

    dtypes, scoring, storages = formats.of_stages
    with executor_on(source.on) as executor, bars() as bar:
        return audit_pipeline(
            collection,
            str(source.pipeline),
            measures,
            exclude=reading.exclude_queries or (),
            limit=reading.limit,
            grades=policy.grade_map(),
            cache=cache,
            begin=bar,
            executor=executor,
            dtypes=dtypes,
            scoring=scoring,
            storages=storages,
            parts=formats.of_parts,
            **policy.choices(),
        )


def _refuse_model_options(reading: CollectionOptions, loading: LoadingOptions, formats: FormatOptions) -> None:
    """Refuse options of models where a pipeline's file says how these run."""
    if reading.candidates is not None:
        raise typer.BadParameter("goes with models: a pipeline finds its own candidates.", param_hint="--candidates")
    if formats.similarity is not None:
        raise typer.BadParameter("goes with models: an audit of a pipeline tries both.", param_hint="--similarity")
    if asdict(loading) != asdict(LoadingOptions()):
        raise typer.BadParameter(
            "Set batch_size, max_length and device in [embed] and [rerank] of the file.", param_hint="--pipeline"
        )


def _describe_saved_work(out: Path | None) -> str:
    """What is kept of an interrupted run of models."""
    if out is None:
        return "Nothing is kept. With models and --out DIR finished shards of logits are."
    return f"Finished shards are kept in {out / 'logits'}. The same command goes on from there."
