"""Engines: the common part of the adapters for indexes in Milvus or Elasticsearch.

An engine gets the documents once: the index is named by the hash of texts, vectors and everything that determines it,
and is found again under this name. An incompletely filled index is filled again; if the user chose the name and it
contains something else, it is refused. Errors of a library or a server are reported in one line, with the cure.
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
from dataclasses import dataclass
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

# 1: first version. An index of an older version in an engine is not found again.
FORMAT: Final = 1
ABOUT: Final = "engine.json"
SIDES: Final[Mapping[str, Takes]] = {"dense": "vectors", "bm25": "texts", "hybrid": "both"}
# Maximum seconds for an engine to build its index.
BUILDING: Final = 3600.0


def make_search_parameter(parameter: Parameter) -> Parameter:
    """A parameter that affects how an engine is searched, but not what it stores."""
    return parameter._replace(searched=True)


CONNECTION: Final[Mapping[str, Parameter]] = {
    "collection": text(None, "name of what holds the documents; made of their hash by default"),
    "api_key_env": make_search_parameter(
        text(None, "environment variable that holds the key; none is sent by default")
    ),
    "timeout": make_search_parameter(number_in_range(30, 0, 86400, "seconds to wait for an answer", above=True)),
}


@dataclass(frozen=True, eq=False)
class EngineInput:
    """Documents or queries in the form that an engine takes.

    Attributes:
        texts: texts; None if it takes only vectors.
        vectors: [text, dimension] vectors; None if it takes only texts.
    """

    texts: Sequence[str] | None
    vectors: NDArray[np.float32] | None

    def __len__(self) -> int:
        return len(self.vectors) if self.texts is None and self.vectors is not None else len(self.texts or ())

    def text(self, place: int) -> str:
        """One of the texts, encodable as UTF-8."""
        return encodable((self.texts or ())[place])

    @cached_property
    def text_sizes(self) -> NDArray[np.int64]:
        """Size of each text in bytes; 0 without texts."""
        found = (len(encodable(each).encode()) for each in self.texts or ())
        return np.fromiter(found, dtype=np.int64) if self.texts is not None else np.zeros(len(self), dtype=np.int64)

    @property
    def sizes(self) -> NDArray[np.int64]:
        """Size of each text and vector in bytes."""
        return self.text_sizes + (0 if self.vectors is None else self.vectors.shape[1] * self.vectors.itemsize)


class EngineIndex(NamedTuple):
    """The index that an engine has under a name.

    Attributes:
        mark: hash that was stored with it; None if it is not ours.
        documents: number of documents in it.
    """

    mark: str | None
    documents: int


class Engine(LocalIndex):
    """An index in an engine; each adapter implements its calls.

    Attributes:
        engine: name of the engine in errors.
        widest: maximum dimension of a vector.
        modes: search mode → parameters that only this mode has.
        graph: parameters that only apply to a graph index of vectors.
        address: name of the parameter with the address.
        loggers: loggers of its library, which are silenced since every error is reported once.
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
        """The kind of input that an index with these parameters is built from and searched with."""
        return SIDES[_mode(cls, chosen)]

    @classmethod
    def check_choices(cls, chosen: Mapping[str, Value]) -> dict[str, Value]:
        """Check that no parameter belongs to another search mode or to a missing graph, and return the parameters.

        An address must not contain a password.

        Raises:
            PolicyError: there is one.
        """
        mode = _mode(cls, chosen)
        for name in chosen:
            having = [each for each, names in cls.modes.items() if name in names]
            if having and mode not in having:
                words = " or ".join(f"search={each!r}" for each in having)
                raise PolicyError(f"{name} of {cls.name} has no effect with search={mode!r}. It goes with {words}.")
        unused = next((name for name in chosen if name in cls.graph), None)
        if chosen.get("index") == "flat" and unused is not None:
            raise PolicyError(f"{unused} of {cls.name} has no effect with index='flat'. It goes with index='hnsw'.")
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
        """Dimension of its vectors; None for texts, and before the index is built."""
        return self.vector_size

    def check(self, dimension: int, documents: int) -> None:
        """Refuse vectors that the engine does not accept; as in LocalIndex."""
        if dimension > self.widest:
            raise InputError(f"{self.engine} takes {self.widest} dimensions at most. Got vectors of {dimension}.")

    def number(self, name: str) -> int:
        """The value of an integer parameter."""
        return int(self.values[name])  # type: ignore[arg-type]  # checked by the parameter

    def real(self, name: str) -> float:
        """The value of a real parameter."""
        return float(self.values[name])  # type: ignore[arg-type]  # checked by the parameter

    def fill(self, documents: object) -> None:
        """Send the documents, unless the engine already has them.

        Raises:
            InputError: the engine does not answer, refuses something, or holds something else under this name.
        """
        given = self.to_input(documents, "documents")
        self.notes = ()
        self.vector_size = None if given.vectors is None else int(given.vectors.shape[1])
        if self.vector_size is not None:
            self.check(self.vector_size, len(given))
        self.mark = self._mark(given)
        self.collection = str(self.values["collection"] or f"trueval_{self.mark[:16]}")
        with self.explain_errors():
            held = self.find_existing()
            if held is None or held != EngineIndex(self.mark, len(given)):
                self._send(given, held)
            else:
                self.remark(f"{self.engine} held these documents already, as {self.collection}.")
            self.settle(len(given))

    def to_input(self, items: Any, what: str) -> EngineInput:
        """Texts and vectors of the input for building or searching.

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
        """Write the address of the index in the engine."""
        about = {"mark": self.mark, "collection": self.collection, "dimension": self.vector_size}
        (folder / ABOUT).write_text(json.dumps({**about, "documents": self.documents}) + "\n", encoding="utf-8")

    def read(self, folder: Path) -> None:
        """Read the address of the index, and check that it still exists.

        Raises:
            InputError: it does not.
        """
        about = json.loads((folder / ABOUT).read_text(encoding="utf-8"))
        self.mark, self.collection, size = str(about["mark"]), str(about["collection"]), about["dimension"]
        self.vector_size, documents = None if size is None else int(size), int(about["documents"])
        with self.explain_errors():
            held = self.find_existing()
        if held != EngineIndex(self.mark, documents):
            raise InputError(
                f"{folder}: {self.engine} no longer holds what was built here, {self.collection} with {documents} "
                "documents. Remove the folder and build it again."
            )
        with self.explain_errors():
            self.settle(documents)

    def remark(self, note: str) -> None:
        """Add a note."""
        self.notes = (*self.notes, note)

    def key(self) -> str | None:
        """The API key from the environment variable that the spec names; None if it names none.

        Raises:
            InputError: the variable holds no key, or anybody on the way to the server could read it.
        """
        url = str(self.values[self.address] or "")
        return ApiKey(str(self.values["api_key_env"] or "")).read(self.engine, url, self.address).value or None

    def announce(self, items: int, what: str) -> None:
        """Say once what leaves this machine, and to whom.

        Args:
            items: number of items.
            what: kind of the items.
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
    def explain_errors(self) -> Iterator[None]:
        """Report errors of its library in one line, and silence its logs.

        Raises:
            InputError: something was raised.
        """
        loggers = {each: each.level for each in map(logging.getLogger, self.loggers)}
        for logger in loggers:
            logger.setLevel(logging.CRITICAL + 1)
        try:
            yield
        except InputError:  # already reported
            raise
        except self.client_errors() as error:
            failure = self.error(error)
            name = str(self.values["api_key_env"] or "")
            said = Secret(os.environ.get(name, ""), name).redact(str(failure))  # some servers echo the key
            raise InputError(said, source=failure.source) from error
        finally:
            for logger, level in loggers.items():
                logger.setLevel(level)

    @abstractmethod
    def client_errors(self) -> tuple[type[Exception], ...]:
        """Exceptions of its library."""

    @abstractmethod
    def error(self, error: object) -> InputError:
        """The error of its library in one line, with the cure."""

    @abstractmethod
    def find_existing(self) -> EngineIndex | None:
        """The index of this name in the engine; None if there is none."""

    @abstractmethod
    def drop(self) -> None:
        """Remove the index of this name from the engine."""

    @abstractmethod
    def send(self, given: EngineInput) -> None:
        """Create the index, and send the documents."""

    @abstractmethod
    def settle(self, documents: int) -> None:
        """Check that the engine finds all documents with the index that the spec names."""

    def _send(self, given: EngineInput, held: EngineIndex | None) -> None:
        if held is not None and held.mark != self.mark:
            raise InputError(
                f"{self.engine} holds {self.collection} already, with {held.documents} documents that are not these "
                f"{len(given)}, or in another index. Name another collection='...', or remove that one yourself."
            )
        self.announce(len(given), "documents")
        if held is not None:  # ours, with the same documents, but incomplete
            self.drop()
        self.send(given)
        now = self.find_existing()
        if now is None or now.documents != len(given):
            raise InputError(
                f"{self.engine} holds {0 if now is None else now.documents} of {len(given)} documents in "
                f"{self.collection} after all were sent. Run it again; they are sent anew."
            )

    def _mark(self, given: EngineInput) -> str:
        """The hash of the documents and of everything that determines the index."""
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
    """Ranges of places, one per message.

    Args:
        sizes: [document] size in bytes.
        rows: maximum number of documents per message.
        most: maximum bytes per message, unless a single document is larger.

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
    """The search mode."""
    return str(chosen.get("search", kind.parameters["search"].default))
