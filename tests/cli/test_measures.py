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


def test_only_the_measures_that_are_named(trueval: Callable[..., Outcome]) -> None:
    out = trueval("measures", "AllGold", "RBP(p=0.5)@10", "--format", "json").out
    assert [entry["name"] for entry in json.loads(out)["measures"]] == ["AllGold", "RBP"]
    wrong = trueval("measures", "nDGC")
    assert wrong.status == 2
    assert "nDCG" in wrong.err
