"""What people may give where a run or judgments belong, as types: `read_input` reads each of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Set
from os import PathLike
from typing import IO, TYPE_CHECKING, Protocol, SupportsFloat, TypeAlias

import numpy.typing as npt

if TYPE_CHECKING:
    import polars as pl


class ArrowStream(Protocol):
    """Frames with the Arrow C stream: polars, pandas, pyarrow, DuckDB.

    Source: the Arrow PyCapsule interface.
    """

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """Export the rows."""


class HoldsRun(Protocol):
    """A Run of ranx."""

    @property
    def run(self) -> object:
        """{query: {document: score}}."""


class HoldsQrels(Protocol):
    """Qrels of ranx."""

    @property
    def qrels(self) -> object:
        """{query: {document: grade}}."""


class HoldsRelevantDocs(Protocol):
    """A task of mteb, or an evaluator of sentence-transformers."""

    @property
    def relevant_docs(self) -> object:
        """{query: relevant documents}, or {query: {document: grade}}."""


# Keys are strings or integers, and not both in one dict. Numbers are also those of NumPy.
Documents: TypeAlias = Mapping[str, SupportsFloat] | Mapping[int, SupportsFloat] | Sequence[object] | Set[object]
ByQuery: TypeAlias = Mapping[str, Documents] | Mapping[int, Documents]
# Triples (query, document, number), also named ones of ir_measures; records; rows of a log of contexts.
Rows: TypeAlias = Iterable[tuple[object, ...]] | Iterable[Mapping[str, object]]
File: TypeAlias = str | PathLike[str] | IO[str] | IO[bytes]
Input: TypeAlias = "File | ArrowStream | pl.LazyFrame | ByQuery | Rows"
# [query, document]: an array, a tensor, or ragged lists of numbers.
Lists: TypeAlias = npt.ArrayLike | Iterable[npt.ArrayLike]
