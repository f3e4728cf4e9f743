"""What a cut leaves to chance, as people read it: the line that can be quoted, tables, and what to change."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from rich.console import Group
from rich.text import Text

from trueval.report import formats
from trueval.report.formats import latex, markdown, pipes, tabular
from trueval.report.terminal import grid
from trueval.report.text import FRACTIONS, NOT_AVAILABLE, Scale, counted, fixed, interval, percent, unit

Entry = Mapping[str, Any]

MEASURES: Final = ("measure", "expected", "lowest", "highest", "range", "calls")
QUERIES: Final = ("query", "above", "group", "enter", "chance", "contexts", "why")
STAGES: Final = ("stage", "depth", "cut", "changed", "replaced", "orders")
MOST: Final = 10  # queries that the table of a terminal lists
# What the JSON calls a measure → what a sentence does.
SPOKEN: Final = {"R": "recall"}
DIFFERS: Final = 1e-12  # sums of the same values in another order differ by less


def quoted(result: Entry) -> str:
    """The line that a person can quote.

    Args:
        result: the JSON of `trueval cuts`.
    """
    summary, k = result["summary"], result["k"]
    queries = counted(summary["queries"], "query", "queries")
    if not summary["cut"]:
        return f"In none of {queries} does the cut at {k} fall inside a group of equal scores."
    line = f"In {summary['cut']:,} of {queries} the cut at {k} falls inside a group of equal scores; "
    measure = next(iter(result["measures"]), None)
    if measure is None:
        return line + f"there {percent(summary['at_stake'])} of the context is left to the engine's choice."
    value = result["measures"][measure]
    if value["range"] is None or value["range"] <= DIFFERS:
        return line + f"{spoken(measure)} is {fixed(value['expected'])} whatever the engine chooses."
    return line + (
        f"{spoken(measure)} lies between {fixed(value['lowest'])} and {fixed(value['highest'])} by the engine's "
        "choice alone."
    )


def spoken(measure: str) -> str:
    """A measure as a sentence names it.

    >>> spoken("R@10"), spoken("RR@10")
    ('recall@10', 'RR@10')
    """
    name, at, cutoff = measure.partition("@")
    return SPOKEN.get(name, name) + at + cutoff


def sentences(result: Entry) -> Iterator[str]:
    """What else a reader should know: open groups, repeated calls, and why documents tie.

    Args:
        result: the JSON of `trueval cuts`.
    """
    summary = result["summary"]
    if summary["open"]:
        yield (
            f"In {counted(summary['open'], 'query', 'queries')} the list ends inside the group at the cutoff: more "
            "documents may have its score, so the ranges are least ones."
        )
    if summary["cut"]:
        yield (
            f"Where the cut falls inside a group, two calls that choose at random share {percent(summary['overlap'])} "
            "of their documents."
        )
    if result["calls"]:
        yield from of_calls(result["calls"])
    if result["stages"]:
        every, queries = result["stages"]["stages"][-1], counted(summary["queries"], "query", "queries")
        yield (
            f"The ties of all stages together change the context of {every['changed']:,} of {queries}; on average "
            f"{percent(every['replaced'])} of a context is replaced."
        )
    if result["causes"]:
        named = ", ".join(
            f"{name} in {counted(number, 'query', 'queries')}" for name, number in result["causes"]["cuts"].items()
        )
        yield f"Why they tie: {named}."


def of_calls(calls: Entry) -> Iterator[str]:
    """What repeated calls showed.

    Args:
        calls: of the JSON of `trueval cuts`.
    """
    number, ties, expected = calls["number"], calls["differed_by_ties"], calls["expected_to_differ"]
    if ties:
        yield (
            f"{number} calls gave {counted(ties, 'query', 'queries')} other documents among equal scores; of an engine "
            f"that chooses at random {expected:.1f} are expected."
        )
    elif expected:
        yield (
            f"{number} calls chose the same among equal scores, where {expected:.1f} queries would differ by chance: "
            "the engine has a rule, which may change when the index is built or merged anew."
        )
    if calls["differed_otherwise"]:
        yield (
            f"{counted(calls['differed_otherwise'], 'query', 'queries')} got other documents without equal scores: the "
            "engine is not deterministic, which no rule for ties mends."
        )
    if calls["rescored"]:
        change = "" if calls["largest_change"] is None else f", by {calls['largest_change']:.3g} at most"
        yield f"{counted(calls['rescored'], 'query', 'queries')} got other scores for the same documents{change}."
    if calls["reordered"]:
        yield f"{counted(calls['reordered'], 'query', 'queries')} got the same documents in another order."
    if calls["deeper"]:
        yield (
            f"{counted(calls['deeper'], 'query', 'queries')} got documents that a deeper call does not put there: the "
            "index is approximate, and what it finds depends on how much is asked."
        )


def advice(result: Entry) -> Iterator[str]:
    """What to change, most important first.

    Args:
        result: the JSON of `trueval cuts`.
    """
    summary, causes = result["summary"], result["causes"]
    if not summary["cut"]:
        return
    found = causes["cuts"] if causes else {}
    exact = causes["decided_by_exact_scores"] if causes else None
    if exact:
        yield (
            "Score what the index finds anew by the embeddings themselves, before the cut: exact scores decide "
            f"{exact:,} of {summary['cut']:,} cuts."
        )
    same = sum(number for name, number in found.items() if name in ("identical texts", "near duplicates"))
    if same:
        inside = counted(same, "cut is", "cuts are")
        yield f"Leave out duplicates before the cut: {inside} inside documents that say the same."
    if "fusion" in found:
        yield (
            "Order equal sums of fused ranks by the score of one retriever, or fuse normalised scores "
            f'([fuse] method = "weighted"): sums of ranks tie by construction, here in {found["fusion"]:,} cuts.'
        )
    yield (
        f"Fetch {summary['depth_needed']:,} documents, sort by score and then by id, and cut at {result['k']} "
        "yourself: every call then gives the same. It makes the choice repeatable, not better."
    )


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
    depth = NOT_AVAILABLE if stage["depth"] is None else f"{stage['depth']:,}"
    cut = NOT_AVAILABLE if stage["cut"] is None else f"{stage['cut']:,}"
    orders = " + ".join(f"{stage[kind]:,} {kind}" for kind in ("enumerated", "sampled") if stage[kind])
    return [stage["name"], depth, cut, f"{stage['changed']:,}", fixed(stage["replaced"], scale), orders or "one order"]


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
    parts: list[Any] = [Text(quoted(result), style="bold")]
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
    told = [*sentences(result), *result["notes"], *(f"To change: {line}" for line in advice(result)), *unit(scale)]
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
    parts = [f"{markdown(quoted(result))}\n"]
    if result["measures"]:
        parts.append(pipes(MEASURES, _rows_of_measures(result, scale), words=1))
    if result["stages"]:
        stages = [cells_of_stage(stage, scale) for stage in result["stages"]["stages"]]
        parts.append(pipes(STAGES, stages, words=1))
    told = [*sentences(result), *result["notes"], *(f"To change: {line}" for line in advice(result)), *unit(scale)]
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
        notes=[quoted(result), *sentences(result), *result["notes"], *unit(scale)],
    )
