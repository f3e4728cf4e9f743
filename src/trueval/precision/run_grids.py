"""Grids of runs: what the scores of run files were rounded to, what that ties, and what would cure it."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np
import polars as pl

from trueval.errors import InputError, TruevalWarning
from trueval.evaluation.defaults import fill_defaults
from trueval.evaluation.evaluate import evaluate
from trueval.judgments import Judgments
from trueval.numerics import or_null
from trueval.precision.grid_result import GridMeasure, GridReport, OffGrid, RunGrid
from trueval.precision.score_grid import UNKNOWN, FoundGrid, Writing, find_grids
from trueval.run import Run
from trueval.standings.groups import tie_groups
from trueval.standings.matching import list_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Unpack

    from trueval.judgments import JudgmentsLike
    from trueval.measures import Measure
    from trueval.measures.grammar import Measures
    from trueval.policy.policy import Policy
    from trueval.policy.policy_choices import PolicyChoices
    from trueval.run import RunsLike
    from trueval.standings.groups import TieGroups
    from trueval.standings.standings import Bools, Floats

SAMPLE: Final = 20_000  # scores that grids are tried on; those that are named are checked on all
TOP: Final = 10  # place in the list at which spacing is stated
CHUNK: Final = 1 << 20  # scores checked at once
EXAMPLES: Final = 3
# How much finer each family could be by one step, and what that step is called.
FINER: Final[Mapping[str, tuple[int, str]]] = {
    "format": (2, "one bit more"),
    "decimals": (10, "one decimal more"),
    "codes": (256, "16 bits"),
}
UNNAMED: Final = "No cure is named: nothing coarser than float32 explains these scores."
UNTIED: Final = "Nothing to cure: no two documents of a list have equal scores."
CURES: Final[Mapping[str, str]] = {
    "format": "Keep logits or embeddings, and compute the last step (softmax, sigmoid, product) in float32.",
    "decimals": "Ask for raw scores or write more decimals: seven tell float32 scores from 0 to 1 apart.",
    "rrf": "Break ties of fused ranks by the scores of one list, or give the lists different weights.",
    "logits": "Sort by the logits, which the sigmoid saturates near 1, and run the last layer in float32.",
    "codes": "Keep float32 vectors of the first 100 documents and score these again.",
}


class Finer(NamedTuple):
    """The step that would make a grid finer: how many values for one, and its name."""

    factor: int
    words: str


def grid_runs(
    runs: RunsLike,
    judgments: JudgmentsLike | None = None,
    measures: Measures | None = None,
    *,
    policy: Policy | None = None,
    **choices: Unpack[PolicyChoices],
) -> GridReport:
    """Find the grid that the scores of each run lie on: `trueval precision runs`.

    Args:
        runs: one or more, as in `compare`.
        judgments: for the measures; None for grids and ties alone.
        measures: as in `evaluate`.
        policy: as in `evaluate`, like the choices.

    Raises:
        InputError: a run is bad, or has no finite score.

    >>> lists = {f"q{i}": {f"d{j}": round((i * 31 + j * 17) % 101 / 101, 2) for j in range(20)} for i in range(20)}
    >>> found = grid_runs([lists]).runs[0]
    >>> found.grid, found.spacing, found.contradicting
    ('2 decimals', 0.01, 0)
    """
    several = Run.of_several(runs)
    if judgments is None:
        return grids_of(((run, None) for run in several), (), None)
    judged = Judgments.of(judgments)
    parsed, chosen = fill_defaults(judged, measures, policy, choices)
    return grids_of(((run, judged) for run in several), parsed, chosen)


def grids_of(
    pairs: Iterable[tuple[Run, Judgments | None]], measures: tuple[Measure, ...], policy: Policy | None
) -> GridReport:
    """As `grid_runs`, of runs with judgments of their own.

    Args:
        pairs: runs, each with its judgments or None.
        measures: of the judgments.
        policy: of the measures.
    """
    found, notes = [], list[str]()
    for run, judgments in pairs:
        grid = _grid_of(run)
        if judgments is not None:
            of_run, remarks = _measures(run, judgments, measures, policy, grid)
            grid, notes = replace(grid, measures=of_run), notes + remarks
        found.append(grid)
    return GridReport(tuple(found), {} if policy is None else policy.to_dict(), tuple(dict.fromkeys(notes)))


def _grid_of(run: Run) -> RunGrid:
    scores = run.documents["score"].to_numpy()
    finite = np.isfinite(scores)
    known = scores if finite.all() else scores[finite]
    if not len(known):
        raise InputError(f"{run.name}: no finite score, so there is no grid to find. Give a run with scores.")
    groups = tie_groups(scores, run.offsets)
    top = _top_score(groups, run)
    sample = known[np.unique(np.linspace(0, len(known) - 1, min(SAMPLE, len(known))).astype(np.int64))]
    grids = find_grids(sample, top)
    single = grids == (UNKNOWN,) and bool((sample == sample.astype(np.float32)).all())
    if single:  # decimals that went through float32, as in parquet, are decimals in their shortest form
        sample = shortest(sample)
        grids = find_grids(sample, top)
    first = grids[0]
    named = None if first.grid is None else first.grid
    off = _off_grids(scores, grids, Writing.of(np.unique(sample)), single=single)
    finer = Finer(*FINER[named.family]) if named is not None and named.family in FINER else None
    tied = groups.size[groups.size > 1]
    total = max(len(scores), 1)
    return RunGrid(
        name=run.name,
        scores=len(known),
        distinct=len(np.unique(sample)),
        grid=None if named is None else named.name,
        family=None if named is None else named.family,
        top=top,
        spacing=first.spacing,
        share=first.share,
        confidence=first.confidence,
        contradicting=int(off.sum()),
        examples=_examples(run, scores, off),
        second=_second(grids),
        tied_fraction=float(tied.sum()) / total,
        largest_group=int(groups.size.max(initial=0)),
        finer=None if finer is None else finer.words,
        finer_tied=None if finer is None else float((tied * (1 - (1 - 1 / finer.factor) ** (tied - 1))).sum()) / total,
        measures=(),
        cure=UNTIED if not len(tied) else UNNAMED if named is None else CURES[named.family],
    )


def shortest(values: Floats) -> Floats:
    """Values of float32 as the shortest decimals that it reads as them.

    >>> shortest(np.array([np.float32(0.12)], dtype=np.float64)).tolist()
    [0.12]
    """
    different, place = np.unique(values.astype(np.float32), return_inverse=True)
    return np.asarray(different.astype(str).astype(np.float64)[place])


def _second(grids: tuple[FoundGrid, ...]) -> str | None:
    if len(grids) == 1:
        return None
    return "not known" if grids[1].grid is None else grids[1].grid.name


def _top_score(groups: TieGroups, run: Run) -> float:
    """The score at the tenth place or the last one, the median over lists."""
    lengths = np.diff(run.offsets)
    place = (run.offsets[:-1] + np.minimum(TOP, lengths) - 1)[lengths > 0]
    of = np.searchsorted(groups.start, place, side="right") - 1
    top = groups.score[of]
    top = np.sort(top[np.isfinite(top)])
    return float(top[len(top) // 2]) if len(top) else 1.0


def _off_grids(scores: Floats, grids: tuple[FoundGrid, ...], writing: Writing, *, single: bool) -> Bools:
    """[document] whether a score is on no grid; nothing is, where a part of the file is on none that is known."""
    off = np.zeros(len(scores), dtype=bool)
    several = [each.grid for each in grids if each.grid is not None]
    if len(several) < len(grids):
        return off
    for start in range(0, len(scores), CHUNK):
        part = scores[start : start + CHUNK]
        finite = np.isfinite(part)
        values = np.where(finite, part, 0.0)
        values = shortest(values) if single else values
        slack = writing.slack(values)
        on = np.logical_or.reduce([grid.place(values, slack).on for grid in several])
        off[start : start + CHUNK] = finite & ~on
    return off


def _examples(run: Run, scores: Floats, off: Bools) -> tuple[OffGrid, ...]:
    rows = np.flatnonzero(off)[:EXAMPLES]
    queries = run.query_ids.gather(list_of(rows, run.offsets)).to_list()
    documents = run.documents["doc_id"].gather(rows).to_list()
    return tuple(map(OffGrid, queries, documents, scores[rows].tolist()))


def _measures(
    run: Run, judgments: Judgments, measures: tuple[Measure, ...], policy: Policy | None, grid: RunGrid
) -> tuple[tuple[GridMeasure, ...], list[str]]:
    """The measures of a run, and the ranges that one digit more would leave."""
    finer = None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", TruevalWarning)  # the same lines are in the notes
        scores = evaluate(run, judgments, measures, policy=policy)
        if grid.family is not None and grid.family in FINER:
            split = _split(run, FINER[grid.family][0])
            own = None if policy is None else replace(policy, tie_precision=None)
            finer = evaluate(split, judgments, measures, policy=own)
    rows = []
    for measure in scores.measures:
        mean = scores.mean(measure)
        after = None if finer is None else or_null(finer.mean(measure).range)
        rows.append(GridMeasure(str(measure), mean.expected, mean.lowest, mean.range, or_null(mean.bias), after))
    return tuple(rows), list(scores.notes)


def _split(run: Run, factor: int) -> Run:
    """The run with each group of ties split into so many parts at random, in the order of its scores."""
    scores = run.documents["score"].to_numpy()
    _, place = np.unique(scores, return_inverse=True)
    parts = np.random.default_rng(0).integers(factor, size=len(scores))
    return replace(
        run, documents=run.documents.with_columns(pl.Series("score", (place * factor + parts).astype(np.float64)))
    )
