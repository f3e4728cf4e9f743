"""Objects of Python as retrievers: each is called as its own package calls it."""

from types import SimpleNamespace
from typing import Any

import pytest

from trueval.errors import InputError, PolicyError
from trueval.models.hosted.failures import CallError, FailureKind
from trueval.retrieval.live.live_spec import open_live
from trueval.retrieval.live.retriever import of_object


class Ours:
    """The role itself."""

    def retrieve(self, text: str, k: int) -> list[tuple[str, float]]:
        return [(text, k)]


class VectorStoreRetriever:
    """Of LangChain: passes what else it is given on to its store."""

    search_kwargs: dict[str, Any] = {"k": 4}  # noqa: RUF012

    def invoke(self, input: str, config: object = None, **kwargs: Any) -> object:
        assert config is None
        return [(input, kwargs["k"])]


class Runnable:
    """Of LangChain: fails on an argument that it does not know."""

    def invoke(self, input: str, config: object = None, **kwargs: Any) -> object:
        assert not kwargs
        return [(input, 0)]


class LlamaIndex:
    def retrieve(self, str_or_query_bundle: str) -> object:
        return [(str_or_query_bundle, 0)]


class Haystack:
    def run(self, query: str, filters: object = None, top_k: int | None = None) -> object:
        return [(query, top_k)]


OBJECTS = {
    "ours": (Ours(), 5, True),
    "LangChain, of a store": (VectorStoreRetriever(), 5, True),
    "LangChain": (Runnable(), 0, False),
    "LlamaIndex": (LlamaIndex(), 0, False),
    "Haystack": (Haystack(), 5, True),
    "a function": (lambda text: [(text, 0)], 0, False),
    "a function of k": (lambda text, k: [(text, k)], 5, True),
    "a function of limit": (lambda text, *, limit=3: [(text, limit)], 5, True),
    "a function of any": (lambda *given: [given], 5, True),
    "a method": (Ours().retrieve, 5, True),
}


@pytest.mark.parametrize(("given", "k", "takes_k"), OBJECTS.values(), ids=OBJECTS)
def test_each_is_called_as_its_package_does(given: object, k: int, takes_k: bool) -> None:
    found = of_object(given)
    assert found.answer("a query", 5) == [("a query", k)]
    assert found.takes_k is takes_k


REFUSED = {
    "no retriever": (3, "Got int"),
    "a class": (Ours, "Got the class Ours"),
    "a retriever of vectors": (SimpleNamespace(run=lambda query_embedding: 0), "takes query_embedding, and no query"),
    "a function of three": (lambda text, store, index: 0, "must take a text"),
}


@pytest.mark.parametrize(("given", "said"), REFUSED.values(), ids=REFUSED)
def test_what_is_none_is_refused(given: object, said: str) -> None:
    with pytest.raises(PolicyError, match=said):
        of_object(given)


class RateLimitError(Exception):
    """As clients of services raise it."""

    def __init__(self) -> None:
        super().__init__("slow down")
        self.response = SimpleNamespace(status_code=429, headers={"Retry-After": "2"})


RAISED = {
    "a rate limit": (RateLimitError(), FailureKind.BUSY, 2.0),
    "a broken connection": (ConnectionResetError("gone"), FailureKind.BUSY, None),
    "a mistake": (KeyError("text"), FailureKind.REFUSED, None),
}


@pytest.mark.parametrize(("error", "kind", "wait"), RAISED.values(), ids=RAISED)
def test_an_exception_says_whether_another_attempt_may_help(error: Exception, kind: FailureKind, wait: float) -> None:
    def fails(text: str) -> None:
        raise error

    with pytest.raises(CallError) as raised:
        of_object(fails).answer("a query", 5)
    assert (raised.value.kind, raised.value.wait) == (kind, wait)


def test_a_coroutine_is_refused_and_closed() -> None:
    async def asked(text: str) -> list[str]:
        return [text]

    with pytest.raises(CallError, match="returns a coroutine; give a function that awaits it"):
        of_object(asked).answer("a query", 5)


def test_a_spec_names_an_object_of_a_module(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "my_live_app.py").write_text(
        "class App:\n    def find(self, text, k): return [text, str(k)]\napp = App()\n"
    )
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    found = open_live("my_live_app:app.find").retriever
    assert (found.key, found.answer("a query", 5)) == ("my_live_app:app.find", ["a query", "5"])
    for spec, said in (("my_live_app:nothing", "cannot be imported"), ("no_such_module:x", "No module named")):
        with pytest.raises(InputError, match=said):
            open_live(spec)


def test_a_command_answers_and_fails_in_words(tmp_path: Any) -> None:
    import sys

    script = tmp_path / "search.py"
    script.write_text(
        "import sys, json\n"
        "text = sys.argv[2] if len(sys.argv) > 2 else sys.stdin.read()\n"
        "if text == 'bad': sys.exit('no such index')\n"
        "print('so' if text == 'broken' else json.dumps([[text, int(sys.argv[1])]]))\n"
    )
    read, given = (open_live(f"{sys.executable} {script} {{k}}{end}").retriever for end in ("", " {text}"))
    assert read.name == "search"
    for one in (read, given):
        assert one.answer("it's a query", 5) == [["it's a query", 5]]
    for text, said in (("bad", "ended with status 1: no such index"), ("broken", "printed no JSON but 'so'")):
        with pytest.raises(CallError, match=said) as raised:
            read.answer(text, 5)
        assert raised.value.kind is FailureKind.REFUSED
    with pytest.raises(CallError, match="no_such_program cannot be run"):
        open_live("no_such_program {text}").retriever.answer("x", 5)
    with pytest.raises(CallError, match=r"did not end within 0.05 seconds"):
        open_live(f"{sys.executable} -c 'import time; time.sleep(20)'", 0.05).retriever.answer("x", 5)
    with pytest.raises(PolicyError, match="No closing quotation"):
        open_live("search 'x")


BAD_FILES = {
    "neither": ("[live]\nid = 'x'\n", r"live.toml:1: \[live\] must have a url or a command"),
    "an unknown key": ("[live]\nurl = 'http://h/{text}'\nscores = 'x'\n", "has no key 'scores'.*Did you mean score"),
    "no place of the text": ("[live]\nurl = 'http://h/'\n", "must have {text}"),
    "no table": ("url = 'http://h/{text}'\n", "live.toml"),
}


@pytest.mark.parametrize(("text", "said"), BAD_FILES.values(), ids=BAD_FILES)
def test_a_bad_file_is_refused_by_its_key(tmp_path: Any, text: str, said: str) -> None:
    (tmp_path / "live.toml").write_text(text)
    with pytest.raises((InputError, PolicyError), match=said):
        open_live(tmp_path / "live.toml")
