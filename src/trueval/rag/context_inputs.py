"""Inputs: reads files, including context logs, as runs with the judgments for each."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

from trueval.files import name_files
from trueval.files.display_names import NamedFile
from trueval.judgments import Judgments
from trueval.rag.contexts import Contexts, contexts_or_file
from trueval.rag.unjudged_passages import grade_unjudged
from trueval.run import Run


class RunWithJudgments(NamedTuple):
    """A run with its judgments.

    Attributes:
        judgments: grades, with unjudged documents graded and sources attached where requested.
        correct: query → correctness of its answer, where known.
        sources: source of each document id, those of earlier logs among them; None without any.
    """

    run: Run
    judgments: Judgments
    correct: Mapping[str, float]
    sources: Mapping[str, str] | None


class InputRules(NamedTuple):
    """Options for reading judgments and runs.

    Attributes:
        facets: whether the second column of judgments holds facets.
        grades: grade in the file → grade to use; None keeps them.
        unjudged: grade of listed documents without a judgment; None leaves them unjudged.
        sources: source of each document id; takes precedence over those of a log.
        correct: query → correctness of its answer, for every run; None takes it from the run's log.
    """

    facets: bool = False
    grades: Mapping[float, float] | None = None
    unjudged: float | None = None
    sources: Mapping[str, str] | None = None
    correct: Mapping[str, float] | None = None

    def read_judgments(self, path: str) -> Judgments:
        """Read judgments, or the gold documents of a log of contexts.

        Raises:
            InputError: the file is bad, or a grade has no mapping.
        """
        judgments = Judgments.read(path, facets=self.facets)
        return judgments if self.grades is None else judgments.map_grades(self.grades)

    def read_runs(
        self, paths: Sequence[str], judgments: Judgments, begin: Callable[[str], None] | None = None
    ) -> Iterator[RunWithJudgments]:
        """Read runs, or the documents that logs of contexts retrieved, one at a time.

        Args:
            paths: each a path, "-" for standard input, or name=path. Runs are named by their files, with the shortest
                distinguishing end of the path where file names are equal.
            judgments: judgments from `read_judgments`.
            begin: called with each path before it is read.

        Yields:
            Each run with its judgments, filled and with sources; sources of a log serve the runs after it too.

        Raises:
            InputError: a file is bad.
        """
        return self.read_files(name_files(paths), judgments, begin)

    def read_files(
        self, files: Sequence[NamedFile], judgments: Judgments, begin: Callable[[str], None] | None = None
    ) -> Iterator[RunWithJudgments]:
        """Read runs that have their names, otherwise as `read_runs`."""
        sources = self.sources
        for name, path in files:
            if begin is not None:
                begin(path)
            found = contexts_or_file(path, name=name)
            correct: Mapping[str, float] = {}
            if isinstance(found, Contexts):
                run, correct = found.run, found.correct
                sources = {**found.sources, **(sources or {})} if found.sources else sources
            else:
                run = Run.read(found, name=name)
            # Filled before sources are attached, since an added document has a source as well.
            judged = judgments if self.unjudged is None else grade_unjudged(judgments, run, self.unjudged)
            judged = judged if sources is None else judged.with_sources(sources)
            yield RunWithJudgments(run, judged, correct if self.correct is None else self.correct, sources)
