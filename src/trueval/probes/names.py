"""Names: does a scorer tell a proper name from another one (P-B §4, docs/probes.md)?

Δname  = s(Q, C1) − max(s(Q, C2a), s(Q, C2b))      right author against impostors, same work
Δtopic = s(Q, C1) − s(Q, C3)                       right work against another one, same author
Δboth  = s(Q, C1) − s(Q, C4)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np

from trueval.errors import PolicyError
from trueval.probes.ablations import BASE, find_ablations
from trueval.probes.authors import Authors
from trueval.probes.scorer import PairScorer, ScorerPairs
from trueval.probes.stimuli import CANDIDATES, build_stimuli, draw_works
from trueval.standings.standings import Floats, Ints

MARGINS: Final = ("name", "topic", "both")
QUERIES: Final = 100
RUNS: Final = 15


@dataclass(frozen=True, eq=False)
class NamesDesign:
    """The design of a names probe: all distinct texts of all conditions and runs.

    Attributes:
        conditions: "base" and the ablations.
        pairs: pairs in the order [condition, run, query, candidate]; a set is one run under one condition.
        authors: [query] index of the author; queries about one author share texts.
    """

    language: str
    source: str
    conditions: tuple[str, ...]
    queries: int
    runs: int
    seed: int
    pairs: ScorerPairs
    authors: Ints

    @property
    def shape(self) -> tuple[int, int, int, int]:
        """Shape of the scores: conditions, runs, queries, candidates."""
        return (len(self.conditions), self.runs, self.queries, len(CANDIDATES))

    @property
    def texts(self) -> int:
        """Number of distinct texts; queries and candidates count separately even if equal."""
        return len(self.pairs.queries) + len(self.pairs.candidates)


class Margins(NamedTuple):
    """The margins of one condition.

    Attributes:
        values: [run, query, 3] Δname, Δtopic, Δboth.
        grain: [run, query] largest change of Δname that rounding alone can cause.
    """

    values: Floats
    grain: Floats


@dataclass(frozen=True, eq=False)
class NamesProbe:
    """The margins of one scorer.

    Attributes:
        texts: number of distinct texts scored.
        margins: condition → margins.
        authors: [query] index of the author.
    """

    scorer: str
    unit: str
    language: str
    source: str
    queries: int
    runs: int
    seed: int
    texts: int
    margins: Mapping[str, Margins]
    authors: Ints


def design_names(
    people: Authors,
    *,
    language: str = "en",
    queries: int = QUERIES,
    runs: int = RUNS,
    seed: int = 0,
    ablations: Sequence[str] | None = None,
) -> NamesDesign:
    """Generate all texts of a probe, the same for every scorer.

    Args:
        language: language of the templates, "en" or "fr".
        queries: number of rows to sample; all rows if the table has no more.
        runs: number of runs, each with its own impostors, other work and templates.
        ablations: names in ABLATIONS; None for all.

    Raises:
        PolicyError: an unknown ablation or language, fewer than 2 queries or 1 run.
    """
    if runs < 1:
        raise PolicyError(f"runs must be an integer >= 1. Got {runs!r}.")
    chosen = find_ablations(ablations)
    drawn = [build_stimuli(people, language, queries, run, seed) for run in range(runs)]
    found: list[tuple[str, str]] = []
    for change in (None, *chosen):
        for each in (bundle for run in drawn for bundle in run):
            query, candidates = (each if change is None else change.apply(each)).texts()
            found += [(query, candidate) for candidate in candidates]
    count = len(drawn[0])
    sets = np.repeat(np.arange((1 + len(chosen)) * runs), count * len(CANDIDATES))
    names = [people.works[row].author.text for row in draw_works(people, queries, seed)]
    return NamesDesign(
        language,
        people.source,
        (BASE, *(each.name for each in chosen)),
        count,
        runs,
        seed,
        ScorerPairs.of(found, sets.tolist(), (sets < runs).tolist()),
        np.unique(names, return_inverse=True)[1].ravel(),
    )


def probe_scorer(scorer: PairScorer, design: NamesDesign) -> NamesProbe:
    """Measure how well a scorer separates names."""
    found = scorer.score(design.pairs)
    scores, grain = found.values.reshape(design.shape), found.grain.reshape(design.shape)
    margins = {name: margins_of(scores[at], grain[at]) for at, name in enumerate(design.conditions)}
    return NamesProbe(
        scorer.name,
        scorer.unit,
        design.language,
        design.source,
        design.queries,
        design.runs,
        design.seed,
        design.texts,
        margins,
        design.authors,
    )


def margins_of(scores: Floats, grain: Floats) -> Margins:
    """The margins of scored stimuli.

    Args:
        scores: [..., 5] scores of C1, C2a, C2b, C3 and C4.
        grain: [..., 5] rounding bound of each score.

    >>> margins_of(np.array([[0.9, 0.5, 0.7, 0.25, 0.0]]), np.zeros((1, 5))).values.round(2).tolist()
    [[0.2, 0.65, 0.9]]
    """
    impostor = scores[..., 1:3].argmax(axis=-1)[..., None] + 1
    others = [np.take_along_axis(scores, impostor, axis=-1)[..., 0], scores[..., 3], scores[..., 4]]
    values = np.stack([scores[..., 0] - other for other in others], axis=-1)
    return Margins(values, grain[..., 0] + np.take_along_axis(grain, impostor, axis=-1)[..., 0])
