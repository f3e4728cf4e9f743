"""Reports of noise probes: terminal table, Markdown, LaTeX, CSV."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from rich.console import Group, RenderableType
from rich.text import Text

from trueval.probes.noise_settings import NONE
from trueval.probes.noise_summary import describe_condition
from trueval.probes.views.noise_published import CHATTER_SOURCE, CHATTER_TABLES
from trueval.report import formats
from trueval.report.formats import latex, markdown, pipes, tabular
from trueval.report.number_texts import (
    FRACTIONS,
    NOT_AVAILABLE,
    ValueUnit,
    count_phrase,
    format_difference,
    format_value,
    unit,
)
from trueval.report.terminal import grid, render_text

Entry = Mapping[str, Any]
VALUES = ("cosine", "overlap", "tau", "rbo")


def table(result: Entry, *, scale: ValueUnit = FRACTIONS) -> Group:
    """The terminal report: a table per pipeline, then the accuracy of denoising, then the published tables.

    Args:
        result: what `NoiseResult.to_dict` returns.
        scale: of the measures.
    """
    parts: list[RenderableType] = []
    for model in result["models"]:
        head = ("condition", *heads(model))
        shown = grid(head, "l" + "r" * (len(head) - 1), spare=("added", "RBO", "cosine", "τ", "interval"))
        for level in levels(model):
            shown.add_row(Text(short_name(level)), *condition_cells(level, scale))
        parts += [Text(pipeline_heading(model), style="bold"), shown, Text()]
    if result["denoiser"]:
        shown = grid(STRIPPED, "Lrrr")
        for row in strip_rows(result):
            shown.add_row(*map(Text, row))
        parts += [Text("what the rules strip, by characters", style="bold"), shown, Text()]
    parts += [Text(line) for line in [*legend(result), *unit(scale)]]
    for each in CHATTER_TABLES:
        shown = grid(each.head, "L" + "r" * (len(each.head) - 1))
        for row in each.rows:
            shown.add_row(*map(Text, row))
        parts += [Text(), Text(each.title, style="bold"), shown]
    return Group(*parts, Text(CHATTER_SOURCE))


def to_text(result: Entry) -> str:
    """The tables as plain text.

    Args:
        result: the JSON of `trueval probe noise`.
    """
    return render_text(table(result))


def pipeline_heading(model: Entry) -> str:
    """The heading of a pipeline's table.

    Args:
        model: an entry of "models".
    """
    return f"{model['name']}, {model['language']}, {count_phrase(model['queries'], 'query', 'queries')}"


def heads(model: Entry) -> tuple[str, ...]:
    """Column headings after the condition.

    Args:
        model: an entry of "models".
    """
    names = [f"{name} change" for name in model["levels"][0]["measures"]]
    return ("added", "cosine", "overlap", "τ", "RBO", *(each for name in names for each in (name, "interval")))


def levels(model: Entry) -> list[Entry]:
    """The conditions to show: only those without the guard where it changes nothing.

    Args:
        model: an entry of "models".
    """
    every = model["levels"]
    return [each for each in every if not each["normalised"]] if guard_is_idle(model) else list(every)


def guard_is_idle(model: Entry) -> bool:
    """Whether results with and without the guard are equal wherever both were measured.

    Args:
        model: an entry of "models".
    """
    names = ("level", "templates", "denoised")
    off = {tuple(each[name] for name in names): each for each in model["levels"] if not each["normalised"]}
    pairs = [(each, off.get(tuple(each[name] for name in names))) for each in model["levels"] if each["normalised"]]
    both = [(one, other) for one, other in pairs if other is not None]
    return bool(both) and len(both) == len(pairs) and all(_same(one, other) for one, other in both)


def _same(one: Entry, other: Entry) -> bool:
    # A cosine is of vectors in float32, and differs in its last digits between batches.
    pairs = [((one[name] or {}).get("mean"), (other[name] or {}).get("mean"), 1e-5) for name in VALUES]
    pairs += [(one["measures"][m]["change"], other["measures"][m]["change"], 1e-9) for m in one["measures"]]
    return all(_close(*pair) for pair in pairs)


def _close(one: float | None, other: float | None, most: float) -> bool:
    return one == other or (one is not None and other is not None and abs(one - other) < most)


def level_name(level: Entry) -> str:
    """A condition's label in a table.

    Args:
        level: an entry of "levels".

    >>> level_name({"level": 2, "templates": "held-out", "denoised": "none", "normalised": False})
    'level 2, held-out templates'
    """
    return describe_condition(level)


def short_name(level: Entry) -> str:
    """A condition's short label, abbreviated in the middle so that labels stay distinct.

    Args:
        level: an entry of "levels".

    >>> short_name({"level": 2, "templates": "held-out", "denoised": "rules", "normalised": True})
    '2 held-out rules guard'
    """
    noise = f"{level['level']} {level['templates']}" if level["level"] else "clean"
    treated = [] if level["denoised"] == NONE else [level["denoised"]]
    return " ".join([noise, *treated, *(["guard"] if level["normalised"] else [])])


def condition_cells(level: Entry, scale: ValueUnit) -> list[str]:
    """The cells of a condition.

    Args:
        level: an entry of "levels".
        scale: of the measures.
    """
    found = [format_value(level["added"]), *(format_value((level[name] or {}).get("mean")) for name in VALUES)]
    for each in level["measures"].values():
        found += [format_difference(each["change"], scale), _span(each, scale)]
    return found


def _span(each: Entry, scale: ValueUnit) -> str:
    if each["low"] is None:
        return NOT_AVAILABLE
    return f"[{format_difference(each['low'], scale)}, {format_difference(each['high'], scale)}]"


STRIPPED = ("templates", "recall", "precision", "question lost")


def strip_rows(result: Entry) -> Iterator[tuple[str, ...]]:
    """Table rows on the accuracy of denoising.

    Args:
        result: the JSON of `trueval probe noise`.
    """
    for each in result["denoiser"]["stripped"]:
        shares = (format_value(each[name]) for name in ("recall", "precision", "question_lost"))
        yield f"{each['language']}, {each['templates']}, level {each['level']}", *shares


def legend(result: Entry) -> Iterator[str]:
    """What the columns mean.

    Args:
        result: the JSON of `trueval probe noise`.

    Yields:
        Sentences.
    """
    lists = result["reshuffle"]
    yield (
        f"{result['collection']}: means over {count_phrase(result['queries'], 'judged query', 'judged queries')} "
        "drawn by "
        f"seed {result['seed']}; changes are paired, noisy − clean, with intervals of {result['level']:.0%} by "
        "bootstrap over queries; values are expected ones under ties."
    )
    yield (
        "added: share of chatter in the characters of the query; cosine: of the text that is searched with and the "
        f"clean query; overlap and τ: of the first {lists['k']} results with those of the clean query, τ for lists of "
        "different documents (1 − 2 K^(1/2)/max, Fagin et al. 2003; −1 nothing in common); RBO: p = "
        f"{lists['p']:g}, of the first {lists['depth']}."
    )
    yield (
        "Conditions: level and templates of the chatter; rules, judge: what took it out; guard, normalised: one way of "
        "writing after that. Levels: 1 a greeting; 2 a greeting, a frame, a filler, thanks; 3 also a digression, an "
        "emoji, typed on a phone; 4 more of these, words of another language, typos. The rules were written for the "
        "known templates, not for those held out."
    )
    if any(((model["levels"][0]["overlap"] or {}).get("mean") or 1) < 1 for model in result["models"]):
        yield (
            "Where scores are equal, a clean query keeps less than all of its own results: overlap, τ and RBO are "
            "means over the orders in which an engine may list them."
        )
    if any(guard_is_idle(model) for model in result["models"]):
        idle = ", ".join(model["name"] for model in result["models"] if guard_is_idle(model))
        yield f"One way of writing (NFC, plain spaces, apostrophes) changes nothing for {idle}; its rows are left out."
    if result["denoiser"]:
        clean = result["denoiser"]["clean"]
        yield f"The rules change {clean['changed']:,} of the {clean['queries']:,} clean queries of the collection."


def to_csv(result: Entry) -> str:
    """One line per pipeline and condition, in full precision.

    Args:
        result: the JSON of `trueval probe noise`.
    """
    rows = []
    for model in result["models"]:
        for level in model["levels"]:
            row = {"model": model["name"], "language": model["language"], "queries": model["queries"]}
            row |= {name: level[name] for name in ("level", "templates", "denoised", "normalised", "added")}
            for name in ("cosine", "drop", "overlap", "tau", "rbo"):
                row |= {f"{name}_{part}": (level[name] or {}).get(part) for part in ("mean", "low", "high")}
            for name, each in level["measures"].items():
                row |= {f"{name}_{part}": value for part, value in each.items()}
            rows.append(row)
    return formats.to_csv(list(rows[0]), rows)


def to_markdown(result: Entry, *, scale: ValueUnit = FRACTIONS) -> str:
    """A table per pipeline, and the accuracy of denoising.

    Args:
        result: the JSON of `trueval probe noise`.
        scale: of the measures.
    """
    parts = []
    for model in result["models"]:
        rows = [(level_name(level), *condition_cells(level, scale)) for level in levels(model)]
        parts.append(
            f"### {markdown(pipeline_heading(model))}\n\n{pipes(('condition', *heads(model)), rows, words=1)}\n"
        )
    if result["denoiser"]:
        parts.append(
            f"### What the rules strip, by characters\n\n{pipes(STRIPPED, list(strip_rows(result)), words=1)}\n"
        )
    parts += [f"- {markdown(line)}\n" for line in [*legend(result), *unit(scale)]]
    for each in CHATTER_TABLES:
        parts.append(f"\n### {each.title}\n\n{pipes(each.head, each.rows, words=1)}")
    return "".join([*parts, f"\n{CHATTER_SOURCE}\n"])


def to_latex(result: Entry, *, scale: ValueUnit = FRACTIONS) -> str:
    """A LaTeX tabular; it needs the package booktabs.

    Args:
        result: the JSON of `trueval probe noise`.
        scale: of the measures.
    """
    head = [latex(each) for each in ("system", "condition", *heads(result["models"][0]))]
    rows = [
        [latex(model["name"]), latex(level_name(level)), *map(latex, condition_cells(level, scale))]
        for model in result["models"]
        for level in levels(model)
    ]
    return tabular(head, rows, "ll" + "r" * (len(head) - 2), notes=[*legend(result), *unit(scale)])
