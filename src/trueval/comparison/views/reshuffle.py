"""Reshuffle of compared runs for a terminal, Markdown and the page."""

from collections.abc import Iterator, Mapping
from itertools import pairwise
from typing import Any

from rich.console import RenderableType
from rich.text import Text

from trueval.report.formats import markdown, pipes
from trueval.report.number_texts import count_phrase, format_value
from trueval.report.page_content import Block, PageColumn, Table, rows_of
from trueval.report.result_directory import ResultFile
from trueval.report.terminal import grid

MOST_ROWS = 15  # pairs of 6 runs
MOST_OPEN = 100  # rows of the page's table that are open from the beginning
HEAD = ("first", "second", "overlap", "tau", "RBO")
VALUES = ("overlap", "tau", "rbo")


def table(comparison: Mapping[str, Any]) -> Iterator[RenderableType]:
    """The reshuffle pair by pair, for a terminal; nothing where only scores are known.

    Args:
        comparison: the JSON of `trueval compare`.
    """
    found = comparison.get("reshuffle")
    if not found:
        return
    rows = grid(HEAD, "LLrrr")
    for _, pair in _select_pairs(comparison):
        rows.add_row(*_cells(pair))
    yield from (Text(_heading(found), style="bold"), rows)
    yield from (Text(line, style="dim") for line in [*_describe_omitted_pairs(comparison), _describe_measures(found)])
    yield Text()


def to_markdown(comparison: Mapping[str, Any]) -> str:
    """The reshuffle as Markdown; empty where only scores are known.

    Args:
        comparison: the JSON of `trueval compare`.
    """
    found = comparison.get("reshuffle")
    if not found:
        return ""
    rows = pipes(HEAD, [_cells(pair) for _, pair in _select_pairs(comparison)], words=2)
    lines = "\n\n".join(markdown(line) for line in [*_describe_omitted_pairs(comparison), _describe_measures(found)])
    return f"### {_heading(found)}\n\n{rows}\n{lines}\n\n"


def block(file: ResultFile) -> tuple[Block, ...]:
    """The page's block: every pair, best known runs first.

    Args:
        file: the comparison.
    """
    found = file.data.get("reshuffle")
    if not found:
        return ()
    columns = (
        PageColumn("first", "/first"),
        PageColumn("second", "/second"),
        PageColumn("overlap", "/overlap", True, format_value),
        PageColumn("τ", "/tau", True, format_value),
        PageColumn("RBO", "/rbo", True, format_value),
        PageColumn("queries", "/queries", True),
    )
    rows = rows_of(file, columns, "reshuffle", "pairs")
    caption = (f"{_heading(found)}.",)
    folded = len(rows) > MOST_OPEN
    shown = Table("reshuffle-table", caption, file.name, columns, rows, folded=folded)
    words = (
        "Two runs can be worth the same and give readers different documents. ",
        _describe_measures(found),
    )
    return (Block("reshuffle", "How much the lists differ", (words,), tables=(shown,), place="details"),)


def _heading(found: Mapping[str, Any]) -> str:
    some = f"{found['queries']:,} of " if found["queries"] < found["of"] else ""
    return f"lists: the first {found['k']} results, {some}{count_phrase(found['of'], 'query', 'queries')}"


def _describe_measures(found: Mapping[str, Any]) -> str:
    return (
        f"overlap: share of the first {found['k']} that both list; τ: Kendall's for lists of different documents, "
        "1 the same list, −1 nothing in common (1 − 2 K^(1/2)/max, Fagin et al. 2003); RBO: rank-biased overlap of the "
        f"first {found['depth']}, p = {found['p']:g}, extrapolated. All are means over the orders of equal scores."
    )


def _select_pairs(comparison: Mapping[str, Any]) -> list[tuple[int, Mapping[str, Any]]]:
    """The pairs that fit a terminal: all, those with a baseline, or neighbors by the first measure."""
    pairs = list(enumerate(comparison["reshuffle"]["pairs"]))
    if len(pairs) <= MOST_ROWS or comparison["baseline"] is not None:
        return pairs
    ranking = [row["run"] for row in comparison["leaderboards"][0]["ranking"]]
    neighbors = {frozenset(pair) for pair in pairwise(ranking)}
    return [(place, pair) for place, pair in pairs if {pair["first"], pair["second"]} in neighbors]


def _describe_omitted_pairs(comparison: Mapping[str, Any]) -> Iterator[str]:
    pairs, rows = len(comparison["reshuffle"]["pairs"]), len(_select_pairs(comparison))
    if rows < pairs:
        yield f"Neighbors in the first ranking. JSON and the page have all {pairs:,} pairs."


def _cells(pair: Mapping[str, Any]) -> tuple[str, ...]:
    return pair["first"], pair["second"], *(format_value(pair[name]) for name in VALUES)
