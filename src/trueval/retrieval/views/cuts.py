"""The view of a cut audit: how often the cut falls inside a tie group, the effect on measures, and what to change."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Final, NamedTuple

import numpy as np

from trueval.report.number_texts import NOT_AVAILABLE
from trueval.report.page_content import Figure
from trueval.report.plots import TieInterval, plot_dots
from trueval.report.tie_sizes import tie_histogram, tie_plot
from trueval.report.units import COUNT, FRACTION, INTERVAL, MARKS, NAME, PERCENT, number, unscaled_unit
from trueval.report.view import (
    Answer,
    Column,
    Mark,
    Only,
    Quantity,
    Section,
    Sentence,
    Sheet,
    View,
    choices_section,
    columns_of,
    policy_section,
)
from trueval.retrieval.cuts.cuts_result import (
    CallCounts,
    CutAudit,
    MeasureAtCut,
    PipelineTies,
    QueryAtCut,
    QueryCut,
    StageTies,
    TieEnds,
)

SPOKEN: Final = {"R": "recall"}  # a measure's name → how a sentence names it
DIFFERS: Final = 1e-12  # sums of the same values in another order differ by less
LISTED: Final = 10  # queries that tables of text list
MOST: Final = 40  # queries that the first table of the page lists
DRAWN: Final = 20  # queries that the plot shows
FEW: Final = 5  # groups of which the sizes are no distribution
EXACT: Final = 6  # powers of ten up to which a number of contexts is written out
KEY: Final = (("dot", "expected"), ("bar", "what the choice among equal scores at the cut allows"))
CALLS: Final = ("lowest call", "highest call")
TENTHS: Final = number(".1f")
THREE_DIGITS: Final = number(".3g")
WRAPPED: Final = unscaled_unit(str, "t")
OPEN: Final = Mark("+", "the list ends inside the group, which may hold more documents.")

Words = tuple[str | Quantity, ...]


class _Measure(NamedTuple):
    """A measure and its mean."""

    name: str
    mean: MeasureAtCut


class _Ends(NamedTuple):
    """The lowest and highest of the calls."""

    low: float | None
    high: float | None


def view(result: CutAudit) -> View:
    """What `trueval cuts` shows.

    Args:
        result: of the command.
    """
    cuts = widest(result)
    figures = [*_widest_plot(result, cuts), *_size_plot(result)]
    tables = [_queries(result, *part) for part in _parts(cuts)] if cuts else []
    advice = [*advise(result), ""]
    policy = result.policy or {}
    precision = policy.get("tie_precision")
    searched = {"context": f"{result.k} documents", "equal scores": f"equal in {precision}" if precision else "as read"}
    return View(
        title="Cuts",
        answer=Answer(
            answer(result),
            question=f"What does the cut at {result.k} leave to the engine?",
            sure=_sure(result),
            change=advice[0],
            next=_next(result),
        ),
        lead=figures[0] if figures else None,
        sections=[
            *([Section("What it costs", [_measures(result)], id="cut-costs")] if result.measures else []),
            *([_tie_propagation(result.stages)] if result.stages else []),
            *([Section("Which queries", tables, figures=figures[1:], id="cut-by-query")] if tables else []),
            choices_section("cut", {**searched, **result.about}),
            *([policy_section(policy)] if policy else []),
        ],
        csv=_csv(result),
        findings=[*findings(result), *advice[1:-1]],
        marks=[OPEN],
        legend=list(_legend(result)),
        notes=result.notes,
    )


def answer(result: CutAudit) -> Words:
    """How often the cut falls inside a group, and what that does to the first measure: the line to quote.

    Args:
        result: of the command.
    """
    summary, k = result.summary, result.k
    queries = _count(summary, "queries", "query", "queries")
    if not summary.cut:
        return _uncut(result, queries)
    unseen = any(cut.open and cut.slots == cut.group for cut in result.cuts)
    line: Words = ("In at least " if unseen else "In ", Quantity(summary, "cut", COUNT), " of ", *queries)
    line = (*line, f" the cut at {k} falls inside a group of equal scores; ")
    first = _first(result)
    if first is None or first.mean.expected is None:
        share = Quantity(summary, "at_stake", PERCENT)
        return (*line, "there ", share, " of the context is left to the engine's choice.")
    cut, name = first.mean.cut, spoken(first.name)
    low, high = Quantity(cut, "low"), Quantity(cut, "high")
    if not _moves(cut.range):
        known = " among the documents that are seen" if summary.open else ""
        return (*line, f"{name} is ", low, f" whatever the engine chooses{known}.")
    further = " or further apart" if summary.open else ""
    return (*line, f"{name} lies between ", low, " and ", high, f"{further} by the engine's choice alone.")


def _uncut(result: CutAudit, queries: Words) -> Words:
    """The line where no cut is seen to fall inside a group."""
    said, summary = f" does the cut at {result.k} fall inside a group of equal scores", result.summary
    if summary.open:
        line: Words = ("In ", Quantity(summary, "open", COUNT), " of ", *queries)
        line = (*line, f" the list ends with the score of rank {result.k}, so what is cut there cannot be seen")
        return (*line, "." if summary.open == summary.queries else f"; in none of the others{said}.")
    last = result.stages.stages[-1] if result.stages else None
    if last is not None and last.changed:
        changed = Quantity(last, "changed", COUNT)
        return ("In none of ", *queries, f"{said}, but ties of earlier stages change the context of ", changed, ".")
    return ("In none of ", *queries, f"{said}.")


def _sure(result: CutAudit) -> Sentence:
    if result.summary.open:
        return (
            "In ",
            *_count(result.summary, "open", "query", "queries"),
            " the list ends inside the group at the cutoff: more documents may have its score, so the ranges are least "
            "ones.",
        )
    if not result.summary.cut:
        return ""
    exact = "; lowest, highest and expected values are exact over all choices" if result.measures else ""
    return f"Every group at the cutoff is seen to its end{exact}."


def _next(result: CutAudit) -> str:
    """The command that says what is not known yet."""
    runs = str(result.about.get("runs", "RUN")).replace(", ", " ")
    if not result.measures:
        return f"trueval cuts --runs {runs} --qrels QRELS -k {result.k}"
    if result.summary.cut and not result.causes:
        return f"trueval cuts --runs {runs} --qrels QRELS --texts COLLECTION -k {result.k}"
    return ""


def _count(part: object, name: str, noun: str, plural: str) -> Words:
    """A count and its noun."""
    return Quantity(part, name, COUNT), f" {noun if getattr(part, name) == 1 else plural}"


def _first(result: CutAudit) -> _Measure | None:
    return next((_Measure(name, mean) for name, mean in result.measures.items()), None)


def _moves(spread: float | None) -> bool:
    return spread is not None and spread > DIFFERS


def spoken(measure: str) -> str:
    """A measure as a sentence names it.

    >>> spoken("R@10"), spoken("RR@10")
    ('recall@10', 'RR@10')
    """
    name, at, cutoff = measure.partition("@")
    return SPOKEN.get(name, name) + at + cutoff


def findings(result: CutAudit) -> Iterator[Words]:
    """What else a reader should know: ties above the cut, repeated calls, later stages, and why documents tie.

    Args:
        result: of the command.
    """
    first, summary = _first(result), result.summary
    if first is not None and _moves(first.mean.inside.range):
        inside = first.mean.inside
        yield (
            f"Equal scores above the cut, of documents that are in the context anyway, move {spoken(first.name)} "
            "between ",
            Quantity(inside, "low"),
            " and ",
            Quantity(inside, "high"),
            ".",
        )
    if result.calls:
        yield from describe_calls(result.calls, least=bool(summary.open))
    if result.stages:
        last = result.stages.stages[-1]
        yield (
            "The ties of all stages together change the context of ",
            Quantity(last, "changed", COUNT),
            " of ",
            *_count(summary, "queries", "query", "queries"),
            "; on average ",
            Quantity(last, "replaced", PERCENT),
            " of a context is replaced.",
        )
    if summary.cut:
        share = Quantity(summary, "overlap", PERCENT)
        told = "Where the cut falls inside a group, two calls that choose by chance share "
        yield told, share, " of their documents."
    if result.causes:
        named = (f"{name} in {_queries_of(number)}" for name, number in result.causes.cuts.items())
        yield (f"Why they tie: {', '.join(named)}.",)


def _queries_of(number: int) -> str:
    return f"{number:,} {'query' if number == 1 else 'queries'}"


def describe_calls(calls: CallCounts, *, least: bool) -> Iterator[Words]:
    """What repeated calls showed.

    Args:
        calls: comparison of the calls.
        least: whether some groups are not seen to their end, so that more calls may differ by chance.
    """
    number, expected = Quantity(calls, "number", COUNT), Quantity(calls, "expected_to_differ", TENTHS)
    at_least = "at least " * least

    def queries(name: str) -> Words:
        return _count(calls, name, "query", "queries")

    if calls.differed_by_ties:
        told = f" other documents among equal scores; of an engine that chooses at random {at_least}"
        yield number, " calls gave ", *queries("differed_by_ties"), told, expected, " are expected."
    elif calls.expected_to_differ:
        told = " queries would differ by chance: the engine has a rule, which may change when the index is built"
        yield number, f" calls chose the same among equal scores, where {at_least}", expected, f"{told} or merged anew."
    if calls.differed_otherwise:
        told = " got other documents without equal scores: the engine is not deterministic; no rule of ties mends that."
        yield *queries("differed_otherwise"), told
    if calls.rescored:
        largest = Quantity(calls, "largest_change", THREE_DIGITS)
        most: Words = () if calls.largest_change is None else (", by ", largest, " at most")
        yield *queries("rescored"), " got other scores for the same documents", *most, "."
    if calls.reordered:
        yield *queries("reordered"), " got the same documents in another order."
    if calls.deeper:
        told = " got documents that a deeper call does not put there: the index is approximate, and what it finds "
        yield *queries("deeper"), f"{told}depends on how much is asked."


def advise(result: CutAudit) -> Iterator[Sentence]:
    """What to change, most important first.

    Args:
        result: of the command.
    """
    causes, summary = result.causes, result.summary
    if not summary.cut:
        return
    found = causes.cuts if causes else {}
    if causes and causes.decided_by_exact_scores:
        told = "Score what the index finds anew by the embeddings themselves, before the cut: exact scores decide "
        exact = Quantity(causes, "decided_by_exact_scores", COUNT)
        yield told, exact, " of ", *_count(summary, "cut", "cut", "cuts"), "."
    for name in ("identical texts", "near duplicates"):
        if name in found:
            cuts = "1 cut is" if found[name] == 1 else f"{found[name]:,} cuts are"
            yield f"Leave out duplicates before the cut: {cuts} inside {name}."
    if "fusion" in found:
        told = "Order equal sums of fused ranks by the score of one retriever, or fuse normalised scores ([fuse] "
        cuts = "1 cut" if found["fusion"] == 1 else f"{found['fusion']:,} cuts"
        yield f'{told}method = "weighted"): sums of ranks tie by construction, here in {cuts}.'
    yield (
        "Fetch more than " if summary.open else "Fetch ",
        Quantity(summary, "depth_needed", COUNT),
        f" documents, sort by score and then by id, and cut at {result.k} yourself: then every call gives the same. It "
        "makes the choice repeatable, not better.",
    )


def widest(result: CutAudit) -> list[QueryCut]:
    """The cuts, first those that move the first measure most, then those with most at stake.

    Args:
        result: of the command.
    """
    first = _first(result)

    def weight(cut: QueryCut) -> tuple[float, float]:
        found = None if first is None else _at_cut(first.name)(cut)
        spread = 0.0 if found is None or found.low is None or found.high is None else found.high - found.low
        return -spread, cut.overlap

    return sorted(result.cuts, key=weight)


def _at_cut(measure: str) -> Callable[[QueryCut], TieEnds | None]:
    return lambda row: row.measures[measure].cut if measure in row.measures else None


def _measures(result: CutAudit) -> Sheet[_Measure]:
    calls: list[Column[_Measure]] = [
        Column("calls", lambda row: _Ends(row.mean.calls_low, row.mean.calls_high), INTERVAL, 1, ends=CALLS)
    ]
    columns: list[Column[_Measure]] = [
        Column("measure", lambda row: row.name, NAME),
        Column("expected", lambda row: row.mean.expected, FRACTION),
        Column("lowest", lambda row: row.mean.low, FRACTION),
        Column("highest", lambda row: row.mean.high, FRACTION),
        Column("range", lambda row: row.mean.range, FRACTION, strong=True),
        Column("by the cut", lambda row: row.mean.cut.range, FRACTION),
        Column("above it", lambda row: row.mean.inside.range, FRACTION, 2),
        *(calls if result.calls else []),
    ]
    rows = [_Measure(*each) for each in result.measures.items()]
    return Sheet("What each measure can be", rows, columns, notes=list(_legend(result))[:1], id="cut-measures")


def _tie_propagation(found: PipelineTies) -> Section:
    columns: list[Column[StageTies]] = [
        Column("ties of", lambda row: row.name, NAME),
        Column("depth", lambda row: row.depth, COUNT),
        Column("cut", lambda row: row.cut, COUNT),
        Column("changed", lambda row: row.changed, COUNT),
        Column("replaced", lambda row: row.replaced, FRACTION, strong=True),
        Column("orders", _orders, WRAPPED),
    ]
    if found.measures:
        first = found.measures[0]
        columns.append(Column(first, lambda row: row.measures[first], INTERVAL, only="page", ends=_ends_of(first)))
    sheet = Sheet("How far the ties of each stage travel", found.stages, columns, id="cut-stages")
    words = (
        f"Orders of equal scores: all of them where a query has up to {found.draws}, else that many drawn at "
        f"random (seed {found.seed}). changed: queries whose context some order changes; replaced: mean share "
        "of a context."
    )
    return Section("How far it travels", [sheet], words, id="cut-travel")


def _ends_of(measure: str) -> tuple[str, str]:
    return f"{measure} lowest", f"{measure} highest"


def _orders(stage: StageTies) -> str:
    numbers = ((stage.enumerated, "enumerated"), (stage.sampled, "sampled"))
    return " + ".join(f"{count:,} {kind}" for count, kind in numbers if count) or "one order"


def _contexts(power: float | None) -> str:
    """A number of contexts by its logarithm.

    >>> _contexts(2.0791812460476247), _contexts(24.3)
    ('120', '10^24')
    """
    if power is None:
        return NOT_AVAILABLE
    return f"{10**power:,.0f}" if power < EXACT else f"10^{power:.0f}"


CONTEXTS: Final = unscaled_unit(_contexts)


class _Part(NamedTuple):
    """A part of the queries, and how it is shown."""

    title: str
    cuts: Sequence[QueryCut]
    only: Only
    folded: bool = False


def _parts(cuts: Sequence[QueryCut]) -> Iterator[_Part]:
    more = f" ({LISTED} of {len(cuts):,}; --format csv has all)" if len(cuts) > LISTED else ""
    yield _Part(f"Queries that the choice moves most{more}", cuts[:LISTED], "text")
    yield _Part("Queries whose cut falls inside a group, those that matter most first", cuts[:MOST], "page")
    if len(cuts) > MOST:
        yield _Part(f"{len(cuts) - MOST:,} more queries", cuts[MOST:], "page", True)


def _queries(result: CutAudit, title: str, rows: Sequence[QueryCut], only: Only, folded: bool) -> Sheet[QueryCut]:
    first = _first(result)
    seen: list[Column[QueryCut]] = [
        Column("contexts seen", lambda row: None if row.calls is None else row.calls.contexts, COUNT, only="page")
    ]
    why: list[Column[QueryCut]] = [Column("why", lambda row: row.cause or "", WRAPPED, 1)]
    columns: list[Column[QueryCut]] = [
        Column("query", lambda row: row.query, NAME),
        Column("above", lambda row: row.above, COUNT),
        Column("group", lambda row: row.group, COUNT),
        *([Column[QueryCut]("", lambda row: OPEN.sign if row.open else "", MARKS)] if result.summary.open else []),
        Column("enter", lambda row: row.slots, COUNT),
        Column("chance", lambda row: row.chance, FRACTION),
        Column("contexts", lambda row: row.log10_contexts, CONTEXTS, 2),
        *(seen if result.calls else []),
        *(why if result.causes else []),
    ]
    if first is not None:
        name = first.name
        columns += [
            Column(
                f"{name} expected", lambda row: (found := _at_cut(name)(row)) and found.expected, FRACTION, only="page"
            ),
            Column(name, _at_cut(name), INTERVAL, ends=_ends_of(name)),
        ]
    return Sheet(title, rows, columns, folded=folded, only=only, id="cut-others" if folded else "cut-queries")


def _csv(result: CutAudit) -> Sheet[QueryCut]:
    columns: list[Column[QueryCut]] = [
        *columns_of("query", "above", "group", "slots", "chance", "score", "open", "contexts", "overlap", "cause"),
        Column("calls differed by ties", lambda row: row.calls and row.calls.differed_by_ties),
        Column("calls differed otherwise", lambda row: row.calls and row.calls.differed_otherwise),
    ]

    def of(measure: str, part: Callable[[QueryAtCut], float | None]) -> Callable[[QueryCut], object]:
        return lambda row: part(row.measures[measure]) if measure in row.measures else None

    parts: dict[str, Callable[[QueryAtCut], float | None]] = {
        "expected": lambda ends: ends.expected,
        "lowest": lambda ends: ends.low,
        "highest": lambda ends: ends.high,
        "cut lowest": lambda ends: ends.cut.low,
        "cut highest": lambda ends: ends.cut.high,
    }
    columns += [
        Column(f"{measure} {name}", of(measure, part)) for measure in result.measures for name, part in parts.items()
    ]
    return Sheet("", result.cuts, columns)


def _legend(result: CutAudit) -> Iterator[str]:
    if result.measures:
        calls = "; calls: the lowest and highest of the calls, as they came" if result.calls else ""
        yield (
            "expected, lowest, highest, range: over every choice among equal scores. by the cut: the range by the "
            "choice at the cut alone; above it: by the order of equal scores above the cut, which measures of ranks "
            f"see and those of sets, such as recall, do not{calls}."
        )
    if result.cuts:
        yield (
            "above: documents scored higher than the group at the cutoff; group: documents in it; enter: how many of "
            "them are in a context; chance: of each; contexts: how many different ones there can be."
        )


def _widest_plot(result: CutAudit, cuts: Sequence[QueryCut]) -> Iterator[Figure]:
    first = _first(result)
    both = () if first is None else ((cut.query, _at_cut(first.name)(cut)) for cut in cuts[:DRAWN])
    dots = [
        TieInterval(query, found.expected, found.low, found.high)
        for query, found in both
        if found is not None and found.expected is not None and found.low is not None and found.high is not None
        if found.high - found.low > DIFFERS
    ]
    if first is not None and dots:
        about = (
            f"{first.name} of the queries that the choice at the cut moves most: expected value, and what it allows."
        )
        title = f"{first.name} of the queries that are moved most"
        yield Figure("cut-ranges", title, about, partial(plot_dots, dots), key=KEY)


def _size_plot(result: CutAudit) -> Iterator[Figure]:
    inside = [cut.group for cut in result.cuts if cut.slots < cut.group]
    if len(inside) >= FEW and max(inside) > 2:  # pairs alone are in the table
        about = "How many documents have the score at the cutoff."
        sizes = {result.name: tie_histogram(np.array(inside))}
        yield Figure("cut-sizes", "Sizes of tie groups", about, lambda width: tie_plot(sizes, width=width))
