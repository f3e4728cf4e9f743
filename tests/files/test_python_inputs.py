"""Whatever people hold, as evaluate and compare take it."""

from __future__ import annotations

import io
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import polars as pl
import pytest

from trueval import Judgments, Run, compare, evaluate, explain
from trueval.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable

ROWS = [("q1", "d1", 2.0), ("q1", "d2", 1.5), ("q2", "d1", 0.5)]
NESTED = {"q1": {"d1": 2.0, "d2": 1.5}, "q2": {"d1": 0.5}}
GRADES = [("q1", "d2", 1.0), ("q2", "d1", 2.0)]
TREC = "q1 Q0 d1 1 2.0 t\nq1 Q0 d2 2 1.5 t\nq2 Q0 d1 1 0.5 t\n"
COLUMNS = ("query_id", "doc_id", "score")


class ScoredDoc(NamedTuple):
    """As ir_measures has it."""

    query_id: str
    doc_id: str
    score: float


class Qrel(NamedTuple):
    """As ir_measures has it, with a field more than a triple."""

    query_id: str
    doc_id: str
    relevance: int
    iteration: str = "0"


class Dataset:
    """As datasets.Dataset: columns by name."""

    def to_dict(self) -> dict[str, list[Any]]:
        return frame().to_dict(as_series=False)


def frame(columns: tuple[str, ...] = COLUMNS) -> pl.DataFrame:
    return pl.DataFrame(ROWS, schema=columns, orient="row")


def of_ranx() -> Any:
    return pytest.importorskip("ranx").Run(NESTED)


GIVEN: dict[str, Callable[[], Any]] = {
    "run": lambda: Run.from_dict(NESTED),
    "dict": lambda: NESTED,
    "pairs": lambda: {"q1": [("d1", 2.0), ("d2", 1.5)], "q2": [("d1", 0.5)]},
    "triples": lambda: ROWS,
    "lists": lambda: [list(row) for row in ROWS],
    "generator": lambda: (row for row in ROWS),
    "named tuples": lambda: [ScoredDoc(*row) for row in ROWS],
    "records": lambda: [dict(zip(("qid", "docno", "score"), row, strict=True)) for row in ROWS],
    "polars": frame,
    "lazy": lambda: frame().lazy(),
    "pyarrow": lambda: frame().to_arrow(),
    "pandas": lambda: pytest.importorskip("pandas").DataFrame(ROWS, columns=["qid", "docno", "sim"]),
    "columns": lambda: dict(zip(("query-id", "corpus-id", "score"), map(list, zip(*ROWS, strict=True)), strict=True)),
    "dataset": Dataset,
    "ranx": of_ranx,
    "open file": lambda: io.StringIO(TREC),
    "log": lambda: [
        {"question": "q1", "retrieved": [["d1", 2.0], ["d2", 1.5]]},
        {"question": "q2", "retrieved": [["d1", 0.5]]},
    ],
}


@pytest.mark.slow
@pytest.mark.parametrize("given", GIVEN.values(), ids=GIVEN.keys())
def test_a_run_is_read_from_whatever_holds_it(given: Callable[[], Any]) -> None:
    assert Run.of(given()).frame.select("query_id", "doc_id", "score").rows() == ROWS


@pytest.mark.parametrize(
    "given",
    [
        Judgments.from_dict({"q1": {"d2": 1}, "q2": {"d1": 2}}),
        {"q1": {"d2": 1}, "q2": {"d1": 2}},
        GRADES,
        [Qrel(*row) for row in GRADES],  # type: ignore[arg-type]
        [{"query_id": q, "doc_id": d, "relevance": g} for q, d, g in GRADES],
        pl.DataFrame(GRADES, schema=["query_id", "doc_id", "grade"], orient="row"),
        [{"question": "q1", "relevant_ids": ["d2"]}, {"question": "q2", "relevant_ids": {"d1": 2}}],
    ],
)
def test_judgments_are_read_from_whatever_holds_them(given: Any) -> None:
    assert Judgments.of(given).frame.rows() == GRADES


@pytest.mark.slow
def test_ranx_judgments() -> None:
    ranx = pytest.importorskip("ranx")
    assert sorted(Judgments.of(ranx.Qrels({"q1": {"d2": 1}, "q2": {"d1": 2}})).frame.rows()) == GRADES


def test_paths_are_read_and_name_the_run(tmp_path: Path) -> None:
    path = tmp_path / "bm25.trec"
    path.write_text(TREC, encoding="utf-8")
    for given in (path, str(path)):
        assert (Run.of(given).name, Run.of(given, name="x").name) == ("bm25", "x")
        assert Run.of(given).frame.select(COLUMNS).rows() == ROWS


def test_a_frame_of_a_log_is_read_as_its_rows() -> None:
    columns = {
        "user_input": ["q1", "q2"],
        "retrieved_context_ids": [["d1", "d2"], ["d1"]],
        "reference_context_ids": [["d2"], []],
    }
    given = pl.DataFrame(columns)
    pandas = pytest.importorskip("pandas")
    for each in (given, given.lazy(), given.to_arrow(), pandas.DataFrame(columns)):
        assert Run.of(each).frame.rows() == [("q1", "d1", -1.0), ("q1", "d2", -2.0), ("q2", "d1", -1.0)]
        assert Judgments.of(each).frame.rows() == [("q1", "d2", 1.0)]


def test_a_frame_with_unlucky_columns_is_a_frame() -> None:
    pandas = pytest.importorskip("pandas")
    given = pandas.DataFrame([(*row, 1, 2) for row in ROWS], columns=[*COLUMNS, "query_ids", "read"])
    assert Run.of(given).frame.rows() == ROWS


def test_queries_with_names_of_columns_stay_queries() -> None:
    grades = {"q": ["a"], "d": ["b"], "topic": ["c"]}
    assert Judgments.of(grades).frame.rows() == [("q", "a", 1.0), ("d", "b", 1.0), ("topic", "c", 1.0)]
    uneven = {"q": ["a"], "d": ["b"], "label": ["c", "d"]}
    assert Judgments.of(uneven).query_ids.to_list() == ["q", "d", "label"]


@pytest.mark.slow
def test_a_ranx_run_keeps_its_name() -> None:
    run = of_ranx()
    run.name = "monoT5"
    assert Run.of(run).name == "monoT5"


@pytest.mark.parametrize("noun", [Run, Judgments])
@pytest.mark.parametrize(
    ("given", "got"),
    [
        (3, "Got int '3'"),
        (None, "Got NoneType"),
        ([], "Got list"),
        ([1, 2], "Got list"),
        (b"q1 Q0 d1", "Got bytes"),
        (np.zeros((2, 3)), "evaluate_arrays"),
        (["q1 d1"], "Got list"),
    ],
)
def test_what_cannot_be_read_names_the_constructors(noun: Any, given: Any, got: str) -> None:
    with pytest.raises(InputError, match=got) as caught:
        noun.of(given)
    assert all(
        f"{noun.__name__}.{way}" in str(caught.value) for way in ("read", "from_dict", "from_frame", "from_arrays")
    )


@pytest.mark.parametrize(
    ("given", "got"),
    [
        ([("q", "d", 1.0), ("q", "e")], "scores: row 2: .* must be a triple"),
        ([("q", "d", "1")], "score '1' is a str"),
        ([("q", 1.5, 1.0)], "document id 1.5 is a float"),
        ([("q", "d", 1.0), ("q", "d", 2.0)], "row 2: document 'd' is in query 'q' twice"),
        ([("q", "d", float("nan"))], "row 1: the score of document 'd' in query 'q' is nan"),
        ("no/such/file.trec", "no such file"),
        ([{"query_id": "q", "score": 1.0}], "no column for the doc_id"),
        (Judgments.from_dict({"q": {"d": 1}}), "Got trueval.Judgments"),
    ],
)
def test_faults_in_what_is_given(given: Any, got: str) -> None:
    with pytest.raises(InputError, match=got):
        Run.of(given)


def test_evaluate_compare_and_explain_take_them_all() -> None:
    judgments = {"q1": {"d2": 1}, "q2": {"d1": 1}}
    assert evaluate(ROWS, judgments, "RR")["RR"].expected == 0.75
    assert explain(frame(), judgments, "RR").ours.expected == 0.75
    found = compare([NESTED, {"q1": ["d2"], "q2": ["d1"]}], judgments, "RR", resamples=100)
    assert found.runs == ("run 1", "run 2")
    assert found.differences[0].expected == -0.25
    named = compare({"old": ROWS, "new": NESTED}, judgments, "RR", baseline="old", resamples=100)
    assert named.baseline == "old"


def test_swapped_arguments_are_told() -> None:
    run, judgments = Run.from_dict(NESTED), Judgments.from_dict({"q1": {"d2": 1}})
    for first, second in ((judgments, run), (judgments, judgments), (run, run)):
        with pytest.raises(InputError, match="evaluate takes a run, then judgments"):
            evaluate(first, second, "RR")
