"""Text that results of every kind are written as: JSON, CSV, tables of Markdown and LaTeX."""

from __future__ import annotations

import csv
import io
import json
import re
import secrets
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, Final

from trueval.printable import printable

BATCH: Final = 10_000  # rows that are text at once

LATEX_SPECIALS = str.maketrans(
    {char: f"\\{char}" for char in "&%$#_{}"}
    | {"~": r"\~{}", "^": r"\^{}", "\\": r"\textbackslash{}", "<": "$<$", ">": "$>$", "–": "--"}
)
# What a spreadsheet takes for a formula where a cell of text begins with it, numbers apart.
FORMULA: Final = re.compile(r"[=+\-@](?!(?<=[+-])(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?\Z)")
# What would make a column, be emphasized, or begin an HTML tag.
MARKDOWN_SPECIALS = re.compile(r"[|*]|<(?=[a-zA-Z/!?])")


def to_json(result: Mapping[str, Any]) -> str:
    """A result as it is, in full precision.

    Args:
        result: what `to_dict` of a noun returns.

    Returns:
        JSON with a line feed at its end; a number that is not available is null.

    Raises:
        ValueError: it holds NaN or an infinity, which JSON does not have.
    """
    return "".join(json_parts(result))


def json_parts(result: Mapping[str, Any]) -> Iterator[str]:
    r"""What `to_json` gives, part after part, where rows are too many to be held at once.

    Args:
        result: may hold, in place of lists, iterables whose items are objects of texts and numbers.

    Raises:
        ValueError: it holds NaN or an infinity, which JSON does not have.

    Example:
        >>> rows = ({"query": f"q{number}", "value": number / 2} for number in range(3))
        >>> "".join(json_parts({"runs": [{"rows": map(dict, rows)}], "none": iter(())})) == json.dumps(
        ...     {"runs": [{"rows": [{"query": f"q{number}", "value": number / 2} for number in range(3)]}], "none": []},
        ...     indent=1,
        ... ) + "\n"
        True
    """
    late: list[Iterable[Mapping[str, Any]]] = []
    mark = secrets.token_hex()

    def marked(rows: Any) -> str:
        if not isinstance(rows, Iterable):
            raise TypeError(f"JSON has nothing for a {type(rows).__name__}")
        late.append(rows)
        return mark

    text = json.dumps(result, indent=1, ensure_ascii=False, allow_nan=False, default=marked)
    first, *others = text.split(f'"{mark}"')
    yield first
    for rows, before, after in zip(late, [first, *others], others, strict=False):
        line = before.rpartition("\n")[2]
        yield from _json_rows(rows, "\n" + " " * (len(line) - len(line.lstrip())))
        yield after
    yield "\n"


def _json_rows(rows: Iterable[Mapping[str, Any]], end: str) -> Iterator[str]:
    """A list of flat objects as json.dumps indents it, without its slow way of doing so."""
    inner = f"{end}  "
    encoder = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(f",{inner}", ": "))
    written, begin = False, f"[{end} "
    for several in _batches(rows):
        yield begin + f",{end} ".join(f"{{{inner}{encoder.encode(row)[1:-1]}{end} }}" for row in several)
        written, begin = True, f",{end} "
    yield f"{end}]" if written else "[]"


def to_csv(columns: Sequence[str], rows: Iterable[Mapping[str, Any]]) -> str:
    """Rows as comma-separated values in full precision, control characters written out.

    A text that a spreadsheet would take for a formula gets an apostrophe in front, which spreadsheets do not show:
    `=1+2`, `+a`, `-a` and `@a`, but not the numbers `-1` and `+1e-3`.

    Args:
        columns: names, the first line.
        rows: values by name; what no column names is left out, and what is None or absent is empty.
    """
    return "".join(csv_parts(columns, rows))


def csv_parts(columns: Sequence[str], rows: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    """What `to_csv` gives, part after part, where rows are too many to be held at once."""
    yield _csv_lines([columns])
    for several in _batches(rows):
        yield _csv_lines([_csv_cell(row.get(name)) for name in columns] for row in several)


def _csv_lines(rows: Iterable[Iterable[Any]]) -> str:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(rows)
    return text.getvalue()


def _batches(rows: Iterable[Mapping[str, Any]]) -> Iterator[list[Mapping[str, Any]]]:
    remaining = iter(rows)
    while several := list(islice(remaining, BATCH)):
        yield several


def _csv_cell(value: Any) -> Any:
    """A value as a cell holds it.

    >>> [_csv_cell(value) for value in ("=1+2", "-a", "-1.5", "+1e-3", "bm25", -2.0, None)]
    ["'=1+2", "'-a", '-1.5', '+1e-3', 'bm25', -2.0, None]
    """
    if not isinstance(value, str):
        return value
    text = printable(value)
    return f"'{text}" if FORMULA.match(text) else text


def markdown(text: str) -> str:
    r"""A text of one line as Markdown shows it, in a cell or a sentence.

    >>> print(markdown("a|b, <c> and 0.5 <.0001 **"))
    a\|b, \<c> and 0.5 <.0001 \*\*
    """
    return MARKDOWN_SPECIALS.sub(r"\\\g<0>", printable(text))


def pipes(
    head: Sequence[str], rows: Iterable[Iterable[str]], *, words: int, escape: Callable[[str], str] = markdown
) -> str:
    r"""A table of Markdown, as GitHub and Pandoc read it.

    Args:
        head: headings.
        rows: cells.
        words: how many columns hold words; those after them hold numbers, set to the right.
        escape: of headings and cells; str where they are Markdown already.

    Returns:
        Lines, each with a line feed.

    Example:
        >>> print(pipes(["run", "RR"], [["a|b", "0.5"]], words=1), end="")
        | run | RR |
        |---|---:|
        | a\|b | 0.5 |
    """
    rule = "|---" * words + "|---:" * (len(head) - words) + "|\n"
    first, *body = (f"| {' | '.join(map(escape, row))} |\n" for row in (head, *rows))
    return "".join([first, rule, *body])


def tabular(head: Sequence[str], rows: Iterable[Sequence[str]], columns: str, *, notes: Iterable[str] = ()) -> str:
    r"""A table of LaTeX; it needs the package booktabs.

    Args:
        head: headings, in LaTeX.
        rows: cells, in LaTeX; a row of one cell is set across all columns, between rules.
        columns: how each one is set, such as "lr".
        notes: comments above the table.

    Example:
        >>> print(tabular(["run", "RR"], [["a", "0.5"]], "lr"), end="")
        \begin{tabular}{lr}
        \toprule
        run & RR \\
        \midrule
        a & 0.5 \\
        \bottomrule
        \end{tabular}
    """
    lines = [*(f"% {note}" for note in notes), f"\\begin{{tabular}}{{{columns}}}", "\\toprule", _latex_row(head)]
    for place, row in enumerate(rows):
        title = len(row) == 1 < len(head)
        if title or not place:
            lines.append("\\midrule")
        lines.append(_latex_row([f"\\multicolumn{{{len(head)}}}{{c}}{{{row[0]}}}"] if title else row))
        if title:
            lines.append("\\midrule")
    return "".join(f"{line}\n" for line in [*lines, "\\bottomrule", "\\end{tabular}"])


def latex(text: str) -> str:
    r"""A text of one line as LaTeX shows it.

    >>> print(latex("a_1 & 5%"))
    a\_1 \& 5\%
    """
    return printable(text).translate(LATEX_SPECIALS)


def _latex_row(cells: Iterable[str]) -> str:
    return f"{' & '.join(cells)} \\\\"
