"""`trueval measures`: list the measures."""

import json
import sys
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

if TYPE_CHECKING:
    from rich.console import RenderableType

    from trueval.measures import Measure

CUTOFF = {"required": "needs a cutoff, {name}@10", "optional": "cutoff optional, {name}@10", "none": "takes no cutoff"}
# Short names of sources.
PAPERS = {"P-A": "Yang et al. 2026, arXiv 2508.03306", "P-B": "Dallaire 2025, arXiv 2511.09545"}


def measures(
    names: Annotated[
        list[str] | None, typer.Argument(metavar="[NAME]...", help="Only these; every measure if none is given.")
    ] = None,
    form: Annotated[Literal["table", "json"], typer.Option("--format", help="What to print.")] = "table",
) -> None:
    """Lists measures with formula, source and parameters.

    Example: trueval measures nDCG RA-nWG
    """
    from trueval.measures import parse, registry

    chosen = registry() if not names else {measure.name: registry()[measure.name] for measure in map(parse, names)}
    entries = [describe(measure) for measure in chosen.values()]
    if form == "json":
        sys.stdout.write(json.dumps({"measures": entries}, indent=2, ensure_ascii=False) + "\n")
        return
    from rich.console import Console, Group
    from rich.text import Text

    papers = [
        Text(f"{short}: {paper}") for short, paper in PAPERS.items() if any(short in e["source"] for e in entries)
    ]
    Console(highlight=False).print(Group(*(part for entry in entries for part in _block(entry)), *papers))


def describe(measure: "Measure") -> dict[str, Any]:
    """The description of a measure, as in the JSON of `trueval measures`.

    Args:
        measure: registered measure.

    Returns:
        name, summary, formula, source, better, cutoff ("required", "optional", "none") and the parameters by name.
    """
    parameters = {
        name: {"default": parameter.default, "accepts": parameter.accepts, "about": parameter.about}
        for name, parameter in measure.definition.parameters.items()
    }
    known = {name: getattr(measure, name) for name in ("name", "summary", "formula", "source", "better")}
    return {**known, "cutoff": measure.cutoff_use, "parameters": parameters}


def _block(entry: Mapping[str, Any]) -> Iterator["RenderableType"]:
    from rich.padding import Padding
    from rich.text import Text

    head = Text(entry["name"], style="bold")
    head.append(
        f"  {entry['better']} is better, {CUTOFF[entry['cutoff']].format(name=entry['name'])}", style="not bold dim"
    )
    yield head
    for line in (entry["summary"], entry["formula"]):
        yield Padding(Text(line), (0, 0, 0, 2))
    yield Padding(Text(f"source: {entry['source']}", style="dim"), (0, 0, 0, 2))
    for name, parameter in entry["parameters"].items():
        words = f"{name}={parameter['default']!r}: {parameter['about']}; {parameter['accepts']}"
        yield Padding(Text(words, style="dim"), (0, 0, 0, 2))
    yield Text()
