"""Batches of an audit whose passages are drawn one by one, each with its own chance given what earlier batches told.

Source: docs/design/audit.md, design `poisson`; poisson_design.py has its estimator.
"""

from __future__ import annotations

import dataclasses
from typing import Final, NamedTuple

import numpy as np
import polars as pl

from trueval.errors import Place
from trueval.judgments import Judgments
from trueval.standings.standings import Floats

KEYS: Final = ("query_id", "doc_id")
ALL_PASSAGES: Final = "passages"  # the only stratum of the design `poisson`

_ANSWERED: Final = dict.fromkeys(KEYS, pl.String)


class AuditBatches(NamedTuple):
    """How the passages of an audit of the design `poisson` were drawn.

    Attributes:
        chances: query_id, doc_id, chance, batch of every passage of the sample; batches count from 1.
        precision: [batch] planned weight of each batch in an estimate, fixed before the first label.
        members: query_id, doc_id of the passages that have a chance in every batch until they are drawn.
        drawn: number of batches drawn so far; one may be empty.
    """

    chances: pl.DataFrame
    precision: tuple[float, ...]
    members: pl.DataFrame
    drawn: int

    def check(self, place: Place) -> None:
        """Refuse chances from which nothing can be estimated.

        Raises:
            InputError: a chance is not above 0 and at most 1, a batch was not drawn, its weight is not above 0, or an
                item could not be drawn.
        """
        wrong = self.chances.filter(~((pl.col("chance") > 0) & (pl.col("chance") <= 1)))
        if len(wrong):
            query, document, chance = wrong.select(*KEYS, "chance").row(0)
            raise place.error(
                f"document {document!r} of query {query!r} was drawn with the chance {chance}. It must be above 0 and "
                "at most 1. Put the files back as they were drawn."
            )
        odd = self.chances["batch"].filter(~self.chances["batch"].is_between(1, self.drawn))
        if len(odd) or self.drawn > len(self.precision):
            raise place.error(
                f"batch {odd[0] if len(odd) else self.drawn} is not one of those that were drawn. Put the files back "
                "as they were drawn."
            )
        if not all(0 < each < np.inf for each in self.precision):
            raise place.error("the precision of a batch must be above 0. Put the files back as they were drawn.")
        strange = self.chances.join(self.members, on=list(KEYS), how="anti")
        if len(strange):
            query, document = strange.select(KEYS).row(0)
            raise place.error(
                f"document {document!r} of query {query!r} was drawn and is not in the population. Put the files back "
                "as they were drawn."
            )

    def open_ones(self, labels: pl.DataFrame, skipped: frozenset[tuple[str, str]]) -> pl.DataFrame:
        """The passages of the sample that nobody has answered, as `chances`.

        Args:
            labels: query_id, doc_id of the graded passages.
            skipped: query and document of passages that people saw but did not grade.
        """
        left = pl.DataFrame(sorted(skipped), schema=_ANSWERED, orient="row")
        answered = pl.concat([labels.select(KEYS), left])
        return self.chances.join(answered, on=list(KEYS), how="anti", maintain_order="left")

    def whole_batches(self, labels: pl.DataFrame, skipped: frozenset[tuple[str, str]]) -> int:
        """Number of first batches that are answered as a whole: only these count, as people may answer in any order."""
        left = self.open_ones(labels, skipped)["batch"].to_list()
        return min(left) - 1 if left else self.drawn

    def until(self, batch: int) -> AuditBatches:
        """The first batches."""
        return self._replace(chances=self.chances.filter(pl.col("batch") <= batch), drawn=min(batch, self.drawn))

    def shares(self, batches: int) -> Floats:
        """[batch] share of each of the first batches in an estimate; they sum to 1.

        Args:
            batches: number of batches.
        """
        weights = np.array(self.precision[:batches])
        return np.asarray(weights / weights.sum())

    def extend(self, judgments: Judgments) -> Judgments:
        """The judgments with every member in them: those that the judge did not grade have the grade -1, unjudged.

        Args:
            judgments: judgments of the judge.
        """
        return add_unjudged(judgments, self.members)


def add_unjudged(judgments: Judgments, passages: pl.DataFrame) -> Judgments:
    """The judgments with rows of the grade -1 for passages that are not in them; other queries are left out.

    Args:
        judgments: judgments of the judge.
        passages: query_id, doc_id of passages.

    >>> more = pl.DataFrame({"query_id": ["q", "q", "r"], "doc_id": ["a", "b", "a"]})
    >>> add_unjudged(Judgments.from_dict({"q": {"a": 1}}), more).frame.rows()
    [('q', 'a', 1.0), ('q', 'b', -1.0)]
    """
    frame = judgments.frame
    added = passages.select(KEYS).join(frame, on=list(KEYS), how="anti").unique(maintain_order=True)
    places = pl.DataFrame({"query_id": judgments.query_ids, "place": np.arange(len(judgments.query_ids))})
    added = added.join(places, on="query_id", how="inner", maintain_order="left")
    if not len(added):
        return judgments
    owner = np.repeat(np.arange(len(judgments.query_ids)), np.diff(judgments.offsets))
    rows = frame.select(*KEYS, "grade").with_columns(place=pl.Series(owner))
    both = pl.concat([rows, added.select(*KEYS, pl.lit(-1.0).alias("grade"), "place")])
    order = both["place"].arg_sort()
    counts = np.bincount(both["place"].to_numpy(), minlength=len(judgments.query_ids))
    return dataclasses.replace(
        judgments,
        frame=both[order].select(*KEYS, "grade"),
        offsets=np.concatenate(([0], np.cumsum(counts))).astype(np.int64),
        source_codes=None,
    )
