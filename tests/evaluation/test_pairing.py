"""A run and judgments that do not belong together are refused, and so are those in the wrong order."""

import json
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import trueval as tv
from trueval.errors import InputError, TruevalWarning
from trueval.retrieval.exhaustive import Embeddings, evaluate_corpus

GRADES = {"q1": {"a": 1, "b": 0}, "q2": {"b": 1}}
STRANGE = {"x1": {"a": 0.9, "b": 0.3}, "x2": {"b": 0.5}}


def quietly(call: Callable[..., Any], *arguments: Any, **choices: Any) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", TruevalWarning)
        return call(*arguments, **choices)


@pytest.mark.parametrize("missing", ["worst", "skip"])
@pytest.mark.parametrize(
    "call",
    [
        lambda **choices: tv.evaluate(STRANGE, GRADES, "AP", **choices),
        lambda **choices: tv.compare({"a": STRANGE, "b": STRANGE}, GRADES, "AP", **choices),
        lambda **choices: tv.power({"a": STRANGE, "b": STRANGE}, GRADES, "AP", **choices),
        lambda **choices: tv.explain(STRANGE, GRADES, "AP", **choices),
        lambda **choices: evaluate_corpus(
            Embeddings(np.eye(2), np.eye(2), ["x1", "x2"], ["a", "b"], scoring="product"), GRADES, "AP", **choices
        ),
    ],
    ids=["evaluate", "compare", "power", "explain", "corpus"],
)
def test_a_run_of_which_no_query_is_judged_is_refused_with_the_ids_of_both(
    call: Callable[..., Any], missing: str
) -> None:
    with pytest.raises(InputError, match="no query of the run is judged") as refused:
        call(missing=missing)
    assert "'x1', 'x2' in the run" in str(refused.value)
    assert "'q1', 'q2' in the judgments" in str(refused.value)


def test_of_more_ids_three_are_shown_and_that_there_are_more() -> None:
    run = {f"x{number}": {"a": 1.0} for number in range(4)}
    with pytest.raises(InputError, match=r"Queries look like 'x0', 'x1', 'x2', \.\.\. in the run and 'q1', 'q2' in"):
        tv.evaluate(run, GRADES, "AP")


def test_one_query_in_common_is_enough() -> None:
    found = quietly(tv.evaluate, {**STRANGE, "q2": {"b": 1.0}}, GRADES, "AP")
    assert "run: without judgments and left out: 2 queries, 'x1', 'x2'." in found.notes
    assert found["AP"].expected == 0.5


@pytest.mark.parametrize("swap", [False, True])
def test_questions_in_place_of_ids_are_named_as_such(swap: bool) -> None:
    sides: list[dict[str, dict[str, float]]] = [
        {"what is a reciprocal rank?": {"a": 1.0}, "who wrote it?": {"a": 1.0}},
        {"q1": {"a": 1}},
    ]
    run, judgments = sides[::-1] if swap else sides
    with pytest.raises(InputError, match="the texts of queries") as refused:
        tv.evaluate(tv.Run.from_dict(run), tv.Judgments.from_dict(judgments), "AP")
    assert "'what is a reciprocal rank?'" in str(refused.value)
    assert "'q1'" in str(refused.value)


def many(seed: int = 0, queries: int = 5, documents: int = 8) -> tuple[dict[str, Any], dict[str, Any]]:
    """Scores of many values, and grades of which half are 0."""
    rng = np.random.default_rng(seed)
    ids = [f"d{at}" for at in range(documents)]
    run = {f"q{at}": dict(zip(ids, rng.random(documents).tolist(), strict=True)) for at in range(queries)}
    grades = {query: dict(zip(ids, rng.integers(0, 3, documents).tolist(), strict=True)) for query in run}
    return run, grades


def test_swapped_dicts_are_refused() -> None:
    run, grades = many()
    assert quietly(tv.evaluate, run, grades, "nDCG")["nDCG"].queries == 5
    with pytest.raises(InputError, match="evaluate takes a run, then judgments"):
        tv.evaluate(grades, run, "nDCG")
    with pytest.raises(InputError, match="evaluate takes a run, then judgments"):
        tv.evaluate(grades, {"q0": {"d0": -3.5, "d1": -7.25}}, "nDCG")  # no grade is below 0 by parts


def test_swapped_files_of_dicts_are_refused(tmp_path: Path) -> None:
    run, grades = many()
    for name, held in (("run", run), ("qrels", grades)):
        (tmp_path / f"{name}.json").write_text(json.dumps(held), encoding="utf-8")
    with pytest.raises(InputError, match="evaluate takes a run, then judgments"):
        tv.evaluate(tmp_path / "qrels.json", tmp_path / "run.json", "nDCG")


def test_what_may_be_swapped_is_told_and_whoever_says_which_is_which_is_believed() -> None:
    """Grades between whole numbers beside whole scores, as of a judge that grades 0 to 5: either may be either."""
    run, grades = {"q": {"a": 1, "b": 0, "c": 1}}, {"q": {"a": 0.5, "b": 0.25, "c": 1}}
    with pytest.warns(TruevalWarning, match="evaluate takes the run first, then the judgments"):
        tv.evaluate(run, grades, "nDCG")
    scores, whole = many()
    for swapped, judged in ((run, grades), (whole, scores)):
        found = quietly(tv.evaluate, tv.Run.from_dict(swapped), tv.Judgments.from_dict(judged), "nDCG")
        assert not any("then the judgments" in note for note in found.notes)


@pytest.mark.parametrize("run_says", [True, False])
def test_one_side_in_a_format_that_says_what_it_is_is_enough(tmp_path: Path, run_says: bool) -> None:
    files = {
        "run.trec": "q Q0 a 1 1 r\nq Q0 b 2 0 r\n",
        "run.json": '{"q": {"a": 1, "b": 0}}',
        "qrels.trec": "q 0 a 0.5\nq 0 b 1\n",
        "qrels.json": '{"q": {"a": 0.5, "b": 1}}',
    }
    for name, text in files.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    pair = ("run.trec", "qrels.json") if run_says else ("run.json", "qrels.trec")
    found = quietly(tv.evaluate, *(tmp_path / name for name in pair), "nDCG")
    assert not any("then the judgments" in note for note in found.notes)
    either = quietly(tv.evaluate, tmp_path / "run.json", tmp_path / "qrels.json", "nDCG")
    assert any("then the judgments" in note for note in either.notes)


@pytest.mark.parametrize(("junk", "told"), [(-2, True), (-3, False)])
def test_grades_begin_with_the_junk_of_trec(junk: int, told: bool) -> None:
    found = quietly(tv.evaluate, {"q": {"a": 1, "b": junk}}, {"q": {"a": 0.5, "b": 1}}, "nDCG")
    assert any("then the judgments" in note for note in found.notes) is told


@pytest.mark.parametrize("grade", [1, 0.5])
def test_nothing_is_told_of_what_cannot_be_swapped(grade: float) -> None:
    """The scores are no grades; or the grades are whole and few."""
    found = quietly(tv.evaluate, {"q": {"a": 12.5, "b": 3.25}}, {"q": {"a": grade, "b": 0}}, "nDCG")
    assert not any("then the judgments" in note for note in found.notes)
    assert not quietly(tv.evaluate, {"q": {"a": 2, "b": 1}}, {"q": {"a": 1, "b": 0}}, "nDCG").notes
