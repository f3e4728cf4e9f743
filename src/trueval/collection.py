"""Collection: documents and queries with their texts, and the candidates that a model must score."""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import polars as pl

from trueval.errors import InputError, Place
from trueval.files.json.texts import TextRow, read_text_rows
from trueval.files.source.memory import check_memory
from trueval.judgments import Judgments
from trueval.printable import encodable

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from trueval.run import Run


ROW: Final = 200  # bytes of memory for a text beside its characters: id, places in a dict and in a set (docs/files.md)
ROWS_AT_ONCE: Final = 1 << 14  # texts between two looks at the memory
FIELDS: Final = ("title", "text")  # as BEIR and MTEB join them
QRELS: Final = ("qrels.trec", "qrels.tsv", "qrels/test.tsv", "qrels/dev.tsv", "qrels/train.tsv")


@dataclass(frozen=True, eq=False)
class Collection:
    """Documents, queries and judgments.

    Args:
        name: what reports call it.
        source: the folder or name it came from.
        documents: text of each document, by id, in the order of the corpus.
        queries: text of each query, by id.
        judgments: grades.
        lists: candidates that the collection itself names for each query, in its order; None if it names none.
        notes: one-line remarks made while reading.

    >>> from trueval.sample import sample_path
    >>> sample = Collection.read(str(sample_path()))
    >>> len(sample.documents), len(sample.queries), len(sample.judgments.frame)
    (100, 24, 513)
    """

    name: str
    source: str
    documents: Mapping[str, str]
    queries: Mapping[str, str]
    judgments: Judgments
    lists: Mapping[str, Sequence[str]] | None = None
    notes: tuple[str, ...] = ()

    @classmethod
    def read(cls, place: str, *, fields: Sequence[str] = FIELDS, qrels: str | None = None) -> Collection:
        """Read a BEIR-shaped folder, or load "mteb:NAME" or "ir_datasets:NAME" through that library.

        Args:
            place: folder with corpus.jsonl, queries.jsonl and qrels.trec (or qrels/test.tsv), or such a name.
            fields: of a document that make its text, joined by spaces; empty ones are left out.
            qrels: file of the judgments, instead of the folder's.

        Raises:
            InputError: a file is missing or bad, with its line; the library is not installed or does not know the name.
        """
        kind, _, rest = place.partition(":")
        found = LOADERS[kind](rest, fields) if rest and kind in LOADERS else _read_folder(Path(place), fields, qrels)
        return replace(found, judgments=Judgments.read(qrels)) if qrels and kind in LOADERS else found

    def restricted(self, queries: Container[str]) -> Collection:
        """Return the collection with some queries only.

        Raises:
            InputError: no query is left.
        """
        frame = self.judgments.frame
        kept = [query in queries for query in frame["query_id"].to_list()]
        if not any(kept):
            raise Place(self.source).error("no judged query is left. The choice of queries must keep at least one.")
        judgments = Judgments.from_frame(frame.filter(pl.Series(kept)))
        return replace(self, judgments=replace(judgments, source=self.judgments.source))


@dataclass(frozen=True, eq=False)
class Candidates:
    """The documents that a model scores for each query.

    Args:
        kind: "judged", "lists", "corpus", or the name of a run.
        query_ids: [list] ids.
        doc_ids: ids of all documents that some list holds, in the order of the corpus.
        lists: [list] arrays of indices into doc_ids, in the order that ties are left in.
        notes: one-line remarks.
    """

    kind: str
    query_ids: tuple[str, ...]
    doc_ids: tuple[str, ...]
    lists: tuple[NDArray[np.int64], ...]
    notes: tuple[str, ...] = ()

    @property
    def pairs(self) -> int:
        """How many pairs of query and document there are."""
        return sum(len(each) for each in self.lists)


def candidate_lists(collection: Collection, choice: str | Run | None = None) -> Candidates:
    """Return the candidates of every judged query.

    Args:
        collection: with the texts.
        choice: "judged" (every judged document of the query, in the order of the judgments), "corpus" (every
            document), a run (what it lists, in its order), or None: the collection's own lists, else "judged".

    Raises:
        InputError: the choice is unknown, a query has no text, or no candidate has one.

    >>> collection = Collection("c", "c", {"a": "x", "b": "y"}, {"q": "z"}, Judgments.from_dict({"q": {"b": 1}}))
    >>> [each.tolist() for each in candidate_lists(collection, "corpus").lists]
    [[0, 1]]
    """
    if choice is None:
        choice = "judged" if collection.lists is None else "lists"
    queries = collection.judgments.query_ids.to_list()
    missing = [query for query in queries if query not in collection.queries]
    if missing:
        raise Place(collection.source).error(
            f"{len(missing)} judged queries have no text, the first {missing[0]!r}. "
            "Every judged query must be in queries.jsonl. Add it, or remove its judgments."
        )
    if choice == "corpus":
        everything = np.arange(len(collection.documents))
        return Candidates("corpus", tuple(queries), tuple(collection.documents), (everything,) * len(queries))
    kind, listed = _listed(collection, choice)
    return _indexed(collection, kind, {query: listed[query] for query in queries if query in listed}, len(queries))


def _listed(collection: Collection, choice: str | Run) -> tuple[str, Mapping[str, Sequence[str]]]:
    """Return a name and the candidates of each query, by id."""
    if choice == "judged":
        judged = collection.judgments.frame.filter(pl.col("grade") >= 0)  # below 0 means not judged
        # With facets a document has a row for each; it is a candidate once.
        frame = judged.unique(["query_id", "doc_id"], keep="first", maintain_order=True)
        return "judged", _by_query(frame)
    if choice == "lists" and collection.lists is not None:
        return "lists", collection.lists
    if isinstance(choice, str):
        raise InputError(
            f'Candidates must be "judged", "corpus" or a run. Got {choice!r}. To use a file, read it: Run.read(...).'
        )
    return choice.name, _by_query(choice.frame)


def _by_query(frame: pl.DataFrame) -> dict[str, list[str]]:
    grouped = frame.group_by("query_id", maintain_order=True).agg("doc_id")
    return dict(zip(grouped["query_id"].to_list(), grouped["doc_id"].to_list(), strict=True))


def _indexed(collection: Collection, kind: str, listed: Mapping[str, Sequence[str]], judged: int) -> Candidates:
    """Return lists of ids as lists of indices; documents without a text are left out and counted."""
    wanted = {doc for docs in listed.values() for doc in docs}
    doc_ids = tuple(doc for doc in collection.documents if doc in wanted)
    place = {doc: index for index, doc in enumerate(doc_ids)}
    lists = {query: np.array([place[doc] for doc in docs if doc in place]) for query, docs in listed.items()}
    kept = {query: array.astype(np.int64) for query, array in lists.items() if len(array)}
    if not kept:
        raise Place(collection.source).error(
            f"no candidate of {kind} has a text. Candidates look like "
            f"{sorted(wanted)[:3]} and documents like {list(collection.documents)[:3]}; are the ids the same?"
        )
    notes = []
    if absent := len(wanted) - len(doc_ids):
        notes.append(f"{collection.name}: {absent} candidates have no text in the corpus and are left out.")
    if judged > len(kept):
        notes.append(f"{collection.name}: {judged - len(kept)} judged queries have no candidate and are left out.")
    return Candidates(kind, tuple(kept), doc_ids, tuple(kept.values()), tuple(notes))


def text_hash(texts: Iterable[str]) -> str:
    """Return the SHA-256 of texts in their order; parts of different lengths cannot hash alike.

    >>> text_hash(["ab", "c"]) == text_hash(["a", "bc"])
    False
    """
    digest = hashlib.sha256()
    for text in texts:
        data = text.encode("utf-8", "surrogatepass")  # JSON may hold half a pair of surrogates, which UTF-8 refuses
        # The length before each text: otherwise the end of one could be the start of the next.
        digest.update(len(data).to_bytes(8, "little"))
        digest.update(data)
    return digest.hexdigest()


def _read_folder(folder: Path, fields: Sequence[str], qrels: str | None) -> Collection:
    if not folder.is_dir():
        names = ", ".join(f'"{name}:NAME"' for name in LOADERS)
        raise Place(str(folder)).error(
            "no such folder. A collection must be a folder with corpus.jsonl, queries.jsonl and qrels.trec, "
            f"or {names}. Correct the path."
        )
    place = qrels or next((str(folder / name) for name in QRELS if (folder / name).is_file()), None)
    if place is None:
        raise Place(str(folder)).error(
            f"no judgments. It must hold one of {', '.join(QRELS)}. Add them, or name a file."
        )
    judgments = Judgments.read(place)
    documents = _texts(folder / "corpus.jsonl", lambda row: _joined(row, fields))
    queries = _texts(folder / "queries.jsonl", lambda row: str(row.get("text") or ""))
    return Collection(encodable(folder.resolve().name), encodable(str(folder)), documents, queries, judgments)


def _texts(path: Path, text_of: Callable[[Mapping[str, Any]], str]) -> dict[str, str]:
    """The text of each row, as long as memory may hold them."""
    texts: dict[str, str] = {}
    held = 0
    for row in _rows(path):
        text = text_of(row.values)
        texts[row.id] = text
        held += sys.getsizeof(text) + ROW
        if len(texts) % ROWS_AT_ONCE == 0:
            check_memory(held + ROWS_AT_ONCE * ROW, row.place, held=held)
    return texts


def _rows(path: Path) -> Iterator[TextRow]:
    """Read one JSON object a line; an id may appear once only."""
    seen: set[str] = set()
    for row in read_text_rows(path):
        if row.id in seen:
            raise row.place.error(f"the id {row.id!r} appears twice. Ids must differ. Remove one.")
        seen.add(row.id)
        yield row


def _joined(row: Mapping[str, Any], fields: Sequence[str]) -> str:
    """Return the fields of a document as one text; lists are joined by commas.

    >>> _joined({"title": "Wings", "authors": ["A. B.", "C. D."], "text": "Lift."}, ["title", "authors", "text"])
    'Wings A. B., C. D. Lift.'
    """
    values = (row.get(field) for field in fields)
    texts = (", ".join(map(str, value)) if isinstance(value, list) else str(value or "") for value in values)
    return " ".join(text for text in texts if text)


@contextmanager
def _library(library: str, name: str) -> Iterator[Any]:
    """Give a library that loads a collection, and say what it lacks where it fails."""
    try:
        module = import_module(library)
    except ImportError as error:
        raise InputError(
            f'Names that begin with "{library}:" need the package {library}, which is not installed. '
            f"Install {library} with pip, or give a folder."
        ) from error
    try:
        yield module
    except Exception as error:  # each library, and what it downloads with, has errors of its own
        reason = (str(error).strip().splitlines() or [type(error).__name__])[0]
        raise InputError(
            f"{library}:{name} cannot be loaded: {reason} It must be a name that {library} knows, with texts and "
            "judgments, reachable from here or already downloaded. Correct the name, or give a folder.",
            source=f"{library}:{name}",
        ) from error


def _load_ir_datasets(name: str, fields: Sequence[str]) -> Collection:
    with _library("ir_datasets", name) as library:
        data = library.load(name)
        judgments: dict[str, dict[str, float]] = {}
        for row in data.qrels_iter():
            judgments.setdefault(str(row.query_id), {})[str(row.doc_id)] = row.relevance
        queries = {str(query.query_id): query.default_text() for query in data.queries_iter()}
        documents = {}
        for doc in data.docs_iter():
            found = {field: getattr(doc, field) for field in fields if getattr(doc, field, None)}
            # Collections name their fields as they like; one that has none of ours still has a default text.
            documents[str(doc.doc_id)] = _joined(found, fields) if found else doc.default_text()
    return Collection(name, f"ir_datasets:{name}", documents, queries, Judgments.from_dict(judgments))


def _load_mteb(name: str, fields: Sequence[str]) -> Collection:
    """Load a retrieval or reranking task; "NAME/SUBSET" for one of several subsets."""
    name, _, subset = name.partition("/")
    with _library("mteb", name) as library:
        task = library.get_task(name)
        task.load_data()
        by_split = task.dataset[subset or next(iter(task.dataset))]
        data = by_split[next(split for split in task.metadata.eval_splits if split in by_split)]
        documents = {str(row["id"]): _joined(row, fields) for row in data["corpus"]}
        queries = {str(row["id"]): str(row["text"]) for row in data["queries"]}
        judgments = Judgments.from_dict(data["relevant_docs"])
        lists = data["top_ranked"]  # of reranking tasks only
    return Collection(name, f"mteb:{name}", documents, queries, judgments, lists or None)


LOADERS: Final = {"mteb": _load_mteb, "ir_datasets": _load_ir_datasets}
