"""What `--out` keeps beside the means: details.json for the page, and queries.parquet."""

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from trueval.evaluation.scores import Scores
    from trueval.judgments import Judgments
    from trueval.report.generation import Content
    from trueval.run import Run


class Details:
    """Gathers the details of one run after another, so that one run at a time is in memory.

    Args:
        qrels: path of the judgments.
        runs: paths of the runs, or name=path.
        collection: folder with the texts, None for ids alone.
    """

    def __init__(self, qrels: str, runs: Sequence[str], collection: Path | None) -> None:
        from trueval.files.names import path_of  # late: it brings numpy, for which no help should wait
        from trueval.report.provenance import date

        date()  # a SOURCE_DATE_EPOCH that is no date is refused before the work
        self._files = [("judgments", qrels), *(("run", path_of(text)) for text in runs)]
        self._collection = collection
        self._scores: list[Scores] = []
        self._runs: list[dict[str, Any]] = []

    def __call__(self, run: "Run", judgments: "Judgments", scores: "Scores") -> None:
        """Notes what the page says about a run."""
        from trueval.evaluation.views.details import run_evidence

        self._scores.append(scores)
        self._runs.append(run_evidence(run, judgments, scores))

    def to_dict(self) -> dict[str, Any]:
        """The content of details.json.

        Raises:
            InputError: the collection cannot be read.
        """
        from trueval.evaluation.views.details import to_details

        return to_details(self._runs, self._scores, self._files, self._collection)

    def files(self) -> "dict[str, Content]":
        """The file with the values of every query, which is written in a stream."""
        from trueval.evaluation.query_values import QUERIES, write_queries

        return {QUERIES: partial(write_queries, self._scores)}
