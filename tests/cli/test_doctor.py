"""`trueval doctor`: what it prints is what the library finds, and what is broken changes its exit status."""

import json
from dataclasses import replace

import pytest

from trueval import installation


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(installation, "minilm_folder", lambda: None)  # its hash takes a second


def test_it_says_what_is_there_and_how_to_get_the_rest(trueval, monkeypatch: pytest.MonkeyPatch) -> None:
    library = installation.Library("alpha", ">=2", None)
    known = replace(
        installation.read_installation(), extras=(installation.Extra("models", (library,)),), problems=(), plugins=()
    )
    monkeypatch.setattr(installation, "read_installation", lambda: known)
    done = trueval("doctor", columns=120)
    assert done.status == 0, done.err
    assert 'lacks alpha: pip install "trueval[models]"' in done.out
    assert known.system in done.out
    assert json.loads(trueval("doctor", "--format", "json").out) == json.loads(json.dumps(known.to_dict()))


def test_what_is_broken_is_told_and_fails(trueval, monkeypatch: pytest.MonkeyPatch) -> None:
    known = replace(installation.read_installation(), problems=("alpha 1 is installed, and >=2 is needed",))
    monkeypatch.setattr(installation, "read_installation", lambda: known)
    done = trueval("doctor", columns=120)
    assert done.status == 1
    assert "alpha 1 is installed, and >=2 is needed" in done.err
