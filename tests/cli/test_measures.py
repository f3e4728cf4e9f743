import json
from collections.abc import Callable

from tests.cli.conftest import Outcome

from trueval.measures import registry


def test_json_lists_every_registered_measure(trueval: Callable[..., Outcome]) -> None:
    status, out, _ = trueval("measures", "--format", "json")
    entries = json.loads(out)["measures"]
    assert status == 0
    assert [entry["name"] for entry in entries] == list(registry())
    for entry in entries:
        assert entry["better"] in ("higher", "lower")
        assert entry["cutoff"] in ("required", "optional", "none")
        assert all(entry[part].strip() for part in ("summary", "formula", "source"))
        assert all(set(parameter) == {"default", "accepts", "about"} for parameter in entry["parameters"].values())


def test_table_shows_the_same_in_eighty_columns(trueval: Callable[..., Outcome]) -> None:
    out = trueval("measures").out
    words = " ".join(out.split())
    for measure in registry().values():
        for part in (measure.name, measure.summary, measure.formula, measure.source, f"{measure.better} is better"):
            assert " ".join(part.split()) in words
    assert max(map(len, out.splitlines())) <= 80


def test_papers_are_named_where_a_source_calls_them_in_short(trueval: Callable[..., Outcome]) -> None:
    assert trueval("measures", "Hits").out.endswith("\nP-A: Yang et al. 2026, arXiv 2508.03306\n")
    both = trueval("measures").out
    assert "\nP-A: " in both
    assert "\nP-B: Dallaire 2025, arXiv 2511.09545\n" in both
    assert "arXiv" not in trueval("measures", "Success").out


def test_only_the_measures_that_are_named(trueval: Callable[..., Outcome]) -> None:
    out = trueval("measures", "AllGold", "RBP(p=0.5)@10", "--format", "json").out
    assert [entry["name"] for entry in json.loads(out)["measures"]] == ["AllGold", "RBP"]
    wrong = trueval("measures", "nDGC")
    assert wrong.status == 2
    assert "nDCG" in wrong.err
