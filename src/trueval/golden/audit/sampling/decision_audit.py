"""An audit for a decision: its plan, its batches, and what they decide."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Final, TypedDict

import numpy as np
import polars as pl

from trueval.comparison.labels.audit_batches import KEYS, AuditBatches, add_unjudged
from trueval.comparison.labels.audit_sample import AuditSample
from trueval.comparison.labels.both_labels import LabelSets
from trueval.comparison.labels.gain_weights import scale_of
from trueval.comparison.labels.label_decision import (
    OPEN,
    Contrast,
    ContrastState,
    LabelDecision,
    read_contrasts,
)
from trueval.comparison.labels.label_source import refuse_other
from trueval.comparison.labels.poisson_design import BatchLabels
from trueval.errors import InputError, PolicyError
from trueval.evaluation.defaults import Request, fill_defaults
from trueval.golden.audit.sampling.audit_source import Source, check_scale, grade_scale
from trueval.golden.audit.sampling.batch_drawing import (
    BatchPlan,
    draw_batch,
    expected_size,
    plan_batches,
    refuse_other_plan,
)
from trueval.golden.audit.sampling.judge_grades import labelers
from trueval.golden.audit.sampling.next_labels_result import (
    DECIDED,
    SPENT,
    WAITING,
    LabelBatch,
    NextLabels,
    PairDecision,
)
from trueval.golden.audit.store.audit_manifest import AuditManifest, read_sample
from trueval.golden.audit.store.text_table import TextTable
from trueval.golden.build.stage_files import file_hash
from trueval.judgments import Judgments
from trueval.measures import Measure
from trueval.numerics import or_null
from trueval.run import Run

TARGETS: Final = {"these": "these queries", "new": "new queries"}
MEASURE, RUBRIC_MEASURE = "DCG@10", "P4+@10"
BATCHES: Final = 10  # default number of batches
LEAST_BUDGET: Final = 50  # labels


class DecisionKeywords(TypedDict, total=False):
    """The attributes of `DecisionChoices` as keyword arguments."""

    decide: str | None
    measure: str | None
    budget: int | None
    batch: int | None
    baseline: str | None
    max_drop: float | None
    target: str | None
    level: float | None
    seed: int | None
    scale: tuple[int, int] | None


@dataclass(frozen=True)
class DecisionChoices:
    """What is decided; None takes the default, or keeps what was fixed before the first label.

    Attributes:
        decide: "a>b" with the names of two runs, "ranking", or "gate". Default: the first run > the second.
        measure: a sum over passages. Default: DCG@10, of a golden set P4+@10.
        budget: expected number of labels, at least 50.
        batch: expected number of passages of a batch. Default: a tenth of the budget.
        baseline: name of the baseline of a gate.
        max_drop: how much worse than the baseline a run may be. Default: 0.
        target: "new" queries or "these". Default: new.
        level: level of the decision. Default: 0.95.
        seed: seed of all random numbers. Default: 0.
        scale: lowest and highest grade. Default: 1 to 5 for a golden set, else those of the judgments.
    """

    decide: str | None = None
    measure: str | None = None
    budget: int | None = None
    batch: int | None = None
    baseline: str | None = None
    max_drop: float | None = None
    target: str | None = None
    level: float | None = None
    seed: int | None = None
    scale: tuple[int, int] | None = None

    def check(self) -> tuple[str, float, int]:
        """Target, level and budget of a new audit.

        Raises:
            PolicyError: one is out of range, or there is no budget.
        """
        target, level = self.target or "new", self.level or 0.95
        if target not in TARGETS:
            raise PolicyError(f"target must be one of {', '.join(TARGETS)}. Got {target!r}.")
        if not 0.5 < level < 1:
            raise PolicyError(f"level must be between 0.5 and 1, such as 0.95. Got {level!r}.")
        if self.budget is None or self.budget < LEAST_BUDGET:
            raise PolicyError(
                f"A budget of {LEAST_BUDGET} labels or more must be fixed before the first label. Got {self.budget!r}."
            )
        if self.batch is not None and self.batch < 1:
            raise PolicyError(f"batch must be 1 passage or more. Got {self.batch!r}.")
        return target, level, self.budget


@dataclass(frozen=True, eq=False)
class DecisionAudit:
    """An audit whose passages are drawn where they decide.

    Attributes:
        folder: folder of the audit.
        sample: its manifest.
        decision: what is decided, by which runs and measure.
    """

    folder: Path
    sample: AuditManifest
    decision: LabelDecision

    @classmethod
    def plan(
        cls, folder: Path, source: Source, judge: Judgments, runs: Sequence[Run], choices: DecisionChoices
    ) -> DecisionAudit:
        """Plan the batches of a new audit.

        Args:
            folder: folder of the audit.
            source: the judgments, and where their texts are.
            judge: the same judgments.
            runs: two or more, with different names.
            choices: what is decided.

        Raises:
            InputError: there are fewer than two runs, or no passage weighs in any.
            PolicyError: a choice is unknown or missing.
        """
        target, level, budget = choices.check()
        scale = choices.scale or grade_scale(source)
        check_scale(scale, source)
        request = _request(choices.measure, judge)
        measure = request.measures[0]
        _check_runs(runs)
        every = add_unjudged(judge, pl.concat([_listed_passages(run, measure) for run in runs]))
        nobody = _without_labels(every, scale)
        decision = LabelDecision.of(runs, LabelSets(every, nobody, request.policy), measure, TARGETS[target], level)
        means, members = decision.judge_means(), decision.members()
        if not members.any():
            raise InputError(f"No passage weighs in {measure} of any run. Check that runs and judgments share queries.")
        decide = choices.decide or ">".join(list(means)[:2])
        contrasts = read_contrasts(decide, means, baseline=choices.baseline, max_drop=choices.max_drop)
        if all(map(decision.is_equal, contrasts)):
            raise InputError(
                f"{', '.join(means)}: no labels make a difference between these runs in {measure}, as they differ only "
                "where it does not look. Name other runs, or another measure."
            )
        size = min(budget, int(members.sum()))
        number = BATCHES if choices.batch is None else max(1, round(size / choices.batch))
        expected = [size / number] * number
        fixed = {
            "decide": decide,
            "baseline": choices.baseline,
            "max_drop": choices.max_drop,
            "target": target,
            "level": level,
            "budget": budget,
            "batch": choices.batch,
            "pairs": [contrast._asdict() for contrast in contrasts],
        }
        about = [{"name": run.name, "sha256": file_hash(Path(run.source))} for run in runs]
        precision = decision.precision(contrasts, expected).tolist()
        plan = BatchPlan(fixed, str(measure), about, scale, expected, precision)
        return cls(folder, plan_batches(source, plan, int(members.sum()), choices.seed or 0), decision)

    @classmethod
    def open(cls, folder: Path, judge: Judgments, runs: Sequence[Run], choices: DecisionChoices) -> DecisionAudit:
        """Open an audit whose batches were planned.

        Args:
            folder: folder of the audit.
            judge: the judgments that it was drawn from.
            runs: the runs that it was drawn for.
            choices: choices that must be those that were fixed, where they are there.

        Raises:
            InputError: it is of other judgments, or of another design.
            PolicyError: a choice differs from what was fixed.
        """
        sample = read_sample(folder)
        asked = asdict(choices) | {"runs": sorted(str(file_hash(Path(run.source))) for run in runs)}
        if choices.measure is not None:
            asked["measure"] = str(_request(choices.measure, judge).measures[0])
        refuse_other_plan(sample, folder, asked)
        audited = AuditSample.read(folder)
        refuse_other(judge, audited, folder)
        fixed, request = sample.about["decision"], _request(sample.about["measure"], judge)
        named = {each["sha256"]: each["name"] for each in sample.about["runs"]}
        runs = [replace(run, name=named[file_hash(Path(run.source))]) for run in runs]
        every = judge if audited.batches is None else audited.batches.extend(judge)
        labels = LabelSets(every, audited, request.policy)
        target = TARGETS[fixed["target"]]
        return cls(folder, sample, LabelDecision.of(runs, labels, request.measures[0], target, fixed["level"]))

    @property
    def contrasts(self) -> tuple[Contrast, ...]:
        """The pairs that are decided together."""
        return tuple(Contrast(**each) for each in self.sample.about["decision"]["pairs"])

    def draw(self, texts: TextTable, known: BatchLabels | None, contrasts: Sequence[Contrast]) -> DecisionAudit:
        """Draw the next batch.

        Args:
            texts: texts of the collection.
            known: labels so far; None before the first batch.
            contrasts: pairs that are open.

        Raises:
            InputError: a text is missing, or another process serves the audit.
        """
        frame = self.decision.labels.judge.frame
        members = self.decision.members() if known is None else known.reached
        drawn = pl.DataFrame(
            [(item.query, item.documents[0], True) for item in self.sample.items],
            schema={KEYS[0]: pl.String, KEYS[1]: pl.String, "drawn": pl.Boolean},
            orient="row",
        )
        taken = frame.join(drawn, on=list(KEYS), how="left", maintain_order="left")["drawn"].is_not_null().to_numpy()
        chances = self.decision.chances(contrasts, known, members & ~taken, expected_size(self.sample))
        more = draw_batch(self.folder, self.sample, frame, chances, texts, members)
        return replace(self, sample=more)

    def result(self) -> tuple[NextLabels, BatchLabels]:
        """What the labels in the folder decide, and the labels with their chances.

        Raises:
            InputError: a file is damaged.
        """
        audited, decision = AuditSample.read(self.folder), self.decision
        if audited.batches is None:  # refused where it was opened
            raise InputError(f"{self.folder}: there are no batches. Name another folder with --out.")
        known = BatchLabels.of(replace(decision.labels, audited=audited), audited.batches)
        states = decision.follow(self.contrasts, known)
        left = audited.batches.open_ones(audited.labels, audited.skipped)
        fixed = self.sample.about["decision"]
        undecided = any(state.verdict == OPEN for state in states)
        waits = undecided and known.number < len(audited.batches.precision)
        found = NextLabels(
            state=WAITING if len(left) or waits else SPENT if undecided else DECIDED,
            measure=str(decision.measure),
            better=decision.measure.better,
            decide=fixed["decide"],
            target=TARGETS[fixed["target"]],
            level=fixed["level"],
            budget=fixed["budget"],
            labels=len(known.rows),
            open=len(left),
            queries=len(decision.labels.query_ids),
            reachable=len(audited.batches.members),
            unjudged=int((known.classes[known.reached] == len(scale_of(decision.labels))).sum()),
            folder=self.folder.name,
            runs=tuple(decision.weights),
            pairs=tuple(_pair(state, known) for state in states),
            batches=_batches(self.sample, left),
            policy=decision.labels.policy.to_dict(),
            labelers=labelers(self.folder),
        )
        return found, known


def _request(measure: str | None, judge: Judgments) -> Request:
    """The measure and the policy of a decision.

    Raises:
        PolicyError: more than one measure is named.
    """
    found = fill_defaults(judge, measure, plain=MEASURE, rubric=RUBRIC_MEASURE)
    if len(found.measures) != 1:
        raise PolicyError(f"A decision is by one measure. Got {', '.join(map(str, found.measures))}.")
    return found


def _check_runs(runs: Sequence[Run]) -> None:
    names = [run.name for run in runs]
    if len(names) < 2 or len(set(names)) < len(names):
        raise InputError(f"A decision needs two runs or more, with different names. Got {', '.join(names) or 'none'}.")


def _listed_passages(run: Run, measure: Measure) -> pl.DataFrame:
    """query_id, doc_id of what a run lists within the cutoff, under any order of ties."""
    inner = measure.innermost
    cutoff = measure.cutoff if inner.cutoff is None else inner.cutoff
    frame = run.frame.select(*KEYS, "score")
    if cutoff is not None:
        rank = pl.col("score").rank("min", descending=True).over("query_id")
        frame = frame.filter(rank <= cutoff)
    return frame.select(KEYS)


def _without_labels(judge: Judgments, scale: tuple[int, int]) -> AuditSample:
    """A sample before its first batch, of which every passage can be drawn."""
    members = judge.frame.select(KEYS)
    none = members.head(0)
    chances = none.with_columns(chance=pl.lit(0.0), batch=pl.lit(0))
    return AuditSample(
        "poisson",
        none.with_columns(stratum=pl.lit("")),
        none.with_columns(grade=pl.lit(0.0)),
        {"passages": len(members)},
        (float(scale[0]), float(scale[1])),
        batches=AuditBatches(chances, (1.0,), members, 0),
    )


def _pair(state: ContrastState, known: BatchLabels) -> PairDecision:
    return PairDecision(
        state.first,
        state.second,
        state.limit,
        state.judge,
        state.corrected,
        or_null(state.level),
        or_null(state.of_labels),
        or_null(state.of_queries),
        state.batch,
        int((known.batch < state.batch).sum()),
        state.verdict,
    )


def _batches(sample: AuditManifest, left: pl.DataFrame) -> tuple[LabelBatch, ...]:
    counts = np.bincount(left["batch"].to_numpy(), minlength=len(sample.about["batches"]) + 1)
    return tuple(
        LabelBatch(each["batch"], each["expected"], each["passages"], int(counts[each["batch"]]), each["precision"])
        for each in sample.about["batches"]
    )
