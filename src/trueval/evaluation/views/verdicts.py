"""Verdicts of an evaluation in sentences: which run is better, what of its lead is ties, what to do."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Final, NamedTuple

from trueval.errors import MeasureError
from trueval.evaluation.evaluation_result import Evaluation, MeasureMeans, RunMeans
from trueval.evaluation.views.findings import compare
from trueval.report.units import DIFFERENCE
from trueval.report.view import Answer, Quantity, Sentence, SentenceDifference
from trueval.report.view_texts import value_of

MOST: Final = 4  # things of one kind that are named one by one
MOVED: Final = 0.00005  # a tie range below it moves no digit that is shown
# What breaks ties, by tie order.
BROKEN_BY: Final[Mapping[str, str]] = {
    **dict.fromkeys(("docid-desc", "docid-asc"), "names of documents"),
    "input": "the order of lines in the file",
    "rank": "ranks in the file",
    "random": "chance",
}


class Lead(NamedTuple):
    """The two best runs of a measure.

    Attributes:
        measure: the measure's text form.
        first: the best run by expected value.
        second: the next one.
        lower: whether lower values are better.
    """

    measure: str
    first: RunMeans
    second: RunMeans
    lower: bool

    @property
    def sides(self) -> tuple[MeasureMeans, MeasureMeans]:
        """The values of the two, the larger expected value first."""
        pair = self.first.measures[self.measure], self.second.measures[self.measure]
        return (pair[1], pair[0]) if self.lower else pair

    @property
    def kinds(self) -> set[str]:
        """What ties leave open of it."""
        return {each.kind for each in compare(self.measure, self.first, self.second)}

    @property
    def is_shared(self) -> bool:
        """Whether both have the same expected value."""
        return self.sides[0].expected == self.sides[1].expected

    @property
    def is_moved(self) -> bool:
        """Whether ties move one of the two."""
        return any(each.range >= MOVED for each in self.sides)


def answer(result: Evaluation) -> Answer:
    """Which run is better in the first measure, by how much, and what of it is ties; of one run, its value.

    Args:
        result: an evaluation.
    """
    if not result.runs:
        return Answer("There is no run.")
    measures = [measure for measure in result.runs[0].measures if by_merit(result, measure)]
    if not measures:
        return Answer("No run has a value.")
    found = lead_of(result, measures[0])
    if found is None:
        return _answer_of_one(result, by_merit(result, measures[0])[0], measures[0])
    a, b = found.sides
    order = str(result.policy["tie_order"])
    sure: Sentence = ""
    if found.is_moved:
        broken = _broken(order, _difference(a, "tie_broken", b, "tie_broken"), _difference(a, "bias", b, "bias"))
        sure = (
            "Over all orders of equal scores the lead is between ",
            _difference(a, "lowest", b, "highest"),
            " and ",
            _difference(a, "highest", b, "lowest"),
            *(("; in", *broken) if broken else (".",)),
        )
    others = [each.measure for each in map(partial(lead_of, result), measures[1:]) if each and each.kinds - {"inside"}]
    if others:
        sure = (
            *((sure,) if isinstance(sure, str) else sure),
            f"{' ' if sure else ''}Equal scores decide who leads in {_list(others)}.",
        )
    return Answer(
        describe_lead(found, len(result.runs), order),
        sure=sure,
        change="Other queries could reverse it: trueval compare says how sure the lead is on them.",
        next=f'trueval compare QRELS RUN... -m "{found.measure}"',
    )


def _answer_of_one(result: Evaluation, run: RunMeans, measure: str) -> Answer:
    mean = run.measures[measure]
    value: Sentence = (f"{measure} of {run.name} is ", Quantity(mean, "expected"))
    if not mean.range >= MOVED:
        return Answer((*value, "; no order of equal scores changes it."))
    within = (", between ", Quantity(mean, "lowest"), " and ", Quantity(mean, "highest"))
    broken = _broken(str(result.policy["tie_order"]), Quantity(mean, "tie_broken"), Quantity(mean, "bias", DIFFERENCE))
    return Answer(
        (*value, *within, " depending on the order of equal scores."),
        sure=("In", *broken) if broken else "",
        next=f'trueval explain QRELS RUN -m "{measure}"',
    )


def _broken(
    order: str, value: Quantity | SentenceDifference, bias: Quantity | SentenceDifference
) -> tuple[str | Quantity | SentenceDifference, ...]:
    """The tie-broken value, and what of it is the way in which ties are broken; empty where that is nothing."""
    if not value_of(bias):
        return ()
    by = BROKEN_BY.get(order, "the way in which ties are broken")
    return (f" the tie order {order} it is ", value, ", of which ", bias, f" comes from {by}.")


def _difference(first: MeasureMeans, field: str, second: MeasureMeans, other: str) -> SentenceDifference:
    return SentenceDifference(Quantity(first, field), Quantity(second, other), DIFFERENCE)


def lead_of(result: Evaluation, measure: str) -> Lead | None:
    """The two best runs of a measure; None where fewer have a value."""
    ranked = by_merit(result, measure)
    return Lead(measure, ranked[0], ranked[1], lower_is_better(measure)) if len(ranked) > 1 else None


def describe_lead(found: Lead, runs: int, order: str) -> Sentence:
    """Which run leads, by how much, and what ties make of that.

    Args:
        found: the two best runs.
        runs: number of runs.
        order: tie order of the policy.
    """
    first, second = found.first.name, found.second.name
    best = Quantity(found.first.measures[found.measure], "expected")
    if found.is_shared:
        return (f"{first} and {second} share the best {found.measure}, ", best, ".")
    rank = f"{first} is better than {second}" if runs == 2 else f"{first} is the best of {runs} runs"
    ahead = _difference(found.sides[0], "expected", found.sides[1], "expected")._replace(unit=best.unit)
    kinds, by = found.kinds, BROKEN_BY.get(order, "the order of equal scores")
    # A pair can be both reversed and overlapping; the sentence says what weighs more.
    if kinds & {"reversed", "overlap"}:
        whose = f" on average over their orders, is ahead of {second} by "
        open_lead = (f"Equal scores decide who leads in {found.measure}: {first}, ", best, whose, ahead)
        turned = f": in the tie order {order} {second} leads, by {by} alone." if "reversed" in kinds else "."
        return (*open_lead, ", inside the tie ranges", turned)
    behind = "" if runs == 2 else f" of {second}"
    head = (f"{rank} in {found.measure}: ", best, ", ahead", behind, " by ", ahead)
    if "inside" in kinds:
        return (*head, ", less than ties move one of them, though no order of equal scores reverses the two.")
    return (*head, "; no order of equal scores changes that.")


def further(result: Evaluation) -> Iterator[Sentence]:
    """Further sentences: other leaders, other leads that ties decide, the largest effect of ties, and what to do.

    Args:
        result: an evaluation.
    """
    measures = [measure for measure in (result.runs[0].measures if result.runs else ()) if by_merit(result, measure)]
    leads = [found for measure in measures if (found := lead_of(result, measure)) is not None]
    if len(leads) > 1:
        yield _leaders(result, measures)
    order = str(result.policy.get("tie_order", ""))
    open_ones = [found for found in leads[1:] if found.kinds - {"inside"}]
    yield from (describe_lead(found, len(result.runs), order) for found in open_ones[:MOST])
    if len(open_ones) > MOST:
        yield f"Ties decide who leads in {len(open_ones) - MOST} more measures of the table."
    yield from _extremes(result, measures)
    yield from _remedies(result)


def _leaders(result: Evaluation, measures: Sequence[str]) -> str:
    wins: dict[tuple[str, ...], list[str]] = {}
    for measure in measures:
        ranked = by_merit(result, measure)
        best = ranked[0].measures[measure].expected
        names = tuple(run.name for run in ranked if run.measures[measure].expected == best)
        wins.setdefault(names, []).append(measure)
    parts = [
        f"{_list(names)} {'has' if len(names) == 1 else 'share'} the best expected value on {_list(won)}"
        for names, won in sorted(wins.items(), key=lambda item: -len(item[1]))
    ]
    return f"Of {len(result.runs)} runs, {'; '.join(parts)}."


def _extremes(result: Evaluation, measures: Sequence[str]) -> Iterator[Sentence]:
    """The widest range and the largest bias of several measures, or that there is none."""
    cells = [(run.name, measure, run.measures[measure]) for run in result.runs for measure in measures]
    moved = [cell for cell in cells if cell[2].range > 0]
    if not moved:
        if cells:
            # Documents that the end of a list cut off are in no order of it.
            cut = any(run.ties.cut_queries for run in result.runs)
            yield f"No order of {'the documents listed' if cut else 'ties'} changes any of these numbers."
        return
    if len(measures) < 2:
        return
    run, measure, widest = max(moved, key=lambda cell: cell[2].range)
    told: Sentence = ("The widest tie range is ", Quantity(widest, "range"), f", {measure} of {run}")
    biased = [cell for cell in cells if abs(cell[2].bias) > 0]
    if not biased:
        yield (*told, ".")
        return
    run, measure, found = max(biased, key=lambda cell: abs(cell[2].bias))
    order = str(result.policy["tie_order"])
    bias = Quantity(found, "bias", DIFFERENCE)
    yield (*told, "; the largest bias is ", bias, f", {measure} of {run} in the tie order {order}.")


def _remedies(result: Evaluation) -> Iterator[str]:
    precision = result.policy.get("tie_precision")
    moved = any(mean.range >= MOVED for run in result.runs for mean in run.measures.values())
    if moved and precision is not None:
        yield (
            f"Scores were compared after rounding to {precision}. Keep them in float32 and evaluate without "
            "--tie-precision to see which ties the rounding made."
        )
    elif moved:
        yield (
            "Give every value with its tie range. Where the scores are yours, compute and store them in float32 with "
            "all digits, so that fewer of them are equal."
        )
    cut = [f"{run.name} ({len(run.ties.cut_queries)})" for run in result.runs if run.ties.cut_queries]
    if cut:
        yield (
            f"Possible cuts, by number of queries: {_list(cut)}. The list may end inside a group of tied documents, so "
            "documents that tie with its last ones may be missing from the file: retrieve deeper."
        )
    for run in (each for each in result.runs if each.missing_queries):
        count, rule = len(run.missing_queries), result.policy.get("missing", "worst")
        yield f"Look at {run.name}: it lacks {count} judged queries (policy for them: {rule})."


def by_merit(result: Evaluation, measure: str, *, missing: bool = False) -> list[RunMeans]:
    """Runs from best to worst by expected value.

    Args:
        result: an evaluation.
        measure: the measure's text form.
        missing: whether to append runs without a value at the end.

    Returns:
        The runs; equal values keep the order of the results.
    """
    known = [run for run in result.runs if run.measures[measure].expected == run.measures[measure].expected]
    rest = [run for run in result.runs if run.measures[measure].expected != run.measures[measure].expected]
    sign = 1 if lower_is_better(measure) else -1
    ranked = sorted(known, key=lambda run: sign * run.measures[measure].expected)
    return ranked + (rest if missing else [])


def lower_is_better(measure: str) -> bool:
    """Whether lower values of a measure are better; False for measures unknown to this version."""
    from trueval.measures import parse

    try:
        return parse(measure).better == "lower"
    except MeasureError:
        return False


def _list(names: Sequence[str]) -> str:
    shown = list(names) if len(names) <= MOST else [*names[: MOST - 1], f"{len(names) - MOST + 1} more"]
    return shown[0] if len(shown) == 1 else f"{', '.join(shown[:-1])} and {shown[-1]}"
