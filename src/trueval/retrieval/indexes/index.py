"""Indexes: the protocol for searching a corpus for its best documents, and the kinds that a spec names.

    flat                                      every score, exact
    hnsw(storage='int8', M=32, efSearch=128)  a graph, approximate
    bm25(language='fr')                       terms instead of vectors
    milvus(uri='http://host:19530')           Milvus: a server, or a folder (milvus.py)
    elastic(url='http://host:9200')           Elasticsearch (elastic.py)

A spec is written in the grammar of measures (trueval.specs). An index identifies documents by place, 0 for the first
one that it was built from; the caller keeps the ids.
"""

from __future__ import annotations

import json
import shutil
import tempfile
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from copy import copy
from dataclasses import asdict, dataclass
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from typing import Any, ClassVar, Final, Literal, Protocol, TypeAlias, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from trueval.errors import InputError, PolicyError, nearest
from trueval.extras import need
from trueval.files.atomic_files import umask
from trueval.files.digests import damage, seal
from trueval.retrieval.indexes.hits import Hits
from trueval.specs import Parameter, Value, check_value, format_spec, read_arguments

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

# 2: digests. 1: first version.
FORMAT: Final = 2
KIND: Final = "index"
ABOUT: Final = "index.json"
# Module of each kind of index; imported on first use, since each needs a library.
HOMES: Final = {
    "flat": "trueval.retrieval.indexes.dense",
    "hnsw": "trueval.retrieval.indexes.dense",
    "ivf": "trueval.retrieval.indexes.dense",
    "pq": "trueval.retrieval.indexes.dense",
    "opq": "trueval.retrieval.indexes.dense",
    "bm25": "trueval.retrieval.indexes.sparse",
    "milvus": "trueval.retrieval.indexes.milvus",
    "elastic": "trueval.retrieval.indexes.elastic",
}

# Input of an index: [text, dimension] arrays of an embedder, texts, or TextsAndVectors.
Takes: TypeAlias = Literal["vectors", "texts", "both"]


@dataclass(frozen=True, eq=False)
class TextsAndVectors:
    """Texts and vectors, for indexes that are built and searched with both.

    Attributes:
        vectors: [text, dimension] vectors.
    """

    texts: Sequence[str]
    vectors: NDArray[Any]

    def __len__(self) -> int:
        return len(self.texts)


# What an index is built from and searched with: by its `takes`, texts, [item, dimension] vectors, or both.
IndexInput: TypeAlias = "Sequence[str] | NDArray[np.generic] | TextsAndVectors"


@dataclass(frozen=True)
class Description:
    """The description and size of an index.

    Attributes:
        spec: spec with every parameter written out.
        dimension: dimension of its vectors; None for terms.
        bytes: size in memory, or on an engine's disk: vectors or postings and the search structure.
        build_seconds: seconds to build it, including work shared from an earlier index.
        exact: whether every document is scored, up to the storage format.
        notes: one-line warnings from building.
    """

    spec: str
    documents: int
    dimension: int | None
    bytes: int
    build_seconds: float
    exact: bool
    notes: tuple[str, ...] = ()


@runtime_checkable
class Index(Protocol):
    """The protocol of an index that finds the best documents for queries.

    Attributes:
        takes: kind of its input for building and searching.
    """

    takes: Takes

    def build(self, documents: IndexInput) -> None:
        """Build from all documents, in the order of their places."""
        ...

    def search(self, queries: IndexInput, depth: int) -> Hits:
        """Find up to `depth` documents for each query."""
        ...

    def save(self, folder: Path) -> None:
        """Write the index to its own folder."""
        ...

    def load(self, folder: Path) -> None:
        """Load what `save` wrote."""
        ...

    def describe(self) -> Description:
        """Return the description and size of the index."""
        ...


class LocalIndex(ABC):
    """An index made from a spec; a subclass per kind builds, searches and writes it.

    Args:
        chosen: parameter → validated value; the others have their defaults.

    Attributes:
        name: name of the kind in specs.
        package: Python package that it needs; the versions of `distributions` affect the results, and `extra` installs
            them.
        deepest: maximum depth of a search; None without a limit.
        earlier_seconds: seconds that another index of the same documents took for shared work.
    """

    name: ClassVar[str]
    parameters: ClassVar[Mapping[str, Parameter]]
    package: ClassVar[str]
    distributions: ClassVar[tuple[str, ...]]
    extra: ClassVar[str] = "retrieval"
    feature: ClassVar[str] = "Indexes"
    deepest: ClassVar[int | None] = None
    takes: Takes
    exact: bool

    def __init__(self, chosen: Mapping[str, Value]) -> None:
        self.values = {name: chosen.get(name, one.default) for name, one in self.parameters.items()}
        self.library = need(self.package, self.feature, self.extra)
        self.documents = 0
        self.build_seconds = self.earlier_seconds = 0.0
        self.notes: tuple[str, ...] = ()

    @classmethod
    def takes_of(cls, chosen: Mapping[str, Value]) -> Takes:
        """The kind of input that an index with these parameters is built from and searched with."""
        return cls.takes

    @classmethod
    def check_choices(cls, chosen: Mapping[str, Value]) -> dict[str, Value]:
        """Check that the given parameters are compatible, and return them.

        Raises:
            PolicyError: they do not.
        """
        return dict(chosen)

    @classmethod
    def check_deepest(cls, depth: int) -> None:
        """Refuse a depth beyond what the index can return.

        Raises:
            PolicyError: it is asked for more.
        """
        if cls.deepest is not None and depth > cls.deepest:
            raise PolicyError(
                f"{cls.name} gives {cls.deepest} documents of each query at most. Got depth {depth}. Choose a smaller "
                "depth, or an index of this process, such as flat, hnsw or bm25."
            )

    def ready(self) -> LocalIndex:
        """The index itself, checked to be buildable: call it before hours of embedding.

        Raises:
            InputError: an engine does not answer.
        """
        return self

    def check(self, dimension: int, documents: int) -> None:  # noqa: B027 - an index of terms refuses none
        """Refuse input that it cannot be built from, before hours of embedding.

        Args:
            dimension: dimension of the vectors.

        Raises:
            InputError: it cannot be built of vectors of this dimension, or of so few documents.
        """

    def with_search(self, **values: Value) -> LocalIndex:
        """The same index with other search parameters; the built index is shared.

        Args:
            values: parameters that affect search only, such as efSearch.

        Raises:
            PolicyError: one decides more, is not known, or has a value that it does not take.
        """
        searched = {name: one for name, one in self.parameters.items() if one.searched}
        other = copy(self)
        chosen = {
            name: check_value(f"A search of {self.name}", searched, name, value, PolicyError)
            for name, value in values.items()
        }
        other.values = {**self.values, **chosen}
        return other

    @property
    def spec(self) -> str:
        """Its text form with every parameter that has a value, or None where that differs from the default."""
        return format_spec(self.name, _select_spec_values(self.values, self.parameters))

    @property
    def dimension(self) -> int | None:
        """Dimension of its vectors; None for terms."""
        return None

    def build(self, documents: Any) -> None:
        """Build from all documents, in the order of their places.

        Raises:
            InputError: there is none, or one cannot be indexed.
        """
        if not len(documents):
            raise InputError("There is no document to index. The corpus must hold one at least.")
        self.earlier_seconds, began = 0.0, time.perf_counter()
        self.fill(documents)
        seconds = time.perf_counter() - began
        self.documents, self.build_seconds = len(documents), self.earlier_seconds + seconds

    @abstractmethod
    def fill(self, documents: Any) -> None:
        """Build the index from vectors or texts."""

    @abstractmethod
    def search(self, queries: Any, depth: int) -> Hits:
        """Find up to `depth` documents for each query.

        Raises:
            InputError: the queries do not fit.
        """

    def library_call(self, queries: Any, depth: int) -> Callable[[], object]:
        """A search as a function without arguments, for timing the library or engine alone.

        Returns:
            A function that searches. Queries are checked before, and our ordering of the results is excluded.
        """
        return lambda: self.search(queries, depth)

    @abstractmethod
    def size(self) -> int:
        """Size in bytes."""

    @abstractmethod
    def write(self, folder: Path) -> None:
        """Write the index to an empty folder."""

    @abstractmethod
    def read(self, folder: Path) -> None:
        """Read what `write` wrote."""

    def describe(self) -> Description:
        """Return the description and size of the index."""
        size = self.size()
        return Description(
            self.spec, self.documents, self.dimension, size, self.build_seconds, self.exact, tuple(self.notes)
        )

    def save(self, folder: Path, of: str = "") -> None:
        """Write the index to a folder, atomically.

        Args:
            folder: folder of the index.
            of: key of its content, if stored in a cache.

        Raises:
            InputError: there is something of that name already.
        """
        if folder.exists():
            raise InputError(f"{folder}: is there already. Name another folder, or remove it.")
        folder.parent.mkdir(parents=True, exist_ok=True)
        place = Path(tempfile.mkdtemp(prefix=f".{folder.name}.", dir=folder.parent))
        try:
            self.write(place)
            library = version(self.distributions[0])
            about = {"kind": KIND, "format": FORMAT, "library": library, **asdict(self.describe())}
            (place / ABOUT).write_text(json.dumps(about, indent=1) + "\n", encoding="utf-8")
            seal(place, of)
            place.chmod(0o777 & ~umask())  # a temporary folder is accessible only to its owner
            try:
                place.rename(folder)
            except OSError as error:
                if folder.is_dir():  # another process was faster
                    raise InputError(f"{folder}: is there already. Name another folder, or remove it.") from error
                raise
        except BaseException:
            shutil.rmtree(place, ignore_errors=True)
            raise

    def load(self, folder: Path) -> None:
        """Load what `save` wrote.

        Raises:
            InputError: the folder holds no index of this spec, parameters of a search aside, or a damaged one.
        """
        about = read_about(folder)
        damaged = damage(folder)
        if damaged is not None:
            raise InputError(f"{folder}: a damaged index ({damaged}). Remove the folder and build it again.")
        if build_spec(str(about["spec"])) != build_spec(self.spec):
            raise InputError(f"{folder}: an index {about['spec']}, not {self.spec}. Load it by its own spec.")
        try:
            self.read(folder)
        except InputError:
            raise
        except (OSError, RuntimeError, ValueError, KeyError) as error:
            raise InputError(f"{folder}: a damaged index ({error}). Remove the folder and build it again.") from error
        self.documents, self.build_seconds = int(about["documents"]), float(about["build_seconds"])
        self.notes = tuple(about["notes"])


def make_index(spec: str) -> LocalIndex:
    """Make an empty index from a spec.

    Args:
        spec: spec such as "flat", "hnsw(M=16)" or "bm25(language='fr')".

    Raises:
        PolicyError: no such kind, no such parameter, or a value that it does not take.
        MissingExtraError: its library is not installed.

    >>> make_index("bmen25")
    Traceback (most recent call last):
    trueval.errors.PolicyError: No index is called bmen25. There are: flat, hnsw, ivf, pq, opq, bm25, milvus, elastic.
    Did you mean bm25?
    """
    kind, chosen = read_spec(spec)
    return kind(chosen)


def read_spec(spec: str) -> tuple[type[LocalIndex], dict[str, Value]]:
    """Read the kind of index and parameters of a spec; its library need not be installed.

    Raises:
        PolicyError: as in make_index.
    """
    name, _, rest = spec.strip().partition("(")
    if name not in HOMES:
        raise PolicyError(f"No index is called {name}. There are: {', '.join(HOMES)}.{nearest(name, HOMES)}")
    if rest and not rest.endswith(")"):
        raise PolicyError(f"An index looks like flat or hnsw(M=16). Got {spec!r}.")
    plain, named = read_arguments(rest[:-1], spec, PolicyError)
    if plain:
        raise PolicyError(f"Parameters are written name=value. Got {plain[0]!r} in {spec!r}.")
    kind: type[LocalIndex] = import_module(HOMES[name]).KINDS[name]
    chosen = {each: check_value(name, kind.parameters, each, value, PolicyError) for each, value in named.items()}
    return kind, kind.check_choices(chosen)


def build_spec(spec: str) -> str:
    """The spec of the built part: all parameters except those that affect search only.

    Raises:
        PolicyError: as in make_index.

    >>> build_spec("hnsw(efSearch=500, M=16)")
    "hnsw(storage='float32', M=16, efConstruction=200)"
    """
    kind, chosen = read_spec(spec)
    values = {name: chosen.get(name, one.default) for name, one in kind.parameters.items() if not one.searched}
    return format_spec(kind.name, _select_spec_values(values, kind.parameters))


def _select_spec_values(values: Mapping[str, Value], parameters: Mapping[str, Parameter]) -> dict[str, Value]:
    """The parameters that a spec must name so that any reader gets the same values."""
    defaults = {name: parameters[name].default for name in values}
    # 1 and 1.0 specify the same index.
    same = {
        name: float(value) if type(defaults[name]) is float and type(value) is int else value
        for name, value in values.items()
    }
    return {name: value for name, value in same.items() if (value, defaults[name]) != (None, None)}


def load_index(folder: Path) -> LocalIndex:
    """Load an index from a folder.

    Args:
        folder: folder written by `save`.

    Raises:
        InputError: there is none, or a damaged one.
        MissingExtraError: its library is not installed.
    """
    index = make_index(str(read_about(folder)["spec"]))
    index.load(folder)
    return index


def read_about(folder: Path) -> dict[str, Any]:
    """Read the metadata in the folder of an index.

    Raises:
        InputError: it is no such folder, or newer than us.
    """
    path = folder / ABOUT
    try:
        about = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror}). It must be the folder of an index.") from error
    except ValueError as error:
        raise InputError(f"{path}: not JSON ({error}). Remove the folder and build the index again.") from error
    known = {"spec": str, "documents": int, "build_seconds": float | int, "notes": list, "format": int}
    wrong = not isinstance(about, dict) or about.get("kind") != KIND
    if wrong or any(not isinstance(about.get(name), kind) for name, kind in known.items()) or about["format"] > FORMAT:
        raise InputError(f"{path}: not an index of this version. Update trueval, or build the index again.")
    return dict(about)
