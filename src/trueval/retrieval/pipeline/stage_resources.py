"""What stages share: models, vectors and candidates that are made once, and a cache that may be missing or full."""

from __future__ import annotations

import json
import tempfile
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import polars as pl
from numpy.typing import NDArray

from trueval.errors import InputError, TruevalWarning
from trueval.files.digests import damage
from trueval.models.hosted.account import Account
from trueval.models.outputs import Step
from trueval.retrieval.pipeline.pipeline_result import Stage

REMOVED = ".removed."  # how the names of folders begin in which entries are until they are gone
Begin = Callable[[str], Step]


@dataclass(eq=False)
class StageResources:
    """What the runs of one pipeline share, so that nothing is done twice.

    Attributes:
        cache: where what is made is kept; None for nowhere.
        outputs: where outputs of models are kept; None for nowhere.
        account: what hosted models cost.
        models: by their settings.
        vectors: by settings of the model, and the texts.
        seconds: that these took, by the same.
        stages: by their keys.
        hashes: of texts and models, by what they are of.
    """

    cache: Path | None
    outputs: Path | None
    account: Account
    models: dict[str, Any] = field(default_factory=dict)
    vectors: dict[str, NDArray[Any]] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=dict)
    stages: dict[str, Stage] = field(default_factory=dict)
    hashes: dict[str, dict[str, Any]] = field(default_factory=dict)

    def hashed(self, of: Any, make: Callable[[], dict[str, Any]]) -> dict[str, Any]:
        """What hashes say of something; made once, since models are large.

        Args:
            of: what it is of, as JSON.
            make: from nothing to the hashes.
        """
        key = json.dumps(of, sort_keys=True)
        if key not in self.hashes:
            self.hashes[key] = make()
        return self.hashes[key]


@contextmanager
def open_resources(cache: Path | None, account: Account, *, kept: bool) -> Iterator[StageResources]:
    """What runs share; two runs without a cache keep the outputs of models as long as they take."""
    if cache is not None or not kept:
        yield StageResources(cache, None if cache is None else cache / "outputs", account)
        return
    # Memory maps of files that are removed stay readable; where they cannot be removed, the system does it later.
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        yield StageResources(None, Path(folder), account)


@contextmanager
def tolerate_cache_errors(place: Path) -> Iterator[None]:
    """Go on without what the cache cannot hold: hours of work are not lost because a disk is full or only read.

    Args:
        place: where it is to be kept; what another process put there meanwhile is the same.
    """
    try:
        yield
    except (OSError, RuntimeError, InputError, pl.exceptions.PolarsError) as error:
        if isinstance(error, InputError) and not place.exists():
            raise
        if not place.exists():
            reason = getattr(error, "strerror", None) or (str(error).splitlines() or [type(error).__name__])[0]
            told = f"{place}: cannot be kept ({reason}). The work goes on, and would be done again."
            warnings.warn(told, TruevalWarning, stacklevel=4)


def is_whole(folder: Path, key: str) -> bool:
    """Whether a kept index is what was written; one that is not is removed, to be made again."""
    damaged = damage(folder, key)
    if damaged is None:
        return True
    warnings.warn(f"{folder}: a damaged index ({damaged}). It is made again.", TruevalWarning, stacklevel=2)
    with tolerate_cache_errors(folder), tempfile.TemporaryDirectory(prefix=REMOVED, dir=folder.parent) as aside:
        folder.rename(Path(aside) / folder.name)
    return False


def nobody(_: str) -> Step:
    """What is called where nobody wants to hear how a stage goes on."""
    return lambda part, done, of: None
