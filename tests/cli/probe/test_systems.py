"""Systems of probes on the command line: none takes the place of another of its name."""

from __future__ import annotations

from pathlib import Path

import pytest

from trueval.cli.probe.join import CollectionSearchOptions
from trueval.cli.probe.noise import ProbeSystemOptions
from trueval.errors import PolicyError
from trueval.probes.probe_systems import systems


def test_two_systems_of_one_name_are_refused(tmp_path: Path) -> None:
    files = []
    for folder in ("one", "other"):
        (tmp_path / folder).mkdir()
        files.append(tmp_path / folder / "same.toml")
        files[-1].write_text('[sparse]\nindex = "bm25"\n', encoding="utf-8")
    with pytest.raises(PolicyError, match="two systems are called same"):
        CollectionSearchOptions(pipelines=files).settings("en")
    with pytest.raises(PolicyError, match="two systems are called same"):
        ProbeSystemOptions(pipelines=files).read_pipelines("en")
    assert list(CollectionSearchOptions(pipelines=files[:1], bm25=True).settings("en")) == ["bm25", "same"]


def test_systems_are_called_by_the_name_of_a_model_and_not_by_its_folders() -> None:
    found = systems(["/home/me/model@8"], "flat", language="en", bm25=False, hybrid=True)
    assert [each.name for each in found] == ["model@8", "model@8 + bm25"]
    assert found[0].settings["embed"]["model"] == "/home/me/model"
