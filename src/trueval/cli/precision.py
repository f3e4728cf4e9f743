"""`trueval precision`: what a model's number formats do to a result."""

import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from trueval.cli.output import check_folder, save, save_page, show, talk
from trueval.cli.stored_logits import stored_outputs
from trueval.errors import MissingExtraError, TruevalWarning

if TYPE_CHECKING:
    from trueval.collection import Candidates, Collection
    from trueval.precision.audit import Audit
    from trueval.precision.logits import Step
    from trueval.precision.regimes import Regime

Format = Literal["table", "json", "csv", "markdown", "latex"]
DEFAULT_MEASURES = "nDCG@10 RR@10 AP@10 R@10"
DEFAULT_DTYPES = "bfloat16,float32"
INTERRUPTED = 130  # 128 + SIGINT, as shells have it


def precision(
    collection: Annotated[
        str,
        typer.Argument(
            metavar="COLLECTION",
            help="Folder with corpus.jsonl, queries.jsonl and qrels.trec, or mteb:NAME, or ir_datasets:NAME.",
        ),
    ],
    models: Annotated[
        list[str] | None,
        typer.Option(
            "--model", metavar="NAME_OR_PATH", help="Recipe, folder, hub id, or RECIPE:FOLDER_OR_ID. May be repeated."
        ),
    ] = None,
    dtype: Annotated[
        str | None,
        typer.Option(
            metavar="LIST",
            help="Formats that the models run in, parted by commas; of --logits those to look at. "
            f"Default: {DEFAULT_DTYPES}; of --logits all.",
        ),
    ] = None,
    scoring: Annotated[
        str,
        typer.Option(metavar="LIST", help="Formats of the scores, parted by commas; model is the model's own dtype."),
    ] = "model,float32",
    index_dtype: Annotated[
        str,
        typer.Option(metavar="LIST", help="Formats that document embeddings are stored in; model is the model's own."),
    ] = "model",
    measures: Annotated[
        list[str] | None,
        typer.Option(
            "--measures",
            "-m",
            metavar="LIST",
            help=f"Measures, parted by blanks or repeated. Default: {DEFAULT_MEASURES}.",
        ),
    ] = None,
    candidates: Annotated[
        str | None,
        typer.Option(
            metavar="CHOICE",
            help="judged: every judged document of a query; corpus: every document; or a run file. "
            "Default: the collection's own lists, else judged.",
        ),
    ] = None,
    logits: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Stored logits instead of models: .npz with query, doc and an array for each model dtype.",
        ),
    ] = None,
    fields: Annotated[
        str, typer.Option(metavar="LIST", help="Fields that make a document's text, parted by commas.")
    ] = "title,text",
    exclude_queries: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Queries to leave out: a JSON list, or one id a line."),
    ] = None,
    limit: Annotated[
        int | None, typer.Option(metavar="N", min=1, help="Look at the first N judged queries only.")
    ] = None,
    batch_size: Annotated[
        int, typer.Option(metavar="N", min=1, help="Texts in one forward pass; halved when memory runs out.")
    ] = 32,
    max_length: Annotated[
        int | None, typer.Option(metavar="N", min=8, help="Tokens kept, instead of the recipe's.")
    ] = None,
    device: Annotated[
        str | None, typer.Option(metavar="NAME", help="As torch calls it. Default: an accelerator, else cpu.")
    ] = None,
    tie_order: Annotated[
        str, typer.Option(metavar="ORDER", help="Order of equal scores for the oblivious value.")
    ] = "input",
    rel: Annotated[float | None, typer.Option(metavar="N", help="Grade from which a document is relevant.")] = None,
    grades: Annotated[str | None, typer.Option(metavar="MAP", help="Replace grades first, such as 0:1,1:3.")] = None,
    empty: Annotated[
        str, typer.Option(metavar="POLICY", help="Queries without a relevant document: skip, zero or error.")
    ] = "skip",
    form: Annotated[Format, typer.Option("--format", help="What to print.")] = "table",
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="Write precision.json, .csv, .md, .tex, figures and report.html there, and keep the logits in "
            "DIR/logits, where an interrupted run goes on.",
        ),
    ] = None,
    seed: Annotated[int, typer.Option(metavar="N", min=0, help="Of everything random.")] = 0,
) -> None:
    """Audits models in low precision: what ties in each format do to each measure, and what float32 scoring repairs.

    Example: trueval precision collection --model bge-reranker-v2-m3 --dtype bfloat16,float32 -m nDCG@10 --out audit
    """
    from trueval.precision.views.kind import PRECISION

    if bool(models) == (logits is not None):
        raise typer.BadParameter("give at least one, or --logits, and not both.", param_hint="--model")
    options = {"tie_order": tie_order, "empty": empty, "rel": rel, "seed": seed}
    setup = {"batch_size": batch_size, "max_length": max_length, "device": device}
    formats = {"formats": _parts(scoring), "index_dtypes": _parts(index_dtype)}
    if out is not None:
        check_folder(out)  # before hours of forward passes
    with _remarks(), _interruptible(out if models else None):
        read = _collection(collection, _parts(fields), exclude_queries, limit, grades, logits)
        chosen, outputs, passes = (
            run_models(
                read, candidates, models or [], _parts(DEFAULT_DTYPES if dtype is None else dtype), formats, setup, out
            )
            if logits is None
            else stored_outputs(read, logits, None if dtype is None else _parts(dtype), formats)
        )
        found = audited(read, chosen, outputs, " ".join(measures or [DEFAULT_MEASURES]), options)
    about = describe(read, chosen, passes)
    result = found.to_dict(about)
    talk(result["notes"])
    show(PRECISION, result, form)
    if out is not None:
        save(PRECISION, result, out)
        try:
            save_page(out)
        except MissingExtraError as error:
            talk([str(error)])


def _parts(text: str) -> list[str]:
    return [part.strip() for part in text.split(",") if part.strip()]


def _collection(
    place: str,
    fields: Sequence[str],
    exclude: Path | None,
    limit: int | None,
    grades: str | None,
    logits: Path | None,
) -> "Collection":
    """Reads the collection and leaves out the queries that are not wanted."""
    from dataclasses import replace

    from trueval.collection import Collection
    from trueval.judgments import grade_map
    from trueval.precision.logits import read_logits

    found = Collection.read(place, fields=fields)
    if grades is not None:
        found = replace(found, judgments=found.judgments.map_grades(grade_map(grades)))
    queries = found.judgments.query_ids.to_list()
    if exclude is not None:
        left_out = _ids(exclude)
        queries = [query for query in queries if query not in left_out]
    if logits is not None:
        stored = set(read_logits(logits).query_ids)
        queries = [query for query in queries if query in stored]
    chosen = frozenset(queries[:limit])
    return found if len(chosen) == len(found.judgments.query_ids) else found.restricted(chosen)


def _ids(path: Path) -> set[str]:
    """Reads ids: a JSON list, or one a line."""
    import json

    text = path.read_text(encoding="utf-8")
    try:
        found = json.loads(text) if text.lstrip().startswith("[") else text.split()
    except ValueError as error:
        message = f"{path} must hold a JSON list of ids, or one id a line. It is no JSON: {error}."
        raise typer.BadParameter(message, param_hint="--exclude-queries") from None
    return {str(one) for one in found}


def run_models(
    collection: "Collection",
    candidates: str | None,
    models: Sequence[str],
    dtypes: Sequence[str],
    formats: Mapping[str, Sequence[str]],
    setup: Mapping[str, Any],
    out: Path | None,
) -> "tuple[Candidates, list[tuple[Regime, Mapping[str, Any]]], list[dict[str, Any]]]":
    """Runs every model once in every dtype.

    Args:
        collection: with the texts.
        candidates: "judged", "corpus", the path of a run, or None.
        models: names or folders.
        dtypes: formats that the models run in.
        formats: `formats` and `index_dtypes` of `trueval.precision.plan`.
        setup: options of `trueval.models.load_model`; None leaves them to it.
        out: folder whose folder logits keeps the outputs; None keeps none.

    Returns:
        The candidates, regimes with their outputs, and what to say of the passes.
    """
    from trueval.collection import candidate_lists
    from trueval.models import load_model
    from trueval.precision.logits import model_outputs
    from trueval.precision.regimes import plan
    from trueval.run import Run

    named = candidates in (None, "judged", "corpus")
    chosen = candidate_lists(collection, candidates if named else Run.read(str(candidates)))
    folder = None if out is None else out / "logits"
    options = {name: value for name, value in setup.items() if value is not None}
    outputs: list[tuple[Regime, Mapping[str, Any]]] = []
    passes = []
    with bars() as bar:
        for name in models:
            for dtype in dtypes:
                model = load_model(name, dtype=dtype, **options)
                step = bar(f"{model.name} {dtype}")
                found = model_outputs(model, collection, chosen, folder=folder, step=step)
                passes.append(found.to_dict())
                planned = plan(model.name, model.scoring, dtype, **formats)
                outputs += [(regime, found.arrays) for regime in planned]
    return chosen, outputs, passes


def audited(
    collection: "Collection",
    candidates: "Candidates",
    outputs: "Sequence[tuple[Regime, Mapping[str, Any]]]",
    measures: str,
    options: Mapping[str, Any],
) -> "Audit":
    """Scores the candidates in every regime and audits the result.

    Args:
        collection: with the judgments.
        candidates: what was scored.
        outputs: regimes with the outputs of their model.
        measures: parted by blanks.
        options: of `trueval.evaluate`.
    """
    from trueval.precision.audit import CUTOFFS, audit_blocks
    from trueval.precision.regimes import scored

    longest = max(len(each) for each in candidates.lists)
    cutoffs = [k for k in CUTOFFS if k <= longest]
    return audit_blocks(scored(candidates, outputs), collection.judgments, measures, options, cutoffs=cutoffs)


def describe(collection: "Collection", candidates: "Candidates", passes: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """What the results say of their origin.

    Args:
        collection: what was read.
        candidates: what was scored.
        passes: settings of the forward passes.
    """
    return {
        "collection": {"name": collection.name, "source": collection.source, "documents": len(collection.documents)},
        "candidates": {
            "kind": candidates.kind,
            "queries": len(candidates.query_ids),
            "pairs": candidates.pairs,
            "notes": [*collection.notes, *candidates.notes],
        },
        "passes": list(passes),
    }


@contextmanager
def _interruptible(out: Path | None) -> Iterator[None]:
    """Says after Ctrl-C what a run of models keeps and how it goes on, and leaves with the status of SIGINT."""
    try:
        yield
    except KeyboardInterrupt:
        kept = "Nothing is kept. With models and --out DIR finished shards of logits are."
        if out is not None:
            kept = f"Finished shards are kept in {out / 'logits'}. The same command goes on from there."
        typer.echo(f"trueval: interrupted. {kept}", err=True)
        raise typer.Exit(INTERRUPTED) from None


@contextmanager
def _remarks() -> Iterator[None]:
    """Says on stderr at once what the library remarks, such as a batch size that was halved."""

    def say(message: Warning | str, category: type[Warning], *rest: Any, **named: Any) -> None:
        if issubclass(category, TruevalWarning):
            typer.echo(f"note: {message}", err=True)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.simplefilter("always", TruevalWarning)
        warnings.showwarning = say
        yield


@contextmanager
def bars() -> "Iterator[Callable[[str], Step]]":
    """Shows a bar for each forward pass on stderr, where that is a terminal.

    Yields:
        A function from a name to the function that `model_outputs` calls after every shard.
    """
    from rich.console import Console
    from rich.progress import Progress

    console = Console(stderr=True)
    with Progress(console=console, transient=True, disable=not console.is_terminal) as shown:

        def bar(name: str) -> "Step":
            tasks: dict[str, Any] = {}

            def step(part: str, done: int, total: int) -> None:
                if part not in tasks:
                    tasks[part] = shown.add_task(f"{name}: {part}", total=total)
                shown.update(tasks[part], completed=done)

            return step

        yield bar
