"""Each test has a cache of the user of its own, so that none finds what another made."""

from pathlib import Path

import pytest


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    place = tmp_path / "user cache"
    monkeypatch.setenv("TRUEVAL_CACHE", str(place))
    return place
