"""Ratings: labels of several raters on the same items as one matrix; a missing label is NaN."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import polars as pl

from trueval.golden.validation.agreement_intervals import Resampler, ValueWithInterval, unknown
from trueval.golden.validation.coefficients import of_coincidences, of_tables
from trueval.standings.standings import Bools, Floats, Ints

KEYS = ["query_id", "doc_id"]


class SampleDesign(NamedTuple):
    """The sampling design that weights items up to the population.

    Attributes:
        name: "queries" or "documents".
        population: stratum → number of its items; for samples of whole queries {"queries": number of queries}.
        stratum: [item] index of its stratum in `population`; for samples of whole queries, of its query.
    """

    name: str
    population: Mapping[str, int]
    stratum: Ints

    def weights(self, answered: Bools) -> Floats:
        """[item] design weight: population of its stratum / answered items in it; 0 if not answered.

        For samples of whole queries: all queries / queries with an answer.

        Args:
            answered: [item] whether it has the labels in question.
        """
        if self.name == "queries":
            queries = len(np.unique(self.stratum[answered]))
            return np.where(answered, sum(self.population.values()) / max(queries, 1), 0.0)
        sizes = np.array(list(self.population.values()), dtype=np.float64)
        counts = np.bincount(self.stratum[answered], minlength=len(sizes))
        each = np.divide(sizes, counts, out=np.zeros(len(sizes)), where=counts > 0)
        return np.where(answered, each[self.stratum], 0.0)

    def coverage(self, answered: Bools) -> float:
        """Share of the population in strata with at least one answer; the rest cannot be estimated."""
        if self.name == "queries":
            return 1.0 if answered.any() else 0.0
        sizes = np.array(list(self.population.values()), dtype=np.float64)
        return float(sizes[np.unique(self.stratum[answered])].sum() / max(sizes.sum(), 1))


@dataclass(frozen=True, eq=False)
class Ratings:
    """Labels of several raters.

    Attributes:
        items: columns query_id and doc_id of each item.
        queries: [item] index of its query.
        labels: [item, rater] grades; NaN for none.
        grades: [grade] the scale, ascending.
        design: sampling design of the items; None if they are the whole population.
    """

    raters: tuple[str, ...]
    items: pl.DataFrame
    queries: Ints
    labels: Floats
    grades: Floats
    design: SampleDesign | None = None

    @classmethod
    def of(cls, labels: Mapping[str, pl.DataFrame], scale: tuple[float, float]) -> Ratings:
        """Align labels on the same items.

        Args:
            labels: rater → columns query_id, doc_id, grade; each item once.
            scale: lowest and highest grade; the integers between them are on it too.
        """
        items = pl.concat([frame.select(KEYS) for frame in labels.values()]).unique(maintain_order=True)
        columns = [
            items.join(frame, on=KEYS, how="left", maintain_order="left")["grade"].cast(pl.Float64).to_numpy()
            for frame in labels.values()
        ]
        matrix = np.column_stack(columns)
        given = np.unique(matrix[np.isfinite(matrix)])
        grades = np.union1d(given, np.arange(np.ceil(scale[0]), np.floor(scale[1]) + 1))
        return cls(tuple(labels), items, _codes(items["query_id"]), matrix, grades)

    def place(self, rater: str) -> int:
        """The column of a rater."""
        return self.raters.index(rater)

    def both(self, first: int, second: int) -> Bools:
        """[item] whether both raters labelled it."""
        found: Bools = np.isfinite(self.labels[:, first]) & np.isfinite(self.labels[:, second])
        return found

    def weights(self, answered: Bools) -> Floats:
        """[item] weight: the design weight, or 1 without a design; 0 where not answered."""
        return answered.astype(np.float64) if self.design is None else self.design.weights(answered)

    def table(self, first: int, second: int, weights: Floats) -> Floats:
        """[query, first, second] weight of each pair of grades by two raters.

        Args:
            weights: [item] weight; 0 for items that do not count.
        """
        count, some = len(self.grades), np.flatnonzero(weights)
        out = np.zeros((int(self.queries.max(initial=-1)) + 1, count, count))
        one, other = (np.searchsorted(self.grades, self.labels[some, each]) for each in (first, second))
        np.add.at(out, (self.queries[some], one, other), weights[some])
        return out

    def coincidences(self, raters: list[int], weights: Floats) -> Floats:
        """[query, grade, grade] pairs of labels of one item, each weighted by 1 / (its labels − 1).

        Args:
            weights: [item] weight; items with fewer than two labels count nothing.
        """
        labels, count = self.labels[:, raters], len(self.grades)
        out = np.zeros((int(self.queries.max(initial=-1)) + 1, count, count))
        given = np.isfinite(labels)
        some = np.flatnonzero((given.sum(axis=1) > 1) & (weights > 0))
        for item in some.tolist():
            mine = np.searchsorted(self.grades, labels[item, given[item]])
            each = np.bincount(mine, minlength=count).astype(np.float64)
            pairs = np.outer(each, each) - np.diag(each)
            out[self.queries[item]] += weights[item] * pairs / (len(mine) - 1)
        return out

    def coefficients(self, first: int, second: int, weights: Floats, draw: Resampler) -> dict[str, ValueWithInterval]:
        """All coefficients of two raters, with intervals over queries.

        Args:
            weights: [item] weight; 0 for items that do not count.
        """
        items = int((weights > 0).sum())
        why = _why_not(items, self.labels[weights > 0][:, [first, second]])
        if why:
            return unknown(of_tables(np.zeros((1, 1)), np.zeros(1)), why)
        return draw.values(self.table(first, second, weights), lambda tables: of_tables(tables, self.grades))

    def together(self, raters: list[int], weights: Floats, draw: Resampler) -> dict[str, ValueWithInterval]:
        """Krippendorff's α of any number of raters, with intervals over queries.

        Args:
            weights: [item] weight.
        """
        given = (np.isfinite(self.labels[:, raters]).sum(axis=1) > 1) & (weights > 0)
        why = _why_not(int(given.sum()), self.labels[given][:, raters])
        if why:
            return unknown(of_coincidences(np.zeros((1, 1)), np.zeros(1)), why)
        found = self.coincidences(raters, weights)
        return draw.values(found, lambda each: of_coincidences(each, self.grades))


def _why_not(items: int, labels: Floats) -> str:
    """The reason why no agreement can be computed; empty where it can."""
    if items == 0:
        return "no item has labels of both"
    if items == 1:
        return "one item only"
    if len(np.unique(labels[np.isfinite(labels)])) == 1:
        return "all labels are one grade, so agreement by chance is certain"
    return ""


def _codes(ids: pl.Series) -> Ints:
    """[item] integer codes of values in order of first appearance."""
    known = {each: number for number, each in enumerate(ids.unique(maintain_order=True).to_list())}
    return np.array([known[each] for each in ids.to_list()], dtype=np.int64)
