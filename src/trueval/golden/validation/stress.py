"""Stress: whether conclusions about systems survive when a judge's labels replace people's.

A judge can agree poorly with people on passages and still rank systems as they do: errors average out over passages. A
bias towards some systems does not. So, next to κ and α, the result contains the rank correlation of all systems and of
the best ones, the rates of false and missed differences, and the lift of a judge's own family, in ranks and in the
measure.

All labels are compared on the pairs of query and passage that everyone labelled, so that differences in coverage do not
count as disagreement.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
import polars as pl

from trueval.comparison.compare import compare_scores
from trueval.comparison.comparison import Comparison
from trueval.comparison.resampling.alignment import align
from trueval.comparison.resampling.tie_order_values import TieOrders
from trueval.errors import InputError, PolicyError, TruevalWarning
from trueval.evaluation.defaults import fill_defaults
from trueval.evaluation.evaluate import Measures, evaluate
from trueval.evaluation.scores import Scores
from trueval.files.display_names import name_files, path_of
from trueval.golden.validation.agree import PEOPLE, describe_omitted_labels, read_judges
from trueval.golden.validation.agreement_intervals import Resampler
from trueval.golden.validation.label_files import FileLabels, LabelChoices, read_labels, scale_of
from trueval.golden.validation.label_verdicts import NONE, ahead, in_short, rates, spread
from trueval.golden.validation.model_families import Families
from trueval.golden.validation.ratings import KEYS, Ratings
from trueval.golden.validation.stress_result import (
    FamilyLift,
    JudgeLabelAgreement,
    JudgeRanking,
    MeasureUnderJudges,
    SharedLabels,
    Stress,
    SystemUnderJudges,
)
from trueval.golden.validation.system_rankings import SystemMeans, lift, lift_in_measure, ranks, tau_b, taus, top_of
from trueval.judgments import Judgments, on_rubric
from trueval.measures import Measure
from trueval.policy.policy import Policy
from trueval.run import Run

TOP: Final = 10  # number of top systems that are also analyzed separately

Tell = Callable[[str], object]


@dataclass(frozen=True, eq=False)
class _Under:
    """Values of systems under one set of labels."""

    scores: tuple[Scores, ...]
    comparison: Comparison


def stress(
    judges: Sequence[str | Path],
    people: str | Path,
    runs: object,
    measures: Measures | None = None,
    *,
    families: Path | None = None,
    top: int = TOP,
    choices: LabelChoices | None = None,
    resamples: int = 2000,
    policy: Policy | None = None,
    tell: Tell | None = None,
    **comparing: Any,
) -> Stress:
    """Compare conclusions about systems under judges' and people's labels.

    Args:
        judges: files of judgments, one per judge.
        people: file of people's labels.
        runs: two or more runs, as for `compare`.
        families: file that assigns runs and judges to model families.
        top: number of top systems by people that are also analyzed separately.
        choices: treatment of invalid labels, which are refused by default.
        resamples: number of resamples for the intervals of κ, α, τ and lifts.
        tell: called with the name of each set of labels.
        comparing: attributes of comparison's Choices other than resamples (level, seed, test, family ...), and of
            Policy as in evaluate; grades mean what they mean in a golden set where one of the judges is one.

    Raises:
        InputError: a file is bad, or holds a label that is refused; with the line. Nothing is labelled by everybody.
        PolicyError: a choice is none.
    """
    if top < 2:
        raise PolicyError(f"top must be an integer >= 2. Got {top}.")
    how = (choices or LabelChoices()).validate()
    of_golden = next((path for path in map(path_of, map(str, judges)) if on_rubric(path)), None)
    of_policy = {name: value for name, value in comparing.items() if name in Policy.__dataclass_fields__}
    comparing = {name: value for name, value in comparing.items() if name not in of_policy or name == "seed"}
    parsed, chosen = fill_defaults(of_golden, measures, policy, of_policy)
    draw = Resampler(resamples, comparing.get("seed", 0), comparing.get("level", 0.95)).validate()
    said = read_labels(people, PEOPLE, how, how.scale)
    scale = how.scale or scale_of(said.frame)
    named = read_judges(judges, how, scale)
    systems = _runs(runs)
    related = (
        None if families is None else Families.read(families, [run.name for run in systems], [j.name for j in named])
    )
    shared = _find_shared_pairs([said, *named])
    ratings = Ratings.of({each.name: each.frame.join(shared, on=KEYS, how="semi") for each in (said, *named)}, scale)
    found = []
    for each in (said, *named):
        if tell is not None:
            tell(each.name)
        found.append(_under(each, shared, systems, parsed, chosen, comparing))
    labels = tuple(_alike(each.name, ratings, place, draw) for place, each in enumerate(named, start=1))
    return Stress(
        scale,
        top,
        *draw,
        choices=found[0].comparison.choices,
        people=said.describe_source(),
        judges=tuple(each.describe_source() for each in named),
        runs=tuple(run.name for run in systems),
        shared=SharedLabels(shared.height, shared["query_id"].n_unique()),
        families=related,
        labels=labels,
        measures=tuple(
            _measure(place, each, found, labels, top, related, draw)
            for place, each in enumerate(found[0].scores[0].measures)
        ),
        notes=tuple(_notes([said, *named], shared, found[0])),
    )


def _runs(runs: Any) -> list[Run]:
    """Runs from paths or objects."""
    if isinstance(runs, list | tuple) and all(isinstance(each, str | Path) for each in runs):
        return [Run.read(file.path, name=file.name) for file in name_files([str(each) for each in runs])]
    return list(Run.of_several(runs))


def _find_shared_pairs(labels: Sequence[FileLabels]) -> pl.DataFrame:
    shared = labels[0].frame.select(KEYS)
    for each in labels[1:]:
        shared = shared.join(each.frame, on=KEYS, how="semi", maintain_order="left")
    if not shared.height:
        raise InputError(
            "No pair of query and passage is labelled by people and by every judge. Do all files use the same ids?"
        )
    return shared


def _under(
    labels: FileLabels,
    shared: pl.DataFrame,
    runs: Sequence[Run],
    measures: tuple[Measure, ...],
    policy: Policy,
    comparing: dict[str, Any],
) -> _Under:
    judgments = Judgments.from_frame(shared.join(labels.frame, on=KEYS, how="left", maintain_order="left"))
    with warnings.catch_warnings():
        # Every set of labels gives the same remarks; only those under people's labels are kept.
        warnings.simplefilter("ignore", TruevalWarning)
        scores = tuple(evaluate(run, judgments, measures, policy=policy) for run in runs)
        orders = [TieOrders(run, judgments, policy, stream) for stream, run in enumerate(runs)]
        return _Under(scores, compare_scores(scores, orders=orders, **comparing))


def _alike(name: str, ratings: Ratings, judge: int, draw: Resampler) -> JudgeLabelAgreement:
    both = ratings.both(0, judge)
    return JudgeLabelAgreement(name, int(both.sum()), ratings.coefficients(0, judge, both.astype(np.float64), draw))


def _means(place: int, found: Sequence[_Under]) -> SystemMeans:
    """Per-query values; each set of labels may exclude other queries, such as those without a relevant passage."""
    sides = [align(each.scores) for each in found]
    number = {query: at for at, query in enumerate(dict.fromkeys(q for side in sides for q in side.query_ids))}
    values = np.zeros((len(number), len(found), len(found[0].scores)))
    counted = np.zeros(values.shape[:2], dtype=bool)
    for at, side in enumerate(sides):
        kept = side.kept[:, place]
        rows = [number[query] for query, wanted in zip(side.query_ids, kept.tolist(), strict=True) if wanted]
        sign = 1 if side.measures[place].better == "higher" else -1
        values[rows, at] = sign * side.expected[:, kept, place].T
        counted[rows, at] = True
    return SystemMeans(values, counted)


def _measure(
    place: int,
    measure: Measure,
    found: Sequence[_Under],
    labels: Sequence[JudgeLabelAgreement],
    top: int,
    related: Families | None,
    draw: Resampler,
) -> MeasureUnderJudges:
    """The results for one measure."""
    judges = [each.judge for each in labels]
    means, name = _means(place, found), str(measure)
    runs, everyone = [each.name for each in found[0].scores], list(range(len(found[0].scores)))
    if np.isnan(means.means).any():
        raise InputError(
            f"{name}: no query has a value under one of the label sets. Choose another measure, or correct the labels."
        )
    best = top_of(means.means[0], top)
    said = [ahead(each.comparison, name) for each in found]
    places = range(1, len(judges) + 1)
    tau, tau_top = taus(means, everyone, places, draw), taus(means, best, places, draw)
    pairs = spread(said[0], said[1:])
    rankings = tuple(
        JudgeRanking(
            judge,
            tau[at],
            tau_top[at],
            separated=sum(each != NONE for each in said[at + 1].values()),
            all=rates(said[0], said[at + 1], runs),
            best=rates(said[0], said[at + 1], [runs[each] for each in best]),
        )
        for at, judge in enumerate(judges)
    )
    unrelated = None if related is None else spread(said[0], said[1:], [related.kin(judge) for judge in judges])
    return MeasureUnderJudges(
        measure=name,
        better=measure.better,
        queries=tuple(means.counted.sum(axis=0).tolist()),
        top=tuple(runs[each] for each in best),
        separated=sum(each != NONE for each in said[0].values()),
        judges=rankings,
        systems=_systems(means, runs, measure),
        pairs=pairs,
        spread=in_short(pairs),
        spread_unrelated=None if unrelated is None else in_short(unrelated),
        families=() if related is None else _kinship(means, runs, judges, related, said, draw),
        kappa_and_tau=_correlate_coefficients(labels, rankings),
    )


def _systems(means: SystemMeans, runs: Sequence[str], measure: Measure) -> tuple[SystemUnderJudges, ...]:
    """Mean and rank of each system by people, and its range over judges; by people's rank."""
    place, sign = ranks(means.means), 1 if measure.better == "higher" else -1
    worth = sign * means.means
    return tuple(
        SystemUnderJudges(
            run=runs[each],
            mean=float(worth[0, each]),
            rank=float(place[0, each]),
            means=tuple(worth[1:, each].tolist()),
            ranks=tuple(place[1:, each].tolist()),
            least_mean=float(worth[1:, each].min()),
            greatest_mean=float(worth[1:, each].max()),
            best_rank=float(place[1:, each].min()),
            worst_rank=float(place[1:, each].max()),
        )
        for each in np.argsort(place[0], kind="stable").tolist()
    )


def _kinship(
    means: SystemMeans,
    runs: Sequence[str],
    judges: Sequence[str],
    related: Families,
    said: Sequence[dict[tuple[str, str], str]],
    draw: Resampler,
) -> tuple[FamilyLift, ...]:
    """For each judge with a family: how it ranks that family's runs, and results without them."""
    found = []
    for at, judge in enumerate(judges):
        kin = [runs.index(each) for each in related.kin(judge)]
        if not kin:
            continue
        family = related.judges[judge]
        others = [place + 1 for place, other in enumerate(judges) if related.judges.get(other) != family]
        rest = [place for place in range(len(runs)) if place not in kin]
        found.append(
            FamilyLift(
                judge,
                family,
                runs=tuple(runs[each] for each in kin),
                lift=lift(means, at + 1, others, kin, draw),
                lift_in_measure=lift_in_measure(means, at + 1, others, kin, draw),
                tau=taus(means, range(len(runs)), [at + 1], draw)[0],
                tau_without=taus(means, rest, [at + 1], draw)[0],
                without=rates(said[0], said[at + 1], [runs[place] for place in rest]),
            )
        )
    return tuple(found)


def _correlate_coefficients(
    labels: Sequence[JudgeLabelAgreement], judges: Sequence[JudgeRanking]
) -> dict[str, float | None]:
    """Over judges, τ-b between each agreement coefficient and the τ of systems: does label agreement predict it?"""
    high = [each.tau.value for each in judges]
    found: dict[str, float | None] = {}
    for name in labels[0].coefficients:
        each = [entry.coefficients[name].value for entry in labels]
        known = [pair for pair in zip(each, high, strict=True) if None not in pair]
        tau = tau_b(*np.array(known, dtype=np.float64).T) if len(known) > 2 else np.array(np.nan)
        found[name] = None if np.isnan(tau) else float(tau)
    return found


def _notes(labels: Sequence[FileLabels], shared: pl.DataFrame, people: _Under) -> list[str]:
    more = {each.name: each.frame.height - shared.height for each in labels if each.frame.height > shared.height}
    left = ", ".join(f"{count:,} of {name}" for name, count in more.items())
    found = [f"Labels that not everybody gave are left out: {left}."] if more else []
    return [*describe_omitted_labels(labels), *found, *people.comparison.notes]
