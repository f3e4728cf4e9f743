"""The view of `trueval golden correct`: corrected values, differences, and the gain of more labels."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from html import escape
from typing import Any, Final

from rich.console import Group, RenderableType
from rich.text import Text

from trueval.evaluation.views import corrected
from trueval.evaluation.views.corrected import CSV, CorrectedEntry, flat, of_runs
from trueval.printable import printable_all
from trueval.report import formats
from trueval.report.console_tables import notebook
from trueval.report.formats import latex, markdown, pipes, tabular
from trueval.report.number_texts import (
    FRACTIONS,
    NOT_AVAILABLE,
    ValueUnit,
    count_phrase,
    format_difference,
    format_value,
    percent,
    unit,
)
from trueval.report.terminal import TerminalGrid, grid, render_text

COLUMNS: Final = ("run", "second", "measure", *CSV, "width", "wanted", "more_units", "more_labels", "least_width")
PLAN: Final = ("width now", "wanted", "more {units}", "more labels", "least width")
MOST_WORTH: Final = 3  # strata that a sentence names


def differences_of(result: Mapping[str, Any]) -> list[CorrectedEntry]:
    """Corrections of every pair, by measure.

    Args:
        result: the JSON of `trueval golden correct`.
    """
    return [
        CorrectedEntry(f"{entry['first']} - {entry['second']}", entry, ("differences", at))
        for at, entry in enumerate(result["differences"])
    ]


def table(result: Mapping[str, Any], *, scale: ValueUnit = FRACTIONS) -> Group:
    """The result as a terminal shows it, top to bottom.

    Args:
        result: the JSON of `trueval golden correct`.
        scale: scale of the printed values.
    """
    values, differences = of_runs(result), differences_of(result)
    parts: list[RenderableType] = [corrected.table(values, scale)]
    if differences:
        parts += [Text(), Text("differences", style="bold"), corrected.table(differences, scale, format_difference)]
    if any("plan" in each.entry for each in values):
        parts += [
            Text(),
            Text("what more labels buy", style="bold"),
            _plan_grid(result, [*values, *differences], scale),
        ]
    return Group(*parts, Text(), *map(Text, [*lines(result), *unit(scale)]))


def console(result: Mapping[str, Any]) -> str:
    """The result as plain text: values, differences, refusals and warnings.

    Args:
        result: what `Corrected.to_dict` returns.
    """
    result = printable_all(result)
    values, differences = of_runs(result), differences_of(result)
    parts: list[RenderableType] = [corrected.table(values)]
    if differences:
        parts += [Text(), corrected.table(differences, show=format_difference)]
    return render_text(Group(*parts, *map(Text, _words(result, values, differences))))


def html(result: Mapping[str, Any]) -> str:
    """The result as HTML tables, everything escaped.

    Args:
        result: what `Corrected.to_dict` returns.
    """
    result = printable_all(result)
    values, differences = of_runs(result), differences_of(result)
    head, rows = corrected.rows_of(values)
    parts = [notebook(("run", *head), rows, words=2)]
    if differences:
        head, rows = corrected.rows_of(differences, show=format_difference)
        parts.append(notebook(("difference", *head), rows, words=2))
    return "".join([*parts, *(f"<p>{escape(line)}</p>" for line in _words(result, values, differences))])


def _words(
    result: Mapping[str, Any], values: Sequence[CorrectedEntry], differences: Sequence[CorrectedEntry]
) -> Iterator[str]:
    yield f"Design {result['design']}, intervals for {result['target']}."
    yield from corrected.refusals([*values, *differences])
    yield from corrected.warnings([*values, *differences])


def lines(result: Mapping[str, Any]) -> Iterator[str]:
    """Notes to the numbers.

    Args:
        result: the JSON of `trueval golden correct`.
    """
    values, differences = of_runs(result), differences_of(result)
    yield from corrected.describe_leader_changes(values)
    yield from corrected.describe_sign_changes(differences, surely=True)
    yield corrected.sample_sentence(result["audit"])
    yield from corrected.refusals([*values, *differences])
    yield from corrected.warnings([*values, *differences])
    yield from suggest_labels(result, values)
    if any("plan" in each.entry for each in values):
        yield plan_sentence(result)


def plan_sentence(result: Mapping[str, Any]) -> str:
    """The table of needed labels in one sentence.

    Args:
        result: the JSON of `trueval golden correct`.
    """
    wanted = "" if result["width"] is not None else " (halfway to the least width)"
    return (
        f"About so many more {units_of(result)} or labels make the interval as narrow as wanted{wanted}, if judge and "
        "people go on to differ as they do; a dash where no number does. Widths are from end to end; the least one is "
        "that with everything graded. trueval golden audit DIR --size N makes the sample larger."
    )


def suggest_labels(result: Mapping[str, Any], values: Sequence[CorrectedEntry]) -> Iterator[str]:
    """Where more labels gain most: strata, or whole queries on which judge and people differ most.

    Args:
        result: the JSON of `trueval golden correct`.
        values: corrections of runs.
    """
    known = [each for each in values if not each.refused]
    if result["design"] == "queries":
        shares: Counter[str] = Counter()
        for each in known:
            shares.update({one["query"]: one["share"] for one in each.entry["open_queries"]})
        if shares:
            named = ", ".join(query for query, _ in shares.most_common(MOST_WORTH))
            yield f"Judge and people differ most in the queries {named}: look there for what the judge gets wrong."
        return
    found = [
        (each, sorted((one for one in each.entry["strata"] if one["worth"]), key=lambda one: -one["worth"]))
        for each in known
    ]
    if any(strata for _, strata in found):
        yield "One more label is worth most in these strata, with their shares of the variance that labels leave open:"
    for each, strata in found:
        named = ", ".join(f"{one['stratum']} {percent(one['share'])}" for one in strata[:MOST_WORTH])
        if named:
            yield f"  {each.measure} of {each.name}: {named}"


def units_of(result: Mapping[str, Any]) -> str:
    """The unit of sampling: queries or passages."""
    return "queries" if result["design"] == "queries" else "passages"


def _plan_head(result: Mapping[str, Any]) -> tuple[str, ...]:
    return tuple(each.format(units=units_of(result)) for each in PLAN)


def _plan_grid(result: Mapping[str, Any], told: Sequence[CorrectedEntry], scale: ValueUnit) -> TerminalGrid:
    rows = grid(("", *_plan_head(result)), "Lrrrrr")
    for measure, mine in corrected.by_measure(told):
        rows.add_row(Text(measure, style="bold"))
        for each in mine:
            if "plan" in each.entry:
                rows.add_row(Text(f" {each.name}"), *_plan_cells(each, scale))
    return rows


def _plan_cells(told: CorrectedEntry, scale: ValueUnit) -> list[str]:
    plan = told.entry["plan"]
    counts = (NOT_AVAILABLE if plan[name] is None else f"{plan[name]:,}" for name in ("units", "labels"))
    return [
        format_value(plan["now"], scale),
        format_value(plan["wanted"], scale),
        *counts,
        format_value(plan["least"], scale),
    ]


def to_csv(result: Mapping[str, Any]) -> str:
    """One line per run or pair and measure, in full precision.

    Args:
        result: the JSON of `trueval golden correct`.
    """
    rows = []
    for entry, run in _entries(result):
        plan = entry.get("plan", {})
        about = {"run": run, "second": entry.get("second"), "measure": entry["measure"]}
        more = {
            "width": plan.get("now"),
            "wanted": plan.get("wanted"),
            "more_units": plan.get("units"),
            "more_labels": plan.get("labels"),
            "least_width": plan.get("least"),
        }
        rows.append({**about, **flat(entry), **more})
    return formats.to_csv(COLUMNS, rows)


def _entries(result: Mapping[str, Any]) -> Iterator[tuple[Mapping[str, Any], str]]:
    for run in result["runs"]:
        yield from ((entry, run["name"]) for entry in run["corrected"])
    yield from ((entry, entry["first"]) for entry in result["differences"])


def to_markdown(result: Mapping[str, Any], *, scale: ValueUnit = FRACTIONS) -> str:
    """Markdown tables, then the notes.

    Args:
        result: the JSON of `trueval golden correct`.
        scale: scale of the printed values.
    """
    values, differences = of_runs(result), differences_of(result)
    parts = [corrected.markdown(values, scale)]
    if differences:
        parts.append(corrected.markdown(differences, scale, ("difference",), format_difference))
    planned = [each for each in (*values, *differences) if "plan" in each.entry]
    if planned:
        rows = ([each.name, each.measure, *_plan_cells(each, scale)] for each in planned)
        parts.append(pipes(("run", "measure", *_plan_head(result)), rows, words=2))
    parts.append("".join(_list_item(line) for line in [*lines(result), *unit(scale)]))
    return "\n".join(parts)


def _list_item(line: str) -> str:
    indent = "    " if line.startswith(" ") else ""
    return f"{indent}- {markdown(line.strip())}\n"


def to_latex(result: Mapping[str, Any], *, scale: ValueUnit = FRACTIONS) -> str:
    """LaTeX tabulars of values, differences and labels; they need the package booktabs.

    Args:
        result: the JSON of `trueval golden correct`.
        scale: scale of the printed values.
    """
    values, differences = of_runs(result), differences_of(result)
    parts = [corrected.tabular_of(values, scale, notes=[*lines(result), *unit(scale)])]
    if differences:
        parts.append(corrected.tabular_of(differences, scale, "difference", format_difference))
    planned = [each for each in (*values, *differences) if "plan" in each.entry]
    if planned:
        rows = ([latex(cell) for cell in (each.name, each.measure, *_plan_cells(each, scale))] for each in planned)
        parts.append(tabular(("run", "measure", *_plan_head(result)), rows, "llrrrrr"))
    return "\n".join(parts)


def headline(result: Mapping[str, Any]) -> str:
    """One sentence: what was audited, and how far the audit moves the values.

    Args:
        result: the JSON of `trueval golden correct`.
    """
    moved = [
        (abs(each.entry["corrected"]["estimate"] - each.entry["judge"]["estimate"]), each)
        for each in of_runs(result)
        if not each.refused and None not in (each.entry["corrected"]["estimate"], each.entry["judge"]["estimate"])
    ]
    audit = result["audit"]
    labels = count_phrase(audit["people_labels"], "label", "labels")
    if not moved:
        return f"{labels} of people correct none of these measures."
    _, most = max(moved, key=lambda each: each[0])
    judge, value = (most.entry[name]["estimate"] for name in ("judge", "corrected"))
    return (
        f"{labels} of people move {most.measure} of {most.name} most: {format_value(judge)} by the judge's labels, "
        f"{format_value(value)} corrected."
    )
