"""Corrected values and differences of a comparison, as text."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from trueval.comparison.comparison import flatten
from trueval.evaluation.views import corrected
from trueval.evaluation.views.corrected import CSV, CorrectedEntry, flat, reverse_entry
from trueval.report.formats import markdown
from trueval.report.number_texts import ValueUnit, format_difference

if TYPE_CHECKING:
    from rich.console import RenderableType


def values_of(comparison: Mapping[str, Any]) -> list[CorrectedEntry]:
    """Corrections of every run, by measure, the best by the judge's labels first.

    Args:
        comparison: the JSON of `trueval compare`.
    """
    found = [
        CorrectedEntry(run["name"], entry, ("corrected", at, "corrected", place))
        for at, run in enumerate(comparison.get("corrected", ()))
        for place, entry in enumerate(run["corrected"])
    ]
    places = _places(comparison)
    return sorted(found, key=lambda each: places[each.measure, each.name])


def differences_of(comparison: Mapping[str, Any]) -> list[CorrectedEntry]:
    """Corrections of every pair, as the tables of pairs show them: the better run by the judge's labels first.

    Args:
        comparison: the JSON of `trueval compare`.
    """
    found, places = [], _places(comparison)
    for at, row in enumerate(comparison["differences"]):
        names = [row["first"], row["second"]]
        rank = [places[row["measure"], name] for name in names]
        turned = comparison["baseline"] is None and rank[0] > rank[1]
        entry = reverse_entry(row["corrected"]) if turned else row["corrected"]
        one, other = reversed(names) if turned else names
        told = CorrectedEntry(f"{one} - {other}", entry, ("differences", at, "corrected"), turned)
        found.append(((min(rank), max(rank)) if comparison["baseline"] is None else rank, told))
    return [told for _, told in sorted(found, key=lambda each: each[0])]


def _places(comparison: Mapping[str, Any]) -> dict[tuple[str, str], tuple[int, int]]:
    """The position of each measure and run: among the measures, and in the ranking."""
    return {
        (board["measure"], row["run"]): (number, place)
        for number, board in enumerate(comparison["leaderboards"])
        for place, row in enumerate(board["ranking"])
    }


def corrected_renderables(comparison: Mapping[str, Any], scale: ValueUnit) -> Iterator[RenderableType]:
    """Corrected values and differences for a terminal; empty without an audit.

    Args:
        comparison: the JSON of `trueval compare`.
        scale: scale of the printed values.
    """
    from rich.text import Text

    if "audit" not in comparison:
        return
    values, differences = values_of(comparison), differences_of(comparison)
    yield Text(corrected.TITLE.lower(), style="bold")
    yield corrected.table(values, scale)
    yield from (
        Text(),
        Text("differences, corrected", style="bold"),
        corrected.table(differences, scale, format_difference),
    )
    yield from map(Text, _lines(comparison, values, differences))
    yield Text()


def corrected_markdown(comparison: Mapping[str, Any], scale: ValueUnit) -> Iterator[str]:
    """Corrected values and differences as Markdown; empty without an audit.

    Args:
        comparison: the JSON of `trueval compare`.
        scale: scale of the printed values.
    """
    if "audit" not in comparison:
        return
    values, differences = values_of(comparison), differences_of(comparison)
    yield f"### {corrected.TITLE}\n\n{corrected.markdown(values, scale)}\n"
    yield f"{corrected.markdown(differences, scale, ('difference',), format_difference)}\n"
    yield "".join(f"- {markdown(line)}\n" for line in _lines(comparison, values, differences)) + "\n"


def corrected_latex(comparison: Mapping[str, Any], scale: ValueUnit) -> Iterator[str]:
    """Corrected values and differences as two LaTeX tabulars.

    Args:
        comparison: the JSON of `trueval compare`.
        scale: scale of the printed values.
    """
    if "audit" not in comparison:
        return
    values, differences = values_of(comparison), differences_of(comparison)
    yield corrected.tabular_of(values, scale, notes=_lines(comparison, values, differences))
    yield corrected.tabular_of(differences, scale, "difference", format_difference)


def csv_rows(comparison: Mapping[str, Any]) -> tuple[list[str], list[dict[str, Any]]]:
    """Names and rows of CSV, one row per difference with its correction.

    Args:
        comparison: the JSON of `trueval compare`.
    """
    rows, names = [], list[str]()
    for row in comparison["differences"]:
        own = dict(flatten({name: value for name, value in row.items() if name != "corrected"}))
        names = names or [*own, *(CSV if "audit" in comparison else ())]
        rows.append({**own, **flat(row.get("corrected"))})
    return names, rows


def _lines(
    comparison: Mapping[str, Any], values: Sequence[CorrectedEntry], differences: Sequence[CorrectedEntry]
) -> Iterator[str]:
    yield from corrected.describe_leader_changes(values)
    yield from corrected.describe_sign_changes(differences)
    yield from corrected.lines(comparison, [*values, *differences])
