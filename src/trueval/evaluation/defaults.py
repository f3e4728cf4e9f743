"""Defaults: the measures and the relevance threshold where the call names none.

A golden set knows its scale, the rubric 1 to 5 of P-B (§2.4), on which 1 and 2 are not relevant, and 4 and 5 are. With
a threshold of 1, every passage of it would be relevant and the reciprocal rank of any run 1.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

from trueval.judgments import on_rubric
from trueval.measures import Measure, parse_list
from trueval.measures.grammar import Measures
from trueval.policy.conventions import choose

if TYPE_CHECKING:
    from trueval.policy.policy import Policy

# Default measures for judgments of unknown scale.
PLAIN: Final = "nDCG@10 RR@10 AP R@100 P@10"
# The lowest relevant grade of a golden set.
RELEVANT: Final = 4
# The tie order of runs whose lists a model read in their order, and the choices that override it.
AS_READ: Final = "input"
OF_ORDER: Final = ("convention", "tie_order")
# Choices that define the meaning of grades: with any of them, the golden-set defaults do not apply.
OF_GRADES: Final = ("convention", "rel", "labels")


class Request(NamedTuple):
    """The measures and choices of an evaluation.

    Attributes:
        measures: the measures, without duplicates.
        policy: all choices that affect the numbers.
    """

    measures: tuple[Measure, ...]
    policy: Policy


def rubric_measures(k: object = 10) -> str:
    """The default measures of a golden set.

    Args:
        k: cutoff, or a placeholder for it.
    """
    return f"RA-nWG@{k} N-Recall4+@{k} nDCG(gain='rubric')@{k} P4+@{k} Harm@{k}"


def fill_defaults(
    judgments: object,
    measures: Measures | None,
    policy: Policy | None = None,
    choices: Mapping[str, object] | None = None,
    *,
    plain: str = PLAIN,
    rubric: str | None = None,
    in_reading_order: bool = False,
) -> Request:
    """Complete the measures and policy of a call with defaults that depend on the judgments and on the runs.

    In a golden set a document is relevant from grade 4 on, unless a policy, a convention or `rel` is given. Measures
    with a threshold then name it, `RR(rel=4)@10`, so that results under different thresholds are not confused.

    Args:
        judgments: as in `Judgments.of`, or a path; None if unknown.
        measures: as in `evaluate`; None for the defaults.
        policy: a complete policy, including what grades mean; None for the default one.
        choices: attributes of Policy; "convention" names a preset.
        plain: default measures for judgments of unknown scale.
        rubric: default measures for a golden set; `rubric_measures()` if None.
        in_reading_order: whether a model read every list in its order, which then breaks ties if no order is named.

    Raises:
        MeasureError: a measure cannot be read.
        PolicyError: a choice is unknown, or policy and convention are given.

    >>> found = fill_defaults({"q": {"a": 1}}, "RR", None, {"seed": 3})
    >>> list(map(str, found.measures)), found.policy.rel, found.policy.seed
    (['RR'], 1, 3)
    """
    given = choices or {}
    if in_reading_order and policy is None and all(given.get(name) is None for name in OF_ORDER):
        given = {**given, "tie_order": AS_READ}
    assumed = policy is None and scale_is_known(judgments, given)
    chosen = choose(policy, {**given, "rel": RELEVANT} if assumed else given)
    default = (rubric_measures() if rubric is None else rubric) if assumed else plain
    parsed = parse_list(default if measures is None else measures)
    return Request(with_thresholds(parsed, RELEVANT) if assumed else parsed, chosen)


def scale_is_known(judgments: object, choices: Mapping[str, object]) -> bool:
    """Whether the scale of the judgments is known and no choice overrides it.

    Args:
        judgments: as in `Judgments.of`, or a path; None if unknown.
        choices: attributes of Policy; None means not chosen.
    """
    return all(choices.get(name) is None for name in OF_GRADES) and on_rubric(judgments)


def with_thresholds(measures: Iterable[Measure], rel: float) -> tuple[Measure, ...]:
    """The measures with the policy's threshold filled in where they name none, without duplicates."""
    return tuple(dict.fromkeys(measure.with_threshold(rel) for measure in measures))


def resolve_measure(measure: Measure, measures: Sequence[Measure], policy: Policy) -> Measure:
    """The evaluated measure that a name refers to: RR@10 is RR(rel=4)@10 where the policy has that threshold.

    Args:
        measure: measure as the user wrote it.
        measures: evaluated measures.
        policy: policy of the evaluation, which completes measures.

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
