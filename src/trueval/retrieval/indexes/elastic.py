"""Elasticsearch, by its own client: BM25 of texts, or vectors in a `dense_vector`.

    elastic(search='bm25')                    terms of one of its analyzers
    elastic(search='dense')                   inner products, by a graph (index='hnsw') or one by one (index='flat')
    elastic(search='dense', storage='int8')   the same with integers from -128 to 127

Elasticsearch returns for an inner product p the score 1 + p or, below 0, 1 / (1 - p), and (1 + p) / 2 under the
similarity dot_product; its BM25 is (k1 + 1) times the form of sparse.py. Both are converted back here, which keeps
order and ties. It computes in float32: two products less than 1.2e-7 apart may tie although the products differ.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from importlib import import_module
from typing import Any, ClassVar, Final, TypeVar

import numpy as np
from numpy.typing import NDArray

from trueval.errors import InputError, PolicyError
from trueval.models.hosted.failures import read_retry_after
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
from trueval.specs import Value, choice, flag, number_in_range, text, whole

T = TypeVar("T")

PLACE, VECTOR, TEXT = "place", "vector", "text"
MARK: Final = "trueval"
GRAPH: Final = ("M", "efConstruction", "num_candidates")  # parameters for a graph only
# Limits of one message. A vector is about six times as long in JSON, and Elasticsearch accepts 100 MB.
ROWS, BYTES = 500, 2 << 20
QUERIES: Final = 100
# HTTP statuses of an overloaded server, which may give a waiting time in Retry-After.
BUSY: Final = (429, 502, 503, 504)
CONFLICT: Final = 409
WAITS: Final = (1.0, 2.0, 4.0, 8.0)  # seconds before each retry, without Retry-After
LONGEST_WAIT: Final = 60.0


class Elastic(Engine):
    """An index in Elasticsearch, with a document's place as its id."""

    name: ClassVar = "elastic"
    engine: ClassVar = "Elasticsearch"
    widest: ClassVar = 4096
    package: ClassVar = "elasticsearch"
    distributions: ClassVar = ("elasticsearch",)
    extra: ClassVar = "elastic"
    feature: ClassVar = "Indexes of Elasticsearch"
    deepest: ClassVar = 10000  # index.max_result_window, and the maximum of num_candidates
    graph: ClassVar = GRAPH
    address: ClassVar = "url"
    loggers: ClassVar = ("elasticsearch", "elastic_transport")
    parameters: ClassVar = {
        "url": text("http://localhost:9200", "http:// or https://, host and port"),
        "search": choice("bm25", "dense", about="by words, or by vectors"),
        "analyzer": choice("english", "french", "standard", about="which words a text has"),
        "k1": number_in_range(0.9, 0, 1000, "how slowly further occurrences of a term count less"),
        "b": number_in_range(0.4, 0, 1, "how much long documents count less"),
        "ties": make_search_parameter(
            choice("place", "engine", about="which of equal scores are first, also where the depth cuts")
        ),
        "index": choice("hnsw", "flat", about="of vectors: a graph, or one by one"),
        "storage": choice("float32", "int8", about="format that vectors are compared in"),
        "similarity": choice("max_inner_product", "dot_product", about="the latter takes vectors of length 1 alone"),
        "M": whole(32, 2, "neighbors of each vector on a layer, twice as many on the lowest"),
        "efConstruction": whole(200, 1, "candidates that are kept while the graph is built"),
        "num_candidates": whole(128, 1, "candidates that each shard keeps; at least the depth are kept", searched=True),
        "shards": whole(1, 1, "parts of the index"),
        "merge": flag(False, "merge the segments of each shard into one before the search"),
        "ca_certs": make_search_parameter(text(None, "file with the certificate of a server that signs its own")),
        **CONNECTION,
    }
    modes: ClassVar = {
        "bm25": frozenset({"analyzer", "k1", "b", "ties"}),
        "dense": frozenset({"index", "storage", "similarity", *GRAPH}),
    }

    def __init__(self, chosen: Mapping[str, Value]) -> None:
        super().__init__(chosen)
        self.exact = self.values.get("index") != "hnsw"

    @classmethod
    def check_choices(cls, chosen: Mapping[str, Value]) -> dict[str, Value]:
        """Check that the given parameters are compatible and the URL is valid, and return them.

        Raises:
            PolicyError: they do not, or it is none.
        """
        url = str(chosen.get("url", "http://"))
        if not url.startswith(("http://", "https://")):
            raise PolicyError(f"url of elastic must begin with http:// or https://. Got {url!r}.")
        return super().check_choices(chosen)

    @property
    def client(self) -> Any:
        """The client, which connects on first use."""
        if self._client is None:
            ca_certs = {} if self.values["ca_certs"] is None else {"ca_certs": self.values["ca_certs"]}
            self._client = self.library.Elasticsearch(
                self.values["url"],
                api_key=self.key(),
                request_timeout=self.real("timeout"),
                max_retries=2,  # for broken connections; waiting for a busy server is done in `with_retries`
                retry_on_status=(),
                retry_on_timeout=False,
                **ca_certs,
            )
        return self._client

    def ready(self) -> Elastic:
        """The index itself, once the server answers."""
        with self.explain_errors():
            self.version()
        return self

    def version(self) -> str:
        """The server's version."""
        try:
            return str(self.with_retries(self.client.info)["version"]["number"])
        except self.library.AuthorizationException:  # an API key for one index may not be allowed to ask this
            return "version unknown"

    def client_errors(self) -> tuple[type[Exception], ...]:
        """Exceptions of the client: error responses, missing responses, and ValueError for a bad URL."""
        return (self.library.ApiError, self.library.TransportError, ValueError)

    def error(self, error: object) -> InputError:
        """The error in one line, with its cure."""
        url = str(self.values["url"])
        return InputError(f"Elasticsearch at {url}: {self._what(error)}", source=url)

    def with_retries(self, call: Callable[[], T]) -> T:
        """Call, and retry while the server is too busy.

        Args:
            call: idempotent call.
        """
        for wait in WAITS:
            try:
                return call()
            except self.library.ApiError as error:
                if error.meta.status not in BUSY:
                    raise
                asked_for = read_retry_after(error.meta.headers)
                time.sleep(wait if asked_for is None else min(asked_for, LONGEST_WAIT))
        return call()

    def find_existing(self) -> EngineIndex | None:
        """The index of this name in Elasticsearch; None if there is none."""
        indices = self.client.indices
        if not self.with_retries(lambda: indices.exists(index=self.collection)):
            return None
        (about,) = self.with_retries(lambda: indices.get_mapping(index=self.collection)).values()
        mark = about["mappings"].get("_meta", {}).get(MARK)
        return EngineIndex(mark, int(self.with_retries(lambda: self.client.count(index=self.collection))["count"]))

    def drop(self) -> None:
        """Remove the index."""
        self.with_retries(lambda: self.client.indices.delete(index=self.collection))

    def send(self, given: EngineInput) -> None:
        """Create the index and send the documents in bulk messages, then refresh it.

        Raises:
            InputError: a document is refused.
        """
        indices = self.client.indices
        self.with_retries(
            lambda: indices.create(index=self.collection, settings=self._settings(), mappings=self._mappings())
        )
        for chosen in batches(given.sizes, ROWS, BYTES):
            self._send_some(given, chosen)
        _whole(self.with_retries(lambda: indices.refresh(index=self.collection)), "refresh")
        if self.values["merge"]:
            building = self.client.options(request_timeout=BUILDING).indices
            merged = self.with_retries(lambda: building.forcemerge(index=self.collection, max_num_segments=1))
            _whole(merged, "merge")

    def settle(self, documents: int) -> None:
        """Record the state of the index after filling it."""
        about = self.with_retries(lambda: self.client.indices.stats(index=self.collection, metric="store,segments"))
        primaries = about["_all"]["primaries"]
        self.bytes, segments = int(primaries["store"]["size_in_bytes"]), int(primaries["segments"]["count"])
        self.remark(
            f"Elasticsearch ({self.version()}) holds {documents} documents; shards: {self.values['shards']}, segments: "
            f"{segments}."
        )

    def search(self, queries: object, depth: int) -> Hits:
        """Find up to `depth` documents for each query.

        Raises:
            InputError: the queries do not fit, a shard fails, or Elasticsearch refuses them.
            PolicyError: the depth is more than Elasticsearch gives.
        """
        check_depth(depth)
        depth = min(depth, self.documents)
        self.check_deepest(depth)
        given = self.to_input(queries, "queries")
        self.announce(len(given), "queries")
        found = []
        with self.explain_errors():
            for chosen in batches(given.sizes, QUERIES, BYTES):
                searches = [line for place in chosen for line in ({}, self._query(given, place, depth))]
                answers = self.with_retries(lambda some=searches: self._answers(some))  # type: ignore[misc]
                found += [self._parse_hits(answer, place) for place, answer in zip(chosen, answers, strict=True)]
        return join_hits(found)

    def size(self) -> int:
        """Size of its files in bytes, without replicas."""
        return self.bytes

    def _settings(self) -> dict[str, Any]:
        settings: dict[str, Any] = {
            "number_of_shards": self.values["shards"],
            "number_of_replicas": 0,  # a replica with other merged segments would give other scores
            "refresh_interval": "-1",
        }
        if self.takes == "texts":
            settings["similarity"] = {MARK: {"type": "BM25", "k1": self.values["k1"], "b": self.values["b"]}}
        return settings

    def _mappings(self) -> dict[str, object]:
        field: dict[str, Any]
        if self.takes == "texts":
            field = {TEXT: {"type": "text", "analyzer": self.values["analyzer"], "similarity": MARK}}
        else:
            field = {
                VECTOR: {
                    "type": "dense_vector",
                    "dims": self.vector_size,
                    "index": True,
                    "similarity": self.values["similarity"],
                    "index_options": self._index_options(),
                }
            }
        return {
            "_meta": {MARK: self.mark},
            "dynamic": False,
            "_source": {"enabled": False},
            "properties": {PLACE: {"type": "integer"}, **field},
        }

    def _index_options(self) -> dict[str, object]:
        prefix = "int8_" if self.values["storage"] == "int8" else ""
        if self.values["index"] == "flat":
            return {"type": f"{prefix}flat"}
        return {"type": f"{prefix}hnsw", "m": self.values["M"], "ef_construction": self.values["efConstruction"]}

    def _send_some(self, given: EngineInput, chosen: Sequence[int]) -> None:
        """Send documents in one message, and resend those that the server was too busy for.

        Raises:
            InputError: some are refused.
        """
        waiting = list(chosen)
        for wait in (*WAITS, None):
            failed = self._send_once(given, waiting)
            busy = [int(item["_id"]) for item in failed if item["status"] in BUSY]
            if not failed:
                return
            if len(busy) < len(failed) or wait is None:
                first = next((item for item in failed if item["status"] not in BUSY), failed[0])
                raise InputError(
                    f"Elasticsearch refused {len(failed)} of {len(chosen)} documents of a message, the first in place "
                    f"{first['_id']} ({first['status']}): {_reason(first.get('error'))}. Correct it, and run it again."
                )
            waiting = busy
            time.sleep(wait)

    def _send_once(self, given: EngineInput, chosen: Sequence[int]) -> list[Any]:
        """The server's responses for the documents of a message that it did not accept."""
        # "create" refuses existing documents with 409, so that nothing is counted twice if a response was lost.
        where = {"_op_type": "create", "_index": self.collection}
        actions = [{**where, "_id": str(place), PLACE: place, **self._fields(given, place)} for place in chosen]
        bulk = import_module("elasticsearch.helpers").streaming_bulk
        items = self.with_retries(lambda: list(bulk(self.client, actions, chunk_size=ROWS, raise_on_error=False)))
        return [item["create"] for taken, item in items if not taken and item["create"]["status"] != CONFLICT]

    def _fields(self, given: EngineInput, place: int) -> dict[str, Any]:
        if given.texts is not None:
            return {TEXT: given.text(place)}
        return {VECTOR: np.asarray(given.vectors)[place].tolist()}

    def _query(self, given: EngineInput, place: int, depth: int) -> dict[str, object]:
        body: dict[str, Any] = {"size": depth, "_source": False, "track_total_hits": False}
        if given.texts is not None:
            query = {"query": {"match": {TEXT: {"query": given.text(place)}}}}
            order = {"sort": [{"_score": "desc"}, {PLACE: "asc"}], "track_scores": True}
            return body | query | (order if self.values["ties"] == "place" else {})
        kept = self.number("num_candidates") if self.values["index"] == "hnsw" else depth
        vector = np.asarray(given.vectors)[place].tolist()
        candidates = min(max(kept, depth), self.deepest)
        return body | {"knn": {"field": VECTOR, "query_vector": vector, "k": depth, "num_candidates": candidates}}

    def _answers(self, searches: Sequence[Mapping[str, object]]) -> list[object]:
        """The responses to some searches; each may be an error.

        Raises:
            ApiError: the server was too busy for one of them.
        """
        # Term statistics are collected over all shards first, so that scores do not depend on the distribution of
        # documents.
        how = {"search_type": "dfs_query_then_fetch"} if self.takes == "texts" else {}
        answer = self.client.msearch(index=self.collection, searches=searches, **how)
        busy = next((each for each in answer["responses"] if each.get("status") in BUSY), None)
        if busy is not None:
            meta = replace(answer.meta, status=int(busy["status"]))
            raise self.library.ApiError(_reason(busy), meta, busy)
        return list(answer["responses"])

    def _parse_hits(self, answer: Any, place: int) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Places and scores of one query, best first, ties by place.

        Raises:
            InputError: the query failed, or a part of the index did not answer.
        """
        if "error" in answer:
            raise InputError(
                f"Elasticsearch refused the query in place {place} ({answer.get('status')}): "
                f"{_reason(answer['error'])}. Correct it, and run it again."
            )
        _whole(answer, f"query in place {place}")
        hits = answer["hits"]["hits"]
        places = np.array([int(hit["_id"]) for hit in hits], dtype=np.int64)
        scores = self.to_similarity(np.array([hit["_score"] for hit in hits], dtype=np.float64))
        order = np.lexsort((places, -scores))
        return places[order], scores[order]

    def to_similarity(self, scores: NDArray[np.float64]) -> NDArray[np.float64]:
        """Convert Elasticsearch's scores back to BM25 as in sparse.py, or to inner products."""
        if self.takes == "texts":
            return scores / (self.real("k1") + 1)
        if self.values["similarity"] == "dot_product":
            return 2 * scores - 1
        return np.where(scores >= 1, scores - 1, 1 - 1 / np.minimum(scores, 1))

    def _what(self, error: object) -> str:
        """The cause of an error, and its cure."""
        library = self.library
        if isinstance(error, library.UnsupportedProductError):
            return "the server does not say that it is Elasticsearch (header X-Elastic-Product). OpenSearch is not."
        if isinstance(error, library.ConnectionTimeout):
            wait = self.real("timeout")
            return f"no answer within {wait:g} s. Give it more by timeout=..., and run it again."
        if isinstance(error, library.SSLError):
            return f"{_first(error)}. Name the server's certificate by ca_certs='FILE'."
        if isinstance(error, library.ApiError):
            return self._refusal(int(error.meta.status), _reason(error.body) or _first(error))
        return f"{_first(error)}. Is the server running, and is the url right?"

    def _refusal(self, status: int, reason: str) -> str:
        if status in (401, 403):
            name = self.values["api_key_env"]
            cure = "Name the variable that holds an API key: api_key_env='...'" if name is None else f"See {name}"
        elif status == 404:
            cure = "Somebody removed the index: remove it from the cache too, and run it again"
        elif "media_type" in reason or "compatible" in reason or status == 406:
            cure = "Install the client of the server's major version, such as elasticsearch==8.*"
        elif status in BUSY:
            cure = f"It was asked {len(WAITS) + 1} times. Run it again later"
        else:
            cure = "Is the index too large for the server, or its version too old for this search?"
        return f"{status}, {reason}. {cure.removesuffix('?')}{'?' if cure.endswith('?') else '.'}"


def _whole(answer: Any, what: str) -> None:
    """Refuse a response from which some shards are missing.

    Raises:
        InputError: some did not.
    """
    shards = answer.get("_shards", {})
    failed = int(shards.get("failed", 0))
    if failed or answer.get("timed_out"):
        failures = shards.get("failures") or [{}]
        why = _reason(failures[0].get("reason")) or "it ran out of time"
        raise InputError(
            f"Elasticsearch: {failed} of {shards.get('total', '?')} shards failed in the {what}: {why}. What the "
            "others gave is not a whole answer. Run it again when they are back."
        )


def _reason(error: object) -> str:
    """The innermost reason of an error response."""
    while isinstance(error, Mapping):
        inner = error.get("caused_by") or error.get("error") or next(iter(error.get("root_cause") or []), None)
        own = ": ".join(str(error[name]) for name in ("type", "reason") if error.get(name))
        if not isinstance(inner, Mapping | str) or inner == error:
            return " ".join(own.split()).rstrip(".")
        error = inner
    return " ".join(str(error or "").split()).rstrip(".")


def _first(error: object) -> str:
    """The first line of an error."""
    return str(getattr(error, "message", "") or error).strip().partition("\n")[0].rstrip(".")


KINDS: Final = {Elastic.name: Elastic}
