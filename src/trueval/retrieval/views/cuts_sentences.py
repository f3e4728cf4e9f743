"""What a cut leaves to chance, in sentences: the line that can be quoted, what else to know, and what to change."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final, NamedTuple, TypeAlias

from trueval.report.number_texts import FRACTIONS, ValueUnit, format_value, percent

Entry = Mapping[str, Any]

# What the JSON calls a measure → what a sentence does.
SPOKEN: Final = {"R": "recall"}
DIFFERS: Final = 1e-12  # sums of the same values in another order differ by less


class QuotedNumber(NamedTuple):
    """A number in a sentence.

    Attributes:
        text: as people read it.
        keys: where it is in the JSON.
    """

    text: str
    keys: tuple[str | int, ...]


Said: TypeAlias = "tuple[str | QuotedNumber, ...]"


def plain(said: Said) -> str:
    """A sentence as text.

    >>> plain(("In ", QuotedNumber("3", ("summary", "cut")), " queries."))
    'In 3 queries.'
    """
    return "".join(part.text if isinstance(part, QuotedNumber) else part for part in said)


def _count(result: Entry, *keys: str | int) -> QuotedNumber:
    return QuotedNumber(f"{value_at(result, keys):,}", keys)


def _many(result: Entry, noun: str, plural: str, *keys: str | int) -> Said:
    """A count and its noun."""
    return _count(result, *keys), f" {noun if value_at(result, keys) == 1 else plural}"


def value_at(result: Any, keys: tuple[str | int, ...]) -> Any:
    """The value that keys lead to, from the top level down."""
    for key in keys:
        result = result[key]
    return result


def quotable_sentence(result: Entry, scale: ValueUnit = FRACTIONS) -> Said:
    """The line that a person can quote.

    Args:
        result: the JSON of `trueval cuts`.
        scale: scale of values of measures.
    """
    summary, k = result["summary"], result["k"]
    queries = _many(result, "query", "queries", "summary", "queries")
    if not summary["cut"]:
        return _uncut(result, queries)
    unseen = any(cut["open"] and cut["slots"] == cut["group"] for cut in result["cuts"])
    line = "In at least " if unseen else "In ", _count(result, "summary", "cut"), " of ", *queries
    line = *line, f" the cut at {k} falls inside a group of equal scores; "
    measure = next(iter(result["measures"]), None)
    if measure is None or result["measures"][measure]["expected"] is None:
        share = QuotedNumber(percent(summary["at_stake"]), ("summary", "at_stake"))
        return *line, "there ", share, " of the context is left to the engine's choice."
    value = result["measures"][measure]["cut"]
    low, high = _ends(result, scale, measure, "cut")
    if value["range"] <= DIFFERS:
        known = " among the documents that are seen" if summary["open"] else ""
        return *line, f"{spoken(measure)} is ", low, f" whatever the engine chooses{known}."
    further = " or further apart" if summary["open"] else ""
    return *line, f"{spoken(measure)} lies between ", low, " and ", high, f"{further} by the engine's choice alone."


def _ends(result: Entry, scale: ValueUnit, measure: str, part: str) -> tuple[QuotedNumber, QuotedNumber]:
    """The lowest and the highest value of a measure under one source of ties."""
    low, high = (("measures", measure, part, end) for end in ("lowest", "highest"))
    return QuotedNumber(format_value(value_at(result, low), scale), low), QuotedNumber(
        format_value(value_at(result, high), scale), high
    )


def _uncut(result: Entry, queries: Said) -> Said:
    """The line where no cut is seen to fall inside a group."""
    told = f" does the cut at {result['k']} fall inside a group of equal scores"
    if opened := result["summary"]["open"]:
        line = "In ", _count(result, "summary", "open"), " of ", *queries
        line = *line, f" the list ends with the score of rank {result['k']}, so that nobody can see what is cut there"
        return *line, "." if opened == result["summary"]["queries"] else f"; in none of the others{told}."
    stages = result["stages"]["stages"] if result["stages"] else ()
    if stages and stages[-1]["changed"]:
        changed = _count(result, "stages", "stages", len(stages) - 1, "changed")
        return "In none of ", *queries, f"{told}, but ties of earlier stages change the context of ", changed, "."
    return "In none of ", *queries, f"{told}."


def spoken(measure: str) -> str:
    """A measure as a sentence names it.

    >>> spoken("R@10"), spoken("RR@10")
    ('recall@10', 'RR@10')
    """
    name, at, cutoff = measure.partition("@")
    return SPOKEN.get(name, name) + at + cutoff


def sentences(result: Entry, scale: ValueUnit = FRACTIONS) -> Iterator[Said]:
    """What else a reader should know: open groups, repeated calls, and why documents tie.

    Args:
        result: the JSON of `trueval cuts`.
        scale: scale of values of measures.
    """
    summary = result["summary"]
    yield from _of_ties_inside(result, scale)
    if summary["open"]:
        queries = _many(result, "query", "queries", "summary", "open")
        yield (
            "In ",
            *queries,
            " the list ends inside the group at the cutoff: more documents may have its score, so the ranges are least "
            "ones.",
        )
    if summary["cut"]:
        share = QuotedNumber(percent(summary["overlap"]), ("summary", "overlap"))
        yield (
            "Where the cut falls inside a group, two calls that choose by chance share ",
            share,
            " of their documents.",
        )
    if result["calls"]:
        yield from of_calls(result)
    if result["stages"]:
        last = len(result["stages"]["stages"]) - 1
        replaced = QuotedNumber(
            percent(result["stages"]["stages"][last]["replaced"]), ("stages", "stages", last, "replaced")
        )
        yield (
            "The ties of all stages together change the context of ",
            _count(result, "stages", "stages", last, "changed"),
            " of ",
            *_many(result, "query", "queries", "summary", "queries"),
            "; on average ",
            replaced,
            " of a context is replaced.",
        )
    if result["causes"]:
        named: list[str | QuotedNumber] = []
        for name in result["causes"]["cuts"]:
            named += [f"{name} in ", *_many(result, "query", "queries", "causes", "cuts", name), ", "]
        yield "Why they tie: ", *named[:-1], "."


def _of_ties_inside(result: Entry, scale: ValueUnit) -> Iterator[Said]:
    """What equal scores above the cut do to the first measure: no choice of the engine at the cut."""
    measure = next(iter(result["measures"]), None)
    value = {} if measure is None else result["measures"][measure]["inside"]
    if measure is None or value["range"] is None or value["range"] <= DIFFERS:
        return
    low, high = _ends(result, scale, measure, "inside")
    who = "Equal scores above the cut, of documents that are in the context anyway, move "
    yield f"{who}{spoken(measure)} between ", low, " and ", high, "."


def of_calls(result: Entry) -> Iterator[Said]:
    """What repeated calls showed.

    Args:
        result: the JSON of `trueval cuts`.
    """
    calls = result["calls"]
    number = _count(result, "calls", "number")
    expected = QuotedNumber(f"{calls['expected_to_differ']:.1f}", ("calls", "expected_to_differ"))
    least = "at least " * bool(result["summary"]["open"])  # of groups that are not seen to their end

    def queries(name: str) -> Said:
        return _many(result, "query", "queries", "calls", name)

    if calls["differed_by_ties"]:
        told = f" other documents among equal scores; of an engine that chooses at random {least}"
        yield number, " calls gave ", *queries("differed_by_ties"), told, expected, " are expected."
    elif calls["expected_to_differ"]:
        told = " queries would differ by chance: the engine has a rule, which may change when the index is built"
        yield number, f" calls chose the same among equal scores, where {least}", expected, f"{told} or merged anew."
    if calls["differed_otherwise"]:
        told = " got other documents without equal scores: the engine is not deterministic; no rule of ties mends that."
        yield *queries("differed_otherwise"), told
    if calls["rescored"]:
        change = calls["largest_change"]
        most: Said = (
            () if change is None else (", by ", QuotedNumber(f"{change:.3g}", ("calls", "largest_change")), " at most")
        )
        yield *queries("rescored"), " got other scores for the same documents", *most, "."
    if calls["reordered"]:
        yield *queries("reordered"), " got the same documents in another order."
    if calls["deeper"]:
        told = " got documents that a deeper call does not put there: the index is approximate, and what it finds "
        yield *queries("deeper"), f"{told}depends on how much is asked."


def advice(result: Entry) -> Iterator[Said]:
    """What to change, most important first.

    Args:
        result: the JSON of `trueval cuts`.
    """
    causes = result["causes"]
    if not result["summary"]["cut"]:
        return
    found = causes["cuts"] if causes else {}
    if causes and causes["decided_by_exact_scores"]:
        told = "Score what the index finds anew by the embeddings themselves, before the cut: exact scores decide "
        exact = _count(result, "causes", "decided_by_exact_scores")
        yield told, exact, " of ", *_many(result, "cut", "cuts", "summary", "cut"), "."
    for name in ("identical texts", "near duplicates"):
        if name in found:
            cuts = _many(result, "cut is", "cuts are", "causes", "cuts", name)
            yield "Leave out duplicates before the cut: ", *cuts, f" inside {name}."
    if "fusion" in found:
        told = "Order equal sums of fused ranks by the score of one retriever, or fuse normalised scores ([fuse] "
        cuts = _many(result, "cut", "cuts", "causes", "cuts", "fusion")
        yield f'{told}method = "weighted"): sums of ranks tie by construction, here in ', *cuts, "."
    told = f" documents, sort by score and then by id, and cut at {result['k']} yourself: then every call gives the "
    yield (
        "Fetch more than " if result["summary"]["open"] else "Fetch ",
        _count(result, "summary", "depth_needed"),
        f"{told}same. It makes the choice repeatable, not better.",
    )


def lines(result: Entry, *, notes: bool = True, scale: ValueUnit = FRACTIONS) -> Iterator[str]:
    """All that is said beside tables, for forms of text.

    Args:
        result: the JSON of `trueval cuts`.
        notes: whether its notes are among it.
        scale: scale of values of measures.
    """
    yield from map(plain, sentences(result, scale))
    yield from result["notes"] if notes else ()
    yield from (f"To change: {plain(line)}" for line in advice(result))
