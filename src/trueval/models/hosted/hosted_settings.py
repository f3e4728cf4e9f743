"""Settings of hosted models: how to call a service, its limits, and its prices."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

from trueval.errors import PolicyError

ENCODINGS: Final = ("base64", "float")  # exact float32, or decimal numbers


@dataclass(frozen=True, kw_only=True)
class HostedSettings:
    """How to call a service.

    Attributes:
        base_url: base URL of the user's own or another compatible server; None for the service's own.
        api_key_env: environment variable of the API key, "" for no key; None for the service's default.
        dimension: requested dimension of vectors; None for the model's default.
        encoding: transmission format of vectors: "base64", exact float32, or "float", decimal numbers.
        batch_size: number of texts per call; None for the service's limit.
        batch_tokens: estimated tokens per call; None for the service's limit.
        timeout: timeout of a response in seconds.
        concurrency: maximum number of concurrent calls.
        price_per_million_tokens: in any currency; None if unknown.
        price_per_thousand_searches: for services that bill searches (Cohere).
    """

    base_url: str | None = None
    api_key_env: str | None = None
    dimension: int | None = None
    encoding: str = "base64"
    batch_size: int | None = None
    batch_tokens: int | None = None
    timeout: float = 120.0
    concurrency: int = 1
    price_per_million_tokens: float | None = None
    price_per_thousand_searches: float | None = None

    def __post_init__(self) -> None:
        if self.encoding not in ENCODINGS:
            raise PolicyError(f"encoding must be one of {', '.join(ENCODINGS)}. Got {self.encoding!r}.")
        for name in ("dimension", "batch_size", "batch_tokens", "concurrency", "timeout"):
            value = getattr(self, name)
            if value is not None and not value > 0:
                raise PolicyError(f"{name} of a hosted model must be above 0. Got {value!r}.")
        for name in ("price_per_million_tokens", "price_per_thousand_searches"):
            value = getattr(self, name)
            if value is not None and not 0 <= value < math.inf:  # no sum with NaN would ever exceed max_cost
                raise PolicyError(f"{name} of a hosted model must be a number of at least 0. Got {value!r}.")
