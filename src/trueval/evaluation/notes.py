"""What looks wrong about the grade from which measures count a document as relevant."""

from __future__ import annotations

from collections.abc import Sequence

from trueval.measures import Measure
from trueval.policy.policy import LEAST_POSITIVE, Policy
from trueval.standings.standings import Standings


def threshold_notes(name: str, standings: Standings, measures: Sequence[Measure], chosen: Policy) -> tuple[str, ...]:
    """One line for each threshold that does not fit the grades.

    Args:
        name: of the run.
        standings: of all judged queries.
        measures: as they were asked for.
        chosen: gives the thresholds that measures leave open.

    Returns:
        Lines; none where nothing is judged.
    """
    if not len(standings.pool_grade):
        return ()
    return _gold_notes(name, standings, measures, chosen) + _unreached(name, standings, measures, chosen)


def _gold_notes(name: str, standings: Standings, measures: Sequence[Measure], chosen: Policy) -> tuple[str, ...]:
    """Say that AllGold takes grade 1 for gold, where the grades look like the rubric 1 to 5 of P-B, whose gold is 4."""
    grades = standings.pool_grade
    open_threshold = [measure for measure in measures if measure.name == "AllGold" and not measure.chosen]
    if grades.min() < 1 or grades.max() not in (4, 5) or not open_threshold or chosen.rel > 1:
        return ()
    return (
        f"{name}: {open_threshold[0]} takes every grade from {chosen.rel:g} on for gold. On the rubric 1 to 5 gold "
        "is grade 4 and 5: write AllGold(rel=4), or choose rel 4.",
    )


def _unreached(name: str, standings: Standings, measures: Sequence[Measure], chosen: Policy) -> tuple[str, ...]:
    """Say where no grade reaches a threshold: the measure then finds nothing, which no order of ties changes."""
    largest = standings.pool_grade.max()
    with_threshold = [measure for measure in measures if measure.has_threshold]
    unreached = {measure: chosen.of(measure).settle(measure)["rel"] for measure in with_threshold}
    return tuple(
        f"{name}: {measure} finds nothing relevant in any run: it counts grades "
        f"{'above 0' if rel == LEAST_POSITIVE else f'from {rel:g} on'}, and the largest of the judgments is "
        f"{largest:g}. Choose a lower rel, or map the grades."
        for measure, rel in unreached.items()
        if rel > largest
    )
