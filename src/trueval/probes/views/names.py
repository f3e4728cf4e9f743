"""Reports of names probes: terminal table, Markdown, LaTeX, CSV."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from rich.console import Group, RenderableType
from rich.text import Text

from trueval.probes import margin_summary
from trueval.probes.views.published import SOURCE, PublishedTable, published_tables
from trueval.report import formats
from trueval.report.formats import latex, markdown, pipes, tabular
from trueval.report.number_texts import (
    FRACTIONS,
    NOT_AVAILABLE,
    ValueUnit,
    count_phrase,
    format_difference,
    format_value,
    interval,
    unit,
)
from trueval.report.terminal import grid

Entry = Mapping[str, Any]

HEAD = (
    *("condition", "Δname", "± between\nruns", "interval", "Δtopic", "Δboth", "name /\ntopic"),
    *("ΔΔ", "ΔΔ / Δ", "its\ninterval", "kept\napart", "within\ngrain"),
)
WORDS = tuple(title.replace("\n", " ") for title in HEAD)
CELLS = "L" + "r" * (len(HEAD) - 1)


def table(result: Entry, *, scale: ValueUnit = FRACTIONS) -> Group:
    """The terminal report: a table per scorer and language, then the published ones.

    Args:
        result: what `NamesResult.to_dict` returns.
        scale: of shares and of changes relative to the margin; margins are in the unit of their scorer.
    """
    parts: list[RenderableType] = []
    for scorer in result["scorers"]:
        shown = grid(HEAD, CELLS, spare=("Δboth", "± between\nruns", "within\ngrain", "interval"))
        for condition in scorer["conditions"]:
            shown.add_row(Text(condition["name"]), *_numbers(condition, scale))
        parts += [Text(scorer_heading(scorer), style="bold"), shown, Text()]
    parts += [Text(line) for line in [*legend(result), *unit(scale)]]
    for each in _published_tables(result):
        shown = grid(each.head, "L" + "r" * (len(each.head) - 1))
        for row in each.rows:
            shown.add_row(*map(Text, row))
        parts += [Text(), Text(each.title, style="bold"), shown]
    return Group(*parts, Text(SOURCE))


def scorer_heading(scorer: Entry) -> str:
    """The heading of a scorer's table.

    Args:
        scorer: an entry of "scorers".
    """
    return f"{scorer['name']}, {scorer['language']} ({scorer['unit']})"


def legend(result: Entry) -> Iterator[str]:
    """What the columns mean.

    Args:
        result: the JSON of `trueval probe names`.

    Yields:
        Sentences.
    """
    first = result["scorers"][0]
    of = "our sample of authors who do not exist" if first["source"] == "sample" else first["source"]
    yield (
        f"Means over {count_phrase(first['queries'], 'query', 'queries')} and "
        f"{count_phrase(first['runs'], 'run', 'runs')}, seed "
        f"{first['seed']}, names of {of}; ± standard deviation between runs; intervals of {result['level']:.0%} by "
        "bootstrap over authors."
    )
    yield (
        "Δname: right author less the better of two impostors, for the same work; Δtopic: the work less another one by "
        "the same author; Δboth: less another work by another author. Margins of different scorers are in different "
        "units: compare shares and ratios."
    )
    yield (
        "ΔΔ: Δname less that of base, run by run and query by query; ΔΔ / Δ: the mean of its part of base, over "
        f"bundles whose base Δname is at least {least(result)}."
    )
    yield (
        "kept apart: share of bundles in which the right author is above both impostors by more than rounding; within "
        "grain: share in which the margin is not larger than rounding to the number formats can make it."
    )
    for scorer in result["scorers"]:
        share = scorer["conditions"][0]["within_grain"]
        if share:
            yield (
                f"{scorer['name']} ({scorer['language']}): {format_value(share)} of its base margins are within "
                "the grain of "
                f"its scores, {scorer['grain']:.2g}: rounding alone can have made them."
            )
    if any(scorer["unit"] == "BM25" for scorer in result["scorers"]):
        yield "BM25 counts words over the candidates of one run under one condition."
    if any(scorer["unit"] == "spread" for scorer in result["scorers"]):
        yield "Hybrid: half of each part, less its mean over the base texts, in units of its standard deviation there."


def least(result: Entry) -> str:
    """The smallest base margin for percentages, in words.

    Args:
        result: the JSON of `trueval probe names`.
    """
    cosines = any(scorer["unit"] == "cosine" for scorer in result["scorers"])
    others = any(scorer["unit"] != "cosine" for scorer in result["scorers"])
    part = f"{margin_summary.LEAST_PART:.4f} of the scorer's mean Δboth"
    known = f"{margin_summary.LEAST_COSINE} of cosines"
    return f"{known}, and {part} of other scores" if cosines and others else known if cosines else part


def to_csv(result: Entry) -> str:
    """One line per scorer, language and condition, in full precision.

    Args:
        result: the JSON of `trueval probe names`.
    """
    lines = list(margin_summary.rows(result))
    return formats.to_csv(list(lines[0]), lines)


def to_markdown(result: Entry, *, scale: ValueUnit = FRACTIONS) -> str:
    """A table per scorer and language, and the published ones.

    Args:
        result: the JSON of `trueval probe names`.
        scale: as in `table`.
    """
    parts = []
    for scorer in result["scorers"]:
        cells = ((condition["name"], *_numbers(condition, scale)) for condition in scorer["conditions"])
        parts.append(f"### {markdown(scorer_heading(scorer))}\n\n{pipes(WORDS, cells, words=1)}\n")
    parts += [f"- {markdown(line)}\n" for line in [*legend(result), *unit(scale)]]
    for each in _published_tables(result):
        parts.append(f"\n### {markdown(each.title)}\n\n{pipes(each.head, each.rows, words=1)}")
    return "".join([*parts, f"\n{markdown(SOURCE)}\n"])


def to_latex(result: Entry, *, scale: ValueUnit = FRACTIONS) -> str:
    """A LaTeX tabular with one part per scorer and language; it needs the package booktabs.

    Args:
        result: the JSON of `trueval probe names`.
        scale: as in `table`.
    """
    lines: list[list[str]] = []
    for scorer in result["scorers"]:
        lines.append([latex(scorer_heading(scorer))])
        lines += [
            list(map(latex, (condition["name"], *_numbers(condition, scale)))) for condition in scorer["conditions"]
        ]
    notes = [*legend(result), *unit(scale)]
    ours = tabular([latex(title) for title in WORDS], lines, "l" + "r" * (len(WORDS) - 1), notes=notes)
    return ours + "".join(
        tabular(
            list(map(latex, each.head)),
            [list(map(latex, row)) for row in each.rows],
            "l" + "r" * (len(each.head) - 1),
            notes=[each.title, SOURCE],
        )
        for each in _published_tables(result)
    )


def _published_tables(result: Entry) -> tuple[PublishedTable, ...]:
    return published_tables(frozenset(scorer["language"] for scorer in result["scorers"]))


def _numbers(condition: Entry, scale: ValueUnit) -> Iterator[str]:
    name, change = condition["delta_name"], condition["change"]
    yield from (format_difference(name["mean"]), format_value(name["run_sd"]), interval(name["low"], name["high"]))
    yield from (format_difference(condition[f"delta_{which}"]["mean"]) for which in ("topic", "both"))
    yield format_value(condition["name_over_topic"], scale)
    if change is None:
        yield from (NOT_AVAILABLE,) * 3
    else:
        relative = change["relative"]
        yield format_difference(change["absolute"]["mean"])
        yield from (format_difference(relative["mean"], scale), interval(relative["low"], relative["high"], scale))
    yield from (format_value(condition[share], scale) for share in ("kept_apart", "within_grain"))
