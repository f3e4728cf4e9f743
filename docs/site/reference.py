"""Pages of the site that are made without running a command: what `import trueval` offers, its errors, the tour."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator, Mapping

from docs.site import tour

import trueval
from trueval.cli.help import Entry, error_messages

# The first part of the name of a module, as a heading of the errors.
HOMES: Mapping[str, str] = {
    "cli": "Commands",
    "comparison": "Comparisons, power and gates",
    "cost": "Prices and memory",
    "evaluation": "Evaluation",
    "files": "Reading files",
    "golden": "Golden sets and audits",
    "integrations": "Inside other tools",
    "latency": "Latency",
    "measures": "Measures",
    "models": "Models",
    "policy": "Choices and conventions",
    "precision": "Number formats",
    "probes": "Probes",
    "rag": "Contexts",
    "report": "Pages and results",
    "retrieval": "Retrieval",
    "standings": "Ties and standings",
    "tradeoff": "Sweeps and frontiers",
}
OTHERS = "Runs, judgments and collections"

FUNCTIONS = """# Functions

What `import trueval as tv` offers to do. Wherever a run or judgments are taken, so are paths, dicts, frames and objects
of other tools ([in Python](../python.md)). What is raised is listed under [errors](../errors.md).
"""
CLASSES = """# Classes

What the [functions](functions.md) take and return.
"""
OWN_MEASURES = """# For a measure of your own

The parts of a measure that you write and register: [ten lines that do so](../python.md#a-measure-of-your-own). In
shapes, `query` is a query of the judgments and `row` a judged document that the run lists; ranks count from 1. A
policy fills in the parameters `rel` (REL), `gain` (GAIN) and `base` (BASE) where a measure has them.
"""
# In the order of writing a measure: its definition, its parameters, what is known of a query, and its values.
OWN = (
    "trueval.measures.measure.Definition",
    "trueval.measures.measure.register",
    "trueval.specs.Parameter",
    "trueval.specs.number_in_range",
    "trueval.specs.choice",
    "trueval.measures.parameters.REL",
    "trueval.measures.parameters.GAIN",
    "trueval.measures.parameters.BASE",
    "trueval.measures.parameters.is_relevant",
    "trueval.measures.parameters.count_relevant",
    "trueval.measures.parameters.gains_of",
    "trueval.standings.standings.Standings",
    "trueval.measures.orders.weights.WeightTable",
    "trueval.measures.orders.weights.Top",
    "trueval.measures.linear.linear",
    "trueval.measures.measure.Values",
)
ERRORS = """# Errors and what to do

Every message says what is wrong, where, what it must be, and what to do. Below, … stands for what a message fills
in: search this page for a few words of yours, or let the program search:

```console
$ trueval help WORDS
```

The exit status is 0 where all is fine, 1 where a gate failed or the input is bad, 2 for misuse of a command, and 70 for
a fault of trueval itself, whose traceback is in `trueval.log` beside the results. `--verbose` shows tracebacks. In
Python the errors are:

::: trueval.errors
    options:
      heading_level: 2
      show_root_toc_entry: false
      show_root_heading: false
      members: [TruevalError, InputError, MeasureError, PolicyError, MissingExtraError, ForkError, TruevalWarning]
      filters: ["!^__"]
"""


def pages() -> dict[str, str]:
    """The pages by their names below the root of the site."""
    offered = {name: getattr(trueval, name) for name in trueval.__all__ if name != "__version__"}
    functions = sorted(name for name, value in offered.items() if inspect.isroutine(value))
    classes = sorted(name for name, value in offered.items() if inspect.isclass(value))
    return {
        "api/functions.md": "\n".join([FUNCTIONS, *map(_member, functions)]),
        "api/classes.md": "\n".join([CLASSES, *map(_member, classes)]),
        "api/own_measures.md": "\n".join([OWN_MEASURES, *(f"::: {name}\n" for name in OWN)]),
        "tour.md": tour.markdown(tour.read()),
        "errors.md": "\n".join([ERRORS, *_errors()]),
    }


def _member(name: str) -> str:
    """The lines from which mkdocstrings makes the documentation of one name."""
    return f"::: trueval.{name}\n"


def _errors() -> Iterator[str]:
    """All messages, under a heading for each part of the package."""
    by_heading: dict[str, list[str]] = {}
    for entry in error_messages():
        messages = by_heading.setdefault(_heading(entry), [])
        if entry.text not in messages:
            messages.append(entry.text)
    for heading in sorted(by_heading):
        yield f"## {heading}\n"
        yield from (f"- {_literal(text)}" for text in sorted(by_heading[heading]))
        yield ""


def _heading(entry: Entry) -> str:
    return HOMES.get(entry.key.partition(".")[0], OTHERS)


def _literal(text: str) -> str:
    """A text in which nothing is markup, on one line."""
    return re.sub(r"([\\`*_{}\[\]<>#|~^])", r"\\\1", " ".join(text.split()))
