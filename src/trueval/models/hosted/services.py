"""Services: URLs and limits of hosted models, and their names, such as `cohere:rerank-v3.5`."""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final, Literal, NamedTuple
from urllib.parse import urlsplit

from trueval.errors import InputError
from trueval.models.hosted.call_batches import CallLimits

Role = Literal["embedder", "reranker"]


class RerankShape(NamedTuple):
    """The request and response shape of a service's `/rerank`.

    Attributes:
        documents: key of the list of texts in a request.
        results: key of the list in the response; "" if the response is the list.
        score: key of the score of a result.
        extra: further members of a request.
    """

    documents: str = "documents"
    results: str = "results"
    score: str = "relevance_score"
    extra: Mapping[str, object] = MappingProxyType({})


COMMON_SHAPE: Final = RerankShape()


@dataclass(frozen=True)
class Service:
    """A kind of service.

    Attributes:
        name: prefix of a model's name, before the colon.
        base_url: URL of the service; "" if users run their own server.
        key: environment variable of the key in the service's documentation; "" without a default.
        embeds: limits of a call to /embeddings; None if not supported here.
        reranks: limits of a call to /rerank; None if not supported here.
        shape: shape of /rerank.
        scoring: φ of the output of /rerank: "none" for final scores, "sigmoid" for logits.
        search: number of documents that are billed with a query as one search; 0 if tokens are billed.
        source: the file of origin.
    """

    name: str
    base_url: str = ""
    key: str = ""
    embeds: CallLimits | None = None
    reranks: CallLimits | None = None
    shape: RerankShape = COMMON_SHAPE
    scoring: Literal["none", "sigmoid"] = "none"
    search: int = 0
    source: str = ""


_ALL: Final = (
    Service(
        "openai",
        "https://api.openai.com/v1",
        "OPENAI_API_KEY",
        embeds=CallLimits(2048, 300_000),
        source="platform.openai.com/docs/api-reference/embeddings/create: 2048 texts and 300,000 tokens",
    ),
    Service(
        "voyage",
        "https://api.voyageai.com/v1",
        "VOYAGE_API_KEY",
        embeds=CallLimits(1000, 120_000),
        reranks=CallLimits(1000, 300_000),
        shape=RerankShape(results="data", extra=MappingProxyType({"truncation": True})),
        source="docs.voyageai.com: 1000 texts, 120,000 tokens for the models that take least; rerankers 300,000",
    ),
    Service(
        "cohere",
        "https://api.cohere.com/v2",
        "CO_API_KEY",
        # More than 1000 documents are accepted, but not advised.
        reranks=CallLimits(1000, 4_000_000),
        search=100,
        source="docs.cohere.com/v2/reference/rerank; a search is a query with up to 100 documents",
    ),
    Service(
        "jina",
        "https://api.jina.ai/v1",
        "JINA_API_KEY",
        reranks=CallLimits(1000, 130_000),
        shape=RerankShape(extra=MappingProxyType({"return_documents": False})),
        source="api.jina.ai/redoc",
    ),
    Service(
        "tei",
        reranks=CallLimits(32, 16_384),
        # Logits, which are scored here in float32, instead of scores rounded by the service.
        shape=RerankShape("texts", "", "score", MappingProxyType({"raw_scores": True, "truncate": True})),
        scoring="sigmoid",
        source="huggingface.github.io/text-embeddings-inference: max_client_batch_size 32, max_batch_tokens 16384",
    ),
    Service("vllm", reranks=CallLimits(1000, 1_000_000), source="docs.vllm.ai: /rerank, /v1/rerank, /v2/rerank"),
)
SERVICES: Final[Mapping[str, Service]] = MappingProxyType({service.name: service for service in _ALL})
"""Every service by name."""


class HostedName(NamedTuple):
    """The parsed name of a hosted model.

    Attributes:
        model: model name at the service; for TEI, which serves one model, possibly the URL.
    """

    service: Service
    model: str

    @property
    def role(self) -> Role:
        """The role of the model; for a service with both roles, it is part of a reranker's name.

        >>> parse_hosted_name("voyage:rerank-2.5").role, parse_hosted_name("voyage:voyage-3.5").role
        ('reranker', 'embedder')
        """
        if self.service.embeds is None:
            return "reranker"
        return "reranker" if self.service.reranks is not None and "rerank" in self.model.lower() else "embedder"


def is_hosted(name: object) -> bool:
    """Whether a name is that of a hosted model.

    >>> is_hosted("openai:text-embedding-3-small"), is_hosted("cross-encoder:folder")
    (True, False)
    """
    prefix, colon, rest = str(name).partition(":")
    return bool(colon and rest) and prefix.lower() in SERVICES


def parse_hosted_name(name: str) -> HostedName:
    """Parse the name of a hosted model.

    Args:
        name: SERVICE:MODEL.

    >>> parse_hosted_name("cohere:rerank-v3.5").service.key
    'CO_API_KEY'
    """
    prefix, _, model = name.partition(":")
    return HostedName(SERVICES[prefix.lower()], model)


def base_url_of(named: HostedName, base_url: str | None) -> str:
    """The base URL of a model, without a trailing slash.

    Args:
        base_url: URL that replaces that of the service.

    Raises:
        InputError: it is no URL of HTTP, holds a password, or none is known.

    >>> base_url_of(parse_hosted_name("tei:http://localhost:8080/"), None)
    'http://localhost:8080'
    """
    own = named.model if named.service.name == "tei" and "://" in named.model else named.service.base_url
    url = base_url or own
    secret = "@" in named.model and "://" in named.model  # a URL used as a name, which may contain a password
    shown = named.service.name if secret else f"{named.service.name}:{named.model}"
    if not url:
        raise InputError(f"{shown}: a server of one's own needs its URL. Give base_url, such as http://localhost:8000.")
    return check_url(url, shown)


def check_url(url: str, shown: str) -> str:
    """A valid base URL of a service, without a trailing slash.

    Args:
        url: URL as given.
        shown: display name of the setting in errors.

    Raises:
        InputError: it is no URL of HTTP, or holds a password.
    """
    if "@" in url or "?" in url or "#" in url:
        raise InputError(f"{shown}: base_url must hold no user, password or query. Put the key into api_key_env.")
    if not _names_a_host(url):
        raise InputError(f"{shown}: base_url must begin with http:// or https:// and name a host. Got {url!r}.")
    return url.rstrip("/")


def _names_a_host(url: str) -> bool:
    """Whether a URL is a well-formed HTTP URL with a host."""
    try:
        found = urlsplit(url)
        written = url.isprintable() and " " not in url
        return written and found.scheme in ("http", "https") and bool(found.hostname) and found.port != 0
    except ValueError:  # mismatched brackets, or a port above 65535
        return False


def key_name(service: Service, url: str, api_key_env: str | None) -> str:
    """The environment variable with the API key; "" for none.

    The key of a service is sent to that service only: the user's own server gets a key only if it is named.

    Args:
        service: service whose API is used.
        api_key_env: environment variable from the settings, "" for no key; None if not set.
    """
    if api_key_env is not None:
        return api_key_env
    # The scheme too: over plain http, anyone on the network path could read the key.
    return service.key if urlsplit(url)[:2] == urlsplit(service.base_url)[:2] else ""


def is_this_machine(url: str) -> bool:
    """Whether a URL points to this machine, so that nothing leaves it.

    >>> is_this_machine("http://127.0.0.1:8080"), is_this_machine("https://api.cohere.com/v2")
    (True, False)
    """
    found = urlsplit(url)
    if found.scheme == "unix":  # a Unix socket, which is a file
        return True
    host = found.hostname or ""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
