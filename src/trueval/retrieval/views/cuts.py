"""What a cut leaves to chance, as people read it: the line that can be quoted, tables, and what to change."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple, TypeAlias

from rich.console import Group
from rich.text import Text

from trueval.report import formats
from trueval.report.formats import latex, markdown, pipes, tabular
from trueval.report.terminal import grid
from trueval.report.text import FRACTIONS, NOT_AVAILABLE, Scale, fixed, interval, percent, unit, whole

Entry = Mapping[str, Any]

MEASURES: Final = ("measure", "expected", "lowest", "highest", "range", "calls")
QUERIES: Final = ("query", "above", "group", "enter", "chance", "contexts", "why")
STAGES: Final = ("stage", "depth", "cut", "changed", "replaced", "orders")
MOST: Final = 10  # queries that the table of a terminal lists
# What the JSON calls a measure → what a sentence does.
SPOKEN: Final = {"R": "recall"}
DIFFERS: Final = 1e-12  # sums of the same values in another order differ by less


class Told(NamedTuple):
    """A number in a sentence.

    Attributes:
        text: as people read it.
        keys: where it is in the JSON.
    """

    text: str
    keys: tuple[str | int, ...]


Said: TypeAlias = "tuple[str | Told, ...]"


def plain(said: Said) -> str:
    """A sentence as text.

    >>> plain(("In ", Told("3", ("summary", "cut")), " queries."))
    'In 3 queries.'
    """
    return "".join(part.text if isinstance(part, Told) else part for part in said)


def _count(result: Entry, *keys: str | int) -> Told:
    return Told(f"{value_at(result, keys):,}", keys)


def _many(result: Entry, noun: str, plural: str, *keys: str | int) -> Said:
    """A count and its noun."""
    return _count(result, *keys), f" {noun if value_at(result, keys) == 1 else plural}"


def value_at(result: Any, keys: tuple[str | int, ...]) -> Any:
    """The value that keys lead to, from the top level down."""
    for key in keys:
        result = result[key]
    return result


def quoted(result: Entry) -> Said:
    """The line that a person can quote.

    Args:
        result: the JSON of `trueval cuts`.
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
        share = Told(percent(summary["at_stake"]), ("summary", "at_stake"))
        return *line, "there ", share, " of the context is left to the engine's choice."
    value = result["measures"][measure]
    low, mid, high = (Told(fixed(value[end]), ("measures", measure, end)) for end in ("lowest", "expected", "highest"))
    if value["range"] <= DIFFERS:
        known = " among the documents that are seen" if summary["open"] else ""
        return *line, f"{spoken(measure)} is ", mid, f" whatever the engine chooses{known}."
    further = " or further apart" if summary["open"] else ""
    return *line, f"{spoken(measure)} lies between ", low, " and ", high, f"{further} by the engine's choice alone."


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


def sentences(result: Entry) -> Iterator[Said]:
    """What else a reader should know: open groups, repeated calls, and why documents tie.

    Args:
        result: the JSON of `trueval cuts`.
    """
    summary = result["summary"]
    if summary["open"]:
        queries = _many(result, "query", "queries", "summary", "open")
        yield (
            "In ",
            *queries,
            " the list ends inside the group at the cutoff: more documents may have its score, so the ranges are least "
            "ones.",
        )
    if summary["cut"]:
        share = Told(percent(summary["overlap"]), ("summary", "overlap"))
        yield (
            "Where the cut falls inside a group, two calls that choose by chance share ",
            share,
            " of their documents.",
        )
    if result["calls"]:
        yield from of_calls(result)
    if result["stages"]:
        last = len(result["stages"]["stages"]) - 1
        replaced = Told(percent(result["stages"]["stages"][last]["replaced"]), ("stages", "stages", last, "replaced"))
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
        named: list[str | Told] = []
        for name in result["causes"]["cuts"]:
            named += [f"{name} in ", *_many(result, "query", "queries", "causes", "cuts", name), ", "]
        yield "Why they tie: ", *named[:-1], "."


def of_calls(result: Entry) -> Iterator[Said]:
    """What repeated calls showed.

    Args:
        result: the JSON of `trueval cuts`.
    """
    calls = result["calls"]
    number = _count(result, "calls", "number")
    expected = Told(f"{calls['expected_to_differ']:.1f}", ("calls", "expected_to_differ"))
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
        most: Said = () if change is None else (", by ", Told(f"{change:.3g}", ("calls", "largest_change")), " at most")
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


def lines(result: Entry) -> Iterator[str]:
    """All that is said beside tables, for forms of text.

    Args:
        result: the JSON of `trueval cuts`.
    """
    yield from map(plain, sentences(result))
    yield from result["notes"]
    yield from (f"To change: {plain(line)}" for line in advice(result))


def cells_of_measure(name: str, value: Entry, scale: Scale) -> list[str]:
    """The cells of a measure.

    Args:
        name: of the measure.
        value: of the JSON.
        scale: of the values.
    """
    span = interval(value["calls_lowest"], value["calls_highest"], scale)
    return [name, *(fixed(value[each], scale) for each in ("expected", "lowest", "highest", "range")), span]


def cells_of_query(cut: Entry, scale: Scale, measure: str | None) -> list[str]:
    """The cells of a query.

    Args:
        cut: of the JSON.
        scale: of the values.
        measure: whose range stands last; None for none.
    """
    value = cut["measures"].get(measure) if measure else None
    last = (
        []
        if measure is None
        else [NOT_AVAILABLE if value is None else interval(value["lowest"], value["highest"], scale)]
    )
    group = f"{cut['group']:,}{'+' if cut['open'] else ''}"
    return [
        cut["query"],
        str(cut["above"]),
        group,
        str(cut["slots"]),
        fixed(cut["chance"], scale),
        contexts(cut),
        cut.get("cause", ""),
        *last,
    ]


def contexts(cut: Entry) -> str:
    """How many different contexts there can be.

    >>> contexts({"contexts": 120, "log10_contexts": 2.08}), contexts({"contexts": None, "log10_contexts": 24.3})
    ('120', '10^24')
    """
    exact, power = cut["contexts"], cut["log10_contexts"]
    return f"{exact:,}" if exact is not None and power < 6 else f"10^{power:.0f}"


def cells_of_stage(stage: Entry, scale: Scale) -> list[str]:
    """The cells of a stage of a pipeline.

    Args:
        stage: of the JSON.
        scale: of the shares.
    """
    orders = " + ".join(f"{stage[kind]:,} {kind}" for kind in ("enumerated", "sampled") if stage[kind])
    return [
        stage["name"],
        *(whole(stage[name]) for name in ("depth", "cut", "changed")),
        fixed(stage["replaced"], scale),
        orders or "one order",
    ]


def widest(result: Entry) -> list[int]:
    """Places of the cuts, those that matter most first: by the range of the first measure, then by what is at stake.

    Args:
        result: the JSON of `trueval cuts`.
    """
    cuts = result["cuts"]
    measure = next(iter(result["measures"]), None)

    def weight(at: int) -> tuple[float, float]:
        value = cuts[at]["measures"].get(measure) or {}
        spread = 0.0 if value.get("highest") is None else value["highest"] - value["lowest"]
        return -spread, cuts[at]["overlap"]

    return sorted(range(len(cuts)), key=weight)


def table(result: Entry, *, scale: Scale = FRACTIONS) -> Group:
    """A cut in a terminal: the line to quote, measures, the queries that matter most, and what to change.

    Args:
        result: the JSON of `trueval cuts`.
        scale: of values and shares.
    """
    parts: list[Any] = [Text(plain(quoted(result)), style="bold")]
    if result["measures"]:
        shown = grid(MEASURES, "Lrrrrl", spare=("calls",))
        for name, value in result["measures"].items():
            shown.add_row(*cells_of_measure(name, value, scale))
        parts += [Text(), shown]
    if result["stages"]:
        stages = grid(STAGES, "Lrrrrt")
        for stage in result["stages"]["stages"]:
            stages.add_row(*cells_of_stage(stage, scale))
        parts += [Text(), stages]
    measure = next(iter(result["measures"]), None)
    order = widest(result)
    if order:
        head = [*QUERIES, *([measure] if measure else [])]
        queries = grid(head, "Lrrrrrt" + "l" * bool(measure), spare=("why", "contexts"))
        for at in order[:MOST]:
            queries.add_row(*cells_of_query(result["cuts"][at], scale, measure))
        parts += [Text(), queries]
    if len(order) > MOST:
        parts.append(Text(f"{len(order) - MOST:,} more queries are in --format csv.", style="dim"))
    told = [*lines(result), *unit(scale)]
    return Group(*parts, *([Text(), *map(Text, told)] if told else []))


def to_csv(result: Entry) -> str:
    """One line for each query whose cut falls inside a group, in full precision.

    Args:
        result: the JSON of `trueval cuts`.
    """
    names = [f"{measure} {end}" for measure in result["measures"] for end in ("expected", "lowest", "highest")]
    plain = ("query", "above", "group", "slots", "chance", "score", "open", "contexts", "overlap", "cause")
    return formats.to_csv(
        [*plain, "calls differed by ties", "calls differed otherwise", *names], map(_row, result["cuts"])
    )


def _row(cut: Entry) -> Entry:
    calls = cut.get("calls") or {}
    measures = {f"{name} {end}": value for name, ends in cut["measures"].items() for end, value in ends.items()}
    differed = {
        f"calls differed {how}": calls.get(f"differed_{how.replace(' ', '_')}") for how in ("by ties", "otherwise")
    }
    return {**cut, **measures, **differed}


def _rows_of_measures(result: Entry, scale: Scale) -> Sequence[Sequence[str]]:
    return [cells_of_measure(name, value, scale) for name, value in result["measures"].items()]


def to_markdown(result: Entry, *, scale: Scale = FRACTIONS) -> str:
    """The line to quote, the measures and the stages as tables of pipes, and what to change.

    Args:
        result: the JSON of `trueval cuts`.
        scale: of values and shares.
    """
    parts = [f"{markdown(plain(quoted(result)))}\n"]
    if result["measures"]:
        parts.append(pipes(MEASURES, _rows_of_measures(result, scale), words=1))
    if result["stages"]:
        stages = [cells_of_stage(stage, scale) for stage in result["stages"]["stages"]]
        parts.append(pipes(STAGES, stages, words=1))
    told = [*lines(result), *unit(scale)]
    return "\n".join([*parts, *(f"{markdown(line)}\n" for line in told)])


def to_latex(result: Entry, *, scale: Scale = FRACTIONS) -> str:
    """The measures as a tabular, what is said of them as comments above it; it needs the package booktabs.

    Args:
        result: the JSON of `trueval cuts`.
        scale: of values.
    """
    rows = [[*map(latex, cells)] for cells in _rows_of_measures(result, scale)]
    return tabular(
        [*map(latex, MEASURES)],
        rows,
        "lrrrrl",
        notes=[plain(quoted(result)), *lines(result), *unit(scale)],
    )
