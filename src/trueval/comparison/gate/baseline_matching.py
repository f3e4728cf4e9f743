"""Baseline matching: which runs can be compared with a baseline, and on which queries."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from os import PathLike
from typing import Any, NamedTuple

import numpy as np

from trueval.comparison.checks import FAILED, Check
from trueval.comparison.gate.sample_size_checks import CURES
from trueval.comparison.limits import EVERY, MinQueries
from trueval.errors import InputError, MeasureError
from trueval.evaluation.content_hashes import choices_that_matter
from trueval.evaluation.defaults import resolve_measure
from trueval.evaluation.scores import STATISTICS, Scores
from trueval.measures import Measure
from trueval.policy.policy import OURS

# Contents that two measurements must share in addition to queries and policy, with their names in messages.
SAME = {
    "judgments": "judgments",
    "corpus": "documents",
    "query_texts": "texts of queries",
    "unjudged": "grades of unjudged documents",
}


class BaselineMatch(NamedTuple):
    """The runs that can be compared with a baseline, and failed checks of the others.

    Attributes:
        runs: runs with distinct names, none of which is the baseline's.
        baseline: the baseline, restricted to the same queries.
        refused: one failed check per run that was measured otherwise.
        unlike: one failed check per run that shares too few judged queries with the baseline.
        same: one failed check per run that is its own baseline.
    """

    runs: tuple[Scores, ...]
    baseline: Scores
    refused: tuple[Check, ...]
    unlike: tuple[Check, ...]
    same: tuple[Check, ...]


def find_baseline(baseline: Scores | str | PathLike[str], runs: Sequence[Scores]) -> Scores:
    """Find or read the scores of a baseline.

    Args:
        baseline: scores, the name of one of the runs, or a folder of results as `trueval evaluate --out` writes it;
            DIR#RUN where it holds several and none is named like the only run.
        runs: runs to compare with it.

    Raises:
        InputError: there is no such run or folder.
    """
    from trueval.evaluation.stored_scores import is_stored, read_stored  # late: most baselines are scores

    if isinstance(baseline, Scores):
        return baseline
    place = str(baseline)
    if named := [run for run in runs if run.name == place]:
        return named[0]
    if not is_stored(place):
        names = ", ".join(run.name for run in runs)
        raise InputError(
            f"{place}: no such baseline. It must be Scores, one of the runs ({names}), or a folder that "
            "`trueval evaluate --out` wrote. Evaluate a run file first, with the same judgments."
        )
    return read_stored(place, runs[0].name if len(runs) == 1 else None)


def match_baseline(
    runs: Sequence[Scores],
    baseline: Scores,
    measures: Sequence[Measure],
    missing: str | None = None,
    least: MinQueries | None = None,
) -> BaselineMatch:
    """Select the runs that can be compared with a baseline, restricted to the queries they all share.

    Args:
        runs: runs to compare, without the baseline.
        baseline: scores of the baseline.
        measures: measures to compare by; the others are left out.
        missing: how judged queries that a run lacks count: "worst" or "skip"; None where nothing was chosen: then only
            queries that all runs have count.
        least: minimum number of queries; None for all judged ones.

    Raises:
        MeasureError: the baseline was not evaluated by one of the measures.
    """
    named = [resolve_measure(measure, baseline.measures, baseline.policy) for measure in measures]
    if absent := [measure for measure in named if measure not in baseline.measures]:
        known = ", ".join(map(str, baseline.measures))
        raise MeasureError(
            f"The baseline {baseline.name} was not evaluated by {absent[0]}. It has {known}. Name measures that it has "
            "(--max-drop MEASURE=X), or evaluate it again."
        )
    runs, baseline = [run.of(measures) for run in runs], replace(baseline.of(named), measures=tuple(measures))
    refused = [_refusal(run, baseline, why) for run in runs if (why := differences(run, baseline))]
    fit = [run for run in runs if run.name not in {check.run for check in refused}]
    if any(run.name == baseline.name for run in fit):
        baseline = replace(baseline, name=f"{baseline.name} (baseline)")
    if fit:
        # The same choices, although stored ones may be in another order.
        baseline = replace(baseline, policy=fit[0].policy)
    same = [own_baseline(run, baseline) for run in fit if is_same(run, baseline)]
    unlike: list[Check] = []
    if not says_missing(missing, baseline):
        lacking = {query for each in (*fit, baseline) for query in each.missing_queries}
        unlike = [check for run in fit if (check := _unlike(run, baseline, lacking, least or EVERY)) is not None]
        fit, baseline = [without(run, lacking) for run in fit], without(baseline, lacking)
    return BaselineMatch(tuple(fit), baseline, tuple(refused), tuple(unlike), tuple(same))


def says_missing(missing: str | None, scores: Scores) -> bool:
    """Whether the treatment of missing queries was chosen: in this call, or in the policy of the scores."""
    return missing is not None or scores.policy.missing != OURS.missing


def is_same(run: Scores, baseline: Scores) -> bool:
    """Whether a run holds the same rows as its baseline, as far as the recorded contents tell."""
    one, other = (None if each.content is None else each.content.all.get("run") for each in (run, baseline))
    return one is not None and one == other


def own_baseline(run: Scores, baseline: Scores) -> Check:
    """The failed check of a run that is its own baseline.

    Args:
        baseline: the run itself, or one that holds the same rows.
    """
    line = f"{run.name} is its own baseline: nothing was compared. Name the run that it must not be worse than."
    if run is not baseline:
        line = (
            f"{run.name} holds the same rows as its baseline {baseline.name}, so nothing was compared. Is it the right "
            "file? Where a system may be unchanged, --when-same pass says so."
        )
    nothing = (None, None, None, None, None)
    return Check("distinct", run.name, *nothing, FAILED, False, line, "--max-drop", baseline.name)


def differences(run: Scores, baseline: Scores) -> str:
    """What differs in how a run and its baseline were measured, in words; empty where nothing does.

    Hashes are compared where both have them; queries and policy always are.
    """
    one, other = ({} if each.content is None else each.content.all for each in (run, baseline))
    found = [words for name, words in SAME.items() if _differs(one, other, name)]
    if set(run.query_ids) != set(baseline.query_ids):
        only = len(set(run.query_ids) ^ set(baseline.query_ids))
        found.append(f"queries ({only} are evaluated for one of them only)")
    ours, theirs = choices_that_matter(run.policy), choices_that_matter(baseline.policy)
    names = dict.fromkeys((*ours, *theirs))
    apart = [f"{name} {ours.get(name)} and {theirs.get(name)}" for name in names if ours.get(name) != theirs.get(name)]
    found += [f"policies ({', '.join(apart)})"] if apart else []
    return f"{', '.join(found[:-1])} and {found[-1]}" if len(found) > 1 else "".join(found)


def without(scores: Scores, queries: set[str]) -> Scores:
    """Scores with the values of some queries removed."""
    rows = [at for at, query in enumerate(scores.query_ids) if query in queries]
    if not rows:
        return scores
    arrays: dict[str, Any] = {name: getattr(scores, name).copy() for name in STATISTICS}
    for array in arrays.values():
        array[rows] = np.nan
    return replace(scores, **arrays)


def _differs(one: Mapping[str, object], other: Mapping[str, object], name: str) -> bool:
    """Whether two contents differ; a hash that one of them lacks is ignored."""
    if name == "unjudged":
        return one.get(name) != other.get(name) and bool(one) and bool(other)
    return name in one and name in other and one[name] != other[name]


def _refusal(run: Scores, baseline: Scores, why: str) -> Check:
    line = (
        f"{run.name} and {baseline.name} were measured on different {why}, so no drop can be told. "
        "Measure both on the same."
    )
    nothing = (None, None, None, None, None)
    return Check("comparable", run.name, *nothing, FAILED, False, line, "--max-drop", baseline.name)


def _unlike(run: Scores, baseline: Scores, lacking: set[str], least: MinQueries) -> Check | None:
    """The failed check of a run that shares too few judged queries with its baseline; None where they suffice.

    Args:
        lacking: queries that some run of the call lacks, on which no run is compared.
        least: minimum number of shared queries.
    """
    judged = len(run.query_ids)
    common, needed = judged - len(lacking), least.of_judged(judged)
    if common >= needed:
        return None
    who = [f"{each.name} lacks {len(each.missing_queries)}" for each in (run, baseline) if each.missing_queries]
    line = (
        f"{run.name}: {common} of {judged} judged queries are in every run and in {baseline.name} "
        f"({' and '.join(who) or 'another run lacks the others'}), and only those are compared. {CURES}"
    )
    numbers = (needed, common, None, None)
    return Check("queries", run.name, None, *numbers, FAILED, False, line, str(least), baseline.name)
