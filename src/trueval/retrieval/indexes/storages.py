"""Storages: what vectors of a flat index are kept as, beside float32.

FAISS keeps float16, bfloat16, int8, int4 and signs itself (trueval.retrieval.indexes.dense). Any other number format
below float32, and what packages add by the entry point `trueval.storages`, is a function from vectors to those that
their codes stand for, which are compared in float32.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache, partial
from types import MappingProxyType
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from trueval.errors import PolicyError
from trueval.numerics import Format, formats, round_to
from trueval.plugins import load_plugins

HIGH: Final = "float32"
# Storage → type of FAISS's scalar quantizer; float32 is stored unquantized.
QUANTIZERS: Final = {"float16": "QT_fp16", "bfloat16": "QT_bf16", "int8": "QT_8bit", "int4": "QT_4bit"}
BINARY: Final = "binary"
OURS: Final = (HIGH, *QUANTIZERS, BINARY)
ACCEPTS: Final = f"{' or '.join(map(repr, OURS))}, a narrower number format, or a storage of another package"


class Storage(NamedTuple):
    """A way to keep vectors.

    Args:
        name: in specs, flat(storage=NAME). Caches keep indexes by it: one that changes what it does needs another name.
        bits: of each number, on average.
        store: function from [document, dimension] float32 vectors to those that their codes stand for.
    """

    name: str
    bits: float
    store: Callable[[NDArray[np.float32]], NDArray[np.float32]]


@cache
def storages() -> Mapping[str, Storage]:
    """The storages that are not FAISS's: number formats, and those of other packages.

    Raises:
        PolicyError: a package adds what is no storage, or one of a name that is taken.

    >>> storages()["float8_e5m2"].bits
    8
    """
    known = formats()
    narrow = {name: each for name, each in known.items() if name not in (*OURS, "float64")}
    added = load_plugins("trueval.storages", Storage, {*known, *OURS})
    return MappingProxyType({**{name: _storage_of(each) for name, each in narrow.items()}, **added})


def _storage_of(known: Format) -> Storage:
    return Storage(known.name, 1 + known.exponent_bits + known.mantissa_bits, partial(_round_vectors, known.name))


def _round_vectors(name: str, vectors: NDArray[np.float32]) -> NDArray[np.float32]:
    return round_to(vectors, name).astype(np.float32)


def storage_names() -> tuple[str, ...]:
    """Every storage of a flat index.

    >>> storage_names()[:6]
    ('float32', 'float16', 'bfloat16', 'int8', 'int4', 'binary')
    """
    return (*OURS, *storages())


def check_storage(value: object) -> str:
    """The value as the name of a storage.

    Raises:
        ValueError: it is none.
    """
    if value in OURS or (isinstance(value, str) and value in storages()):
        return str(value)
    raise ValueError(value)


def store_vectors(name: str, vectors: NDArray[np.float32]) -> NDArray[np.float32]:
    """The vectors that the codes of a storage of `storages` stand for.

    Args:
        name: name of the storage.
        vectors: [document, dimension].

    Raises:
        PolicyError: the storage of another package returns other than such vectors.

    >>> store_vectors("float8_e5m2", np.array([[0.9, 0.1]], np.float32)).tolist()
    [[0.875, 0.09375]]
    """
    found = np.asarray(storages()[name].store(vectors))
    if found.shape != vectors.shape or found.dtype.kind != "f":
        raise PolicyError(
            f"The storage {name} must return vectors of shape {list(vectors.shape)} in float32. Got shape "
            f"{list(found.shape)} in {found.dtype}. Mend or uninstall the package that brings it."
        )
    return found.astype(np.float32)
