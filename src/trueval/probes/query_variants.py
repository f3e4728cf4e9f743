"""Query variants: the distinct texts of queries under many conditions, searched as one query set.

Every distinct text is embedded and searched once, whichever conditions produce it. A condition under which no query
finds anything is one among many here, whereas a separate search for it would be refused.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Final, NamedTuple

import numpy as np
import polars as pl

from trueval.collection import Collection
from trueval.retrieval.pipeline.config import BOTH, HIGH, STAGES, Settings, set_scoring
from trueval.retrieval.pipeline.pipeline import stages_of
from trueval.retrieval.pipeline.stage_resources import Begin, StageResources
from trueval.retrieval.pipeline.stage_runner import StageRunner
from trueval.run import Run
from trueval.standings.groups import starts_of
from trueval.standings.standings import Floats

AS_IT_IS: Final = ""


def name_texts(conditions: Sequence[str], query_ids: Sequence[str], texts: Sequence[Sequence[str]]) -> dict[str, str]:
    """Distinct text → query id: the query and the first condition that gives this text.

    A pipeline's remarks contain these ids, so they are readable; an id that exists already gets a suffix.

    Args:
        conditions: [condition] descriptions; "" for the unchanged queries.
        texts: [condition][query] texts.

    >>> name_texts(["", "noise 4"], ["q", "r"], [["ice", "snow"], ["hi, ice", "snow"]])
    {'ice': 'q', 'snow': 'r', 'hi, ice': 'q (noise 4)'}
    """
    found: dict[str, str] = {}
    taken: set[str] = set()
    for condition, row in zip(conditions, texts, strict=True):
        for query, text in zip(query_ids, row, strict=True):
            if text not in found:
                name = query if condition == AS_IT_IS else f"{query} ({condition})"
                while name in taken:
                    name += "'"
                taken.add(name)
                found[text] = name
    return found


class SearchedTexts(NamedTuple):
    """Results of the distinct texts.

    Attributes:
        names: text → id under which it was searched.
        first: run of the first stage.
        run: the run of the last stage.
        vectors: [text, dimension] vectors of the texts, in the order of `names`; None without an embedder.
        notes: remarks from the pipeline.
    """

    names: Mapping[str, str]
    first: Run
    first_name: str
    run: Run
    vectors: Floats | None
    notes: tuple[str, ...]

    def run_of(self, query_ids: Iterable[str], texts: Sequence[str]) -> Run:
        """The run of queries under one condition.

        Args:
            texts: [query] texts under the condition.
        """
        return self._of(self.run, query_ids, texts)

    def first_of(self, query_ids: Iterable[str], texts: Sequence[str]) -> Run:
        """The first-stage run of queries under one condition; otherwise as `run_of`."""
        return self._of(self.first, query_ids, texts)

    def _of(self, run: Run, query_ids: Iterable[str], texts: Sequence[str]) -> Run:
        asked = pl.DataFrame({"query": list(query_ids), "query_id": [self.names[text] for text in texts]})
        rows = asked.join(run.frame, on="query_id", how="inner", maintain_order="left_right")
        # Not Run.from_frame, which refuses an empty run, and some texts find nothing.
        sizes = rows.group_by("query", maintain_order=True).len()
        offsets = starts_of(sizes["len"].cast(pl.Int64).to_numpy())
        return Run(rows.select("doc_id", "score"), sizes["query"].rename("query_id"), offsets, run.name, run.source)

    def vectors_of(self, texts: Sequence[str]) -> Floats | None:
        """[query, dimension] vectors of some texts; None without an embedder."""
        if self.vectors is None:
            return None
        place = {text: at for at, text in enumerate(self.names)}
        return self.vectors[[place[text] for text in texts]]

    def cosines(self, texts: Sequence[Sequence[str]]) -> Floats | None:
        """[condition, query] cosine of each text with that of the first row.

        Args:
            texts: [condition][query] texts.
        """
        if self.vectors is None:
            return None
        place = {text: at for at, text in enumerate(self.names)}
        norms = np.linalg.norm(self.vectors, axis=1, keepdims=True)
        unit = self.vectors / np.where(norms > 0, norms, 1)
        rows = np.array([[place[text] for text in row] for row in texts])
        # For equal vectors the sum may differ from 1 by rounding, but the drop is 0.
        found = np.minimum(np.einsum("cqd,qd->cq", unit[rows], unit[rows[0]]), 1.0)
        return np.where(rows == rows[0], 1.0, found)


def search(
    settings: Settings, collection: Collection, names: Mapping[str, str], shared: StageResources, begin: Begin
) -> SearchedTexts:
    """Search texts with a pipeline.

    Args:
        names: text → id, from `name_texts`.

    Raises:
        InputError: as in Pipeline.retrieve; no text finds anything.
    """
    work = work_of(settings, collection, names, shared, begin)
    (stages,) = stages_of([work])
    vectors = work.query_vectors(begin("queries")).astype(np.float64) if "embed" in settings else None
    notes = tuple(dict.fromkeys(note for stage in stages for note in stage.notes))
    return SearchedTexts(names, stages[0].run, stages[0].name, stages[-1].run, vectors, notes)


def work_of(
    settings: Settings, collection: Collection, names: Mapping[str, str], shared: StageResources, begin: Begin
) -> StageRunner:
    """A pipeline's work with texts as queries; otherwise as `search`."""
    asked = replace(collection, queries={name: text for text, name in names.items()}, judgments=None)
    scoring = settings.get("pipeline", {}).get("scoring", STAGES)
    return StageRunner(asked, set_scoring(settings, HIGH if scoring == BOTH else scoring), shared, begin)
