"""Evaluation: a run, judgments and measures in; Scores out."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import cache, lru_cache
from typing import Any, TypeAlias

import numpy as np

from trueval.conventions import TOOLS, Policy, policy
from trueval.counting import standings, standings_from_arrays
from trueval.errors import InputError, PolicyError, TruevalWarning
from trueval.files.ragged import ragged
from trueval.input_rules import check_binary, judgments_under, retrieved_only, whole_grades, without_first
from trueval.judgments import Judgments
from trueval.label_order import tie_order_notes
from trueval.measures import Measure, Values, parse_list
from trueval.measures.bpref import unopposed
from trueval.run import Run
from trueval.scores import STATISTICS, Scores, Ties
from trueval.standings import Bools, Floats, Standings
from trueval.threshold_notes import threshold_notes

Measures: TypeAlias = "str | Measure | Iterable[str | Measure]"

# Values that equal others of their type only if they choose the same.
PLAIN = (str, int, float, type(None))


def evaluate(
    run: Run,
    judgments: Judgments,
    measures: Measures,
    *,
    convention: str | Policy | None = None,
    tie_order: str | None = None,
    tie_precision: str | float | None = None,
    rel: float | None = None,
    base: str | None = None,
    empty: str | None = None,
    missing: str | None = None,
    depth: int | None = None,
    judged_only: bool | None = None,
    seed: int | None = None,
) -> Scores:
    """Evaluate a run exactly under ties.

    Args:
        run: the scores a system gave.
        judgments: grades; their queries are the evaluated ones, in their order.
        measures: texts or Measures; blanks outside brackets separate several in one text.
        convention: preset of another tool, or a whole Policy, over which the other choices win; None for ours.
        tie_order: order of tied documents for the oblivious value; "docid-desc" unless a convention says otherwise.
        tie_precision: number format or grid width that decides what is tied; None as read.
        rel: threshold of relevance for measures that do not name their own; 1.
        base: "judgments" or "list", for measures that do not name their own.
        empty: a query without relevant documents: "zero", "one", "skip" or "error".
        missing: a judged query that the run lacks: "worst", "skip" or "error".
        depth: ranks past this one count for nothing (trec_eval -M).
        judged_only: leave documents without a grade out of the lists (trec_eval -J).
        seed: of the random tie order.

    Returns:
        Scores, with one-line notes on what looks wrong; each is also a TruevalWarning.

    Raises:
        InputError: no query is judged, a policy of "error" applies, or a score overflows the tie precision.
        MeasureError: a measure cannot be read.
        PolicyError: a choice is unknown.
    """
    _check_roles(run, judgments)
    chosen = policy(
        convention,
        tie_order=tie_order,
        tie_precision=tie_precision,
        rel=rel,
        base=base,
        empty=empty,
        missing=missing,
        depth=depth,
        judged_only=judged_only,
        seed=seed,
    )
    judged = judgments_under(judgments, chosen.float_grades)
    listed = without_first(run) if chosen.skip_first else run

    @cache
    def count(counting: Policy) -> Standings:
        found = standings(
            listed,
            judged,
            tie_precision=counting.tie_precision,
            tie_order=counting.tie_order,
            seed=counting.seed,
            depth=counting.depth,
            judged_only=counting.judged_only,
        )
        return found if counting.nonpositive == "retrieved" else retrieved_only(found)

    unjudged, parsed = _unjudged_queries(run, judgments), parse_list(measures)
    counted = count(_counting(chosen))
    notes = (*judgments.notes, *run.notes, *_notes(run, judgments, counted, unjudged))
    notes += _facet_notes(run.name, counted, parsed) + threshold_notes(run.name, counted, parsed, chosen)
    notes += tie_order_notes(run.name, counted, chosen.tie_order)
    return _score(run.name, judgments.query_ids.to_list(), count, parsed, chosen, unjudged, notes)


def evaluate_arrays(
    score_lists: Any,
    grade_lists: Any,
    measures: Measures,
    *,
    mask: Any = None,
    convention: str | Policy | None = None,
    tie_order: str | None = None,
    tie_precision: str | float | None = None,
    rel: float | None = None,
    empty: str | None = None,
    depth: int | None = None,
    judged_only: bool | None = None,
    seed: int | None = None,
    name: str = "arrays",
) -> Scores:
    """Evaluate lists of scores and grades of the same documents; no ids needed.

    Args:
        score_lists: [query, document] array, tensor or ragged lists of scores; NaN is an error.
        grade_lists: the same shape; NaN or a grade below 0 means unjudged.
        measures: as in evaluate.
        mask: the same shape, False for padding; None if there is none.
        convention: as in evaluate; its tie order must not need document ids, nor may it skip first results.
        tie_order: one without ids, such as "random"; "input" unless a convention says otherwise.
        tie_precision: as in evaluate.
        rel: as in evaluate.
        empty: as in evaluate.
        depth: as in evaluate.
        judged_only: as in evaluate.
        seed: as in evaluate.
        name: of the run in tables.

    Returns:
        Scores with queries "0", "1", ...

    Raises:
        InputError: shapes differ, or a score is NaN.
        PolicyError: a choice needs document ids.

    >>> evaluate_arrays([[0.9, 0.5, 0.5]], [[0, 1, 0]], "RR").mean("RR").expected == (1 / 2 + 1 / 3) / 2
    True
    """
    chosen = _policy(
        convention,
        tie_order=tie_order or (None if convention else "input"),
        tie_precision=tie_precision,
        rel=rel,
        empty=empty,
        depth=depth,
        judged_only=judged_only,
        seed=seed,
    )
    parsed = _parsed(measures)
    scores, grades, offsets = ragged(score_lists, grade_lists, mask)
    grades = whole_grades(grades, chosen.float_grades, name)
    if chosen.skip_first:
        raise PolicyError("skip_first needs a run with document ids. Drop the first results from the arrays instead.")

    @cache
    def count(counting: Policy) -> Standings:
        found = standings_from_arrays(
            scores,
            grades,
            offsets,
            tie_precision=counting.tie_precision,
            tie_order=counting.tie_order,
            seed=counting.seed,
            depth=counting.depth,
            judged_only=counting.judged_only,
            keep_zeros=chosen.rel <= 0 or any(measure.needs_zeros for measure in parsed),
        )
        return found if counting.nonpositive == "retrieved" else retrieved_only(found)

    return _score(name, [str(query) for query in range(len(offsets) - 1)], count, parsed, chosen, (), ())


def _policy(convention: str | Policy | None, **choices: Any) -> Policy:
    """The policy; what a loop chooses again by the same plain values is not put together again."""
    plain = all(isinstance(value, PLAIN) for value in (convention, *choices.values()))
    return (_kept_policy if plain else policy)(convention, **choices)


def _parsed(measures: Measures) -> tuple[Measure, ...]:
    """The measures; texts that a loop names again are not read again."""
    if isinstance(measures, Measure):
        return (measures,)
    texts = (measures,) if isinstance(measures, str) else tuple(measures)
    return _parsed_texts(texts) if all(isinstance(text, str) for text in texts) else parse_list(texts)


# Some hundred choices and lists of measures are more than a program has, and few to keep. 1 and 1.0 are kept apart, so
# that a policy says what was chosen.
_kept_policy = lru_cache(maxsize=256, typed=True)(policy)
_parsed_texts = lru_cache(maxsize=256)(parse_list)


def _counting(chosen: Policy) -> Policy:
    """The choices on which standings depend, the others as ours: policies that count alike share their standings."""
    return Policy(
        tie_order="unspecified" if chosen.tie_order == "average" else chosen.tie_order,
        tie_precision=chosen.tie_precision,
        depth=chosen.depth,
        judged_only=chosen.judged_only,
        seed=chosen.seed,
        nonpositive=chosen.nonpositive,
    )


def _score(
    name: str,
    query_ids: Sequence[str],
    count: Callable[[Policy], Standings],
    measures: tuple[Measure, ...],
    chosen: Policy,
    unjudged: tuple[str, ...],
    notes: tuple[str, ...],
) -> Scores:
    counted = count(_counting(chosen))
    absent = counted.listed == 0
    missing = tuple(query_ids[index] for index in np.flatnonzero(absent).tolist())
    if chosen.missing == "error" and missing:
        raise InputError(
            f"{name} lacks {len(missing)} of {len(query_ids)} judged queries, the first {missing[0]!r}. "
            "Count them with --missing worst, or leave them out with --missing skip (in Python missing='worst' or "
            "missing='skip')."
        )
    own = [chosen.of(measure) for measure in measures]
    standings_of = [counted if each is chosen else count(_counting(each)) for each in own]
    settled = [each.settle(measure) for measure, each in zip(measures, own, strict=True)]
    columns = [
        _measure(found, measure, effective, each, absent, query_ids)
        for found, measure, effective, each in zip(standings_of, measures, settled, own, strict=True)
    ]
    by_measure = np.array([[getattr(values, statistic) for values in columns] for statistic in STATISTICS])
    statistics = dict(zip(STATISTICS, by_measure.transpose(0, 2, 1).copy(), strict=True))
    notes += _open_orders(name, measures, statistics["oblivious"], statistics["expected"], chosen)
    for note in notes:
        warnings.warn(note, TruevalWarning, stacklevel=3)
    return Scores(
        name,
        tuple(query_ids),
        measures,
        exact=tuple(values.exact for values in columns),
        ties=_ties(counted, query_ids, measures),
        missing_queries=missing,
        unjudged_queries=unjudged,
        policy=chosen,
        notes=notes,
        matched=counted.matched,
        details=tuple(_details(*each) for each in zip(settled, standings_of, columns, strict=True)),
        **statistics,
    )


def _details(settled: Measure, counted: Standings, values: Values) -> dict[str, float]:
    """What belongs beside the mean of a measure; how far its expectation can be off, where that is bounded only."""
    if values.margin is None:
        return {**settled.details(counted)}
    known = values.margin[~np.isnan(values.expected)]
    return {**settled.details(counted), "expected_within": float(known.sum()) / max(len(known), 1)}


def _measure(
    counted: Standings, measure: Measure, settled: Measure, chosen: Policy, absent: Bools, query_ids: Sequence[str]
) -> Values:
    """One measure, as asked for and with what it leaves to the policy settled, where queries are absent or empty."""
    if chosen.labels == "binary":
        check_binary(counted, measure)
    values = _with_order(settled.evaluate(_some_order(counted)), counted, chosen.tie_order)
    if settled.name == "bpref" and chosen.convention and TOOLS[chosen.convention].no_bpref:
        values = values._replace(oblivious=np.where(unopposed(counted, settled), np.nan, values.oblivious))
    some_absent, some_undefined = bool(absent.any()), bool(values.undefined.any())
    if not some_absent and not some_undefined:
        return values
    empty = "skip" if measure.definition.empty == "na" else chosen.empty
    if empty == "error" and some_undefined:
        first = query_ids[int(np.flatnonzero(values.undefined)[0])]
        raise InputError(
            f"{measure} is undefined for {int(values.undefined.sum())} queries without a relevant document, the first "
            f"{first!r}. Count them as 0 with empty='zero', or leave them out with empty='skip'."
        )

    def settle(column: Floats, worst: float, nothing: float) -> Floats:
        column = np.where(absent, np.nan if chosen.missing == "skip" else worst, column)
        return np.where(values.undefined, 0.0 * column + nothing, column)

    worst, nothing = measure.definition.worst, {"zero": 0.0, "one": 1.0}.get(empty, np.nan)
    return values._replace(
        expected=settle(values.expected, worst, nothing),
        lowest=settle(values.lowest, worst, nothing),
        highest=settle(values.highest, worst, nothing),
        oblivious=settle(values.oblivious, worst, nothing),
        sd=settle(values.sd, 0.0, 0.0 * nothing),
    )


def _some_order(counted: Standings) -> Standings:
    """The same standings with an order where none is known; what it says there is not used."""
    return counted if counted.order_is_known else replace(counted, ahead=np.maximum(counted.ahead, 0))


def _with_order(values: Values, counted: Standings, tie_order: str) -> Values:
    """Values whose oblivious one is the mean, or is left out where the order is not known and matters."""
    if not values.ordered or counted.order_is_known:
        return values
    unknown = counted.order_unknown
    if tie_order == "average":
        return values._replace(oblivious=np.where(unknown, values.expected, values.oblivious))
    decided = np.where(values.lowest == values.highest, values.lowest, np.nan)
    return values._replace(oblivious=np.where(unknown, decided, values.oblivious))


def _open_orders(
    name: str, measures: Sequence[Measure], oblivious: Floats, expected: Floats, chosen: Policy
) -> tuple[str, ...]:
    """A line for each reason why some oblivious values, [query, measure], are not available."""
    lost = (np.isnan(oblivious) & ~np.isnan(expected)).sum(axis=0).tolist()
    if not any(lost):
        return ()
    tool = TOOLS[chosen.convention] if chosen.convention else None
    order = (tool and tool.order) or f"tie order {chosen.tie_order!r} leaves the order of equal scores open"
    named: dict[str, list[str]] = {}
    for measure, count in zip(measures, lost, strict=True):
        if count:
            because = tool.no_bpref if tool and tool.no_bpref and measure.name == "bpref" else order
            named.setdefault(because, []).append(f"{measure} ({count})")
    return tuple(
        f"{name}: {because}; queries without an oblivious value: {', '.join(each)}." for because, each in named.items()
    )


def _ties(counted: Standings, query_ids: Sequence[str], measures: tuple[Measure, ...]) -> Ties:
    listed = int(counted.listed.sum())
    reach = max((counted.limit(measure.cutoff) for measure in measures), default=0)
    cut = np.flatnonzero(counted.possibly_cut & (counted.last_above < reach))
    fraction = float(counted.tied_documents.sum()) / listed if listed else 0.0
    return Ties(fraction, int(counted.largest_group.max(initial=0)), tuple(query_ids[index] for index in cut.tolist()))


def _unjudged_queries(run: Run, judgments: Judgments) -> tuple[str, ...]:
    known = run.query_ids.is_in(judgments.query_ids.implode())
    return tuple(run.query_ids.filter(~known).to_list())


def _notes(run: Run, judgments: Judgments, counted: Standings, unjudged: tuple[str, ...]) -> tuple[str, ...]:
    """One line for each thing that looks wrong about a pair of run and judgments."""
    notes = []
    missing = judgments.query_ids.to_numpy()[counted.listed == 0].tolist()
    if len(unjudged) == len(run.query_ids):
        notes.append(
            f"{run.name}: no query of the run is judged. Queries look like {_sample(run.query_ids.to_list())} in the "
            f"run and {_sample(judgments.query_ids.to_list())} in the judgments; are the ids the same?"
        )
    elif unjudged:
        notes.append(f"{run.name}: without judgments and left out: {_queries(unjudged)}.")
    if missing and len(unjudged) < len(run.query_ids):
        notes.append(f"{run.name}: judged and missing from the run: {_queries(missing)}.")
    if not len(counted.query) and len(counted.pool_query) and counted.listed.any():
        notes.append(
            f"{run.name}: no retrieved document is judged. Documents look like {_sample(_doc_ids(run))} in the run and "
            f"{_sample(_doc_ids(judgments))} in the judgments; are the ids the same?"
        )
    return tuple(notes)


def _check_roles(run: object, judgments: object) -> None:
    """Refuse swapped arguments and things that are neither."""
    if not isinstance(run, Run) or not isinstance(judgments, Judgments):
        got = f"{type(run).__name__} and {type(judgments).__name__}"
        raise InputError(f"evaluate takes a Run, then Judgments. Got {got}. Make them with Run.read or Run.from_dict.")


def _facet_notes(name: str, counted: Standings, measures: Sequence[Measure]) -> tuple[str, ...]:
    """Say that a measure of facets sees one facet only, as in ordinary judgments, whose second column says nothing."""
    of_facets = next((measure for measure in measures if measure.needs_facets), None)
    if of_facets is None or counted.facets is None or len(np.unique(counted.facets.facet)) != 1:
        return ()
    return (
        f"{name}: {of_facets} sees one facet: the second column of the judgments is the same on every line. Diversity "
        "judgments name the facet, subtopic or intent there.",
    )


def _doc_ids(table: Run | Judgments) -> list[str]:
    ids: list[str] = table.frame["doc_id"].head(3).to_list()
    return ids


def _queries(ids: Sequence[str]) -> str:
    return f"{len(ids)} {'query' if len(ids) == 1 else 'queries'}, {_sample(ids)}"


def _sample(ids: Sequence[str], most: int = 3) -> str:
    """The first few ids, quoted.

    >>> _sample(["a", "b", "c", "d"])
    "'a', 'b', 'c', ..."
    """
    shown = ", ".join(repr(one) for one in ids[:most])
    return shown + (", ..." if len(ids) > most else "")
