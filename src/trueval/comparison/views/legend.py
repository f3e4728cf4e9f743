"""What the marks and columns of a comparison mean, and how it was made, in sentences."""

from collections.abc import Iterator, Mapping
from typing import Any

from trueval.comparison.choices import BOOTSTRAP
from trueval.comparison.verdict import REVERSED, UNDECIDABLE
from trueval.report.number_texts import count_phrase

# Beside an interval of a realized difference whose ends are bounds; the mark of `evaluate` for what is not exact.
BOUNDED = "°"
BOUNDED_LEGEND = (
    f"{BOUNDED} bounded: made from lowest and highest values, as a standard deviation over tie orders is not known or "
    "intervals are by bets. It holds at its level whatever the orders are, chosen ones too, and is wide."
)


def legend(comparison: Mapping[str, Any]) -> Iterator[str]:
    """What the marks and columns of a table of pairs mean, and how it was made.

    Args:
        comparison: the JSON of `trueval compare`.

    Yields:
        Sentences.
    """
    yield from mark_legend(comparison)
    level = f"{comparison['choices']['level']:.0%}"
    if comparison["baseline"] is None:
        yield "Runs that share a letter are not separated. ranks: those that the separated pairs leave to a run."
    made = "by bets, valid for any law of the differences"
    if comparison["choices"].get("intervals", BOOTSTRAP) == BOOTSTRAP:
        made = (
            "it is not cut where the measure ends, so that with few queries it may pass the largest possible difference"
        )
    yield (
        f"interval: {level} of a realized difference, over queries and tie orders; {made}. "
        "win: probability over tie orders that the first is better; ~ where normal, not exact. "
        "w/t/l: queries on which the first wins, ties, loses."
    )
    if any(row["realized_bounded"] for row in comparison["differences"]):
        yield BOUNDED_LEGEND
    yield settings(comparison)


def mark_legend(comparison: Mapping[str, Any]) -> Iterator[str]:
    """Explanation of the marks of a pair.

    Args:
        comparison: the JSON of `trueval compare`.
    """
    choices = comparison["choices"]
    yield (
        f"* separated: p < {1 - choices['level']:.2g} by the paired {choices['test']} test, "
        f"{_describe_adjustment(choices)} "
        f"(** p < .01, *** p < .001), {_interval_beside(choices)} beside 0, and ties do not undo it."
    )
    yield f"? {UNDECIDABLE}: neither wins in {choices['level']:.0%} of the tie orders."
    yield f"! {REVERSED}."
    yield "No mark: not separated by these queries."
    if any(_p_alone(row, comparison) for row in comparison["differences"]):
        yield f"A small p without a mark: {_interval_beside(choices)} holds 0, so nothing is claimed."


def _p_alone(row: Mapping[str, Any], comparison: Mapping[str, Any]) -> bool:
    """Whether p is small and the pair is not separated only because of its interval."""
    p = row["tests"]["adjusted"]
    return p is not None and p < 1 - comparison["choices"]["level"] and not row["separated"] and not row["undecidable"]


def settings(comparison: Mapping[str, Any]) -> str:
    """How a comparison was made.

    Args:
        comparison: the JSON of `trueval compare`.
    """
    choices = comparison["choices"]
    missing, clusters = choices["policy"]["missing"], choices["clusters"]
    parts = (
        []
        if clusters is None
        else [f"queries of {count_phrase(clusters['count'], 'cluster', 'clusters')} taken together"]
    )
    parts += [f"{name} intervals by bets"] if (name := choices.get("intervals", BOOTSTRAP)) != BOOTSTRAP else []
    parts += [f"{choices['resamples']:,} resamples", f"seed {choices['seed']}"]
    return f"missing queries {missing}, {', '.join(parts)}."


def _describe_adjustment(choices: Mapping[str, Any]) -> str:
    """How p is adjusted, in words."""
    family = "the pairs of a measure" if choices["family"] == "measure" else "all pairs and measures"
    names = {"maxt": "MaxT", "holm": "Holm", "benjamini-hochberg": "Benjamini & Hochberg"}
    return f"adjusted by {names[choices['correction']]} over {family}"


def _interval_beside(choices: Mapping[str, Any]) -> str:
    """The name of the interval of the expected difference that must exclude 0."""
    return "its interval" if choices["correction"] == "benjamini-hochberg" else "the simultaneous interval"


def latex_legend(comparison: Mapping[str, Any]) -> Iterator[str]:
    """What the superscripts mean: marks of a pair against a baseline, letters of groups without one."""
    choices = comparison["choices"]
    if comparison["baseline"] is None:
        yield (
            f"Superscripts: runs that share a letter are not separated at level {choices['level']:g} by the "
            f"paired {choices['test']} test, {_describe_adjustment(choices)}, and the orders of ties."
        )
    else:
        yield f"Superscripts: marks of the difference from {comparison['baseline']}."
        yield from mark_legend(comparison)
    yield settings(comparison)
