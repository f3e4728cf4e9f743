"""The results of an evaluation as text for other programs: JSON, CSV, Markdown, LaTeX, trec_eval lines."""

import csv
import io
import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from trueval.evaluation.views.findings import find, sentences
from trueval.report.text import fixed, interval, signed

STATISTICS = ("expected", "lowest", "highest", "range", "oblivious", "bias", "sd")
COLUMNS = ("run", "query", "measure", *STATISTICS, "queries", "exact")
HEADINGS = ("run", "measure", "expected", "lowest, highest", "range", "oblivious", "bias", "sd")
LATEX_SPECIALS = str.maketrans(
    {char: f"\\{char}" for char in "&%$#_{}"}
    | {"~": r"\~{}", "^": r"\^{}", "\\": r"\textbackslash{}", "<": "$<$", ">": "$>$", "–": "--"}
)


def to_json(results: Mapping[str, Any]) -> str:
    """The results as they are, in full precision.

    Args:
        results: what `trueval.evaluation.scores.results` returns.

    Returns:
        JSON with a line feed at its end; a number that is not available is null.
    """
    return json.dumps(results, indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def to_csv(results: Mapping[str, Any]) -> str:
    """One line for each run and measure, whose query is "all", and one for each query where the results hold them.

    Args:
        results: what `trueval.evaluation.scores.results` returns.

    Returns:
        Comma-separated values in full precision under a line of names; a number that is not available is empty.
    """
    text = io.StringIO()
    writer = csv.DictWriter(text, COLUMNS, lineterminator="\n", extrasaction="ignore")  # details stay in the JSON
    writer.writeheader()
    writer.writerows(_rows(results))
    return text.getvalue()


def to_markdown(results: Mapping[str, Any]) -> str:
    """A table of means and what the ties say about them.

    Args:
        results: what `trueval.evaluation.scores.results` returns.

    Returns:
        A pipe table with four decimals, then the findings as a list.
    """
    lines = [f"| {' | '.join(HEADINGS)} |", "|---|---|" + "---:|" * (len(HEADINGS) - 2)]
    lines += [f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in row)} |" for row in _cells(results)]
    words = [f"    - {line.strip()}" if line.startswith(" ") else f"- {line[2:]}" for line in sentences(find(results))]
    return "\n".join([*lines, *([""] if words else []), *words]) + "\n"


def to_latex(results: Mapping[str, Any]) -> str:
    """A tabular of means for a paper; it needs the package booktabs.

    Args:
        results: what `trueval.evaluation.scores.results` returns.

    Returns:
        The environment with four decimals, names escaped.
    """
    rows = [" & ".join(cell.translate(LATEX_SPECIALS) for cell in row) for row in _cells(results)]
    body = "".join(f"{row} \\\\\n" for row in rows)
    columns = "ll" + "r" * (len(HEADINGS) - 2)
    head = " & ".join(HEADINGS)
    return f"\\begin{{tabular}}{{{columns}}}\n\\toprule\n{head} \\\\\n\\midrule\n{body}\\bottomrule\n\\end{{tabular}}\n"


def to_trec(results: Mapping[str, Any]) -> str:
    """Lines as trec_eval prints them: measure, query or "all", value with four decimals, parted by tabs.

    A measure's own name carries the expected value; `nDCG@10.oblivious` and so on carry the other statistics, and the
    oblivious one is what trec_eval prints under the same policy.

    Args:
        results: what `trueval.evaluation.scores.results` returns.

    Returns:
        The lines; a run begins with its `runid`; a number that is not available is NA.
    """
    lines, run = [], None
    for row in _rows(results, means_first=False):
        if row["run"] != run:
            run = row["run"]
            lines.append(f"{'runid':<22}\tall\t{run}")
        for statistic in (name for name in STATISTICS if name in row):
            name = row["measure"] if statistic == "expected" else f"{row['measure']}.{statistic}"
            value = "NA" if row[statistic] is None else f"{row[statistic]:.4f}"
            lines.append(f"{name:<22}\t{row['query']}\t{value}")
    return "".join(f"{line}\n" for line in lines)


WRITERS: Mapping[str, Callable[[Mapping[str, Any]], str]] = {
    "json": to_json,
    "csv": to_csv,
    "markdown": to_markdown,
    "latex": to_latex,
    "trec": to_trec,
}


def _rows(results: Mapping[str, Any], *, means_first: bool = True) -> Iterator[dict[str, Any]]:
    for run in results["runs"]:
        means = [{"run": run["name"], "query": "all", "measure": name, **row} for name, row in run["measures"].items()]
        means = [{"exact": True, **row} for row in means]
        queries = [{"run": run["name"], **row} for row in run.get("per_query", ())]
        yield from means + queries if means_first else queries + means


def _cells(results: Mapping[str, Any]) -> Iterator[list[str]]:
    for row in _rows(results):
        if row["query"] != "all" or "range" not in row:
            continue
        spread = interval(row["lowest"], row["highest"])
        yield [
            row["run"],
            row["measure"],
            fixed(row["expected"]),
            spread,
            *(fixed(row[name]) for name in ("range", "oblivious")),
            signed(row["bias"]),
            fixed(row["sd"]),
        ]
