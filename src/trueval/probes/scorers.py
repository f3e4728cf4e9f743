"""The scorers of a probe, made from their names."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from trueval.models.hosted.account import Account
from trueval.models.hosted.services import is_hosted
from trueval.models.loading import load_embedder, load_reranker
from trueval.models.model_location import ModelLocation, find_model
from trueval.models.output_part import Step
from trueval.probes.model_scorers import CosineScorer, LogitScorer, MaxSimScorer, ModelOutputs
from trueval.probes.scorer import Bm25Scorer, CachedScorer, Hybrid, PairScorer
from trueval.probes.scorer_request import EmbedderRequest, ScorerRequest
from trueval.threads import Executor

EMBEDDER, TOKENS, RERANKER = "embedder", "tokens", "reranker"
LATE: Final = "late-interaction"


class ProbeScorers:
    """The scorers of a probe; models are loaded once for all languages.

    Args:
        asked: requested scorers.
        folder: folder of stored model outputs; None for none.
        begin: model name → progress callback.
        account: account of hosted models; None for no limit.
        executor: runs local models; None for here.
    """

    def __init__(
        self,
        asked: ScorerRequest,
        *,
        folder: Path | None = None,
        begin: Callable[[str], Step] | None = None,
        account: Account | None = None,
        executor: Executor | None = None,
    ) -> None:
        asked.check()
        self.asked, self.folder, self.begin, self.account = asked, folder, begin, account or Account()
        self.executor = executor
        self._passed: dict[tuple[str, str], ModelOutputs] = {}

    def scorers(self, language: str) -> list[PairScorer]:
        """The scorers for texts in a language, in report order.

        Args:
            language: language of the stop words and stems of BM25.
        """
        asked = self.asked
        named = [EmbedderRequest.of(each) for each in asked.models]
        dense = [CachedScorer(self._cosine(each)) for each in named]
        sparse = CachedScorer(Bm25Scorer(language))
        found: list[PairScorer] = [*dense, *([sparse] if asked.bm25 else [])]
        if asked.hybrid:
            found += [Hybrid(f"{each.name} + BM25", (each, sparse)) for each in dense]
        if asked.maxsim:
            found += [
                MaxSimScorer(self._load(TOKENS, name), name=find_model(name).name, scoring=asked.scoring)
                for name in dict.fromkeys(each.model for each in named)
            ]
        return found + [LogitScorer(self._load(RERANKER, name)) for name in asked.rerankers]

    def models(self) -> list[tuple[str, str]]:
        """Role and name of each distinct model; the role "tokens" gives token vectors."""
        names = list(dict.fromkeys(EmbedderRequest.of(each).model for each in self.asked.models))
        tokens = [(TOKENS, name) for name in names if self.asked.maxsim]
        return [*((EMBEDDER, name) for name in names), *tokens, *((RERANKER, name) for name in self.asked.rerankers)]

    def place(self, role: str, name: str) -> ModelLocation:
        """Location of a model, without loading it."""
        # By its path, since a recipe name implies the pooling of that recipe.
        return find_model(find_model(name).path, LATE) if role == TOKENS else find_model(name)

    def model(self, role: str, name: str) -> Any:
        """A model, loaded on first use."""
        return self._load(role, name).model

    def _cosine(self, named: EmbedderRequest) -> PairScorer:
        return CosineScorer(
            self._load(EMBEDDER, named.model),
            dimension=named.dimension,
            scoring=self.asked.scoring,
            stored=self.asked.stored,
        )

    def _load(self, role: str, name: str) -> ModelOutputs:
        """The model of a name and role, loaded on first use."""
        if (role, name) not in self._passed:
            here = {**self.asked.loading, "dtype": self.asked.dtype}
            options = {**self.asked.hosted, "account": self.account} if is_hosted(name) else here
            if role == TOKENS:
                model: Any = load_embedder(self.place(role, name).path, recipe=LATE, **options)
            else:
                model = (load_embedder if role == EMBEDDER else load_reranker)(name, **options)
            told = None if self.begin is None else self.begin(f"{name} {role}")
            self._passed[role, name] = ModelOutputs(model, folder=self.folder, step=told, executor=self.executor)
        return self._passed[role, name]
