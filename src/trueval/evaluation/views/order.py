"""The display order of runs: best first. JSON, CSV and trec_eval lines keep the given order."""

from collections.abc import Mapping, Sequence
from typing import Final

from trueval.errors import MeasureError
from trueval.evaluation.defaults import resolve_measure
from trueval.evaluation.evaluation_result import RunEntry, run_entries
from trueval.measures import Measure, parse
from trueval.policy.policy import Policy

GIVEN: Final = "given"


def sort_by(choice: str | None, measures: Sequence[Measure], policy: Policy) -> Measure | None:
    """The measure by which runs are ordered.

    Args:
        choice: a measure, "given" for none, or None for the first one.
        measures: evaluated measures.
        policy: policy of the evaluation.

    Raises:
        MeasureError: it is not among them.
    """
    if choice == GIVEN:
        return None
    measure = measures[0] if choice is None else resolve_measure(parse(choice), measures, policy)
    if measure not in measures:
        known = ", ".join(map(str, measures))
        raise MeasureError(f"--sort {choice}: {measure} is not evaluated. Choose one of {known}, or {GIVEN}.")
    return measure


def in_order(results: Mapping[str, object], measure: Measure | None) -> Mapping[str, object]:
    """The results with the best run first by expected value; runs without one last, equal ones in given order.

    Args:
        results: the JSON of `trueval evaluate`.
        measure: the measure to sort by; None keeps the order.

    Example:
        >>> runs = [{"name": name, "measures": {"RR": {"expected": value}}} for name, value in (("a", 0.2), ("b", 0.7))]
        >>> [run["name"] for run in in_order({"runs": runs}, parse("RR"))["runs"]]
        ['b', 'a']
    """
    if measure is None:
        return results
    sign = -1 if measure.better == "higher" else 1

    def place(run: RunEntry) -> tuple[bool, float]:
        value = run["measures"][str(measure)]["expected"]
        return value is None, sign * (value or 0.0)

    return {**results, "runs": sorted(run_entries(results), key=place)}
