"""The values of an evaluation as rows: lines of CSV, and lines in trec_eval's format."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Final, cast

from trueval.evaluation.corrected_evaluation import CorrectedEvaluation
from trueval.evaluation.corrected_values import JudgeMean
from trueval.evaluation.evaluation_result import MeasureMeans
from trueval.evaluation.views.corrections import NO_JUDGE, CorrectedRow, csv_columns
from trueval.measures import Measure, parse
from trueval.measures.aliases import trec_name
from trueval.printable import printable
from trueval.report.json_fields import encode
from trueval.report.view import Column, Sheet
from trueval.report.view_texts import plain_value

Row = Mapping[str, object]

STATISTICS: Final = ("expected", "lowest", "highest", "range", "tie_broken", "bias", "sd")
COLUMNS: Final = ("run", "query", "measure", *STATISTICS, "queries", "exact")
# Of corrections, those that trec lines have.
CORRECTED: Final = ("judge", "corrected", "corrected_low", "corrected_high", "people", "people_low", "people_high")


def corrected_rows(result: CorrectedEvaluation) -> list[CorrectedRow]:
    """The corrections of every run, run by run.

    Args:
        result: an evaluation.
    """
    by_the_judge = result.audit is not None and result.audit.labels in ("judge", "corrected")
    return [
        CorrectedRow(run.name, each, _judge_mean(run.measures.get(each.measure) if by_the_judge else None))
        for run in result.runs
        for each in run.corrected
    ]


def _judge_mean(mean: MeasureMeans | None) -> JudgeMean:
    return NO_JUDGE if mean is None else JudgeMean(mean.expected, mean.queries)


_CORRECTED: Final[Sequence[Column[CorrectedRow]]] = csv_columns(lambda row: row)


@dataclass(frozen=True)
class CsvRows:
    """The rows of an evaluation, made while they are read: means, and the values of queries where it has them.

    Attributes:
        result: an evaluation.
        corrected: its corrections.
        means_first: whether the means of a run come before its queries.
    """

    result: CorrectedEvaluation
    corrected: Sequence[CorrectedRow]
    means_first: bool = True

    def __iter__(self) -> Iterator[Row]:
        """Yield the rows run by run; a mean is that of query "all"."""
        told = {(each.name, each.found.measure): self._corrections(each) for each in self.corrected}
        for run in self.result.runs:
            means: list[Row] = [
                {
                    "run": run.name,
                    "query": "all",
                    "measure": name,
                    "exact": True,
                    **encode(mean),
                    **told.get((run.name, name), {}),
                }
                for name, mean in run.measures.items()
            ]
            queries: Iterator[Row] = ({"run": run.name, **row} for row in run.per_query or ())
            yield from chain(means, queries) if self.means_first else chain(queries, means)

    def _corrections(self, row: CorrectedRow) -> Row:
        if row.refused is not None:
            return {"refused": row.refused}
        return {each.title: plain_value(each.value(row)) for each in _CORRECTED}

    def sheet(self) -> Sheet[Row]:
        """The sheet of the CSV file."""
        names = (*COLUMNS, *((each.title for each in _CORRECTED) if self.result.audit is not None else ()))
        # Not held as a list: the rows of all queries may be too many.
        return Sheet("", cast("Sequence[Row]", self), [Column(name, _get(name)) for name in names])


def _get(name: str) -> Callable[[Row], object]:
    return lambda row: row.get(name)


def trec_parts(rows: CsvRows) -> Iterator[str]:
    """Lines in trec_eval's format: its measure name, query or "all", value with four decimals, separated by tabs.

    Under a convention each line is what the tool prints: only the tie-broken value. With `--convention trec_eval` this
    equals `trec_eval -m NAME`, and per query -q. Without a convention, a name has the expected value, and
    `ndcg_cut_10.tie_broken` and so on the other statistics. Measures that trec_eval lacks keep our names.

    Args:
        rows: of an evaluation, queries first.

    Yields:
        The lines; a number that is not available is NA. Each run begins with its `runid`, but where a convention has
            one run, as trec_eval prints that for `-m runid` alone.
    """
    for name, query, value in _trec_cells(rows):
        yield f"{name:<22}\t{printable(query)}\t{printable(value)}\n"


def _trec_cells(rows: CsvRows) -> Iterator[tuple[str, str, str]]:
    result = rows.result
    tool = result.policy.get("convention") is not None
    measures = {text: parse(text) for run in result.runs for text in run.measures}
    run = None
    for row in rows:
        if row["run"] != run:
            run = str(row["run"])
            yield from [] if tool and len(result.runs) == 1 else [("runid", "all", run)]
        measure, query = measures[str(row["measure"])], str(row["query"])
        if tool:
            yield from _as_the_tool_prints(row, measure)
            continue
        # trec_eval's num_rel_ret is a sum, and this is a mean.
        name = str(measure) if measure.name == "Hits" else trec_name(measure)
        for statistic in (each for each in STATISTICS if each in row):
            ending = "" if statistic == "expected" else f".{statistic}"
            yield name + ending, query, _decimals(row[statistic])
        for column in (each for each in CORRECTED if each in row):
            yield f"{name}.{column}", query, _decimals(row[column])


def _as_the_tool_prints(row: Row, measure: Measure) -> Iterator[tuple[str, str, str]]:
    """The line that trec_eval prints for a value: sums for counts, and geometric means without per-query values."""
    name, query = trec_name(measure), str(row["query"])
    value, count = row["tie_broken"], row.get("queries", 1)
    if name == "num_rel_ret" and isinstance(value, int | float) and isinstance(count, int):
        yield name, query, str(round(value * count))
    elif query == "all" or measure.definition.mean == "arithmetic":
        yield name, query, _decimals(value)


def _decimals(value: object) -> str:
    return f"{value:.4f}" if isinstance(value, int | float) else "NA"
