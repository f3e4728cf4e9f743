"""Traces: what six tools export of one retrieval is one run; what cannot be one is refused by file, line and key."""

import json
import random
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import trueval as tv
from trueval.errors import InputError
from trueval.files.source.memory_estimate import memory
from trueval.files.traces import trace_reader
from trueval.files.traces.span_values import look_up
from trueval.run import Run

QUESTION, LISTED = "what is lift?", [("d7", 0.75), ("d2", 0.5), ("d9", 0.5)]
END = "2026-01-05T10:00:01+00:00"


def flat(question: str = QUESTION, listed: Any = LISTED, **more: Any) -> dict[str, Any]:
    """A span as exporters of OpenTelemetry write it, with attributes of OpenInference."""
    attributes: dict[str, Any] = {"openinference.span.kind": "RETRIEVER", "input.value": question}
    for place, (doc, score) in enumerate(listed):
        before = f"retrieval.documents.{place}.document."
        attributes |= {
            f"{before}id": doc,
            f"{before}score": score,
            f"{before}content": "a text",
            f"{before}metadata": "{}",
        }
    return {"name": "search", "context": {"trace_id": "0x1"}, "end_time": END, "attributes": attributes | more}


def nested(name: str = "document") -> list[dict[str, Any]]:
    return [{name: {"id": doc, "score": score, "content": "a text"}} for doc, score in LISTED]


def plain() -> list[dict[str, Any]]:
    return [{"id": doc, "score": score} for doc, score in LISTED]


def otlp(value: Any) -> dict[str, Any]:
    if isinstance(value, list):
        return {"arrayValue": {"values": [otlp(each) for each in value]}}
    if isinstance(value, dict):
        return {"kvlistValue": {"values": [{"key": name, "value": otlp(each)} for name, each in value.items()]}}
    kinds: list[tuple[type, str]] = [(str, "stringValue"), (int, "intValue"), (float, "doubleValue")]
    return {next(name for kind, name in kinds if isinstance(value, kind)): value}


def in_otlp(**attributes: Any) -> dict[str, Any]:
    pairs = [{"key": name, "value": otlp(value)} for name, value in attributes.items()]
    return {"resourceSpans": [{"scopeSpans": [{"spans": [{"traceId": "1", "name": "search", "attributes": pairs}]}]}]}


GEN_AI = {"gen_ai.operation.name": "retrieval", "gen_ai.retrieval.query.text": QUESTION}
LLM = {"name": "answer", "context": {"trace_id": "0x1"}, "attributes": {"openinference.span.kind": "LLM"}}
DOCUMENTS = [{"page_content": "a text", "metadata": {"id": doc, "relevance_score": score}} for doc, score in LISTED]
EXPORTS: dict[str, list[Any]] = {
    "OpenInference, flat": [LLM, flat()],
    "OpenInference, nested (Phoenix)": [
        {
            "name": "search",
            "span_kind": "RETRIEVER",
            "context": {"trace_id": "1"},
            "attributes": {"input": {"value": QUESTION}, "retrieval": {"documents": nested()}},
        }
    ],
    "OpenInference in OTLP": [in_otlp(**flat()["attributes"])],
    "gen_ai": [{"name": "search", "traceId": "1", "attributes": {**GEN_AI, "gen_ai.retrieval.documents": plain()}}],
    "gen_ai, as a text of JSON": [
        {"name": "search", "traceId": "1", "attributes": {**GEN_AI, "gen_ai.retrieval.documents": json.dumps(plain())}}
    ],
    "gen_ai in OTLP": [in_otlp(**GEN_AI, **{"gen_ai.retrieval.documents": plain()})],
    "MLflow": [
        {
            "info": {"trace_id": "1"},
            "data": {
                "spans": [
                    {"name": "chain", "attributes": {"mlflow.spanType": '"CHAIN"'}},
                    {
                        "name": "search",
                        "attributes": {
                            "mlflow.spanType": '"RETRIEVER"',
                            "mlflow.spanInputs": json.dumps({"query": QUESTION}),
                            "mlflow.spanOutputs": json.dumps(DOCUMENTS),
                        },
                    },
                ]
            },
        }
    ],
    "Langfuse": [
        {"id": "o1", "traceId": "1", "type": "RETRIEVER", "input": QUESTION, "output": DOCUMENTS, "metadata": {}}
    ],
    "LangSmith": [
        {
            "run_type": "chain",
            "trace_id": "1",
            "child_runs": [
                {"run_type": "retriever", "inputs": {"query": QUESTION}, "outputs": {"documents": DOCUMENTS}}
            ],
        }
    ],
    "a reranker": [
        {
            "name": "rerank",
            "context": {"trace_id": "1"},
            "attributes": {
                "openinference.span.kind": "RERANKER",
                "reranker.query": QUESTION,
                "reranker.input_documents.0.document.id": "d1",
                "reranker.output_documents": nested(),
            },
        }
    ],
}
FORMS = {
    "lines": lambda spans: "".join(json.dumps(each) + "\n" for each in spans),
    "a list": json.dumps,
    "objects one after another": lambda spans: "\n".join(json.dumps(each, indent=4) for each in spans),
}


def rows(run: Run) -> list[tuple[Any, ...]]:
    return run.frame.select("query_id", "doc_id", "score").rows()


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
@pytest.mark.parametrize("spans", EXPORTS.values(), ids=EXPORTS)
def test_what_each_tool_exports_is_the_same_run(tmp_path: Path, spans: list[Any], form: Any) -> None:
    path = tmp_path / "traces.jsonl"
    path.write_text(form(spans))
    run = Run.read(path)
    assert rows(run) == [(QUESTION, *each) for each in LISTED]
    assert any("the ids of queries are their texts" in note for note in run.notes)
    found = tv.evaluate(replace(run, notes=()), {QUESTION: {"d2": 1}}, "RR")
    assert found["RR"].expected == pytest.approx((1 / 2 + 1 / 3) / 2)


def test_tables_of_phoenix_and_mlflow_are_read(tmp_path: Path) -> None:
    path = tmp_path / "spans.parquet"
    found = [{"document.id": doc, "document.score": score, "document.content": "a text"} for doc, score in LISTED]
    pl.DataFrame(
        {
            "name": ["search", "answer"],
            "span_kind": ["RETRIEVER", "LLM"],
            "end_time": pl.Series(["2026-01-05 10:00:00"] * 2).str.to_datetime(),
            "attributes.input.value": [QUESTION, "a prompt"],
            "attributes.retrieval.documents": [found, None],
            "attributes.openinference.span.kind": ["RETRIEVER", "LLM"],
        }
    ).write_parquet(path)
    assert rows(Run.read(path)) == [(QUESTION, *each) for each in LISTED]
    (trace,) = EXPORTS["MLflow"]
    pl.DataFrame({"trace_id": ["1"], "trace": [json.dumps(trace)]}).write_parquet(path)
    assert rows(Run.read(path)) == [(QUESTION, *each) for each in LISTED]


def test_the_span_of_a_question_that_ended_last_counts(tmp_path: Path) -> None:
    """A child and then a reranker, whose spans are exported first; and the same question of last week."""
    late, early = "2026-01-05T10:00:02", "2026-01-05T09:00:00"
    first, reranked = flat(listed=[("d1", 1.0)]), flat()
    spans = [{**reranked, "end_time": late}, {**first, "end_time": early}, flat("another", [("d3", 1.0)])]
    path = tmp_path / "traces.jsonl"
    path.write_text(FORMS["lines"](spans))
    run = Run.read(path)
    assert rows(run) == [*((QUESTION, *each) for each in LISTED), ("another", "d3", 1.0)]
    assert any("3 spans searched for 2 questions" in note for note in run.notes)


def test_a_query_id_in_the_metadata_is_the_id_of_the_query(tmp_path: Path) -> None:
    path = tmp_path / "traces.jsonl"
    path.write_text(FORMS["lines"]([flat(metadata=json.dumps({"query_id": 17}))]))
    run = Run.read(path)
    assert run.query_ids.to_list() == ["17"]
    assert not any("their texts" in note for note in run.notes)


def test_a_search_that_found_nothing_is_an_empty_list(tmp_path: Path) -> None:
    path = tmp_path / "traces.jsonl"
    path.write_text(FORMS["lines"]([flat(), flat("nothing", [])]))
    run = Run.read(path)
    assert run.empty == ("nothing",)
    assert any("1 queries retrieved nothing" in note for note in run.notes)


def test_ids_and_scores_in_metadata_count_with_a_note(tmp_path: Path) -> None:
    path = tmp_path / "traces.jsonl"
    path.write_text(FORMS["lines"](EXPORTS["Langfuse"]))
    said = " ".join(Run.read(path).notes)
    assert "the ids of 3 retrieved documents are those under metadata.id" in said
    assert "the scores of 3 retrieved documents are those under metadata.relevance_score" in said


def test_ids_that_only_the_output_has_are_taken_from_it(tmp_path: Path) -> None:
    """As OpenInference traces LangChain: texts among its documents, and their ids in output.value."""
    span = flat(listed=[])
    span["attributes"] |= {f"retrieval.documents.{place}.document.content": "a text" for place in range(3)}
    span["attributes"]["output.value"] = json.dumps({"documents": plain()})
    path = tmp_path / "traces.jsonl"
    path.write_text(FORMS["lines"]([span]))
    assert rows(Run.read(path)) == [(QUESTION, *each) for each in LISTED]
    span["attributes"]["output.value"] = "three documents"
    path.write_text(FORMS["lines"]([span]))
    with pytest.raises(InputError, match="the retrieved documents are texts without ids"):
        Run.read(path)


BAD = {
    "no question": ([flat(question="")], "traces.jsonl:1: the span 'search' has documents and no question"),
    "no id": ([flat(), flat("b", [(None, 0.5)])], None),
    "a score that is text": ([flat(), flat("b", [("d1", "high")])], "traces.jsonl:2: document 1 of the span 'search'"),
    "scores and none": ([flat(listed=[("d1", 0.5), ("d2", None)])], "some documents have scores and some do not"),
    "none that searched": ([LLM], "none did.*Trace the retriever too"),
    "no documents": ([flat(listed=[])], "no span of 1 that searched names a document"),
}


@pytest.mark.parametrize(("spans", "said"), BAD.values(), ids=BAD)
def test_what_cannot_be_a_run_is_refused(tmp_path: Path, spans: list[Any], said: str | None) -> None:
    path = tmp_path / "traces.jsonl"
    path.write_text(FORMS["lines"](spans))
    # A document without an id is known by its text, and others are known by ids.
    with pytest.raises(InputError, match=said or "the retrieved documents are texts, and those of .* are ids"):
        Run.read(path)


def test_damaged_files_and_judgments_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "traces.jsonl"
    path.write_text(FORMS["lines"]([flat(), flat("b")])[:-30])
    with pytest.raises(InputError, match=r"traces.jsonl:2: not JSON"):
        Run.read(path)
    path.write_text(FORMS["objects one after another"]([flat(), flat("b")])[:-30])
    with pytest.raises(InputError, match=r"traces.jsonl:\d+: not JSON"):
        Run.read(path)
    path.write_text(FORMS["lines"]([flat()]))
    with pytest.raises(InputError, match="traces hold what was retrieved, and no judgments"):
        tv.Judgments.read(path)


def test_a_line_that_would_take_too_much_is_refused_before_it_is_decoded(tmp_path: Path) -> None:
    path = tmp_path / "traces.json"
    path.write_text(json.dumps([flat(str(place)) for place in range(500)]))
    with memory("1M"), pytest.raises(InputError, match="to read it takes"):
        Run.read(path)


def test_runs_and_logs_with_ids_of_traces_stay_what_they_are(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text('{"query_id": "q", "doc_id": "d", "score": 0.5, "rank": 1}\n')
    assert rows(Run.read(path)) == [("q", "d", 0.5)]
    path.write_text('{"trace_id": "1", "question": "q", "ids": ["d1", "d2"]}\n')
    assert rows(Run.read(path)) == [("q", "d1", -1.0), ("q", "d2", -2.0)]


def test_names_are_looked_up_in_any_nesting() -> None:
    for given in (
        {"a.b.c": 3},
        {"attributes.a.b.c": 3},
        {"a": {"b.c": 3}},
        {"a": {"b": {"c": 3}}},
        {"a": '{"b.c": 3}'},
    ):
        assert look_up(given, "a.b.c") == 3
        assert look_up(given, "a.b.d") is None


def drawn_document(rng: random.Random) -> Any:
    """A document of a span, plain or with something that a reader could trip over."""
    whole = {"id": rng.choice(["d1", "d2", "d3", "d4 é"]), "score": rng.choice([0.5, 0.25, 1, 2.0, -3])}
    strange = [
        {},
        {"score": 0.5},
        {"id": "d1"},
        *({**whole, "id": value} for value in ("", 7, None, ["d1"], True)),
        *({**whole, "score": value} for value in ("0.5", None, True, 2**60, 1e308, float("nan"), float("inf"))),
        {**whole, "metadata": {"relevance_score": 0.5, "id": "m1"}},
        {"page_content": "a text", "metadata": {"id": "d9"}},
        {"document": whole, "id": "d5", "score": 0.1},
        {"document": "d1"},
        {"document.id": "d6", "document.score": 0.2},
        "d1",
        ["d1", 0.5],
        None,
    ]
    return rng.choice(strange) if rng.random() < 0.06 else whole


def drawn_span(rng: random.Random) -> dict[str, Any]:
    listed = [drawn_document(rng) for _ in range(rng.choice([0, 1, 2, 2, 3]))]
    if rng.random() < 0.5:
        listed.sort(key=repr)
    question = f"question {rng.randrange(4)}"
    shape = rng.randrange(4)
    if shape == 0 and all(isinstance(each, dict) for each in listed):
        return flat(question, []) | {
            "attributes": {
                "openinference.span.kind": "RETRIEVER",
                "input.value": question,
                **{
                    f"retrieval.documents.{place}.document.{name}": value
                    for place, each in enumerate(listed)
                    for name, value in each.items()
                },
            }
        }
    names = ("gen_ai.operation.name", "gen_ai.retrieval.query.text", "gen_ai.retrieval.documents")
    if shape == 1:
        attributes: dict[str, Any] = dict(zip(names, ("retrieval", question, listed), strict=True))
    elif shape == 2:
        attributes = dict(zip(names, ("retrieval", question, json.dumps(listed)), strict=True))
    else:
        wrapped = [{"document": each} for each in listed]
        attributes = {"input": {"value": question}, "retrieval": {"documents": wrapped}}
    return {"name": "search", "traceId": "1", "span_kind": "RETRIEVER", "end_time": END, "attributes": attributes}


@pytest.mark.slow
def test_the_short_way_gives_what_the_log_gives(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs, notes and errors are the same where columns are made and where every document is an entry of a log."""
    rng, short, refused = random.Random(7), 0, 0
    path = tmp_path / "spans.jsonl"
    made = trace_reader._plain_table

    def read() -> Any:
        try:
            run = Run.read(path)
        except InputError as error:
            return str(error)
        return run.frame.rows(), run.notes, run.empty, run.name, run.source

    for _ in range(400):
        path.write_text("".join(f"{json.dumps(drawn_span(rng))}\n" for _ in range(rng.choice([1, 2, 5]))))
        tables: list[Any] = []
        with monkeypatch.context() as patched:
            patched.setattr(trace_reader, "_plain_table", lambda *given, t=tables: t.append(made(*given)) or t[-1])
            found = read()
        with monkeypatch.context() as patched:
            patched.setattr(trace_reader, "plain_entries", lambda _: None)
            assert repr(found) == repr(read()), path.read_text()
        short += bool(tables) and tables[0] is not None
        refused += isinstance(found, str)
    assert short > 100
    assert refused > 50
