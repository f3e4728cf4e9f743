"""Corrected values and differences of a comparison, as text."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from trueval.evaluation.views import corrected
from trueval.evaluation.views.corrected import Told
from trueval.report.formats import markdown
from trueval.report.text import Scale, signed

if TYPE_CHECKING:
    from rich.console import RenderableType


def values_of(comparison: Mapping[str, Any]) -> list[Told]:
    """The entries of every run.

    Args:
        comparison: the JSON of `trueval compare`.
    """
    return [
        Told(run["name"], entry, ("corrected", at, "corrected", place))
        for at, run in enumerate(comparison.get("corrected", ()))
        for place, entry in enumerate(run["corrected"])
    ]


def differences_of(comparison: Mapping[str, Any]) -> list[Told]:
    """The entries of every pair, the first run less the second; against a baseline named by the run alone.

    Args:
        comparison: the JSON of `trueval compare`, or of `trueval golden correct`.
    """
    found = []
    for place, row in enumerate(comparison["differences"]):
        entry, source = (row["corrected"], ("corrected",)) if "corrected" in row else (row, ())
        found.append(Told(f"{row['first']} − {row['second']}", entry, ("differences", place, *source)))
    return [each for each in found if "design" in each.entry]


def corrected_parts(comparison: Mapping[str, Any], scale: Scale) -> Iterator[RenderableType]:
    """What a terminal shows of them; nothing without an audit.

    Args:
        comparison: the JSON of `trueval compare`.
        scale: of the values.
    """
    from rich.text import Text

    if "audit" not in comparison:
        return
    values, differences = values_of(comparison), differences_of(comparison)
    yield Text(corrected.TITLE.lower(), style="bold")
    yield corrected.table(values, scale)
    yield from (Text(), Text("differences, corrected", style="bold"), corrected.table(differences, scale, signed))
    yield from map(Text, _lines(comparison, values, differences))
    yield Text()


def corrected_markdown(comparison: Mapping[str, Any], scale: Scale) -> Iterator[str]:
    """The same as Markdown.

    Args:
        comparison: the JSON of `trueval compare`.
        scale: of the values.
    """
    if "audit" not in comparison:
        return
    values, differences = values_of(comparison), differences_of(comparison)
    yield f"### {corrected.TITLE}\n\n{corrected.markdown(values, scale)}\n"
    yield f"{corrected.markdown(differences, scale, ('difference',), signed)}\n"
    yield "".join(f"- {markdown(line)}\n" for line in _lines(comparison, values, differences)) + "\n"


def corrected_latex(comparison: Mapping[str, Any], scale: Scale) -> Iterator[str]:
    """The same as tabulars of LaTeX, one of values and one of differences.

    Args:
        comparison: the JSON of `trueval compare`.
        scale: of the values.
    """
    if "audit" not in comparison:
        return
    values, differences = values_of(comparison), differences_of(comparison)
    yield corrected.tabular_of(values, scale, notes=_lines(comparison, values, differences))
    yield corrected.tabular_of(differences, scale, "difference", signed)


def _lines(comparison: Mapping[str, Any], values: Sequence[Told], differences: Sequence[Told]) -> Iterator[str]:
    yield from corrected.turned_leads(values)
    yield from corrected.turned_signs(differences)
    yield from corrected.lines(comparison, [*values, *differences])
