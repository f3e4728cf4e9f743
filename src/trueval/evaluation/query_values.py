"""Per-query values as a stream, so that no table of them is held in memory: as rows, and as a parquet file."""

from __future__ import annotations

import io
import json
import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, cast

import numpy as np
import polars as pl
from numpy.typing import NDArray

from trueval.errors import Place
from trueval.evaluation.evaluation_result import QueryValues
from trueval.evaluation.scores import STATISTICS, Scores
from trueval.files.source.source_bytes import read_bytes
from trueval.files.tabular.parquet_sizes import check_sizes

QUERIES: Final = "queries.parquet"
SCHEMA: Final = {
    **dict.fromkeys(("run", "query", "measure"), pl.String),
    **dict.fromkeys(STATISTICS, pl.Float64),
}
ROWS_AS_DICTS: Final = 1 << 12  # queries held as dicts at once
ROWS: Final = 1 << 17  # rows of a row group, and rows in memory at once
# Range of nonzero numbers that polars writes as Python does, without an exponent.
LEAST_PLAIN, MOST_PLAIN = 1e-4, 1e16


class QueryRows:
    """The per-query rows of a run's JSON, generated while they are read.

    Args:
        scores: scores of the run.
    """

    def __init__(self, scores: Scores) -> None:
        self.scores = scores

    def __iter__(self) -> Iterator[QueryValues]:
        """Yield the rows query by query, each with every measure."""
        for start in range(0, len(self.scores.query_ids), ROWS_AS_DICTS):
            end = min(start + ROWS_AS_DICTS, len(self.scores.query_ids))
            yield from cast("list[QueryValues]", self.scores.at(np.arange(start, end)).to_polars().to_dicts())

    def json_rows(self, end: str) -> Iterator[str]:
        """The rows as JSON text, built column by column: `to_json` writes them this way.

        Args:
            end: line feed and indentation of the line that begins a row.
        """
        names = _json_texts([str(measure) for measure in self.scores.measures])
        between = f",{end}"
        for start in range(0, len(self.scores.query_ids), ROWS_AS_DICTS):
            inside = slice(start, start + ROWS_AS_DICTS)
            queries = pl.Series(_json_texts(self.scores.query_ids[inside]), dtype=pl.String)
            objects: list[pl.Series | pl.Expr] = []
            for column, name in enumerate(names):
                objects += [pl.lit(f'{between if column else ""}{{{end} "query": '), queries]
                objects.append(pl.lit(f',{end} "measure": {name}'))
                for statistic in STATISTICS:
                    values = getattr(self.scores, statistic)[inside, column]
                    objects += [pl.lit(f',{end} "{statistic}": '), json_numbers(values)]
                objects.append(pl.lit(f"{end}}}"))
            if names:
                yield between.join(pl.select(pl.concat_str(objects)).to_series().to_list())


def json_numbers(values: NDArray[np.float64]) -> pl.Series:
    """Numbers as JSON text, with the fewest digits that round-trip; NaN is null.

    Raises:
        ValueError: an infinity, which JSON does not have.

    >>> json_numbers(np.array([0.5, 1e-7, np.nan])).to_list()
    ['0.5', '1e-07', 'null']
    """
    sizes = np.abs(values)
    plain = (sizes >= LEAST_PLAIN) & (sizes < MOST_PLAIN) | (values == 0)
    texts = pl.Series(values).cast(pl.String)
    if plain.all():
        return texts
    places = np.flatnonzero(~plain)
    others = (None if math.isnan(value) else value for value in values[places].tolist())
    return texts.scatter(places, [json.dumps(value, allow_nan=False) for value in others])


def _json_texts(texts: Sequence[str]) -> list[str]:
    """Texts as JSON, all by one call: JSON text never contains a raw line feed."""
    if not texts:
        return []
    return json.dumps(list(texts), ensure_ascii=False, separators=("\n", ": "))[1:-1].split("\n")


def with_queries(results: Mapping[str, Any], several: Sequence[Scores]) -> dict[str, object]:
    """Results of runs with per-query values, which are generated when read.

    Args:
        results: results as in JSON.
        several: scores of the same runs.
    """
    pairs = zip(results["runs"], several, strict=True)
    return {**results, "runs": [{**run, "per_query": QueryRows(scores)} for run, scores in pairs]}


def write_queries(several: Sequence[Scores], path: Path) -> None:
    """Write one row per run, query and measure, in this order.

    Args:
        several: scores of the runs.
        path: path of the file. Columns: run, query, measure, expected, lowest, highest, tie_broken, sd; null where not
            available.

    Raises:
        OSError: it cannot be written.
    """
    from polars.io.plugins import register_io_source

    def blocks(*_: object) -> Iterator[pl.DataFrame]:  # all columns are read, whatever a query selects
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
    """Read the values of one run.

    Args:
        path: file written by `write_queries`.
        run: name of the run in it.

    Returns:
        The rows of the run, without its name.

    Raises:
        InputError: the file is damaged, or has other columns.
    """
    wanted: Any = {name: kind for name, kind in SCHEMA.items() if name != "run"}
    data = read_bytes(str(path))  # polars gets the bytes rather than the path, since these bytes were hashed
    check_sizes(data, str(path))
    try:
        rows = pl.scan_parquet(io.BytesIO(data)).filter(pl.col("run") == run)
        return rows.select(*wanted).cast(wanted).collect()
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:
        first = str(error).partition("\n")[0]
        raise Place(str(path)).error(f"not a file of per-query values ({first}). Write the results again.") from error
