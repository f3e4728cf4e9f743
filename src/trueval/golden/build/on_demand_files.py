"""On-demand judging from files to files: what `trueval golden grade` does, in one call from Python.

NEW.trec                 the old judgments unchanged, and the new ones
NEW.labels.jsonl         each new label with its reason
NEW.calls.jsonl          calls that were sent, with their cost
NEW.ledger.sqlite        every answer, so that the same command can resume
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from trueval.collection import Collection
from trueval.errors import InputError
from trueval.files.atomic_files import write_whole
from trueval.golden.build.anchoring import find_changes, in_other_words, refuse_inside
from trueval.golden.build.build import open_account
from trueval.golden.build.build_estimate import dry_run_of, estimate_stage
from trueval.golden.build.golden_plan import JudgePlan
from trueval.golden.build.golden_set import ABOUT, GoldenSet
from trueval.golden.build.grade import questions_of
from trueval.golden.build.judge_choice import make_judge
from trueval.golden.build.on_demand import UnjudgedPool, demand, extend, refuse_other_scale
from trueval.golden.build.stage_files import lines_of
from trueval.golden.judge.concurrent_questions import Step
from trueval.golden.judge.judge import Judge
from trueval.golden.judge.ledger import open_existing_ledger, open_ledger
from trueval.judgments import Judgments
from trueval.models.hosted.account import Account
from trueval.models.missing_work import DryRun, MissingWork
from trueval.report.number_texts import count_phrase
from trueval.run import Run


class GradedFiles(NamedTuple):
    """The files that on-demand judging wrote.

    Attributes:
        out: file of the judgments.
        labels: file of the new labels with their reasons.
        judgments: number of judgments in `out`.
        new: number of new judgments.
        unjudged: number of passages without a valid label.
    """

    out: Path
    labels: Path
    judgments: int
    new: int
    unjudged: int

    def sentences(self) -> list[str]:
        """One line per file."""
        return [
            f"wrote {self.judgments:,} judgments to {self.out}, {self.new:,} of them new.",
            f"wrote the new labels with their reasons to {self.labels}.",
        ]

    @property
    def notes(self) -> tuple[str, ...]:
        """Remarks on missing labels."""
        if not self.unjudged:
            return ()
        return (f"{count_phrase(self.unjudged, 'passage', 'passages')} got no valid label and stay unjudged.",)


@dataclass(frozen=True)
class OnDemand:
    """The inputs of on-demand judging, read and checked; the judge is not called yet.

    Attributes:
        wanted: retrieved documents without a judgment.
        depth: number of top ranks to judge.
        collection: collection with the texts.
        scale: grade of the rubric → grade of the judgments; None if the scales are equal.
        out: file of the new judgments.
        ledger: path of the ledger.
    """

    judgments: Judgments
    wanted: UnjudgedPool
    depth: int
    collection: Collection
    plan: JudgePlan
    judge: Judge
    account: Account
    scale: Mapping[float, float] | None
    out: Path
    ledger: Path

    @classmethod
    def read(
        cls,
        qrels: Path,
        runs: Sequence[Path],
        collection: str,
        plan: JudgePlan,
        *,
        depth: int,
        out: Path,
        scale: Mapping[float, float] | None = None,
        ledger: Path | None = None,
    ) -> OnDemand:
        """Read the files.

        Args:
            qrels: existing judgments.
            runs: runs whose top documents are judged.
            collection: folder with corpus and queries.
            depth: number of top ranks to judge.
            out: file of the new judgments; its folder must exist.
            scale: grade of the rubric → grade of the judgments; None if the scales are equal.
            ledger: path of the ledger; None for a file next to `out`.

        Raises:
            InputError: a file is bad, `out` is one of those that are read, or the collection asks a query of a golden
                set in other words.
            PolicyError: the judgments have another scale than the rubric, and none is given.
        """
        refuse_to_write_over(out, qrels, runs)
        judgments = Judgments.read(str(qrels))
        refuse_other_scale(judgments, scale)
        texts = Collection.read(collection)
        account = open_account(out.with_name(f"{out.stem}.calls.jsonl"), plan.values["max_cost"])
        judge = make_judge(plan, texts, account)
        notes = _of_another_collection(qrels, texts)
        wanted = demand(judgments, [Run.read(str(run)) for run in runs], texts, depth)
        wanted = wanted._replace(notes=(*notes, *wanted.notes))
        return cls(judgments, wanted, depth, texts, plan, judge, account, scale, out, ledger or ledger_beside(out))

    def sentence(self) -> str:
        """The number of passages to judge, in one line."""
        return (
            f"{self.wanted.passages:,} of {self.wanted.retrieved:,} documents in the first {self.depth} places are not "
            "judged."
        )

    def estimate(self) -> MissingWork:
        """Estimated calls, tokens and money that remain; nothing is sent or written."""
        queries, documents = self.collection.queries, self.collection.documents
        asked = [each.question for each in questions_of(self.wanted.pools, queries, documents, self.plan.grading)]
        with open_existing_ledger(self.ledger) as answers:
            return estimate_stage(self.judge, answers, "grade", asked)

    def dry_run(self) -> DryRun:
        """The dry-run report: the estimate and the amount already spent; nothing is sent or written."""
        return dry_run_of([self.estimate()], self.account)

    def grade(self, step: Step | None = None) -> GradedFiles:
        """Call the judge, and write judgments and labels.

        Raises:
            InputError: the judge cannot be asked, or the money is spent; what was answered is in the ledger.
        """
        with open_ledger(self.ledger) as answers:
            found = extend(
                self.judgments,
                self.wanted,
                self.collection,
                self.judge,
                answers,
                self.plan.grading,
                self.account,
                scale=self.scale,
                at_once=self.plan.values["concurrency"],
                step=step,
            )
        labels = self.out.with_name(f"{self.out.stem}.labels.jsonl")
        found.judgments.write(self.out)
        write_whole(labels, lines_of(found.labels))
        unjudged = int(found.graded.grades["grade"].null_count())
        return GradedFiles(self.out, labels, len(found.judgments.frame), self.wanted.passages - unjudged, unjudged)


def _of_another_collection(qrels: Path, texts: Collection) -> list[str]:
    """Texts of a golden set that its collection no longer has; refuses labels of other questions."""
    if not (qrels / ABOUT).is_file():
        return []
    found = find_changes(GoldenSet.read(qrels), texts)
    if found.reworded:
        raise InputError(
            f"{texts.source}: {in_other_words(found.reworded)} in {qrels}. Carry over first what still holds, and "
            "grade that file: trueval golden anchor."
        )
    return found.sentences() if found.lost else []


def refuse_to_write_over(out: Path, qrels: Path, runs: Sequence[Path]) -> None:
    """Refuse to overwrite an input file, before any work.

    Args:
        qrels: judgments, or the folder of a golden set.

    Raises:
        InputError: `out` is one of them, or in the golden set.
    """
    if out.resolve() == qrels.resolve() or (out.exists() and qrels.exists() and out.samefile(qrels)):
        raise InputError(f"{out}: the judgments are read from there, and are never written over. Name another file.")
    refuse_inside(out, qrels)
    if any(out.resolve() == run.resolve() for run in runs):
        raise InputError(f"{out}: a run is read from there, and is never written over. Name another file.")


def ledger_beside(out: Path) -> Path:
    """Default path of the ledger for new judgments.

    >>> ledger_beside(Path("new.trec")).name
    'new.ledger.sqlite'
    """
    return out.with_name(f"{out.stem}.ledger.sqlite")
