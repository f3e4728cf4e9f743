"""Pipelines: embed, retrieve, fuse, deduplicate, rerank; every stage timed, with its candidates and the ties it makes.

A pipeline is read from the TOML of config.py. With a cache, embeddings, logits, indexes and the candidates of every
stage are kept by the hashes of what they are made of: an interrupted pipeline goes on at the stage that was under way,
a second run takes seconds, and two pipelines that share a stage share its work.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from trueval.collection import Collection
from trueval.models.hosted.account import LEDGER, Account
from trueval.retrieval.pipeline.config import (
    BOTH,
    HIGH,
    LOW,
    STAGES,
    Settings,
    read_settings,
    scored_in,
)
from trueval.retrieval.pipeline.pipeline_result import PipelineResult, Stage
from trueval.retrieval.pipeline.stage_resources import Begin, nobody, shared_work
from trueval.retrieval.pipeline.stage_runner import StageRunner


@dataclass(frozen=True, eq=False)
class Pipeline:
    """Stages and their settings.

    Attributes:
        settings: table → key → value, as config.py reads them.
        name: of the run that it gives.
    """

    settings: Settings
    name: str = "pipeline"

    @classmethod
    def read(cls, path: Path) -> Pipeline:
        """Read the TOML of a pipeline.

        Raises:
            InputError: as in read_settings.
        """
        return cls(read_settings(path), path.stem)

    def check(self, collection: Collection, *, cache: Path | None = None) -> None:
        """Refuse what cannot run, as `retrieve` does before its work; nothing is made.

        Args:
            collection: documents and queries.
            cache: as in `retrieve`; of what it holds no model is loaded.

        Raises:
            InputError: a model is not there or does not fit the other settings.
            MissingExtraError: the library of a stage is not installed.
        """
        with shared_work(cache, Account(), kept=False) as shared:
            StageRunner(collection, self.settings, shared, nobody).check()

    def retrieve(
        self,
        collection: Collection,
        *,
        cache: Path | None = None,
        begin: Begin | None = None,
        max_cost: float | None = None,
        account: Account | None = None,
    ) -> PipelineResult:
        """Find the documents for every query of a collection.

        Args:
            collection: documents and queries; judgments play no part.
            cache: keeps what is made, and is looked into first; None keeps nothing.
            begin: called with the name of each stage; what it returns is called as a model goes on.
            max_cost: what hosted models may cost in all, in the currency of their prices; None for no limit.
            account: that pays for them, where it pays for other work too; it has a max_cost of its own.

        Raises:
            InputError: a text, a model or an output is bad, a service refuses, or hosted models would cost too much.
            MissingExtraError: the library of a stage is not installed.
        """
        scoring = self.settings.get("pipeline", {}).get("scoring", STAGES)
        account = account or Account(max_cost, None if cache is None else cache / LEDGER)
        with shared_work(cache, account, kept=scoring == BOTH) as shared:
            works = [
                StageRunner(collection, scored_in(self.settings, each), shared, begin or nobody)
                for each in ((HIGH, LOW) if scoring == BOTH else (scoring,))
            ]
            for work in works:
                work.check()
            found = [tuple(stages) for stages in stages_of(works)]
        given = [
            PipelineResult(replace(stages[-1].run, name=name), stages, self.settings, works[0].about())
            for name, stages in zip((self.name, f"{self.name}-low")[: len(found)], found, strict=True)
        ]
        return replace(given[0], low=given[1] if len(given) > 1 else None)


def stages_of(works: Sequence[StageRunner]) -> list[list[Stage]]:
    """The stages of each run, made side by side: a reranker sees the candidates of all in one pass."""
    found = [[work.stage(name, make) for name, make in work.retrievers().items()] for work in works]
    for name in works[0].refiners():
        before = [tuple(stages) if name == "fuse" else (stages[-1],) for stages in found]
        for place, work in enumerate(works):
            beside = [stages[-1] for stages in before] if name == "rerank" and len(works) > 1 else []
            found[place].append(work.refined(name, before[place], beside))
    return found
