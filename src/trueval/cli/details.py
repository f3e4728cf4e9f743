"""What `--out` keeps for the page: details.json."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from trueval.cli.output import write_atomically

if TYPE_CHECKING:
    from trueval.evaluation.scores import Scores
    from trueval.judgments import Judgments
    from trueval.run import Run

FILE = "details.json"


class Details:
    """Gathers the details of one run after another, so that one run at a time is in memory.

    Args:
        qrels: path of the judgments.
        runs: paths of the runs.
        collection: folder with the texts, None for ids alone.
    """

    def __init__(self, qrels: str, runs: Sequence[str], collection: Path | None) -> None:
        self._files = [("judgments", qrels), *(("run", path) for path in runs)]
        self._collection = collection
        self._policy: dict[str, object] = {}
        self._runs: list[dict[str, Any]] = []

    def __call__(self, run: "Run", judgments: "Judgments", scores: "Scores") -> None:
        """Notes what the page says about a run."""
        from trueval.evaluation.views.details import run_evidence

        self._policy = scores.policy.to_dict()
        self._runs.append(run_evidence(run, judgments, scores))

    def save(self, folder: Path) -> None:
        """Writes details.json.

        Args:
            folder: exists already.

        Raises:
            InputError: the collection cannot be read.
            OSError: the folder cannot be written.
        """
        from trueval.evaluation.views.details import FORMAT_VERSION, KIND, add_texts
        from trueval.report.provenance import provenance

        origin = provenance(self._files)
        details = {"kind": KIND, "format": FORMAT_VERSION, **origin, "policy": self._policy, "runs": self._runs}
        if self._collection is not None:
            add_texts(details, self._collection)
        text = json.dumps(details, indent=1, ensure_ascii=False, allow_nan=False) + "\n"
        write_atomically(folder / FILE, text)
        typer.echo(f"wrote {FILE} to {folder}; trueval report {folder} makes its page", err=True)
