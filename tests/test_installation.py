"""What an installation says of itself, against metadata that tests make."""

from __future__ import annotations

from email.message import Message
from importlib import metadata
from types import SimpleNamespace
from typing import Any

import pytest

from trueval import installation
from trueval.errors import InputError
from trueval.installation import Library, read_installation

NEEDED = [
    "numpy>=1.26",
    'alpha>=2.1; extra == "models"',
    "beta[all]==1.0.0; extra == 'models'",
    'gamma<3,>=1.2; extra == "judge"',
    'trueval[judge,models]; extra == "demo"',
    'delta; extra == "demo"',
    'past>=1; python_version < "3" and extra == "demo"',
    'pytest>=8; extra == "dev"',
]


@pytest.fixture
def installed(monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """Versions that are installed, which a test changes."""
    found = {"alpha": "2.10", "beta": "1.0.0", "gamma": "1.2.1", "delta": "0.1"}
    about = Message()
    for name in ("models", "judge", "demo", "dev"):
        about["Provides-Extra"] = name

    def version(name: str) -> str:
        if name not in found:
            raise metadata.PackageNotFoundError(name)
        return found[name]

    monkeypatch.setattr(installation.metadata, "metadata", lambda _: about)
    monkeypatch.setattr(installation.metadata, "requires", lambda _: NEEDED)
    monkeypatch.setattr(installation.metadata, "version", version)
    monkeypatch.setattr(installation, "versions", lambda: {"trueval": "0"})
    monkeypatch.setattr(installation, "minilm_folder", lambda: None)
    return found


def test_extras_hold_the_libraries_of_those_within(installed: dict[str, str]) -> None:
    found = read_installation()
    assert {each.name: [library.name for library in each.libraries] for each in found.extras} == {
        "models": ["alpha", "beta"],
        "judge": ["gamma"],
        "demo": ["gamma", "alpha", "beta", "delta"],
    }
    assert not any(each.lacks for each in found.extras)
    assert found.problems == ()


def test_what_is_missing_is_no_fault_and_what_is_too_old_is(installed: dict[str, str]) -> None:
    del installed["delta"]
    installed["alpha"] = "2.0.9"
    found = read_installation()
    assert {each.name: [library.name for library in each.lacks] for each in found.extras} == {
        "models": ["alpha"],
        "judge": [],
        "demo": ["alpha", "delta"],
    }
    assert found.problems == ('alpha 2.0.9 is installed, and >=2.1 is needed: pip install "alpha>=2.1"',)
    said = found.to_dict()
    assert [each["complete"] for each in said["extras"]] == [False, True, False]


@pytest.mark.parametrize(
    ("wanted", "found", "fits"),
    [
        (">=2.6", "2.13.0+cpu", True),
        (">=2.6", "2.5.9", False),
        (">=2", "2.0rc1", False),  # what comes before a release is older
        (">=2.9", "2.10", True),
        ("==1.0.0", "1.0", True),
        (">=1.2", "1.2.3.post1", True),
        ("==1.0.0", "1.0.0", True),
        ("==1.0.0", "1.0.1", False),
        (">=1.2,<3", "2.9", True),
        (">=1.2,<3", "3.0", False),
        ("~=1.4", "1.4.2", True),
        ("~=1.4", "2.0", False),
        ("!=1.5", "1.5", False),
        ("", "0.0.1", True),
        ("", None, False),
    ],
)
def test_versions_that_fit(wanted: str, found: str | None, fits: bool) -> None:
    assert Library("alpha", wanted, found).fits is fits


def test_a_plugin_that_cannot_be_loaded_is_named_with_its_package(
    installed: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken() -> Any:
        raise ImportError("no module named lost")

    points = [
        SimpleNamespace(name="good", dist=SimpleNamespace(name="helpful"), load=lambda: None),
        SimpleNamespace(name="bad", dist=SimpleNamespace(name="broken-package"), load=broken),
        SimpleNamespace(name="ours", dist=SimpleNamespace(name="trueval"), load=broken),
    ]
    monkeypatch.setattr(installation.metadata, "entry_points", lambda group: points if group == "trueval.kinds" else [])
    found = read_installation()
    assert [(each.name, bool(each.error)) for each in found.plugins] == [("good", False), ("bad", True)]
    (problem,) = found.problems
    assert "trueval.kinds bad cannot be loaded: ImportError: no module named lost" in problem
    assert "uninstall broken-package" in problem


def test_without_a_package_the_extras_are_not_known(monkeypatch: pytest.MonkeyPatch) -> None:
    def lost(_: str) -> Any:
        raise metadata.PackageNotFoundError("trueval")

    monkeypatch.setattr(installation.metadata, "metadata", lost)
    monkeypatch.setattr(installation, "minilm_folder", lambda: None)
    found = read_installation()
    assert found.extras == ()
    assert any("not installed as a package" in each for each in found.problems)


def test_other_weights_are_a_problem_and_no_end(installed: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    def other() -> Any:
        raise InputError("model.safetensors is not the hub's")

    monkeypatch.setattr(installation, "minilm_folder", other)
    found = read_installation()
    assert (found.models, found.problems) == ((), ("model.safetensors is not the hub's",))
