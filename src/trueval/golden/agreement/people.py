"""What people said in an audit: labels of each rater, the design that items were drawn by, orders of neighbors."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
import polars as pl

from trueval.errors import InputError, Place
from trueval.golden.agreement.ratings import KEYS, Design
from trueval.golden.golden_set import LABELS, GoldenSet
from trueval.golden.stages import read_lines
from trueval.standings.standings import Ints

FOLDER: Final = "audit"
ABOUT, PEOPLE, TEXTS = "sample.json", "people.jsonl", "texts.jsonl"
_SCHEMA: Final = {"query_id": pl.String, "doc_id": pl.String, "grade": pl.Float64}


@dataclass(frozen=True, eq=False)
class People:
    """What people said in an audit of a golden set.

    Attributes:
        folder: of the audit.
        design: "queries" or "documents".
        scale: least and greatest grade.
        strata: name → population.
        rows: lines of people.jsonl.
    """

    folder: Path
    design: str
    scale: tuple[float, float]
    strata: Mapping[str, int]
    rows: tuple[Mapping[str, Any], ...]

    @classmethod
    def read(cls, folder: Path) -> People:
        """Read an audit.

        Args:
            folder: GOLDEN/audit.

        Raises:
            InputError: there is none, nobody answered, or it is damaged.
        """
        place = Place(str(folder / ABOUT))
        if not (folder / ABOUT).is_file():
            raise place.error("there is no audit. Make one with trueval golden audit, or name labels with --people.")
        try:
            about = json.loads((folder / ABOUT).read_text(encoding="utf-8"))
            strata = {each["name"]: int(each["population"]) for each in about["strata"]}
            least, greatest = map(float, about["scale"])
            rows = tuple(read_lines(folder / PEOPLE)) if (folder / PEOPLE).is_file() else ()
            for row in rows:
                _check(row, strata, (least, greatest), str(about["design"]))
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise place.error(f"cannot be read ({error}). An audit is a folder of trueval golden audit.") from None
        if not rows:
            raise Place(str(folder / PEOPLE)).error("nobody has answered yet. Open the audit: trueval golden audit.")
        return cls(folder, str(about["design"]), (least, greatest), strata, rows)

    def of_task(self, task: str) -> list[Mapping[str, Any]]:
        """The lines of a task."""
        return [row for row in self.rows if row["task"] == task]

    @property
    def labels(self) -> pl.DataFrame:
        """query_id, doc_id, grade: the one grade that the labels of each passage make."""
        graded = [row for row in self.of_task("grade") if row["grade"] is not None]
        return pl.DataFrame(
            [(row["query"], row["document"], float(row["grade"])) for row in graded], _SCHEMA, orient="row"
        )

    def raters(self) -> dict[str, pl.DataFrame]:
        """Rater → query_id, doc_id, grade."""
        given: dict[str, list[tuple[str, str, float]]] = {}
        for row in self.of_task("grade"):
            for label in row["labels"]:
                given.setdefault(label["rater"], []).append((row["query"], row["document"], float(label["grade"])))
        return {name: pl.DataFrame(rows, _SCHEMA, orient="row") for name, rows in sorted(given.items())}

    def design_of(self, items: pl.DataFrame, queries: Ints) -> Design:
        """How some items were sampled.

        Args:
            items: query_id, doc_id; of each somebody in the audit graded.
            queries: [item] number of its query.
        """
        if self.design == "queries":
            return Design("queries", self.strata, queries)
        number = {name: place for place, name in enumerate(self.strata)}
        of = {(row["query"], row["document"]): number[row["stratum"]] for row in self.of_task("grade")}
        pairs = items.select(KEYS).iter_rows()
        return Design("documents", self.strata, np.array([of[pair] for pair in pairs], dtype=np.int64))

    def lengths(self) -> dict[str, int]:
        """Text hash → its characters, of the texts that were shown; empty where they are not there."""
        try:
            return {row["hash"]: len(row["text"]) for row in read_lines(self.folder / TEXTS)}
        except (OSError, ValueError, KeyError, TypeError):
            return {}

    def orders(self) -> dict[str, Any] | None:
        """What people said of neighbors in the ranked lists; None where the audit did not ask.

        In people.jsonl the upper of two comes first: 1 says that it is the better one, 0 equal, −1 the lower one.
        """
        rows = [row for row in self.of_task("order") if row["grade"] is not None]
        if not rows:
            return None
        return {"queries": len({row["query"] for row in rows}), **shares(row["grade"] for row in rows)}


def shares(said: Iterable[float]) -> dict[str, Any]:
    """How many neighbors people put as the list does, call equal, and put the other way.

    Args:
        said: 1, 0 or −1 of each pair.

    >>> shares([1, 1, 0, -1])
    {'pairs': 4, 'agree': 0.5, 'equal': 0.25, 'disagree': 0.25}
    """
    of = Counter((value > 0) - (value < 0) for value in said)
    pairs = sum(of.values())
    named = {"agree": 1, "equal": 0, "disagree": -1}
    return {"pairs": pairs, **{name: of[value] / pairs if pairs else None for name, value in named.items()}}


def slots_of(golden: GoldenSet) -> list[tuple[str, str, int, float]]:
    """Query, document, slot and grade of every label of the judge that was given beside others.

    Args:
        golden: whose labels.jsonl has them.
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


def _check(row: Mapping[str, Any], strata: Mapping[str, int], scale: tuple[float, float], design: str) -> None:
    if row["task"] != "grade":
        return
    grades = [label["grade"] for label in row["labels"]] + [row["grade"]]
    outside = [each for each in grades if each is not None and not scale[0] <= float(each) <= scale[1]]
    if outside:
        raise InputError(
            f"{LABELS}: the grade {outside[0]} of {row['document']!r} is outside the scale {scale[0]:g} to {scale[1]:g}"
        )
    if design == "documents" and row["stratum"] not in strata:
        raise InputError(f"the stratum {row['stratum']!r} is none of the sample's")
