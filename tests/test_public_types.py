"""What is public says its types: no signature of the public face, of roles, or of what verbs return has `Any` in it."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator, Mapping
from importlib import import_module

import pytest
from tests.test_floors import MODULES

import trueval

ROLES = {
    "Embedder": "trueval.models.embedder",
    "Reranker": "trueval.models.reranker",
    "Generator": "trueval.models.generator",
    "Index": "trueval.retrieval.indexes.index",
    "Retriever": "trueval.retrieval.live.retriever",
    "Judge": "trueval.golden.judge.judge",
    "Executor": "trueval.threads",
}
CLASSES = {
    name: module
    for module, path in MODULES.items()
    for name in re.findall(r"^class ([A-Z]\w*)", path.read_text(encoding="utf-8"), re.MULTILINE)
}


def annotations(owner: object, name: str) -> Iterator[tuple[str, Mapping[str, object]]]:
    """The types of a function; or of the fields and the public methods of a class and of those of ours it stands on."""
    if not isinstance(owner, type):
        yield name, inspect.get_annotations(owner) if inspect.isfunction(owner) else {}  # a number, a module of errors
        return
    for base in (base for base in owner.__mro__ if base.__module__.partition(".")[0] == "trueval"):
        fields = inspect.get_annotations(base).items()
        yield base.__name__, {field: kind for field, kind in fields if not field.startswith("_")}
        for attribute, held in vars(base).items():
            function = getattr(held, "__func__", None) or getattr(held, "fget", None) or getattr(held, "func", held)
            if inspect.isfunction(function) and not attribute.startswith("_"):
                yield f"{base.__name__}.{attribute}", inspect.get_annotations(function)


def vague(owner: object, name: str) -> list[str]:
    return [
        f"{where}: {argument}: {kind}"
        for where, kinds in annotations(owner, name)
        for argument, kind in kinds.items()
        if re.search(r"\bAny\b", str(kind))
    ]


@pytest.mark.parametrize("name", trueval.__all__)
def test_what_is_public_says_its_types(name: str) -> None:
    assert not vague(getattr(trueval, name), name)


@pytest.mark.parametrize("name", ROLES)
def test_roles_say_their_types(name: str) -> None:
    assert not vague(getattr(import_module(ROLES[name]), name), name)


@pytest.mark.parametrize("name", trueval.__all__)
def test_methods_of_what_verbs_return_say_their_types(name: str) -> None:
    verb = getattr(trueval, name)
    if not inspect.isfunction(verb):
        return
    for word in re.findall(r"\w+", str(inspect.get_annotations(verb)["return"])):
        if word in CLASSES:
            owner = getattr(import_module(CLASSES[word]), word)
            assert not [each for each in vague(owner, word) if "." in each.partition(":")[0]]


def test_a_signature_with_any_is_found() -> None:
    assert vague(test_a_signature_with_any_is_found, "this") == []
    one = type("One", (), {"__annotations__": {"about": "Mapping[str, Any]"}, "__module__": "trueval.one"})
    assert vague(one, "One") == ["One: about: Mapping[str, Any]"]
