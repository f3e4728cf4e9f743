"""Settings of hosted models: how to call a service, its limits, and its prices."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

from trueval.errors import PolicyError

ENCODINGS: Final = ("base64", "float")  # every bit of float32, or decimal numbers


@dataclass(frozen=True, kw_only=True)
class HostedSettings:
    """How to call a service.

    Attributes:
        base_url: of a server of one's own, or another one that speaks the same; None for the service's own.
        api_key_env: the environment variable that holds the key, "" for no key; None for the service's own.
        dimension: numbers of each vector that are asked for; None for the model's own.
        encoding: how vectors are transmitted: "base64", every bit of float32, or "float", decimal numbers.
        batch_size: texts in a call; None for what the service takes.
        batch_tokens: tokens in a call, by our estimate; None for what the service takes.
        timeout: seconds that an answer may take.
        concurrency: calls under way at once.
        price_per_million_tokens: in any currency; None if it is not known.
        price_per_thousand_searches: of services that bill searches (Cohere).
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
            if value is not None and not 0 <= value < math.inf:  # no sum with it would ever exceed max_cost
                raise PolicyError(f"{name} of a hosted model must be a number of at least 0. Got {value!r}.")
