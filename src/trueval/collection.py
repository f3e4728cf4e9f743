"""Collection: documents and queries with their texts, and the candidates that a model scores."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np
import polars as pl

from trueval.errors import InputError, Place
from trueval.files.libraries import dataset_configs, load_dataset, open_library
from trueval.files.texts.text_files import TextFiles, find_parts, parts_of
from trueval.files.texts.text_mapping import TextMapping, gather
from trueval.files.texts.text_row import TextRow, join_fields
from trueval.files.texts.text_rows import read_rows
from trueval.files.texts.text_store import StoredTexts, TextHash, as_bytes
from trueval.judgments import QRELS, Judgments, qrels_in
from trueval.printable import encodable, first_ids

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from trueval.run import Run


Tell = Callable[[int], object] | None

FIELDS: Final = ("title", "text")  # as BEIR and MTEB join them
QUERY_FIELDS: Final = ("text",)


@dataclass(frozen=True, eq=False)
class Collection:
    """Documents, queries and, where there are any, judgments.

    Args:
        name: name in reports.
        source: the folder or name it came from.
        documents: text of each document, by id, in the order of the corpus; for a large corpus, on disk.
        queries: text of each query, by id.
        judgments: grades; None if there are none.
        lists: candidates that the collection itself provides per query, in its order; None if it provides none.
        notes: one-line warnings from reading.

    >>> from trueval.sample import sample_path
    >>> sample = Collection.read(str(sample_path()))
    >>> len(sample.documents), len(sample.queries), len(sample.graded.frame)
    (100, 24, 513)
    """

    name: str
    source: str
    documents: Mapping[str, str]
    queries: Mapping[str, str]
    judgments: Judgments | None = None
    lists: Mapping[str, Sequence[str]] | None = None
    notes: tuple[str, ...] = ()

    @classmethod
    def read(
        cls,
        place: str,
        *,
        fields: Sequence[str] = FIELDS,
        qrels: str | None = None,
        queries: str | None = None,
        tell: Tell = None,
        needs_corpus: bool = True,
    ) -> Collection:
        """Read a BEIR-shaped folder, or load "mteb:NAME", "ir_datasets:NAME" or "hf:NAME" through that library.

        Texts are read in one pass. Where they take more than 256 MiB they go to a temporary file, which is gone when
        the process ends.

        Args:
            place: such a name; or a folder with corpus and queries, each a file .jsonl (.gz, .zst) or .parquet, or a
                folder of such parts, read in the order of their names; and with qrels.trec, or qrels/test.tsv, if there
                are judgments.
            fields: fields of a document that make up its text, joined by spaces; empty ones are left out.
            qrels: file of the judgments, instead of the folder's.
            queries: file or folder of the queries, instead of the folder's.
            tell: progress callback, called with the number of documents so far.
            needs_corpus: whether a folder must have a corpus; if not, its collection may have no documents.

        Raises:
            InputError: a file is missing or bad, with its line; an id is there twice; no document has a text; the
                library is not installed or does not know the name.
        """
        kind, _, rest = place.partition(":")
        if not rest or kind not in LOADERS:
            return _read_folder(Path(place), tuple(fields), qrels, queries, tell, needs_corpus=needs_corpus)
        found = LOADERS[kind](rest, tuple(fields), tell)
        if queries is not None:
            found = replace(found, queries=read_queries(Path(queries)))
        return found if qrels is None else replace(found, judgments=Judgments.read(qrels))

    @classmethod
    def of(cls, given: Collection | Path | str, *, qrels: Path | str | None = None) -> Collection:
        """A collection, or the one that a place names, with the judgments of a file instead of its own.

        Args:
            given: a collection, or its place as `read` takes it.
            qrels: file of judgments, or the folder of a golden set; None for those of the collection.

        Raises:
            InputError: as in `read`.
        """
        named = None if qrels is None else str(qrels)
        if not isinstance(given, Collection):
            return cls.read(str(given), qrels=named)
        return given if named is None else replace(given, judgments=Judgments.read(named))

    @property
    def graded(self) -> Judgments:
        """The judgments; an error where there are none.

        Raises:
            InputError: there are none.
        """
        if self.judgments is None:
            raise Place(self.source).error(
                f"there are no judgments, and this needs some. Add one of {', '.join(QRELS)}, or name others: --qrels "
                "FILE, in Python qrels=FILE."
            )
        return self.judgments

    def restrict(self, queries: Container[str]) -> Collection:
        """Return the collection restricted to some judged queries.

        Raises:
            InputError: no query is left, or there are no judgments.
        """
        frame = self.graded.frame
        kept = [query in queries for query in frame["query_id"].to_list()]
        if not any(kept):
            asked = first_ids(list(queries)) if isinstance(queries, Iterable) else ""
            those, judged = f", and those to keep are {asked}" * bool(asked), self.graded.query_ids.to_list()
            raise Place(self.source).error(f"no judged query is left: judged are {first_ids(judged)}{those}.")
        judgments = Judgments.from_frame(frame.filter(pl.Series(kept)))
        return replace(self, judgments=replace(judgments, source=self.graded.source, rubric=self.graded.rubric))


@dataclass(frozen=True, eq=False)
class Candidates:
    """The documents that a model scores for each query.

    Args:
        kind: "judged", "lists", "corpus", or the name of a run.
        query_ids: [list] ids.
        doc_ids: ids of all documents in any list, in the order of the corpus.
        lists: [list] arrays of indices into doc_ids, in the input order of ties.
    """

    kind: str
    query_ids: tuple[str, ...]
    doc_ids: tuple[str, ...]
    lists: tuple[NDArray[np.int64], ...]
    notes: tuple[str, ...] = ()

    @property
    def pairs(self) -> int:
        """Number of pairs of query and document."""
        return sum(len(each) for each in self.lists)


def candidate_lists(collection: Collection, choice: str | Run | None = None) -> Candidates:
    """Return the candidates of every judged query.

    Args:
        collection: collection with the texts.
        choice: "judged" (every judged document of the query, in the order of the judgments), "corpus" (every document),
            a run (the documents it lists, in its order), or None: the collection's own lists, otherwise "judged".

    Raises:
        InputError: there are no judgments, the choice is unknown, a query has no text, or no candidate has one.

    >>> collection = Collection("c", "c", {"a": "x", "b": "y"}, {"q": "z"}, Judgments.from_dict({"q": {"b": 1}}))
    >>> [each.tolist() for each in candidate_lists(collection, "corpus").lists]
    [[0, 1]]
    """
    if choice is None:
        choice = "judged" if collection.lists is None else "lists"
    queries = collection.graded.query_ids.to_list()
    missing = [query for query in queries if query not in collection.queries]
    if missing:
        raise Place(collection.source).error(
            f"{len(missing)} judged queries have no text, the first {missing[0]!r}. "
            "Every judged query must be in queries.jsonl. Add it, or remove its judgments."
        )
    if choice == "corpus":
        everything = np.arange(len(collection.documents))
        return Candidates("corpus", tuple(queries), tuple(collection.documents), (everything,) * len(queries))
    kind, listed = _choose_lists(collection, choice)
    return _index_candidates(
        collection, kind, {query: listed[query] for query in queries if query in listed}, len(queries)
    )


def _choose_lists(collection: Collection, choice: str | Run) -> tuple[str, Mapping[str, Sequence[str]]]:
    """Return the kind of candidates, and the candidates of each query by id."""
    if choice == "judged":
        judged = collection.graded.frame.filter(pl.col("grade") >= 0)  # below 0 means not judged
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


def _index_candidates(
    collection: Collection, kind: str, listed: Mapping[str, Sequence[str]], judged: int
) -> Candidates:
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


def relevant_documents(judgments: Judgments, documents: Container[str], rel: float) -> dict[str, tuple[str, ...]]:
    """Query id → its documents of at least a grade that have a text, best grade first, then by id.

    Args:
        documents: ids with a text.
        rel: least grade of a relevant document.

    >>> relevant_documents(Judgments.from_dict({"q": {"a": 1, "b": 2, "c": 0, "d": 2}}), {"a", "b", "c"}, 1)
    {'q': ('b', 'a')}
    """
    found: dict[str, list[tuple[float, str]]] = {}
    for query, document, grade in judgments.frame.select("query_id", "doc_id", "grade").iter_rows():
        if grade >= rel and document in documents:
            found.setdefault(query, []).append((-grade, document))
    return {query: tuple(document for _, document in sorted(each)) for query, each in found.items()}


def place_beside(file: Path, place: str) -> str:
    """Resolve the place of a collection named in a file: a folder relative to that file, or a library name.

    >>> place_beside(Path("pipelines/p.toml"), "mteb:SciFact")
    'mteb:SciFact'
    """
    kind, _, rest = place.partition(":")
    return place if rest and kind in LOADERS else str(file.parent / place)  # an absolute path is unchanged


def text_hash(texts: Iterable[str]) -> str:
    """Return the SHA-256 of texts in order; texts with different boundaries never hash alike.

    >>> text_hash(["ab", "c"]) == text_hash(["a", "bc"])
    False
    """
    digest = TextHash()
    digest.add(map(as_bytes, texts))
    return digest.hexdigest()


def texts_with_ids_hash(texts: Mapping[str, str]) -> str:
    """The hash of ids and texts in order; for texts on disk it was computed while reading.

    >>> texts_with_ids_hash({"a": "x", "b": "y"}) == text_hash(["a", "x", "b", "y"])
    True
    """
    return (
        texts.sha256 if isinstance(texts, StoredTexts) else text_hash(each for pair in texts.items() for each in pair)
    )


def ids_in_order(texts: Mapping[str, str]) -> pl.Series:
    """The ids of texts in their order."""
    return texts.ids if isinstance(texts, StoredTexts) else pl.Series("id", list(texts), dtype=pl.String)


def texts_in_order(texts: Mapping[str, str]) -> Sequence[str]:
    """The texts in order; texts on disk are read on demand."""
    return texts.texts if isinstance(texts, StoredTexts) else list(texts.values())


def _read_folder(
    folder: Path, fields: tuple[str, ...], qrels: str | None, queries: str | None, tell: Tell, *, needs_corpus: bool
) -> Collection:
    if not folder.is_dir():
        names = ", ".join(f'"{name}:NAME"' for name in LOADERS)
        raise Place(encodable(str(folder))).error(
            "no such folder. A collection must be a folder with corpus.jsonl, queries.jsonl and, if there are "
            f"judgments, qrels.trec, or {names}. Correct the path."
        )
    place = qrels or qrels_in(folder)
    judgments = None if place is None else Judgments.read(place)  # the shortest first: a fault in it is found at once
    parts = find_parts(folder, "queries") if queries is None else parts_of(Path(queries))
    asked = _read_texts(parts, QUERY_FIELDS, "query")
    corpus = find_parts(folder, "corpus")
    is_there = needs_corpus or corpus.paths[0].exists()
    found = _read_texts(corpus, fields, "document", tell) if is_there else _Texts({}, None)
    notes = [parts.note, asked.note, corpus.note, found.note]
    name, source = encodable(folder.resolve().name), encodable(str(folder))
    return Collection(name, source, found.texts, asked.texts, judgments, None, tuple(filter(None, notes)))


def read_queries(place: Path) -> Mapping[str, str]:
    """Read queries without a corpus.

    Args:
        place: a file .jsonl (.gz, .zst) or .parquet with _id and text, or a folder of such parts.

    Returns:
        Texts by id.

    Raises:
        InputError: it is missing or bad, with the line; or no query has a text.
    """
    return _read_texts(parts_of(place), QUERY_FIELDS, "query").texts


class _Texts(NamedTuple):
    """Texts by id, with warnings about them."""

    texts: Mapping[str, str]
    note: str | None


def read_corpus(place: str, *, fields: Sequence[str] = FIELDS, tell: Tell = None) -> Collection:
    """Read documents without queries.

    Args:
        place: folder with a corpus, or a name, as in `Collection.read`; or the file of the corpus itself.
        fields: fields of a document that make up its text.
        tell: progress callback, called with the number of documents so far.

    Raises:
        InputError: as in `Collection.read`.
    """
    kind, _, rest = place.partition(":")
    if rest and kind in LOADERS:
        return Collection.read(place, fields=fields, tell=tell)
    path = Path(place)
    parts = find_parts(path, "corpus") if path.is_dir() else parts_of(path)
    found = _read_texts(parts, tuple(fields), "document", tell)
    notes = tuple(filter(None, (parts.note, found.note)))
    return Collection(encodable(path.resolve().name), encodable(place), found.texts, {}, notes=notes)


def _read_texts(parts: TextFiles, fields: tuple[str, ...], what: str, tell: Tell = None) -> _Texts:
    found = gather(read_rows(parts.paths, fields), lambda row: join_fields(row, fields), tell)
    return _check_texts(found, fields, what, parts.display_name)


def _check_texts(found: TextMapping, fields: tuple[str, ...], what: str, place: str) -> _Texts:
    """Refuse no texts, and texts that are all empty, read from the wrong fields; warn where some are empty."""
    several = "queries" if what == "query" else f"{what}s"
    if not found.texts:
        raise Place(place).error(f"there is no {what}. It must hold one at least, with _id and {' or '.join(fields)}.")
    if found.empty == len(found.texts):
        raise Place(place).error(
            f"no {what} has a text. It must be in {' or '.join(map(repr, fields))}. The first one has "
            f"{', '.join(map(repr, found.keys))[:200] or 'nothing'}. Rename the fields, or choose others."
        )
    if not found.empty:
        return _Texts(found.texts, None)
    shown = f"{found.empty} of {len(found.texts)} {several} have no text, such as {found.example!r}"
    return _Texts(found.texts, f"{place}: {shown}.")


def _load_ir_datasets(name: str, fields: tuple[str, ...], tell: Tell) -> Collection:
    source = f"ir_datasets:{name}"
    with open_library("ir_datasets", name) as library:
        data = library.load(name)
        judgments: dict[str, dict[str, float]] = {}
        for row in data.qrels_iter() if data.has_qrels() else ():
            judgments.setdefault(str(row.query_id), {})[str(row.doc_id)] = row.relevance
        asked = data.queries_iter() if data.has_queries() else ()
        queries = gather(_rows(source, ((each.query_id, {"text": each.default_text()}) for each in asked)), _text)
        given = ((doc.doc_id, {"text": _text_of(doc, fields)}) for doc in data.docs_iter())
        documents = _check_texts(gather(_rows(source, given), _text, tell), fields, "document", source)
    graded = Judgments.from_dict(judgments) if judgments else None
    return Collection(name, source, documents.texts, queries.texts, graded, notes=_notes(documents))


def _text_of(doc: Any, fields: tuple[str, ...]) -> str:
    """The present fields of a document; one that has none of ours still has a default text."""
    found = {field: getattr(doc, field) for field in fields if getattr(doc, field, None)}
    return join_fields(found, fields) if found else str(doc.default_text())


def _load_mteb(name: str, fields: tuple[str, ...], tell: Tell) -> Collection:
    """Load a retrieval or reranking task; "NAME/SUBSET@SPLIT" for one of several subsets and splits.

    A task of several subsets, such as languages, has no subset that could be meant; the split is by default the first
    that mteb evaluates.
    """
    named, _, split = name.partition("@")
    named, _, subset = named.partition("/")
    with open_library("mteb", name) as library:
        about = library.get_task(named).metadata
        subset = _choose_part(f"mteb:{named}", "subset", subset, about.hf_subsets, about.hf_subsets)
        name = f"{named}/{subset}" if len(about.hf_subsets) > 1 else named
        source = f"mteb:{name}"
        split = _choose_part(source, "split", split, about.eval_splits, about.eval_splits[:1])
        source = f"{source}@{split}"
        several = len(about.hf_subsets) > 1
        task = library.get_task(named, eval_splits=[split], hf_subsets=[subset] if several else None)
        task.load_data()
        data = task.dataset[subset if several else next(iter(task.dataset))][split]
        given = ((row["id"], row) for row in data["corpus"])
        found = gather(_rows(source, given), lambda row: join_fields(row, fields), tell)
        documents = _check_texts(found, fields, "document", source)
        queries = gather(_rows(source, ((row["id"], row) for row in data["queries"])), _text)
        judgments = Judgments.from_dict(data["relevant_docs"]) if data.get("relevant_docs") else None
        lists = data.get("top_ranked")  # for reranking tasks only
    return Collection(name, source, documents.texts, queries.texts, judgments, lists or None, _notes(documents))


def _choose_part(source: str, what: str, asked: str, known: Sequence[str], meant: Sequence[str]) -> str:
    """A subset or split of a data set: the one asked for, or the only one that can be meant.

    Args:
        source: name of the data set in errors.
        what: "subset" or "split".
        asked: empty for none.
        known: of the data set.
        meant: those that can be meant where none is asked for.

    Raises:
        InputError: it has no such part, or has several and none is asked for.
    """
    found = asked or (meant[0] if len(meant) == 1 else "")
    if found in known:
        return found
    mark = "/" if what == "subset" else "@"
    told = f"has no {what} {asked!r}" if asked else f"has {len(known)} {what}s, and none is named"
    raise InputError(
        f"{source} {told}. It has: {', '.join(known)}. Name one, as in {source}{mark}{known[0]}.", source=source
    )


def _load_hf(name: str, fields: tuple[str, ...], tell: Tell) -> Collection:
    """Load a data set with the configurations corpus, queries and qrels (or default), as BEIR and MTEB have them."""
    source = f"hf:{name}"
    path, at, split = name.partition("@")
    with open_library("hf", name) as library:

        def rows(config: str) -> Iterator[tuple[str, Mapping[str, object]]]:
            return ((row.get("_id", row.get("id")), row) for row in load_dataset(library, path, config))

        found = gather(_rows(source, rows("corpus")), lambda row: join_fields(row, fields), tell)
        documents = _check_texts(found, fields, "document", source)
        queries = gather(_rows(source, rows("queries")), _text)
        known = dataset_configs(library, path)
        config = next((each for each in ("qrels", "default") if each in known), None)
        judged = None if config is None else load_dataset(library, path + at + split, config).with_format("arrow")[:]
    graded = None if judged is None else Judgments.from_frame(judged)
    return Collection(name, source, documents.texts, queries.texts, graded, None, _notes(documents))


def _rows(source: str, given: Iterable[tuple[object, Mapping[str, object]]]) -> Iterator[TextRow]:
    """Yield what a library returns as rows of a file."""
    for number, (id, values) in enumerate(given):
        yield TextRow(source, number, str(id), values, has_lines=False)


def _text(row: Mapping[str, object]) -> str:
    return join_fields(row, QUERY_FIELDS)


def _notes(found: _Texts) -> tuple[str, ...]:
    return () if found.note is None else (found.note,)


LOADERS: Final = {"mteb": _load_mteb, "ir_datasets": _load_ir_datasets, "hf": _load_hf}
