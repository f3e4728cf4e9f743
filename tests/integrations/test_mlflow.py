"""MLflow with our values: where its own are wrong or hide a range, and names that it takes."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from fractions import Fraction
from math import log2
from pathlib import Path
from typing import Any

import pytest

mlflow = pytest.importorskip("mlflow", reason="mlflow is not installed: make integrations")
pytestmark = pytest.mark.filterwarnings("ignore")  # mlflow, sqlalchemy and pydantic warn of each other
from mlflow.genai.scorers import scorer
from tests.integrations.pairs import PLANTED

from trueval.errors import InputError, PolicyError
from trueval.evaluation.evaluate import evaluate
from trueval.integrations.mlflow import feedback, log, retrieval


@pytest.fixture(autouse=True, scope="module")
def tracking(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """A store of its own, in a file."""
    tmp_path = tmp_path_factory.mktemp("mlflow")
    before, chosen = mlflow.get_tracking_uri(), os.environ.get("MLFLOW_EXPERIMENT_ID")
    mlflow.set_tracking_uri(f"sqlite:///{tmp_path}/mlflow.db")
    mlflow.create_experiment("own", artifact_location=str(tmp_path / "artifacts"))
    mlflow.set_experiment("own")
    yield
    mlflow.set_tracking_uri(before)
    if chosen is None:
        os.environ.pop("MLFLOW_EXPERIMENT_ID", None)


def traced(documents: list[Any], *, name: str = "retrieve", times: int = 1) -> Any:
    """The trace of an app whose retriever returns some documents."""

    @mlflow.trace(span_type="RETRIEVER", name=name)
    def retrieve(question: str) -> list[Any]:
        return documents

    @mlflow.trace
    def app(question: str) -> str:
        for _ in range(times):
            retrieve(question)
        return "answer"

    app("question")
    mlflow.flush_trace_async_logging()
    return mlflow.get_trace(mlflow.get_last_active_trace_id())


def chunk(doc: str, score: float | None = None) -> dict[str, Any]:
    metadata = {"doc_uri": doc} if score is None else {"doc_uri": doc, "score": score}
    return {"page_content": doc, "metadata": metadata}


def values(found: list[Any]) -> dict[str, float]:
    return {each.name: each.value for each in found}


def test_a_scorer_shows_the_range_of_tied_documents() -> None:
    run, qrels = PLANTED
    trace = traced([chunk(doc, score) for doc, score in run["q"].items()])
    found = values(retrieval(trace=trace, expectations={"relevant_documents": qrels["q"]}))
    assert [found[f"RR_at_10{end}"] for end in ("", "_lowest", "_highest")] == [Fraction(3, 4), Fraction(1, 2), 1]
    low, high = (each / (2 + 1 / log2(3)) for each in (1 / log2(3) + 2 / 2, 1 + 2 / 2))
    assert (found["nDCG_at_10_lowest"], found["nDCG_at_10_highest"]) == pytest.approx((low, high))
    assert found["nDCG_at_10"] == pytest.approx((low + high) / 2)


def test_one_of_five_relevant_documents_is_not_a_perfect_list() -> None:
    """mlflow's own nDCG takes the ideal of as many documents as were retrieved."""
    import pandas as pd

    relevant = ["a", "b", "c", "d", "e"]
    metric = mlflow.metrics.ndcg_at_k(5)
    theirs = metric.eval_fn(pd.Series([["a"]]), pd.Series([relevant]))
    assert theirs.scores == [1.0]
    found = values(feedback(traced([chunk("a")]), {"expected_documents": relevant}, "nDCG@5"))
    assert found["nDCG_at_5"] == pytest.approx(1 / sum(1 / log2(rank + 1) for rank in range(1, 6)))
    assert round(found["nDCG_at_5"], 4) == 0.3392


def test_evaluate_aggregates_the_values_of_all_traces() -> None:
    lists = {"one": [("a", 1.0), ("b", 1.0)], "two": [("b", 2.0), ("a", 1.0)]}

    @mlflow.trace(span_type="RETRIEVER")
    def retrieve(question: str) -> list[Any]:
        return [chunk(*each) for each in lists[question]]

    def app(question: str) -> str:
        retrieve(question)
        return "answer"

    rows = [{"inputs": {"question": q}, "expectations": {"relevant_documents": ["a"]}} for q in lists]
    found = mlflow.genai.evaluate(data=rows, predict_fn=app, scorers=[retrieval])
    assert found.metrics["RR_at_10/mean"] == (0.75 + 0.5) / 2
    assert found.metrics["RR_at_10_highest/mean"] == (1.0 + 0.5) / 2
    assert not any("@" in name for name in found.metrics)


def test_the_stored_source_of_the_scorer_runs_by_itself() -> None:
    from mlflow.genai.scorers.scorer_utils import recreate_function

    dumped = retrieval.model_dump()
    again = recreate_function(dumped["call_source"], dumped["call_signature"], dumped["original_func_name"])
    trace = traced([chunk("b"), chunk("a")])
    expectations = {"expected_retrieved_context": [{"doc_uri": "a"}]}
    assert values(again(trace, expectations)) == values(retrieval(trace=trace, expectations=expectations))


def test_a_scorer_of_ones_own_takes_other_measures() -> None:
    @scorer
    def recall(trace, expectations):  # type: ignore[no-untyped-def]
        return feedback(trace, expectations, ["R@1", "P(rel=2)@1"])

    trace = traced([{"id": "a", "score": 0.5}, {"id": 7, "score": 0.5}])
    found = values(recall(trace=trace, expectations={"relevant_documents": {7: 2, "a": 1}}))
    assert found["R_at_1"] == 0.5
    assert (found["P_rel_2_at_1"], found["P_rel_2_at_1_highest"]) == (0.5, 1.0)


def test_chunks_of_one_document_count_once_at_the_best() -> None:
    expectations = {"relevant_documents": ["a"]}
    by_score = traced([chunk("b", 0.5), chunk("a", 0.4), chunk("b", 0.9), chunk("a", 0.7)])
    assert values(feedback(by_score, expectations, "RR P"))["P"] == 0.5
    assert values(feedback(by_score, expectations, "RR"))["RR"] == 0.5
    by_place = traced(["b", "b", "a"])
    assert values(feedback(by_place, expectations, "RR"))["RR"] == 0.5


def test_scores_are_logged_as_metrics_and_as_an_artifact() -> None:
    scores = evaluate(*PLANTED, ["RR@10", "R(rel=2)@1"])
    with pytest.raises(mlflow.exceptions.MlflowException, match="Names may only contain"), mlflow.start_run():
        mlflow.log_metrics({"RR@10": 1.0})
    with mlflow.start_run() as run:
        log(scores, prefix="dev/", step=3)
    kept = mlflow.get_run(run.info.run_id).data.metrics
    assert kept == scores.flat("dev/")
    assert kept["dev/RR_at_10_lowest"] == 0.5
    history = mlflow.MlflowClient().get_metric_history(run.info.run_id, "dev/RR_at_10")
    assert [each.step for each in history] == [3]
    path = mlflow.artifacts.download_artifacts(run_id=run.info.run_id, artifact_path="dev/trueval.json")
    (entry,) = json.loads(Path(path).read_text())["runs"]
    assert entry["measures"]["RR@10"]["highest"] == 1.0
    assert entry["per_query"][0]["query"] == "q"
    with mlflow.start_run() as other:
        pass
    log(scores, run_id=other.info.run_id)
    assert mlflow.get_run(other.info.run_id).data.metrics["RR_at_10"] == 0.75


def test_bad_input_is_one_sentence() -> None:
    trace = traced([chunk("a")])
    expectations = {"relevant_documents": ["a"]}
    with pytest.raises(
        InputError, match=r"^The expectations have no relevant document\. They must have one of relevant"
    ):
        retrieval(trace=trace, expectations={"answer": "x"})
    with pytest.raises(InputError, match=r"Got none\.$"):
        retrieval(trace=trace, expectations=None)
    with pytest.raises(InputError, match=r"must have one RETRIEVER span\. Got 2; its RETRIEVER spans are: retrieve\."):
        retrieval(trace=traced([chunk("a")], times=2), expectations=expectations)
    with pytest.raises(InputError, match=r"must have one RETRIEVER span called 'other'\. Got 0"):
        feedback(trace, expectations, "RR", span="other")
    assert values(feedback(trace, expectations, "RR", span="retrieve"))["RR"] == 1.0
    with pytest.raises(InputError, match=r"^A document of the span 'retrieve' has no id\. It must have one of doc_uri"):
        retrieval(trace=traced([{"page_content": "text"}]), expectations=expectations)
    with pytest.raises(PolicyError, match=r"^prefix must be letters, digits and .* Got 'a@b'\.$"):
        log(evaluate(*PLANTED, "RR"), prefix="a@b")
