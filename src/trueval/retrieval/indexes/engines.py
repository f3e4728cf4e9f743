"""Engines: indexes that Milvus or Elasticsearch holds; what their adapters share.

An engine takes the documents once: what it holds is named by the hash of texts, vectors and what decides the index,
and is found again under this name. What was not filled to its end is filled anew; a name of the user's own choice that
holds something else is refused. Whatever a library or a server raises is told in one line, with the cure.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
import warnings
from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar, Final, NamedTuple
from urllib.parse import urlsplit

import numpy as np
from numpy.typing import NDArray

from trueval.collection import text_hash
from trueval.errors import InputError, PolicyError, TruevalWarning
from trueval.models.hosted.api_keys import ApiKey, Secret
from trueval.models.hosted.services import is_this_machine
from trueval.printable import encodable
from trueval.retrieval.indexes.dense import finite_vectors
from trueval.retrieval.indexes.index import LocalIndex, Takes, TextsAndVectors
from trueval.specs import Parameter, Value, number_in_range, text

# 1: the first. What an engine holds of an older one is not found again.
FORMAT: Final = 1
ABOUT: Final = "engine.json"
SIDES: Final[Mapping[str, Takes]] = {"dense": "vectors", "bm25": "texts", "hybrid": "both"}
# Seconds that an engine may take to build what it was given.
BUILDING: Final = 3600.0


def make_search_parameter(parameter: Parameter) -> Parameter:
    """A parameter that decides how an engine is asked, and not what it holds."""
    return replace(parameter, searched=True)


CONNECTION: Final[Mapping[str, Parameter]] = {
    "collection": text(None, "name of what holds the documents; made of their hash by default"),
    "api_key_env": make_search_parameter(
        text(None, "environment variable that holds the key; none is sent by default")
    ),
    "timeout": make_search_parameter(number_in_range(30, 0, 86400, "seconds to wait for an answer", above=True)),
}


@dataclass(frozen=True, eq=False)
class EngineInput:
    """Documents or queries, as an engine takes them.

    Attributes:
        texts: None where it takes vectors alone.
        vectors: [text, dimension]; None where it takes texts alone.
    """

    texts: Sequence[str] | None
    vectors: NDArray[np.float32] | None

    def __len__(self) -> int:
        return len(self.vectors) if self.texts is None and self.vectors is not None else len(self.texts or ())

    def text(self, place: int) -> str:
        """One of the texts, as UTF-8 can write it."""
        return encodable((self.texts or ())[place])

    @cached_property
    def text_sizes(self) -> NDArray[np.int64]:
        """Bytes of each text; 0 where there is none."""
        found = (len(encodable(each).encode()) for each in self.texts or ())
        return np.fromiter(found, dtype=np.int64) if self.texts is not None else np.zeros(len(self), dtype=np.int64)

    @property
    def sizes(self) -> NDArray[np.int64]:
        """Bytes of each text and vector."""
        return self.text_sizes + (0 if self.vectors is None else self.vectors.shape[1] * self.vectors.itemsize)


class EngineIndex(NamedTuple):
    """What an engine holds under a name.

    Attributes:
        mark: the hash that we left there; None where it is none of ours.
        documents: in it.
    """

    mark: str | None
    documents: int


class Engine(LocalIndex):
    """An index that an engine holds; an adapter says how it is asked.

    Attributes:
        engine: its name in errors.
        widest: numbers of a vector, at most.
        modes: parameters that only some ways of searching have, by the way.
        graph: parameters that an index of vectors without a graph has not.
        address: name of the parameter that says where it is.
        loggers: of its library, which are silent while it works: every error is told once.
    """

    engine: ClassVar[str]
    widest: ClassVar[int]
    modes: ClassVar[Mapping[str, frozenset[str]]]
    graph: ClassVar[tuple[str, ...]]
    address: ClassVar[str]
    loggers: ClassVar[tuple[str, ...]]

    def __init__(self, chosen: Mapping[str, Value]) -> None:
        super().__init__(chosen)
        self.search_by = _mode(type(self), chosen)
        others = frozenset().union(*self.modes.values()) - self.modes[self.search_by]
        if self.values.get("index") == "flat":
            others |= frozenset(self.graph)
        self.values = {name: value for name, value in self.values.items() if name not in others}
        self.takes = self.takes_of(chosen)
        self.mark = ""
        self.collection = ""
        self.vector_size: int | None = None
        self.announced: set[str] = set()
        self.bytes = 0
        self._client: Any = None

    @classmethod
    def takes_of(cls, chosen: Mapping[str, Value]) -> Takes:
        """What an index of these parameters is built from and searched with."""
        return SIDES[_mode(cls, chosen)]

    @classmethod
    def fitting(cls, chosen: Mapping[str, Value]) -> dict[str, Value]:
        """Parameters that were given, if none belongs to another way of searching or to a graph that is not there.

        An address may hold no password.

        Raises:
            PolicyError: there is one.
        """
        mode = _mode(cls, chosen)
        for name in chosen:
            having = [each for each, names in cls.modes.items() if name in names]
            if having and mode not in having:
                words = " or ".join(f"search={each!r}" for each in having)
                raise PolicyError(f"{name} of {cls.name} plays no part in search={mode!r}. It goes with {words}.")
        unused = next((name for name in chosen if name in cls.graph), None)
        if chosen.get("index") == "flat" and unused is not None:
            raise PolicyError(f"{unused} of {cls.name} plays no part in index='flat'. It goes with index='hnsw'.")
        try:
            address = urlsplit(str(chosen.get(cls.address) or ""))
        except ValueError as error:
            raise PolicyError(f"{cls.address} of {cls.name} is not an address ({error}). Correct it.") from None
        if address.password is not None or address.username is not None:
            raise PolicyError(
                f"{cls.address} of {cls.name} holds a password. Specs are written into results. Put it into an "
                "environment variable, and name that one: api_key_env='...'."
            )
        return dict(chosen)

    @property
    def dimension(self) -> int | None:
        """Of its vectors; None for words, and before there are any."""
        return self.vector_size

    def check(self, dimension: int, documents: int) -> None:
        """Refuse vectors that the engine does not take; as in LocalIndex."""
        if dimension > self.widest:
            raise InputError(f"{self.engine} takes {self.widest} dimensions at most. Got vectors of {dimension}.")

    def number(self, name: str) -> int:
        """The value of a whole parameter."""
        return int(self.values[name])  # type: ignore[arg-type]  # checked by the parameter

    def real(self, name: str) -> float:
        """The value of a parameter that is a number."""
        return float(self.values[name])  # type: ignore[arg-type]  # checked by the parameter

    def fill(self, documents: Any) -> None:
        """Send the documents, unless the engine holds them already.

        Raises:
            InputError: the engine does not answer, refuses something, or holds something else under this name.
        """
        given = self.given(documents, "documents")
        self.notes = ()
        self.vector_size = None if given.vectors is None else int(given.vectors.shape[1])
        if self.vector_size is not None:
            self.check(self.vector_size, len(given))
        self.mark = self._mark(given)
        self.collection = str(self.values["collection"] or f"trueval_{self.mark[:16]}")
        with self.told():
            held = self.held()
            if held is None or held != EngineIndex(self.mark, len(given)):
                self._send(given, held)
            else:
                self.remark(f"{self.engine} held these documents already, as {self.collection}.")
            self.settle(len(given))

    def given(self, items: Any, what: str) -> EngineInput:
        """Texts and vectors of what the index is built from or searched with.

        Raises:
            InputError: vectors do not fit.
        """
        texts = items.texts if isinstance(items, TextsAndVectors) else items
        vectors = items.vectors if isinstance(items, TextsAndVectors) else items
        return EngineInput(
            None if self.takes == "vectors" else texts,
            None if self.takes == "texts" else finite_vectors(vectors, what, self.vector_size),
        )

    def write(self, folder: Path) -> None:
        """Write where the engine holds the documents."""
        about = {"mark": self.mark, "collection": self.collection, "dimension": self.vector_size}
        (folder / ABOUT).write_text(json.dumps({**about, "documents": self.documents}) + "\n", encoding="utf-8")

    def read(self, folder: Path) -> None:
        """Read where the engine holds the documents, and see that it still does.

        Raises:
            InputError: it does not.
        """
        about = json.loads((folder / ABOUT).read_text(encoding="utf-8"))
        self.mark, self.collection, size = str(about["mark"]), str(about["collection"]), about["dimension"]
        self.vector_size, documents = None if size is None else int(size), int(about["documents"])
        with self.told():
            held = self.held()
        if held != EngineIndex(self.mark, documents):
            raise InputError(
                f"{folder}: {self.engine} no longer holds what was built here, {self.collection} with {documents} "
                "documents. Remove the folder and build it again."
            )
        with self.told():
            self.settle(documents)

    def remark(self, note: str) -> None:
        """Add a note."""
        self.notes = (*self.notes, note)

    def key(self) -> str | None:
        """The key of the environment variable that the spec names; None if it names none.

        Raises:
            InputError: the variable holds no key, or anybody on the way to the server could read it.
        """
        url = str(self.values[self.address] or "")
        return ApiKey(str(self.values["api_key_env"] or "")).read(self.engine, url, self.address).value or None

    def announce(self, items: int, what: str) -> None:
        """Say once what leaves this machine, and to whom.

        Args:
            items: how many.
            what: they are.
        """
        url = str(self.values[self.address] or "")
        if what in self.announced or "://" not in url or is_this_machine(url):
            return
        self.announced.add(what)
        key = self.values["api_key_env"]
        sent = "" if key is None else f", with the key in {key}"
        told = f"{items} {what} leave this machine for {urlsplit(url).hostname} ({self.engine}){sent}."
        warnings.warn(told, TruevalWarning, stacklevel=3)

    @contextmanager
    def told(self) -> Iterator[None]:
        """Tell what its library raises in one line, and silence what it logs.

        Raises:
            InputError: something was raised.
        """
        loggers = {each: each.level for each in map(logging.getLogger, self.loggers)}
        for logger in loggers:
            logger.setLevel(logging.CRITICAL + 1)
        try:
            yield
        except InputError:  # told already
            raise
        except self.raised() as error:
            failure = self.error(error)
            name = str(self.values["api_key_env"] or "")
            said = Secret(os.environ.get(name, ""), name).taken_out_of(str(failure))  # some servers repeat the key
            raise InputError(said, source=failure.source) from error
        finally:
            for logger, level in loggers.items():
                logger.setLevel(level)

    @abstractmethod
    def raised(self) -> tuple[type[Exception], ...]:
        """What its library raises."""

    @abstractmethod
    def error(self, error: Any) -> InputError:
        """One line on what its library raised, with the cure."""

    @abstractmethod
    def held(self) -> EngineIndex | None:
        """What the engine holds under the name; None if there is nothing."""

    @abstractmethod
    def drop(self) -> None:
        """Remove what the engine holds under the name."""

    @abstractmethod
    def send(self, given: EngineInput) -> None:
        """Make what holds the documents, and send them."""

    @abstractmethod
    def settle(self, documents: int) -> None:
        """See that the engine finds all documents by the index that the spec says."""

    def _send(self, given: EngineInput, held: EngineIndex | None) -> None:
        if held is not None and held.mark != self.mark:
            raise InputError(
                f"{self.engine} holds {self.collection} already, with {held.documents} documents that are not these "
                f"{len(given)}, or in another index. Name another collection='...', or remove that one yourself."
            )
        self.announce(len(given), "documents")
        if held is not None:  # ours, of the same documents, and not filled to its end
            self.drop()
        self.send(given)
        now = self.held()
        if now is None or now.documents != len(given):
            raise InputError(
                f"{self.engine} holds {0 if now is None else now.documents} of {len(given)} documents in "
                f"{self.collection} after all were sent. Run it again; they are sent anew."
            )

    def _mark(self, given: EngineInput) -> str:
        """The hash of the documents and of what decides the index."""
        where = (self.address, "collection")
        about = {
            name: value
            for name, value in self.values.items()
            if name not in where and not self.parameters[name].searched
        }
        digest = hashlib.sha256(json.dumps([FORMAT, self.name, about], sort_keys=True).encode())
        if given.texts is not None:
            digest.update(text_hash(given.texts).encode())
        if given.vectors is not None:
            digest.update(json.dumps(given.vectors.shape).encode())
            digest.update(given.vectors.data)
        return digest.hexdigest()


def batches(sizes: Sequence[int] | NDArray[np.int64], rows: int, most: int) -> Iterator[range]:
    """Places that go into one message.

    Args:
        sizes: [document] bytes of each.
        rows: documents of a message at most.
        most: bytes of a message at most, unless one document alone has more.

    >>> [list(each) for each in batches([4, 4, 4, 20, 1, 1, 1], rows=2, most=9)]
    [[0, 1], [2], [3], [4, 5], [6]]
    """
    begin, held = 0, 0
    for place, size in enumerate(sizes):
        if place > begin and (place - begin == rows or held + int(size) > most):
            yield range(begin, place)
            begin, held = place, 0
        held += int(size)
    if len(sizes):
        yield range(begin, len(sizes))


def _mode(kind: type[Engine], chosen: Mapping[str, Value]) -> str:
    """The way of searching."""
    return str(chosen.get("search", kind.parameters["search"].default))
