"""MLflow: retrieval scored by what its RETRIEVER spans return, and Scores as metrics of a run. Written for mlflow 3.10
and newer; tried with 3.17.2.

`retrieval` is a scorer for mlflow.genai.evaluate. Expected documents are in the expectations::

    from trueval.integrations.mlflow import log, retrieval
    data = [{"inputs": {...}, "expectations": {"relevant_documents": ["doc-1", "doc-7"]}}]
    mlflow.genai.evaluate(data=data, predict_fn=app, scorers=[retrieval])
    log(trueval.evaluate(run, judgments, ["nDCG@10"]))     # into the active run

MLflow stores the source of a scorer. For other measures, write one whose body says it all::

    @scorer
    def recall(trace, expectations):
        from trueval.integrations.mlflow import feedback
        return feedback(trace, expectations, ["R@20"])
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Final

from trueval.errors import InputError, PolicyError
from trueval.integrations.hosts import need_host

need_host("mlflow", "3.10.0")

import mlflow
from mlflow.entities import Feedback, SpanType
from mlflow.genai.scorers import scorer

if TYPE_CHECKING:
    from trueval.evaluation.scores import Scores
    from trueval.measures.grammar import Measures

# Keys of the expectations, the first that is there: documents by id, with grades, or as MLflow's own document recall.
EXPECTED: Final = ("relevant_documents", "expected_documents", "expected_retrieved_context")
# Keys of a document, in itself or in its metadata, that name it, and that hold its score.
IDS: Final = ("doc_uri", "doc_id", "id", "source")
SCORES: Final = ("score", "relevance_score", "similarity")
NAMES: Final = re.compile(r"[/\w.\- ]*")


@scorer
def retrieval(trace, expectations):  # type: ignore[no-untyped-def]
    """Expected, lowest and highest nDCG@10, RR@10 and R@10 of the documents in the trace's RETRIEVER span."""
    from importlib import import_module  # MLflow stores this body, which cannot know the module that it stands in

    return import_module("trueval.integrations.mlflow").feedback(trace, expectations, ["nDCG@10", "RR@10", "R@10"])


def feedback(
    trace: object, expectations: Mapping[str, object], measures: Measures, *, span: str | None = None
) -> list[object]:
    """Score the documents that a trace has retrieved.

    Args:
        trace: a trace of MLflow with a RETRIEVER span, whose documents have an id: doc_uri, doc_id, id or source, also
            in their metadata. Documents with a score there are ranked by it, others as they stand.
        expectations: the relevant documents by one of the keys of EXPECTED: a list of ids, {id: grade}, or dicts with
            an id.
        measures: as in trueval.evaluate.
        span: name of the span; None where there is one.

    Returns:
        Feedback for each value, called nDCG_at_10, nDCG_at_10_lowest and so on.

    Raises:
        InputError: there is no such span, or several; a document has no id; nothing is expected.
    """
    from trueval.evaluation.evaluate import evaluate

    retrieved = _documents(trace, span)
    scores = evaluate({"trace": retrieved}, {"trace": _grades(expectations)}, measures)
    return [Feedback(name=name, value=value) for name, value in scores.flat().items()]


def log(scores: Scores, *, prefix: str = "", step: int | None = None, run_id: str | None = None) -> None:
    """Log the means of Scores as metrics, and all that is known of them as an artifact, PREFIX + trueval.json.

    Args:
        scores: what trueval.evaluate returns.
        prefix: text before each name, such as "dev/".
        step: as in mlflow.log_metrics.
        run_id: as in mlflow.log_metrics; None for the active run.

    Raises:
        PolicyError: MLflow refuses names with this prefix.
    """
    from trueval.evaluation.scores import results

    if not NAMES.fullmatch(prefix) or prefix.startswith("/") or ".." in prefix:
        raise PolicyError(
            f"prefix must be letters, digits and _ - . / or blanks, as MLflow takes them in names. Got {prefix!r}."
        )
    mlflow.log_metrics(scores.flat(prefix), step=step, run_id=run_id)
    mlflow.log_dict(results([scores], per_query=True), f"{prefix}trueval.json", run_id=run_id)


def _documents(trace: Any, span: str | None) -> Mapping[str, float] | list[str]:
    """The documents of the RETRIEVER span: their scores, or their order where they have none."""
    spans = [each for each in trace.search_spans(span_type=SpanType.RETRIEVER) if span is None or each.name == span]
    if len(spans) != 1:
        names = ", ".join(sorted({each.name for each in trace.search_spans(span_type=SpanType.RETRIEVER)})) or "none"
        called = "" if span is None else f" called {span!r}"
        raise InputError(
            f"The trace must have one RETRIEVER span{called}. Got {len(spans)}; its RETRIEVER spans are: {names}. Name "
            "one of them, feedback(..., span=NAME), or trace the retriever with "
            "mlflow.trace(span_type=SpanType.RETRIEVER)."
        )
    found = list(spans[0].outputs or ())
    ids = [_value(document, IDS) if isinstance(document, Mapping) else document for document in found]
    if None in ids:
        raise InputError(
            f"A document of the span {spans[0].name!r} has no id. It must have one of {', '.join(IDS)}, in itself or "
            f"in its metadata. Got {str(found[ids.index(None)])[:120]}."
        )
    scores: list[Any] = [_value(each, SCORES) if isinstance(each, Mapping) else None for each in found]
    if any(score is None for score in scores):
        return list(dict.fromkeys(map(str, ids)))  # a text in several chunks counts once, where it is first
    best: dict[str, float] = {}
    for id, score in zip(map(str, ids), scores, strict=True):
        best[id] = max(float(score), best.get(id, float(score)))
    return best


def _value(document: Mapping[str, object], keys: Iterable[str]) -> Any:
    """The first value of some keys, in the metadata or in the document itself."""
    metadata = document.get("metadata")
    places = (metadata if isinstance(metadata, Mapping) else {}, document)
    return next((place[key] for key in keys for place in places if place.get(key) is not None), None)


def _grades(expectations: Mapping[str, Any]) -> Mapping[str, float]:
    expected = next((expectations[key] for key in EXPECTED if key in (expectations or {})), None)
    if not expected:
        raise InputError(
            f"The expectations have no relevant document. They must have one of {', '.join(EXPECTED)}, a list of ids "
            f"or {{id: grade}}. Got {', '.join(expectations or {}) or 'none'}."
        )
    if isinstance(expected, Mapping):
        return {str(id): grade for id, grade in expected.items()}
    return {str(_value(each, IDS) if isinstance(each, Mapping) else each): 1 for each in expected}
