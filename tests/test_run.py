"""Run from dicts, objects of other libraries, arrays and tensors."""

from __future__ import annotations

import dataclasses
import json
import pathlib
import pickle
from io import BytesIO
from typing import Any

import numpy as np
import pytest

from trueval import Judgments, compare, evaluate
from trueval.errors import InputError
from trueval.rag.unjudged_passages import grade_unjudged
from trueval.run import Run

NESTED = {"q1": {"d1": 2.0, "d2": 1.5}, "q2": {"d1": 0.5}}
ROWS = [("q1", "d1", 2.0), ("q1", "d2", 1.5), ("q2", "d1", 0.5)]


class RanxLike:
    """As ranx.Run: a name, and to_dict()."""

    name = "bm25"

    def to_dict(self) -> dict[str, dict[str, float]]:
        return NESTED


class HolderLike:
    run = NESTED


HITS = {
    "q1": [{"corpus_id": "d1", "score": 2.0}, {"corpus_id": "d2", "score": 1.5}],
    "q2": [{"corpus_id": "d1", "score": 0.5}],
}
PAIRS = {"q1": [("d1", 2.0), ("d2", 1.5)], "q2": (("d1", 0.5),)}
MTEB = {"mteb_model_meta": {"model_name": "m"}, "default": {"test": NESTED}}


@pytest.mark.parametrize(
    "given",
    [NESTED, RanxLike(), HolderLike(), HITS, PAIRS, MTEB],
    ids=["dict", "ranx", "holder", "hits", "pairs", "mteb"],
)
def test_dicts_and_result_objects(given: Any) -> None:
    run = Run.from_dict(given)
    assert run.frame.rows() == ROWS
    assert run.query_ids.to_list() == ["q1", "q2"]
    assert run.offsets.tolist() == [0, 2, 3]


def test_ids_alone_are_an_order_best_first() -> None:
    run = Run.from_dict({"q1": ["b", 7], "q2": ("a",), "q3": []})
    assert run.frame.rows() == [("q1", "b", -1.0), ("q1", "7", -2.0), ("q2", "a", -1.0)]
    assert run.empty == ("q3",)


def test_integer_ids_and_numpy_numbers() -> None:
    run = Run.from_dict({1: {np.int64(7): np.float32(0.5), 8: 2}})
    assert run.frame.rows() == [("1", "7", 0.5), ("1", "8", 2.0)]


@pytest.mark.parametrize(
    "run",
    [
        Run.from_dict({"q3": {}} | NESTED),
        Run.of({"q3": []} | NESTED),
        Run.read(BytesIO(json.dumps({"q3": {}} | NESTED).encode())),
        pickle.loads(pickle.dumps(Run.from_dict(NESTED | {"q3": {}}))),
    ],
    ids=["dict", "list", "json", "pickle"],
)
def test_queries_without_documents_are_named(run: Run) -> None:
    assert run.frame.rows() == ROWS
    assert run.empty == ("q3",)
    assert "1 queries retrieved nothing, the first 'q3'; they count as empty lists" in run.notes[0]


def test_arrays_hold_empty_lists() -> None:
    run = Run.from_arrays([[1.0], [], [2.0, 1.0]], query_ids=["p", "q", "r"], mask=[[False], [], [True, True]])
    assert (run.query_ids.to_list(), run.empty) == (["r"], ("p", "q"))
    assert "2 queries retrieved nothing, the first 'p'" in run.notes[0]


@pytest.mark.parametrize(
    ("given", "got"),
    [
        ({1.0: {"d": 1}}, "query id 1.0 is a float"),
        ({"q": {2.0: 1}}, "document id 2.0 is a float"),
        ({"q": {True: 1}}, "document id True is a bool"),
        ({"q": {None: 1}}, "document id None"),
        ({"q": {"d": "1"}}, "'1' is a str"),
        ({"q": {"d": None}}, "None is a NoneType"),
        ({"q": {"d": float("nan")}}, "score of document 'd' in query 'q' is nan"),
        ({"q": {"d": 10**400}}, "cannot be a number"),
        ({"q": {"": 1}}, "doc_id is empty"),
        ({"": {"d": 1}}, "query_id is empty"),
        ({"": {}, "q": {"d": 1}}, "query_id is empty"),
        ({"q": {7: 1, "7": 2}}, "twice"),
        ({7: {"d": 1}, "7": {"d": 2}}, "twice"),
        ({"q": [("d", 1), ("d", 1)]}, "twice"),
        ({"q": ["d1", ("d2", 1)]}, "must be a pair"),
        ({"q": ["d1", 1.5]}, "must be a pair"),
        ({"q": ["d1", "d1"]}, "twice"),
        ({"q": {"d"}}, "query 'q' has set"),
        ({"q": 3}, "query 'q' has int"),
        ({}, "no rows"),
        ([[{"corpus_id": 1, "score": 2}]], "dict\\(zip\\(query_ids, hits\\)\\)"),
        ({"a": {"test": NESTED}, "b": {"test": NESTED}}, r"several results \(a, b\)"),
    ],
)
def test_faults_in_dicts(given: Any, got: str) -> None:
    with pytest.raises(InputError, match=got):
        Run.from_dict(given)


@pytest.mark.parametrize(
    "scores",
    [np.array([[0.5, 0.7], [0.1, 0.2]]), [[0.5, 0.7], [0.1, 0.2]], [np.array([0.5, 0.7]), (0.1, 0.2)]],
    ids=["matrix", "lists", "mixed"],
)
def test_arrays(scores: Any) -> None:
    run = Run.from_arrays(scores)
    assert run.frame.rows() == [("0", "0", 0.5), ("0", "1", 0.7), ("1", "0", 0.1), ("1", "1", 0.2)]
    named = Run.from_arrays(scores, ["a", "b"], [10, 20])
    assert named.frame.select("query_id", "doc_id").rows() == [("10", "a"), ("10", "b"), ("20", "a"), ("20", "b")]
    each = Run.from_arrays(scores, np.array([[1, 2], [3, 4]]))
    assert each.frame["doc_id"].to_list() == ["1", "2", "3", "4"]


def test_ragged_lists_and_masks() -> None:
    assert Run.from_arrays([[1, 2], [3]], [["a", "b"], ["c"]]).offsets.tolist() == [0, 2, 3]
    run = Run.from_arrays([[1.0, np.nan], [3.0, 4.0]], mask=[[True, False], [True, True]])
    assert run.frame["score"].to_list() == [1.0, 3.0, 4.0]


def test_half_precision_keeps_its_values() -> None:
    ml_dtypes = pytest.importorskip("ml_dtypes")
    scores = np.array([[0.1, 0.7]])
    for dtype in (np.float16, np.float32, ml_dtypes.bfloat16):
        assert (
            Run.from_arrays(scores.astype(dtype)).frame["score"].to_list()
            == scores.astype(dtype)[0].astype(float).tolist()
        )


def test_tensors() -> None:
    torch = pytest.importorskip("torch")
    for dtype in (torch.float64, torch.bfloat16, torch.float16):
        scores = torch.tensor([[0.5, 0.75]], dtype=dtype, requires_grad=True)
        run = Run.from_arrays(scores, torch.tensor([[3, 4]]))
        assert run.frame.rows() == [("0", "3", 0.5), ("0", "4", 0.75)]
        assert Run.from_arrays([scores[0], scores[0, :1]]).offsets.tolist() == [0, 2, 3]


@pytest.mark.parametrize(
    ("arguments", "got"),
    [
        (([[1.0, np.nan]],), "score of document '1' in query '0' is nan"),
        (([1.0, 2.0],), "nest it once"),
        ((np.array([1.0, 2.0]),), "two-dimensional"),
        ((3.0,), "one list for each query"),
        (([["a", "b"]],), "must hold real numbers"),
        (([[1, 2]], None, ["a", "b"]), "2 ids for 1 lists"),
        (([[1, 2], [3]], ["a", "b"]), "shaped as the values"),
        (([[1, 2]], [["a"]]), "shaped as the values"),
        (([[1, 2]], [[1.0, 2.0]]), "strings or integers"),
        (([[1, 2]], ["a", "a"]), "twice"),
        (([[1]], None, ["a"]), None),
    ],
)
def test_faults_in_arrays(arguments: tuple[Any, ...], got: str | None) -> None:
    if got is None:
        assert Run.from_arrays(*arguments).query_ids.to_list() == ["a"]
        return
    with pytest.raises(InputError, match=got):
        Run.from_arrays(*arguments)


def test_a_mask_of_another_shape_is_refused() -> None:
    with pytest.raises(InputError, match="mask must be shaped"):
        Run.from_arrays([[1, 2]], mask=[[True]])


def test_a_run_is_frozen() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        Run.from_dict(NESTED).name = "other"  # type: ignore[misc]


def test_hashes_are_those_of_the_rows_however_the_run_was_made() -> None:
    run = Run.from_arrays([[0.3, 0.2, 0.1]] * 5, [["z", "y", "x"]] * 5)
    expected = (run.frame["doc_id"].hash(seed=0) // 2**32).to_list()
    assert run.doc_hashes.tolist() == expected
    half = dataclasses.replace(run, documents=run.documents[::2], offsets=np.array([0, 2, 3, 5, 6, 8]))
    assert half.doc_hashes.tolist() == expected[::2]


def test_a_pickled_run_makes_its_hashes_anew() -> None:
    run = Run.from_dict({"q": {"a": 2.0, "b": 1.0}})
    vars(run)["doc_hashes"] = ~run.doc_hashes  # as another version of polars may make them
    assert run.frame.height == 2
    assert "frame" not in run.__getstate__()
    again = pickle.loads(pickle.dumps(run))
    assert evaluate(again, Judgments.from_dict({"q": {"b": 1}}), "RR").expected.tolist() == [[0.5]]
    assert again.frame.equals(run.frame)


def test_the_frame_is_of_the_documents_that_replaced_others() -> None:
    run = Run.from_dict({"q": {"a": 2.0, "b": 1.0}})
    assert run.frame.height == 2
    shorter = dataclasses.replace(run, documents=run.documents[1:], offsets=np.array([0, 1]))
    assert shorter.frame.rows() == [("q", "b", 1.0)]


def test_nobody_makes_a_frame_of_seven_million_queries_to_measure_a_run() -> None:
    run = Run.read(BytesIO(b"".join(b"q%d Q0 d%d %d %d t\n" % (q, d, d, 9 - d) for q in range(9) for d in range(9))))
    other = dataclasses.replace(run, name="other")
    judgments = Judgments.from_dict({f"q{q}": {"d3": 1, "d7": 0, "x": 2} for q in range(9)})
    for order in ("docid-desc", "rank", "random"):
        evaluate(run, judgments, ["nDCG@5", "AP"], tie_order=order, tie_precision=4.0)
    evaluate(run, judgments, "RR", judged_only=True)
    compare([run, other], judgments, ["nDCG@5"], resamples=100)
    grade_unjudged(judgments, run, 0)
    assert "frame" not in vars(run)
    assert run.frame["query_id"].n_unique() == 9


def written(folder: pathlib.Path, name: str) -> str:
    path = folder / name
    path.parent.mkdir(exist_ok=True)
    path.write_text("q1 Q0 d1 1 2.0 t\nq1 Q0 d2 2 1.5 t\nq2 Q0 d1 1 0.5 t\n", encoding="utf-8")
    return str(path)


def test_several_runs_get_distinct_names(tmp_path: pathlib.Path) -> None:
    one, other, third = (written(tmp_path, name) for name in ("a/bm25.trec", "b/bm25.trec", "dense.run"))
    runs = Run.of_several([one, pathlib.Path(other), third, NESTED, RanxLike(), PAIRS, Run.from_dict(NESTED, name="x")])
    assert [run.name for run in runs] == [one, other, "dense", "run 4", "bm25", "run 6", "x"]
    assert all(run.frame.select("query_id", "doc_id", "score").rows() == ROWS for run in runs)


def test_one_run_without_a_name_is_run() -> None:
    assert [run.name for run in Run.of_several([NESTED, RanxLike()])] == ["run", "bm25"]


def test_a_dict_of_runs_names_them(tmp_path: pathlib.Path) -> None:
    path = written(tmp_path, "a.trec")
    runs = Run.of_several({"old": Run.from_dict(NESTED, name="x"), 2: path})
    assert [run.name for run in runs] == ["old", "2"]


@pytest.mark.parametrize("given", [Run.from_dict(NESTED), NESTED, "a.trec", 3, Run.from_dict(NESTED).frame])
def test_one_run_where_several_belong_is_refused(given: Any) -> None:
    with pytest.raises(InputError, match="must be a list, or a dict of runs by name"):
        Run.of_several(given)


def test_of_gives_a_run_back_and_can_rename_it() -> None:
    run = Run.from_dict(NESTED, name="x")
    assert Run.of(run) is run
    assert (Run.of(run, name="y").name, run.name) == ("y", "x")
    assert Run.of(RanxLike()).name == "bm25"
    assert Run.of(RanxLike(), name="y").name == "y"


def test_a_run_shows_itself_in_one_line() -> None:
    assert repr(Run.from_dict(NESTED, name="x")) == "<Run 'x': 2 queries, 3 documents, from builtins.dict>"
    assert repr(Judgments.from_dict({"q": {"d": 1}})) == "<Judgments: 1 queries, 1 documents, from builtins.dict>"


RUNS = [{"q": {"a": 1.0}}, {"q": {"a": 2.0}}]


@pytest.mark.parametrize(
    "given",
    [
        RUNS,
        tuple(RUNS),
        {"bm25": RUNS[0], "dense": RUNS[1]},
        [Run.from_dict(each) for each in RUNS],
        {str(at): Run.from_dict(each) for at, each in enumerate(RUNS)},
    ],
    ids=str,
)
def test_several_runs_in_place_of_one_are_sent_to_compare(given: object) -> None:
    with pytest.raises(
        InputError, match=r"Got 2 in a (list|tuple|dict).*trueval\.compare\(runs, judgments, measures\)"
    ):
        evaluate(given, {"q": {"a": 1}}, "RR")


def test_files_in_place_of_one_are_sent_to_compare_too(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "run.trec"
    path.write_text("q Q0 a 1 2 x\n", encoding="utf-8")
    with pytest.raises(InputError, match="Got 2 in a list"):
        evaluate([path, str(path)], {"q": {"a": 1}}, "RR")
    with pytest.raises(InputError, match="not a run"):
        evaluate(["q1", "q2"], {"q": {"a": 1}}, "RR")


class Retriever:
    """As those of LlamaIndex."""

    def retrieve(self, query: str) -> list[str]:
        return [query]


@pytest.mark.parametrize(("given", "asked"), [(Retriever(), "retrieve"), (len, "__call__")], ids=["object", "function"])
def test_a_retriever_is_not_its_run(given: object, asked: str) -> None:
    with pytest.raises(InputError, match=rf"what a retriever found, and not the retriever. Got \w+, which has {asked}"):
        evaluate(given, {"q": {"a": 1}}, "RR")
    with pytest.raises(InputError, match="and not the retriever"):
        compare([given, given], {"q": {"a": 1}}, "RR")
