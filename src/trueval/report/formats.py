"""Text formats of all kinds of results: JSON, CSV, Markdown and LaTeX tables."""

from __future__ import annotations

import csv
import io
import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import islice
from typing import Any, Final, Protocol, runtime_checkable

from trueval.printable import printable

BATCH: Final = 10_000  # rows encoded at once

# Types of values in an object that is encoded as one part.
PLAIN: Final = frozenset({str, int, float, bool, type(None)})

LATEX_SPECIALS = str.maketrans(
    {char: f"\\{char}" for char in "&%$#_{}"}
    | {
        "~": r"\textasciitilde{}",
        "^": r"\textasciicircum{}",
        "\\": r"\textbackslash{}",
        "<": "$<$",
        ">": "$>$",
        "–": "--",
    }
    # Letters and signs that pdfLaTeX has in formulas alone.
    | {"τ": r"$\tau$", "κ": r"$\kappa$", "α": r"$\alpha$", "β": r"$\beta$", "ρ": r"$\rho$", "Δ": r"$\Delta$"}
    | {"≤": r"$\le$", "≥": r"$\ge$", "−": "$-$", "→": r"$\to$", "∞": r"$\infty$"}
)
# What a spreadsheet takes for a formula where a cell of text begins with it, numbers apart.
FORMULA: Final = re.compile(r"[=+\-@](?!(?<=[+-])(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?\Z)")
# What would make a column, be emphasized, or begin an HTML tag.
MARKDOWN_SPECIALS = re.compile(r"[|*]|<(?=[a-zA-Z/!?])")


@runtime_checkable
class JsonRows(Protocol):
    """Rows with a faster JSON encoding than row by row."""

    def json_rows(self, end: str) -> Iterator[str]:
        """Some rows at once: objects as `json_parts` writes them, a comma and a line between each two.

        Args:
            end: line feed and indentation of the line on which an object begins.
        """
        ...


def to_json(result: Mapping[str, object]) -> str:
    """A result as JSON, in full precision.

    Args:
        result: JSON object, as from `to_dict`.

    Returns:
        JSON with a final line feed; a number that is not available is null.

    Raises:
        ValueError: it contains NaN or an infinity, which JSON lacks.
    """
    return "".join(json_parts(result))


def json_parts(result: Mapping[str, object]) -> Iterator[str]:
    r"""The text of `to_json` in parts, for more rows than fit in memory.

    Args:
        result: may contain, instead of lists, iterables of objects of texts and numbers, or JsonRows.

    Raises:
        ValueError: it contains NaN or an infinity, which JSON lacks.

    Example:
        >>> rows = ({"query": f"q{number}", "value": number / 2} for number in range(3))
        >>> "".join(json_parts({"runs": [{"rows": map(dict, rows)}], "none": iter(())})) == json.dumps(
        ...     {"runs": [{"rows": [{"query": f"q{number}", "value": number / 2} for number in range(3)]}], "none": []},
        ...     indent=1,
        ... ) + "\n"
        True
    """
    yield from _json(result, "\n")
    yield "\n"


def _json(value: object, end: str) -> Iterator[str]:
    """A value as json.dumps with indent=1 writes it, without its slow way: an object of texts and numbers is one part.

    Args:
        value: JSON value; a list may be any iterable.
        end: line feed and indentation of the line on which the value begins.
    """
    if isinstance(value, str) or not isinstance(value, Iterable):
        yield _encoder("").encode(value)
    elif isinstance(value, Mapping):
        if PLAIN.issuperset(map(type, value.values())):
            yield _plain_object(value, end)
            return
        begin = f"{{{end} "
        for name, each in value.items():
            yield f"{begin}{_encoder('').encode({name: 0})[1:-1].removesuffix('0')}"
            yield from _json(each, f"{end} ")
            begin = f",{end} "
        yield f"{end}}}"
    elif isinstance(value, JsonRows):
        begin = f"[{end} "
        for part in value.json_rows(f"{end} "):
            yield begin + part
            begin = f",{end} "
        yield f"{end}]" if begin.startswith(",") else "[]"
    else:
        yield from _json_list(value, end)


def _json_list(value: Iterable[Any], end: str) -> Iterator[str]:
    """A list as `_json` writes it, in parts."""
    begin, written = f"[{end} ", False
    for several in _batches(value):
        if PLAIN.issuperset(map(type, several)):
            yield begin + _encoder(f"{end} ").encode(several)[1:-1]
            begin, written = f",{end} ", True
            continue
        if all(isinstance(each, dict) and PLAIN.issuperset(map(type, each.values())) for each in several):
            yield begin + f",{end} ".join(_plain_object(each, f"{end} ") for each in several)
            begin, written = f",{end} ", True
            continue
        for each in several:
            yield begin
            yield from _json(each, f"{end} ")
            begin, written = f",{end} ", True
    yield f"{end}]" if written else "[]"


def _plain_object(value: Mapping[str, object], end: str) -> str:
    """An object of texts and numbers, encoded by the C part of json."""
    return f"{{{end} {_encoder(f'{end} ').encode(dict(value))[1:-1]}{end}}}" if value else "{}"


@lru_cache(maxsize=64)
def _encoder(line: str) -> json.JSONEncoder:
    """Writes values, and after each comma what a line begins with."""
    return json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(f",{line}", ": "))


def to_csv(columns: Sequence[str], rows: Iterable[Mapping[str, object]]) -> str:
    """Rows as comma-separated values in full precision, control characters written out.

    A text that a spreadsheet would take for a formula gets an apostrophe in front, which spreadsheets do not show:
    `=1+2`, `+a`, `-a` and `@a`, but not the numbers `-1` and `+1e-3`.

    Args:
        columns: names of the header line.
        rows: column → value; other keys are ignored, and a missing value or None is empty.
    """
    return "".join(csv_parts(columns, rows))


def csv_parts(columns: Sequence[str], rows: Iterable[Mapping[str, object]]) -> Iterator[str]:
    """The text of `to_csv` in parts, for more rows than fit in memory."""
    yield _csv_lines([columns])
    for several in _batches(rows):
        yield _csv_lines([_csv_cell(row.get(name)) for name in columns] for row in several)


def _csv_lines(rows: Iterable[Iterable[object]]) -> str:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(rows)
    return text.getvalue()


def _batches(rows: Iterable[Mapping[str, object]]) -> Iterator[list[Mapping[str, object]]]:
    remaining = iter(rows)
    while several := list(islice(remaining, BATCH)):
        yield several


def _csv_cell(value: object) -> Any:
    """A value as the text of a cell.

    >>> [_csv_cell(value) for value in ("=1+2", "-a", "-1.5", "+1e-3", "bm25", -2.0, None)]
    ["'=1+2", "'-a", '-1.5', '+1e-3', 'bm25', -2.0, None]
    """
    if not isinstance(value, str):
        return value
    text = printable(value)
    return f"'{text}" if FORMULA.match(text) else text


def markdown(text: str) -> str:
    r"""One line of text, escaped for Markdown.

    >>> print(markdown("a|b, <c> and 0.5 <.0001 **"))
    a\|b, \<c> and 0.5 <.0001 \*\*
    """
    return MARKDOWN_SPECIALS.sub(r"\\\g<0>", printable(text))


def pipes(
    head: Sequence[str], rows: Iterable[Iterable[str]], *, words: int, escape: Callable[[str], str] = markdown
) -> str:
    r"""A Markdown table, as GitHub and Pandoc read it.

    Args:
        head: headings.
        rows: cells.
        words: number of leading columns with words; the others have numbers, aligned right.
        escape: escaping of headings and cells; str if they are Markdown already.

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


# What LaTeX needs for a tabular.
PREAMBLE: Final = r"\usepackage{booktabs} in the preamble sets the rules of these tables."


def tabular(head: Sequence[str], rows: Iterable[Sequence[str]], columns: str, *, notes: Iterable[str] = ()) -> str:
    r"""A LaTeX table; it needs the package booktabs.

    Args:
        head: headings, in LaTeX.
        rows: cells, in LaTeX; a row of one cell is set across all columns, between rules.
        columns: alignment of each column, such as "lr".
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


def float_table(table: str, caption: str, label: str) -> str:
    r"""A tabular as a floating table with a caption and the label tab:….

    Args:
        table: tabular environment.
        caption: caption in LaTeX.
        label: label after "tab:".

    Example:
        >>> print(float_table("\\begin{tabular}{l}\n\\end{tabular}\n", "Runs.", "runs"), end="")
        \begin{table}
        \centering
        \caption{Runs.}
        \label{tab:runs}
        \begin{tabular}{l}
        \end{tabular}
        \end{table}
    """
    head = f"\\begin{{table}}\n\\centering\n\\caption{{{caption}}}\n\\label{{tab:{label}}}\n"
    return f"{head}{table}\\end{{table}}\n"


def slug(title: str) -> str:
    """A title as an HTML id.

    >>> slug("nDCG@10: who is better?")
    'ndcg-10-who-is-better'
    """
    return re.sub(r"[^a-z0-9]+", "-", title.lower()).strip("-") or "part"


def distinct(names: Iterable[str]) -> list[str]:
    """Names made unique, as rows of a plot and labels must be.

    >>> distinct(["a", "b", "a"])
    ['a', 'b', 'a (2)']
    """
    seen: Counter[str] = Counter()
    result = []
    for name in names:
        seen[name] += 1
        result.append(name if seen[name] == 1 else f"{name} ({seen[name]})")
    return result


def latex(text: str) -> str:
    r"""One line of text, escaped for LaTeX.

    >>> print(latex("a_1 & 5%"))
    a\_1 \& 5\%
    >>> print(latex("τ ≥ .5"))
    $\tau$ $\ge$ .5
    """
    return printable(text).translate(LATEX_SPECIALS)


def _latex_row(cells: Iterable[str]) -> str:
    return f"{' & '.join(cells)} \\\\"
