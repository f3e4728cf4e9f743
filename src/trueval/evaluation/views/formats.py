"""The results of an evaluation as text for other programs: CSV, Markdown, LaTeX, trec_eval lines."""

from collections.abc import Iterator, Mapping
from itertools import chain
from typing import Any

from trueval.evaluation.views import corrected
from trueval.evaluation.views.findings import find, sentences
from trueval.measures import Measure, parse
from trueval.measures.aliases import trec_name
from trueval.printable import printable
from trueval.report import formats
from trueval.report.formats import latex, markdown, pipes, tabular
from trueval.report.number_texts import FRACTIONS, ValueUnit, format_difference, format_value, interval, unit

STATISTICS = ("expected", "lowest", "highest", "range", "tie_broken", "bias", "sd")
COLUMNS = ("run", "query", "measure", *STATISTICS, "queries", "exact")
HEADINGS = ("run", "measure", "expected", "lowest, highest", "range", "tie-broken", "bias", "sd")


def to_csv(results: Mapping[str, Any]) -> str:
    """One line per run and measure, with query "all", and one per query where the results have per-query values.

    Args:
        results: what `trueval.evaluation.scores.results` returns.

    Returns:
        Comma-separated values in full precision under a line of names; a number that is not available is empty.
    """
    return "".join(csv_parts(results))


def csv_parts(results: Mapping[str, Any]) -> Iterator[str]:
    """The text of `to_csv` in parts."""
    # Details of a mean are in the JSON alone.
    return formats.csv_parts((*COLUMNS, *(corrected.CSV if "audit" in results else ())), _rows(results))


def to_markdown(results: Mapping[str, Any], *, scale: ValueUnit = FRACTIONS) -> str:
    """A table of means, and the findings about ties.

    Args:
        results: what `trueval.evaluation.scores.results` returns.
        scale: scale of the printed values.

    Returns:
        A pipe table, then the findings as a list.
    """
    words = [
        f"    - {markdown(line.strip())}\n" if line.startswith(" ") else f"- {markdown(line[2:])}\n"
        for line in sentences(find(results))
    ] + [f"- {line}\n" for line in unit(scale)]
    values = pipes(HEADINGS, _cells(results, scale), words=2)
    return "".join([values, *(["\n"] if words else []), *words, *_corrected_markdown(results, scale)])


def _corrected_markdown(results: Mapping[str, Any], scale: ValueUnit) -> Iterator[str]:
    """Judge, corrected and people in columns, with notes; empty without an audit."""
    told = corrected.of_runs(results)
    if "audit" not in results:
        return
    yield f"\n### {corrected.TITLE}\n\n"
    yield corrected.markdown(told, scale) if told else ""
    lines = (*corrected.describe_leader_changes(told), *corrected.lines(results, told))
    yield "\n" + "".join(f"- {markdown(line)}\n" for line in lines)


def to_latex(results: Mapping[str, Any], *, scale: ValueUnit = FRACTIONS) -> str:
    """A LaTeX tabular of means; it needs the package booktabs.

    Args:
        results: what `trueval.evaluation.scores.results` returns.
        scale: scale of the printed values.

    Returns:
        The environment, names escaped.
    """
    rows = ([latex(cell) for cell in row] for row in _cells(results, scale))
    values = tabular(HEADINGS, rows, "ll" + "r" * (len(HEADINGS) - 2), notes=unit(scale))
    told = corrected.of_runs(results)
    return f"{values}\n{corrected.tabular_of(told, scale, notes=corrected.lines(results, told))}" if told else values


def to_trec(results: Mapping[str, Any]) -> str:
    """Lines in trec_eval's format: its measure name, query or "all", value with four decimals, separated by tabs.

    Under a convention each line is what the tool prints: only the tie-broken value. With `--convention trec_eval` this
    equals `trec_eval -m NAME`, and per query -q. Without a convention, a name has the expected value, and
    `ndcg_cut_10.tie_broken` and so on the other statistics. Measures that trec_eval lacks keep our names.

    Args:
        results: what `trueval.evaluation.scores.results` returns.

    Returns:
        The lines; a number that is not available is NA. Each run begins with its `runid`, but where a convention has
            one run, as trec_eval prints that for `-m runid` alone.
    """
    return "".join(trec_parts(results))


def trec_parts(results: Mapping[str, Any]) -> Iterator[str]:
    """The text of `to_trec` line by line."""
    for name, query, value in _trec_cells(results):
        yield f"{name:<22}\t{printable(query)}\t{printable(value)}\n"


def _trec_cells(results: Mapping[str, Any]) -> Iterator[tuple[str, str, str]]:
    tool = results["policy"].get("convention") is not None
    measures = {text: parse(text) for run in results["runs"] for text in run["measures"]}
    run = None
    for row in _rows(results, means_first=False):
        if row["run"] != run:
            run = row["run"]
            yield from [] if tool and len(results["runs"]) == 1 else [("runid", "all", run)]
        measure = measures[row["measure"]]
        if tool:
            yield from _as_the_tool_prints(row, measure)
            continue
        # trec_eval's num_rel_ret is a sum, and this is a mean.
        name = str(measure) if measure.name == "Hits" else trec_name(measure)
        for statistic in (each for each in STATISTICS if each in row):
            ending = "" if statistic == "expected" else f".{statistic}"
            yield name + ending, row["query"], _decimals(row[statistic])
        for column in (each for each in corrected.VALUES if each in row):
            yield f"{name}.{column}", row["query"], _decimals(row[column])


def _as_the_tool_prints(row: Mapping[str, Any], measure: Measure) -> Iterator[tuple[str, str, str]]:
    """The line that trec_eval prints for a value: sums for counts, and geometric means without per-query values."""
    name, value = trec_name(measure), row["tie_broken"]
    if name == "num_rel_ret" and value is not None:
        yield name, row["query"], str(round(value * row.get("queries", 1)))
    elif row["query"] == "all" or measure.definition.mean == "arithmetic":
        yield name, row["query"], _decimals(value)


def _decimals(value: float | None) -> str:
    return "NA" if value is None else f"{value:.4f}"


def _rows(results: Mapping[str, Any], *, means_first: bool = True) -> Iterator[dict[str, Any]]:
    for run in results["runs"]:
        means = [{"run": run["name"], "query": "all", "measure": name, **row} for name, row in run["measures"].items()]
        told = {entry["measure"]: corrected.flat(entry) for entry in run.get("corrected", ())}
        means = [{"exact": True, **row, **told.get(row["measure"], {})} for row in means]
        queries = ({"run": run["name"], **row} for row in run.get("per_query", ()))
        yield from chain(means, queries) if means_first else chain(queries, means)


def _cells(results: Mapping[str, Any], scale: ValueUnit) -> Iterator[list[str]]:
    for run in results["runs"]:
        for name, value in run["measures"].items():
            spread = interval(value["lowest"], value["highest"], scale)
            rest = (format_value(value[part], scale) for part in ("range", "tie_broken"))
            last = format_difference(value["bias"], scale), format_value(value["sd"], scale)
            yield [run["name"], name, format_value(value["expected"], scale), spread, *rest, *last]
