"""Milvus: by default Milvus Lite in a folder of the index; with a URI, the user's own file or a server.

    milvus(search='dense')    inner products, by a graph (index='hnsw') or one by one (index='flat')
    milvus(search='bm25')     Milvus's own BM25 of texts
    milvus(search='hybrid')   both, joined by Milvus's own reciprocal rank fusion

Milvus scans documents that are not indexed yet, so documents are flushed, indexed, released and loaded before the index
counts as a graph. Its BM25 is (k1 + 1) times the form of sparse.py, and Milvus Lite returns it negated, as a distance:
a score is its absolute value divided by k1 + 1. Milvus Lite collects term statistics per segment. Scores are float32.
"""

from __future__ import annotations

import shutil
import tempfile
import time
import weakref
from collections.abc import Mapping
from contextlib import suppress
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from types import MappingProxyType
from typing import Any, ClassVar, Final

import numpy as np

from trueval.errors import InputError, MissingExtraError, PolicyError
from trueval.models.hosted.services import is_this_machine
from trueval.retrieval.indexes.engines import (
    BUILDING,
    CONNECTION,
    Engine,
    EngineIndex,
    EngineInput,
    batches,
    make_search_parameter,
)
from trueval.retrieval.indexes.hits import Hits, check_depth, join_hits
from trueval.specs import Value, choice, number_in_range, text, whole

PLACE, VECTOR, TEXT, WORDS = "place", "vector", "text", "words"
MARK: Final = "trueval"
GRAPH: Final = ("storage", "M", "efConstruction", "efSearch")  # parameters for a graph only
DATABASE: Final = "milvus.db"
# Milvus's own limit: bytes of a VARCHAR (milvus.io/docs/limitations.md).
LONGEST_TEXT: Final = 65535
# Limits of one message: Milvus accepts 64 MiB.
ROWS, BYTES = 1000, 8 << 20
QUERIES: Final = 20
LITE: Final = "milvus_lite"  # prefix of Milvus Lite's version
SEALED: Final = 3  # SegmentState of Milvus's protocol
NO_CONNECTION: Final = 2  # error code of pymilvus
# gRPC uses the proxy of the environment even for local servers, so local data would leave the machine.
DIRECT: Final[Mapping[str, int]] = MappingProxyType({"grpc.enable_http_proxy": 0})


class Milvus(Engine):
    """A collection in Milvus: one row per document, with its place as the key."""

    name: ClassVar = "milvus"
    engine: ClassVar = "Milvus"
    widest: ClassVar = 32768  # milvus.io/docs/limitations.md
    package: ClassVar = "pymilvus"
    distributions: ClassVar = ("pymilvus", "milvus-lite")
    extra: ClassVar = "milvus"
    feature: ClassVar = "Indexes of Milvus"
    deepest: ClassVar = 16384  # milvus.io/docs/limitations.md
    graph: ClassVar = GRAPH
    address: ClassVar = "uri"
    loggers: ClassVar = ("pymilvus", "milvus_lite", "grpc")
    parameters: ClassVar = {
        "uri": text(None, "http://HOST:PORT of a server, or a path that ends with .db; in the cache by default"),
        "search": choice("dense", "bm25", "hybrid", about="by vectors, by words, or by both"),
        "index": choice("hnsw", "flat", about="of vectors: a graph, or one by one"),
        "storage": choice("float32", "int8", about="format that a graph keeps vectors in"),
        "M": whole(32, 2, "neighbors of each vector on a layer, twice as many on the lowest"),
        "efConstruction": whole(200, 1, "candidates that are kept while the graph is built"),
        "efSearch": whole(
            128, 1, "candidates that are kept while it is searched; at least the depth is", searched=True
        ),
        "analyzer": choice("standard", "english", about="which words a text has; Milvus Lite knows standard alone"),
        "k1": number_in_range(0.9, 0, 1000, "how slowly further occurrences of a term count less", above=True),
        "b": number_in_range(0.4, 0, 1, "how much long documents count less"),
        "k": make_search_parameter(number_in_range(60, 0, 16384, "of rrf: added to each rank", above=True, below=True)),
        **CONNECTION,
    }
    _vectors = frozenset({"index", "storage", "M", "efConstruction", "efSearch"})
    _words = frozenset({"analyzer", "k1", "b"})
    modes: ClassVar = {"dense": _vectors, "bm25": _words, "hybrid": _vectors | _words | {"k"}}

    def __init__(self, chosen: Mapping[str, Value]) -> None:
        super().__init__(chosen)
        self.exact = self.search_by == "bm25" or (self.search_by == "dense" and self.values["index"] == "flat")
        self.path = self._own_path()

    @classmethod
    def check_choices(cls, chosen: Mapping[str, Value]) -> dict[str, Value]:
        """Check that the given parameters are compatible and the URI is a server or a file of Milvus Lite; return them.

        Raises:
            PolicyError: they do not, or it is neither.
        """
        uri = chosen.get("uri")
        if uri is not None and not is_server(str(uri)) and not str(uri).endswith(".db"):
            raise PolicyError(f"uri of milvus must be http://HOST:PORT, or a path that ends with .db. Got {uri!r}.")
        return super().check_choices(chosen)

    @property
    def version(self) -> str:
        """The version of Milvus."""
        return str(self.client.get_server_version(timeout=self.patience))

    @property
    def patience(self) -> float:
        """Timeout in seconds; Milvus Lite in this process has none."""
        return self.real("timeout") if self.path is None else BUILDING

    @property
    def is_lite(self) -> bool:
        """Whether it is Milvus Lite: in this process, or behind a URI."""
        return self.path is not None or self.version.startswith(LITE)

    @property
    def client(self) -> Any:
        """The open client; no collection is loaded yet.

        Raises:
            InputError: nobody answers, or the file is another process's.
        """
        if self._client is None:
            with self.explain_errors():
                self._client = self._open_client()
        return self._client

    def ready(self) -> Milvus:
        """The index itself, once the server answers or the file can be opened."""
        if self.values["uri"] is not None:
            with self.explain_errors():
                _ = self.version
        return self

    def client_errors(self) -> tuple[type[Exception], ...]:
        """Exceptions of pymilvus: its own errors, and those of gRPC."""
        return (self.library.MilvusException, import_module("grpc").RpcError)

    def error(self, error: object) -> InputError:
        """The error in one line, with its cure."""
        where = str(self.path or self.values["uri"])
        told = str(getattr(error, "message", "") or error).strip().partition("\n")[0].partition(". ")[0].rstrip(".")
        if isinstance(error, import_module("grpc").Call):
            told = f"{error.code().name}, {error.details()}"
        if "Open local milvus failed" in told:
            cure = "Another process may hold it, or it is not a folder of Milvus Lite. End it, or choose another uri."
        elif getattr(error, "code", None) == NO_CONNECTION or "UNAVAILABLE" in told or "UNIMPLEMENTED" in told:
            cure = "Is the server running, and is this its gRPC port (19530 by default)?"
        elif "auth" in told.lower() or "UNAUTHENTICATED" in told:
            cure = "Put its token (user:password, or an API key) into an environment variable named by api_key_env."
        elif "DEADLINE" in told or "timeout" in told.lower():
            cure = (
                f"It did not answer within {self.real('timeout'):g} s: give it more by timeout=..., and run it again."
            )
        elif "tokenizer" in told:
            cure = "Milvus Lite knows analyzer='standard' alone. Take a server, or bm25 of this package."
        else:
            cure = "Its version may be too old for this search, or its limits lower: see its log."
        return InputError(f"Milvus at {where}: {told or type(error).__name__}. {cure}", source=where)

    def find_existing(self) -> EngineIndex | None:
        """The collection of this name in Milvus; None if there is none."""
        client, wait = self.client, self.patience
        if not client.has_collection(self.collection, timeout=wait):
            return None
        about = client.describe_collection(self.collection, timeout=wait)
        # A server keeps the description, Milvus Lite the properties.
        mark = (about.get("properties") or {}).get(MARK) or str(about.get("description")).removeprefix(f"{MARK} ")
        return EngineIndex(mark, int(client.get_collection_stats(self.collection, timeout=wait)["row_count"]))

    def drop(self) -> None:
        """Remove the collection."""
        self.client.drop_collection(self.collection, timeout=self.patience)

    def send(self, given: EngineInput) -> None:
        """Create the collection and insert the documents in messages.

        Raises:
            InputError: a text or a vector is longer than Milvus takes.
        """
        self._check_sizes(given)
        client, wait = self.client, self.patience
        client.create_collection(
            self.collection,
            schema=self._schema(),
            consistency_level="Strong",
            properties={MARK: self.mark} if self.is_lite else None,
            timeout=wait,
        )
        for chosen in batches(given.sizes, ROWS, BYTES):
            client.insert(self.collection, [_row(given, place) for place in chosen], timeout=wait)
        client.flush(self.collection, timeout=BUILDING)
        client.create_index(self.collection, self._index_params(), timeout=BUILDING)

    def settle(self, documents: int) -> None:
        """Release and reload the flushed collection, and check that all of it is indexed.

        Raises:
            InputError: some of it is not.
        """
        client = self.client
        client.release_collection(self.collection, timeout=self.patience)
        client.load_collection(self.collection, timeout=BUILDING)
        segments = self._segments(documents)
        where = "" if segments is None else f", in {segments} segment{'s' * (segments != 1)}"
        for field, (_, _, settings) in self._indexes().items():
            about = self._wait_until_indexed(field, documents)
            self.remark(
                f"Milvus ({self.version}) says of {field}: {about['index_type']}, {about['metric_type']}, "
                f"{about['indexed_rows']} of {documents} documents indexed{where}."
            )
            said = {**about, **(about.get("params") or {})}
            other = [name for name, value in settings.items() if str(said.get(name)) != str(value)]
            if other:
                self.remark(f"Milvus does not say that it took {', '.join(other)} of {field}.")
        if self.path is not None and self.takes != "vectors" and segments != 1:
            self.remark(
                f"Milvus Lite counts words in each of {segments} segments for itself: BM25 of equal texts differs "
                "between them. bm25 of this package counts over all documents."
            )

    def search(self, queries: object, depth: int) -> Hits:
        """Find up to `depth` documents for each query.

        Raises:
            InputError: the queries do not fit, or Milvus refuses them.
            PolicyError: the depth is more than Milvus gives.
        """
        check_depth(depth)
        depth = min(depth, self.documents)
        self.check_deepest(depth)
        given = self.to_input(queries, "queries")
        self.announce(len(given), "queries")
        with self.explain_errors():
            if self._client is None:  # closed since it was loaded
                self.client.load_collection(self.collection, timeout=BUILDING)
            chosen = batches(given.sizes, QUERIES, BYTES)
            found = [hits for part in chosen for hits in self._search(given, part, depth)]
        return join_hits([self._parse_hits(hits) for hits in found])

    def size(self) -> int:
        """Size of Milvus Lite's files in bytes; for a server, of the segments that it has in memory."""
        return self.bytes

    def write(self, folder: Path) -> None:
        """Write the address of the documents, or copy the files of Milvus Lite."""
        super().write(folder)
        if self.path is not None and self.values["uri"] is None:
            self.close()  # so that nothing is written while it is copied
            shutil.copytree(self.path, folder / DATABASE, ignore=shutil.ignore_patterns("LOCK"))

    def read(self, folder: Path) -> None:
        """Read the address of the documents, or open the files of Milvus Lite in the folder."""
        if self.path is not None and self.values["uri"] is None:
            self.path = folder / DATABASE
        super().read(folder)

    def close(self) -> None:
        """Disconnect from the server, or release the files."""
        if self._client is not None:
            self._client.close()
            self._client = None
            if self.path is not None:
                _release(self.path)

    def _own_path(self) -> Path | None:
        """The files of Milvus Lite, in a temporary folder unless the user named one; None for a server."""
        uri = self.values["uri"]
        if uri is not None:
            return None if is_server(str(uri)) else Path(str(uri))
        folder = Path(tempfile.mkdtemp(prefix="trueval-milvus-"))
        weakref.finalize(self, _remove, folder / DATABASE)
        return folder / DATABASE

    def _open_client(self) -> Any:
        wait = self.patience
        if self.path is None:
            uri = str(self.values["uri"])
            direct = dict(DIRECT) if is_this_machine(uri) else {}
            return self.library.MilvusClient(uri, token=self.key() or "", timeout=wait, grpc_options=direct)
        if find_spec("milvus_lite") is None:
            raise MissingExtraError(self.feature, self.extra)
        return self.library.MilvusClient(str(self.path), timeout=wait, grpc_options=dict(DIRECT))

    def _check_sizes(self, given: EngineInput) -> None:
        lengths = given.text_sizes
        if lengths.max(initial=0) > LONGEST_TEXT:
            raise InputError(
                f"The document in place {int(lengths.argmax())} has {int(lengths.max())} bytes. Milvus takes "
                f"{LONGEST_TEXT} of a text. Cut the corpus into chunks, or take bm25 of this package."
            )

    def _schema(self) -> Any:
        """The schema of a row: the place, and the vector, or the text that Milvus analyzes into terms."""
        kinds = self.library.DataType
        schema = self.library.MilvusClient.create_schema(
            auto_id=False, enable_dynamic_field=False, description=f"{MARK} {self.mark}"
        )
        schema.add_field(PLACE, kinds.INT64, is_primary=True)
        if self.takes != "texts":
            schema.add_field(VECTOR, kinds.FLOAT_VECTOR, dim=self.vector_size)
        if self.takes != "vectors":
            analyzer = {"type": str(self.values["analyzer"])}
            schema.add_field(
                TEXT, kinds.VARCHAR, max_length=LONGEST_TEXT, enable_analyzer=True, analyzer_params=analyzer
            )
            schema.add_field(WORDS, kinds.SPARSE_FLOAT_VECTOR)
            function = self.library.Function(
                name="bm25",
                input_field_names=[TEXT],
                output_field_names=[WORDS],
                function_type=self.library.FunctionType.BM25,
            )
            schema.add_function(function)
        return schema

    def _index_params(self) -> Any:
        params = self.library.MilvusClient.prepare_index_params()
        for field, (kind, metric, settings) in self._indexes().items():
            # pymilvus 3.0 sends each setting separately. Milvus Lite 3.2 reads them from one JSON text, "params", and
            # uses its own defaults without it.
            sent = {"params": settings} if self.is_lite else settings
            params.add_index(field, index_type=kind, metric_type=metric, params=sent)
        return params

    def _indexes(self) -> dict[str, tuple[str, str, dict[str, Any]]]:
        """Index type, metric and settings of each field."""
        found: dict[str, tuple[str, str, dict[str, Any]]] = {}
        if self.takes != "texts":
            graph: dict[str, Any] = {name: self.values[name] for name in ("M", "efConstruction") if name in self.values}
            graph |= {"sq_type": "SQ8"} if self._type() == "HNSW_SQ" else {}
            found[VECTOR] = (self._type(), "IP", graph)
        if self.takes != "vectors":
            settings = {"bm25_k1": self.values["k1"], "bm25_b": self.values["b"]}
            found[WORDS] = ("SPARSE_INVERTED_INDEX", "BM25", settings)
        return found

    def _type(self) -> str:
        """Milvus's name of the vector index type."""
        if self.values["index"] == "flat":
            return "FLAT"
        return "HNSW_SQ" if self.values["storage"] == "int8" else "HNSW"

    def _wait_until_indexed(self, field: str, documents: int) -> Mapping[str, Any]:
        """Milvus's description of an index, once it covers every document; a server builds it asynchronously."""
        end = time.monotonic() + BUILDING
        while True:
            about: Mapping[str, Any] = self.client.describe_index(self.collection, field, timeout=self.patience)
            if about["state"] == "Finished" and int(about["indexed_rows"]) >= documents:
                return about
            if about["state"] == "Failed" or time.monotonic() > end:
                raise InputError(
                    f"Milvus indexed {about['indexed_rows']} of {documents} documents ({about['state']}), and would "
                    "scan the others. Run it again, or see its log."
                )
            time.sleep(0.5)

    def _segments(self, documents: int) -> int | None:
        """Number of segments with the documents, none of which still grows; None if Milvus does not report them.

        Raises:
            InputError: one grows.
        """
        if self.path is not None:
            files = [file for file in (self.path / "collections" / self.collection).rglob("*") if file.is_file()]
            self.bytes = sum(file.stat().st_size for file in files)
            return sum(file.name.startswith("data_") and file.suffix == ".parquet" for file in files)
        if self.is_lite:
            return None
        segments = self.client.list_loaded_segments(self.collection, timeout=self.patience)
        self.bytes = sum(int(each.mem_size) for each in segments)
        rows = sum(int(each.num_rows) for each in segments if int(each.state) == SEALED)
        if rows < documents:
            raise InputError(
                f"Milvus has {rows} of {documents} documents in sealed segments; the others are scanned. Run it again."
            )
        return len(segments)

    def _search(self, given: EngineInput, chosen: range, depth: int) -> Any:
        """Milvus's results for some queries: for each a list of hits, with `ids` and `distances`."""
        searches = []
        if given.vectors is not None:
            candidates = {} if self.values["index"] == "flat" else {"ef": max(self.number("efSearch"), depth)}
            vectors = [given.vectors[place] for place in chosen]
            searches.append(
                {"data": vectors, "anns_field": VECTOR, "param": {"metric_type": "IP", "params": candidates}}
            )
        if given.texts is not None:
            texts = [given.text(place) for place in chosen]
            searches.append({"data": texts, "anns_field": WORDS, "param": {"metric_type": "BM25", "params": {}}})
        shared = {"output_fields": [PLACE], "timeout": self.patience, "consistency_level": "Strong"}
        if len(searches) == 1:
            search_params = searches[0].pop("param")
            return self.client.search(
                self.collection, **searches[0], search_params=search_params, limit=depth, **shared
            )
        requests = [self.library.AnnSearchRequest(**each, limit=depth) for each in searches]
        ranker = self.library.RRFRanker(self.values["k"])
        return self.client.hybrid_search(self.collection, requests, ranker, limit=depth, **shared)

    def _parse_hits(self, hits: Any) -> tuple[Any, Any]:
        """Places and scores of one query, best first, ties by place."""
        places = np.array([hit[PLACE] for hit in hits], dtype=np.int64)
        scores = np.array([hit["distance"] for hit in hits], dtype=np.float64)
        if self.search_by == "bm25":
            scores = np.abs(scores) / (self.real("k1") + 1)
        order = np.lexsort((places, -scores))
        return places[order], scores[order]


def is_server(uri: str) -> bool:
    """Whether a URI names a server rather than a file.

    >>> is_server("http://localhost:19530"), is_server("corpus.db")
    (True, False)
    """
    return uri.startswith(("http://", "https://", "tcp://", "unix:"))


def _row(given: EngineInput, place: int) -> dict[str, object]:
    row: dict[str, Any] = {PLACE: place}
    if given.vectors is not None:
        row[VECTOR] = given.vectors[place]
    if given.texts is not None:
        row[TEXT] = given.text(place)
    return row


def _release(path: Path) -> None:
    """Stop the server of Milvus Lite, which runs in threads of this process and holds the files."""
    import_module("milvus_lite.server_manager").server_manager_instance.release_server(str(path))


def _remove(path: Path) -> None:
    """Remove the temporary files of Milvus Lite."""
    with suppress(ImportError):
        _release(path)
    shutil.rmtree(path.parent, ignore_errors=True)


KINDS: Final = {Milvus.name: Milvus}
