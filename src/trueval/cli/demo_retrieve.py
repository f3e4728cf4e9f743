"""The part of `trueval demo` that makes a run live: BM25 and MiniLM over the sample's corpus, fused by ranks."""

from pathlib import Path
from typing import TYPE_CHECKING, Final

from trueval.cli.demo_model import FIELDS, MODEL

if TYPE_CHECKING:
    from trueval.retrieval.pipeline.stage_resources import Begin

NAME: Final = "hybrid"
# The dtype of one of the two passes of the audit, so that its embeddings are reused.
SEARCH: Final = {"embed": {"model": MODEL, "dtype": "bfloat16"}, "sparse": {"depth": 50}, "index": {"depth": 50}}


def retrieval_is_here() -> bool:
    """Whether the libraries of the extra retrieval are installed, without importing them."""
    from importlib.util import find_spec

    return all(find_spec(name) for name in ("faiss", "bm25s", "Stemmer"))


def retrieve_demo(
    sample: Path, relevant: float, cache: Path, runs: Path, begin: "Begin | None" = None
) -> tuple[dict[str, object], Path]:
    """Search the sample by words and by vectors, fuse the two lists, and write the run.

    Args:
        sample: folder of the collection.
        relevant: grade from which a document is relevant.
        cache: folder for embeddings, indexes and candidates.
        runs: folder of the run, created if absent.
        begin: called with the name of each stage.

    Returns:
        The JSON of `trueval retrieve`, and the path of the run.
    """
    from trueval.collection import Collection
    from trueval.retrieval.pipeline.config import settings_of_tables
    from trueval.retrieval.pipeline.pipeline import Pipeline

    collection = Collection.read(str(sample), fields=FIELDS)
    pipeline = Pipeline(settings_of_tables(SEARCH, "the demo"), NAME)
    found = pipeline.retrieve(collection, cache=cache, begin=begin).with_measures(collection.graded, relevant)
    runs.mkdir(parents=True, exist_ok=True)
    path = runs / f"{NAME}.trec"
    found.run.write(path)
    return found.to_dict(), path
