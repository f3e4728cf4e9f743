"""The view of a published mean: what its number of queries supports."""

from collections.abc import Iterator, Mapping
from typing import Any

from rich.console import Group
from rich.text import Text

from trueval.report import formats
from trueval.report.formats import latex, markdown, tabular
from trueval.report.number_texts import FRACTIONS, ValueUnit, count_phrase, format_value, interval, unit
from trueval.report.page_content import Block, Number, PageColumn, Part, Table, Words, row_of, statistic
from trueval.report.result_directory import Directory, ResultFile

Entry = Mapping[str, Any]

METHODS = {
    "clopper-pearson": "Clopper & Pearson, for values of 0 or 1",
    "kl": "n kl(mean, x) <= ln(2 / (1 - level)), for any values from 0 to 1",
}


def table(result: Entry, *, scale: ValueUnit = FRACTIONS) -> Group:
    """The result as a few sentences for a terminal.

    Args:
        result: what `Published.to_dict` returns, the JSON of `trueval power --value`.
        scale: scale of the printed values.
    """
    return Group(*map(Text, [*sentences(result, scale), *unit(scale)]))


def console(result: Entry) -> str:
    """The sentences, one per line.

    Args:
        result: the JSON of `trueval power --value`.
    """
    return "\n".join(sentences(result))


def sentences(result: Entry, scale: ValueUnit = FRACTIONS) -> Iterator[str]:
    """Sentences on what the number of queries supports.

    Args:
        result: the JSON of `trueval power --value`.
        scale: scale of the printed values.
    """
    low, high = result["interval"]
    span = interval(low, high, scale)
    queries = count_phrase(result["queries"], "query", "queries")
    yield f"{format_value(result['value'], scale)} over {queries}: {result['level']:.4g} interval {span}."
    yield f"Interval: {METHODS[result['method']]}."
    if result["difference"] is None:
        return
    difference = f"A difference of {format_value(abs(result['difference']), scale)}"
    if result["least_p"] is None:
        yield f"{difference}: nothing can be said of its p without the grain of the values (--grain)."
        return
    alpha = f"{1 - result['level']:.2g}"
    claim = "may be" if result["separable"] else "cannot be"
    yield (
        f"{difference} has p >= {format_value(result['least_p'])} in the paired randomization test, whatever the "
        "values are: "
        f"it {claim} significant at {alpha}."
    )


def to_csv(result: Entry) -> str:
    """One line of numbers in full precision.

    Args:
        result: the JSON of `trueval power --value`.
    """
    low, high = result["interval"]
    row = {**result, "interval_low": low, "interval_high": high}
    names = ("value", "queries", "grain", "difference", "level", "interval_low", "interval_high", "method", "least_p")
    return formats.to_csv(names, [row])


def to_markdown(result: Entry, *, scale: ValueUnit = FRACTIONS) -> str:
    """The sentences as a list.

    Args:
        result: the JSON of `trueval power --value`.
        scale: scale of the printed values.
    """
    return "".join(f"- {markdown(line)}\n" for line in [*sentences(result, scale), *unit(scale)])


def to_latex(result: Entry, *, scale: ValueUnit = FRACTIONS) -> str:
    """A LaTeX tabular of one line; it needs the package booktabs.

    Args:
        result: the JSON of `trueval power --value`.
        scale: scale of the printed values.
    """
    head = ["mean", "queries", "interval", "difference", "least $p$"]
    low, high = result["interval"]
    span = interval(low, high, scale)
    cells = (format_value(result["value"], scale), f"{result['queries']:,}", span)
    row = [*map(latex, (*cells, format_value(result["difference"], scale), format_value(result["least_p"])))]
    return tabular(head, [row], "rrrrr", notes=[*sentences(result, scale), *unit(scale)])


def build(file: ResultFile, directory: Directory) -> Part:
    """The part of the page for a published mean.

    Args:
        file: the result.
        directory: unused.
    """
    data = file.data
    first: Words = (
        "A published mean of ",
        Number(format_value(data["value"]), data["value"], file.source("value")),
        f" over {count_phrase(data['queries'], 'query', 'queries')} supports {interval(*data['interval'])}.",
    )
    columns = (
        statistic("value"),
        PageColumn("queries", "/queries", numeric=True),
        PageColumn("interval from", "/interval/0", numeric=True, show=format_value),
        PageColumn("to", "/interval/1", numeric=True, show=format_value),
        PageColumn("difference", "/difference", numeric=True, show=format_value),
        PageColumn("least p", "/least_p", numeric=True, show=format_value),
    )
    rows = (row_of("", columns, data),)
    table = Table("published-table", ("What so many queries support.",), file.name, columns, rows)
    words = tuple((line,) for line in sentences(data))
    return Part(verdict=first, blocks=(Block("published", "A published mean", words=words, tables=(table,)),))
