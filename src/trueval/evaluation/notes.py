"""Notes: one line per anomaly in a run, its judgments, or the requested measures."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from trueval.evaluation.label_order import tie_order_notes
from trueval.judgments import Judgments
from trueval.measures import Measure
from trueval.measures.grade_values import WORTHS
from trueval.policy.conventions import TOOLS
from trueval.policy.policy import LEAST_POSITIVE, Policy
from trueval.printable import first_ids
from trueval.run import Run
from trueval.standings.corpus.corpus_scorer import CorpusScorer
from trueval.standings.standings import Floats, Standings

# Measures that read grades on the rubric 1 to 5 of P-B.
RUBRIC = frozenset({*WORTHS, "UDCG-proxy"})
# The lowest grade of that rubric with any value to a reader.
LEAST_OF_WORTH = 3
# Largest grades of judgments on the rubric 1 to 5 of P-B, which may lack a 5.
TOP_OF_RUBRICS = (4, 5)
# Measures that sum gains of grades; ERR and RBP by scale map grades to probabilities.
GAINING = frozenset({"nDCG", "DCG"})
# What a note says of a measure whose threshold no grade reaches.
NOTHING_RELEVANT = "finds nothing relevant in any run"
# Maximum number of measures that the note on gains of a golden set names.
MOST_PAYING = 2
# Maximum number of distinct grades for which a note prints the whole mapping.
MOST_WRITTEN = 12


class GradeCures(NamedTuple):
    """The user's options for the meaning of grades, with {} in place of the value.

    Attributes:
        rel: option for the lowest relevant grade.
        grades: option for a mapping of grades.
    """

    rel: str
    grades: str


OPTIONS = GradeCures("--rel {}", "--grades {}")  # options of the command line
OF_SWEEPS = GradeCures("rel = {} in [measure]", 'grades = "{}" there')  # keys of a sweep file


def notes_of(
    run: Run | CorpusScorer,
    judgments: Judgments,
    counted: Standings,
    unjudged: tuple[str, ...],
    measures: Sequence[Measure],
    chosen: Policy,
) -> tuple[str, ...]:
    """Notes on a run in evaluation.

    Args:
        run: run, or scorer of a corpus.
        judgments: judgments of the evaluation.
        unjudged: queries of the run without judgments.
        measures: measures as requested.
        chosen: policy of the evaluation.
    """
    gold = _gold_notes(run.name, counted, measures, chosen)
    # Do not repeat the note on AllGold.
    others = [measure for measure in measures if not (gold and measure.name == "AllGold")]
    low = note_low_thresholds(counted.pool_grade, others, chosen)
    return (
        *_query_notes(run, judgments, counted, unjudged, chosen),
        *_facet_notes(run.name, counted, measures),
        *gold,
        *_other_scale(counted.pool_grade, measures),
        *_note_high_thresholds(run.name, counted, measures, chosen),
        *low,
        # The note on low thresholds names these measures too.
        *(_rubric_gains(counted.pool_grade, measures, chosen) if judgments.rubric and not low else ()),
        *tie_order_notes(run.name, counted, chosen.tie_order),
        *_reading_order(run, counted, chosen),
    )


def _reading_order(run: Run | CorpusScorer, counted: Standings, chosen: Policy) -> tuple[str, ...]:
    """Whose order the tie-broken value of a log of contexts takes, where documents tie."""
    if not (isinstance(run, Run) and run.in_reading_order and counted.tied_documents.any()):
        return ()
    if chosen.tie_order == "input":
        order = "equal scores are in the order of the log, in which the model read them (tie order input)"
    else:
        order = f"equal scores are in the tie order {chosen.tie_order}; --tie-order input is that of the log"
    return (f"{run.name}: {order}; expected, lowest and highest values are over all orders.",)


def _query_notes(
    run: Run | CorpusScorer, judgments: Judgments, counted: Standings, unjudged: tuple[str, ...], chosen: Policy
) -> tuple[str, ...]:
    """One line per anomaly in a pair of run and judgments."""
    notes = []
    missing, emptied = (
        judgments.query_ids.filter(pl.Series(which)).to_list()
        for which in (counted.absent, ~counted.absent & (counted.listed == 0))
    )
    if unjudged:
        notes.append(f"{run.name}: without judgments and left out: {_queries(unjudged)}.")
    if missing:
        notes.append(f"{run.name}: judged and missing from the run: {_queries(missing)}.")
    # Lists that were given empty are reported in the notes of the run.
    given = set(run.empty) if isinstance(run, Run) else set()
    emptied = [query for query in emptied if query not in given]
    if emptied:
        rules = [option for option in ("skip_first", "judged_only") if getattr(chosen, option)]
        notes.append(
            f"{run.name}: nothing is left of the list of {_queries(emptied)} ({', '.join(rules)}); it counts as an "
            "empty list, not as a missing query."
        )
    nobody_knows = counted.listed.any() or (bool(emptied) and not chosen.skip_first)
    if not len(counted.query) and len(counted.pool_query) and nobody_knows:
        notes.append(unknown_documents(run, judgments))
    return tuple(notes)


def unknown_documents(run: Run | CorpusScorer, judgments: Judgments) -> str:
    """The line for a run without any judged document."""
    ids = run.documents["doc_id"] if isinstance(run, Run) else run.doc_ids
    of_run, of_judgments = (first_ids(each.head(3).to_list()) for each in (ids, judgments.frame["doc_id"]))
    return (
        f"{run.name}: no retrieved document is judged. Documents look like {of_run} in the run and {of_judgments} in "
        "the judgments; are the ids the same? After a corpus is cut anew, trueval golden anchor carries labels over."
    )


def _facet_notes(name: str, counted: Standings, measures: Sequence[Measure]) -> tuple[str, ...]:
    """Note that a measure of facets sees one facet only, as in ordinary judgments, whose second column is unused."""
    of_facets = next((measure for measure in measures if measure.needs_facets), None)
    if of_facets is None or counted.facets is None or len(np.unique(counted.facets.facet)) != 1:
        return ()
    return (
        f"{name}: {of_facets} sees one facet: the second column of the judgments is the same on every line. Diversity "
        "judgments name the facet, subtopic or intent there.",
    )


def open_orders(
    name: str, measures: Sequence[Measure], tie_broken: Floats, expected: Floats, chosen: Policy
) -> tuple[str, ...]:
    """One line per reason why some tie-broken values, [query, measure], are not available."""
    lost = (np.isnan(tie_broken) & ~np.isnan(expected)).sum(axis=0).tolist()
    if not any(lost):
        return ()
    order = TOOLS[chosen.convention].order if chosen.convention else ""
    order = order or f"tie order {chosen.tie_order!r} leaves the order of equal scores open"
    unopposed = "bpref divides 0 by 0 where nothing judged is not relevant"
    named: dict[str, list[str]] = {}
    for measure, count in zip(measures, lost, strict=True):
        if count:
            divided = measure.name == "bpref" and measure.under(chosen)["unopposed"] == "undefined"
            because = " and ".join([unopposed, *([TOOLS[chosen.convention].order] if chosen.convention else [])])
            named.setdefault(because if divided else order, []).append(f"{measure} ({count})")
    return tuple(
        f"{name}: {because}; queries without a tie-broken value: {', '.join(each)}." for because, each in named.items()
    )


def _queries(ids: Sequence[str]) -> str:
    return f"{len(ids)} {'query' if len(ids) == 1 else 'queries'}, {first_ids(ids)}"


def _gold_notes(name: str, standings: Standings, measures: Sequence[Measure], chosen: Policy) -> tuple[str, ...]:
    """Note that AllGold takes grade 1 for gold where the grades look like the rubric 1 to 5 of P-B, whose gold is 4."""
    grades = standings.pool_grade
    open_threshold = [measure for measure in measures if measure.name == "AllGold" and not measure.chosen]
    # A rubric from 1 has no grade 0; without judgments there is no rubric.
    looks_like_rubric = len(grades) and grades.min() >= 1 and grades.max() in TOP_OF_RUBRICS
    if not looks_like_rubric or not open_threshold or chosen.rel > 1:
        return ()
    return (
        f"{name}: {open_threshold[0]} takes every grade from {chosen.rel:g} on for gold. On the rubric 1 to 5 gold "
        "is grade 4 and 5: write AllGold(rel=4), or choose rel 4.",
    )


def _other_scale(grades: Floats, measures: Sequence[Measure]) -> tuple[str, ...]:
    """Note that measures of the rubric 1 to 5 see only its grades for "not relevant", as in binary judgments."""
    of_rubric = [measure for measure in measures if measure.innermost.name in RUBRIC]
    if not of_rubric or not len(grades) or not 0 < grades.max() < LEAST_OF_WORTH:
        return ()
    reads = "reads" if len(of_rubric) == 1 else "read"
    return (
        f"judgments: {', '.join(map(str, of_rubric))} {reads} grades on the rubric 1 to 5, where 1 and 2 are not "
        f"relevant, and the largest of the judgments is {grades.max():g}. On another scale, map the grades, such as "
        "--grades 0:1,1:5 (in Python judgments.map_grades).",
    )


def _rubric_gains(grades: Floats, measures: Sequence[Measure], chosen: Policy) -> tuple[str, ...]:
    """Note that gains of a golden set start at grades which mean "not relevant", where no measure names its gain."""
    useless = np.unique(grades[(grades > 0) & (grades < LEAST_OF_WORTH)])
    inner = [measure.innermost for measure in measures if measure.innermost.name in GAINING]
    left_open = [measure for measure in inner if "gain" not in dict(measure.chosen)]  # others are deliberate
    paying = [m for m in dict.fromkeys(left_open) if m.under(chosen)["gain"] in ("linear", "exp")]
    if not paying or not len(useless):
        return ()
    shown = paying if len(paying) <= MOST_PAYING else paying[:1]  # the rest may be cutoffs that a curve asks for
    names, cures = (", ".join(map(str, each)) for each in (shown, (measure(gain="rubric") for measure in shown)))
    more = f" and {len(paying) - len(shown)} more" * (len(shown) < len(paying))
    held = f"grades {useless[0]:g} and {useless[1]:g}" if len(useless) > 1 else f"grade {useless[0]:g}"
    return (
        f"judgments: {names}{more} {'gives' if len(paying) == 1 else 'give'} passages of {held} a gain, and in a "
        f"golden set these are not relevant. Name {cures}, whose gains are those of the rubric.",
    )


def _note_high_thresholds(
    name: str, standings: Standings, measures: Sequence[Measure], chosen: Policy
) -> tuple[str, ...]:
    """Note where no grade reaches a threshold: the measure then finds nothing under any tie order."""
    # Without judgments, the note on unjudged documents explains why all values are 0.
    largest = standings.pool_grade.max() if len(standings.pool_grade) else math.inf
    return tuple(
        f"{name}: {measure} {NOTHING_RELEVANT}: it counts grades {_from(rel)}, and the largest of the "
        f"judgments is {largest:g}. Choose a lower rel, or map the grades."
        for rel, group in _by_threshold(measures, chosen).items()
        for measure in group
        if rel > largest
    )


def note_low_thresholds(
    grades: Floats, measures: Sequence[Measure], chosen: Policy, cures: GradeCures = OPTIONS
) -> tuple[str, ...]:
    """Note where every grade reaches a threshold: the measure then counts every judged document as relevant.

    Judgments with one or two low grades are not reported: judgments without pooling usually list the relevant documents
    only, as NFCorpus does with 1 and 2. On a scale of three grades or more, or one that goes up to 4 or 5, the lowest
    grade means "not relevant".

    Args:
        grades: grades of all judged documents, zeros included.
        measures: measures as requested.
        chosen: policy of the evaluation.
        cures: advice in the user's terms.
    """
    left_open = [measure for measure in measures if "rel" not in dict(measure.chosen)]  # others are deliberate
    graded = _select_gaining(measures, chosen)
    reached = {rel: group for rel, group in _by_threshold(left_open, chosen).items() if _is_low(grades, rel)}
    notes = []
    for rel, group in reached.items():
        ours = [measure for measure in group if measure.is_ours]
        if ours:
            notes.append(_describe_low_threshold(ours, rel, grades, graded, cures))
        if own := [measure for measure in group if not measure.is_ours]:
            notes.append(_describe_low_rel(own, rel, grades, cures))
    return tuple(notes)


def note_relevant_documents(grades: Floats, measures: Sequence[Measure], chosen: Policy) -> tuple[str, ...]:
    """Note where every judged document is relevant, for what counts relevant documents and has no measure of them.

    Args:
        grades: grades of all judged documents, zeros included.
        measures: those that are shown, which may gain by the lowest grade.
        chosen: policy of the evaluation, whose `rel` is the grade from which a document is relevant.

    >>> note_relevant_documents(np.array([1.0, 2.0, 3.0]), (), Policy(rel=2))
    ()
    """
    if not _is_low(grades, chosen.rel):
        return ()
    held = np.unique(grades)
    return (
        f"judgments: every judged document counts as relevant: those with grades {_from(chosen.rel)} do, and the "
        f"lowest of the judgments is {held[0]:g}, the largest {held[-1]:g}"
        f"{_describe_gaining(_select_gaining(measures, chosen))}. If low grades mean not relevant, choose "
        f"{OPTIONS.rel.format(f'{_higher(held):g}')}.",
    )


def _select_gaining(measures: Sequence[Measure], chosen: Policy) -> list[Measure]:
    """The measures to which the lowest grade is a gain if it is above 0."""
    return [m for m in measures if m.name in GAINING and m.under(chosen)["gain"] in ("linear", "exp")]


def _describe_gaining(measures: Sequence[Measure]) -> str:
    gain = f"{'counts' if len(measures) == 1 else 'count'} the lowest grade as a gain"
    return f", and {', '.join(map(str, measures))} {gain}" if measures else ""


def _is_low(grades: Floats, rel: float) -> bool:
    """Whether all grades of a scale that has one for "not relevant" reach a threshold."""
    if not len(grades):
        return False
    lowest, largest = float(grades.min()), float(grades.max())
    is_scale = lowest != largest and (largest in TOP_OF_RUBRICS or len(np.unique(grades)) >= 3)
    return is_scale and lowest > 0 and rel <= lowest


def _higher(held: Floats) -> float:
    """A threshold to try instead, of the different grades in ascending order: 4 is gold on the rubric of P-B."""
    return 4.0 if held[0] == 1 and held[-1] in TOP_OF_RUBRICS else float(held[1])


def _by_threshold(measures: Sequence[Measure], chosen: Policy) -> dict[Any, list[Measure]]:
    """Threshold → its measures."""
    groups: dict[Any, list[Measure]] = {}
    for measure in dict.fromkeys(measures):
        if measure.has_threshold:
            groups.setdefault(measure.under(chosen)["rel"], []).append(measure)
    return groups


def _describe_low_threshold(
    measures: Sequence[Measure], rel: float, grades: Floats, graded: Sequence[Measure], cures: GradeCures
) -> str:
    """One line for all measures of a threshold, the same for every run, as it concerns the judgments alone.

    Args:
        measures: measures with the threshold.
        grades: grades of all judged documents.
        graded: measures whose gains start at the lowest grade.
    """
    held = np.unique(grades)
    take, count = ("takes", "it counts") if len(measures) == 1 else ("take", "they count")
    gaining = _describe_gaining(graded)
    return (
        f"judgments: {', '.join(map(str, measures))} {take} every judged document for relevant: {count} grades "
        f"{_from(rel)}, and the lowest of the judgments is {held[0]:g}, the largest {held[-1]:g}{gaining}. "
        f"{_cure(held, cures)}"
    )


def _describe_low_rel(measures: Sequence[Measure], rel: float, grades: Floats, cures: GradeCures) -> str:
    """One line for measures that others define: what they do with the threshold is not known."""
    held = np.unique(grades)
    return (
        f"judgments: every judged document reaches the threshold rel of {', '.join(map(str, measures))}, which is "
        f"{rel:g}: the lowest grade of the judgments is {held[0]:g}, the largest {held[-1]:g}. {_cure(held, cures)}"
    )


def _cure(held: Floats, cures: GradeCures) -> str:
    """What to do where low grades mean "not relevant".

    Args:
        held: different grades, ascending.
        cures: advice in the user's terms.
    """
    higher = _higher(held)
    return (
        f"If low grades mean not relevant, choose a higher rel ({cures.rel.format(f'{higher:g}')}), or map the grades "
        f"({cures.grades.format(_suggest_grade_map(held, higher))})."
    )


def _suggest_grade_map(held: Floats, higher: float) -> str:
    """The mapping, as --grades takes it, of grades below a threshold to 0 and of the others to 1, 2, ...

    >>> _suggest_grade_map(np.array([1.0, 2.0, 3.0, 4.0, 5.0]), 4)
    '1:0,2:0,3:0,4:1,5:2'
    """
    if len(held) > MOST_WRITTEN:
        return f"{held[0]:g}:0,..."
    first = int(np.searchsorted(held, higher))
    return ",".join(f"{grade:g}:{max(place - first + 1, 0)}" for place, grade in enumerate(held.tolist()))


def _from(rel: float) -> str:
    return "above 0" if rel == LEAST_POSITIVE else f"from {rel:g} on"
