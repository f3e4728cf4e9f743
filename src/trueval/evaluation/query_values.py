"""The values of every query in a stream, so that no table of them is ever in memory: as rows, and as a parquet file."""

from __future__ import annotations

import io
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
import polars as pl

from trueval.errors import Place
from trueval.evaluation.scores import STATISTICS, Scores
from trueval.files.source.content import read_bytes
from trueval.files.tabular.parquet_sizes import check_sizes

QUERIES: Final = "queries.parquet"
SCHEMA: Final = {
    **dict.fromkeys(("run", "query", "measure"), pl.String),
    **dict.fromkeys(STATISTICS, pl.Float64),
}
ROWS_AS_DICTS: Final = 1 << 12  # queries whose values are dicts at once
ROWS: Final = 1 << 17  # of a row group, and of what is in memory at once


@dataclass(frozen=True)
class QueryRows:
    """The rows of a run as its JSON has them, made while somebody reads them.

    Args:
        scores: of the run.
    """

    scores: Scores

    def __iter__(self) -> Iterator[dict[str, Any]]:
        """Query after query, every measure of each."""
        for start in range(0, len(self.scores.query_ids), ROWS_AS_DICTS):
            end = min(start + ROWS_AS_DICTS, len(self.scores.query_ids))
            yield from self.scores.at(np.arange(start, end)).to_polars().to_dicts()


def with_queries(results: Mapping[str, Any], several: Sequence[Scores]) -> dict[str, Any]:
    """Results of runs with the values of every query, which are not in memory yet.

    Args:
        results: as JSON holds them.
        several: scores of the same runs.
    """
    pairs = zip(results["runs"], several, strict=True)
    return {**results, "runs": [{**run, "per_query": QueryRows(scores)} for run, scores in pairs]}


def write_queries(several: Sequence[Scores], path: Path) -> None:
    """Writes a row for each run, measure and query, in this order.

    Args:
        several: of the runs.
        path: of the file. Columns: run, query, measure, expected, lowest, highest, tie_broken, sd; null where not
            available.

    Raises:
        OSError: it cannot be written.
    """
    from polars.io.plugins import register_io_source

    def blocks(*_: object) -> Iterator[pl.DataFrame]:  # polars offers to pass on what a query asks for; this asks all
        for scores in several:
            yield from _blocks(scores)

    register_io_source(blocks, schema=SCHEMA).sink_parquet(path, row_group_size=ROWS, maintain_order=True)


def _blocks(scores: Scores) -> Iterator[pl.DataFrame]:
    ids = pl.Series("query", scores.query_ids, dtype=pl.String)
    for column, measure in enumerate(scores.measures):
        for start in range(0, len(ids), ROWS):
            inside = slice(start, start + ROWS)
            values = (pl.Series(name, getattr(scores, name)[inside, column]).fill_nan(None) for name in STATISTICS)
            named = (pl.lit(scores.name).alias("run"), pl.lit(str(measure)).alias("measure"))
            yield pl.DataFrame([ids[inside], *values]).with_columns(*named).select(*SCHEMA)


def read_queries(path: Path, run: str) -> pl.DataFrame:
    """Reads the values of one run.

    Args:
        path: what `write_queries` wrote.
        run: its name there.

    Returns:
        The rows of the run, without its name.

    Raises:
        InputError: the file is damaged, or has other columns.
    """
    wanted: Any = {name: kind for name, kind in SCHEMA.items() if name != "run"}
    data = read_bytes(str(path))  # what is measured are the bytes that are noted, so polars gets no path
    check_sizes(data, str(path))
    try:
        rows = pl.scan_parquet(io.BytesIO(data)).filter(pl.col("run") == run)
        return rows.select(*wanted).cast(wanted).collect()
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:
        first = str(error).partition("\n")[0]
        raise Place(str(path)).error(f"not the values of queries ({first}). Write the results again.") from error
