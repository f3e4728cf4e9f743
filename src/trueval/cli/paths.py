"""The files that a command names."""

from collections import Counter
from collections.abc import Sequence

import typer


def with_baseline(runs: Sequence[str], baseline: str | None) -> list[str]:
    """The paths to read: the runs, then the baseline where it is not one of them.

    Example:
        >>> with_baseline(["new.trec"], "old.trec")
        ['new.trec', 'old.trec']
    """
    return [*runs, *([baseline] if baseline is not None and baseline not in runs else [])]


def refuse_repeated(qrels: str, runs: Sequence[str]) -> None:
    """Refuses a file that is named twice; a log of contexts may be the judgments and one of the runs.

    Raises:
        typer.BadParameter: a path is there twice.
    """
    from trueval.rag.contexts import looks_like_contexts

    both = qrels in runs and looks_like_contexts(qrels)
    repeated = [path for path, times in Counter([*runs] if both else [qrels, *runs]).items() if times > 1]
    if repeated:
        raise typer.BadParameter(f"{repeated[0]} is given twice. Name each file once.", param_hint="QRELS RUN...")
