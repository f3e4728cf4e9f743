"""Live retrieval: what a loopback engine does is measured as planted, and less than was asked for gives no number."""

import json
import random
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.extras import need
from tests.retrieval.live.engine import Engine, planted, serving

import trueval as tv
from trueval.errors import InputError, PolicyError
from trueval.models.hosted.retries import Retries
from trueval.retrieval.live.live import plain_run, retrieve_live
from trueval.run import Run

need("httpx2", extra="hosted")

QUERIES = {f"q{place}": f"text of {place} & more" for place in range(12)}
QUICK = Retries(first=0.01, most=0.02)


@pytest.fixture
def engine() -> Iterator[Engine]:
    with serving() as found:
        yield found


def test_the_run_is_what_the_engine_lists(engine: Engine) -> None:
    found = retrieve_live(engine.url, QUERIES, 7, name="mine")
    assert found.run.name == "mine"
    for query, text in QUERIES.items():
        rows = found.run.frame.filter(query_id=query).select("doc_id", "score").rows()
        assert rows == planted(text)[:7]
    assert sorted(engine.asked) == sorted(QUERIES.values())
    assert found.result.lists.tied_fraction == 1.0
    assert found.result.lists.may_end_inside == 12
    assert found.result.changes is None


def test_planted_ties_doubts_and_orders_are_measured_as_planted(engine: Engine) -> None:
    """Ten places: five documents of one score, and five of the ten of the next, which are chosen by chance."""
    engine.shuffles, engine.doubtful = True, {QUERIES["q3"]}
    best = {query: {dict(planted(text)[5:6]).popitem()[0]: 1} for query, text in QUERIES.items()}
    found = retrieve_live(engine.url, QUERIES, 10, repeats=4, judgments=best, measures="R@10", at_once=3)
    changes = found.result.changes
    assert changes is not None
    # Of C(10, 5) = 252 choices four calls are all the same with probability 252^-3.
    assert (changes.by_ties, changes.otherwise, changes.rescored, changes.cut) == (11, 1, 0, 12)
    assert {case.query for case in found.result.cases if case.otherwise} == {"q3"}
    assert all(case.slots == 5 and 5 < case.group <= 10 for case in found.result.cases if case.query != "q3")
    value = found.result.measures["R@10"]
    assert len(value.calls) == len(found.runs) == 4
    for call, run in zip(value.calls, found.runs, strict=True):
        assert tv.evaluate(run, best, "R@10")["R@10"].expected == pytest.approx(call)
    assert value.lowest == 0.0
    assert value.lowest <= min(value.calls) <= max(value.calls) <= value.highest
    assert any("Calls differ beyond equal scores in 1 queries" in note for note in found.result.notes)


def test_other_orders_and_scores_of_the_same_documents_are_told_apart() -> None:
    calls = iter([[("a", 2.0), ("b", 2.0)], [("b", 2.0), ("a", 2.0)], [("a", 2.5), ("b", 2.0)]])
    found = retrieve_live(lambda text: next(calls), {"q": "x"}, 2, repeats=3)
    changes = found.result.changes
    assert changes is not None
    assert (changes.reordered, changes.rescored, changes.largest_change) == (1, 1, 0.5)
    assert (changes.by_ties, changes.otherwise) == (0, 0)
    assert "listed the same documents, with other scores for 1 query." in " ".join(repr(found).split())


def test_bodies_headers_and_paths_come_from_the_file_of_an_engine(
    engine: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine.shape = lambda hits: {"result": {"points": [{"payload": {"doc": d}, "score": s} for d, s in hits]}}
    monkeypatch.setenv("ENGINE_KEY", "a-secret-of-mine")
    file = tmp_path / "qdrant.toml"
    file.write_text(
        f"[live]\nurl = '{engine.url.partition('?')[0]}'\napi_key_env = 'ENGINE_KEY'\napi_key_header = 'api-key'\n"
        "body = {query = '{text}', limit = '{k}', filter = {only = ['{text}!']}}\n"
        "headers = {x-tenant = 'me'}\nhits = 'result.points'\nid = 'payload.doc'\nat_once = 2\n"
    )
    engine.seconds = 0.02
    found = retrieve_live(file, QUERIES, 3)
    text = QUERIES["q0"]
    assert {"query": text, "limit": 3, "filter": {"only": [f"{text}!"]}} in engine.bodies
    assert all(sent["api-key"] == "a-secret-of-mine" and sent["x-tenant"] == "me" for sent in engine.headers)
    assert not any("authorization" in sent for sent in engine.headers)
    assert found.run.frame.filter(query_id="q0")["doc_id"].to_list() == [doc for doc, _ in planted(text)[:3]]
    assert found.result.at_once == engine.most_at_once == 2
    assert "a-secret-of-mine" not in json.dumps(found.to_dict())
    monkeypatch.delenv("ENGINE_KEY")
    with pytest.raises(InputError, match="ENGINE_KEY is not set"):
        retrieve_live(file, QUERIES, 3)


def test_calls_at_once_are_bounded(engine: Engine) -> None:
    engine.seconds = 0.01
    retrieve_live(engine.url, {f"q{place}": str(place) for place in range(40)}, 3, at_once=5)
    assert engine.most_at_once == 5


TROUBLES: dict[str, list[tuple[int, dict[str, str], str]]] = {
    "too many calls": [(429, {"retry-after": "0.05"}, "slow down")] * 3,
    "a gateway without its engine": [(502, {}, "<html>bad gateway</html>")] * 2,
    "no JSON": [(200, {}, "<html>welcome</html>")] * 2,
    "half an answer": [(200, {"content-length": "400"}, '[{"id": "d1", "sc')] * 2,
    "a part of the index": [(200, {}, '{"timed_out": true, "hits": {"hits": []}}')] * 2,
    "a stall": [(0, {}, "")],
}


@pytest.mark.parametrize("troubles", TROUBLES.values(), ids=TROUBLES)
def test_what_passes_is_waited_for_and_changes_no_number(engine: Engine, troubles: Any) -> None:
    engine.troubles = list(troubles)
    found = retrieve_live(engine.url, QUERIES, 7, retries=QUICK, timeout=0.5, at_once=4)
    assert found.run.frame.equals(retrieve_live(engine.url, QUERIES, 7).run.frame)
    assert found.result.timing.retried == len(troubles)


LASTING = {
    "no such path": ((404, {}, '{"error": "no such index"}'), "HTTP 404: no such index.* Correct the path"),
    "no key": ((401, {}, ""), "HTTP 401. Name the variable of its key in api_key_env"),
    "no JSON": ((200, {}, "<html>"), "without JSON: '<html>' .*the last of 6 attempts"),
    "an error with status 200": ((200, {}, '{"error": "boom"}'), "the keys 'error'"),
    "a score that is text": ((200, {}, '[{"id": "d1", "score": "0.9"}]'), "At 'score' document 1 .* text '0.9'"),
}


@pytest.mark.parametrize(("trouble", "said"), LASTING.values(), ids=LASTING)
def test_a_query_without_an_answer_is_one_sentence_and_no_number(
    engine: Engine, tmp_path: Path, trouble: Any, said: str
) -> None:
    engine.troubles = [trouble] * 20
    with pytest.raises(InputError, match=rf"(?s)query 'q0' has no answer\. .*{said}") as raised:
        retrieve_live(engine.url, QUERIES, 7, retries=QUICK, at_once=1, ledger=tmp_path / "live.jsonl")
    assert "\n" not in str(raised.value)
    assert "0 answers are kept in" in str(raised.value)


def test_nobody_at_the_address_is_said_at_once() -> None:
    with pytest.raises(InputError, match=r"cannot be reached .*Is it running, and is the address right"):
        retrieve_live("http://127.0.0.1:9/{text}", {"q": "x"}, 3, retries=QUICK)


def test_an_interrupted_job_asks_only_what_is_left(engine: Engine, tmp_path: Path) -> None:
    ledger = tmp_path / "kept" / "live.jsonl"
    whole = retrieve_live(engine.url, QUERIES, 7, repeats=2)
    engine.asked.clear()
    engine.answer = failing(engine, after=9)  # type: ignore[method-assign]
    with pytest.raises(InputError, match=r"9 answers are kept in .*live.jsonl; the same command goes on"):
        retrieve_live(engine.url, QUERIES, 7, repeats=2, at_once=1, ledger=ledger, retries=QUICK)
    del engine.answer
    with ledger.open("ab") as file:
        file.write(b'{"call": 1, "query": "q11", "te')  # as a killed process leaves it
    engine.asked.clear()
    found = retrieve_live(engine.url, QUERIES, 7, repeats=2, ledger=ledger)
    assert len(engine.asked) == 24 - 9
    assert found.result.timing.resumed == 9
    assert any("9 of 24 answers are of an interrupted job" in note for note in found.result.notes)
    assert [run.frame.rows() for run in found.runs] == [run.frame.rows() for run in whole.runs]
    for changed in ({"k": 8}, {"retriever": lambda text: [text]}):
        with pytest.raises(InputError, match="is of another retriever, or of another k"):
            retrieve_live(**{"retriever": engine.url, "queries": QUERIES, "k": 7, "ledger": ledger, **changed})
    other = {**QUERIES, "q0": "another text"}
    assert retrieve_live(engine.url, other, 7, repeats=2, ledger=ledger).result.timing.resumed == 22


def failing(engine: Engine, after: int) -> Any:
    answer, lock, count = engine.answer, threading.Lock(), iter(range(10_000))

    def instead(text: str, k: int) -> tuple[int, dict[str, str], str]:
        with lock:
            number = next(count)
        return answer(text, k) if number < after else (400, {}, "no")

    return instead


def test_a_retriever_without_scores_or_k_is_remarked() -> None:
    class Document:
        """As those of LangChain."""

        def __init__(self, source: str, **metadata: Any) -> None:
            self.id, self.page_content, self.metadata = None, "a text", {"source": source, **metadata}

    scored = [Document("a", relevance_score=0.75), Document("b", relevance_score=0.5)]
    found = retrieve_live(lambda text: scored, {"q": "x"}, 5)
    assert found.run.frame.select("doc_id", "score").rows() == [("a", 0.75), ("b", 0.5)]
    said = " ".join(found.result.notes)
    assert "the ids of 2 retrieved documents are those under metadata.source" in said
    assert "the scores of 2 retrieved documents are those under metadata.relevance_score" in said
    assert "cannot be told how many documents to list" in said
    assert "lists at most 2 of the 5 documents that were asked for" in said
    bare = retrieve_live(lambda text, k: [Document("a"), Document("b"), Document("a")], {"q": "x"}, 5)
    assert bare.run.frame.select("doc_id", "score").rows() == [("a", -1.0), ("b", -2.0)]
    said = " ".join(bare.result.notes)
    assert "1 repeated documents in 1 queries are counted once" in said
    assert "gives no scores: documents count by their places" in said
    mixed = retrieve_live(lambda text: [("a", 1.0), ("b", 3.0), ("c", 2.0)], {"q": "x"}, 3)
    assert "scores do not fall with the list of query 'q'" in " ".join(mixed.result.notes)


def test_lists_that_the_engine_ends_itself_are_cut_there() -> None:
    """Asked for 100, it lists two of three documents that tie: each is there in 2 of 3 orders, and never sure."""
    calls = iter(["ab", "bc", "ca", "ab"])
    found = retrieve_live(
        lambda text, k: [(doc, 1.0) for doc in next(calls)], {"q": "x"}, 100, repeats=4, judgments={"q": {"a": 1}}
    )
    value = found.result.measures["R@2"]
    assert (value.lowest, value.highest, value.calls) == (0.0, 1.0, (1.0, 0.0, 1.0, 1.0))
    assert value.expected == pytest.approx(2 / 3)
    assert (found.result.k, found.result.changes and found.result.changes.cut) == (2, 1)
    assert "lists at most 2 of the 100 documents" in found.result.notes[0]


def test_a_collection_needs_no_corpus_and_its_judgments_count(tmp_path: Path) -> None:
    (tmp_path / "queries.jsonl").write_text('{"_id": "q", "text": "wings"}\n')
    (tmp_path / "qrels.tsv").write_text("query-id\tcorpus-id\tscore\nq\ta\t1\n")
    found = retrieve_live(lambda text: {"a": 1.0, text: 1.0}, tmp_path, 2)
    assert found.result.lists.unknown is None
    assert (found.result.measures["nDCG@2"].highest, found.result.measures["R@2"].expected) == (1.0, 1.0)
    (tmp_path / "corpus.jsonl").write_text('{"_id": "a", "text": "x"}\n')
    found = retrieve_live(lambda text: {"a": 1.0, text: 1.0}, tmp_path, 2)
    assert found.result.lists.unknown == 1
    assert "1 documents of the answers are not in the corpus" in " ".join(found.result.notes)


def test_evaluate_says_what_asks_a_retriever() -> None:
    with pytest.raises(InputError, match=r"trueval\.retrieve_live\(retriever, \{query: text\}\) asks it every query"):
        tv.evaluate(lambda text: ["a"], {"q": {"a": 1}})  # type: ignore[arg-type]


@pytest.mark.parametrize("wrong", [{"k": 0}, {"repeats": 0}, {"at_once": True}])
def test_counts_below_one_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(PolicyError, match="must be an integer >= 1"):
        retrieve_live(lambda text: ["a"], {"q": "x"}, **wrong)


def test_no_query_and_no_document_are_refused() -> None:
    with pytest.raises(InputError, match="There is no query to ask"):
        retrieve_live(lambda text: ["a"], {})
    with pytest.raises(InputError, match="none of 1 queries found a document"):
        retrieve_live(lambda text: [], {"q": "x"})
    found = retrieve_live(lambda text: [text] if text == "x" else [], {"q": "x", "r": "y"})
    assert (found.result.lists.empty, found.run.empty) == (1, ("r",))


def test_plain_lists_become_the_run_that_rows_of_a_log_become() -> None:
    rng, plain = random.Random(3), 0
    for _ in range(200):
        queries = [f"q{place}" for place in range(rng.randint(1, 5))]
        lists = [
            [
                {"id": rng.choice("abcdéf "), "score": rng.choice([1, 1.5, 2, -3.25, 1e-9])}
                for _ in range(rng.randint(0, 3))
            ]
            for _ in queries
        ]
        found = plain_run(queries, lists, "engine")
        if found is None:
            continue
        plain += 1
        rows = [{"query": query, "documents": each} for query, each in zip(queries, lists, strict=True)]
        of_log = Run.of_engine(rows, name="rows")
        assert found.frame.equals(of_log.frame)
        assert found.empty == of_log.empty
        assert found.notes == tuple(note.replace("rows: ", "engine: ", 1) for note in of_log.notes)
    assert plain > 50


@pytest.mark.parametrize(
    "documents",
    [
        ["d1"],
        [["d1", 1.0]],
        [{"id": "d1"}],
        [{"id": "d1", "score": 1.0, "source": "a"}],
        [{"id": 7, "score": 1.0}],
        [{"id": "d1", "score": True}],
        [{"id": "d1", "score": float("nan")}],
        [{"id": "d1", "score": 2**60}],
        [{"id": "", "score": 1.0}],
        [{"id": "d1", "score": 2.0}, {"id": "d1", "score": 1.0}],
        [{"id": "d1", "score": 1.0}, {"id": "d2", "score": 2.0}],
    ],
)
def test_lists_that_need_a_remark_or_an_error_are_left_to_the_reader_of_logs(documents: list[Any]) -> None:
    assert plain_run(["q"], [documents], "engine") is None
