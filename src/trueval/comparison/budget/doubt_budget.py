"""The budget of doubt: what means and differences vary by, and what shortens their intervals for least.

Source: docs/formulas.md, parts of a difference.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from trueval.comparison.budget.budget_choices import BudgetChoices
from trueval.comparison.budget.budget_result import Budget
from trueval.comparison.budget.interval_plan import UnitPrices
from trueval.comparison.budget.measure_doubts import MeasureDoubts
from trueval.comparison.labels.judge_scales import check_scales
from trueval.errors import InputError, PolicyError
from trueval.evaluation.defaults import fill_defaults
from trueval.evaluation.evaluate import Measures, evaluate
from trueval.judgments import Judgments
from trueval.run import Run

if TYPE_CHECKING:
    from typing import Unpack

    from trueval.comparison.labels.audit_sample import AuditSample
    from trueval.comparison.labels.correction import CorrectedResults
    from trueval.evaluation.scores import Scores
    from trueval.judgments import JudgmentsLike
    from trueval.policy.policy import Policy
    from trueval.policy.policy_choices import PolicyChoices
    from trueval.run import RunsLike

__all__ = ["Budget", "BudgetChoices", "UnitPrices", "budget", "budget_of_scores"]

# Fewer repeats or judges than this tell little of how repeats or judges vary.
FEW_LEVELS = 4


def budget(
    runs: RunsLike,
    judgments: JudgmentsLike | Sequence[Judgments],
    measures: Measures | None = None,
    *,
    repeats: Mapping[str, RunsLike] | None = None,
    audit: AuditSample | str | Path | None = None,
    baseline: str | None = None,
    level: float = 0.95,
    half_width: float | None = None,
    shared_repeats: bool = False,
    fixed_judges: bool = False,
    prices: UnitPrices | None = None,
    policy: Policy | None = None,
    **choices: Unpack[PolicyChoices],
) -> Budget:
    """Split the variance of means and differences into questions, repeats, labels and ties, and plan what to add.

    Args:
        runs: two or more: a list, or a dict by name, of Runs or what `Run.of` takes.
        judgments: as in evaluate; or a list of `Judgments`, one of each judge or round.
        measures: as in evaluate.
        repeats: name of a run → further runs of the same system: other batches, index builds, calls of an engine.
        audit: people's labels of a sample of the one judge's: an AuditSample, or the folder of an audit.
        baseline: name of the run to compare the others with; None for all pairs.
        level: level of intervals.
        half_width: half width to reach; None for half of the present one.
        shared_repeats: whether repeats of one number share their condition in all systems.
        fixed_judges: whether the verdict is about these judges only.
        prices: prices of questions, labels and answers; None for single purchases without prices.
        policy: as in evaluate.
        choices: attributes of Policy, as in evaluate.

    Raises:
        InputError: a run is bad, there is only one, repeats are of an unknown run, or judges are of different scales.
        MeasureError: a measure is no mean of queries.
        PolicyError: a choice is out of range, or an audit is given with several judges.

    >>> judges = [Judgments.from_dict({"q1": {"a": 1}, "q2": {"b": 1}, "q3": {"a": grade}}) for grade in (0, 1)]
    >>> one, other = ({query: {"a": score, "b": 1.0} for query in ("q1", "q2", "q3")} for score in (2.0, 0.5))
    >>> pair = budget({"one": one, "other": other}, judges, "P@1").pair("P@1", "one", "other")
    >>> round(pair.value, 6), [source.source for source in pair.sources]
    (0.166667, ['questions', 'labels', 'ties'])
    """
    several = Run.of_several(runs)
    named = {run.name: run for run in several}
    _check_names(several, named, repeats or {})
    judges = _judges(judgments)
    asked = BudgetChoices(baseline, level, half_width, shared_repeats, fixed_judges, prices)
    asked.check()
    parsed, chosen = fill_defaults(judges[0], measures, policy, choices)
    systems = {
        name: [run, *(Run.of_several(repeats[name]) if repeats and name in repeats else [])]
        for name, run in named.items()
    }
    scores = {
        name: [[evaluate(run, judge, parsed, policy=chosen) for judge in judges] for run in each]
        for name, each in systems.items()
    }
    corrected = None
    if audit is not None:
        from trueval.comparison.labels.correct import correct

        if len(judges) > 1:
            raise PolicyError("An audit is of one judge. Give the judgments that it was drawn from alone.")
        corrected = correct(named, judges[0], audit, parsed, level=level, baseline=baseline, policy=chosen)
    return budget_of_scores(scores, judges, asked, corrected=corrected)


def budget_of_scores(
    scores: Mapping[str, Sequence[Sequence[Scores]]],
    judges: Sequence[Judgments],
    choices: BudgetChoices,
    *,
    corrected: CorrectedResults | None = None,
    judge_names: Sequence[str] | None = None,
) -> Budget:
    """Compute the budget from evaluated runs.

    Args:
        scores: system → [repeat][judge] scores on the same measures.
        judges: [judge] their judgments.
        choices: choices of the budget.
        corrected: values corrected by an audit of the one judge.
        judge_names: [judge] names; None for their sources.

    Raises:
        InputError: there are fewer than two systems, the baseline is unknown, judges are of different scales, or
            repeats that should share conditions differ in number.
        MeasureError: a measure is no mean of queries.
        PolicyError: a choice is out of range.
    """
    choices.check()
    names = tuple(scores)
    if len(names) < 2:
        raise InputError(f"A budget needs at least 2 runs. Got {len(names)}.")
    if choices.baseline is not None and choices.baseline not in names:
        raise InputError(f"The baseline must be one of the runs {', '.join(names)}. Got {choices.baseline!r}.")
    titles = tuple(judge_names or (judge.source for judge in judges))
    notes = [*check_scales(titles, judges)]
    repeats = tuple(len(scores[name]) for name in names)
    if choices.shared_repeats and len(set(repeats)) > 1:
        raise InputError(
            "Repeats that share their conditions must be as many for each run. Got "
            f"{', '.join(f'{count} of {name}' for name, count in zip(names, repeats, strict=True))}. Give the same "
            "number of each, or leave shared repeats out."
        )
    first = scores[names[0]][0][0]
    measured = [
        MeasureDoubts(at, measure, scores, judges, choices, corrected) for at, measure in enumerate(first.measures)
    ]
    notes += [note for each in scores.values() for row in each for found in row for note in found.notes]
    found = tuple(each.budget() for each in measured)
    notes += [line for each in measured for line in each.remarks()]
    notes += [] if choices.answer_labels is not None else _remarks(names, repeats, len(judges), corrected is not None)
    recorded = {
        **{name: value for name, value in choices._asdict().items() if name != "answer_labels" or value is not None},
        "prices": None if choices.prices is None else choices.prices._asdict(),
        "labels_per_question": measured[0].labels,
        "audit": None if corrected is None else corrected.design,
        "policy": first.policy.to_dict(),
    }
    return Budget(names, repeats, titles, choices.baseline, recorded, found, tuple(dict.fromkeys(notes)))


def _judges(given: JudgmentsLike | Sequence[Judgments]) -> list[Judgments]:
    if isinstance(given, list | tuple) and given and all(isinstance(each, Judgments) for each in given):
        return list(given)
    return [Judgments.of(given)]  # type: ignore[arg-type]


def _check_names(runs: Sequence[Run], named: Mapping[str, Run], repeats: Mapping[str, RunsLike]) -> None:
    """Refuse equal names, and repeats of an unknown run."""
    if len(named) < len(runs):
        names = [run.name for run in runs]
        name = next(name for name in names if names.count(name) > 1)
        raise InputError(f"The runs of a budget must have different names. Got {name!r} twice; rename one.")
    for name in repeats:
        if name not in named:
            raise InputError(f"Repeats must be of one of the runs {', '.join(named)}. Got {name!r}.")


def _remarks(names: Sequence[str], repeats: Sequence[int], judges: int, audited: bool) -> Iterator[str]:
    """Notes on what the data cannot tell."""
    alone = [name for name, count in zip(names, repeats, strict=True) if count == 1]
    if len(alone) == len(names):
        yield "Repeats: every system ran once, so what a second run of it would change is not in these intervals."
    elif alone:
        yield f"Repeats: {', '.join(alone)} ran once; what a second run of it would change is not in these intervals."
    if judges == 1 and not audited:
        yield "Labels: there is one judge and no audit, so what other labels would change is not in these intervals."
    few = [f"{max(repeats)} repeats"] * (1 < max(repeats) < FEW_LEVELS)
    few += [f"{judges} judges"] * (1 < judges < FEW_LEVELS)
    if few:
        yield f"With {' and '.join(few)}, what they vary by has a wide interval: four or more narrow it."
