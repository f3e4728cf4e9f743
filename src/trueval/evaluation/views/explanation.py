"""What `trueval explain` prints: a measure under every convention, and why the numbers differ."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from trueval.report.text import fixed, interval, signed

HEADINGS = ("convention", "value", "change", "lowest, highest", "because of")
QUERY_HEADINGS = ("query", "convention", "ours", "theirs", "because of")


def explanation_table(entry: Mapping[str, Any]) -> Group:
    """Everything a person reads of one explanation, top to bottom: conventions, queries, reasons.

    Args:
        entry: what `Explanation.to_dict` returns, the JSON of `trueval explain`.

    Returns:
        A renderable for a rich console of 80 columns or more.
    """
    parts: list[RenderableType] = [
        Text(f"{entry['measure']} of {entry['run']} under each convention", style="bold"),
        _grid(HEADINGS, _convention_cells(entry), numbers=(1, 2, 3)),
    ]
    if entry["queries"]:
        parts += [Text(), Text("The queries that move most", style="bold")]
        parts.append(_grid(QUERY_HEADINGS, _query_cells(entry), numbers=(2, 3)))
    parts.append(Text())
    parts += [Text(line) for line in remarks(entry)]
    return Group(*parts)


def explanation_markdown(entry: Mapping[str, Any]) -> str:
    """The same as pipe tables and a list.

    Args:
        entry: what `Explanation.to_dict` returns.
    """
    blocks = [_pipes(HEADINGS, _convention_cells(entry))]
    if entry["queries"]:
        blocks.append(_pipes(QUERY_HEADINGS, _query_cells(entry)))
    blocks.append("".join(f"- {line}\n" for line in remarks(entry)))
    return "\n".join(block for block in blocks if block)


def remarks(entry: Mapping[str, Any]) -> list[str]:
    """Sentences below the tables: what ours is, and why a convention has no number.

    Args:
        entry: what `Explanation.to_dict` returns.
    """
    lines = ["Ours is the mean over all orders of tied documents; the change is from there."]
    lines += [f"{row['convention']}: {row['why'].rstrip('.')}." for row in entry["conventions"] if row["why"]]
    if any(row["value"] is None and row["difference"] is not None for row in entry["conventions"]):
        lines.append("Where a value is not known, the change is that of the mean over all orders.")
    if any(len(row["causes"]) > 1 for row in entry["conventions"]):
        lines.append("Of several causes, each stands with what it changes alone.")
    return lines


def _convention_cells(entry: Mapping[str, Any]) -> Iterator[tuple[str, ...]]:
    ours = entry["ours"]
    yield "ours", fixed(ours["expected"]), "", interval(ours["lowest"], ours["highest"]), ""
    for row in entry["conventions"]:
        spread = interval(row.get("lowest"), row.get("highest"))
        yield row["convention"], fixed(row["value"]), signed(row["difference"]), spread, _reason(row)


def _query_cells(entry: Mapping[str, Any]) -> Iterator[tuple[str, ...]]:
    for move in entry["queries"]:
        ours, theirs = (fixed(move[side]) if move[side] is not None else "left out" for side in ("ours", "theirs"))
        yield move["query"], move["convention"], ours, theirs, _because(move["causes"])


def _reason(row: Mapping[str, Any]) -> str:
    if row["causes"] or not row["why"]:
        return _because(row["causes"])
    return "no such measure" if row["difference"] is None else "order of ties not known"


def _because(causes: Iterable[Mapping[str, Any]]) -> str:
    found = list(causes)
    if len(found) == 1:
        return str(found[0]["words"])
    return "; ".join(f"{each['words']} ({signed(each['alone'])})" for each in found)


def _grid(headings: tuple[str, ...], rows: Iterable[tuple[str, ...]], *, numbers: tuple[int, ...]) -> Table:
    grid = Table(box=None, padding=(0, 1, 0, 0), pad_edge=False, header_style="bold")
    for place, heading in enumerate(headings):
        right = place in numbers
        grid.add_column(Text(heading), justify="right" if right else "left", no_wrap=right, overflow="fold")
    for row in rows:
        grid.add_row(*map(Text, row))
    return grid


def _pipes(headings: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    lines = [headings, ("---",) * len(headings), *rows]
    return "".join(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in line)} |\n" for line in lines)
