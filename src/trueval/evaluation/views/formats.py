"""The results of an evaluation as text for other programs: CSV, Markdown, LaTeX, trec_eval lines."""

from collections.abc import Iterator, Mapping
from typing import Any

from trueval.evaluation.views.findings import find, sentences
from trueval.report import formats
from trueval.report.formats import latex, markdown, pipes, tabular
from trueval.report.text import FRACTIONS, Scale, fixed, interval, signed, unit

STATISTICS = ("expected", "lowest", "highest", "range", "tie_broken", "bias", "sd")
COLUMNS = ("run", "query", "measure", *STATISTICS, "queries", "exact")
HEADINGS = ("run", "measure", "expected", "lowest, highest", "range", "tie-broken", "bias", "sd")


def to_csv(results: Mapping[str, Any]) -> str:
    """One line for each run and measure, whose query is "all", and one for each query where the results hold them.

    Args:
        results: what `trueval.evaluation.scores.results` returns.

    Returns:
        Comma-separated values in full precision under a line of names; a number that is not available is empty.
    """
    return formats.to_csv(COLUMNS, _rows(results))  # details of a mean are in the JSON alone


def to_markdown(results: Mapping[str, Any], *, scale: Scale = FRACTIONS) -> str:
    """A table of means and what the ties say about them.

    Args:
        results: what `trueval.evaluation.scores.results` returns.
        scale: of the values.

    Returns:
        A pipe table, then the findings as a list.
    """
    words = [
        f"    - {markdown(line.strip())}\n" if line.startswith(" ") else f"- {markdown(line[2:])}\n"
        for line in sentences(find(results))
    ] + [f"- {line}\n" for line in unit(scale)]
    return "".join([pipes(HEADINGS, _cells(results, scale), words=2), *(["\n"] if words else []), *words])


def to_latex(results: Mapping[str, Any], *, scale: Scale = FRACTIONS) -> str:
    """A tabular of means for a paper; it needs the package booktabs.

    Args:
        results: what `trueval.evaluation.scores.results` returns.
        scale: of the values.

    Returns:
        The environment, names escaped.
    """
    rows = ([latex(cell) for cell in row] for row in _cells(results, scale))
    return tabular(HEADINGS, rows, "ll" + "r" * (len(HEADINGS) - 2), notes=unit(scale))


def to_trec(results: Mapping[str, Any]) -> str:
    """Lines as trec_eval prints them: measure, query or "all", value with four decimals, separated by tabs.

    A measure's own name carries the expected value; `nDCG@10.tie_broken` and so on carry the other statistics, and the
    tie-broken one is what trec_eval prints under the same policy.

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


def _rows(results: Mapping[str, Any], *, means_first: bool = True) -> Iterator[dict[str, Any]]:
    for run in results["runs"]:
        means = [{"run": run["name"], "query": "all", "measure": name, **row} for name, row in run["measures"].items()]
        means = [{"exact": True, **row} for row in means]
        queries = [{"run": run["name"], **row} for row in run.get("per_query", ())]
        yield from means + queries if means_first else queries + means


def _cells(results: Mapping[str, Any], scale: Scale) -> Iterator[list[str]]:
    for run in results["runs"]:
        for name, value in run["measures"].items():
            spread = interval(value["lowest"], value["highest"], scale)
            rest = (fixed(value[part], scale) for part in ("range", "tie_broken"))
            last = signed(value["bias"], scale), fixed(value["sd"], scale)
            yield [run["name"], name, fixed(value["expected"], scale), spread, *rest, *last]
