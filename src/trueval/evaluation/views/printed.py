"""Scores printed in Python: one line per measure, in a console and in a notebook."""

from collections.abc import Iterator, Mapping
from typing import cast

from trueval.evaluation.evaluation_result import RunEntry
from trueval.printable import printable
from trueval.report.console_tables import notebook, plain
from trueval.report.number_texts import count_phrase, format_value, interval, percent

HEAD = ("measure", "expected", "lowest, highest", "tie-broken", "sd", "queries")


def console(run: Mapping[str, object]) -> str:
    """Plain text: the run, then its measures.

    Args:
        run: result of `Scores.shown`.
    """
    entry = cast("RunEntry", run)
    return f"{_title(entry)}\n{plain(HEAD, _rows(entry))}"


def html(run: Mapping[str, object]) -> str:
    """The run as an HTML table, everything escaped.

    Args:
        run: result of `Scores.shown`.
    """
    entry = cast("RunEntry", run)
    return notebook(HEAD, _rows(entry), caption=_title(entry))


def _rows(run: RunEntry) -> Iterator[tuple[str, ...]]:
    for measure, value in run["measures"].items():
        bound = "" if value.get("exact", True) else "°"  # the mark of `trueval evaluate` for what is not exact
        spread = interval(value["lowest"], value["highest"]) + bound
        numbers = format_value(value["expected"]), spread, format_value(value["tie_broken"]), format_value(value["sd"])
        yield measure, *numbers, str(value["queries"])


def _title(run: RunEntry) -> str:
    tied = run["ties"]["tied_fraction"]
    parts = [f"{printable(run['name'])}: {count_phrase(run['queries'], 'query', 'queries')}"]
    parts += [] if tied is None else [f"{percent(tied)} of documents tied"]
    parts += [f"tie order {run['policy']['tie_order']}"]
    notes = len(run["notes"])
    return ", ".join([*parts, *([f"{count_phrase(notes, 'note', 'notes')} (scores.notes)"] if notes else [])])
