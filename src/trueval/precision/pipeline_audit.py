"""The audit of a pipeline: each stage in each format, apart and together, with one forward pass in each."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import polars as pl

from trueval.collection import ids_in_order
from trueval.errors import InputError, PolicyError, TruevalWarning
from trueval.evaluation.evaluate import evaluate
from trueval.models.hosted.account import LEDGER, Account
from trueval.numerics import or_null, round_to
from trueval.precision.stage_formats import (
    HIGH,
    StageFormats,
    StageVariant,
    reference_of,
    together_in,
    variants_of,
    without_format,
)
from trueval.precision.stages_result import (
    PipelineAudit,
    RegimeStage,
    RerankedPairs,
    StageMeasure,
    StageModel,
    StageRow,
)
from trueval.report.provenance import strip_folders
from trueval.retrieval.fusion.ranked_lists import places_of, rank_lists
from trueval.retrieval.pipeline.cache_keys import key_of
from trueval.retrieval.pipeline.config import BOTH, LOW, STAGES, set_scoring
from trueval.retrieval.pipeline.stage_resources import nobody, open_resources
from trueval.retrieval.pipeline.stage_runner import StageRunner
from trueval.scoring import SCALE
from trueval.threads import as_executor

if TYPE_CHECKING:
    from trueval.collection import Collection
    from trueval.evaluation.scores import Scores
    from trueval.judgments import Judgments
    from trueval.measures import Measure
    from trueval.policy.policy import Policy
    from trueval.retrieval.pipeline.config import Settings
    from trueval.retrieval.pipeline.pipeline import Pipeline
    from trueval.retrieval.pipeline.pipeline_result import Stage
    from trueval.retrieval.pipeline.stage_resources import Begin, StageResources
    from trueval.run import Run
    from trueval.standings.standings import Floats, Ints
    from trueval.threads import Executor

ADDED: Final = 0.2  # new pairs of a reranker, of those that it must score, that the ends of stages apart may take


def audit_stages(
    chosen: Pipeline,
    found: Collection,
    formats: StageFormats,
    wanted: Sequence[Measure],
    used: Policy,
    *,
    added: float = ADDED,
    cache: Path | None = None,
    max_cost: float | None = None,
    begin: Begin | None = None,
    executor: Executor | None = None,
) -> PipelineAudit:
    """Audit each stage of a pipeline in each format, as `audit_pipeline`, whose further arguments these are.

    Args:
        chosen: the pipeline.
        found: collection with the judged queries alone.
        formats: of models, scores and vectors.
        wanted: measures.
        used: policy.

    Raises:
        InputError: as in `retrieve`.
        PolicyError: as in `retrieve`.
    """
    low = [name for name in dict.fromkeys(formats.models) if name != HIGH]
    with TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        place = cache or Path(folder)  # formats share the outputs of models
        account = Account(max_cost, place / LEDGER)
        with open_resources(place, account, kept=False, executor=as_executor(executor)) as shared:
            work = _Audit(found, shared, begin or nobody, wanted, used, added)
            ladder = [step for regime in _regimes(chosen.settings, low) for step in work.climb(regime)]
            work.close_needs()
            apart = variants_of(chosen.settings, formats._replace(models=low))
            rows = [row for row in map(work.row, apart) if row is not None]
            base = StageVariant("", HIGH, HIGH, reference_of(chosen.settings))
            return PipelineAudit(
                pipeline=chosen.name,
                collection=found.name,
                documents=len(found.documents),
                queries=len(found.queries),
                sha256=work.texts(base),
                models=tuple(work.models(base)),
                stages=tuple(dict.fromkeys(step.stage for step in ladder)),
                formats=tuple(low),
                measures=tuple(map(str, wanted)),
                rows=tuple(rows),
                ladder=tuple(ladder),
                pairs=work.pairs(),
                settings={
                    name: {key: strip_folders(each) if isinstance(each, str) else each for key, each in values.items()}
                    for name, values in base.settings.items()
                },
                policy=used.to_dict(),
                notes=tuple(dict.fromkeys([*without_format(chosen.settings), *work.notes])),
            )


def _regimes(settings: Settings, low: Sequence[str]) -> Iterator[StageVariant]:
    """The whole pipeline: in float32, as its file says, and in each format, scored in that and in float32."""
    base = reference_of(settings)
    yield StageVariant("", "float32", HIGH, base)
    scoring = settings.get("pipeline", {}).get("scoring", STAGES)
    own = set_scoring(settings, LOW if scoring == BOTH else scoring)
    stages = {name: values for name, values in own.items() if name not in ("repair", "pipeline", "generate")}
    dtypes = dict.fromkeys(str(values["dtype"]) for values in stages.values() if "dtype" in values)
    yield StageVariant("", "file", ", ".join(dtypes) or HIGH, stages)
    if any("dtype" in values for values in base.values()):
        for form in low:
            yield StageVariant("", "low", form, together_in(base, form, form))
            yield StageVariant("", "high", form, together_in(base, form, HIGH))


@dataclass(eq=False)
class _Audit:
    """Runs variants over shared resources, and evaluates every stage once.

    Attributes:
        effects: key of a stage → share of ties, and measures.
        seen: format of the reranker → pairs that went through it.
        needed: format of the reranker → number of these that whole pipelines have.
    """

    collection: Collection
    shared: StageResources
    begin: Begin
    measures: Sequence[Measure]
    policy: Policy
    added: float
    effects: dict[str, tuple[float, tuple[StageMeasure, ...]]] = field(default_factory=dict)
    seen: dict[str, pl.DataFrame] = field(default_factory=dict)
    needed: dict[str, int] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    def climb(self, regime: StageVariant) -> Iterator[RegimeStage]:
        """Every stage of a whole pipeline."""
        for stage in self._stages(regime, bounded=False):
            yield RegimeStage(regime.axis, regime.format, stage.name, *self._effect(stage))

    def row(self, variant: StageVariant) -> StageRow | None:
        """A stage apart; None where its format cannot hold its scores, or its vectors, which is noted."""
        try:
            stages = self._stages(variant, bounded=variant.stage != "rerank")
        except (InputError, PolicyError) as error:
            self.notes.append(f"{variant.stage}, {variant.axis} in {variant.format}: left out. {error}")
            return None
        own = next(stage for stage in stages if stage.name == variant.stage)
        whole = [stage.name for stage in stages] == self._names(variant)
        tied, measures = self._effect(own)
        end = self._effect(stages[-1])[1] if whole else None
        if not whole:
            self.notes.append(
                f"{variant.stage}, {variant.axis} in {variant.format}: its candidates are too many new ones for the "
                f"reranker (more than {self.added:.0%} of its own), so there are no values of the end."
            )
        return StageRow(variant.stage, variant.axis, variant.format, tied, measures, end)

    def close_needs(self) -> None:
        """From here on, pairs are no longer those of whole pipelines."""
        self.needed = {dtype: frame.height for dtype, frame in self.seen.items()}

    def pairs(self) -> tuple[RerankedPairs, ...]:
        """Pairs that went through the reranker in each format."""
        return tuple(
            RerankedPairs(dtype, self.needed.get(dtype, 0), frame.height - self.needed.get(dtype, 0))
            for dtype, frame in self.seen.items()
        )

    def texts(self, variant: StageVariant) -> Mapping[str, str]:
        """The hashes of documents and queries."""
        found: Mapping[str, str] = self._runner(variant).about()["sha256"]
        return found

    def models(self, variant: StageVariant) -> Iterator[StageModel]:
        """The models, with the hashes of their files."""
        work = self._runner(variant)
        for table, values in variant.settings.items():
            if "model" in values:
                about: Mapping[str, Any] = work.candidate_settings(table)
                yield StageModel(table, strip_folders(str(values["model"])), about.get("weights"), about["versions"])

    def _names(self, variant: StageVariant) -> list[str]:
        work = self._runner(variant)
        return [*work.retrievers(), *work.refiners()]

    def _runner(self, variant: StageVariant) -> StageRunner:
        return StageRunner(self.collection, variant.settings, self.shared, self.begin)

    def _stages(self, variant: StageVariant, *, bounded: bool) -> list[Stage]:
        """The stages of a variant; without the reranker where its new pairs are too many."""
        work = self._runner(variant)
        if not variant.stage:
            work.check()
        found = [self._round(variant, work.stage(name, make)) for name, make in work.retrievers().items()]
        for name in work.refiners():
            before = tuple(found) if name == "fuse" else (found[-1],)
            if name == "rerank" and not self._affordable(work, before[-1].run, bounded):
                break
            found.append(self._round(variant, work.refine(name, before, ())))
        return found

    def _affordable(self, work: StageRunner, run: Run, bounded: bool) -> bool:
        """Whether a reranker may score these candidates; if so, they count as seen."""
        settings = work.settings["rerank"]
        dtype = str(settings.get("dtype", "service"))
        dtype += "".join(f", {name} {form}" for name, form in settings.get("parts", {}).items())
        lists = rank_lists(run, settings["depth"])
        queries = lists.query_ids.gather(lists.of_row)
        pairs = pl.DataFrame({"query_id": queries, "doc_id": lists.documents["doc_id"]})
        known = self.seen.get(dtype)
        both = pairs if known is None else pl.concat([known, pairs]).unique(maintain_order=True)
        if bounded and known is not None and both.height > (1 + self.added) * self.needed[dtype]:
            return False
        self.seen[dtype] = both
        return True

    def _round(self, variant: StageVariant, stage: Stage) -> Stage:
        """A stage with its scores in a format; equal ones are in the order of the corpus, as an index has them."""
        form = variant.rounded.get(stage.name)
        if form is None:
            return stage
        scores = stage.run.documents["score"].to_numpy()
        if variant.listwise:
            scores = softmax_of_lists(scores, stage.run.offsets)
        scores = round_to(scores, form)
        owner = np.arange(len(stage.run.query_ids)).repeat(np.diff(stage.run.offsets))
        places = places_of(stage.run.documents["doc_id"], ids_in_order(self.collection.documents))
        order = np.lexsort((places, -scores, owner))
        documents = stage.run.documents.with_columns(score=pl.Series(scores))[order]
        return stage._replace(
            run=replace(stage.run, documents=documents),
            key=key_of("rounded, ties by place", stage.key, form, variant.listwise),
        )

    def _effect(self, stage: Stage) -> tuple[float, tuple[StageMeasure, ...]]:
        """The share of ties and the measures of a stage's candidates."""
        if stage.key not in self.effects:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", TruevalWarning)  # the same lines are in the notes
                scores = evaluate(stage.run, self._judgments, self.measures, policy=self.policy)
            self.effects[stage.key] = rank_lists(stage.run).ties.fraction, tuple(_measures(scores))
        return self.effects[stage.key]

    @property
    def _judgments(self) -> Judgments:
        return self.collection.graded


def softmax_of_lists(scores: Floats, offsets: Ints) -> Floats:
    """The share of each document in its list: exp(20 s) / sum of exp(20 s), as a model of similarities is trained.

    Source: Reimers & Gurevych's MultipleNegativesRankingLoss, whose scale is 20 for cosine similarities.

    Args:
        scores: [document] scores, list after list.
        offsets: [list + 1] where each list starts.

    >>> softmax_of_lists(np.array([0.5, 0.5, 0.9]), np.array([0, 2, 3])).tolist()
    [0.5, 0.5, 1.0]
    """
    sizes, starts = np.diff(offsets), offsets[:-1]
    powers = np.exp(SCALE * (scores - np.maximum.reduceat(scores, starts).repeat(sizes)))
    shares: Floats = powers / np.add.reduceat(powers, starts).repeat(sizes)
    return shares


def _measures(scores: Scores) -> Iterator[StageMeasure]:
    for measure in scores.measures:
        mean = scores.mean(measure)
        values: dict[str, Any] = {
            name: or_null(getattr(mean, name))
            for name in ("tie_broken", "expected", "lowest", "highest", "range", "bias", "sd")
        }
        yield StageMeasure(str(measure), queries=mean.queries, **values)
