"""Evaluation: a run, judgments and measures in; Scores out."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any, TypeAlias

import numpy as np

from trueval.errors import InputError, TruevalWarning
from trueval.evaluation.label_order import tie_order_notes
from trueval.evaluation.notes import threshold_notes
from trueval.evaluation.scores import STATISTICS, Scores, Ties
from trueval.files.memory.ragged import ragged
from trueval.judgments import Judgments
from trueval.measures import Measure, Values, parse_list
from trueval.measures.bpref import unopposed
from trueval.policy.conventions import TOOLS, Policy, choose
from trueval.run import Run
from trueval.standings.counting import Arrays, counter
from trueval.standings.input_rules import check_binary
from trueval.standings.standings import Bools, Floats, Standings

Measures: TypeAlias = "str | Measure | Iterable[str | Measure]"

# Values that equal others of their type only if they choose the same.
PLAIN = (str, int, float, type(None))


def evaluate(
    run: Run, judgments: Judgments, measures: Measures, *, policy: Policy | None = None, **choices: Any
) -> Scores:
    """Evaluate a run exactly under ties.

    Args:
        run: the scores a system gave.
        judgments: grades; their queries are the evaluated ones, in their order.
        measures: texts or Measures; spaces outside brackets separate several in one text.
        policy: every choice that changes a number; None for ours.
        choices: single attributes of Policy, which win over those of `policy`: tie_order, tie_precision, rel, base,
            empty, missing, depth, judged_only, seed and so on; convention="ranx" begins from a tool's own.

    Returns:
        Scores, with one-line notes on what looks wrong; each is also a TruevalWarning.

    Raises:
        InputError: no query is judged, a policy of "error" applies, or a score overflows the tie precision.
        MeasureError: a measure cannot be read.
        PolicyError: a choice is unknown.
    """
    _check_roles(run, judgments)
    chosen = choose(policy, choices)
    unjudged, parsed = _unjudged_queries(run, judgments), parse_list(measures)
    count = counter(run, judgments)
    counted = count(chosen)
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
    name: str = "arrays",
    policy: Policy | None = None,
    **choices: Any,
) -> Scores:
    """Evaluate lists of scores and grades of the same documents; no ids needed.

    Args:
        score_lists: [query, document] array, tensor or ragged lists of scores; NaN is an error.
        grade_lists: the same shape; NaN or a grade below 0 means unjudged.
        measures: as in evaluate.
        mask: the same shape, False for padding; None if there is none.
        name: of the run in tables.
        policy: as in evaluate; it must not need document ids, nor skip first results.
        choices: as in evaluate; without policy and convention the tie order is "input".

    Returns:
        Scores with queries "0", "1", ...

    Raises:
        InputError: shapes differ, or a score is NaN.
        PolicyError: a choice needs document ids.

    >>> evaluate_arrays([[0.9, 0.5, 0.5]], [[0, 1, 0]], "RR").mean("RR").expected == (1 / 2 + 1 / 3) / 2
    True
    """
    if policy is None and choices.get("convention") is None and choices.get("tie_order") is None:
        choices["tie_order"] = "input"  # ours, docid-desc, needs ids
    chosen = _chosen(policy, choices)
    parsed = _parsed(measures)
    scores, grades, offsets = ragged(score_lists, grade_lists, mask)
    # The zeros can matter where lists end: which documents are in the list may be left to chance there.
    keep_zeros = chosen.depth is not None or chosen.rel <= 0 or any(measure.needs_zeros for measure in parsed)
    count = counter(Arrays(scores, grades, offsets, name, keep_zeros), None)
    return _score(name, [str(query) for query in range(len(offsets) - 1)], count, parsed, chosen, (), ())


def _chosen(policy: Policy | None, choices: Mapping[str, Any]) -> Policy:
    """The policy of a call; what a loop chooses again by the same plain values is not put together again."""
    if all(isinstance(value, PLAIN) for value in choices.values()):
        return _kept(policy, **choices)
    return choose(policy, choices)


@lru_cache(maxsize=256, typed=True)  # typed: 1 and 1.0 are kept apart, so that a policy says what was chosen
def _kept(policy: Policy | None, **choices: Any) -> Policy:
    return choose(policy, choices)


def _parsed(measures: Measures) -> tuple[Measure, ...]:
    """The measures; texts that a loop names again are not read again."""
    if isinstance(measures, Measure):
        return (measures,)
    texts = (measures,) if isinstance(measures, str) else tuple(measures)
    return _parsed_texts(texts) if all(isinstance(text, str) for text in texts) else parse_list(texts)


# Some hundred lists of measures are more than a program has, and few to keep.
_parsed_texts = lru_cache(maxsize=256)(parse_list)


def _score(
    name: str,
    query_ids: Sequence[str],
    count: Callable[[Policy], Standings],
    measures: tuple[Measure, ...],
    chosen: Policy,
    unjudged: tuple[str, ...],
    notes: tuple[str, ...],
) -> Scores:
    counted = count(chosen)
    absent = counted.listed == 0
    missing = tuple(query_ids[index] for index in np.flatnonzero(absent).tolist())
    if chosen.missing == "error" and missing:
        raise InputError(
            f"{name} lacks {len(missing)} of {len(query_ids)} judged queries, the first {missing[0]!r}. "
            "Count them with --missing worst, or leave them out with --missing skip (in Python missing='worst' or "
            "missing='skip')."
        )
    own = [chosen.of(measure) for measure in measures]
    standings_of = [counted if each is chosen else count(each) for each in own]
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
    """What belongs beside the mean of a measure, about the same queries: those that have a value under the policy.

    It says also how far the expectation can be off, where that is bounded only.
    """
    in_mean = ~np.isnan(values.expected)
    details = {**settled.details(counted, in_mean)}
    if values.margin is None:
        return details
    known = values.margin[in_mean]
    return details | {"expected_within": float(known.sum()) / max(len(known), 1)}


def _measure(
    counted: Standings, measure: Measure, settled: Measure, chosen: Policy, absent: Bools, query_ids: Sequence[str]
) -> Values:
    """One measure, as asked for and with what it leaves to the policy settled, where queries are absent or empty."""
    if chosen.labels == "binary":
        check_binary(counted, measure)
    values = _with_order(settled.evaluate(_some_order(counted)), counted, chosen.tie_order)
    if settled.name == "bpref" and chosen.convention and TOOLS[chosen.convention].no_bpref:
        values = values._replace(oblivious=np.where(unopposed(counted, settled), np.nan, values.oblivious))
    partly = values.partly_empty
    undefined = values.undefined if partly is None else values.undefined | partly.undefined
    some_absent, some_undefined = bool(absent.any()), bool(undefined.any())
    if not some_absent and not some_undefined:
        return values
    empty = "skip" if measure.definition.empty == "na" else chosen.empty
    if empty == "error" and some_undefined:
        first = query_ids[int(np.flatnonzero(undefined)[0])]
        raise InputError(
            f"{measure} is undefined for {int(undefined.sum())} queries without a relevant document, the first "
            f"{first!r}. Count them as 0 with empty='zero', or leave them out with empty='skip'."
        )

    def settle(column: Floats, worst: float, nothing: float) -> Floats:
        column = np.where(absent, np.nan if chosen.missing == "skip" else worst, column)
        return np.where(values.undefined, 0.0 * column + nothing, column)

    worst, nothing = measure.definition.worst, {"zero": 0.0, "one": 1.0}.get(empty, np.nan)
    if partly is not None and empty == "one":
        values = _with_order(partly, counted, chosen.tie_order)._replace(undefined=values.undefined)
    elif partly is not None and empty != "zero":  # some order has no value, so there is none over all orders
        values = values._replace(undefined=undefined)
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
    if counted.order_is_known:
        return values
    if not values.ordered:  # tied documents enter together, if they are in the list
        open_end = counted.sum_by_query(counted.is_cut & (counted.ahead < 0)) > 0
        return values._replace(oblivious=np.where(open_end, np.nan, values.oblivious))
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
