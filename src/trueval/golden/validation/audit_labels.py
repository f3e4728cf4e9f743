"""People's labels in an audit: grades of each rater, the sample design, and orders of neighbors."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import astuple, dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
import polars as pl

from trueval.comparison.labels.audit_sample import PEOPLE, SAMPLE, TASK, AuditSample
from trueval.errors import Place
from trueval.golden.build.golden_set import GoldenSet
from trueval.golden.build.stage_files import read_lines
from trueval.golden.validation.agreement_intervals import Resampler
from trueval.golden.validation.agreement_result import AnswerRating, NeighborOrder
from trueval.golden.validation.rater_bias import RaterDifferences
from trueval.golden.validation.ratings import KEYS, SampleDesign
from trueval.standings.standings import Ints

FOLDER: Final = "audit"
TEXTS: Final = "texts.jsonl"  # hash and text of the shown passage
_SCHEMA: Final = {"query_id": pl.String, "doc_id": pl.String, "grade": pl.Float64}


@dataclass(frozen=True, eq=False)
class PeopleLabels:
    """People's labels in an audit of a golden set.

    Attributes:
        audited: aggregated grades of each passage, with the sampling design.
        rows: rows of people.jsonl, including those of other tasks.
    """

    folder: Path
    audited: AuditSample
    rows: tuple[Mapping[str, Any], ...]

    @classmethod
    def read(cls, folder: Path) -> PeopleLabels:
        """Read an audit.

        Raises:
            InputError: there is no audit, it has no answers, or it is damaged; with the line.
        """
        if not (folder / SAMPLE).is_file():
            raise Place(str(folder / SAMPLE)).error(
                "there is no audit. Make one with trueval golden audit, or name labels with --people."
            )
        audited, place = AuditSample.read(folder), Place(str(folder / PEOPLE))
        if audited.batches is not None:
            raise Place(str(folder / SAMPLE)).error(
                "drawn for a decision, so its passages stand for different numbers of others, and agreement cannot be "
                "computed from them. Draw an audit of its own with trueval golden audit --out."
            )
        try:
            rows = tuple(read_lines(folder / PEOPLE)) if (folder / PEOPLE).is_file() else ()
            _check(rows, audited.scale)
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise place.error(f"cannot be read ({error}). An audit is a folder of trueval golden audit.") from None
        if not rows or audited.labels.is_empty():
            raise place.error("nobody has graded a passage yet. Open the audit: trueval golden audit.")
        return cls(folder, audited, rows)

    def raters(self) -> dict[str, pl.DataFrame]:
        """Rater → query_id, doc_id, grade."""
        given: dict[str, list[tuple[str, str, float]]] = {}
        for row in self.rows:
            for label in row["labels"] if row["task"] == TASK else ():
                given.setdefault(label["rater"], []).append((row["query"], row["document"], float(label["grade"])))
        return {name: pl.DataFrame(rows, _SCHEMA, orient="row") for name, rows in sorted(given.items())}

    def design_of(self, items: pl.DataFrame, queries: Ints) -> SampleDesign:
        """The sample design of some items.

        Args:
            items: columns query_id and doc_id; all are in the sample.
            queries: [item] index of its query.
        """
        population = self.audited.population
        if self.audited.design == "queries":
            return SampleDesign("queries", population, queries)
        number = {name: place for place, name in enumerate(population)}
        strata = items.join(self.audited.items, on=KEYS, how="left", maintain_order="left")["stratum"]
        return SampleDesign(
            "documents", population, np.array([number[name] for name in strata.to_list()], dtype=np.int64)
        )

    def lengths(self) -> dict[str, int]:
        """Text hash → length in characters of the shown texts; empty where unavailable."""
        try:
            return {row["hash"]: len(row["text"]) for row in read_lines(self.folder / TEXTS)}
        except (OSError, ValueError, KeyError, TypeError):
            return {}

    def orders(self) -> NeighborOrder | None:
        """People's orders of neighbors in the ranked lists; None where the audit did not ask for them.

        In people.jsonl the upper neighbor comes first: 1 means that it is better, 0 equal, −1 that the lower one is.
        """
        rows = [row for row in self.rows if row["task"] == "order" and row["grade"] is not None]
        if not rows:
            return None
        return order_of(len({row["query"] for row in rows}), (row["grade"] for row in rows))

    def answers(self, draw: Resampler) -> tuple[AnswerRating, ...]:
        """People's ratings of each system's answers, highest mean first; empty where the audit did not ask for them."""
        rows = [row for row in self.rows if row["task"] == "answer" and row["grade"] is not None]
        number = {query: at for at, query in enumerate(dict.fromkeys(row["query"] for row in rows))}
        found = []
        for system in dict.fromkeys(row["system"] for row in rows):
            own = [row for row in rows if row["system"] == system]
            grades = np.array([row["grade"] for row in own], dtype=np.float64)
            queries = np.array([number[row["query"]] for row in own], dtype=np.int64)
            mean = RaterDifferences(grades, queries, np.ones(len(own))).mean(draw)
            found.append(AnswerRating(system, len(own), *astuple(mean)))
        return tuple(sorted(found, key=lambda each: (-(each.value or 0.0), each.system)))


def order_of(queries: int, said: Iterable[float]) -> NeighborOrder:
    """How people order neighbors in ranked lists.

    Args:
        queries: number of queries.
        said: of each pair 1 where people order it as the list does, 0 where they call it equal, −1 otherwise.

    >>> order_of(2, [1, 1, 0, -1])
    NeighborOrder(queries=2, pairs=4, agree=0.5, equal=0.25, disagree=0.25)
    """
    of = Counter((value > 0) - (value < 0) for value in said)
    pairs = sum(of.values())
    return NeighborOrder(queries, pairs, *(of[value] / pairs if pairs else None for value in (1, 0, -1)))


def slots_of(golden: GoldenSet) -> list[tuple[str, str, int, float]]:
    """Query, document, slot and grade of every judge label from a call with several passages.

    Args:
        golden: golden set with labels.jsonl.
    """
    return [
        (row["query"], row["document"], int(label["slot"]), float(label["grade"]))
        for row in golden.labels
        for label in row["labels"]
        if label["grade"] is not None and label["slots"] > 1
    ]


def texts_of(golden: GoldenSet) -> dict[tuple[str, str], str]:
    """Query and document → hash of the text."""
    return {(row["query"], row["document"]): row["text"] for row in golden.labels}


def _check(rows: Sequence[Mapping[str, Any]], scale: tuple[float, float]) -> None:
    """Refuse a rater's label that is off the scale: `AuditSample` checks only the aggregate."""
    for row in rows:
        for label in row["labels"] if row["task"] == TASK else ():
            if not scale[0] <= float(label["grade"]) <= scale[1]:
                raise ValueError(
                    f"a grade of {label['rater']} is {label['grade']}, outside {scale[0]:g} to {scale[1]:g}"
                )
