"""A service on this machine for the tests of hosted models."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from tests.models.hosted.loopback import Loopback, serving

from trueval.models.hosted.retries import Retries


@pytest.fixture
def service(monkeypatch: pytest.MonkeyPatch) -> Iterator[Loopback]:
    for module in ("httpx2", "openai"):
        pytest.importorskip(module, reason=f"{module}, of the extra hosted, is not installed")
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
    with serving() as found:
        yield found


@pytest.fixture
def waits() -> list[float]:
    """The seconds that `load` waited, without waiting."""
    return []


@pytest.fixture
def load(service: Loopback, waits: list[float]) -> Callable[..., Any]:
    """Makes a hosted model of the service on this machine, below its version of the API."""
    from trueval.models import load_model

    paths = {"cohere": "/v2", "tei": ""}

    def made(name: str, **settings: Any) -> Any:
        path = paths.get(name.partition(":")[0], "/v1")
        settings = {"retries": Retries(sleep=waits.append), "base_url": service.url + path, **settings}
        return load_model(name, **settings)

    return made
