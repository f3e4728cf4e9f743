"""Tables of a simulation: terminal, Markdown, LaTeX, CSV."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from rich.console import Group

from research.simulation_results import MethodResult, rows
from research.synthetic_pools import TRUE_ORDER
from trueval.report import formats
from trueval.report.number_texts import (
    FRACTIONS,
    NOT_AVAILABLE,
    ValueUnit,
    count_phrase,
    format_difference,
    format_value,
    unit,
)
from trueval.report.sheets import TextSheet, as_markdown, as_one_tabular, in_terminal

Entry = Mapping[str, Any]

HEAD = (
    *("method", "calls", "passages", "member-\nship", "±", "of the\njudge", "τ"),
    *("claimed", "claimed −\njudge", "±", "wrong\nlists", "posterior\nneeds"),
)


def table(result: Entry, *, scale: ValueUnit = FRACTIONS) -> Group:
    """A table for each world, and a legend of the columns.

    Args:
        result: what `RefinementSimulation.to_dict` returns.
        scale: of the values.
    """
    return in_terminal(_sheets(result, scale), _sentences(result, scale))


def world_heading(world: Entry) -> str:
    """The line above the table of a world.

    Args:
        world: an entry of "worlds".
    """
    truth = "" if world["truth"] == TRUE_ORDER else f". Claims are about {world['truth']}"
    return f"{world['name']}: {world['about']}{truth}"


def legend(result: Entry) -> Iterator[str]:
    """The legend of the columns.

    Args:
        result: the JSON of `python -m research.simulate`.

    Yields:
        Sentences.
    """
    yield (
        f"Means over {count_phrase(result['pools'], 'pool', 'pools')} of each world, seed {result['seed']}. "
        "membership: "
        f"share of the true best {result['top']} among those returned, ± its standard error; of the judge: of the best "
        "as the judge itself means them; τ: Kendall's, of the order returned and the true one."
    )
    yield (
        "claimed: the overlap that the method expects, which is about the judge's order and not about the truth; "
        "claimed − judge: less what is so, ± its standard error. wrong lists: share with at least one wrong member."
    )
    if any(method["posterior_calls"] is not None for world in result["worlds"] for method in world["methods"]):
        yield (
            "posterior needs: calls of 5 passages after which a posterior that was tried has this membership and keeps "
            f"it; {NOT_AVAILABLE} where none does."
        )


def to_csv(result: Entry) -> str:
    """One line for each world and method, in full precision.

    Args:
        result: the JSON of `python -m research.simulate`.
    """
    return formats.to_csv(["world", *MethodResult._fields], rows(result))


def to_markdown(result: Entry, *, scale: ValueUnit = FRACTIONS) -> str:
    """A table for each world.

    Args:
        result: the JSON of `python -m research.simulate`.
        scale: of the values.
    """
    return as_markdown(_sheets(result, scale), _sentences(result, scale))


def to_latex(result: Entry, *, scale: ValueUnit = FRACTIONS) -> str:
    """A tabular for a paper, one part for each world; it needs the package booktabs.

    Args:
        result: the JSON of `python -m research.simulate`.
        scale: of the values.
    """
    return as_one_tabular(_sheets(result, scale), _sentences(result, scale))


def _sheets(result: Entry, scale: ValueUnit) -> list[TextSheet]:
    return [
        TextSheet(
            world_heading(world),
            HEAD,
            "L" + "r" * (len(HEAD) - 1),
            tuple((method["method"], *_numbers(method, scale)) for method in world["methods"]),
            spare=("wrong\nlists", "of the\njudge", "passages"),
        )
        for world in result["worlds"]
    ]


def _sentences(result: Entry, scale: ValueUnit) -> list[str]:
    return [*legend(result), *unit(scale)]


def _numbers(method: Entry, scale: ValueUnit) -> Iterator[str]:
    yield from (f"{method[name]:.1f}" for name in ("calls", "passages"))
    yield from (format_value(method[name], scale) for name in ("membership", "error", "judged", "tau", "claimed"))
    yield format_difference(method["gap"], scale)
    yield format_value(method["gap_error"], scale)
    yield format_value(method["wrong"], scale)
    needed = method["posterior_calls"]
    yield NOT_AVAILABLE if needed is None else str(needed)
