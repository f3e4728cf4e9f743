"""What a cut leaves to chance, as people read it: tables in a terminal, Markdown and LaTeX, and CSV."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from rich.console import Group
from rich.text import Text

from trueval.report import formats
from trueval.report.formats import latex, markdown, pipes, tabular
from trueval.report.number_texts import FRACTIONS, NOT_AVAILABLE, ValueUnit, format_value, interval, unit, whole
from trueval.report.terminal import grid
from trueval.retrieval.views.cuts_sentences import lines, plain, quotable_sentence

Entry = Mapping[str, Any]

MEASURES: Final = ("measure", "expected", "lowest", "highest", "range", "by the cut", "calls")
QUERIES: Final = ("query", "above", "group", "enter", "chance", "contexts", "why")
STAGES: Final = ("stage", "depth", "cut", "changed", "replaced", "orders")
MOST: Final = 10  # queries that the table of a terminal lists


def cells_of_measure(name: str, value: Entry, scale: ValueUnit) -> list[str]:
    """The cells of a measure.

    Args:
        name: name of the measure.
        value: value of the JSON.
        scale: scale of the printed values.
    """
    span = interval(value["calls_lowest"], value["calls_highest"], scale)
    values = (*(value[each] for each in ("expected", "lowest", "highest", "range")), value["cut"]["range"])
    return [name, *(format_value(each, scale) for each in values), span]


def cells_of_query(cut: Entry, scale: ValueUnit, measure: str | None) -> list[str]:
    """The cells of a query.

    Args:
        cut: of the JSON.
        scale: scale of the printed values.
        measure: whose range by the cut stands last; None for none.
    """
    value = cut["measures"][measure]["cut"] if measure in cut["measures"] else None
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
        format_value(cut["chance"], scale),
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


def cells_of_stage(stage: Entry, scale: ValueUnit) -> list[str]:
    """The cells of a stage of a pipeline.

    Args:
        stage: of the JSON.
        scale: scale of the shares.
    """
    orders = " + ".join(f"{stage[kind]:,} {kind}" for kind in ("enumerated", "sampled") if stage[kind])
    return [
        stage["name"],
        *(whole(stage[name]) for name in ("depth", "cut", "changed")),
        format_value(stage["replaced"], scale),
        orders or "one order",
    ]


def widest(result: Entry) -> list[int]:
    """Places of the cuts, the first those that move the first measure most, then those with most at stake.

    Args:
        result: the JSON of `trueval cuts`.
    """
    cuts = result["cuts"]
    measure = next(iter(result["measures"]), None)

    def weight(at: int) -> tuple[float, float]:
        value = cuts[at]["measures"].get(measure, {}).get("cut", {})
        spread = 0.0 if value.get("highest") is None else value["highest"] - value["lowest"]
        return -spread, cuts[at]["overlap"]

    return sorted(range(len(cuts)), key=weight)


def table(result: Entry, *, scale: ValueUnit = FRACTIONS) -> Group:
    """A cut in a terminal: the line to quote, measures, the queries that matter most, and what to change.

    Notes are not in it: the command says them before.

    Args:
        result: the JSON of `trueval cuts`.
        scale: scale of values and shares.
    """
    parts: list[Any] = [Text(plain(quotable_sentence(result, scale)), style="bold")]
    if result["measures"]:
        shown = grid(MEASURES, "Lrrrrrl", spare=("calls",))
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
    told = [*lines(result, notes=False, scale=scale), *unit(scale)]
    return Group(*parts, *([Text(), *map(Text, told)] if told else []))


def to_csv(result: Entry) -> str:
    """One line for each query whose cut falls inside a group, in full precision.

    Args:
        result: the JSON of `trueval cuts`.
    """
    ends = ("expected", "lowest", "highest", "cut lowest", "cut highest")
    names = [f"{measure} {end}" for measure in result["measures"] for end in ends]
    plain = ("query", "above", "group", "slots", "chance", "score", "open", "contexts", "overlap", "cause")
    return formats.to_csv(
        [*plain, "calls differed by ties", "calls differed otherwise", *names], map(_row, result["cuts"])
    )


def _row(cut: Entry) -> Entry:
    calls = cut.get("calls") or {}
    measures = {
        f"{name} {part}{end}": value
        for name, told in cut["measures"].items()
        for part, ends in (("", told), ("cut ", told["cut"]))
        for end, value in ends.items()
    }
    differed = {
        f"calls differed {how}": calls.get(f"differed_{how.replace(' ', '_')}") for how in ("by ties", "otherwise")
    }
    return {**cut, **measures, **differed}


def _rows_of_measures(result: Entry, scale: ValueUnit) -> Sequence[Sequence[str]]:
    return [cells_of_measure(name, value, scale) for name, value in result["measures"].items()]


def to_markdown(result: Entry, *, scale: ValueUnit = FRACTIONS) -> str:
    """The line to quote, the measures and the stages as tables of pipes, and what to change.

    Args:
        result: the JSON of `trueval cuts`.
        scale: scale of values and shares.
    """
    parts = [f"{markdown(plain(quotable_sentence(result, scale)))}\n"]
    if result["measures"]:
        parts.append(pipes(MEASURES, _rows_of_measures(result, scale), words=1))
    if result["stages"]:
        stages = [cells_of_stage(stage, scale) for stage in result["stages"]["stages"]]
        parts.append(pipes(STAGES, stages, words=1))
    told = [*lines(result, scale=scale), *unit(scale)]
    return "\n".join([*parts, *(f"{markdown(line)}\n" for line in told)])


def to_latex(result: Entry, *, scale: ValueUnit = FRACTIONS) -> str:
    """The measures as a tabular, what is said of them as comments above it; it needs the package booktabs.

    Args:
        result: the JSON of `trueval cuts`.
        scale: scale of values.
    """
    rows = [[*map(latex, cells)] for cells in _rows_of_measures(result, scale)]
    return tabular(
        [*map(latex, MEASURES)],
        rows,
        "lrrrrrl",
        notes=[plain(quotable_sentence(result, scale)), *lines(result, scale=scale), *unit(scale)],
    )
