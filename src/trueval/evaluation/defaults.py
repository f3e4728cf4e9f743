"""Defaults: what is measured, and from which grade on, where nobody says it.

A golden set knows its scale, the rubric 1 to 5 of P-B (§2.4), on which 1 and 2 are not relevant, and 4 and 5 are. With
a threshold of 1, every passage of it would be relevant and the reciprocal rank of any run 1.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from trueval.judgments import on_rubric
from trueval.measures import Measure, parse_list
from trueval.measures.grammar import Measures
from trueval.policy.conventions import choose

if TYPE_CHECKING:
    from trueval.policy.policy import Policy

# Of judgments whose scale is not known.
PLAIN: Final = "nDCG@10 RR@10 AP R@100 P@10"
# The least grade of a golden set that is relevant.
RELEVANT: Final = 4
# Choices that say what grades mean: with one of them, nothing is assumed of a golden set.
OF_GRADES: Final = ("convention", "rel", "labels")


class Request(NamedTuple):
    """What is measured, and by which choices.

    Attributes:
        measures: each once.
        policy: every choice that changes a number.
    """

    measures: tuple[Measure, ...]
    policy: Policy


def rubric_measures(k: object = 10) -> str:
    """The measures of a golden set, where nobody names any.

    Args:
        k: their cutoff, or what stands for it.
    """
    return f"RA-nWG@{k} N-Recall4+@{k} nDCG(gain='rubric')@{k} P4+@{k} Harm@{k}"


def fill_defaults(
    judgments: Any,
    measures: Measures | None,
    policy: Policy | None = None,
    choices: Mapping[str, Any] | None = None,
    *,
    plain: str = PLAIN,
    rubric: str | None = None,
) -> Request:
    """The measures and the policy of a call, with what judgments say where the call says nothing.

    Of a golden set a document is relevant from grade 4 on, unless a policy, a convention or `rel` is given. Measures
    with a threshold then name it, `RR(rel=4)@10`, so that no result is read as another's.

    Args:
        judgments: as `Judgments.of` takes them, or a path; None where they are not known.
        measures: as in `evaluate`; None for the defaults.
        policy: a whole one, which says what grades mean; None for ours.
        choices: attributes of Policy; "convention" names a preset.
        plain: the defaults of judgments whose scale is not known.
        rubric: the defaults of a golden set; `rubric_measures()` if None.

    Raises:
        MeasureError: a measure cannot be read.
        PolicyError: a choice is unknown, or policy and convention are given.

    >>> found = fill_defaults({"q": {"a": 1}}, "RR", None, {"seed": 3})
    >>> list(map(str, found.measures)), found.policy.rel, found.policy.seed
    (['RR'], 1, 3)
    """
    given = choices or {}
    assumed = policy is None and scale_is_known(judgments, given)
    chosen = choose(policy, {**given, "rel": RELEVANT} if assumed else given)
    default = (rubric_measures() if rubric is None else rubric) if assumed else plain
    parsed = parse_list(default if measures is None else measures)
    return Request(with_thresholds(parsed, RELEVANT) if assumed else parsed, chosen)


def scale_is_known(judgments: Any, choices: Mapping[str, Any]) -> bool:
    """Whether judgments say what their grades mean, and nothing that was chosen says otherwise.

    Args:
        judgments: as `Judgments.of` takes them, or a path; None where they are not known.
        choices: attributes of Policy; None is no choice.
    """
    return all(choices.get(name) is None for name in OF_GRADES) and on_rubric(judgments)


def with_thresholds(measures: Iterable[Measure], rel: float) -> tuple[Measure, ...]:
    """Measures that name the threshold that they had left open, each once."""
    return tuple(dict.fromkeys(measure.with_threshold(rel) for measure in measures))


def resolve_measure(measure: Measure, measures: Sequence[Measure], policy: Policy) -> Measure:
    """The one of some measures that a name means: RR@10 is RR(rel=4)@10 where the policy has that threshold.

    Args:
        measure: as somebody wrote it.
        measures: those evaluated.
        policy: behind them, which says what measures leave open.

    Returns:
        One of the measures, or the measure itself where none is meant.

    >>> from trueval.measures import parse
    >>> from trueval.policy.policy import Policy
    >>> [str(resolve_measure(parse(text), [parse("AP")], Policy(rel=4))) for text in ("AP(rel=4.0)", "AP(rel=2)")]
    ['AP', 'AP(rel=2)']
    """
    same = next((each for each in measures if each == measure), None)
    if same is not None:
        return same
    meant = measure.under(policy)
    return next((each for each in measures if each.under(policy) == meant), measure)
