"""Sensitivity: how far RA-nWG, and the order of runs by it, depends on its parameters and on single labels.

RA-nWG derives its weights from the labels, so it has traps: it can fall when the label of a retrieved passage rises (4
to 5 makes grade 5 less rare, so every 4 weighs more in the ideal), and it jumps when the first grade 5 is found (the
fallback weights end). The grid is that of P-B (Dallaire 2025, arXiv 2511.09545) §2.4. A flip changes the grade of one
judged document that can be among the first K; values are expectations over tie orders.
"""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from trueval.errors import MeasureError, TruevalWarning
from trueval.evaluation.evaluate import evaluate
from trueval.measures import Measure, parse
from trueval.measures.grammar import OtherMeasure
from trueval.measures.orders.weights import Top
from trueval.measures.rarity import COLUMNS, best_gain, grade_counts, rarity_weights
from trueval.numerics import or_null
from trueval.policy.conventions import choose
from trueval.standings.counting import count
from trueval.standings.standings import Bools, Floats, Ints, Standings, sum_by

if TYPE_CHECKING:
    from trueval.evaluation.estimate import Estimate
    from trueval.judgments import Judgments
    from trueval.policy.policy import Policy
    from trueval.run import Run

ALPHAS = (0.0, 0.5, 1.0, 2.0)
CAPS4 = (0.75, 1.0)
CAPS3 = (0.20, 0.25, 0.33)
# Changes below this are rounding errors.
LEAST = 1e-12


class ParameterCell(NamedTuple):
    """The runs under one choice of parameters.

    Attributes:
        alpha: exponent of rarity scaling.
        cap4: maximum weight of grade 4.
        cap3: maximum weight of grade 3.
        means: [run] mean of RA-nWG.
        swapped: pairs of runs whose order under the default parameters is reversed here.
    """

    alpha: float
    cap4: float
    cap3: float
    means: tuple[Estimate, ...]
    swapped: tuple[tuple[str, str], ...]


class LabelFlip(NamedTuple):
    """One label changed.

    Attributes:
        query: query id.
        document: document id.
        old: judged grade.
        new: changed grade.
        before: expected value of the query as judged; NaN if not available.
        after: expected value of the query with the new grade.
    """

    query: str
    document: str
    old: int
    new: int
    before: float
    after: float

    def to_dict(self) -> dict[str, object]:
        """The JSON form in result files; null if not available."""
        return {**self._asdict(), "before": or_null(self.before), "after": or_null(self.after)}


@dataclass(frozen=True)
class Flips:
    """The effect of changing one label on one run.

    Attributes:
        run: name of the run.
        flips: number of flips: labels that could change, times the four other grades.
        falls_when_raised: the worst flip of each query where the value falls although a label rises, worst first.
        rises_when_lowered: the same for a value that rises although a label falls.
        largest_fall: the flip that lowers a query most; None if none does.
        largest_rise: the flip that raises a query most; None if none does.
        lowest_mean: lowest mean over queries after one flip.
        highest_mean: highest mean over queries after one flip.
    """

    run: str
    flips: int
    falls_when_raised: tuple[LabelFlip, ...]
    rises_when_lowered: tuple[LabelFlip, ...]
    largest_fall: LabelFlip | None
    largest_rise: LabelFlip | None
    lowest_mean: float
    highest_mean: float

    def to_dict(self) -> dict[str, object]:
        """The JSON form in result files; null if not available."""
        return {
            **vars(self),
            "falls_when_raised": [flip.to_dict() for flip in self.falls_when_raised],
            "rises_when_lowered": [flip.to_dict() for flip in self.rises_when_lowered],
            "largest_fall": self.largest_fall and self.largest_fall.to_dict(),
            "largest_rise": self.largest_rise and self.largest_rise.to_dict(),
            "lowest_mean": or_null(self.lowest_mean),
            "highest_mean": or_null(self.highest_mean),
        }


@dataclass(frozen=True)
class Sensitivity:
    """How far RA-nWG depends on its parameters and on single labels.

    Attributes:
        measure: RA-nWG at a cutoff.
        runs: names of the runs.
        grid: every choice of parameters.
        flips: [run] effect of changing one label.
        swaps: flips that reverse the order of two runs, with both runs, the better one first.
    """

    measure: Measure
    runs: tuple[str, ...]
    grid: tuple[ParameterCell, ...]
    flips: tuple[Flips, ...]
    swaps: tuple[tuple[LabelFlip, str, str], ...]

    def to_dict(self) -> dict[str, object]:
        """The JSON form in result files; null if not available."""
        return {
            "measure": str(self.measure),
            "grid": [
                {
                    **cell._asdict(),
                    "means": {
                        name: mean.to_dict("expected", "lowest", "highest")
                        for name, mean in zip(self.runs, cell.means, strict=True)
                    },
                    "swapped": [list(pair) for pair in cell.swapped],
                }
                for cell in self.grid
            ],
            "grid_changes_order": any(cell.swapped for cell in self.grid),
            "flips": [one.to_dict() for one in self.flips],
            "flips_that_change_order": [
                {**flip.to_dict(), "better": better, "worse": worse} for flip, better, worse in self.swaps
            ],
        }


def sensitivity(
    runs: Sequence[Run],
    judgments: Judgments,
    measure: str | Measure | OtherMeasure = "RA-nWG@10",
    *,
    policy: Policy | None = None,
    **choices: object,
) -> Sensitivity:
    """Compute RA-nWG over the grid of its parameters and over all changes of one label.

    Args:
        runs: runs to compare.
        judgments: grades on the rubric 1 to 5.
        measure: RA-nWG at a cutoff; its parameters are those under which labels are flipped.

    Raises:
        InputError: a grade is not on the rubric, or missing is "error" and a query is missing.
        MeasureError: the measure is not RA-nWG at a cutoff.
        PolicyError: a choice is unknown.
    """
    wanted = parse(measure)
    if wanted.name != "RA-nWG" or wanted.cutoff is None or wanted["unjudged"] != "nothing":
        raise MeasureError(f"Sensitivity is that of RA-nWG at a cutoff, for example RA-nWG@10. Got {wanted}.")
    names = tuple(run.name for run in runs)
    chosen = choose(policy, choices).of(wanted.name)
    grid = _grid(runs, judgments, wanted, chosen)
    counted = [count(run, judgments, chosen) for run in runs]
    table = _flip_table(counted, wanted, skip=chosen.missing == "skip")
    flips = tuple(_flips_of(table, judgments, index, name) for index, name in enumerate(names))
    swaps = tuple(
        (_flip(table, judgments, better, flip), names[better], names[worse])
        for better, worse, flip in _find_reversals(table.means, table.new_means)
    )
    return Sensitivity(wanted, names, grid, flips, swaps)


def _grid(runs: Sequence[Run], judgments: Judgments, measure: Measure, policy: Policy) -> tuple[ParameterCell, ...]:
    choices = list(itertools.product(ALPHAS, CAPS4, CAPS3))
    plain = parse(f"RA-nWG@{measure.cutoff}")
    measures = [plain, *(plain(alpha=alpha, cap4=cap4, cap3=cap3) for alpha, cap4, cap3 in choices)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", TruevalWarning)  # already reported by the evaluation of these runs
        scores = [evaluate(run, judgments, measures, policy=policy) for run in runs]
    default = [one.mean(measures[0]).expected for one in scores]
    cells = []
    for choice, chosen in zip(choices, measures[1:], strict=True):
        means = tuple(one.mean(chosen) for one in scores)
        swapped = _find_reversals(np.array(default), np.array([[mean.expected] for mean in means]))
        pairs = tuple((runs[better].name, runs[worse].name) for better, worse, _ in swapped)
        cells.append(ParameterCell(*choice, means, pairs))
    return tuple(cells)


def _find_reversals(before: Floats, after: Floats) -> list[tuple[int, int, int]]:
    """Pairs of runs whose order is reversed: (better before, worse before, column).

    Args:
        before: [run] means before the change.
        after: [run, column] means after it.
    """
    found: list[tuple[int, int, int]] = []
    for better, worse in itertools.permutations(range(len(before)), 2):
        if before[better] > before[worse] + LEAST:
            columns = np.flatnonzero(after[better] < after[worse] - LEAST)
            found.extend((better, worse, int(column)) for column in columns)
    return found


class FlipTable(NamedTuple):
    """Every flip, and its effect on every run.

    Attributes:
        query: [flip] index of the query.
        item: [flip] row of the document in the judgments.
        old: [flip] judged grade.
        new: [flip] changed grade.
        reaches: [run, flip] whether the document can be among the first K.
        before: [run, flip] value of the query; NaN if not available.
        after: [run, flip] value with the new grade.
        means: [run] mean over queries.
        new_means: [run, flip] mean after the flip.
    """

    query: Ints
    item: Ints
    old: Ints
    new: Ints
    reaches: Bools
    before: Floats
    after: Floats
    means: Floats
    new_means: Floats


def _flip_table(counted: Sequence[Standings], measure: Measure, *, skip: bool) -> FlipTable:
    """Build the table of flips; with `skip`, a query that a run lacks is not available, whatever its labels."""
    # [row] probability that the document is among the first K: 1, 0, or in between for the group that K cuts.
    tops = [Top(one.limit(measure.cutoff)) for one in counted]
    shares = [top.spans(one.above, one.tied, one.query).mean for top, one in zip(tops, counted, strict=True)]
    items = np.unique(np.concatenate([one.item[share > 0] for one, share in zip(counted, shares, strict=True)]))
    order = np.argsort(counted[0].pool_item)  # the pool of judged documents is the same for every run
    place = order[np.searchsorted(counted[0].pool_item, items, sorter=order)]
    query, old = counted[0].pool_query[place], counted[0].pool_grade[place].astype(np.int64)
    flip, to = np.nonzero(np.arange(1, COLUMNS) != old[:, None])
    query, old, new = query[flip], old[flip], to + 1
    counts = grade_counts(counted[0])
    # A flip moves one document to another grade in the judgments, which determine weights and ideal, and its expected
    # share among the first K. Scores stay, so nothing else changes, and no flip needs another evaluation.
    changed = _move_counts(counts[query], old, new, np.ones(len(flip)))
    values, after, chances = [], [], []
    for one, share in zip(counted, shares, strict=True):
        chance = np.zeros(len(items))
        chance[np.searchsorted(items, one.item[share > 0])] = share[share > 0]
        chances.append(chance[flip])
        place = one.query * COLUMNS + one.grade.astype(np.int64)
        found = sum_by(place, share, one.queries * COLUMNS).reshape(one.queries, COLUMNS)  # expected number by grade
        left_out = one.absent & skip
        values.append(np.where(left_out, np.nan, _values(found, counts, measure)))
        moved = _values(_move_counts(found[query], old, new, chance[flip]), changed, measure)
        after.append(np.where(left_out[query], np.nan, moved))
    before, later = np.array(values)[:, query], np.array(after)
    means, new_means = _means(np.array(values), before, later)
    return FlipTable(query, items[flip], old, new, np.array(chances) > 0, before, later, means, new_means)


def _move_counts(counts: Floats, old: Ints, new: Ints, amount: Floats) -> Floats:
    """[flip, grade] counts with an amount moved from the old grade to the new one."""
    rows, moved = np.arange(len(counts)), counts.copy()
    moved[rows, old] -= amount
    moved[rows, new] += amount
    return moved


def _values(found: Floats, counts: Floats, measure: Measure) -> Floats:
    """[row] RA-nWG from documents found and judged by grade; NaN where it is not available."""
    weights = rarity_weights(counts, measure.number("alpha"), measure.number("cap4"), measure.number("cap3"))
    ideal = best_gain(counts, weights, measure.cutoff or 1)
    total: Floats = (found * weights).sum(axis=1)
    values: Floats = np.divide(total, ideal, out=np.full(len(ideal), np.nan), where=ideal > 0)
    return values


def _means(values: Floats, before: Floats, after: Floats) -> tuple[Floats, Floats]:
    """[run] means over queries, and [run, flip] after one query changed from `before` to `after`."""
    total, count = np.nansum(values, axis=1, keepdims=True), (~np.isnan(values)).sum(axis=1, keepdims=True)
    # Each flip changes one query, so only its value is replaced in the sum; full means would cost flips × queries.
    new_total = total - np.nan_to_num(before) + np.nan_to_num(after)
    new_count = count - ~np.isnan(before) + ~np.isnan(after)
    new_means = np.divide(new_total, new_count, out=np.full(new_total.shape, np.nan), where=new_count > 0)
    return np.divide(total, count, out=np.full(total.shape, np.nan), where=count > 0)[:, 0], new_means


def _flips_of(table: FlipTable, judgments: Judgments, run: int, name: str) -> Flips:
    reaches = np.flatnonzero(table.reaches[run])  # for other documents only weights and ideal would change
    change = (table.after[run] - table.before[run])[reaches]
    raised = (table.new > table.old)[reaches]

    def worst(chosen: Bools, sign: int) -> tuple[LabelFlip, ...]:
        """The flip of each query that changes most, largest change first."""
        order = reaches[chosen][np.argsort(sign * change[chosen], kind="stable")]
        _, first = np.unique(table.query[order], return_index=True)
        return tuple(_flip(table, judgments, run, int(flip)) for flip in order[np.sort(first)])

    falls, rises = change < -LEAST, change > LEAST
    most_fallen, most_risen = worst(falls, 1), worst(rises, -1)
    means = np.append(table.new_means[run, reaches], table.means[run])
    return Flips(
        name,
        len(reaches),
        worst(falls & raised, 1),
        worst(rises & ~raised, -1),
        most_fallen[0] if most_fallen else None,
        most_risen[0] if most_risen else None,
        float(np.fmin.reduce(means)),  # over the available queries
        float(np.fmax.reduce(means)),
    )


def _flip(table: FlipTable, judgments: Judgments, run: int, flip: int) -> LabelFlip:
    row = judgments.frame.row(int(table.item[flip]), named=True)
    before, after = float(table.before[run, flip]), float(table.after[run, flip])
    return LabelFlip(row["query_id"], row["doc_id"], int(table.old[flip]), int(table.new[flip]), before, after)
