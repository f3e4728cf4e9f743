"""The population of an audit: every passage that the judge graded, with its stratum.

Only these can be drawn. A passage that the judge did not grade has no grade to correct: measures treat it like any
other unjudged document, with people's grades as with the judge's, so a correction does not concern it and its stratum
does not count it. An audit estimates the measure that the same judged passages would give if people had graded them.

`population.jsonl` stores them, so that a larger sample can later be drawn from the same population.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from trueval.errors import InputError, Place
from trueval.golden.audit.sampling.influence import influence
from trueval.golden.audit.sampling.strata import JudgedPassage, assign_strata, shares
from trueval.golden.build.stage_files import lines_of, read_lines

if TYPE_CHECKING:
    from trueval.judgments import Judgments
    from trueval.measures import Measure
    from trueval.run import Run

POPULATION: Final = "population.jsonl"
DESIGNS: Final = ("documents", "queries")
ALL_QUERIES: Final = "queries"  # the only stratum of the design `queries`


class JudgedMember(NamedTuple):
    """A judged passage of the population.

    Attributes:
        query: query id.
        document: document id.
        stratum: name of its stratum.
    """

    query: str
    document: str
    stratum: str


class Population(NamedTuple):
    """All passages that can be sampled.

    Attributes:
        design: "documents" or "queries".
        members: members in the order of the judgments.
        share: stratum → its share of a sample; 1 for the design `queries`.
    """

    design: str
    members: tuple[JudgedMember, ...]
    share: Mapping[str, float]

    @property
    def sizes(self) -> dict[str, int]:
        """Stratum → number of passages; for the design `queries`, number of queries."""
        if self.design == "queries":
            return {ALL_QUERIES: len({each.query for each in self.members})}
        return dict(Counter(each.stratum for each in self.members))

    def write(self, folder: Path) -> None:
        """Write population.jsonl into a folder."""
        lines_of(each._asdict() for each in self.members)(folder / POPULATION)


def read_population(folder: Path, design: str, share: Mapping[str, float]) -> Population:
    """Read the population of an audit.

    Args:
        share: stratum → its share of a sample.

    Raises:
        InputError: the file is missing or damaged.
    """
    try:
        return Population(design, tuple(JudgedMember(**row) for row in read_lines(folder / POPULATION)), share)
    except (OSError, ValueError, TypeError) as error:
        raise Place(str(folder / POPULATION)).error(f"cannot be read ({error}). Put the file back as it was.") from None


def population_of(
    judgments: Judgments,
    design: str,
    size: int,
    *,
    labels: Sequence[Mapping[str, object]] = (),
    runs: Sequence[Run] = (),
    measure: Measure | None = None,
) -> Population:
    """Build the population: every judged passage with its stratum.

    Args:
        judgments: grades of the judge; a grade below 0 means unjudged.
        design: "documents" or "queries".
        size: size of the first sample; a smaller one has fewer strata.
        labels: rows of labels.jsonl, whose labels of a passage may disagree.
        runs: runs whose measures are to be corrected.
        measure: measure to be corrected; required with runs.

    Raises:
        InputError: nothing is judged, or a document is judged more than once for a query.
    """
    frame = judgments.frame
    if "facet" in frame.columns:
        raise InputError(
            f"{judgments.source}: an audit needs one grade of a passage, not one for each facet. Remove the facets."
        )
    weights = influence(judgments, runs, measure).tolist() if runs and measure else [None] * frame.height
    disputes = _disputes(labels)
    passages = [
        JudgedPassage(
            query, document, grade, None if disputes is None else disputes.get((query, document), False), weight
        )
        for (query, document, grade), weight in zip(
            frame.select("query_id", "doc_id", "grade").iter_rows(), weights, strict=True
        )
        if grade >= 0
    ]
    if not passages:
        raise InputError(
            f"{judgments.source}: no passage is judged, so there is nothing to audit. Name other judgments."
        )
    if design == "queries":
        members = tuple(JudgedMember(each.query, each.document, ALL_QUERIES) for each in passages)
        return Population(design, members, {ALL_QUERIES: 1.0})
    strata = assign_strata(passages, size)
    members = tuple(JudgedMember(each.query, each.document, name) for each, name in zip(passages, strata, strict=True))
    return Population(design, members, shares(passages, strata))


def _disputes(labels: Sequence[Mapping[str, Any]]) -> dict[tuple[str, str], bool] | None:
    """Whether the judge's labels of each passage disagree; None if no passage has two labels."""
    given = {
        (each["query"], each["document"]): [label["grade"] for label in each["labels"] if label["grade"] is not None]
        for each in labels
    }
    if all(len(grades) < 2 for grades in given.values()):
        return None
    return {pair: len(set(grades)) > 1 for pair, grades in given.items()}
