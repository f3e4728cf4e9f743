"""Files of `--out` besides the means: details.json for the page, and queries.parquet."""

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from trueval.cli.paths import with_roles

if TYPE_CHECKING:
    from trueval.evaluation.details_result import RunEvidence
    from trueval.evaluation.scores import Scores
    from trueval.judgments import Judgments
    from trueval.report.generation import Content
    from trueval.run import Run


class Details:
    """Collects the details run by run, so that only one run is in memory.

    Files read in the block of `record_files(details.seen)` are listed with size and hash.

    Args:
        qrels: path of the judgments.
        runs: paths of the runs, or name=path.
        collection: folder with the texts; None for ids alone.
        beside: role → further file or folder that is read; None if there is none.
    """

    def __init__(
        self,
        qrels: str,
        runs: Sequence[str],
        collection: Path | None,
        beside: Mapping[str, str | Path | None] | None = None,
    ) -> None:
        from trueval.files.display_names import (
            file_of,
            path_of,
        )  # late: it imports numpy, for which --help should not wait
        from trueval.files.source.fingerprints import FileFingerprints
        from trueval.judgments import judgments_file
        from trueval.report.provenance import date

        date()  # an invalid SOURCE_DATE_EPOCH is refused before the work
        files = dict.fromkeys(file_of(path_of(text)) for text in runs)  # a table of runs once
        self._files = [("judgments", str(judgments_file(qrels))), *(("run", path) for path in files)]
        self._collection, self.seen = collection, FileFingerprints()
        self._beside = {**(beside or {}), "collection": collection}
        self._scores: list[Scores] = []
        self._runs: list[RunEvidence] = []

    def add(self, scores: "Scores", evidence: "RunEvidence") -> None:
        """Record the scores of a run, and what the page shows of it."""
        self._scores.append(scores)
        self._runs.append(evidence)

    def __call__(self, run: "Run", judgments: "Judgments", scores: "Scores") -> None:
        """Record the details of a run in memory."""
        self.add(scores, examine_run(0, run, judgments, scores))

    def to_dict(self) -> dict[str, object]:
        """The content of details.json.

        Raises:
            InputError: the collection cannot be read.
        """
        from trueval.evaluation.views.details import to_details
        from trueval.files.source.fingerprints import record_files

        with record_files(self.seen):  # refused if the texts changed since they were hashed
            return to_details(self._runs, self._scores, self._all_files(), self._collection, self.seen)

    def files(self) -> "dict[str, Content]":
        """The file of per-query values, written as a stream."""
        from trueval.evaluation.query_values import QUERIES, write_queries

        return {QUERIES: partial(write_queries, self._scores)}

    def _all_files(self) -> list[tuple[str, str]]:
        """Role and path of every file read; files in a folder have the folder's role."""
        main = {path for _, path in self._files}
        return [*self._files, *with_roles((path for path in self.seen if path not in main), self._beside)]


def examine_run(number: int, run: "Run", judgments: "Judgments", scores: "Scores") -> "RunEvidence":
    """What the page shows of a run, computed where the run is."""
    from trueval.evaluation.views.details import run_evidence

    return run_evidence(run, judgments, scores)
