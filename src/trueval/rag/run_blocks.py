"""Blocks of runs, evaluated by an executor: in other processes, or on other machines.

A block is a few runs, read and evaluated one after another, so that a worker has one run in memory. How many blocks
there are follows from the number of runs, never from the workers, and results come in the order of the runs.
"""

from __future__ import annotations

import io
import pickle
import socket
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import chdir, contextmanager, nullcontext
from dataclasses import replace
from functools import partial
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from trueval.errors import InputError, TruevalWarning
from trueval.evaluation.content_hashes import ContentHashes, full_content
from trueval.evaluation.evaluate import evaluate
from trueval.files.display_names import file_of
from trueval.files.source.fingerprints import FileFingerprints, Fingerprint, record_files, recorder
from trueval.files.source.source_bytes import can_be_read_once
from trueval.rag.answer_accuracy import AccuracyGivenHit, accuracies
from trueval.rag.context_inputs import InputRules, RunWithJudgments
from trueval.rag.unjudged_passages import as_judged
from trueval.threads import error_of_part

if TYPE_CHECKING:
    from trueval.evaluation.scores import Scores
    from trueval.files.display_names import NamedFile
    from trueval.judgments import Judgments
    from trueval.measures import Measure
    from trueval.policy.policy import Policy
    from trueval.run import Run
    from trueval.threads import Executor

RUNS: Final = 4  # of a block

_moves = Lock()  # the working directory is that of the whole process

# What else is taken from a run where it is in memory: number of the run, the run, its judgments and scores.
Examine = Callable[[int, "Run", "Judgments", "Scores"], Any]


class EvaluatedRun(NamedTuple):
    """What is known of a run once it is no longer in memory.

    Attributes:
        answers: accuracy given a hit, by the text form of each AllGold@k.
        examined: result of `examine`; None without it.
    """

    scores: Scores
    answers: Mapping[str, AccuracyGivenHit]
    examined: Any


class RunEvaluator(NamedTuple):
    """How each run of a job is evaluated.

    Attributes:
        judgments: judgments as read.
        content: known content hashes; None skips hashing the runs.
        examine: what else is taken from each run.
    """

    judgments: Judgments
    inputs: InputRules
    measures: Sequence[Measure]
    policy: Policy
    content: Mapping[str, str] | None
    examine: Examine | None

    def evaluate(self, number: int, pair: RunWithJudgments) -> EvaluatedRun:
        """Evaluate a run.

        Args:
            number: place of the run in the job, from 0.
        """
        found = evaluate(pair.run, pair.judgments, self.measures, policy=self.policy)
        # The hash is of the judgments as read, since filled ones differ between runs, and the filling is recorded.
        if self.inputs.unjudged is not None:
            found = as_judged(found, pair.run, self.judgments, self.inputs.unjudged)
        known = ContentHashes({"unjudged": self.inputs.unjudged, **(self.content or {})}, self.judgments)
        hashes = known if self.content is None else full_content(known, pair.run, found.query_ids, found.policy)
        found = replace(found, content=hashes)
        examined = None if self.examine is None else self.examine(number, pair.run, pair.judgments, found)
        return EvaluatedRun(found, accuracies(found, pair.correct) if pair.correct else {}, examined)


class RunBlock(NamedTuple):
    """Some runs of a job, as a worker gets them.

    Attributes:
        first: number of its first run, from 0.
        total: number of runs of the job.
        files: names and paths.
        folder: working directory of the command, from which the paths start.
        present: whether all files are where the command runs.
        recorded: whether the files are hashed as they are read.
    """

    first: int
    total: int
    files: Sequence[NamedFile]
    folder: str
    present: bool
    recorded: bool

    def __str__(self) -> str:
        """Its name in messages."""
        return f"runs {self.first + 1} to {self.first + len(self.files)} of {self.total}"


class _ResultPickler(pickle.Pickler):
    """Pickles results without the judgments, of which each block would bring back a copy."""

    def __init__(self, file: io.BytesIO, judgments: Judgments) -> None:
        super().__init__(file, protocol=pickle.HIGHEST_PROTOCOL)
        self.judgments = judgments

    def persistent_id(self, obj: object) -> str | None:
        """A name in place of the judgments."""
        return "judgments" if obj is self.judgments else None


class _ResultUnpickler(pickle.Unpickler):
    """Reads results, with the judgments of this process."""

    def __init__(self, file: io.BytesIO, judgments: Judgments) -> None:
        super().__init__(file)
        self.judgments = judgments

    def persistent_load(self, pid: object) -> Judgments:
        """The judgments."""
        return self.judgments


class EvaluatedBlock(NamedTuple):
    """What a worker returns.

    Attributes:
        runs: a pickle of [run of the block] results, without the judgments.
        files: path → fingerprint of the bytes read.
        alone: whether the runs must be read in order, since a log among them has sources that serve later runs.
    """

    runs: bytes
    files: Mapping[str, Fingerprint]
    alone: bool = False


def evaluate_block(evaluator: RunEvaluator, block: RunBlock) -> EvaluatedBlock:
    """Evaluate the runs of a block where this runs.

    Raises:
        InputError: a run is bad, or cannot be read on this machine, or memory runs out there.
    """
    try:
        return _evaluate_block(evaluator, block)
    except (MemoryError, OSError) as error:
        raise error_of_part(block, error, "Runs are evaluated from the start.") from error


def _evaluate_block(evaluator: RunEvaluator, block: RunBlock) -> EvaluatedBlock:
    found, seen = [], FileFingerprints()
    with _in_folder(block), warnings.catch_warnings(), record_files(seen) if block.recorded else nullcontext():
        warnings.simplefilter("ignore", TruevalWarning)  # the same lines are notes of the scores
        pairs = evaluator.inputs.read_files(block.files, evaluator.judgments)
        for number, pair in enumerate(pairs, start=block.first):
            if pair.sources is not evaluator.inputs.sources:
                return EvaluatedBlock(b"", {}, alone=True)
            one = evaluator.evaluate(number, pair)
            found.append(one._replace(scores=_with_judgments(one.scores, None)))
    data = io.BytesIO()
    _ResultPickler(data, evaluator.judgments).dump(found)
    return EvaluatedBlock(data.getvalue(), {path: mark for path in seen if (mark := seen.get(path)) is not None})


def _with_judgments(scores: Scores, judgments: Judgments | None) -> Scores:
    known = {} if scores.content is None else scores.content.known
    return replace(scores, content=ContentHashes(known, judgments))


@contextmanager
def _in_folder(block: RunBlock) -> Iterator[None]:
    """Work in the folder of the command, where the paths are the same as there.

    Raises:
        InputError: the runs are not on this machine.
    """
    with nullcontext() if str(Path.cwd()) == block.folder else _moves:
        lost = next((path for _, path in block.files if not Path(block.folder, file_of(path)).exists()), None)
        if block.present and lost is not None:
            raise InputError(
                f"{block}, on {socket.gethostname()}: {lost} is not there. Put the runs into a folder that all "
                "machines see under the same path, or evaluate them with --on threads."
            )
        with nullcontext() if str(Path.cwd()) == block.folder else chdir(block.folder):
            yield


def evaluate_blocks(
    evaluator: RunEvaluator,
    files: Sequence[NamedFile],
    executor: Executor | None,
    begin: Callable[[str], None] | None = None,
) -> Iterator[EvaluatedRun]:
    """Evaluate runs by an executor, with the same results, in the same order, as here.

    Args:
        files: names and paths of the runs.
        executor: computes blocks of runs; None for here, one run after another.
        begin: called with each path before it is read here, or as its results come.

    Raises:
        InputError: a run is bad.
    """
    done = 0
    # What can be read once is read here.
    if executor is not None and len(files) > 1 and not any(can_be_read_once(file_of(path)) for _, path in files):
        here, recorded = str(Path.cwd()), recorder() is not None
        cuts = [(first, files[first : first + RUNS]) for first in range(0, len(files), RUNS)]
        blocks = (
            RunBlock(first, len(files), some, here, all(Path(file_of(path)).exists() for _, path in some), recorded)
            for first, some in cuts
        )
        for block in executor.map(partial(evaluate_block, evaluator), blocks):
            if block.alone:
                break
            _record(block.files)
            runs: list[EvaluatedRun] = _ResultUnpickler(io.BytesIO(block.runs), evaluator.judgments).load()
            for one in runs:
                if begin is not None:
                    begin(files[done].path)
                done += 1
                yield one._replace(scores=_with_judgments(one.scores, evaluator.judgments))
    pairs = evaluator.inputs.read_files(files[done:], evaluator.judgments, begin)
    for number, pair in enumerate(pairs, start=done):
        yield evaluator.evaluate(number, pair)


def _record(files: Mapping[str, Fingerprint]) -> None:
    """Record files that were read elsewhere, if a block here records files."""
    if (seen := recorder()) is not None:
        for path, fingerprint in files.items():
            seen.note(path, fingerprint)
