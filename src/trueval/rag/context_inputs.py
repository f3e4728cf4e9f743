"""Inputs: how files, logs of contexts among them, become runs and the judgments that each is held against."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from trueval.files import name_files
from trueval.rag.contexts import Contexts, contexts_or_file, read_judgments_or_contexts
from trueval.rag.unjudged import grade_unjudged
from trueval.run import Run

if TYPE_CHECKING:
    from trueval.judgments import Judgments


class RunWithJudgments(NamedTuple):
    """A run and what it is held against.

    Attributes:
        judgments: grades, those for documents that nobody graded and sources among them where they are wanted.
        correct: correctness of the answer, by query, as far as it is known.
    """

    run: Run
    judgments: Judgments
    correct: Mapping[str, float]


@dataclass(frozen=True, eq=False)
class InputRules:
    """What is done to judgments and runs when they are read.

    Attributes:
        facets: whether the second column of judgments holds facets.
        grades: grade in the file → grade to use; None keeps them.
        unjudged: grade of documents that a run lists and nobody graded; None leaves them so.
        sources: source of each document id; those of a log are used where this names none.
        correct: correctness of the answer, by query, for every run; None takes it from the run's log.
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
        judgments = read_judgments_or_contexts(path, facets=self.facets)
        return judgments if self.grades is None else judgments.map_grades(self.grades)

    def read_runs(
        self, paths: Sequence[str], judgments: Judgments, begin: Callable[[str], None] | None = None
    ) -> Iterator[RunWithJudgments]:
        """Read runs, or the documents that logs of contexts retrieved, one at a time.

        Args:
            paths: each a path, "-" for standard input, or name=path. Runs are named by their files, with the shortest
                end of the path that differs where file names are equal.
            judgments: as `read_judgments` gives them.
            begin: called with each path before it is read.

        Yields:
            Each run with its judgments, filled and with sources; sources of a log serve the runs after it too.

        Raises:
            InputError: a file is bad.
        """
        sources = self.sources
        for name, path in name_files(paths):
            if begin is not None:
                begin(path)
            found = contexts_or_file(path, name=name)
            correct: Mapping[str, float] = {}
            if isinstance(found, Contexts):
                run, correct = found.run, found.correct
                sources = {**found.sources, **(sources or {})} if found.sources else sources
            else:
                run = Run.read(found, name=name)
            # Filled before sources are named: a document that was added has a source as well.
            judged = judgments if self.unjudged is None else grade_unjudged(judgments, run, self.unjudged)
            judged = judged if sources is None else judged.with_sources(sources)
            yield RunWithJudgments(run, judged, correct if self.correct is None else self.correct)
