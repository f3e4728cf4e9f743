"""Inputs of a sweep: the collection, the sampled queries with their rewrites, and judgments."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from trueval.collection import Collection, Tell
from trueval.comparison.resampling.resampled_sums import sample
from trueval.errors import Place
from trueval.evaluation.content_hashes import judgments_hash
from trueval.evaluation.notes import OF_SWEEPS, note_low_thresholds
from trueval.golden.build.anchoring import find_changes
from trueval.golden.build.golden_set import ABOUT, GoldenSet
from trueval.judgments import Judgments
from trueval.report.provenance import strip_folders
from trueval.retrieval.pipeline.lost_terms import describe_losses
from trueval.retrieval.pipeline.rewriting import (
    MODEL_FORMS,
    SHOWN,
    forms_of,
    is_written_before,
    name_form,
    rewritten,
)
from trueval.tradeoff.config.plan import SweepPlan
from trueval.tradeoff.quality.quality_settings import QualitySettings


class SweepInputs(NamedTuple):
    """Inputs that all systems of a sweep share.

    Attributes:
        collections: rewriting → documents with the rewritten queries.
        judgments: judgments of these queries, with mapped grades.
        about: name, source and counts, for results.
        notes: one-line remarks.
        texts: original texts of the queries, which people and judges read.
    """

    collections: Mapping[str, Collection]
    judgments: Judgments
    about: Mapping[str, Any]
    notes: tuple[str, ...]
    texts: Mapping[str, str]

    @property
    def query_ids(self) -> list[str]:
        """Ids of the queries, in collection order."""
        return list(next(iter(self.collections.values())).queries)

    @property
    def with_original_queries(self) -> Collection:
        """The documents with the original, unrewritten queries."""
        return replace(next(iter(self.collections.values())), queries=self.texts)

    def judged_by(self, judgments: Judgments) -> SweepInputs:
        """The inputs with other judgments."""
        about = {**self.about, "judged": judgments.frame.height, "sha256": {"judgments": judgments_hash(judgments)}}
        collections = {name: replace(each, judgments=judgments) for name, each in self.collections.items()}
        return self._replace(collections=collections, judgments=judgments, about=about)

    @property
    def documents(self) -> int:
        """Number of documents."""
        return len(next(iter(self.collections.values())).documents)


def read_inputs(plan: SweepPlan, tell: Tell = None) -> SweepInputs:
    """Read and check the inputs of a plan, before any work.

    Args:
        plan: plan of the sweep.
        tell: called occasionally with the number of documents read.

    Raises:
        InputError: a file is invalid, no query is judged, or a query has no text in the file of a rewriting.
    """
    measuring = plan.measuring
    collection = Collection.read(
        plan.collection, fields=plan.fields, queries=plan.queries, qrels=measuring.judgments, tell=tell
    )
    judgments = _map_grades(collection, measuring)
    judged = set(judgments.query_ids.to_list())
    ids = [query for query in collection.queries if query in judged]
    if not ids:
        raise Place(collection.source).error(
            f"none of its {len(collection.queries)} queries is judged. Queries look like "
            f"{list(collection.queries)[:SHOWN]} there and {sorted(judged)[:SHOWN]} in the judgments; are the ids the "
            "same?"
        )
    # Notes are part of results, which must not reveal folders of a machine.
    notes = [note.replace(f"{collection.source}/", "") for note in collection.notes]
    notes += [*_of_another_corpus(collection, measuring.judgments), *_describe_omitted_queries(collection, judged)]
    drawn = sample(ids, plan.sample, plan.sample_seed)
    if plan.sample is not None and plan.sample > len(ids):
        notes.append(f"sample is {plan.sample}, and only {len(ids)} queries are judged: all are taken.")
    kept = _only(judgments, set(drawn))
    asked = measuring.at(min(k for system in plan.systems for k in system.contexts))
    notes += note_low_thresholds(kept.frame["grade"].to_numpy(), asked, measuring.policy, OF_SWEEPS)
    texts = {query: collection.queries[query] for query in drawn}
    collections = {
        name: replace(
            collection, queries=rewritten(texts, placed) if is_written_before(name) else texts, judgments=kept
        )
        for name, placed in plan.rewrites.items()
    }
    for form in dict.fromkeys(each for placed in plan.rewrites.values() for each in forms_of(placed)):
        if form not in MODEL_FORMS:
            notes += [f"{name_form(form)}: {told}" for told in describe_losses(texts, rewritten(texts, form))]
    about = {
        "name": collection.name,
        "source": strip_folders(collection.source),
        "documents": len(collection.documents),
        "queries": len(drawn),
        "judged": kept.frame.height,
        "sha256": {"judgments": judgments_hash(kept)},
    }
    return SweepInputs(collections, kept, about, tuple(notes), texts)


def _map_grades(collection: Collection, measuring: QualitySettings) -> Judgments:
    """The judgments with mapped grades.

    Raises:
        InputError: there are no judgments, so quality cannot be measured.
    """
    if collection.judgments is None:
        raise Place(collection.source).error(
            "there are no judgments, and a sweep measures the quality of each configuration by them. Name their file "
            "as judgments in [measure], or add qrels.trec to the folder."
        )
    judgments = collection.judgments
    return judgments if measuring.grades is None else judgments.map_grades(measuring.grades)


def _of_another_corpus(collection: Collection, judgments: str | None) -> list[str]:
    """Mismatches where a golden set was built from other documents or questions."""
    if judgments is None or not (Path(judgments) / ABOUT).is_file():
        return []
    return find_changes(GoldenSet.read(Path(judgments)), collection).sentences()


def _describe_omitted_queries(collection: Collection, judged: set[str]) -> list[str]:
    unjudged = len(collection.queries) - len(judged & set(collection.queries))
    absent = len(judged) - len(judged & set(collection.queries))
    found = []
    if unjudged:
        found.append(f"{unjudged} of {len(collection.queries)} queries are not judged and are left out.")
    if absent:
        found.append(f"{absent} judged queries have no text in the collection and are left out.")
    return found


def _only(judgments: Judgments, queries: set[str]) -> Judgments:
    """The judgments of a subset of queries."""
    kept = [query in queries for query in judgments.query_ids.to_list()]
    sizes = np.diff(judgments.offsets)
    rows = np.repeat(np.array(kept, dtype=bool), sizes)
    codes = judgments.source_codes
    return replace(
        judgments,
        frame=judgments.frame.filter(rows),
        query_ids=judgments.query_ids.filter(np.array(kept, dtype=bool)),
        offsets=np.concatenate(([0], np.cumsum(sizes[kept]))).astype(np.int64),
        source_codes=None if codes is None else codes[rows],
    )
