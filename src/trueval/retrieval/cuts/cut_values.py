"""Cut values: the measures of a cut audit, and the values of its lists under each source of ties."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Any, Final, NamedTuple

from trueval.errors import PolicyError, TruevalWarning
from trueval.evaluation.defaults import PLAIN, fill_defaults, rubric_measures
from trueval.evaluation.evaluate import Measures, evaluate
from trueval.evaluation.scores import Scores
from trueval.judgments import Judgments
from trueval.measures import Measure
from trueval.policy.conventions import Policy
from trueval.retrieval.cuts.call_differences import Calls
from trueval.retrieval.cuts.cutoff import CutoffGroup
from trueval.retrieval.cuts.tie_sources import separate_ties
from trueval.run import Run

# The grades that RA-nWG is defined for, and from which on a document is evidence (P-B §2.4).
RUBRIC: Final = (1, 5)
EVIDENCE: Final = 4


def default_measures(k: int, judgments: Judgments) -> str:
    """Recall and nDCG at k, and RA-nWG at k where the grades are of its rubric.

    Args:
        k: number of documents in a context.
        judgments: judgments whose grades decide.
    """
    grades = judgments.frame["grade"]
    on_rubric = bool(grades.is_between(*RUBRIC).all()) and bool((grades >= EVIDENCE).any())
    return f"R@{k} nDCG@{k}{f' RA-nWG@{k}' if on_rubric else ''}"


class CutMeasure(NamedTuple):
    """The judgments, measures and policy of an audit at k.

    Attributes:
        judgments: judgments; None if there are none.
        measures: measures; empty without judgments.
        policy: all choices that affect the numbers.
    """

    judgments: Judgments | None
    measures: tuple[Measure, ...]
    policy: Policy


def choose_cut_measure(
    k: int, judgments: Any, measures: Measures | None, policy: Policy | None, choices: Mapping[str, object]
) -> CutMeasure:
    """Choose the measures and policy of an audit at k, with defaults that depend on the judgments.

    Args:
        k: number of documents in a context.
        judgments: as in `Judgments.of`; None for none.
        choices: attributes of Policy.

    Raises:
        InputError: the judgments cannot be read.
        MeasureError: a measure cannot be read.
        PolicyError: k is below 1, a choice is unknown, or the first k documents would be others.
    """
    if k < 1:
        raise PolicyError(f"k must be an integer >= 1. Got {k!r}.")
    judged = None if judgments is None else Judgments.of(judgments)
    plain = PLAIN if judged is None else default_measures(k, judged)
    wanted, chosen = fill_defaults(judged, measures, policy, choices, plain=plain, rubric=rubric_measures(k))
    if chosen.depth is not None:
        raise PolicyError("Lists must go past k, since what ties at rank k is looked at. Leave depth out.")
    for name in ("judged_only", "skip_first"):
        if getattr(chosen, name):
            raise PolicyError(f"{name} would measure other documents than the first {k} of the context. Leave it out.")
    return CutMeasure(judged, () if judged is None else wanted, chosen)


class CutValues(NamedTuple):
    """The values of lists, and the effect of each source of ties on them.

    Attributes:
        scores: scores under ties; None without judgments.
        parts: scores by source of ties: "cut" with only the ties at the cutoff, "inside" with only the others.
        realized: scores of each call as listed.
    """

    scores: Scores | None = None
    parts: Mapping[str, Scores] = MappingProxyType({})
    realized: tuple[Scores, ...] = ()
    notes: tuple[str, ...] = ()


def score_cuts(run: Run, cuts: Sequence[CutoffGroup], calls: Calls | None, judged: CutMeasure, k: int) -> CutValues:
    """Score the lists under ties and each call as listed, with warnings.

    Args:
        run: lists that go past k.
        cuts: cuts of this run.
        calls: repeated calls; None for none.
        judged: judgments, measures and policy.
        k: number of documents in a context.
    """
    judgments, measures, chosen = judged
    if judgments is None:
        return CutValues()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", TruevalWarning)  # they are in the notes
        # A context holds k documents, whatever a measure would see of a longer list.
        policy = replace(chosen, depth=k)
        scores = evaluate(run, judgments, measures, policy=policy)
        settled = replace(policy, tie_precision=None)
        sources = separate_ties(run, cuts, chosen.tie_precision)._asdict()
        parts = {name: evaluate(each, judgments, measures, policy=settled) for name, each in sources.items()}
        realized = [] if calls is None else calls.runs
        as_listed = tuple(evaluate(call, judgments, measures, policy=chosen, tie_order="input") for call in realized)
    return CutValues(scores, parts, as_listed, scores.notes)
