"""Measures that other packages bring by entry points `trueval.measures`."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from itertools import permutations
from pathlib import Path

import numpy as np
import pytest

from trueval.errors import MeasureError
from trueval.evaluation.arrays import evaluate_arrays
from trueval.measures import measure as measures
from trueval.measures import parse, registry

PLUGIN = Path(__file__).parents[1] / "plugin"


@pytest.fixture(autouse=True)
def own_registry(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a test registers is gone after it, and no plugin has been looked for."""
    monkeypatch.setattr(measures, "_REGISTRY", dict(registry()))
    monkeypatch.setattr(measures, "_plugins", measures.cache(measures._plugins.__wrapped__))


def install(folder: Path, entry: str) -> Path:
    """A distribution of one entry point."""
    info = folder / "other_plugin-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: other-plugin\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(f"[trueval.measures]\n{entry}\n")
    return folder


def test_a_plugin_is_parsed_and_evaluated(monkeypatch: pytest.MonkeyPatch) -> None:
    """Grades 2, 1, 0 tied: over all orders, each relevant document is worth 1, 2/3 or 1/3."""
    with pytest.raises(MeasureError, match="Unknown measure 'Ladder'"):
        parse("Ladder@3")
    measures._plugins.cache_clear()
    monkeypatch.syspath_prepend(str(PLUGIN))
    assert str(parse("Ladder(rel=2)@3")) == "Ladder(rel=2)@3"
    found = evaluate_arrays([[1.0, 1.0, 1.0]], [[2, 1, 0]], ["Ladder@3", "Ladder(rel=2)@3"])
    orders = list(permutations((2, 1, 0)))
    for column, rel in enumerate((1, 2)):
        values = [sum((grade >= rel) * (1 - place / 3) for place, grade in enumerate(order)) for order in orders]
        wanted = (np.mean(values), min(values), max(values), np.std(values))
        assert [getattr(found, name)[0, column] for name in ("expected", "lowest", "highest", "sd")] == pytest.approx(
            wanted
        )


def test_a_plugin_is_listed() -> None:
    path = os.pathsep.join([str(PLUGIN), *filter(None, [os.environ.get("PYTHONPATH")])])
    command = [sys.executable, "-m", "trueval", "measures", "--format", "json"]
    for names in ([], ["Ladder"]):
        output = subprocess.run(
            [*command, *names], env={**os.environ, "PYTHONPATH": path}, capture_output=True, check=True
        ).stdout
        assert json.loads(output)["measures"][-1]["name"] == "Ladder"


def test_a_module_may_register_several(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "two_measures.py").write_text(
        "from trueval.measures import P, register\n"
        "for name in ('P-one', 'P-two'):\n"
        "    register(P.definition._replace(name=name))\n"
    )
    monkeypatch.syspath_prepend(str(install(tmp_path, "two = two_measures")))
    assert list(registry())[-2:] == ["P-one", "P-two"]
    assert list(registry())[-2:] == ["P-one", "P-two"]


@pytest.mark.parametrize(
    ("entry", "because"),
    [
        ("a = nowhere_at_all:A", "No module named 'nowhere_at_all'"),
        ("a = json:nothing", "no attribute 'nothing'"),
        ("a = math:pi", "a Definition, a Measure or a module. Got float"),
        ("a = trueval.measures.success:Success.definition", "The name Success is taken"),
    ],
)
def test_a_plugin_that_fails_says_so(entry: str, because: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """For every listing and unknown name, and for no other."""
    monkeypatch.syspath_prepend(str(install(tmp_path, entry)))
    assert parse("nDCG@10").cutoff == 10
    for asked in (registry, registry, lambda: parse("Ladder@3")):
        with pytest.raises(MeasureError, match=f"plugin {entry}.*{because}.*remove the package.*other-plugin"):
            asked()
