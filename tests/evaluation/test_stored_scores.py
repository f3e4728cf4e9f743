"""Scores read back from what `trueval evaluate --out` writes."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import trueval as tv
from trueval.errors import InputError, PolicyError
from trueval.evaluation.scores import STATISTICS, Scores, results
from trueval.evaluation.stored_scores import is_stored, read_runs, read_stored
from trueval.policy.conventions import CONVENTIONS
from trueval.policy.policy import Policy

JUDGMENTS = tv.Judgments.from_dict({"q1": {"a": 1, "b": 0}, "q2": {"b": 1}, "q3": {"z": 0}})
LISTS = {"q1": {"a": 1 / 3, "b": 1 / 3, "c": 0.1}, "q2": {"a": 2.0, "b": 1.0, "c": 1.0}, "q3": {"a": 1.0}}

pytestmark = pytest.mark.filterwarnings("ignore::trueval.errors.TruevalWarning")


def scores(name: str = "run", **choices: Any) -> Scores:
    return tv.evaluate(tv.Run.from_dict(LISTS, name=name), JUDGMENTS, "nDCG@10 RR(rel=1) AllGold@2", **choices)


def write(folder: Path, *runs: Scores, in_details: bool = False) -> Path:
    """As --out does: the values of queries in results.json with --per-query, else in details.json."""
    folder.mkdir(exist_ok=True)
    held = results(runs, per_query=not in_details, content=True)
    (folder / "results.json").write_text(json.dumps(held), encoding="utf-8")
    if in_details:
        rows = [{"name": run.name, "per_query": run.to_polars().to_dicts()} for run in runs]
        (folder / "details.json").write_text(json.dumps({"runs": rows}), encoding="utf-8")
    return folder


@pytest.mark.parametrize("in_details", [False, True])
def test_scores_come_back_to_the_last_bit(tmp_path: Path, in_details: bool) -> None:
    made = scores(tie_precision=0.25)
    found = read_stored(str(write(tmp_path / "old", made, in_details=in_details)))
    assert found.name == f"{tmp_path / 'old'}#run"
    for name in STATISTICS:
        np.testing.assert_array_equal(getattr(found, name), getattr(made, name))
    same = ("query_ids", "measures", "exact", "missing_queries", "unjudged_queries", "policy", "ties")
    assert all(getattr(found, name) == getattr(made, name) for name in same)
    assert found.content is not None
    assert made.content is not None
    assert found.content.all == made.content.all


def test_a_folder_of_several_runs_needs_a_name(tmp_path: Path) -> None:
    folder = str(write(tmp_path / "old", scores("one"), scores("two")))
    assert set(read_runs(Path(folder))) == {"one", "two"}
    assert read_stored(folder, alike="two").name == f"{folder}#two"
    assert read_stored(f"{folder}#one").name == f"{folder}#one"
    assert is_stored(folder)
    assert is_stored(f"{folder}#one")
    assert not is_stored("old.trec")
    with pytest.raises(InputError, match=r"it holds several runs. Name one of .*#one, .*#two"):
        read_stored(folder)
    with pytest.raises(InputError, match=r"no run 'tow' in it. Did you mean two"):
        read_stored(f"{folder}#tow")


def test_what_is_not_the_result_of_an_evaluation_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"results.json: no such file. `trueval evaluate --out` writes it"):
        read_runs(tmp_path)
    place = tmp_path / "results.json"
    for text, said in (
        ("{", "not JSON"),
        ("[]", "not the results of an evaluation"),
        ('{"kind": "compare", "format": 2}', "kind compare, format 2. It must be of kind evaluate"),
        ('{"kind": "evaluate", "format": 99}', "format 99"),
        (
            '{"kind": "evaluate", "format": 2}',
            r"not those of a result .* near results.json#/policy \(KeyError: 'policy'",
        ),
        ('{"kind": "evaluate", "format": 2, "policy": {}, "runs": []}', "no run in it"),
    ):
        place.write_text(text, encoding="utf-8")
        with pytest.raises(InputError, match=said):
            read_runs(tmp_path)


def test_means_alone_are_not_enough(tmp_path: Path) -> None:
    folder = write(tmp_path / "old", scores(), in_details=True)
    (folder / "details.json").unlink()
    with pytest.raises(InputError, match=r"the values of its queries are not all there. Write them with --out"):
        read_runs(folder)


def test_a_run_without_a_measure_is_refused(tmp_path: Path) -> None:
    place = write(tmp_path / "old", scores()) / "results.json"
    held = json.loads(place.read_text(encoding="utf-8"))
    held["runs"][0] |= {"measures": {}, "queries": 3}
    place.write_text(json.dumps(held), encoding="utf-8")
    with pytest.raises(InputError, match=r"not those of a result .* near results.json#"):
        read_runs(place.parent)


@pytest.mark.parametrize("name", [None, *CONVENTIONS])
def test_a_policy_comes_back_from_its_dict(name: str | None) -> None:
    policy = tv.convention(name, rel=2)
    again = Policy.from_dict(json.loads(json.dumps(policy.to_dict())))
    assert again.to_dict() == policy.to_dict()
    assert all(again.of(measure) == policy.of(measure) for measure in ("nDCG", "RR", "AP", "P", "IPrec", "bpref"))


def test_a_choice_that_is_not_known_is_refused() -> None:
    with pytest.raises(PolicyError, match=r"Unknown choice 'rell'. Did you mean rel?"):
        Policy.from_dict({"rell": 1})
