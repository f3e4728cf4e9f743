"""The table of `trueval evaluate` in a terminal."""

from collections.abc import Iterator, Mapping
from typing import Any

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.text import Text

from trueval.evaluation.views import corrected
from trueval.evaluation.views.findings import NOT_EXACT, find, marks, sentences
from trueval.policy.policy import OURS
from trueval.report.number_texts import FRACTIONS, ValueUnit, format_difference, format_value, interval, unit
from trueval.report.terminal import TerminalGrid, grid

# Choices that go without saying where they are ours: few measures and fewer tools ask for them.
RARELY_CHOSEN = ("gain", "norm", "short", "rounding", "unopposed", "labels", "float_grades", "nonpositive")
SPARE = ("range", "bias", "sd")  # the first two follow from the others
NUMBERS = ("expected", "lowest, highest", "range", "tie-broken", "bias", "sd")


def table(results: Mapping[str, Any], *, scale: ValueUnit = FRACTIONS) -> Group:
    """An evaluation for a terminal: values, ties, queries, findings, policy.

    Args:
        results: what `trueval.evaluation.scores.results` returns, the JSON of `trueval evaluate`. A table of every
            query of every run is there where these are.
        scale: scale of the printed values.

    Returns:
        A renderable for a rich console of any width.
    """
    parts: list[RenderableType] = [value_table(results, scale), Text(), tie_table(results, scale)]
    if any("per_query" in run for run in results["runs"]):
        parts += [Text(), query_table(results, scale)]
    parts += _corrected_renderables(results, scale)
    words = [*sentences(find(results)), *_remarks(results), *unit(scale)]
    # An indented line stays indented where it goes on in the next one.
    lines = [Padding(Text(s.strip()), (0, 0, 0, 2), expand=False) if s.startswith(" ") else Text(s) for s in words]
    return Group(*parts, Text(), *lines, Text(_policy(results["policy"]), style="dim"))


def _corrected_renderables(results: Mapping[str, Any], scale: ValueUnit) -> Iterator[RenderableType]:
    """Judge, corrected and people in columns, with notes; empty without an audit."""
    if "audit" not in results:
        return
    told = corrected.of_runs(results)
    yield from (Text(), Text(corrected.TITLE.lower(), style="bold"))
    yield from [corrected.table(told, scale)] if told else []
    yield from map(Text, (*corrected.describe_leader_changes(told), *corrected.lines(results, told)))


def value_table(results: Mapping[str, Any], scale: ValueUnit = FRACTIONS) -> TerminalGrid:
    """One row per run and measure; the runs are grouped by measure.

    Args:
        results: the JSON of `trueval evaluate`.
        scale: scale of the printed values.

    Returns:
        A table that leaves out range, bias and sd where a terminal has no room for them.
    """
    runs, findings = results["runs"], find(results)
    rows = grid(["measure" if len(runs) == 1 else "", *NUMBERS, ""], "Lrrrrrrl", SPARE)
    for measure in runs[0]["measures"] if runs else ():
        if len(runs) > 1:
            rows.add_row(Text(measure, style="bold"))
        for run in runs:
            value = run["measures"][measure]
            name = Text(measure, style="bold") if len(runs) == 1 else Text(f" {run['name']}")
            moved = "yellow" if value["range"] else "dim"
            rows.add_row(
                name,
                Text(format_value(value["expected"], scale), style="bold"),
                Text(interval(value["lowest"], value["highest"], scale), style=moved),
                Text(format_value(value["range"], scale), style=moved),
                Text(format_value(value["tie_broken"], scale)),
                Text(format_difference(value["bias"], scale), style="red" if value["bias"] else "dim"),
                Text(format_value(value["sd"], scale), style=moved),
                Text(marks(findings, run["name"], measure) + _bound(value)),
            )
    return rows


def tie_table(results: Mapping[str, Any], scale: ValueUnit = FRACTIONS) -> TerminalGrid:
    """One row per run: how much of it is tied, and which queries do not match the judgments.

    Args:
        results: the JSON of `trueval evaluate`.
        scale: scale of the printed values.

    Returns:
        A table with counts of queries and shares of documents.
    """
    rows = grid(("run", "queries", "tied", "largest group", "possible cuts", "missing", "unjudged"), "Lrrrrrr")
    for run in results["runs"]:
        ties = run["ties"]
        others = (ties["cut_queries"], run["missing_queries"], run["unjudged_queries"])
        tied = format_value(ties["tied_fraction"], scale), str(ties["largest_group"])
        rows.add_row(Text(run["name"]), str(run["queries"]), *tied, *(str(len(ids)) for ids in others))
    return rows


def query_table(results: Mapping[str, Any], scale: ValueUnit = FRACTIONS) -> TerminalGrid:
    """One row per run, query and measure.

    Args:
        results: the JSON of `trueval evaluate --per-query`.
        scale: scale of the printed values.

    Returns:
        A table without the marks, which are about means.
    """
    rows = grid(("query", "measure", "expected", "lowest, highest", "tie-broken", "sd"), "LLrrrr", ("sd",))
    for run in results["runs"]:
        rows.add_row(Text(run["name"], style="bold"))
        for row in run["per_query"]:
            spread = interval(row["lowest"], row["highest"], scale)
            expected, *rest = (format_value(row[name], scale) for name in ("expected", "tie_broken", "sd"))
            rows.add_row(Text(f"  {row['query']}"), Text(row["measure"]), expected, spread, *rest)
    return rows


def _bound(value: Mapping[str, Any]) -> str:
    return "" if value.get("exact", True) else "°"


def _remarks(results: Mapping[str, Any]) -> Iterator[str]:
    values = [value for run in results["runs"] for value in run["measures"].values()]
    if any(_bound(value) for value in values):
        yield NOT_EXACT
    if values and all(value["range"] == 0 for value in values):
        yield "No order of ties changes any of these numbers."
    counts = [(run["name"], len(run["ties"]["cut_queries"])) for run in results["runs"]]
    cut = [f"{name} ({count})" for name, count in counts if count]
    if cut:
        yield (
            f"Possible cuts, by number of queries: {', '.join(cut)}. The list may end inside a group of tied "
            "documents, so documents that tie with its last ones may be missing from the file."
        )


def _policy(policy: Mapping[str, Any]) -> str:
    idle = {name for name, value in policy.items() if value is None or value is False}
    if policy.get("tie_order") != "random":
        idle.add("seed")
    idle |= {name for name in RARELY_CHOSEN if policy.get(name) == getattr(OURS, name)}
    words = _choices({name: value for name, value in policy.items() if name not in idle | {"exceptions"}})
    exceptions: dict[str, list[str]] = {}
    for measure, own in (policy.get("exceptions") or {}).items():
        exceptions.setdefault(_choices(own), []).append(measure)
    return "; ".join([f"policy: {words}", *(f"for {', '.join(of)}: {own}" for own, of in exceptions.items())])


def _choices(choices: Mapping[str, Any]) -> str:
    values = ("as read" if v is None else f"{v:g}" if isinstance(v, float) else v for v in choices.values())
    return ", ".join(f"{name.replace('_', ' ')} {value}" for name, value in zip(choices, values, strict=True))
