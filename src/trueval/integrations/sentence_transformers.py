"""sentence-transformers: its evaluators with values that are exact under ties. Written for 6.0 and newer; tried with
6.2.0.

Change the import of an evaluator, and nothing else: names of metrics, CSV files, model cards and the best checkpoint
are as theirs, and `_range` metrics stand beside::

    from trueval.integrations.sentence_transformers import InformationRetrievalEvaluator
    evaluator = InformationRetrievalEvaluator(queries, corpus, relevant_docs)
    evaluator(model)["cosine_ndcg@10"], evaluator.scores["cosine"]["nDCG@10"].lowest

Retrieval is evaluated over the whole corpus: a group of equal scores that ends past the last cutoff counts whole.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from trueval.errors import InputError
from trueval.integrations.hosts import need_host, statistic

need_host("sentence-transformers", "6.0.0")

from sentence_transformers.base.evaluation import BaseEvaluator
from sentence_transformers.cross_encoder import evaluation as of_pairs
from sentence_transformers.multi_vector_encoder import evaluation as of_tokens
from sentence_transformers.sentence_transformer import evaluation as of_vectors
from sentence_transformers.sparse_encoder import evaluation as of_sparse_vectors

if TYPE_CHECKING:
    from trueval.evaluation.scores import Scores
    from trueval.standings.standings import Standings

__all__ = [
    "CrossEncoderRerankingEvaluator",
    "InformationRetrievalEvaluator",
    "MultiVectorInformationRetrievalEvaluator",
    "MultiVectorRerankingEvaluator",
    "RerankingEvaluator",
    "SparseInformationRetrievalEvaluator",
    "SparseRerankingEvaluator",
]

# Names of their metrics by our measures, in the order of their results.
METRICS: Final = {"Success": "accuracy", "P": "precision", "R": "recall", "nDCG": "ndcg", "RR": "mrr", "AP": "map"}


class BestScores:
    """The best scores of every query over chunks of a corpus, and the scores of its relevant documents.

    Only so many scores are kept as the largest cutoff counts, and the number of further documents with the last one.

    Args:
        relevant: per query, the places of its relevant documents in the corpus; -1 for one that it does not hold.
        depth: the largest cutoff.
        name: name of the similarity, for messages.
    """

    def __init__(self, relevant: Sequence[Sequence[int]], depth: int, name: str) -> None:
        import numpy as np

        self.depth, self.name, self.documents = depth, name, 0
        self.query = np.repeat(np.arange(len(relevant)), [len(each) for each in relevant])
        self.place = np.array([place for each in relevant for place in each], dtype=np.int64)
        self.score = np.full(len(self.place), np.nan)
        self.values: Any = None  # [query, best] in no order
        self.further: Any = None  # [query] documents as good as the last of them, and not among them

    def add(self, scores: Any) -> None:
        """Add the scores of the next chunk, [query, document].

        Raises:
            InputError: a score is not a number.
        """
        import numpy as np
        import torch

        scores = scores.detach()
        values = scores.topk(min(self.depth + 1, scores.shape[1]), dim=1).values
        if torch.isnan(values[:, 0]).any():  # NaN is the largest to torch
            raise InputError(
                f"{self.name}: a similarity of the model is not a number (NaN). Every one must be a number. Look for "
                "NaN in its embeddings."
            )
        values, further = self._best_of_chunk(values, scores)
        if self.values is not None:
            values, further = self._merge(values, further)
        self.values, self.further = values, further
        here = np.flatnonzero((self.place >= self.documents) & (self.place < self.documents + scores.shape[1]))
        at = [torch.from_numpy(each[here]).to(scores.device) for each in (self.query, self.place - self.documents)]
        self.score[here] = scores[at[0], at[1]].double().cpu().numpy()
        self.documents += scores.shape[1]

    def _best_of_chunk(self, values: Any, scores: Any) -> tuple[Any, Any]:
        """The best scores of a chunk without one more, and how many further ones are as good as the last."""
        import torch

        kept = values[:, : self.depth]
        further = torch.zeros(len(values), dtype=torch.int64, device=values.device)
        if values.shape[1] > self.depth:
            last = kept[:, -1:]
            for row in (values[:, -1:] == last).squeeze(1).nonzero().squeeze(1).tolist():  # one by one: no copies
                further[row] = (scores[row] == last[row]).sum() - (kept[row] == last[row]).sum()
        return kept, further

    def _merge(self, values: Any, further: Any) -> tuple[Any, Any]:
        """The best scores of this chunk and all before."""
        import torch

        both = torch.cat([self.values, values], dim=1)
        kept = both.topk(min(self.depth, both.shape[1]), dim=1).values
        last = kept[:, -1:]
        count = (both == last).sum(1) - (kept == last).sum(1)
        for each, more in ((self.values, self.further), (values, further)):
            count += torch.where(each.min(1).values == last[:, 0], more, 0)
        return kept, count

    def standings(self, judgments: Any) -> Standings:
        """The standings of the relevant documents, of which the judgments have one row each, in the same order."""
        import numpy as np

        from trueval.standings.judged_pool import pool_of
        from trueval.standings.listed_rows import ListedRows, ListTotals, standings_of

        values, further = self.values.double().cpu().numpy(), self.further.cpu().numpy()
        last = values.min(axis=1)
        found = np.flatnonzero(self.score >= last[self.query])  # False for NaN
        score, query = self.score[found], self.query[found]
        above = (values[query] > score[:, None]).sum(axis=1)
        tied = (values[query] == score[:, None]).sum(axis=1) + np.where(score == last[query], further[query], 0)
        ahead = np.where(tied > 1, -1, 0)
        listed = np.full(len(values), min(self.documents, self.depth))
        zeros = np.zeros_like(listed)
        totals = ListTotals(listed, zeros, zeros, zeros, zeros, np.zeros(len(values), dtype=bool))
        rows = ListedRows(found, score, above, tied, ahead)
        return replace(standings_of(pool_of(judgments), rows, totals, self.depth), merged=True)  # all ties: not known


class _TieAware(BaseEvaluator):
    """What every evaluator here takes besides the arguments of theirs.

    Args:
        ties: the number to give where equal scores leave several: "expected", "lowest", "highest", or "tie-broken",
            which is theirs.
    """

    def __init__(self, *args: object, ties: str = "expected", **kwargs: object) -> None:
        chosen = statistic(ties)
        super().__init__(*args, **kwargs)
        self._statistic = chosen


class _Retrieval(of_vectors.InformationRetrievalEvaluator):
    """Retrieval from a whole corpus, with values from here.

    Attributes:
        scores: the Scores of the last evaluation by the name of the similarity; empty before.

    Raises:
        InputError: no query has a relevant document.
    """

    def __init__(self, *args: object, **kwargs: object) -> None:
        super().__init__(*args, **kwargs)
        self.scores: dict[str, Scores] = {}
        if not self.queries_ids:
            raise InputError(
                f"{self.name or 'The evaluator'}: no query has a relevant document. relevant_docs must be {{query: "
                "documents}, with ids of the queries. Compare the ids of both."
            )
        place = {doc: index for index, doc in enumerate(self.corpus_ids)}
        self._relevant = [[place.get(doc, -1) for doc in self.relevant_docs[query]] for query in self.queries_ids]

    def compute_all_metrics(
        self,
        model: object,
        corpus_model: object = None,
        corpus_embeddings: object = None,
        output_path: str | None = None,
    ) -> Any:
        """The values by the names of the similarity and the metric; chunks are embedded and scored as theirs are."""
        depth = max(map(max, self._cutoffs().values()))
        functions: dict[str, Callable[..., Any]] = dict(self.score_functions)  # type: ignore[has-type]
        best = {name: BestScores(self._relevant, depth, name) for name in functions}
        if self._statistic != "tie_broken" and not (self.write_predictions and output_path is not None):
            for queries, documents in self._chunks(model, corpus_model or model, corpus_embeddings):
                for name, function in functions.items():
                    best[name].add(function(queries, documents))
            values = {name: self._values(best[name]) for name in functions}
            for each in values.values():
                self.output_scores(each)
            return values
        # Theirs writes predictions and breaks ties, and each chunk is looked at on its way there.
        self._waiting = iter(best.values())
        self.score_functions = {name: _observe(function, best[name]) for name, function in functions.items()}
        try:
            return super().compute_all_metrics(model, corpus_model, corpus_embeddings, output_path)
        finally:
            self.score_functions = functions

    def compute_metrics(self, queries_result_list: object) -> dict[str, dict[int, float]]:
        """The values of the next similarity, where theirs has made its lists."""
        ours = self._values(next(self._waiting))
        return {**ours, **super().compute_metrics(queries_result_list)} if self._statistic == "tie_broken" else ours

    def _chunks(self, model: Any, corpus_model: Any, corpus_embeddings: Any) -> Iterator[tuple[Any, Any]]:
        """The embeddings of the queries, and those of each chunk of the corpus."""
        import torch
        from tqdm.auto import trange

        prompts = {"prompt_name": self.query_prompt_name, "prompt": self.query_prompt}
        queries = self.embed_inputs(model, self.queries, encode_fn_name="query", **prompts)
        prompts = {"prompt_name": self.corpus_prompt_name, "prompt": self.corpus_prompt}
        starts = trange(
            0, len(self.corpus), self.corpus_chunk_size, desc="Corpus Chunks", disable=not self.show_progress_bar
        )
        for start in starts:
            part = slice(start, start + self.corpus_chunk_size)
            if corpus_embeddings is None:
                yield queries, self.embed_inputs(corpus_model, self.corpus[part], encode_fn_name="document", **prompts)
            elif getattr(corpus_embeddings, "is_sparse", False):
                rows = torch.arange(*part.indices(len(self.corpus)), device=corpus_embeddings.device)
                yield queries, corpus_embeddings.index_select(0, rows)
            else:
                yield queries, corpus_embeddings[part]

    def _values(self, best: BestScores) -> dict[str, dict[int, float]]:
        """The values of a similarity, and their tie ranges, by the names of theirs."""
        found = self.scores[best.name] = self._compute_scores(best)
        estimates = {metric: {k: found[f"{metric}@{k}"] for k in ks} for metric, ks in self._cutoffs().items()}
        values = {
            f"{METRICS[metric]}@k": {k: getattr(each, self._statistic) for k, each in of_k.items()}
            for metric, of_k in estimates.items()
        }
        ranges = {metric: {k: each.range for k, each in of_k.items()} for metric, of_k in estimates.items()}
        return {**values, **{f"{METRICS[metric]}_range@k": of_k for metric, of_k in ranges.items()}}

    def _cutoffs(self) -> dict[str, list[int]]:
        """The cutoffs of each measure, in the order of theirs."""
        both = self.precision_recall_at_k
        cutoffs = (self.accuracy_at_k, both, both, self.ndcg_at_k, self.mrr_at_k, self.map_at_k)
        return dict(zip(METRICS, cutoffs, strict=True))

    def _compute_scores(self, best: BestScores) -> Scores:
        from trueval.evaluation.evaluate import score
        from trueval.judgments import Judgments
        from trueval.measures import parse_list
        from trueval.policy.conventions import convention

        judgments = Judgments.from_dict({q: dict.fromkeys(self.relevant_docs[q], 1) for q in self.queries_ids})
        standings = best.standings(judgments)
        policy = convention("sentence-transformers", tie_order="average")
        measures = parse_list([f"{metric}@{k}" for metric, ks in self._cutoffs().items() for k in ks])
        return score(best.name, judgments.query_ids.to_list(), lambda _: standings, measures, policy, (), ())


def _observe(function: Callable[..., object], best: BestScores) -> Callable[..., object]:
    """A similarity whose values are looked at before they are handed on."""

    def similarity(*args: object, **kwargs: object) -> Any:
        scores = function(*args, **kwargs)
        best.add(scores)
        return scores

    return similarity


class InformationRetrievalEvaluator(_TieAware, _Retrieval):
    """Retrieval by one vector a text."""


class SparseInformationRetrievalEvaluator(_TieAware, of_sparse_vectors.SparseInformationRetrievalEvaluator, _Retrieval):
    """Retrieval by one sparse vector a text."""


class MultiVectorInformationRetrievalEvaluator(
    _TieAware, of_tokens.MultiVectorInformationRetrievalEvaluator, _Retrieval
):
    """Retrieval by one vector a token."""


def _score_lists(scores: Sequence[Any], relevant: Sequence[Any], k: int) -> Scores:
    """Evaluate candidate lists as their rerankers do, whose ideal and recall count the listed documents."""
    from trueval.evaluation.arrays import evaluate_arrays

    return evaluate_arrays(scores, relevant, list(_candidate_measures(k).values()), name="reranker", base="list")


def _candidate_measures(k: int) -> dict[str, str]:
    """Our measures of candidate lists by the names of theirs."""
    return {"map": "AP", f"mrr@{k}": f"RR@{k}", f"ndcg@{k}": f"nDCG@{k}"}


class _Reranking(_TieAware):
    """Evaluation of candidate lists, as a mixin before an evaluator of sentence-transformers.

    Attributes:
        scores: the Scores of the last evaluation, whose queries are numbered as the samples; None before.
    """

    scores: Scores | None = None

    def __call__(self: Any, *args: Any, **kwargs: Any) -> dict[str, float]:
        """Evaluate a model as theirs does, and add the tie range of each metric."""
        return {**super().__call__(*args, **kwargs), **self._ranges()}

    def store_metrics_in_model_card_data(self: Any, model: Any, metrics: Any, *args: Any, **kwargs: Any) -> None:
        """Store the tie ranges, too."""
        super().store_metrics_in_model_card_data(model, {**metrics, **self._ranges()}, *args, **kwargs)

    def _ranges(self: Any) -> dict[str, float]:
        named = _candidate_measures(self.at_k).items()
        ranges = {"_range".join(_before_cutoff(name)): self.scores[ours].range for name, ours in named}
        return dict(self.prefix_name_to_metrics(ranges, self.name))

    def _values(self: Any, found: Scores) -> list[float]:
        """The values to give for lists: AP, RR, nDCG."""
        return [getattr(found[ours], self._statistic) for ours in _candidate_measures(self.at_k).values()]


def _before_cutoff(name: str) -> tuple[str, str]:
    """The name of a metric, and its cutoff if it has one.

    >>> _before_cutoff("mrr@10"), _before_cutoff("map")
    (('mrr', '@10'), ('map', ''))
    """
    head, at, cutoff = name.partition("@")
    return head, at + cutoff


class _OneByOne(_Reranking):
    """Lists of positives, then negatives, each scored by one call of a similarity."""

    def compute_metrics(self: Any, model: Any) -> dict[str, float]:
        """Theirs, with values from here."""
        lists: list[Any] = []
        function = self.similarity_fct

        def similarity(*args: object) -> Any:
            scores = function(*args)
            lists.append((scores[0] if len(scores.shape) > 1 else scores).detach().double().cpu().numpy())
            return scores

        self.similarity_fct = similarity
        try:
            theirs: dict[str, float] = super().compute_metrics(model)
        finally:
            self.similarity_fct = function
        relevant = [[1] * len(each["positive"]) + [0] * len(each["negative"]) for each in self.samples]
        self.scores = _score_lists(lists, relevant, self.at_k)
        if self._statistic == "tie_broken":
            return theirs
        return dict(zip(("map", "mrr", "ndcg"), self._values(self.scores), strict=True))


class RerankingEvaluator(_OneByOne, of_vectors.RerankingEvaluator):
    """Candidate lists, scored by one vector a text."""


class SparseRerankingEvaluator(_OneByOne, of_sparse_vectors.SparseRerankingEvaluator):
    """Candidate lists, scored by one sparse vector a text."""


class MultiVectorRerankingEvaluator(_OneByOne, of_tokens.MultiVectorRerankingEvaluator):
    """Candidate lists, scored by one vector a token."""


class CrossEncoderRerankingEvaluator(_Reranking, of_pairs.CrossEncoderRerankingEvaluator):
    """Candidate lists, scored by a model of pairs.

    Theirs ties in three ways at once: nDCG is the mean over orders, MRR takes tied documents from the last to the
    first, and in MAP they enter together.
    """

    def __call__(self, *args: object, **kwargs: object) -> dict[str, float]:
        """Evaluate a model as theirs does, and add the tie range of each metric."""
        self._lists: list[tuple[Any, Any]] = []
        return super().__call__(*args, **kwargs)

    def compute_metrics(self, y_true: Any, y_pred: Any) -> tuple[float, float, float]:
        """The values of one list: RR, nDCG, AP; theirs for the order before reranking, which has no ties."""
        is_scored = y_pred.dtype.kind != "i"  # or ranks
        if is_scored:
            self._lists.append((y_pred, y_true))
        if not is_scored or self._statistic == "tie_broken":
            theirs: tuple[float, float, float] = super().compute_metrics(y_true, y_pred)
            return theirs
        ap, rr, ndcg = self._values(_score_lists([y_pred], [y_true], self.at_k))
        return rr, ndcg, ap

    def _ranges(self) -> dict[str, float]:
        found = iter(self._lists)
        lists = [next(found) if self._is_scored(sample) else ([0.0], [0]) for sample in self.samples]
        self.scores = _score_lists([scores for scores, _ in lists], [relevant for _, relevant in lists], self.at_k)
        return super()._ranges()

    def _is_scored(self, sample: Mapping[str, Any]) -> bool:
        """Whether a candidate of a sample is relevant; others count as 0, as theirs do."""
        documents = sample.get("documents")
        if not documents or self.always_rerank_positives:
            return len(sample["positive"]) > 0
        positive = [sample["positive"]] if isinstance(sample["positive"], str) else sample["positive"]
        return any(document in positive for document in documents)
