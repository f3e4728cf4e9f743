"""The embedded sample collection: our own text in English and French, judged from 1 to 5; `README.md` describes it."""

from importlib.resources import files
from pathlib import Path

__all__ = ["sample_path"]


def sample_path() -> Path:
    """Give the folder of the sample collection: corpus.jsonl, queries.jsonl and qrels.trec, BEIR-shaped.

    Its documents, questions and labels are what `trueval init --sample` brings. The folder belongs to the installed
    package: read from it, write elsewhere.

    Returns:
        The folder, an absolute path on disk.

    >>> sorted(file.name for file in sample_path().glob("*.jsonl"))
    ['corpus.jsonl', 'queries.jsonl', 'questions.jsonl']
    """
    return Path(str(files(__name__)))
