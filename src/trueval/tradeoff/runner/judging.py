"""On-demand judging: a judge labels the unjudged documents that the systems found, before evaluation.

Configurations are compared by what they find; a new one finds unjudged documents, which count as irrelevant (or as
`unjudged` says). With [judge] in the sweep file a judge grades each of them once, whichever systems found it, and then
all systems are evaluated with the same judgments. People's judgments are kept.

Everything is stored in the directory of the sweep, so that paid answers are never lost:

    judge.sqlite         every answer of the judge; the same command asks nothing twice
    judge-calls.jsonl    what each call cost; [judge] max_cost is a limit over all runs of the directory
    judged.trec          the judgments that the sweep is measured by
    judged.labels.jsonl  each new label with its reasons
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from trueval.collection import Collection
from trueval.errors import InputError, PolicyError
from trueval.files.atomic_files import write_whole
from trueval.golden.build.build import open_account
from trueval.golden.build.build_estimate import SAMPLED, estimate_stage, longest
from trueval.golden.build.golden_plan import JudgePlan
from trueval.golden.build.grade import GradingSettings, questions_of
from trueval.golden.build.judge_choice import make_judge
from trueval.golden.build.on_demand import ExtendedJudgments, UnjudgedPool, demand, extend, refuse_other_scale
from trueval.golden.build.rounds import rng_of
from trueval.golden.build.stage_files import lines_of
from trueval.golden.judge.concurrent_questions import Step
from trueval.golden.judge.judge import Judge, Question
from trueval.golden.judge.ledger import Ledger, open_existing_ledger, open_ledger
from trueval.judgments import grade_map
from trueval.models.hosted.account import Account
from trueval.models.missing_work import MissingWork
from trueval.retrieval.fusion.ranked_lists import rank_lists
from trueval.run import Run
from trueval.tradeoff.config.grid import System
from trueval.tradeoff.config.plan import SweepPlan
from trueval.tradeoff.config.sweep_inputs import SweepInputs
from trueval.tradeoff.runner.system_builder import BuiltSystem
from trueval.tradeoff.runner.system_store import SystemStore

LEDGER, CALLS, JUDGED, LABELS = "judge.sqlite", "judge-calls.jsonl", "judged.trec", "judged.labels.jsonl"


class WaitingSystem(NamedTuple):
    """A system that is built and waits for judgments.

    Attributes:
        cached: whether it was built in an earlier run.
    """

    system: System
    key: str
    cached: bool


class JudgedLabels(NamedTuple):
    """Labels added by the judge.

    Attributes:
        inputs: inputs of the sweep, with the new judgments.
        about: entry for results.
    """

    inputs: SweepInputs
    about: Mapping[str, Any]
    notes: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class OnDemandJudging:
    """Collects the results of the systems, and has a judge label the unjudged ones.

    Attributes:
        waiting: built systems.
        firsts: top documents of each system.
    """

    plan: SweepPlan
    inputs: SweepInputs
    out: Path
    asked: Judge
    account: Account
    waiting: list[WaitingSystem] = field(default_factory=list)
    firsts: list[Run] = field(default_factory=list)

    @classmethod
    def of(
        cls, plan: SweepPlan, inputs: SweepInputs, out: Path | None, within: Account | None = None
    ) -> OnDemandJudging:
        """Set up the judging, with all checks that are possible before any work.

        Args:
            plan: plan of the sweep, with a judge.
            within: spending limit of the whole sweep; None for only the judge's own.

        Raises:
            InputError: there is no directory; the judge cannot be made, or its cost is unknown.
            PolicyError: the judgments have another scale than the judge, and none is given.
        """
        if out is None:
            raise InputError(f"{plan.source}: a judge is paid for its answers, which must be kept. Add --out DIR.")
        refuse_unlike_scale(plan, inputs)
        account = open_account(out / CALLS, judge_of(plan).values["max_cost"])
        account.within = within
        return cls(plan, inputs, out, make_judge(judge_of(plan), inputs.with_original_queries, account), account)

    def add(self, made: BuiltSystem) -> None:
        """Add the top documents of a system; its run is not kept in memory."""
        self.waiting.append(WaitingSystem(made.system, made.key, made.cached))
        self.firsts.append(first_places(made.run, depth_of(self.plan)))

    def read(self, waiting: WaitingSystem, store: SystemStore) -> BuiltSystem:
        """Read a built system back.

        Raises:
            InputError: its files are damaged or gone.
        """
        kept = store.read(waiting.key)
        if kept is None:
            raise InputError(f"{store.about(waiting.key)} is gone. Run the same command again.")
        return BuiltSystem(waiting.system, waiting.key, *kept, cached=waiting.cached)

    def judge(self, step: Step | None = None) -> JudgedLabels:
        """Have the judge label the unjudged documents.

        Args:
            step: called with the progress as answers arrive.

        Raises:
            InputError: the judge cannot be asked, or the money is spent; systems and answers are kept.
        """
        if not self.firsts:
            return JudgedLabels(self.inputs, {}, ())
        depth, how = depth_of(self.plan), judge_of(self.plan)
        wanted = demand(self.inputs.judgments, self.firsts, self.inputs.with_original_queries, depth)
        self.out.mkdir(parents=True, exist_ok=True)
        with open_ledger(self.out / LEDGER) as ledger:
            found = extend(
                self.inputs.judgments,
                wanted,
                self.inputs.with_original_queries,
                self.asked,
                ledger,
                how.grading,
                self.account,
                scale=scale_of(self.plan),
                at_once=how.values["concurrency"],
                step=step,
            )
        found.judgments.write(self.out / JUDGED)
        write_whole(self.out / LABELS, lines_of(found.labels))
        return self._label(wanted, found, depth)

    def _label(self, wanted: UnjudgedPool, found: ExtendedJudgments, depth: int) -> JudgedLabels:
        lacking = int(found.graded.grades["grade"].null_count())
        about = {
            "name": self.asked.name,
            "depth": depth,
            "retrieved": wanted.retrieved,
            "unjudged": wanted.passages,
            "new": wanted.passages - lacking,
            "files": {"judgments": JUDGED, "labels": LABELS},
            **found.usage,
        }
        notes = [*wanted.notes]
        if wanted.passages:
            notes.append(
                f"{wanted.passages:,} of {wanted.retrieved:,} documents in the first {depth} places were not judged. "
                f"{self.asked.name} labelled {about['new']:,} of them: quality rests on these labels too, and a judge "
                f"errs. {JUDGED} has them."
            )
        if lacking:
            notes.append(f"{lacking} documents got no valid label and stay unjudged.")
        return JudgedLabels(self.inputs.judged_by(found.judgments), about, tuple(notes))


def judge_of(plan: SweepPlan) -> JudgePlan:
    """The judge of the plan.

    Raises:
        PolicyError: the plan has no judge.
    """
    if plan.judge is None:
        raise PolicyError(f"{plan.source} has no [judge].")
    return plan.judge


def depth_of(plan: SweepPlan) -> int:
    """Number of top documents per list that are judged."""
    chosen = plan.tables["judge"]["depth"]
    return int(max(k for system in plan.systems for k in system.contexts) if chosen is None else chosen)


def scale_of(plan: SweepPlan) -> dict[float, float] | None:
    """Judge's grade → grade of the judgments; None where the scales are equal."""
    chosen = plan.tables["judge"]["scale"]
    return None if chosen is None else dict(grade_map(chosen))


def refuse_unlike_scale(plan: SweepPlan, inputs: SweepInputs) -> None:
    """Refuse to mix two grade scales, with an error in terms of the sweep file.

    Raises:
        PolicyError: the judgments have another scale than the judge, and none is given.
    """
    try:
        refuse_other_scale(inputs.judgments, scale_of(plan))
    except PolicyError as error:
        told = str(error).replace("--scale 1:0,2:0,3:1,4:2,5:3", 'scale = "1:0,2:0,3:1,4:2,5:3" in [judge]')
        raise PolicyError(told) from None


def first_places(run: Run, depth: int) -> Run:
    """The documents of a run that are among the top k in at least one order of tied documents.

    Args:
        depth: number of documents per list.

    >>> first_places(Run.from_dict({"q": {"a": 2.0, "b": 1.0, "c": 1.0, "d": 0.5}}), 2).documents["doc_id"].to_list()
    ['a', 'b', 'c']
    """
    lists = rank_lists(run)
    return lists.only(lists.first_rank <= depth, run.name, run.source)


def estimate_judging(
    plan: SweepPlan, inputs: SweepInputs, store: SystemStore, systems: Mapping[str, System], runs: Mapping[str, Run]
) -> MissingWork:
    """Estimate the cost of judging; nothing is sent or written.

    For systems with stored runs, the unjudged documents are known. Any other system may find as many new documents as
    its list is long, so the sum is an upper bound, except for documents tied with the last place: they are judged too,
    and the maximum cost counts everything that such a system can find. A query that gains a document has other batches,
    so its other documents may be asked about again.

    Args:
        plan: plan of the sweep, with a judge.
        systems: systems of the sweep by run key.
        runs: runs that are only in the cache, by run key.

    Raises:
        InputError: the judge cannot be made, or a file of a system is damaged.
    """
    depth, asked = depth_of(plan), inputs.with_original_queries
    folder = store.folder
    account = (
        Account(judge_of(plan).values["max_cost"])
        if folder is None
        else open_account(folder / CALLS, judge_of(plan).values["max_cost"])
    )
    judge = make_judge(judge_of(plan), asked, account)
    found = {key: kept[1] for key in systems if (kept := store.read(key)) is not None} | dict(runs)
    firsts = [first_places(run, depth) for run in found.values()]
    wanted = demand(inputs.judgments, firsts, asked, depth) if firsts else UnjudgedPool({}, 0, ())
    unknown = [system for key, system in systems.items() if key not in found]
    with open_existing_ledger(folder / LEDGER) if folder is not None else nullcontext() as book:
        if not unknown:
            return estimate_stage(judge, book, "grade", _questions(wanted.pools, plan, asked))
        return _with_unknown(unknown, wanted.pools, plan, asked, judge, book)


def _with_unknown(
    unknown: Sequence[System],
    known: Mapping[str, Sequence[str]],
    plan: SweepPlan,
    asked: Collection,
    judge: Judge,
    book: Ledger | None,
) -> MissingWork:
    """Upper bound where the runs of some systems do not exist yet, in addition to known documents."""
    rng, ids, how = rng_of(plan.measuring.seed, "estimate"), list(asked.documents), judge_of(plan).grading
    pools = {}
    for query in list(asked.queries)[:SAMPLED]:
        there = known.get(query, ())
        new = min(depth_of(plan) * len(unknown), len(ids) - len(there))
        drawn = [ids[place] for place in rng.choice(len(ids), new + len(there), replace=False).tolist()]
        pools[query] = [*there, *[each for each in drawn if each not in there][:new]]
    calls = _calls(depth_of(plan) * len(unknown), known, asked, how)
    most = min(sum(system.pool for system in unknown) + max(map(len, known.values()), default=0), len(ids))
    every = max(calls, _calls(most, known, asked, how))
    largest = Question(
        "grade", longest(asked.queries.values(), 1)[0], longest(asked.documents.values(), how.size(most))
    )
    return estimate_stage(judge, book, "grade", _questions(pools, plan, asked), calls, [(every, largest)])


def _calls(new: int, known: Mapping[str, Sequence[str]], asked: Collection, how: GradingSettings) -> int:
    """Calls for a number of new documents per query, in addition to the known ones."""
    pools = (min(len(known.get(query, ())) + new, len(asked.documents)) for query in asked.queries)
    return sum(how.rounds * -(-pool // how.size(pool)) for pool in pools)


def _questions(pools: Mapping[str, Sequence[str]], plan: SweepPlan, asked: Collection) -> list[Question]:
    return [each.question for each in questions_of(pools, asked.queries, asked.documents, judge_of(plan).grading)]
