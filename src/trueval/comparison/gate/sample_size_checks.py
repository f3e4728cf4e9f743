"""Sample size: whether a gate has enough queries, and enough of them with a relevant document."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from trueval.comparison.checks import FAILED, PASSED, Check
from trueval.comparison.limits import EVERY, FEWEST, Limit, MinQueries
from trueval.evaluation.scores import Scores
from trueval.measures import Measure
from trueval.report.number_texts import count_phrase

# Advice for a run that lacks judged queries.
CURES = (
    "--missing worst counts the others with the worst value, --missing skip leaves them out, --min-queries N asks for "
    "fewer."
)


def check_sample_size(
    run: Scores, limits: Sequence[Limit], least: MinQueries | None, *, chosen: bool
) -> Iterator[Check]:
    """Failed checks of a run with too few queries to check against limits.

    Args:
        run: scores of the run.
        least: minimum number of queries; None for all judged ones.
        chosen: whether the treatment of judged queries that the run lacks was chosen. Then none of them is required
            unless `least` says so.

    Yields:
        "queries" where the run has too few judged queries, or a measure too few with something to find; "relevant"
        where it has none.
    """
    rule, judged = least or EVERY, len(run.query_ids)
    present, needed = judged - len(run.missing_queries), rule.of_judged(judged)
    there = f"{run.name}: {present} of {judged} judged queries are in the run"
    if present < needed and (least is not None or not chosen):
        cure = CURES if present < judged else "Judge more queries, or ask for fewer."
        line = f"{there}, and {rule} asks for {needed}. {cure}"
        yield Check("queries", run.name, None, needed, present, None, None, FAILED, False, line, str(rule))
        return
    few = list(_too_few(run, _measures_of_limits(run, limits), rule))
    yield from few
    if least is not None and not few:
        line = f"{there}, not fewer than {least}."
        yield Check("queries", run.name, None, needed, present, None, None, PASSED, True, line, str(rule))


def too_few_compared(
    run: str, baseline: str, queries: int, clusters: int | None, least: MinQueries | None
) -> Check | None:
    """The failed check of a comparison on too few queries or clusters; None where there are enough.

    Args:
        run: name of the run.
        baseline: name of the baseline.
        queries: number of queries with a value in both.
        clusters: number of their clusters; None if there are none.
        least: minimum number of queries; None for all judged ones, in FEWEST clusters where there are any.
    """
    rule = least or EVERY
    in_clusters = clusters is not None and rule.count is None
    units = clusters if clusters is not None and in_clusters else queries
    if units >= rule.at_all:
        return None
    what = count_phrase(units, "cluster", "clusters") if in_clusters else count_phrase(units, "query", "queries")
    line = f"{run}: only {what} can be compared with {baseline}. {_why(rule, units)}"
    numbers = (rule.at_all, units, None, None)
    return Check(
        "queries", run, None, *numbers, FAILED, False, line, str(rule), baseline, queries=queries, clusters=clusters
    )


def _measures_of_limits(run: Scores, limits: Sequence[Limit]) -> list[Measure]:
    """The measures that limits name; all measures where none is named."""
    named = {limit.measure for limit in limits if not isinstance(limit, MinQueries)} or {None}
    return [measure for measure in run.measures if None in named or str(measure) in named]


def _too_few(run: Scores, measures: Sequence[Measure], rule: MinQueries) -> Iterator[Check]:
    """One failed check per measure, or one for all, where too few queries have a relevant document."""
    found = {str(measure): _measurable(run, measure) for measure in measures}
    alike = len(set(found.values())) == 1
    for name, count in found.items():
        if count >= rule.at_all:
            continue
        of = f"{run.name}: {', '.join(found) if alike else name}"
        if count:
            come = "come" if alike and len(found) > 1 else "comes"
            where = f"{count} of {count_phrase(len(run.query_ids), 'judged query', 'judged queries')}"
            line = f"{of} {come} from {where} with a list and something to find. {_why(rule, count)}"
            limit: int | None = rule.at_all
        else:
            line = (
                f"{of}: no query has anything to find, so nothing was measured. Are the grades right, and do they "
                "reach the threshold (--rel)?"
            )
            limit = None
        kind = "queries" if count else "relevant"
        about = None if alike else name
        yield Check(kind, run.name, about, limit, count, None, None, FAILED, False, line, str(rule))
        if alike:
            return


def _measurable(run: Scores, measure: Measure) -> int:
    """Number of a run's queries with a relevant document; for scores read back, number of queries with a value."""
    column = run.index(measure)
    if run.measurable:
        return run.measurable[column]
    missing = set(run.missing_queries)
    there = np.array([query not in missing for query in run.query_ids], dtype=bool)
    return int((there & ~np.isnan(run.expected[:, column])).sum())


def _why(rule: MinQueries, count: int) -> str:
    """Why the queries are too few, and how to mend it."""
    if rule.count is not None:
        return f"{rule} asks for more."
    return f"Fewer than {FEWEST} cannot separate two systems at 95%; --min-queries {count} accepts so few."
