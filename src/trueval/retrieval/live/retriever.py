"""The role Retriever, and objects of Python that have it by another name.

    a function        f(text) or f(text, k)
    LangChain         retriever.invoke(text)             also any other Runnable that returns documents
    LlamaIndex        retriever.retrieve(text)
    Haystack          component.run(query=text, top_k=k)

None of these packages is imported: a method is called by its own signature.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, NamedTuple, Protocol

from trueval.errors import PolicyError
from trueval.models.hosted.failures import CallError, FailureKind, failure_of

# What a method may call the number of documents.
DEPTHS: Final = ("k", "top_k", "limit", "n_results", "num_results", "size", "depth")
METHODS: Final = ("retrieve", "invoke", "get_relevant_documents", "run", "search", "__call__")


class Retriever(Protocol):
    """The role of answering a query with documents, best first."""

    def retrieve(self, text: str, k: int, /) -> Sequence[tuple[str, float]]:
        """The ids and scores of at most k documents."""
        ...


class LiveRetriever(NamedTuple):
    """A retriever that can be asked.

    Attributes:
        name: name of its run.
        key: what tells it from others in a ledger.
        answer: from a text and k to what `documents_of` reads; raises CallError where it fails.
        at_once: calls that it takes at once, unless the user says otherwise.
        takes_k: whether it was told how many documents to give.
    """

    name: str
    key: str
    answer: Callable[[str, int], object]
    at_once: int = 1
    takes_k: bool = True


def of_object(given: object) -> LiveRetriever:
    """A retriever made of an object of Python.

    Args:
        given: a function, or an object with a method of METHODS.

    Raises:
        PolicyError: it is no retriever, or one that takes something else than a text.

    >>> of_object(lambda text: [text]).answer("q", 10)
    ['q']
    """
    label = getattr(given, "__qualname__", None) or type(given).__qualname__
    method = next((name for name in METHODS if callable(getattr(given, name, None))), None)
    if method is None or isinstance(given, type):
        raise PolicyError(
            f"A retriever must be a function of a text, or an object with one of {', '.join(METHODS[:-1])}. "
            f"Got {'the class ' * isinstance(given, type)}{label}."
        )
    bound: Any = given if method == "__call__" else getattr(given, method)  # a function's __call__ has no signature
    call, takes_k = _caller(bound, method, label, has_search_kwargs=hasattr(given, "search_kwargs"))

    def answer(text: str, k: int) -> object:
        try:
            found = call(text, k)
        except Exception as error:
            raise _failure(error) from error
        if inspect.isawaitable(found):
            getattr(found, "close", lambda: None)()
            raise CallError(FailureKind.REFUSED, f"{label} returns a coroutine; give a function that awaits it")
        return found

    where = getattr(given, "__module__", None) or type(given).__module__
    name = label.rpartition(".")[2]
    return LiveRetriever("retriever" if name == "<lambda>" else name, f"{where}.{label}", answer, takes_k=takes_k)


def _caller(
    bound: Callable[..., object], method: str, label: str, *, has_search_kwargs: bool
) -> tuple[Callable[[str, int], object], bool]:
    """How a method is called, and whether it takes k."""
    try:
        parameters = inspect.signature(bound).parameters
    except (TypeError, ValueError):  # of a function in C
        return bound, True
    if method == "run" and "query" not in parameters and not _takes_any(parameters):
        raise PolicyError(
            f"run of {label} takes {', '.join(parameters) or 'nothing'}, and no query. Give a function of the text "
            "that runs the whole pipeline and returns its documents."
        )
    depth = next((name for name in DEPTHS if name in parameters), None)
    if method == "run":
        return (lambda text, k: bound(query=text, **({} if depth is None else {depth: k}))), depth is not None
    if depth is not None:
        return (lambda text, k: bound(text, **{depth: k})), True
    kinds = [each.kind for each in parameters.values()]
    needed = [each for each in parameters.values() if each.default is each.empty and each.kind in POSITIONAL]
    if len(needed) > 2:
        raise PolicyError(f"{method} of {label} must take a text, and perhaps k. It takes {', '.join(parameters)}.")
    if len(needed) == 2 or inspect.Parameter.VAR_POSITIONAL in kinds:
        return bound, True
    if has_search_kwargs:  # of a vector store of LangChain
        return (lambda text, k: bound(text, k=k)), True
    return (lambda text, _: bound(text)), False


POSITIONAL: Final = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)


def _takes_any(parameters: Mapping[str, inspect.Parameter]) -> bool:
    return any(each.kind is inspect.Parameter.VAR_KEYWORD for each in parameters.values())


def _failure(error: Exception) -> CallError:
    """The failure for an exception of a client: a status of HTTP where it has one, or a broken connection."""
    if isinstance(error, CallError):
        return error
    response: Any = getattr(error, "response", None)
    status = getattr(error, "status_code", None) or getattr(response, "status_code", None)
    if isinstance(status, int) and status >= 300:
        headers = {str(name).lower(): str(value) for name, value in dict(getattr(response, "headers", {})).items()}
        return failure_of(status, headers, str(error))
    again = isinstance(error, TimeoutError | ConnectionError) or "timeout" in type(error).__name__.lower()
    reason = f"{type(error).__name__}: {' '.join(str(error).split())[:300]}"
    return CallError(FailureKind.BUSY if again else FailureKind.REFUSED, reason)
