"""Reports of predictions: terminal table, Markdown, LaTeX, CSV."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, TypeVar

from rich.console import Group, RenderableType
from rich.text import Text

from trueval.report import formats
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
from trueval.report.terminal import grid, render_text

Entry = Mapping[str, Any]
Key = TypeVar("Key", bound=Hashable)

ALL: Final = "all"
NAME_MARGIN: Final = "name margin"
POOLED: Final = ("signal", "Spearman", "its interval", "τ-b", "its interval", "ranked\nacross", "queries")
SPARE: Final = ("changed", "interval")  # of a table for each system; in JSON, CSV and on the page they are
REASONS: Final = 6  # that are shown


class Lines:
    """A table before formatting: heading, column heads and rows."""

    def __init__(self, heading: str, head: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
        self.heading, self.head, self.rows = heading, head, rows

    @property
    def words(self) -> list[str]:
        """The column heads, each in one line."""
        return [title.replace("\n", " ") for title in self.head]


def table(result: Entry, *, scale: ValueUnit = FRACTIONS) -> Group:
    """The terminal report: all models pooled, then each, then the legend.

    Args:
        result: what `Prediction.to_dict` returns.
        scale: of losses; correlations are never points.
    """
    parts: list[RenderableType] = []
    for each in _tables(result, scale):
        shown = grid(each.head, "L" + "r" * (len(each.head) - 1), spare=SPARE)
        for row in each.rows:
            shown.add_row(*map(Text, row))
        parts += [Text(each.heading, style="bold"), shown, Text()]
    return Group(*parts, *map(Text, [*legend(result), *unit(scale)]))


def to_text(result: Entry) -> str:
    """The tables as plain text.

    Args:
        result: the JSON of `trueval probe join`.
    """
    return render_text(table(result))


def legend(result: Entry) -> Iterator[str]:
    """What the columns mean, and the limits of the analysis.

    Args:
        result: the JSON of `trueval probe join`.

    Yields:
        Sentences.
    """
    queries = count_phrase(result["queries"], "query", "queries")
    yield (
        f"Rank correlations of what a probe says of a query with what the query loses, over {queries} of "
        f"{result['collection']['name']}; intervals of {100 * result['level']:g} % by bootstrap over queries. Above 0: "
        "the probe is right; an interval around 0: nothing is known."
    )
    yield (
        "drop: 1 - cosine of the query and its changed form; overlap: share of the first "
        f"{result['k']} documents that change; margin: first score less the next, small ones first. lost: share of "
        "the queries whose value falls. Queries that a condition leaves as they are are left out of it."
    )
    if any(NAME_MARGIN in system["signals"] for system in result["systems"]):
        yield (
            "name margin: cosine of a relevant document that names the author, less that of the same document under "
            "the better of two other names, small ones first; name drop: what the change takes away of it."
        )
    if len({each["name"] for each in result["models"]}) > 1:
        yield (
            "Pooled: queries are ranked within each model and condition, so that a model which is worse in both is not "
            "taken for prediction. Ranked across: all in one list, where it is."
        )
    orders = _together((each["told"], each["signal"]) for each in result["orders"])
    yield from (
        f"Whether {signals} puts the models into the order of what they lose: {told}" for told, signals in orders
    )
    missing = (each for each in result["models"] if each["reason"])
    reasons = _together(((f"{each['name']}, {each['condition']}", each["reason"]), each["signal"]) for each in missing)
    told = [f"{where}, {signals}: {reason}" for (where, reason), signals in reasons]
    yield from told[:REASONS]
    if len(told) > REASONS:
        yield f"{count_phrase(len(told) - REASONS, 'further reason is', 'further reasons are')} in the JSON."
    yield from result["notes"]


def _together(pairs: Iterable[tuple[Key, str]]) -> list[tuple[Key, str]]:
    """Each key with its words, joined by commas."""
    found: dict[Key, dict[str, None]] = {}
    for key, word in pairs:
        found.setdefault(key, {})[word] = None
    return [(key, ", ".join(words)) for key, words in found.items()]


def _tables(result: Entry, scale: ValueUnit) -> Iterator[Lines]:
    for measure in result["measures"]:
        rows = [each for each in result["pooled"] if each["measure"] == measure and each["condition"] == ALL]
        if rows:
            yield Lines(
                f"What predicts the loss in {measure}, all together", POOLED, [_pooled_row(each) for each in rows]
            )
        for system in result["systems"]:
            yield _of_model(result, system, measure, scale)


def _pooled_row(row: Entry) -> list[str]:
    kendall = row["kendall"]
    return [
        row["signal"],
        correlation(row["spearman"]),
        span(row["low"], row["high"]),
        correlation(kendall["value"]),
        span(kendall["low"], kendall["high"]),
        correlation(row["across"]["value"]),
        str(row["queries"]),
    ]


def _of_model(result: Entry, system: Entry, measure: str, scale: ValueUnit) -> Lines:
    """One row per condition: the loss, and Spearman's correlation of each signal."""
    mine = [each for each in result["models"] if (each["name"], each["measure"]) == (system["name"], measure)]
    by_key = {(each["condition"], each["signal"]): each for each in mine}
    signals = system["signals"]
    head = ["condition", "changed", "lost", "mean\nloss", *(part for name in signals for part in (name, "interval"))]
    rows = []
    for condition in result["conditions"]:
        found = [by_key[condition["name"], name] for name in signals]
        numbers = [one for each in found for one in (correlation(each["spearman"]), span(each["low"], each["high"]))]
        changed = percent(condition["changed"] / result["queries"])
        rows.append(
            [
                condition["name"],
                changed,
                percent(found[0]["lost"]),
                format_difference(found[0]["loss"], scale),
                *numbers,
            ]
        )
    clean = format_value(system["clean"][measure], scale)
    return Lines(f"{system['name']}: {measure} {clean} as it is, Spearman's correlation with its loss", head, rows)


def correlation(value: float | None) -> str:
    """A correlation, formatted.

    >>> correlation(0.3456), correlation(-0.1), correlation(None)
    ('+.35', '-.10', '–')
    """
    return NOT_AVAILABLE if value is None else f"{value:+.2f}".replace("0.", ".", 1)


def span(low: float | None, high: float | None) -> str:
    """An interval of a correlation, formatted.

    >>> span(-0.0173, 0.4713), span(None, None)
    ('[-.02, .47]', '–')
    """
    if low is None or high is None:
        return NOT_AVAILABLE
    return f"[{correlation(low)}, {correlation(high)}]".replace("+", "")


def to_csv(result: Entry) -> str:
    """One line per model, condition, signal and measure, and per pooled value, in full precision.

    Args:
        result: the JSON of `trueval probe join`.
    """
    names = (
        "of",
        "condition",
        "signal",
        "measure",
        "spearman",
        "low",
        "high",
        "kendall",
        "kendall_low",
        "kendall_high",
    )
    rest = ("across", "queries", "lost", "gained", "danger", "loss", "reason")
    return formats.to_csv([*names, *rest], _rows(result))


def _rows(result: Entry) -> Iterator[dict[str, Any]]:
    for each in (*result["models"], *result["pooled"]):
        kendall = each["kendall"]
        yield {
            **{name: value for name, value in each.items() if name not in ("models", "strata", "of_strata", "name")},
            "of": each.get("name", "pooled"),
            "kendall": kendall["value"],
            "kendall_low": kendall["low"],
            "kendall_high": kendall["high"],
            "across": each.get("across", {}).get("value"),
        }


def to_markdown(result: Entry, *, scale: ValueUnit = FRACTIONS) -> str:
    """The tables of the terminal report in Markdown.

    Args:
        result: the JSON of `trueval probe join`.
        scale: as in `table`.
    """
    tables = [
        f"### {markdown(each.heading)}\n\n{pipes(each.words, each.rows, words=1)}\n" for each in _tables(result, scale)
    ]
    return "".join([*tables, *(f"- {markdown(line)}\n" for line in [*legend(result), *unit(scale)])])


def to_latex(result: Entry, *, scale: ValueUnit = FRACTIONS) -> str:
    """One LaTeX tabular per table; they need the package booktabs.

    Args:
        result: the JSON of `trueval probe join`.
        scale: as in `table`.
    """
    told, notes = list(_tables(result, scale)), [*legend(result), *unit(scale)]
    parts = [
        tabular(
            [latex(title) for title in each.words],
            [[latex(each.heading)], *([latex(cell) for cell in row] for row in each.rows)],
            "l" + "r" * (len(each.head) - 1),
            notes=notes if each is told[-1] else (),
        )
        for each in told
    ]
    return "\n".join(parts)
