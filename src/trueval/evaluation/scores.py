"""Scores: the values of a run, per query and measure, and their means."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from trueval.errors import InputError, MeasureError, nearest
from trueval.evaluation.content_hashes import ContentHashes
from trueval.evaluation.defaults import resolve_measure
from trueval.evaluation.estimate import Estimate, arithmetic_mean, geometric_mean
from trueval.evaluation.evaluation_result import NOT_ASKED, Evaluation, MeasureMeans, RunMeans, RunTies
from trueval.evaluation.ties import TieSummary, join_ties
from trueval.forks import need_polars
from trueval.measures import Measure, parse
from trueval.measures.aliases import plain_name
from trueval.measures.grammar import OtherMeasure
from trueval.report.json_fields import encode
from trueval.report.result import ReprByKind
from trueval.standings.standings import Floats

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import NDArray

    from trueval.policy.policy import Policy

STATISTICS = ("expected", "lowest", "highest", "tie_broken", "sd")


@dataclass(frozen=True, eq=False, repr=False)
class Scores(ReprByKind):
    """The values of one run, per query and measure.

    Printed, it is a table. It also reads like a dict of measures: `scores["nDCG@10"]` is an Estimate, and `"AP" in
    scores`, `len(scores)`, `for name in scores`, `scores.items()` and `dict(scores)` work as expected.

    Attributes:
        name: name of the run.
        query_ids: [query] ids of the evaluated queries.
        measures: [measure] measures as requested.
        expected: [query, measure] mean over tie orders; NaN if not available.
        lowest: [query, measure] least value.
        highest: [query, measure] greatest value.
        tie_broken: [query, measure] value under the tie order; NaN where the order is not known.
        sd: [query, measure] standard deviation over tie orders; NaN where no exact form is known.
        exact: [measure] whether its statistics are exact; else lowest and highest are bounds, or expected is the middle
            of bounds.
        ties: summary of the run's ties.
        missing_queries: judged queries that the run lacks.
        unjudged_queries: queries of the run without judgments, left out.
        policy: all choices behind the numbers.
        notes: one-line warnings, including those of the readers.
        details: [measure] additional numbers alongside the mean, by name.
        matched: number of judged documents that the run lists for their queries; None where not counted.
        content: hashes of the evaluated data; None if unknown.
        measurable: [measure] number of the run's queries with something to measure, such as a relevant document; the
            policy decides how the others count. Empty where not counted.
    """

    name: str
    query_ids: tuple[str, ...]
    measures: tuple[Measure, ...]
    expected: Floats
    lowest: Floats
    highest: Floats
    tie_broken: Floats
    sd: Floats
    exact: tuple[bool, ...]
    ties: TieSummary
    missing_queries: tuple[str, ...]
    unjudged_queries: tuple[str, ...]
    policy: Policy
    notes: tuple[str, ...]
    details: tuple[Mapping[str, float], ...] = ()
    matched: int | None = None
    content: ContentHashes | None = None
    measurable: tuple[int, ...] = ()

    def __getitem__(self, measure: str | Measure | OtherMeasure) -> Estimate:
        """The mean of a measure, as `mean`; aliases such as ndcg_cut_10 work too.

        Raises:
            MeasureError: the measure was not evaluated; it names the nearest that was.
        """
        return self.mean(measure)

    def __contains__(self, measure: object) -> bool:
        """Whether a measure was evaluated."""
        try:
            return isinstance(measure, str | Measure | OtherMeasure) and self.index(measure) >= 0
        except MeasureError:
            return False

    def __iter__(self) -> Iterator[str]:
        """The text forms of the measures, in the order requested."""
        return map(str, self.measures)

    def __len__(self) -> int:
        """Number of measures."""
        return len(self.measures)

    def __bool__(self) -> bool:
        """True, even without any measure: scores are never falsy."""
        return True

    def keys(self) -> tuple[str, ...]:
        """The text forms of the measures."""
        return tuple(self)

    def values(self) -> tuple[Estimate, ...]:
        """The mean of every measure."""
        return tuple(self.means().values())

    def items(self) -> tuple[tuple[str, Estimate], ...]:
        """Text form and mean of every measure."""
        return tuple(self.means().items())

    def console_json(self) -> dict[str, object]:
        """The JSON shown in a console: the run's entry, and the policy."""
        return {"kind": Evaluation.KIND, **self.to_dict(), "policy": self.policy.to_dict()}

    def mean(self, measure: str | Measure | OtherMeasure) -> Estimate:
        """The mean of a measure over the queries with a value; geometric for gm(...).

        Raises:
            MeasureError: the measure was not evaluated.
        """
        column = self.index(measure)
        known = ~np.isnan(self.expected[:, column])
        count = int(known.sum())
        if not count:
            return Estimate(math.nan, math.nan, math.nan, math.nan, math.nan, 0)
        geometric = self.measures[column].definition.mean == "geometric"
        average = geometric_mean if geometric else arithmetic_mean
        sds = self.sd[known, column]
        # Scaled by a power of two, so that no square is out of range.
        scale = int(np.frexp(np.nanmax(sds, initial=0.0))[1])
        sd = math.ldexp(math.sqrt(float((np.ldexp(sds, -scale) ** 2).sum())), scale) / count
        # The other statistics are averaged; no exact form of the deviation of a geometric mean is known.
        means = {name: float(average(getattr(self, name)[known, column])) for name in STATISTICS if name != "sd"}
        return Estimate(**means, sd=math.nan if geometric and sd > 0 else sd, queries=count)

    def means(self) -> dict[str, Estimate]:
        """The mean of every measure, by its text form."""
        return {str(measure): self.mean(measure) for measure in self.measures}

    def flat(self, prefix: str = "") -> dict[str, float]:
        """The means as numbers by names of letters, digits and underscores, for W&B, TensorBoard and other loggers.

        Args:
            prefix: text before each name, such as "dev/".

        Returns:
            The expected value as nDCG_at_10, and nDCG_at_10_lowest and nDCG_at_10_highest; none that is not available.

        Raises:
            MeasureError: two measures would have one name.
        """
        named: dict[str, Measure] = {}
        for measure in self.measures:
            if (other := named.setdefault(plain_name(measure), measure)) != measure:
                raise MeasureError(f"{other} and {measure} would both be {plain_name(measure)}. Log one of them.")
        found: dict[str, float] = {}
        for name, measure in named.items():
            mean = self.mean(measure)
            values = {name: mean.expected, f"{name}_lowest": mean.lowest, f"{name}_highest": mean.highest}
            found |= {prefix + key: value for key, value in values.items() if not math.isnan(value)}
        return found

    def index(self, measure: str | Measure | OtherMeasure) -> int:
        """The column of a measure; RR@10 also names RR(rel=4)@10 where the policy has that threshold.

        Raises:
            MeasureError: the measure was not evaluated; it names the nearest that was.
        """
        try:
            wanted = resolve_measure(parse(measure), self.measures, self.policy)
        except MeasureError as unknown:
            raise self._not_evaluated(str(measure)) from unknown
        if wanted not in self.measures:
            raise self._not_evaluated(str(wanted))
        return self.measures.index(wanted)

    def _not_evaluated(self, name: str) -> MeasureError:
        return MeasureError(f"{name} was not evaluated. Evaluated: {', '.join(self)}.{nearest(name, self)}")

    def of(self, measures: Sequence[str | Measure | OtherMeasure]) -> Scores:
        """The scores restricted to some measures, in the given order.

        Raises:
            MeasureError: one was not evaluated.
        """
        kept = [self.index(measure) for measure in measures]
        found: dict[str, Any] = {statistic: getattr(self, statistic)[:, kept] for statistic in STATISTICS}
        of_measure = [name for name in ("measures", "exact", "details", "measurable") if getattr(self, name)]
        found |= {name: tuple(getattr(self, name)[each] for each in kept) for name in of_measure}
        return replace(self, **found)

    def at(self, places: NDArray[np.int64]) -> Scores:
        """The scores restricted to some queries; what describes the run as a whole is unchanged.

        Args:
            places: [query] indices of the queries to keep.
        """
        arrays: dict[str, Any] = {statistic: getattr(self, statistic)[places] for statistic in STATISTICS}
        return replace(self, query_ids=tuple(self.query_ids[place] for place in places.tolist()), **arrays)

    @staticmethod
    def join(parts: Sequence[Scores]) -> Scores:
        """Join the Scores of one run over disjoint sets of queries, as shards and sweeps produce them.

        Details are means over the queries of one part, and are dropped where there are several parts.

        Args:
            parts: at least one, with the same measures and different queries; name and policy are the first's.

        Raises:
            InputError: a query is in two parts.
            MeasureError: the measures differ.
        """
        first = parts[0]
        if len(parts) == 1:
            return first
        if any(part.measures != first.measures for part in parts):
            raise MeasureError("Scores that are joined must be of the same measures in the same order.")
        query_ids = tuple(query for part in parts for query in part.query_ids)
        if len(set(query_ids)) < len(query_ids):
            twice, _ = Counter(query_ids).most_common(1)[0]
            raise InputError(f"Query {twice!r} is in two parts. Join scores of different queries.")
        arrays: dict[str, Any] = {name: np.concatenate([getattr(part, name) for part in parts]) for name in STATISTICS}
        matched, counts = [part.matched for part in parts], [part.measurable for part in parts]
        return replace(
            first,
            query_ids=query_ids,
            exact=tuple(map(all, zip(*(part.exact for part in parts), strict=True))),
            ties=join_ties([part.ties for part in parts]),
            missing_queries=tuple(query for part in parts for query in part.missing_queries),
            unjudged_queries=tuple(dict.fromkeys(query for part in parts for query in part.unjudged_queries)),
            notes=tuple(dict.fromkeys(note for part in parts for note in part.notes)),
            details=(),
            matched=None if None in matched else sum(filter(None, matched)),
            content=None,
            measurable=tuple(map(sum, zip(*counts, strict=True))) if all(counts) else (),
            **arrays,
        )

    @staticmethod
    def from_dict(
        entry: Mapping[str, object],
        policy: Policy,
        per_query: Sequence[Mapping[str, object]] | pl.DataFrame | None = None,
    ) -> Scores:
        """Rebuild scores from the JSON of results: the same values to the last bit, without details.

        Args:
            entry: entry of one run, as `to_dict` returns it.
            policy: policy of the evaluation.
            per_query: rows as in `to_polars`; those of the entry if None.

        Raises:
            InputError: the values of queries are not there, or not of every query and measure.
            MeasureError: a measure is not known here.
        """
        read: dict[str, Any] = dict(entry)
        rows = read.get("per_query", ()) if per_query is None else per_query
        frame = rows if isinstance(rows, pl.DataFrame) else _frame_of(rows)
        ids, found = frame["query"].unique(maintain_order=True), []
        for name in read["measures"]:
            of_measure = frame.filter(pl.col("measure") == name)
            if not of_measure["query"].equals(ids):  # in another order, or not all of them
                of_measure = ids.to_frame().join(of_measure, on="query", maintain_order="left")
            found.append(of_measure)
        if len(ids) != read["queries"] or any(len(each) != len(ids) for each in found):
            raise InputError(
                f"{read['name']}: the values of its queries are not all there. Write them with --out, or --per-query."
            )
        arrays: dict[str, Any] = {
            statistic: np.stack([each[statistic].to_numpy() for each in found], axis=1) for statistic in STATISTICS
        }
        ties = {**read["ties"], "cut_queries": tuple(read["ties"]["cut_queries"])}
        return Scores(
            read["name"],
            tuple(ids.to_list()),
            tuple(parse(name) for name in read["measures"]),
            exact=tuple(bool(each.get("exact", True)) for each in read["measures"].values()),
            ties=TieSummary(**ties),
            missing_queries=tuple(read["missing_queries"]),
            unjudged_queries=tuple(read["unjudged_queries"]),
            policy=policy,
            notes=tuple(read.get("notes", ())),
            matched=read.get("matched"),
            content=ContentHashes(read["content"]) if "content" in read else None,
            **arrays,
        )

    def to_polars(self) -> pl.DataFrame:
        """One row per query and measure as a polars frame, with five statistics; null if not available."""
        need_polars()
        shape = (len(self.query_ids), len(self.measures))
        columns: dict[str, object] = {
            "query": np.repeat(np.array(self.query_ids, dtype=object), shape[1]).tolist(),
            "measure": [str(measure) for measure in self.measures] * shape[0],
        }
        frame = pl.DataFrame(columns, schema={"query": pl.String, "measure": pl.String})
        return frame.with_columns(pl.Series(name, getattr(self, name).ravel()).fill_nan(None) for name in STATISTICS)

    def to_pandas(self) -> pd.DataFrame:
        """The frame of `to_polars` as a pandas frame.

        Raises:
            MissingExtraError: pandas is not installed.
        """
        from trueval.report.pandas_frames import to_pandas

        return to_pandas(self.to_polars())

    def to_dict(self, *, per_query: bool = False, content: bool = False) -> dict[str, object]:
        """The run's entry in the JSON of results; null if not available.

        Args:
            per_query: whether to include per-query values.
            content: whether to include the known hashes of the evaluated data, and the number of judged documents that
                the run lists.
        """
        entry: dict[str, object] = encode(self.to_means(content=content))
        if per_query:
            entry["per_query"] = self.to_polars().to_dicts()
        return entry

    def to_means(self, *, content: bool = False) -> RunMeans:
        """The means of the run, as results hold them.

        Args:
            content: as in `to_dict`.
        """
        known = self.content if content else None
        return RunMeans(
            self.name,
            len(self.query_ids),
            self.missing_queries,
            self.unjudged_queries,
            RunTies(*self.ties),
            {str(measure): self._means(column) for column, measure in enumerate(self.measures)},
            self.notes,
            None if known is None else known.all,
            NOT_ASKED if known is None else self.matched,
        )

    def _means(self, column: int) -> MeasureMeans:
        mean = self.mean(self.measures[column])
        return MeasureMeans(
            mean.expected,
            mean.lowest,
            mean.highest,
            mean.range,
            mean.tie_broken,
            mean.bias,
            mean.sd,
            mean.queries,
            self.exact[column],
            (self.details and self.details[column]) or None,
        )


def _frame_of(rows: Sequence[Mapping[str, object]]) -> pl.DataFrame:
    """A frame from rows of JSON, built by columns, as polars takes seconds to infer the type of deeply nested rows."""
    texts = {name: [row[name] for row in rows] for name in ("query", "measure")}
    if not all(isinstance(text, str) for column in texts.values() for text in column):
        raise TypeError("query and measure must be texts")
    numbers = {name: np.array([row[name] for row in rows], dtype=np.float64) for name in STATISTICS}
    if any(column.ndim != 1 for column in numbers.values()):
        raise TypeError("the values of a query must be numbers")
    frame = pl.DataFrame(texts, schema=dict.fromkeys(texts, pl.String))
    return frame.with_columns(pl.Series(name, column).fill_nan(None) for name, column in numbers.items())


def results(scores: Sequence[Scores], *, per_query: bool = False, content: bool = False) -> dict[str, object]:
    """The JSON of `trueval evaluate`: kind, format number, version, policy and one entry per run.

    Args:
        scores: scores of the runs.
        per_query: whether to include per-query values.
        content: whether to include the known hashes of the evaluated data.
    """
    found = Evaluation(scores[0].policy.to_dict() if scores else {}, ()).to_dict()
    return {**found, "runs": [one.to_dict(per_query=per_query, content=content) for one in scores]}
